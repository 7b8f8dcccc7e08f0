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


@pytest.mark.parametrize("paper", ["tigerscore", "prometheus"])
def test_index_lists_everything_printed(paper):
    index = papers.index().query("paper == @paper").set_index("id")
    figures, tables = {"tigerscore": (4, 26), "prometheus": (20, 9)}[paper]
    assert set(index.index) == {f"figure_{k:02d}" for k in range(1, figures + 1)} | {
        f"table_{k:02d}" for k in range(1, tables + 1)
    }
    assert all(int(name[-2:]) == int(number) for name, number in index["number"].items())
    assert {name: cells for name, cells in index["cells"].items() if cells} == SHAPES.loc[paper, "numbers"].to_dict()
    assert (index.loc[index["kind"] == "numeric", "cells"] > 0).all()
    assert index["title"].str.len().gt(5).all() and index["place"].str.match(r"(section|appendix) \w").all()


@pytest.mark.parametrize(("paper", "count"), [("tigerscore", 85), ("prometheus", 90)])
def test_text_claims_point_at_what_they_repeat(paper, count):
    frame = papers.load(paper, "text_claims").query("statistic != 'text'")
    assert len(frame) == count and frame["number"].notna().all()
    assert set(frame["column"]) - {"none"} <= set(papers.index().query("paper == @paper")["id"])
    assert frame["row"].is_unique
