"""The numbers of a card: each is one call of `meta` on a set's scores and ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import meta
from nlgeval_lib.card.judged import KEYS, Judged, rater_kinds
from nlgeval_lib.datasets.families import of_systems as families_of
from nlgeval_lib.scoring.correlations import Grid

COEFS = {"pearson": "pearson", "spearman": "spearman", "kendall": "kendall-b"}
WORST = 20
# what a person costs, by kind of rater (Calderon et al. 2025); others count as skilled
EPSILON = {"expert": 0.2, "crowd": 0.1}
SKILLED = 0.15
LABELLED = 30  # inputs that people rate, where the worth in labels is measured
FEWEST_LABELLED = 5
Numbers = dict[str, Any]


def graded(judged: Judged) -> Numbers:
    """Everything that is measured of graded scores, aspect by aspect."""
    frame = judged.frame
    aspects = {}
    for aspect, rows in frame.groupby("aspect", sort=False):
        places = rows.index.to_numpy()
        beside = {name: values[places] for name, values in judged.beside.items()}
        part = Aspect(judged, str(aspect), rows.reset_index(drop=True), beside)
        aspects[str(aspect)] = part.numbers()
    statuses = frame["status"].value_counts().to_dict()
    return {
        "kind": "graded",
        "title": judged.title,
        "sample": judged.sample,
        "outputs": int(len(frame) / frame["aspect"].nunique()),
        "inputs": int(frame["input_id"].nunique()),
        "systems": int(frame["system_id"].nunique()),
        "coverage": {
            "value": float(frame["value"].notna().mean()),
            "n": len(frame),
            "statuses": statuses,
        },
        "facts": dict(judged.facts),
        "aspects": aspects,
        "worst": _worst(frame),
    }


class Aspect:
    """One aspect of a set: a row an output.

    beside: the scores of other judges for the same rows.
    """

    def __init__(
        self,
        judged: Judged,
        name: str,
        rows: pd.DataFrame,
        beside: Mapping[str, np.ndarray],
    ) -> None:
        self.name = judged.name
        self.rows = rows
        self.values = rows["value"].to_numpy(dtype=float)
        self.human = rows["human"].to_numpy(dtype=float)
        self.beside = beside
        self.scale = judged.scale_of(name)
        self.rated_on = judged.rated_on.get(name) or self.scale
        systems = rows["system_id"].nunique()
        self.flat = judged.flat or systems < 2
        self.grid = Grid(rows, flat=self.flat)
        named_systems = rows["system_id"].astype(str).tolist()
        self.families = families_of(judged.name, named_systems)
        self.by_family = None
        if not self.flat and 2 < len({*self.families}) < systems:
            self.by_family = Grid(rows, families=self.families)
        self.levels = ("dataset",) if self.flat else meta.LEVELS
        self.length = np.full(len(rows), np.nan)
        if "output" in rows:
            texts = [_text_or_none(text) for text in rows["output"]]
            self.length = meta.baselines.length(texts)

    def numbers(self) -> Numbers:
        """What is measured, by name; what cannot be has a `reason`."""
        measured: Numbers = {"n": int((~np.isnan(self.values + self.human)).sum())}
        for level in self.levels:
            measured[level] = self._coefficients(self.values, level)
        measured["use"] = self._use()
        measured["length"] = self._length()
        measured["raters"] = self._raters()
        measured["beside"] = _tried(self._beside)
        measured["closeness"] = _tried(self._closeness)
        measured["strata"] = self._strata()
        measured["variance"] = _tried(self._variance)
        measured["worth"] = _tried(self._worth)
        if "details" in self.rows:
            measured["repeats"] = _tried(self._repeats)
        return measured

    def _coefficients(self, values: np.ndarray, level: str) -> Numbers:
        cells = {}
        for name, coef in COEFS.items():
            cells[name] = _tried(self._cell, values, coef, level)
        return cells

    def _cell(self, values: np.ndarray, coef: str, level: str) -> Numbers:
        """A coefficient; its interval for other systems and inputs like these, that
        for these systems alone, and that for other families of systems.
        """
        result, _ = self.grid.correlate(values, self.human, coef, level)
        cell = interval(result)
        if not self.flat:
            these, _ = self.grid.correlate(
                values, self.human, coef, level, ci="jack-inputs"
            )
            cell |= {"low_these": these.low, "high_these": these.high}
        if self.by_family is not None:
            others, _ = self.by_family.correlate(values, self.human, coef, level)
            cell |= {"low_families": others.low, "high_families": others.high}
            cell["families"] = len({*self.families})
        return cell

    def _use(self) -> Numbers:
        """How the scale is used: ties, and how often the most frequent score comes."""
        values = self.values[~np.isnan(self.values)]
        if len(values) < 2:
            return {"reason": "fewer than 2 scores"}
        low, high = self.scale or (values.min(), values.max())
        if values.min() < low or values.max() > high:
            # the scores say that the scale is another one
            self.scale = None
            low, high = values.min(), values.max()
        use: Numbers = {
            "mode_share": _mode_share(values),
            "human_mode_share": _mode_share(self.human[~np.isnan(self.human)]),
        }
        if low < high:
            scale_use = meta.scale_use(values, low, high)
            names = ("distinct", "mean", "sd", "ties", "floor", "ceiling")
            use |= {name: getattr(scale_use, name) for name in names}
        else:
            use |= {"distinct": 1, "mean": float(low), "sd": 0.0, "ties": 1.0}
        return use

    def _length(self) -> Numbers:
        """How the judge stands to output length.

        kendall: score with length. versus: follows the ratings how much better than
        length does. closer: how much closer the scores follow length, in either
        direction, than the ratings.
        """
        if np.isnan(self.length).all():
            return {"reason": "no output texts or lengths"}
        measured: Numbers = {}
        with_length = _tried(self._kendall, self.values, self.length)
        measured["kendall"] = with_length
        measured["strength"] = _strength(with_length)
        direction = np.sign(with_length.get("value") or 1)
        measured["versus"] = _tried(self._versus, self.values, self.length, self.human)
        signed = direction * self.length
        measured["closer"] = _tried(self._versus, signed, self.human, self.values)
        measured["rating"] = _tried(self._kendall, self.length, self.human)
        return measured

    def _kendall(self, first: np.ndarray, second: np.ndarray) -> Numbers:
        return interval(self.grid.correlate(first, second, "kendall-b")[0])

    def _versus(
        self, first: np.ndarray, second: np.ndarray, target: np.ndarray
    ) -> Numbers:
        """How much better the first follows the target than the second: dataset
        level, Kendall.
        """
        result = self.grid.compare(
            first, second, target, coef="kendall-b", ci=self._ci()
        )
        numbers = {"first": result.first, "second": result.second, "p": result.p}
        return {**interval(result, result.difference), **numbers}

    def _ci(self) -> str:
        return str(self.grid.interval("auto"))

    def _raters(self) -> Numbers:
        """Raters of one kind: how each follows the others, the judge beside the same
        means, and whether it may replace one; the constant beside.
        """
        kinds = rater_kinds(self.rows)
        if not kinds:
            return {"reason": "no ratings of single raters"}
        kind = "expert" if "expert" in kinds else next(iter(kinds))
        ratings = self.rows[kinds[kind]].to_numpy(dtype=float).T
        measured: Numbers = {"kind": kind, "number": len(ratings)}
        stack = np.stack([self.grid.matrix(rater) for rater in ratings])
        judge = self.grid.matrix(self.values)
        for level in self.levels:
            settings = ("kendall-b", level, self._ci())
            rater = _tried(_rated, meta.human_ceiling, stack, *settings)
            own = _tried(_rated, meta.against_leave_one_out, judge, stack, *settings)
            measured[level] = {"rater": rater, "judge": own}
        if self._same_scale():
            measured["alt_test"] = _tried(self._alt_test, ratings, kind)
        else:
            measured["alt_test"] = {"reason": self._why_no_scale()}
        return measured

    def _alt_test(self, ratings: np.ndarray, kind: str) -> Numbers:
        """The alternative annotator test of the judge, and of the best constant."""
        epsilon = EPSILON.get(kind, SKILLED)
        best = float(np.round(np.nanmean(self.human)))
        columns = {"judge": self.values, "constant": np.full(len(self.human), best)}
        measured: Numbers = {"epsilon": epsilon, "constant_value": best}
        for name, values in columns.items():
            result = meta.alt_test(values, ratings, epsilon=epsilon)
            measured[name] = {
                "winning_rate": result.winning_rate,
                "advantage": result.advantage,
                "passed": result.passed,
                "signature": result.signature(),
                "reason": result.reason,
            }
        return measured

    def _same_scale(self) -> bool:
        if self.scale is None or self.rated_on is None:
            return False
        return tuple(self.scale) == tuple(self.rated_on)

    def _why_no_scale(self) -> str:
        """Why scores and ratings cannot be compared level by level."""
        if self.scale is None:
            return "the scale of the scores is not known (--scale LOW-HIGH)"
        return "judge and ratings use different scales"

    def _beside(self) -> list[Numbers]:
        """The judge among recorded judges and baselines: Kendall over all outputs on
        the rows that all have, with rank sets.
        """
        judges = {"this judge": self.grid.matrix(self.values)}
        for name, values in self.beside.items():
            judges[name] = self.grid.matrix(values)
        if not np.isnan(self.length).all():
            judges["output length"] = self.grid.matrix(self.length)
        drawn = meta.baselines.uniform((len(self.rows),), 0)
        judges["random"] = self.grid.matrix(drawn)
        human = self.grid.matrix(self.human)
        usable = {}
        for name, matrix in judges.items():
            both = ~np.isnan(matrix) & ~np.isnan(human)
            if both.sum() >= 3 and np.ptp(matrix[both]) > 0:
                usable[name] = matrix
        if "this judge" not in usable or len(usable) < 2:
            raise ValueError("a constant score has no place among others")
        league = meta.league(usable, human, units=self._ci(), ci=self._ci())
        ranks = league.rank_sets()
        rows: list[Numbers] = []
        for name, result in zip(league.names, league.correlations, strict=True):
            possible = ranks[name]
            row = {"name": name, "rank": possible[0], "rank_worst": possible[-1]}
            rows.append(row | {"kendall": interval(result)})
        for comparison, pair, p in zip(
            league.comparisons,
            league.corrected.names,
            league.corrected.adjusted,
            strict=True,
        ):
            if pair[0] == "this judge":
                other = next(row for row in rows if row["name"] == pair[1])
                other["judge_minus_it"] = comparison.difference
                other["p"] = p
        return sorted(rows, key=lambda row: -row["kendall"]["value"])

    def _closeness(self) -> Numbers:
        """How near the scores are to the ratings: leniency, mean distance, that of
        the best constant, calibration, confusion.
        """
        if not self._same_scale():
            raise ValueError(self._why_no_scale())
        both = ~np.isnan(self.values + self.human)
        values = self.values[both]
        human = self.human[both]
        best = float(np.median(human))
        gaps = self._by_unit(
            np.abs(self.human - best) - np.abs(self.values - self.human)
        )
        table = pd.crosstab(np.round(values), np.round(human))
        calibration = []
        for score, ratings in pd.Series(human).groupby(np.round(values)):
            calibration.append(
                {"score": float(score), "human": mean_interval(ratings.to_numpy())}
            )
        return {
            "leniency": self._by_unit(self.values - self.human),
            "distance": float(np.abs(values - human).mean()),
            "constant": best,
            "constant_distance": float(np.abs(human - best).mean()),
            "nearer_than_constant": gaps,
            "calibration": calibration,
            "confusion": {
                "judge": table.index.tolist(),
                "human": table.columns.tolist(),
                "counts": table.to_numpy().tolist(),
            },
        }

    def _by_unit(self, values: np.ndarray) -> Numbers:
        """A mean over outputs, its interval over inputs (over rows without them)."""
        return mean_interval(values, self.rows["input_id"].to_numpy())

    def _strata(self) -> Numbers:
        """Kendall within thirds by rating and by length, and leniency by system."""
        strata: Numbers = {}
        sides = {"rating": self.human, "length": self.length}
        for name, side in sides.items():
            strata[name] = _tried(self._thirds, side)
        strata["system"] = []
        if not self.flat and self._same_scale():
            systems = self.rows["system_id"].astype(str).to_numpy()
            families = np.array(self.families)
            for family in dict.fromkeys(self.families):
                inside = families == family
                members = ", ".join(dict.fromkeys(systems[inside]))
                gap = self._by_unit(np.where(inside, self.values - self.human, np.nan))
                strata["system"].append({"system": members, **gap})
        return strata

    def _worth(self) -> Numbers:
        """For how many labels a label counts beside the judge's scores, where people
        rate a part of the inputs.
        """
        human = self.grid.matrix(self.human)
        if self.flat or human.shape[1] < 2 * FEWEST_LABELLED:
            raise ValueError("too few inputs to hide the labels of some")
        number = min(LABELLED, human.shape[1] // 2)
        inputs = np.random.default_rng(0).permutation(human.shape[1])[number:]
        human[:, inputs] = np.nan
        estimates = meta.estimate(self.grid.matrix(self.values), human)
        low, high = self.rated_on or (-np.inf, np.inf)
        if not np.isfinite([low, high]).all():
            low, high = np.nanmin(self.human), np.nanmax(self.human)
        width = (high - low) / 10
        planned = estimates.labels_needed(width, of="differences")
        return {
            "labels": estimates.worth_differences,
            "labelled_inputs": number,
            "width": width,
            "inputs_needed": planned.labels,
            "inputs_needed_alone": planned.alone,
            "words": (
                f"Worth in labels (`nlgeval estimate`): where people rate {number} of "
                "the inputs and the judge scores all, a label counts for so many in "
                "the differences between systems."
            ),
            "signature": estimates.signature(),
        }

    def _variance(self) -> Numbers:
        """The shares of the variance of scores, and of ratings: between systems,
        between inputs, the rest; of a judge that was asked again, what repeats change.
        """
        if self.flat:
            raise ValueError("inputs and systems are not known")
        # by these names no system or input is left out: the card shows no interval
        facets = ("systems", "inputs")
        matrices = {"judge": self.values, "people": self.human}
        measured: Numbers = {}
        for name, values in matrices.items():
            components = meta.variance_components(self.grid.matrix(values), facets)
            measured[name] = _shares(components)
        draws = _draws(self.rows)
        if len(draws) > 1:
            asked = np.stack([self.grid.matrix(draw) for draw in draws])
            components = meta.variance_components(asked, ("repeats", *facets))
            measured["repeats"] = _shares(components)
        return measured

    def _thirds(self, side: np.ndarray) -> list[Numbers]:
        both = ~np.isnan(self.values + self.human + side)
        if both.sum() < 30:
            raise ValueError("fewer than 30 outputs; too few for thirds")
        edges = np.unique(np.quantile(side[both], [0, 1 / 3, 2 / 3, 1]))
        if len(edges) < 3:
            raise ValueError("too many equal values for thirds")
        thirds = np.clip(
            np.searchsorted(edges, side, side="right") - 1, 0, len(edges) - 2
        )
        rows = []
        for number in range(len(edges) - 1):
            inside = both & (thirds == number)
            result = _tried(self._within, inside)
            rows.append(
                {"from": edges[number], "to": edges[number + 1], "kendall": result}
            )
        return rows

    def _within(self, inside: np.ndarray) -> Numbers:
        values = self.values[inside]
        human = self.human[inside]
        return interval(meta.correlate(values, human, "kendall-b", ci="auto"))

    def _repeats(self) -> Numbers:
        """How far the draws of one judgment agree."""
        table = _draws(self.rows)
        number = len(table)
        if number < 2:
            raise ValueError("each judgment was asked once")
        complete = table[:, ~np.isnan(table).any(axis=0)]
        same = (complete == complete[0]).all(axis=0)
        measured: Numbers = {"draws": number, "same": float(same.mean())}
        if np.ptp(complete) == 0:
            return measured | {"icc": {"reason": "all draws are equal"}}
        result = meta.icc(complete, "1,1")
        high = result.high
        if np.isnan(high):
            high = result.value
        return measured | {"icc": interval(result) | {"high": high}}


def _draws(rows: pd.DataFrame) -> np.ndarray:
    """The values of each draw of a judgment, (draw, row); NaN where there is none."""
    if "details" not in rows:
        return np.empty((0, len(rows)))
    draws = [tuple(details.get("values", ())) for details in rows["details"]]
    table = np.full((max(map(len, draws), default=0), len(draws)), np.nan)
    for place, values in enumerate(draws):
        table[: len(values), place] = values
    return table


def _shares(components: Any) -> Numbers:
    """The share of each component of the variance of one score."""
    shares = {name: components.share(name) for name in components.values}
    return {"shares": shares, "n": components.n, "signature": components.signature()}


def interval(result: Any, value: float | None = None) -> Numbers:
    """A result of `meta` as the card keeps it."""
    numbers = {
        "value": float(result) if value is None else value,
        "low": result.low,
        "high": result.high,
        "n": result.n,
        "signature": result.signature(),
    }
    if result.reason:
        numbers["reason"] = result.reason
    return numbers


def mean_interval(values: np.ndarray, units: np.ndarray | None = None) -> Numbers:
    """A mean and its 95 % interval by t over the means of units (over values without).

    NaN is left out; fewer than two units have no interval.
    """
    series = pd.Series(values)
    if units is not None:
        series = series.groupby(np.asarray(units)).mean()
    means = series.dropna().to_numpy(dtype=float)
    if not len(means):
        return {"reason": "no value"}
    mean = float(means.mean())
    low = high = np.nan
    if len(means) > 1:
        from scipy import stats

        reach = stats.t.ppf(0.975, len(means) - 1) * stats.sem(means)
        low, high = mean - reach, mean + reach
    return {"value": mean, "low": float(low), "high": float(high), "n": len(means)}


def _rated(measure: Callable[..., Any], *arguments: Any) -> Numbers:
    return interval(measure(*arguments))


def _tried(measure: Callable[..., Any], *arguments: Any) -> Any:
    """What a measure gives, or the reason why it gives nothing."""
    try:
        return measure(*arguments)
    except ValueError as error:
        return {"reason": str(error)}


def _strength(cell: Mapping[str, Any]) -> Numbers:
    """A coefficient and its interval without the sign."""
    if cell.get("value") is None or "low" not in cell:
        return {"reason": cell.get("reason", "")}
    low, high = cell["low"], cell["high"]
    if cell["value"] < 0:
        low, high = -high, -low
    return {"value": abs(cell["value"]), "low": low, "high": high}


def _mode_share(values: np.ndarray) -> float:
    if not len(values):
        return float("nan")
    _, counts = np.unique(values, return_counts=True)
    return float(counts.max() / len(values))


def _text_or_none(text: Any) -> Any:
    missing = pd.api.types.is_scalar(text) and pd.isna(text)
    return None if missing else text


def _worst(frame: pd.DataFrame) -> list[Numbers]:
    """The outputs on whose place judge and raters differ most, by ranks in an aspect."""
    both = frame[frame["value"].notna() & frame["human"].notna()]
    ranks = both.groupby("aspect")[["value", "human"]].rank(pct=True)
    gap = (ranks["value"] - ranks["human"]).abs()
    order = gap.sort_values(ascending=False, kind="stable").index[:WORST]
    rows = []
    for place in order:
        row = both.loc[place]
        keys = {key: str(row[key]) for key in KEYS}
        numbers = {"human": row["human"], "value": row["value"], "gap": gap[place]}
        rows.append({"row": int(place), **keys, **numbers})
    return rows
