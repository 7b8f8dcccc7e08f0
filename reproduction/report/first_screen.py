"""The first screen of an output's page: was the paper's own method tested, what do
the numbers here support, and what do the printed ones say by themselves?

`cells` is always of one paper, as `papers.compare` gives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from nlgeval_lib import tables
from nlgeval_lib.names import p_in_words
from reproduction import papers
from reproduction.papers.counting import UNTOLD, WORDS
from reproduction.report import comparisons

# A method whose numbers come out in so large a share shows that the data are the same.
_NEARLY_ALL = 0.9
_FOLLOWING = (
    "what follows from other printed numbers (sums, averages, rank correlations)"
)
# The rows of the table of counts: some kinds share one.
_ROWS = {
    papers.OWN: "own method",
    "ablation": "its ablations",
    "LLM judge": "other judges",
    "learned metric": "learned metrics",
    "lexical metric": "lexical metrics",
    "human": "humans, counts",
    "count": "humans, counts",
}


def tested(cells: pd.DataFrame) -> str:
    """Whether the paper's own method was tested, with counts and what a test needs."""
    paper = cells["paper"].iat[0]
    name = papers.own_method(paper)[0]
    own_cells = cells[cells["kind"] == papers.OWN]
    if own_cells.empty:
        return _of_others(cells, name)
    counted = papers.counts(own_cells)
    printed = counted["printed"]
    if counted["recomputed"]:
        share = "Yes" if counted["recomputed"] == printed else "In part"
        result = papers.outcome(counted, "recomputed")
        return (
            f"{share}: {counted['recomputed']} of the {printed} numbers printed for "
            f"{name} were computed here, {result}."
        )
    return (
        f"No: 0 of the {printed} numbers printed for {name} were computed here. "
        f"A test needs {_needed(paper, own_cells['table'].unique())}."
    )


def _of_others(cells: pd.DataFrame, name: str) -> str:
    """That no number of a table is of the paper's own method, and whose they are."""
    kinds = set(cells["kind"])
    present = [kind for kind in papers.ROW_KINDS if kind in kinds]
    whose = " and ".join(papers.counting.PLURALS[kind] for kind in present)
    text = f"Not here: the numbers are of {whose}, none is of {name} itself."
    if present == ["human"] and not papers.counts(cells)["recomputed"]:
        text += " A test needs the single ratings, or new raters."
    return text


def not_run(paper: str, covered: Iterable[str]) -> str:
    """That a paper's own method was not run, where nothing printed is compared.

    covered: the printed tables and figures that the page is about.
    """
    name = papers.own_method(paper)[0]
    needed = _needed(paper, covered) or papers.own_method(paper)[1]
    return (
        f"No: {name} was not run here with the judge or the weights of the paper. A "
        f"test needs {needed}."
    )


def _needed(paper: str, names: Iterable[str]) -> str:
    """What would test a paper's own method in these tables, each need once; empty for
    no table.
    """
    needs = [papers.own_method(paper, name)[1] for name in names]
    return " or ".join(dict.fromkeys(needs))


def by_kind(cells: pd.DataFrame) -> tables.Table:
    """How many numbers of each kind are printed, tested, equal: at most six rows, without
    columns in which every kind has none.
    """
    rows: dict[str, dict[str, float]] = {}
    for counted in papers.by_kind(cells).to_dict("records"):
        name_of_row = _ROWS[str(counted["kind"])]
        row = rows.setdefault(name_of_row, dict.fromkeys(_SUMS, 0))
        for name in _SUMS:
            row[name] += counted[name]
    lines = []
    for name, row in rows.items():
        oriented = int(row["orientation"])
        lines.append(
            {
                "numbers of": name,
                "printed": int(row["printed"]),
                WORDS["recomputed"]: _some(row, "recomputed"),
                WORDS["consistent"]: _some(row, "consistent"),
                WORDS["orientation"]: oriented or "–",
            }
        )
    frame = pd.DataFrame(lines)
    always = ("numbers of", "printed", WORDS["recomputed"])
    empty = []
    for name in frame:
        if name not in always and set(frame[name]) == {"–"}:
            empty.append(name)
    return tables.show(frame.drop(columns=empty))


# The counts that kinds in one row add up.
_SUMS = papers.COUNTS[: papers.COUNTS.index("construction")]


