"""Outputs that cannot be written, and streams that are closed or know few characters: told first, nothing lost."""

from __future__ import annotations

import io
import json
import os
import sys
from decimal import Decimal

import pandas as pd
import pytest
from cli_tools import RUBRIC, asks, jsonl, rows

from nlgeval_lib import cli, evaluators, scoring
from nlgeval_lib.records import Judgment, Status
from nlgeval_lib.scoring import score_files

HALF = "Feedback: half \ud800 a character. [RESULT] 4"


@pytest.fixture
def mine(nl, tmp_path):
    """`mine.jsonl`: rows with all that Prometheus and BLEU need; `taken` is a file, `folder.csv` a folder."""
    jsonl(tmp_path / "mine.jsonl", rows(3, reference="an answer", rubric=RUBRIC))
    (tmp_path / "taken").write_text("here")
    (tmp_path / "folder.csv").mkdir()
    return nl


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_half_a_character_of_a_judge_loses_no_scores(mine, judge, tmp_path, ending):
    call = ("score", "-e", "prometheus", "-i", "mine.jsonl", "-s", "n=1", "-q", "--raw", "raw.jsonl")
    got = mine(*call, *asks(judge(lambda prompt: HALF), "--engine-set", "dialect=vllm"), "-o", f"s.{ending}")
    assert got.code == 0 and "3 scored (100.0%); mean 4" in got.out, got.err
    again = mine("parse", "-p", "last_number", "--column", "feedback", f"s.{ending}")
    assert again.code == 1 and "3 texts: 3 unparsed" in again.out  # read back: the feedback has no number
    assert "half \ufffd a" in (tmp_path / "raw.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_half_a_character_of_a_parser_is_spelt_out(tmp_path, ending):
    """A judge that writes JSON may escape one in its text, which is read later."""
    half = "half \ud800"
    data = scoring.checked(scoring.of_frame(pd.DataFrame({"output": ["a", "b"]}), "mine"))
    judgments = [Judgment(4.0, details={"note": half, half: [half, {half: 1}]}), Judgment.missing(Status.EMPTY, half)]
    scored = evaluators.score_frame(data.frame.index, judgments)
    scored = scored.assign(details=pd.Series([dict(one.details) for one in judgments], scored.index, dtype=object))
    path = tmp_path / f"s.{ending}"
    file = score_files.ScoreFile(str(path))
    file.keep(0, data, scored)
    file.write(data)
    found = scoring.read(path).frame
    assert found["reason"].tolist()[1] == found["note"].tolist()[0] == r"half \ud800"
    assert "half" in str(found["details"].tolist()[0])


@pytest.mark.parametrize("place", ["folder.csv", "taken/s.csv", "taken/deeper/s.csv", "n" * 300 + ".csv"])
def test_an_output_that_cannot_be_written_is_told_before_the_work(mine, monkeypatch, tmp_path, place):
    monkeypatch.setattr(evaluators.get("bleu"), "score", lambda *_: pytest.fail("the work was done first"))
    (tmp_path / "rated.csv").write_text("value,human\n1,1\n2,3\n3,2\n")
    for call in (
        ("score", "-e", "bleu", "-i", "mine.jsonl", "-o", place),
        ("meta", "rated.csv", "-o", place),
        ("parse", "-p", "last_number", "mine.jsonl", "--column", "output", "-o", place),
    ):
        got = mine(*call)
        assert got.code == 2 and f"error: cannot write {place}: " in got.err, got.err
    assert (tmp_path / "taken").read_text() == "here" and not list(tmp_path.glob(".*"))


def test_a_reference_of_100_000_brackets_is_a_text(mine, tmp_path):
    jsonl(tmp_path / "deep.jsonl", rows(1, references="[" * 100_000))
    assert mine("score", "-e", "bleu", "-i", "deep.jsonl", "-o", "s.csv").code == 0


def test_ratings_may_be_decimals(mine, tmp_path):
    ratings = [Decimal("1.5"), Decimal("2"), None, Decimal("3.25")]
    pd.DataFrame({"value": [1, 2, 3, 4], "human": ratings}).to_parquet(tmp_path / "d.parquet")
    got = mine("meta", "d.parquet", "--coef", "spearman", "--format", "jsonl", "--no-baselines", "--ci", "none")
    [one] = map(json.loads, got.out.splitlines()[:1])
    assert one["value"] == pytest.approx(1.0, abs=1e-12) and one["n"] == 3


def test_standard_input_that_is_closed_is_told(mine, monkeypatch):
    for stream in (None, open(os.devnull, encoding="utf-8")):  # noqa: SIM115 - closed below
        if stream is not None:
            stream.close()
        monkeypatch.setattr(sys, "stdin", stream)
        for call in (("score", "-e", "bleu", "-i", "-", "--format", "csv", "-o", "s.csv"), ("parse", "-p", "feedback")):
            got = mine(*call)
            assert got.code == 2 and "standard input is closed" in got.err


def test_closed_streams_and_plain_terminals_stop_nothing(mine, monkeypatch, tmp_path):
    plain = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "argv", ["nlgeval", "score", "-e", "bleu", "-i", "mine.jsonl", "-o", "日本.csv"])
    monkeypatch.setattr(sys, "stdout", plain)
    monkeypatch.setattr(sys, "stderr", None)
    with pytest.raises(SystemExit) as end:
        cli.main()
    plain.flush()
    assert end.value.code == 0 and rb"written: \u65e5\u672c.csv" in plain.buffer.getvalue()
    assert (tmp_path / "日本.csv").is_file()
