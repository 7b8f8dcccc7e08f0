"""A notebook's way to a language model's scores: the judges of the catalogue, made once, read ever after.

made = judged.scores("coascore_figure_04", "n=10", engine=engine, model=model, revision=revision, mode=mode)
made.available, made.why, made.frame
"""

from __future__ import annotations

from nlgeval_lib.judged.filling import Ways, fill, plan, select
from nlgeval_lib.judged.jobs import MINI, Unready, engine
from nlgeval_lib.judged.scores import Made, scores

__all__ = ["MINI", "Made", "Unready", "Ways", "engine", "fill", "plan", "scores", "select"]
