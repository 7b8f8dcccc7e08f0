"""`nlgeval completions`: what would be asked, and the asking."""

from __future__ import annotations

import io
import re

import pytest
from cli_tools import asks, jsonl, refused

from nlgeval_lib.engines import Progress
from nlgeval_lib.records import Completion
from nlgeval_lib.scoring import ProgressBar


@pytest.fixture
def mine(nl, tmp_path):
    """`nl`, in a folder with `my.jsonl`: 30 rows, of 25 outputs."""
    row = {"instruction": "say it", "source": "s", "aspect": "overall"}
    jsonl(
        tmp_path / "my.jsonl",
        [{"output": f"answer {i % 25}", **row} for i in range(30)],
    )
    return nl


def test_the_planned_number_is_the_number_that_is_asked(mine, judge):
    server = judge(lambda prompt: "Score: 4")
    for evaluator, more in (
        ("geval", ()),
        ("tigerscore", ()),
        ("hdeval", ("-s", "task=summary")),
    ):
        server.bodies.clear()
        plan = mine(
            "completions",
            "-e",
            evaluator,
            "--data",
            "my.jsonl",
            *asks(server, *more),
            "-n",
        )
        assert plan.code == 0, plan.err
        planned = int(
            re.search(r"([\d,]+) completions to ask", plan.out)[1].replace(",", "")
        )
        made = mine(
            "completions", "-e", evaluator, "--data", "my.jsonl", *asks(server, *more)
        )
        assert made.code == 0, made.err
        assert len(server.bodies) == planned, evaluator
    assert "criteria: " in made.out and "scores could be read" in made.out, (
        "an HD-Eval to be fitted: its criteria"
    )


def test_a_model_is_planned_without_loading_it(mine, tiny_folder):
    got = mine(
        "completions",
        "-e",
        "geval",
        "--data",
        "my.jsonl",
        "--engine",
        "vllm",
        "-m",
        str(tiny_folder),
        "-n",
    )
    assert got.code == 0 and "characters a token" in got.out and "sha256:" in got.out


@pytest.mark.parametrize(("arguments", "said"), refused("completions"))
def test_where_to_run_is_checked_before_anything_starts(mine, arguments, said):
    got = mine(*arguments)
    assert got.code == 2 and said in got.err


def test_shards_fill_their_part_of_a_store(mine, judge, tmp_path):
    server = judge(lambda prompt: "Score: 4")
    ask = ("completions", "-e", "geval", "--data", "my.jsonl", *asks(server))
    for part in ("1/2", "2/2"):
        got = mine(*ask, "--shard", part, "--store", str(tmp_path / part[0]))
        assert got.code == 0 and 0 < len(server.bodies) <= 25, got.err
    assert mine("store", "merge", "1", "2", "--store", "all").code == 0
    asked = len(server.bodies)
    got = mine(*ask, "--store", "all")
    assert got.code == 0 and "0 made" in got.out and len(server.bodies) == asked


# -- the progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def batch(n, text="4"):
    return [Completion(key=str(i), text=text) for i in range(n)]


def test_the_progress_says_all_that_it_should():
    stream = Terminal()
    bar = ProgressBar("judge", stream=stream)
    bar.start("judge", lambda completion: completion.text == "4")
    bar.report(Progress(total=200, stored=50))
    # says nothing about what can be read
    failed = Completion(key="x", text="", finish_reason="error", error="gone")
    now = Progress(200, 50, done=60, failed=2, completion_tokens=1200, seconds=10.0)
    bar.report(now, [*batch(59), *batch(1, "none"), failed])
    assert (
        bar.line(now)
        == "60 done, 50 stored, 2 failed (the last: gone), 98.3% parsed, 120 tokens/s, 14 s left"
    )
    bar.report(
        Progress(200, 50, done=148, failed=2, completion_tokens=2960, seconds=20.0),
        batch(88),
    )
    assert "100%" in stream.getvalue() and "200/200" in stream.getvalue()
    bar.start("next")
    assert bar.line(Progress(200, 50)) == "0 done, 50 stored, 0 failed"
