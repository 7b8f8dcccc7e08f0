"""Variants on the same items: their correlations with ratings, paired tests, a figure.
What an ablation notebook needs.

options = {"engine": engine, "model": model, "mode": mode}
asked = variant_tests.of_judges("my_output", ["n=5", "n=10"], **options)
table, tests = variant_tests.compare(asked.items, asked.scores, base="n=5")
fig = variant_tests.figure(table, tests)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import figures, meta
from nlgeval_lib.scoring import correlations
from nlgeval_lib.study.questions import judge_scores
from nlgeval_lib.study.scores import JudgeScores

KEYS = ("input_id", "system_id", "aspect")


@dataclass(frozen=True)
class VariantScores:
    """Variants of a judge: the items that all of them judged, the scores of each, and
    why others are lacking.

    route: "run", or "mini" for the miniature judge. coverage and signatures: by
    variant.
    """

    items: pd.DataFrame = field(default_factory=pd.DataFrame)
    scores: Mapping[str, np.ndarray] = field(default_factory=dict)
    lacking: Mapping[str, str] = field(default_factory=dict)
    route: str = ""
    coverage: Mapping[str, str] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)

    def coverage_table(self) -> pd.DataFrame:
        """A row a variant: rows with a score, or why there is none."""
        rows = []
        for name, count in self.coverage.items():
            rows.append({"variant": name, "scored": count, "why not": ""})
        for name, reason in self.lacking.items():
            rows.append({"variant": name, "scored": "", "why not": reason})
        return pd.DataFrame(rows)


def of_judges(output: str, names: Sequence[str], **asked: Any) -> VariantScores:
    """The scores of several judges of one output of the catalogue. asked: as
    `judge_scores` takes it.

    Raises: what `judge_scores` raises.
    """
    scores = {name: judge_scores(output, name, **asked) for name in names}
    return on_shared_items(scores)


def on_shared_items(judged: Mapping[str, JudgeScores]) -> VariantScores:
    """Variants that were asked one by one, on the items that all of them judged.

    judged: {variant: its scores}.
    """
    lacking = {
        name: scores.why for name, scores in judged.items() if not scores.available
    }
    frames = {}
    for name, scores in judged.items():
        frame = scores.frame
        if not scores.available:
            continue
        if frame["value"].isna().all():
            reason = frame["reason"].value_counts().index[0]
            lacking[name] = f"no row has a score; most often: {reason}"
        else:
            keys = {key: frame.get(key, "") for key in KEYS}
            frames[name] = frame.assign(**keys).set_index(list(KEYS))
    if not frames:
        return VariantScores(lacking=lacking)
    first, *further_frames = frames.values()
    shared = first.index
    for frame in further_frames:
        shared = shared[shared.isin(frame.index)]
    answers = ["value", "status", "reason", "details"]
    items = first.loc[shared].drop(columns=answers, errors="ignore")
    return VariantScores(
        items=items.reset_index().astype({"human": float}),
        scores={
            name: frame.loc[shared, "value"].to_numpy(float)
            for name, frame in frames.items()
        },
        lacking=lacking,
        route=judged[next(iter(frames))].route,
        coverage={name: judged[name].coverage for name in frames},
        signatures={name: judged[name].signature for name in frames},
    )


def compare(
    items: pd.DataFrame,
    scores: Mapping[str, np.ndarray],
    base: str,
    human: str = "human",
    *,
    coef: str = "spearman",
    units: str = "auto",
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How well each variant follows the ratings, with its interval; and each against
    `base`, paired, Holm over all.

    items: a row an output, with `input_id`, `system_id` and the ratings `human`;
    scores: {variant: a value an item}.
    units: of interval and test, as `meta.compare`.
    Columns: `variant, value, n, ci_low, ci_high, signature, reason`; and `variant,
    first, second, difference, ci_low, ci_high, n, p, p_holm, signature, reason`, where
    first is the variant and second the base (no row for the base itself). The second is
    empty where the base is the only variant.
    Raises: ValueError for a base that is no variant, no ratings.
    """
    if base not in scores:
        variants = ", ".join(scores) or "none"
        raise ValueError(f"base {base!r} is no variant; variants: {variants}")
    if human not in items.columns:
        columns = ", ".join(map(str, items.columns))
        raise ValueError(
            f"items have no column {human!r} with ratings; theirs: {columns}"
        )
    ratings = items[human].to_numpy(float)
    table = correlations.table(
        items, scores, {"human": ratings}, coefs=(coef,), ci=units
    )
    table = table.rename(columns={"row": "variant"})
    table = table.drop(columns=["column", "replicates"], errors="ignore")
    pairs = {}
    for name, values in scores.items():
        if name != base:
            pairs[(name,)] = (values, scores[base], ratings)
    tests = pd.DataFrame()
    if pairs:
        tests = paired_tests(items, pairs, ("variant",), coef=coef, units=units)
    return table, tests


