"""What an OpenAI-compatible server is sent, over what, and what can be read from its answer."""

from __future__ import annotations

import email.utils
import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from nlgeval_lib.engines.base import Request, Sampling

# what servers call an end at the token limit, and an end that is none; what else they say is kept as they say it
_CUT = ("length", "max_tokens", "max_length", "model_length")
_BROKEN = ("error", "abort", "aborted", "cancelled", "canceled")
_HALVES = re.compile(r"[\ud800-\udfff]")  # JSON can escape half a character, which no file and no tokenizer takes
MOST_BYTES = 64 << 20  # of an answer
_START = 12  # as much of a key's beginning is taken for the key: an excerpt may end within it
SECRET = 16  # characters; what is shorter is no key but a word such as "EMPTY" for a server that wants none


class AttemptFailed(Exception):
    """What an attempt at a request came to.

    wait: seconds until another attempt, at the least; None where there should be none. hopeless: no request of this run
    will fare better.
    """

    def __init__(self, reason: str, wait: float | None = None, hopeless: bool = False) -> None:
        super().__init__(reason)
        self.wait, self.hopeless = wait, hopeless


class BadAnswer(ValueError):
    """The server answered, but not with a completion."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One completion of an answer."""

    text: str
    finish_reason: str
    logprobs: tuple[dict[str, float], ...] | None


@dataclass(frozen=True, slots=True)
class Answer:
    """The completions of one call, its token counts (None where the server gave none), and the model that it names."""

    choices: tuple[Choice, ...]
    prompt_tokens: int | None
    completion_tokens: int | None
    model: str


def body(
    request: Request, sampling: Sampling, *, model: str, count: int, seed: int | None, dialect: str, limit_field: str
) -> dict[str, Any]:
    """The JSON of one call. Settings at their neutral value are sent too: a server's own defaults may differ."""
    asked: dict[str, Any] = {
        "model": model,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        limit_field: sampling.max_tokens,
        "n": count,
    }
    if request.messages is None:
        asked["prompt"] = request.prompt
        if sampling.logprobs is not None:
            asked["logprobs"] = sampling.logprobs
    else:
        asked["messages"] = [dict(message) for message in request.messages]
        if sampling.logprobs is not None:
            asked["logprobs"] = True
            asked["top_logprobs"] = sampling.logprobs
    if seed is not None:
        asked["seed"] = seed
    if sampling.stop:
        asked["stop"] = list(sampling.stop)
    if dialect == "vllm":
        asked["top_k"] = sampling.top_k
        asked["repetition_penalty"] = sampling.repetition_penalty
        if sampling.form:
            asked["structured_outputs"] = sampling.form
    elif sampling.json_schema is not None:
        schema = {"name": "answer", "schema": sampling.schema, "strict": True}
        asked["response_format"] = {"type": "json_schema", "json_schema": schema}
    return asked


def read(content: bytes, *, chat: bool, count: int, sampling: Sampling) -> Answer:
    """The answer in a response's body. Raises: BadAnswer saying what is wrong with it."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"not JSON: {error}; it begins {content[:60]!r}") from None
    if not isinstance(answer, dict):
        raise BadAnswer(f"JSON, but no object: it begins {content[:60]!r}")
    if answer.get("error"):
        raise BadAnswer(f"an error in place of a completion: {str(answer['error'])[:200]}")
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices:
        raise BadAnswer("no choices in it")
    if len(choices) != count:
        raise BadAnswer(f"{len(choices)} choices where {count} were asked")
    usage = answer.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Answer(
        tuple(_choice(choice, chat, sampling) for choice in choices),
        _tokens(usage.get("prompt_tokens")),
        _tokens(usage.get("completion_tokens")),
        str(answer.get("model") or ""),
    )


def _tokens(value: Any) -> int | None:
    """A token count, or None where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _choice(choice: Any, chat: bool, sampling: Sampling) -> Choice:
    """One choice, read without trust."""
    if not isinstance(choice, dict):
        raise BadAnswer("a choice that is no object")
    reason = choice.get("finish_reason")
    if reason is not None and not isinstance(reason, str):
        raise BadAnswer(f"a finish reason that is no text: {reason!r}")
    if reason and reason.lower() in _BROKEN:
        raise BadAnswer(f"finish reason {reason!r}")
    if reason and reason.lower() in _CUT:
        reason = "length"
    if chat:
        message = choice.get("message")
        if not isinstance(message, dict):
            raise BadAnswer("a choice without a message")
        text = message.get("content")
        if text is None:
            text = message.get("refusal") or ""
    else:
        text = choice.get("text")
    if not isinstance(text, str):
        raise BadAnswer("a choice whose text is no text")
    table = None
    if sampling.logprobs is not None:
        try:
            table = _chat_logprobs(choice["logprobs"]) if chat else _text_logprobs(choice["logprobs"])
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise BadAnswer("no log-probabilities in it, and they were asked") from None
    return Choice(_HALVES.sub("\ufffd", text), reason or "stop", table)


