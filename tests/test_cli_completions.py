"""`nlgeval completions`: what would be asked, and the asking."""

from __future__ import annotations

import io
import math
import re
import subprocess

import pytest
from cli_tools import call, jsonl
from judge_server import JudgeServer

from nlgeval_lib import files
from nlgeval_lib.engines import Progress, ScriptedEngine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.records import Completion
from nlgeval_lib.scoring import ProgressBar, estimate
from nlgeval_lib.scoring.progress import duration


@pytest.fixture
def nl(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NLGEVAL_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-test")
    jsonl(
        tmp_path / "my.jsonl",
        [
            {"output": f"answer {i % 25}", "instruction": "say it", "source": "s", "aspect": "overall"}
            for i in range(30)
        ],
    )
    return lambda *arguments: call(monkeypatch, capsys, *arguments)


@pytest.fixture
def server():
    made = JudgeServer(lambda prompt: "Score: 4")
    yield made
    made.stop()


def asks(server, *more):
    return ("--data", "my.jsonl", "--engine", "openai", "--base-url", server.url, "--model", "judge", *more)


def column(out, name):
    """The numbers of a column of the plan, by stage."""
    lines = [re.split(r" {2,}", line) for line in out.splitlines()]
    head = next(line for line in lines if line[0] == "stage")
    at = head.index(name)
    return {line[0]: line[at] for line in lines[lines.index(head) + 1 :] if len(line) == len(head)}


def test_a_plan_asks_nothing_and_says_what_it_would_cost(nl, server):
    plan = ("completions", "-e", "llmscore", *asks(server), "--dry-run", "--rate", "100", "--price", "2,10")
    got = nl(*plan)
    assert got.code == 0 and not server.bodies
    assert column(got.out, "completions") == {"score": "30"} and column(got.out, "repeated") == {"score": "5"}
    assert column(got.out, "to ask") == {"score": "25"}
    prompt = int(re.search(r"prompt tokens: ([\d,]+) \(estimated: 4 characters", got.out)[1].replace(",", ""))
    assert "new tokens: 1,600 at most\n" in got.out and "time at 100 tokens a second: 16 s at most" in got.out
    assert f"cost at 2 and 10 a million: {(prompt * 2 + 1600 * 10) / 1e6:,.2f} at most" in got.out
    made = nl("completions", "-e", "llmscore", *asks(server, "--limit", "22"))
    assert made.code == 0 and "22 completions: 0 stored, 22 made" in made.out and "22 rows: 22 scored" in made.out
    assert len(server.bodies) == 22
    got = nl(*plan)
    assert "3 completions to ask, 22 stored already" in got.out
    assert "12 (as 22 stored)" in column(got.out, "new tokens")["score"]
    assert "new tokens: 192 at most, 12 expected" in got.out and "2 s at most" in got.out
    longer = nl(*plan, "--new-tokens", "50")
    assert "150 (as given)" in longer.out and "2 s expected, 2 s at most" not in longer.out
    nl("completions", "-e", "llmscore", *asks(server))
    got = nl(*plan)
    assert "0 completions to ask, 25 stored already" in got.out and len(server.bodies) == 25


def test_the_planned_number_is_the_number_that_is_asked(nl, server):
    for evaluator, more in (("geval", ()), ("tigerscore", ()), ("hdeval", ("-s", "task=summary"))):
        server.bodies.clear()
        plan = nl("completions", "-e", evaluator, *asks(server, *more), "-n")
        assert plan.code == 0, plan.err
        planned = int(re.search(r"([\d,]+) completions to ask", plan.out)[1].replace(",", ""))
        made = nl("completions", "-e", evaluator, *asks(server, *more))
        assert made.code == 0, made.err
        assert len(server.bodies) == planned, evaluator
    assert "criteria: " in made.out and "scores could be read" in made.out, "an HD-Eval to be fitted: its criteria"


def test_a_model_is_planned_without_loading_it_and_its_tokens_are_counted(nl, tiny_folder):
    from transformers import AutoTokenizer

    from nlgeval_lib.engines import Request
    from nlgeval_lib.scoring import named

    engine = named.engine("vllm", str(tiny_folder), unloaded=True)
    count = engine.count_tokens([Request.chat("say it")])[0]
    tokenizer, chat = AutoTokenizer.from_pretrained(tiny_folder), [{"role": "user", "content": "say it"}]
    assert count == len(tokenizer.apply_chat_template(chat, add_generation_prompt=True)["input_ids"]) > 2
    got = nl("completions", "-e", "geval", "--data", "my.jsonl", "--engine", "vllm", "-m", str(tiny_folder), "-n")
    assert got.code == 0 and "counted by the tokenizer" in got.out and "sha256:" in got.out
    other = ("--engine", "openai", "-m", "x", "-n", "--tokenizer", str(tiny_folder))
    served = nl("completions", "-e", "geval", "--data", "my.jsonl", *other)
    assert "counted by the tokenizer" in served.out
    tokens = [re.search(r"prompt tokens: ([\d,]+)", one.out)[1] for one in (got, served)]
    assert tokens[0] == tokens[1]


def test_draws_in_one_call_pay_for_their_prompt_once(tmp_path):
    from nlgeval_lib.engines import Request, Sampling
    from nlgeval_lib.evaluators.stages import Stage

    stage = Stage("score", [Request(prompt="x " * 100)], Sampling(temperature=1.0, n=5, max_tokens=10))
    engine = ScriptedEngine([])
    [alone] = estimate.plan([stage], engine, Store(tmp_path))
    engine.group_draws = True
    [grouped] = estimate.plan([stage], engine, Store(tmp_path))
    assert (alone.prompt_tokens, grouped.prompt_tokens) == (500, 100) and alone.limit == grouped.limit == 50


def test_make_passes_its_words_on():
    if not (files.root() / "Makefile").is_file():
        pytest.skip("no Makefile here")
    words = ["EVALUATOR=geval", "DATA=mini", "ENGINE=vllm", "MODEL=some/model", "ARGS=--dry-run --rate 10"]
    shown = subprocess.run(
        ["make", "-n", "completions", *words], cwd=files.root(), capture_output=True, text=True, check=True
    )
    assert (
        'nlgeval completions --evaluator "geval" --data "mini" --engine "vllm" --model "some/model" --dry-run --rate 10'
        in shown.stdout
    )


# -- the progress -----------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


def batch(n, text="4"):
    return [Completion(key=str(i), text=text) for i in range(n)]


def test_the_progress_says_all_that_it_should():
    stream = Terminal()
    bar = ProgressBar("judge", lambda completion: completion.text == "4", stream)
    bar(Progress(total=200, stored=50), ())
    bar(Progress(200, 50, done=60, failed=2, completion_tokens=1200, seconds=10.0), [*batch(59), *batch(1, "none")])
    said = bar.line(bar.last)
    assert said == "60 done, 50 stored, 2 failed, 98.3% parsed, 120 tokens/s, 14 s left"
    bar(Progress(200, 50, done=148, failed=2, completion_tokens=2960, seconds=20.0), batch(88))
    assert "100% |" in stream.getvalue() and "200/200, 148 done, 50 stored, 2 failed" in stream.getvalue()
    bar.start("next")
    assert bar.line(Progress(200, 50)) == "0 done, 50 stored, 0 failed" and math.isnan(bar.parse_rate)


def test_the_parse_rate_is_of_what_was_made_and_came():
    bar = ProgressBar("judge", lambda completion: completion.text == "4", io.StringIO())
    failed = Completion(key="x", text="", finish_reason="error", error="gone")
    bar(Progress(100, 0, done=60), [*batch(59), *batch(1, "none"), failed])
    assert bar.parse_rate == pytest.approx(59 / 60)


def test_elsewhere_a_line_now_and_then():
    stream = io.StringIO()
    bar = ProgressBar("judge", stream=stream)
    now = [0.0]
    bar._clock = lambda: now[0]
    bar(Progress(total=100, stored=10), ())
    for done in range(1, 91):
        now[0] += 1.0
        bar(Progress(100, 10, done=done, completion_tokens=done, seconds=now[0]), batch(1))
    lines = stream.getvalue().splitlines()
    assert lines[0] == "judge: 100 wanted, 10 stored" and lines[-1].startswith("judge: 90 done, 10 stored, 0 failed")
    assert 4 <= len(lines) <= 6 and math.isnan(bar.parse_rate) and "parsed" not in stream.getvalue()


def test_nothing_to_ask_shows_nothing():
    for quiet, progress in ((False, Progress(total=5, stored=5)), (True, Progress(5, 0, done=5))):
        stream = Terminal()
        ProgressBar("judge", stream=stream, quiet=quiet)(progress, batch(5) if quiet else ())
        assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0 s"), (99, "99 s"), (150, "2 min"), (7200, "2.0 h"), (260_000, "3.0 days")]
)
def test_durations(seconds, said):
    assert duration(seconds) == said
