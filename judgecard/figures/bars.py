"""Figures that cards and notebooks share: bars with intervals, numbers as coloured
cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from judgecard.figures.style import WIDE, color, new


def short(text: str, limit: int = 44) -> str:
    """A label, without the bars between names of two levels, cut to `limit` letters."""
    text = text.replace(" | ", ", ")
    if len(text) <= limit:
        return text
    return text[: limit - 1] + "…"


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
    """Horizontal bars with intervals, a bar a row of the frame.

    frame: what is drawn, labels in the order in which they come.
    label: the column with the name of each bar.
    value, low, high: columns of numbers; NaN in low or high draws no interval.
    group: a column; bars of one label stand together, each group in its colour. None:
    no groups.
    reference: where a dashed line stands; None for none.
    Returns: the figure.
    Raises: ValueError for a frame without a value.
    """
    if frame[value].notna().sum() == 0:
        raise ValueError(f"column {value!r} holds no number; there is nothing to draw")
    names = list(dict.fromkeys(frame[label].astype(str)))
    groups = [""] if group is None else list(dict.fromkeys(frame[group].astype(str)))
    # The bars of a label share 0.8 of its line, the first group above.
    step = 0.8 / len(groups)
    heights = {name: y for y, name in enumerate(reversed(names))}
    bars = len(names) * len(groups)
    fig, ax = new(width, 0.8 + max(0.22 * len(names), 0.14 * bars))
    for number, name in enumerate(groups):
        part = frame if group is None else frame[frame[group].astype(str) == name]
        lines = part[label].astype(str).map(heights).to_numpy()
        y = lines + 0.4 - step * (number + 0.5)
        values = part[value].to_numpy(float)
        lows = part[low].to_numpy(float)
        highs = part[high].to_numpy(float)
        hue = color(number)
        ax.barh(y, values, height=step * 0.86, color=hue, label=name or None, zorder=2)
        intervals(ax, y, lows, highs, step * 0.2)
    _finish_bars(ax, list(heights), reference)
    ax.set(xlabel=xlabel, title=title)
    if group is not None:
        fig.legend(loc="outside lower left", ncols=min(len(groups), 4))
    return fig


def _finish_bars(ax: Any, names: list[str], reference: float | None) -> None:
    """The names of the lines, a line at zero, and a dashed one at the reference."""
    if reference is not None:
        ax.axvline(reference, color="#222222", lw=0.9, ls=(0, (4, 2)), zorder=4)
    ax.set_yticks(np.arange(len(names)), [short(name) for name in names])
    ax.set_ylim(-0.55, len(names) - 0.45)
    ax.grid(axis="y", visible=False)
    ax.axvline(0, color="#555555", lw=0.7, zorder=1)


def intervals(
    ax: Any, y: np.ndarray, low: np.ndarray, high: np.ndarray, reach: float
) -> None:
    """Intervals with a stroke at both ends; none where an end is NaN.

    y: the height of each. reach: how far a stroke goes to each side of it.
    """
    bounded = ~np.isnan(low) & ~np.isnan(high)
    y = y[bounded]
    low = low[bounded]
    high = high[bounded]
    style: Any = {"color": "#222222", "lw": 1.0, "zorder": 3}
    ax.hlines(y, low, high, **style)
    heights = np.tile(y, 2)
    ax.vlines(np.concatenate([low, high]), heights - reach, heights + reach, **style)


def heatmap(frame: pd.DataFrame, *, title: str = "", label: str = "") -> Any:
    """One cell a number, with the number in it: rows are the frame's index, columns its
    columns.

    White at 0, blue below, orange above; NaN stays grey and empty.

    label: what the numbers are, written beside the colour bar.
    Returns: the figure.
    Raises: ValueError for a frame without a finite number.
    """
    import seaborn as sns

    values = frame.to_numpy(dtype=float)
    if not np.isfinite(values).any():
        raise ValueError("the frame holds no finite number; there is nothing to draw")
    fig, ax = new(WIDE, 0.9 + 0.26 * len(frame))
    # The same distance to both sides of 0, so that white is 0.
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
