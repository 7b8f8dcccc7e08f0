"""Figures that notebooks share: printed beside ours, bars with intervals, numbers as
coloured cells, the scoreboard.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import papers
from nlgeval_lib.figures.style import PALETTE, WIDE, color, cut, new

_MAX_HEADS = 8
# how a cell of ours is drawn: its name in the legend, marker, colour, whether a line
# leads to the printed number
_DRAWN = {
    "recomputed": ("ours, equal", "o", "equal", False),
    "consistent": ("equal, from other printed numbers", "s", "sky", False),
    papers.comparison.SPREAD: (
        "ours, within the judge's own spread",
        "o",
        "sky",
        True,
    ),
    papers.comparison.APART: ("ours, apart", "D", "differs", True),
    papers.comparison.UNKNOWN: ("ours, spread unknown", "D", "sky", True),
    "differs": ("ours, differs", "D", "differs", True),
    "orientation": ("for orientation", "x", "purple", True),
    "construction": ("equal by construction", "+", "grey", False),
}
_LEGEND = ("printed", *(name for name, *_ in _DRAWN.values()), "95 % interval")
_CORRELATIONS = {
    "pearson",
    "spearman",
    "kendall",
}  # one scale, so that panels can be read against each other


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
    both["label"], heads = _arranged(both)
    labels = list(dict.fromkeys(both["label"]))
    statistics = list(dict.fromkeys(both["statistic"]))
    panels = [
        (head, statistic) for head in dict.fromkeys(heads) for statistic in statistics
    ]
    most = max(
        1, int(width / 2.2)
    )  # panels beside each other: the statistics of one head, where they fit
    columns = min(
        len(panels),
        most if len(statistics) == 1 or len(statistics) > most else len(statistics),
    )
    rows = math.ceil(len(panels) / columns)
    height = 0.8 + rows * (0.55 + 0.17 * len(labels))
    sharex = True if set(statistics) <= _CORRELATIONS else "row"
    fig, axes = new(
        width, height, rows, columns, squeeze=False, sharey=True, sharex=sharex
    )
    at = {text: y for y, text in enumerate(reversed(labels))}
    letters = max(
        10,
        int(
            (width - 0.06 * max(len(_short(text)) for text in labels)) / columns / 0.085
        ),
    )
    for ax, (head, statistic) in zip(axes.flat, panels, strict=False):
        part = both[(heads == head) & (both["statistic"] == statistic)]
        if part.empty:
            ax.text(
                0.5,
                0.5,
                "not compared",
                transform=ax.transAxes,
                ha="center",
                color="#555555",
            )
        elif (
            len(labels) > part["label"].nunique() >= len(labels) / 2
        ):  # an empty line would look like a forgotten one
            for label in [label for label in labels if label not in set(part["label"])]:
                place = ax.get_yaxis_transform()
                ax.text(
                    0.02,
                    at[label],
                    "not compared",
                    transform=place,
                    va="center",
                    fontsize=7,
                    color="#777777",
                )
        _dots(ax, part["label"].map(at).to_numpy(dtype=float), part)
        name = ", ".join(
            filter(None, [head, statistic if len(statistics) > 1 or not head else ""])
        )
        ax.set_title(textwrap.fill(name, letters))
        ax.tick_params(labelbottom=True)
    for ax in axes[:, 0]:
        ax.set_yticks(list(at.values()), [_short(text) for text in at])
        ax.set_ylim(-0.7, len(labels) - 0.3)
    cut(*axes.flat[: len(panels)], axis="x")
    told = (
        "correlation" if set(statistics) <= _CORRELATIONS else " and ".join(statistics)
    )
    for place, ax in enumerate(axes.flat):
        ax.set_visible(place < len(panels))
        if place + columns >= len(panels):  # no panel below
            ax.set_xlabel(xlabel or told)
        if ax.get_xlim()[0] < 0 < ax.get_xlim()[1]:
            ax.axvline(0, color="#777777", lw=0.8, zorder=0)
    said = papers.own_in_words(cells[cells["verdict"] != "extra"])
    tallied = papers.by_kind(cells).to_dict("records")
    for count in ("recomputed", "consistent"):
        words = papers.kinds_in_words(tallied, count)
        if words:
            said += f" {count.capitalize()}: {words}."
    said = textwrap.fill(f"{title}: {said}" if title else said, int(width * 13))
    fig.suptitle(said, x=0.01, ha="left", fontsize=9, fontweight="bold")
    drawn = {
        name: handle
        for ax in axes.flat
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    names = [name for name in _LEGEND if name in drawn]
    across = int(
        width / (0.4 + 0.062 * max(map(len, names)))
    )  # as many names beside each other as there is room for
    fig.legend(
        [drawn[name] for name in names],
        names,
        loc="outside lower left",
        ncols=max(1, min(4, across)),
    )
    return fig


def _arranged(both: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """The line of each cell, and the head of its panel: columns are heads where few,
    else part of the line's label.
    """
    heads = both["column"].nunique()
    if 1 < heads <= _MAX_HEADS and both["row"].nunique() > 1:
        return both["row"], both["column"].str.replace(" | ", ", ", regex=False)
    return (both["row"] if heads == 1 else both["row"] + ", " + both["column"]), both[
        "column"
    ].map(lambda _: "")


def _dots(ax: Any, y: np.ndarray, part: pd.DataFrame) -> None:
    ours = part["ours"].to_numpy(float)
    printed = part["number"].to_numpy(float)
    low = part["ci_low"].to_numpy(float)
    high = part["ci_high"].to_numpy(float)
    known = ~np.isnan(low) & ~np.isnan(high)
    if known.any():
        ax.hlines(
            y[known],
            low[known],
            high[known],
            color=color("sky"),
            lw=2.2,
            label="95 % interval",
            zorder=1,
        )
    equal = np.where(part["route"] == "published", "consistent", "recomputed")
    kinds = np.where(part["verdict"] == "equal", equal, part["verdict"])
    kinds = np.where(part["route"] == "recorded", "orientation", kinds)
    for kind, (label, marker, name, led) in _DRAWN.items():
        here = kinds == kind
        if led and here.any():
            ax.hlines(
                y[here], printed[here], ours[here], color=color(name), lw=0.9, zorder=2
            )
        if here.any():
            ax.scatter(
                ours[here],
                y[here],
                s=20,
                color=color(name),
                marker=marker,
                label=label,
                zorder=3,
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
    labels = list(dict.fromkeys(frame[label].astype(str)))
    groups = [""] if group is None else list(dict.fromkeys(frame[group].astype(str)))
    step = 0.8 / len(groups)
    fig, ax = new(
        width, 0.8 + max(0.22 * len(labels), 0.14 * len(labels) * len(groups))
    )
    for g, name in enumerate(groups):
        part = frame if group is None else frame[frame[group].astype(str) == name]
        at = {text: i for i, text in enumerate(reversed(labels))}
        y = (
            np.array([at[text] for text in part[label].astype(str)])
            + 0.4
            - step * (g + 0.5)
        )
        x, lo, hi = (part[column].to_numpy(float) for column in (value, low, high))
        ax.barh(y, x, height=step * 0.86, color=color(g), label=name or None, zorder=2)
        known = ~np.isnan(lo) & ~np.isnan(hi)
        ax.hlines(y[known], lo[known], hi[known], color="#222222", lw=1.0, zorder=3)
        ends = np.concatenate([lo[known], hi[known]])
        beside = np.tile(y[known], 2)
        ax.vlines(
            ends,
            beside - step * 0.2,
            beside + step * 0.2,
            color="#222222",
            lw=1.0,
            zorder=3,
        )
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


# what a share of a bar of the scoreboard counts -> fill, hatch; told apart by lightness
# and pattern, not hue alone
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
    bands = [
        (paper, part[part["printed"] > 0])
        for paper, part in frame.groupby("paper", sort=False)
    ]
    bands = [(paper, part) for paper, part in bands if len(part)]
    if not bands:
        raise ValueError("nothing to draw: no printed number")
    rows = [len(part) for _, part in bands]
    options = {
        "height_ratios": [count + 1.2 for count in rows],
        "squeeze": False,
        "sharex": True,
    }
    fig, axes = new(
        WIDE, 0.6 + 0.155 * sum(rows) + 0.3 * len(rows), len(rows), 1, **options
    )
    for ax, (paper, part) in zip(axes[:, 0], bands, strict=True):
        equal = part[["recomputed_equal", "consistent_equal"]]
        other = part["recomputed"] + part["consistent"] - equal.sum(axis=1)
        shares = pd.concat(
            [equal, other, part["orientation"], part["construction"]], axis=1
        ).to_numpy(float)
        rest = (part["printed"] - shares.sum(axis=1)).clip(lower=0).to_numpy(float)
        shares = np.column_stack([shares, rest])
        shares = (
            100 * shares / shares.sum(axis=1, keepdims=True)
        )  # a cell of two routes has two
        y = np.arange(len(part))
        left = np.zeros(len(part))
        for share, (name, (fill, hatch)) in zip(shares.T, SHARES.items(), strict=True):
            ax.barh(
                y,
                share,
                left=left,
                height=0.8,
                color=fill,
                hatch=hatch,
                edgecolor="#7A7A7A",
                lw=0.4,
                label=name,
            )
            left += share
        labels = part["id"].str.replace("_", " ").str.capitalize()
        ax.set_yticks(y, labels, fontsize=7)
        for place, one in zip(y, part.itertuples(index=False), strict=True):
            tested = f"own method {one.own_recomputed} of {one.own_printed}"
            text = f"{one.status}, {tested}" if one.own_printed else one.status
            ax.text(101, place, text, fontsize=7, va="center")
        ax.set(
            xlim=(0, 100), ylim=(len(part) - 0.4, -0.6), title=names.get(paper, paper)
        )
        sums = part.select_dtypes("number").sum()
        said = (
            f"own method tested: {sums['own_recomputed']:,.0f} "
            f"of {sums['own_printed']:,.0f} printed numbers"
        )
        ax.set_title(said, loc="right", fontsize=7, fontweight="normal")
        ax.grid(axis="y", visible=False)
    axes[-1, 0].set_xlabel("share of the printed numbers, %")
    fig.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower left", ncols=3
    )
    return fig
