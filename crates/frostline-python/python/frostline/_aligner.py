"""Alignments as padded arrays of numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Sequence

from ._frostline import Aligner, Alignment

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


def numpy_batch(alignments: Sequence[Alignment], pad_id: int = 0) -> Dict[str, NDArray[numpy.int64]]:
    """Pads a batch to its longest sentence: `input_ids`, `attention_mask` and `word_ids` (-1 where there is no word).

    >>> from frostline import Aligner, numpy_batch            # doctest: +SKIP
    >>> aligner = Aligner.from_pretrained("MODEL")            # doctest: +SKIP
    >>> numpy_batch(aligner.align_batch([["Ice", "melts"]]))  # doctest: +SKIP
    """
    import numpy

    rows = len(alignments)
    columns = max((len(one) for one in alignments), default=0)

    def array(buffer: bytearray) -> Any:
        return numpy.frombuffer(buffer, dtype=numpy.int64).reshape(rows, columns)

    ids, mask, words = Aligner._padded(list(alignments), pad_id)
    return {"input_ids": array(ids), "attention_mask": array(mask), "word_ids": array(words)}
