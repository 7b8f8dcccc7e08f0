"""What can be read from an OpenAI-compatible server's answer, and over what it is asked."""

from __future__ import annotations

import contextlib
import email.utils
import ipaddress
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from nlgeval_lib.engines.base import EngineError, likeliest

# what servers call an end at the token limit, and an end that is none; what else they say is kept as they say it
_CUT = ("length", "max_tokens", "max_length", "model_length")
_BROKEN = ("error", "abort", "aborted", "cancelled", "canceled", "content_filter")
_HALVES = re.compile(r"[\ud800-\udfff]")  # JSON can escape half a character, which no file and no tokenizer takes
MOST_BYTES = 64 << 20  # of an answer
_START = 12  # as much of a key's beginning is taken for the key: an excerpt may end within it
MOST_WAIT = 120.0  # seconds that a server may ask to wait; a request that is to wait longer fails
_HOPELESS = (401, 403, 404)  # no key, no right, no such model: the next request will fare no better
_PASSING = (408, 409, 429)  # and all of 500 and above
SECRET = 16  # characters; what is shorter is no key but a word such as "EMPTY" for a server that wants none


class AttemptFailed(Exception):
    """What an attempt at a request came to.

    wait: seconds until another attempt, at the least; None where there should be none. hopeless: no request of this run
    will fare better. passing: it says nothing about the prompt, which another run may ask again. silent: nobody
    answered in time.
    """

    def __init__(
        self,
        reason: str,
        wait: float | None = None,
        hopeless: bool = False,
        passing: bool = False,
        silent: bool = False,
    ) -> None:
        super().__init__(reason)
        self.wait, self.hopeless, self.silent = wait, hopeless, silent
        self.passing = passing or hopeless or wait is not None


class BadAnswer(ValueError):
    """The server answered, but not with a completion."""


class Choice(NamedTuple):
    """One completion of an answer."""

    text: str
    finish_reason: str
    logprobs: tuple[dict[str, float], ...] | None


class Answer(NamedTuple):
    """The completions of one call, its token counts (None where the server gave none), and the model that it names."""

    choices: list[Choice]
    prompt_tokens: int | None
    completion_tokens: int | None
    model: str


