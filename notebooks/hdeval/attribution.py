"""Which scores an aggregator listens to: importances, their figures and how stable they
are between halves of the data. The notebooks of HD-Eval's Figures 6 to 9 beside this
call it, one a figure.

A panel is an aggregator and a measure: `("mlp", "permutation")`. Measures: permutation
(explained variance lost), weights (of trees), shap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import ticker
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from scipy import stats

from nlgeval_lib import figures, report, study
from nlgeval_lib.evaluators import hdeval
from nlgeval_lib.report import miniature
from nlgeval_lib.study import criteria_scores

Panel = tuple[str, str]
UNIT = {
    "permutation": "explained variance lost",
    "shap": "mean |SHAP|, rating points",
    "weights": "share of error cut",
}
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
    out: report.Output, data: str, quick: bool, **asked: Any
) -> criteria_scores.CriteriaScores:
    """A judge's scores of HD-Eval's criteria where they are kept here; else recorded
    scores of several judges, and what is missing is noted.

    asked: engine, model, revision, mode.
    """
    made = study.judge_scores(out.id, data, **asked)
    if not made.available:
        out.missing(f"HD-Eval's criteria, {data}", made.why)
        return criteria_scores.recorded(data, *((20, 3) if quick else ()))
    if miniature.was_asked(made):
        miniature.set_apart(
            out,
            made,
            instead=True,
        )
    out.note(f"{made.coverage} scores of criteria, {made.signature}")
    return criteria_scores.of_judge(data, made)


@dataclass(frozen=True)
class Attribution:
    """What the aggregators of `panels` make of `given`.

    rows: outputs that SHAP attributes. shown: scores that a panel of bars draws. seed:
    the paper's row split; also of shuffling and of the rows drawn.
    """

    given: criteria_scores.CriteriaScores
    panels: Sequence[Panel]
    quick: bool
    rows: int
    shown: int
    seed: int

    def fit(self, kind: str, test: np.ndarray, number: int) -> hdeval.Aggregator:
        """An aggregator fitted on all rows but those of the test."""
        few = {"rf": {"n_estimators": 10}, "mlp": {"max_iter": 100}}
        options = few.get(kind) if self.quick else None
        train = np.setdiff1d(np.arange(len(self.given.X)), test)
        aggregator = hdeval.Aggregator(
            kind, seed=number, **self.given.settings, options=options
        )
        return aggregator.fit(self.given.X.iloc[train], self.given.Y.iloc[train])

    def importance(
        self, panel: Panel, test: np.ndarray, number: int, rows: int, rounds: int
    ) -> tuple[pd.DataFrame, Any]:
        """Importance [score, target] on the test rows, and the SHAP values where that
        is the measure, else None.
        """
        kind, measure = panel
        fitted = self.fit(kind, test, number)
        X = self.given.X.iloc[test]
        if measure == "weights":
            return hdeval.weights(fitted, X), None
        if measure == "permutation":
            repeats = 3 if self.quick else 10
            Y = self.given.Y.iloc[test]
            frame = hdeval.permutation_importance(
                fitted, X, Y, repeats=repeats, seed=self.seed
            )
            return frame, None
        values = hdeval.shap_values(
            fitted,
            X,
            rows=rows,
            seed=self.seed,
            rounds=rounds,
        )
        return values.importance(), values

    def measured(self) -> tuple[pd.DataFrame, dict[Panel, Any]]:
        """The importances of all panels on the paper's row split, a row a score and
        target, and the SHAP values by panel.
        """
        test = self.given.test_rows("row", self.seed)
        rounds = 1 if self.quick else 3
        parts = []
        values = {}
        for panel in self.panels:
            found, values[panel] = self.importance(
                panel, test, self.seed, self.rows, rounds
            )
            long = found.rename_axis("score").reset_index()
            long = long.melt(
                "score",
                var_name="target",
                value_name="importance",
            )
            if "sd" in found.attrs:
                spread = pd.DataFrame(found.attrs["sd"], index=found.index)
                places = zip(
                    long["score"],
                    long["target"],
                    strict=True,
                )
                long["sd of shuffles"] = [spread.loc[place] for place in places]
            name = criteria_scores.PRINTED_NAMES[panel[0]]
            parts.append(long.assign(aggregator=name, measure=panel[1]))
        return pd.concat(parts, ignore_index=True), values

    def top(self, table: pd.DataFrame) -> pd.DataFrame:
        """The scores that count most over all targets, of each panel."""
        ranked = []
        for key, part in table.groupby(["aggregator", "measure"], sort=False):
            wide = part.pivot(
                index="score",
                columns="target",
                values="importance",
            )
            wide = wide.loc[list(self.given.X.columns)]
            total = hdeval.overall(wide).sort_values(ascending=False)
            first = wide.loc[total.index[:_TOP]].assign(**{"share of all": total})
            ranked.append(first.reset_index().assign(aggregator=key[0], measure=key[1]))
        joined = pd.concat(ranked, ignore_index=True)
        joined["score"] = joined["score"].map(self.names())
        targets = list(self.given.Y.columns)
        return joined[
            [
                "aggregator",
                "measure",
                "score",
                *targets,
                "share of all",
            ]
        ]

    def names(self) -> dict[str, str]:
        """The short name of each score."""
        short = {}
        for name in self.given.X.columns:
            judge, _, aspect = name.rpartition(" ")
            short[name] = name
            if aspect in ASPECTS:
                short[name] = f"{PROMPTS.get(judge, judge)} {ASPECTS[aspect]}"
        return short

    def stability(self, splits: int) -> pd.DataFrame:
        """How alike random halves by document order the scores, a row a panel and
        target; `by chance`: the share of the own aspect were all alike.
        """
        lines = []
        for panel in self.panels:
            halves = []
            for number in range(splits):
                test = self.given.test_rows("document", number)
                rows = 20  # SHAP of more would take minutes a half
                halves.append(
                    self.importance(
                        panel,
                        test,
                        number,
                        rows,
                        1,
                    )[0]
                )
            for target in self.given.Y.columns:
                columns = np.stack([half[target].to_numpy() for half in halves])
                lines.append(self._alike(panel, target, columns))
        return pd.DataFrame(lines)

    def _alike(self, panel: Panel, target: str, halves: np.ndarray) -> dict[str, Any]:
        """The line of one target. halves: importances [half, score]."""
        splits, size = halves.shape
        pairs = [(a, b) for a in range(splits) for b in range(a)]
        alike = [stats.spearmanr(halves[a], halves[b])[0] for a, b in pairs]
        first = [set(np.argsort(-half)[:5]) for half in halves]
        shared = [len(first[a] & first[b]) for a, b in pairs]
        own = np.isin(list(self.given.X.columns), self.given.own.get(target, ()))
        positive = halves.clip(min=0)
        shares = positive[:, own].sum(axis=1) / positive.sum(axis=1)
        low, high = np.quantile(alike, [0.025, 0.975])
        return {
            "aggregator": criteria_scores.PRINTED_NAMES[panel[0]],
            "measure": panel[1],
            "target": target,
            "order alike (rho)": np.mean(alike),
            "low": low,
            "high": high,
            "shared of the first five": np.mean(shared),
            "share of the own aspect": shares.mean(),
            "by chance": own.mean(),
            "n": size,
            "signature": f"spearman over {size} scores|pairs of halves:{len(pairs)}"
            "|unit:document",
        }

    def targets(self, measure: str) -> list[str]:
        """The targets that have a panel: trees that predict several at once have one
        weight for all of them.
        """
        targets = list(self.given.Y.columns)
        if measure != "weights":
            return targets
        return [targets[0], targets[-1]] if self.given.groups else targets[:1]

    def bars(self, table: pd.DataFrame) -> Figure:
        """A panel a target: the scores that count most for it."""
        drawn = []
        for kind, measure in self.panels:
            for target in self.targets(measure):
                drawn.append((kind, measure, target))
        deep = -(-len(drawn) // 2)
        height = 0.7 + deep * (0.5 + 0.145 * self.shown)
        fig, axes = figures.new(
            figures.WIDE,
            height,
            deep,
            2,
            squeeze=False,
        )
        for ax, panel in zip(axes.flat, drawn, strict=False):
            self._bars(ax, table, *panel)
        for ax in list(axes.flat)[len(drawn) :]:
            ax.set_visible(False)
        keys = {
            "score of the predicted aspect, or of any (trees)": "ours",
            "score of another aspect": "sky",
        }
        named = [
            f"{short}: {name}"
            for name, short in ASPECTS.items()
            if name in self.given.Y
        ]
        whisker = "; whiskers: sd of shuffles" if "sd of shuffles" in table else ""
        fig.legend(
            [Patch(color=figures.color(role)) for role in keys.values()],
            keys,
            loc="outside lower left",
            ncols=2,
            title="; ".join(named) + whisker,
            title_fontsize=7.5,
            alignment="left",
        )
        return fig

    def _bars(
        self, ax: Any, table: pd.DataFrame, kind: str, measure: str, target: str
    ) -> None:
        name = criteria_scores.PRINTED_NAMES[kind]
        part = table[(table["aggregator"] == name) & (table["measure"] == measure)]
        part = part[part["target"] == target]
        part = part.nlargest(self.shown, "importance").iloc[::-1]
        reach = part.get("sd of shuffles", pd.Series(np.zeros(len(part))))
        reach = reach.fillna(0).to_numpy()
        colours = []
        for score in part["score"]:
            is_own = score in self.given.own.get(target, ()) or measure == "weights"
            colours.append(figures.color("ours" if is_own else "sky"))
        ax.barh(
            range(len(part)),
            part["importance"],
            xerr=reach if reach.any() else None,
            color=colours,
            height=0.7,
            error_kw=dict(lw=0.7, capsize=0),
        )
        short = self.names()
        labels = [short[score] for score in part["score"]]
        ax.set_yticks(
            range(len(part)),
            labels,
            fontsize=7,
        )
        groups = self.given.groups or [tuple(self.given.Y.columns)]
        group = next((group for group in groups if target in group), ())
        several = measure == "weights" and len(group) != 1
        about = f"{len(group)} aspects at once" if several else target
        ax.set_title(f"{name}: {about}", fontsize=8.5)
        ax.xaxis.set_major_locator(ticker.MaxNLocator(5))
        ax.set_xlabel(UNIT[measure])
        ax.grid(axis="y", visible=False)

    def dots(self, values: dict[Panel, Any]) -> Figure:
        """SHAP values output by output, a panel a target; colour: the output's score
        by rank.
        """
        drawn = []
        for (kind, _), shap in values.items():
            for column in range(len(shap.targets)):
                drawn.append((kind, shap, column))
        deep = -(-len(drawn) // 2)
        height = 0.3 + deep * 2.15 + 0.3
        fig, axes = figures.new(
            figures.WIDE,
            height,
            deep,
            2,
            squeeze=False,
        )
        rng = np.random.default_rng(self.seed)
        for ax, (kind, shap, column) in zip(axes.flat, drawn, strict=False):
            points = self._dots(ax, shap, column, rng)
            name = criteria_scores.PRINTED_NAMES[kind]
            ax.set_title(f"{name}: {shap.targets[column]}", fontsize=8.5)
        key = fig.colorbar(
            points,
            ax=axes,
            location="bottom",
            aspect=60,
            shrink=0.6,
            label="the output's score, by rank",
        )
        key.set_ticks([0, 1], labels=["lowest", "highest"])
        return fig

    def _dots(self, ax: Any, shap: Any, column: int, rng: np.random.Generator) -> Any:
        size = np.abs(shap.values[:, :, column]).mean(axis=0)
        order = np.argsort(-size)[:_DOTTED][::-1]
        for height, score in enumerate(order):
            moved = shap.values[:, score, column]
            points = ax.scatter(
                moved,
                height + rng.uniform(-0.28, 0.28, len(moved)),
                c=stats.rankdata(shap.data[:, score]) / len(moved),
                cmap="cividis_r",
                s=5,
                lw=0,
                vmin=0,
                vmax=1,
            )
        short = self.names()
        labels = [short[shap.criteria[score]] for score in order]
        ax.axvline(0, color="#777777", lw=0.7)
        ax.set_yticks(
            range(len(order)),
            labels,
            fontsize=7,
        )
        ax.set_xlabel("SHAP, rating points")
        ax.grid(axis="y", visible=False)
        return points
