"""What each judge of the catalogue asks about the first input of each output's rows: the same completions as ever."""

from __future__ import annotations

import csv
import functools
import hashlib
from pathlib import Path

import pytest

from nlgeval_lib import datasets
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.scoring import ProgressBar
from nlgeval_lib.study import EngineOptions, catalogue, judges

LISTED = catalogue.load()
# a row a question: rows of the first input, completions, and a hash over their keys (model at revision "r1")
with open(Path(__file__).parent / "cases" / "judges.csv", encoding="utf-8", newline="") as file:
    KEPT = {(row["output"], row["name"]): row for row in csv.DictReader(file)}


def answer(request, draw):
    text = request.text()
    if "Your task is to list" in text:
        return "\n".join(f"Aspect {k}: is it of kind {k}?" for k in range(1, 21))
    if "in JSON format" in text:
        return "{" + ", ".join(f'"Aspect {k}": {k % 5 + 1}' for k in range(1, 21)) + "}"
    return f"{1 + len(text) % 5} [RESULT] 3"


def test_every_judge_is_declared_once_and_every_question_is_kept():
    asked = [(one.evaluator, one.data, one.model, one.settings) for one in LISTED.judges]
    assert len(asked) == len(set(asked)) == 102
    assert [(one.output, one.name) for one in LISTED.questions] == list(KEPT)


@pytest.mark.parametrize("data", sorted({judge.data for judge in LISTED.judges}))
def test_the_completions_that_are_asked_for(data, needs, tmp_path, monkeypatch):
    needs(data)
    monkeypatch.setattr(judges, "QUICK_INPUTS", 1)
    monkeypatch.setattr(datasets, "load", functools.cache(datasets.load))
    questions = [one for one in LISTED.questions if one.judge.data == data]
    for number, (asked, question) in enumerate({one.asked: one for one in questions}.items()):
        engine = ScriptedEngine(answer, model=question.judge.model, revision="r1")
        options = EngineOptions("vllm", store=tmp_path / str(number), mode="quick")
        job = judges.job(question, options, engine)
        job.fill(ProgressBar(quiet=True))
        job.store.close()
        keys = sorted(ask.key for ask in engine.asked)
        found = [str(len(job.data)), str(len(keys)), hashlib.sha256(" ".join(keys).encode()).hexdigest()[:16]]
        for one in questions:
            if one.asked == asked:
                kept = KEPT[one.output, one.name]
                assert [kept["rows"], kept["completions"], kept["keys"]] == found, (one.output, one.name)
