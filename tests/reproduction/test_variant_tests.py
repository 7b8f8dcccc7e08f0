"""The ablation notebooks' helper: the same numbers as its parts give, and variants
lined up by item.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import public_data
import pytest
from scipy import stats
from sklearn.linear_model import RidgeCV

from judgecard import recordings
from nlgeval_lib import datasets, statistics
from reproduction import study
from reproduction.report import tested
from reproduction.study import aspect_scores, variant_tests


@pytest.fixture(scope="module")
def items():
    return datasets.items(datasets.quick(datasets.load("mini"), 12))


@pytest.fixture(scope="module")
def scores(items):
    noise = np.random.default_rng(0).normal(size=len(items))
    human = items["human_quality"].to_numpy(float)
    return {"good": human + 0.1 * noise, "noise": noise, "bad": 0.1 * noise - human}


def test_values_are_scipys_and_tests_are_corrected(items, scores):
    table, tests = variant_tests.compare(
        items, scores, "noise", "human_quality", coef="spearman"
    )
    human = items["human_quality"].to_numpy(float)
    for row in table.itertuples():
        assert row.value == pytest.approx(
            stats.spearmanr(scores[row.variant], human)[0]
        )
        assert (
            row.ci_low <= row.value <= row.ci_high
            and row.n == len(items)
            and "ci:jack-both|df:3.5" in row.signature
        )
    assert tests["variant"].tolist() == ["good", "bad"]
    found = table.set_index("variant")["value"]
    np.testing.assert_allclose(
        tests["difference"],
        [found["good"] - found["noise"], found["bad"] - found["noise"]],
    )
    np.testing.assert_allclose(
        tests["p_holm"], statistics.correct(tests["p"].tolist(), "holm").adjusted
    )
    assert tests["p_holm"].iat[0] < 0.05
    fig = variant_tests.figure(table, tests, "three judges")
    assert [text.get_text() for text in fig.axes[0].get_yticklabels()] == [
        "good",
        "noise",
        "bad",
    ]


def test_all_pairs_are_tested_and_corrected_together(items, scores):
    _, tests = variant_tests.compare(
        items, scores, "noise", "human_quality", all_pairs=True
    )
    pairs = tests[["variant", "against"]].to_records(index=False).tolist()
    assert pairs == [("good", "noise"), ("bad", "noise"), ("bad", "good")]
    corrected = statistics.correct(tests["p"].tolist(), "holm").adjusted
    np.testing.assert_allclose(tests["p_holm"], corrected)
    # what a single test tells with a power of .8: t quantiles times the standard error
    half = (tests["ci_high"] - tests["ci_low"]) / 2
    inside = (tests["ci_high"] < 1) & (tests["detectable"] > 0)
    assert inside.any() and (tests["detectable"] > half)[inside].all()
    fig = variant_tests.figure(
        pd.DataFrame(
            {"variant": list(scores), "statistic": "spearman", "value": 0.0}
        ).assign(ci_low=-0.1, ci_high=0.1),
        tests,
    )
    assert fig.axes[1].get_title("left") == "against noise, p by Holm"
    assert len(fig.axes[1].texts) == 2


def test_sentences_of_tests():
    tests = pd.DataFrame(
        {
            "variant": ["n=7", "n=5", "n=7"],
            "against": ["n=3", "n=3", "n=5"],
            "difference": [0.189, -0.0123, 0.2],
            "ci_low": [0.1, -0.05, np.nan],
            "ci_high": [0.25, 0.03, np.nan],
            "n": 300,
            "p_holm": [0.00001, 0.4, np.nan],
            "reason": ["", "", "a constant"],
            "detectable": [0.04, 0.06, np.nan],
        }
    )
    assert tested.sentences(tests) == [
        "n=7 follows the ratings more closely than n=3: +.189 [+.100, +.250], "
        "p < .001.",
        "No difference between n=5 and n=3 can be told: -.012 [-.050, +.030], "
        "p = .400.",
        "n=7 against n=5: no test (a constant).",
        "Differences below about .04 to .06, by pair, cannot be told on 300 items "
        "(a single test at 5 % with a power of 80 %).",
    ]
    assert tested.sentences(tests[["variant"]]) == []
    alike = tests.tail(1).assign(difference=0.0, p_holm=1.0)
    assert tested.sentences(alike)[0].startswith("n=7 and n=5 follow the ratings alike")
    many = pd.concat([tests] * 5).assign(aspect="fluency")
    assert "Of all 15 pairs 5 differ" in tested.sentences(many)[-2]


def test_a_variant_that_was_mostly_not_read_is_not_tested(monkeypatch):
    rows = pd.DataFrame(
        {"input_id": list("abcdefghij"), "system_id": "s", "human": range(10)}
    )
    values = np.arange(10.0)
    unread = values.copy()
    unread[:2] = np.nan
    judged = {
        "read": study.JudgeScores(
            True, frame=rows.assign(value=values, reason=""), coverage="10 of 10"
        ),
        "unread": study.JudgeScores(
            True,
            frame=rows.assign(value=unread, reason="no number"),
            coverage="8 of 10",
        ),
    }
    kept = variant_tests.on_shared_items(judged, least_read=0.9)
    assert list(kept.scores) == ["read"] and len(kept.items) == 10
    assert "only 80% of the rows" in kept.lacking["unread"]
    table = kept.coverage_table().set_index("variant")
    assert table["scored"].tolist() == ["10 of 10", "8 of 10"]
    assert table.loc["read", "why not"] == "" != table.loc["unread", "why not"]
    assert len(variant_tests.on_shared_items(judged, least_read=0.5).scores) == 2


def asked(monkeypatch, **made: study.JudgeScores) -> variant_tests.VariantScores:
    """What `of_judges` makes of the judges' scores."""
    monkeypatch.setattr(
        variant_tests, "judge_scores", lambda output, name, **how: made[name]
    )
    return variant_tests.of_judges("one", list(made), engine="replay")


