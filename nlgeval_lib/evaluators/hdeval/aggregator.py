"""Human preference-guided aggregation: from the scores of the criteria to the ratings
that experts would give.

Source: HD-Eval, section 2.2, equation 2; implementations of section 3.2 and appendix
C.3; ablations of Tables 4 and 5.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd

from nlgeval_lib.evaluators.base import choose


def _sklearn(name: str, **settings: Any) -> Callable[[int], Any]:
    module, _, kind = name.partition(".")
    return lambda seed: getattr(importlib.import_module(f"sklearn.{module}"), kind)(
        **settings, **({} if module == "linear_model" else {"random_state": seed})
    )


# kind -> what makes its regressor for a seed, not fitted
_MAKERS = {
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
}
# the mean of all criteria for every target; the one criterion that is the target itself
# (Table 4)
_WITHOUT_RATINGS = ("average", "criterion")
_IMPUTE = {"drop": None, "mean": np.nanmean, "median": np.nanmedian}
# of what matrix products predict: the last ones differ between runs, and would break
# ties at random
_DECIMALS = 10
_SETTINGS = ("kind", "seed", "impute", "max_missing", "groups", "options")


def register(name: str, make: Callable[[int], Any]) -> None:
    """Makes a regressor of scikit-learn's kind known as the aggregator `name`;
    `make(seed)` gives one, not fitted.

    Raises: ValueError for a name that is taken.
    """
    if name in (*_MAKERS, *_WITHOUT_RATINGS):
        raise ValueError(
            f"there is an aggregator {name!r} already; register yours by another name"
        )
    _MAKERS[name] = make


class Aggregator:
    """A regressor from criteria [rows, criteria] to targets [rows, targets].

    kind: lr, ridge, dt, rf, mlp (scikit-learn's, the perceptron with hidden layers of
    64 and 32 units and at most 500 steps; the paper gives no widths), average or
    criterion (nothing is fitted), a registered name, or a regressor.
    options: settings of the estimator; for `criterion`, {target: criterion}. seed: its
    random state.
    groups: targets with an estimator of their own, such as [("naturalness",
    "coherence"), ("groundedness",)].
    impute: what a missing criterion score becomes. drop: the row is missing (and not
    trained on). mean, median: the criterion's value in training, in rows that miss no
    more than the share `max_missing` of their criteria.

    Source: HD-Eval, section 2.2 and appendix C.3 (footnote 11 for groups).
    """

    def __init__(
        self,
        kind: str | Any = "mlp",
        *,
        seed: int = 0,
        impute: str = "drop",
        max_missing: float = 0.5,
        groups: Sequence[Sequence[str]] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.given = (
            None if isinstance(kind, str) else kind
        )  # a regressor, of which copies are fitted
        names = (*_MAKERS, *_WITHOUT_RATINGS)
        if self.given is None and kind not in names:
            raise ValueError(
                f"aggregator {kind!r}; allowed: {', '.join(names)}, or a regressor such as Ridge()"
            )
        if self.given is not None:
            if not (hasattr(kind, "fit") and hasattr(kind, "predict")) or options:
                raise ValueError(
                    "an aggregator of your own is a regressor, made with the options that it is to have"
                )
            kind = " ".join(repr(kind).split())
        self.kind, self.seed, self.impute, self.max_missing = (
            kind,
            seed,
            choose("impute", impute, _IMPUTE),
            max_missing,
        )
        self.groups = (
            None if groups is None else tuple(tuple(group) for group in groups)
        )
        self.options = dict(options or {})
        self.needs_ratings = (
            kind not in _WITHOUT_RATINGS
        )  # whether there is something to fit
        self.fitted = False
        self.criteria: tuple[str, ...] = ()
        self.targets: tuple[str, ...] = ()
        self.training: tuple[np.ndarray, np.ndarray] | None = (
            None  # the criteria scores and ratings it was fitted on
        )
        self.estimators: list[
            tuple[list[int], Any]
        ] = []  # columns of the targets, what predicts them
        self.fill: np.ndarray | None = (
            None  # the value that a missing score of each criterion becomes
        )
        self.notes: dict[str, Any] = {}

    def fresh(self, **options: Any) -> Aggregator:
        """An aggregator with the same settings that is not fitted; `options` join
        its own.
        """
        settings = {name: getattr(self, name) for name in _SETTINGS}
        settings |= {"options": {**self.options, **options}} | (
            {} if self.given is None else {"kind": self.given}
        )
        return Aggregator(**settings)

    def fit(self, X: pd.DataFrame, Y: pd.DataFrame) -> Self:
        """Fit on criteria scores X and human ratings Y, rows aligned by position; both
        may hold NaN.

        A row trains a group where all its targets are rated and its criteria there or
        imputed; `notes` counts the rows.
        Raises: ValueError where rows, columns or what is left do not do.
        """
        self._name(X.columns, Y.columns)
        if len(X) != len(Y):
            raise ValueError(
                f"{len(X)} rows of criteria scores, {len(Y)} rows of ratings; one for each is needed"
            )
        scores = matrix(X)
        ratings = matrix(Y)
        if middle := _IMPUTE[self.impute]:
            if empty := [
                name
                for name, gaps in zip(self.criteria, np.isnan(scores).T, strict=True)
                if gaps.all()
            ]:
                raise ValueError(
                    f"no score at all of {', '.join(empty)}: nothing to impute; leave the criterion out"
                )
            self.fill = middle(scores, axis=0)
        ready = self.filled(scores)
        self.estimators, self.notes = [], {}
        for group in (self.groups or (self.targets,)) if self.needs_ratings else ():
            columns = [self.targets.index(target) for target in group]
            rated = ~np.isnan(ratings[:, columns]).any(axis=1)
            rows = np.flatnonzero(rated & ~np.isnan(ready).any(axis=1))
            names = ", ".join(group)
            if len(rows) < 2:
                gaps = np.isnan(scores).mean(axis=0)
                worst = ", ".join(
                    f"{self.criteria[c]} {gaps[c]:.0%}" for c in np.argsort(-gaps)[:3]
                )
                raise ValueError(
                    f"{len(rows)} rows to learn {names} from: of {len(scores)} rows {int(rated.sum())} are rated; "
                    f"criteria scores missing: {worst}; impute is {self.impute!r}. At least 2 rows are needed"
                )
            estimator = self.estimator(len(columns))
            Y_train = ratings[rows[:, None], columns]
            from sklearn.exceptions import ConvergenceWarning

            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                estimator.fit(
                    ready[rows], Y_train if len(columns) > 1 else Y_train.ravel()
                )
            note = {"rows": len(rows), "left_out": len(ratings) - len(rows)}
            if (
                self.kind == "mlp"
            ):  # one layout in memory: equal rows get equal predictions
                estimator.coefs_ = [
                    np.ascontiguousarray(weights) for weights in estimator.coefs_
                ]
                note |= {
                    "steps": int(estimator.n_iter_),
                    "converged": estimator.n_iter_ < estimator.max_iter,
                }
            self.estimators.append((columns, estimator))
            self.notes[names] = note
        self.training, self.fitted = (scores, ratings), True
        return self

    def estimator(self, targets: int = 1) -> Any:
        """What learns so many targets, not fitted: where a regressor knows one target
        only, one for each.

        Raises: ValueError for an option that it does not have.
        """
        from sklearn import base, multioutput, utils

        made = (
            base.clone(self.given)
            if self.given is not None
            else _MAKERS[self.kind](self.seed)
        )
        made.set_params(**self.options)
        alone = (
            targets > 1
            and self.kind != "mlp"
            and not utils.get_tags(made).target_tags.multi_output
        )
        return multioutput.MultiOutputRegressor(made) if alone else made

    def unfitted(self, criteria: Sequence[str], targets: Sequence[str]) -> Self:
        """Make `average` or `criterion` ready without any ratings.

        Raises: ValueError for a kind that needs them.
        """
        if self.needs_ratings or self.impute != "drop":
            raise ValueError(
                f"aggregator {self.kind!r} with impute {self.impute!r} needs ratings to be fitted on; without them "
                f"there are {' and '.join(_WITHOUT_RATINGS)} with impute 'drop'"
            )
        self._name(criteria, targets)
        self.fitted = True
        return self

    def _name(self, criteria: Sequence[str], targets: Sequence[str]) -> None:
        """Take the columns' names.

        Raises: ValueError where groups or options do not fit them.
        """
        self.criteria, self.targets = (
            tuple(map(str, criteria)),
            tuple(map(str, targets)),
        )
        grouped = [target for group in self.groups or () for target in group]
        if self.groups is not None and sorted(grouped) != sorted(self.targets):
            raise ValueError(
                f"groups hold {grouped}; each target of {[*self.targets]} must be in exactly one group"
            )
        for target in self.targets if self.kind == "criterion" else ():
            if self.behind(target)[0] not in self.criteria:
                raise ValueError(
                    f"no criterion {self.behind(target)[0]!r} for the target {target!r}; criteria: "
                    f"{', '.join(self.criteria)}. Say which by the aggregator's options: {{{target!r}: 'criterion'}}"
                )

    def behind(self, target: str) -> tuple[str, ...]:
        """The criteria that the rating of a target rests on: of the kind `criterion`
        one, else all.
        """
        return (
            (self.options.get(target, target),)
            if self.kind == "criterion"
            else self.criteria
        )

    def filled(self, scores: np.ndarray) -> np.ndarray:
        """The scores [rows, criteria] with what the policy puts in the gaps; NaN in
        rows that stay missing.
        """
        if self.fill is None:
            return scores
        gaps = np.isnan(scores)
        filled = np.where(gaps, self.fill, scores)
        filled[gaps.mean(axis=1) > self.max_missing] = np.nan
        return filled

    def predict(self, X: pd.DataFrame) -> pd.DataFrame:
        """The ratings [rows, targets] that follow from criteria scores; NaN in rows
        that stay missing.

        X: a column for each criterion (others are ignored). Raises: ValueError before
        `fit`, or for missing columns.
        """
        if not self.fitted:
            raise ValueError(
                f"the aggregator {self.kind!r} is not fitted yet; call fit, or load one that is"
            )
        if absent := [name for name in self.criteria if name not in X.columns]:
            raise ValueError(
                f"no scores of {', '.join(absent)}; needed are those of {', '.join(self.criteria)}"
            )
        scores = matrix(X[list(self.criteria)])
        return pd.DataFrame(
            self.predict_array(scores), index=X.index, columns=list(self.targets)
        )

    def predict_array(self, scores: np.ndarray) -> np.ndarray:
        """As `predict`, from and to arrays, columns in the order of `criteria` and
        `targets`.
        """
        filled = self.filled(np.asarray(scores, dtype=np.float64))
        if self.kind == "criterion":  # a target needs no other criterion than its own
            return filled[
                :,
                [
                    self.criteria.index(self.behind(target)[0])
                    for target in self.targets
                ],
            ]
        rows = np.flatnonzero(~np.isnan(filled).any(axis=1))
        out = np.full((len(filled), len(self.targets)), np.nan)
        if self.kind == "average":
            out[rows] = filled[rows].mean(axis=1, keepdims=True)
        for columns, estimator in self.estimators if len(rows) else ():
            out[rows[:, None], columns] = estimator.predict(filled[rows]).reshape(
                len(rows), -1
            )
        return out if self.kind in ("dt", "rf", "average") else np.round(out, _DECIMALS)

    def signature(self) -> dict[str, Any]:
        """What a signature says of the aggregator."""
        share = "" if self.impute == "drop" else f"<={self.max_missing:g}"
        parts: dict[str, Any] = {"agg": self.kind, "impute": self.impute + share}
        if self.kind in _MAKERS and self.kind not in ("lr", "ridge"):
            parts["agg_seed"] = self.seed
        if self.options:
            parts["options"] = ",".join(
                f"{key}={value}" for key, value in sorted(self.options.items())
            )
        if self.groups:
            parts["groups"] = "/".join("+".join(group) for group in self.groups)
        return parts

    def to_json(self) -> dict[str, Any]:
        """Settings, what it was fitted on, what it makes of the first rows of that, and
        a perceptron's weights.

        Other kinds are fitted again to the same. Raises: ValueError for a regressor
        without a name.
        """
        if self.given is not None:
            raise ValueError(
                f"{self.kind[:60]} can be kept by a name only: hdeval.register(NAME, lambda seed: ...)"
            )
        data = {
            name: getattr(self, name)
            for name in (*_SETTINGS, "criteria", "targets", "notes")
        }
        if self.training is None:
            return data
        scores, ratings = self.training
        some = {
            "scores": scores,
            "ratings": ratings,
            "predicted": self.predict_array(scores[:100]),
        }
        data |= {
            name: [[None if v != v else v for v in row] for row in a.tolist()]
            for name, a in some.items()
        }
        if self.kind == "mlp":
            layers = [
                (estimator.coefs_, estimator.intercepts_)
                for _, estimator in self.estimators
            ]
            data["weights"] = [
                [[layer.tolist() for layer in part] for part in parts]
                for parts in layers
            ]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Aggregator:
        """The aggregator of `to_json`: fitted again, a perceptron with its weights put
        back.

        Raises: ValueError where it predicts otherwise than the one that was saved;
        KeyError.
        """
        self = cls(**{name: data[name] for name in _SETTINGS})
        if "scores" not in data:
            return self
        X = pd.DataFrame(data["scores"], columns=data["criteria"], dtype=float)
        self.options |= {"max_iter": 1} if "weights" in data else {}
        self.fit(X, pd.DataFrame(data["ratings"], columns=data["targets"], dtype=float))
        self.options, self.notes = dict(data["options"]), dict(data["notes"])
        for (_, estimator), parts in zip(
            self.estimators, data.get("weights", ()), strict=False
        ):
            estimator.coefs_, estimator.intercepts_ = (
                [np.array(layer) for layer in part] for part in parts
            )
        before = np.array(data["predicted"], dtype=float)
        if not np.allclose(
            self.predict(X[: len(before)]), before, atol=1e-6, equal_nan=True
        ):
            raise ValueError(
                f"fitting {self.kind} again gives other predictions than the saved ones: fit and save it here"
            )
        return self


def matrix(frame: pd.DataFrame) -> np.ndarray:
    """A frame's numbers, NaN where one is missing."""
    return np.ascontiguousarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))
