"""Why a frozen tensor moved, or a trainable one did not: each fault has a kind, a reason and an advice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

import torch
from torch import nn

from ._fingerprint import Fingerprint, constant_ratio, local, rank_of_difference
from ._freeze import is_adapter

Key = Tuple[str, str, str]


@dataclass(frozen=True)
class Finding:
    """One fault or warning: its kind, the tensors, the reason, and what to do."""

    kind: str
    names: Tuple[str, ...]
    reason: str
    advice: str

    def __str__(self) -> str:
        more = f" and {len(self.names) - 1} more" if len(self.names) > 1 else ""
        text = f"[{self.kind}] {self.names[0]}{more}: {self.reason}" if self.names else f"[{self.kind}] {self.reason}"
        return f"{text}; {self.advice}" if self.advice else text


@dataclass(frozen=True)
class Context:
    """What a comparison reads besides the tensors."""

    named: Dict[str, nn.Parameter]
    before: Dict[str, Fingerprint]
    optimizers: List[Any]
    steps: int


def finding(key: Key, moved: Sequence[Tuple[str, float]]) -> Finding:
    """A fault of several tensors with one cause."""
    kind, reason, advice = key
    largest, name = max(((difference, name) for name, difference in moved), key=lambda pair: pair[0])
    if largest > 0:
        reason = f"moved by up to {largest:.1e} ({name}): {reason}"
    return Finding(kind, tuple(name for name, _ in moved), reason, advice)


def of_change(context: Context, name: str, before: Fingerprint, after: Fingerprint) -> Optional[Key]:
    """The cause of a frozen tensor's change; None if it did not change."""
    if before.shape != after.shape:
        return ("shape-changed", f"its shape was {before.shape} and is {after.shape}", "compare the same model")
    if before.dtype != after.dtype:
        reason = f"its type was {before.dtype} and is {after.dtype}: rounded, not trained"
        return ("dtype-changed", reason, "convert the model before the audit begins")
    if before.digest == after.digest:
        return None
    if _adapter_is_gone(context, name):
        rank = rank_of_difference(before, after)
        text = f": the difference has rank {rank}" if rank else ""
        return ("merged-adapter", f"an adapter was merged into it{text}", "audit before merging")
    parameter = context.named[name]
    grad = parameter.grad
    ratio = constant_ratio(before, after)
    if ratio is not None and _decays(context, parameter):
        shown = f"{ratio:.6f}" if f"{ratio:.6f}" != "1.000000" else f"{ratio:.9f}"
        reason = f"every element times {shown}: weight decay of a frozen parameter"
        return ("weight-decay", reason, "make the optimiser from parameters that require gradients, or set their .grad to None")
    if parameter.requires_grad:
        return ("not-frozen", "it still requires gradients: the policy was not applied", "freeze before training")
    if before.requires_grad:
        reason = "it was frozen after its gradient was computed"
        return ("frozen-late", reason, "freeze before training, or clear the gradients with set_to_none=True")
    if grad is not None and _is_nonzero(grad):
        reason = "a stale gradient from before it was frozen is applied again"
        return ("stale-gradient", reason, "clear the gradients with zero_grad(set_to_none=True)")
    if grad is not None and _has_momentum(context, parameter):
        reason = "its gradient is zero, but the optimiser's momentum from before it was frozen moves it on"
        return ("momentum", reason, "clear the gradients with zero_grad(set_to_none=True), or make a new optimiser")
    return ("frozen-moved", "something other than the optimiser wrote to it", "look for code that loads or averages weights")


def before_training(
    named: Dict[str, nn.Parameter], frozen: Dict[str, bool], tied: Iterable[Tuple[str, ...]], optimizers: List[Any]
) -> List[Finding]:
    """What is certainly wrong before the first step."""
    found = []
    for names in tied:
        still = [name for name in names if frozen.get(name)]
        learning = [name for name in names if not frozen.get(name)]
        if still and learning:
            state = "learns" if named[names[0]].requires_grad else "is frozen"
            reason = f"{still[0]} should be frozen and {learning[0]} should learn, but they are one tensor, which {state}"
            advice = "untie them (tie_word_embeddings=False), or treat both alike"
            found.append(Finding("tied", names, reason, advice))
    held = _held(optimizers)
    if not optimizers or not any(id(parameter) in held for parameter in named.values()):
        # A framework that flattens parameters holds others.
        return found
    lost = [name for name, parameter in named.items() if parameter.requires_grad and id(parameter) not in held]
    own = {id(parameter) for parameter in named.values()}
    strangers = [parameter for key, parameter in held.items() if key not in own]
    if lost and strangers:
        reason = f"the optimiser does not hold it, but {len(strangers)} tensors that are not in the model: a module was replaced"
        found.append(Finding("replaced-module", tuple(lost), reason, "make the optimiser after the model is complete"))
    elif lost:
        reason = "it requires gradients, but the optimiser does not hold it: it was thawed after the optimiser was made"
        found.append(Finding("not-in-optimizer", tuple(lost), reason, "make the optimiser after thawing, or add a group"))
    return found


