"""The scoreboard as a picture: a tile for each printed table and figure, a band for each paper."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from nlgeval_lib.figures.style import PALETTE, WIDE, new

# status -> sign
STATUS = {
    "reproduced": "=",
    "partly": "~",
    "differs": "≠",
    "needs GPU": "G",
    "no public data": "∅",
    "no numbers": "·",
    "not built yet": "",
}
# what a share of a tile's bar counts -> fill, hatch; told apart by lightness and pattern too, not by hue alone
SHARES = {
    "recomputed, equal": (PALETTE["blue"], ""),
    "consistent, equal": ("#8EC9EE", ""),
    "compared, not equal": (PALETTE["orange"], ""),
    "for orientation": ("#FFFFFF", "//////"),
    "equal by construction": ("#8C8C8C", ""),
    "nothing to set beside": ("#F0F0F0", ""),
}
NAMES = {
    "tigerscore": "TIGERScore",
    "semscore": "SemScore",
    "hdeval": "HD-Eval",
    "prometheus": "Prometheus",
    "coascore": "CoAScore",
}
_INK, _PALE = "#1A1A1A", "#5A5A5A"
_PER_LINE = 9
_LEGEND_PER_LINE = 4


def scoreboard(frame: pd.DataFrame) -> Any:
    """A tile map of `scoreboard.build()`: bars show what became of a table's numbers, the sign gives its status.

    The numbers of a tile: recomputed and equal, consistent and equal, printed. Raises: ValueError for a frame without
    rows or with an unknown status.
    """
    unknown = set(frame["status"]) - set(STATUS)
    if frame.empty or unknown:
        raise ValueError(f"nothing to draw: {'no rows' if frame.empty else f'unknown status {sorted(unknown)}'}")
    bands = [(paper, part) for paper, part in frame.groupby("paper", sort=False)]
    lines = sum(math.ceil(len(part) / _PER_LINE) for _, part in bands)
    height = 0.75 * len(bands) + lines + 2.9
    fig, ax = new(WIDE, height * 0.36 + 0.1)
    ax.set(xlim=(-0.05, _PER_LINE + 0.05), ylim=(-height, 0.0))
    ax.axis("off")
    y = -0.1
    for paper, part in bands:
        ax.text(0, y - 0.3, NAMES.get(paper, paper), fontsize=9, fontweight="bold", va="center")
        ax.text(_PER_LINE, y - 0.3, _in_words(part), fontsize=7.5, ha="right", va="center")
        y -= 0.62
        for i, row in enumerate(part.to_dict("records")):
            _tile(ax, i % _PER_LINE, y - i // _PER_LINE - 1, row)
        y -= math.ceil(len(part) / _PER_LINE) + 0.13
    _legend(ax, y - 0.25, frame)
    return fig


def _in_words(part: pd.DataFrame) -> str:
    sums = part.select_dtypes("number").sum()
    said = [f"{name} {sums[f'{name}_equal']:,.0f} of {sums[name]:,.0f} equal" for name in ("recomputed", "consistent")]
    return f"{' · '.join(said)} · for orientation {sums['orientation']:,.0f} · printed {sums['printed']:,.0f}"


def _shares(row: dict[str, Any]) -> list[int]:
    """The numbers of a table, in the order of `SHARES`."""
    equal = [row["recomputed_equal"], row["consistent_equal"]]
    shares = [*equal, row["recomputed"] + row["consistent"] - sum(equal), row["orientation"], row["construction"]]
    return [*shares, row["printed"] - sum(shares)]


def _tile(ax: Any, x: float, y: float, row: dict[str, Any]) -> None:
    numbers = row["printed"] > 0
    ax.add_patch(_box(x + 0.05, y + 0.07, 0.9, 0.86, "#FFFFFF" if numbers else "#F7F7F7", "", 0.08))
    kind, _, number = row["id"].partition("_")
    short = {"table": "T", "figure": "F"}.get(kind, kind[:1].upper() + " ") + number.lstrip("0").replace("_", " ")
    ink = _INK if numbers else _PALE
    ax.text(x + 0.12, y + 0.73, short, fontsize=8, fontweight="bold", color=ink, va="center")
    ax.text(x + 0.88, y + 0.73, STATUS[row["status"]], fontsize=8, color=ink, ha="right", va="center")
    if not numbers:
        return
    count = f"{row['recomputed_equal']} · {row['consistent_equal']} / {row['printed']}"
    ax.text(x + 0.5, y + 0.44, count, fontsize=7, color=ink, va="center", ha="center")
    left = x + 0.12
    for share, (fill, hatch) in zip(_shares(row), SHARES.values(), strict=True):
        width = 0.76 * share / row["printed"]
        if width:
            ax.add_patch(_box(left, y + 0.15, width, 0.16, fill, hatch))
        left += width


def _box(x: float, y: float, width: float, height: float, fill: str, hatch: str, round_: float = 0.0) -> Any:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    look: dict[str, Any] = {"facecolor": fill, "edgecolor": "#7A7A7A", "linewidth": 0.4, "hatch": hatch}
    if round_:
        return FancyBboxPatch((x, y), width, height, boxstyle=f"round,pad=0,rounding_size={round_}", **look)
    return Rectangle((x, y), width, height, **look)


def _legend(ax: Any, y: float, frame: pd.DataFrame) -> None:
    def place(i: int, line: float) -> tuple[float, float]:
        return i % _LEGEND_PER_LINE * _PER_LINE / _LEGEND_PER_LINE, line - i // _LEGEND_PER_LINE * 0.5

    for i, (name, (fill, hatch)) in enumerate(SHARES.items()):
        x, line = place(i, y)
        ax.add_patch(_box(x + 0.07, line - 0.12, 0.36, 0.24, fill, hatch))
        ax.text(x + 0.55, line, name, fontsize=7.5, va="center")
    x, line = place(len(SHARES), y)
    said = "5 · 3 / 20: equal, recomputed · consistent / printed"
    ax.text(x + 0.07, line, said, fontsize=7.5, va="center")
    counts = frame["status"].value_counts()
    shown = [name for name in STATUS if counts.get(name)]
    for i, name in enumerate(shown):
        x, line = place(i, y - 1.15)
        ax.text(x + 0.25, line, STATUS[name], fontsize=8, fontweight="bold", ha="center", va="center")
        ax.text(x + 0.55, line, f"{name} ({counts[name]})", fontsize=7.5, va="center")
