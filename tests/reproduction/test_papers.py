"""Printed numbers are read exactly, every transcribed table is well formed, and a
comparison says what is so.
"""

from __future__ import annotations

import csv
import itertools
import math
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from cli_tools import cases
from hypothesis import given
from hypothesis import strategies as st

from reproduction import papers
from reproduction.papers import numbers, printed_tables
from reproduction.papers.comparison import RESULT

FILES = [(paper, table) for paper in papers.PAPERS for table in papers.tables(paper)]
WORDY = {"grade", "text"}  # statistics whose values are words
PRINTED = {
    "tigerscore": (26, 4),
    "semscore": (6, 1),
    "hdeval": (12, 13),
    "prometheus": (9, 20),
    "coascore": (15, 4),
}


# --- reading a printed number


@pytest.mark.parametrize("case", cases("printed_numbers"), ids=str)
def test_a_printed_number_is_read_with_its_digits_and_nothing_else_as_one(case):
    number = papers.parse(case["text"])
    assert number.printed == case["text"]
    if "value" in case:
        assert (number.value, number.decimals) == (
            Decimal(case["value"]),
            case["decimals"],
        )
        assert number.unit == Decimal(10) ** -case["decimals"]
    else:
        assert number.value is None and math.isnan(float(number))


def test_blank_cells_are_told_from_words():
    assert all(numbers.is_blank(text) for text in ("", " ", "-", "\u2013", "--", "N/A"))
    assert not any(numbers.is_blank(text) for text in ("A", "0", "-1", "none of them"))


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_without_an_error(text):
    number = papers.parse(text)
    assert number.value is None or number.value.is_finite()


decimals = st.integers(0, 6)
values = st.decimals(-(10**6), 10**6, places=6, allow_nan=False, allow_infinity=False)


@given(values, decimals, st.sampled_from(["", "%", " %"]))
def test_formatting_and_reading_are_inverse(value, places, percent):
    text = f"{value:.{places}f}"
    dressed = f"{value:,.{places}f}".replace("-", "\u2212") + percent
    for printed in (
        text,
        dressed,
        dressed.replace("0.", ".", 1) if abs(value) < 1 and places else dressed,
    ):
        number = papers.parse(printed)
        assert number.value == Decimal(text)
        assert number.decimals == places


# --- whether a value agrees


@given(st.integers(-(10**6), 10**6), decimals, st.integers(-2000, 2000))
def test_equal_means_within_0_51_steps_of_the_last_digit(steps, places, thousandths):
    printed = f"{Decimal(steps).scaleb(-places):.{places}f}"
    ours = Decimal(printed) + Decimal(thousandths).scaleb(-places - 3)
    assert papers.agrees(float(ours), printed) == (abs(thousandths) <= 510)
    assert papers.agrees(ours, printed) == (abs(thousandths) <= 510)
    assert numbers.difference(float(ours), printed) == Decimal(thousandths).scaleb(
        -places - 3
    )


def test_the_edge_does_not_depend_on_binary_fractions():
    assert papers.agrees(0.09051, "0.090") and papers.agrees(0.08949, "0.090")
    assert not papers.agrees(0.09052, "0.090") and not papers.agrees(0.08948, "0.090")
    assert papers.agrees(np.float32(0.09051), "0.090") and papers.agrees(
        np.int64(5), "5"
    )
    assert papers.agrees(20_510, "20K") and not papers.agrees(20_511, "20K")

    assert (
        not papers.agrees(math.nan, "0.5")
        and not papers.agrees(None, "0.5")
        and not papers.agrees(0.5, "-")
    )


@pytest.mark.parametrize(
    "value", [math.inf, -math.inf, True, np.bool_(False), "A", [0.5], 1j]
)
def test_what_is_no_finite_number_is_refused(value):
    with pytest.raises(ValueError, match=r"not (a number|finite)"):
        numbers.exact(value)


# --- the files


@pytest.mark.parametrize(("paper", "table"), FILES)
def test_every_table_is_well_formed(paper, table):
    text = (papers.folder() / paper / f"{table}.csv").read_text(encoding="utf-8")
    assert text.endswith("\n") and "\r" not in text and text.isascii()
    header, *rows = csv.reader(text.splitlines())
    assert tuple(header) == printed_tables.COLUMNS
    assert rows and all(len(row) == len(header) for row in rows)
    keys = [tuple(row[2:5]) for row in rows]
    assert len(set(keys)) == len(keys)
    for row in rows:
        assert row[:2] == [paper, table]
        assert all(label and label == " ".join(label.split()) for label in row[2:5])
        assert re.fullmatch(r"[a-z][a-z0-9_]*", row[4]), row[4]
        assert (
            papers.parse(row[5]).value is not None
            or numbers.is_blank(row[5])
            or row[4] in WORDY
        ), row
        if row[4] in {"pearson", "spearman", "kendall"} and "." in row[5]:
            assert abs(papers.parse(row[5]).value) <= (
                100 if paper == "tigerscore" else 1
            ), row


