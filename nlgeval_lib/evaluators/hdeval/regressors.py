"""The regressors of scikit-learn's kind that join criteria scores, by name.

Source: HD-Eval, appendix C.3: scikit-learn's defaults for trees and forests, a
perceptron of 3 layers with ReLU; its widths and the other kinds are ours.
"""

from __future__ import annotations

import functools
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

from nlgeval_lib.names import meant

Maker = Callable[[int], Any]  # a regressor for a seed, not fitted


def _make(place: str, seed: int, **settings: Any) -> Any:
    """The regressor of a place such as `sklearn.svm:SVR`."""
    estimator = pkgutil.resolve_name(place)(**settings)
    if "random_state" in estimator.get_params(deep=False):
        estimator.set_params(random_state=seed)
    return estimator


# Name of an aggregator -> what makes its regressor; `aggregator.register` adds to it.
MAKERS: dict[str, Maker] = {
    "lr": functools.partial(_make, "sklearn.linear_model:LinearRegression"),
    "ridge": functools.partial(_make, "sklearn.linear_model:Ridge"),
    "dt": functools.partial(_make, "sklearn.tree:DecisionTreeRegressor"),
    "rf": functools.partial(_make, "sklearn.ensemble:RandomForestRegressor"),
    "mlp": functools.partial(
        _make,
        "sklearn.neural_network:MLPRegressor",
        hidden_layer_sizes=(64, 32),
        activation="relu",
        max_iter=500,
    ),
    "boosting": functools.partial(_make, "sklearn.ensemble:GradientBoostingRegressor"),
}


def maker(name: str) -> Maker | None:
    """What makes the regressor of a name, or of one of scikit-learn's (`SVR`,
    `sklearn.svm.SVR`); None where there is none. Raises: ValueError for another class.
    """
    if name in MAKERS:
        return MAKERS[name]
    if not (name.startswith("sklearn.") or name[:1].isupper()):
        return None
    kinds = _of_scikit_learn()
    module, _, kind = name.rpartition(".")
    if kind not in kinds or not kinds[kind].__module__.startswith(module):
        hint = meant(kind, kinds, "", 3)
        raise ValueError(f"aggregator {name!r} is no regressor of scikit-learn{hint}")
    try:
        kinds[kind]()
    except TypeError as error:
        raise ValueError(
            f"aggregator {name!r} needs settings ({error}); register it by "
            "a name of your own: hdeval.register(NAME, lambda seed: ...)"
        ) from None
    return functools.partial(_make, f"{kinds[kind].__module__}:{kind}")


@functools.cache
def _of_scikit_learn() -> dict[str, Any]:
    """The regressors in scikit-learn's public modules, by the names of their classes.

    `sklearn.utils.all_estimators` finds the same, but imports torch on its way.
    """
    import sklearn
    from sklearn.base import BaseEstimator, RegressorMixin

    kinds = {}
    for name in sklearn.__all__:
        for kind, found in inspect.getmembers(getattr(sklearn, name), inspect.isclass):
            is_regressor = issubclass(found, RegressorMixin)
            is_estimator = issubclass(found, BaseEstimator)
            if is_regressor and is_estimator and not kind.startswith("_"):
                kinds[kind] = found
    return kinds
