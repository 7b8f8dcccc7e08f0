"""Figures that notebooks share: printed beside ours, bars with intervals, numbers as
coloured cells, the scoreboard.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from nlgeval_lib import papers
from nlgeval_lib.figures.style import PALETTE, WIDE, color, cut, new

_MAX_HEADS = 8


class _Mark(NamedTuple):
    """How a cell of ours is drawn."""

    label: str  # in the legend
    marker: str
    color: str
    led: bool  # whether a line leads to the printed number


_MARKS = {
    "recomputed": _Mark("ours, equal", "o", "equal", False),
    "consistent": _Mark("equal, from other printed numbers", "s", "sky", False),
    papers.comparison.SPREAD: _Mark(
        "ours, within the judge's own spread", "o", "sky", True
    ),
    papers.comparison.APART: _Mark("ours, apart", "D", "differs", True),
    papers.comparison.UNKNOWN: _Mark("ours, spread unknown", "D", "sky", True),
    "differs": _Mark("ours, differs", "D", "differs", True),
    "orientation": _Mark("for orientation", "x", "purple", True),
    "construction": _Mark("equal by construction", "+", "grey", False),
}
_LEGEND = ("printed", *(mark.label for mark in _MARKS.values()), "95 % interval")
# One scale, so that panels can be read against each other.
_CORRELATIONS = {"pearson", "spearman", "kendall"}


def paper_vs_ours(
    cells: pd.DataFrame, title: str = "", xlabel: str = "", width: float = WIDE
) -> Any:
    """A dot plot of printed numbers and ours with their intervals: a panel a column and
    statistic, a line a row.

    cells: as `papers.compare` returns them; those without a printed number or without
    ours are left out, and the title says how many. Returns the figure. Raises:
    ValueError where no cell has both numbers.
    """
    both = cells[cells["ours"].notna() & (cells["verdict"] != "extra")].copy()
    if both.empty:
        raise ValueError(
            "no cell has a printed number and one of ours; there is nothing to draw"
        )
    both["number"] = [float(papers.parse(text)) for text in both["printed"]]
    both["label"], both["head"] = _arranged(both)
    labels = list(dict.fromkeys(both["label"]))
    statistics = list(dict.fromkeys(both["statistic"]))
    panels = list(itertools.product(dict.fromkeys(both["head"]), statistics))
    columns = _panels_across(len(panels), len(statistics), width)
    rows = math.ceil(len(panels) / columns)
    text = textwrap.fill(_outcome(cells, title), int(width * 13))
    title_height = 0.16 * (text.count("\n") + 1)
    height = 0.8 + title_height + rows * (0.6 + 0.18 * len(labels))
    correlations = set(statistics) <= _CORRELATIONS
    sharex = True if correlations else "row"
    fig, axes = new(
        width, height, rows, columns, squeeze=False, sharey=True, sharex=sharex
    )
    heights = {label: y for y, label in enumerate(reversed(labels))}
    label_width = 0.06 * max(len(_short(label)) for label in labels)
    letters = max(10, int((width - label_width) / columns / 0.085))
    for ax, (head, statistic) in zip(axes.flat, panels, strict=False):
        in_panel = (both["head"] == head) & (both["statistic"] == statistic)
        _panel(ax, both[in_panel], heights)
        names = [head] if head else []
        if len(statistics) > 1 or not head:
            names.append(statistic)
        ax.set_title(textwrap.fill(", ".join(names), letters))
    for ax in axes[:, 0]:
        ax.set_yticks(list(heights.values()), [_short(label) for label in heights])
        ax.set_ylim(-0.7, len(labels) - 0.3)
    cut(*axes.flat[: len(panels)], axis="x")
    measured = "correlation" if correlations else " and ".join(statistics)
    _finish_panels(axes, len(panels), xlabel or measured)
    fig.suptitle(text, x=0.01, ha="left", fontsize=9, fontweight="bold")
    _legend_of_marks(fig, axes.flat, width)
    return fig


def _arranged(both: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """The line of each cell, and the head of its panel: columns are heads where few,
    else part of the line's label.
    """
    rows = both["row"]
    columns = both["column"]
    if 1 < columns.nunique() <= _MAX_HEADS and rows.nunique() > 1:
        return rows, columns.str.replace(" | ", ", ", regex=False)
    if columns.nunique() > 1:
        rows = rows + ", " + columns
    return rows, columns.map(lambda _: "")


def _panels_across(panels: int, statistics: int, width: float) -> int:
    """How many panels stand beside each other: the statistics of one head, where they
    fit.
    """
    across = max(1, int(width / 2.2))
    if 1 < statistics <= across:
        across = statistics
    return min(panels, across)


def _panel(ax: Any, part: pd.DataFrame, heights: dict[str, int]) -> None:
    """The cells of one panel; lines without a cell say so where they are few.

    heights: where the line of each label is.
    """
    labels = set(part["label"])
    if part.empty:
        ax.text(
            0.5,
            0.5,
            "not compared",
            transform=ax.transAxes,
            ha="center",
            color="#555555",
        )
    elif len(labels) >= len(heights) / 2:
        # An empty line would look like a forgotten one.
        for label in reversed(heights):
            if label not in labels:
                ax.text(
                    0.02,
                    heights[label],
                    "not compared",
                    transform=ax.get_yaxis_transform(),
                    va="center",
                    fontsize=7,
                    color="#777777",
                )
    _dots(ax, part["label"].map(heights).to_numpy(dtype=float), part)
    ax.tick_params(labelbottom=True)


def _dots(ax: Any, y: np.ndarray, part: pd.DataFrame) -> None:
    """Printed numbers as rings, ours as marks of their verdict, and intervals."""
    ours = part["ours"].to_numpy(float)
    printed = part["number"].to_numpy(float)
    low = part["ci_low"].to_numpy(float)
    high = part["ci_high"].to_numpy(float)
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
    equal = np.where(part["route"] == "published", "consistent", "recomputed")
    kinds = np.where(part["verdict"] == "equal", equal, part["verdict"])
    kinds = np.where(part["route"] == "recorded", "orientation", kinds)
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


def _finish_panels(axes: np.ndarray, panels: int, xlabel: str) -> None:
    """Hide axes without a panel, label the lowest panels, and draw a line at zero."""
    columns = axes.shape[1]
    for place, ax in enumerate(axes.flat):
        ax.set_visible(place < panels)
        if place + columns >= panels:
            ax.set_xlabel(xlabel)
        low, high = ax.get_xlim()
        if low < 0 < high:
            ax.axvline(0, color="#777777", lw=0.8, zorder=0)


def _outcome(cells: pd.DataFrame, title: str) -> str:
    """The title, and what was tested and became of it.

    Without the count of untested own numbers: some of the table's cells may not be
    drawn.
    """
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
            text += f" {count.capitalize()}: {words}."
    return text


def _legend_of_marks(fig: Any, axes: Iterable[Any], width: float) -> None:
    """One legend for all panels, with the marks that were drawn."""
    drawn: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        drawn.update(zip(labels, handles, strict=True))
    names = [name for name in _LEGEND if name in drawn]
    handles = [drawn[name] for name in names]
    across = int(width / (0.4 + 0.062 * max(map(len, names))))  # as many as fit
    columns = max(1, min(4, across))
    fig.legend(handles, names, loc="outside lower left", ncols=columns)


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
    """Horizontal bars with intervals, a bar a row of `frame`; with `group`, bars of one
    label stand together.

    label, value, low, high, group: column names; NaN in low or high draws no interval.
    reference: a dashed line. Returns the figure. Raises: ValueError for a frame without
    a value.
    """
    if frame[value].notna().sum() == 0:
        raise ValueError(f"column {value!r} holds no number; there is nothing to draw")
    names = list(dict.fromkeys(frame[label].astype(str)))
    groups = [""] if group is None else list(dict.fromkeys(frame[group].astype(str)))
    step = 0.8 / len(groups)
    heights = {name: y for y, name in enumerate(reversed(names))}
    bars = len(names) * len(groups)
    fig, ax = new(width, 0.8 + max(0.22 * len(names), 0.14 * bars))
    for number, name in enumerate(groups):
        part = frame if group is None else frame[frame[group].astype(str) == name]
        lines = part[label].astype(str).map(heights).to_numpy()
        y = lines + 0.4 - step * (number + 0.5)
        values = part[value].to_numpy(float)
        hue = color(number)
        ax.barh(y, values, height=step * 0.86, color=hue, label=name or None, zorder=2)
        _intervals(
            ax, y, part[low].to_numpy(float), part[high].to_numpy(float), step * 0.2
        )
    if reference is not None:
        ax.axvline(reference, color="#222222", lw=0.9, ls=(0, (4, 2)), zorder=4)
    ax.set_yticks(np.arange(len(names)), [_short(name) for name in heights])
    ax.set_ylim(-0.55, len(names) - 0.45)
    ax.grid(axis="y", visible=False)
    ax.axvline(0, color="#555555", lw=0.7, zorder=1)
    ax.set(xlabel=xlabel, title=title)
    if group is not None:
        fig.legend(loc="outside lower left", ncols=min(len(groups), 4))
    return fig


def _intervals(
    ax: Any, y: np.ndarray, low: np.ndarray, high: np.ndarray, reach: float
) -> None:
    """Intervals with a stroke at both ends, `reach` to each side; none where an end is
    NaN.
    """
    bounded = ~np.isnan(low) & ~np.isnan(high)
    y = y[bounded]
    low = low[bounded]
    high = high[bounded]
    style: Any = {"color": "#222222", "lw": 1.0, "zorder": 3}
    ax.hlines(y, low, high, **style)
    beside = np.tile(y, 2)
    ax.vlines(np.concatenate([low, high]), beside - reach, beside + reach, **style)


def heatmap(frame: pd.DataFrame, *, title: str = "", label: str = "") -> Any:
    """One cell a number, with the number in it: rows are the frame's index, columns its
    columns.

    label: what the numbers are, written beside the colour bar. White at 0, blue below,
    orange above; NaN stays grey and empty. Returns the figure. Raises: ValueError for a
    frame without a number.
    """
    import seaborn as sns

    values = frame.to_numpy(dtype=float)
    if not np.isfinite(values).any():
        raise ValueError("the frame holds no finite number; there is nothing to draw")
    fig, ax = new(WIDE, 0.9 + 0.26 * len(frame))
    reach = float(np.nanmax(np.abs(values)))
    palette = sns.diverging_palette(245, 40, s=85, l=60, as_cmap=True)
    sns.heatmap(
        frame.astype(float),
        ax=ax,
        cmap=palette,
        annot=True,
        fmt=".2f",
        annot_kws={"fontsize": 7.5},
        linewidths=1.2,
        linecolor="white",
        cbar_kws={"label": label, "shrink": 0.8, "pad": 0.02},
        vmin=-reach,
        vmax=reach,
    )
    ax.set_facecolor("#EEEEEE")
    ax.grid(False)
    ax.set(title=title, xlabel="", ylabel="")
    ax.tick_params(length=0)
    ax.set_yticks(np.arange(len(frame)) + 0.5, frame.index, rotation=0)
    ax.set_xticks(np.arange(frame.shape[1]) + 0.5, frame.columns, rotation=0)
    return fig


# What a share of a bar of the scoreboard counts -> fill, hatch. The shares differ by
# lightness and pattern, not by hue alone.
SHARES = {
    "recomputed, equal": (PALETTE["blue"], ""),
    "consistent, equal": ("#8EC9EE", ""),
    "compared, not equal": (PALETTE["orange"], ""),
    "for orientation": ("#FFFFFF", "//////"),
    "equal by construction": ("#8C8C8C", ""),
    "nothing to set beside": ("#F0F0F0", ""),
}


def scoreboard(frame: pd.DataFrame, names: Mapping[str, str]) -> Any:
    """What became of the numbers of `scoreboard.build()`: a panel a paper, a bar a
    printed table that has numbers.

    names: of the papers. Beside a bar: its status, and how many of the
    paper's own numbers were tested.
    Raises: ValueError for a frame without a printed number.
    """
    tables = frame[frame["printed"] > 0]
    if tables.empty:
        raise ValueError("nothing to draw: no printed number")
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
    start = np.zeros(len(part))
    for share, (name, (fill, hatch)) in zip(
        _shares(part).T, SHARES.items(), strict=True
    ):
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
    counts = pd.concat(
        [equal, unequal, part["orientation"], part["construction"]], axis=1
    ).to_numpy(float)
    nothing = (part["printed"] - counts.sum(axis=1)).clip(lower=0)
    counts = np.column_stack([counts, nothing.to_numpy(float)])
    # A cell of two routes counts in two shares: the sum may exceed what is printed.
    return 100 * counts / counts.sum(axis=1, keepdims=True)
