"""HD-Eval's aggregators, attribution and ablations: against scikit-learn."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from criteria_data import scores_and_ratings, small
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import SGDRegressor
from sklearn.svm import SVR

from nlgeval_lib.evaluators.hdeval import (
    Aggregator,
    overall,
    permutation_importance,
    register,
    top,
)

KINDS = ["dt", "lr", "mlp", "rf", "ridge"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("targets", [["a"], ["a", "b"]])
def test_predictions_are_those_of_scikit_learn(kind, targets):
    X, Y = scores_and_ratings()
    ours = Aggregator(kind, seed=3, options=small(kind)).fit(X[:80], Y[targets][:80])
    theirs = Aggregator(kind, seed=3, options=small(kind)).estimator()
    theirs.fit(X[:80].to_numpy(), Y[targets][:80].to_numpy().squeeze())
    expected = theirs.predict(X.to_numpy()).reshape(len(X), -1)
    np.testing.assert_allclose(
        ours.predict(X).to_numpy(), expected, rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize(
    ("name", "regressor"),
    [
        ("boosting", GradientBoostingRegressor(random_state=3)),
        ("sklearn.svm.SVR", SVR()),
        ("SVR", SVR()),
        ("sklearn.linear_model.SGDRegressor", SGDRegressor(random_state=3)),
    ],
)
def test_a_regressor_by_its_full_name_is_scikit_learns_with_the_seed(name, regressor):
    X, Y = scores_and_ratings()
    ours = Aggregator(name, seed=3).fit(X[:80], Y[["a"]][:80])
    theirs = regressor.fit(X[:80].to_numpy(), Y["a"][:80])
    np.testing.assert_allclose(
        ours.predict(X)["a"], theirs.predict(X.to_numpy()), atol=1e-9
    )
    assert ours.signature()["agg"] == name and ours.signature()["agg_seed"] == 3
    again = Aggregator.from_json(ours.to_json())
    assert again.predict(X).equals(ours.predict(X))


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("sklearn.svm.SVC", "is no regressor of scikit-learn"),
        ("SVC", "is no regressor of scikit-learn.*SVR"),
        ("sklearn.cluster.KMeans", "is no regressor of scikit-learn"),
        ("sklearn.ensemble.StackingRegressor", r"estimators.*hdeval\.register"),
        ("sklearn.svm.SVQ", "is no regressor of scikit-learn.*SVR"),
        ("sklearn.nowhere.SVR", "is no regressor of scikit-learn"),
        ("sklearn.base.clone", "is no regressor of scikit-learn"),
        ("sklearn.utils._os.X", "is no regressor of scikit-learn"),
        ("sklearn.model_selection._search.GridSearchCV", "is no regressor"),
        ("os.path.Path", "allowed: 'lr', 'ridge'"),
    ],
)
def test_what_is_no_regressor_of_scikit_learn_is_refused(name, problem):
    with pytest.raises(ValueError, match=problem):
        Aggregator(name)


def test_no_name_leads_to_code_outside_of_scikit_learn(tmp_path, monkeypatch):
    """What a name looks like is not imported, wherever it lies."""
    (tmp_path / "Evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("Evil", "Evil.Regressor", "sklearn.Evil.Regressor"):
        with pytest.raises(ValueError, match="is no regressor of scikit-learn"):
            Aggregator(name)


def test_any_regressor_is_an_aggregator_by_a_name():
    """Predictions are scikit-learn's own, a target at a time; attribution knows it."""
    X, Y = scores_and_ratings()
    register("gb", lambda seed: GradientBoostingRegressor(random_state=seed))
    with pytest.raises(ValueError, match="already"):
        register("gb", lambda seed: GradientBoostingRegressor())
    ours = Aggregator("gb").fit(X[:80], Y[:80])
    alone = Aggregator("gb").fit(X[:80], Y[["a"]][:80])
    assert alone.predict(X)["a"].equals(ours.predict(X)["a"])
    for target in Y:
        theirs = GradientBoostingRegressor(random_state=0).fit(
            X[:80].to_numpy(), Y[target][:80]
        )
        assert ours.predict(X[80:])[target].to_numpy() == pytest.approx(
            theirs.predict(X[80:].to_numpy()), abs=1e-9
        )
    assert ours.signature() == {"agg": "gb", "impute": "drop", "agg_seed": 0}
    assert ours.fresh().fit(X[:80], Y[:80]).predict(X[80:]).equals(ours.predict(X[80:]))
    assert permutation_importance(ours, X, Y)["a"].idxmax() == "c0"
    again = Aggregator.from_json(ours.to_json())
    assert again.predict(X[80:]).equals(ours.predict(X[80:]))


