"""`params`: how many parameters of a model learn under a policy."""

from __future__ import annotations

import os
from typing import Dict, List, NamedTuple, Tuple, Union

from ._errors import PolicyError
from ._frostline import tensor_shapes
from ._names import find_parts


class Account(NamedTuple):
    """The numbers of one part of a model."""

    part: str
    total: int
    trainable: int


class Params(NamedTuple):
    """How many numbers a model has, and how many of them learn."""

    policy: str
    parts: Tuple[Account, ...]

    @property
    def total(self) -> int:
        """All numbers."""
        return sum(part.total for part in self.parts)

    @property
    def trainable(self) -> int:
        """The numbers that learn."""
        return sum(part.trainable for part in self.parts)

    def __str__(self) -> str:
        return account_table(self.parts, f"policy {self.policy}")


def account_table(parts: Tuple[Account, ...], title: str) -> str:
    """The accounts as text."""
    total, learning = sum(part.total for part in parts), sum(part.trainable for part in parts)
    width = max([len("all"), *(len(part.part) for part in parts)])
    lines = [f"{title}: {learning:,} of {total:,} parameters learn ({learning / max(total, 1):.1%})"]
    rows = [*((part.part, part.total, part.trainable) for part in parts), ("all", total, learning)]
    lines += [f"  {name:<{width}} {count:>13,} {learns:>13,}" for name, count, learns in rows]
    return "\n".join(lines)


def params(folder: Union[str, "os.PathLike[str]"], policy: str) -> Params:
    """Counts the parameters of a checkpoint under a policy, from its headers alone.

    The checkpoint is a folder or file that `audit` reads too.
    """
    shapes = dict(tensor_shapes(folder))
    parts = find_parts(shapes)
    resolved = parts.resolve(policy)
    if any(method in ("lora", "adapters") for method in resolved.methods) or resolved.mix:
        advice = "use `frostline params`, which counts what the policy adds"
        raise PolicyError(f"`{policy}` adds parameters, which the files do not have", advice)
    frozen = parts.frozen(resolved)
    order: Dict[str, List[int]] = {}
    for name, part in parts.of.items():
        count = 1
        for side in shapes[name]:
            count *= side
        row = order.setdefault(part, [0, 0])
        row[0] += count
        row[1] += 0 if frozen[name] else count
    return Params(policy, tuple(Account(part, *row) for part, row in sorted(order.items(), key=_place)))


def _place(row: Tuple[str, List[int]]) -> Tuple[int, int]:
    """From the input to the output."""
    part = row[0]
    if part.startswith("block "):
        return (1, int(part.split()[1]))
    return ({"embeddings": 0, "final norm": 2}.get(part, 3), 0)
