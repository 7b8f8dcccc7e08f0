"""Formulas in a notebook's prose as pictures with their text beside them: a page then needs no typesetting script."""

from __future__ import annotations

import base64
import functools
import html
import io
import re
from collections.abc import Sequence

# code spans and fences are matched first, so that a dollar in them is none; a price (`$5 and $6`) is no formula
_PARTS = re.compile(
    r"(?P<code>```.*?```|`[^`\n]*`)|\$\$(?P<block>.+?)\$\$|(?<![\\$\w])\$(?P<inline>[^\s$](?:[^$\n]*[^\s$\\])?)\$(?![\w$])",
    re.DOTALL,
)
_SIZE = 12.0  # points that a formula is set in; heights are told in em of it


def kept(text: str, first: int = 0) -> tuple[str, list[str]]:
    """Markdown with a mark in place of every formula, numbered from `first`, and the formulas as pictures."""
    found: list[str] = []

    def marked(match: re.Match[str]) -> str:
        if match["code"] is not None:
            return match[0]
        found.append(picture(match["block"] or match["inline"], bool(match["block"])))
        return mark(first + len(found) - 1)

    return _PARTS.sub(marked, text), found


def mark(number: int) -> str:
    """What stands for a picture until the page is finished."""
    return f"xpicture{number}x"


def put(page: str, pictures: Sequence[str]) -> str:
    """The page with its pictures in place of their marks."""
    return re.sub(
        r"xpicture(\d+)x", lambda match: pictures[int(match[1])] if int(match[1]) < len(pictures) else match[0], page
    )


@functools.cache
def picture(tex: str, block: bool = False) -> str:
    """One formula as an `img` with its source as text; as code where it cannot be set."""
    source = " ".join(tex.split())
    try:
        svg, depth, height = _set(source)
    except (ValueError, RecursionError):
        return f"<code>{html.escape(source)}</code>"
    data = base64.b64encode(svg).decode()
    style = f"height:{height / _SIZE:.3f}em;vertical-align:{-depth / _SIZE:.3f}em"
    made = f'<img class="formula" alt="{html.escape(source)}" style="{style}" src="data:image/svg+xml;base64,{data}">'
    return f'<span class="formula-block">{made}</span>' if block else made


def _set(source: str) -> tuple[bytes, float, float]:
    """The drawing, its depth below the line and its height, in points. Raises: ValueError for what cannot be set."""
    import matplotlib as mpl
    from matplotlib import mathtext
    from matplotlib.font_manager import FontProperties

    buffer = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "path", "mathtext.fontset": "cm", "svg.hashsalt": "nlgeval"}):
        font = FontProperties(size=_SIZE)
        depth = mathtext.math_to_image(f"${source}$", buffer, prop=font, dpi=72, format="svg")
        height = mathtext.MathTextParser("path").parse(f"${source}$", dpi=72, prop=font).height
    return buffer.getvalue(), float(depth), float(height)
