"""What every engine is: requests and settings in, completions out, each under the key
of what determines it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
)

from nlgeval_lib import files
from nlgeval_lib.errors import Told
from nlgeval_lib.records import Completion

ROLES = ("system", "user", "assistant")


class EngineError(Told, RuntimeError):
    """An engine cannot work at all: no model, no server, no key; and what to do."""


class UnsupportedSetting(Told, ValueError):
    """An engine was given a setting that its backend cannot honour."""

    without: tuple[str, ...] = ()  # the options of a command that asks without it


def canonical(value: Any) -> str:
    """JSON with sorted keys, no blanks, only ASCII: equal everywhere."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def request_key(body: Mapping[str, Any]) -> str:
    """The sha256 of a request's body (of `Request.body`), as 64 hex digits."""
    return _sha256(canonical(body))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def draw_keys(body: Mapping[str, Any], draws: Sequence[int]) -> list[str]:
    """The keys of some draws of one request's body: each the sha256 of the canonical
    JSON of the body with `"draw": i` (from 0), as 64 hex digits.
    """
    # "draw" sorts before every other name of the body, so it can be put in front
    body_text = canonical(body)[1:]
    return [_sha256(f'{{"draw":{draw},{body_text}') for draw in draws]


def _canonical(schema: Mapping[str, Any] | str | None) -> str | None:
    """A JSON schema, or its text, as canonical text; None stays None."""
    if isinstance(schema, str):
        try:
            schema = files.from_json(schema)
        except ValueError as error:
            raise ValueError(f"it is not JSON: {error}") from None
    if schema is None:
        return None
    if not isinstance(schema, Mapping):
        raise ValueError("a JSON object is needed")
    return canonical(schema)


