"""Figures that notebooks share: printed beside ours, bars with intervals, numbers as coloured cells, the scoreboard."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import papers
from nlgeval_lib.figures.style import COLUMN, PALETTE, WIDE, color, new

_MAX_HEADS = 8
# how a cell of ours is drawn: its name in the legend, marker, colour, whether a line leads to the printed number
_DRAWN = {
    "recomputed": ("ours, equal", "o", "equal", False),
    "consistent": ("equal, from other printed numbers", "s", "sky", False),
    "within": ("ours, the printed number in its interval", "o", "sky", True),
    "outside": ("ours, the printed number outside its interval", "D", "differs", True),
    "differs": ("ours, differs", "D", "differs", True),
    "orientation": ("for orientation", "x", "purple", True),
    "construction": ("equal by construction", "+", "grey", False),
}
_LEGEND = ("printed", *(name for name, *_ in _DRAWN.values()), "interval")
_CORRELATIONS = {"pearson", "spearman", "kendall"}  # one scale, so that panels can be read against each other


def paper_vs_ours(cells: pd.DataFrame, title: str = "", xlabel: str = "", width: float = WIDE) -> Any:
    """A dot plot of printed numbers and ours with their intervals: a panel a column and statistic, a line a row.

    cells: as `papers.compare` returns them; those without a printed number or without ours are left out, and the title
    says how many. Cells for orientation are crosses. Draw one table at a time where tables have different rows.
    Returns the figure.
    Raises: ValueError where no cell has both numbers.
    """
    both = cells[cells["ours"].notna() & (cells["verdict"] != "extra")].copy()
    if both.empty:
        raise ValueError("no cell has a printed number and one of ours; there is nothing to draw")
    both["number"] = [float(papers.parse(text)) for text in both["printed"]]
    both["label"], heads = _arranged(both)
    labels = list(dict.fromkeys(both["label"]))
    statistics = list(dict.fromkeys(both["statistic"]))
    panels = [(head, statistic) for head in dict.fromkeys(heads) for statistic in statistics]
    most = max(1, int(width / 2.2))  # panels beside each other: the statistics of one head, where they fit
    columns = min(len(panels), most if len(statistics) == 1 or len(statistics) > most else len(statistics))
    rows = math.ceil(len(panels) / columns)
    height = 0.8 + rows * (0.55 + 0.17 * len(labels))
    sharex = True if set(statistics) <= _CORRELATIONS else "row"
    fig, axes = new(width, height, rows, columns, squeeze=False, sharey=True, sharex=sharex)
    at = {text: y for y, text in enumerate(reversed(labels))}
    letters = max(10, int((width - 0.06 * max(len(_short(text)) for text in labels)) / columns / 0.085))
    for ax, (head, statistic) in zip(axes.flat, panels, strict=False):
        part = both[(heads == head) & (both["statistic"] == statistic)]
        if part.empty:
            ax.text(0.5, 0.5, "not compared", transform=ax.transAxes, ha="center", color="#555555")
        elif len(labels) > part["label"].nunique() >= len(labels) / 2:  # an empty line would look like a forgotten one
            for label in [label for label in labels if label not in set(part["label"])]:
                place = ax.get_yaxis_transform()
                ax.text(0.02, at[label], "not compared", transform=place, va="center", fontsize=7, color="#777777")
        _dots(ax, part["label"].map(at).to_numpy(dtype=float), part)
        name = ", ".join(filter(None, [head, statistic if len(statistics) > 1 or not head else ""]))
        ax.set_title(textwrap.fill(name, letters))
        ax.tick_params(labelbottom=True)
    for ax in axes[:, 0]:
        ax.set_yticks(list(at.values()), [_short(text) for text in at])
        ax.set_ylim(-0.7, len(labels) - 0.3)
    for ax in axes[-1]:
        ax.set_xlabel(xlabel)
    for place, ax in enumerate(axes.flat):
        ax.set_visible(place < len(panels))
        if ax.get_xlim()[0] < 0 < ax.get_xlim()[1]:
            ax.axvline(0, color="#777777", lw=0.8, zorder=0)
    found = papers.counts(cells)
    said = papers.in_words(found) + (f"; missing: {found['missing']}" if found["missing"] else "")
    said = textwrap.fill(f"{title}: {said}" if title else said, int(width * 14))
    fig.suptitle(said, x=0.01, ha="left", fontsize=9, fontweight="bold")
    fig.legend(*_legend(axes.flat), loc="outside lower left", ncols=4 if width > COLUMN + 1 else 2)
    return fig


def _arranged(both: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """The line of each cell, and the head of its panel: columns are heads where few, else part of the line's label."""
    heads = both["column"].nunique()
    if 1 < heads <= _MAX_HEADS and both["row"].nunique() > 1:
        return both["row"], both["column"].str.replace(" | ", ", ", regex=False)
    return (both["row"] if heads == 1 else both["row"] + ", " + both["column"]), both["column"].map(lambda _: "")


