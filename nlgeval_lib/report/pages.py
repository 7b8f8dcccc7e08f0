"""The results as a static site: the scoreboard first, then a page for every output, as it was run here or saved before.

The pages need no server, no script and no network; a policy in each lets nothing be fetched.
"""

from __future__ import annotations

import base64
import functools
import html
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from nlgeval_lib import files, papers
from nlgeval_lib.report import answers, saving, scoreboard, tables
from nlgeval_lib.study import catalogue
from nlgeval_lib.study.catalogue import PAPERS, Entry

_TAGS = {
    "a", "abbr", "b", "blockquote", "br", "caption", "code", "col", "colgroup", "dd", "del", "details", "div", "dl",
    "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "ins", "kbd", "li", "ol", "p", "pre", "s", "samp",
    "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "u", "ul",
}  # fmt: skip
_ATTRIBUTES = {
    "*": ["class", "title", "style"],
    "a": ["href"],
    "td": ["colspan", "rowspan"],
    "th": ["colspan", "rowspan", "scope"],
}
_STYLES = ("color", "background-color", "font-weight", "font-style", "text-align", "width", "height", "vertical-align")
_DROPPED = re.compile(r"<(style|script|head|template|iframe|object)\b.*?(</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_MARK = re.compile(r"xpicture(\d+)x")  # what stands for a picture until the page is clean: they are long, and made here


_SITE = Path(__file__).parent / "site"


@dataclass(frozen=True)
class Built:
    """What a build came to: the index, the pages by output, and the outputs that show a saved result, not a run."""

    index: Path
    pages: dict[str, Path]
    unrun: tuple[str, ...]


def build(folder: Path | None = None, mode: str = "full") -> Built:
    """Write the site into `folder` (`results/report/`, of quick results `results/quick/report/`) and return it.

    Pages of earlier builds are removed. Raises: ValueError for an unknown mode, or for a folder that holds something
    else; CatalogueError; OSError where it cannot be written.
    """
    board = scoreboard.build(mode)
    folder = folder or files.results() / ("quick" if mode == "quick" else "") / "report"
    _own(folder)
    entries = [*catalogue.load().outputs]
    if catalogue.scoreboard_entry().path.exists():
        entries.append(catalogue.scoreboard_entry())
    pages = {entry.id: folder / entry.paper / f"{entry.id}.html" for entry in entries}
    named = {entry.id: entry.title or entry.id for entry in entries} | {catalogue.SCOREBOARD: "Scoreboard"}
    unrun, said = [], {}
    for entry in entries:
        record = saving.read_json(f"{answers.base(entry, mode)}.json") or {}
        executed = _executed(entry, mode)
        if executed is None:
            unrun.append(entry.id)
        answer = answers.Answer(entry, record)
        content = _render(
            "output.html",
            entry=entry,
            mode=mode,
            record=record,
            executed=executed is not None,
            answer=answer,
            prose=_prose,
            table="".join(one.html.replace(tables.STYLE, "") for one in answer.shown[:1]),
            pictures=[_picture(files.located(name).read_bytes(), Path(name).stem) for name in answer.figures],
            notebook=notebook_body(executed or json.loads(entry.path.read_text(encoding="utf-8"))),
            about=_about(entry, record),
        )
        _write(pages[entry.id], named[entry.id], content, f"{scoreboard.TITLES[entry.paper]}: {entry.id}")
        facts = [record.get("route", entry.route), _counted(record), "not run here" if executed is None else ""]
        said[entry.id] = "; ".join(filter(None, facts))
    content = _render(
        "index.html",
        headline=scoreboard.headline(board),
        reading=scoreboard.READING,
        mode=mode,
        unrun=unrun,
        entries=entries,
        totals=tables.show(scoreboard.totals(board)).html.replace(tables.STYLE, ""),
        boards={paper: list(_board(board[board["paper"] == paper], pages)) for paper in PAPERS},
        heads=list(_brief(board).columns[1:]),
        claims=tables.show(scoreboard.claims()).html.replace(tables.STYLE, "") if len(scoreboard.claims()) else "",
        titles=scoreboard.TITLES,
        named=named,
        said=said,
    )
    _write(folder / "index.html", "Results", content)
    return Built(folder / "index.html", pages, tuple(unrun))


def _prose(text: str) -> str:
    """Markdown as HTML in which nothing runs."""
    import nbformat.v4 as made

    return notebook_body(made.new_notebook(cells=[made.new_markdown_cell(text)]))


def notebook_body(document: dict[str, Any]) -> str:
    """The cells of a notebook as HTML in which nothing runs and nothing is fetched: prose, code, text, tables, PNGs."""
    import nbformat

    exporter, cleaner = _converters()
    parsed = nbformat.reads(json.dumps(document), as_version=4)
    pictures: list[str] = []
    for output in (output for cell in parsed.cells if cell.cell_type == "code" for output in cell.outputs):
        data = output.get("data", {})
        if "image/png" in data:
            told = output.metadata.get("image/png", {})
            alt = told.get("alt") or data.get("text/plain", "")
            pictures.append(_picture(data["image/png"], alt, told.get("width")))
            data["text/html"] = f"xpicture{len(pictures) - 1}x"
        for mime in [mime for mime in data if mime not in ("text/html", "text/plain")]:
            del data[mime]
    page, _ = exporter.from_notebook_node(parsed)
    page = cleaner.clean(_DROPPED.sub("", page))
    return _MARK.sub(lambda found: pictures[int(found[1])] if int(found[1]) < len(pictures) else found[0], page)


@functools.cache
def _converters() -> tuple[Any, Any]:
    """What makes HTML of a notebook, and what cleans it: made once, as each page is made of several notebooks."""
    import bleach
    from bleach.css_sanitizer import CSSSanitizer
    from nbconvert import HTMLExporter

    cleaner = bleach.Cleaner(
        tags=_TAGS,
        attributes=_allowed,
        protocols=["http", "https", "mailto"],
        strip=True,
        css_sanitizer=CSSSanitizer(allowed_css_properties=list(_STYLES)),
    )
    return HTMLExporter(template_name="basic", exclude_anchor_links=True), cleaner


def _allowed(tag: str, name: str, value: str) -> bool:
    """Links may lead elsewhere; nothing is loaded."""
    if tag == "a" and name == "href":
        return value.startswith(("http://", "https://", "mailto:", "#")) or ":" not in value.partition("/")[0]
    return name in _ATTRIBUTES["*"] or name in _ATTRIBUTES.get(tag, ())


def _picture(png: str | bytes, alt: str, width: Any = None) -> str:
    data = base64.b64encode(png).decode() if isinstance(png, bytes) else "".join(png.split())
    wide = f' width="{width}"' if isinstance(width, int) else ""
    return f'<img alt="{html.escape(alt)}"{wide} src="data:image/png;base64,{data}">'


def _render(template: str, **values: Any) -> str:
    """A template of `site/` with these values; what is not marked safe is escaped, and no value is a template."""
    loader = jinja2.FileSystemLoader(_SITE)
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.get_template(template).render(values)


def _write(path: Path, title: str, content: str, trail: str = "") -> None:
    files.write_text(path, _render("frame.html", title=title, content=content, trail=trail, style=_stylesheet()))


@functools.cache
def _stylesheet() -> str:
    from pygments.formatters import HtmlFormatter

    own = tables.STYLE.removeprefix("<style>").removesuffix("</style>")
    return (
        (_SITE / "page.css").read_text(encoding="utf-8")
        + own
        + HtmlFormatter(style="tango").get_style_defs(".highlight")
    )


def _own(folder: Path) -> None:
    """Empty a folder of an earlier build; a folder of anything else is left alone. Raises: ValueError."""
    if folder.is_dir() and any(folder.iterdir()):
        foreign = any((folder / name).exists() for name in (".git", "pyproject.toml"))
        if foreign or not (folder / "index.html").is_file():
            raise ValueError(f"{folder} holds something else; give an empty folder")
        for name in (*scoreboard.TITLES, "index.html"):
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _executed(entry: Entry, mode: str) -> dict[str, Any] | None:
    """The executed copy that the last run left; None where there is none."""
    base = files.results() / "executed" / ("quick" if mode == "quick" else "")
    try:
        return json.loads((base / entry.paper / f"{entry.id}.ipynb").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _about(entry: Entry, record: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [("notebook", f"notebooks/{entry.notebook}"), ("route", record.get("route", entry.route))]
    if record:
        commit = str(record.get("git", {}).get("commit") or "")[:12]
        said = [record["date"][:10], f"mode {record['mode']}", f"commit {commit}" if commit else ""]
        rows.append(("saved", ", ".join(filter(None, said))))
        if counted := _counted(record):
            rows.append(("printed numbers", f"{record['coverage']['printed']}; {counted}"))
        rows += [("model", f"{record['model']} {record.get('revision', '')}")] if record.get("model") else []
        rows += [("signature", text) for text in record.get("signatures", ())[:8]]
    return rows


def _counted(record: dict[str, Any]) -> str:
    counts = record.get("coverage", {})
    return papers.in_words(counts) if counts.get("printed") else ""


def _brief(rows: pd.DataFrame) -> pd.DataFrame:
    return scoreboard.brief(rows).drop(columns=["largest difference", "run", "reason", "by construction"])


def _board(rows: pd.DataFrame, pages: dict[str, Path]) -> Iterator[dict[str, Any]]:
    """A paper's rows of the scoreboard: the name of each, its page where it has one, and its texts by column."""
    for row, texts in zip(rows.to_dict("records"), _brief(rows).to_dict("records"), strict=True):
        outputs = [name for name in str(row["output"]).replace(",", " ").split() if name in pages]
        page = f"{row['paper']}/{outputs[0]}.html" if outputs else ""
        numbers = row["status"] in scoreboard.COMPARED
        name = row["id"].replace("_", " ").capitalize()
        yield {"name": name, "page": page, "texts": texts, "reason": row["reason"], "numbers": numbers}
