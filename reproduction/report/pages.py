"""The results as a static site: each committed page as HTML, an output's notebook folded
below its answer, and a page that searches all of them. It needs no server and no
network; only scripts of ours run in it (`judgecard.web`).
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import posixpath
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from judgecard import web
from judgecard.web import FOLDER, Pictures
from nlgeval_lib import files
from reproduction.report import (
    SITE,
    answers,
    claims_page,
    committed,
    judges_page,
    saving,
    scoreboard,
    seal,
)
from reproduction.study import catalogue
from reproduction.study.catalogue import Entry

SEARCH = "search.html"
# What stands first on the first page.
FIRST = (
    "[Does a claim hold with another judge?](meta/meta_replication.md) · "
    f"[the recorded judges](judges.md) · [search all pages]({SEARCH})"
)
_PICTURE = re.compile(r"^!\[(.*)\]\((.*)\)$", re.MULTILINE)
_LINK = re.compile(r'<a href="([^"#]*)([^"]*)">')
_HEADING = re.compile(r"<h2>(.*?)</h2>")
_NO_TEXT = re.compile(r"<(style|script)\b.*?</\1>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_WIDE = '<div class="wide" tabindex="0" role="region" aria-label="Table">'


@dataclass(frozen=True)
class Built:
    """The first page of a build, how many outputs have pages, and how many of these
    show what their notebooks gave.
    """

    index: Path
    pages: int
    executed: int


class _Page(NamedTuple):
    """A page of the site.

    place: below the site, without an ending. name: of the committed page that it shows.
    text: Markdown. below: HTML that follows it.
    """

    place: str
    name: str
    title: str
    text: str
    below: str = ""


def build(folder: Path | None = None, mode: str = "full") -> Built:
    """Write the site into a folder and return what was written.

    folder: by default `results/report/`, of quick results `results/quick/report/`.
    Pages of earlier builds go.
    Raises: ValueError for a folder that holds something else.
    """
    board = scoreboard.build(mode)
    if not folder:
        top = "quick/report" if mode == "quick" else "report"
        folder = files.results() / top
    _empty(folder)
    pictures = Pictures(folder)
    entries = catalogue.load().outputs
    documents = {entry.id: _executed(entry, mode) for entry in entries}
    pages = []
    for entry in entries:
        pages.append(_of_output(entry, mode, documents[entry.id], pictures))
    judges = judges_page.table()
    if mode == "full" and len(judges):
        text = judges_page.markdown(judges)
        name = judges_page.NAME.format("md")
        pages.append(_Page("judges", name, "The recorded judges", text))
    text = scoreboard.markdown(board, scoreboard.kinds(mode)) + _listed(pages)
    text = text.replace("\n\n", f"\n\n{FIRST}\n\n", 1)
    index = _Page("index", "results/scoreboard.md", "Results", text)
    places = {page.name: page.place for page in [index, *pages]}
    found = []
    for page in [index, *pages]:
        content = _body(page, places, pictures) + page.below
        home = posixpath.relpath("index.html", posixpath.dirname(page.place) or ".")
        if page is index:
            whole = web.page(page.title, content)
        else:
            whole = web.page(page.title, content, home=home, trail=page.title)
            found.append((f"{page.place}.html", page.title, words_of(whole)))
        files.write_text(folder / f"{page.place}.html", whole)
    files.write_text(folder / SEARCH, _search(found))
    executed = len([document for document in documents.values() if document])
    return Built(folder / "index.html", len(entries), executed)


def _empty(folder: Path) -> None:
    """Remove an earlier build. Raises: ValueError for a folder of anything else."""
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    is_checkout = (folder / ".git").exists() or (folder / "pyproject.toml").exists()
    if is_checkout or not (folder / "index.html").is_file():
        raise ValueError(f"{folder} holds something else; give an empty folder")
    for name in (*scoreboard.TITLES, FOLDER):
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in ("index.html", "judges.html", SEARCH):
        (folder / name).unlink(missing_ok=True)


def _executed(entry: Entry, mode: str) -> dict[str, Any] | None:
    """The notebook with its outputs: the copy that the last run left, or the notebook
    itself where it shows this output; None where there is neither.
    """
    top = "quick" if mode == "quick" else ""
    copy = files.results() / "executed" / top / entry.paper / f"{entry.id}.ipynb"
    try:
        return json.loads(copy.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        pass
    if mode == "full" and seal.shown_in(entry) and entry.path.is_file():
        text = entry.path.read_text(encoding="utf-8")
        if committed.outputs(text):
            return json.loads(text)
    return None


def _of_output(
    entry: Entry, mode: str, executed: dict[str, Any] | None, pictures: Pictures
) -> _Page:
    """The page of an output, with its notebook."""
    base = answers.base(entry, mode)
    record = saving.read_json(f"{base}.json")
    answer = answers.Answer(entry, record or {})
    text = answers.markdown(answer) if record else ""
    if not executed:
        text += "\nIts notebook has no outputs here, and its source is shown. To run "
        text += f"it: `nlgeval run {entry.id}`\n"
    document = executed or json.loads(entry.path.read_text(encoding="utf-8"))
    notebook = web.notebook_body(document, bool(record), pictures)
    if record:
        summary = "<summary>The whole notebook, with code and further tables</summary>"
        notebook = f"<details>{summary}{notebook}</details>"
    place = f"{entry.paper}/{entry.id}"
    return _Page(place, f"{base}.md", answer.title, text, notebook)


def _listed(pages: Sequence[_Page]) -> str:
    """What the first page has below the scoreboard: the way to all pages, Markdown."""
    lines = ["\n## All pages"]
    for page in pages:
        link = posixpath.relpath(page.name, "results")
        title = page.title.replace("<", "&lt;")
        lines.append(f"- [{title}]({link})")
    return "\n\n".join(lines) + "\n"


def _body(page: _Page, places: Mapping[str, str], pictures: Pictures) -> str:
    """A page's Markdown as HTML in which nothing runs, with its pictures."""
    folder = posixpath.dirname(page.name)
    # Each picture is a paragraph: text, then alt, path and text again and again.
    pieces = _PICTURE.split(page.text)
    body = web.text_body(pieces[0])
    for alt, path, text in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        png = files.located(_joined(folder, path)).read_bytes()
        body += f"<p>{web.picture(png, alt, pictures=pictures)}</p>"
        body += web.text_body(text)

    def link(match: re.Match[str]) -> str:
        """A link to the site's page; what is not of the site is none."""
        name, mark = match.groups()
        if not name or "://" in name or name == SEARCH:
            return match[0]
        place = places.get(_joined(folder, name))
        if place is None:
            return "<a>"
        to = posixpath.relpath(f"{place}.html", posixpath.dirname(page.place) or ".")
        return f'<a href="{to}{mark}">'

    def heading(match: re.Match[str]) -> str:
        """A heading that links lead to."""
        return f'<h2 id="{claims_page.anchor(match[1])}">{match[1]}</h2>'

    body = _HEADING.sub(heading, _LINK.sub(link, body))
    body = body.replace("<table>", f'{_WIDE}<table class="sorted">')
    return body.replace("</table>", "</table></div>")


def _joined(folder: str, path: str) -> str:
    """The name from the checkout's root of what a page in this folder leads to."""
    return posixpath.normpath(posixpath.join(folder, path))


def words_of(content: str) -> str:
    """The text of a page's HTML, without marks and in single blanks.

    Example:
    >>> words_of("<p>a &lt; b</p><script>x()</script>")
    'a < b'
    """
    text = _TAG.sub(" ", _NO_TEXT.sub(" ", content))
    return " ".join(html.unescape(text).split())


def _search(found: Iterable[tuple[str, str, str]]) -> str:
    """The page that searches all others: the words of each stand in it."""
    block = json.dumps(list(found), ensure_ascii=False).encode()
    packed = base64.b64encode(gzip.compress(block, mtime=0)).decode()
    content = web.render("search.html", site=SITE, data=packed)
    return web.page("Search", content, (SITE / "search.js",), home="index.html")
