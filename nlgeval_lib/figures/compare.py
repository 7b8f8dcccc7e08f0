"""Figures that notebooks share: printed beside ours, bars and lines with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.figures.style import COLUMN, WIDE, color, new

_MAX_ROWS = 60


def paper_vs_ours(cells: pd.DataFrame, title: str = "", xlabel: str = "", width: float | None = None) -> Any:
    """A dot plot of printed numbers and ours with their intervals, a panel a statistic and column group.

    cells: as `papers.compare` returns them; those without a printed number or without ours are left out, and the title
    says how many. Returns the figure.
    Raises: ValueError where no cell has both numbers.
    """
    from nlgeval_lib.printed import parse

    both = cells[cells["ours"].notna() & (cells["printed"] != "") & (cells["verdict"] != "extra")].copy()
    if both.empty:
        raise ValueError("no cell has a printed number and one of ours; there is nothing to draw")
    both["number"] = [float(parse(text)) for text in both["printed"]]
    if len(both) > _MAX_ROWS * 6:
        both = both.iloc[: _MAX_ROWS * 6]
    panels = _panels(both)
    columns = min(len(panels), 2 if width is None or width > COLUMN + 1 else 1)
    rows = math.ceil(len(panels) / columns)
    longest = max(len(labels) for _, labels, _ in panels)
    width = width or (WIDE if columns > 1 or max(len(text) for _, texts, _ in panels for text in texts) > 28 else 5.0)
    fig, axes = new(width, 0.75 + rows * (0.55 + 0.19 * longest), rows, columns, squeeze=False)
    for ax, (name, labels, part) in zip(axes.flat, panels, strict=False):
        _dots(ax, labels, part)
        ax.set_title(name)
        ax.set_xlabel(xlabel)
    for ax in list(axes.flat)[len(panels) :]:
        ax.set_visible(False)
    lacking = int((cells["verdict"] == "missing").sum())
    equal = int((both["verdict"] == "equal").sum())
    said = f"{equal} of {len(both)} compared cells equal" + (f", {lacking} missing" if lacking else "")
    fig.suptitle(f"{title}: {said}" if title else said, x=0.01, ha="left", fontsize=9, fontweight="bold")
    handles, names = axes.flat[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower left", ncols=4)
    return fig


def _panels(both: pd.DataFrame) -> list[tuple[str, list[str], pd.DataFrame]]:
    found = []
    columns_vary = both["column"].nunique() > 1
    for (table, statistic), part in both.groupby(["table", "statistic"], sort=False):
        heads = [one for one, _ in part.groupby("column", sort=False)]
        split = columns_vary and len(heads) <= 8 and part["row"].nunique() > 1
        groups = [(head, part[part["column"] == head]) for head in heads] if split else [("", part)]
        for head, group in groups:
            several = both["table"].nunique() > 1
            name = " – ".join(filter(None, [table if several else "", head, statistic]))
            texts = group["row"] if split or not columns_vary else group["row"] + ", " + group["column"]
            found.append((name, [_short(text) for text in texts], group))
    return found


def _dots(ax: Any, labels: list[str], part: pd.DataFrame) -> None:
    y = np.arange(len(part))[::-1]
    ours, printed = part["ours"].to_numpy(float), part["number"].to_numpy(float)
    low, high = part["ci_low"].to_numpy(float), part["ci_high"].to_numpy(float)
    equal = (part["verdict"] == "equal").to_numpy()
    known = ~np.isnan(low) & ~np.isnan(high)
    ax.hlines(y[known], low[known], high[known], color=color("sky"), lw=2.2, label="interval", zorder=1)
    ax.hlines(y[~equal], printed[~equal], ours[~equal], color=color("differs"), lw=0.9, zorder=2)
    ax.scatter(ours[equal], y[equal], s=20, color=color("equal"), label="ours, equal", zorder=3)
    ax.scatter(ours[~equal], y[~equal], s=20, color=color("differs"), marker="D", label="ours, differs", zorder=3)
    ax.scatter(printed, y, s=34, facecolors="none", edgecolors=color("printed"), lw=0.9, label="printed", zorder=4)
    ax.set_yticks(y, labels)
    ax.set_ylim(-0.7, len(part) - 0.3)
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
    Returns the figure. Raises: ValueError for columns that are not there, or a frame without a value.
    """
    names = list(filter(None, [label, value, low, high, group]))
    lacking = [name for name in names if name not in frame]
    if lacking:
        raise ValueError(f"no column {', '.join(lacking)}; the frame has {', '.join(map(str, frame.columns))}")
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
        ax.vlines(
            np.concatenate([lo[known], hi[known]]), *_ends(y[known], step * 0.2), color="#222222", lw=1.0, zorder=3
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


def _ends(y: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    both = np.concatenate([y, y])
    return both - reach, both + reach


def lines_with_bands(
    frame: pd.DataFrame,
    *,
    x: str,
    value: str = "value",
    low: str = "low",
    high: str = "high",
    group: str | None = None,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    width: float = COLUMN,
    height: float = 2.5,
) -> Any:
    """Lines over an ordered variable with their intervals as bands, a line a `group`, each with its own marker.

    x, value, low, high, group: column names; NaN in low or high draws no band. Returns the figure.
    Raises: ValueError for columns that are not there.
    """
    lacking = [name for name in filter(None, [x, value, low, high, group]) if name not in frame]
    if lacking:
        raise ValueError(f"no column {', '.join(lacking)}; the frame has {', '.join(map(str, frame.columns))}")
    fig, ax = new(width, height)
    groups: Sequence[Any] = [None] if group is None else list(dict.fromkeys(frame[group]))
    for g, name in enumerate(groups):
        part = (frame if name is None else frame[frame[group] == name]).sort_values(x)
        ax.plot(
            part[x], part[value], marker="osD^vPX"[g % 7], color=color(g), label=None if name is None else str(name)
        )
        ax.fill_between(part[x].to_numpy(float), part[low], part[high], color=color(g), alpha=0.18, lw=0)
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title)
    if group is not None:
        fig.legend(loc="outside lower left", ncols=2 if width < 5 else 4)
    return fig