def test_the_index_lists_every_table_and_figure_of_the_five_papers():
    index = papers.index()
    assert tuple(index.columns) == printed_tables.INDEX_COLUMNS
    wanted = {
        paper: {f"table_{n + 1:02d}" for n in range(tables)}
        | {f"figure_{n + 1:02d}" for n in range(figures)}
        for paper, (tables, figures) in PRINTED.items()
    }
    assert {
        paper: set(group["id"]) for paper, group in index.groupby("paper")
    } == wanted
    assert not index.duplicated(["paper", "id"]).any()
    assert (index["number"].astype(int) == index["id"].str[-2:].astype(int)).all()
    assert set(index["kind"]) <= set(printed_tables.KINDS)
    assert (index["title"] != "").all() and (index["place"] != "").all()


def test_the_index_counts_the_transcribed_numbers():
    index = papers.index()
    transcribed = {
        (p, t): int(papers.load(p, t)["number"].notna().sum())
        for p, t in FILES
        if t != "text_claims"
    }
    counted = {
        (row.paper, row.id): row.cells for row in index.itertuples() if row.cells
    }
    assert counted == transcribed
    kinds = index.groupby("kind")["cells"].agg(["min", "max"])
    assert kinds.loc["numeric", "min"] > 0
    assert kinds.loc["prompt", "max"] == 0 and kinds.loc["diagram", "max"] == 0


@pytest.mark.parametrize("paper", papers.PAPERS)
def test_claims_in_the_text_name_the_table_they_speak_of(paper):
    claims = papers.load(paper, "text_claims")
    known = set(papers.index().query("paper == @paper")["id"]) | {"none"}
    assert (
        set(
            itertools.chain.from_iterable(
                claims["column"].str.split(" | ", regex=False)
            )
        )
        <= known
    )
    place = re.compile(
        r"(abstract|ethics|limitations|(section|appendix) [0-9A-Z]\S*|"
        r"(authors' notebook of )?(Table|Figure) \d+( caption| prompt| to Table \d+)?):? "
    )
    assert [row for row in claims["row"] if not place.match(row)] == []


# --- asking for what is not there


def test_a_loaded_table_can_be_changed_without_harm():
    frame = papers.load("hdeval", "table_01")
    frame["number"] = 0.0
    assert papers.cell("hdeval", "table_01", "ROUGE-1", "coherence", "pearson") == 0.178
    assert math.isnan(
        papers.cell("semscore", "table_02", "GPT-4", "G-Eval-4", "rank")
    ), "a cell without a number"


