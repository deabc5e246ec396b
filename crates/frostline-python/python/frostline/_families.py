"""Which part of an encoder a parameter belongs to, by its name in transformers.

A part is "embeddings", "block N", "final" (a norm after the last block) or "head NAME". Wrappers of PEFT, FSDP, DDP and
`torch.compile` are removed from a name first.
"""

from __future__ import annotations

import re
from typing import Dict, Iterable, List, NamedTuple, Optional, Tuple

from ._errors import PolicyError

EMBEDDINGS = "embeddings"
FINAL = "final"

# What wrappers put into names.
_WRAPPERS = re.compile(
    r"(^|\.)(_fsdp_wrapped_module|_orig_mod|_checkpoint_wrapped_module|base_layer|original_module)(?=\.|$)"
)
_PEFT = re.compile(r"^base_model\.model\.")
_MODULE = re.compile(r"^module\.")

# A stack of blocks, by the names of its module list. Groups: what is before, and the number.
_BLOCK = re.compile(
    r"^(?P<stack>(?:.*\.)?(?:encoder\.layer|encoder\.layers|transformer\.layer|transformer\.h|encoder\.block"
    r"|layers|layer|h|blocks))\.(?P<number>\d+)\."
)
_ALBERT = re.compile(r"^(?P<stack>(?:.*\.)?albert_layer_groups)\.(?P<number>\d+)\.")
_EMBEDDINGS = re.compile(
    r"(?:^|\.)(?:embeddings|emb_ln|embed_tokens|tok_embeddings|embeddings_project|embedding_hidden_mapping_in"
    r"|rel_embeddings|wte|wpe|word_embedding|word_embeddings|relative_attention_bias)(?:\.|$)"
)


def plain_name(name: str) -> str:
    """The name without what wrappers added."""
    name = _MODULE.sub("", name)
    name = _WRAPPERS.sub(lambda found: found.group(1) and "", name)
    return _PEFT.sub("", name.lstrip("."))


class Parts(NamedTuple):
    """The parts of a model: for each parameter's name its part, and what there is."""

    of: Dict[str, str]
    depth: int
    heads: List[str]

    def names(self, part: str) -> List[str]:
        """The parameters of a part."""
        return [name for name, other in self.of.items() if other == part]


def find_parts(names: Iterable[str]) -> Parts:
    """Assigns every parameter to a part of the model.

    Raises PolicyError, with the names that exist, if there is no stack of blocks.
    """
    plain = {name: plain_name(name) for name in names}
    stack = _find_stack(plain.values())
    if stack is None:
        raise PolicyError(
            f"no stack of transformer blocks was found among {len(plain)} parameters; there are: {listed(plain.values())}",
            "give an encoder of transformers, or name what is frozen by patterns",
        )
    shared_norm = any(".rel_embeddings." in name for name in plain.values())
    base = _base_prefix(stack)
    of: Dict[str, str] = {}
    for name, short in plain.items():
        of[name] = _part(short, stack, base, shared_norm)
    depth = 1 + max(int(part.split()[1]) for part in of.values() if part.startswith("block "))
    heads = list(dict.fromkeys(part[len("head ") :] for part in of.values() if part.startswith("head ")))
    return Parts(of, depth, heads)


def _find_stack(names: Iterable[str]) -> Optional[str]:
    """The stack with the most parameters; of several encoders in one model, there is no telling which is meant."""
    counts: Dict[str, int] = {}
    for name in names:
        found = _ALBERT.match(name) or _BLOCK.match(name)
        if found:
            counts[found.group("stack")] = counts.get(found.group("stack"), 0) + 1
    return max(counts, key=lambda stack: counts[stack]) if counts else None


def _base_prefix(stack: str) -> str:
    """What the names of the encoder begin with: `bert.` of `bert.encoder.layer`, empty for a bare encoder."""
    inner = re.sub(r"(?:^|\.)(?:encoder\.|transformer\.)?(?:layers?|h|blocks?|albert_layer_groups)$", "", stack)
    return inner + "." if inner else ""


def _part(name: str, stack: str, base: str, shared_norm: bool) -> str:
    if name.startswith(stack + "."):
        return f"block {int(name[len(stack) + 1 :].split('.')[0])}"
    if name.startswith(base):
        rest = name[len(base) :]
        if re.match(r"encoder\.conv\.", rest):
            return "block 0"
        if shared_norm and rest.startswith("encoder.LayerNorm."):
            # DeBERTa: every block reads the positions that this norm is applied to.
            return EMBEDDINGS
        if _EMBEDDINGS.search(rest) and not re.match(r"(?:cls|lm_head|head|predictions|classifier)\.", rest):
            return EMBEDDINGS
        if re.match(r"(?:final_norm|encoder\.LayerNorm|encoder\.layer_norm|ln_f|norm)\.", rest):
            return FINAL
        return "head " + rest.split(".")[0]
    # A module around the model, such as Lightning's, is no part of a head's name.
    outer = base[:-1].rpartition(".")[0]
    rest = name[len(outer) + 1 :] if outer and name.startswith(outer + ".") else name
    return "head " + rest.split(".")[0]


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


def frozen_parts(policy: "object", parts: Parts) -> Tuple[Dict[str, bool], List[str]]:
    """Whether each parameter is frozen under a `frostline.Policy`, and the methods by which the rest learns."""
    from ._frostline import Policy

    assert isinstance(policy, Policy)
    groups, heads = set(policy.frozen_groups), set(policy.frozen_heads)
    all_blocks = all(f"block {number}" in groups for number in range(parts.depth))

    def is_frozen(part: str) -> bool:
        if part == FINAL:
            # The norm after the last block is no block: it learns while any block does.
            return all_blocks
        return part[len("head ") :] in heads if part.startswith("head ") else part in groups

    return {name: is_frozen(part) for name, part in parts.of.items()}, policy.methods
