"""The three counts of the committed results: the same wherever they stand, and what they leave out is named."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from nlgeval_lib import figures, papers
from nlgeval_lib.papers.comparison import rounded
from nlgeval_lib.report import scoreboard

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
    names = [
        "printed",
        "recomputed_equal",
        "recomputed",
        "consistent_equal",
        "consistent",
        "orientation",
        "construction",
    ]
    found = papers.counts(cells)
    sums = [int(board[name].sum()) for name in names]
    assert sums[1:] == [found[name] for name in names[1:]], "the tables' cells"
    saved = pd.read_csv(ROOT / "results/scoreboard.csv")
    assert [int(saved[name].sum()) for name in names] == sums
    readme = re.search(r"<!-- counts -->\n(.*?)<!-- /counts -->", (ROOT / "README.md").read_text(), re.DOTALL)
    markdown = (ROOT / "results/scoreboard.md").read_text().splitlines()[2]
    told = {"README.md": readme[1], "scoreboard.md": markdown, "the line": scoreboard.headline(board)}
    for where, text in told.items():
        assert numbers(text)[:-1] == sums, where
        assert numbers(text)[-1] == sums[0] - sum(sums[i] for i in (2, 4, 5, 6)), where
    drawn = [text.get_text() for text in figures.scoreboard(board, scoreboard.TITLES).axes[0].texts]
    bands = pd.DataFrame([numbers(text) for text in drawn if text.startswith("recomputed ")])
    assert bands.sum().tolist() == [*sums[1:6], sums[0]], "the picture's bands"
    outputs = pd.DataFrame([one for one in scoreboard.totals(board).to_dict("records") if one["paper"] != "all"])
    assert sum(numbers(text)[0] for text in outputs["recomputed: equal"]) == sums[1]


def test_enough_is_recomputed_without_what_is_equal_by_construction(board):
    assert board["recomputed_equal"].sum() >= 250


def test_each_cell_named_as_equal_by_construction_is(cells):
    aside = cells[cells["verdict"] == "construction"]
    keys = ["paper", "table", "row", "column", "statistic", "route"]
    assert set(aside[keys].itertuples(index=False, name=None)) == set(papers.by_construction())
    assert all(papers.by_construction().values())


def test_routes_decide_which_count_a_cell_is_in(cells):
    compared = cells[cells["verdict"].isin(("equal", "differs"))]
    assert set(compared["route"]) <= {"run", "public", "published"}
    assert set(cells.loc[cells["verdict"] == "orientation", "route"]) == {"recorded"}


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
    ("value", "printed", "once", "twice"),
    [
        (0.170475, "0.171", "0.170", "0.171"),
        (0.1704499, "0.170", "0.170", "0.170"),
        (-0.006463, "-0.006", "-0.006", "-0.007"),
        (16.0249, "16.03", "16.02", "16.03"),
        (0.0005, ".001", "0.001", "0.001"),
    ],
)
def test_rounding_half_up_once_and_twice(value, printed, once, twice):
    assert [str(rounded(value, printed, times)) for times in (1, 2)] == [once, twice]


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