def _add(row: dict[str, float], token: str, value: float) -> None:
    if (value := float(value)) != value:
        raise ValueError("NaN")
    row[token] = max(row.get(token, -float("inf")), value)


def _chat_logprobs(found: Mapping[str, Any]) -> tuple[dict[str, float], ...]:
    """Of a chat: for every token, its own log-probability first, then the alternatives'."""
    table = []
    for position in found["content"]:
        row: dict[str, float] = {}
        _add(row, position["token"], position["logprob"])
        for other in position["top_logprobs"] or ():
            _add(row, other["token"], other["logprob"])
        table.append(row)
    return tuple(table)


def _text_logprobs(found: Mapping[str, Any]) -> tuple[dict[str, float], ...]:
    """Of a text completion: the same."""
    table = []
    tokens: Sequence[str] = found["tokens"]
    others = found.get("top_logprobs") or [None] * len(tokens)
    for token, value, top in zip(tokens, found["token_logprobs"], others, strict=True):
        row: dict[str, float] = {}
        _add(row, token, value)
        for other, its in (top or {}).items():
            _add(row, other, its)
        table.append(row)
    return tuple(table)


# -- the way there and back --------------------------------------------------------------------------------------------


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds that a server asks to wait, from `retry-after-ms` or `Retry-After` (seconds or a date), or None.

    now: seconds since 1970. Source: RFC 9110, section 10.2.3; `retry-after-ms` is OpenAI's.
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        value = headers.get(name, "")
        try:
            seconds = float(value) * unit
        except ValueError:
            try:
                seconds = email.utils.parsedate_to_datetime(value).timestamp() - now
            except (ValueError, TypeError, OverflowError):
                continue
        if seconds == seconds:
            return max(0.0, seconds)
    return None


def without_key(reason: str, key: str) -> str:
    """A reason without the key, should a server have sent it back, whole or cut off."""
    if len(key) >= SECRET:
        return re.sub(re.escape(key[:_START]) + r"\S*", "[key]", reason)[:400]
    return (reason.replace(key, "[key]") if key else reason)[:400]


def check_address(url: str) -> None:
    """Passes for an address that can be asked. Raises: ValueError, without the user name or key in it."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port out of range, a broken IPv6 address
        usable = False
    if not usable:
        raise ValueError(f"base_url {url.rpartition('@')[2]!r}: an address such as http://host:8000/v1 is needed")


def client(base_url: str | None, key: str, timeout: float, connections: int) -> Any:
    """An `openai.AsyncOpenAI` that never asks again by itself, with so many connections."""
    import httpx2
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    return AsyncOpenAI(
        api_key=key or "none",
        base_url=base_url,
        max_retries=0,
        timeout=timeout,
        http_client=DefaultAsyncHttpxClient(
            limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
            timeout=timeout,
            verify=_certificates(),
            event_hooks={"response": [_limited]},
        ),
    )


@functools.lru_cache(maxsize=1)
def _certificates() -> Any:
    """What a server's certificate is held against, read once."""
    import httpx2

    return httpx2.create_ssl_context()


async def _limited(response: Any) -> None:
    """Read an answer's body, unpacked, up to the most bytes. Raises: AttemptFailed."""
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > MOST_BYTES:
            await response.aclose()
            raise AttemptFailed(f"the answer is longer than {MOST_BYTES} bytes")
    response._content = bytes(body)  # where `aread` keeps what it has read
