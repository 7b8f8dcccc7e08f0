"""`nlgeval score`: anyone's rows, every evaluator, nothing asked twice, nothing leaked."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading

import pandas as pd
import pytest
from cli_tools import KEY, RUBRIC, asks, jsonl, rows

from nlgeval_lib import evaluators
from nlgeval_lib.store import Store

MAIN = "from nlgeval_lib.cli import main; main()"
ROW = ("-i", "my.csv", "-o", "s.csv", "--fill", "instruction=say it", "--fill", "source=s")


def grade(prompt):
    """A judge that gives `answer N` the score 1 + N % 5."""
    number = int(prompt.split("answer ")[1].split()[0])
    return f"Score: {1 + number % 5}"


# -- reference metrics ------------------------------------------------------------------------------------------------


def test_a_metric_beside_the_users_columns(nl, tmp_path):
    texts = ['the "cat" sat,\non the mat', "a dog"]
    pd.DataFrame({"said": texts, "gold": texts, "human": [2, ""], "id": [7, 8]}).to_csv("my.csv", index=False)
    got = nl("score", "-e", "bleu", "-i", "my.csv", "--map", "output=said", "--map", "reference=gold", "-o", "s.csv")
    assert got.code == 0 and "2 rows: 2 scored (100.0%)" in got.out and "signature: bleu|refs:one|" in got.out
    frame = pd.read_csv("s.csv")
    assert frame.columns.tolist() == ["said", "gold", "human", "id", "value", "status", "reason"]
    assert frame["said"].tolist() == texts and frame["id"].tolist() == [7, 8]
    assert frame["value"].tolist() == pytest.approx(evaluators.Bleu().score_texts(texts, texts).tolist())
    record = json.loads((tmp_path / "s.csv.meta.json").read_text())["scores"]["value"]
    assert record["evaluator"] == "bleu" and record["rows"] == 2 and record["columns"]["output"] == "said"


def test_a_second_score_beside_the_first(nl, tmp_path):
    jsonl(tmp_path / "my.jsonl", rows(reference="answer 3"))
    assert nl("score", "-e", "bleu", "-i", "my.jsonl", "-o", "s.jsonl").code == 0
    again = nl("score", "-e", "rouge", "-i", "s.jsonl", "-o", "s.jsonl")
    assert again.code == 2 and "has a column 'value' already" in again.err and "--column NAME" in again.err
    got = nl("score", "-e", "rouge", "-s", "type=rouge1", "-i", "s.jsonl", "-o", "s.jsonl", "--column", "rouge")
    assert got.code == 0 and "type:rouge1" in got.out
    frame = pd.read_json("s.jsonl", lines=True)
    assert {"value", "status", "rouge", "rouge_status", "rouge_reason"} <= set(frame.columns)
    assert list(json.loads((tmp_path / "s.jsonl.meta.json").read_text())["scores"]) == ["value", "rouge"]


def test_several_references_in_parquet(nl):
    frame = pd.DataFrame({"output": ["a cat", "a dog"], "references": [["a cat", "x"], ["y", "a dog"]]})
    frame.to_parquet("my.parquet")
    asked = nl("score", "-e", "rouge", "-i", "my.parquet", "-o", "s.parquet")
    assert asked.code == 2 and "multi=" in asked.err
    assert nl("score", "-e", "rouge", "-s", "multi=max", "-i", "my.parquet", "-o", "s.parquet").code == 0
    found = pd.read_parquet("s.parquet")
    assert found["value"].tolist() == [1.0, 1.0] and found["references"].iloc[0].tolist() == ["a cat", "x"]


def test_rows_that_lack_a_text(nl, tmp_path):
    given = rows(reference="answer 3")
    del given[4]["reference"]
    jsonl(tmp_path / "my.jsonl", given)
    got = nl("score", "-e", "rouge", "-i", "my.jsonl", "-o", "s.csv")
    assert got.code == 2 and "my.jsonl, line 5, column 'reference' is missing" in got.err
    assert "--skip-incomplete" in got.err and not (tmp_path / "s.csv").exists()
    got = nl("score", "-e", "rouge", "-i", "my.jsonl", "-o", "s.csv", "--skip-incomplete")
    assert got.code == 1, "one of six is more than 5 %"
    frame = pd.read_csv("s.csv")
    assert frame["status"].tolist() == ["ok"] * 4 + ["empty", "ok"] and math.isnan(frame["value"].iloc[4])
    assert "line 5" in frame["reason"].iloc[4]
    args = ("score", "-e", "rouge", "-i", "my.jsonl", "-o", "s.csv", "--skip-incomplete", "--max-missing", "0.2")
    assert nl(*args).code == 0


# -- judges -----------------------------------------------------------------------------------------------------------


def test_a_judge_over_a_file_and_again_for_nothing(nl, judge, tmp_path):
    server = judge(grade)
    jsonl(tmp_path / "my.jsonl", rows())
    prices = ("--engine-set", "prices=1000,10000")
    ask = ("score", "-e", "llmscore", "-i", "my.jsonl", *asks(server, *prices), "-o", "s.csv", "--raw", "raw.jsonl")
    got = nl(*ask)
    assert got.code == 0, got.err
    assert "60 prompt and 24 new tokens" in got.out and "cost: 0.3000" in got.out
    assert "6 completions: 0 stored, 6 made" in got.out and "6 rows: 6 scored" in got.out
    assert "llmscore|task:general|scale:1-5" in got.out and "engine:openai|model:judge@" in got.out
    assert "100.0% parsed" in got.err
    frame = pd.read_csv("s.csv")
    assert frame["value"].tolist() == [1, 2, 3, 4, 5, 1] and frame["rule"].tolist() == ["label"] * 6
    raw = [json.loads(line) for line in (tmp_path / "raw.jsonl").read_text().splitlines()]
    assert [one["text"] for one in raw] == [f"Score: {v}" for v in (1, 2, 3, 4, 5, 1)] and raw[0]["id"] == "0/A"
    before = (tmp_path / "s.csv").read_bytes()
    got = nl(*ask)
    assert got.code == 0 and "6 completions: 6 stored, 0 made" in got.out
    assert (tmp_path / "s.csv").read_bytes() == before and len(server.bodies) == 6
    assert server.sent_keys == {f"Bearer {KEY}"}


def test_prometheus_with_settings_and_a_rubric_from_a_file(nl, judge, tmp_path):
    server = judge(lambda prompt: "It is fine. [RESULT] 4")
    (tmp_path / "rubric.txt").write_text(RUBRIC + "\n")
    pd.DataFrame(rows(reference="answer 3")).to_csv("my.csv", index=False)
    ask = ("score", "-e", "prometheus", "-i", "my.csv", "--fill", "rubric=@rubric.txt", "-s", "n=2", "-o", "s.csv")
    refused = nl(*ask, *asks(server))
    assert refused.code == 2 and "repetition_penalty" in refused.err and not server.bodies, "OpenAI's protocol lacks it"
    got = nl(*ask, *asks(server, "--engine-set", "dialect=vllm", "-s", "temperature=0.5"))
    assert got.code == 0, got.err
    assert "12 completions: 0 stored, 12 made" in got.out and "T:0.5" in got.out and "n:2" in got.out
    body = server.bodies[0]
    assert body["temperature"] == 0.5 and "Score 5: yes" in server.prompts[0] and "answer 3" in server.prompts[0]
    frame = pd.read_csv("s.csv")
    assert frame["value"].tolist() == [4.0] * 6 and frame["n"].tolist() == [2] * 6
    assert json.loads(frame["details"].iloc[0])["draws"][0]["feedback"] == "It is fine."


def test_completions_that_fail_or_cannot_be_read(nl, judge, tmp_path):
    broken = {1: 400, 3: "no idea"}
    server = judge(lambda prompt: broken.get(int(prompt.split("answer ")[1].split()[0]), "Score: 3"))
    jsonl(tmp_path / "my.jsonl", rows())
    ask = ("score", "-e", "llmscore", "-i", "my.jsonl", *asks(server), "-o", "s.csv", "--max-missing", "1")
    got = nl(*ask)
    assert got.code == 1, "a completion failed"
    assert "6 rows: 4 scored (66.7%)" in got.out and "1 failed" in got.out and "1 unparsed" in got.out
    assert "failed: 0/B, draw 0: HTTP 400" in got.err
    frame = pd.read_csv("s.csv")
    assert frame["status"].tolist() == ["ok", "failed", "ok", "unparsed", "ok", "ok"]
    assert frame["reason"].iloc[3] and frame["value"].isna().sum() == 2
    broken.clear()
    got = nl(*ask)
    assert got.code == 0 and "5 stored, 1 made" in got.out, "only what failed is asked again"
    strict = nl(*ask[:-2], "--max-missing", "0.1")
    assert strict.code == 1 and pd.read_csv("s.csv")["status"].tolist().count("unparsed") == 1


def test_the_key_is_nowhere(nl, judge, tmp_path):
    server = judge(lambda prompt: 400 if "answer 1" in prompt else "Score: 3")
    jsonl(tmp_path / "my.jsonl", rows())
    said = ""
    for more in (("-o", "s.csv"), ("-o", "s.jsonl"), ("--dry-run",), ("-o", "t.csv", "--engine-set", f"api_key={KEY}")):
        got = nl("score", "-e", "llmscore", "-i", "my.jsonl", *asks(server, *more), "--raw", "raw.jsonl")
        said += got.out + got.err
    assert f"Bearer {KEY}" in server.sent_keys, "the server got it, and repeats it in its errors"
    assert "refused for" in said and KEY not in said
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 5 and not [path for path in files if KEY.encode() in path.read_bytes()]


def test_interrupted_and_resumed_asks_nothing_twice(judge, tmp_path):
    enough, go_on = threading.Event(), threading.Event()

    def reply(prompt):
        if len(server.answered) >= 15 and not go_on.is_set():
            enough.set()
            go_on.wait(60)
            return 500
        return grade(prompt)

    server = judge(reply)
    jsonl(tmp_path / "my.jsonl", rows(40))
    command = [sys.executable, "-c", MAIN, "score", "-e", "llmscore", "-i", "my.jsonl", "-o", "s.csv"]
    command += [*asks(server, "--engine-set", "concurrency=3"), "--store", "kept"]
    environment = {**os.environ, "OPENAI_API_KEY": KEY, "NLGEVAL_STATE": str(tmp_path / "state")}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert enough.wait(120)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "the same command goes on from there" in errors
    assert "Traceback" not in errors and not (tmp_path / "s.csv").exists()
    kept = Store(tmp_path / "kept")
    stored = [body["messages"][-1]["content"] for body in kept.requests()]
    assert kept.verify() == [] and len(kept) == len(stored) >= 13, "of 15 answers, two may have been on their way"
    assert f"{len(stored)} completions made now are stored" in errors
    go_on.set()
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and f"{len(stored)} stored, {40 - len(stored)} made" in done.stdout
    assert [server.asked[prompt] for prompt in stored] == [1] * len(stored), "what was finished is not asked again"
    assert pd.read_csv(tmp_path / "s.csv")["value"].tolist() == [1 + i % 5 for i in range(40)]


def test_hdeval_is_fitted_on_rated_rows_kept_and_used_again(nl, judge, tmp_path):
    server = judge(lambda prompt: str(1 + sum(map(ord, prompt)) % 5))
    rated = [row | {"aspect": aspect, "source": "s"} for row in rows(12) for aspect in ("coherence", "fluency")]
    jsonl(tmp_path / "rated.jsonl", rated)
    jsonl(tmp_path / "my.jsonl", rated[:8])
    ask = ("score", "-e", "hdeval", "-i", "my.jsonl", *asks(server))
    got = nl(*ask, "-o", "s.csv")
    assert got.code == 2 and "not fitted" in got.err
    got = nl(*ask, "-s", "aggregator=lr", "--fit", "rated.jsonl", "-o", "s.csv", "--save", "hd.json")
    assert got.code == 0, got.err
    assert not any(body["messages"][0]["content"] == "" for body in server.bodies)
    asked = len(server.bodies)
    again = nl(*ask, "--load", "hd.json", "-o", "t.csv")
    assert again.code == 0 and len(server.bodies) == asked
    assert pd.read_csv("t.csv")["value"].tolist() == pytest.approx(pd.read_csv("s.csv")["value"].tolist())


def test_an_evaluator_of_the_users_own(nl, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from nlgeval_lib.evaluators import register, score_frame\n"
        "from nlgeval_lib.schema import Judgment\n\n"
        "@register('words')\n"
        "class Words:\n"
        "    '''How many words an output has.'''\n"
        "    def __init__(self, least: int = 0):\n"
        "        self.least = least\n"
        "    def signature(self):\n"
        "        return f'words|least:{self.least}'\n"
        "    def score(self, frame):\n"
        "        found = [Judgment(float(max(self.least, len(text.split())))) for text in frame['output']]\n"
        "        return score_frame(frame.index, found, self.signature())\n"
    )
    pd.DataFrame({"output": ["one", "two words"]}).to_csv("my.csv", index=False)
    got = nl("score", "--plugin", "mine.py", "-e", "words", "-s", "least=1", "-i", "my.csv", "-o", "s.csv")
    assert got.code == 0 and "signature: words|least:1" in got.out
    assert pd.read_csv("s.csv")["value"].tolist() == [1, 2]
    (tmp_path / "bad.py").write_text("1 / 0\n")
    got = nl("score", "--plugin", "bad.py", "-e", "words", "-i", "my.csv", "-o", "s.csv")
    assert got.code == 2 and "plugin bad.py: ZeroDivisionError" in got.err


def test_a_data_set_by_name_and_a_limit(nl):
    got = nl("score", "-e", "rouge", "--data", "mini", "--limit", "9", "--only-scores", "-o", "s.csv")
    assert got.code == 0
    frame = pd.read_csv("s.csv")
    assert len(frame) == 9 and "output" not in frame.columns and {"input_id", "human", "value"} <= set(frame.columns)
    got = nl("score", "-e", "rouge", "--data", "minni", "-o", "s.csv")
    assert got.code == 2 and "mini" in got.err


def test_rows_with_the_same_ids_are_noted_and_scored(nl, tmp_path):
    jsonl(tmp_path / "my.jsonl", [*rows(reference="x"), rows(reference="x")[0]])
    got = nl("score", "-e", "bleu", "-i", "my.jsonl", "-o", "s.csv")
    assert got.code == 0 and "first my.jsonl, line 7: input_id '0', system_id 'A' as in line 1" in got.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "which evaluator?"),
        (["-e", "bleuu", "-i", "my.csv", "-o", "s.csv"], "no evaluator 'bleuu'; did you mean 'bleu'"),
        (["-e", "bleu", "-o", "s.csv"], "give either a file (--input) or a data set (--data)"),
        (["-e", "bleu", "-i", "my.csv", "--data", "mini", "-o", "s.csv"], "give either"),
        (["-e", "bleu", "-i", "my.csv"], "where to?"),
        (["-e", "bleu", "-i", "my.csv", "-o", "s.xlsx"], "give the format"),
        (["-e", "bleu", "-i", "my.csv", "-o", "s.csv", "--map", "output=no"], "my.csv has no column 'no'"),
        (["-e", "bleu", "-i", "my.csv", "-o", "s.csv", "-s", "smooth=7"], "smooth"),
        (["-e", "bleu", "-i", "my.csv", "-o", "s.csv", "-s", "tokens=7"], "no option 'tokens'"),
        (["-e", "bleu", "-i", "my.csv", "-o", "s.csv", "--engine", "openai", "-m", "x"], "asks no language model"),
        (["-e", "bleu", "-i", "my.csv", "-o", "s.csv", "-m", "x"], "takes no model of its own"),
        (["-e", "geval", "-i", "my.csv", "-o", "s.csv"], "asks a language model: name one, --engine openai|vllm"),
        (["-e", "geval", *ROW, "--engine", "openai"], "needs a model"),
        (["-e", "prometheus", "-i", "my.csv", "-o", "s.csv", "--engine", "openai", "-m", "x"], "'instruction'"),
        (["-e", "unieval", "-i", "my.csv", "-o", "s.csv"], "unieval needs --set task=..., --set aspect=..."),
        (["-e", "geval", *ROW, "--engine", "replay", "-m", "x"], "holds no revision of 'x'"),
    ],
)
def test_wrong_calls_end_with_2_before_anything_is_asked(nl, tmp_path, arguments, said):
    (tmp_path / "my.csv").write_text("output,reference\nx,y\n")
    got = nl("score", *arguments)
    assert said in got.err and "Traceback" not in got.err
    assert got.code == (1 if "replay" in arguments else 2), "an empty store cannot be replayed"
    assert not (tmp_path / "s.csv").exists()


def test_what_there_is(nl):
    listed = nl("score", "--list").out
    assert all(name in listed for name in evaluators.names())
    shown = nl("score", "-e", "prometheus", "--options").out
    assert "verbalizer" in shown and "repetition_penalty" in shown and "1.03" in shown


@pytest.mark.parametrize("command", ["score", "meta", "parse", "completions", "recordings"])
def test_help_has_examples_and_exit_codes(nl, command):
    got = nl(command, "--help")
    assert got.code == 0 and "Examples:" in got.out and got.out.count(f"nlgeval {command}") >= 4
    assert "Exit codes" in got.out or command == "recordings"
