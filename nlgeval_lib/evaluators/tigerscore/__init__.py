"""TIGERScore: errors with penalties, found without a reference; the two-turn prompts behind it; checks of analyses."""

from __future__ import annotations

from nlgeval_lib.evaluators.tigerscore.analysis import Task, TigerScore, find_task, gold_shares, read_analysis, tasks
from nlgeval_lib.evaluators.tigerscore.teacher import AnalysisCheck, TigerScoreReferenceBased

__all__ = [
    "AnalysisCheck",
    "Task",
    "TigerScore",
    "TigerScoreReferenceBased",
    "find_task",
    "gold_shares",
    "read_analysis",
    "tasks",
]
