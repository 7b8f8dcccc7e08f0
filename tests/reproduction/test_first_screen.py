"""The first screen of a page: what was tested, what is supported, and what the printed
numbers say alone.
"""

from __future__ import annotations

import pandas as pd
import pytest

from reproduction import papers
from reproduction.papers import kinds
from reproduction.report import answers, comparisons, first_screen, saving
from reproduction.study import catalogue

COMPARED = [
    entry
    for entry in catalogue.load().outputs
    if entry.covers and saving.read_json(f"{answers.base(entry)}.json")
]


def saved(entry) -> pd.DataFrame | None:
    return answers.saved_cells(f"{answers.base(entry)}.csv")


def page(entry) -> answers.Answer:
    return answers.Answer(entry, saving.read_json(f"{answers.base(entry)}.json"))


WITHOUT_CELLS = [entry for entry in COMPARED if saved(entry) is None]
WITH_CELLS = [entry for entry in COMPARED if entry not in WITHOUT_CELLS]


@pytest.mark.parametrize("entry", WITH_CELLS, ids=lambda entry: entry.id)
def test_every_first_screen_tells_the_own_method_first_and_stays_short(entry):
    cells = saved(entry)
    lines = dict(page(entry).lines)
    own = papers.counts(cells[cells["kind"] == papers.OWN])
    beginning = {
        (True, False): "Yes: ",
        (True, True): "In part: ",
        (False, True): "No: 0 of ",
        (False, False): "Not here: ",
    }[own["recomputed"] > 0, own["printed"] > own["recomputed"]]
    assert lines["Was the method tested?"].startswith(beginning)
    if not own["recomputed"] and own["printed"]:
        assert "it was not run" in lines["Not tested"]
    by_kind = first_screen.by_kind(cells)
    printed = cells[cells["verdict"] != "extra"]
    numbers = printed.drop_duplicates(["table", "row", "column", "statistic"])
    rows = by_kind.markdown.splitlines()[2:]
    assert sum(int(row.split("|")[2]) for row in rows) == len(numbers)
    assert len(rows) <= 6
    shown = comparisons.comparison(cells)
    notes = [line for line in shown.notes if line.startswith("(")]
    assert len(notes) <= comparisons.MOST_NOTES
    assert all("nlgeval " not in line and "http" not in line for line in notes)


def line(row: str, column: str, printed: str, kind: str, **more: str) -> dict[str, str]:
    cell = dict(
        paper="hdeval",
        table="table_99",
        row=row,
        column=column,
        statistic="spearman",
        printed=printed,
        kind=kind,
    )
    return cell | {"evidence": "distinct"} | more


# Printed numbers by column of the own rows and of the others: what the lead is.
LEADS = [
    ({"own": [".5", ".6", ".7"], "rouge": [".1", ".2", ".3"]}, (3, 3, 0.25)),
    ({"own": [".5", ".1", ".7"], "rouge": [".1", ".2", ".3"]}, (2, 3, 1.0)),
    ({"own": [".5", ".2", ".7"], "rouge": [".1", ".2", ".3"]}, (2, 3, 0.5)),
    ({"own": [".1"] * 6, "rouge": [".2"] * 6}, (0, 6, 0.03125)),
    ({"own": [".5", ".6"]}, None),
    ({"rouge": [".5", ".6"]}, None),
]


@pytest.mark.parametrize(("rows", "expected"), LEADS)
def test_the_lead_of_the_printed_numbers_has_an_exact_sign_test(rows, expected):
    cells = []
    for row, numbers in rows.items():
        kind = papers.OWN if row == "own" else "lexical metric"
        for number, printed in enumerate(numbers):
            cells.append(line(row, f"column {number}", printed, kind))
    leads = papers.ahead(pd.DataFrame(cells))
    if expected is None:
        assert leads == []
    else:
        (lead,) = leads
        (one,) = lead.leads
        assert (one.ahead, one.columns) == expected[:2] == (lead.ahead, lead.cells)
        assert one.p == pytest.approx(expected[2])


def test_averages_and_statistics_of_which_less_is_better_make_no_lead():
    cells = pd.DataFrame(
        [
            line("own", "a", ".5", papers.OWN),
            line("own", "b", ".5", papers.OWN),
            line("rouge", "a", ".1", "lexical metric"),
            line("rouge", "b", ".1", "lexical metric"),
        ]
    )
    assert [lead.cells for lead in papers.ahead(cells)] == [2]
    assert papers.ahead(cells.assign(statistic="errors")) == []
    assert papers.ahead(cells.assign(evidence="average")) == []


