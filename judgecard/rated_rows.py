"""Rows with scores and ratings as they are measured: a row an output, on scales."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from nlgeval_lib.names import counted_noun
from nlgeval_lib.scoring.cells import InputError, is_missing
from nlgeval_lib.scoring.columns import IDS, OTHER, RATER, RATING
from nlgeval_lib.scoring.rows import Rows

Scale = tuple[float, float]
_MARKS = (9, 99, 999, 9999)  # what surveys write where nobody answered
# The column that a fitted evaluator adds, as `Judgment.details` have it.
SEEN = "seen_in_training"


@dataclass(frozen=True)
class Said:
    """What a user says of the numbers.

    reverse: columns in which less is better, by our names.
    enforced: whether scores off the scale become missing here, or later.
    """

    scale: Scale | None = None
    human_scale: Scale | None = None
    reverse: Sequence[str] = ()
    enforced: bool = True

    def turned(self, values: np.ndarray, of_scores: bool) -> np.ndarray:
        """Numbers of which less is better, so that more is: on their scale, or with a
        minus.
        """
        scale = self.scale if of_scores else self.human_scale
        return (sum(scale) if scale else 0.0) - values


def training_column(score: str) -> str:
    """The column that says whether a score was fitted on a row."""
    if score == "value":
        return SEEN
    return f"{score}_{SEEN}"


def prepared(
    data: Rows, scores: Sequence[str], humans: Sequence[str], said: Said
) -> tuple[Rows, list[str]]:
    """The rows as they are measured, and notes on what was done."""
    for name in scores:
        if name in humans:
            column = data.theirs.get(name, name)
            raise InputError(f"{column!r} is named for the scores and for the ratings")
    data.check_ids()
    data, notes = _without_training_rows(data, scores, humans)
    present = [name for name in (*scores, *humans) if name in data.frame]
    data = _with(data, {name: data.numbers(name) for name in present})
    data = _wide(data, scores, humans, notes)
    further = [name for name in data.frame if str(name).startswith("rater_")]
    people = dict.fromkeys((*humans, *further))
    ratings = [name for name in people if name in data.frame]
    if said.enforced or not said.scale:
        for name in scores:
            data = _on_scale(data, name, said.scale, "--scale", notes)
    for name in ratings:
        data = _on_scale(data, name, said.human_scale, "--human-scale", notes)
    turned = {}
    for name in said.reverse:
        if name not in (*scores, *ratings):
            raise InputError(f"--reverse {data.lacks(name)}")
        for column in ratings if name == RATING else [name]:
            turned[column] = said.turned(data.numbers(column), name in scores)
    if turned:
        notes.append(f"less is better in {', '.join(turned)}: the numbers are turned")
    return _with(data, turned), notes


def _with(data: Rows, columns: dict[str, np.ndarray]) -> Rows:
    return dataclasses.replace(data, checked=data.frame.assign(**columns))


def _without_training_rows(
    data: Rows, scores: Sequence[str], humans: Sequence[str]
) -> tuple[Rows, list[str]]:
    """The rows that no score was fitted on, and a note on how many are left out."""
    fitted_on = np.zeros(len(data), dtype=bool)
    columns = [training_column(score) for score in scores]
    if len(scores) == 1:
        # a mark without a name can mean no other score
        columns.append(SEEN)
    for column in columns:
        if column in data.frame:
            marks = data.frame[column].astype(str).str.lower()
            fitted_on |= marks.isin(("true", "1", "1.0")).to_numpy()
    if not fitted_on.any():
        return data, []
    rated = np.zeros(len(data), dtype=bool)
    for name in humans:
        if name in data.frame:
            rated |= ~np.isnan(data.numbers(name))
    if not rated.any():
        rated[:] = True
    if fitted_on[rated].all():
        every = "every row" if fitted_on.all() else "every rated row"
        raise InputError(
            f"{data.name}: a score was fitted on {every}; rate others, "
            "or use score --cross-fit"
        )
    count = int(fitted_on.sum())
    return data.take(~fitted_on), [
        f"{count:,} rows that a score was fitted on are left out"
    ]


def _wide(
    data: Rows, scores: Sequence[str], humans: Sequence[str], notes: list[str]
) -> Rows:
    """The rows with one of each output, where a row is one rating."""
    frame = data.frame
    keys = [name for name in (*IDS, "aspect", "output") if name in frame]
    if not {*keys} & {*IDS, "output"} or not frame.duplicated(keys).any():
        return data
    if not {*IDS} <= {*keys} and RATER not in frame:
        return data
    group = frame.groupby(keys, sort=False, dropna=False).ngroup().to_numpy()
    twice = len(frame) - len({*group})
    if RATER not in frame or list(humans) != [RATING]:
        notes.append(
            f"{counted_noun(twice, 'row has', 'rows have')} the {', '.join(keys)} of "
            "an earlier one; where a row is one rating, --map rater=COLUMN says whose"
        )
        return data
    for name in scores:
        if (frame[name].groupby(group).nunique() > 1).any():
            raise InputError(
                f"{data.name}: rows of one output have several scores in "
                f"{data.theirs.get(name, name)!r}; a row a rating needs one for each "
                "(--without the rater's column takes each row as an output)"
            )
    table = _by_rater(data, group, notes)
    first = pd.Series(range(len(frame))).groupby(group, sort=True).first()
    columns = {RATING: table.mean(axis=1).to_numpy()}
    for number, rater in enumerate(table, start=1):
        columns[f"rater_{number}"] = table[rater].to_numpy()
    notes.append(
        f"a row is one rating, by {data.theirs[RATER]}: {len(frame):,} rows are "
        f"{len(table):,} outputs of {len(table.columns)} raters"
    )
    # a row is one rater's: what else is called after raters is about that one
    is_fact = frame.columns.astype(str).str.startswith("rater_")
    data = dataclasses.replace(data, checked=frame.loc[:, ~is_fact])
    return _with(data.take(first.to_numpy()), columns)


def _by_rater(data: Rows, group: np.ndarray, notes: list[str]) -> pd.DataFrame:
    """The ratings of each output, a row, by each rater, a column."""
    frame = data.frame
    ratings = pd.Series(frame[RATING].to_numpy(dtype=float))
    raters = frame[RATER].to_numpy(dtype=object)
    nameless = frame[RATER].isna().to_numpy() & ratings.notna().to_numpy()
    if nameless.any():
        place = data.place(data.given.index[np.argmax(nameless)], RATER)
        raise InputError(f"{place} is missing, and a rating is there: who rated?")
    several = int(pd.DataFrame({"output": group, "rater": raters}).duplicated().sum())
    if several:
        notes.append(
            f"{counted_noun(several, 'rating is', 'ratings are')} by one rater of one "
            "output again, and their mean is taken; where they are of several aspects, "
            "--map aspect=COLUMN says which"
        )
    by_rater = ratings.groupby([group, raters], sort=False).mean()
    names = list(dict.fromkeys(frame[RATER].dropna()))
    # an output that nobody rated stays, without a rating
    return by_rater.unstack()[names].reindex(range(group.max() + 1))


def _on_scale(
    data: Rows, name: str, scale: Scale | None, option: str, notes: list[str]
) -> Rows:
    """The rows without a value where one is off its scale."""
    values = data.numbers(name)
    column = data.theirs.get(name, name).removeprefix(OTHER)
    if scale is None:
        marks = suspects(values)
        if marks:
            notes.append(
                f"{column}: {marks}; do they stand for none (--missing-values), or "
                f"are they off the scale ({option} LOW-HIGH)?"
            )
        return data
    off = off_scale(values, scale, f"{data.name}, column {column!r}", option)
    if not off.any():
        return data
    notes.append(
        f"{column}: {int(off.sum())} of {int((~np.isnan(values)).sum())} are off "
        f"{scale[0]:g} to {scale[1]:g} and count as missing (out_of_range)"
    )
    return _with(data, {name: np.where(off, np.nan, values)})


def off_scale(
    values: np.ndarray, scale: Scale, place: str, option: str = "--scale"
) -> np.ndarray:
    """Which values are off a scale; InputError where most are: it is another scale."""
    off = (values < scale[0]) | (values > scale[1])
    present = int((~np.isnan(values)).sum())
    if 2 * off.sum() > present:
        raise InputError(
            f"{place}: {int(off.sum())} of {present} values are off {option} "
            f"{scale[0]:g}-{scale[1]:g}; they go from {np.nanmin(values):g} to "
            f"{np.nanmax(values):g}"
        )
    return off


def suspects(values: np.ndarray) -> str:
    """Values far from all others, which may be marks of a missing one or of another
    scale, in words; "" where there are none.

    Far is twice as far from the others as these are from each other; or one or two
    whole numbers below 0 where three of four are not; or between 0 and 1 where three of
    four are above 10 and none is between; or 2 and more where three of four are shares
    of 1; or a usual mark, 9 or 99, that leaves out two numbers and more.
    """
    present = values[~np.isnan(values)]
    if len(present) < 10:
        return ""
    low, high = np.quantile(present, [0.25, 0.75], method="nearest")
    far = _far_above(present, high) | _far_above(-present, -low)
    below = present[present < 0]
    if low >= 0 and len(set(below)) < 3 and not (below % 1).any():
        far |= present < 0
    if low > 10 and not ((present > 1) & (present < 5)).any():
        far |= (present >= 0) & (present <= 1)
    shares = (present > 0) & (present < 1)
    if low >= 0 and high <= 1 and shares.any():
        far |= present >= 2
    if set(_MARKS) & {*present} and not (present % 1).any():
        inner = present[~np.isin(present, _MARKS)]
        if len(inner) and high <= inner.max():
            far |= np.isin(present, _MARKS) & (present > inner.max() + 2)
    if not far.any() or far.mean() > 0.25:
        return ""
    marks = ", ".join(f"{mark:g}" for mark in np.unique(present[far])[:5])
    others = present[~far]
    verb = "is" if far.sum() == 1 else "are"
    return (
        f"{int(far.sum())} of {len(present)} values {verb} {marks}, the others go from "
        f"{others.min():g} to {others.max():g}"
    )


def _far_above(values: np.ndarray, most: float) -> np.ndarray:
    """Which values are above all others by more than twice what these are apart."""
    steps = np.unique(values)
    for lower, upper in itertools.pairwise(steps):
        spread = lower - steps[0]
        if lower >= most and spread > 0 and upper - lower > 2 * spread + 1:
            return values > lower
    return np.zeros(len(values), dtype=bool)


def seen_scale(scale: Scale | None, frame: pd.DataFrame) -> Scale | None:
    """The scale of ratings that nobody states: that of the scores, where ratings reach
    both its ends; else None.
    """
    names = [name for name in frame if name == RATING or str(name).startswith("rater_")]
    if scale is None or not names:
        return None
    ratings = frame[names].map(lambda cell: np.nan if is_missing(cell) else cell)
    ratings = ratings.apply(pd.to_numeric, errors="coerce")
    reached = float(np.nanmin(ratings)), float(np.nanmax(ratings))
    return scale if reached == tuple(scale) else None
