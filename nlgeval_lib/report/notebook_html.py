"""A notebook, with or without outputs, as a piece of HTML in which nothing runs and nothing is fetched."""

from __future__ import annotations

import base64
import html
import json
import re
from typing import Any

_TAGS = {
    "a", "abbr", "b", "blockquote", "br", "caption", "code", "col", "colgroup", "dd", "del", "details", "div", "dl",
    "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "ins", "kbd", "li", "ol", "p", "pre", "s", "samp",
    "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "u", "ul",
}  # fmt: skip
_ATTRIBUTES = {
    "*": ["class", "title", "style"],
    "a": ["href"],
    "img": ["src", "alt", "width", "height"],
    "td": ["colspan", "rowspan"],
    "th": ["colspan", "rowspan", "scope"],
}
_STYLES = ("color", "background-color", "font-weight", "font-style", "text-align", "width", "height", "vertical-align")
_IMAGES = ("image/svg+xml", "image/png", "image/jpeg", "image/gif")
_DROPPED = re.compile(r"<(style|script|head|template|iframe|object)\b.*?(</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_MARK = re.compile(r"xpicture(\d+)x")  # what stands for a picture until the page is clean: they are long, and made here


def body(document: dict[str, Any]) -> str:
    """The cells of a notebook as HTML: prose, code, and outputs in which only text, tables and pictures are left."""
    import nbformat
    from nbconvert import HTMLExporter

    parsed = nbformat.reads(json.dumps(document), as_version=4)
    pictures: list[str] = []
    for cell in parsed.cells:
        if cell.cell_type == "code":
            cell.outputs = [made for output in cell.outputs if (made := _shown(output, pictures)) is not None]
    exporter = HTMLExporter(template_name="basic", exclude_anchor_links=True)
    page, _ = exporter.from_notebook_node(parsed)
    return _MARK.sub(lambda found: pictures[int(found[1])] if int(found[1]) < len(pictures) else found[0], _clean(page))


def _shown(output: Any, pictures: list[str]) -> Any:
    """An output with one form that can be shown: a mark for a picture, a table, or text; None where it has none."""
    data = output.get("data")
    if data is None:
        return output
    for mime in _IMAGES:
        if mime in data:
            told = output.get("metadata", {}).get(mime, {})
            pictures.append(_image(mime, data[mime], told.get("alt") or data.get("text/plain", ""), told.get("width")))
            output.data = type(data)({"text/html": f"xpicture{len(pictures) - 1}x"})
            return output
    kept = next((mime for mime in ("text/html", "text/plain") if mime in data), None)
    if kept is None:
        return None
    output.data = type(data)({kept: data[kept]})
    return output


def _clean(fragment: str) -> str:
    """HTML without scripts, styles, frames and addresses to load from; links may lead elsewhere, pictures may not."""
    import bleach
    from bleach.css_sanitizer import CSSSanitizer

    cleaner = bleach.Cleaner(
        tags=_TAGS,
        attributes=_allowed,
        protocols=["http", "https", "mailto", "data"],
        strip=True,
        css_sanitizer=CSSSanitizer(allowed_css_properties=list(_STYLES)),
    )
    return cleaner.clean(_DROPPED.sub("", fragment))


def _allowed(tag: str, name: str, value: str) -> bool:
    if tag == "img" and name == "src":
        return value.startswith("data:image/")
    if tag == "a" and name == "href":
        return value.startswith(("http://", "https://", "mailto:", "#")) or ":" not in value.partition("/")[0]
    return name in _ATTRIBUTES["*"] or name in _ATTRIBUTES.get(tag, ())


def _image(mime: str, content: Any, alt: Any, width: Any = None) -> str:
    text = _text(content)
    wide = f' width="{width}"' if isinstance(width, int) else ""
    data = base64.b64encode(text.encode()).decode() if mime == "image/svg+xml" else "".join(text.split())
    return f'<img alt="{html.escape(_text(alt))}"{wide} src="data:{mime};base64,{data}">'


def _text(value: Any) -> str:
    return "".join(value) if isinstance(value, list) else str(value)