@pytest.mark.parametrize("kind", ["lr", "ridge", "mlp"])
def test_outputs_that_are_equal_but_for_the_last_bits_tie(kind):
    X, Y = scores_and_ratings()
    X["c1"] = X["c0"]  # what one of them gets the other loses
    fitted = Aggregator(kind, options=small(kind)).fit(X, Y)
    near = X * (1 + 4e-16 * np.random.default_rng(0).integers(-1, 2, X.shape))
    assert not near.equals(X)
    np.testing.assert_array_equal(fitted.predict(near), fitted.predict(X))


def test_missing_scores_are_never_zero():
    X, Y = scores_and_ratings()
    gaps = X.copy()
    gaps.iloc[0, 0] = gaps.iloc[1, :5] = math.nan
    dropped = Aggregator("lr").fit(X, Y).predict(gaps)
    assert dropped.iloc[:2].isna().all().all() and dropped.iloc[2:].notna().all().all()
    filled = Aggregator("lr", impute="mean").fit(X, Y)
    by_hand = gaps.fillna(X.mean())
    expected = Aggregator("lr").fit(X, Y).predict(by_hand)
    np.testing.assert_allclose(filled.predict(gaps).iloc[0], expected.iloc[0])
    assert (
        filled.predict(gaps).iloc[1].isna().all()
    )  # 5 of 6 criteria are more than half
    np.testing.assert_allclose(
        Aggregator("lr", impute="median").fit(gaps, Y).fill, gaps.median()
    )


def test_rows_without_scores_or_ratings_do_not_train():
    X, Y = scores_and_ratings()
    holed = X.copy()
    unrated = Y.copy()
    holed.iloc[:10, 1] = math.nan
    unrated.loc[10:19, "a"] = math.nan
    fitted = Aggregator("lr").fit(holed, unrated)
    assert fitted.notes == {"a, b": {"rows": 100, "left_out": 20}}
    pd.testing.assert_frame_equal(
        fitted.predict(X), Aggregator("lr").fit(X[20:], Y[20:]).predict(X)
    )
    apart = Aggregator("lr", groups=[["a"], ["b"]]).fit(holed, unrated)
    assert {name: note["rows"] for name, note in apart.notes.items()} == {
        "a": 100,
        "b": 110,
    }


def test_nothing_to_learn_from_is_an_error_that_says_why():
    X, Y = scores_and_ratings(10)
    X["c2"] = math.nan
    with pytest.raises(
        ValueError,
        match=r"0 rows to learn a, b from: of 10 rows 10 are rated; .*c2 100%",
    ):
        Aggregator("lr").fit(X, Y)
    with pytest.raises(
        ValueError, match="10 rows of criteria scores, 9 rows of ratings"
    ):
        Aggregator("lr").fit(X, Y[:9])
    with pytest.raises(ValueError, match="not fitted yet"):
        Aggregator("lr").predict(X)


@pytest.mark.parametrize("kind", ["lr", "dt", "rf", "mlp", "average"])
def test_a_criterion_never_read_counts_for_nothing(kind):
    """What was learned without it is what is predicted, whatever it is later."""
    X, Y = scores_and_ratings()
    X["c2"] = math.nan
    fitted = Aggregator(kind, impute="mean").fit(X, Y)
    predicted = fitted.predict(X)
    assert predicted.notna().all(axis=None)
    pd.testing.assert_frame_equal(fitted.predict(X.assign(c2=1e6)), predicted)
    if kind in ("lr", "average"):
        without = X.drop(columns="c2")
        alone = Aggregator(kind, impute="mean").fit(without, Y).predict(without)
        pd.testing.assert_frame_equal(predicted, alone)
    again = Aggregator.from_json(json.loads(json.dumps(fitted.to_json())))
    pd.testing.assert_frame_equal(again.predict(X), predicted)


