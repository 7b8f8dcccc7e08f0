"""What a card is about: a judge's scores beside the human ratings of one set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judgecard import recorded_judges, recordings
from judgecard.rated_rows import off_scale
from nlgeval_lib import datasets, parsers
from nlgeval_lib.datasets import mini_judge
from nlgeval_lib.datasets.registry import unknown
from nlgeval_lib.scoring.cells import InputError
from nlgeval_lib.scoring.rows import Rows

KEYS = ["input_id", "system_id", "aspect"]
MINIATURE = "mini_judge"  # in the place of a recording: the miniature judge
DEMO = ("summeval", "alttest_summeval", "gpt-4o")
Scale = tuple[float, float]


@dataclass(frozen=True)
class Judged:
    """A judge's scores of a set: a row an output and aspect.

    name: of the set, as it stands in paths and file names.
    title: of the set, as it stands in texts.
    frame: `input_id, system_id, aspect, human`, `rater_...`, texts where they are here,
        and of the judge `value, status, reason`, perhaps `details`.
    scale: lowest and highest score of the judge, one pair for all aspects, or aspect ->
        its own; None where it is not known.
    rated_on: aspect -> lowest and highest rating.
    flat: inputs and systems are not known.
    other_judges: name -> the scores of another judge in the frame's rows.
    sample: how the rows were chosen, in words.
    facts: who answered, and what it took.
    """

    name: str
    title: str
    frame: pd.DataFrame
    scale: Scale | Mapping[str, Scale] | None = None
    rated_on: Mapping[str, Scale] = field(default_factory=dict)
    flat: bool = False
    other_judges: Mapping[str, np.ndarray] = field(default_factory=dict)
    sample: str = "all rows"
    facts: Mapping[str, Any] = field(default_factory=dict)

    def scale_of(self, aspect: str) -> Scale | None:
        """The judge's scale of an aspect; None where it is not known or has no end."""
        scale = self.scale
        if isinstance(scale, Mapping):
            scale = scale.get(aspect)
        if scale is None or not np.isfinite(scale).all():
            return None
        return float(scale[0]), float(scale[1])

    def rows(self) -> pd.DataFrame:
        """A row a judgment: the frame itself."""
        return self.frame


def rated(data: str | pd.DataFrame, name: str = "") -> Judged:
    """A set with its ratings, not judged yet: a data set by name, or a frame.

    name: of a frame; "": that of its `attrs`, or "own".
    Raises: InputError for rows without ratings; UnknownName, DataUnavailable.
    """
    if isinstance(data, str):
        about = datasets.spec(data)
        frame = _complete(datasets.load(data), data)
        return Judged(data, about.title, frame, rated_on=about.scale)
    name = name or str(data.attrs.get("name", "own"))
    return Judged(
        name=name,
        title=name,
        frame=_complete(data, name),
        rated_on=dict(data.attrs.get("scale", {})),
        flat="input_id" not in data and "system_id" not in data,
    )


def with_human_scale(judged: Judged, scale: Scale | None) -> Judged:
    """The set with one scale of the ratings of all aspects; as it is for None."""
    if scale is None:
        return judged
    aspects = judged.frame["aspect"].unique()
    return replace(judged, rated_on=dict.fromkeys(aspects, scale))


def of_rows(rows: Rows) -> Judged:
    """Somebody's own rows, as `rated`; their name is that of the file.

    Raises: InputError for rows without ratings.
    """
    frame = rows.frame.reset_index(drop=True)
    return rated(frame, name_of(rows))


def name_of(rows: Rows) -> str:
    """What the set of somebody's own rows is called: as the file, without signs."""
    return re.sub(r"\W+", "_", Path(rows.name).stem) or "own"


