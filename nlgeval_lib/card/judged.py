"""What a card is about: a judge's scores beside the human ratings of one set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets, parsers
from nlgeval_lib.datasets import recordings
from nlgeval_lib.scoring.cells import InputError
from nlgeval_lib.scoring.rows import Parts
from nlgeval_lib.study import recorded_judges
from nlgeval_lib.training import mini

KEYS = ["input_id", "system_id", "aspect"]
MINIATURE = "mini_judge"  # in the place of a recording: the miniature judge
DEMO = ("summeval", "alttest_summeval", "gpt-4o")
_RATER = re.compile(r"rater_(?P<kind>.*?)_?\d*")
Scale = tuple[float, float]


@dataclass(frozen=True)
class Judged:
    """A judge's scores of a set: a row an output and aspect.

    frame: `input_id, system_id, aspect, human`, `rater_...`, texts where they are here,
    and of the judge `value, status, reason`, perhaps `details`. scale: of the judge, one
    or aspect -> its own; rated_on: aspect -> the ratings' own. flat: inputs and systems are not known.
    beside: the scores of other judges in the frame's rows. sample: how the rows were
    chosen, in words. facts: who answered, and what it took.
    """

    name: str
    title: str
    frame: pd.DataFrame
    scale: Scale | Mapping[str, Scale] | None = None
    rated_on: Mapping[str, Scale] = field(default_factory=dict)
    flat: bool = False
    beside: Mapping[str, np.ndarray] = field(default_factory=dict)
    sample: str = "all rows"
    facts: Mapping[str, Any] = field(default_factory=dict)

    def scale_of(self, aspect: str) -> Scale | None:
        """The judge's scale of an aspect; None where it is not known or has no end."""
        scale = self.scale
        if isinstance(scale, Mapping):
            scale = scale.get(aspect)
        if scale is None or not np.isfinite(scale).all():
            return None
        low, high = scale
        return float(low), float(high)


def rated(data: str | pd.DataFrame, name: str = "") -> Judged:
    """A set with its ratings, not judged yet: a data set by name, or a frame.

    A frame needs `output`; `human`, or `rater_...` columns whose mean is taken. Without
    `input_id` and `system_id` each row is an input of its own; without `aspect` there
    is one, "overall".
    Raises: InputError for rows without ratings; UnknownName, DataUnavailable.
    """
    if isinstance(data, str):
        frame = datasets.load(data)
        about = datasets.spec(data)
        return Judged(data, about.title, _complete(frame, data), rated_on=about.scale)
    name = name or str(data.attrs.get("name", "own"))
    flat = not {"input_id", "system_id"} & {*data.columns}
    scale = dict(data.attrs.get("scale", {}))
    return Judged(name, name, _complete(data, name), rated_on=scale, flat=flat)


def of_rows(rows: Parts) -> Judged:
    """Somebody's own rows, as `rated`; their name is that of the file."""
    whole = rows.whole()
    name = re.sub(r"\W+", "_", Path(rows.name).stem)
    return rated(whole.frame.reset_index(drop=True), name or "own")


