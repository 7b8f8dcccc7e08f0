"""Prompts by models in one view, against a server on this machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_tools import call
from loopback import LoopbackServer, QuietHandler

from judgecard import matrix

PLAN = """
prompts = ["short.txt", "long.txt"]
models = ["good", {{model = "poor", price = "1000,1000"}}]
input = "rows.csv"
scale = "1-5"
engine = "openai"
base-url = "{address}"
price = "1000,2000"
store = "store"
quiet = false
"""


class Two(QuietHandler):
    """A model that gives the number in the text, and one that gives one by its length."""

    protocol_version = "HTTP/1.1"
    asked = 0

    def do_GET(self) -> None:
        self.send({"object": "list", "data": [{"id": "good"}, {"id": "poor"}]})

    def do_POST(self) -> None:
        type(self).asked += 1
        size = int(self.headers["Content-Length"])
        request = json.loads(self.rfile.read(size))
        text = request["messages"][-1]["content"]
        score = re.search(r"quality (\d)", text)[1]
        if request["model"] == "poor":
            score = str(1 + int(re.search(r"number (\d+)", text)[1]) % 5)
        message = {"role": "assistant", "content": f"Score: {score}"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        model = request["model"]
        self.send({"model": model, "choices": [choice], "usage": usage})

    def send(self, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[type[Two], str]]:
    """A folder with rated rows, two prompts and a plan; and who answers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    rng = np.random.default_rng(3)
    rows = []
    for number in range(40):
        quality = int(rng.integers(1, 6))
        text = f"an answer of quality {quality}, number {number}"
        rating = int(np.clip(quality + rng.integers(-1, 2), 1, 5))
        rows.append({"question": f"what is {number}?", "reply": text, "anna": rating})
    pd.DataFrame(rows).to_csv("rows.csv", index=False)
    Path("short.txt").write_text("Rate {output}")
    Path("long.txt").write_text("Rate from 1 to 5: {instruction} {output}")
    handler = type("Own", (Two,), {})
    running = LoopbackServer(handler)
    address = f"http://127.0.0.1:{running.port}/v1"
    text = PLAN.replace("quiet = false\n", "").format(address=address)
    Path("plan.toml").write_text(text)
    yield handler, address
    running.stop()


@pytest.mark.usefixtures("undrawn")
def test_a_plan_is_asked_once_and_set_side_by_side(server, monkeypatch, capsys):
    handler, _ = server

    def run(*more: str):
        return call(monkeypatch, capsys, "card", "--matrix", "plan.toml", "-q", *more)

    got = run("--dry-run")
    assert got.code == 0
    assert "4 judges, 160 completions to ask" in got.out
    assert handler.asked == 0
    got = run()
    assert got.code == 0, got.err
    assert handler.asked == 160
    table = pd.read_csv("matrix/matrix.csv")
    assert table["judge"].tolist()[:2] == ["short / good", "long / good"]
    assert table["standing"].tolist() == [
        matrix.BEST,
        matrix.NOT_TOLD,
        matrix.WORSE,
        matrix.WORSE,
    ]
    assert table["money"].tolist() == pytest.approx([20.0, 20.0, 15.0, 15.0])
    assert table["use"].tolist()[:2] == ["follows people"] * 2
    assert "follows people" not in table["use"].tolist()[2:]
    # the poor model is cheaper
    assert table["front"].all()
    pairs = pd.read_csv("matrix/pairs.csv")
    assert len(pairs) == 6
    assert (pairs["p_adjusted"].fillna(1) >= pairs["p"].fillna(0)).all()
    page = Path("matrix/matrix.html").read_text()
    assert 'href="short_good/card.html"' in page
    assert Path("matrix/short_good/card.html").is_file()
    assert Path("matrix/matrix.png").stat().st_size > 1000
    assert run().code == 0
    assert handler.asked == 160


