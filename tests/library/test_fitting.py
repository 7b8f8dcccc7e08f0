"""Tables in Markdown that fit a code host's window: parts, names, notes."""

from __future__ import annotations

import pytest

from nlgeval_lib.tables import fitting

WIDE = "understandable"


def parts(text: str) -> list[list[list[str]]]:
    """The cells of each table of a text, its head first."""
    found = []
    for table in text.split("\n\n"):
        lines = [line.strip("|").split("|") for line in table.splitlines()]
        found.append([[cell.strip() for cell in line] for line in lines])
        del found[-1][1]
    return found


@pytest.mark.parametrize(("columns", "tables"), [(1, 1), (4, 1), (6, 2), (12, 3)])
def test_a_wide_table_is_shown_in_parts_that_fit(columns, tables):
    heads = [f"{WIDE} {number}" for number in range(columns)]
    lines = [["BLEU", *("0.123" for _ in heads)], ["ROUGE", *("0.456" for _ in heads)]]
    shown = parts(fitting.markdown(["metric", *heads], lines))
    assert len(shown) == tables
    assert [head for table in shown for head in table[0][1:]] == heads
    for table in shown:
        assert [line[0] for line in table] == ["metric", "BLEU", "ROUGE"]
        widths = map(fitting.least_width, zip(*table, strict=True))
        assert sum(widths) <= fitting.WINDOW


def test_equal_columns_are_parted_evenly():
    """Sums that round at each step make it 9 and 7, and on Python 3.12 8 and 8."""
    heads = ["aaa"] * 16
    shown = parts(fitting.markdown(["name", *heads], [["BLEU", *heads]]))
    assert [len(table[0]) - 1 for table in shown] == [8, 8]


def test_columns_of_a_group_are_in_one_part():
    groups = ["first"] * 3 + ["second"] * 3
    heads = [f"{WIDE} {group}" for group in groups]
    lines = [["BLEU", *("0.1" for _ in heads)]]
    shown = parts(fitting.markdown(["", *heads], lines, groups=groups))
    assert [table[0][1:] for table in shown] == [heads[:3], heads[3:]]


def test_a_part_leaves_out_empty_rows_and_keeps_the_names_of_the_others():
    heads = [f"{WIDE} {number}" for number in range(8)]
    lines = [
        ["50 %", "plain", *(["0.1"] * 4), *([""] * 4)],
        ["", "fitted", *([""] * 4), *(["0.2"] * 4)],
        ["BLEU", "", *(["0.3"] * 8)],
    ]
    first, second = parts(fitting.markdown(["", "", *heads], lines, names=2))
    assert [line[:2] for line in first[1:]] == [["50 %", "plain"], ["BLEU", ""]]
    assert [line[:2] for line in second[1:]] == [["50 %", "fitted"], ["BLEU", ""]]
