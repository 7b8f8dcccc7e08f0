"""HTML of the report: whole pages in which only our own scripts run, and notebooks in
which nothing does.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from nlgeval_lib import files, tables

# What a notebook's HTML may hold: elements, their attributes, and styles.
_TAGS = (
    "a abbr b blockquote br caption code col colgroup dd del details div dl dt em h1 "
    "h2 h3 h4 h5 h6 hr i ins kbd li ol p pre s samp small span strong sub summary sup "
    "table tbody td tfoot th thead tr u ul"
)
_ATTRIBUTES = {
    "*": ["class", "title", "style"],
    "a": ["href"],
    "td": ["colspan", "rowspan"],
    "th": ["colspan", "rowspan", "scope"],
}
_STYLES = (
    "color background-color font-weight font-style text-align width height "
    "vertical-align"
)
# Elements that go with all that is in them.
_DROPPED = re.compile(
    r"<(style|script|head|template|iframe|object)\b.*?(</\1\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_HEADING = re.compile(r"<(/?)h([1-5])\b")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SITE = Path(__file__).parent / "site"
SORTING = SITE / "tables.js"  # sorts and filters the tables of a page


def page(
    title: str,
    content: str,
    scripts: Sequence[Path] = (SORTING,),
    home: str = "",
    trail: str = "",
) -> str:
    """A whole document.

    home: the link to the index; "" for a page that stands alone.
    """
    codes = []
    hashes = []
    for path in scripts:
        code = path.read_text(encoding="utf-8")
        digest = hashlib.sha256(code.encode()).digest()
        codes.append(code)
        hashes.append(base64.b64encode(digest).decode())
    return render(
        "frame.html",
        style=_stylesheet(),
        title=title,
        content=content,
        scripts=codes,
        hashes=hashes,
        home=home,
        trail=trail,
    )


def framed(document: str, title: str, sandbox: str = "") -> str:
    """A whole document in a frame of a notebook, in which nothing runs but what the
    sandbox allows.
    """
    style = "width:100%;height:760px;border:1px solid #d0d0d0"
    about = f'title="{html.escape(title)}" style="{style}"'
    inside = html.escape(document, quote=True)
    allowed = f'sandbox="{sandbox}"' if sandbox else "sandbox"
    return f'<iframe {allowed} {about} srcdoc="{inside}"></iframe>'


def render(template: str, site: Path = SITE, **values: Any) -> str:
    """A template with these values; what is not marked safe is escaped, and no value is
    a template.

    Raises: jinja2.UndefinedError where the template takes a value that is not given.
    """
    return _environment(site).get_template(template).render(values)


@functools.cache
def _environment(site: Path) -> jinja2.Environment:
    """What renders the templates of a folder; each is read once."""
    loader = jinja2.FileSystemLoader(site)
    return jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined
    )


@functools.cache
def _stylesheet() -> str:
    """The styles of pages, of tables and of code."""
    from pygments.formatters import HtmlFormatter

    of_tables = tables.STYLE.removeprefix("<style>").removesuffix("</style>")
    of_pages = (SITE / "page.css").read_text(encoding="utf-8")
    of_code = HtmlFormatter(style="bw").get_style_defs(".highlight")
    return of_pages + of_tables + of_code


def folded(title: str, text: str) -> str:
    """Markdown that a code host shows when its title is clicked; nothing where there is
    no text.
    """
    if not text:
        return ""
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def scrolling(content: str) -> str:
    """HTML whose wide tables scroll in boxes of their own, also by the keyboard."""
    opening = '<div class="wide" tabindex="0" role="region" aria-label="Table"><table>'
    content = content.replace("<table>", opening)
    return content.replace("</table>", "</table></div>")


def text_body(text: str) -> str:
    """Markdown with tables as HTML in which nothing runs."""
    import mistune

    return _cleaned(str(mistune.create_markdown(escape=False, plugins=["table"])(text)))


def notebook_body(
    document: dict[str, Any], below: bool = False, pictures: Pictures | None = None
) -> str:
    """The cells of a notebook as HTML in which nothing runs and nothing is fetched."""
    parts = []
    for cell in document["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            parts.append(_code(source))
            parts += [_shown(output, pictures) for output in cell["outputs"]]
        else:
            parts.append(text_body(source))
    body = "\n".join(f'<div class="cell">{part}</div>' for part in parts)
    if below:
        body = _HEADING.sub(lambda match: f"<{match[1]}h{int(match[2]) + 1}", body)
    return body


def _code(source: str) -> str:
    """A cell's code, folded; empty where there is none."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    if not source:
        return ""
    code = highlight(source, PythonLexer(), HtmlFormatter())
    return f"<details><summary>Code</summary>{code}</details>"


