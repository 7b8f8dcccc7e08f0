"""The regressors of scikit-learn's kind that join criteria scores, by name.

Source: HD-Eval, appendix C.3: scikit-learn's defaults for trees and forests, a
perceptron of 3 layers with ReLU; the widths of its hidden layers and the other kinds
are ours.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable
from typing import Any

Maker = Callable[[int], Any]  # a regressor for a seed, not fitted

# A full name such as sklearn.ensemble.GradientBoostingRegressor.
_DOTTED = re.compile(r"sklearn(?P<modules>(?:\.[a-z][a-z0-9_]*)+)\.(?P<kind>[A-Z]\w*)")
# Below scikit-learn, and no part of what it offers.
_INTERNAL = ("tests", "externals", "conftest")


def _sklearn(name: str, *, seeded: bool = True, **settings: Any) -> Maker:
    """What makes a regressor of scikit-learn (module and class below `sklearn`), with
    the seed where one is drawn by.
    """
    module, _, kind = name.rpartition(".")

    def make(seed: int) -> Any:
        regressor = getattr(importlib.import_module(f"sklearn.{module}"), kind)
        estimator = regressor(**settings)
        if seeded and "random_state" in estimator.get_params(deep=False):
            estimator.set_params(random_state=seed)
        return estimator

    return make


# Name of an aggregator -> what makes its regressor; `aggregator.register` adds to it.
MAKERS: dict[str, Maker] = {
    "lr": _sklearn("linear_model.LinearRegression", seeded=False),
    "ridge": _sklearn("linear_model.Ridge", seeded=False),
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
    """What makes the regressor of a name, or of a dotted name such as
    `sklearn.svm.SVR`; None where there is none. Only what scikit-learn itself has is
    imported.

    Raises: ValueError for a dotted name of anything but a regressor.
    """
    if name.startswith("sklearn."):
        return _by_dotted_name(name)
    return MAKERS.get(name)


@functools.cache
def _by_dotted_name(name: str) -> Maker:
    """As `maker`. Raises: ValueError where it is none, or cannot be made without
    settings.
    """
    from sklearn import base

    parts = _DOTTED.fullmatch(name)
    if not parts or set(name.split(".")).intersection(_INTERNAL):
        raise ValueError(
            f"aggregator {name!r} is no name such as "
            "sklearn.ensemble.GradientBoostingRegressor"
        )
    try:
        module = importlib.import_module(f"sklearn{parts['modules']}")
        kind = getattr(module, parts["kind"])
    except (ImportError, AttributeError) as error:
        raise ValueError(f"aggregator {name!r}: {error}") from None
    # A name can lead out of scikit-learn: to what one of its modules imports.
    is_estimator = isinstance(kind, type) and issubclass(kind, base.BaseEstimator)
    if not is_estimator or not kind.__module__.startswith("sklearn."):
        raise ValueError(f"aggregator {name!r} is no estimator of scikit-learn")
    try:
        regressor = kind()
    except TypeError as error:
        raise ValueError(
            f"aggregator {name!r} needs settings ({error}); register it by a name of "
            "your own: hdeval.register(NAME, lambda seed: ...)"
        ) from None
    if not base.is_regressor(regressor):
        raise ValueError(
            f"aggregator {name!r} is no regressor: it does not predict numbers"
        )
    return _sklearn(f"{parts['modules'][1:]}.{parts['kind']}")
