"""The papers' claims for readers: what is claimed and where, whether the printed table
supports it, by what evidence, and whether chance could make it.
"""

from __future__ import annotations

import re

import pandas as pd

from nlgeval_lib import papers
from nlgeval_lib.papers import claims, inference
from nlgeval_lib.report import tables

CONTRADICTED = "Claims that the printed tables do not support"
SUPPORT = {
    claims.HOLDS: "yes",
    claims.IN_PART: "in part",
    claims.FAILS: "no",
    claims.UNTOLD: "untested",
}
# The columns that count claims by verdict.
COUNTS = {
    claims.HOLDS: "supported",
    claims.IN_PART: "in part",
    claims.FAILS: "not supported",
    claims.UNTOLD: "untested",
}
_P = re.compile(r"p (?:= (?:0?\.\d+|1\.000)|< \.001)")


def by_paper(counted: pd.DataFrame) -> pd.DataFrame:
    """How many claims of each paper its printed tables support.

    counted: as the output of the claims saves it, a row a paper and one for all.
    """
    frame = counted.rename(columns=COUNTS)
    if len(frame):
        frame["paper"] = frame["paper"].map(_name)
    return frame


def _name(paper: str) -> str:
    return papers.own_method(paper)[0] if paper in papers.PAPERS else paper


def rows(judged: pd.DataFrame) -> pd.DataFrame:
    """The four columns that a reader meets.

    judged: claims as the output of the claims saves them.
    """
    lines = []
    for claim in judged.fillna("").to_dict("records"):
        lines.append(
            {
                "claim": f"{claim['claim']} ({claim['place']})",
                "does the printed table support it?": SUPPORT[claim["verdict"]],
                "evidence": claim["sentence"],
                "could chance make it?": by_chance(claim["inference"]),
            }
        )
    return pd.DataFrame(lines)


def by_chance(answer: str) -> str:
    """Whether chance could make a stated difference: yes, no, not known; a dash where
    no difference is stated.

    answer: what `papers.inference` says, which asks whether a test tells it.
    """
    if not answer:
        return "–"
    p = _P.search(answer)
    words = f" ({p[0].replace('= 0.', '= .')})" if p else ""
    if answer.startswith("no"):
        return f"yes{words}"
    if answer.startswith("yes") and not answer.startswith(inference.IF_INDEPENDENT):
        return f"no{words}"
    return "not known"


def shown(counted: pd.DataFrame, judged: pd.DataFrame) -> list[tables.Table]:
    """The tables of the page: counts, the claims that are contradicted, then those of
    each paper.
    """
    contradicted = judged[judged["verdict"] == claims.FAILS]
    parts = [
        tables.show(by_paper(counted), "Claims by paper"),
        tables.show(rows(contradicted), CONTRADICTED),
    ]
    for paper, part in judged.groupby("paper", sort=False):
        name = papers.own_method(str(paper))[0]
        caption = f"{name}: all {len(part)} claims"
        parts.append(tables.show(rows(part), caption))
    return parts