def _some(row: Mapping[str, float], count: str) -> str:
    """`28 of 30 equal (chance: 1.1)`; a dash for none."""
    return papers.outcome(row, count) if row[count] else "–"


def supported(cells: pd.DataFrame) -> str:
    """What the numbers computed here support, in sentences: equal ones only where their
    kind's count is more than chance may give (`papers.told_apart`).
    """
    told: dict[str, list[dict[str, Any]]] = {"recomputed": [], "consistent": []}
    for row in papers.by_kind(cells).to_dict("records"):
        for count, rows in told.items():
            if papers.told_apart(row, count):
                rows.append(row)
    sentences = []
    if told["recomputed"]:
        kinds = [row["kind"] for row in told["recomputed"]]
        sentences = _supported_methods(cells[cells["kind"].isin(kinds)])
        if not sentences:
            words = papers.kinds_in_words(told["recomputed"], "recomputed")
            sentences.append(f"Taken together: {words}.")
    for row in told["consistent"]:
        if row["kind"] == papers.OWN:
            sentences.append(
                f"The paper's arithmetic on its own method: {_FOLLOWING} matches them, "
                f"{row['consistent_equal']} of {row['consistent']} equal."
            )
    if sentences:
        return " ".join(sentences)
    return _without_methods(cells, told["consistent"])


def _without_methods(cells: pd.DataFrame, told: list[dict[str, Any]]) -> str:
    """What is supported where no method is: the table's arithmetic, or nothing."""
    counted = papers.counts(cells)
    more = ""
    if not counted["recomputed"]:
        more = "No number was computed here from public data."
    elif counted["recomputed_equal"] < counted["recomputed"]:
        more = _distance(cells)
    if told:
        words = papers.kinds_in_words(told, "consistent")
        text = f"The table's arithmetic: {_FOLLOWING} matches them, {words}."
    elif counted["recomputed_equal"] + counted["consistent_equal"]:
        text = f"Nothing: the equal numbers are {UNTOLD}."
    elif counted["recomputed"]:
        text = "Nothing: no number that was computed here is equal."
    else:
        text = "Nothing."
    return f"{text} {more}".strip()


def _distance(cells: pd.DataFrame) -> str:
    """How near the numbers that were computed here are to the printed ones; empty where
    none was.
    """
    is_here = cells["route"].isin(papers.counting.ROUTES["recomputed"])
    gaps = cells.loc[is_here, "difference"].abs().dropna()
    if gaps.empty:
        return ""
    return (
        f"Half of them lie within {gaps.median():.2g} of the printed ones, all within "
        f"{gaps.max():.2g}."
    )


def _supported_methods(cells: pd.DataFrame) -> list[str]:
    """What the equal numbers of each method support, a sentence a degree: nearly all
    equal, in part, and what was not computed; then the numbers of humans and counts.
    """
    kinds = dict(zip(cells["method"], cells["kind"], strict=True))
    nearly_all = []
    partly = []
    sizes = []
    not_computed: dict[str, int] = {}
    for row in papers.by_method(cells).to_dict("records"):
        equal, tested_here = _equal(row)
        if not papers.told_apart(row, "recomputed"):
            continue
        words = f"{row['method']} {equal} of {tested_here}"
        if kinds[row["method"]] in ("human", "count"):
            sizes.append(words)
            continue
        if equal >= _NEARLY_ALL * tested_here:
            nearly_all.append(words)
        else:
            partly.append(words)
        if row["printed"] > tested_here:
            not_computed[row["method"]] = row["printed"] - tested_here
    sentences = []
    if nearly_all:
        sentences.append(
            "The texts, ratings and statistics used here are the paper's, as the "
            f"numbers of these metrics come out: {', '.join(nearly_all)} equal."
        )
    if partly:
        sentences.append(
            f"In part: {', '.join(partly)} equal, more than chance may give; why the others "
            "differ is noted below the table."
        )
    if not_computed:
        count = sum(not_computed.values())
        were = "number was" if count == 1 else "numbers were"
        sentences.append(
            f"{count} further printed {were} not computed here "
            f"({', '.join(not_computed)})."
        )
    if sizes:
        sentences.append(f"Equal: {', '.join(sizes)}.")
    return sentences


def _equal(row: Mapping[str, Any]) -> tuple[int, int]:
    """How many of a method's tested numbers are equal, or as near as two runs; and how
    many were tested.
    """
    return row["recomputed_equal"] + row["recomputed_spread"], row["recomputed"]


