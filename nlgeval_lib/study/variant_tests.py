"""Variants on the same items: their correlations with ratings, paired tests, a figure.
What an ablation notebook needs.

asked = variant_tests.of_judges("my_output", ["n=5", "n=10"], engine=engine, model=model, mode=mode)
table, tests = variant_tests.compare(asked.items, asked.scores, base="n=5")
fig = variant_tests.figure(table, tests)
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import figures, meta
from nlgeval_lib.scoring import correlations
from nlgeval_lib.study import judges
from nlgeval_lib.study.judges import JudgeScores

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
        rows = [
            {"variant": name, "scored": count, "why not": ""}
            for name, count in self.coverage.items()
        ]
        rows += [
            {"variant": name, "scored": "", "why not": why}
            for name, why in self.lacking.items()
        ]
        return pd.DataFrame(rows)


def of_judges(output: str, names: Sequence[str], **asked: Any) -> VariantScores:
    """The scores of several judges of one output of the catalogue. asked: as
    `judge_scores` takes it.

    Raises: what `judge_scores` raises.
    """
    return on_shared_items(
        {name: judges.judge_scores(output, name, **asked) for name in names}
    )


def on_shared_items(made: Mapping[str, JudgeScores]) -> VariantScores:
    """Variants that were asked one by one, on the items that all of them judged.

    made: {variant: its scores}.
    """
    lacking = {name: one.why for name, one in made.items() if not one.available}
    frames = {}
    for name, one in made.items():
        if one.available and one.frame["value"].isna().all():
            lacking[name] = (
                f"no row has a score; most often: {one.frame['reason'].value_counts().index[0]}"
            )
        elif one.available:
            keys = {key: one.frame.get(key, "") for key in KEYS}
            frames[name] = one.frame.assign(**keys).set_index(list(KEYS))
    if not frames:
        return VariantScores(lacking=lacking)
    first, *others = frames.values()
    shared = functools.reduce(
        lambda kept, frame: kept[kept.isin(frame.index)], others, first.index
    )
    items = first.loc[shared].drop(
        columns=["value", "status", "reason", "details"], errors="ignore"
    )
    return VariantScores(
        items=items.reset_index().astype({"human": float}),
        scores={
            name: frame.loc[shared, "value"].to_numpy(float)
            for name, frame in frames.items()
        },
        lacking=lacking,
        route=made[next(iter(frames))].route,
        coverage={name: made[name].coverage for name in frames},
        signatures={name: made[name].signature for name in frames},
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
        raise ValueError(
            f"base {base!r} is no variant; variants: {', '.join(scores) or 'none'}"
        )
    if human not in items.columns:
        raise ValueError(
            f"items have no column {human!r} with ratings; theirs: {', '.join(map(str, items.columns))}"
        )
    ratings = items[human].to_numpy(float)
    table = correlations.table(
        items, scores, {"human": ratings}, coefs=(coef,), ci=units
    )
    table = table.rename(columns={"row": "variant"}).drop(
        columns=["column", "replicates"], errors="ignore"
    )
    pairs = {
        (name,): (values, scores[base], ratings)
        for name, values in scores.items()
        if name != base
    }
    return table, paired_tests(
        items, pairs, ("variant",), coef=coef, units=units
    ) if pairs else pd.DataFrame()


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
    rows = []
    for key, sides in pairs.items():
        one = grid.compare(
            *sides, coef=coef, ci=grid.interval(units), units=grid.interval(units)
        )
        row = {
            **dict(zip(names, key, strict=True)),
            "first": one.first,
            "second": one.second,
        }
        row |= {
            "difference": one.difference,
            "ci_low": one.low,
            "ci_high": one.high,
            "n": one.n,
            "p": one.p,
        }
        rows.append(row | {"signature": one.signature(), "reason": one.reason})
    frame = pd.DataFrame(rows)
    corrected = meta.correct(
        frame["p"].tolist(), "holm", None if family is None else frame[family].tolist()
    )
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
    base = [name for name in table["variant"] if name not in set(tests["variant"])]
    names = list(dict.fromkeys(table["variant"]))
    at = {name: len(names) - 1 - place for place, name in enumerate(names)}
    fig, (left, right) = figures.new(
        figures.WIDE, 1.0 + 0.32 * len(names), 1, 2, sharey=True
    )
    for ax, part, value in ((left, table, "value"), (right, tests, "difference")):
        y = [at[name] for name in part["variant"]]
        ax.hlines(
            y, part["ci_low"], part["ci_high"], color=figures.color("ours"), lw=1.6
        )
        ax.scatter(part[value], y, s=26, color=figures.color("ours"), zorder=3)
        ax.grid(axis="y", visible=False)
    for name, values in (points or {}).items():
        left.scatter(
            values,
            [at[name] - 0.22] * len(values),
            s=14,
            facecolors="none",
            edgecolors="#555555",
            lw=0.9,
        )
    for one in tests.itertuples():
        mark = (
            "no test"
            if np.isnan(one.p_holm)
            else "p < .001"
            if one.p_holm < 0.001
            else f"p {one.p_holm:.3f}"
        )
        right.annotate(
            mark,
            (one.difference, at[one.variant]),
            (0, 5),
            textcoords="offset points",
            ha="center",
            size=7,
        )
    for ax in (left, right):
        ax.locator_params(axis="x", nbins=6)
    right.axvline(0, color="#555555", lw=0.8)
    left.set_yticks(list(at.values()), list(at))
    left.set_ylim(-0.6, len(names) - 0.3)
    name = xlabel or str(table["statistic"].iat[0]).capitalize()
    left.set(xlabel=f"{name}, 95 % interval", title=title)
    right.set(
        xlabel="difference, 95 % interval",
        title=f"against {base[0]}, p by Holm" if base else "",
    )
    figures.cut(left, axis="x")
    return fig
