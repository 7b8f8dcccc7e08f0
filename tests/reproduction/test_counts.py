"""The three counts of the committed results: the same wherever they stand, and what
they leave out is named.
"""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from reproduction import papers
from reproduction.papers import comparison
from reproduction.papers.comparison import APART, SPREAD, UNKNOWN
from reproduction.report import charts, comparisons, scoreboard

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def board() -> pd.DataFrame:
    return scoreboard.build()


@pytest.fixture(scope="module")
def cells() -> pd.DataFrame:
    return scoreboard.cells()


def numbers(text: str) -> list[int]:
    return [int(found.replace(",", "")) for found in re.findall(r"\d[\d,]*", text)]


def test_the_counts_agree_wherever_they_stand(board, cells):
    """Those of the scoreboard's rows, of the kinds, of the page and of the README."""
    kinds = scoreboard.kinds()
    exact = [name for name in papers.COUNTS if not name.endswith("shuffled")]
    found = papers.counts(cells)
    for name in papers.COUNTS:
        assert kinds[name].sum() == pytest.approx(board[name].sum(), abs=0.5), name
    assert board["printed"].sum() == len(papers.printed_cells())
    for name in exact[1:-1]:
        assert board[name].sum() == found[name], name
    own = kinds[kinds["kind"] == papers.OWN]
    assert board["own_printed"].sum() == own["printed"].sum()
    assert board["own_recomputed"].sum() == own["recomputed"].sum()
    drawn = charts.scoreboard(board, scoreboard.TITLES).axes
    panels = pd.DataFrame([numbers(panel.get_title(loc="right")) for panel in drawn])
    assert panels.sum().tolist() == [own["recomputed"].sum(), own["printed"].sum()]


def test_the_readme_and_the_page_say_what_the_results_say(board):
    kinds = scoreboard.kinds()
    line = scoreboard.own_headline(kinds)
    readme = (ROOT / "README.md").read_text()
    block = re.search(r"<!-- counts -->\n(.*?)<!-- /counts -->", readme, re.DOTALL)
    page = (ROOT / "results/scoreboard.md").read_text().splitlines()[2]
    saved = pd.read_csv(ROOT / "results/scoreboard.csv")
    assert " ".join(block[1].split()).startswith(f"{line}.")
    assert page.endswith(f" {line}.")
    for name in papers.COUNTS:
        assert saved[name].sum() == pytest.approx(board[name].sum()), name
    assert "Printed numbers of the papers' own methods that were tested: 5 (" in line
    assert "SemScore 5 of 36" in line


def test_each_equal_number_is_one_sort_of_evidence(cells):
    """Reprints, averages, sizes and single examples are counted apart."""
    kinds = papers.by_kind(cells)
    sorts = kinds[list(papers.EVIDENCE)].sum()
    assert sorts.sum() == kinds["recomputed_equal"].sum()
    assert sorts[["reprint", "average", "size", "single example"]].tolist() == [
        24,
        23,
        13,
        13,
    ]
    assert (kinds["recomputed_shuffled"] < kinds["recomputed"]).mean() > 0.5


def test_each_cell_named_as_equal_by_construction_is(cells):
    aside = cells[cells["verdict"] == "construction"]
    keys = ["paper", "table", "row", "column", "statistic", "route"]
    assert set(aside[keys].itertuples(index=False, name=None)) == set(
        comparison.by_construction()
    )
    assert all(comparison.by_construction().values())


def test_routes_decide_which_count_a_cell_is_in(cells):
    assert set(cells.loc[cells["verdict"] == "differs", "route"]) <= {
        "run",
        "public",
        "published",
    }
    sampled = cells["verdict"].isin((SPREAD, APART, UNKNOWN))
    assert set(cells.loc[sampled, "route"]) <= {"run"}
    recorded = cells["route"] == "recorded"
    assert set(cells.loc[recorded, "verdict"]) == {"orientation"}
    for cell in cells.itertuples(index=False):
        if cell.verdict not in ("missing", "extra"):
            again = comparison.verdict(
                cell.ours,
                cell.printed,
                cell.route,
                own_sd=cell.own_sd,
                habit=cell.habit,
                constructed=cell.verdict == "construction",
            )
            assert again == cell.verdict


