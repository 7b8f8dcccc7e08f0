"""Figures of compared cells: printed beside ours, and the scoreboard.

Numbers in the code are inches, or shares of a line, unless a comment says otherwise.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from judgecard import figures
from judgecard.figures import PALETTE, WIDE, color, cut, new
from reproduction import papers
from reproduction.papers.counting import WORDS

_MAX_HEADS = 8  # columns that get a panel each


class _Mark(NamedTuple):
    """How a cell of ours is drawn; `led`: whether a line leads to the printed number."""

    label: str
    marker: str
    color: str
    led: bool


# what a cell is, as `_kinds` says it -> its mark, in the order of drawing
_MARKS = {
    "recomputed": _Mark(f"{WORDS['recomputed']}, equal", "o", "equal", False),
    "consistent": _Mark(f"{WORDS['consistent']}, equal", "s", "sky", False),
    papers.comparison.SPREAD: _Mark("within the judge's own spread", "o", "sky", True),
    papers.comparison.APART: _Mark("apart", "D", "differs", True),
    papers.comparison.UNKNOWN: _Mark("spread unknown", "D", "sky", True),
    "differs": _Mark("not equal", "D", "differs", True),
    "orientation": _Mark(WORDS["orientation"], "x", "purple", True),
    "construction": _Mark(WORDS["construction"], "+", "grey", False),
}
# the order of the legend
_LEGEND = ("printed", *(mark.label for mark in _MARKS.values()), "95 % interval")
# One scale, so that panels can be read against each other.
_CORRELATIONS = {"pearson", "spearman", "kendall"}


def paper_vs_ours(
    cells: pd.DataFrame, title: str = "", xlabel: str = "", width: float = WIDE
) -> Any:
    """A dot plot of printed numbers and ours with their intervals: a panel a column and
    statistic, a line a row.

    cells: as `papers.compare` returns them; those without both numbers are left out.
    width: in inches.
    Raises: ValueError where no cell has both numbers.
    """
    both = _with_both_numbers(cells)
    labels = list(dict.fromkeys(both["label"]))
    statistics = list(dict.fromkeys(both["statistic"]))
    panels = list(itertools.product(dict.fromkeys(both["head"]), statistics))
    columns = _panels_across(len(panels), len(statistics), width)
    rows = math.ceil(len(panels) / columns)
    # The figure grows with the lines of its title and the labels of its panels.
    text = textwrap.fill(_outcome(cells, title), int(width * 13))
    title_height = 0.16 * (text.count("\n") + 1)
    height = 0.8 + title_height + rows * (0.6 + 0.18 * len(labels))
    correlations = set(statistics) <= _CORRELATIONS
    sharex = True if correlations else "row"
    fig, axes = new(
        width, height, rows, columns, squeeze=False, sharey=True, sharex=sharex
    )
    # The first label is the highest line.
    heights = {label: y for y, label in enumerate(reversed(labels))}
    letters = _letters_of_a_title(labels, width, columns)
    for ax, (head, statistic) in zip(axes.flat, panels, strict=False):
        in_panel = (both["head"] == head) & (both["statistic"] == statistic)
        _panel(ax, both[in_panel], heights)
        names = [head] if head else []
        if len(statistics) > 1 or not head:
            names.append(statistic)
        ax.set_title(textwrap.fill(", ".join(names), letters))
    _name_lines(axes[:, 0], heights)
    cut(*axes.flat[: len(panels)], axis="x")
    measured = "correlation" if correlations else " and ".join(statistics)
    _finish_panels(axes, len(panels), xlabel or measured)
    fig.suptitle(text, x=0.01, ha="left", fontsize=9, fontweight="bold")
    _legend_of_marks(fig, axes.flat, width)
    return fig


def _with_both_numbers(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells that are drawn, with `number` (the printed one), `label` (of the line)
    and `head` (of the panel).
    """
    both = cells[cells["ours"].notna() & (cells["verdict"] != "extra")].copy()
    if both.empty:
        raise ValueError(
            "no cell has a printed number and one of ours; there is nothing to draw"
        )
    both["number"] = [float(papers.parse(text)) for text in both["printed"]]
    both["label"], both["head"] = _arranged(both)
    return both


def _name_lines(axes: Iterable[Any], heights: Mapping[str, int]) -> None:
    """Name the lines at the left of these axes."""
    labels = [figures.short(label) for label in heights]
    for ax in axes:
        ax.set_yticks(list(heights.values()), labels)
        ax.set_ylim(-0.7, len(heights) - 0.3)


