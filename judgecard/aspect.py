"""One aspect of a judged set: what the numbers of a card are measured on."""

from __future__ import annotations

import numpy as np
import pandas as pd

from judgecard.cells import Numbers, interval, mean_interval
from judgecard.judged import Judged, Scale
from judgecard.rated_rows import seen_scale
from nlgeval_lib import statistics
from nlgeval_lib.datasets.families import of_systems as families_of
from nlgeval_lib.scoring.cells import is_missing
from nlgeval_lib.scoring.correlations import Grid


class Aspect:
    """One aspect of a set: a row an output.

    rows: the rows of the set's frame.
    values, human: score and rating of each row; NaN where there is none.
    present: whether a row has both.
    other_judges: name -> the scores of another judge, one a row.
    scale: of the scores; None where it is not known.
    rated_on: the scale of the ratings; None where it is not known.
    flat: inputs and systems are not known, there is one system alone, or one output of
        each input.
    levels: of the coefficients: "dataset", and where rows are not flat "input" and
        "system".
    grid: places rows in `X[system, input]`.
    ci: the interval of coefficients.
    families: of the row's system.
    by_family: the grid of families; None where they say no more than systems do.
    length: of the row's output, in characters; NaN without its text.
    """

    def __init__(self, judged: Judged, name: str, rows: pd.DataFrame) -> None:
        """judged: the whole set. name: of the aspect. rows: those of the aspect, by
        their places in the set's frame.
        """
        places = rows.index.to_numpy()
        self.other_judges = {}
        for judge, values in judged.other_judges.items():
            self.other_judges[judge] = values[places]

        rows = rows.reset_index(drop=True)
        self.rows = rows
        self.values = rows["value"].to_numpy(dtype=float)
        self.human = rows["human"].to_numpy(dtype=float)
        self.present = ~np.isnan(self.values + self.human)
        self.length = _lengths(rows)

        scale = judged.scale_of(name)
        self.rated_on = judged.rated_on.get(name) or seen_scale(scale, rows)
        self.scale = _scale_that_holds(scale, self.values)

        systems = rows["system_id"].nunique()
        # where each input has one output there is no order within an input
        one_an_input = rows["input_id"].is_unique
        self.flat = judged.flat or systems < 2 or one_an_input
        self.levels = statistics.LEVELS
        if self.flat:
            self.levels = ("dataset",)
        self.grid = Grid(rows, flat=self.flat)
        self.ci = str(self.grid.interval("auto"))
        # systems of one family are no independent evidence: with at least three
        # families, and fewer of them than systems, there is an interval over families
        # too
        names_of_systems = rows["system_id"].astype(str)
        self.families = families_of(judged.name, names_of_systems.tolist())
        number_of_families = len(set(self.families))
        self.by_family = None
        if not self.flat and 2 < number_of_families < systems:
            self.by_family = Grid(rows, families=self.families)

    def matrix(self, values: np.ndarray) -> np.ndarray:
        """A value a row as (system, input), NaN without an output; flat, as it is."""
        return self.grid.matrix(values)

    def has_length(self) -> bool:
        """Whether the length of any output is known."""
        return not bool(np.isnan(self.length).all())

    def kendall(self, first: np.ndarray, second: np.ndarray) -> Numbers:
        """Kendall's tau-b of two values a row, over all outputs, with its interval.
        Raises: ValueError where `statistics` refuses them.
        """
        result, _ = self.grid.correlate(first, second, "kendall-b")
        return interval(result)

    def versus(
        self,
        first: np.ndarray,
        second: np.ndarray,
        target: np.ndarray,
        ci: str = "",
    ) -> Numbers:
        """How much better does the first follow the target than the second? Tau-b of
        the first minus that of the second over all outputs, with both and p.

        ci: of the difference; "": the aspect's own.
        Raises: ValueError where `statistics` refuses them.
        """
        sides = (first, second, target)
        result = self.grid.compare(*sides, coef="kendall-b", ci=ci or self.ci)
        of_both = {"first": result.first, "second": result.second, "p": result.p}
        return interval(result, result.difference) | of_both

    def mean(self, values: np.ndarray) -> Numbers:
        """A mean over outputs, its interval over inputs. values: one a row; NaN is left
        out.
        """
        return mean_interval(values, self.rows["input_id"].to_numpy())

    def same_scale(self) -> bool:
        """Whether scores and ratings have one scale that is known."""
        return not self.why_no_scale()

    def why_no_scale(self) -> str:
        """Why scores and ratings cannot be subtracted, in words; "" where they can."""
        if self.scale is None:
            return "the scale of the scores is not known (--scale LOW-HIGH)"
        if self.rated_on is None:
            return "the scale of the ratings is not known (--human-scale LOW-HIGH)"
        if tuple(self.scale) != tuple(self.rated_on):
            return "judge and ratings use different scales"
        return ""

    def draws(self) -> np.ndarray:
        """The values of each draw of a judgment, (draw, row); NaN where one has fewer
        draws than another. No draws where the judge left no details.
        """
        if "details" not in self.rows:
            return np.empty((0, len(self.rows)))
        draws = [details.get("values", ()) for details in self.rows["details"]]
        return pd.DataFrame(draws, dtype=float).to_numpy().T


def _scale_that_holds(scale: Scale | None, values: np.ndarray) -> Scale | None:
    """The scale; None where a score outside it says that it is another one."""
    scores = values[~np.isnan(values)]
    if scale is None or len(scores) < 2:
        return scale
    low, high = scale
    if scores.min() < low or scores.max() > high:
        return None
    return scale


def _lengths(rows: pd.DataFrame) -> np.ndarray:
    """The length of each row's output; NaN without its text."""
    if "output" not in rows:
        return np.full(len(rows), np.nan)
    texts = rows["output"].astype(object)
    texts = texts.where(~texts.map(is_missing).astype(bool), None)
    return statistics.baselines.length(texts.tolist())
