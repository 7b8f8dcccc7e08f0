"""One look for every figure: colour-blind safe, readable at column width, the same
bytes at every run.
"""

from __future__ import annotations

from nlgeval_lib.figures.charts import (
    bars_with_intervals,
    heatmap,
    paper_vs_ours,
    scoreboard,
)
from nlgeval_lib.figures.style import COLUMN, WIDE, color, cut, new, render, show, use

__all__ = [
    "COLUMN",
    "WIDE",
    "bars_with_intervals",
    "color",
    "cut",
    "heatmap",
    "new",
    "paper_vs_ours",
    "render",
    "scoreboard",
    "show",
    "use",
]
