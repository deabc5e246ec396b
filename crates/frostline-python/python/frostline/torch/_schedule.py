"""`schedule`: gradual unfreezing, from the top block down and the embeddings last.

Source: Howard and Ruder, Universal Language Model Fine-tuning for Text Classification, 2018.
"""

from __future__ import annotations

from typing import Any, Iterable, List, Optional, Tuple

from torch import nn

from .._errors import SettingError
from .._frostline import gradual
from .._names import find_parts
from ._freeze import FreezeReport, all_parameters, freeze, report


def schedule(
    module: nn.Module, policy: str = "none", *, every: int, optimizer: Optional[Any] = None
) -> "Unfreezing":
    """Freezes the whole encoder and thaws one more group after every `every` steps, down to what `policy` freezes.

    Make the optimiser first, from all parameters that are ever to learn, and give it: it is checked that it holds what thaws.
    Then call `step()` before each step of the optimiser, or give `for_trainer()` to a Trainer.
    """
    return Unfreezing(module, policy, every, optimizer)


class Unfreezing:
    """A module that thaws group by group."""

    def __init__(self, module: nn.Module, policy: str, every: int, optimizer: Optional[Any]) -> None:
        parts = find_parts(name for name, _ in all_parameters(module))
        freeze(module, policy)
        self._kept = {id(parameter) for parameter in module.parameters() if not parameter.requires_grad}
        self._parts = parts.of
        self.module = module
        self.policy = policy
        self.plan: List[Tuple[int, List[str]]] = gradual(parts.resolve(policy), every)
        self._next_step = 0
        if optimizer is not None:
            self.start(optimizer)

    def start(self, optimizer: Optional[Any]) -> None:
        """Checks that the optimiser holds what will thaw, and freezes the encoder."""
        if optimizer is not None:
            groups = getattr(optimizer, "optimizer", optimizer).param_groups
            held = {id(parameter) for group in groups for parameter in group["params"]}
            lost = [
                name
                for name, parameter in all_parameters(self.module)
                if id(parameter) not in held and id(parameter) not in self._kept
            ]
            if lost:
                raise SettingError(
                    f"the optimiser does not hold {len(lost)} parameters that thaw later, first {lost[0]}",
                    "make it from all parameters that are ever to learn",
                )
        self._apply(self.plan[0][1])

    def step(self) -> bool:
        """Call it before each step; thaws what is due. Returns whether something changed."""
        due = [frozen for at, frozen in self.plan if at == self._next_step]
        self._next_step += 1
        if due:
            self._apply(due[-1])
        return bool(due)

    def report(self) -> FreezeReport:
        """What learns now."""
        return report(self.module, f"policy {self.policy}, before step {self._next_step}")

    def for_trainer(self) -> Any:
        """A callback for the Trainer of transformers."""
        from transformers import TrainerCallback

        unfreezing = self

        class UnfreezingCallback(TrainerCallback):  # type: ignore[misc,unused-ignore]
            def on_train_begin(self, args: Any, state: Any, control: Any, optimizer: Any = None, **more: Any) -> None:
                unfreezing.start(optimizer)

            def on_step_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
                unfreezing.step()

        return UnfreezingCallback()

    def _apply(self, frozen: Iterable[str]) -> None:
        groups = set(frozen)
        for name, parameter in all_parameters(self.module):
            if id(parameter) in self._kept:
                continue
            is_frozen = self._parts[name] in groups
            parameter.requires_grad_(not is_frozen)
            if is_frozen:
                # A stale gradient would still move it.
                parameter.grad = None
