"""HD-Eval's Shapley values and weights, beside its notebooks: against shap and
scikit-learn.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from criteria_data import scores_and_ratings, small

from nlgeval_lib.evaluators.hdeval import Aggregator
from nlgeval_lib.evaluators.hdeval.attribution import top

NOTEBOOKS = Path(__file__).parents[2] / "notebooks" / "hdeval"


@pytest.fixture(scope="module")
def contributions():
    """The module; what shap would compile, for half a minute, runs as it stands."""
    import numba

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", True)
        patch.syspath_prepend(NOTEBOOKS)
        yield importlib.import_module("contributions")


@pytest.mark.parametrize("kind", ["dt", "lr", "rf", "ridge"])
def test_what_matters_is_found(contributions, kind):
    X, Y = scores_and_ratings(200)
    fitted = Aggregator(kind).fit(X, Y)
    importance = contributions.shap_values(fitted, X, rows=12).importance()
    assert importance["a"].idxmax() == "c0"
    assert set(importance["b"].nlargest(2).index) == {"c0", "c3"}
    assert top(importance, X.columns, 2) == ["c0", "c3"]
    assert top(contributions.weights(fitted, X), X.columns, 2) == ["c0", "c3"]


def test_a_perceptron_has_no_weights_that_say_so(contributions):
    X, Y = scores_and_ratings()
    fitted = Aggregator("mlp", options=small("mlp")).fit(X, Y)
    with pytest.raises(ValueError, match="no weights that say so"):
        contributions.weights(fitted, X)


def test_any_regressor_is_explained(contributions):
    X, Y = scores_and_ratings()
    ours = Aggregator("boosting").fit(X[:80], Y[:80])
    shapley = contributions.shap_values(ours, X, rows=5, rounds=2)
    assert shapley.base + shapley.values.sum(axis=1) == pytest.approx(
        ours.predict_array(shapley.data), abs=1e-6
    )


@pytest.mark.parametrize("kind", ["lr", "dt", "rf", "average", "mlp"])
@pytest.mark.parametrize("apart", [0, 3e-8])  # the second: neighbours in 32 bits
def test_shap_values_add_up_to_the_prediction(contributions, kind, apart):
    X, Y = scores_and_ratings()
    X = X / 10 + apart * np.random.default_rng(1).integers(0, 3, X.shape)
    fitted = Aggregator(kind, groups=[["a"], ["b"]], options=small(kind)).fit(X, Y)
    shap, again = (
        contributions.shap_values(fitted, X, rows=40 if apart else 9, seed=4, rounds=2)
        for _ in range(2)
    )
    assert shap.values.shape[1:] == (6, 2) and shap.base.shape == (2,)
    np.testing.assert_allclose(
        shap.base + shap.values.sum(axis=1), fitted.predict_array(shap.data), atol=2e-6
    )
    np.testing.assert_array_equal(shap.values, again.values)


def test_shap_values_of_a_linear_model_are_its_terms(contributions):
    X, Y = scores_and_ratings()
    fitted = Aggregator("lr").fit(X, Y)
    shap = contributions.shap_values(fitted, X[:50], rows=None)
    terms = (X[:50].to_numpy() - X[:50].to_numpy().mean(axis=0))[
        :, :, None
    ] * fitted.estimators[0][1].coef_.T
    np.testing.assert_allclose(shap.values, terms, atol=1e-9)
