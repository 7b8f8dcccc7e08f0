"""Recorded judges as criteria: features, splits, quality, and the tests over splits."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from criteria_data import scores_and_ratings
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from judgecard import recordings
from nlgeval_lib import datasets, statistics
from nlgeval_lib.evaluators.hdeval import CriteriaTree
from reproduction.study import JudgeScores, criteria_scores
from reproduction.study.criteria_scores import predictions


@pytest.fixture(scope="module")
def summaries(data) -> criteria_scores.CriteriaScores:
    data("summeval")
    return criteria_scores.recorded("summeval", 20)


def test_features_are_the_recorded_scores(summaries) -> None:
    one = summaries
    assert one.X.shape == (320, 24) and list(one.Y) == list(
        criteria_scores.ASPECTS["summeval"]
    )
    recorded = recordings.load("alttest_summeval")
    row = one.items.iloc[37]
    part = recorded[
        (recorded["input_id"] == row["input_id"])
        & (recorded["system_id"] == row["system_id"])
    ]
    for value in part.itertuples():
        assert one.X.iloc[37][f"{value.judge} {value.aspect}"] == value.value
    assert one.own["fluency"] == tuple(
        f"{judge} fluency" for judge in recorded["judge"].unique()
    )
    with pytest.raises(ValueError, match="no recorded scores of 'sfhot'"):
        criteria_scores.recorded("sfhot")


def test_topical_chat_takes_the_mean_of_the_draws(needs) -> None:
    needs("topical_chat", "acloserlook")
    one = criteria_scores.recorded("topical_chat", 3, draws=4)
    assert "Original Ground Truth" not in set(
        one.items["system_id"]
    ) and one.X.shape == (15, 28)
    assert one.groups == (
        ("naturalness", "coherence", "engagingness"),
        ("groundedness",),
    )
    texts = recordings.load(
        "acloserlook", aspects=["coherence"], prompt_forms=["geval"]
    )
    row = one.items.iloc[4]
    mine = texts[
        (texts["input_id"] == row["input_id"])
        & (texts["system_id"] == row["system_id"])
    ]
    bare = [
        float(text)
        for text in mine[mine["draw"] < 4]["text"]
        if text.strip() in ("1", "2", "3")
    ]
    assert len(bare) == 4
    assert one.X["geval coherence"].iloc[4] == pytest.approx(np.mean(bare))


def test_splits_are_the_papers_or_by_document(summaries) -> None:
    half = summaries.test_rows("row", 42)
    assert set(half) == set(
        train_test_split(np.arange(320), test_size=0.5, random_state=42)[1]
    )
    test = summaries.test_rows("document", 3)
    inside = set(summaries.items["input_id"].iloc[test])
    outside = set(summaries.items["input_id"]) - inside
    assert len(inside) == 10 and not inside & set(
        np.delete(summaries.items["input_id"].to_numpy(), test)
    )
    assert outside
    with pytest.raises(ValueError, match="allowed: row, document"):
        summaries.test_rows("input", 0)


def test_quality_is_that_of_scikit_learn_and_scipy(summaries) -> None:
    found = criteria_scores.on_splits(summaries, "document", [5], ["lr"])
    test = summaries.test_rows("document", 5)
    train = np.setdiff1d(np.arange(320), test)
    X = summaries.X.to_numpy()
    Y = summaries.Y.to_numpy()
    fitted = LinearRegression().fit(X[train], Y[train]).predict(X[test])
    cells = found.set_index(["kind", "target", "coef"])["value"]
    for column, target in enumerate(summaries.Y):
        for coef, oracle in (
            ("pearson", stats.pearsonr),
            ("spearman", stats.spearmanr),
        ):
            expected = oracle(fitted[:, column], Y[test, column])[0]
            assert cells["LR", target, coef] == pytest.approx(expected)
            expected = oracle(X[test].mean(axis=1), Y[test, column])[0]
            assert cells[criteria_scores.ALL, target, coef] == pytest.approx(expected)
    assert set(found["n"]) == {160}


def test_gains_are_tested_against_the_base_and_corrected_together() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {
            "data": "d",
            "coef": coef,
            "split": k,
            "kind": kind,
            "value": 0.5 + up + rng.normal(0, 0.01),
            "n": 100,
        }
        for coef in criteria_scores.COEFS
        for k in range(10)
        for kind, up in (("base", 0.0), ("better", 0.1), ("same", 0.0))
    ]
    frame = pd.DataFrame(rows)
    table = criteria_scores.against(frame, "base", ["data"]).set_index(["coef", "kind"])
    assert len(table) == 4
    wide = frame.pivot(index=["coef", "split"], columns="kind", values="value").loc[
        "pearson"
    ]
    one = statistics.resampled_t(wide["better"] - wide["base"], 100, 100)
    assert table.loc[("pearson", "better"), "difference"] == pytest.approx(one.value)
    assert table.loc[("pearson", "better"), "p"] == pytest.approx(one.p)
    assert (table["p_holm"] >= table["p"]).all()
    assert (
        table.loc[("pearson", "better"), "p_holm"]
        < 0.05
        < table.loc[("pearson", "same"), "p_holm"]
    )


def test_criteria_of_a_judge_give_the_rows_of_the_tables(summaries) -> None:
    """Scores of HD-Eval's criteria as a judge would give them, here made from the
    ratings.
    """
    names = [node.id for node in CriteriaTree.published("summeval").nodes()]
    frame = datasets.load("summeval")
    rng = np.random.default_rng(1)
    frame = frame[frame["input_id"].isin(summaries.items["input_id"])].reset_index(
        drop=True
    )
    base = datasets.items(frame)[
        ["input_id", "system_id", *(f"human_{aspect}" for aspect in summaries.Y)]
    ]
    noisy = {
        name: base.iloc[:, 2 + k % 4] + rng.normal(0, 1, len(base))
        for k, name in enumerate(names)
    }
    frame = frame.merge(base[["input_id", "system_id"]].assign(**noisy), "left")
    made = JudgeScores(True, frame=frame, criteria=tuple(names), model="made up")
    one = criteria_scores.of_judge("summeval", made)
    assert (
        one.X.shape == (320, 25)
        and one.own["coherence"] == ("coh",)
        and one.layers["gram"] == 2
    )
    plain = {aspect: rng.permutation(one.Y[aspect]) for aspect in one.Y}
    rows = criteria_scores.tables_4_and_5(one, "SummEval", ["lr"], alone=plain)
    by_row = rows.set_index(["row", "statistic"])["value"]
    test = one.test_rows("row", 42)
    alone = [
        stats.pearsonr(plain[aspect][test], one.Y[aspect].iloc[test])[0]
        for aspect in one.Y
    ]
    assert by_row["50% data | w/o Layer 1,2,3", "pearson"] == pytest.approx(
        np.mean(alone)
    )
    assert (
        by_row["50% data | HD-Eval-LR", "pearson"]
        > by_row["50% data | w/o Layer 1,2,3", "pearson"]
    )
    assert {
        "50% data | w/o Layer 3",
        "50% data | w/o Layer 2,3",
        "25% data | HD-Eval-LR",
    } <= set(rows["row"])
    with pytest.raises(
        ValueError, match="no scores of criteria for summeval: not here"
    ):
        criteria_scores.of_judge("summeval", JudgeScores(False, "not here"))


@given(st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=3, max_size=20))
def test_without_overlap_it_is_the_ordinary_t_test(values) -> None:
    """n_test / n_train near 0 takes the correction away."""
    values = np.array(values)
    if values.std() < 1e-6:
        return
    found = statistics.resampled_t(values, 1e15, 1)
    oracle = stats.ttest_1samp(values, 0)
    assert found.p == pytest.approx(oracle.pvalue, rel=1e-6, abs=1e-12)
    low, high = oracle.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-6, abs=1e-9)


def test_overlap_widens_the_interval_by_its_formula() -> None:
    values = np.array([0.1, 0.12, 0.09, 0.15, 0.11])
    plain = statistics.resampled_t(values, 1e15, 1)
    half = statistics.resampled_t(values, 50, 50)
    assert (half.high - half.value) / (plain.high - plain.value) == pytest.approx(
        np.sqrt((1 / 5 + 1) / (1 / 5))
    )
    assert (
        half.p > plain.p
        and half.signature() == "mean-of-splits:5|ci:resampled-t(50/50)"
    )
    assert np.isnan(statistics.resampled_t([0.3], 50, 50).p)
    assert statistics.resampled_t([0.0, 0.0], 50, 50).p == 1.0


def test_sweeps_predict_the_test_rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(1, 6, (60, 5)).astype(float), columns=list("vwxyz"))
    Y = pd.DataFrame({"a": X["x"] + rng.normal(0, 0.01, 60), "b": X["x"] - X["y"]})
    test = list(range(30, 60))
    found = predictions(X, Y, test, kinds=["lr", "average"], seeds=[0, 1])
    names = ["kind", "share", "criteria", "seed", "row", "target", "predicted", "human"]
    assert (
        list(found.columns) == names
        and len(found) == 240
        and set(found["row"]) == set(test)
    )
    linear = found[found["kind"] == "lr"]
    np.testing.assert_allclose(linear["predicted"], linear["human"], atol=0.1)
    shares = predictions(
        X, Y, test, kinds=["ridge"], shares=[0.2, 1.0], seeds=[0, 1, 2]
    )
    error = (
        shares.assign(e=(shares["predicted"] - shares["human"]) ** 2)
        .groupby("share")["e"]
        .mean()
    )
    assert len(shares) == 2 * 3 * 60 and error[1.0] < error[0.2]
    some = predictions(X, Y, test, kinds=["lr"], counts=[1, 2, 5], seeds=[3])
    assert some.attrs["order"][3][:2] == ["x", "y"]
    error = (
        some.assign(e=(some["predicted"] - some["human"]).abs())
        .groupby("criteria")["e"]
        .max()
    )
    assert error[1] > 0.5 and error[2] < 0.1 and error[5] < 0.1


def test_no_row_to_learn_from_predicts_nothing():
    X, Y = scores_and_ratings(10)
    predicted = predictions(X * math.nan, Y, [0, 1], kinds=["lr"], seeds=[0])
    assert predicted["predicted"].isna().all() and len(predicted) == 4