def _as_texts(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
_Whole = Annotated[int, Field(strict=True, ge=0)]
_Text = Annotated[str, Field(min_length=1)]
_Texts = Annotated[tuple[_Text, ...], BeforeValidator(_as_texts)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling settings. The defaults are greedy decoding of up to 512 tokens.

    temperature: 0 is greedy decoding; above 0, the softmax's temperature.
    top_p: the nucleus, in (0, 1]; 1 is all.
    top_k: only so many likeliest tokens; 0 is all.
    max_tokens: new tokens at most.
    repetition_penalty: 1 is none; divides the logits of tokens that were read or
    written already.
    n: draws for each prompt; each is drawn, stored and counted alone.
    seed: None is unseeded; else each draw gets its own seed, made from this one and
    everything else that determines the draw.
    stop: texts that end the completion and are not part of it.
    logprobs: None is none; k is the written token and the k likeliest ones, as natural
    logarithms before any reshaping.
    choice, regex, json_schema: the completion is one of these texts, matches this
    pattern, or is JSON of this schema; at most one of the three.

    Raises: ValueError for a value out of its range, more than one draw of greedy
    decoding, and more than one form.
    """

    temperature: Annotated[_Number, Field(ge=0)] = 0.0
    top_p: Annotated[_Number, Field(gt=0, le=1)] = 1.0
    top_k: _Whole = 0
    max_tokens: Annotated[_Whole, Field(ge=1)] = 512
    repetition_penalty: Annotated[_Number, Field(gt=0)] = 1.0
    n: Annotated[_Whole, Field(ge=1)] = 1
    seed: _Whole | None = 0
    stop: _Texts = ()
    logprobs: _Whole | None = None
    choice: Annotated[_Texts, Field(min_length=1)] | None = None
    regex: _Text | None = None
    json_schema: Annotated[
        Mapping[str, Any] | str | None, AfterValidator(_canonical)
    ] = None

    def __post_init__(self) -> None:
        for name, adapter in _adapters().items():
            value = getattr(self, name)
            try:
                checked = adapter.validate_python(value)
            except ValidationError as error:
                problem = error.errors()[0]["msg"]
                raise ValueError(f"{name}={value!r}: {problem}") from None
            object.__setattr__(self, name, checked)
        if self.n > 1 and self.temperature == 0:
            raise ValueError(
                f"n={self.n} with temperature 0: greedy draws are all the same; "
                "ask for one or sample"
            )
        if self.choice is not None and len({*self.choice}) != len(self.choice):
            raise ValueError(f"choice={self.choice!r}: different texts are needed")
        forms = self._forms()
        if len(forms) > 1:
            raise ValueError(
                f"{' and '.join(forms)}: give at most one form for the completion"
            )

    def _forms(self) -> list[str]:
        names = ("choice", "regex", "json_schema")
        return [name for name in names if getattr(self, name) is not None]

    @property
    def form(self) -> dict[str, Any]:
        """The form of a structured completion by vLLM's name of it; empty for none."""
        if self.json_schema is not None:
            return {"json": json.loads(str(self.json_schema))}
        if self.choice is not None:
            return {"choice": list(self.choice)}
        if self.regex is not None:
            return {"regex": self.regex}
        return {}

    def key(self) -> dict[str, Any]:
        """The settings that determine one draw, as JSON values: without `n`, and
        without those that greedy decoding ignores or that are not set, so that older
        keys stay.
        """
        key: dict[str, Any] = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "top_k": self.top_k,
            "max_tokens": self.max_tokens,
            "repetition_penalty": self.repetition_penalty,
            "seed": self.seed,
        }
        if self.temperature == 0:
            # greedy decoding ignores these three
            key |= {"top_p": 1.0, "top_k": 0, "seed": None}
        for name in ("stop", "logprobs", "choice", "regex", "json_schema"):
            value = getattr(self, name)
            if value is not None and value != ():
                key[name] = list(value) if isinstance(value, tuple) else value
        return key

    def signature(self) -> str:
        """Short text for an evaluator's signature; stop texts and a form by a hash.

        Example:
            >>> Sampling(temperature=1, top_p=0.9, n=3, max_tokens=256).signature()
            'T:1|top_p:0.9|max:256|n:3|seed:0'
        """
        parts = [f"T:{self.temperature:g}"]
        names = {
            "top_p": "top_p",
            "top_k": "top_k",
            "max_tokens": "max",
            "repetition_penalty": "rep",
            "n": "n",
        }
        plain = {"top_p": 1.0, "top_k": 0, "repetition_penalty": 1.0}
        for name, short in names.items():
            if getattr(self, name) != plain.get(name):
                parts.append(f"{short}:{getattr(self, name):g}")
        if self.temperature > 0:
            parts.append(f"seed:{'none' if self.seed is None else self.seed}")
        for name in ("stop", *self._forms()):
            value = getattr(self, name)
            if value:
                parts.append(f"{name}:{_sha256(canonical(value))[:8]}")
        return "|".join(parts)


@functools.cache
def _adapters() -> dict[str, TypeAdapter[Any]]:
    """For each setting, what checks its value and converts it to the stored type."""
    hints = get_type_hints(Sampling, include_extras=True)
    return {name: TypeAdapter(hint) for name, hint in hints.items()}


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt: a rendered text, or the messages of a chat."""

    prompt: str | None = None
    # each with `role` (of `ROLES`) and `content`, and nothing else
    messages: tuple[Mapping[str, str], ...] | None = None
    id: str = ""  # names the request where it fails; it is no part of the key

    def __post_init__(self) -> None:
        if (self.prompt is None) == (self.messages is None):
            raise ValueError("a request has either a prompt or messages")
        if self.prompt is not None and not isinstance(self.prompt, str):
            raise ValueError(
                f"prompt is a {type(self.prompt).__name__}: a text is needed"
            )
        if self.messages is None:
            return
        messages = tuple(dict(message) for message in self.messages)
        object.__setattr__(self, "messages", messages)
        if not messages:
            raise ValueError("messages is empty: at least one message is needed")
        for message in messages:
            is_text = isinstance(message.get("content"), str)
            if len(message) != 2 or message.get("role") not in ROLES or not is_text:
                raise ValueError(
                    f"message {message!r}: a `role` (allowed are {', '.join(ROLES)}) "
                    "and a text `content` are needed, nothing else"
                )

    @classmethod
    def chat(cls, user: str, system: str = "", id: str = "") -> Request:
        """A chat of one user message, after a system message if there is one."""
        messages = [{"role": "user", "content": user}]
        if system:
            messages.insert(0, {"role": "system", "content": system})
        return cls(messages=tuple(messages), id=id)

    def text(self) -> str:
        """The prompt, or the messages' contents, to count and to sort by."""
        if self.messages is None:
            return self.prompt or ""
        return "\n".join(message["content"] for message in self.messages)

    def digest(self) -> bytes:
        """16 bytes that stand for the prompt or the messages, whoever is asked."""
        parts = [self.prompt or ""]
        for message in self.messages or ():
            # with its length before it, no content can pass for two messages
            content = message["content"]
            parts.append(f"{message['role']}:{len(content)}:{content}")
        text = "".join(parts).encode("utf-8", "surrogatepass")
        kind = b"prompt" if self.messages is None else b"messages"
        return hashlib.blake2b(text, digest_size=16, person=kind).digest()

    def body(self, engine: Engine, sampling: Sampling) -> dict[str, Any]:
        """Everything that determines the request's completions, as the store has it."""
        body: dict[str, Any] = {"model": engine.model, "revision": engine.revision}
        if self.messages is None:
            body["prompt"] = self.prompt
        else:
            body["messages"] = [dict(message) for message in self.messages]
        body["sampling"] = sampling.key()
        return body

    def keys(self, engine: Engine, sampling: Sampling) -> list[str]:
        """The keys of its n draws, in their order."""
        return draw_keys(self.body(engine, sampling), range(sampling.n))


@dataclass(frozen=True, slots=True)
class Ask:
    """One completion to make."""

    request: Request
    draw: int  # which draw of it, from 0
    key: str  # of the draw, 64 hex digits
    seed: int | None  # of the draw alone; None for greedy and for unseeded drawing
    again: int = 0  # how often its answer was thrown away before

    @classmethod
    def from_draw(
        cls, request: Request, draw: int, key: str, sampling: Sampling, again: int = 0
    ) -> Ask:
        """One draw with its seed, made from the key: no two share their noise."""
        seed = None
        if sampling.seed is not None and sampling.temperature > 0:
            digits = _sha256(f"{key} {again}") if again else key
            seed = int(digits[:8], 16) >> 1
        return cls(request, draw, key, seed, again)


class Engine(contextlib.AbstractContextManager["Engine"], ABC):
    """Something that completes prompts with one model; `model` and `revision` enter
    every key. A subclass sets both and `name`, and writes `generate`.
    """

    name: str = "engine"
    # Whether `generate` also takes an endless iterator. None in it means that there is
    # nothing to do at the moment.
    streams = False
    # `complete` asks for part i of n of the missing completions, chosen by their keys
    shard = (1, 1)
    model: str
    revision: str

    def __repr__(self) -> str:
        revision = getattr(self, "revision", "")
        at = f"@{revision}" if revision else ""
        return f"{type(self).__name__}({getattr(self, 'model', '')}{at})"

    def check(self, sampling: Sampling) -> None:
        """Raises: UnsupportedSetting naming a setting that is not honoured."""

    @abstractmethod
    def generate(
        self, asks: Sequence[Ask], sampling: Sampling
    ) -> Iterator[list[Completion]]:
        """The completions of `asks`, in any order, in batches as they are finished.

        Each is answered once; one that cannot be made is a `failed` one. Closing the
        iterator stops the work. EngineError where nothing more can be completed.
        """

    def signature(self) -> str:
        """What answers, for records: `engine:NAME|model:ID@REVISION`."""
        return f"engine:{self.name}|model:{self.model}@{self.revision}"

    def maker(self) -> str:
        """What runs the model, such as `vllm 0.32.0`, or the name alone."""
        version = getattr(sys.modules.get(self.name), "__version__", "")
        return f"{self.name} {version}".rstrip()

    def close(self) -> None:
        """Free what the engine holds."""

    def __exit__(self, *_: object) -> None:
        self.close()

    def _made(self, ask: Ask, *, text: str, **facts: Any) -> Completion:
        return Completion(
            ask.key, text, model=self.model, revision=self.revision, **facts
        )


def failed(ask: Ask, reason: str, passing: bool = False) -> Completion:
    """The error completion of an ask; passing: it says nothing about the prompt."""
    error = " ".join(reason.split())[:1000]
    return Completion(ask.key, "", "error", error=error, passing=passing)


def likeliest(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Log-probabilities by their tokens' texts, the largest of each text."""
    row: dict[str, float] = {}
    for text, value in pairs:
        row[text] = max(row.get(text, -math.inf), float(value))
    return row