def _complete(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """The frame with all keys and the ratings' mean; a copy."""
    frame = frame.reset_index(drop=True).copy()
    if "human" not in frame:
        raters = [column for column in frame if str(column).startswith("rater_")]
        if not raters:
            raise InputError(
                f"{name} has no ratings: name their column with --map human=COLUMN, "
                "or those of single raters with --map rater_1=COLUMN"
            )
        frame["human"] = frame[raters].mean(axis=1)
    frame["human"] = frame["human"].astype(float)
    if frame["human"].notna().sum() < 3:
        raise InputError(f"{name}: fewer than 3 rows have a rating")
    if "aspect" not in frame:
        frame["aspect"] = "overall"
    if "system_id" not in frame:
        frame["system_id"] = "all"
    if "input_id" not in frame:
        frame["input_id"] = [str(number) for number in range(len(frame))]
    # an output that is there twice is an input of its own
    frame["input_id"] = _numbered_inputs(frame, KEYS)
    return frame


def _numbered_inputs(frame: pd.DataFrame, keys: list[str]) -> pd.Series:
    """The inputs' names, a row each; those of further rows with the same keys end in
    a number.
    """
    if not frame.duplicated(keys).any():
        return frame["input_id"]
    number = frame.groupby(keys, sort=False).cumcount() + 1
    ending = "#" + number.astype(str)
    names = frame["input_id"].astype(str)
    return names + np.where(number > 1, ending, "")


def of_aspect(judged: Judged, aspect: str) -> Judged:
    """The set's rows of one aspect.

    Raises: UnknownName with the nearest of the set's aspects.
    """
    frame = judged.frame
    is_asked = frame["aspect"] == aspect
    if not is_asked.any():
        known = list(frame["aspect"].astype(str).unique())
        raise unknown(aspect, known, f"aspect of {judged.name}")
    rows = frame[is_asked].reset_index(drop=True)
    rows.attrs = frame.attrs
    return replace(judged, frame=rows)


def sampled(judged: Judged, items: int | None, seed: int = 0) -> Judged:
    """About so many outputs, the same for every judge: whole inputs, one of each
    stratum by mean rating.

    items: outputs that are wanted; None: all.
    Returns: the set itself where all inputs are taken; else a copy that says in
    `sample` how it was chosen.
    Raises: InputError for fewer than three inputs.
    """
    frame = judged.frame
    ratings = frame.groupby("input_id", sort=False)["human"].mean()
    outputs = len(frame) / frame["aspect"].nunique()
    outputs_an_input = outputs / len(ratings)
    if items is None or round(items / outputs_an_input) >= len(ratings):
        return judged
    number = round(items / outputs_an_input)
    if number < 3:
        least = int(np.ceil(3 * outputs / len(ratings)))
        raise InputError(
            f"--items {items}: {judged.name} has {outputs_an_input:.3g} outputs "
            f"an input, and whole inputs are taken; at least {least} are needed"
        )
    ordered = ratings.sort_values(kind="stable").index
    rng = np.random.default_rng(seed)
    strata = np.array_split(ordered, number)
    chosen = [rng.choice(stratum) for stratum in strata]
    is_chosen = frame["input_id"].isin(chosen)
    rows = frame[is_chosen].reset_index(drop=True)
    rows.attrs = frame.attrs
    sample = (
        f"{number} of {len(ratings)} inputs, whole, one of each of {number} strata "
        f"by mean rating, seed {seed}"
    )
    return replace(judged, frame=rows, sample=sample)


def scored(
    judged: Judged,
    scores: pd.DataFrame,
    column: str = "value",
    scale: Scale | None = None,
) -> Judged:
    """The set with scores from elsewhere, joined by input, system and aspect.

    Raises: InputError for a column that is not there and for keys that do not fit.
    """
    keys = _keys_of_scores(judged, scores, column)
    values_by_key = scores[[*keys, column]].rename(columns={column: "value"})
    values_by_key = values_by_key.astype(dict.fromkeys(keys, str))
    values_by_key["input_id"] = _numbered_inputs(values_by_key, keys)
    rated_keys = judged.frame[keys].astype(str)
    # a join would give an output with two scores two rows
    further = values_by_key.loc[values_by_key["input_id"].str.contains(r"#\d+$"), keys]
    further_keys = pd.MultiIndex.from_frame(further)
    all_known = further_keys.isin(pd.MultiIndex.from_frame(rated_keys)).all()
    if values_by_key.duplicated(keys).any() or not all_known:
        raise InputError("the scores have several rows for one output and aspect")
    joined = rated_keys.merge(values_by_key, how="left", on=keys)
    if joined["value"].isna().all():
        example = " / ".join(rated_keys.iloc[0])
        raise InputError(f"no score has the keys of {judged.name}, such as {example}")
    values = joined["value"].astype(float).to_numpy()
    joined_set = with_values(judged, values)
    if scale is None:
        return joined_set
    off = off_scale(values, scale, f"the scores of {judged.name}")
    frame = joined_set.frame
    frame = frame.assign(
        value=np.where(off, np.nan, values),
        status=np.where(off, "out_of_range", frame["status"]),
        reason=np.where(off, f"off {scale[0]:g} to {scale[1]:g}", frame["reason"]),
    )
    return replace(judged, frame=frame)


def _keys_of_scores(judged: Judged, scores: pd.DataFrame, column: str) -> list[str]:
    """The keys by which scores are joined with a set."""
    if column not in scores:
        columns = ", ".join(map(str, scores.columns))
        raise InputError(
            f"the scores have no column {column!r}; their columns: {columns} "
            "(--score NAME)"
        )
    aspects = judged.frame["aspect"].unique()
    if "aspect" not in scores and len(aspects) > 1:
        raise InputError(
            f"the scores name no aspect, and {judged.name} has {', '.join(aspects)}; "
            "add a column aspect"
        )
    if "input_id" not in scores or "system_id" not in scores:
        raise InputError(
            "the scores need the columns input_id and system_id, as the data set has "
            "them (--map input_id=YOURS)"
        )
    return [key for key in KEYS if key in scores]


def with_values(judged: Judged, values: np.ndarray) -> Judged:
    """A copy of the set with a `value` a row, and `status` ("ok" or "unavailable") and
    `reason`.
    """
    missing = np.isnan(values)
    frame = judged.frame.assign(
        value=values,
        status=np.where(missing, "unavailable", "ok"),
        reason=np.where(missing, "no score is there", ""),
    )
    return replace(judged, frame=frame)


def recorded(dataset: str, recording: str, judge: str, form: str = "") -> Judged:
    """The scores that somebody's judge gave a set, the recording's others beside it.

    Texts are read by our parser, and draws averaged.

    Returns: the rows of the aspects and systems that the recording is about.
    Raises: InputError for a judge that it does not have, and where no key fits;
    UnknownName; DataUnavailable.
    """
    judged = rated(dataset)
    if recording == MINIATURE:
        table, _ = mini_judge.judgments()
        values = {judge: _aligned(table[table["form"] == form], judged)}
        source = "measured here, data/mini/judge"
    else:
        values = _recorded_values(judged, recording, form)
        source = recordings.spec(recording).source
    if judge not in values:
        raise InputError(
            f"{recording} has no judge {judge!r}; it has {', '.join(values)}"
        )
    facts = {
        "model": judge,
        "prompt form": form,
        "engine": "recorded",
        "source": source,
    }
    frame = with_values(judged, values.pop(judge)).frame
    # aspects and systems that the recording is not about are left out
    scores = frame.groupby(["aspect", "system_id"])["value"]
    recorded_rows = scores.transform("count").to_numpy() > 0
    if not recorded_rows.any():
        raise InputError(f"no score of {recording} has the keys of {dataset}")
    other_judges = {}
    for name, others_values in values.items():
        other_judges[name] = others_values[recorded_rows]
    return replace(
        judged,
        frame=frame[recorded_rows].reset_index(drop=True),
        other_judges=other_judges,
        facts=facts,
        scale=judged.rated_on,
    )


def known_judges(judged: Judged) -> dict[str, np.ndarray]:
    """The recorded judges of a data set whose scores are published and here: name -> a
    score a row of the set.
    """
    values: dict[str, np.ndarray] = {}
    for name in recordings.NAMES:
        about = recordings.spec(name)
        if about.dataset != judged.name or about.kept != "value":
            continue
        try:
            values |= _recorded_values(judged, name)
        except datasets.DataError:
            continue  # it is not on this machine
    return values


def _recorded_values(
    judged: Judged, recording: str, form: str = ""
) -> dict[str, np.ndarray]:
    """Judge (and prompt form, where there are several) -> a score a row of the set."""
    table = _recorded_scores(judged, recording, form)
    several_forms = table["prompt_form"].nunique() > 1
    values = {}
    by_judge = table.groupby(["judge", "prompt_form"], sort=False)
    for (judge, prompt), rows in by_judge:
        name = str(judge)
        if several_forms:
            name = f"{judge} {prompt}"
        values[name] = _aligned(rows, judged)
    return values


def _recorded_scores(judged: Judged, recording: str, form: str) -> pd.DataFrame:
    """The rows of a recording with a column `value`; texts are read by our parsers."""
    has_analyses = recording.startswith("instructscore_")
    has_ratings_as_text = recordings.spec(recording).kept == "text" and not has_analyses
    # of a recording of texts only the form that is needed is loaded
    options = {}
    if form and has_ratings_as_text:
        options["prompt_forms"] = (form,)
    table = recordings.load(recording, **options)
    if form:
        table = table[table["prompt_form"] == form]
    if has_analyses:
        analyses = recorded_judges.readings(table["text"], parsers.instructscore)
        values = [analysis.value for analysis in analyses]
        return table.assign(value=values)
    if "value" not in table:
        return recorded_judges.read_ratings(table, judged.rated_on)
    return table


def _aligned(scores: pd.DataFrame, judged: Judged) -> np.ndarray:
    """The scores in the order of a set's rows."""
    scores = scores.astype(dict.fromkeys(KEYS, str))
    means = scores.groupby(KEYS)["value"].mean()
    rated_keys = judged.frame[KEYS].astype(str)
    means = means.reindex(pd.MultiIndex.from_frame(rated_keys))
    return means.to_numpy(dtype=float)
