"""Files and names that were not meant well: nothing is overwritten, run, or read as
another number.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pandas as pd
import pytest
from cli_tools import cases

META = ("meta", "--coef", "pearson", "--n-boot", "40", "--no-compare", "--no-baselines")
NAMES = [
    '=HYPERLINK("http://x","y")',
    "<script>alert(1)</script>",
    "a|b\nc",
    "\x1b[31mred",
    "[x](javascript:1)",
    "-1",
]


@pytest.fixture
def rated(nl, tmp_path):
    """`rows.csv`: five rated rows for each name."""
    with open(tmp_path / "rows.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["aspect", "output", "reference", "value", "human"])
        out.writerows(
            [name, f"{{reference}} {n}", "two", n % 4, (n * 3) % 5]
            for name in NAMES
            for n in range(5)
        )
    return nl


def test_names_are_shown_and_never_run(rated, tmp_path):
    text = rated(*META, "rows.csv").out
    assert "\x1b" not in text and "\\x1b[31mred" in text and "a|b\\nc" in text
    rated(*META, "rows.csv", "--format", "markdown", "-o", "t.md")
    table = (tmp_path / "t.md").read_text()
    assert (
        "<script>" not in table
        and "&lt;script&gt;" in table
        and "\\[x\\](javascript:1)" in table
    )
    for block in re.findall(r"(?:^\|.*\n)+", table, re.MULTILINE):
        bars = {line.replace("\\|", "").count("|") for line in block.splitlines()}
        assert len(bars) == 1
    rated(*META, "rows.csv", "--format", "csv", "-o", "t.csv")
    found = pd.read_csv(tmp_path / "t.csv")["group"].tolist()
    assert found == ["'" + NAMES[0], *NAMES[1:]]


@pytest.mark.parametrize(
    "call",
    [
        ("meta", "rows.csv", "-o", "link.csv"),
        (
            "parse",
            "-p",
            "first_number",
            "--column",
            "output",
            "rows.csv",
            "-o",
            "./rows.csv",
        ),
        (
            "score",
            "-e",
            "bleu",
            "-i",
            "rows.csv",
            "--column",
            "s",
            "-o",
            "rows.csv",
            "--only-scores",
        ),
        (
            "score",
            "-e",
            "bleu",
            "-i",
            "rows.csv",
            "--column",
            "s",
            "-o",
            "s.csv",
            "--raw",
            "s.csv",
        ),
    ],
)
def test_the_input_is_never_lost_to_the_output(rated, tmp_path, call):
    (tmp_path / "link.csv").symlink_to("rows.csv")
    before = (tmp_path / "rows.csv").read_bytes()
    got = rated(*call)
    assert got.code == 2 and "name another file" in got.err
    assert (tmp_path / "rows.csv").read_bytes() == before and not (
        tmp_path / "s.csv"
    ).exists()


# -- files of `cases/bad_files.jsonl`: what the commands say of each, and how they end


CASES = cases("bad_files")
COMMANDS = {
    "score": ("score", "-e", "bleu", "-o", "s.csv", "-i"),
    "meta": ("meta", "--coef", "pearson", "--ci", "none"),
    "parse": ("parse", "-p", "last_number"),
    "rubric": (
        "score",
        "-e",
        "prometheus",
        "--data",
        "mini",
        "-o",
        "s.csv",
        "--rubric",
    ),
}


def make(case: dict, path: Path) -> None:
    """The file: its text (repeated so many `times`, or ended by so many of `then`),
    its bytes, or rows of parquet.
    """
    times = case.get("times", 1)
    if "text" in case:
        said = (
            case["text"] + case["then"] * times
            if "then" in case
            else case["text"] * times
        )
        path.write_bytes(said.encode())
    elif "hex" in case:
        path.write_bytes(bytes.fromhex(case["hex"]))
    elif "rows" in case:
        pd.DataFrame(
            case["rows"], columns=None if case["rows"] else ["output", "reference"]
        ).to_parquet(path)
        whole = path.read_bytes()
        path.write_bytes(whole[: int(len(whole) * case.get("cut", 1))])
    elif "link" in case:
        path.symlink_to(case["link"])
    elif case.get("folder"):
        path.mkdir()


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_bad_file_is_named_with_its_place(case, nl, tmp_path):
    path = tmp_path / case["file"]
    make(case, path)
    got = nl(
        *COMMANDS[case.get("command", "score")], case["file"], *case.get("args", ())
    )
    assert case["said"] in got.out + got.err and got.code == case["code"], (
        got,
        case["said"],
    )
    assert "Traceback" not in got.err and "\x1b" not in got.out + got.err
    if got.code == 2:
        # before the error stands how the file was read, where that is known
        *notes, error = got.err.splitlines()
        assert error.startswith("error: ")
        assert all(note.startswith("note: ") for note in notes)
        assert [one.name for one in tmp_path.iterdir() if one.name != "state"] in (
            [case["file"]],
            [],
        )


def test_a_plugin_that_is_no_python_file_is_said(rated):
    got = rated("score", "-e", "bleu", "-i", "rows.csv", "--plugin", "rows.csv")
    assert got.code == 2
    assert "plugin rows.csv: no Python file; its name must end in .py" in got.err
