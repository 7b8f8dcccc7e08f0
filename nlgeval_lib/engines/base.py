"""What every engine is: requests in, completions out, each under the key of what determines it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nlgeval_lib.engines.sampling import Sampling, UnsupportedSetting
from nlgeval_lib.engines.store import draw_keys
from nlgeval_lib.records import Completion

ROLES = ("system", "user", "assistant")


class EngineError(RuntimeError):
    """An engine cannot work at all: no model, no server, no key. The message says what to do."""


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt: a rendered text, or the messages of a chat that the model's own template will render.

    `id` is the caller's name for it, shown where it fails; it takes no part in the key.
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
            object.__setattr__(self, "messages", tuple(_message(m) for m in self.messages))
            if not self.messages:
                raise ValueError("messages is empty: at least one message is needed")

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


def _message(message: Mapping[str, str]) -> dict[str, str]:
    """A checked copy of a message."""
    if set(message) != {"role", "content"} or not all(isinstance(value, str) for value in message.values()):
        raise ValueError(f"message {dict(message)!r}: a text `role` and a text `content` are needed, and nothing else")
    if message["role"] not in ROLES:
        raise ValueError(f"message role {message['role']!r}: allowed are {', '.join(ROLES)}")
    return {"role": message["role"], "content": message["content"]}


@dataclass(frozen=True, slots=True)
class Ask:
    """One completion to make: a request, which draw of it, and its key and seed."""

    request: Request
    draw: int
    key: str
    seed: int | None

    @classmethod
    def all(cls, request: Request, body: Mapping[str, Any], sampling: Sampling) -> list[Ask]:
        """The n draws of one request. A draw's seed is made from its key, so no two draws share their noise."""
        seeded = sampling.seed is not None and sampling.temperature > 0
        keys = draw_keys(body, range(sampling.n))
        return [cls(request, i, key, int(key[:8], 16) >> 1 if seeded else None) for i, key in enumerate(keys)]


class Engine(ABC):
    """Something that completes prompts with one model.

    Attributes: `name`, the engine's short name; `model` and `revision`, which enter every key.
    """

    name: str = "engine"
    model: str
    revision: str

    @abstractmethod
    def check(self, sampling: Sampling) -> None:
        """Nothing if the backend honours every setting. Raises: UnsupportedSetting naming the one that it does not."""

    @abstractmethod
    def generate(self, asks: Sequence[Ask], sampling: Sampling) -> Iterator[list[Completion]]:
        """The completions of `asks`, in any order, yielded as they are finished; each carries its ask's key.

        One that cannot be had is a completion with finish reason "error" and the reason. Closing the iterator stops the
        work. Raises: EngineError where nothing more can be had from this engine.
        """

    def count_tokens(self, requests: Sequence[Request]) -> list[int] | None:
        """Prompt tokens of each request, or None where this engine has no tokenizer at hand."""
        return None

    def signature(self) -> str:
        """`engine:NAME|model:ID@REVISION`."""
        return f"engine:{self.name}|model:{self.model}@{self.revision}"

    def close(self) -> None:  # noqa: B027 - most engines hold nothing
        """Free what the engine holds."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.model!r}, revision={self.revision!r})"

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refuse(self, sampling: Sampling, *names: str, why: str = "") -> None:
        """Raise UnsupportedSetting if one of the settings `names` is not at its default."""
        plain = Sampling()
        for name in names:
            if getattr(sampling, name) != getattr(plain, name):
                raise UnsupportedSetting(
                    f"{type(self).__name__} cannot honour {name}={getattr(sampling, name)!r}{': ' + why if why else ''}"
                )


def failed(ask: Ask, reason: str) -> Completion:
    """The error completion of an ask."""
    return Completion(key=ask.key, text="", finish_reason="error", error=re.sub(r"\s+", " ", reason).strip()[:1000])
