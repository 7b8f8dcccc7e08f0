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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from judgecard import figures
from nlgeval_lib import progress, statistics
from nlgeval_lib.errors import Refused
from nlgeval_lib.scoring import correlations
from reproduction.study.questions import judge_scores
from reproduction.study.scores import JudgeScores

# What names a judged row, on which variants are held against each other.
KEYS = ("input_id", "system_id", "aspect")
# Columns of ratings: people's, and where no output has one, GPT-4's recorded grades.
RATINGS = ("human", "gpt4")
TITLE_LETTERS = 34  # that fit above one of two panels
POWER = 0.8  # of the smallest difference that a test would find


@dataclass(frozen=True)
class VariantScores:
    """Variants of a judge: the items that all of them judged, the scores of each, and
    why others are lacking.

    items: the judged rows with `KEYS` and `human`; empty where no variant has scores.
    scores: variant -> a value an item, NaN where it has none.
    lacking: variant -> why it has no scores here, or is not tested.
    route: "run", or "mini" for the miniature judge; "" where no variant has scores.
    coverage: variant -> how many rows have a score, such as "1,198 of 1,200".
    draws: variant -> how many draws have a score, such as "233 of 960", where a row
    has several.
    unread: variant -> why most rows or draws without a score have none.
    signatures: variant -> how its scores were made.
    """

    items: pd.DataFrame = field(default_factory=pd.DataFrame)
    scores: Mapping[str, np.ndarray] = field(default_factory=dict)
    lacking: Mapping[str, str] = field(default_factory=dict)
    route: str = ""
    coverage: Mapping[str, str] = field(default_factory=dict)
    draws: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        variants = [f"{name}: {count}" for name, count in self.coverage.items()]
        variants += [f"{name}: not tested" for name in self.lacking]
        return (
            f"VariantScores({len(self.scores)} variants on {len(self.items):,} items, "
            f"route {self.route or 'none'}; {'; '.join(variants)})"
        )

    def coverage_table(self) -> pd.DataFrame:
        """A row a variant: `variant`, `scored` (rows with a score), `why not` it is
        tested; where there are any, `draws` with a score and why `unread`.
        """
        rows = []
        names = (*self.coverage, *self.lacking)
        for name in dict.fromkeys(names):
            count = self.coverage.get(name, "")
            reason = self.lacking.get(name, "")
            row = {"variant": name, "scored": count}
            if any(self.draws.values()):
                row["draws"] = self.draws.get(name, "")
            if any(self.unread.values()):
                row["unread"] = self.unread.get(name, "")
            rows.append(row | {"why not": reason})
        return pd.DataFrame(rows)


def rated_by(items: pd.DataFrame) -> str:
    """The column with the ratings of these outputs: the first of `RATINGS` that has
    any; "human" where none has.
    """
    for column in RATINGS:
        if column in items and items[column].notna().any():
            return column
    return RATINGS[0]


