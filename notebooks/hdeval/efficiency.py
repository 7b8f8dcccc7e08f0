"""HD-Eval, Figures 4 and 5: how the quality of a fitted aggregator grows with what it
is given.

The notebooks `figure_04_training_share` and `figure_05_number_of_criteria` beside this
call it, step by step:

1. `scores` fetches, for each data set, the scores that stand for HD-Eval's criteria,
with the ratings. The criteria's own scores were not published; recorded judges stand in
their place unless a judge's answers are kept here.
2. A `Sweep` fits aggregators on halves of the data, with more and more ratings (Figure
4) or scores (Figure 5), and correlates their predictions with the ratings of the other
half.
3. Its `curve` is the saved table, `by_setting` and `enough` are the tables of the page,
`figure` is the figure.

To sweep something else, give `Sweep` other `settings`, or another word for `over` and
the arguments of `criteria_scores.predictions` that go with it in `Sweep._predicted`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from judgecard import figures
from reproduction import report, study
from reproduction.report import miniature
from reproduction.study import criteria_scores

_MARKERS = "osD^vPX"  # of the lines of a panel, an aggregator each
# what a quality is of, before targets are averaged
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
    out: report.Output, names: Sequence[str], quick: bool, **judge: Any
) -> list[criteria_scores.CriteriaScores]:
    """Of each data set the scores that stand for HD-Eval's criteria, with the ratings.

    A judge's scores of the criteria are taken where they are kept here; else recorded
    scores of several judges, and what is missing is noted on the page.

    out: the notebook's output.
    names: data sets: "topical_chat", "summeval".
    quick: 20 inputs and 3 draws of each text, of recorded scores.
    judge: who is asked: engine, model, revision, mode, as for `study.judge_scores`.
    Returns: one for each data set; a single one where the miniature judge was asked.
    """
    all_criteria: list[criteria_scores.CriteriaScores] = []
    for name in names:
        judged = study.judge_scores(out.id, name, **judge)
        lacking = criteria_scores.why_none(judged)
        if not lacking:
            criteria = criteria_scores.of_judge(name, judged)
            labels = [earlier.label for earlier in all_criteria]
            if criteria.label in labels:
                continue  # the miniature judge stands in the place of every data set
            if miniature.was_asked(judged):
                miniature.set_apart(out, judged, instead=True)
            out.note(
                f"{name}: {judged.coverage} scores of criteria, {judged.signature}"
            )
        else:
            out.missing(f"HD-Eval's criteria, {name}", lacking)
            # quick: 20 inputs, 3 draws of each text
            limits = (20, 3) if quick else ()
            criteria = criteria_scores.recorded(name, *limits)
        all_criteria.append(criteria)
        print(f"{criteria.label}: {criteria.what}, {len(criteria.X)} outputs")
    return all_criteria


@dataclass(frozen=True)
class Sweep:
    """Aggregators fitted with more and more of what is swept.

    given: what `scores` returns.
    kinds: aggregators, such as "lr" or "mlp".
    over: "share" of the training half, or "criteria", the number of scores used, the
    most important first.
    settings: the values of it: shares in (0, 1], or counts.
    what: how the figure and tables call it.
    n_seeds: how many seeds of each aggregator; with "share" each also draws its own
    rows.
    n_splits: random halves by document.
    seed: the paper's row split and the first of the splits by document.
    options: aggregator -> scikit-learn's settings.
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
        """Predictions on the test rows for every value of what is swept, in the column
        `x`, and every seed.

        scores: of one data set.
        test: positions of the test rows; all others train.
        """
        settings: dict[str, Any] = {"shares": self.settings}
        if self.over == "criteria":
            # A data set may have fewer scores than the largest count asks for.
            most = scores.X.shape[1]
            counts = [count for count in self.settings if count <= most]
            settings = {"counts": counts}
        frame = criteria_scores.predictions(
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
        """The quality of each split, aggregator, value and seed: a row each, `_KEYS,
        value, n`.

        `value` is the mean of the targets' coefficients, `n` the smallest number of
        outputs that one of them is over. The averages of unfitted scores have the value
        NaN of what is swept.
        """
        tables = []
        for scores in self.given:
            # The paper's split of rows once, and random halves by document.
            splits = [("row", self.seed)]
            splits += [("document", self.seed + k) for k in range(self.n_splits)]
            for unit, number in splits:
                table = self._on_split(scores, unit, number)
                tables.append(table.assign(data=scores.label, unit=unit, split=number))
        by_target = pd.concat(tables, ignore_index=True)
        # The averages of unfitted scores have no value of what is swept.
        settings = by_target.groupby(_KEYS, sort=False, dropna=False)
        means = settings.agg(value=("value", "mean"), n=("n", "min"))
        return means.reset_index()

    def _on_split(
        self, scores: criteria_scores.CriteriaScores, unit: str, number: int
    ) -> pd.DataFrame:
        """The quality of each target on one split: of fitted aggregators, and of the
        averages of unfitted scores (`x` NaN).

        unit: "row" or "document". number: the seed of the split.
        """
        test = scores.test_rows(unit, number)
        tables = []
        for kind in self.kinds:
            predicted = self._predicted(scores, test, kind)
            quality = criteria_scores.qualities(predicted, ["x", "seed"])
            name = criteria_scores.PRINTED_NAMES.get(kind, kind)
            tables.append(quality.assign(kind=name))
        unfitted = criteria_scores.unfitted(scores, test)
        base = criteria_scores.qualities(unfitted, ["kind"])
        tables.append(base.assign(x=np.nan, seed=0))
        return pd.concat(tables, ignore_index=True)

    @cached_property
    def curve(self) -> pd.DataFrame:
        """The saved table: a row a data set, split, aggregator, value and coefficient.

        `band_low` to `band_high` holds 95 % of the repetitions (splits and seeds). By
        document there is an interval over splits, `ci_low` to `ci_high`, where there
        are two or more.
        """
        keys = ["data", "unit", "kind", "x", "coef"]
        names = ["data", "split by", "aggregator", self.what, "coef"]
        settings = self.each.groupby(keys, sort=False, dropna=False)
        lines = []
        for key, repetitions in settings:
            line = dict(zip(names, key, strict=True))
            lines.append(line | self._line(line["coef"], repetitions))
        return pd.DataFrame(lines)

    def _line(self, coef: str, repetitions: pd.DataFrame) -> dict[str, Any]:
        """What the curve has at one place: the mean, the band and, of several splits,
        an interval.

        repetitions: rows of `each` of this place.
        """
        by_split = repetitions.groupby("split")["value"].mean()
        n = int(repetitions["n"].min())
        low, high = repetitions["value"].quantile([0.025, 0.975])
        line: dict[str, Any] = {
            "value": repetitions["value"].mean(),
            "band_low": low,
            "band_high": high,
            "repetitions": len(repetitions),
            "n": n,
        }
        begin = f"level:dataset|coef:{coef}"
        if len(by_split) > 1:
            interval = criteria_scores.mean_correlation(by_split, n)
            line |= {"ci_low": interval.low, "ci_high": interval.high}
            return line | {"signature": f"{begin}|{interval.signature()}"}
        # Seeds of one split share its test half: they allow a band and no interval.
        end = f"split:{self.seed}|seeds:{len(repetitions)}|ci:none(one split)"
        return line | {"signature": f"{begin}|{end}"}

    def _shown(self) -> pd.DataFrame:
        """The curve by Pearson, split by document: what figure and tables show."""
        by_pearson = self.curve["coef"] == "pearson"
        return self.curve[by_pearson & (self.curve["split by"] == "document")]

    def by_setting(self) -> pd.DataFrame:
        """Pearson of each fitted aggregator: a row a data set and aggregator, a column
        a value.
        """
        wide = self._shown().pivot(
            index=["data", "aggregator"], columns=self.what, values="value"
        )
        # Averages are not fitted: their column has no name, their rows no value.
        wide = wide[[column for column in wide.columns if pd.notna(column)]]
        wide = wide[~wide.isna().all(axis=1)]
        form = "{:.0%}" if self.over == "share" else "{:g}"
        wide.columns = [form.format(column) for column in wide.columns]
        return wide.reset_index()

    def enough(self) -> pd.DataFrame:
        """How much is enough? A row a data set and aggregator.

        "within .01 from" is the smallest value whose mean Pearson is within .01 of that
        with everything; "ahead of the average from" the smallest that beats the average
        of all scores, NaN where none does.
        """
        lines = []
        curves = self._shown().groupby(["data", "aggregator"], sort=False)
        for (label, aggregator), curve in curves:
            fitted = curve.dropna(subset=[self.what]).sort_values(self.what)
            if fitted.empty:
                continue  # an average of unfitted scores
            with_everything = fitted["value"].iat[-1]
            base = self._average(label)
            ahead = fitted.loc[fitted["value"] > base, self.what]
            is_near = fitted["value"] >= with_everything - 0.01
            near = fitted.loc[is_near, self.what]
            lines.append(
                {
                    "data": label,
                    "aggregator": aggregator,
                    "with everything": with_everything,
                    "within .01 from": near.iat[0],
                    "average of all": base,
                    "ahead of the average from": ahead.iat[0] if len(ahead) else np.nan,
                }
            )
        return pd.DataFrame(lines)

    def _average(self, label: str) -> float:
        """Pearson of the plain average of all scores on a data set, over the splits by
        document.
        """
        each = self.each
        chosen = (each["data"] == label) & (each["kind"] == criteria_scores.ALL)
        chosen &= (each["coef"] == "pearson") & (each["unit"] == "document")
        return float(each.loc[chosen, "value"].mean())

    def figure(self) -> Figure:
        """The figure: a panel a data set, a line an aggregator, and the averages of
        unfitted scores.
        """
        fig, axes = figures.new(
            figures.WIDE, 3.1, 1, len(self.given), sharey=True, squeeze=False
        )
        curve = self._shown()
        for ax, scores in zip(axes[0], self.given, strict=True):
            self._panel(ax, curve[curve["data"] == scores.label])
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

    def _panel(self, ax: Any, curve: pd.DataFrame) -> None:
        """The lines and bands of one panel. curve: the rows of its data set, by
        Pearson.
        """
        scale = 100 if self.over == "share" else 1
        for number, kind in enumerate(self.kinds):
            name = criteria_scores.PRINTED_NAMES.get(kind, kind)
            line = curve[curve["aggregator"] == name].sort_values(self.what)
            x = line[self.what] * scale
            colour = figures.color(number)
            marker = _MARKERS[number]
            ax.plot(x, line["value"], marker=marker, color=colour, label=name)
            ax.fill_between(
                x,
                line["band_low"],
                line["band_high"],
                color=colour,
                alpha=0.13,
                lw=0,
            )
        # Averages need no ratings: each is one level over the whole panel.
        for name, style in ((criteria_scores.ALL, "-"), (criteria_scores.OWN, ":")):
            level = curve.loc[curve["aggregator"] == name, "value"].iat[0]
            ax.axhline(level, color="black", lw=1.0, ls=style, label=name)
