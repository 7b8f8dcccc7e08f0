"""Files that were not meant well, `cases/bad_files.jsonl`: what the commands say of each, and how they end."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "bad_files.jsonl").read_text(encoding="utf-8").splitlines()
]
COMMANDS = {
    "score": ("score", "-e", "bleu", "-o", "s.csv", "-i"),
    "meta": ("meta", "--coef", "pearson", "--ci", "none"),
    "parse": ("parse", "-p", "last_number"),
}


def make(case: dict, path: Path) -> None:
    """The file: its text (repeated so many `times`, or ended by so many of `then`), its bytes, or rows of parquet."""
    times = case.get("times", 1)
    if "text" in case:
        said = case["text"] + case["then"] * times if "then" in case else case["text"] * times
        path.write_bytes(said.encode())
    elif "hex" in case:
        path.write_bytes(bytes.fromhex(case["hex"]))
    elif "rows" in case:
        pd.DataFrame(case["rows"], columns=None if case["rows"] else ["output", "reference"]).to_parquet(path)
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
    got = nl(*COMMANDS[case.get("command", "score")], case["file"], *case.get("args", ()))
    assert case["said"] in got.out + got.err and got.code == case["code"], (got, case["said"])
    assert "Traceback" not in got.err and "\x1b" not in got.out + got.err
    if got.code == 2:
        assert got.err.startswith("error: ") and got.err.count("\n") == 1
        assert [one.name for one in tmp_path.iterdir() if one.name != "state"] in ([case["file"]], [])


def test_there_are_at_least_93_of_them():
    assert len(CASES) >= 93
