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


def asked(monkeypatch, **made: study.JudgeScores) -> variant_tests.VariantScores:
    """What `of_judges` makes of the judges' scores."""
    monkeypatch.setattr(judges, "judge_scores", lambda output, name, **how: made[name])
    return variant_tests.of_judges("one", list(made), engine="replay")


def test_variants_are_lined_up_by_item_and_gaps_are_told(monkeypatch):
    frame = pd.DataFrame({"input_id": ["1", "2", "3"], "system_id": "A", "aspect": "x", "human": ["1", "2", "3"]})
    frame = frame.assign(value=[1.0, 2.0, 3.0])
    whole = study.JudgeScores(True, frame=frame.assign(status="ok"), coverage="3 of 3")
    less = study.JudgeScores(True, frame=frame[:0:-1], coverage="2 of 2")
    gone = study.JudgeScores(False, "the store has none")
    found = asked(monkeypatch, whole=whole, less=less, gone=gone)
    assert found.items["input_id"].tolist() == ["2", "3"] and found.items["human"].tolist() == [2.0, 3.0]
    assert {name: values.tolist() for name, values in found.scores.items()} == {"whole": [2, 3], "less": [2, 3]}
    assert found.lacking == {"gone": "the store has none"} and found.route == "run"
    assert found.coverage_table()["variant"].tolist() == ["whole", "less", "gone"]
    assert asked(monkeypatch, gone=gone).scores == {}


def test_a_variant_that_scored_nothing_is_told_and_left_out(monkeypatch):
    rows = pd.DataFrame({"input_id": list("abcd"), "system_id": "s", "aspect": "overall", "human": [1.0, 2, 3, 4]})
    few = study.JudgeScores(True, frame=rows.assign(value=[1.0, 2, 2, 4], reason=""))
    many = study.JudgeScores(True, frame=rows.assign(value=np.nan, reason="4 listed, 20 asked for"))
    found = asked(monkeypatch, few=few, many=many)
    assert list(found.scores) == ["few"] and "20 asked for" in found.lacking["many"]
