"""The papers' printed tables are transcribed whole and digit by digit: shapes, and
cells read off the papers by eye.
"""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from reproduction import papers
from reproduction.papers import kinds, shuffling

CASES = Path(__file__).parents[1] / "cases"
SHAPES = pd.read_csv(CASES / "printed_shapes.csv").set_index(["paper", "table"])
SPOTS = pd.read_csv(CASES / "printed_spots.csv", dtype=str, keep_default_na=False)


@pytest.mark.parametrize("paper", papers.PAPERS)
def test_every_table_with_numbers_is_here(paper):
    assert {*papers.tables(paper)} - {"text_claims"} == {*SHAPES.loc[paper].index}


@pytest.mark.parametrize(("paper", "table"), SHAPES.index)
def test_no_row_column_or_cell_is_lost(paper, table):
    frame = papers.load(paper, table)
    expected = SHAPES.loc[(paper, table)]
    found = (
        len(frame),
        frame["number"].notna().sum(),
        frame["row"].nunique(),
        frame["column"].nunique(),
    )
    assert found == tuple(expected[["cells", "numbers", "rows", "columns"]])
    assert sorted(set(frame["statistic"])) == expected["statistics"].split()


@pytest.mark.parametrize(
    ("paper", "table"), sorted(SPOTS.groupby(["paper", "table"]).groups)
)
def test_spot_values_are_as_printed(paper, table):
    printed = (
        papers.load(paper, table)
        .set_index(["row", "column", "statistic"])["printed"]
        .to_dict()
    )
    for spot in SPOTS[
        (SPOTS["paper"] == paper) & (SPOTS["table"] == table)
    ].itertuples():
        assert printed[spot.row, spot.column, spot.statistic] == spot.printed


def test_every_table_has_its_spots():
    counts = (
        SPOTS.groupby(["paper", "table"]).size().reindex(SHAPES.index, fill_value=0)
    )
    few = {
        key for key in counts.index if counts[key] < min(5, SHAPES.loc[key, "cells"])
    }
    assert all(table.startswith("figure") for _, table in few)


def one_line(text: str) -> str:
    """A text without its line breaks, as the formatter may set them anew."""
    return " ".join(text.split())


@pytest.fixture(scope="module")
def assumed() -> pd.DataFrame:
    root = CASES.parent.parent
    return pd.read_csv(root / "data" / "assumed.csv", dtype=str, keep_default_na=False)


def test_what_is_assumed_stands_where_the_list_says(assumed):
    root = CASES.parent.parent
    assert set(assumed["paper"]) == set(papers.PAPERS)
    assert (assumed != "").all(axis=None)
    assert not assumed.duplicated(["paper", "choice"]).any()
    for one in assumed.itertuples():
        source = one_line((root / one.file).read_text(encoding="utf-8"))
        assert one_line(one.text) in source, f"{one.choice}: {one.file}"


def test_a_choice_that_fits_says_what_was_tried(assumed):
    """Only what was tried can be chosen because it fits, and then it wins cells."""
    assert set(assumed["fits"]) == {"yes", "no"}
    chosen = assumed[assumed["fits"] == "yes"]
    assert (chosen["tried"] != "not tried").all()
    assert chosen["wins"].str.contains(r"[1-9]\d* of \d+").all()
    untried = assumed[assumed["tried"] == "not tried"]
    assert not untried["wins"].str.contains(r"; .*0 of").any()
    for one in assumed.itertuples():
        for table in re.findall(r"\b[a-z]+_table_\d+__[a-z_]+\.csv", one.tried):
            folder = CASES.parent.parent / "results" / table.split("_")[0]
            assert (folder / table).exists(), one.choice


def test_references_win_what_the_saved_table_says(assumed):
    """The cells that each rule for several references wins, counted again."""
    saved = pd.read_csv(
        CASES.parent.parent / "results/tigerscore/tigerscore_table_04__references.csv"
    )
    tasks = {"Summ": "summaries", "D2T": "data-to-text"}
    wins = assumed.set_index("choice")["wins"]
    for (task, metric), part in saved.groupby(["task", "metric"]):
        fits = [papers.agrees(one.value, str(one.printed)) for one in part.itertuples()]
        (winner,) = part["references"][fits]
        told = wins[f"references that {metric} takes on {tasks[task]}"]
        assert told.startswith(f"{winner}: 1 of 1; ")


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    return pd.read_csv(CASES.parent.parent / "data" / "assumed_trials.csv")


def test_each_trial_stands_in_the_list(assumed, trials):
    """What each alternative wins, in words. These choices were taken before they were
    tried, so none is taken because it fits; nor would another fit better.
    """
    by_choice = assumed.set_index(["paper", "choice"])
    groups = dict([*trials.groupby(["paper", "choice"], sort=False)])
    is_tried = assumed["tried"].str.contains("assumed_trials.csv", regex=False)
    assert set(groups) == set(by_choice.index[is_tried])
    for choice, group in groups.items():
        row = by_choice.loc[choice]
        wins = []
        for one in group.itertuples():
            wins.append(f"{one.alternative}: {one.equal} of {one.of}")
        assert row["wins"] == "; ".join(wins)
        taken, *others = group["equal"]
        assert row["fits"] == "no" and taken >= max(others), choice


def test_metrics_of_the_catalogue_are_in_the_list(assumed):
    """Each metric with weights that leaves something open has its line."""
    listed = " ".join(
        assumed.loc[assumed["file"] == "notebooks/catalogue.toml", "text"]
    )
    models = ("bert-base-multilingual-cased", "bart-large-cnn", "bart_score_para")
    more = ("bleurt-base-128", "wmt22-comet-da", "bert-base-uncased", "roberta-large")
    assert [name for name in models + more if name not in listed] == []


def test_each_choice_that_fits_is_a_search_that_chance_counts(assumed):
    """And of those whose recipes are saved, no more were tried than it says."""
    columns = shuffling.SEARCH_COLUMNS
    lines = kinds.declared("searched.csv", columns)
    variants = {line[-1]: int(line[-3]) for line in lines}
    fitted = assumed.loc[assumed["fits"] == "yes", "choice"]
    assert set(fitted) <= set(variants)
    results = CASES.parent.parent / "results"
    recipes = pd.read_csv(results / "coascore/coascore_table_02__recipes.csv")
    tried = recipes.groupby("metric").size()
    assert variants["BLEU of a sentence"] >= tried["BLEU"]
    assert variants["ROUGE"] >= tried["ROUGE"]
    assert variants["version and tokens of METEOR"] >= tried["METEOR"]
    smoothing = pd.read_csv(results / "semscore/semscore_table_01__smoothing.csv")
    assert variants["smoothing of sentence BLEU (Table 1)"] == len(smoothing)
    references = pd.read_csv(results / "tigerscore/tigerscore_table_04__references.csv")
    tried = references.groupby(["task", "metric"])["references"].nunique()
    assert variants["references that BLEU takes on summaries"] == tried["Summ", "BLEU"]


def test_every_search_is_about_printed_numbers():
    """Each line of `searched.csv` fits a printed number, and two or more were tried."""
    printed = papers.printed_cells()
    places = printed[["paper", "table", "row", "column"]].drop_duplicates()
    for *patterns, tried, over, what in kinds.declared(
        "searched.csv", shuffling.SEARCH_COLUMNS
    ):
        assert int(tried) >= 2 and int(over) >= 1, what
        rows = places.itertuples(index=False, name=None)
        assert any(kinds.fits(place, patterns) for place in rows), what
