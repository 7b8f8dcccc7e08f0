"""What every engine is: requests and settings in, completions out, each under the key of what determines it."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, ValidationError

from nlgeval_lib.records import Completion

ROLES = ("system", "user", "assistant")


class EngineError(RuntimeError):
    """An engine cannot work at all: no model, no server, no key. The message says what to do."""


class UnsupportedSetting(ValueError):
    """An engine was given a setting that its backend cannot honour."""


def canonical(value: Any) -> str:
    """JSON with sorted keys, no blanks, only ASCII: equal everywhere. Raises: TypeError, ValueError, as for NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def request_key(body: Mapping[str, Any]) -> str:
    """The sha256 of what is asked (model, revision, prompt or messages, sampling), as 64 hex digits."""
    return hashlib.sha256(canonical(body).encode()).hexdigest()


def draw_keys(body: Mapping[str, Any], draws: Sequence[int]) -> list[str]:
    """The keys of some draws of one request: sha256 of the canonical JSON of the body with `"draw": i`."""
    rest = canonical(body)[1:]  # "draw" sorts before every other name of the body
    return [hashlib.sha256(f'{{"draw":{draw},{rest}'.encode()).hexdigest() for draw in draws]


def _canonical(schema: Mapping[str, Any] | str | None) -> str | None:
    """A JSON schema, or its text, as canonical text."""
    try:
        found = json.loads(schema) if isinstance(schema, str) else schema
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    if not isinstance(found, Mapping | None):
        raise ValueError("a JSON object is needed")
    return None if found is None else canonical(found)


