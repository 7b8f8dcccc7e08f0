"""What notebooks call: judges of the catalogue, variants and their tests, recorded
judges, splits of aggregators.

options = {"engine": engine, "model": model, "revision": revision, "mode": mode}
scores = study.judge_scores("coascore_figure_04", "n=10", **options)
scores.available, scores.why, scores.frame
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nlgeval_lib.on_use import loaded_on_use

if TYPE_CHECKING:
    from nlgeval_lib.evaluators import Unavailable
    from reproduction.study.judges import EngineOptions, engine
    from reproduction.study.questions import judge_scores
    from reproduction.study.scores import MINI, JudgeScores

_MODULES = {
    "judges": ("EngineOptions", "Unavailable", "engine"),
    "questions": ("judge_scores",),
    "scores": ("MINI", "JudgeScores"),
}
__all__ = [
    "MINI",
    "EngineOptions",
    "JudgeScores",
    "Unavailable",
    "engine",
    "judge_scores",
]

# The runner reads the catalogue alone, and loads no pandas for it.
__getattr__ = loaded_on_use(__name__, _MODULES)