def _complete(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """The frame with all keys and the ratings' mean. Raises: InputError."""
    frame = frame.reset_index(drop=True).copy()
    raters = [column for column in frame if str(column).startswith("rater_")]
    if "human" not in frame:
        if not raters:
            raise InputError(
                f"{name} has no ratings: name their column with --map human=COLUMN, "
                "or those of single raters with --map rater_1=COLUMN"
            )
        frame["human"] = frame[raters].mean(axis=1)
    frame["human"] = frame["human"].astype(float)
    if frame["human"].notna().sum() < 3:
        raise InputError(f"{name}: fewer than 3 rows have a rating")
    defaults: dict[str, Any] = {"aspect": "overall", "system_id": "all"}
    for column, value in defaults.items():
        if column not in frame:
            frame[column] = value
    if "input_id" not in frame:
        frame["input_id"] = [str(number) for number in range(len(frame))]
    if frame.duplicated(KEYS).any():
        frame["input_id"] = _told_apart(frame, KEYS)
    return frame


def _told_apart(frame: pd.DataFrame, keys: list[str]) -> pd.Series:
    """The inputs' names; that of a further row of one key ends in its number, "#2"."""
    turn = frame.groupby(keys, sort=False).cumcount()
    suffix = np.where(turn > 0, "#" + (turn + 1).astype(str), "")
    return frame["input_id"].astype(str) + suffix


def _fits(scores: pd.DataFrame, places: pd.DataFrame, keys: list[str]) -> bool:
    """Whether no output has more scores than the set has rows of it."""
    further = scores[scores["input_id"].str.contains(r"#\d+$")]
    names = pd.MultiIndex.from_frame(places)
    return bool(pd.MultiIndex.from_frame(further[keys]).isin(names).all())


def sampled(judged: Judged, items: int | None, seed: int = 0) -> Judged:
    """About so many outputs: whole inputs, one of each stratum by mean rating.

    The same for every judge, as only set, number and seed decide.
    Raises: InputError for fewer than three inputs.
    """
    frame = judged.frame
    by_input = frame.groupby("input_id", sort=False)["human"].mean()
    outputs = len(frame) / frame["aspect"].nunique()
    wanted = len(by_input)
    if items is not None:
        wanted = round(items / (outputs / len(by_input)))
    if wanted >= len(by_input):
        return judged
    if wanted < 3:
        least = int(np.ceil(3 * outputs / len(by_input)))
        raise InputError(
            f"--items {items}: {judged.name} has {outputs / len(by_input):.3g} outputs "
            f"an input, and whole inputs are taken; at least {least} are needed"
        )
    ordered = by_input.sort_values(kind="stable").index
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(part) for part in np.array_split(ordered, wanted)]
    rows = frame[frame["input_id"].isin(chosen)].reset_index(drop=True)
    rows.attrs = frame.attrs
    sample = (
        f"{wanted} of {len(by_input)} inputs, whole, one of each of {wanted} strata "
        f"by mean rating, seed {seed}"
    )
    return replace(judged, frame=rows, sample=sample)


def scored(judged: Judged, scores: pd.DataFrame, column: str = "value") -> Judged:
    """The set with scores from elsewhere, joined by input, system and aspect.

    Raises: InputError for a column that is not there and for keys that do not fit.
    """
    keys = [key for key in KEYS if key in scores]
    if column not in scores:
        raise InputError(
            f"the scores have no column {column!r}; their columns: "
            f"{', '.join(map(str, scores.columns))} (--score NAME)"
        )
    if "aspect" not in keys and judged.frame["aspect"].nunique() > 1:
        raise InputError(
            f"the scores name no aspect, and {judged.name} has "
            f"{', '.join(judged.frame['aspect'].unique())}; add a column aspect"
        )
    if not {"input_id", "system_id"} <= {*keys}:
        raise InputError(
            "the scores need the columns input_id and system_id, as the data set has "
            "them (--map input_id=YOURS)"
        )
    own = scores[[*keys, column]].rename(columns={column: "value"})
    own = own.astype(dict.fromkeys(keys, str))
    own["input_id"] = _told_apart(own, keys)
    frame = judged.frame.drop(columns=["value", "status", "reason"], errors="ignore")
    places = frame[keys].astype(str)
    if own.duplicated(keys).any() or not _fits(own, places, keys):
        raise InputError("the scores have several rows for one output and aspect")
    joined = places.merge(own, how="left", on=keys)
    if joined["value"].isna().all():
        raise InputError(
            f"no score has the keys of {judged.name}, such as "
            f"{' / '.join(map(str, places.iloc[0]))}"
        )
    values = joined["value"].astype(float).to_numpy()
    return with_values(judged, values)


