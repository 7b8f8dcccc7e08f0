"""The base of every evaluator that asks a language model: samples in, prompts out,
completions read, scores framed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

import pandas as pd

from nlgeval_lib.engines import Engine, Request, Sampling
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import stages as staged
from nlgeval_lib.evaluators.base import samples, score_frame
from nlgeval_lib.evaluators.base import signature as _signature
from nlgeval_lib.evaluators.stages import Stage, Stages, T
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Completion, Judgment, Sample, Status

_STYLES = ("messages", "raw", "llama2", "mistral")
_CHECKPOINTS = {"prometheus-v1": ("llama2", "You are a fair evaluator language model.")}
_FILL = re.compile(r"fill:(-?\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """How a prompt reaches a checkpoint, with the system text if there is one.

    style: `messages`, to which engine or server apply the checkpoint's own template; or
    a text without the token that
    begins one: `raw`, the prompt after the system text; `llama2`, `mistral`, with
    [INST] as these models take it.
    """

    style: str = "messages"
    system: str = ""

    @classmethod
    def named(cls, chat: str | ChatFormat) -> ChatFormat:
        """A format by its style or by a checkpoint family's name.

        Raises: ValueError with the names there are.
        """
        if isinstance(chat, ChatFormat):
            return chat
        if chat not in (*_STYLES, *_CHECKPOINTS):
            raise ValueError(
                f"chat {chat!r}; allowed: {', '.join([*_STYLES, *_CHECKPOINTS])}, or a ChatFormat"
            )
        return cls(*_CHECKPOINTS.get(chat, (chat,)))

    @property
    def label(self) -> str:
        """How a signature names it: the style, `+system` where a system text is
        sent.
        """
        return f"{self.style}+system" if self.system else self.style

    def text(self, prompt: str) -> str:
        """The one text of the styles that are text."""
        marked = (
            f"<<SYS>>\n{self.system}\n<</SYS>>"
            if self.style == "llama2"
            else self.system
        )
        system = f"{marked}\n\n" if self.system else ""
        return (
            system + prompt
            if self.style == "raw"
            else f"[INST] {system}{prompt} [/INST]"
        )

    def request(self, prompt: str, id: str = "") -> Request:
        """What the engine is asked for this prompt; `id` names it where it fails."""
        if self.style == "messages":
            return Request.chat(prompt, self.system, id)
        return Request(prompt=self.text(prompt), id=id)


class Judge:
    """What all LLM evaluators share. A subclass writes `render` (or `stages`) and
    `parse`; the rest may stay.

    engine, store, progress: what asks, what keeps the completions, what shows the way;
    `score` may be given others.
    sampling: a `Sampling`, or settings that replace some of the defaults. chat: a
    `ChatFormat`, a style or a checkpoint family. missing: what draws without a number
    count as (see `combine`). structured: hold completions to the `form`.
    """

    name = "judge"
    version = "0.1"
    needs: tuple[str, ...] = ("output",)  # fields or columns that must hold text
    template: Template | None = (
        None  # the prompt, where there is one alone: its hash is in the signature
    )
    defaults: Mapping[str, Any] = MappingProxyType(
        {"temperature": 0.0, "max_tokens": 256}
    )
    stand_in = "3"  # what a completion looks like, for planning
    choices: tuple[str, ...] = ()  # what a completion may be, where that is a few words

    def __init__(
        self,
        *,
        engine: Engine | None = None,
        store: Store | None = None,
        progress: Any = None,
        sampling: Sampling | Mapping[str, Any] | None = None,
        chat: str | ChatFormat = "messages",
        missing: str = "drop",
        structured: bool = False,
    ) -> None:
        if missing not in ("drop", "all") and not _FILL.fullmatch(missing):
            raise ValueError(
                f"missing policy {missing!r}; allowed: 'drop', 'all', 'fill:<number>' as in 'fill:0'"
            )
        self.engine, self.store, self.progress = engine, store, progress
        self.sampling = make_sampling(self.defaults, sampling)
        self.chat = ChatFormat.named(chat)
        self.missing, self.structured = missing, structured

    def render(self, sample: Sample) -> str:
        """The prompt of one sample."""
        raise NotImplementedError(f"{type(self).__name__} has no render()")

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """What one completion says about the sample. Never raises on any text."""
        raise NotImplementedError(f"{type(self).__name__} has no parse()")

    def request(self, sample: Sample) -> Request:
        """What is asked for one sample; its completions are draws of the same
        judgment.
        """
        return self.chat.request(self.render(sample), sample.id)

    def stages(self, samples: Sequence[Sample]) -> Stages[list[Judgment]]:
        """What is asked, and one judgment a sample in the end: each `Stage` is sent
        a list of draws a request.
        """
        answers = yield Stage(
            "score",
            [self.request(one) for one in samples],
            self.shaped(),
            self.stand_in,
        )
        return [
            self.judged(draws, sample)
            for draws, sample in zip(answers, samples, strict=True)
        ]

    def form(self, stage: str = "score") -> Mapping[str, Any]:
        """What `structured` holds a completion to: {"choice": choices}, {"regex": ...}
        or {"json_schema": ...}.

        Raises: ValueError where the evaluator names no form for the stage.
        """
        if self.choices:
            return {"choice": self.choices}
        raise ValueError(
            f"{self.name} has no form for the completions of stage {stage!r}; leave structured off"
        )

    def settings(self) -> Mapping[str, Any]:
        """What a signature says of this evaluator beyond the judge, such as {"mode":
        "absolute", "rubric": True}.
        """
        return {}

    def templates(self) -> Sequence[Template]:
        """The prompts, for the hash in the signature."""
        return (self.template,) if self.template else ()

    def for_engine(self, engine: Engine | None = None) -> Self:
        """This evaluator as it asks an engine (by default its own): another one
        where it adapts to the checkpoint.
        """
        return self

    def shaped(
        self, stage: str = "score", sampling: Sampling | None = None
    ) -> Sampling:
        """The sampling settings of a stage (default: the evaluator's), with its form
        where `structured` is set.
        """
        sampling = self.sampling if sampling is None else sampling
        return (
            dataclasses.replace(sampling, **self.form(stage))
            if self.structured
            else sampling
        )

    def read(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """`parse`; FAILED where there is no completion, TRUNCATED where it was cut
        and gives nothing.
        """
        return failed(completion) or cut(completion, self.parse(completion, sample))

    def judged(
        self, draws: Sequence[Completion], sample: Sample | None = None
    ) -> Judgment:
        """One judgment from its draws: the mean of what each says, by the missing
        policy.
        """
        return combine(
            [self.read(completion, sample) for completion in draws], self.missing
        )

    def given(self, data: Any) -> list[Sample]:
        """The samples of a frame, one a row, or a list of them.

        Raises: ValueError where a needed text is missing.
        """
        return samples(data, self.needs, self.name)

    def run(
        self,
        stages: Stages[T],
        engine: Engine | None = None,
        store: Store | None = None,
        progress: Any = None,
    ) -> T:
        """What the stages give, asked of an engine (by default the evaluator's).

        Raises: ValueError without one.
        """
        engine = engine or self.engine
        if engine is None:
            raise ValueError(
                f"{self.name}: no engine; pass engine=... (see nlgeval_lib.engines)"
            )
        return staged.run(
            stages,
            engine,
            self.store if store is None else store,
            progress or self.progress,
        )

    def judge(self, data: Any, **ways: Any) -> list[Judgment]:
        """One judgment a row or sample. `ways`: engine, store, progress, in place of
        the evaluator's.

        Raises: ValueError without an engine, or for a frame without what the prompt
        needs.
        """
        return self.run(
            self.for_engine(ways.get("engine")).stages(self.given(data)), **ways
        )

    def score(self, data: Any, **ways: Any) -> pd.DataFrame:
        """`value, status, reason, details` for each row of a frame, or each of a list
        of samples (index: their ids).

        `attrs` hold the signature and the counts. `ways` and Raises: as `judge`.
        """
        index = (
            data.index
            if isinstance(data, pd.DataFrame)
            else pd.Index([sample.id for sample in data], dtype=object)
        )
        return self.framed(index, self.judge(data, **ways), ways.get("engine"))

    def framed(
        self,
        index: pd.Index,
        judgments: Sequence[Judgment],
        engine: Engine | None = None,
    ) -> pd.DataFrame:
        """The score frame of judgments, with their details; `attrs` count the
        judgments of each status.
        """
        tally = Counter(judgment.status.value for judgment in judgments)
        ok = tally.pop(Status.OK.value, 0)
        n = len(judgments)
        details = {"n": n, "n_ok": ok, "coverage": ok / n if n else None, **tally}
        frame = score_frame(index, judgments, self.signature(engine), details)
        return frame.assign(details=[dict(judgment.details) for judgment in judgments])

    def plan(
        self, data: Any, engine: Engine | None = None, store: Store | None = None
    ) -> list[Stage]:
        """The stages that `score` would ask, none of them asked; those that rest on
        answers to come are not `exact`.
        """
        stages = self.for_engine(engine).stages(self.given(data))
        return staged.plan(
            stages, engine or self.engine, self.store if store is None else store
        )

    def signature(self, engine: Engine | None = None) -> str:
        """Everything that determines a score but the texts: prompt, parser, engine,
        model, sampling, policies.
        """
        engine, bound = engine or self.engine, self.for_engine(engine)
        hashes = "+".join(template.sha[:8] for template in bound.templates()) or None
        head = _signature(
            self.name, **bound.settings(), prompt=hashes, chat=bound.chat.label
        )
        judge = "engine:none" if engine is None else engine.signature()
        tail = _signature(
            f"missing:{self.missing}",
            structured=self.structured or None,
            v=self.version,
        )
        return f"{head}|{judge}|{bound.sampling.signature()}|{tail}"


def failed(completion: Completion) -> Judgment | None:
    """FAILED with the reason where there is no completion, else None."""
    if completion.finish_reason == "error" or completion.error:
        return Judgment.missing(
            Status.FAILED, completion.error or "the engine gave no completion"
        )
    return None


def cut(completion: Completion, judgment: Judgment) -> Judgment:
    """The judgment; TRUNCATED where its completion was cut at the token limit and
    gives nothing.
    """
    if (
        judgment.status not in (Status.UNPARSED, Status.EMPTY)
        or completion.finish_reason != "length"
    ):
        return judgment
    reason = f"cut at the token limit; {judgment.reason}"
    return dataclasses.replace(judgment, status=Status.TRUNCATED, reason=reason)


def combine(judgments: Sequence[Judgment], missing: str = "drop") -> Judgment:
    """The mean of the draws of one judgment; a single draw stays what it is.

    missing: what becomes of draws without a number. drop: the mean of the others. all:
    one makes the judgment missing. fill:X: one whose text gave no number counts as X;
    draws that the engine could not produce are dropped.
    details: those of a single draw; `n` draws, `n_missing` without a number; of several
    `values`, `statuses`, `draws`.
    """
    if not judgments:
        return Judgment.missing(
            Status.FAILED, "no completion came back", n=0, n_missing=0
        )
    lost = [judgment for judgment in judgments if judgment.status is not Status.OK]
    details: dict[str, Any] = dict(judgments[0].details) if len(judgments) == 1 else {}
    details |= {"n": len(judgments), "n_missing": len(lost)}
    if len(judgments) > 1:
        details["values"] = tuple(judgment.value for judgment in judgments)
        details["statuses"] = tuple(judgment.status.value for judgment in judgments)
        details["draws"] = tuple(judgment.details for judgment in judgments)
    values = [judgment.value for judgment in judgments if judgment.status is Status.OK]
    if fill := _FILL.fullmatch(
        missing
    ):  # where there is no completion there is nothing to count as an answer
        values += [
            float(fill[1])
            for one in lost
            if one.status not in (Status.FAILED, Status.UNAVAILABLE)
        ]
    if values and not (missing == "all" and lost):
        return Judgment(
            statistics.fmean(values), Status.OK, "", MappingProxyType(details)
        )
    status, reason = most_frequent(lost)
    reason = (
        f"{len(lost)} of {len(judgments)} draws missing: {reason}"
        if len(judgments) > 1
        else reason
    )
    return Judgment(math.nan, status, reason, MappingProxyType(details))


def most_frequent(lost: Sequence[Judgment]) -> tuple[Status, str]:
    """The most frequent status of judgments without a number, and the first reason
    given for it.
    """
    status = Counter(judgment.status for judgment in lost).most_common(1)[0][0]
    return status, next(
        judgment.reason for judgment in lost if judgment.status is status
    )


def make_sampling(
    defaults: Mapping[str, Any], given: Sampling | Mapping[str, Any] | None
) -> Sampling:
    """The evaluator's sampling settings with those that were given in their place.

    Raises: ValueError.
    """
    if isinstance(given, Sampling):
        return given
    known = [f.name for f in dataclasses.fields(Sampling)]
    if unknown := [name for name in given or () if name not in known]:
        raise ValueError(
            f"sampling has no setting {', '.join(map(repr, unknown))}; settings: {', '.join(known)}"
        )
    return Sampling(**{**defaults, **(given or {})})


def short_hash(text: str) -> str:
    """The first 8 hexadecimal digits of a text's hash, for signatures."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def numbers(low: int, high: int) -> tuple[str, ...]:
    """The scores of a scale, as they are written.

    Raises: ValueError for no scale of whole numbers.
    """
    if not (isinstance(low, int) and isinstance(high, int) and low < high):
        raise ValueError(
            f"a scale of whole numbers with low < high is needed, got {low!r} to {high!r}"
        )
    return tuple(map(str, range(low, high + 1)))
