"""The audit inside the trainers that people use: transformers, Lightning, FSDP."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, List, Optional, Sequence

import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: no trainer is audited")
transformers = pytest.importorskip("transformers", reason="NO TRANSFORMERS: no trainer is audited")

from frostline.torch import FreezeAudit, FreezeError, freeze, schedule  # noqa: E402
from test_faults import batch, is_frozen, kinds, model, set_frozen  # noqa: E402


class Data(torch.utils.data.Dataset):  # type: ignore[misc]
    def __len__(self) -> int:
        return 16

    def __getitem__(self, place: int) -> Any:
        ids, labels = batch(place)
        return {"input_ids": ids[0], "labels": labels[0]}


class At(transformers.TrainerCallback):  # type: ignore[misc]
    """Changes the model at an event of an epoch."""

    def __init__(self, event: str, epoch: int, change: Callable[[Any], None]) -> None:
        def act(args: Any, state: Any, control: Any, model: Any = None, **more: Any) -> None:
            if state.epoch >= epoch:
                change(model)

        setattr(self, event, act)


def trained(
    folder: Path,
    prepare: Callable[[Any], None] = lambda m: None,
    callbacks: Sequence[Any] = (),
    optimizer: Optional[Callable[[Any], Any]] = None,
) -> Optional[FreezeError]:
    m = model()
    prepare(m)
    settings = transformers.TrainingArguments(
        output_dir=str(folder), per_device_train_batch_size=8, num_train_epochs=3, learning_rate=1e-2, weight_decay=0.1,
        report_to=[], save_strategy="no", use_cpu=True, disable_tqdm=True, logging_strategy="no",
    )
    audit = FreezeAudit(policy="first-4")
    trainer = transformers.Trainer(
        m, settings, train_dataset=Data(), callbacks=[*callbacks, audit.for_trainer()],
        optimizers=(optimizer(m), None) if optimizer else (None, None),
    )
    try:
        trainer.train()
    except FreezeError as error:
        return error
    return None


def test_frozen_before_the_trainer_passes(tmp_path: Path) -> None:
    assert trained(tmp_path, set_frozen) is None


def test_freezing_when_training_begins_passes(tmp_path: Path) -> None:
    assert trained(tmp_path, callbacks=[At("on_train_begin", 0, set_frozen)]) is None


def test_a_forgotten_policy(tmp_path: Path) -> None:
    error = trained(tmp_path)
    assert error and kinds(error) == ["not-frozen"] and str(error).startswith("step 1")


def test_freezing_in_the_second_epoch(tmp_path: Path) -> None:
    error = trained(tmp_path, callbacks=[At("on_epoch_begin", 1, set_frozen)])
    assert error and kinds(error) == ["not-frozen"] and str(error).startswith("step 1")


def test_freezing_between_gradient_and_step(tmp_path: Path) -> None:
    error = trained(tmp_path, callbacks=[At("on_pre_optimizer_step", 0, set_frozen)])
    assert error and kinds(error) == ["frozen-late"]


def test_thawing_in_the_second_epoch(tmp_path: Path) -> None:
    def only_head(m: Any) -> None:
        for name, parameter in m.named_parameters():
            parameter.requires_grad_(name.startswith("classifier"))

    error = trained(tmp_path, only_head, [At("on_epoch_begin", 1, set_frozen)])
    assert error and kinds(error) == ["not-in-optimizer"] and str(error).startswith("after 6 steps")


def test_an_own_optimiser_with_gradients_of_zero(tmp_path: Path) -> None:
    def zeros(m: Any) -> Any:
        set_frozen(m)
        for name, parameter in m.named_parameters():
            if is_frozen(name):
                parameter.grad = torch.zeros_like(parameter)
        return torch.optim.AdamW(m.parameters(), lr=1e-2, weight_decay=0.1)

    # The Trainer clears gradients to None before the first step: harmless, or weight decay where it does not.
    error = trained(tmp_path, optimizer=zeros)
    assert error is None or kinds(error) == ["weight-decay"]


def test_gradients_zeroed_by_hooks(tmp_path: Path) -> None:
    def hooks(m: Any) -> None:
        for name, parameter in m.named_parameters():
            if is_frozen(name):
                parameter.register_hook(torch.zeros_like)

    error = trained(tmp_path, hooks)
    assert error and kinds(error) == ["weight-decay"]
    assert "every element times 0.999000: weight decay of a frozen parameter" in str(error)


def test_a_schedule_in_the_trainer(tmp_path: Path) -> None:
    m = model()
    unfreezing = schedule(m, "first-4", every=1)
    settings = transformers.TrainingArguments(
        output_dir=str(tmp_path), per_device_train_batch_size=8, num_train_epochs=3, report_to=[], save_strategy="no",
        use_cpu=True, disable_tqdm=True, logging_strategy="no",
    )
    audit = FreezeAudit(policy="first-4")
    trainer = transformers.Trainer(m, settings, train_dataset=Data(), callbacks=[unfreezing.for_trainer(), audit.for_trainer()])
    trainer.train()
    report = audit.report()
    assert report.ok and any("layer.5" in name for name in report.moved)
    assert not any("embeddings" in name for name in report.still), "they thaw last"


@pytest.mark.parametrize("is_right", [True, False])
def test_lightning(tmp_path: Path, is_right: bool) -> None:
    lightning = pytest.importorskip("lightning.pytorch", reason="NO LIGHTNING: its callback is not tested")

    class Module(lightning.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.model = model()

        def training_step(self, one: Any, place: int) -> Any:
            return self.model(**one).loss

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-2, weight_decay=0.1)

    module = Module()
    if is_right:
        freeze(module.model, "first-4")
    audit = FreezeAudit(policy="first-4")
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=str(tmp_path), callbacks=[audit.for_lightning()],
    )
    loader = torch.utils.data.DataLoader(Data(), batch_size=8)
    if is_right:
        trainer.fit(module, loader)
        assert audit.report().ok and audit.steps == 4 and len(audit.report().frozen) == 64
    else:
        with pytest.raises(FreezeError, match=r"^step 1: \[not-frozen\]"):
            trainer.fit(module, loader)


FSDP = """
import os, sys
import torch, torch.distributed as dist
sys.path.insert(0, os.environ["TESTS"])
from frostline.torch import FreezeAudit, FreezeError
from test_faults import kinds, model

