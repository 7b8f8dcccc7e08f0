"""A table of numbers as coloured cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.figures.style import WIDE, new


def heatmap(
    frame: pd.DataFrame,
    *,
    title: str = "",
    label: str = "",
    digits: int = 2,
    diverging: bool = True,
    width: float = WIDE,
) -> Any:
    """One cell a number, with the number in it: rows are the frame's index, columns its columns.

    label: what the numbers are, written beside the colour bar. diverging: white at 0, blue below, orange above; else
    from white at the smallest. NaN stays grey and empty. Returns the figure.
    Raises: ValueError for a frame without a number.
    """
    import seaborn as sns

    values = frame.to_numpy(dtype=float)
    if not np.isfinite(values).any():
        raise ValueError("the frame holds no finite number; there is nothing to draw")
    fig, ax = new(width, 0.9 + 0.26 * len(frame))
    reach = float(np.nanmax(np.abs(values)))
    palette = sns.diverging_palette(245, 40, s=85, l=60, as_cmap=True) if diverging else "Blues"
    limits = {"vmin": -reach, "vmax": reach} if diverging else {}
    sns.heatmap(
        frame.astype(float), ax=ax, cmap=palette, annot=True, fmt=f".{digits}f", annot_kws={"fontsize": 7.5},
        linewidths=1.2, linecolor="white", cbar_kws={"label": label, "shrink": 0.8, "pad": 0.02}, **limits,
    )  # fmt: skip
    ax.set_facecolor("#EEEEEE")
    ax.grid(False)
    ax.set_title(title)
    ax.set(xlabel="", ylabel="")
    ax.tick_params(length=0)
    ax.set_yticks(np.arange(len(frame)) + 0.5, frame.index, rotation=0)
    ax.set_xticks(np.arange(frame.shape[1]) + 0.5, frame.columns, rotation=0)
    return fig
