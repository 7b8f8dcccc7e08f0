"""Each number that differs from the printed one has a reason, and no reason is left
without such a number.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from reproduction import papers
from reproduction.papers import differing

ROOT = Path(__file__).parents[2]
PLACE = list(differing.PLACE)
# what an interval says of a number, and no reason why it is another
INTERVAL = ("little power", "wide by necessity", "holds for these two only")


@pytest.fixture(scope="module")
def cells() -> pd.DataFrame:
    """The saved cells that differ from the printed ones."""
    found = []
    for path in sorted((ROOT / "results").glob("*/*.csv")):
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        if {*papers.comparison.RESULT} <= {*frame.columns}:
            found.append(frame[frame["verdict"] == "differs"])
    return pd.concat(found, ignore_index=True)


def test_each_cell_that_differs_has_one_reason(cells):
    stated = differing.differs()[PLACE].to_numpy().tolist()
    for place in cells[PLACE].to_numpy().tolist():
        matching = [row for row in stated if differing.fits(row, place)]
        assert len(matching) == 1, place


def test_no_reason_is_without_a_cell(cells):
    places = cells[PLACE].to_numpy().tolist()
    for row in differing.differs()[PLACE].to_numpy().tolist():
        assert any(differing.fits(row, place) for place in places), row


def test_a_reason_says_why_and_what_was_tried():
    stated = differing.differs()
    assert (stated != "").all(axis=None)
    assert not stated.duplicated(PLACE).any()
    assert not stated["reason"].str.contains("|".join(INTERVAL)).any()
    for row in stated.itertuples():
        printed = papers.load(row.paper, row.table)
        for name in papers.KEY:
            part = getattr(row, name)
            assert part == differing.ANY or (printed[name] == part).any(), row


def test_compare_gives_the_reason_and_keeps_the_note():
    place = ("tigerscore", "table_25", "ROUGE-2f", "Summ", "pearson")
    ours = pd.DataFrame(
        [(*place[2:], 15.96, "public", "all outputs")],
        columns=[*papers.KEY, "value", "route", "reason"],
    )
    compared = papers.compare("tigerscore", "table_25", ours).query(
        "verdict == 'differs'"
    )
    (reason,) = compared["reason"]
    assert reason.startswith("the mean of the four aspects")
    assert "; tried: first, best and mean" in reason
    assert reason.endswith("; all outputs")


def test_an_equal_cell_has_no_such_reason():
    key = ("ROUGE-2f", "Summ", "pearson")
    ours = pd.DataFrame(
        [(*key, 16.03, "public")], columns=[*papers.KEY, "value", "route"]
    )
    compared = papers.compare("tigerscore", "table_25", ours).query("ours.notna()")
    assert compared["verdict"].tolist() == ["equal"]
    assert "tried" not in compared["reason"].iloc[0]
