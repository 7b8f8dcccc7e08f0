"""Recorded scores of several aspects joined: means, and a regression that never sees what it predicts for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import RidgeCV

from nlgeval_lib import datasets
from nlgeval_lib.study import aspect_scores, variant_tests


@pytest.fixture(scope="module")
def items(needs) -> pd.DataFrame:
    needs("topical_chat", "acloserlook")
    return datasets.items(datasets.quick(datasets.load("topical_chat", ground_truth=False), 10))


@pytest.fixture(scope="module")
def scores(items) -> dict[str, np.ndarray]:
    return aspect_scores.chat_scores(items)


def test_recorded_scores_are_means_of_the_draws_between_0_and_1(items, scores):
    assert set(scores) == set(aspect_scores.CHAT_SCALES)
    assert all(np.nanmin(values) >= 0 and np.nanmax(values) <= 1 for values in scores.values())
    raw = datasets.recordings.load("acloserlook", aspects=("groundedness",), prompt_forms=("analyze_rate",))
    first = items.iloc[0]
    texts = raw[(raw["input_id"] == first["input_id"]) & (raw["system_id"] == first["system_id"])]["text"]
    last = texts.str.extract(r"(?:[Rr]ating|[Gg]roundedness)[^0-9]*([01])\b")[0].dropna().astype(float)
    assert len(last) >= 15 and scores["groundedness"][0] == pytest.approx(last.mean(), abs=0.1)


def test_a_mean_takes_the_aspects_that_have_a_score():
    table = [[1.0, np.nan, np.nan], [3.0, 0.5, np.nan]]
    np.testing.assert_array_equal(aspect_scores.mean(table), [2.0, 0.5, np.nan])


def test_the_ways_that_a_target_has(items, scores):
    human = items["human_coherence"].to_numpy(float)
    ways = aspect_scores.combined(items, scores, "coherence", human)
    assert list(ways) == [
        aspect_scores.DIRECT,
        aspect_scores.OTHERS,
        aspect_scores.ALL,
        aspect_scores.RIDGE_OTHERS,
        aspect_scores.RIDGE_ALL,
    ]
    rest = [values for name, values in scores.items() if name != "coherence"]
    np.testing.assert_allclose(ways[aspect_scores.OTHERS], np.nanmean(rest, axis=0))
    assert list(aspect_scores.combined(items, scores, "overall", human, fitted=False)) == [aspect_scores.OTHERS]


def test_a_prediction_does_not_depend_on_the_ratings_of_its_own_input(items, scores):
    """Other ratings for one input change predictions elsewhere, and none of its own."""
    human = items["human_coherence"].to_numpy(float)
    mine = (items["input_id"] == items["input_id"].iloc[0]).to_numpy()
    before = aspect_scores.ridge_out_of_sample(scores.values(), human, items["input_id"])
    after = aspect_scores.ridge_out_of_sample(scores.values(), np.where(mine, 4 - human, human), items["input_id"])
    np.testing.assert_array_equal(before[mine], after[mine])
    assert not np.allclose(before[~mine], after[~mine])


def test_predictions_are_those_of_a_ridge_fitted_by_hand(items, scores):
    human = items["human_coherence"].to_numpy(float)
    x = np.array(list(scores.values())).T
    assert not np.isnan(x).any()
    inputs = items["input_id"].to_numpy()
    found = aspect_scores.ridge_out_of_sample(scores.values(), human, inputs, folds=10)
    for one in np.unique(inputs):  # as many folds as inputs: each is predicted from all others
        learn = inputs != one
        centre, spread = x[learn].mean(axis=0), x[learn].std(axis=0)
        model = RidgeCV(np.logspace(-2, 3, 11)).fit((x[learn] - centre) / spread, human[learn])
        np.testing.assert_allclose(found[~learn], model.predict((x[~learn] - centre) / spread))


def test_items_without_scores_or_rating_get_none(items, scores):
    human = items["human_coherence"].to_numpy(float).copy()
    human[3] = np.nan
    gone = [np.where(np.arange(len(items)) == 5, np.nan, values) for values in scores.values()]
    found = aspect_scores.ridge_out_of_sample(gone, human, items["input_id"])
    assert np.flatnonzero(np.isnan(found)).tolist() == [3, 5]
    with pytest.raises(ValueError, match="10 inputs with scores and ratings; 11 folds"):
        aspect_scores.ridge_out_of_sample(scores.values(), human, items["input_id"], folds=11)


def test_pairs_are_tested_and_corrected_within_their_family(items, scores):
    human = items["human_coherence"].to_numpy(float)
    noise = np.random.default_rng(0).random(len(items))
    sides = {
        ("a", "good"): (human + noise / 100, noise, human),
        ("a", "same"): (noise, noise, human),
        ("b", "good"): (human + noise / 100, noise, human),
    }
    found = variant_tests.paired_tests(items, sides, ("set", "pair"), family="set")
    assert found["p"].tolist()[1] == 1 and found["difference"].tolist()[1] == 0
    assert found["p_holm"].tolist()[0] == pytest.approx(2 * found["p"][0]) and found["p_holm"][2] == found["p"][2]
    assert found["signature"].str.contains("correct:holm|families:2", regex=False).all()
