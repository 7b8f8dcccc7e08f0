"""Each printed cell stands where its witness says, and a changed digit is found."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from pathlib import Path

import pytest

from reproduction.papers import PAPERS, parse, witnesses

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT.parent / "shared" / "papers", ROOT.parents[1] / "shared" / "papers")
TEXTS = next((folder for folder in FOLDERS if folder.is_dir()), FOLDERS[0])
needs_texts = pytest.mark.skipif(
    not TEXTS.is_dir(), reason="the papers' texts are not beside the checkout"
)
LEAST = 0.95  # of a paper's cells that have a place
STANDS = [
    ("0.123", "<b>0.123</b>", 3, True),
    ("0.123", "0.1234", 0, False),
    ("123", "0.123", 2, False),
    ("5", "GPT-3.5", 6, False),
    ("-0.5", "\u22120.5", 0, True),
    ("0.5", "a \u22120.5", 3, False),
    ("5", "from 1-5 points", 7, True),
    ("15%", "by 15 \\% more", 3, True),
    ("15", "by 15% more", 3, False),
    ("7", "Llama 7B", 6, False),
    ("1222", "in 1,222 rubrics", 3, True),
    ("five", "Five tasks", 0, True),
    ("5", "five tasks", 0, True),
    ("5", "fiver tasks", 0, False),
    ("WMT-22", "of WMT-22 only", 3, True),
    ("WMT-2", "of WMT-22 only", 3, False),
    ("Wow really", "**Wow, really?**", 2, True),
]


@pytest.mark.parametrize(("printed", "line", "position", "wanted"), STANDS)
def test_a_printed_string_stands_at_a_place(
    printed: str, line: str, position: int, wanted: bool
) -> None:
    assert witnesses.stands(printed, line, position) is wanted


@pytest.mark.parametrize("paper", PAPERS)
def test_every_cell_has_a_place_or_a_reason(paper: str) -> None:
    assert witnesses.broken(paper) == []
    rows = witnesses.read(paper)
    assert (rows["basis"] != "").all()
    assert ((rows["line"] == "") == (rows["position"] == "")).all()
    assert (rows["line"] != "").mean() >= LEAST


@needs_texts
@pytest.mark.parametrize("paper", PAPERS)
def test_every_witnessed_cell_stands_at_its_place(paper: str) -> None:
    known = witnesses.texts()[paper]
    content = (TEXTS / known["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == known["sha256"]
    assert witnesses.misplaced(paper, content.decode()) == []


@needs_texts
@pytest.mark.parametrize("paper", PAPERS)
def test_a_number_of_a_table_is_there_character_by_character(paper: str) -> None:
    text = (TEXTS / f"{paper}.txt").read_text(encoding="utf-8")
    lines = text.translate(str.maketrans("\u2212\u2013", "--")).splitlines()
    printed = witnesses.cells(paper)
    places: Counter[tuple[str, str]] = Counter()
    for row in witnesses.read(paper).to_dict("records"):
        number = printed[row["table"], row["row"], row["column"], row["statistic"]]
        if row["basis"] == "in its table" and parse(number).value is not None:
            line = lines[int(row["line"]) - 1]
            assert line[int(row["position"]) :].startswith(number), row
            places[row["line"], row["position"]] += 1
    assert set(places.values()) <= {1}  # no number is the witness of two cells


@needs_texts
def test_a_changed_digit_is_not_at_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = tmp_path / "data" / "paper_tables"
    shutil.copytree(ROOT / "data" / "paper_tables", tables)
    monkeypatch.setenv("NLGEVAL_ROOT", str(tmp_path))
    path = tables / "hdeval" / "table_01.csv"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("coherence,pearson,0.178", "coherence,pearson,0.179"))
    faults = witnesses.broken("hdeval")
    assert [fault.file for fault in faults] == ["data/paper_tables/hdeval/table_01.csv"]
    assert "ROUGE-1 / coherence / pearson" in faults[0].message
    lines = (TEXTS / "hdeval.txt").read_text(encoding="utf-8")
    assert len(witnesses.misplaced("hdeval", lines)) == 1
