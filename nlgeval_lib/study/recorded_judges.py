"""Somebody's recorded judges: their scores beside the items, or their texts in a store
to be replayed.

recorded_judges.fill(store, "prometheus_gpt4")
judge = Prometheus(sampling=recorded_judges.of("prometheus_gpt4").sampling)
scores = judge.score(datasets.load("mt_bench"), engine=ReplayEngine(store, "gpt-4-0613"))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import parsers
from nlgeval_lib.datasets import numbers, recordings
from nlgeval_lib.datasets.numbers import HashedText, collected
from nlgeval_lib.engines import ReplayEngine, Request, Sampling
from nlgeval_lib.engines.base import draw_keys
from nlgeval_lib.engines.store import Store
from nlgeval_lib.names import meant
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.records import Completion, Status

REVISION = "recorded"
OUTPUT = ["input_id", "system_id"]
# What one request is about.
_ASKED = [
    "dataset",
    "input_id",
    "system_id",
    "aspect",
    "judge",
    "prompt_form",
]
_ANSWER = "Your evaluation output:"  # the last words of TIGERScore's prompt


@dataclass(frozen=True)
class Asked:
    """How a recording's judge was asked: the settings, and whether the prompt was a
    user's message.
    """

    sampling: Sampling
    chat: bool


_GREEDY = Asked(Sampling(temperature=0.0, max_tokens=1024, seed=None), chat=False)
# the recordings whose prompts are known; what their publishers do not tell is named
# beside them
ASKED: Mapping[str, Asked] = MappingProxyType(
    {
        # the token limit is that of the publisher's SummEval script
        "acloserlook": Asked(
            Sampling(temperature=1.0, max_tokens=128, n=20, seed=None), chat=True
        ),
        "tigerscore_outputs": _GREEDY,  # sampling not told
        "prometheus_gpt4": Asked(
            Sampling(temperature=1.0, top_p=0.9, max_tokens=256, n=3, seed=None),
            chat=True,
        ),
        "instructscore_wmt22": _GREEDY,  # sampling and token limit not told
        "instructscore_webnlg": _GREEDY,  # the same
    }
)


# -- scores


def readings(
    texts: Sequence[str] | pd.Series, read: Callable[..., Any], *settings: Any
) -> list[Any]:
    """What a parser reads in each text, equal texts once; of a text that is not here,
    what `data/numbers` has of it: value, status and rule.

    read: a function of `parsers`; settings: its further arguments.
    Raises: TextNotHere where this parser's readings are not saved.
    """
    module = read.__module__.split(".")[-1]
    rule = "|".join(map(str, (module, read.__name__, *settings)))
    listed = list(texts)
    distinct = list(dict.fromkeys(listed))
    hashed = [text for text in distinct if isinstance(text, HashedText)]
    read_of = _saved_readings(rule, hashed)
    for text in distinct:
        if text not in read_of:
            read_of[text] = read(text, *settings)
    if collected.wanted():
        saved: dict[tuple[bytes, ...], tuple[float, str]] = {}
        for text in distinct:
            saved[(numbers.digest_of(text),)] = _as_saved(read_of[text])
        collected.add(rule, saved)
    return [read_of[text] for text in listed]


def _as_saved(reading: Any) -> tuple[float, str]:
    value = math.nan
    if isinstance(reading.value, int | float):
        value = float(reading.value)
    return value, f"{reading.status.value}|{reading.rule}"


def _saved_readings(rule: str, texts: Sequence[HashedText]) -> dict[Any, Any]:
    read_of: dict[Any, Any] = {}
    if not texts:
        return read_of
    items = [(text,) for text in texts]
    saved = numbers.saved_scores(rule, items)
    if unsaved := [item for item in items if item not in saved]:
        raise numbers.lacking(rule, unsaved)
    for (text,), (value, outcome) in saved.items():
        status, _, matched = outcome.partition("|")
        reason = "" if status == Status.OK.value else "as it was read from the text"
        read_of[text] = Parsed(value, Status(status), reason, matched)
    return read_of


def read_ratings(
    recorded: pd.DataFrame, scale: Mapping[str, tuple[float, float]]
) -> pd.DataFrame:
    """A recording of texts with `value` and `status`: what our rating parser reads in
    them, NaN where it reads nothing.

    scale: {aspect: (low, high)}. Equal texts of one aspect are parsed once.
    Raises: ValueError for an aspect without a scale.
    """
    unknown = sorted(set(recorded["aspect"]) - set(scale))
    if unknown:
        raise ValueError(
            f"no scale for the aspect {', '.join(unknown)}; "
            f"scales of {', '.join(scale)}"
        )
    ratings = np.empty(len(recorded), dtype=object)
    for aspect, places in recorded.groupby("aspect", sort=False).indices.items():
        texts = recorded["text"].iloc[places]
        ratings[places] = readings(texts, parsers.rating, *scale[str(aspect)])
    return recorded.assign(
        value=[rating.value for rating in ratings],
        status=[rating.status.value for rating in ratings],
    )


def scores(
    items: pd.DataFrame,
    name: str | pd.DataFrame,
    scale: Mapping[str, tuple[float, float]] | None = None,
    by: str = "judge",
    draws: int | None = None,
    **options: Any,
) -> dict[str, dict[str, np.ndarray]]:
    """The scores that recorded judges gave the outputs: {judge: {aspect: a value an
    item}}, NaN where there is none.

    items: a row an output; name: a recording, e.g. "alttest_summeval", or its frame
    (see `read_ratings`); options: those of its loader. scale: as `read_ratings`, for a
    recording of texts: the mean of what is read in the first `draws` (None: all). by:
    "judge", or "prompt_form" for a recording of one judge's prompts.
    Raises: ValueError where the recording holds texts only, or several values for one
    judge, output and aspect.
    """
    recorded = recordings.load(name, **options) if isinstance(name, str) else name
    keys = [by, "aspect", *OUTPUT]
    if scale is not None:
        about_items = recorded["input_id"].isin(items["input_id"])
        first_draws = recorded["draw"] < (draws or math.inf)
        ratings = read_ratings(recorded[about_items & first_draws], scale)
        recorded = ratings.groupby(keys, sort=False)["value"].mean().reset_index()
    if "value" not in recorded or recorded["value"].isna().all():
        raise ValueError("the recording holds texts, not values; parse them first")
    if double := int(recorded.duplicated(keys).sum()):
        raise ValueError(
            f"{double} values beyond the first for one judge, aspect and output; "
            "choose a prompt form and reduce the draws"
        )
    wide = recorded.pivot(index=OUTPUT, columns=[by, "aspect"], values="value")
    wide = wide.reindex(pd.MultiIndex.from_frame(items[OUTPUT]))
    by_judge: dict[str, dict[str, np.ndarray]] = {}
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
    prompt, as `scores` places them.

    judge, prompt_form: needed where the recording has several. read: the parser of a
    recording of texts.
    Raises: ValueError where there is more than one judge, prompt or aspect; what
    `scores` raises.
    """
    recorded = recordings.load(name, **options)
    for column, choice in (("judge", judge), ("prompt_form", prompt_form)):
        if choice:
            recorded = recorded[recorded[column] == choice]
    recorded = recorded[recorded["input_id"].isin(items["input_id"])]
    if read:
        parsed = [reading.value for reading in readings(recorded["text"], read)]
        recorded = recorded.assign(value=parsed)
    [by_aspect] = scores(items, recorded).values()
    [values] = by_aspect.values()
    return values


