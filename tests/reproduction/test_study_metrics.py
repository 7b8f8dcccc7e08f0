"""Metrics of the catalogue: made where a model's weights are, read anywhere, never
under another model's name.
"""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd
import pytest
import tiny_model
from runner_tools import Checkout

from nlgeval_lib import datasets
from nlgeval_lib.evaluators import BartScore, Rouge, encoders
from nlgeval_lib.scoring import correlations
from reproduction import papers
from reproduction.study import catalogue, judged_rows, metrics
from reproduction.study.scores import JudgeScores

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
    known = catalogue.load()
    said = list[str]()
    metrics.make(metrics.asked(known, known.outputs), said.append, mode)
    return said


def test_a_metric_without_weights_says_how_to_get_them(here):
    assert all(
        "not here: model some/bart is not on this machine" in line for line in made()
    )
    rows = judged_rows.judged_rows("one", datasets.items(datasets.load("mini")), {})
    assert papers.gap_of(rows.lacking["Both"]) == papers.NEEDS_WEIGHTS
    assert rows.table({"overall": "overall"}, {}).empty and set(rows.lacking) == {
        "BARTScore",
        "Both",
    }
    assert "nlgeval completions --output one" in rows.lacking["BARTScore"]
    assert f"--model-path {MODEL}=FOLDER" in rows.lacking["BARTScore"]


@pytest.mark.parametrize("small", [True, False])
def test_what_was_made_is_read_without_the_weights_and_under_its_own_name(
    here, tmp_path, monkeypatch, small
):
    folder = tiny_model.build_seq2seq(tmp_path / "tiny", positions=512)
    monkeypatch.setattr(metrics, "QUICK_INPUTS", 3)
    if not small:
        monkeypatch.setattr(encoders, "SMALL", 0)
    metrics.place(MODEL, folder)
    items = datasets.items(datasets.load("mini"))
    quick = datasets.items(datasets.quick(datasets.load("mini"), metrics.QUICK_INPUTS))
    assert all(f"mini {len(quick)} of {len(quick)}" in line for line in made())
    own = {
        way: BartScore(str(folder), direction=way).score(quick)["value"]
        for way in ("precision", "recall")
    }
    shutil.rmtree(folder)
    encoders._locate.cache_clear()

    rows = judged_rows.judged_rows("one", quick, {})
    assert list(rows.scores) == ["BARTScore", "Both"] and not rows.lacking
    assert all(
        ("|judged-by:tiny@" in text) == small for text in rows.signatures.values()
    )
    np.testing.assert_array_equal(rows.scores["BARTScore"][""], own["precision"])
    both = rows.scores["Both"]
    np.testing.assert_allclose(both["overall"], (own["precision"] + own["recall"]) / 2)
    np.testing.assert_array_equal(both["other"], own["recall"])
    table = rows.table({"x": "overall"}, {"x": np.arange(len(quick))})
    assert table["signature"].str.contains("model:tiny@").all()
    assert (table["own_sd"] == 0).all(), "a metric says the same each time"
    assert (
        correlations.averaged(table, "mean")["signature"]
        .str.contains("model:tiny@")
        .all()
    )
    if len(items) > len(quick):
        rows = judged_rows.judged_rows("one", items, {})
        assert not rows.scores and "the metric cache has" in rows.lacking["BARTScore"]


def test_a_table_over_data_sets_takes_what_is_there_and_says_what_lacks(monkeypatch):
    names = ("naturalness", "understandability", "engagingness", "coherence")
    items = pd.DataFrame(
        {
            "input_id": np.repeat(range(6), 3),
            "system_id": list("abc") * 6,
            "output": "x",
            "references": [("x",)] * 18,
        }
    )
    human = np.random.default_rng(0).normal(size=(18, 4))
    items[[f"human_{name}" for name in names]] = human
    parts = {
        "topical_chat": judged_rows.Part.from_aspects("Chat", items, names, digits=2)
    }
    frame = pd.concat(
        [items.assign(aspect=name, value=human[:, at]) for at, name in enumerate(names)]
    )
    given = {"LLMScore, topical_chat": JudgeScores(True, frame=frame, signature="J")}
    given["CoAScore (n=5), topical_chat"] = JudgeScores(True, route="mini")
    monkeypatch.setattr(
        judged_rows,
        "judge_scores",
        lambda output, name, **_: given.get(name, JudgeScores(False, "no key")),
    )
    found = judged_rows.asked(
        "coascore_tables_04_13", parts, {"coefs": ["spearman"]}, mode="full"
    )
    [cell] = pd.concat(found.tables).to_dict("records")
    assert (cell["row"], cell["column"], cell["value"], cell["route"]) == (
        "LLMScore",
        "Chat",
        1,
        "run",
    )
    assert cell["signature"].startswith("mean-of:4|") and cell["signature"].endswith(
        "|judge:J|aspects:rounded(2)"
    )
    assert found.lacking["CoAScore (n=10)", "Chat"] == "needs a run: no key"
    assert (
        list(found.mini) == ["CoAScore (n=5), topical_chat"]
        and ("BARTScore", "Chat") in found.lacking
    )

    length = {
        "all": lambda items: items["input_id"],
        "some": {"topical_chat": judged_rows.on_spread(Rouge(), 2)},
    }
    scores = judged_rows.scored(parts, length)["topical_chat"]
    assert items["input_id"][scores["some"].notna()].unique().tolist() == [0, 5]
    made = judged_rows.correlated(
        parts, {"topical_chat": {"all": scores["all"]}}, coefs=["pearson"], ci=None
    )
    means = judged_rows.with_mean(made.assign(route="public"))
    assert (
        means["value"].iat[-1] == pytest.approx(made["value"].mean())
        and len(means) == 5
    )
    assert judged_rows.averaged(parts, made)["value"].item() == pytest.approx(
        made["value"].round(2).mean()
    )
