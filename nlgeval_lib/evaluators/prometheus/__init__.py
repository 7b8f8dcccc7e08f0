"""Prometheus: grading by a rubric, and ranking by grades.

`Prometheus(engine=...).score(frame)` grades; `.rank(frame)` puts the responses to each instruction in order.
"""

from __future__ import annotations

from nlgeval_lib.evaluators.prometheus.grading import Prometheus
from nlgeval_lib.evaluators.prometheus.results import Ranking, agreement, rankings_of
from nlgeval_lib.evaluators.prometheus.rubric import Rubric
from nlgeval_lib.evaluators.prometheus.wrapping import family

__all__ = ["Prometheus", "Ranking", "Rubric", "agreement", "family", "rankings_of"]
