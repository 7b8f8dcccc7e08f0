"""Somebody's recorded judges, their texts in a store to be replayed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pandas as pd

from judgecard import recordings
from nlgeval_lib.engines import ReplayEngine, Request, Sampling
from nlgeval_lib.engines.base import draw_keys
from nlgeval_lib.engines.store import Store
from nlgeval_lib.names import meant
from nlgeval_lib.records import Completion

# The revision under which recorded texts are stored.
REVISION = "recorded"
# What one request is about.
_ASKED = ["dataset", "input_id", "system_id", "aspect", "judge", "prompt_form"]


@dataclass(frozen=True)
class Asked:
    """How a recording's judge was asked: each prompt as a user's message.

    sampling: its settings, n being the draws of a prompt.
    """

    sampling: Sampling


# The recordings whose prompts are known.
ASKED: Mapping[str, Asked] = MappingProxyType(
    {
        # the token limit is that of the publisher's SummEval script
        "acloserlook": Asked(
            Sampling(temperature=1.0, max_tokens=128, n=20, seed=None)
        ),
        "prometheus_gpt4": Asked(
            Sampling(temperature=1.0, top_p=0.9, max_tokens=256, n=3, seed=None)
        ),
    }
)


@dataclass
class StoredCounts:
    """What `fill` did.

    requests, completions: those of the recording.
    new: completions that were not stored yet.
    repeated: completions whose prompt the recording has before; a store has one text
    for a prompt and draw, the first.
    """

    requests: int = 0
    completions: int = 0
    new: int = 0
    repeated: int = 0


def find_asked(name: str) -> Asked:
    """How a recording's judge was asked.

    Raises: ValueError naming the recordings whose prompts are known.
    """
    if name not in ASKED:
        hint = meant(name, tuple(ASKED), ".")
        raise ValueError(
            f"no recording {name!r} with known prompts{hint} "
            f"There are {', '.join(ASKED)}"
        )
    return ASKED[name]


def fill(store: Store, name: str, **options: Any) -> StoredCounts:
    """Put a recording's texts into a store; what is stored already stays.

    name: a recording of `ASKED`.
    options: those of `recordings.load`.
    Raises: ValueError for an unknown name; DataUnavailable; StoreError.
    """
    sampling = find_asked(name).sampling
    frame = _with_prompts(name, options).sort_values("draw", kind="stable")
    counts = StoredCounts(completions=len(frame))
    completions: dict[str, Completion] = {}
    bodies: list[dict[str, Any]] = []
    for (*_, judge, _), draws in frame.groupby(_ASKED, sort=False):
        engine = ReplayEngine(store, judge, REVISION)
        request = Request.chat(draws["prompt"].iat[0], id="")
        body = request.body(engine, sampling)
        bodies.append(body)
        keys = draw_keys(body, range(len(draws)))
        for key, text in zip(keys, draws["text"], strict=True):
            completion = Completion(key, text, "stop", model=judge, revision=REVISION)
            completions.setdefault(key, completion)
    counts.requests = len(bodies)
    counts.repeated = counts.completions - len(completions)
    counts.new = store.put_many([*completions.values()], bodies)
    store.sync()
    return counts


def _with_prompts(name: str, options: Mapping[str, Any]) -> pd.DataFrame:
    """A recording with the `prompt` that was sent, and as `text` what the judge wrote
    after it, a row a draw.
    """
    frame = recordings.load(name, **options)
    if name == "prometheus_gpt4":
        # Feedback and score were published apart.
        has_score = frame["text"].str.contains("[RESULT]", regex=False)
        values = frame["value"].map("{:g}".format)
        with_score = frame["text"] + " [RESULT] " + values
        frame = frame.assign(text=frame["text"].where(has_score, with_score))
    prompts = recordings.prompts(name, **options)
    return frame.merge(prompts, how="left", on=_ASKED, validate="many_to_one")
