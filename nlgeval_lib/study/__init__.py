"""What notebooks call: judges of the catalogue, variants and their tests, recorded judges, splits of aggregators.

made = study.judge_scores("coascore_figure_04", "n=10", engine=engine, model=model, revision=revision, mode=mode)
made.available, made.why, made.frame
"""

from __future__ import annotations

from nlgeval_lib.study.judges import MINI, EngineOptions, JudgeScores, JudgeUnavailable, engine, judge_scores

__all__ = ["MINI", "EngineOptions", "JudgeScores", "JudgeUnavailable", "engine", "judge_scores"]
