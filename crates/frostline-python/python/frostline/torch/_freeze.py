"""`freeze`, `unfreeze` and `report`: which parameters of a module learn, by policy or by patterns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import partial
from typing import Dict, List, Optional, Sequence, Tuple

from torch import nn

from .._errors import PolicyError, SettingError
from .._names import find_parts, match_patterns, plain_name
from .._params import Account, _place, account_table


@dataclass(frozen=True)
class FreezeReport:
    """What learns: for each part its numbers, and the tensors that several names share."""

    policy: str
    parts: Tuple[Account, ...]
    frozen: Tuple[str, ...]
    trainable: Tuple[str, ...]
    tied: Tuple[Tuple[str, ...], ...] = ()
    kept_in_eval: Tuple[str, ...] = field(default=())

    @property
    def total(self) -> int:
        """All numbers of the model; a shared tensor counts once."""
        return sum(part.total for part in self.parts)

    @property
    def learning(self) -> int:
        """The numbers that learn."""
        return sum(part.trainable for part in self.parts)

    def __str__(self) -> str:
        lines = [account_table(self.parts, self.policy)]
        lines += [f"  one tensor: {', '.join(names)}" for names in self.tied]
        if self.kept_in_eval:
            lines.append(f"  kept in evaluation mode: {', '.join(self.kept_in_eval)}")
        return "\n".join(lines)


def freeze(
    module: nn.Module,
    policy: Optional[str] = None,
    *,
    patterns: Sequence[str] = (),
    eval_mode: bool = False,
) -> FreezeReport:
    """Freezes what a policy such as "first-4+embeddings" names; everything else learns.

    The module is any encoder of transformers, with or without a head. `patterns` (beginnings of names, or names with `*`)
    freeze more, or without a policy these alone. In a model with PEFT adapters nothing is thawed.

    With `eval_mode` the frozen parts are put into evaluation mode, so that dropout is off in them, and stay there when
    `module.train()` is called. Freeze before the optimiser is made.
    """
    release(module)
    frozen, title = resolve(module, policy, patterns)
    by_tensor: Dict[int, bool] = {}
    named = all_parameters(module)
    for name, parameter in named:
        by_tensor[id(parameter)] = by_tensor.get(id(parameter), False) or frozen[name]
    has_adapters = any(is_adapter(name) for name, _ in named)
    for name, parameter in named:
        if by_tensor[id(parameter)]:
            parameter.requires_grad_(False)
        elif not has_adapters and (parameter.is_floating_point() or parameter.is_complex()):
            parameter.requires_grad_(True)
    for names in tied_names(module):
        if len({frozen[name] for name in names}) > 1:
            warnings.warn(
                f"{' and '.join(names)} are one tensor, which the policy freezes under one name and not under another: "
                "it is frozen; untie them, or choose a policy that treats both alike",
                stacklevel=2,
            )
    if eval_mode:
        _keep_in_eval(module)
    return report(module, title)


def unfreeze(module: nn.Module, patterns: Sequence[str] = ()) -> FreezeReport:
    """Lets all parameters learn, or those that patterns name. Frozen parts follow `module.train()` again.

    An optimiser that was made from the trainable parameters alone does not hold the thawed ones: make a new one.
    """
    named = all_parameters(module)
    chosen = set(match_patterns([name for name, _ in named], patterns)) if patterns else {name for name, _ in named}
    for name, parameter in named:
        if name in chosen and (parameter.is_floating_point() or parameter.is_complex()):
            parameter.requires_grad_(True)
    kept = [part for part in module.modules() if "train" in part.__dict__]
    release(module)
    for part in kept:
        if not any(parameter.requires_grad for parameter in part.parameters()):
            _stay(part)
    return report(module)


def report(module: nn.Module, title: str = "as it is") -> FreezeReport:
    """What would learn if training began now."""
    named = all_parameters(module)
    try:
        parts = find_parts([name for name, _ in named]).of
    except PolicyError:
        parts = {name: plain_name(name).split(".")[0] for name, _ in named}
    rows: Dict[str, List[int]] = {}
    seen: set[int] = set()
    for name, parameter in named:
        row = rows.setdefault(parts[name], [0, 0])
        if id(parameter) in seen:
            continue
        seen.add(id(parameter))
        row[0] += parameter.numel()
        row[1] += parameter.numel() if parameter.requires_grad else 0
    accounts = tuple(Account(part, *row) for part, row in sorted(rows.items(), key=_place))
    return FreezeReport(
        title,
        accounts,
        tuple(name for name, parameter in named if not parameter.requires_grad),
        tuple(name for name, parameter in named if parameter.requires_grad),
        tuple(tied_names(module)),
        tuple(name or "the module" for name, part in module.named_modules() if "train" in part.__dict__),
    )


def resolve(module: nn.Module, policy: Optional[str], patterns: Sequence[str]) -> Tuple[Dict[str, bool], str]:
    """Whether each parameter is frozen, under every name that it has, and a title."""
    names = [name for name, _ in all_parameters(module)]
    if policy is None and not patterns:
        raise SettingError("neither a policy nor patterns are given", 'give a policy such as "first-4+embeddings"')
    frozen = dict.fromkeys(names, False)
    title = "patterns " + ", ".join(patterns)
    if policy is not None:
        parts = find_parts(names)
        resolved = parts.resolve(policy)
        if resolved.mix or resolved.changes or any(method in ("lora", "adapters") for method in resolved.methods):
            advice = "use PEFT for what is added, and a policy without these parts; `frostline sweep` has all of them"
            raise PolicyError(f"`{policy}` adds parameters or changes during the run", advice)
        norms = {f"{name}." for name, part in module.named_modules() if "norm" in type(part).__name__.lower()}
        frozen = parts.frozen(resolved, {name for name in names if name.rsplit(".", 1)[0] + "." in norms})
        title = f"policy {policy}" + (f" and {title}" if patterns else "")
    for name in match_patterns(names, patterns) if patterns else []:
        frozen[name] = True
    return frozen, title


def all_parameters(module: nn.Module) -> List[Tuple[str, nn.Parameter]]:
    """Every parameter under every name that it has."""
    return list(module.named_parameters(remove_duplicate=False))


def tied_names(module: nn.Module) -> List[Tuple[str, ...]]:
    """The names of each tensor that has several."""
    names: Dict[int, List[str]] = {}
    for name, parameter in all_parameters(module):
        names.setdefault(id(parameter), []).append(name)
    return [tuple(group) for group in names.values() if len(group) > 1]


def is_adapter(name: str) -> bool:
    """Whether PEFT added this parameter."""
    return ".lora_" in name or ".modules_to_save." in name or "lora_" in name.split(".")


def _keep_in_eval(module: nn.Module) -> None:
    """Puts the largest frozen parts into evaluation mode for good."""
    parameters = list(module.parameters())
    if parameters and not any(parameter.requires_grad for parameter in parameters):
        _stay(module)
        return
    for part in module.children():
        if any(True for _ in part.parameters()):
            _keep_in_eval(part)


def _stay(part: nn.Module) -> None:
    part.eval()
    # An attribute of the instance comes before the method of its class; a partial of a function can be pickled.
    part.__dict__["train"] = partial(_train_nothing, part)


def _train_nothing(part: nn.Module, mode: bool = True) -> nn.Module:
    """`train` of a part that stays in evaluation mode."""
    return type(part).train(part, False)


def release(module: nn.Module) -> None:
    """Lets all parts follow `module.train()` again."""
    for part in module.modules():
        if part.__dict__.pop("train", None) is not None:
            part.train(module.training)
