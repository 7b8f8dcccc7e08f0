"""HD-Eval, Figures 6 to 9: which scores an aggregator listens to, and how stable the
answer is between halves of the data.

The notebooks `figure_06_permutation`, `figure_07_shap`, `figure_08_other_aggregators`
and `figure_09_shap_in_detail` beside this call it, step by step:

1. `scores` fetches the scores that stand for HD-Eval's criteria, with the ratings. The
criteria's own scores were not published; recorded judges stand in their place unless a
judge's answers are kept here.
2. An `Attribution` fits the aggregators of its panels. `measured` gives their
importances on the paper's split, `top` the table of the page.
3. `bars` and `dots` are the figures; `stability` asks whether another half would say
the same.

A panel is an aggregator and a measure: `("mlp", "permutation")`. Measures: permutation
(explained variance lost), weights (of trees), shap. To look at another aggregator, name
it in the notebook's `PANELS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import contributions
import numpy as np
import pandas as pd
from matplotlib import ticker
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from scipy import stats

from judgecard import figures
from nlgeval_lib.evaluators import hdeval
from reproduction import report, study
from reproduction.report import miniature
from reproduction.study import criteria_scores

Panel = tuple[str, str]  # an aggregator and a measure
# measure -> the unit of its importances, as an axis says it
UNIT = {
    "permutation": "explained variance lost",
    "shap": "mean |SHAP|, rating points",
    "weights": "share of error cut",
}
# rated aspects, and prompts of the recorded judge, as labels have room for them
ASPECTS = {
    "coherence": "coh",
    "consistency": "con",
    "fluency": "flu",
    "relevance": "rel",
    "naturalness": "nat",
    "engagingness": "eng",
    "groundedness": "grd",
}
PROMPTS = {
    "geval": "score",
    "geval_no_auto_cot": "score, no steps",
    "llm_eval_no_cot": "free",
    "rate_explain": "rate-explain",
    "rate_explain_auto_cot": "rate-explain, steps",
    "analyze_rate": "analyze-rate",
    "analyze_rate_auto_cot": "analyze-rate, steps",
}
_TOP = 8  # scores that a table shows
_DOTTED = 10  # scores that a panel of dots shows


def scores(
    out: report.Output, data: str, quick: bool, **judge: Any
) -> criteria_scores.CriteriaScores:
    """The scores that stand for HD-Eval's criteria, with the ratings.

    A judge's scores of the criteria are taken where they are kept here; else recorded
    scores of several judges, and what is missing is noted on the page.

    out: the notebook's output.
    data: "topical_chat" or "summeval".
    quick: 20 inputs and 3 draws of each text, of recorded scores.
    judge: who is asked: engine, model, revision, mode, as for `study.judge_scores`.
    """
    judged = study.judge_scores(out.id, data, **judge)
    lacking = criteria_scores.why_none(judged)
    if lacking:
        out.missing(f"HD-Eval's criteria, {data}", lacking)
        # quick: 20 inputs, 3 draws of each text
        limits = (20, 3) if quick else ()
        return criteria_scores.recorded(data, *limits)
    if miniature.was_asked(judged):
        miniature.set_apart(out, judged, instead=True)
    out.note(f"{judged.coverage} scores of criteria, {judged.signature}")
    return criteria_scores.of_judge(data, judged)


@dataclass(frozen=True)
class Attribution:
    """What the aggregators of some panels make of the scores.

    given: what `scores` returns.
    panels: aggregators, each with a measure.
    quick: smaller forests and networks, and fewer shuffles.
    rows: outputs that SHAP attributes.
    shown: scores that a panel of bars draws.
    seed: the paper's row split; also of shuffling and of the rows drawn.
    """

    given: criteria_scores.CriteriaScores
    panels: Sequence[Panel]
    quick: bool
    rows: int
    shown: int
    seed: int

    def fit(self, kind: str, test: np.ndarray, number: int) -> hdeval.Aggregator:
        """An aggregator fitted on all rows but those of the test.

        kind: of the aggregator, such as "mlp".
        test: positions of the test rows.
        number: the aggregator's seed.
        """
        quick_options = {"rf": {"n_estimators": 10}, "mlp": {"max_iter": 100}}
        options = quick_options.get(kind) if self.quick else None
        train = np.setdiff1d(np.arange(len(self.given.X)), test)
        aggregator = hdeval.Aggregator(
            kind, seed=number, **self.given.settings, options=options
        )
        X = self.given.X.iloc[train]
        Y = self.given.Y.iloc[train]
        return aggregator.fit(X, Y)

    def importance(
        self, panel: Panel, test: np.ndarray, number: int, rows: int, rounds: int
    ) -> tuple[pd.DataFrame, Any]:
        """The importance of each score for each target, on the test rows.

        panel: an aggregator and a measure.
        test: positions of the test rows; the aggregator is fitted on the others.
        number: the aggregator's seed.
        rows: outputs that SHAP attributes.
        rounds: permutations a row, where SHAP has to sample.
        Returns: importances [score, target], in the `UNIT` of the measure, and the SHAP
        values where that is the measure, else None.
        """
        kind, measure = panel
        fitted = self.fit(kind, test, number)
        X = self.given.X.iloc[test]
        if measure == "weights":
            return contributions.weights(fitted, X), None
        if measure == "permutation":
            repeats = 3 if self.quick else 10
            Y = self.given.Y.iloc[test]
            frame = hdeval.permutation_importance(
                fitted, X, Y, repeats=repeats, seed=self.seed
            )
            return frame, None
        values = contributions.shap_values(
            fitted, X, rows=rows, seed=self.seed, rounds=rounds
        )
        return values.importance(), values

    def measured(self) -> tuple[pd.DataFrame, dict[Panel, Any]]:
        """The importances of all panels on the paper's row split.

        Returns: a row a panel, score and target, `score, target, importance,
        aggregator, measure`, with "sd of shuffles" where a panel is of permutations;
        and the SHAP values by panel.
        """
        test = self.given.test_rows("row", self.seed)
        rounds = 1 if self.quick else 3
        tables = []
        values = {}
        for panel in self.panels:
            kind, measure = panel
            importance, values[panel] = self.importance(
                panel, test, self.seed, self.rows, rounds
            )
            table = importance.rename_axis("score").reset_index()
            table = table.melt("score", var_name="target", value_name="importance")
            # Permutation importance alone knows how far shuffles lie apart.
            if "sd" in importance.attrs:
                spread = pd.DataFrame(importance.attrs["sd"], index=importance.index)
                places = zip(table["score"], table["target"], strict=True)
                table["sd of shuffles"] = [spread.loc[place] for place in places]
            name = criteria_scores.PRINTED_NAMES[kind]
            tables.append(table.assign(aggregator=name, measure=measure))
        return pd.concat(tables, ignore_index=True), values

    def top(self, table: pd.DataFrame) -> pd.DataFrame:
        """The eight scores that count most over all targets, of each panel.

        table: what `measured` gives first.
        Returns: `aggregator, measure, score`, a column a target, and "share of all",
        the mean share of the targets' importance.
        """
        ranked = []
        panels = table.groupby(["aggregator", "measure"], sort=False)
        for (aggregator, measure), of_panel in panels:
            wide = of_panel.pivot(index="score", columns="target", values="importance")
            # A pivot sorts its rows by name: back to the order of X.
            wide = wide.loc[list(self.given.X.columns)]
            shares = hdeval.overall(wide).sort_values(ascending=False)
            first = wide.loc[shares.index[:_TOP]].assign(**{"share of all": shares})
            first = first.reset_index()
            ranked.append(first.assign(aggregator=aggregator, measure=measure))
        joined = pd.concat(ranked, ignore_index=True)
        joined["score"] = joined["score"].map(self.names())
        targets = list(self.given.Y.columns)
        return joined[["aggregator", "measure", "score", *targets, "share of all"]]

    def names(self) -> dict[str, str]:
        """The short name of each score, for tables and figures."""
        short = {}
        for name in self.given.X.columns:
            # Recorded scores are named "judge aspect", criteria otherwise.
            judge, _, aspect = name.rpartition(" ")
            short[name] = name
            if aspect in ASPECTS:
                prompt = PROMPTS.get(judge, judge)
                short[name] = f"{prompt} {ASPECTS[aspect]}"
        return short

    def stability(self, splits: int) -> pd.DataFrame:
        """Would another half say the same? A row a panel and target.

        splits: random halves by document, each with a fit of its own.
        Returns: "order alike (rho)": Spearman of two halves' importances, mean over
        pairs of halves, `low` and `high` hold 95 % of them; "shared of the first five":
        how many of the five that count most in one half are among the five of another;
        "share of the own aspect": of the importance; "by chance": that share were all
        scores alike.
        """
        rows = 20  # SHAP of more would take minutes a half
        lines = []
        for panel in self.panels:
            halves = []
            for number in range(splits):
                test = self.given.test_rows("document", number)
                importance, _ = self.importance(panel, test, number, rows, rounds=1)
                halves.append(importance)
            for target in self.given.Y.columns:
                columns = np.stack([half[target].to_numpy() for half in halves])
                lines.append(self._alike(panel, target, columns))
        return pd.DataFrame(lines)

    def _alike(self, panel: Panel, target: str, halves: np.ndarray) -> dict[str, Any]:
        """The row of one target in `stability`.

        halves: importances [half, score].
        """
        kind, measure = panel
        splits, size = halves.shape
        pairs = [(a, b) for a in range(splits) for b in range(a)]
        # How alike two halves order all scores, and how many of the first five are
        # among the other's.
        alike = [stats.spearmanr(halves[a], halves[b])[0] for a, b in pairs]
        first_five = [set(np.argsort(-half)[:5]) for half in halves]
        shared = [len(first_five[a] & first_five[b]) for a, b in pairs]
        # How much of the importance belongs to scores of the target's own aspect.
        own_scores = self.given.own.get(target, ())
        is_own = np.isin(list(self.given.X.columns), own_scores)
        positive = halves.clip(min=0)
        shares = positive[:, is_own].sum(axis=1) / positive.sum(axis=1)
        low, high = np.quantile(alike, [0.025, 0.975])
        return {
            "aggregator": criteria_scores.PRINTED_NAMES[kind],
            "measure": measure,
            "target": target,
            "order alike (rho)": np.mean(alike),
            "low": low,
            "high": high,
            "shared of the first five": np.mean(shared),
            "share of the own aspect": shares.mean(),
            "by chance": is_own.mean(),
            "n": size,
            "signature": f"spearman over {size} scores|pairs of halves:{len(pairs)}"
            "|unit:document",
        }

    def targets(self, measure: str) -> list[str]:
        """The targets that have a panel of bars.

        Trees that predict several targets at once have one weight for all of them, so
        that a panel a group is enough.
        """
        targets = list(self.given.Y.columns)
        if measure != "weights":
            return targets
        # With groups the first and the last target stand for a group each.
        if self.given.groups:
            return [targets[0], targets[-1]]
        return targets[:1]

    def bars(self, table: pd.DataFrame) -> Figure:
        """The figure of importances: a panel an aggregator and target, with the scores
        that count most for it.

        table: what `measured` gives first.
        """
        drawn = []
        for kind, measure in self.panels:
            for target in self.targets(measure):
                drawn.append((kind, measure, target))
        panel_rows = -(-len(drawn) // 2)
        height = 0.7 + panel_rows * (0.5 + 0.145 * self.shown)
        fig, axes = figures.new(figures.WIDE, height, panel_rows, 2, squeeze=False)
        for ax, panel in zip(axes.flat, drawn, strict=False):
            self._bars(ax, table, *panel)
        for ax in list(axes.flat)[len(drawn) :]:
            ax.set_visible(False)
        self._legend_of_bars(fig, with_whiskers="sd of shuffles" in table)
        return fig

    def _legend_of_bars(self, fig: Figure, with_whiskers: bool) -> None:
        """What the two colours of bars are, what short names of aspects stand for, and
        what whiskers are.
        """
        roles = {
            "score of the predicted aspect, or of any (trees)": "ours",
            "score of another aspect": "sky",
        }
        handles = [Patch(color=figures.color(role)) for role in roles.values()]
        short_names = []
        for name, short in ASPECTS.items():
            if name in self.given.Y:
                short_names.append(f"{short}: {name}")
        title = "; ".join(short_names)
        if with_whiskers:
            title += "; whiskers: sd of shuffles"
        fig.legend(
            handles,
            roles,
            loc="outside lower left",
            ncols=2,
            title=title,
            title_fontsize=7.5,
            alignment="left",
        )

    def _bars(
        self, ax: Any, table: pd.DataFrame, kind: str, measure: str, target: str
    ) -> None:
        """One panel of `bars`; dark bars are scores of the target's own aspect."""
        name = criteria_scores.PRINTED_NAMES[kind]
        bars = table[(table["aggregator"] == name) & (table["measure"] == measure)]
        bars = bars[bars["target"] == target]
        # Bars are drawn from below: the largest is to be at the top.
        bars = bars.nlargest(self.shown, "importance").iloc[::-1]
        reach = bars.get("sd of shuffles", pd.Series(np.zeros(len(bars))))
        reach = reach.fillna(0).to_numpy()
        own_scores = self.given.own.get(target, ())
        colours = []
        for score in bars["score"]:
            is_own = score in own_scores or measure == "weights"
            colours.append(figures.color("ours" if is_own else "sky"))
        ax.barh(
            range(len(bars)),
            bars["importance"],
            xerr=reach if reach.any() else None,
            color=colours,
            height=0.7,
            error_kw=dict(lw=0.7, capsize=0),
        )
        short = self.names()
        labels = [short[score] for score in bars["score"]]
        ax.set_yticks(range(len(bars)), labels, fontsize=7)
        # Trees share their weights among the targets of a group.
        groups = self.given.groups or [tuple(self.given.Y.columns)]
        group = next((group for group in groups if target in group), ())
        several = measure == "weights" and len(group) != 1
        about = f"{len(group)} aspects at once" if several else target
        ax.set_title(f"{name}: {about}", fontsize=8.5)
        ax.xaxis.set_major_locator(ticker.MaxNLocator(5))
        ax.set_xlabel(UNIT[measure])
        ax.grid(axis="y", visible=False)

    def dots(self, values: dict[Panel, Any]) -> Figure:
        """The figure of SHAP values, output by output: a panel an aggregator and
        target, a dot an output.

        To the right the score raised the prediction; the colour is the output's score,
        by rank.

        values: what `measured` gives second.
        """
        drawn = []
        for (kind, _), shap in values.items():
            for column in range(len(shap.targets)):
                drawn.append((kind, shap, column))
        panel_rows = -(-len(drawn) // 2)
        height = 0.3 + panel_rows * 2.15 + 0.3
        fig, axes = figures.new(figures.WIDE, height, panel_rows, 2, squeeze=False)
        # One generator for all panels: it scatters the dots of a line up and down.
        rng = np.random.default_rng(self.seed)
        for ax, (kind, shap, column) in zip(axes.flat, drawn, strict=False):
            points = self._dots(ax, shap, column, rng)
            name = criteria_scores.PRINTED_NAMES[kind]
            ax.set_title(f"{name}: {shap.targets[column]}", fontsize=8.5)
        # Ranks run from 0 to 1 in every panel, so that one colour bar is for all.
        colour_bar = fig.colorbar(
            points,
            ax=axes,
            location="bottom",
            aspect=60,
            shrink=0.6,
            label="the output's score, by rank",
        )
        colour_bar.set_ticks([0, 1], labels=["lowest", "highest"])
        return fig

    def _dots(self, ax: Any, shap: Any, column: int, rng: np.random.Generator) -> Any:
        """One panel of `dots`; returns the last line's dots, for the colour bar.

        shap: values [output, score, target]. column: the target's place in it.
        """
        importance = np.abs(shap.values[:, :, column]).mean(axis=0)
        # Lines are drawn from below: the most important score is to be at the top.
        order = np.argsort(-importance)[:_DOTTED][::-1]
        for height, score in enumerate(order):
            moved = shap.values[:, score, column]
            jitter = rng.uniform(-0.28, 0.28, len(moved))
            ranks = stats.rankdata(shap.data[:, score])
            points = ax.scatter(
                moved,
                height + jitter,
                c=ranks / len(moved),
                cmap="cividis_r",
                s=5,
                lw=0,
                vmin=0,
                vmax=1,
            )
        short = self.names()
        labels = [short[shap.criteria[score]] for score in order]
        ax.axvline(0, color="#777777", lw=0.7)
        ax.set_yticks(range(len(order)), labels, fontsize=7)
        ax.set_xlabel("SHAP, rating points")
        ax.grid(axis="y", visible=False)
        return points