def _legend(axes: Any) -> tuple[list[Any], list[str]]:
    found = {name: handle for ax in axes for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    shown = [name for name in _LEGEND if name in found]
    return [found[name] for name in shown], shown


def _dots(ax: Any, y: np.ndarray, part: pd.DataFrame) -> None:
    ours, printed = part["ours"].to_numpy(float), part["number"].to_numpy(float)
    low, high = part["ci_low"].to_numpy(float), part["ci_high"].to_numpy(float)
    known = ~np.isnan(low) & ~np.isnan(high)
    if known.any():
        ax.hlines(y[known], low[known], high[known], color=color("sky"), lw=2.2, label="interval", zorder=1)
    equal = np.where(part["route"] == "published", "consistent", "recomputed")
    kinds = np.where(part["verdict"] == "equal", equal, part["verdict"])
    kinds = np.where(part["route"] == "recorded", "orientation", kinds)
    for kind, (label, marker, name, led) in _DRAWN.items():
        here = kinds == kind
        if led and here.any():
            ax.hlines(y[here], printed[here], ours[here], color=color(name), lw=0.9, zorder=2)
        if here.any():
            ax.scatter(ours[here], y[here], s=20, color=color(name), marker=marker, label=label, zorder=3)
    ax.scatter(printed, y, s=34, facecolors="none", edgecolors=color("printed"), lw=0.9, label="printed", zorder=4)
    ax.grid(axis="y", visible=False)


def _short(text: str, limit: int = 44) -> str:
    text = text.replace(" | ", ", ")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def bars_with_intervals(
    frame: pd.DataFrame,
    *,
    label: str,
    value: str = "value",
    low: str = "low",
    high: str = "high",
    group: str | None = None,
    title: str = "",
    xlabel: str = "",
    width: float = WIDE,
    reference: float | None = None,
) -> Any:
    """Horizontal bars with intervals, a bar a row of `frame`; with `group`, bars of one label stand together.

    label, value, low, high, group: column names; NaN in low or high draws no interval. reference: a dashed line.
    Returns the figure. Raises: ValueError for a frame without a value.
    """
    if frame[value].notna().sum() == 0:
        raise ValueError(f"column {value!r} holds no number; there is nothing to draw")
    labels = list(dict.fromkeys(frame[label].astype(str)))
    groups = [""] if group is None else list(dict.fromkeys(frame[group].astype(str)))
    step = 0.8 / len(groups)
    fig, ax = new(width, 0.8 + max(0.22 * len(labels), 0.14 * len(labels) * len(groups)))
    for g, name in enumerate(groups):
        part = frame if group is None else frame[frame[group].astype(str) == name]
        at = {text: i for i, text in enumerate(reversed(labels))}
        y = np.array([at[text] for text in part[label].astype(str)]) + 0.4 - step * (g + 0.5)
        x, lo, hi = (part[column].to_numpy(float) for column in (value, low, high))
        ax.barh(y, x, height=step * 0.86, color=color(g), label=name or None, zorder=2)
        known = ~np.isnan(lo) & ~np.isnan(hi)
        ax.hlines(y[known], lo[known], hi[known], color="#222222", lw=1.0, zorder=3)
        ends, beside = np.concatenate([lo[known], hi[known]]), np.tile(y[known], 2)
        ax.vlines(ends, beside - step * 0.2, beside + step * 0.2, color="#222222", lw=1.0, zorder=3)
    if reference is not None:
        ax.axvline(reference, color="#222222", lw=0.9, ls=(0, (4, 2)), zorder=4)
    ax.set_yticks(np.arange(len(labels)), [_short(text) for text in reversed(labels)])
    ax.set_ylim(-0.55, len(labels) - 0.45)
    ax.grid(axis="y", visible=False)
    ax.axvline(0, color="#555555", lw=0.7, zorder=1)
    ax.set(xlabel=xlabel, title=title)
    if group is not None:
        fig.legend(loc="outside lower left", ncols=min(len(groups), 4))
    return fig


def heatmap(frame: pd.DataFrame, *, title: str = "", label: str = "") -> Any:
    """One cell a number, with the number in it: rows are the frame's index, columns its columns.

    label: what the numbers are, written beside the colour bar. White at 0, blue below, orange above; NaN stays grey and
    empty. Returns the figure. Raises: ValueError for a frame without a number.
    """
    import seaborn as sns

    values = frame.to_numpy(dtype=float)
    if not np.isfinite(values).any():
        raise ValueError("the frame holds no finite number; there is nothing to draw")
    fig, ax = new(WIDE, 0.9 + 0.26 * len(frame))
    reach = float(np.nanmax(np.abs(values)))
    palette = sns.diverging_palette(245, 40, s=85, l=60, as_cmap=True)
    sns.heatmap(
        frame.astype(float), ax=ax, cmap=palette, annot=True, fmt=".2f", annot_kws={"fontsize": 7.5}, linewidths=1.2,
        linecolor="white", cbar_kws={"label": label, "shrink": 0.8, "pad": 0.02}, vmin=-reach, vmax=reach,
    )  # fmt: skip
    ax.set_facecolor("#EEEEEE")
    ax.grid(False)
    ax.set(title=title, xlabel="", ylabel="")
    ax.tick_params(length=0)
    ax.set_yticks(np.arange(len(frame)) + 0.5, frame.index, rotation=0)
    ax.set_xticks(np.arange(frame.shape[1]) + 0.5, frame.columns, rotation=0)
    return fig


# ---- the scoreboard: a tile for each printed table and figure, a band for each paper

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
_INK, _PALE = "#1A1A1A", "#5A5A5A"
_PER_LINE = 9
_LEGEND_PER_LINE = 4


def scoreboard(frame: pd.DataFrame, names: Mapping[str, str]) -> Any:
    """A tile map of `scoreboard.build()`: bars show what became of a table's numbers, the sign gives its status.

    names: of the papers. The numbers of a tile: recomputed and equal, consistent and equal, printed.
    Raises: ValueError for a frame without rows or with an unknown status.
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
        ax.text(0, y - 0.3, names.get(paper, paper), fontsize=9, fontweight="bold", va="center")
        ax.text(_PER_LINE, y - 0.3, _counted(part), fontsize=7.5, ha="right", va="center")
        y -= 0.62
        for i, row in enumerate(part.to_dict("records")):
            _tile(ax, i % _PER_LINE, y - i // _PER_LINE - 1, row)
        y -= math.ceil(len(part) / _PER_LINE) + 0.13
    _board_legend(ax, y - 0.25, frame)
    return fig


def _counted(part: pd.DataFrame) -> str:
    sums = part.select_dtypes("number").sum()
    said = [f"{name} {sums[f'{name}_equal']:,.0f} of {sums[name]:,.0f} equal" for name in ("recomputed", "consistent")]
    return f"{' · '.join(said)} · for orientation {sums['orientation']:,.0f} · printed {sums['printed']:,.0f}"


def _shares(row: dict[str, Any]) -> list[int]:
    """The numbers of a table, in the order of `SHARES`."""
    equal = [row["recomputed_equal"], row["consistent_equal"]]
    shares = [*equal, row["recomputed"] + row["consistent"] - sum(equal), row["orientation"], row["construction"]]
    return [*shares, max(0, row["printed"] - sum(shares))]


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
    left, shares = x + 0.12, _shares(row)
    for share, (fill, hatch) in zip(shares, SHARES.values(), strict=True):
        width = 0.76 * share / sum(shares)  # a cell of two routes has two
        if width:
            ax.add_patch(_box(left, y + 0.15, width, 0.16, fill, hatch))
        left += width


def _box(x: float, y: float, width: float, height: float, fill: str, hatch: str, round_: float = 0.0) -> Any:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    look: dict[str, Any] = {"facecolor": fill, "edgecolor": "#7A7A7A", "linewidth": 0.4, "hatch": hatch}
    if round_:
        return FancyBboxPatch((x, y), width, height, boxstyle=f"round,pad=0,rounding_size={round_}", **look)
    return Rectangle((x, y), width, height, **look)


def _board_legend(ax: Any, y: float, frame: pd.DataFrame) -> None:
    def place(i: int, line: float) -> tuple[float, float]:
        return i % _LEGEND_PER_LINE * _PER_LINE / _LEGEND_PER_LINE, line - i // _LEGEND_PER_LINE * 0.5

    for i, (name, (fill, hatch)) in enumerate(SHARES.items()):
        x, line = place(i, y)
        ax.add_patch(_box(x + 0.07, line - 0.12, 0.36, 0.24, fill, hatch))
        ax.text(x + 0.55, line, name, fontsize=7.5, va="center")
    x, line = place(len(SHARES), y)
    ax.text(x + 0.07, line, "5 · 3 / 20: equal, recomputed · consistent / printed", fontsize=7.5, va="center")
    counts = frame["status"].value_counts()
    for i, name in enumerate(name for name in STATUS if name in counts):
        x, line = place(i, y - 1.15)
        ax.text(x + 0.25, line, STATUS[name], fontsize=8, fontweight="bold", ha="center", va="center")
        ax.text(x + 0.55, line, f"{name} ({counts[name]})", fontsize=7.5, va="center")
