"""What users write, checked by `mypy --strict`."""

from __future__ import annotations

from typing import List, Optional

import frostline
from frostline.torch import FreezeAudit, FreezeReport, freeze


def reading(path: str) -> List[Optional[str]]:
    treebank = frostline.read_conllu([path])
    return [token.upos for sentence in treebank for token in sentence.words]


def aligning(folder: str, sentences: List[List[str]]) -> int:
    aligner = frostline.Aligner.from_pretrained(folder, max_length=128)
    batch = frostline.numpy_batch(aligner.align_batch(sentences))
    return int(batch["input_ids"].size)


def scoring(gold: str, system: str) -> float:
    return frostline.score(gold, system)["LAS"].f1


def scoring_entities(gold: List[List[str]], predicted: List[List[str]]) -> float:
    return frostline.score_entities(gold, predicted, scheme="strict")["all"].f1


def tagging(folder: str) -> List[List[str]]:
    return frostline.Tagger.load(folder).tag([["Ice", "melts"]])


def freezing(model: object) -> FreezeReport:
    import torch

    assert isinstance(model, torch.nn.Module)
    audit = FreezeAudit(model, policy="first-4")
    audit.step()
    assert audit.finish().ok
    return freeze(model, "first-4+embeddings", eval_mode=True)


def auditing(before: str, model: object) -> List[str]:
    import torch

    assert isinstance(model, torch.nn.Module)
    found = frostline.audit(before, model.state_dict(), policy="first-4")
    return [row.name for row in found.moved if row.frozen and row.scale is not None]
