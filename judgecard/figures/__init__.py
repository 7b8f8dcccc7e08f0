"""One look for every figure: colour-blind safe, readable at column width, the same
bytes at every run.

`style` has the common look: `use` sets it, `new` makes a figure in it, `color` gives a
colour by what it stands for, `cut` marks axes that do not begin at zero, `render` and
`show` make files and pictures. `bars` has the figures that cards and notebooks share.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING

from nlgeval_lib.on_use import loaded_on_use

if TYPE_CHECKING:
    from judgecard.figures.bars import bars_with_intervals, heatmap
    from judgecard.figures.style import (
        COLUMN,
        WIDE,
        color,
        cut,
        in_notebook,
        new,
        picture,
        render,
        show,
        use,
    )

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

_OF_BARS = ("bars_with_intervals", "heatmap")
_NOT_OF_STYLE = (*_OF_BARS, "can_draw")
# A figure that a notebook draws by itself needs the style alone.
__getattr__ = loaded_on_use(
    __name__,
    {
        "bars": _OF_BARS,
        "style": tuple(name for name in __all__ if name not in _NOT_OF_STYLE),
    },
)


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


def __dir__() -> list[str]:
    return __all__
