"""The recomputed numbers in the form in which reproductions are exchanged."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from reproduction import papers
from reproduction.report import scoreboard
from reproduction.report.reproduction import exchange


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return pd.read_csv(io.StringIO(exchange(scoreboard.cells())))


def test_each_number_stands_once_for_either_study(rows: pd.DataFrame) -> None:
    studies = rows.groupby("Key")["Study"].agg(list)
    assert len(studies) > 300
    assert set(map(tuple, studies)) == {("original", "reproduction")}


def test_the_original_is_what_the_paper_prints(rows: pd.DataFrame) -> None:
    printed = rows[rows["Study"] == "original"]
    for experiment, part in printed.groupby("Experiment"):
        paper, table = str(experiment).split()
        numbers = papers.load(paper, table)
        criterion = numbers["column"] + ", " + numbers["statistic"]
        keys = zip(numbers["row"], criterion, strict=True)
        by_key = dict(zip(keys, numbers["number"], strict=True))
        for row in part.itertuples():
            assert row.Result == pytest.approx(by_key[row.System, row.Criterion])


def test_as_many_numbers_as_the_readme_counts(rows: pd.DataFrame) -> None:
    counted = scoreboard.totals(scoreboard.kinds())
    texts = counted["computed here"].dropna().astype(str)
    totals = texts.str.extract(r" of (\d+)")[0].dropna().astype(int)
    assert len(rows) == 2 * totals.sum()
