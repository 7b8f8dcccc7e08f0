"""Somebody's recorded judges, their texts in a store to be replayed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    """How a recording's judge was asked.

    sampling: its settings, n being the draws of a prompt.
    chat: whether the prompt was a user's message, not plain text.
    """

    sampling: Sampling
    chat: bool


_GREEDY = Asked(Sampling(temperature=0.0, max_tokens=1024, seed=None), chat=False)
# The recordings whose prompts are known. What their publishers do not say is named
# beside them.
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


@dataclass
class StoredCounts:
    """What `fill` did.

    requests, completions: those of the recording.
    new: completions that were not stored yet.
    repeated: completions whose prompt the recording has before.
    differing: those among them with another text, which are not stored, as a store has
    one text for a prompt and draw.
    judges: whose completions they are.
    """

    requests: int = 0
    completions: int = 0
    new: int = 0
    repeated: int = 0
    differing: int = 0
    judges: tuple[str, ...] = ()


def find_asked(name: str) -> Asked:
    """How a recording's judge was asked.

    Raises: ValueError naming the recordings whose prompts are known.
    """
    if name in ASKED:
        return ASKED[name]
    place = ""
    if name in recordings.NAMES:
        place = ": its scores or texts are in recordings.load"
    hint = meant(name, tuple(ASKED), ".")
    raise ValueError(
        f"no recording {name!r} with known prompts{place}{hint} "
        f"There are {', '.join(ASKED)}"
    )


def fill(store: Store, name: str, **options: Any) -> StoredCounts:
    """Put a recording's texts into a store; what is stored already stays.

    name: a recording of `ASKED`.
    options: those of `recordings.load`.
    Raises: ValueError for an unknown name; DataUnavailable; StoreError.
    """
    sampling = find_asked(name).sampling
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
        keys = draw_keys(body, range(len(texts)))
        for key, text in zip(keys, texts, strict=True):
            # The first text of a prompt and draw is stored; a later one is counted
            # alone.
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
    """Judge, request and the texts of its draws, for everything that was asked with a
    prompt that is known.

    name, options: as `fill` takes them.
    Raises: ValueError for an unknown name; DataUnavailable.
    """
    chat = find_asked(name).chat
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
    """A recording with the `prompt` that was sent, and as `text` what the judge wrote
    after it, a row a draw.
    """
    frame = recordings.load(name, **options)
    if name == "tigerscore_outputs":
        # Some texts begin with their prompt; that of the others is not known.
        frame = frame[frame["prompt_form"] != "output"]
        split = frame["text"].str.partition(_ANSWER)
        prompts = split[0] + split[1]
        return frame.assign(prompt=prompts, text=split[2])
    if name == "prometheus_gpt4":
        # Feedback and score were published apart.
        texts = []
        answers = zip(frame["text"], frame["value"], strict=True)
        for text, value in answers:
            if "[RESULT]" not in text:
                text = f"{text} [RESULT] {value:g}"
            texts.append(text)
        frame = frame.assign(text=texts)
    keys = _ASKED[1:]
    prompts = recordings.prompts(name, **options)[[*keys, "prompt"]]
    return frame.merge(prompts, how="left", on=keys, validate="many_to_one")