def test_a_run_stands_beside_what_was_there_and_the_judges_draws_decide():
    """Printed: .449, .440 and .371; intervals that hold them say nothing."""
    ours = [
        ("pearson", 0.4490, "published", None),
        ("pearson", 0.445, "run", 0.002),
        ("spearman", 0.300, "run", 0.002),
        ("spearman", 0.440, "recorded", None),
        ("kendall", 0.3711, "run", None),
    ]
    frame = pd.DataFrame(ours, columns=["statistic", "value", "route", "own_sd"])
    frame = frame.assign(row="LLMScore", column="coherence", ci_low=0.1, ci_high=0.9)
    cells = papers.compare("coascore", "table_12", frame)
    got = cells[cells["ours"].notna()]
    assert (got["route"] + ": " + got["verdict"]).tolist() == [
        "published: equal",
        f"run: {SPREAD}",
        "recorded: orientation",
        f"run: {APART}",
        "run: equal",
    ], "equal is equal whatever the spread; run stands last"
    found = papers.counts(cells)
    numbered = papers.load("coascore", "table_12")["number"].notna().sum()
    assert found["printed"] == numbered
    assert found["printed"] - found["missing"] == 3, "five of ours for three numbers"
    counts = ["recomputed", "recomputed_equal", "recomputed_spread"]
    counts += ["consistent_equal", "orientation"]
    assert [found[name] for name in counts] == [3, 1, 1, 1, 1]
    assert f"LLMScore: 1 of 3 equal, 1 {SPREAD}" in papers.in_words(cells)
    lone = frame.query("statistic == 'spearman'").assign(own_sd=None)
    once = papers.compare("coascore", "table_12", lone)
    assert set(once["verdict"]) == {"missing", UNKNOWN, "orientation"}
    assert once.loc[once["verdict"] == UNKNOWN, "reason"].str.contains("repeat").all()
    shown = comparisons.comparison(cells[cells["row"] == "LLMScore"]).text
    assert "0.449\u00a0≙; run: 0.445 ∈" in shown
    assert "○" in shown and "∉" in shown
    charts.paper_vs_ours(cells)
    with pytest.raises(ValueError, match="twice"):
        papers.compare("coascore", "table_12", pd.concat([frame, frame]))


def test_rounding_twice_is_coascores_habit_alone(cells):
    """The evidence of `rounding.csv`, from the results."""
    tried = papers.tried(cells).set_index("paper")
    assert tried.loc[
        "coascore", ["coefficients", "once", "twice", "lost", "won"]
    ].tolist() == [123, 110, 122, 0, 12]
    others = tried.drop("coascore")
    assert (others["won"] == 0).all() and others.loc["hdeval", "lost"] == 4
    for paper in ("coascore", "hdeval"):
        assert (
            tried.loc[paper, "mean of rounded"]
            == tried.loc[paper, "mean of values"] + 1
        )
    assert (
        set(papers.habits()["paper"]) == {"coascore", "hdeval"}
        and (papers.habits()["evidence"] != "").all()
    )


@pytest.mark.parametrize(
    ("paper", "table", "row", "values", "verdict"),
    [
        ("coascore", "table_04", "BLEU", dict(natural=0.170475), "equal"),
        ("coascore", "table_04", "BLEU", dict(natural=0.170449), "differs"),
        ("hdeval", "table_03", "UniEval", dict(SFRES=0.38149), "equal"),
        ("hdeval", "table_03", "UniEval", dict(SFRES=0.3803), "differs"),
        (
            "hdeval",
            "table_03",
            "UniEval",
            dict(SFRES=0.3807, SFHOT=0.3499, average=0.3653),
            "equal",
        ),
        (
            "hdeval",
            "table_03",
            "UniEval",
            dict(SFRES=0.3804, SFHOT=0.3499, average=0.3651),
            "differs",
        ),
        (
            "hdeval",
            "table_03",
            "UniEval",
            dict(SFRES=0.3807, average=0.3653),
            "differs",
        ),
    ],
)
def test_a_habit_holds_for_its_paper_and_says_so(paper, table, row, values, verdict):
    statistic = "pearson" if paper == "hdeval" else "spearman"
    ours = pd.DataFrame(
        [
            dict(row=row, column=name, statistic=statistic, value=x)
            for name, x in values.items()
        ]
    )
    got = papers.compare(paper, table, ours, route="public").set_index(
        ["row", "column", "statistic"]
    )
    one = got.loc[(row, list(values)[-1], statistic)]
    assert one["verdict"] == verdict
    plain = papers.agrees(one["ours"], one["printed"])
    assert one["reason"].startswith("equal by the paper's rounding") == (
        verdict == "equal" and not plain
    )
