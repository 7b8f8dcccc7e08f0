"""The table of intervals and tests with recorded judges: committed cells come out
again, and the page shows them.
"""

import pandas as pd
import pytest

from nlgeval_lib import files
from tools import recorded_levels

# level, coefficient, systems and how they are drawn, of the smallest set
CELLS = (
    ("dataset", "pearson", 6, recorded_levels.TWICE),
    ("input", "kendall-b", 6, recorded_levels.TWICE),
    ("system", "pearson", 12, recorded_levels.FAMILIES),
)


def committed() -> pd.DataFrame:
    return pd.read_csv(files.data() / "simulated" / recorded_levels.TABLE)


@pytest.mark.parametrize("cell", CELLS)
def test_committed_cells_come_out_again(cell):
    world = recorded_levels.WORLDS[-1]
    level, coef, systems, how = cell
    wanted = recorded_levels.Cell(world, level, coef, systems, how, 60)
    made = recorded_levels.measure(wanted)
    table = committed()
    for name, value in wanted.key().items():
        table = table[table[name] == value]
    assert len(table) == 1
    assert table.iloc[0].to_dict() == pytest.approx(made, abs=6e-5, nan_ok=True)


def test_two_sets_are_left_out_of_what_rules_were_tuned_on():
    table = committed()
    tuned = set(table.loc[table["tuned"], "set"])
    left_out = set(table.loc[~table["tuned"], "set"])
    assert left_out == {"webnlg2020", "openmeva"}
    assert len(tuned) == 3
    assert not tuned & left_out


def test_near_copies_are_told_wherever_they_were_drawn():
    table = committed()
    families = table[table["drawn"] == recorded_levels.FAMILIES]
    assert families["said of hits"].min() >= 0.85
    misses = (1 - families["coverage"]) * families["near-copies, of misses"]
    assert misses.sum() >= 0.9 * (1 - families["coverage"]).sum()


def test_the_default_test_at_system_level_holds_its_level_or_says_so():
    table = committed()
    at_system_level = table[table["level"] == "system"]
    untold = 1 - at_system_level["told of rejected"].fillna(0)
    assert (at_system_level["rejected"] * untold).max() <= 0.1
    independent = at_system_level["drawn"] != recorded_levels.FAMILIES
    assert at_system_level.loc[independent, "rejected"].max() <= 0.1


def test_the_page_shows_the_tables():
    text = recorded_levels.PAGE.read_text(encoding="utf-8")
    for headings, rows in recorded_levels.page_tables().items():
        assert headings in text
        for row in rows:
            assert row in text
