"""`nlgeval doctor` says what a file supports, and a next command that runs as printed."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cli_tools import call, cases

from judgecard.file_contents import content

FILES = {case["text"]: case for case in cases("real_files")}.values()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def next_command(text: str) -> list[str]:
    """The words of the command that a report ends with."""
    [line] = [line for line in text.splitlines() if line.startswith("next ")]
    return shlex.split(line.removeprefix("next"))[1:]


def own_rows(**more: Any) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    quality = rng.normal(3, 1, 60)
    raters = {}
    for name in ("anna", "ben"):
        noisy = quality + rng.normal(0, 0.5, 60)
        raters[name] = np.clip(noisy.round(), 1, 5).astype(int)
    questions = [f"what is the matter with number {n}?" for n in range(60)]
    replies = [f"it is the {n}th of all these numbers" for n in range(60)]
    frame = pd.DataFrame({"question": questions, "reply": replies, **raters})
    return frame.assign(**{name: value(quality) for name, value in more.items()})


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("case", FILES, ids=lambda case: case["name"])
def test_the_next_command_runs_as_printed(case, here, monkeypatch, capsys):
    (here / case["file"]).write_text(case["text"], encoding="utf-8")
    got = call(monkeypatch, capsys, "doctor", case["file"])
    steps = 0
    while "\nnext " in got.out:
        words = next_command(got.out)
        assert steps < 3 or words[0] != "doctor", got.out
        got = call(monkeypatch, capsys, *words)
        steps += 1
    if steps:
        assert got.code == 0, (words, got.err)
    else:
        assert "cannot be used" in got.out or "no command serves" in got.out


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("more", "command"),
    [
        ({}, "card"),
        ({"judge": lambda quality: quality.round(2)}, "meta"),
        ({"anna": lambda _: "", "ben": lambda _: ""}, "label"),
    ],
)
def test_own_columns_lead_to_a_command(more, command, here, monkeypatch, capsys):
    own_rows(**more).to_csv(here / "own.csv", index=False)
    got = call(monkeypatch, capsys, "doctor", "own.csv")
    words = next_command(got.out)
    assert words[0] == command
    assert "output=reply" in words
    if command != "label":
        assert {"rater_1=anna", "rater_2=ben"} <= {*words}
    assert call(monkeypatch, capsys, *words).code == 0


@pytest.mark.usefixtures("undrawn")
def test_own_pairs_lead_to_a_card(here, monkeypatch, capsys):
    rows = own_rows()
    winners = np.where(rows["anna"] > rows["ben"], "A", "B")
    pairs = rows[["question"]].assign(
        text_a=rows["reply"], text_b=rows["reply"].str.upper(), winner=winners
    )
    pairs.to_csv(here / "pairs.csv", index=False)
    words = next_command(call(monkeypatch, capsys, "doctor", "pairs.csv").out)
    assert words[:3] == ["card", "-e", "preference"]
    assert {"output_1=text_a", "output_2=text_b", "preference=winner"} <= {*words}
    assert "120" in call(monkeypatch, capsys, *words).out  # both orders


def test_raters_of_usual_names_are_said(here, monkeypatch, capsys):
    frame = own_rows(judge=lambda quality: quality.round(2))
    names = {"anna": "rater_1", "ben": "rater_2"}
    frame.rename(columns=names).to_csv(here / "own.csv", index=False)
    words = next_command(call(monkeypatch, capsys, "doctor", "own.csv").out)
    assert words[words.index("--human") + 1] == "rater_*"
    assert call(monkeypatch, capsys, *words).code == 0


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["yes", "no"] * 6, "rating", "no=0,yes=1"),
        (["Agree", "Neutral"] * 6, "rating", "Neutral=3,Agree=4"),
        (["5 - good", "1 - bad"] * 6, "rating", "N - *"),
        (["4/5", "5/5"] * 6, "rating", "N/5"),
        (["cat", "dog"] * 6, "label", ""),
        ([1, 5, 3, None] * 6, "rating", ""),
        ([0.1 * n for n in range(40)], "number", ""),
        ([f"a sentence with a number {n}" for n in range(9)], "text", ""),
        ([None, ""], "empty", ""),
    ],
)
def test_what_cells_are(cells, kind, values):
    found = content("column", cells)
    assert (found.kind, found.values) == (kind, values)
