"""The base of every evaluator that asks a language model.

`given` makes the samples, `stages` yields what is asked, `run` asks an engine through
a store, `judged` reads the draws of a request, `framed` makes the frame.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

import pandas as pd

from nlgeval_lib.engines import Engine, Request, Sampling
from nlgeval_lib.engines.base import canonical
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import schemas
from nlgeval_lib.evaluators import stages as staged
from nlgeval_lib.evaluators.base import (
    NotAllowed,
    choose,
    name_all_settings,
    samples,
    score_frame,
)
from nlgeval_lib.evaluators.base import signature as _signature
from nlgeval_lib.evaluators.stages import Stage, Stages, T
from nlgeval_lib.evaluators.weighing import weigh
from nlgeval_lib.parsers.places import place_of
from nlgeval_lib.parsers.reasoning import apart
from nlgeval_lib.parsers.text import Parsed, finished, finished_lines
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Completion, Judgment, Sample, Status

_STYLES = ("messages", "raw", "llama2", "mistral")
# Family of checkpoints -> style, and the system text that they were trained with.
_CHECKPOINTS = {"prometheus-v1": ("llama2", "You are a fair evaluator language model.")}
_FILL = re.compile(r"fill:(-?\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """How a prompt reaches a checkpoint.

    style: `messages`: engine or server apply the checkpoint's own template. The others
    make one text: `raw` is the prompt; `llama2` and `mistral` put it in [INST].
    system: the text that stands before the prompt; "" for none.
    """

    style: str = "messages"
    system: str = ""

    @classmethod
    def named(cls, chat: str | ChatFormat) -> ChatFormat:
        """The format of a style or a family of checkpoints. Raises: NotAllowed."""
        if isinstance(chat, ChatFormat):
            return chat
        choose("chat", chat, (*_STYLES, *_CHECKPOINTS))
        return cls(*_CHECKPOINTS.get(chat, (chat,)))

    @property
    def label(self) -> str:
        """How a signature names it: style, `+system` where a system text is sent."""
        return f"{self.style}+system" if self.system else self.style

    def text(self, prompt: str) -> str:
        """The one text of the styles `raw`, `llama2` and `mistral`.

        Example:
        >>> ChatFormat("mistral").text("Is it true?")
        '[INST] Is it true? [/INST]'
        """
        if self.system:
            system = self.system
            if self.style == "llama2":
                system = f"<<SYS>>\n{system}\n<</SYS>>"
            prompt = f"{system}\n\n{prompt}"
        return prompt if self.style == "raw" else f"[INST] {prompt} [/INST]"

    def request(self, prompt: str, id: str = "", system: str | None = None) -> Request:
        """What the engine is asked: a conversation for `messages`, else one text; a
        `system` text replaces that of the format.
        """
        chat = self if system is None else dataclasses.replace(self, system=system)
        if self.style == "messages":
            return Request.chat(prompt, chat.system, id)
        return Request(prompt=chat.text(prompt), id=id)


class Judge:
    """What all LLM evaluators share. A subclass writes `render` (or `stages`) and
    `reader` (or `parse`); the rest may stay.

    engine: what asks the model; None where each call names one.
    store: what keeps the completions; None keeps nothing.
    progress: what shows how far it is.
    sampling: a `Sampling`, or settings that replace some of the class's `defaults`.
    chat: a `ChatFormat`, a style or a family of checkpoints.
    missing: what draws without a number count as: drop, all or fill:NUMBER (`combine`).
    structured: what completions are held to: True, the few words that they may be;
    "json", the `schema`; False, nothing.
    room: tokens by which the limit of every stage is raised, for a judge that reasons.
    weigh: the score is the mean of all that could stand in its place
    (`weighing.weigh`).

    Raises: ValueError for a setting with a value that it cannot have.
    """

    name = "judge"
    version = "0.1"  # stands in the signature, as `v`
    needs: tuple[str, ...] = ("output",)  # fields or columns that must hold text
    template: Template | None = None
    defaults: Mapping[str, Any] = MappingProxyType(
        {"temperature": 0.0, "max_tokens": 256}
    )
    stand_in = "3"  # what a completion looks like, for planning
    lists: tuple[str, ...] = ()  # the stages that list something: held by JSON alone
    choices: tuple[str, ...] = ()  # what a completion may be, where that is a few words

    def __init_subclass__(cls) -> None:
        name_all_settings(cls)

    def __init__(
        self,
        *,
        engine: Engine | None = None,
        store: Store | None = None,
        progress: Any = None,
        sampling: Sampling | Mapping[str, Any] | None = None,
        chat: str | ChatFormat = "messages",
        missing: str = "drop",
        structured: bool | str = False,
        room: int = 0,
        weigh: bool = False,
    ) -> None:
        if missing not in ("drop", "all") and not _FILL.fullmatch(missing):
            raise NotAllowed(
                "missing", missing, ("drop", "all"), "fill:NUMBER such as fill:0"
            )
        if not isinstance(room, int) or room < 0:
            raise ValueError(f"room is {room!r}; a whole number of tokens is needed")
        self.room = room
        self.engine = engine
        self.store = store
        self.progress = progress
        self.sampling = self.sampling_of(self.defaults, sampling)
        self.chat = ChatFormat.named(chat)
        self.missing = missing
        self.structured = choose("structured", structured, (False, True, "json"))
        self.weigh = weigh
        if weigh and self.sampling.logprobs is None:
            self.sampling = dataclasses.replace(self.sampling, logprobs=20)

    # -- what a subclass writes

    def render(self, sample: Sample) -> str:
        """The prompt of one sample."""
        raise NotImplementedError(f"{type(self).__name__} has no render()")

    def reader(self, sample: Sample | None = None) -> Callable[[str], Parsed] | None:
        """The parser that reads the score in a text; None where no text states one."""
        return None

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """What one completion says about the sample; never raises on any text.

        completion: without a reasoning and an unfinished end (see `answered`).
        sample: None where the reading does not depend on it.
        """
        read = self.reader(sample)
        if read is None:
            raise NotImplementedError(f"{type(self).__name__} has no parse()")
        return read(completion.text).judgment()

    def request(self, sample: Sample) -> Request:
        """What is asked for one sample."""
        return self.chat.request(self.render(sample), sample.id)

    def stages(self, samples: Sequence[Sample]) -> Stages[list[Judgment]]:
        """Yields each `Stage`, is sent its draws, and returns one judgment a sample."""
        requests = [self.request(sample) for sample in samples]
        sampling = self.shaped()
        answers = yield Stage("score", requests, sampling, self.stand_in, last=True)
        return list(map(self.judged, answers, samples))

    def schema(self, stage: str = "score") -> Mapping[str, Any]:
        """The JSON schema of a stage's completions. Raises: ValueError for none."""
        if self.choices and all(name.isdigit() for name in self.choices):
            return schemas.a_score(self.choices)
        raise ValueError(
            f"{self.name} has no JSON schema for the completions of stage {stage!r}; "
            "leave structured off"
        )

    def verdicts(self, sample: Sample | None = None) -> Mapping[str, float]:
        """The verdicts of one token each, and their scores; empty for none."""
        return {name: float(name) for name in self.choices if name.isdigit()}

    def settings(self) -> Mapping[str, Any]:
        """What the signature says beyond the judge; None leaves an entry out."""
        return {}

    def templates(self) -> Sequence[Template]:
        """The prompts that a score depends on."""
        return (self.template,) if self.template else ()

    def for_engine(self, engine: Engine | None = None) -> Self:
        """This evaluator as it asks an engine (by default its own)."""
        return self

    def list_reader(self, stage: str) -> Callable[[Completion], bool] | None:
        """What says whether a completion of one of `lists` can be used, else None."""
        return None

    @property
    def advice(self) -> str:
        """A sentence for the message that rows lack a column; "" for none."""
        return ""

    # -- sampling, and the form of a completion

    def sampling_of(
        self,
        defaults: Mapping[str, Any],
        settings: Sampling | Mapping[str, Any] | None,
    ) -> Sampling:
        """The sampling of a stage, with the room for a reasoning."""
        sampling = make_sampling(defaults, settings)
        most = sampling.max_tokens + self.room
        return dataclasses.replace(sampling, max_tokens=most)

    def form(self, stage: str = "score") -> Mapping[str, Any]:
        """What `structured` holds a stage to, as settings of `Sampling`."""
        if self.structured == "json":
            return {"json_schema": self.schema(stage)}
        if stage in self.lists:
            return {}
        if not self.choices:
            raise ValueError(
                f"{self.name}: its completions are no choice of a few words; "
                "use structured='json', or leave structured off"
            )
        return {"choice": self.choices}

    def shaped(
        self, stage: str = "score", sampling: Sampling | None = None
    ) -> Sampling:
        """The sampling of a stage (None: the evaluator's), with its form if any."""
        if sampling is None:
            sampling = self.sampling
        if not self.structured:
            return sampling
        return dataclasses.replace(sampling, **self.form(stage))

    # -- reading

    def read(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """`parse` of what is finished in the answer, never of its reasoning.

        Returns: FAILED without a completion, TRUNCATED where it was cut and gives
        nothing, EMPTY where it is reasoning alone, UNPARSED where asked-for JSON is not
        whole; else what `parse` says, with the detail `cut` where it was cut.
        """
        missing = failed(completion)
        if missing is not None:
            return missing
        answer = answered(completion)
        if answer.reasoning and not answer.text.strip():
            reason = "reasoning alone, and no answer after it"
            return cut(answer, Judgment.missing(Status.EMPTY, reason))
        if self.structured == "json" and not schemas.is_whole(answer.text):
            # What stands in a reasoning that was cut is no verdict.
            reason = "not the whole of the JSON that was asked for"
            return cut(answer, Judgment.missing(Status.UNPARSED, reason))
        judgment = self.parse(answer, sample)
        if self.weigh:
            judgment = self.weighted(answer, judgment, sample)
        if answer.finish_reason == "length":
            judgment = _of_cut(judgment)
        return cut(answer, judgment)

    def weighted(
        self, completion: Completion, stated: Judgment, sample: Sample | None
    ) -> Judgment:
        """The judgment that a text states, weighted at the place where it was read."""
        read = self.reader(sample)
        if read is None or stated.status is not Status.OK:
            return stated
        place = place_of(completion.text, read(completion.text))
        return weigh(completion, stated, place, self.verdicts(sample))

    def check_weighing(self, what: str = "weigh") -> None:
        """Raises: ValueError where scores cannot be weighted, as `what` asks for."""
        verdicts = self.verdicts()
        if not verdicts:
            raise ValueError(
                f"{what}: a score of {self.name} is no token of a declared set"
            )
        if any(name.isdigit() and len(name) > 1 for name in verdicts):
            raise ValueError(
                f"{what}, with {', '.join(verdicts)}: "
                "numbers of more than one digit may be several tokens"
            )
        if self.sampling.temperature > 0 or not self.sampling.logprobs:
            raise ValueError(
                f"{what} needs temperature 0, and logprobs (20 unless given)"
            )

    def judged(
        self, draws: Sequence[Completion], sample: Sample | None = None
    ) -> Judgment:
        """One judgment from all draws of one request, by the missing policy."""
        judgments = [self.read(completion, sample) for completion in draws]
        return combine(judgments, self.missing)

    # -- scoring and planning

    def given(self, data: Any) -> list[Sample]:
        """The samples of a frame or list, checked. Raises: ValueError, also where
        scores cannot be weighted.
        """
        if self.weigh:
            self.check_weighing()
        return samples(data, self.needs, self.name)

    def run(
        self,
        stages: Stages[T],
        engine: Engine | None = None,
        store: Store | None = None,
        progress: Any = None,
    ) -> T:
        """The result of such a generator as `stages`; engine, store and progress
        replace the evaluator's own. Raises: ValueError without an engine.
        """
        engine = engine or self.engine
        if engine is None:
            raise ValueError(
                f"{self.name}: no engine; pass engine=... (see nlgeval_lib.engines)"
            )
        if store is None:
            store = self.store
        return staged.run(stages, engine, store, progress or self.progress)

    def judge(
        self,
        data: Any,
        *,
        engine: Engine | None = None,
        store: Store | None = None,
        progress: Any = None,
    ) -> list[Judgment]:
        """One judgment a row of a frame or sample of a list, in their order."""
        stages = self.for_engine(engine).stages(self.given(data))
        return self.run(stages, engine, store, progress)

    def score(
        self,
        data: Any,
        *,
        engine: Engine | None = None,
        store: Store | None = None,
        progress: Any = None,
    ) -> pd.DataFrame:
        """`value, status, reason, details` for each row of a frame, or sample of a list
        (index: their ids); errors as for `run` and `given`.

        `attrs` have the signature, and in `details` the counts `n`, `n_ok`, `coverage`
        (their share, None for no rows) and of each other status.
        """
        if isinstance(data, pd.DataFrame):
            index = data.index
        else:
            index = pd.Index([sample.id for sample in data], dtype=object)
        judgments = self.judge(data, engine=engine, store=store, progress=progress)
        return self.framed(index, judgments, engine)

    def framed(
        self,
        index: pd.Index,
        judgments: Sequence[Judgment],
        engine: Engine | None = None,
    ) -> pd.DataFrame:
        """The frame of `score`, of judgments that this engine gave."""
        tally = Counter(judgment.status.value for judgment in judgments)
        n = len(judgments)
        n_ok = tally.pop(Status.OK.value, 0)
        coverage = n_ok / n if n else None
        counts = {"n": n, "n_ok": n_ok, "coverage": coverage, **tally}
        frame = score_frame(index, judgments, self.signature(engine), counts)
        return frame.assign(details=[dict(judgment.details) for judgment in judgments])

    def plan(
        self, data: Any, engine: Engine | None = None, store: Store | None = None
    ) -> list[Stage]:
        """The stages that `score` would ask, none of them asked (see `stages.plan`)."""
        stages = self.for_engine(engine).stages(self.given(data))
        if store is None:
            store = self.store
        return staged.plan(stages, engine or self.engine, store)

    def signature(self, engine: Engine | None = None) -> str:
        """Everything that determines a score but the texts; `engine`: the one asked."""
        engine = engine or self.engine
        bound = self.for_engine(engine)
        hashes = "+".join(template.sha[:8] for template in bound.templates())
        structured = None
        if self.structured:
            stages = ("score", *self.lists)
            forms = {stage: dict(bound.form(stage)) for stage in stages}
            kinds = dict.fromkeys(kind for form in forms.values() for kind in form)
            structured = f"{'+'.join(kinds)}-{short_hash(canonical(forms))}"
        parts = (
            _signature(
                self.name,
                **bound.settings(),
                prompt=hashes or None,
                chat=bound.chat.label,
            ),
            "engine:none" if engine is None else engine.signature(),
            bound.sampling.signature(),
            _signature(
                f"missing:{self.missing}",
                structured=structured,
                weigh=self.weigh or None,
                v=self.version,
            ),
        )
        return "|".join(parts)

    def __repr__(self) -> str:
        return self.signature()


def failed(completion: Completion) -> Judgment | None:
    """FAILED with the reason where the engine gave no completion, else None."""
    if completion.finish_reason == "error" or completion.error:
        reason = completion.error or "the engine gave no completion"
        return Judgment.missing(Status.FAILED, reason)
    return None


def answered(completion: Completion, lists: bool = False) -> Completion:
    """The completion with what can be read as its text: the answer after a reasoning,
    and of one cut at the token limit what is finished.

    lists: the answer is a list, which ends with a whole item; else it loses its last
    word, unless it is a bare number of one or two tokens, or an object in JSON.
    """
    completion = apart(completion)
    if completion.finish_reason != "length":
        return completion
    is_bare_number = completion.text.strip().isdigit()
    if is_bare_number and 0 < completion.completion_tokens <= 2:
        return completion
    if completion.text.startswith("{") and schemas.is_whole(completion.text):
        return completion
    until = finished_lines if lists else finished
    return dataclasses.replace(completion, text=until(completion.text))


def _of_cut(judgment: Judgment) -> Judgment:
    """The judgment of a cut text: the form of a number alone ("3/5") is none."""
    details = {**judgment.details, "cut": True}
    if judgment.status is Status.OK and details.get("rule") == "form":
        reason = "only the form of a number makes it a score"
        return Judgment.missing(Status.UNPARSED, reason, **details)
    return dataclasses.replace(judgment, details=details)


def cut(completion: Completion, judgment: Judgment) -> Judgment:
    """The judgment; TRUNCATED where the completion was cut and gave nothing else."""
    gives_nothing = judgment.status in (Status.UNPARSED, Status.EMPTY)
    if gives_nothing and completion.finish_reason == "length":
        reason = f"cut at the token limit; {judgment.reason}"
        if completion.reasoning:
            reason += "; leave more room for the reasoning with the setting room"
        return dataclasses.replace(judgment, status=Status.TRUNCATED, reason=reason)
    return judgment


def combine(judgments: Sequence[Judgment], missing: str = "drop") -> Judgment:
    """The mean of the draws of one judgment; a single draw stays what it is.

    missing: of draws without a number. drop: the mean of the others. all: one makes the
    judgment missing. fill:X: it counts as X, unless the engine gave none.

    Returns: details are those of a single draw, or of several `values`, `statuses` and
    `draws`; in both cases with `n` draws, `n_missing` of them without a number.
    """
    if not judgments:
        reason = "no completion came back"
        return Judgment.missing(Status.FAILED, reason, n=0, n_missing=0)
    values = [j.value for j in judgments if j.status is Status.OK]
    without = [j for j in judgments if j.status is not Status.OK]
    counts = {"n": len(judgments), "n_missing": len(without)}
    if len(judgments) == 1:
        details: dict[str, Any] = {**judgments[0].details, **counts}
    else:
        details = {
            **counts,
            "values": tuple(judgment.value for judgment in judgments),
            "statuses": tuple(judgment.status.value for judgment in judgments),
            "draws": tuple(judgment.details for judgment in judgments),
        }
    fill = _FILL.fullmatch(missing)
    if fill:
        for judgment in without:
            # Where there is no completion there is nothing to count as an answer.
            if judgment.status not in (Status.FAILED, Status.UNAVAILABLE):
                values.append(float(fill[1]))
    if values and not (missing == "all" and without):
        mean = statistics.fmean(values)
        reason = ""
        if len(values) < len(judgments):
            reason = f"mean of {len(values)} of {len(judgments)} draws"
        return Judgment(mean, Status.OK, reason, MappingProxyType(details))
    status, reason = most_frequent(without)
    if len(judgments) > 1:
        reason = f"{len(without)} of {len(judgments)} draws missing: {reason}"
    return Judgment(math.nan, status, reason, MappingProxyType(details))


def most_frequent(missing: Sequence[Judgment]) -> tuple[Status, str]:
    """The most frequent status of missing judgments, and its first reason."""
    statuses = [judgment.status for judgment in missing]
    [(status, _)] = Counter(statuses).most_common(1)
    return status, missing[statuses.index(status)].reason


def make_sampling(
    defaults: Mapping[str, Any], settings: Sampling | Mapping[str, Any] | None
) -> Sampling:
    """An evaluator's sampling: its defaults, with some replaced, or a whole `Sampling`.
    Raises: ValueError for an unknown name.
    """
    if isinstance(settings, Sampling):
        return settings
    settings = settings or {}
    names = [field.name for field in dataclasses.fields(Sampling)]
    unknown = [name for name in settings if name not in names]
    if unknown:
        raise ValueError(
            f"sampling has no setting {', '.join(map(repr, unknown))}; "
            f"settings: {', '.join(names)}"
        )
    return Sampling(**{**defaults, **settings})


def short_hash(text: str) -> str:
    """The first 8 hexadecimal digits of a text's hash."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def numbers(low: int, high: int) -> tuple[str, ...]:
    """The scores of a scale of whole numbers, as written. Raises: ValueError."""
    if not (isinstance(low, int) and isinstance(high, int) and low < high):
        raise ValueError(
            "a scale of whole numbers with low < high is needed, "
            f"got {low!r} to {high!r}"
        )
    return tuple(map(str, range(low, high + 1)))