def suspicions(
    model: nn.Module, named: Dict[str, nn.Parameter], frozen: Dict[str, bool], optimizers: List[Any]
) -> List[Finding]:
    """What may go wrong, before the first step."""
    found = []
    requires = tuple(name for name, parameter in named.items() if frozen.get(name) and parameter.requires_grad)
    if requires:
        found.append(Finding("not-frozen", requires, "it should be frozen, but requires gradients", "freeze it now"))
    idle = tuple(
        name
        for name, parameter in named.items()
        if name in frozen and not frozen[name] and not parameter.requires_grad and parameter.is_floating_point()
    )
    if idle:
        found.append(Finding("not-learning", idle, "it should learn, but does not require gradients", "thaw it"))
    held = _held(optimizers)
    kept = tuple(
        name
        for name, parameter in named.items()
        if frozen.get(name) and id(parameter) in held and parameter.grad is not None
    )
    if kept:
        reason = "it is frozen, but the optimiser holds it and it has a gradient"
        found.append(Finding("stale-gradient", kept, reason, "clear the gradients with zero_grad(set_to_none=True)"))
    return found


def training_mode(model: nn.Module, frozen: Dict[str, bool]) -> List[Finding]:
    """Frozen parts whose dropout is active: the same input gives other outputs."""
    from .._names import plain_name

    active = []
    for name, part in model.named_modules():
        rate = getattr(part, "p", 0.0)
        if isinstance(part, nn.modules.dropout._DropoutNd) and part.training and isinstance(rate, float) and rate > 0:
            owner = plain_name(name).rpartition(".")[0]
            below = [state for other, state in frozen.items() if other.startswith(owner + ".")] if owner else []
            if below and all(below):
                active.append(plain_name(name))
    if not active:
        return []
    reason = "dropout is active in a frozen part, so that its output differs from step to step"
    return [Finding("training-mode", tuple(active), reason, "freeze(..., eval_mode=True) if it should be constant")]


def never_moved(
    named: Dict[str, nn.Parameter], still: Sequence[str], optimizers: List[Any], steps: int
) -> Tuple[List[Finding], List[Finding]]:
    """Why trainable tensors never moved: faults, and those that a model does not use."""
    if not steps:
        return [], []
    held = _held(optimizers)
    groups: Dict[Tuple[str, str, str, bool], List[str]] = {}
    for name in still:
        parameter = named[name]
        if not parameter.requires_grad:
            key = ("never-moved", "it should learn, but does not require gradients", "thaw it", True)
        elif optimizers and id(parameter) not in held:
            reason = "the optimiser does not hold it: it was thawed, or its module replaced, after the optimiser was made"
            key = ("not-in-optimizer", reason, "make the optimiser after thawing, or add a group", True)
        elif optimizers and not any(parameter in one.state for one in optimizers):
            key = ("unused", "it never received a gradient: the model does not use it", "freeze it", False)
        elif optimizers:
            reason = "its updates were zero, or smaller than the rounding of its type"
            key = ("never-moved", reason, "check the learning rate and the type of the weights", True)
        else:
            key = ("never-moved", "it should learn, but never moved", "give the optimiser to the audit for the reason", True)
        groups.setdefault(key, []).append(name)
    faults: List[Finding] = []
    warnings: List[Finding] = []
    for (kind, reason, advice, is_fault), names in groups.items():
        (faults if is_fault else warnings).append(Finding(kind, tuple(names), reason, advice))
    return faults, warnings


def exchange(texts: List[str]) -> List[str]:
    """The faults of other processes, so that all stop together."""
    distributed = torch.distributed
    if not (distributed.is_available() and distributed.is_initialized()) or distributed.get_world_size() == 1:
        return []
    every: List[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(every, texts)
    own = distributed.get_rank()
    return [text for rank, found in enumerate(every) if rank != own for text in found]


def _held(optimizers: List[Any]) -> Dict[int, Any]:
    return {id(p): p for one in optimizers for group in one.param_groups for p in group["params"]}


def _decays(context: Context, parameter: nn.Parameter) -> bool:
    """Whether the optimiser decays this parameter; assumed without an optimiser."""
    groups = [group for one in context.optimizers for group in one.param_groups]
    own = [group for group in groups if any(p is parameter for p in group["params"])]
    return not groups or any(group.get("weight_decay") for group in own)


def _has_momentum(context: Context, parameter: nn.Parameter) -> bool:
    for one in context.optimizers:
        state = one.state.get(parameter, {})
        for key in ("exp_avg", "momentum_buffer"):
            if state.get(key) is not None and _is_nonzero(state[key]):
                return True
    return False


def _is_nonzero(tensor: Any) -> bool:
    """Whether this process's part has a number other than 0; an operation of all processes would wait for the others."""
    return bool((local(tensor) != 0).any())


def _adapter_is_gone(context: Context, name: str) -> bool:
    """Whether the tensor's module had an adapter at the beginning, and has none now."""
    owner = name.rpartition(".")[0] + "."
    adapters = [other for other in context.before if other.startswith(owner) and is_adapter(other)]
    return bool(adapters) and not any(other in context.named for other in adapters)