def on_all_arms(scores: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The scores of variants on the items that all of them have a score of; NaN on the
    others.
    """
    lacking = np.isnan(list(scores.values())).any(axis=0)
    return {name: np.where(lacking, np.nan, own) for name, own in scores.items()}


def of_judges(output: str, names: Sequence[str], **options: Any) -> VariantScores:
    """The scores of several judges of one output of the catalogue, on the items that
    all of them judged; the judges' names there become the variants' names.
    """
    scores = {}
    for name in names:
        scores[name] = judge_scores(output, name, **options)
    return on_shared_items(scores)


def on_shared_items(
    judged: Mapping[str, JudgeScores], least_read: float = 0.0
) -> VariantScores:
    """Variants that were asked one by one, on the items that all of them judged.

    least_read: the share of rows that must have a score, 0 to 1; a variant with less,
    or without any, is left out, since rows without one are no random sample.
    """
    lacking = {}
    available = {}
    for name, scores in judged.items():
        if scores.available:
            available[name] = scores
        else:
            lacking[name] = scores.why
    frames = {}
    coverage = {}
    draws = {}
    reasons = {}
    signatures = {}
    for name, scores in available.items():
        coverage[name] = scores.coverage
        draws[name] = _draws_read(scores.frame)
        reasons[name] = _most_often(scores.frame)
        signatures[name] = scores.signature
        unread = _unread(scores.frame, least_read)
        if unread:
            lacking[name] = unread
        else:
            frames[name] = _by_keys(scores.frame)
    routes = [judged[name].route for name in (*frames, *available)]
    result = VariantScores(
        lacking=lacking,
        route=next(iter(routes), ""),
        coverage=coverage,
        draws=draws,
        unread=reasons,
        signatures=signatures,
    )
    if not frames:
        return result
    items, values = _shared(frames)
    return replace(result, items=items, scores=values)


def _shared(
    frames: Mapping[str, pd.DataFrame],
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """The items that all variants judged, and each variant's values for them."""
    first, *further_frames = frames.values()
    # The first variant's order of items is kept.
    shared = first.index
    for frame in further_frames:
        shared = shared[shared.isin(frame.index)]
    answers = ["value", "status", "reason", "details"]
    items = first.loc[shared].drop(columns=answers, errors="ignore")
    values = {}
    for name, frame in frames.items():
        values[name] = frame.loc[shared, "value"].to_numpy(float)
    return items.reset_index().astype({"human": float}), values


def _by_keys(frame: pd.DataFrame) -> pd.DataFrame:
    """Judged rows with `KEYS` as their index; a key that they lack is empty."""
    keys = {key: frame.get(key, "") for key in KEYS}
    return frame.assign(**keys).set_index(list(KEYS))


def _draws_read(frame: pd.DataFrame) -> str:
    """How many draws have a score, such as "233 of 960"; "" where a row has one."""
    asked = 0
    missing = 0
    for details in frame.get("details", ()):
        asked += details.get("n", 1)
        missing += details.get("n_missing", 0)
    return f"{asked - missing:,} of {asked:,}" if asked > len(frame) else ""


def _most_often(frame: pd.DataFrame) -> str:
    """The most frequent reason of rows without a score; "" where all have one."""
    reasons = frame.loc[frame["value"].isna()].get("reason", pd.Series(dtype=str))
    return reasons.mode().iloc[0] if len(reasons) else ""


def _unread(frame: pd.DataFrame, least: float) -> str:
    """Why a variant with few scores is not tested; "" where it has enough. least: the
    share of rows that must have a score.
    """
    has_score = frame["value"].notna()
    read = has_score.mean()
    is_enough = not (read == 0 or read < least)
    if is_enough:
        return ""
    reason = _most_often(frame)
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
    human: str = "",
    *,
    coef: str = "spearman",
    units: str = "auto",
    level: str = "dataset",
    all_pairs: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How well does each variant follow the ratings, and which differ from `base`?

    Every variant is tested against the base on the same items, with Holm's correction
    over all tests.

    items: a row an output, with `input_id`, `system_id` and the ratings.
    scores: {variant: a value an item}.
    human: the column of `items` with the ratings; "" as `rated_by` says.
    coef, level, units: as `statistics.compare` takes them.
    all_pairs: whether the others are tested among themselves, too; these tests stand
    below those against the base.
    Returns: a row a variant, with `variant, value, n, ci_low, ci_high, signature,
    reason`; and a row a test, with `variant, against, first, second, difference,
    ci_low, ci_high, n, p, p_holm, detectable, signature, reason`. There `first` is the
    variant's coefficient and `second` that of what it is compared with; `detectable` is
    the smallest difference that this test, uncorrected, would tell with a power of .8.
    The second frame is empty where the base is the only variant.
    Raises: ValueError for a base that is no variant, an unknown level, no ratings.
    """
    ratings = _ratings(items, scores, base, human or rated_by(items))
    table = correlations.table(
        items, scores, {"human": ratings}, coefs=(coef,), level=level, ci=units
    )
    table = table.rename(columns={"row": "variant"})
    table = table.drop(columns=["column", "replicates"], errors="ignore")
    pairs = {}
    for variant, against in _compared(scores, base, all_pairs):
        pairs[variant, against] = (scores[variant], scores[against], ratings)
    tests = pd.DataFrame()
    if pairs:
        keys = ("variant", "against")
        tests = paired_tests(
            items, pairs, keys, coef=coef, units=units, level=level, detectable=True
        )
    return table, tests


def check_base(base: str, variants: Iterable[str]) -> None:
    """Pass where the base is one of the variants. Raises: ValueError naming them."""
    variants = list(variants)
    if base not in variants:
        listed = ", ".join(variants) or "none"
        raise Refused(f"base {base!r} is no variant; variants: {listed}")


def every_pair(tests: pd.DataFrame) -> pd.DataFrame:
    """Which variants differ from which: the difference of a row's variant from a
    column's, with the corrected p-value; a pair stands once.

    tests: of all pairs, as `compare` gives them; with a column `aspect` each aspect has
    rows of its own.
    """
    rows: dict[tuple[str, str], dict[str, str]] = {}
    aspects = tests["aspect"] if "aspect" in tests else [""] * len(tests)
    for aspect, test in zip(aspects, tests.itertuples(), strict=True):
        row = rows.setdefault(
            (aspect, test.variant), {"aspect": aspect, "variant": test.variant}
        )
        row[test.against] = f"{test.difference:+.3f} ({_p_mark(test.p_holm)})"
    frame = pd.DataFrame(list(rows.values()))
    if frame["aspect"].nunique() == 1:
        frame = frame.drop(columns="aspect")
    return frame


def _ratings(
    items: pd.DataFrame, scores: Mapping[str, np.ndarray], base: str, human: str
) -> np.ndarray:
    """The ratings of the items. Raises: as `compare`."""
    check_base(base, scores)
    if human not in items.columns:
        columns = ", ".join(map(str, items.columns))
        raise ValueError(
            f"items have no column {human!r} with ratings; theirs: {columns}"
        )
    return items[human].to_numpy(float)


def _compared(
    variants: Iterable[str], base: str, all_pairs: bool
) -> list[tuple[str, str]]:
    """The pairs that are tested as (variant, what it is compared with), those with the
    base first.

    Example:
    >>> _compared(["a", "b", "c"], "b", all_pairs=True)
    [('a', 'b'), ('c', 'b'), ('c', 'a')]
    """
    names = [name for name in variants if name != base]
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
    units: str = "auto",
    level: str = "dataset",
    detectable: bool = False,
) -> pd.DataFrame:
    """Do the first scores follow the ratings more closely than the second? One row a
    pair, p-values corrected by Holm.

    items: a row an output, with `input_id` and `system_id`.
    pairs: {key: (first scores, second scores, ratings)}, a value an item.
    names: what the parts of a key are called; these columns begin each row.
    coef, units, level: as `statistics.compare` takes them.
    detectable: whether a column has the smallest difference that a test would tell.
    Returns: the names, then `first, second` (coefficients), `difference, ci_low,
    ci_high, n, p, p_holm, signature, reason`.
    """
    grid = correlations.Grid(items, level)
    interval = grid.interval(units)
    rows = []
    for key, (first, second, ratings) in progress.bar(pairs.items(), desc="tests"):
        test = grid.compare(
            first, second, ratings, coef=coef, level=level, ci=interval, units=interval
        )
        row = dict(zip(names, key, strict=True))
        rows.append(row | _test_columns(test, detectable))
    frame = pd.DataFrame(rows)
    corrected = statistics.correct(frame["p"].tolist(), "holm")
    after_p = frame.columns.get_loc("p") + 1
    frame.insert(after_p, "p_holm", corrected.adjusted)
    signature = frame["signature"] + "|" + corrected.signature()
    return frame.assign(signature=signature)


def _test_columns(test: Any, detectable: bool) -> dict[str, Any]:
    """What a table says of one test of `statistics.compare`."""
    columns = {
        "first": test.first,
        "second": test.second,
        "difference": test.difference,
        "ci_low": test.low,
        "ci_high": test.high,
        "n": test.n,
        "p": test.p,
    }
    if detectable:
        columns["detectable"] = test.detectable(POWER)
    columns["signature"] = test.signature()
    columns["reason"] = test.reason
    return columns


def figure(
    table: pd.DataFrame,
    tests: pd.DataFrame,
    title: str = "",
    xlabel: str = "",
    points: Mapping[str, Sequence[float]] | None = None,
) -> Any:
    """Each variant's value and its difference from the first test's base, with p.

    table, tests: as `compare` gives them.
    points: single values of a variant, such as those of its training seeds, shown as
    rings.
    """
    names = list(dict.fromkeys(table["variant"]))
    base, tests = _with_base(names, tests)
    top = len(names) - 1
    # The first variant stands at the top, so heights count down.
    height = {name: top - place for place, name in enumerate(names)}
    inches = 1.0 + 0.32 * len(names)
    fig, (value_ax, difference_ax) = figures.new(
        figures.WIDE, inches, 1, 2, sharey=True
    )
    _intervals(value_ax, table, "value", height)
    _intervals(difference_ax, tests, "difference", height)
    _rings(value_ax, points or {}, height)
    _p_marks(difference_ax, tests, height)
    difference_ax.axvline(0, color="#555555", lw=0.8)
    value_ax.set_yticks(list(height.values()), names)
    value_ax.set_ylim(-0.6, len(names) - 0.3)
    statistic = xlabel
    if not statistic:
        statistic = str(table["statistic"].iat[0]).capitalize()
    against = f"against {base}, p by Holm" if base else ""
    value_ax.set(xlabel=f"{statistic}, 95 % interval")
    value_ax.set_title(textwrap.fill(title, TITLE_LETTERS))
    difference_ax.set(xlabel="difference, 95 % interval")
    difference_ax.set_title(textwrap.fill(against, TITLE_LETTERS))
    figures.cut(value_ax, axis="x")
    return fig


def _with_base(names: Sequence[str], tests: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """The base, and the tests against it: where tests do not name what they compare
    with, the variant that has none.
    """
    if "against" not in tests or tests.empty:
        tested = set(tests["variant"])
        for name in names:
            if name not in tested:
                return name, tests
        return "", tests
    base = str(tests["against"].iat[0])
    return base, tests[tests["against"] == base]


def _rings(
    ax: Any, points: Mapping[str, Sequence[float]], height: Mapping[str, int]
) -> None:
    """Draw single values of variants, a little below the height of each."""
    for name, values in points.items():
        ax.scatter(
            values,
            [height[name] - 0.22] * len(values),
            s=14,
            facecolors="none",
            edgecolors="#555555",
            lw=0.9,
        )


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


def _p_marks(ax: Any, tests: pd.DataFrame, height: Mapping[str, int]) -> None:
    """Write the corrected p-value of each test above its difference."""
    for test in tests.itertuples():
        ax.annotate(
            _p_mark(test.p_holm),
            (test.difference, height[test.variant]),
            (0, 5),
            textcoords="offset points",
            ha="center",
            size=7,
        )


def _p_mark(p: float) -> str:
    """A corrected p-value as it stands in the figure; "no test" for NaN."""
    if np.isnan(p):
        return "no test"
    return "p < .001" if p < 0.001 else f"p {p:.3f}"