def _shown(output: Mapping[str, Any], pictures: Pictures | None) -> str:
    """An output: its picture, else its HTML, else its plain text."""
    if output["output_type"] == "stream":
        return _plain(output["text"])
    if output["output_type"] == "error":
        return _plain("\n".join(output["traceback"]))
    data = output["data"]
    if "image/png" in data:
        about = output["metadata"].get("image/png", {})
        alt = about.get("alt") or "".join(data.get("text/plain", ""))
        return picture(data["image/png"], alt, about.get("width"), pictures)
    if "text/html" in data:
        return f'<div class="output">{_cleaned("".join(data["text/html"]))}</div>'
    return _plain(data.get("text/plain", ""))


def _plain(text: str | Sequence[str]) -> str:
    """Text of a terminal as an element, without its colours."""
    uncoloured = _COLOUR.sub("", "".join(text))
    return f'<div class="output"><pre>{html.escape(uncoloured)}</pre></div>'


def _cleaned(markup: str) -> str:
    """HTML without all that runs or fetches."""
    return str(_cleaner().clean(_DROPPED.sub("", markup)))


@functools.cache
def _cleaner() -> Any:
    """What takes from HTML all that runs or fetches."""
    import bleach
    from bleach.css_sanitizer import CSSSanitizer

    return bleach.Cleaner(
        tags=_TAGS.split(),
        attributes=_allowed,
        protocols=["http", "https", "mailto"],
        strip=True,
        css_sanitizer=CSSSanitizer(allowed_css_properties=_STYLES.split()),
    )


def _allowed(tag: str, name: str, value: str) -> bool:
    """Links may lead elsewhere; nothing is loaded."""
    if tag == "a" and name == "href":
        is_relative = ":" not in value.partition("/")[0]
        return is_relative or value.startswith(("http://", "https://", "mailto:", "#"))
    return name in _ATTRIBUTES["*"] or name in _ATTRIBUTES.get(tag, ())


FOLDER = "pictures"
_COLOURS = 128  # enough for charts, and a third of the size
_PNG = b"\x89PNG\r\n\x1a\n"


class Pictures:
    """Pictures written to `pictures/` below the folder of a site.

    up: the way from a page to that folder.
    """

    def __init__(self, folder: Path, up: str = "../") -> None:
        self._folder = folder / FOLDER
        self._up = up

    def link(self, png: bytes) -> str:
        """Where a page finds this PNG, whose name is its hash; a new one is written."""
        name = f"{hashlib.sha256(png).hexdigest()[:16]}.png"
        path = self._folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with files.replacing(path) as partial:
                partial.write_bytes(smaller(png))
        return f"{self._up}{FOLDER}/{name}"


def smaller(png: bytes) -> bytes:
    """The picture in few colours, on white, where that is smaller; as it is where it
    cannot be read.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(png)) as picture:
            flat = Image.new("RGB", picture.size, "white")
            rgba = picture.convert("RGBA")
            flat.paste(rgba, mask=rgba)
    except (OSError, ValueError):
        return png
    reduced = io.BytesIO()
    quantized = flat.quantize(_COLOURS, method=Image.Quantize.FASTOCTREE)
    quantized.save(reduced, "PNG")
    return min(png, reduced.getvalue(), key=len)


def picture(
    png: str | bytes | Sequence[str],
    alt: str,
    width: Any = None,
    pictures: Pictures | None = None,
) -> str:
    """A PNG as an element; words in its place where it is none.

    png: its bytes, or base64 of them in one text or in lines.
    """
    if not isinstance(png, bytes):
        try:
            png = base64.b64decode("".join("".join(png).split()), validate=True)
        except ValueError:
            png = b""
    if not png.startswith(_PNG):
        return f"<p>a picture that cannot be read: {html.escape(alt)}</p>"
    size = f' width="{width}"' if isinstance(width, int) else ""
    if pictures:
        source = pictures.link(png)
    else:
        source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    return f'<img alt="{html.escape(alt)}"{size} src="{source}">'
