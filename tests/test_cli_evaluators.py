"""Every registered evaluator from the command line."""

from __future__ import annotations

import pandas as pd
import pytest
import tiny_model
from cli_tools import RUBRIC, asks, jsonl, rows

from nlgeval_lib import evaluators
from nlgeval_lib.scoring import named

TEXTS = {
    "instruction": "say it",
    "source": "the source",
    "context": "the context",
    "reference": "answer 3",
    "rubric": RUBRIC,
    "aspect": "overall",
    "analysis": "no errors",
}
MORE = {
    "hdeval": ("-s", "aggregator=average", "-s", "task=general", "-s", "criteria=summeval"),
    "coascore": ("-s", "n=2"),
    "prometheus": ("-s", "repetition_penalty=1"),
    "tigerscore-reference": ("-s", "task=Summ"),
    "unieval": ("-s", "task=summarization", "-s", "aspect=coherence"),
}
JUDGES = [name for name in evaluators.names() if named.asks(name)]


@pytest.mark.parametrize("name", JUDGES)
def test_every_judge_from_the_command_line(nl, judge, tmp_path, name):
    server = judge(
        lambda prompt: "Aspect1: clarity, is it clear?\nAspect2: truth, is it true?" if "aspects" in prompt else "3"
    )
    jsonl(tmp_path / "my.jsonl", rows(3, **TEXTS))
    ask = ("-i", "my.jsonl", *asks(server), *MORE.get(name, ()))
    plan = nl("score", "-e", name, *ask, "--dry-run")
    assert plan.code == 0 and not server.bodies, plan.err
    got = nl("score", "-e", name, *ask, "-o", "s.csv")
    assert got.code in (0, 1) and server.bodies, got.err
    frame = pd.read_csv("s.csv", keep_default_na=False)
    assert len(frame) == 3 and (frame["status"].eq("ok") == frame["value"].ne("")).all()
    assert (frame["reason"].ne("") == frame["status"].ne("ok")).all()
    again = nl("score", "-e", name, *ask, "-o", "s.csv")
    assert ", 0 made" in again.out


def test_every_metric_from_the_command_line(nl, tmp_path, tiny_folder):
    jsonl(tmp_path / "my.jsonl", rows(3, **TEXTS))
    models = {"bartscore": tiny_model.build_seq2seq(tmp_path / "seq2seq"), "gptscore": tiny_folder}
    fixed = ("-s", 'fixed={"task": "Rate", "quality": "well"}')
    for name in sorted(set(evaluators.names()) - set(JUDGES) - {"words"}):
        more = ("--model", str(models[name])) if name in models else ()
        got = nl(
            "score",
            "-e",
            name,
            "-i",
            "my.jsonl",
            *more,
            *(fixed if name == "gptscore" else MORE.get(name, ())),
            "-o",
            "s.csv",
        )
        frame = pd.read_csv("s.csv", keep_default_na=False)
        assert len(frame) == 3, name
        if name in ("comet", "bleurt", "unieval") and got.code == 1:  # what they need is not on every machine
            assert set(frame["status"]) == {"unavailable"} and frame["reason"].ne("").all()
        else:
            assert got.code == 0 and set(frame["status"]) == {"ok"}, (name, got.err)


def test_a_model_in_this_process(nl, tmp_path, tiny_folder):
    jsonl(tmp_path / "my.jsonl", rows(3, **TEXTS))
    ask = (
        "score",
        "-e",
        "llmscore",
        "-i",
        "my.jsonl",
        "--engine",
        "transformers",
        "-m",
        str(tiny_folder),
        "-s",
        "max_tokens=4",
    )
    got = nl(*ask, "--engine-set", "batch_size=2", "-o", "s.csv", "--max-missing", "1")
    assert got.code == 0 and "3 completions: 0 stored, 3 made" in got.out and "model:tiny@sha256:" in got.out
    again = nl(*ask, "-o", "t.csv", "--max-missing", "1")
    assert "3 stored, 0 made" in again.out
    kept = nl(*ask[:6], "replay", "-m", "tiny", "-s", "max_tokens=4", "-o", "u.csv", "--max-missing", "1")
    assert kept.code == 0 and pd.read_csv("u.csv")["status"].tolist() == pd.read_csv("s.csv")["status"].tolist()
