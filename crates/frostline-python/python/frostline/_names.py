"""Names of parameters: without what wrappers add to them, and those that patterns match.

Wrappers are those of PEFT, FSDP, DDP and `torch.compile`. The parts of a model are found in plain names by `ModelParts`.
"""

from __future__ import annotations

import re
from typing import Dict, Iterable, List

from ._errors import PolicyError
from ._frostline import ModelParts

# What wrappers put into names.
_WRAPPERS = re.compile(
    r"(^|\.)(_fsdp_wrapped_module|_orig_mod|_checkpoint_wrapped_module|base_layer|original_module)(?=\.|$)"
)
_PEFT = re.compile(r"^base_model\.model\.")
_MODULE = re.compile(r"^module\.")


def plain_name(name: str) -> str:
    """The name without what wrappers added."""
    name = _MODULE.sub("", name)
    name = _WRAPPERS.sub(lambda found: found.group(1) and "", name)
    return _PEFT.sub("", name.lstrip("."))


def find_parts(names: Iterable[str]) -> ModelParts:
    """The parts of a model with parameters of these names.

    Raises PolicyError, with the names that exist, if there is no stack of blocks, or several.
    """
    return ModelParts({name: plain_name(name) for name in names})


def listed(names: Iterable[str], most: int = 12) -> str:
    """The different beginnings of names, for a message."""
    starts = list(dict.fromkeys(re.sub(r"\.\d+\..*$", ".N", name) if re.search(r"\.\d+\.", name) else
                                name.rsplit(".", 1)[0] for name in names))
    more = f" and {len(starts) - most} more" if len(starts) > most else ""
    return ", ".join(starts[:most]) + more


def match_patterns(names: Iterable[str], patterns: Iterable[str]) -> List[str]:
    """The names that a pattern matches: a prefix, or a pattern with `*`. A pattern that matches nothing is an error."""
    from fnmatch import fnmatchcase

    all_names = list(names)
    found: Dict[str, None] = {}
    for pattern in patterns:
        def matches(name: str, pattern: str = pattern) -> bool:
            short = plain_name(name)
            if any(mark in pattern for mark in "*?["):
                return fnmatchcase(short, pattern) or fnmatchcase(name, pattern)
            stem = pattern.rstrip(".")
            return any(one == stem or one.startswith(stem + ".") for one in (short, name))

        hits = [name for name in all_names if matches(name)]
        if not hits:
            raise PolicyError(
                f"the pattern {pattern!r} matches no parameter; there are: {listed(map(plain_name, all_names))}",
                "correct the pattern",
            )
        found.update(dict.fromkeys(hits))
    return list(found)
