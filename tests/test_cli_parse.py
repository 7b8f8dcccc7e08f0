"""`nlgeval parse`: values, statuses and rules of texts that are here already."""

from __future__ import annotations

import io
import json
import re
import sys

import pandas as pd
import pytest
from cli_tools import call, jsonl

from nlgeval_lib import parsers
from nlgeval_lib.engines import Sampling, ScriptedEngine, complete
from nlgeval_lib.engines.store import Store
from nlgeval_lib.scoring import InputError, parsing

TEXTS = ["Score: 4", "I'd give it 3 out of 5.", "", "It is hard to say.", "Score: 9", "Score: 4"]


@pytest.fixture
def nl(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NLGEVAL_STATE", str(tmp_path / "state"))

    def run(*arguments, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        return call(monkeypatch, capsys, "parse", *arguments)

    return run


RATING = ("-p", "rating", "--low", "1", "--high", "5")


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_files_texts_with_their_columns(nl, tmp_path, ending):
    frame = pd.DataFrame({"id": range(6), "answer": TEXTS, "value": "mine"})
    path = f"raw.{ending}"
    if ending == "jsonl":
        jsonl(tmp_path / path, frame.to_dict("records"))
    else:
        getattr(frame, f"to_{ending}")(path, index=False)
    got = nl(*RATING, path, "--output", "read.jsonl", "--examples", "1")
    assert got.code == 0, got.err
    assert got.out.startswith("6 texts: 3 ok (50.0%)") and "1 empty" in got.out and "1 out_of_range" in got.out
    assert re.search(r"label +ok +2 +33\.3%", got.out) and "values: 3: 1, 4: 2" in got.out
    assert "9 is outside 1 to 5" in got.out and "<- 'Score: 4'" in got.out and "<- 'Score: 9'" in got.out
    found = [json.loads(line) for line in (tmp_path / "read.jsonl").read_text().splitlines()]
    wanted = [parsers.rating(text, 1, 5) for text in TEXTS]
    assert [one["status"] for one in found] == [one.status.value for one in wanted]
    assert [one["value"] for one in found] == [one.value if one.ok else None for one in wanted]
    assert [one["rule"] for one in found] == [one.rule for one in wanted]
    assert str(found[0]["id"]) == "0" and found[0]["value (before)"] == "mine" and "answer" not in found[0]


def test_everything_that_is_stored(nl, tmp_path):
    store = Store(tmp_path / "kept")
    sampling = Sampling(temperature=1.0, n=2)
    said = ["Score: 4", "Score: 5", "Score: 1", "none"]
    complete(ScriptedEngine(said, model="one"), ["a", "b"], sampling, store)
    complete(ScriptedEngine(["Score: 2", "Score: 2"], model="two"), ["a"], sampling, store)
    store.close()
    got = nl(*RATING, "--store", "kept", "--model", "one", "--output", "read.csv")
    assert got.out.startswith("4 texts: 3 ok (75.0%)")
    frame = pd.read_csv("read.csv")
    assert frame["value"].tolist()[:3] == [4, 5, 1] and frame["model"].tolist() == ["one"] * 4
    assert nl(*RATING, "--store", "kept").out.startswith("6 texts: 5 ok")
    got = nl(*RATING, "--store", "kept", "--model", "three")
    assert got.code == 2 and "has nothing of 'three'; it has one, two" in got.err


def test_every_parser_can_be_named(nl):
    listed = nl("--list").out
    assert all(name in listed for name in parsing.PARSERS)
    with pytest.raises(InputError, match="needs --set choices"):
        parsing.parser("multiple_choice")
