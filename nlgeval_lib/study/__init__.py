"""What notebooks call: judges of the catalogue, variants and their tests, recorded
judges, splits of aggregators.

options = {"engine": engine, "model": model, "revision": revision, "mode": mode}
scores = study.judge_scores("coascore_figure_04", "n=10", **options)
scores.available, scores.why, scores.frame
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nlgeval_lib.study.judges import (
        MINI,
        EngineOptions,
        JudgeScores,
        Unavailable,
        engine,
        judge_scores,
    )

__all__ = [
    "MINI",
    "EngineOptions",
    "JudgeScores",
    "Unavailable",
    "engine",
    "judge_scores",
]


def __getattr__(name: str) -> Any:
    # The runner reads the catalogue alone, and loads no pandas for it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from nlgeval_lib.study import judges

    return getattr(judges, name)
