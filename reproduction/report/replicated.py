"""Does what a page's tables claim hold with another judge? Counted from the output that
asks claims of other judges (`meta_replication`).
"""

from __future__ import annotations

import pandas as pd

from nlgeval_lib import files
from reproduction import papers
from reproduction.study import replication
from reproduction.study.catalogue import Entry

OUTPUT = "meta_replication"
COMPARISONS = f"results/meta/{OUTPUT}__comparisons.csv"
CLAIMS = "data/paper_claims.csv"
ASKED = "data/replications.csv"


def claims_of(entry: Entry) -> tuple[list[str], list[str]]:
    """The claims that rest on an output, by their ids: (all, those that are asked of
    other judges).

    A claim rests on the output that covers its table, or whose judges are compared
    for it.
    """
    claims = _texts(CLAIMS)
    of_paper = claims["paper"] == entry.paper
    all_claims = set(claims.loc[of_paper & claims["table"].isin(entry.covers), "id"])
    asked = _texts(ASKED)
    design = asked["design"].str.split("|").str[0]
    all_claims |= set(asked.loc[design == entry.id, "claim"])
    ids = [name for name in claims["id"] if name in all_claims]
    return ids, [name for name in ids if name in set(asked["claim"])]


def sentence(entry: Entry) -> str:
    """How many comparisons behind an output's claims go the paper's way with each judge
    that was asked; empty where no claim rests on it, or nothing is saved.
    """
    path = files.located(COMPARISONS)
    if entry.paper not in papers.PAPERS or not path.is_file():
        return ""
    ids, asked = claims_of(entry)
    if not ids:
        return ""
    if not asked:
        return "No model was asked here what its claims need."
    frame = pd.read_csv(path)
    frame = frame[frame["claim"].isin(asked)]
    parts = [f"Asked again: {', '.join(asked)}."]
    for judge, part in frame.groupby("judge", sort=False):
        parts.append(f"{judge}, {_counted(part['verdict'])}.")
    return " ".join(parts)


def _counted(verdicts: pd.Series) -> str:
    """`3 comparisons: 1 same direction, told apart; 2 these data cannot tell`."""
    counts = verdicts.value_counts()
    words = [
        f"{counts[name]} {name}" for name in replication.VERDICTS if name in counts
    ]
    noun = "comparison" if len(verdicts) == 1 else "comparisons"
    return f"{len(verdicts)} {noun}: {'; '.join(words)}"


def _texts(name: str) -> pd.DataFrame:
    """A table of this repository, all of it as text."""
    return pd.read_csv(files.located(name), dtype=str, keep_default_na=False)
