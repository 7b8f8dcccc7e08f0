"""Judgments to look at one by one, with filters: a page from disk, or in JupyterLab the last line of a cell.

    explorer.of_recording("acloserlook", prompt_forms=("rate_explain",))
    explorer.of_question("ablation_aspect_count", "n=5", engine="transformers", model="mini")
    explorer.of(MyJudge(), frame, engine=engine)

Data are no part of the page's markup: a compressed block that one script of ours reads and shows as text.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from nlgeval_lib.report import judgments, web
from nlgeval_lib.report.judgments import KEYS

PART = 6400  # judgments a page at most
_HEIGHT = 760


@dataclass(frozen=True)
class Explorer:
    """Judgments (`judgments.COLUMNS`) under a title; `pages` are whole HTML documents of at most `PART` of them."""

    title: str
    frame: pd.DataFrame
    note: str = ""

    def pages(self, names: Sequence[str] = (), home: str = "") -> list[str]:
        """The documents, linked to each other by `names` (as many as `parts`) and to `home` where they are given."""
        starts = range(0, len(self.frame), PART)
        made = []
        for number, start in enumerate(starts):
            part = self.frame.iloc[start : start + PART]
            values: dict[str, Any] = {"title": self.title, "note": self.note, "number": number, "names": names}
            values |= {"first": start + 1, "last": start + len(part), "total": len(self.frame), "data": packed(part)}
            made.append(web.page(self.title, web.render("explorer.html", **values), ("explorer.js",), home=home))
        return made

    @property
    def parts(self) -> int:
        """How many pages there are."""
        return -(-len(self.frame) // PART)

    def _repr_html_(self) -> str:
        """The first page in a frame of its own, in which nothing but its script runs."""
        page = html.escape(self.pages()[0], quote=True)
        look = f'title="{html.escape(self.title)}" style="width:100%;height:{_HEIGHT}px;border:1px solid #d0d0d0"'
        return f'<iframe sandbox="allow-scripts" {look} srcdoc="{page}"></iframe>'

    def __repr__(self) -> str:
        return f"{self.title}: {len(self.frame):,} judgments"


def of(judge: Any, frame: pd.DataFrame, **ways: Any) -> Explorer:
    """The judgments of any evaluator that asks a language model; see `judgments.of`."""
    return Explorer(judge.name, judgments.of(judge, frame, **ways))


def of_question(output: str, name: str, **asked: Any) -> Explorer:
    """The judge that a catalogue's output reads as `name`; see `judgments.of_question`."""
    return Explorer(*judgments.of_question(output, name, **asked))


def of_recording(name: str, judge: str = "", **options: Any) -> Explorer:
    """The first judge and prompt form of a recording, or of the named `judge`; see `judgments.of_recording`.

    Raises: ValueError where there is no such judge.
    """
    for who, frame in judgments.of_recording(name, **options):
        if who.startswith(judge):
            return Explorer(f"{name}: {who}", frame)
    raise ValueError(f"{name} has no judge {judge!r}")


def packed(frame: pd.DataFrame) -> str:
    """Judgments as text of letters, digits, + and /: gzipped JSON, each long text in it once.

    {"texts": [...], "rows": [[input_id, system_id, aspect, human, value, status, reason, gap, input, reference, output,
    [[about, prompt, answer, marks, trace], ...]], ...]}; input to output, prompt, answer and trace are places in texts.
    """
    texts: dict[str, int] = {}

    def at(text: str) -> int:
        return texts.setdefault(text, len(texts))

    plain = frame.astype(object).where(frame.notna(), None)
    rows = []
    for one in plain.itertuples(index=False):
        turns = [[t.about, at(t.prompt), at(t.text), t.marks, at("\n".join(t.trace))] for t in one.turns]
        keys = [str(getattr(one, name)) for name in KEYS]
        shown = [one.human, one.value, one.status, one.reason, one.gap]
        rows.append([*keys, *shown, at(one.input), at(one.reference), at(one.output), turns])
    told = json.dumps({"texts": list(texts), "rows": rows}, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(told.encode(), mtime=0)).decode()