def test_variants_are_lined_up_by_item_and_gaps_are_told(monkeypatch):
    frame = pd.DataFrame(
        {
            "input_id": ["1", "2", "3"],
            "system_id": "A",
            "aspect": "x",
            "human": ["1", "2", "3"],
        }
    )
    frame = frame.assign(value=[1.0, 2.0, 3.0])
    whole = study.JudgeScores(True, frame=frame.assign(status="ok"), coverage="3 of 3")
    less = study.JudgeScores(True, frame=frame[:0:-1], coverage="2 of 2")
    gone = study.JudgeScores(False, "the store has none")
    found = asked(monkeypatch, whole=whole, less=less, gone=gone)
    assert found.items["input_id"].tolist() == ["2", "3"] and found.items[
        "human"
    ].tolist() == [2.0, 3.0]
    assert {name: values.tolist() for name, values in found.scores.items()} == {
        "whole": [2, 3],
        "less": [2, 3],
    }
    assert found.lacking == {"gone": "the store has none"} and found.route == "run"
    assert found.coverage_table()["variant"].tolist() == ["whole", "less", "gone"]
    assert asked(monkeypatch, gone=gone).scores == {}


def test_a_variant_that_scored_nothing_is_told_and_left_out(monkeypatch):
    rows = pd.DataFrame(
        {
            "input_id": list("abcd"),
            "system_id": "s",
            "aspect": "overall",
            "human": [1.0, 2, 3, 4],
        }
    )
    few = study.JudgeScores(True, frame=rows.assign(value=[1.0, 2, 2, 4], reason=""))
    many = study.JudgeScores(
        True, frame=rows.assign(value=np.nan, reason="4 listed, 20 asked for")
    )
    found = asked(monkeypatch, few=few, many=many)
    assert list(found.scores) == ["few"] and "20 asked for" in found.lacking["many"]


