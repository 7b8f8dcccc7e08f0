"""Files that would take a machine's memory or time, and locks that others hold."""

from __future__ import annotations

import functools
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from cli_tools import KEY, asks, jsonl, rows

from nlgeval_lib.engines.store import Store, StoreError
from nlgeval_lib.files import replacing
from nlgeval_lib.scoring import read

NLGEVAL = [sys.executable, "-m", "nlgeval_lib"]
ROOT = Path(__file__).parents[2]


# -- files


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"output": "a", "deep": ' + "[" * 600 + "]" * 600 + "}",
            "more than 100 deep",
        ),
        ('{"output": "a", "deep": ' + '{"a":' * 600 + "1" + "}" * 601, "100 deep"),
        ('{"output": "a", "name\\ud800": 1}', "half a character (\\ud800)"),
    ],
)
def test_a_row_that_cannot_be_kept_names_its_file(
    nl, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "in.jsonl").write_text(text + "\n")
    done = nl("score", "-e", "rouge", "-i", "in.jsonl", "-o", "out.csv")
    assert done.code == 2 and message in done.err
    assert done.err.startswith("error: in.jsonl, ")
    assert "Traceback" not in done.err


def test_a_value_of_a_hundred_levels_is_read(tmp_path: Path) -> None:
    value = "[" * 100 + "]" * 100
    (tmp_path / "in.jsonl").write_text('{"output": "a", "deep": ' + value + "}\n")
    assert read(tmp_path / "in.jsonl").columns == ["output", "deep"]


def test_columns_that_nobody_reads_are_not_read_one_by_one(
    nl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How often a column is checked does not grow with the columns beside it."""
    from nlgeval_lib.scoring.rows import Rows

    checked = []
    original = Rows.cells

    def counted(self, ours):
        checked.append(ours)
        return original(self, ours)

    monkeypatch.setattr(Rows, "cells", counted)
    names = [f"column_{number}" for number in range(1000)]
    header = ",".join(["output", "reference", *names])
    line = ",".join(["a cat", "the cat", *(["1"] * 1000)])
    (tmp_path / "in.csv").write_text(f"{header}\n{line}\n{line}\n")
    done = nl("score", "-e", "rouge", "-i", "in.csv", "-o", "out.csv")
    assert done.code == 0 and set(checked) == {"output", "reference"}
    saved = pd.read_csv(tmp_path / "out.csv")
    assert list(saved.columns[:1002]) == ["output", "reference", *names]
    assert (saved[names] == 1).all(axis=None)


# -- locks and signals


@pytest.fixture
def locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A store that another connection keeps to itself, and little patience."""
    monkeypatch.setattr("nlgeval_lib.engines.store._PATIENCE", 0.2)
    with Store(tmp_path / "s") as store:
        store.put_many((), ({"a": 1},))
    other = sqlite3.connect(tmp_path / "s/completions.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    yield tmp_path / "s"
    other.close()


def test_the_error_of_a_store_is_not_blamed_on_the_file_that_is_written(
    locked: Path, tmp_path: Path
) -> None:
    store = Store(locked)
    with (
        pytest.raises(StoreError, match="another process keeps it to itself") as caught,
        replacing(tmp_path / "raw.jsonl"),
    ):
        store.put_many((), ({"b": 2},))
    assert "raw.jsonl" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM"])
def test_a_terminal_that_is_closed_leaves_no_temporary_file(
    judge, tmp_path: Path, name: str
) -> None:
    server = judge(lambda prompt: server.over.wait() and "4")
    jsonl(tmp_path / "in.jsonl", rows(6, aspect="overall", source="s"))
    files = ["-i", "in.jsonl", "-o", "out.csv", "--raw", "raw.jsonl"]
    command = [*NLGEVAL, "score", "-e", "geval", *files]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": KEY}
    with subprocess.Popen(
        [*command, *asks(server, "--store", "s")],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        # a suite that was started by nohup has hangups ignored, and children inherit it
        preexec_fn=functools.partial(signal.signal, signal.SIGHUP, signal.SIG_DFL),
    ) as run:
        while not server.bodies:
            assert run.poll() is None
            server.over.wait(0.01)
        run.send_signal(signal.Signals[name])
        assert run.wait(60) == 130, run.stderr.read()
    assert not list(tmp_path.glob("*.tmp")) and not list(tmp_path.glob(".raw*"))
