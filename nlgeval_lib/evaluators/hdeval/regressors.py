"""The regressors of scikit-learn's kind that join criteria scores, by name.

Source: HD-Eval, appendix C.3: scikit-learn's defaults for trees and forests, a
perceptron of 3 layers with ReLU; the widths of its hidden layers and the other kinds
are ours.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from nlgeval_lib.names import meant

Maker = Callable[[int], Any]  # a regressor for a seed, not fitted


def _sklearn(name: str, **settings: Any) -> Maker:
    """What makes a regressor of scikit-learn, by its module and class there."""
    module, _, kind = name.rpartition(".")

    def make(seed: int) -> Any:
        regressor = getattr(importlib.import_module(f"sklearn.{module}"), kind)
        estimator = regressor(**settings)
        if "random_state" in estimator.get_params(deep=False):
            estimator.set_params(random_state=seed)
        return estimator

    return make


# Name of an aggregator -> what makes its regressor; `aggregator.register` adds to it.
MAKERS: dict[str, Maker] = {
    "lr": _sklearn("linear_model.LinearRegression"),
    "ridge": _sklearn("linear_model.Ridge"),
    "dt": _sklearn("tree.DecisionTreeRegressor"),
    "rf": _sklearn("ensemble.RandomForestRegressor"),
    "mlp": _sklearn(
        "neural_network.MLPRegressor",
        hidden_layer_sizes=(64, 32),
        activation="relu",
        max_iter=500,
    ),
    "boosting": _sklearn("ensemble.GradientBoostingRegressor"),
}


def maker(name: str) -> Maker | None:
    """What makes the regressor of a name, or of one of scikit-learn's, such as `SVR` or
    `sklearn.svm.SVR`; None where there is none.

    Raises: ValueError for the name of a class that is no regressor there.
    """
    if name in MAKERS:
        return MAKERS[name]
    if name.startswith("sklearn.") or name[:1].isupper():
        return _of_scikit_learn(name)
    return None


@functools.cache
def _of_scikit_learn(name: str) -> Maker:
    """What makes a regressor that scikit-learn lists. Raises: ValueError where it is
    none, or cannot be made without settings.
    """
    from sklearn.utils import all_estimators

    kinds = dict(all_estimators(type_filter="regressor"))
    module, _, kind = name.rpartition(".")
    regressor = kinds.get(kind)
    if regressor is None or not f"{regressor.__module__}.".startswith(
        f"{module}.".lstrip(".")
    ):
        hint = meant(kind, kinds, "", 3)
        raise ValueError(f"aggregator {name!r} is no regressor of scikit-learn{hint}")
    try:
        regressor()
    except TypeError as error:
        raise ValueError(
            f"aggregator {name!r} needs settings ({error}); register it by "
            "a name of your own: hdeval.register(NAME, lambda seed: ...)"
        ) from None
    return _sklearn(f"{regressor.__module__.removeprefix('sklearn.')}.{kind}")