def with_values(judged: Judged, values: np.ndarray, reason: str = "") -> Judged:
    """The set with a score a row; what is missing has a status."""
    missing = np.isnan(values)
    frame = judged.frame.assign(
        value=values,
        status=np.where(missing, "unavailable", "ok"),
        reason=np.where(missing, reason or "no score is there", ""),
    )
    return replace(judged, frame=frame)


def recorded(dataset: str, recording: str, judge: str, form: str = "") -> Judged:
    """The scores that somebody's judge gave a set, the recording's others beside it.

    form: of the prompt, where the recording has several; texts are read by our parser,
    and draws averaged.
    Raises: InputError; UnknownName; DataUnavailable.
    """
    judged = rated(dataset)
    if recording == MINIATURE:
        values = {judge: _miniature_values(judged, form)}
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
    with_own = with_values(judged, values.pop(judge))
    # what the recording is not about: aspects, and systems
    by_system = with_own.frame.groupby(["aspect", "system_id"])["value"]
    asked = by_system.transform("count").to_numpy() > 0
    frame = with_own.frame[asked].reset_index(drop=True)
    beside = {name: column[asked] for name, column in values.items()}
    return replace(
        with_own, frame=frame, beside=beside, facts=facts, scale=judged.rated_on
    )


def known_judges(judged: Judged) -> dict[str, np.ndarray]:
    """The recorded judges of a data set whose scores are published, row by row."""
    values: dict[str, np.ndarray] = {}
    for name in recordings.NAMES:
        about = recordings.spec(name)
        if about.dataset == judged.name and about.kept == "value":
            try:
                values |= _recorded_values(judged, name)
            except datasets.DataError:
                continue
    return values


def _recorded_values(
    judged: Judged, recording: str, form: str = ""
) -> dict[str, np.ndarray]:
    """Judge (and prompt form, where there are several) -> a score a row."""
    analyses_of_errors = recording.startswith("instructscore_")
    options = {}
    if form and recordings.spec(recording).kept == "text" and not analyses_of_errors:
        options["prompt_forms"] = (form,)
    table = recordings.load(recording, **options)
    if form:
        table = table[table["prompt_form"] == form]
    if analyses_of_errors:
        analyses = recorded_judges.readings(table["text"], parsers.instructscore)
        table = table.assign(value=[analysis.value for analysis in analyses])
    elif "value" not in table:
        table = recorded_judges.read_ratings(table, judged.rated_on)
    several = table["prompt_form"].nunique() > 1
    places = pd.MultiIndex.from_frame(judged.frame[KEYS].astype(str))
    values = {}
    for (judge, prompt), part in table.groupby(["judge", "prompt_form"], sort=False):
        by_key = part.astype(dict.fromkeys(KEYS, str)).groupby(KEYS)["value"].mean()
        name = f"{judge} {prompt}" if several else str(judge)
        values[name] = by_key.reindex(places).to_numpy(dtype=float)
    return values


def _miniature_values(judged: Judged, form: str) -> np.ndarray:
    """What the miniature judge said when it was measured, in one form."""
    table, _ = mini.read()
    by_key = table[table["form"] == form].astype(dict.fromkeys(KEYS, str))
    places = pd.MultiIndex.from_frame(judged.frame[KEYS].astype(str))
    means = by_key.groupby(KEYS)["value"].mean()
    return np.asarray(means.reindex(places), dtype=float)


def rater_kinds(frame: pd.DataFrame) -> dict[str, list[str]]:
    """Kind of rater -> the columns of its raters; kinds with one rater are left out."""
    kinds: dict[str, list[str]] = {}
    for column in map(str, frame.columns):
        match = _RATER.fullmatch(column)
        if match and frame[column].notna().any():
            kinds.setdefault(match["kind"] or "rater", []).append(column)
    return {kind: columns for kind, columns in kinds.items() if len(columns) > 1}
