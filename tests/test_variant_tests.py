"""The ablation notebooks' helper: the same numbers as its parts give, and variants lined up by item."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nlgeval_lib import datasets, meta, study
from nlgeval_lib.study import judges, variant_tests


@pytest.fixture(scope="module")
def items():
    return datasets.items(datasets.quick(datasets.load("mini"), 12))


@pytest.fixture(scope="module")
def scores(items):
    noise = np.random.default_rng(0).normal(size=len(items))
    human = items["human_quality"].to_numpy(float)
    return {"good": human + 0.1 * noise, "noise": noise, "bad": 0.1 * noise - human}


def test_values_are_scipys_and_tests_are_corrected(items, scores):
    table, tests = variant_tests.compare(items, scores, "noise", "human_quality", coef="spearman")
    human = items["human_quality"].to_numpy(float)
    for row in table.itertuples():
        assert row.value == pytest.approx(stats.spearmanr(scores[row.variant], human)[0])
        assert row.ci_low <= row.value <= row.ci_high and row.n == len(items) and "ci:jack-both|df:3.5" in row.signature
    assert tests["variant"].tolist() == ["good", "bad"]
    found = table.set_index("variant")["value"]
    np.testing.assert_allclose(tests["difference"], [found["good"] - found["noise"], found["bad"] - found["noise"]])
    np.testing.assert_allclose(tests["p_holm"], meta.correct(tests["p"].tolist(), "holm").adjusted)
    assert tests["p_holm"].iat[0] < 0.05
    fig = variant_tests.figure(table, tests, "three judges")
    assert [text.get_text() for text in fig.axes[0].get_yticklabels()] == ["good", "noise", "bad"]


def test_variants_are_lined_up_by_item_and_gaps_are_told(monkeypatch):
    frame = pd.DataFrame({"input_id": ["1", "2", "3"], "system_id": "A", "aspect": "x", "human": ["1", "2", "3"]})
    made = {
        "whole": study.JudgeScores(
            True, frame=frame.assign(value=[1.0, 2.0, 3.0], status="ok"), coverage="3 of 3", route="run"
        ),
        "less": study.JudgeScores(
            True, frame=frame.assign(value=[1.0, 2.0, 3.0])[:0:-1], coverage="2 of 2", route="run"
        ),
        "gone": study.JudgeScores(False, "the store has none"),
    }
    monkeypatch.setattr(judges, "judge_scores", lambda output, name, **asked: made[name])
    asked = variant_tests.of_judges("one", list(made), engine="replay")
    assert asked.items["input_id"].tolist() == ["2", "3"] and asked.items["human"].tolist() == [2.0, 3.0]
    assert {name: values.tolist() for name, values in asked.scores.items()} == {"whole": [2, 3], "less": [2, 3]}
    assert asked.lacking == {"gone": "the store has none"} and asked.route == "run"
    assert asked.coverage_table()["variant"].tolist() == ["whole", "less", "gone"]
    assert variant_tests.of_judges("one", ["gone"]).scores == {}


def test_a_variant_that_scored_nothing_is_told_and_left_out(monkeypatch):
    rows = pd.DataFrame({"input_id": list("abcd"), "system_id": "s", "aspect": "overall", "human": [1.0, 2, 3, 4]})
    full = rows.assign(value=[1.0, 2, 2, 4], status="ok", reason="", details=None)
    none = rows.assign(value=np.nan, status="unparsed", reason="4 listed, 20 asked for", details=None)
    made = {"few": full, "many": none}
    monkeypatch.setattr(
        judges,
        "judge_scores",
        lambda output, name, **how: study.JudgeScores(True, frame=made[name], coverage=str(len(made[name]))),
    )
    asked = variant_tests.of_judges("output", ["few", "many"])
    assert list(asked.scores) == ["few"]
    assert "20 asked for" in asked.lacking["many"]
