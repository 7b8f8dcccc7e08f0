"""Somebody's recorded judges: their scores beside the items."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from judgecard import recordings
from nlgeval_lib import parsers
from nlgeval_lib.datasets import numbers
from nlgeval_lib.datasets.numbers import HashedText, collected
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.records import Status

# The columns that name an output.
OUTPUT = ["input_id", "system_id"]
# {aspect: a value an item}
ByAspect = dict[str, np.ndarray]
Scale = Mapping[str, tuple[float, float]]  # of an aspect: low and high


def readings(
    texts: Sequence[str] | pd.Series,
    read: Callable[..., Any],
    *settings: Any,
) -> list[Any]:
    """What a parser reads in each text, in their order; of a `HashedText`, a text that
    is not here, what `data/numbers` has of it: value, status and rule.

    read: a function of `parsers`. settings: its further arguments.
    Raises: TextNotHere where this parser's readings are not saved.
    """
    module = read.__module__.split(".")[-1]
    # Saved readings are found by the parser's name and settings.
    rule = "|".join(map(str, [module, read.__name__, *settings]))
    distinct = dict.fromkeys(texts)
    hashed = [text for text in distinct if isinstance(text, HashedText)]
    reading_of = _saved_readings(rule, hashed)
    for text in distinct:
        if text not in reading_of:
            reading_of[text] = read(text, *settings)
    if collected.wanted():
        saved: dict[tuple[bytes, ...], tuple[float, str]] = {}
        for text in distinct:
            saved[numbers.digest_of(text),] = _as_saved(reading_of[text])
        collected.add(rule, saved)
    return [reading_of[text] for text in texts]


def _as_saved(reading: Any) -> tuple[float, str]:
    """A reading's value, and its status and rule as one text."""
    value = math.nan
    if isinstance(reading.value, int | float):
        value = float(reading.value)
    return value, f"{reading.status.value}|{reading.rule}"


def _saved_readings(rule: str, texts: Sequence[HashedText]) -> dict[Any, Any]:
    """The saved readings of texts that are not here, by text. Raises: TextNotHere."""
    reading_of: dict[Any, Any] = {}
    if not texts:
        return reading_of
    items = [(text,) for text in texts]
    saved = numbers.saved_scores(rule, items)
    unsaved = [item for item in items if item not in saved]
    if unsaved:
        raise numbers.text_not_here(rule, unsaved)
    for (text,), (value, outcome) in saved.items():
        status, _, matched = outcome.partition("|")
        reason = ""
        if status != Status.OK.value:
            reason = "as it was read from the text"
        reading_of[text] = Parsed(value, Status(status), reason, matched)
    return reading_of


def read_ratings(recorded: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """A recording of texts with `value` and `status`: what our rating parser reads in
    them, NaN where it reads nothing.

    recorded: a row a text, with `aspect` and `text`.
    scale: {aspect: (low, high)}, the ends of the scale that the judge was asked for.
    Raises: ValueError for an aspect without a scale.
    """
    unknown = sorted(set(recorded["aspect"]) - set(scale))
    if unknown:
        raise ValueError(
            f"no scale for the aspect {', '.join(unknown)}; "
            f"scales of {', '.join(scale)}"
        )
    ratings = np.empty(len(recorded), dtype=object)
    by_aspect = recorded.groupby("aspect", sort=False)
    for aspect, places in by_aspect.indices.items():
        texts = recorded["text"].iloc[places]
        low, high = scale[str(aspect)]
        ratings[places] = readings(texts, parsers.rating, low, high)
    values = []
    statuses = []
    for rating in ratings:
        values.append(rating.value)
        statuses.append(rating.status.value)
    return recorded.assign(value=values, status=statuses)


def scores(
    items: pd.DataFrame,
    name: str | pd.DataFrame,
    scale: Scale | None = None,
    by: str = "judge",
    draws: int | None = None,
    **options: Any,
) -> dict[str, ByAspect]:
    """The scores that recorded judges gave the outputs: {judge: {aspect: a value an
    item}}, NaN where there is none.

    items: a row an output, with `input_id` and `system_id`.
    name: a recording, e.g. "alttest_summeval", or its frame (see `read_ratings`).
    scale: as `read_ratings` takes it, for a recording of texts; a score is then the
    mean of what is read in the draws.
    by: "judge", or "prompt_form" for a recording of one judge's prompts.
    draws: the first so many of a text are read; None: all.
    options: those of the recording's loader.
    Raises: ValueError where the recording holds texts only, or several values for one
    judge, output and aspect.
    """
    recorded = name
    if isinstance(recorded, str):
        recorded = recordings.load(recorded, **options)
    keys = [by, "aspect", *OUTPUT]
    if scale is not None:
        # Texts are parsed for these items alone.
        about_items = recorded["input_id"].isin(items["input_id"])
        first_draws = recorded["draw"] < (draws or math.inf)
        ratings = read_ratings(recorded[about_items & first_draws], scale)
        recorded = ratings.groupby(keys, sort=False)["value"].mean().reset_index()
    if "value" not in recorded or recorded["value"].isna().all():
        raise ValueError("the recording holds texts, not values; parse them first")
    repeated = int(recorded.duplicated(keys).sum())
    if repeated:
        raise ValueError(
            f"{repeated} values beyond the first for one judge, aspect and output; "
            "choose a prompt form and reduce the draws"
        )
    # in the order of the items
    wide = recorded.pivot(index=OUTPUT, columns=[by, "aspect"], values="value")
    wide = wide.reindex(pd.MultiIndex.from_frame(items[OUTPUT]))
    by_judge: dict[str, ByAspect] = {}
    pairs = recorded[[by, "aspect"]].drop_duplicates()
    for judge, aspect in pairs.itertuples(index=False, name=None):
        by_aspect = by_judge.setdefault(str(judge), {})
        by_aspect[str(aspect)] = wide[judge, aspect].to_numpy(dtype=float)
    return by_judge


def of_one(
    items: pd.DataFrame,
    name: str,
    judge: str | None = None,
    prompt_form: str | None = None,
    read: Callable[[str], Any] | None = None,
    **options: Any,
) -> np.ndarray:
    """The scores that one recorded judge gave the outputs for one aspect under one
    prompt: (items,), NaN where there is none.

    items: a row an output, with `input_id` and `system_id`.
    read: the parser of a recording of texts; None: the recording has values.
    options: those of the recording's loader.
    Raises: ValueError where there is more than one judge, prompt or aspect; what
    `scores` raises.
    """
    recorded = recordings.load(name, **options)
    if judge:
        recorded = recorded[recorded["judge"] == judge]
    if prompt_form:
        recorded = recorded[recorded["prompt_form"] == prompt_form]
    recorded = recorded[recorded["input_id"].isin(items["input_id"])]
    if read:
        values = []
        for reading in readings(recorded["text"], read):
            values.append(reading.value)
        recorded = recorded.assign(value=values)
    [by_aspect] = scores(items, recorded).values()
    [only_scores] = by_aspect.values()
    return only_scores
