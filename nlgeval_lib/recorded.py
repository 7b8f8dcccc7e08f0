"""Somebody's recorded judge outputs in a store, so that any parser or evaluator can be run on them again.

    store = Store("recordings")
    recorded.fill(store, "acloserlook")
    judge = recorded.Recorded("acloserlook", lambda text: parsers.rating(text, 1, 3), prompt_form="analyze_rate")
    scores = judge.score(datasets.load("topical_chat").query("aspect == 'coherence'"), engine=judge.replay(store))

Where the prompts are known they are the ones that were sent, so that an evaluator with the same prompt is answered too:
`Prometheus` on Vicuna Bench and MT Bench. Else a request is a text that names the output (`UNKNOWN`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import recordings
from nlgeval_lib.engines import ReplayEngine, Request, Sampling
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.names import meant
from nlgeval_lib.parsers.base import Parsed
from nlgeval_lib.schema import Completion, Judgment, Sample, Status
from nlgeval_lib.store import Store, draw_keys

REVISION = "recorded"
UNKNOWN = "[the prompt was not published]"
_OUTPUT = ("input_id", "system_id", "aspect")
_ASKED = (*_OUTPUT, "judge", "prompt_form")  # what one request is about
_KEYS = ("dataset", *_ASKED)
_ANSWER = "Your evaluation output:"  # the last words of TIGERScore's prompt


@dataclass(frozen=True)
class Import:
    """How a recording goes into a store.

    sampling: the settings that its completions are stored under; what the publisher does not tell is `unsure`.
    chat: whether the prompt was a user's message. prompts: "known", "unknown", or which are.
    """

    name: str
    sampling: Sampling
    chat: bool
    prompts: str
    unsure: str = ""
    notes: str = ""


def _greedy(max_tokens: int) -> Sampling:
    return Sampling(temperature=0.0, max_tokens=max_tokens, seed=None)


IMPORTS: Mapping[str, Import] = MappingProxyType(
    {
        one.name: one
        for one in (
            Import(
                "acloserlook",
                Sampling(temperature=1.0, max_tokens=128, n=20, seed=None),
                True,
                "known",
                unsure="token limit (128 is that of the publisher's SummEval script)",
            ),
            Import("llm_summeval", _greedy(512), True, "unknown", unsure="token limit"),
            Import(
                "tigerscore_outputs",
                _greedy(1024),
                False,
                "known for the first two",
                unsure="sampling",
                notes="the first two texts repeat their prompt: it is taken off",
            ),
            Import(
                "prometheus_gpt4",
                Sampling(temperature=1.0, top_p=0.9, max_tokens=256, n=3, seed=None),
                True,
                "known",
                notes="feedback and score were published apart: joined here as `feedback [RESULT] score`",
            ),
            Import("instructscore_wmt22", _greedy(1024), False, "known", unsure="sampling, token limit"),
            Import("instructscore_webnlg", _greedy(1024), False, "known", unsure="sampling, token limit"),
        )
    }
)
NAMES = tuple(IMPORTS)


@dataclass(frozen=True, slots=True)
class Filled:
    """What `fill` did: requests and completions of the recording, how many were new, and whose they are.

    repeated: completions whose prompt the recording has before; differing: those among them with another text, which
    are not stored, as a store has one text for a prompt and draw.
    """

    name: str
    requests: int
    completions: int
    new: int
    repeated: int
    differing: int
    judges: tuple[str, ...]


def of(name: str) -> Import:
    """How a recording goes into a store. Raises: ValueError naming those that have texts."""
    if name not in IMPORTS:
        scores = " (it has scores only: use recorded.scores)" if name in recordings.NAMES else ""
        hint = meant(name, NAMES, ".")
        raise ValueError(f"no recording {name!r} with texts{scores}{hint} There are {', '.join(NAMES)}")
    return IMPORTS[name]


def fill(store: Store, name: str, **options: Any) -> Filled:
    """Put a recording's texts into a store; what is stored already stays. `options`: those of `recordings.load`.

    Raises: ValueError for an unknown name; DataUnavailable; StoreError.
    """
    how = of(name)
    engines: dict[str, ReplayEngine] = {}
    seen: dict[str, str] = {}
    requests = completions = new = repeated = differing = 0
    batch: list[Completion] = []
    bodies: list[dict[str, Any]] = []
    for judge, request, texts, cut in rows(name, **options):
        engine = engines.setdefault(judge, ReplayEngine(store, judge, REVISION))
        body = request.body(engine, how.sampling)
        bodies.append(body)
        requests, completions = requests + 1, completions + len(texts)
        for key, text, short in zip(draw_keys(body, range(len(texts))), texts, cut, strict=True):
            if key in seen:
                repeated, differing = repeated + 1, differing + (seen[key] != text)
                continue
            seen[key] = text
            batch.append(Completion(key, text, "length" if short else "stop", model=judge, revision=REVISION))
        if len(batch) > 2000:
            new += store.put_many(batch, bodies)
            batch, bodies = [], []
    new += store.put_many(batch, bodies)
    store.sync()
    return Filled(name, requests, completions, new, repeated, differing, tuple(engines))


def rows(name: str, **options: Any) -> Iterator[tuple[str, Request, list[str], list[bool]]]:
    """Judge, request, texts of its draws and whether each was cut short, for everything that was asked."""
    how = of(name)
    frame = recordings.load(name, **options)
    texts, prompts, cut = _texts(name, frame), _prompts(how, frame, options), _cut(name, frame)
    places: dict[tuple[str, ...], list[int]] = {}
    for place, key in enumerate(zip(*(frame[column] for column in _KEYS), strict=True)):
        places.setdefault(key, []).append(place)
    draws = frame["draw"].tolist()
    for key, mine in places.items():
        mine.sort(key=draws.__getitem__)
        row = dict(zip(_KEYS, key, strict=True))
        request = _request(how, prompts[mine[0]], row)
        yield row["judge"], request, [texts[place] for place in mine], [bool(cut[place]) for place in mine]


def scores(name: str, **options: Any) -> pd.DataFrame:
    """The scores that a recording's publisher kept, as a score frame with the recording's keys before it.

    Raises: ValueError for a recording without scores; otherwise as `recordings.load`.
    """
    frame = recordings.load(name, **options)
    if "value" not in frame.columns:
        raise ValueError(f"{name} has texts only: read them with a parser; see recorded.Recorded")
    gone = frame["value"].isna()
    kept = frame[[*recordings.KEYS, "value"]].copy()
    kept["status"] = np.where(gone, Status.UNPARSED.value, Status.OK.value)
    kept["reason"] = np.where(gone, "the publisher kept no score", "")
    kept.attrs = dict(frame.attrs) | {"signature": f"recorded|recording:{name}"}
    return kept


class Recorded(Judge):
    """A recording's judge as an evaluator: it is asked what it was asked, and read as you like.

    read: text -> a parser's result, or `lambda text, sample: ...` with `by_sample=True`. judge, prompt_form: which,
    where the recording has several. Rows need `input_id`, `system_id` and `aspect`; the engine is that of `replay`.
    Rows that the recording does not have are missing as unavailable.

    Raises: ValueError for an unknown recording, or where judge or prompt form leave a choice.
    """

    name = "recorded"
    needs = ("output",)
    uses = ("input_id", "system_id")

    def __init__(
        self,
        recording: str,
        read: Callable[..., Parsed],
        *,
        judge: str = "",
        prompt_form: str = "",
        by_sample: bool = False,
        **common: Any,
    ) -> None:
        self.recording, self.reader, self.by_sample = of(recording), read, by_sample
        common.setdefault("sampling", self.recording.sampling)
        super().__init__(chat="messages" if self.recording.chat else "raw", **common)
        self._asked: dict[tuple[str, ...], Request] = {}
        options = {}
        if prompt_form and recording in ("acloserlook", "llm_summeval"):
            options["prompt_forms"] = (prompt_form,)
        if judge and recording == "llm_summeval":
            options["judges"] = (judge,)
        frame = recordings.load(recording, **options).query("draw == 0")
        for column, given in (("judge", judge), ("prompt_form", prompt_form)):
            there = frame[column].unique().tolist()
            frame = frame[frame[column] == given] if given else frame
            if frame.empty or (not given and len(there) > 1 and frame.duplicated(list(_OUTPUT)).any()):
                raise ValueError(f"{recording}: which {column}? There are {', '.join(there)}")
        frame = frame.reset_index(drop=True)
        self.model, self.prompt_form = frame["judge"].iloc[0], "+".join(frame["prompt_form"].unique())
        prompts = _prompts(self.recording, frame, options)
        for prompt, row in zip(prompts, frame[list(_ASKED)].to_dict("records"), strict=True):
            self._asked[tuple(row[key] for key in _OUTPUT)] = _request(self.recording, prompt, row)

    def replay(self, store: Store) -> ReplayEngine:
        """The engine that answers from a store that was filled with the recording."""
        return ReplayEngine(store, self.model, REVISION)

    def requests(self, sample: Sample) -> Sequence[Request]:
        key = (sample.extra.get("input_id", ""), sample.extra.get("system_id", ""), sample.aspect)
        found = self._asked.get(key)
        return [replace(found, id=sample.id)] if found is not None else []

    def combine(self, judgments: Sequence[Judgment]) -> Judgment:
        if not judgments:
            return Judgment.missing(Status.UNAVAILABLE, f"{self.recording.name} has no text for this output and aspect")
        return super().combine(judgments)

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        found = self.reader(completion.text, sample) if self.by_sample else self.reader(completion.text)
        return found.judgment()

    def settings(self) -> dict[str, Any]:
        return {"recording": self.recording.name, "form": self.prompt_form}


# -- the recordings' peculiarities -------------------------------------------------------------------------------------


def _request(how: Import, prompt: str | None, row: Mapping[str, Any]) -> Request:
    label = "/".join(row[key] for key in (*_OUTPUT, "prompt_form"))
    text = f"{UNKNOWN} {how.name}/{label}" if prompt is None else prompt
    return Request.chat(text, id=label) if how.chat else Request(prompt=text, id=label)


def _texts(name: str, frame: pd.DataFrame) -> list[str]:
    """What the judge wrote, as one text."""
    texts = frame["text"].tolist()
    if name == "tigerscore_outputs":
        return [
            _split(text)[1] if form != "output" else text
            for text, form in zip(texts, frame["prompt_form"], strict=True)
        ]
    if name == "prometheus_gpt4":
        return [
            text if "[RESULT]" in text else f"{text} [RESULT] {value:g}"
            for text, value in zip(texts, frame["value"], strict=True)
        ]
    return texts


def _split(text: str) -> tuple[str, str]:
    """Prompt and answer of a TIGERScore text that begins with its prompt."""
    end = text.index(_ANSWER) + len(_ANSWER)
    return text[:end], text[end:]


def _cut(name: str, frame: pd.DataFrame) -> np.ndarray:
    """Whether each text ended for want of room: InstructScore's where the prompt filled the window."""
    if name.startswith("instructscore"):
        return (frame["text"] == "").to_numpy()
    return np.zeros(len(frame), dtype=bool)


def _prompts(how: Import, frame: pd.DataFrame, options: Mapping[str, Any]) -> list[str | None]:
    """The prompt of each row, None where it is not known."""
    if how.name == "tigerscore_outputs":
        return [
            _split(text)[0] if form != "output" else None
            for text, form in zip(frame["text"], frame["prompt_form"], strict=True)
        ]
    if how.prompts != "known":
        return [None] * len(frame)
    sent = recordings.prompts(how.name, **options)
    keys = list(_ASKED)
    known = dict(zip(sent[keys].itertuples(index=False, name=None), sent["prompt"], strict=True))
    return [known[row] for row in frame[keys].itertuples(index=False, name=None)]
