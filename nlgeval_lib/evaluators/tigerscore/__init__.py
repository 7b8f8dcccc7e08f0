"""TIGERScore: errors with penalties, found without a reference; the two-turn prompts behind it; checks of analyses."""

from __future__ import annotations

from nlgeval_lib.evaluators.tigerscore.analysis import TigerScore, gold_shares, read_analysis, references_as_outputs
from nlgeval_lib.evaluators.tigerscore.aspects import Task, find_task, tasks
from nlgeval_lib.evaluators.tigerscore.checks import AnalysisCheck
from nlgeval_lib.evaluators.tigerscore.reference_based import TigerScoreReferenceBased

__all__ = [
    "AnalysisCheck",
    "Task",
    "TigerScore",
    "TigerScoreReferenceBased",
    "find_task",
    "gold_shares",
    "read_analysis",
    "references_as_outputs",
    "tasks",
]