# --- paper beside ours


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A printed table with three numbers and a dash in a checkout of its own."""
    monkeypatch.setenv("NLGEVAL_ROOT", str(tmp_path))
    folder = tmp_path / "data" / "paper_tables" / "hdeval"
    folder.mkdir(parents=True)
    (folder.parent / "kinds.csv").write_text(
        "paper,table,row,column,kind,method\nhdeval,*,*,*,LLM judge,a judge\n"
    )
    (folder / "index.csv").write_text(",".join(printed_tables.INDEX_COLUMNS) + "\n")
    (folder / "table_01.csv").write_text(
        "paper,table,row,column,statistic,value\n"
        "hdeval,table_01,b,x,pearson,0.090\n"
        "hdeval,table_01,a,x,pearson,\u22120.5\n"
        "hdeval,table_01,a,y,pearson,-\n"
        "hdeval,table_01,a,x,percent,12.3%\n",
        encoding="utf-8",
    )
    return folder


def ours(*rows, **columns):
    return pd.DataFrame(
        [dict(zip((*papers.KEY, "value"), row, strict=True)) for row in rows]
    ).assign(**columns)


@pytest.mark.parametrize("case", cases("papers_refused"), ids=str)
def test_what_is_unknown_or_malformed_is_refused(case, request):
    """A name that is not there, with the nearest; a malformed file; numbers of ours
    that cannot be compared.
    """
    call = case["call"]
    given = case["with"]
    small = request.getfixturevalue("small") if call in ("file", "compare") else None
    with pytest.raises(ValueError, match=case["said"]):
        if call == "file":
            (small / "table_01.csv").write_bytes(given.encode())
            papers.load("hdeval", "table_01")
        elif call == "compare":
            rows = [
                [math.inf if value == "inf" else value for value in row]
                for row in given["rows"]
            ]
            mine = ours(*rows, **given["columns"]).drop(columns=given.get("drop", []))
            papers.compare("hdeval", "table_01", mine)
        else:
            getattr(papers, call)(*given)


def test_compare_gives_a_verdict_for_every_printed_number_and_a_missing_value_keeps_its_reason(
    small,
):
    mine = ours(
        ("a", "x", "pearson", -0.56),
        ("b", "x", "pearson", 0.0905),
        n=300,
        route="public",
        signature="s",
    )
    cells = papers.compare("hdeval", "table_01", mine, reason="no GPU")
    assert tuple(cells.columns) == RESULT
    assert cells["verdict"].tolist() == ["equal", "differs", "missing"]
    assert cells["printed"].tolist() == ["0.090", "\u22120.5", "12.3%"]
    assert cells["difference"].tolist()[:2] == [0.0005, -0.06] and math.isnan(
        cells["difference"][2]
    )
    assert cells["reason"].tolist() == ["", "", "no GPU"]
    assert cells["n"].tolist()[:2] == [300, 300] and cells["n"].isna()[2]
    assert cells["route"].tolist() == ["public", "public", ""]

    mine = ours(("a", "x", "pearson", math.nan), ("b", "x", "pearson", None)).assign(
        reason=["constant scores", None]
    )
    cells = papers.compare("hdeval", "table_01", mine).set_index(
        ["row", "column", "statistic"]
    )
    assert cells.loc[("a", "x", "pearson"), "reason"] == "constant scores"
    assert "no reason was given" in cells.loc[("b", "x", "pearson"), "reason"]
    assert set(cells["verdict"]) == {"missing"}


def test_what_is_lacking_has_the_reason_of_its_cell_then_column_then_row():
    done = pd.DataFrame(
        {"row": ["BLEU"], "column": ["BAGEL"], "statistic": ["pearson"], "value": [0.0]}
    )
    why = {
        ("BARTScore", "OpenMEVA"): "no room",
        "IWSLT14": "no data",
        "BARTScore": "no model",
    }
    cells = papers.compare("coascore", "table_02", done, reason="later", lacking=why)
    reasons = cells[cells["statistic"] == "kendall"].set_index(["row", "column"])[
        "reason"
    ]
    assert reasons["BARTScore", "OpenMEVA"].endswith("; no room") and reasons[
        "BARTScore", "BAGEL"
    ].endswith("; no model")
    assert (
        reasons["BARTScore", "IWSLT14"].endswith("; no data")
        and reasons["BLEU", "BAGEL"] == "later"
    )
    with pytest.raises(ValueError, match="prints no row or column"):
        papers.compare("coascore", "table_02", done, lacking={"BLEURT": "no model"})


def test_extras_come_last_and_only_when_meant(small):
    mine = ours(
        ("c", "x", "pearson", 0.1),
        ("a", "y", "pearson", 0.2),
        ("a", "x", "pearson", -0.5),
    )
    with pytest.raises(
        ValueError, match=r"no such cell: \[c / x / pearson\].*row 'c'.*extra=True"
    ):
        papers.compare("hdeval", "table_01", mine)
    cells = papers.compare(
        "hdeval", "table_01", mine.assign(extra=[True, False, False])
    )
    assert cells["verdict"].tolist() == [
        "missing",
        "equal",
        "missing",
        "extra",
        "extra",
    ]
    assert cells["row"].tolist() == ["b", "a", "a", "c", "a"]
    assert "holds no number: '-'" in cells["reason"].iloc[-1]
    with pytest.raises(ValueError, match="marked extra"):
        papers.compare("hdeval", "table_01", mine.assign(extra=True))


def test_a_byte_order_mark_and_cells_without_a_single_number_are_taken(small):
    cells = ["<0.05", "1-5", "0.3 (0.1)", "A (best)", "-", "1,600", ".36"]
    rows = "".join(
        f'hdeval,table_01,r{n},x,pearson,"{cell}"\r\n' for n, cell in enumerate(cells)
    )
    (small / "table_01.csv").write_bytes(
        b"\xef\xbb\xbfpaper,table,row,column,statistic,value\r\n" + rows.encode()
    )
    assert papers.load("hdeval", "table_01")["number"].dropna().tolist() == [1600, 0.36]


@pytest.mark.parametrize(("paper", "table"), FILES)
def test_a_paper_agrees_with_itself(paper, table):
    frame = papers.load(paper, table)
    mine = frame[frame["number"].notna()][[*papers.KEY, "number"]].rename(
        columns={"number": "value"}
    )
    cells = papers.compare(paper, table, mine)
    assert set(cells["verdict"]) == {"equal"} and (cells["difference"] == 0).all()
