"""The three counts of the committed results: the same wherever they stand, and what they leave out is named."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from nlgeval_lib import figures, papers
from nlgeval_lib.report import scoreboard, tables

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def board() -> pd.DataFrame:
    return scoreboard.build()


@pytest.fixture(scope="module")
def cells() -> pd.DataFrame:
    return scoreboard.cells()


def numbers(text: str) -> list[int]:
    return [int(found.replace(",", "")) for found in re.findall(r"\d[\d,]*", text)]


def test_the_three_counts_agree_wherever_they_stand(board, cells):
    names = [f"{name}{end}" for name in ("recomputed", "consistent") for end in ("_equal", "")]
    names = ["printed", *names, "orientation", "orientation_within", "construction", "missing"]
    found = papers.counts(cells)
    sums = [int(board[name].sum()) for name in names]
    assert sums[1:-1] == [found[name] for name in names[1:-1]], "the tables' cells"
    assert sums[-1] == sums[0] - found["printed"] + found["missing"]
    saved = pd.read_csv(ROOT / "results/scoreboard.csv")
    assert [int(saved[name].sum()) for name in names] == sums
    readme = re.search(r"<!-- counts -->\n(.*?)<!-- /counts -->", (ROOT / "README.md").read_text(), re.DOTALL)
    markdown = (ROOT / "results/scoreboard.md").read_text().splitlines()[2]
    told = {"README.md": readme[1], "scoreboard.md": markdown, "the line": scoreboard.headline(board)}
    for where, text in told.items():
        assert numbers(text) == sums, where
    drawn = figures.scoreboard(board, scoreboard.TITLES).axes
    panels = pd.DataFrame([numbers(panel.get_title(loc="right")) for panel in drawn])
    assert panels.sum().tolist() == [*sums[1:6], sums[0]], "the picture's panels"
    outputs = pd.DataFrame([one for one in scoreboard.totals(board).to_dict("records") if one["paper"] != "all"])
    assert sum(numbers(text)[0] for text in outputs["recomputed: equal"]) == sums[1]


def test_each_cell_named_as_equal_by_construction_is(cells):
    aside = cells[cells["verdict"] == "construction"]
    keys = ["paper", "table", "row", "column", "statistic", "route"]
    assert set(aside[keys].itertuples(index=False, name=None)) == set(papers.by_construction())
    assert all(papers.by_construction().values())


def test_routes_decide_which_count_a_cell_is_in(cells):
    assert set(cells.loc[cells["verdict"] == "differs", "route"]) <= {"run", "public", "published"}
    assert set(cells.loc[cells["verdict"].isin(("within", "outside")), "route"]) <= {"recorded", "run"}


def test_a_run_stands_beside_what_was_there_and_its_interval_decides():
    """Printed: .449, .440 and .371. A run has an interval, another run would give other numbers."""
    ours = [
        ("pearson", 0.4490, "published", None, None),
        ("pearson", 0.400, "run", 0.3, 0.5),
        ("spearman", 0.300, "run", 0.2, 0.4),
        ("spearman", 0.350, "recorded", 0.3, 0.44),
        ("kendall", 0.3711, "run", 0.372, 0.5),
    ]
    frame = pd.DataFrame(ours, columns=["statistic", "value", "route", "ci_low", "ci_high"])
    frame = frame.assign(row="LLMScore", column="coherence")
    cells = papers.compare("coascore", "table_12", frame)
    got = cells[cells["ours"].notna()]
    told = ["published equal", "run within", "recorded within", "run outside", "run equal"]
    assert (got["route"] + " " + got["verdict"]).tolist() == told, (
        "equal is equal whatever the interval; run stands last"
    )
    found = papers.counts(cells)
    assert found["printed"] == papers.load("coascore", "table_12")["number"].notna().sum()
    assert found["printed"] - found["missing"] == 3, "three printed numbers have five of ours"
    counts = [f"recomputed{end}" for end in ("", "_equal", "_within")]
    counts += ["consistent_equal", "orientation", "orientation_within"]
    assert [found[name] for name in counts] == [3, 1, 1, 1, 1, 1]
    assert "recomputed: 1 of 3 equal, 1 within our interval; consistent: 1 of 1" in papers.in_words(found)
    bare = papers.compare("coascore", "table_12", frame.assign(ci_low=None).query("statistic == 'spearman'"))
    assert set(bare["verdict"]) == {"missing", "differs", "orientation"}
    shown = tables.comparison(cells[cells["row"] == "LLMScore"])
    assert "0.449 ≙ (0.449); run: 0.400 ∈" in shown.text and "○∈" in shown.text and "∉" in shown.text
    figures.paper_vs_ours(cells)
    with pytest.raises(ValueError, match="twice"):
        papers.compare("coascore", "table_12", pd.concat([frame, frame]))


def test_rounding_twice_is_coascores_habit_alone(cells):
    """The evidence of `rounding.csv`, from the results."""
    tried = papers.tried(cells).set_index("paper")
    assert tried.loc["coascore", ["coefficients", "once", "twice", "lost", "won"]].tolist() == [123, 110, 122, 0, 12]
    others = tried.drop("coascore")
    assert (others["won"] == 0).all() and others.loc["hdeval", "lost"] == 4
    for paper in ("coascore", "hdeval"):
        assert tried.loc[paper, "mean of rounded"] == tried.loc[paper, "mean of values"] + 1
    assert set(papers.habits()["paper"]) == {"coascore", "hdeval"} and (papers.habits()["evidence"] != "").all()


@pytest.mark.parametrize(
    ("paper", "table", "row", "values", "verdict"),
    [
        ("coascore", "table_04", "BLEU", dict(natural=0.170475), "equal"),
        ("coascore", "table_04", "BLEU", dict(natural=0.170449), "differs"),
        ("hdeval", "table_03", "UniEval", dict(SFRES=0.38149), "equal"),
        ("hdeval", "table_03", "UniEval", dict(SFRES=0.3803), "differs"),
        ("hdeval", "table_03", "UniEval", dict(SFRES=0.3807, SFHOT=0.3499, average=0.3653), "equal"),
        ("hdeval", "table_03", "UniEval", dict(SFRES=0.3804, SFHOT=0.3499, average=0.3651), "differs"),
        ("hdeval", "table_03", "UniEval", dict(SFRES=0.3807, average=0.3653), "differs"),
    ],
)
def test_a_habit_holds_for_its_paper_and_says_so(paper, table, row, values, verdict):
    statistic = "pearson" if paper == "hdeval" else "spearman"
    ours = pd.DataFrame([dict(row=row, column=name, statistic=statistic, value=x) for name, x in values.items()])
    got = papers.compare(paper, table, ours, route="public").set_index(["row", "column", "statistic"])
    one = got.loc[(row, list(values)[-1], statistic)]
    assert one["verdict"] == verdict
    plain = papers.agrees(one["ours"], one["printed"])
    assert one["reason"].startswith("equal by the paper's rounding") == (verdict == "equal" and not plain)