# -- recorded spoken of several aspects joined: means, and a regression that never sees what it predicts for -----------


@pytest.fixture(scope="module")
def chats() -> pd.DataFrame:
    public_data.show()
    return datasets.items(
        datasets.quick(datasets.load("topical_chat", ground_truth=False), 10)
    )


@pytest.fixture(scope="module")
def spoken(chats) -> dict[str, np.ndarray]:
    return aspect_scores.chat_scores(chats)


def test_recorded_scores_are_means_of_the_draws_between_0_and_1(chats, spoken, needs):
    needs("acloserlook")
    assert set(spoken) == set(aspect_scores.CHAT_SCALES)
    assert all(
        np.nanmin(values) >= 0 and np.nanmax(values) <= 1 for values in spoken.values()
    )
    raw = recordings.load(
        "acloserlook", aspects=("groundedness",), prompt_forms=("analyze_rate",)
    )
    first = chats.iloc[0]
    texts = raw[
        (raw["input_id"] == first["input_id"])
        & (raw["system_id"] == first["system_id"])
    ]["text"]
    last = (
        texts.str.extract(r"(?:[Rr]ating|[Gg]roundedness)[^0-9]*([01])\b")[0]
        .dropna()
        .astype(float)
    )
    assert len(last) >= 15 and spoken["groundedness"][0] == pytest.approx(
        last.mean(), abs=0.1
    )


def test_a_mean_takes_the_aspects_that_have_a_score():
    table = [[1.0, np.nan, np.nan], [3.0, 0.5, np.nan]]
    np.testing.assert_array_equal(aspect_scores.mean(table), [2.0, 0.5, np.nan])


def test_the_ways_that_a_target_has(chats, spoken):
    human = chats["human_coherence"].to_numpy(float)
    ways = aspect_scores.combined(chats, spoken, "coherence", human)
    names = ("DIRECT", "OTHERS", "ALL", "RIDGE_OTHERS", "RIDGE_ALL")
    assert list(ways) == [getattr(aspect_scores, name) for name in names]
    rest = [values for name, values in spoken.items() if name != "coherence"]
    np.testing.assert_allclose(ways[aspect_scores.OTHERS], np.nanmean(rest, axis=0))
    assert list(
        aspect_scores.combined(chats, spoken, "overall", human, fitted=False)
    ) == [aspect_scores.OTHERS]


def test_a_prediction_does_not_depend_on_the_ratings_of_its_own_input(chats, spoken):
    """Other ratings for one input change predictions elsewhere, and none of its own."""
    human = chats["human_coherence"].to_numpy(float)
    mine = (chats["input_id"] == chats["input_id"].iloc[0]).to_numpy()
    before = aspect_scores.ridge_out_of_sample(
        spoken.values(), human, chats["input_id"]
    )
    after = aspect_scores.ridge_out_of_sample(
        spoken.values(), np.where(mine, 4 - human, human), chats["input_id"]
    )
    np.testing.assert_array_equal(before[mine], after[mine])
    assert not np.allclose(before[~mine], after[~mine])


def test_predictions_are_those_of_a_ridge_fitted_by_hand(chats, spoken):
    human = chats["human_coherence"].to_numpy(float)
    x = np.array(list(spoken.values())).T
    assert not np.isnan(x).any()
    inputs = chats["input_id"].to_numpy()
    found = aspect_scores.ridge_out_of_sample(spoken.values(), human, inputs, folds=10)
    for one in np.unique(
        inputs
    ):  # as many folds as inputs: each is predicted from all others
        learn = inputs != one
        centre = x[learn].mean(axis=0)
        spread = x[learn].std(axis=0)
        model = RidgeCV(np.logspace(-2, 3, 11)).fit(
            (x[learn] - centre) / spread, human[learn]
        )
        np.testing.assert_allclose(
            found[~learn], model.predict((x[~learn] - centre) / spread)
        )


