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
from nlgeval_lib.scoring import InputError, reading
from nlgeval_lib.store import Store

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


def test_one_text_from_standard_input(nl):
    got = nl(*RATING, stdin="The answer is fluent. Score: 4/5\n")
    assert got.code == 0 and got.out.splitlines()[:3] == [
        "value          4.0",
        "status         ok",
        "rule           label",
    ]
    got = nl(*RATING, stdin="No idea.")
    assert got.code == 1 and "unparsed" in got.out and "reason" in got.out
    got = nl(
        "-p", "error_analysis", stdin="The model-generated output contains 0 errors, with a total score reduction of 0."
    )
    assert got.code == 0 and "value          0.0" in got.out and "consistent" not in got.out


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


def test_lines_and_labels(nl):
    stdin = "Fluency: 2, Coherence: 4\nCoherence: 5\n\nFluency: 1\n"
    got = nl(*RATING, "--label", "Coherence", "--format", "lines", stdin=stdin)
    assert got.out.startswith("4 texts: 2 ok (50.0%)") and "values: 4: 1, 5: 1" in got.out


def test_a_text_file_is_one_text(nl, tmp_path):
    (tmp_path / "a.txt").write_text("\ufeffFeedback: fine.\n\n[RESULT] 4", encoding="utf-8")
    got = nl("-p", "feedback", "a.txt")
    assert got.code == 0 and "value          4.0" in got.out and "feedback       fine." in got.out


def test_parsers_with_other_values(nl):
    choices = 'choices={"A": 1, "B": 0}'
    assert "value          0\n" in nl("-p", "multiple_choice", "-s", choices, stdin="Answer: B").out
    assert "value          A" in nl("-p", "preference", stdin="[RESULT] A").out
    listed = nl("-p", "aspects", stdin="Aspect1: wit, is it funny?\nAspect2: truth, is it true?").out
    assert "'name': 'Aspect1'" in listed or "wit" in listed


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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "which parser?"),
        (["-p", "ratings"], "no parser 'ratings'; did you mean 'rating'?"),
        (["-p", "rating"], "parser rating needs --set low=..., --set high=..."),
        (["-p", "rating", "--low", "1", "--high", "five"], "--set high=five: a number is needed"),
        (["-p", "rating", "--low", "5", "--high", "1"], "a scale needs low < high"),
        (["-p", "feedback", "--label", "x"], "parser feedback has no option 'label'"),
        ([*RATING, "none.jsonl"], "cannot read none.jsonl"),
        ([*RATING, "none.txt"], "cannot read none.txt"),
        ([*RATING, "raw.csv"], "which column has the texts? Give --column; columns: a, b"),
        ([*RATING, "raw.csv", "--column", "c"], "has no column 'c'"),
        ([*RATING, "num.jsonl"], "num.jsonl, line 1, column 'text': int where a text is needed"),
        ([*RATING, "-"], "standard input is empty"),
        ([*RATING, "raw.csv", "--store", "x"], "either a file or --store"),
        ([*RATING, "raw.csv", "--model", "x"], "give --store"),
        ([*RATING, "raw.csv", "--column", "a", "-o", "x.json"], "jsonl, csv, tsv or parquet"),
    ],
)
def test_wrong_calls_end_with_2(nl, tmp_path, arguments, said):
    (tmp_path / "raw.csv").write_text("a,b\n1,2\n")
    (tmp_path / "num.jsonl").write_text('{"text": 3}\n')
    got = nl(*arguments)
    assert got.code == 2 and said in got.err and "Traceback" not in got.err


def test_every_parser_can_be_named(nl):
    listed = nl("--list").out
    assert all(name in listed for name in reading.PARSERS)
    with pytest.raises(InputError, match="needs --set choices"):
        reading.parser("multiple_choice")
