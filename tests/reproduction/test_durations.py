"""How long a notebook takes, from a committed table of seconds."""

from __future__ import annotations

import os

import pytest

from nlgeval_lib import files
from reproduction.report import durations
from reproduction.runner import stale
from reproduction.study import catalogue
from tools import durations as tool


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("a,200,12", "Takes about 3 min, and 10 s once what it asks and computes"),
        ("a,,7.4", "Takes about 7 s (two cores)."),
        ("a,42,", "Takes about 40 s (two cores)."),
        ("a,,", ""),
        ("b,1,1", ""),
    ],
)
def test_seconds_are_said_in_words(tmp_path, monkeypatch, row, words):
    monkeypatch.setattr(files, "notebooks", lambda: tmp_path)
    assert durations.sentence("a") == ""
    (tmp_path / "durations.csv").write_text(f"output,cold,cached\n{row}\n")
    assert durations.sentence("a").startswith(words)
    assert bool(durations.sentence("a")) == bool(words)


def test_the_tool_writes_what_the_runs_took(tmp_path, monkeypatch, capsys):
    book = catalogue.load()
    first, second, third, fourth = [entry.id for entry in book.outputs][:4]
    monkeypatch.setattr(files, "state", lambda *parts: tmp_path.joinpath(*parts))
    monkeypatch.setattr(catalogue, "load", lambda: book)
    monkeypatch.setattr(files, "notebooks", lambda: tmp_path)
    (tmp_path / "durations.csv").write_text(
        f"output,cold,cached\n{first},90,5\n{second},8,\n{third},,2\ngone,1,1\n"
    )
    records = {
        first: stale.Record("ok", {}, 12.3),
        third: stale.Record("failed", {}, 1.0),
        fourth: stale.Record("ok", {}, 3.0),
    }
    for name, record in records.items():
        record.write(stale.record_path("full", name))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    assert tool.main("cached") == 0
    lines = (tmp_path / "durations.csv").read_text().splitlines()
    expected = {f"{first},90,12", f"{second},8,", f"{third},,2", f"{fourth},,3"}
    assert expected <= set(lines) and not any(line.startswith("gone") for line in lines)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    assert tool.main("cached") == 2 and "two" in capsys.readouterr().out
    assert (tmp_path / "durations.csv").read_text().splitlines() == lines
