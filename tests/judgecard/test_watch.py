"""A judge that is watched: a change is told at the stated error rate, however often one
looks.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cli_tools import run
from loopback import LoopbackServer, QuietHandler
from scipy.stats import binom, kstest

from judgecard import watching
from judgecard.watching import REFERENCE, Watch, evidence
from nlgeval_lib.scoring.cells import InputError

LEVEL = 0.05
ITEMS = 50
LOOKS = 20
WATCHES = 400
Draw = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def noisy(rng: np.random.Generator, truths: np.ndarray) -> np.ndarray:
    return truths + rng.normal(0, 0.5, truths.shape)


def coarse(rng: np.random.Generator, truths: np.ndarray) -> np.ndarray:
    return np.clip(np.round(noisy(rng, truths)), 1, 5)


def greedy(rng: np.random.Generator, truths: np.ndarray) -> np.ndarray:
    return np.round(truths)


def with_gaps(rng: np.random.Generator, truths: np.ndarray) -> np.ndarray:
    answers = coarse(rng, truths)
    answers[rng.random(truths.shape) < 0.1] = -np.inf
    answers[rng.random(truths.shape) < 0.1] = np.nan
    return answers


def answers(draw: Draw, seed: int, change: float = 0.0, both: bool = False) -> Any:
    """What a judge says at each look; it changes after the reference.

    both: every second item goes down instead of up.
    """
    rng = np.random.default_rng(seed)
    truths = np.tile(rng.uniform(1, 5, ITEMS), (LOOKS, 1))
    moves = np.full(ITEMS, change)
    if both:
        moves[::2] *= -1
    truths[REFERENCE:] += moves
    return draw(rng, truths)


def is_told(rows: Any, seed: int) -> bool:
    return bool((evidence(rows, REFERENCE, seed) >= 1 / LEVEL).any())


@pytest.mark.parametrize("draw", [noisy, coarse, greedy, with_gaps])
def test_a_judge_that_stays_is_told_to_change_no_more_often_than_stated(
    draw: Draw,
) -> None:
    told = sum(is_told(answers(draw, seed), seed) for seed in range(WATCHES))
    # more than so many have a chance of one in a thousand at the stated level
    assert told <= binom.ppf(0.999, WATCHES, LEVEL)


@pytest.mark.parametrize(
    ("draw", "change", "both"),
    [
        (noisy, 0.5, False),
        (noisy, -0.5, False),
        (coarse, 0.7, False),
        (greedy, 1.0, False),
        (greedy, 1.0, True),
        (noisy, 1.5, True),
    ],
)
def test_a_judge_that_changes_is_told(draw: Draw, change: float, both: bool) -> None:
    found = [is_told(answers(draw, seed, change, both), seed) for seed in range(20)]
    assert sum(found) >= 19


def test_what_speaks_for_a_change_is_a_fair_bet() -> None:
    """The mean over watches stays 1 where nothing has changed."""
    found = [evidence(answers(coarse, n), REFERENCE, n)[0] for n in range(2000)]
    spread = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - 1) < 4 * spread


def test_places_are_uniform_and_ties_are_broken_at_random() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(1, 4, (6, 20_000)).astype(float)
    places = watching._places(rows[:5], rows[5], rng.random(20_000))
    assert kstest(places, "uniform").pvalue > 1e-3


# -- a watch in a folder


def frame(values: list[Any], statuses: list[str] | None = None) -> pd.DataFrame:
    numbers = range(len(values))
    return pd.DataFrame(
        {
            "input_id": [f"i{n}" for n in numbers],
            "system_id": "s",
            "aspect": "wit",
            "value": values,
            "status": statuses or ["ok"] * len(values),
        }
    )


def test_a_watch_is_kept_and_read_again(tmp_path: Path) -> None:
    fields = {"model": "m", "prompt": "p", "revision": "r", "data": {"own": "1"}}
    watch = Watch.begun(fields, frame([1.0, 2.0, 3.0]), 0.05, 7)
    for _ in range(REFERENCE):
        watch.add(frame([1.0, 2.0, 3.0]))
    statuses = ["ok", "unparsed", "failed"]
    watch.add(frame([4.0, np.nan, np.nan], statuses))
    again = Watch.read(watch.write(tmp_path).parent)
    assert again == watch
    assert again.looks[-1]["answers"] == [4.0, None, "failed"]
    row = again.table().iloc[0]
    assert (row["answered"], row["moved"], row["shift"]) == (2, 1.0, 3.0)
    assert again.date_of_change() == ""
    assert again.check_same({**fields, "revision": "s"}) == ["revision was r, is s"]
    for name, other in (("model", "n"), ("prompt", "q"), ("data", {"own": "2"})):
        with pytest.raises(InputError, match=f"{name} was"):
            again.check_same({**fields, name: other})
    with pytest.raises(InputError, match="does not count"):
        again.add(frame([np.nan] * 3, ["failed"] * 3))


@pytest.mark.parametrize("changed", ['{"schema": 1}', "[]", "x", '{"looks": [1]}'])
def test_what_is_no_watch_is_refused(tmp_path: Path, changed: str) -> None:
    (tmp_path / "watch.json").write_text(changed)
    with pytest.raises(InputError, match="is no watch"):
        Watch.read(tmp_path)
    kept = {"schema": watching.SCHEMA, "fingerprint": {}, "items": [["a"]]}
    whole = {**kept, "level": 0.05, "seed": 0, "looks": [{"answers": ["x"]}]}
    (tmp_path / "watch.json").write_text(json.dumps(whole))
    with pytest.raises(InputError, match="is no watch"):
        Watch.read(tmp_path)


# -- from the command line, against a server whose model changes under its name


class Drifting(QuietHandler):
    """Scores an output by its number of words, and by `more` beside."""

    protocol_version = "HTTP/1.1"
    more = 0
    asked = 0

    def do_GET(self) -> None:
        self.send({"object": "list", "data": [{"id": "m", "object": "model"}]})

    def do_POST(self) -> None:
        kind = type(self)
        kind.asked += 1
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = body["messages"][-1]["content"]
        words = len(text.partition("<<")[2].partition(">>")[0].split())
        message = {"role": "assistant", "content": f"Score: {words + kind.more}"}
        self.send(
            {"model": "m", "choices": [{"finish_reason": "stop", "message": message}]}
        )

    def send(self, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_a_model_that_changes_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    lines = ["input_id,system_id,output,human"]
    for number in range(60):
        # the last six rows ask what others ask
        text = f"w{min(number, 54)} " * (1 + min(number, 54) % 7)
        lines.append(f"i{number // 3},s{number % 3},{text.strip()},{1 + number % 5}")
    Path("mine.csv").write_text("\n".join(lines) + "\n")
    Path("mine.txt").write_text("Rate from 1 to 10: <<{output}>>\nScore: N")
    handler = type("Own", (Drifting,), {})
    server = LoopbackServer(handler)
    words = ["card", "watch", "kept", "--prompt", "mine.txt", "--scale", "1-10"]
    words += ["-i", "mine.csv", "--engine", "openai", "-m", "m", "-q"]
    words += ["--base-url", f"http://127.0.0.1:{server.port}/v1"]
    try:
        assert run(*words) == 0
        items = len(Watch.read("kept").items)
        assert handler.asked == REFERENCE * items and 40 <= items <= 55
        assert run(*words) == 0
        assert handler.asked == (REFERENCE + 1) * items, "a look is asked anew"
        assert "no change can be told" in capsys.readouterr().out
        handler.more = 1
        assert run(*words) == 1
        assert "CHANGED" in capsys.readouterr().out
        Path("mine.txt").write_text("Rate it from 1 to 10: <<{output}>>\nScore: N")
        assert run(*words) == 2
        assert "prompt was" in capsys.readouterr().err
    finally:
        server.stop()
