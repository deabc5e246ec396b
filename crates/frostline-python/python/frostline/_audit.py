"""`audit`: which tensors moved between two checkpoints, and whether those that were frozen stayed as they were."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ._errors import DataError, SettingError
from ._frostline import compare_checkpoints

if TYPE_CHECKING:
    import torch

# A file or folder, or the state dict of a model.
Checkpoint = Union[str, "os.PathLike[str]", "Mapping[str, torch.Tensor]"]


class TensorChange(NamedTuple):
    """What happened to a tensor."""

    name: str
    """The name without what wrappers add."""
    group: str
    """The part of the model: "embeddings", "block 3", or the first part of the name."""
    kind: str
    """ "parameter", "buffer" or "adapter"."""
    frozen: bool
    """Whether it must not change."""
    change: str
    """ "same", "rounded", "moved", "adapted", "shape", "missing", "left-to-base", "new" or "uncompared"."""
    largest: Optional[float]
    """The largest absolute difference, if numbers differ."""
    at: Optional[Tuple[int, ...]]
    """The index of that element."""
    scale: Optional[float]
    """The factor if every element was multiplied by the same one: weight decay."""
    rank: Optional[int]
    """The rank of the difference if it is low: a merged LoRA adapter."""
    reason: Optional[str]
    """Why it moved or is missing, if that can be seen."""


class Comparison:
    """The comparison of two checkpoints. `str()` is the table that `frostline audit` prints."""

    def __init__(self, values: Dict[str, Any], table: str) -> None:
        self._values = values
        self._table = table
        self.rows: Tuple[TensorChange, ...] = tuple(_row(row) for row in values["rows"])

    @property
    def ok(self) -> bool:
        """Whether every frozen tensor stayed as it was."""
        return bool(self._values["holds"])

    @property
    def moved(self) -> List[TensorChange]:
        """The tensors whose numbers or shapes differ."""
        return [row for row in self.rows if row.change in ("moved", "adapted", "shape")]

    @property
    def notes(self) -> List[str]:
        """What a reader should know, such as a prefix of names that was left out."""
        return list(self._values["notes"])

    def to_dict(self) -> Dict[str, Any]:
        """All values, as `frostline audit --json` prints them."""
        return dict(self._values)

    def __str__(self) -> str:
        return self._table.rstrip("\n")

    def __repr__(self) -> str:
        return f"Comparison({len(self.rows)} tensors, {len(self.moved)} moved, ok={self.ok})"


def audit(
    before: Checkpoint,
    after: Checkpoint,
    policy: Optional[str] = None,
    *,
    frozen: Union[str, Sequence[str]] = (),
) -> Comparison:
    """Compares two checkpoints tensor by tensor, bit by bit.

    A checkpoint is a safetensors file, a file of `torch.save`, an index of shards, a folder of Hugging Face, Lightning, PEFT or
    `torch.distributed.checkpoint`, or a state dict in memory. No code in a file is run. What was frozen is given as a policy such
    as "first-4+embeddings", or as `frozen`: names, beginnings of names up to a dot, or patterns with `*` and `?`.

    Raises DataError if a file cannot be read, PolicyError if the policy does not fit the names or a pattern matches none.
    """
    import json
    import tempfile

    if policy is not None and frozen:
        raise SettingError("both policy and frozen are given", "give one of them")
    patterns = [frozen] if isinstance(frozen, str) else list(frozen)
    with tempfile.TemporaryDirectory(prefix="frostline-") as folder:
        paths = [_path_of(side, Path(folder) / name) for side, name in ((before, "before"), (after, "after"))]
        written, table = compare_checkpoints(paths[0], paths[1], policy, patterns)
    return Comparison(json.loads(written), table)


def _row(row: Dict[str, Any]) -> TensorChange:
    change = row["change"]
    kind, difference = (change, {}) if isinstance(change, str) else next(iter(change.items()))
    at = difference.get("at")
    return TensorChange(
        name=row["name"],
        group=row["group"],
        kind=row["kind"],
        frozen=row["frozen"],
        change=kind,
        largest=difference.get("largest"),
        at=None if at is None else tuple(at),
        scale=difference.get("scale"),
        rank=difference.get("rank"),
        reason=row.get("reason"),
    )


def _path_of(checkpoint: Checkpoint, place: Path) -> Path:
    """The path of a checkpoint; a state dict is written to a file first."""
    if not isinstance(checkpoint, Mapping):
        return Path(checkpoint)
    path = place.with_suffix(".safetensors")
    _write_safetensors(checkpoint, path)
    return path


def _write_safetensors(tensors: Mapping[str, Any], path: Path) -> None:
    """Writes a state dict as safetensors, a tensor at a time."""
    import json
    import struct

    header: Dict[str, Any] = {}
    offset = 0
    for name, tensor in tensors.items():
        dtype = _DTYPES.get(str(getattr(tensor, "dtype", type(tensor).__name__)).replace("torch.", ""))
        if dtype is None:
            found = getattr(tensor, "dtype", type(tensor).__name__)
            raise DataError(f"{name} is {found}, expected a tensor of numbers", "leave it out of the state dict")
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    with open(path, "wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            stream.write(_bytes_of(tensor))


def _bytes_of(tensor: "torch.Tensor") -> bytes:
    import torch

    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return bytes(flat.view(torch.uint8).numpy()) if flat.numel() else b""


# The names of types in safetensors.
_DTYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
}
