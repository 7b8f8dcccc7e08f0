"""What the tests of the command line share; `conftest` hands the fixtures out."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hostile_server import JudgeServer

from judgecard.cards import Card
from nlgeval_lib import cli
from nlgeval_lib.datasets.numbers import HashedText
from reproduction import saved_numbers as build

KEY = "sk-secret-test"
RUBRIC = "[Is the answer right?]\nScore 1: no\nScore 2: hardly\nScore 3: partly\nScore 4: mostly\nScore 5: yes"


def cases(name: str) -> list[dict[str, Any]]:
    """The lines of `cases/NAME.jsonl`."""
    return [
        json.loads(line)
        for line in (Path(__file__).parent / "cases" / f"{name}.jsonl").open(
            encoding="utf-8"
        )
    ]


def frame_hash(frame: pd.DataFrame) -> str:
    """Of a frame's columns, their types, its rows in order, and what it is about."""
    about = repr(
        [list(frame.columns), [str(kind) for kind in frame.dtypes], frame.attrs]
    )
    rows = (
        pd.util.hash_pandas_object(frame.astype(str), index=False).to_numpy().tobytes()
    )
    return hashlib.sha256(about.encode() + rows).hexdigest()[:16]


def numbers_hash(frame: pd.DataFrame) -> str:
    """`frame_hash` with each text replaced by the number of different texts before it:
    the same with the texts at hand and with their hashes alone.
    """
    outline = frame.copy()
    for column in frame.columns.intersection([*build.PROSE, "references"]):
        texts = np.empty(len(frame), dtype=object)
        texts[:] = list(frame[column])
        outline[column] = pd.factorize(texts)[0]
    return frame_hash(outline)


def has_texts(frame: pd.DataFrame) -> bool:
    """Whether a frame holds texts, not their hashes alone."""
    prose = frame[frame.columns.intersection(build.PROSE)]
    return not prose.map(lambda text: isinstance(text, HashedText)).any(axis=None)


class Called(NamedTuple):
    """What a call of `nlgeval` came to."""

    code: int
    out: str
    err: str


def call(monkeypatch: Any, capsys: Any, *arguments: str) -> Called:
    """`nlgeval ARGUMENTS`, through the real entry point."""
    monkeypatch.setattr(sys, "argv", ["nlgeval", *map(str, arguments)])
    capsys.readouterr()
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    got = capsys.readouterr()
    return Called(code, got.out, got.err)


def run(*words: str) -> int:
    """The exit code of `nlgeval WORDS`, through the real entry point."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["nlgeval", *words])
        try:
            cli.main()
        except SystemExit as end:
            return int(end.code or 0)
    return 0


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A JSON Lines file of these rows."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def rows(n: int = 6, **more: Any) -> list[dict[str, Any]]:
    """Rows of two systems; `more` adds columns, the same text for all or a function
    of the row's number.
    """
    return [
        {
            "input_id": i // 2,
            "system_id": "AB"[i % 2],
            "output": f"answer {i}",
            "instruction": "say it",
            "human": 1 + i % 3,
        }
        | {name: value(i) if callable(value) else value for name, value in more.items()}
        for i in range(n)
    ]


def asks(server: Any, *more: str) -> tuple[str, ...]:
    """The options that name a judge server."""
    return ("--engine", "openai", "--base-url", server.url, "--model", "judge", *more)


def refused(of: str) -> list[tuple[list[str], str]]:
    """Calls that end with 2, and what they say: `cases/calls_refused.jsonl`."""
    return [
        (one["arguments"], one["said"])
        for one in cases("calls_refused")
        if one["of"] == of
    ]


@pytest.fixture
def command(monkeypatch, capsys):
    """`command("run", ...)` calls the command line where the test stands."""
    return lambda *arguments: call(monkeypatch, capsys, *arguments)


@pytest.fixture
def nl(command, tmp_path, monkeypatch):
    """`nl("score", ...)` calls the command line in an empty folder, with a state
    folder of its own and a key.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NLGEVAL_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return command


@pytest.fixture
def judge():
    """`judge(reply)` starts a judge server whose answers are `reply(prompt)`."""
    made = []

    def start(reply):
        made.append(JudgeServer(reply))
        return made[-1]

    yield start
    for one in made:
        one.stop()


@pytest.fixture
def undrawn(monkeypatch):
    """Cards have no figures, as where matplotlib is not installed: to draw them takes
    half the time of a card.
    """
    monkeypatch.setattr(Card, "pictures", lambda card: {})
