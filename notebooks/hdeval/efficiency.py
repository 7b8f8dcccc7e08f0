"""How the quality of a fitted aggregator grows with what it is given: a curve, a table
by setting, from where on it is enough, and the figure. The notebooks of HD-Eval's
Figures 4 and 5 beside this call it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from nlgeval_lib import figures, report, study
from nlgeval_lib.evaluators import hdeval
from nlgeval_lib.report import miniature
from nlgeval_lib.study import criteria_scores

_MARKERS = "osD^vPX"
_KEYS = [
    "data",
    "unit",
    "split",
    "kind",
    "x",
    "seed",
    "coef",
]


def scores(
    out: report.Output, names: Sequence[str], quick: bool, **asked: Any
) -> list[criteria_scores.CriteriaScores]:
    """Of each data set a judge's scores of HD-Eval's criteria where they are kept here;
    else recorded scores of several judges, and what is missing is noted.

    asked: engine, model, revision, mode.
    """
    given: list[criteria_scores.CriteriaScores] = []
    for name in names:
        made = study.judge_scores(out.id, name, **asked)
        if not made.available:
            out.missing(f"HD-Eval's criteria, {name}", made.why)
            given.append(criteria_scores.recorded(name, *((20, 3) if quick else ())))
        else:
            own = criteria_scores.of_judge(name, made)
            if own.label in [other.label for other in given]:
                continue  # the miniature judge stands in the place of every data set
            if miniature.was_asked(made):
                miniature.set_apart(
                    out,
                    made,
                    instead=True,
                )
            given.append(own)
            out.note(f"{name}: {made.coverage} scores of criteria, {made.signature}")
        last = given[-1]
        print(f"{last.label}: {last.what}, {len(last.X)} outputs")
    return given


@dataclass(frozen=True)
class Sweep:
    """Aggregators fitted with more and more of what is swept.

    over: "share" of the training half, or "criteria", the number of scores used, the
    most important first. settings: the values of it. seed: the paper's row split and
    the first of the splits. what: how the figure and tables call it.
    """

    given: Sequence[criteria_scores.CriteriaScores]
    kinds: Sequence[str]
    over: str
    settings: Sequence[float]
    what: str
    n_seeds: int
    n_splits: int
    seed: int
    options: dict[str, Any]

    def _predicted(
        self, scores: criteria_scores.CriteriaScores, test: np.ndarray, kind: str
    ) -> pd.DataFrame:
        """Predictions on the test rows for every value, in the column `x`."""
        settings: dict[str, Any] = {"shares": self.settings}
        if self.over == "criteria":
            most = scores.X.shape[1]
            settings = {"counts": [count for count in self.settings if count <= most]}
        frame = hdeval.predictions(
            scores.X,
            scores.Y,
            test,
            seeds=range(self.n_seeds),
            kinds=[kind],
            options=self.options.get(kind),
            **settings,
            **scores.settings,
        )
        return frame.rename(columns={self.over: "x"})

    @cached_property
    def each(self) -> pd.DataFrame:
        """The mean quality over targets of each split, aggregator, value and seed."""
        parts = []
        for scores in self.given:
            splits = [("row", self.seed)]
            splits += [("document", self.seed + k) for k in range(self.n_splits)]
            for unit, number in splits:
                test = scores.test_rows(unit, number)
                common = dict(
                    data=scores.label,
                    unit=unit,
                    split=number,
                )
                for kind in self.kinds:
                    predicted = self._predicted(scores, test, kind)
                    part = criteria_scores.qualities(predicted, ["x", "seed"])
                    name = criteria_scores.PRINTED_NAMES.get(kind, kind)
                    parts.append(part.assign(**common, kind=name))
                unfitted = criteria_scores.unfitted(scores, test)
                base = criteria_scores.qualities(unfitted, ["kind"])
                parts.append(base.assign(**common, x=np.nan, seed=0))
        found = pd.concat(parts, ignore_index=True)
        grouped = found.groupby(
            _KEYS,
            sort=False,
            dropna=False,
        )
        return grouped.agg(value=("value", "mean"), n=("n", "min")).reset_index()

    @cached_property
    def curve(self) -> pd.DataFrame:
        """A row a data set, split, aggregator, value and coefficient, with a band over
        repetitions and, by document, an interval over splits.
        """
        keys = ["data", "unit", "kind", "x", "coef"]
        lines = []
        for key, part in self.each.groupby(
            keys,
            sort=False,
            dropna=False,
        ):
            names = [
                "data",
                "split by",
                "aggregator",
                self.what,
                "coef",
            ]
            lines.append(dict(zip(names, key, strict=True)) | self._line(key[-1], part))
        return pd.DataFrame(lines)

    def _line(self, coef: str, part: pd.DataFrame) -> dict[str, Any]:
        by_split = part.groupby("split")["value"].mean()
        n = int(part["n"].min())
        low, high = part["value"].quantile([0.025, 0.975])
        line: dict[str, Any] = {"value": part["value"].mean()}
        line |= {
            "band_low": low,
            "band_high": high,
            "repetitions": len(part),
            "n": n,
        }
        begin = f"level:dataset|coef:{coef}"
        if len(by_split) > 1:
            interval = criteria_scores.mean_correlation(by_split, n)
            line |= {"ci_low": interval.low, "ci_high": interval.high}
            return line | {"signature": f"{begin}|{interval.signature()}"}
        how = f"split:{self.seed}|seeds:{len(part)}|ci:none(one split)"
        return line | {"signature": f"{begin}|{how}"}

    def _shown(self) -> pd.DataFrame:
        """The curve by Pearson, split by document."""
        by_pearson = self.curve["coef"] == "pearson"
        return self.curve[by_pearson & (self.curve["split by"] == "document")]

    def by_setting(self) -> pd.DataFrame:
        """Pearson of each fitted aggregator, a column a value."""
        wide = self._shown().pivot(
            index=["data", "aggregator"], columns=self.what, values="value"
        )
        wide = wide[[column for column in wide.columns if pd.notna(column)]]
        wide = wide[~wide.isna().all(axis=1)]
        form = "{:.0%}" if self.over == "share" else "{:g}"
        wide.columns = [form.format(column) for column in wide.columns]
        return wide.reset_index()

    def enough(self) -> pd.DataFrame:
        """The smallest value within .01 of everything, and the smallest that beats the
        average of all scores.
        """
        lines = []
        for key, curve in self._shown().groupby(["data", "aggregator"], sort=False):
            part = curve.dropna(subset=[self.what]).sort_values(self.what)
            if part.empty:
                continue
            whole = part["value"].iat[-1]
            base = self._average(key[0])
            ahead = part.loc[part["value"] > base, self.what]
            near = part.loc[part["value"] >= whole - 0.01, self.what]
            lines.append(
                {
                    "data": key[0],
                    "aggregator": key[1],
                    "with everything": whole,
                    "within .01 from": near.iat[0],
                    "average of all": base,
                    "ahead of the average from": ahead.iat[0] if len(ahead) else np.nan,
                }
            )
        return pd.DataFrame(lines)

    def _average(self, label: str) -> float:
        """The plain average of all scores on a data set."""
        each = self.each
        chosen = (each["data"] == label) & (each["kind"] == criteria_scores.ALL)
        chosen &= (each["coef"] == "pearson") & (each["unit"] == "document")
        return float(each.loc[chosen, "value"].mean())

    def figure(self) -> Figure:
        """A panel a data set, a line an aggregator, and the averages of unfitted
        scores.
        """
        fig, axes = figures.new(
            figures.WIDE, 3.1, 1, len(self.given), sharey=True, squeeze=False
        )
        shown = self._shown()
        for ax, scores in zip(axes[0], self.given, strict=True):
            self._panel(ax, shown[shown["data"] == scores.label])
            unit = f"{self.what}, most important first"
            if self.over == "share":
                unit = f"{self.what}, %"
            title = f"{scores.label}, {scores.X.shape[1]} scores"
            ax.set(title=title, xlabel=unit)
        lowest = min(0, self.curve["band_low"].min())
        axes[0, 0].set(ylabel="Pearson, mean of four aspects", ylim=(lowest, None))
        fig.legend(
            *axes[0, 0].get_legend_handles_labels(),
            loc="outside lower left",
            ncols=6,
            title="bands: 95 % of the repetitions",
            title_fontsize=7.5,
            alignment="left",
        )
        return fig

    def _panel(self, ax: Any, shown: pd.DataFrame) -> None:
        for number, kind in enumerate(self.kinds):
            name = criteria_scores.PRINTED_NAMES.get(kind, kind)
            part = shown[shown["aggregator"] == name].sort_values(self.what)
            x = part[self.what] * (100 if self.over == "share" else 1)
            colour = figures.color(number)
            ax.plot(
                x,
                part["value"],
                marker=_MARKERS[number],
                color=colour,
                label=name,
            )
            ends = (part["band_low"], part["band_high"])
            ax.fill_between(
                x,
                *ends,
                color=colour,
                alpha=0.13,
                lw=0,
            )
        for name, style in ((criteria_scores.ALL, "-"), (criteria_scores.OWN, ":")):
            level = shown.loc[shown["aggregator"] == name, "value"].iat[0]
            ax.axhline(
                level,
                color="black",
                lw=1.0,
                ls=style,
                label=name,
            )
