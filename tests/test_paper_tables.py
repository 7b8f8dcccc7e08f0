"""The papers' printed tables are transcribed whole and digit by digit: shapes, and cells read off the papers by eye."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from nlgeval_lib import papers

CASES = Path(__file__).parent / "cases"
SHAPES = pd.read_csv(CASES / "printed_shapes.csv").set_index(["paper", "table"])
SPOTS = pd.read_csv(CASES / "printed_spots.csv", dtype=str, keep_default_na=False)


@pytest.mark.parametrize("paper", papers.PAPERS)
def test_every_table_with_numbers_is_here(paper):
    assert {*papers.tables(paper)} - {"text_claims"} == {*SHAPES.loc[paper].index}


@pytest.mark.parametrize(("paper", "table"), SHAPES.index)
def test_no_row_column_or_cell_is_lost(paper, table):
    frame, expected = papers.load(paper, table), SHAPES.loc[(paper, table)]
    found = len(frame), frame["number"].notna().sum(), frame["row"].nunique(), frame["column"].nunique()
    assert found == tuple(expected[["cells", "numbers", "rows", "columns"]])
    assert sorted(set(frame["statistic"])) == expected["statistics"].split()


@pytest.mark.parametrize(("paper", "table"), sorted(SPOTS.groupby(["paper", "table"]).groups))
def test_spot_values_are_as_printed(paper, table):
    printed = papers.load(paper, table).set_index(["row", "column", "statistic"])["printed"].to_dict()
    for spot in SPOTS[(SPOTS["paper"] == paper) & (SPOTS["table"] == table)].itertuples():
        assert printed[spot.row, spot.column, spot.statistic] == spot.printed


def test_every_table_has_its_spots():
    counts = SPOTS.groupby(["paper", "table"]).size().reindex(SHAPES.index, fill_value=0)
    few = {key for key in counts.index if counts[key] < min(5, SHAPES.loc[key, "cells"])}
    assert all(table.startswith("figure") for _, table in few)


def test_what_is_assumed_stands_where_the_list_says():
    root = CASES.parent.parent
    assumed = pd.read_csv(root / "data" / "assumed.csv", dtype=str, keep_default_na=False)
    assert set(assumed["paper"]) == set(papers.PAPERS) and (assumed != "").all().all()
    assert not assumed.duplicated(["paper", "choice"]).any()
    for one in assumed.itertuples():
        assert one.text in (root / one.file).read_text(encoding="utf-8"), f"{one.choice}: {one.file}"