# Of printed tables: own and other row, and in how many of the cells of each statistic
# the own one is above, counted in the papers by hand.
PRINTED_LEADS = [
    (
        ("hdeval", "table_01"),
        [("50% data | HD-Eval-NN", "GPT-4 Eval", {"pearson": 4, "spearman": 2})],
    ),
    (
        ("hdeval", "table_07"),
        [
            (
                "20% data | Llama2-70B-Chat | +HD-Eval-NN",
                "20% data | Llama2-70B-Chat",
                {"pearson": 4, "spearman": 2},
            ),
            (
                "50% data | Llama2-70B-Chat | +HD-Eval-NN",
                "50% data | Llama2-70B-Chat",
                {"pearson": 4, "spearman": 4},
            ),
        ],
    ),
    (
        ("prometheus", "table_03"),
        [
            (
                "PROMETHEUS 13B",
                "GPT-4 (RECENT)",
                {"pearson": 0, "kendall": 0, "spearman": 0},
            )
        ],
    ),
    (
        ("tigerscore", "table_04"),
        [("TIGERScore-13B", "GPT-4 (zero-shot)", {"kendall": 4})],
    ),
    (("semscore", "table_05"), [("SemScore", "BERTScore", {"kendall": 1})]),
]


def printed(paper: str, table: str) -> pd.DataFrame:
    """A printed table with kinds, as if nothing were computed."""
    cells = papers.load(paper, table).assign(paper=paper, table=table, verdict="")
    return kinds.with_kinds(cells)


@pytest.mark.parametrize(("table", "expected"), PRINTED_LEADS)
def test_rows_are_set_beside_those_of_the_same_outputs_cell_by_cell(table, expected):
    cells = printed(*table)
    found = []
    for lead in papers.ahead(cells):
        found.append(
            (lead.own, lead.other, {one.statistic: one.ahead for one in lead.leads})
        )
    assert found == expected
    said = first_screen.printed_alone(cells)
    columns = len(set(cells["column"]) - {"average", "Average", "all tasks", "LF-QA"})
    assert f"in {lead.ahead} of the {columns * len(lead.leads)} cells" in said
    assert ("kendall in 1 of 15 columns, equal in 13" in said) == (columns == 15)


def test_what_is_no_rival_stands_in_its_table():
    """A judge held against its own scores is a ceiling, or a column without a test."""
    for paper, table, row, column, _ in kinds.not_rivals():
        cells = printed(paper, table)
        cells = cells[cells["row"] == row]
        assert column == "*" or column in set(cells["column"])
        assert not cells.empty


def test_what_was_not_run_is_said_with_what_a_test_needs():
    said = first_screen.not_run("coascore", ["figure_02"])
    assert said == (
        "No: CoAScore was not run here with the judge or the weights of the paper. A test needs gpt-3.5-turbo "
        "through its API."
    )
    assert first_screen.not_run("tigerscore", []).endswith("and a GPU.")


@pytest.mark.parametrize("entry", WITHOUT_CELLS, ids=lambda entry: entry.id)
def test_a_page_without_printed_cells_says_whether_the_method_was_tested(entry):
    assert "Was the method tested?" in dict(page(entry).lines)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("coascore_table_02", "9 further printed numbers were not computed here"),
        ("coascore_table_02", "ROUGE 8 of 9 equal"),
        ("tigerscore_table_05", "matches them, human raters 16 of 16 equal"),
        ("semscore_table_05", "Nothing. No number was computed here"),
    ],
)
def test_what_is_supported_is_no_more_than_was_computed(entry, said):
    assert said in first_screen.supported(saved(catalogue.load()[entry]))


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (
            "without misread: 0.276, outside the interval",
            'Without "misread" it would be 0.276, which is outside the interval.',
        ),
        ("5 systems: t has little power", "The interval is limited by 5 systems."),
        ("no row has a score", "no row has a score"),
    ],
)
def test_reasons_of_the_statistics_are_put_into_plain_words(reason, said):
    assert comparisons.plain_reason(reason) == said