def _letters_of_a_title(labels: Iterable[str], width: float, columns: int) -> int:
    """How many letters a line of a panel's title holds, by the usual width of one."""
    label_width = 0.06 * max(len(figures.short(label)) for label in labels)
    panel_width = (width - label_width) / columns
    return max(10, int(panel_width / 0.085))


def _arranged(both: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """The line of each cell, and the head of its panel."""
    rows = both["row"]
    columns = both["column"]
    if 1 < columns.nunique() <= _MAX_HEADS and rows.nunique() > 1:
        return rows, columns.str.replace(" | ", ", ", regex=False)
    if columns.nunique() > 1:
        rows = rows + ", " + columns
    no_heads = columns.map(lambda _: "")
    return rows, no_heads


def _panels_across(panels: int, statistics: int, width: float) -> int:
    """How many panels stand beside each other: the statistics of one head, where they
    fit.
    """
    across = max(1, int(width / 2.2))
    if 1 < statistics <= across:
        across = statistics
    return min(panels, across)


def _panel(ax: Any, part: pd.DataFrame, heights: dict[str, int]) -> None:
    """The cells of one panel; lines without a cell say so where they are few."""
    labels = set(part["label"])
    if part.empty:
        middle = {"transform": ax.transAxes, "ha": "center"}
        ax.text(0.5, 0.5, "not compared", color="#555555", **middle)
    elif len(labels) >= len(heights) / 2:
        # An empty line would look like a forgotten one.
        at_left = {"transform": ax.get_yaxis_transform(), "va": "center"}
        style = {"fontsize": 7, "color": "#777777"}
        for label in reversed(heights):
            if label not in labels:
                ax.text(0.02, heights[label], "not compared", **at_left, **style)
    _dots(ax, part["label"].map(heights).to_numpy(dtype=float), part)
    ax.tick_params(labelbottom=True)


def _dots(ax: Any, y: np.ndarray, part: pd.DataFrame) -> None:
    """Printed numbers as rings, ours as marks of their verdict, and intervals."""
    ours = part["ours"].to_numpy(float)
    printed = part["number"].to_numpy(float)
    low = part["ci_low"].to_numpy(float)
    high = part["ci_high"].to_numpy(float)
    # Intervals lie below all marks, the rings of printed numbers above them.
    bounded = ~np.isnan(low) & ~np.isnan(high)
    if bounded.any():
        ax.hlines(
            y[bounded],
            low[bounded],
            high[bounded],
            color=color("sky"),
            lw=2.2,
            label="95 % interval",
            zorder=1,
        )
    kinds = _kinds(part)
    for kind, mark in _MARKS.items():
        of_kind = kinds == kind
        if not of_kind.any():
            continue
        x = ours[of_kind]
        lines = y[of_kind]
        hue = color(mark.color)
        if mark.led:
            ax.hlines(lines, printed[of_kind], x, color=hue, lw=0.9, zorder=2)
        ax.scatter(
            x, lines, s=20, color=hue, marker=mark.marker, label=mark.label, zorder=3
        )
    ax.scatter(
        printed,
        y,
        s=34,
        facecolors="none",
        edgecolors=color("printed"),
        lw=0.9,
        label="printed",
        zorder=4,
    )
    ax.grid(axis="y", visible=False)


def _kinds(part: pd.DataFrame) -> np.ndarray:
    """What each cell is, as a key of `_MARKS`: its verdict, or how it is equal."""
    equal = np.where(part["route"] == "published", "consistent", "recomputed")
    kinds = np.where(part["verdict"] == "equal", equal, part["verdict"])
    return np.where(part["route"] == "recorded", "orientation", kinds)


def _finish_panels(axes: np.ndarray, panels: int, xlabel: str) -> None:
    """Hide axes without a panel, label the lowest panels, and draw a line at zero."""
    columns = axes.shape[1]
    for place, ax in enumerate(axes.flat):
        ax.set_visible(place < panels)
        # No panel stands below this one.
        if place + columns >= panels:
            ax.set_xlabel(xlabel)
        low, high = ax.get_xlim()
        if low < 0 < high:
            ax.axvline(0, color="#777777", lw=0.8, zorder=0)


def _outcome(cells: pd.DataFrame, title: str) -> str:
    """The title, and what was tested and became of it."""
    compared = cells[cells["verdict"] != "extra"]
    text = papers.own_in_words(compared)
    own_cells = compared[compared["kind"] == papers.OWN]
    if len(own_cells) and not papers.counts(own_cells)["recomputed"]:
        name = papers.own_method(own_cells["paper"].iat[0])[0]
        text = f"{name} itself was not tested."
    if title:
        text = f"{title}: {text}"
    tallied = papers.by_kind(cells).to_dict("records")
    for count in ("recomputed", "consistent"):
        words = papers.kinds_in_words(tallied, count)
        if words:
            text += f" {WORDS[count].capitalize()}: {words}."
    return text


def _legend_of_marks(fig: Any, axes: Iterable[Any], width: float) -> None:
    """One legend for all panels, with the marks that were drawn."""
    drawn: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        drawn.update(zip(labels, handles, strict=True))
    names = [name for name in _LEGEND if name in drawn]
    handles = [drawn[name] for name in names]
    entry_width = 0.4 + 0.062 * max(map(len, names))
    across = int(width / entry_width)  # as many as fit
    columns = max(1, min(4, across))
    fig.legend(handles, names, loc="outside lower left", ncols=columns)


# What a share of a bar of the scoreboard counts -> fill, hatch. The shares differ by
# lightness and pattern, not by hue alone.
SHARES = {
    f"{WORDS['recomputed']}, equal": (PALETTE["blue"], ""),
    f"{WORDS['consistent']}, equal": ("#8EC9EE", ""),
    "of these two, not equal": (PALETTE["orange"], ""),
    WORDS["orientation"]: ("#FFFFFF", "//////"),
    WORDS["construction"]: ("#8C8C8C", ""),
    WORDS["missing"]: ("#F0F0F0", ""),
}


def scoreboard(frame: pd.DataFrame, names: Mapping[str, str]) -> Any:
    """What became of the printed numbers: a panel a paper, a bar a printed table that
    has numbers, and its status beside it.

    frame: as `scoreboard.build()` gives it. names: paper -> its name in the figure.
    Raises: ValueError for a frame without a printed number.
    """
    tables = frame[frame["printed"] > 0]
    if tables.empty:
        raise ValueError("nothing to draw: no printed number")
    # A panel is as high as its paper has tables.
    bands = list(tables.groupby("paper", sort=False))
    rows = [len(part) for _, part in bands]
    height = 0.6 + 0.155 * sum(rows) + 0.3 * len(rows)
    fig, axes = new(
        WIDE,
        height,
        len(rows),
        1,
        height_ratios=[count + 1.2 for count in rows],
        squeeze=False,
        sharex=True,
    )
    for ax, (paper, part) in zip(axes[:, 0], bands, strict=True):
        _shared_bars(ax, part)
        ax.set(xlim=(0, 100), ylim=(len(part) - 0.4, -0.6))
        ax.set_title(names.get(paper, paper))
        tested = part["own_recomputed"].sum()
        printed = part["own_printed"].sum()
        text = f"own method tested: {tested:,.0f} of {printed:,.0f} printed numbers"
        ax.set_title(text, loc="right", fontsize=7, fontweight="normal")
        ax.grid(axis="y", visible=False)
    axes[-1, 0].set_xlabel("share of the printed numbers, %")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower left", ncols=3)
    return fig


def _shared_bars(ax: Any, part: pd.DataFrame) -> None:
    """A bar for each printed table of a paper, its status and own numbers beside it."""
    y = np.arange(len(part))
    # Each share begins where the one before it ends.
    start = np.zeros(len(part))
    shares = _shares(part).T
    for share, (name, (fill, hatch)) in zip(shares, SHARES.items(), strict=True):
        ax.barh(
            y,
            share,
            left=start,
            height=0.8,
            color=fill,
            hatch=hatch,
            edgecolor="#7A7A7A",
            lw=0.4,
            label=name,
        )
        start += share
    labels = part["id"].str.replace("_", " ").str.capitalize()
    ax.set_yticks(y, labels, fontsize=7)
    for place, row in zip(y, part.itertuples(index=False), strict=True):
        text = row.status
        if row.own_printed:
            text += f", own method {row.own_recomputed} of {row.own_printed}"
        ax.text(101, place, text, fontsize=7, va="center")


def _shares(part: pd.DataFrame) -> np.ndarray:
    """What became of the printed numbers of each table, in percent: `[table, share]`
    in the order of `SHARES`.
    """
    equal = part[["recomputed_equal", "consistent_equal"]]
    unequal = part["recomputed"] + part["consistent"] - equal.sum(axis=1)
    columns = [equal, unequal, part["orientation"], part["construction"]]
    counts = pd.concat(columns, axis=1).to_numpy(float)
    nothing = (part["printed"] - counts.sum(axis=1)).clip(lower=0)
    counts = np.column_stack([counts, nothing.to_numpy(float)])
    # A cell of two routes counts in two shares: the sum may exceed what is printed.
    return 100 * counts / counts.sum(axis=1, keepdims=True)