def test_items_without_scores_or_rating_get_none(chats, spoken):
    human = chats["human_coherence"].to_numpy(float).copy()
    human[3] = np.nan
    gone = [
        np.where(np.arange(len(chats)) == 5, np.nan, values)
        for values in spoken.values()
    ]
    found = aspect_scores.ridge_out_of_sample(gone, human, chats["input_id"])
    assert np.flatnonzero(np.isnan(found)).tolist() == [3, 5]
    with pytest.raises(ValueError, match="10 inputs with scores and ratings; 11 folds"):
        aspect_scores.ridge_out_of_sample(
            spoken.values(), human, chats["input_id"], folds=11
        )


def test_pairs_are_tested_and_corrected_together(chats, spoken):
    human = chats["human_coherence"].to_numpy(float)
    noise = np.random.default_rng(0).random(len(chats))
    sides = {
        ("a", "good"): (human + noise / 100, noise, human),
        ("a", "same"): (noise, noise, human),
        ("b", "good"): (human + noise / 100, noise, human),
    }
    found = variant_tests.paired_tests(chats, sides, ("set", "pair"))
    assert found["p"].tolist()[1] == 1 and found["difference"].tolist()[1] == 0
    assert found["p_holm"].tolist()[0] == pytest.approx(3 * found["p"][0])
    assert found["signature"].str.contains("correct:holm", regex=False).all()


def test_an_arm_without_scores_leaves_the_others_tested(items, scores):
    """Its own row and tests are NaN and say why; the other arms' numbers, and Holm's
    correction over them, are those without it.
    """
    human = items["human_quality"].to_numpy(float)
    nothing = np.full(len(items), np.nan)
    two = nothing.copy()
    two[:2] = 1.0
    arms = scores | {"empty": nothing, "two": two}
    table, tests = variant_tests.compare(
        items, arms, "noise", "human_quality", all_pairs=True
    )
    _, alone = variant_tests.compare(
        items, scores, "noise", "human_quality", all_pairs=True
    )
    by_arm = table.set_index("variant")
    assert by_arm.loc[["empty", "two"], "value"].isna().all()
    assert by_arm["n"].tolist() == [len(human)] * 3 + [0, 2]
    assert "0 common item(s)" in by_arm.at["empty", "reason"]
    broken = tests["variant"].isin(["empty", "two"])
    broken |= tests["against"].isin(["empty", "two"])
    assert broken.sum() == 7
    assert tests.loc[broken, ["difference", "p", "p_holm"]].isna().all(axis=None)
    assert tests.loc[broken, "reason"].str.startswith("no test: got ").all()
    columns = ["difference", "p", "p_holm", "ci_low", "ci_high"]
    whole = tests.loc[~broken, columns].reset_index(drop=True)
    pd.testing.assert_frame_equal(whole, alone[columns])
    variant_tests.figure(table, tests)
    assert "no test" in tested.sentences(tests)[-2]


def test_ratings_are_peoples_or_gpt4s(items, scores):
    rated = items.rename(columns={"human_quality": "human"})
    unrated = rated.assign(human=np.nan, gpt4=rated["human"])
    by_people, _ = variant_tests.compare(rated, scores, "noise")
    by_gpt4, _ = variant_tests.compare(unrated, scores, "noise")
    pd.testing.assert_frame_equal(by_people, by_gpt4)


def test_the_rows_that_all_arms_have(scores):
    """An arm read on half the rows puts all on that half."""
    first, second, _ = scores.values()
    half = np.where(np.arange(len(first)) % 2, first, np.nan)
    both = variant_tests.on_all_arms({"a": half, "b": second})
    np.testing.assert_array_equal(both["a"], half)
    np.testing.assert_array_equal(both["b"][1::2], second[1::2])
    assert np.isnan(both["b"][::2]).all()
