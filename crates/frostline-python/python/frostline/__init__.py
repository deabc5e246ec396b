"""Treebanks, subword alignment, scores, and proof that frozen layers stayed frozen.

Importing this package imports neither torch nor numpy. `frostline.torch` needs torch.
"""

from __future__ import annotations

from ._aligner import numpy_batch
from ._audit import Comparison, TensorChange, audit
from ._errors import DataError, FrostlineError, PolicyError, ProgramError, SettingError
from ._frostline import (
    Aligner,
    Alignment,
    EntityLayer,
    Fault,
    LabelledSentence,
    LabelledText,
    Metric,
    Policy,
    Sentence,
    Table,
    TaggedSentence,
    Token,
    Treebank,
    __version__,
    compare,
    read_conllu,
    read_iob2,
    read_labelled,
    score,
    score_entities,
    validate,
)
from ._params import params
from ._program import find_program
from ._records import load_records
from ._sweep import sweep
from ._tagger import Tagger

__all__ = [
    "Aligner",
    "Alignment",
    "Comparison",
    "DataError",
    "EntityLayer",
    "Fault",
    "FrostlineError",
    "LabelledSentence",
    "LabelledText",
    "Metric",
    "Policy",
    "PolicyError",
    "ProgramError",
    "Sentence",
    "SettingError",
    "Table",
    "TaggedSentence",
    "Tagger",
    "TensorChange",
    "Token",
    "Treebank",
    "__version__",
    "audit",
    "compare",
    "find_program",
    "load_records",
    "numpy_batch",
    "params",
    "read_conllu",
    "read_iob2",
    "read_labelled",
    "score",
    "score_entities",
    "sweep",
    "validate",
]
