"""`FreezeAudit` as a callback of transformers and of Lightning, which are imported when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._errors import SettingError

if TYPE_CHECKING:
    from ._audit import FreezeAudit


def trainer_callback(audit: "FreezeAudit") -> Any:
    """A callback for the Trainer of transformers."""
    from transformers import TrainerCallback

    class FreezeAuditCallback(TrainerCallback):  # type: ignore[misc,unused-ignore]
        """Begins with the training, compares after the first step and at the end."""

        def on_train_begin(
            self, args: Any, state: Any, control: Any, model: Any = None, optimizer: Any = None, **more: Any
        ) -> None:
            audit.begin(model, optimizer)

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            audit.step()

        def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            audit.finish()

    return FreezeAuditCallback()


def lightning_callback(audit: "FreezeAudit") -> Any:
    """A callback for the Trainer of Lightning."""
    try:
        from lightning.pytorch import Callback
    except ImportError:
        try:
            from pytorch_lightning import Callback  # type: ignore[no-redef,assignment,import-not-found,unused-ignore]
        except ImportError as error:
            raise SettingError("Lightning is not installed", "run `pip install lightning`") from error

    class FreezeAuditCallback(Callback):  # type: ignore[misc,unused-ignore]
        """Begins with the training, compares after the first step and at the end."""

        def on_train_start(self, trainer: Any, module: Any) -> None:
            audit.begin(module, list(trainer.optimizers))

        def on_train_batch_end(self, trainer: Any, module: Any, *more: Any) -> None:
            # With accumulation several batches make a step.
            audit.step(trainer.global_step)

        def on_train_end(self, trainer: Any, module: Any) -> None:
            audit.finish()

    return FreezeAuditCallback()
