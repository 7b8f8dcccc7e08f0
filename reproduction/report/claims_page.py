"""The papers' claims for readers: what is claimed and where, whether the printed table
supports it, by what evidence, and whether chance could make it.

`counted` and `judged` are two tables that the output of the claims saves: a row a paper
with its verdicts counted, and a row a claim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

from nlgeval_lib import files, tables
from reproduction import papers
from reproduction.papers import claims

# The caption of the table that stands open.
CONTRADICTED = "Claims that the printed tables do not support"
QUESTION = "does the printed table support it?"
# How a reader meets each verdict.
SUPPORT = {
    claims.HOLDS: "yes",
    claims.REPEATED: "repeated: printed twice, no support",
    claims.IN_PART: "in part",
    claims.FAILS: "no",
    claims.UNTOLD: "untested",
}
# The columns that count claims by verdict.
COUNTS = {
    claims.HOLDS: "supported",
    claims.REPEATED: "repeated",
    claims.IN_PART: "in part",
    claims.FAILS: "not supported",
    claims.UNTOLD: "untested",
}
_TABLE = re.compile(r"\b(table|figure)_0*(\d+)\b")
# What another judge says of claims, by their ids; any output may save it.
ANOTHER_JUDGE = "results/meta/meta_replication__claims.csv"


def by_paper(counted: pd.DataFrame) -> pd.DataFrame:
    """How many claims of each paper its printed tables support."""
    frame = counted.rename(columns=COUNTS)
    if len(frame):
        frame["paper"] = frame["paper"].map(_name)
    return frame


def _name(paper: str) -> str:
    """A paper by its method's name; the row of all papers keeps its own."""
    if paper in papers.PAPERS:
        return papers.own_method(paper)[0]
    return paper


def rows(judged: pd.DataFrame) -> pd.DataFrame:
    """The columns that a reader meets, a row a claim."""
    # What another judge says, by the id of the claim.
    of_another_judge = {}
    path = files.located(ANOTHER_JUDGE)
    if path.is_file():
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        of_another_judge = dict(zip(frame["id"], frame["answer"], strict=True))
    lines = []
    for claim in judged.fillna("").to_dict("records"):
        line = {
            "claim": f"{claim['claim']} ({claim['place']})",
            QUESTION: SUPPORT[claim["verdict"]],
            # `Table 7` for the name of its file, `table_07`
            "evidence": _TABLE.sub(
                lambda name: f"{name[1].title()} {name[2]}", claim["sentence"]
            ),
            "could chance make it?": claim["chance"] or "–",
        }
        if of_another_judge:
            line["with another judge"] = of_another_judge.get(claim["id"], "–")
        lines.append(line)
    return pd.DataFrame(lines)


def grouped(parts: Sequence[tables.Table]) -> list[str]:
    """The claims in Markdown: a contents list that leads to a heading for each table;
    those that the printed tables do not support stand open, the others are folded.
    """
    contents = []
    groups = []
    for table in parts:
        contents.append(f"- [{table.caption}](#{anchor(table.caption)})")
        body = table.markdown.removeprefix(f"**{table.caption}**").strip()
        if table.caption != CONTRADICTED:
            body = f"<details><summary>Show them</summary>\n\n{body}\n\n</details>"
        groups += [f"## {table.caption}", body]
    return ["**Contents**\n\n" + "\n".join(contents), *groups]


def anchor(heading: str) -> str:
    """How a code host calls the place of a heading.

    Example:
    >>> anchor("HD-Eval: all 12 claims")
    'hd-eval-all-12-claims'
    """
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


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
        caption = f"{_name(str(paper))}: all {len(part)} claims"
        parts.append(tables.show(rows(part), caption))
    return parts