# -- in a store


@dataclass
class StoredCounts:
    """What `fill` did: requests and completions of the recording, how many were new,
    and whose they are.

    repeated: completions whose prompt the recording has before; differing: those among
    them with another text, which are not stored, as a store has one text for a prompt
    and draw.
    """

    requests: int = 0
    completions: int = 0
    new: int = 0
    repeated: int = 0
    differing: int = 0
    judges: tuple[str, ...] = ()


def of(name: str) -> Asked:
    """How a recording's judge was asked.

    Raises: ValueError naming the recordings whose prompts are known.
    """
    if name in ASKED:
        return ASKED[name]
    place = ""
    if name in recordings.NAMES:
        place = ": its scores or texts are in datasets.recordings.load"
    hint = meant(name, tuple(ASKED), ".")
    raise ValueError(
        f"no recording {name!r} with known prompts{place}{hint} "
        f"There are {', '.join(ASKED)}"
    )


def fill(store: Store, name: str, **options: Any) -> StoredCounts:
    """Put a recording's texts into a store; what is stored already stays. `options`:
    those of `recordings.load`.

    Raises: ValueError for an unknown name; DataUnavailable; StoreError.
    """
    sampling = of(name).sampling
    counts = StoredCounts()
    engines: dict[str, ReplayEngine] = {}
    text_of: dict[str, str] = {}
    batch: list[Completion] = []
    bodies: list[dict[str, Any]] = []
    for judge, request, texts in rows(name, **options):
        if judge not in engines:
            engines[judge] = ReplayEngine(store, judge, REVISION)
        body = request.body(engines[judge], sampling)
        bodies.append(body)
        counts.requests += 1
        counts.completions += len(texts)
        for key, text in zip(draw_keys(body, range(len(texts))), texts, strict=True):
            if key in text_of:
                counts.differing += text_of[key] != text
                continue
            text_of[key] = text
            # InstructScore's texts are empty where the prompt filled the window.
            finish = "stop" if text else "length"
            batch.append(Completion(key, text, finish, model=judge, revision=REVISION))
        if len(batch) > 2000:
            counts.new += store.put_many(batch, bodies)
            batch = []
            bodies = []
    counts.new += store.put_many(batch, bodies)
    store.sync()
    counts.repeated = counts.completions - len(text_of)
    counts.judges = tuple(engines)
    return counts


def rows(name: str, **options: Any) -> Iterator[tuple[str, Request, list[str]]]:
    """Judge, request and the texts of its draws, for everything that was asked with
    a prompt that is known.
    """
    chat = of(name).chat
    frame = _with_prompts(name, options).sort_values("draw", kind="stable")
    for key, draws in frame.groupby(_ASKED, sort=False):
        _, *output, judge, form = key
        label = "/".join((*output, form))
        prompt = draws["prompt"].iat[0]
        if chat:
            request = Request.chat(prompt, id=label)
        else:
            request = Request(prompt=prompt, id=label)
        yield judge, request, draws["text"].tolist()


def _with_prompts(name: str, options: Mapping[str, Any]) -> pd.DataFrame:
    """A recording with the `prompt` that was sent, and as `text` what the judge
    wrote after it.
    """
    frame = recordings.load(name, **options)
    if name == "tigerscore_outputs":
        # Some texts begin with their prompt; that of the others is not known.
        frame = frame[frame["prompt_form"] != "output"]
        parts = frame["text"].str.partition(_ANSWER)
        return frame.assign(prompt=parts[0] + parts[1], text=parts[2])
    if name == "prometheus_gpt4":
        # Feedback and score were published apart.
        texts = []
        for text, value in zip(frame["text"], frame["value"], strict=True):
            if "[RESULT]" not in text:
                text = f"{text} [RESULT] {value:g}"
            texts.append(text)
        frame = frame.assign(text=texts)
    sent = recordings.prompts(name, **options)[[*_ASKED[1:], "prompt"]]
    return frame.merge(sent, how="left", on=_ASKED[1:], validate="many_to_one")