def untested(cells: pd.DataFrame) -> str:
    """What was not put to a test; empty where the own method was, or has no number."""
    own_counts = papers.counts(cells[cells["kind"] == papers.OWN])
    if not own_counts["printed"] or own_counts["recomputed"]:
        return ""
    name = papers.own_method(cells["paper"].iat[0])[0]
    return (
        f"What the paper claims for {name}, as it was not run. Whether the printed "
        "numbers support it is said on the page of claims."
    )


def unsupported(cells: pd.DataFrame) -> str:
    """What the numbers here do not support, in sentences; empty where there is nothing
    to say."""
    name = papers.own_method(cells["paper"].iat[0])[0]
    own_counts = papers.counts(cells[cells["kind"] == papers.OWN])
    sentences = []
    unequal = own_counts["consistent"] - own_counts["consistent_equal"]
    if unequal:
        sentences.append(
            f"The arithmetic on {name}: of {_FOLLOWING}, {unequal} of "
            f"{own_counts['consistent']} not equal."
        )
    # Methods whose equal numbers chance could give: most unequal, or too few of them.
    different: list[str] = []
    too_few: list[str] = []
    for row in papers.by_method(cells).to_dict("records"):
        equal, tested_here = _equal(row)
        if not tested_here or papers.told_apart(row, "recomputed"):
            continue
        words = f"{row['method']} ({equal} of {tested_here} equal)"
        if equal > tested_here / 2:
            too_few.append(words)
        else:
            different.append(words)
    if different:
        sentences.append(
            "These numbers are not the ones that the paper prints: "
            f"{', '.join(different)}."
        )
    if too_few:
        sentences.append(f"Equal, but {UNTOLD}: {', '.join(too_few)}.")
    distances = []
    of_another = cells[cells["verdict"] == papers.comparison.ORIENTATION]
    for method, part in of_another.groupby("method", sort=False):
        gap = part["difference"].abs().median()
        distances.append(f"{method} {gap:.2g}")
    if distances:
        sentences.append(
            f"Numbers {WORDS['orientation']} decide nothing; their median distance "
            f"from the printed ones, in the table's unit: {', '.join(distances)}."
        )
    return " ".join(sentences)


def printed_alone(cells: pd.DataFrame) -> str:
    """What the printed numbers say by themselves about the own method; empty where no
    table sets it beside others."""
    sentences = []
    told = set()
    for table, part in cells.groupby("table", sort=False):
        for lead in papers.ahead(part):
            # A table that repeats another one's numbers says nothing more.
            most_columns = max(one.columns for one in lead.leads)
            if most_columns < 2 or lead in told:
                continue
            told.add(lead)
            where = "The"
            if cells["table"].nunique() > 1:
                where = f"{comparisons.titled(str(table))}: the"
            sentences.append(_lead_in_words(lead, where))
    if sentences:
        sentences.append(
            "The test takes the two rows as fixed beforehand and the columns as "
            "independent; they are neither, so the evidence is weaker than a p says."
        )
    return " ".join(sentences)


def _lead_in_words(lead: papers.Ahead, where: str) -> str:
    """In how many printed cells the own row is above the other, each statistic by
    itself.
    """
    own_row = lead.own.replace(" | ", ", ")
    other_row = lead.other.replace(" | ", ", ")
    by_statistic = []
    for one in lead.leads:
        equal = f", equal in {one.equal}" if one.equal else ""
        by_statistic.append(
            f"{one.statistic} in {one.ahead} of {one.columns} columns{equal} "
            f"({p_in_words(one.p)})"
        )
    text = (
        f"{where} best row of the paper's own method, {own_row}, is above the best "
        f"other row, {other_row}, in {lead.ahead} of the {lead.cells} cells that both "
        f"have; by an exact sign test, {', '.join(by_statistic)}."
    )
    if lead.left_out:
        text += f" Left out is {lead.left_out}."
    return text


def lines(cells: pd.DataFrame) -> list[tuple[str, str]]:
    """The first screen as (question, answer), without the table of kinds; a question
    without an answer is left out."""
    answers = [
        ("Was the method tested?", tested(cells)),
        ("Supported", supported(cells)),
        ("Not tested", untested(cells)),
        ("Not supported", unsupported(cells)),
        ("What the printed numbers say", printed_alone(cells)),
    ]
    return [(question, answer) for question, answer in answers if answer]