_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
_Whole = Annotated[int, Field(strict=True, ge=0)]
_Text = Annotated[str, Field(min_length=1)]
_Texts = Annotated[tuple[_Text, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling settings. The defaults are greedy decoding of up to 512 tokens.

    temperature          0 is greedy; above it, the softmax's temperature
    top_p, top_k         nucleus in (0, 1]; the k likeliest tokens, 0 for all
    max_tokens           new tokens at most
    repetition_penalty   1 is none; divides the logits of tokens that were seen, in the prompt too
    n                    draws a prompt; they are drawn, stored and counted one by one
    seed                 None is unseeded; else each draw gets a seed of its own, made from this and all else that it is
    stop                 texts that end the completion and are not part of it
    logprobs             None: none; k: the written token and the k likeliest, natural logarithms before any reshaping
    choice, regex, json_schema   at most one: the completion is one of these texts, matches, or is JSON of this schema

    Raises: ValueError for a value out of its range. Changing `n` changes no draw that is stored already.
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
    json_schema: Annotated[Mapping[str, Any] | str | None, AfterValidator(_canonical)] = None

    def __post_init__(self) -> None:
        for name, kind in _kinds().items():
            try:
                object.__setattr__(self, name, kind.validate_python(getattr(self, name)))
            except ValidationError as error:
                raise ValueError(f"{name}={getattr(self, name)!r}: {error.errors()[0]['msg']}") from None
        if self.n > 1 and self.temperature == 0:
            raise ValueError(f"n={self.n} with temperature 0: greedy draws are all the same; ask for one or sample")
        if self.choice is not None and len(set(self.choice)) != len(self.choice):
            raise ValueError(f"choice={self.choice!r}: different texts are needed")
        if len(given := self._forms()) > 1:
            raise ValueError(f"{' and '.join(given)}: give at most one form for the completion")

    def _forms(self) -> list[str]:
        return [name for name in ("choice", "regex", "json_schema") if getattr(self, name) is not None]

    @property
    def form(self) -> dict[str, Any]:
        """The form of a structured completion in vLLM's terms: `choice`, `regex` or `json`; empty without one."""
        if self.json_schema is not None:
            return {"json": json.loads(str(self.json_schema))}
        forms = {"choice": self.choice and list(self.choice), "regex": self.regex}
        return {name: value for name, value in forms.items() if value is not None}

    def key(self) -> dict[str, Any]:
        """What of the settings determines one draw, as JSON values: all but `n`, what greedy decoding ignores, and what
        is not set, so that a setting that is added one day leaves older keys as they are.
        """
        greedy = self.temperature == 0
        key: dict[str, Any] = {
            "temperature": self.temperature,
            "top_p": 1.0 if greedy else self.top_p,
            "top_k": 0 if greedy else self.top_k,
            "max_tokens": self.max_tokens,
            "repetition_penalty": self.repetition_penalty,
            "seed": None if greedy else self.seed,
        }
        for name in ("stop", "logprobs", "choice", "regex", "json_schema"):
            value = getattr(self, name)
            if value is not None and value != ():
                key[name] = list(value) if isinstance(value, tuple) else value
        return key

    def signature(self) -> str:
        """Short text for an evaluator's signature, such as `T:1.0|top_p:0.9|max:256|n:3|seed:0`."""
        parts = [f"T:{self.temperature:g}"]
        names = {"top_p": "top_p", "top_k": "top_k", "max_tokens": "max", "repetition_penalty": "rep", "n": "n"}
        plain = {"top_p": 1.0, "top_k": 0, "repetition_penalty": 1.0}
        for name, short in names.items():
            if getattr(self, name) != plain.get(name):
                parts.append(f"{short}:{getattr(self, name):g}")
        if self.temperature > 0:
            parts.append(f"seed:{'none' if self.seed is None else self.seed}")
        return "|".join([*parts, *self._forms()])


@functools.cache
def _kinds() -> dict[str, TypeAdapter[Any]]:
    """What checks each setting, and makes it the type that it is kept as."""
    return {name: TypeAdapter(hint) for name, hint in get_type_hints(Sampling, include_extras=True).items()}


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt: a rendered text, or the messages of a chat. `id` names it where it fails, and is no part of the key.

    Raises: ValueError unless exactly one of `prompt` and `messages` is given and well formed.
    """

    prompt: str | None = None
    messages: tuple[Mapping[str, str], ...] | None = None
    id: str = ""

    def __post_init__(self) -> None:
        if (self.prompt is None) == (self.messages is None):
            raise ValueError("a request has either a prompt or messages")
        if self.prompt is not None and not isinstance(self.prompt, str):
            raise ValueError(f"prompt is a {type(self.prompt).__name__}: a text is needed")
        if self.messages is not None:
            object.__setattr__(self, "messages", tuple(dict(message) for message in self.messages))
            if not self.messages:
                raise ValueError("messages is empty: at least one message is needed")
            needed = f"a `role` (allowed are {', '.join(ROLES)}) and a text `content` are needed, nothing else"
            for one in self.messages:
                if set(one) != {"role", "content"} or one["role"] not in ROLES or not isinstance(one["content"], str):
                    raise ValueError(f"message {one!r}: {needed}")

    @classmethod
    def chat(cls, user: str, system: str = "", id: str = "") -> Request:
        """A chat of one user message, after a system message if there is one."""
        messages = [{"role": "system", "content": system}] if system else []
        return cls(messages=(*messages, {"role": "user", "content": user}), id=id)

    def text(self) -> str:
        """The prompt, or the messages' contents one after another: for counting and sorting, not for a model."""
        return self.prompt or "" if self.messages is None else "\n".join(m["content"] for m in self.messages)

    def body(self, engine: Engine, sampling: Sampling) -> dict[str, Any]:
        """What is asked, as the store keeps it."""
        prompt = {"prompt": self.prompt} if self.messages is None else {"messages": [dict(m) for m in self.messages]}
        return {"model": engine.model, "revision": engine.revision, **prompt, "sampling": sampling.key()}

    def keys(self, engine: Engine, sampling: Sampling) -> list[str]:
        """The keys of its n draws."""
        return draw_keys(self.body(engine, sampling), range(sampling.n))


@dataclass(frozen=True, slots=True)
class Ask:
    """One completion to make: a request, which draw of it, and its key and seed."""

    request: Request
    draw: int
    key: str
    seed: int | None

    @classmethod
    def of(cls, request: Request, draw: int, key: str, sampling: Sampling) -> Ask:
        """One draw. Its seed is made from its key, so no two draws share their noise."""
        seeded = sampling.seed is not None and sampling.temperature > 0
        return cls(request, draw, key, int(key[:8], 16) >> 1 if seeded else None)


class Engine(contextlib.AbstractContextManager["Engine"], ABC):
    """Something that completes prompts with one model; `model` and `revision` enter every key."""

    name: str = "engine"
    streams = False  # whether `generate` takes an endless iterator too, in which None is nothing at the moment
    shard = (1, 1)  # `complete` asks part i of n of what is missing, by key
    slice = 1 << 16  # draws that `complete` looks up and asks at a time; about 2.5 kB of memory each beside the prompts
    model: str
    revision: str

    def check(self, sampling: Sampling) -> None:
        """Nothing if the backend honours every setting. Raises: UnsupportedSetting naming the one that it does not."""

    @abstractmethod
    def generate(self, asks: Sequence[Ask], sampling: Sampling) -> Iterator[list[Completion]]:
        """The completions of `asks`, in any order, as they are finished; `failed` ones of what cannot be had.

        Closing the iterator stops the work. Raises: EngineError where nothing more can be had from this engine.
        """

    def count_tokens(self, requests: Sequence[Request]) -> list[int] | None:
        """Prompt tokens of each request, or None where this engine has no tokenizer at hand."""
        return None

    def signature(self) -> str:
        """`engine:NAME|model:ID@REVISION`."""
        return f"engine:{self.name}|model:{self.model}@{self.revision}"

    def maker(self) -> str:
        """What runs the model, with its version where that is known, such as `vllm 0.32.0`."""
        package = sys.modules.get(self.name)
        return f"{self.name} {getattr(package, '__version__', '')}".rstrip()

    def close(self) -> None:
        """Free what the engine holds."""

    def __exit__(self, *_: object) -> None:
        self.close()

    def _made(self, ask: Ask, text: str, **more: Any) -> Completion:
        """A finished completion of this engine's model; more: its finish reason, token counts and log-probabilities."""
        return Completion(ask.key, text, model=self.model, revision=self.revision, **more)

    def _refuse(self, sampling: Sampling, *names: str, why: str) -> None:
        """Raises: UnsupportedSetting if one of the settings `names` is not at its default."""
        for name in names:
            if (value := getattr(sampling, name)) != getattr(Sampling(), name):
                raise UnsupportedSetting(f"engine {self.name} cannot honour {name}={value!r}: {why}")


def failed(ask: Ask, reason: str, passing: bool = False) -> Completion:
    """The error completion of an ask. passing: it says nothing about the prompt."""
    said = re.sub(r"\s+", " ", reason).strip()[:1000]
    return Completion(key=ask.key, text="", finish_reason="error", error=said, passing=passing)


def likeliest(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Log-probabilities by their tokens' texts, in order; the largest where tokens share one (parts of a character)."""
    row: dict[str, float] = {}
    for text, value in pairs:
        row[text] = max(row.get(text, -math.inf), float(value))
    return row
