"""The base of every evaluator that asks a language model: samples in, prompts out,
completions read, scores framed.

`Judge` is the base class. Its way from a frame to scores: `given` makes the samples,
`stages` yields the requests of each stage, `run` asks an engine through a store,
`judged` reads the draws of one request with `read` (which calls the subclass's
`parse`), and `framed` makes the frame. `plan` goes the same way without asking
anything.

`ChatFormat` says how a prompt is wrapped for a checkpoint. `combine` makes one judgment
of several draws. `failed`, `answered` and `cut` are about completions that did not
come, or did not come to their end.
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
from nlgeval_lib.evaluators.base import NotAllowed, choose, samples, score_frame
from nlgeval_lib.evaluators.base import signature as _signature
from nlgeval_lib.evaluators.stages import Stage, Stages, T
from nlgeval_lib.evaluators.weighing import weigh
from nlgeval_lib.parsers.places import place_of
from nlgeval_lib.parsers.reasoning import apart
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.parsers.unfinished import finished, finished_lines
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Completion, Judgment, Sample, Status

# What a `ChatFormat` may have as its style; see there.
_STYLES = ("messages", "raw", "llama2", "mistral")
# Family of checkpoints -> style, and the system text that they were trained with.
_CHECKPOINTS = {"prometheus-v1": ("llama2", "You are a fair evaluator language model.")}
# Advice for a reasoning model whose answer was cut off.
_MORE_ROOM = "leave more room for the reasoning with the setting room"
# The missing policy `fill:NUMBER`.
_FILL = re.compile(r"fill:(-?\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """How a prompt reaches a checkpoint, with the system text if there is one.

    style: `messages`: engine or server apply the checkpoint's own template. The others
    make one text, without the token that begins a text: `raw` is the prompt after the
    system text; `llama2` and `mistral` put it in [INST] as these models take it.
    system: the text that stands before the prompt, such as the judge's role; "" for
    none.
    """

    style: str = "messages"
    system: str = ""

    @classmethod
    def named(cls, chat: str | ChatFormat) -> ChatFormat:
        """A format by its style or by the name of a family of checkpoints.

        chat: `messages`, `raw`, `llama2`, `mistral` or `prometheus-v1`; a format is
        returned as it is.

        Raises: ValueError with the names there are.
        """
        if isinstance(chat, ChatFormat):
            return chat
        if chat not in (*_STYLES, *_CHECKPOINTS):
            raise NotAllowed("chat", chat, (*_STYLES, *_CHECKPOINTS))
        return cls(*_CHECKPOINTS.get(chat, (chat,)))

    @property
    def label(self) -> str:
        """How a signature names it: the style, `+system` where a system text is
        sent.
        """
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
        if self.style == "raw":
            return prompt
        return f"[INST] {prompt} [/INST]"

    def request(self, prompt: str, id: str = "") -> Request:
        """What the engine is asked for this prompt.

        id: names the request where it fails.

        Returns: a conversation for the style `messages`, else a prompt of one text.
        """
        if self.style == "messages":
            return Request.chat(prompt, self.system, id)
        return Request(prompt=self.text(prompt), id=id)


class Judge:
    """What all LLM evaluators share. A subclass writes `render` (or `stages`) and
    `parse`; the rest may stay.

    engine: what asks the model; None where each call names one.
    store: what keeps the completions; None keeps nothing.
    progress: what shows how far it is. `score` may be given another engine, store and
    progress.
    sampling: a `Sampling`, or settings that replace some of the class's `defaults`.
    chat: a `ChatFormat`, a style or a family of checkpoints.
    missing: what draws without a number count as: drop, all or fill:NUMBER (see
    `combine`).
    structured: True holds completions to the `form` (choices or a pattern, which vLLM
    takes), "json" to the `schema`; False leaves them free.
    room: tokens by which the limit of every stage is raised, for a judge that reasons
    first.
    weigh: the score is the mean of all that the judge could have written in its place,
    by their probabilities (see `weighing.weigh`).

    Raises: ValueError for a setting with a value that it cannot have.
    """

    name = "judge"
    version = "0.1"  # stands in the signature, as `v`
    needs: tuple[str, ...] = ("output",)  # fields or columns that must hold text
    # The prompt, where there is one alone: its hash is in the signature.
    template: Template | None = None
    # The sampling settings where the caller names none.
    defaults: Mapping[str, Any] = MappingProxyType(
        {"temperature": 0.0, "max_tokens": 256}
    )
    stand_in = "3"  # what a completion looks like, for planning
    formed: tuple[str, ...] = ("score",)  # the stages that `structured` forms
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
        self.sampling = self.with_room(make_sampling(self.defaults, sampling))
        self.chat = ChatFormat.named(chat)
        self.missing = missing
        self.structured = choose("structured", structured, (False, True, "json"))
        self.weigh = weigh
        if weigh and self.sampling.logprobs is None:
            self.sampling = dataclasses.replace(self.sampling, logprobs=20)

    def with_room(self, sampling: Sampling) -> Sampling:
        """The sampling settings of a stage with the room for a reasoning added to its
        limit.
        """
        most = sampling.max_tokens + self.room
        return dataclasses.replace(sampling, max_tokens=most)

    @property
    def advice(self) -> str:
        """What else a user may have to give: a sentence for the message that rows lack
        a column; "" for none.
        """
        return ""

    def render(self, sample: Sample) -> str:
        """The prompt of one sample, with its texts filled in."""
        raise NotImplementedError(f"{type(self).__name__} has no render()")

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """What one completion says about the sample. Never raises on any text.

        completion: its text is the answer, without a reasoning and without an
        unfinished end (see `answered`).
        sample: what was judged; None where the reading does not depend on it.

        Returns: a judgment with a number, or with the status and reason why there is
        none.
        """
        raise NotImplementedError(f"{type(self).__name__} has no parse()")

    def reader(self, sample: Sample | None = None) -> Callable[[str], Parsed] | None:
        """The parser that reads the judge's score in a text about the sample, with its
        settings.

        None where no single text states a score. `weigh` asks it for the place of the
        verdict.
        """
        return None

    def list_reader(self, stage: str) -> Callable[[Completion], bool] | None:
        """What says whether a completion of a stage that lists something can be used;
        None for other stages.

        stage: the name of the stage, such as "aspects".
        """
        return None

    def request(self, sample: Sample) -> Request:
        """What is asked for one sample; its completions are draws of the same
        judgment.
        """
        return self.chat.request(self.render(sample), sample.id)

    def stages(self, samples: Sequence[Sample]) -> Stages[list[Judgment]]:
        """What is asked, stage by stage, and in the end one judgment a sample, in their
        order.

        A generator: it yields each `Stage` and is sent the answers, a list of draws for
        each request. This one has a single stage `score`, with one request a sample.
        """
        requests = [self.request(sample) for sample in samples]
        sampling = self.shaped()
        answers = yield Stage("score", requests, sampling, self.stand_in, last=True)
        return list(map(self.judged, answers, samples))

    def form(self, stage: str = "score") -> Mapping[str, Any]:
        """What `structured=True` holds a completion to.

        stage: the name of the stage.

        Returns: settings of `Sampling`: {"choice": choices}, {"regex": ...} or
        {"json_schema": ...}.
        Raises: ValueError where the evaluator names no form for the stage.
        """
        if self.choices:
            return {"choice": self.choices}
        raise ValueError(
            f"{self.name} has no form for the completions of stage {stage!r}; "
            "leave structured off"
        )

    def verdicts(self, sample: Sample | None = None) -> Mapping[str, float]:
        """The verdicts that a completion may state, each one token, and their scores,
        such as {"1": 1.0, "2": 2.0}.

        Empty where a verdict is more than a token: then nothing can be weighed.
        """
        return {name: float(name) for name in self.choices if name.isdigit()}

    def check_weighing(self, what: str = "weigh") -> None:
        """Pass where scores can be weighted by probabilities.

        what: the setting that asks for it, for the error.

        Raises: ValueError where the verdicts are no single tokens, the sampling is not
        greedy, or no log-probabilities are asked for.
        """
        verdicts = self.verdicts()
        if not verdicts:
            raise ValueError(
                f"{what}: a score of {self.name} is no token of a declared set"
            )
        if any(name.isdigit() and len(name) > 1 for name in verdicts):
            names = ", ".join(verdicts)
            raise ValueError(
                f"{what}, with {names}: "
                "numbers of more than one digit may be several tokens"
            )
        if self.sampling.temperature > 0 or not self.sampling.logprobs:
            raise ValueError(
                f"{what} needs temperature 0, and logprobs (20 unless given)"
            )

    def _weighted(
        self, completion: Completion, stated: Judgment, sample: Sample | None
    ) -> Judgment:
        """The judgment weighted by the probabilities at the place that was read.

        stated: the judgment as the text states it; returned where it is no number.
        """
        read = self.reader(sample)
        if read is None or stated.status is not Status.OK:
            return stated
        place = place_of(completion.text, read(completion.text))
        return weigh(completion, stated, place, self.verdicts(sample))

    def schema(self, stage: str = "score") -> Mapping[str, Any]:
        """The JSON schema to which `structured="json"` holds a completion; the parsers
        read what it gives.

        stage: the name of the stage.

        Raises: ValueError where the evaluator has none for the stage.
        """
        if self.choices and all(name.isdigit() for name in self.choices):
            return schemas.a_score(self.choices)
        raise ValueError(
            f"{self.name} has no JSON schema for the completions of stage {stage!r}; "
            "leave structured off"
        )

    def _forms(self) -> str | None:
        """What completions are held to, for the signature: the kinds of forms and a
        hash of them; None where they are free.
        """
        if not self.structured:
            return None
        forms = {}
        for stage in self.formed:
            if self.structured == "json":
                forms[stage] = {"json_schema": self.schema(stage)}
            else:
                forms[stage] = dict(self.form(stage))
        kinds = dict.fromkeys(kind for form in forms.values() for kind in form)
        return f"{'+'.join(kinds)}-{short_hash(canonical(forms))}"

    def settings(self) -> Mapping[str, Any]:
        """What a signature says of this evaluator beyond the judge, such as {"mode":
        "absolute", "rubric": True}; None leaves an entry out.
        """
        return {}

    def templates(self) -> Sequence[Template]:
        """The prompts that a score depends on, for their hashes in the signature."""
        return (self.template,) if self.template else ()

    def for_engine(self, engine: Engine | None = None) -> Self:
        """This evaluator as it asks an engine (by default its own).

        Another evaluator where it adapts to the checkpoint, as `Prometheus` does with
        `chat`.
        """
        return self

    def shaped(
        self,
        stage: str = "score",
        sampling: Sampling | None = None,
    ) -> Sampling:
        """The sampling settings of a stage, with its form where `structured` is set.

        stage: the name of the stage.
        sampling: settings of that stage; None for the evaluator's.
        """
        if sampling is None:
            sampling = self.sampling
        if self.structured == "json":
            return dataclasses.replace(sampling, json_schema=self.schema(stage))
        if self.structured:
            return dataclasses.replace(sampling, **self.form(stage))
        return sampling

    def read(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """`parse` of what is finished in the answer, never of its reasoning; weighted
        where `weigh` is set.

        Returns: FAILED where there is no completion, TRUNCATED where it was cut and
        gives nothing, EMPTY where it is reasoning alone, UNPARSED where JSON was asked
        for and is not whole; else what `parse` says, with the detail `cut` where the
        completion ended at the token limit.
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
            judgment = self._weighted(answer, judgment, sample)
        if answer.finish_reason == "length":
            judgment = _of_cut(judgment)
        return cut(answer, judgment)

    def judged(
        self,
        draws: Sequence[Completion],
        sample: Sample | None = None,
    ) -> Judgment:
        """One judgment from its draws: the mean of what each says, by the missing
        policy.

        draws: all completions of one request.
        """
        judgments = [self.read(completion, sample) for completion in draws]
        return combine(judgments, self.missing)

    def given(self, data: Any) -> list[Sample]:
        """The samples of a frame, one a row, or a list of them, checked for the texts
        that the prompt needs.

        Raises: ValueError where a needed text is missing, or scores cannot be weighted.
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
        """What the stages give in the end, asked of an engine.

        stages: a generator such as `stages(samples)`.
        engine, store, progress: in place of the evaluator's own; None for those.

        Raises: ValueError without an engine.
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
        """One judgment a row or sample, in their order.

        data: a frame, or a list of samples.
        engine, store, progress: in place of the evaluator's own; None for those.

        Raises: ValueError without an engine, or for a frame without what the prompt
        needs.
        """
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
        """`value, status, reason, details` for each row of a frame, or each of a list
        of samples (index: their ids).

        data, engine, store, progress: as for `judge`.

        Returns: a frame with the index of `data`; `details` is a mapping a row; `attrs`
        hold the signature and the counts.
        Raises: as `judge`.
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
        """The score frame of judgments, with their details.

        index: the rows' labels, as many as there are judgments.
        engine: the one that was asked, for the signature; None for the evaluator's.

        Returns: as `score`; `attrs["details"]` counts `n`, `n_ok`, `coverage` (their
        share, None for no rows), and the judgments of each other status.
        """
        tally = Counter(judgment.status.value for judgment in judgments)
        n = len(judgments)
        n_ok = tally.pop(Status.OK.value, 0)
        coverage = n_ok / n if n else None
        counts = {"n": n, "n_ok": n_ok, "coverage": coverage, **tally}
        frame = score_frame(index, judgments, self.signature(engine), counts)
        return frame.assign(details=[dict(judgment.details) for judgment in judgments])

    def plan(
        self,
        data: Any,
        engine: Engine | None = None,
        store: Store | None = None,
    ) -> list[Stage]:
        """The stages that `score` would ask, none of them asked.

        engine, store: as for `score`; what the store has already is looked up there.

        Returns: the stages in their order; those that rest on answers to come are not
        `exact`.
        """
        stages = self.for_engine(engine).stages(self.given(data))
        if store is None:
            store = self.store
        return staged.plan(stages, engine or self.engine, store)

    def signature(self, engine: Engine | None = None) -> str:
        """Everything that determines a score but the texts: prompt, parser, engine,
        model, sampling, policies.

        engine: the one that is asked; None for the evaluator's.
        """
        engine = engine or self.engine
        bound = self.for_engine(engine)
        hashes = "+".join(template.sha[:8] for template in bound.templates())
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
                structured=bound._forms(),
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
    and of an answer that was cut at the token limit what is finished.

    lists: the answer is a list, which ends with a whole item; else it loses its last
    word, which may be half of one. The bare number of a judge that may write one or two
    tokens is finished, and so is an object in JSON.
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
    """The judgment of a cut text, marked as such by the detail `cut`.

    A number that nothing but its form ("3/5") presents is none: a text that goes on
    gives its score in other words.
    """
    details = {**judgment.details, "cut": True}
    if judgment.status is Status.OK and details.get("rule") == "form":
        reason = "only the form of a number makes it a score"
        return Judgment.missing(Status.UNPARSED, reason, **details)
    return dataclasses.replace(judgment, details=details)


def cut(completion: Completion, judgment: Judgment) -> Judgment:
    """The judgment; TRUNCATED where its completion was cut at the token limit and gives
    nothing.

    Only UNPARSED and EMPTY become TRUNCATED: a refusal or a number that was read stays.
    """
    gives_nothing = judgment.status in (Status.UNPARSED, Status.EMPTY)
    if gives_nothing and completion.finish_reason == "length":
        reason = f"cut at the token limit; {judgment.reason}"
        if completion.reasoning:
            reason += f"; {_MORE_ROOM}"
        return dataclasses.replace(judgment, status=Status.TRUNCATED, reason=reason)
    return judgment


def combine(judgments: Sequence[Judgment], missing: str = "drop") -> Judgment:
    """The mean of the draws of one judgment; a single draw stays what it is.

    judgments: one for each draw.
    missing: what becomes of draws without a number. drop: the mean of the others. all:
    one makes the judgment missing. fill:X: one whose text gave no number counts as X;
    draws that the engine could not produce are dropped.

    Returns: details are those of a single draw, or of several draws `values`,
    `statuses` and `draws`; in both cases with `n` draws, `n_missing` of them without a
    number. The reason of a mean over fewer draws says how many; without any number,
    status and reason are the most frequent ones.
    """
    if not judgments:
        return Judgment.missing(
            Status.FAILED,
            "no completion came back",
            n=0,
            n_missing=0,
        )
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
        # A filled value is one of the values: only a dropped draw is mentioned.
        if len(values) < len(judgments):
            reason = f"mean of {len(values)} of {len(judgments)} draws"
        return Judgment(mean, Status.OK, reason, MappingProxyType(details))
    status, reason = most_frequent(without)
    if len(judgments) > 1:
        reason = f"{len(without)} of {len(judgments)} draws missing: {reason}"
    return Judgment(math.nan, status, reason, MappingProxyType(details))


def most_frequent(missing: Sequence[Judgment]) -> tuple[Status, str]:
    """The most frequent status of judgments without a number, and the first reason
    given for it.

    missing: at least one judgment; of equally frequent statuses the one that comes
    first counts.
    """
    statuses = [judgment.status for judgment in missing]
    [(status, _)] = Counter(statuses).most_common(1)
    return status, missing[statuses.index(status)].reason


def make_sampling(
    defaults: Mapping[str, Any], settings: Sampling | Mapping[str, Any] | None
) -> Sampling:
    """An evaluator's sampling settings, with those of the caller in place of some or
    all.

    defaults: the evaluator's, by name.
    settings: a whole `Sampling`, which counts alone; or some of its fields; None for
    none.

    Raises: ValueError for a name that `Sampling` does not have, with those it has.
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
    """The first 8 hexadecimal digits of a text's hash, for signatures."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def numbers(low: int, high: int) -> tuple[str, ...]:
    """The scores of a scale of whole numbers, as they are written.

    Raises: ValueError for ends that are no whole numbers, or where low is not below
    high.

    Example:
    >>> numbers(1, 4)
    ('1', '2', '3', '4')
    """
    if not (isinstance(low, int) and isinstance(high, int) and low < high):
        raise ValueError(
            "a scale of whole numbers with low < high is needed, "
            f"got {low!r} to {high!r}"
        )
    return tuple(map(str, range(low, high + 1)))
