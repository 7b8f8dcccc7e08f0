"""The scoreboard as a picture: a tile for each printed table and figure, a band for each paper."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from nlgeval_lib.figures.style import WIDE, new

# status -> fill, ink, sign; told apart by sign and lightness too, not by hue alone
STATUS = {
    "reproduced": ("#0072B2", "#FFFFFF", "="),
    "partly": ("#8EC9EE", "#10242F", "~"),
    "differs": ("#E69F00", "#241900", "≠"),
    "needs GPU": ("#F0DDB8", "#3B2F12", "G"),
    "no public data": ("#E3D3E0", "#34242F", "∅"),
    "no numbers": ("#F2F2F2", "#4A4A4A", "·"),
    "not built yet": ("#FFFFFF", "#4A4A4A", ""),
}
NAMES = {
    "tigerscore": "TIGERScore",
    "semscore": "SemScore",
    "hdeval": "HD-Eval",
    "prometheus": "Prometheus",
    "coascore": "CoAScore",
}
_PER_LINE = 12
_LEGEND_PER_LINE = 4


def scoreboard(frame: pd.DataFrame) -> Any:
    """A tile map of `scoreboard.build()`: fill and sign give the status, the text the equal and printed numbers.

    Raises: ValueError for a frame without rows or with an unknown status.
    """
    unknown = set(frame["status"]) - set(STATUS)
    if frame.empty or unknown:
        raise ValueError(f"nothing to draw: {'no rows' if frame.empty else f'unknown status {sorted(unknown)}'}")
    bands = [(paper, part) for paper, part in frame.groupby("paper", sort=False)]
    lines = sum(math.ceil(len(part) / _PER_LINE) for _, part in bands)
    height = 0.75 * len(bands) + lines + 1.5
    fig, ax = new(WIDE, height * 0.36 + 0.1)
    ax.set(xlim=(-0.05, _PER_LINE + 0.05), ylim=(-height, 0.0))
    ax.axis("off")
    y = -0.1
    for paper, part in bands:
        printed, equal = int(part["cells_printed"].sum()), int(part["cells_equal"].sum())
        ax.text(0, y - 0.3, NAMES.get(paper, paper), fontsize=9, fontweight="bold", va="center")
        ax.text(
            _PER_LINE, y - 0.3, f"{equal:,} of {printed:,} printed numbers equal", fontsize=8, ha="right", va="center"
        )
        y -= 0.62
        for i, row in enumerate(part.itertuples(index=False)):
            _tile(ax, i % _PER_LINE, y - i // _PER_LINE - 1, row)
        y -= math.ceil(len(part) / _PER_LINE) + 0.13
    _legend(ax, y - 0.25, frame["status"].value_counts().to_dict())
    return fig


def _tile(ax: Any, x: float, y: float, row: Any) -> None:
    from matplotlib.patches import FancyBboxPatch

    fill, ink, sign = STATUS[row.status]
    dashed = row.status == "not built yet"
    ax.add_patch(
        FancyBboxPatch(
            (x + 0.07, y + 0.09),
            0.86,
            0.82,
            boxstyle="round,pad=0,rounding_size=0.09",
            fc=fill,
            ec="#9A9A9A" if dashed else "#FFFFFF",
            lw=0.7,
            ls=(0, (2, 2)) if dashed else "-",
        )
    )
    kind, _, number = row.id.partition("_")
    short = {"table": "T", "figure": "F"}.get(kind, kind[:1].upper() + " ") + number.lstrip("0").replace("_", " ")
    ax.text(x + 0.14, y + 0.67, short, fontsize=8, fontweight="bold", color=ink, va="center")
    ax.text(x + 0.87, y + 0.67, sign, fontsize=8, color=ink, ha="right", va="center")
    if row.cells_printed:
        count = f"{row.cells_equal}/{row.cells_printed}" if row.cells_compared else f"{row.cells_printed}"
        ax.text(x + 0.14, y + 0.3, count, fontsize=7, color=ink, va="center")


def _legend(ax: Any, y: float, counts: dict[str, int]) -> None:
    from matplotlib.patches import FancyBboxPatch

    shown = [name for name in STATUS if counts.get(name)]
    for i, name in enumerate(shown):
        fill, ink, sign = STATUS[name]
        x = i % _LEGEND_PER_LINE * _PER_LINE / _LEGEND_PER_LINE
        line = y - i // _LEGEND_PER_LINE * 0.55
        box = FancyBboxPatch(
            (x + 0.07, line - 0.2), 0.32, 0.4, boxstyle="round,pad=0,rounding_size=0.07", fc=fill, lw=0.7
        )
        box.set_edgecolor("#9A9A9A")
        ax.add_patch(box)
        ax.text(x + 0.23, line - 0.02, sign, fontsize=7.5, color=ink, ha="center", va="center")
        ax.text(x + 0.5, line, f"{name} ({counts[name]})", fontsize=7.5, va="center")
    x = _PER_LINE * (_LEGEND_PER_LINE - 1) / _LEGEND_PER_LINE + 0.07
    ax.text(x, y - len(shown) // _LEGEND_PER_LINE * 0.55, "12/20: equal / printed numbers", fontsize=7.5, va="center")
