"""`FreezeAudit`: proof that frozen parameters stayed bit-identical and the others moved, or the reason why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from torch import nn

from .._errors import FrostlineError, SettingError
from .._names import match_patterns, plain_name
from . import _cause
from ._cause import Finding
from ._fingerprint import Fingerprint, largest_difference, take
from ._freeze import all_parameters, is_adapter, resolve


class FreezeError(FrostlineError, RuntimeError):
    """Frozen parameters moved, or trainable ones cannot. `findings` has each fault with its kind and names."""

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(message)
        self.findings = list(findings)


@dataclass(frozen=True)
class AuditReport:
    """What an audit found."""

    steps: int
    frozen: Tuple[str, ...]
    moved: Tuple[str, ...]
    still: Tuple[str, ...]
    tied: Tuple[Tuple[str, ...], ...]
    faults: Tuple[Finding, ...]
    warnings: Tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

    def __str__(self) -> str:
        learning = len(self.moved) + len(self.still)
        lines = [
            f"after {self.steps} steps: {len(self.frozen)} frozen tensors, {len(self.faults)} faults; "
            f"{len(self.moved)} of {learning} trainable tensors moved"
        ]
        lines += [f"  fault: {fault}" for fault in self.faults]
        lines += [f"  warning: {warning}" for warning in self.warnings]
        lines += [f"  one tensor: {', '.join(names)}" for names in self.tied]
        return "\n".join(lines)


Optimizers = Union[Any, Sequence[Any], None]


class FreezeAudit:
    """Compares fingerprints of all tensors before training, after the first step, and at the end.

    What has to stay frozen is a `policy`, a list of patterns or a function of names (`frozen`), or without either what does
    not require gradients when the audit begins. A fault raises FreezeError, at step 1 if it shows there; with
    `strict=False` it is only reported. `every` checks again after so many steps.

    A bare loop calls `audit = FreezeAudit(model, optimizer, policy="first-4")`, then `audit.step()` after each step of the
    optimiser, and `audit.finish()`. `for_trainer()` and `for_lightning()` return callbacks.
    """

    def __init__(
        self,
        model: Optional[nn.Module] = None,
        optimizer: Optimizers = None,
        *,
        policy: Optional[str] = None,
        frozen: Union[Sequence[str], Callable[[str], bool], None] = None,
        every: int = 0,
        strict: bool = True,
    ) -> None:
        if policy is not None and frozen is not None:
            raise SettingError("both policy and frozen are given", "give one of them")
        self.policy = policy
        self.frozen_by = frozen
        self.every = every
        self.strict = strict
        self.steps = 0
        self.warnings: List[Finding] = []
        self._before: Dict[str, Fingerprint] = {}
        self._frozen: Dict[str, bool] = {}
        self._buffers: Dict[str, Fingerprint] = {}
        self._tied: List[Tuple[str, ...]] = []
        self._model: Optional[nn.Module] = None
        self._optimizers: List[Any] = []
        if model is not None:
            self.begin(model, optimizer)

    def begin(self, model: nn.Module, optimizer: Optimizers = None) -> None:
        """Takes the fingerprints, and checks what is wrong before any step."""
        self._model, self._optimizers, self.steps, self.warnings = model, _list(optimizer), 0, []
        named = _named(model)
        flat = [name for name in named if name.rsplit(".", 1)[-1].startswith(("_flat_param", "flat_param"))]
        if flat:
            text = "FSDP joined parameters into flat ones, whose names are lost; wrap with use_orig_params=True"
            raise FreezeError(text, [Finding("flat-parameters", tuple(flat), text, "")])
        self._frozen = self._resolve(model)
        self._tied = _tied(named)
        self._before = {name: take(parameter) for name, parameter in named.items()}
        self._buffers = {name: take(buffer) for name, buffer in _frozen_buffers(model, self._frozen).items()}
        faults = _cause.before_training(named, self._frozen, self._tied, self._optimizers)
        self.warnings += _cause.suspicions(model, named, self._frozen, self._optimizers)
        self._settle(faults, "before training")

    def step(self, count: Optional[int] = None) -> None:
        """Call it after each step of the optimiser."""
        before = self.steps
        self.steps = before + 1 if count is None else count
        if self.steps == before:
            return
        if before == 0:
            self.warnings += _cause.training_mode(self._began(), self._frozen)
        if before == 0 or (self.every and self.steps % self.every == 0):
            self._settle(self._compare(self._began()), f"step {self.steps}")

    def finish(self, model: Optional[nn.Module] = None) -> AuditReport:
        """Compares everything at the end; `model` is given if it is another object now, as after a merge of adapters."""
        report = self.report(model)
        self._settle(list(report.faults), f"after {self.steps} steps")
        return report

    def report(self, model: Optional[nn.Module] = None) -> AuditReport:
        """The comparison with the beginning, without raising."""
        model = model or self._began()
        named = _named(model)
        faults = self._compare(model)
        # One digest each: what moved.
        learning = [name for name, frozen in self._frozen.items() if not frozen and name in named]
        moved = {name for name in learning if take(named[name]).digest != self._before[name].digest}
        still = [name for name in learning if name not in moved and not _is_empty(named[name])]
        never, unused = _cause.never_moved(named, still, self._optimizers, self.steps)
        return AuditReport(
            self.steps,
            tuple(name for name, frozen in self._frozen.items() if frozen),
            tuple(name for name in learning if name in moved),
            tuple(still),
            tuple(self._tied),
            tuple(faults + never),
            tuple(self.warnings + unused),
        )

    def for_trainer(self) -> Any:
        """A callback for the Trainer of transformers."""
        from ._callbacks import trainer_callback

        return trainer_callback(self)

    def for_lightning(self) -> Any:
        """A callback for the Trainer of Lightning."""
        from ._callbacks import lightning_callback

        return lightning_callback(self)

    def _began(self) -> nn.Module:
        if self._model is None:
            raise SettingError("the audit has not begun", "call begin(model, optimizer) before the first step")
        return self._model

    def _resolve(self, model: nn.Module) -> Dict[str, bool]:
        names = [name for name, _ in all_parameters(model)]
        if self.policy is not None:
            found, _ = resolve(model, self.policy, ())
        elif callable(self.frozen_by):
            found = {name: bool(self.frozen_by(plain_name(name))) for name in names}
            if not any(found.values()):
                raise SettingError("the function `frozen` returned True for no parameter", "correct it")
        elif self.frozen_by is not None:
            chosen = set(match_patterns(names, self.frozen_by))
            found = {name: name in chosen for name in names}
        else:
            found = {name: not parameter.requires_grad for name, parameter in all_parameters(model)}
        adapters = {name for name in names if is_adapter(name)}
        return {plain_name(name): frozen and name not in adapters for name, frozen in found.items()}

    def _compare(self, model: nn.Module) -> List[Finding]:
        """What moved among frozen tensors and buffers, by cause."""
        named = _named(model)
        buffers = dict(_named_buffers(model))
        found: Dict[Tuple[str, str, str], List[Tuple[str, float]]] = {}
        context = _cause.Context(named, self._before, self._optimizers, self.steps)
        for name, frozen in self._frozen.items():
            if not frozen:
                continue
            before = self._before[name]
            if name not in named:
                key = ("missing", "it is not in the model any more", "compare a model with the same layers")
                found.setdefault(key, []).append((name, 0.0))
                continue
            after = take(named[name])
            key_or_none = _cause.of_change(context, name, before, after)
            if key_or_none is not None:
                found.setdefault(key_or_none, []).append((name, largest_difference(before, after)))
        for name, before in self._buffers.items():
            if name in buffers and take(buffers[name]).digest != before.digest:
                reason = "a layer that computes statistics, such as BatchNorm, is frozen but in training mode"
                key = ("buffer-moved", reason, "put it into evaluation mode: freeze(..., eval_mode=True)")
                found.setdefault(key, []).append((name, largest_difference(before, take(buffers[name]))))
        return [_cause.finding(key, moved) for key, moved in found.items()]

    def _settle(self, faults: List[Finding], when: str) -> None:
        """Raises on faults, on every process if there are several."""
        texts = [str(fault) for fault in faults]
        elsewhere = _cause.exchange(texts)
        if self.strict and (faults or elsewhere):
            lines = texts or [f"another process found: {text}" for text in elsewhere]
            raise FreezeError(f"{when}: " + "\n".join(lines), faults)


def _list(optimizer: Optimizers) -> List[Any]:
    if optimizer is None:
        return []
    many = list(optimizer) if isinstance(optimizer, (list, tuple)) else [optimizer]
    # Accelerate wraps optimisers.
    return [getattr(one, "optimizer", one) for one in many]


def _named(model: nn.Module) -> Dict[str, nn.Parameter]:
    return {plain_name(name): parameter for name, parameter in all_parameters(model)}


def _named_buffers(model: nn.Module) -> List[Tuple[str, Any]]:
    return [(plain_name(name), buffer) for name, buffer in model.named_buffers()]


def _tied(named: Dict[str, nn.Parameter]) -> List[Tuple[str, ...]]:
    names: Dict[int, List[str]] = {}
    for name, parameter in named.items():
        names.setdefault(id(parameter), []).append(name)
    return [tuple(group) for group in names.values() if len(group) > 1]


def _frozen_buffers(model: nn.Module, frozen: Dict[str, bool]) -> Dict[str, Any]:
    """The buffers of modules whose own parameters are all frozen, or of parts that are."""
    found = {}
    for name, buffer in _named_buffers(model):
        owner = name.rpartition(".")[0]
        while True:
            start = owner + "." if owner else ""
            below = [state for other, state in frozen.items() if other.startswith(start)]
            if below or not owner:
                break
            owner = owner.rpartition(".")[0]
        if below and all(below):
            found[name] = buffer
    return found


def _is_empty(parameter: nn.Parameter) -> bool:
    from ._fingerprint import local

    return local(parameter).numel() == 0
