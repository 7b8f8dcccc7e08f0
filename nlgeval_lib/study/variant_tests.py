"""Variants on the same items: their correlations with ratings, paired tests, a figure.
What an ablation notebook needs.

options = {"engine": engine, "model": model, "mode": mode}
asked = variant_tests.of_judges("my_output", ["n=5", "n=10"], **options)
table, tests = variant_tests.compare(asked.items, asked.scores, base="n=5")
fig = variant_tests.figure(table, tests)
"""

from __future__ import annotations

import itertools
import textwrap
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
TITLE_LETTERS = 34  # that fit above one of two panels
POWER = 0.8  # of the smallest difference that a test would find


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
        """A row a variant: rows with a score, and why it is not tested."""
        rows = []
        for name in dict.fromkeys((*self.coverage, *self.lacking)):
            count = self.coverage.get(name, "")
            reason = self.lacking.get(name, "")
            rows.append({"variant": name, "scored": count, "why not": reason})
        return pd.DataFrame(rows)


def of_judges(output: str, names: Sequence[str], **asked: Any) -> VariantScores:
    """The scores of several judges of one output of the catalogue. asked: as
    `judge_scores` takes it.

    Raises: what `judge_scores` raises.
    """
    scores = {name: judge_scores(output, name, **asked) for name in names}
    return on_shared_items(scores)


def on_shared_items(
    judged: Mapping[str, JudgeScores], least_read: float = 0.0
) -> VariantScores:
    """Variants that were asked one by one, on the items that all of them judged.

    judged: {variant: its scores}. least_read: the share of rows that must have a score;
    a variant with less is left out, since rows without one are no random sample.
    """
    lacking = {
        name: scores.why for name, scores in judged.items() if not scores.available
    }
    frames = {}
    for name, scores in judged.items():
        frame = scores.frame
        if not scores.available:
            continue
        read = frame["value"].notna().mean()
        if read == 0 or read < least_read:
            reason = frame.loc[frame["value"].isna(), "reason"].mode().iloc[0]
            lacking[name] = _unread(read, least_read, reason)
        else:
            keys = {key: frame.get(key, "") for key in KEYS}
            frames[name] = frame.assign(**keys).set_index(list(KEYS))
    available = [name for name, scores in judged.items() if scores.available]
    coverage = {name: judged[name].coverage for name in available}
    signatures = {name: judged[name].signature for name in available}
    if not frames:
        route = judged[available[0]].route if available else ""
        return VariantScores(
            lacking=lacking, route=route, coverage=coverage, signatures=signatures
        )
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
        coverage=coverage,
        signatures=signatures,
    )


def _unread(read: float, least: float, reason: str) -> str:
    """Why a variant with few scores is not tested."""
    if read == 0:
        return f"no row has a score; most often: {reason}"
    return (
        f"only {read:.0%} of the rows have a score, and {least:.0%} are needed for a "
        f"test: what could not be read is no random sample; most often: {reason}"
    )


def compare(
    items: pd.DataFrame,
    scores: Mapping[str, np.ndarray],
    base: str,
    human: str = "human",
    *,
    coef: str = "spearman",
    units: str = "auto",
    all_pairs: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How well each variant follows the ratings, with its interval; and each against
    `base`, paired, Holm over all.

    items: a row an output, with `input_id`, `system_id` and the ratings `human`;
    scores: {variant: a value an item}.
    units: of interval and test, as `meta.compare`. all_pairs: the others among
    themselves, too, below those against the base.
    Columns: `variant, value, n, ci_low, ci_high, signature, reason`; and `variant,
    against, first, second, difference, ci_low, ci_high, n, p, p_holm, detectable,
    signature, reason`, where first is the variant and second what it is compared with.
    detectable: the smallest difference that this test, uncorrected, would tell with a
    power of .8. The second frame is empty where the base is the only variant.
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
    for pair in _compared(list(scores), base, all_pairs):
        pairs[pair] = (scores[pair[0]], scores[pair[1]], ratings)
    tests = pd.DataFrame()
    if pairs:
        keys = ("variant", "against")
        tests = paired_tests(
            items, pairs, keys, coef=coef, units=units, detectable=True
        )
    return table, tests


def _compared(names: list[str], base: str, all_pairs: bool) -> list[tuple[str, str]]:
    """The pairs that are tested, those with the base first."""
    names.remove(base)
    compared = [(name, base) for name in names]
    if all_pairs:
        for earlier, later in itertools.combinations(names, 2):
            compared.append((later, earlier))
    return compared


def paired_tests(
    items: pd.DataFrame,
    pairs: Mapping[Any, tuple[np.ndarray, np.ndarray, np.ndarray]],
    names: Sequence[str],
    *,
    coef: str = "spearman",
    family: str | None = None,
    units: str = "auto",
    detectable: bool = False,
) -> pd.DataFrame:
    """Do the first scores follow the ratings more closely than the second? One row a
    pair, p-values corrected by Holm.

    pairs: {key: (first scores, second scores, ratings)}, a value an item; names: what
    the parts of a key are called.
    family: the name whose values are corrected apart; None corrects all pairs together.
    units: of test and interval, as `meta.compare`. detectable: a column with the
    smallest difference that a test would tell. Returns the names, `first, second,
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
        if detectable:
            row["detectable"] = test.detectable(POWER)
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
    """Each variant's value and its difference from the first test's base, with p.

    points: single values of a variant, such as those of its training seeds, shown as
    rings.
    """
    names = list(dict.fromkeys(table["variant"]))
    base, tests = _with_base(names, tests)
    height = {name: len(names) - 1 - place for place, name in enumerate(names)}
    fig, (value_ax, difference_ax) = figures.new(
        figures.WIDE, 1.0 + 0.32 * len(names), 1, 2, sharey=True
    )
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
    against = f"against {base}, p by Holm" if base else ""
    value_ax.set(xlabel=f"{statistic}, 95 % interval")
    value_ax.set_title(textwrap.fill(title, TITLE_LETTERS))
    difference_ax.set(xlabel="difference, 95 % interval")
    difference_ax.set_title(textwrap.fill(against, TITLE_LETTERS))
    figures.cut(value_ax, axis="x")
    return fig


def _with_base(names: list[str], tests: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """The base, and the tests against it: where tests do not name what they compare
    with, the variant that has none.
    """
    if "against" not in tests or tests.empty:
        untested = [name for name in names if name not in set(tests["variant"])]
        return next(iter(untested), ""), tests
    base = str(tests["against"].iat[0])
    return base, tests[tests["against"] == base]


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