def test_columns_are_found_by_name():
    X, Y = scores_and_ratings()
    fitted = Aggregator("ridge").fit(X, Y)
    shuffled = X[["c5", "c0", "c3", "c1", "c4", "c2"]].assign(more=1)
    pd.testing.assert_frame_equal(fitted.predict(shuffled), fitted.predict(X))
    with pytest.raises(ValueError, match="no scores of c4; needed are those of c0"):
        fitted.predict(X.drop(columns="c4"))


def test_average_and_criterion_need_no_ratings():
    X, _ = scores_and_ratings(5)
    average = Aggregator("average").unfitted(X.columns, ["a", "b"]).predict(X)
    np.testing.assert_allclose(average["a"], X.mean(axis=1))
    assert average["a"].equals(average["b"])
    picked = Aggregator("criterion", options={"a": "c1"}).unfitted(
        X.columns, ["a", "c4"]
    )
    X.iloc[0, 1] = math.nan
    found = picked.predict(X)
    # another target's gap is none of its
    np.testing.assert_array_equal(found["c4"], X["c4"])
    np.testing.assert_array_equal(found["a"], X["c1"])
    with pytest.raises(ValueError, match="no criterion 'b' for the target 'b'"):
        Aggregator("criterion").unfitted(X.columns, ["b"])
    with pytest.raises(ValueError, match="needs ratings to be fitted on"):
        Aggregator("rf").unfitted(X.columns, ["b"])


def test_groups_are_fitted_apart():
    X, Y = scores_and_ratings()
    both = Aggregator("dt", groups=[["b"], ["a"]]).fit(X, Y)
    for target in "ab":
        alone = Aggregator("dt").fit(X, Y[[target]])
        pd.testing.assert_series_equal(
            both.predict(X)[target], alone.predict(X)[target]
        )
    assert not both.predict(X).equals(
        Aggregator("dt", options={"max_depth": 2}).fit(X, Y).predict(X)
    )
    with pytest.raises(ValueError, match="exactly one group"):
        Aggregator("dt", groups=[["a"]]).fit(X, Y)


@pytest.mark.parametrize("kind", KINDS)
def test_what_matters_is_found(kind):
    X, Y = scores_and_ratings(200)
    fitted = Aggregator(kind).fit(X, Y)
    importance = permutation_importance(fitted, X, Y, repeats=3, seed=1)
    assert importance["a"].idxmax() == "c0"
    assert set(importance["b"].nlargest(2).index) == {"c0", "c3"}
    assert top(importance, X.columns, 2) == ["c0", "c3"]


def test_permutation_importance_is_that_of_scikit_learn():
    from sklearn.inspection import permutation_importance as theirs

    X, Y = scores_and_ratings()
    estimator = RandomForestRegressor(n_estimators=8, random_state=0).fit(
        X.to_numpy(), Y["a"].to_numpy()
    )
    expected = theirs(
        estimator,
        X.to_numpy(),
        Y["a"].to_numpy(),
        n_repeats=4,
        random_state=7,
        scoring="r2",
    )
    ours = permutation_importance(
        Aggregator("rf", options=small("rf")).fit(X, Y[["a"]]),
        X,
        Y[["a"]],
        repeats=4,
        seed=7,
    )
    np.testing.assert_allclose(ours["a"], expected.importances_mean, atol=1e-10)
    np.testing.assert_allclose(
        ours.attrs["sd"]["a"], expected.importances_std, atol=1e-10
    )


def test_pruning_orders_by_shares_and_keeps_ties_in_order():
    importance = pd.DataFrame(
        {"a": [0.0, 2.0, 2.0, -1.0], "b": [30.0, 10.0, 0.0, -5.0]}, index=list("wxyz")
    )
    np.testing.assert_allclose(overall(importance), [0.375, 0.375, 0.25, 0])
    assert top(importance, list("wxyz"), 2) == ["w", "x"] and top(
        importance, list("zyx"), 9
    ) == ["x", "y", "z"]
    assert top(importance * 0, list("zyx"), 1) == ["z"]
