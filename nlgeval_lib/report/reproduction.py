"""The reproduction report: scope, results by paper and kind, what was easy and what
was hard, in the headings of the ML Reproducibility Challenge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import pandas as pd

from nlgeval_lib import files, papers
from nlgeval_lib.papers import agreement
from nlgeval_lib.papers.counting import PLURALS, ROUTES

_SCOPE = """\
Five papers say how an evaluator of generated text follows human ratings. Every table and
figure that they print was looked at. Tested is a number that was recomputed here: from
public data, or by running the judge. Whether a number follows from others that the paper
prints is counted apart, and so is what another judge or prompt gives."""
_METHODS = """\
Public data sets with human ratings, and published outputs of judges (`data/registry.csv`:
address, sha256 and licence of each file). Where a paper is silent, `data/assumed.csv`
says what was taken, what else was tried, and how many cells each choice wins. The code
is written anew from the papers, with their prompts; the statistics are held against
scipy, sacrebleu, nlpstats and other papers' printed numbers in the tests."""
_COMPUTE = """\
Everything here was made on two processor cores without a GPU, in less than half an hour
for all results, texts and embeddings included. What the papers' own judges would take is
told by `nlgeval completions --dry-run`."""
_EASY = """\
Lexical metrics on SummEval, Topical-Chat, WMT22 and WebNLG, once the references and the
level of each correlation were found; the arithmetic of the printed tables; the prompts,
of which nearly all could be compared character by character."""
_HARD = """\
The papers seldom say at which level they correlate, which references a metric takes, how
ties, unread answers and rounding are treated; such choices were found by trying, and are
listed. The judges' own scores were seldom published, so that no coefficient of the
methods themselves can be recomputed without a GPU or an API."""
_UNTRIED = """\
Training the papers' models at full size. Judges that are served by an API, for want of a
key. Models of 7 billion parameters and more, for want of a GPU. Each cell that stays
empty has its reason on its page, with the command that would fill it."""
_AUTHORS = (
    "None. What is said of a paper rests on its text and on what its authors published."
)
_CV = """\
CV\\* is the coefficient of variation of the printed number and ours, in per cent,
corrected for a sample of two (Belz 2022); a coefficient near 0 makes it large. The
share below 5 and Pearson's r of printed and recomputed stand beside it. No paper's own
method is among these numbers unless its row says so."""


def markdown(
    cells: pd.DataFrame, claims: pd.DataFrame, titles: Mapping[str, str]
) -> str:
    """The report.

    cells: of all outputs, as `scoreboard.cells` gives them. claims: a row a paper with
    its verdicts counted; may be empty. titles: each paper's name.
    """
    parts = [
        "# Reproduction report",
        "## Scope",
        _SCOPE,
        "## Methods and data",
        _METHODS,
        "## Results",
        *_own_methods(cells, titles),
        _CV,
        table(cells, titles),
    ]
    if len(claims):
        parts += ["## Claims upheld", _md(claims)]
    sections = {
        "Compute": _COMPUTE,
        "What was easy": _EASY,
        "What was hard": _HARD,
        "What was not tried": _UNTRIED,
        "Contact with the authors": _AUTHORS,
    }
    for title, text in sections.items():
        parts += [f"## {title}", text]
    return "\n\n".join(parts) + "\n"


def recomputed(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells with a printed number and one that was recomputed: one a printed
    number, runs before public data.
    """
    tested = cells[cells["route"].isin(ROUTES["recomputed"])]
    numbers = tested.assign(
        printed=pd.to_numeric(tested["printed"], errors="coerce"),
        ours=pd.to_numeric(tested["ours"], errors="coerce"),
    )
    compared = numbers["verdict"].isin(papers.comparison.COMPARED)
    numbers = numbers[compared].dropna(subset=["printed", "ours"])
    key = ["paper", "table", *papers.KEY]
    return numbers.sort_values("route", ascending=False).drop_duplicates(key)


def table(cells: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """A row a paper and kind: how many numbers, how near, and their correlation."""
    numbers = recomputed(cells)
    rows = []
    for paper in papers.PAPERS:
        of_paper = numbers[numbers["paper"] == paper]
        for kind in papers.ROW_KINDS:
            part = of_paper[of_paper["kind"] == kind]
            if len(part):
                rows.append(_row(titles[paper], PLURALS[kind], part))
        if of_paper["kind"].nunique() > 1:
            # counts and coefficients together have no correlation worth the name
            rows.append(_row(titles[paper], "all of these", of_paper) | {"r": ""})
    return _md(pd.DataFrame(rows))


def _row(paper: str, kind: str, part: pd.DataFrame) -> dict[str, str]:
    near = agreement.nearness(part)
    return {
        "paper": paper,
        "numbers of": kind,
        "recomputed": str(len(part)),
        "equal": str(int((part["verdict"] == papers.comparison.EQUAL).sum())),
        "median CV\\*": _number(near.median, 2),
        "below 5": "" if math.isnan(near.near) else f"{near.near:.0%}",
        "r": _number(near.r, 3),
    }


def _own_methods(cells: pd.DataFrame, titles: Mapping[str, str]) -> Iterator[str]:
    """A sentence a paper: was its own method tested?"""
    numbers = recomputed(cells)
    lines = []
    printed = papers.printed_cells()
    for paper in papers.PAPERS:
        own = printed[(printed["paper"] == paper) & (printed["kind"] == papers.OWN)]
        if own.empty:
            continue
        name, needs = papers.own_method(paper)
        of_paper = numbers["paper"] == paper
        tested = numbers[of_paper & (numbers["kind"] == papers.OWN)]
        count = f"{len(tested)} of the {len(own)} printed numbers of {name} itself"
        line = f"- {titles[paper]}: {count} recomputed."
        if tested.empty:
            line += f" A test needs {needs}."
        lines.append(line)
    yield "\n".join(lines)


def _number(value: float, digits: int) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def _md(frame: pd.DataFrame) -> str:
    rows = frame.astype(str).itertuples(index=False, name=None)
    return files.markdown_table(frame.columns, rows)
