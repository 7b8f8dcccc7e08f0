"""A judge that was fitted on ratings is never evaluated on them unawares."""

from __future__ import annotations

import json
import random

import pandas as pd
import pytest
from cli_tools import asks, jsonl

from nlgeval_lib.scoring.provenance import record_of

N = 30


@pytest.fixture
def noise(nl, judge, tmp_path):
    """`noise(*words)`: HD-Eval of random scores over `rated.jsonl`, whose ratings are random too."""
    draw = random.Random(1)
    row = {"aspect": "coherence", "source": "s"}
    made = [
        {"input_id": i // 2, "system_id": i % 2, "output": f"answer {i}", "human": draw.random(), **row}
        for i in range(N)
    ]
    jsonl(tmp_path / "rated.jsonl", made)
    server = judge(lambda prompt: str(1 + random.Random(prompt).randrange(5)))
    settings = ("-s", "aggregator=rf", "-s", "layers=[1]")

    def call(*words: str):
        how = () if "--load" in words else settings
        return nl("score", "-e", "hdeval", *asks(server, *how, "-q"), *words)

    call.nl, call.server = nl, server
    return call


def followed(nl, file: str):
    got = nl("meta", file, "--coef", "pearson", "--format", "jsonl", "--no-baselines", "--ci", "none")
    return got.err if got.code else json.loads(got.out.splitlines()[0])


def test_rows_that_it_was_fitted_on_are_marked_and_left_out(noise):
    assert noise("--fit", "rated.jsonl", "-i", "rated.jsonl", "-o", "own.csv", "--save", "hd.json").code == 0
    scored = pd.read_csv("own.csv")
    assert scored["seen_in_training"].all() and scored["value"].corr(scored["human"]) > 0.7, "from random scores"
    assert "a score was fitted on every row; rate others, or use score --cross-fit" in followed(noise.nl, "own.csv")
    record = record_of("own.csv")["scores"]["value"]
    assert record["fitted_on"].startswith(f"{N}#") and f"|fitted_on:{record['fitted_on']}|" in record["signature"]
    pd.read_json("rated.jsonl", lines=True).assign(
        output=lambda rows: [f"answer {i + N // 2}" for i in range(N)]
    ).to_json("other.jsonl", orient="records", lines=True)
    assert noise("--load", "hd.json", "-i", "other.jsonl", "-o", "other.csv", "--column", "hd").code == 0
    seen = pd.read_csv("other.csv")["hd_seen_in_training"].eq(True)
    assert seen.sum() == N // 2 == followed(noise.nl, "other.csv")["n"]
    assert record_of("other.csv")["scores"]["hd"]["fitted_on"] == record["fitted_on"]


def test_cross_fitting_gives_scores_that_did_not_see_their_ratings(noise):
    got = noise("--cross-fit", "5", "-i", "rated.jsonl", "-o", "folds.csv")
    assert got.code == 0 and "fitted_on:5 folds by input" in got.out, got.err
    asked = len(noise.server.bodies)
    scored = pd.read_csv("folds.csv")
    assert scored["value"].notna().all() and "seen_in_training" not in scored
    assert followed(noise.nl, "folds.csv")["n"] == N and abs(scored["value"].corr(scored["human"])) < 0.4
    assert noise("--fit", "rated.jsonl", "-i", "rated.jsonl", "-o", "own.csv").code == 0
    assert len(noise.server.bodies) == asked == len(set(noise.server.prompts)), "no fold asks anything twice"
    for words, said in (
        (("--cross-fit", "5", "--fit", "rated.jsonl"), "leave out --fit, --load and --save"),
        (("--cross-fit", "99"), "--cross-fit 99: rated.jsonl has 15 inputs"),
    ):
        wrong = noise(*words, "-i", "rated.jsonl", "-o", "x.csv")
        assert wrong.code == 2 and said in wrong.err