def work(rank):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ["PORT"], RANK=str(rank), WORLD_SIZE="2")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
    from torch.distributed.device_mesh import init_device_mesh
    ids = torch.randint(5, 100, (2, 8))
    def run(make, decays, is_late=False):
        m = model(layers=2)
        for name, parameter in m.named_parameters():
            parameter.requires_grad_("layer.0." not in name or decays)
            if "layer.0." in name and decays:
                parameter.register_hook(torch.zeros_like)
        m = make(m)
        o = torch.optim.AdamW(m.parameters(), lr=1e-2, weight_decay=0.1)
        try:
            audit = FreezeAudit(m, o, policy="first-1")
            for _ in range(2):
                o.zero_grad()
                m(input_ids=ids, labels=ids % 5).loss.backward()
                if decays:
                    for name, parameter in m.named_parameters():
                        if "layer.0." in name and parameter.grad is not None:
                            parameter.grad.zero_()
                o.step()
                audit.step()
            report = audit.finish()
            return f"passed {len(report.frozen)} frozen"
        except FreezeError as error:
            return ",".join(kinds(error)) or str(error).split(":")[1].strip()
    def fsdp1(m):
        return FullyShardedDataParallel(m, use_orig_params=True, device_id=torch.device("cpu"))
    def flat(m):
        for p in m.parameters():
            p.requires_grad_(True)
        return FullyShardedDataParallel(m, use_orig_params=False, device_id=torch.device("cpu"))
    def fsdp2(m):
        mesh = init_device_mesh("cpu", (2,))
        for layer in m.distilbert.transformer.layer:
            fully_shard(layer, mesh=mesh)
        fully_shard(m, mesh=mesh)
        return m
    for label, make, decays in (("fsdp1", fsdp1, False), ("flat", flat, False), ("fsdp2", fsdp2, False), ("fsdp2 decay", fsdp2, True)):
        result = run(make, decays)
        if rank == 0:
            print(f"{label}: {result}", flush=True)
    dist.destroy_process_group()

if __name__ == "__main__":
    torch.multiprocessing.spawn(work, nprocs=2)
"""


@pytest.mark.skipif(not torch.distributed.is_available(), reason="NO torch.distributed: FSDP is not audited")
def test_fsdp(tmp_path: Path) -> None:
    script = tmp_path / "fsdp.py"
    script.write_text(FSDP)
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "TESTS": str(Path(__file__).parent), "PORT": str(port)}
    run = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr[-3000:]
    lines: List[str] = [line for line in run.stdout.splitlines() if line.startswith(("fsdp", "flat"))]
    assert lines == [
        "fsdp1: passed 16 frozen",
        "flat: flat-parameters",
        "fsdp2: passed 16 frozen",
        "fsdp2 decay: weight-decay",
    ]
