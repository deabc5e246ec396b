"""Freezing and auditing any encoder of transformers in PyTorch. Needs `pip install frostline[torch]`."""

from __future__ import annotations

from ._audit import AuditReport, FreezeAudit, FreezeError
from ._cause import Finding
from ._freeze import FreezeReport, freeze, report, unfreeze
from ._schedule import Unfreezing, schedule

__all__ = [
    "AuditReport",
    "Finding",
    "FreezeAudit",
    "FreezeError",
    "FreezeReport",
    "Unfreezing",
    "freeze",
    "report",
    "schedule",
    "unfreeze",
]