def read(content: bytes, *, chat: bool, count: int, logprobs: bool) -> Answer:
    """The answer in a response's body, of `count` choices. Raises: BadAnswer saying what is wrong with it."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"not JSON: {error}; it begins {content[:60]!r}") from None
    match answer:
        case {"error": said} if said:
            raise BadAnswer(f"an error in place of a completion: {str(said)[:200]}")
        case {"choices": [_, *_] as choices} if len(choices) == count:
            made = [_choice(choice, chat, logprobs) for choice in choices]
        case {"choices": [_, *_] as choices}:
            raise BadAnswer(f"{len(choices)} choices where {count} were asked")
        case _:
            raise BadAnswer(f"no choices in it: it begins {content[:60]!r}")
    usage = answer.get("usage")
    prompt, written = (_tokens(usage, name) for name in ("prompt_tokens", "completion_tokens"))
    return Answer(made, prompt, written, str(answer.get("model") or ""))


def _tokens(usage: Any, name: str) -> int | None:
    """A token count, or None where it is none."""
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if type(value) is int and value >= 0 else None


def _choice(choice: Any, chat: bool, logprobs: bool) -> Choice:
    """One choice, read without trust."""
    match choice:
        case {"message": {"content": str(text)}} if chat:
            pass
        case {"message": {"refusal": str(text)}} if chat:
            pass
        case {"message": {**message}, "finish_reason": str(end)} if chat and message.get("content") is None:
            if end.lower() not in _CUT:  # else the limit came before the answer, as after a long thought
                raise BadAnswer(f"no content; finish reason {end!r}")
            text = ""
        case {"text": str(text)} if not chat:
            pass
        case _:
            raise BadAnswer("a choice without a text")
    match choice.get("finish_reason"):
        case str(reason) if reason.lower() in _BROKEN:
            raise BadAnswer(f"finish reason {reason!r}")
        case str(reason):
            reason = "length" if reason.lower() in _CUT else reason or "stop"
        case None:
            reason = "stop"
        case odd:
            raise BadAnswer(f"a finish reason that is no text: {odd!r}")
    table = None
    if logprobs:
        try:
            steps = _of_chat(choice["logprobs"]) if chat else _of_text(choice["logprobs"])
            table = tuple(likeliest((token, _number(value)) for token, value in step) for step in steps)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise BadAnswer("no log-probabilities in it, and they were asked") from None
    return Choice(_HALVES.sub("\ufffd", text), reason, table)


def _number(value: Any) -> float:
    if math.isnan(value := float(value)):
        raise ValueError("NaN")
    return value


Step = list[tuple[str, float]]  # of one token that was written: it and its log-probability, then the alternatives


def _of_chat(found: Mapping[str, Any]) -> Iterator[Step]:
    for step in found["content"]:
        yield [(one["token"], one["logprob"]) for one in (step, *(step["top_logprobs"] or ()))]


def _of_text(found: Mapping[str, Any]) -> Iterator[Step]:
    others = found.get("top_logprobs") or [None] * len(found["tokens"])
    for token, value, other in zip(found["tokens"], found["token_logprobs"], others, strict=True):
        yield [(token, value), *(other or {}).items()]


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


def fault(error: Exception, engine: Any, key: str) -> AttemptFailed:
    """What an attempt of an `OpenAIEngine` that ended with `error` means; without the key, if the server repeats it."""
    import openai

    if isinstance(cause := error.__cause__ or error, AttemptFailed):
        return cause
    if isinstance(error, openai.APIStatusError):
        return _refused(error, engine, key)
    passing = True
    silent = isinstance(error, (TimeoutError, openai.APITimeoutError))
    if silent:
        reason = f"no answer within {engine.timeout:g} s"
    elif isinstance(error, openai.APIConnectionError):
        reason = f"connection lost: {type(cause).__name__}: {cause}"
    elif isinstance(error, BadAnswer):
        reason = f"a bad answer: {error}"
    else:
        reason = f"{type(error).__name__}: {error}"
        passing = not isinstance(error, (ValueError, TypeError))  # of ours, and the same at the next attempt
    return AttemptFailed(without_key(reason, key), 0.0 if passing else None, silent=silent)


def _refused(error: Any, engine: Any, key: str) -> AttemptFailed:
    """What an HTTP status means."""
    status, variable = error.status_code, engine.api_key_env
    reason = without_key(f"HTTP {status}: {error.message}", key)
    if status in (401, 403):
        reason += f"; the key is that of {variable}" if key else f"; no key was sent: set {variable}"
    if 300 <= status < 400:
        there = without_key(urlsplit(error.response.headers.get("location", "")).netloc.rpartition("@")[2], key)
        reason = f"HTTP {status}: the server sends on to {there or 'itself'}, and prompts follow no redirect; is its "
        return AttemptFailed(f"{reason}address, with /v1, to be asked (--base-url)?", hopeless=True)
    if status in _HOPELESS or error.code == "insufficient_quota":
        return AttemptFailed(reason, hopeless=True)
    if status not in _PASSING and status < 500:
        return AttemptFailed(reason, passing=error.code == "content_filter")
    wait = retry_after(error.response.headers, engine._now()) or 0.0
    if wait > MOST_WAIT:
        return AttemptFailed(f"{reason}; the server asks to wait {wait:.0f} s, more than {MOST_WAIT:g}", passing=True)
    return AttemptFailed(reason, wait)


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


def check_way(url: str | None, variable: str) -> None:
    """Passes where a key may be sent: over https, or to this machine. Raises: EngineError."""
    parts = urlsplit(url or "")
    host = parts.hostname or ""
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return
    if parts.scheme == "http" and host != "localhost" and not host.endswith(".localhost"):
        raise EngineError(
            f"the key in {variable} would go to {host} unencrypted: give an https address; unset {variable} for a "
            "server that wants no key; or allow it with --engine-set plain_http=yes"
        )


def client(base_url: str | None, key: str, timeout: float, connections: int) -> Any:
    """An `openai.AsyncOpenAI` that never asks again by itself, with so many connections."""
    import httpx2
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
    how: dict[str, Any] = {"limits": limits, "timeout": timeout, "follow_redirects": False}  # prompts go nowhere else
    asked_over = DefaultAsyncHttpxClient(**how, event_hooks={"response": [_limited]})
    return AsyncOpenAI(api_key=key or "none", base_url=base_url, max_retries=0, timeout=timeout, http_client=asked_over)


async def _limited(response: Any) -> None:
    """Read an answer's body, unpacked, up to the most bytes. Raises: AttemptFailed."""
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > MOST_BYTES:
            await response.aclose()
            raise AttemptFailed(f"the answer is longer than {MOST_BYTES} bytes")
    response._content = bytes(body)  # where `aread` keeps what it has read