def paired_tests(
    items: pd.DataFrame,
    pairs: Mapping[Any, tuple[np.ndarray, np.ndarray, np.ndarray]],
    names: Sequence[str],
    *,
    coef: str = "spearman",
    family: str | None = None,
    units: str = "auto",
) -> pd.DataFrame:
    """Do the first scores follow the ratings more closely than the second? One row a
    pair, p-values corrected by Holm.

    pairs: {key: (first scores, second scores, ratings)}, a value an item; names: what
    the parts of a key are called.
    family: the name whose values are corrected apart; None corrects all pairs together.
    units: of test and interval, as `meta.compare`. Returns the names, `first, second,
    difference, ci_low, ci_high, n, p, p_holm, signature, reason`.
    """
    grid = correlations.Grid(items)
    interval = grid.interval(units)
    rows = []
    for key, (first, second, ratings) in pairs.items():
        test = grid.compare(
            first, second, ratings, coef=coef, ci=interval, units=interval
        )
        row = dict(zip(names, key, strict=True))
        row["first"] = test.first
        row["second"] = test.second
        row["difference"] = test.difference
        row["ci_low"] = test.low
        row["ci_high"] = test.high
        row["n"] = test.n
        row["p"] = test.p
        row["signature"] = test.signature()
        row["reason"] = test.reason
        rows.append(row)
    frame = pd.DataFrame(rows)
    families = None if family is None else frame[family].tolist()
    corrected = meta.correct(frame["p"].tolist(), "holm", families)
    frame.insert(frame.columns.get_loc("p") + 1, "p_holm", corrected.adjusted)
    return frame.assign(signature=frame["signature"] + "|" + corrected.signature())


def figure(
    table: pd.DataFrame,
    tests: pd.DataFrame,
    title: str = "",
    xlabel: str = "",
    points: Mapping[str, Sequence[float]] | None = None,
) -> Any:
    """Each variant's value with its interval, and beside it the difference from the
    base with its corrected p.

    points: single values of a variant, such as those of its training seeds, shown as
    rings.
    """
    names = list(dict.fromkeys(table["variant"]))
    height = {name: len(names) - 1 - place for place, name in enumerate(names)}
    fig, axes = figures.new(figures.WIDE, 1.0 + 0.32 * len(names), 1, 2, sharey=True)
    value_ax, difference_ax = axes
    _intervals(value_ax, table, "value", height)
    _intervals(difference_ax, tests, "difference", height)
    for name, values in (points or {}).items():
        value_ax.scatter(
            values,
            [height[name] - 0.22] * len(values),
            s=14,
            facecolors="none",
            edgecolors="#555555",
            lw=0.9,
        )
    for test in tests.itertuples():
        difference_ax.annotate(
            _p_mark(test.p_holm),
            (test.difference, height[test.variant]),
            (0, 5),
            textcoords="offset points",
            ha="center",
            size=7,
        )
    difference_ax.axvline(0, color="#555555", lw=0.8)
    value_ax.set_yticks(list(height.values()), names)
    value_ax.set_ylim(-0.6, len(names) - 0.3)
    statistic = xlabel or str(table["statistic"].iat[0]).capitalize()
    value_ax.set(xlabel=f"{statistic}, 95 % interval", title=title)
    untested = [name for name in names if name not in set(tests["variant"])]
    difference_ax.set(
        xlabel="difference, 95 % interval",
        title=f"against {untested[0]}, p by Holm" if untested else "",
    )
    figures.cut(value_ax, axis="x")
    return fig


def _intervals(
    ax: Any, frame: pd.DataFrame, column: str, height: Mapping[str, int]
) -> None:
    """Draw a frame's values with their intervals, each variant at its height."""
    color = figures.color("ours")
    y = [height[name] for name in frame["variant"]]
    ax.hlines(y, frame["ci_low"], frame["ci_high"], color=color, lw=1.6)
    ax.scatter(frame[column], y, s=26, color=color, zorder=3)
    ax.grid(axis="y", visible=False)
    ax.locator_params(axis="x", nbins=6)


def _p_mark(p: float) -> str:
    if np.isnan(p):
        return "no test"
    return "p < .001" if p < 0.001 else f"p {p:.3f}"
