"""A page that searches all pages of the report: the words of each stand in it, and no
server or network is asked.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Iterable
from typing import NamedTuple

from judgecard import web
from reproduction.report import SITE

NAME = "search.html"
_NO_TEXT = re.compile(r"<(style|script)\b.*?</\1>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


class Found(NamedTuple):
    """A page to be found.

    place: where it is, below the site.
    title: as readers meet it.
    words: its text, as `words_of` gives it.
    """

    place: str
    title: str
    words: str


def words_of(content: str) -> str:
    """The text of a page's HTML, without marks and in single blanks.

    Example:
    >>> words_of("<p>a &lt; b</p><script>x()</script>")
    'a < b'
    """
    text = _TAG.sub(" ", _NO_TEXT.sub(" ", content))
    return " ".join(html.unescape(text).split())


def page(found: Iterable[Found]) -> str:
    """The whole document of the search page, with the words of all others in it.

    found: the other pages.
    """
    block = json.dumps([list(entry) for entry in found], ensure_ascii=False)
    compressed = gzip.compress(block.encode(), mtime=0)
    packed = base64.b64encode(compressed).decode()
    content = web.render("search.html", site=SITE, data=packed)
    return web.page(
        "Search",
        content,
        (SITE / "search.js",),
        home="index.html",
    )
