"""Human preference-guided aggregation: s_k = f(a_k), where a_k are the scores of output
k on all criteria, s_k its ratings on the rated aspects (here: targets), f a regressor.

Source: HD-Eval, section 2.2, equation 2; implementations of section 3.2 and appendix
C.3; ablations of Tables 4 and 5.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd

from nlgeval_lib.errors import Told
from nlgeval_lib.evaluators.base import NotAllowed, choose
from nlgeval_lib.evaluators.hdeval import regressors

# Kinds that learn nothing: the mean of all criteria for every target; the one criterion
# that is the target itself (Table 4).
_WITHOUT_RATINGS = ("average", "criterion")
# Policy for a missing criterion score -> what it becomes, from the scores in training.
_IMPUTE = {"drop": None, "mean": np.nanmean, "median": np.nanmedian}
# Decimals of what matrix products predict: the last ones differ between runs, and would
# break ties at random.
_DECIMALS = 10
_SETTINGS = ("kind", "seed", "impute", "groups", "options")
# The share of its criteria that a row may miss where gaps are imputed.
_MOST_MISSING = 0.5


def register(name: str, make: regressors.Maker) -> None:
    """Make a regressor of scikit-learn's kind known as the aggregator `name`;
    `make(seed)` gives one, not fitted. Raises: ValueError for a name that is taken.
    """
    if name in (*regressors.MAKERS, *_WITHOUT_RATINGS):
        raise ValueError(
            f"there is an aggregator {name!r} already; register yours by another name"
        )
    regressors.MAKERS[name] = make


class TooFewRows(Told, ValueError):
    """Fewer than two rows have the scores and ratings to learn from."""


class Aggregator:
    """A regressor from criteria [rows, criteria] to targets [rows, targets].

    kind: lr, ridge, dt, rf, mlp (hidden layers of 64 and 32 units, at most 500 steps),
    boosting, average or criterion (nothing is fitted), a registered name, or the name
    of a regressor of scikit-learn.
    seed: the estimator's random state.
    impute: what a missing criterion score becomes. drop: the row is missing (and not
    trained on). mean, median: the criterion's value in training, unless more than half
    of the row's criteria are missing.
    groups: targets with an estimator of their own, such as [("naturalness",
    "coherence"), ("groundedness",)]; None: one for all.
    options: settings of the estimator; for `criterion`, {target: criterion}.

    After `fit`: `criteria` and `targets` are the columns' names, `estimators` what was
    fitted, `notes` says how many rows trained each group.

    Raises: ValueError for a kind or policy that there is not.
    Source: HD-Eval, section 2.2 and appendix C.3 (footnote 11 for groups).
    """

    def __init__(
        self,
        kind: str = "mlp",
        *,
        seed: int = 0,
        impute: str = "drop",
        groups: Sequence[Sequence[str]] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if kind not in _WITHOUT_RATINGS and regressors.maker(kind) is None:
            names = (*regressors.MAKERS, *_WITHOUT_RATINGS)
            further = "or a regressor of scikit-learn (SVR, sklearn.svm.SVR)"
            raise NotAllowed("aggregator", kind, names, further)
        self.kind = kind
        self.seed = seed
        self.impute = choose("impute", impute, _IMPUTE)
        self.groups = None if groups is None else tuple(map(tuple, groups))
        self.options = dict(options or {})
        self.needs_ratings = kind not in _WITHOUT_RATINGS
        self.fitted = False
        self.criteria: tuple[str, ...] = ()
        self.targets: tuple[str, ...] = ()
        self.training: tuple[np.ndarray, np.ndarray] | None = None
        self.estimators: list[tuple[list[int], Any]] = []
        self.fill: np.ndarray | None = None
        # Which criteria count: those with a score in training, where gaps are imputed.
        self.known: np.ndarray = np.ones(0, dtype=bool)
        self.notes: dict[str, Any] = {}

    def fresh(self, **options: Any) -> Aggregator:
        """One with the same settings (and further options) that is not fitted."""
        settings = {name: getattr(self, name) for name in _SETTINGS}
        settings["options"] = {**self.options, **options}
        return Aggregator(**settings)

    # -- fitting

    def fit(self, X: pd.DataFrame, Y: pd.DataFrame) -> Self:
        """Fit on criteria scores X and human ratings Y, rows aligned; or NaN.

        A row trains a group where all its targets are rated and no criterion is
        missing, or all are imputed; and one without any score counts for nothing.

        Raises: ValueError where rows or columns do not match; TooFewRows.
        """
        self._name(X.columns, Y.columns)
        if len(X) != len(Y):
            raise ValueError(
                f"{len(X)} rows of criteria scores, {len(Y)} rows of ratings; "
                "one for each is needed"
            )
        scores = matrix(X)
        ratings = matrix(Y)
        middle = _IMPUTE[self.impute]
        if middle:
            self.known = ~np.isnan(scores).all(axis=0)
            self.fill = np.zeros(len(self.criteria))
            self.fill[self.known] = middle(scores[:, self.known], axis=0)
        self.estimators = []
        self.notes = {}
        if self.needs_ratings:
            for group in self.groups or (self.targets,):
                self._fit_group(group, scores, ratings)
        self.training = (scores, ratings)
        self.fitted = True
        return self

    def _fit_group(
        self, group: Sequence[str], scores: np.ndarray, ratings: np.ndarray
    ) -> None:
        """Fit one estimator on the targets of a group. Raises: TooFewRows."""
        from sklearn.exceptions import ConvergenceWarning

        columns = [self.targets.index(target) for target in group]
        filled = self.filled(scores)
        rated = ~np.isnan(ratings[:, columns]).any(axis=1)
        rows = np.flatnonzero(rated & ~np.isnan(filled).any(axis=1))
        names = ", ".join(group)
        if len(rows) < 2:
            gaps = np.isnan(scores).mean(axis=0)
            worst = []
            for column in np.argsort(-gaps)[:3]:
                worst.append(f"{self.criteria[column]} {gaps[column]:.0%}")
            raise TooFewRows(
                f"{len(rows)} rows to learn {names} from: of {len(scores)} rows "
                f"{int(rated.sum())} are rated; criteria scores missing: "
                f"{', '.join(worst)}; impute is {self.impute!r}. "
                "At least 2 rows are needed"
            )
        goal = ratings[rows[:, None], columns]
        if len(columns) == 1:
            goal = goal.ravel()  # scikit-learn's form of a single target
        estimator = self.estimator(len(columns))
        with warnings.catch_warnings():
            # `notes` says whether a perceptron converged.
            warnings.simplefilter("ignore", ConvergenceWarning)
            estimator.fit(filled[rows], goal)
        note = {"rows": len(rows), "left_out": len(ratings) - len(rows)}
        if self.kind == "mlp":
            # With one layout in memory, equal rows get equal predictions.
            estimator.coefs_ = list(map(np.ascontiguousarray, estimator.coefs_))
            note["steps"] = int(estimator.n_iter_)
            note["converged"] = estimator.n_iter_ < estimator.max_iter
        self.estimators.append((columns, estimator))
        self.notes[names] = note

    def estimator(self, targets: int = 1) -> Any:
        """What learns so many targets, not fitted: one for each where needed."""
        from sklearn import multioutput, utils

        make = regressors.maker(self.kind)
        assert make is not None  # the constructor saw to that
        estimator = make(self.seed)
        estimator.set_params(**self.options)
        if targets == 1 or self.kind == "mlp":
            return estimator
        if utils.get_tags(estimator).target_tags.multi_output:
            return estimator
        return multioutput.MultiOutputRegressor(estimator)

    def unfitted(self, criteria: Sequence[str], targets: Sequence[str]) -> Self:
        """Make `average` or `criterion` ready for these columns without ratings.
        Raises: ValueError for a kind that needs them.
        """
        if self.needs_ratings or self.impute != "drop":
            raise ValueError(
                f"aggregator {self.kind!r} with impute {self.impute!r} needs ratings "
                "to be fitted on; without them there are "
                f"{' and '.join(_WITHOUT_RATINGS)} with impute 'drop'"
            )
        self._name(criteria, targets)
        self.fitted = True
        return self

    def _name(self, criteria: Sequence[str], targets: Sequence[str]) -> None:
        """Take the columns' names. Raises: ValueError where settings do not fit."""
        self.criteria = tuple(map(str, criteria))
        self.known = np.ones(len(self.criteria), dtype=bool)
        self.targets = tuple(map(str, targets))
        if self.groups is not None:
            grouped = [target for group in self.groups for target in group]
            if sorted(grouped) != sorted(self.targets):
                raise ValueError(
                    f"groups hold {grouped}; each target of {[*self.targets]} "
                    "must be in exactly one group"
                )
        if self.kind != "criterion":
            return
        for target in self.targets:
            [criterion] = self.behind(target)
            if criterion not in self.criteria:
                raise ValueError(
                    f"no criterion {criterion!r} for the target {target!r}; criteria: "
                    f"{', '.join(self.criteria)}. Say which by the aggregator's "
                    f"options: {{{target!r}: 'criterion'}}"
                )

    def behind(self, target: str) -> tuple[str, ...]:
        """The criteria that a target rests on: for `criterion` one, else all."""
        if self.kind == "criterion":
            return (self.options.get(target, target),)
        return self.criteria

    # -- predicting

    def filled(self, scores: np.ndarray) -> np.ndarray:
        """The scores [rows, criteria] with what the policy puts in the gaps; NaN in
        rows that stay missing. A criterion without a score in training is 0 everywhere.
        """
        if self.fill is None:
            return scores
        gaps = np.isnan(scores)
        filled = np.where(gaps | ~self.known, self.fill, scores)
        filled[gaps.mean(axis=1) > _MOST_MISSING] = np.nan
        return filled

    def predict(self, X: pd.DataFrame) -> pd.DataFrame:
        """The ratings [rows, targets] of criteria scores; NaN where they stay missing.

        Raises: ValueError before `fit`, or for missing columns.
        """
        if not self.fitted:
            raise ValueError(
                f"the aggregator {self.kind!r} is not fitted yet; "
                "call fit, or load one that is"
            )
        absent = [name for name in self.criteria if name not in X.columns]
        if absent:
            raise ValueError(
                f"no scores of {', '.join(absent)}; "
                f"needed are those of {', '.join(self.criteria)}"
            )
        ratings = self.predict_array(matrix(X[list(self.criteria)]))
        return pd.DataFrame(ratings, index=X.index, columns=list(self.targets))

    def predict_array(self, scores: np.ndarray) -> np.ndarray:
        """As `predict`, from and to arrays in the order of `criteria` and `targets`."""
        filled = self.filled(np.asarray(scores, dtype=np.float64))
        if self.kind == "criterion":
            # A target needs no other criterion than its own.
            columns = []
            for target in self.targets:
                [criterion] = self.behind(target)
                columns.append(self.criteria.index(criterion))
            return np.where(self.known, filled, np.nan)[:, columns]
        rows = np.flatnonzero(~np.isnan(filled).any(axis=1))
        predicted = np.full((len(filled), len(self.targets)), np.nan)
        if self.kind == "average":
            read = filled[rows][:, self.known]
            predicted[rows] = read.mean(axis=1, keepdims=True)
        elif len(rows):
            for group_columns, estimator in self.estimators:
                ratings = estimator.predict(filled[rows])
                predicted[rows[:, None], group_columns] = ratings.reshape(len(rows), -1)
        # No matrix product: these are the same in every run.
        if self.kind in ("dt", "rf", "average"):
            return predicted
        return np.round(predicted, _DECIMALS)

    # -- who it is, keeping

    def signature(self) -> dict[str, Any]:
        """What a signature says: kind, policy, and what is not the default."""
        parts: dict[str, Any] = {"agg": self.kind, "impute": self.impute}
        if self.impute != "drop":
            parts["impute"] += f"<={_MOST_MISSING:g}"
        if self.needs_ratings and self.kind not in ("lr", "ridge"):
            parts["agg_seed"] = self.seed
        if self.options:
            options = [f"{key}={value}" for key, value in sorted(self.options.items())]
            parts["options"] = ",".join(options)
        if self.groups:
            parts["groups"] = "/".join(map("+".join, self.groups))
        return parts

    def to_json(self) -> dict[str, Any]:
        """Settings, what it was fitted on, some predictions, a perceptron's weights."""
        names = (*_SETTINGS, "criteria", "targets", "notes")
        data = {name: getattr(self, name) for name in names}
        if self.training is None:
            return data
        scores, ratings = self.training
        data["scores"] = _json_rows(scores)
        data["ratings"] = _json_rows(ratings)
        data["predicted"] = _json_rows(self.predict_array(scores[:100]))
        if self.kind == "mlp":
            data["weights"] = []
            for _, estimator in self.estimators:
                layers = (estimator.coefs_, estimator.intercepts_)
                arrays = [[layer.tolist() for layer in kind] for kind in layers]
                data["weights"].append(arrays)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Aggregator:
        """The aggregator of `to_json`, fitted again. Raises: ValueError where it
        predicts otherwise than the saved one; KeyError where something is not there.
        """
        self = cls(**{name: data[name] for name in _SETTINGS})
        if "scores" not in data:
            return self
        X = pd.DataFrame(data["scores"], columns=data["criteria"], dtype=float)
        Y = pd.DataFrame(data["ratings"], columns=data["targets"], dtype=float)
        weights = data.get("weights", ())
        # A perceptron is fitted for its shape alone; its weights are put in below.
        if weights:
            self.options["max_iter"] = 1
        self.fit(X, Y)
        self.options = dict(data["options"])
        self.notes = dict(data["notes"])
        for (_, estimator), arrays in zip(self.estimators, weights, strict=False):
            coefficients, intercepts = arrays
            estimator.coefs_ = list(map(np.array, coefficients))
            estimator.intercepts_ = list(map(np.array, intercepts))
        saved = np.array(data["predicted"], dtype=float)
        predicted = self.predict(X[: len(saved)])
        if not np.allclose(predicted, saved, atol=1e-6, equal_nan=True):
            raise ValueError(
                f"fitting {self.kind} again gives other predictions "
                "than the saved ones: fit and save it here"
            )
        return self


def matrix(frame: pd.DataFrame) -> np.ndarray:
    """A frame's numbers as an array of float64, NaN where one is missing."""
    return np.ascontiguousarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))


def _json_rows(numbers: np.ndarray) -> list[list[float | None]]:
    """Numbers for JSON, row by row, None for NaN."""
    return pd.DataFrame(numbers, dtype=object).replace(np.nan, None).to_numpy().tolist()
