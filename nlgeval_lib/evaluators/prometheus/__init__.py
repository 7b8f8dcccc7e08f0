"""Prometheus: grading by a rubric, and ranking by grades.

`Prometheus(engine=...).score(frame)` grades; `.rank(frame)` puts the responses to each instruction in order.
"""

from __future__ import annotations

from nlgeval_lib.evaluators.prometheus.grading import Prometheus, family
from nlgeval_lib.evaluators.prometheus.ranking import Ranking
from nlgeval_lib.evaluators.prometheus.rubric import Rubric

__all__ = ["Prometheus", "Ranking", "Rubric", "family"]
