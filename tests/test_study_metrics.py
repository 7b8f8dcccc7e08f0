"""Metrics of the catalogue: made where a model's weights are, read anywhere, never under another model's name."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import tiny_model
from runner_tools import Checkout

from nlgeval_lib import datasets
from nlgeval_lib.evaluators import BartScore, encoders
from nlgeval_lib.scoring import correlations
from nlgeval_lib.study import catalogue, judged_rows, metrics

MODEL = "some/bart"
ENTRY = f"""
[[output]]
id = "one"
paper = "hdeval"
notebook = "one.ipynb"
route = "public"
inputs = ["mini"]
[output.metrics]
"BARTScore" = ["bart"]
"Both" = {{ overall = ["bart", "back"], other = ["back"] }}

[[metric]]
id = "bart"
evaluator = "bartscore"
model = "{MODEL}"
settings = ["direction=precision"]

[[metric]]
id = "back"
evaluator = "bartscore"
model = "{MODEL}"
settings = ["direction=recall"]
"""


@pytest.fixture
def here(here) -> Checkout:
    here.data("mini/mini.jsonl")
    here.notebook("one", "x = 1")
    here.catalogue(ENTRY)
    return here


def made(mode: str = "quick") -> list[str]:
    known, said = catalogue.load(), list[str]()
    metrics.make(metrics.asked(known, known.outputs), said.append, mode)
    return said


def test_a_metric_without_weights_says_how_to_get_them(here):
    assert all("not here: model some/bart is not on this machine" in line for line in made())
    rows = judged_rows.judged_rows("one", datasets.items(datasets.load("mini")), {})
    assert rows.table({"overall": "overall"}, {}).empty and set(rows.lacking) == {"BARTScore", "Both"}
    assert "nlgeval completions --output one" in rows.lacking["BARTScore"]
    assert f"--model-path {MODEL}=FOLDER" in rows.lacking["BARTScore"]


@pytest.mark.parametrize("small", [True, False])
def test_what_was_made_is_read_without_the_weights_and_under_its_own_name(here, tmp_path, monkeypatch, small):
    folder = tiny_model.build_seq2seq(tmp_path / "tiny", positions=512)
    if not small:
        monkeypatch.setattr(encoders, "SMALL", 0)
    metrics.place(MODEL, folder)
    items = datasets.items(datasets.load("mini"))
    quick = datasets.items(datasets.quick(datasets.load("mini"), metrics.QUICK_INPUTS))
    assert all(f"mini {len(quick)} of {len(quick)}" in line for line in made())
    own = {way: BartScore(str(folder), direction=way).score(quick)["value"] for way in ("precision", "recall")}
    shutil.rmtree(folder)
    encoders._locate.cache_clear()

    rows = judged_rows.judged_rows("one", quick, {})
    assert list(rows.scores) == ["BARTScore", "Both"] and not rows.lacking
    assert all(("|judged-by:tiny@" in text) == small for text in rows.signatures.values())
    np.testing.assert_array_equal(rows.scores["BARTScore"][""], own["precision"])
    both = rows.scores["Both"]
    np.testing.assert_allclose(both["overall"], (own["precision"] + own["recall"]) / 2)
    np.testing.assert_array_equal(both["other"], own["recall"])
    table = rows.table({"x": "overall"}, {"x": np.arange(len(quick))})
    assert table["signature"].str.contains("model:tiny@").all()
    assert correlations.averaged(table, "mean")["signature"].str.contains("model:tiny@").all()
    if len(items) > len(quick):
        rows = judged_rows.judged_rows("one", items, {})
        assert not rows.scores and "the metric cache has" in rows.lacking["BARTScore"]