@pytest.mark.usefixtures("undrawn")
def test_a_budget_stops_and_a_larger_one_goes_on(server, monkeypatch, capsys):
    handler, _ = server
    plan = Path("plan.toml").read_text()

    def run(budget: float):
        Path("plan.toml").write_text(f"budget = {budget}\n{plan}")
        return call(monkeypatch, capsys, "card", "--matrix", "plan.toml", "-q")

    # a judgment of the good model costs .02, and 40 of them .8
    got = run(1.0)
    assert got.code == 1
    assert "stopped" in got.err
    spent = json.loads(Path("matrix/spent.json").read_text())["money"]
    assert spent >= 1.0
    asked = handler.asked
    assert 50 <= asked < 160
    assert Path("matrix/short_good/card.html").is_file()
    assert not Path("matrix/long_poor").exists()
    assert run(1.0).code == 1
    assert handler.asked <= asked + 16, "no more than what is on its way"
    assert run(100.0).code == 0
    assert handler.asked <= 160 + 32
    assert len(pd.read_csv("matrix/matrix.csv")) == 4


def test_a_place_that_is_none_is_told_before_anything_is_asked(
    server, monkeypatch, capsys
):
    handler, _ = server
    words = ("card", "--matrix", "plan.toml", "-o", "rows.csv/matrix")
    got = call(monkeypatch, capsys, *words)
    assert got.code == 1
    assert "cannot write rows.csv/matrix" in got.err
    assert handler.asked == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace("prompts", "prompt"), "needs prompts"),
        (lambda text: text.replace("scale", "scael"), "'scale'"),
        (lambda text: text.replace("model = ", "revision = "), "model = 'NAME'"),
        (lambda text: "budget = 'much'\n" + text, "budget is a sum"),
        (
            lambda text: "budget = 1\n" + text.replace('price = "1000,2000"\n', ""),
            "a budget needs what good costs",
        ),
    ],
)
def test_a_wrong_plan_names_what_is_wrong(change, words, server, monkeypatch, capsys):
    handler, _ = server
    path = Path("plan.toml")
    path.write_text(change(path.read_text()))
    got = call(monkeypatch, capsys, "card", "--matrix", "plan.toml")
    assert got.code == 2
    assert words in got.err
    assert handler.asked == 0


def test_the_front_is_what_no_other_beats_at_its_price():
    group = pd.DataFrame(
        {
            "agreement": [0.9, 0.8, 0.7, float("nan")],
            "money": [3.0, 1.0, 2.0, 0.1],
            "seconds": [float("nan")] * 4,
            "tokens": [1.0] * 4,
        }
    )
    assert matrix._on_front(group) == [True, True, False, False]


def test_nothing_of_data_is_a_mark_on_the_page(tmp_path: Path) -> None:
    bad = "<img src=http://a/ onerror=x()>`*|](javascript:x()) $5 and $6^{"
    row = {"set": bad, "aspect": bad, "agreement": 0.5, "low": 0.4, "high": 0.6}
    rows = [{**row, "judge": f"{bad}{number}", "n": 9} for number in range(2)]
    judged = pd.DataFrame(rows).assign(
        scored=1.0, seconds=np.nan, money=np.nan, tokens=90.0, use="", front=True
    )
    judged["standing"] = [matrix.BEST, matrix.NOT_TOLD]
    pair = {"set": bad, "aspect": bad, "first": bad, "second": bad, "n": 9}
    numbers = {"gain": 0.1, "low": -0.1, "high": 0.3, "p": 0.2, "p_adjusted": 0.2}
    tests = pd.DataFrame([{**pair, **numbers, "verdict": "no difference found"}])
    matrix.write(judged, tests, tmp_path)
    page = (tmp_path / "matrix.html").read_text()
    assert "<img src=http" not in page
    assert "&lt;img src" in page
    assert 'href="javascript' not in page
    assert page.count("<img ") == 1, "the figure alone"
