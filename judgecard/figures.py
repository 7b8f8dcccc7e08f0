"""One look for every figure: colour-blind safe, readable at column width, the same
bytes at every run.
"""

from __future__ import annotations

import io
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.progress import in_notebook

__all__ = [
    "COLUMN",
    "WIDE",
    "bars_with_intervals",
    "can_draw",
    "color",
    "cut",
    "heatmap",
    "in_notebook",
    "new",
    "picture",
    "render",
    "show",
    "use",
]

# inches: one column of a two-column page, and its full width
COLUMN = 3.3
WIDE = 7.0
DPI = 200
SCREEN_DPI = 90  # of a picture in a notebook: a page's width is 630 dots
MANY_DOTS = 2000  # in one figure

# Okabe and Ito's palette, distinct with every common kind of colour blindness
PALETTE = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "vermilion": "#D55E00",
    "purple": "#CC79A7",
    "sky": "#56B4E9",
    "black": "#000000",
    "grey": "#999999",
}
# what a colour stands for -> its name
ROLES = {
    "ours": "blue",
    "printed": "black",
    "equal": "blue",
    "differs": "vermilion",
    "human": "green",
    "baseline": "grey",
}
# every name that `color` takes
COLORS = {
    **{role: PALETTE[name] for role, name in ROLES.items()},
    "missing": "#BDBDBD",
    **PALETTE,
}
# the colours of lines and bars that come one after the other
CYCLE = [
    PALETTE[name]
    for name in ("blue", "vermilion", "green", "orange", "purple", "sky", "grey")
]
# matplotlib's settings
_RC: Any = {
    # comes with matplotlib, so that a figure is the same everywhere
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.6,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "errorbar.capsize": 2,
    "figure.dpi": 110,
    "figure.figsize": (WIDE, 3.2),
    "figure.constrained_layout.use": True,
    "savefig.dpi": DPI,
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "nlgeval",
    "text.parse_math": False,  # names from data may hold a dollar sign
}


def can_draw() -> bool:
    """Whether figures can be drawn here; where not, a warning says how they can."""
    if find_spec("matplotlib"):
        return True
    warnings.warn(
        "without figures: package matplotlib is not installed; pip install matplotlib, "
        "and the same command draws them (answers are kept, nothing is asked twice)",
        stacklevel=3,
    )
    return False


def use() -> None:
    """Set the style for all figures of this process, whatever matplotlibrc the user
    has.
    """
    import matplotlib as mpl
    from cycler import cycler

    # What the user's own file sets and `_RC` does not would change the bytes.
    mpl.rcdefaults()
    mpl.rcParams.update(_RC)
    mpl.rcParams["axes.prop_cycle"] = cycler(color=CYCLE)


def color(name: str | int) -> str:
    """A colour, as matplotlib takes it.

    name: a colour of `PALETTE`; a role (ours, printed, equal, differs, missing, human,
    baseline); or a number, the place in the cycle, which begins anew after its end.
    Raises: ValueError for an unknown name.
    """
    if isinstance(name, int):
        return CYCLE[name % len(CYCLE)]
    if name not in COLORS:
        raise ValueError(f"no colour {name!r}; one of {', '.join(COLORS)}, or a number")
    return COLORS[name]


def new(
    width: float = WIDE,
    height: float = 3.2,
    rows: int = 1,
    columns: int = 1,
    **options: Any,
):
    """A figure in the common style and its axes: `fig, ax = figures.new(figures.COLUMN,
    2.4)`.

    options: of `matplotlib.pyplot.subplots`.
    Returns: the figure and what `subplots` gives beside it: one axes, or an array of
    them.
    """
    use()
    import matplotlib.pyplot as plt

    return plt.subplots(rows, columns, figsize=(width, height), **options)


def cut(*axes: Any, axis: str = "y") -> None:
    """Mark those axes that do not reach zero with two strokes at their start.

    axes: matplotlib's.
    axis: "x" or "y".
    """
    for ax in axes:
        low, high = getattr(ax, f"get_{axis}lim")()
        excludes_zero = low * high > 0
        if not excludes_zero:
            continue
        along = [0.02, 0.04]
        across = [0, 0]
        is_x = axis == "x"
        stroke = [(-1, -2), (1, 2)] if is_x else [(-2, -1), (2, 1)]
        ax.plot(
            along if is_x else across,
            across if is_x else along,
            ls="",
            marker=stroke,
            ms=7,
            mew=0.9,
            color="black",
            transform=ax.transAxes,
            clip_on=False,
        )


def render(fig: Any) -> dict[str, bytes]:
    """The figure as files, without dates: the same figure gives the same bytes.

    Returns: "svg" and "png" -> the bytes.
    """
    import matplotlib as mpl

    svg_dpi = _RC["figure.dpi"] if _dots_as_picture(fig) else DPI
    # Date, creator and software would be other bytes at another run or version.
    forms = {
        "svg": {"dpi": svg_dpi, "metadata": {"Date": None, "Creator": None}},
        "png": {"dpi": DPI, "metadata": {"Software": None}},
    }
    # What is read when a figure is written, whoever changed it since `use`.
    settings: Any = {}
    for name in ("svg.fonttype", "svg.hashsalt", "savefig.dpi"):
        settings[name] = _RC[name]
    rendered = {}
    with mpl.rc_context(settings):
        for form, options in forms.items():
            buffer = io.BytesIO()
            fig.savefig(buffer, format=form, facecolor="white", **options)
            rendered[form] = buffer.getvalue()
    return rendered


def _dots_as_picture(fig: Any) -> bool:
    """Let more than `MANY_DOTS` dots be a picture within the SVG."""
    from matplotlib.collections import PathCollection

    scatters = []
    dots = 0
    for ax in fig.axes:
        for part in ax.collections:
            if isinstance(part, PathCollection):
                scatters.append(part)
                dots += len(np.asarray(part.get_offsets()))
    if dots <= MANY_DOTS:
        return False
    for scatter in scatters:
        scatter.set_rasterized(True)
    return True


def show(fig: Any, png: bytes, name: str, place: str) -> None:
    """Show a figure in a notebook; elsewhere nothing.

    The figure is closed: left to the notebook, it would be laid out and drawn once more
    at the end of the cell.

    png: its bytes, as `render` gives them.
    place: the id of the display, by which another picture can be put there later.
    """
    if not in_notebook():
        return
    import matplotlib.pyplot as plt
    from IPython.display import display

    plt.close(fig)
    display(picture(png, name), display_id=place)


def picture(png: bytes, name: str) -> Any:
    """A saved figure as a notebook shows it: at a screen's size, in 64 colours, which
    is a third of the bytes.

    png: its bytes, as `render` gives them.
    """
    from IPython.display import Image
    from PIL import Image as images

    with images.open(io.BytesIO(png)) as drawn:
        scale = SCREEN_DPI / DPI
        size = (round(drawn.width * scale), round(drawn.height * scale))
        small = drawn.convert("RGB").resize(size, images.Resampling.LANCZOS)
    few = small.quantize(64, dither=images.Dither.NONE)
    buffer = io.BytesIO()
    few.save(buffer, "PNG", optimize=True)
    return Image(buffer.getvalue(), width=size[0], alt=name)


# -- figures that cards and notebooks share


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


def __dir__() -> list[str]:
    return __all__
