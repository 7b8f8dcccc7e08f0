"""What notebooks call: judges of the catalogue, variants and their tests, recorded judges, splits of aggregators.

made = study.judge_scores("coascore_figure_04", "n=10", engine=engine, model=model, revision=revision, mode=mode)
made.available, made.why, made.frame
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nlgeval_lib.study.jobs import MINI, EngineOptions, JudgeUnavailable, engine
    from nlgeval_lib.study.judges import JudgeScores, judge_scores

__all__ = ["MINI", "EngineOptions", "JudgeScores", "JudgeUnavailable", "engine", "judge_scores"]


def __getattr__(name: str) -> Any:
    """Loaded where it is used: who only reads the catalogue needs no engine and no pandas."""
    if name in __all__:
        home = "judges" if name in ("JudgeScores", "judge_scores") else "jobs"
        return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
