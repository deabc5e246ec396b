"""Fingerprints of tensors: a hash of all bytes, a grid of samples and a norm. A copy of the model is never kept."""

from __future__ import annotations

import ctypes
import hashlib
from dataclasses import dataclass
from typing import Any, Optional, Tuple

import torch

_CHUNK = 1 << 24
_SIDE = 32


@dataclass(frozen=True)
class Fingerprint:
    """What is remembered of a tensor."""

    digest: bytes
    shape: Tuple[int, ...]
    dtype: torch.dtype
    sample: torch.Tensor
    norm: float
    requires_grad: bool


def local(tensor: Any) -> torch.Tensor:
    """This process's part of a tensor that several processes share."""
    tensor = tensor.detach()
    if hasattr(tensor, "to_local"):
        tensor = tensor.to_local()
    result: torch.Tensor = tensor
    return result


def take(tensor: torch.Tensor) -> Fingerprint:
    """The fingerprint of a parameter or buffer."""
    own = local(tensor)
    values = _grid(own)
    is_number = own.is_floating_point()
    norm = float(torch.linalg.vector_norm(own.float())) if is_number and own.numel() else 0.0
    return Fingerprint(digest(own), tuple(own.shape), own.dtype, values, norm, bool(tensor.requires_grad))


def digest(tensor: torch.Tensor) -> bytes:
    """A hash of the values' bytes, the same on every device."""
    hashed = hashlib.blake2b(digest_size=16)
    flat = tensor.reshape(-1)
    for start in range(0, flat.numel(), _CHUNK):
        part = flat[start : start + _CHUNK].contiguous().cpu()
        size = part.numel() * part.element_size()
        hashed.update((ctypes.c_char * size).from_address(part.data_ptr()))
    return hashed.digest()


def _grid(tensor: torch.Tensor) -> torch.Tensor:
    """Up to 32 rows and columns of a matrix, or 1,024 values of a vector, as 64-bit floats."""
    if tensor.numel() == 0 or not tensor.is_floating_point():
        return torch.zeros(0, dtype=torch.float64)
    if tensor.dim() < 2:
        flat = tensor.reshape(-1)
        picked = flat[_places(flat.numel(), _SIDE * _SIDE, flat.device)]
    else:
        matrix = tensor.reshape(tensor.shape[0], -1)
        rows = _places(matrix.shape[0], _SIDE, matrix.device)
        picked = matrix[rows][:, _places(matrix.shape[1], _SIDE, matrix.device)]
    return picked.double().cpu()


def _places(count: int, most: int, device: torch.device) -> torch.Tensor:
    return torch.arange(min(count, most), device=device) * count // min(count, most)


def largest_difference(before: Fingerprint, after: Fingerprint) -> float:
    """The largest difference of the sampled values."""
    if before.sample.shape != after.sample.shape or not before.sample.numel():
        return 0.0
    return float((after.sample - before.sample).abs().max())


def constant_ratio(before: Fingerprint, after: Fingerprint) -> Optional[float]:
    """The factor by which every element was multiplied, if there is one below 1; what weight decay does."""
    if before.sample.shape != after.sample.shape:
        return None
    used = before.sample != 0
    if int(used.sum()) < 2 or not before.norm:
        return None
    ratios = after.sample[used] / before.sample[used]
    ratio = float(ratios.median())
    # One rounding for each of a few steps.
    tolerance = 4 * torch.finfo(before.dtype).eps
    same = bool((ratios - ratio).abs().max() <= tolerance)
    whole = abs(after.norm / before.norm - ratio) <= max(tolerance, 1e-5 * abs(1 - ratio) + 1e-6)
    return ratio if same and whole and ratio < 1 - torch.finfo(before.dtype).eps / 4 else None


def rank_of_difference(before: Fingerprint, after: Fingerprint) -> Optional[int]:
    """The rank of a matrix's difference over the sampled rows and columns; None if it is full or there is no matrix."""
    if before.sample.dim() != 2 or before.sample.shape != after.sample.shape:
        return None
    difference = after.sample - before.sample
    least = min(difference.shape)
    if least < 4:
        return None
    # Singular values below the rounding of the sum are noise.
    noise = torch.finfo(before.dtype).eps * float(after.sample.abs().max()) * max(difference.shape)
    rank = int((torch.linalg.svdvals(difference) > max(noise, 1e-4 * float(torch.linalg.matrix_norm(difference, 2)))).sum())
    return rank if rank <= least // 2 else None
