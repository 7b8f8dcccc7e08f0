"""The common style and how a figure becomes files."""

from __future__ import annotations

import io
from typing import Any

from nlgeval_lib.progress import in_notebook

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
    import numpy as np
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
