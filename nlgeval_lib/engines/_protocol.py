"""What an OpenAI-compatible server's answer means: a completion, or why there is none."""

from __future__ import annotations

import email.utils
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from nlgeval_lib.engines.base import Ask, likeliest
from nlgeval_lib.records import Completion

# what servers call an end at the token limit, and an end that is none; what else they say is kept as they say it
_CUT = ("length", "max_tokens", "max_length", "model_length")
_BROKEN = ("error", "abort", "aborted", "cancelled", "canceled", "content_filter")
_HALVES = re.compile(r"[\ud800-\udfff]")  # JSON can escape half a character, which no file and no tokenizer takes
_START = 12  # as much of a key's beginning is taken for the key: an excerpt may end within it
MOST_WAIT = 120.0  # seconds that a server may ask to wait; a request that is to wait longer fails
SECRET = 16  # characters; what is shorter is no key but a word such as "EMPTY" for a server that wants none


@dataclass(eq=False)
class AttemptFailed(Exception):
    """What an attempt at a request came to.

    wait: seconds until another attempt, at the least; None where there should be none. hopeless: no request of this run
    will fare better. passing: it says nothing about the prompt. silent: nobody answered in time.
    """

    reason: str
    wait: float | None = None
    hopeless: bool = False
    passing: bool = False
    silent: bool = False

    def __post_init__(self) -> None:
        self.passing = self.passing or self.hopeless or self.wait is not None

    def __str__(self) -> str:
        return self.reason


def _bad(said: str) -> AttemptFailed:
    return AttemptFailed(f"a bad answer: {said}", wait=0.0)


def loaded(content: bytes) -> Any:
    """The JSON in a body. Raises: ValueError."""
    try:
        return json.loads(content, parse_constant=lambda name: None if name == "NaN" else float(name))
    except RecursionError as error:
        raise ValueError(str(error)) from None


def read(content: bytes, ask: Ask, logprobs: bool, **who: Any) -> tuple[Completion, str]:
    """The completion in a response's body, and the model that it names.

    who: the completion's model and revision. Raises: AttemptFailed saying what is wrong with it.
    """
    try:
        answer = loaded(content)
    except ValueError as error:
        raise _bad(f"not JSON: {error}; it begins {content[:60]!r}") from None
    match answer:
        case {"error": said} if said:
            raise _bad(f"an error in place of a completion: {str(said)[:200]}")
        case {"choices": [choice]}:
            made = _choice(choice, ask.request.messages is not None, logprobs)
        case {"choices": [_, *_] as choices}:
            raise _bad(f"{len(choices)} choices where 1 was asked")
        case _:
            raise _bad(f"no choices in it: it begins {content[:60]!r}")
    counts = usage if isinstance(usage := answer.get("usage"), dict) else {}
    given = {name: counts.get(name) for name in ("prompt_tokens", "completion_tokens")}
    made |= {name: count for name, count in given.items() if type(count) is int and count >= 0}
    return Completion(ask.key, **made, **who), str(answer.get("model") or "")


def _choice(choice: Any, chat: bool, logprobs: bool) -> dict[str, Any]:
    """One choice, read without trust: its text, finish reason and log-probabilities."""
    match choice:
        case {"message": {"content": str(text)} | {"refusal": str(text)}} if chat:
            pass
        case {"message": {**message}, "finish_reason": str(end)} if chat and message.get("content") is None:
            if end.lower() not in _CUT:  # else the limit came before the answer, as after a long thought
                raise _bad(f"no content; finish reason {end!r}")
            text = ""
        case {"text": str(text)} if not chat:
            pass
        case _:
            raise _bad("a choice without a text")
    reason = choice.get("finish_reason")
    if not isinstance(reason, str | None):
        raise _bad(f"a finish reason that is no text: {reason!r}")
    reason = reason or "stop"
    if reason.lower() in _BROKEN:
        raise _bad(f"finish reason {reason!r}")
    table = None
    if logprobs:
        try:
            table = tuple(map(likeliest, (_of_chat if chat else _of_text)(choice["logprobs"])))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise _bad("no log-probabilities in it, and they were asked") from None
    end = "length" if reason.lower() in _CUT else reason
    return {"text": _HALVES.sub("\ufffd", text), "finish_reason": end, "logprobs": table}


Step = list[tuple[str, float]]  # of one token that was written: it and its log-probability, then the alternatives


def _of_chat(found: Mapping[str, Any]) -> Iterator[Step]:
    for step in found["content"]:
        yield [(one["token"], one["logprob"]) for one in (step, *(step["top_logprobs"] or ()))]


def _of_text(found: Mapping[str, Any]) -> Iterator[Step]:
    others = found.get("top_logprobs") or [None] * len(found["tokens"])
    for token, value, other in zip(found["tokens"], found["token_logprobs"], others, strict=True):
        yield [(token, value), *(other or {}).items()]


# -- what failed -------------------------------------------------------------------------------------------------------


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


def refused(status: int, headers: Mapping[str, str], content: bytes, key: str, variable: str, now: float) -> Exception:
    """What an answer with a status of 300 or more means. variable: that of the environment which has the key."""
    try:
        found = loaded(content)
    except ValueError:
        found = content.decode(errors="replace").strip()
    said = found.get("error", found) if isinstance(found, dict) else found
    told, code = (said.get("message"), said.get("code")) if isinstance(said, dict) else (None, None)
    reason = without_key(f"HTTP {status}: {str(told or said)[:400]}", key)
    if status in (401, 403):
        reason += f"; the key is that of {variable}" if key else f"; no key was sent: set {variable}"
    if 300 <= status < 400:
        there = urlsplit(headers.get("location", "")).netloc.rpartition("@")[2] or "itself"
        reason = f"HTTP {status}: the server sends on to {there}, and prompts follow no redirect; is its address, with "
        return AttemptFailed(f"{reason}/v1, to be asked (--base-url)?", hopeless=True)
    if status in (401, 403, 404) or code == "insufficient_quota":  # no key, no right, no such model, no money
        return AttemptFailed(reason, hopeless=True)
    if status not in (408, 409, 429) and status < 500:
        return AttemptFailed(reason, passing=code == "content_filter")
    wait = retry_after(headers, now) or 0.0
    if wait > MOST_WAIT:
        return AttemptFailed(f"{reason}; the server asks to wait {wait:.0f} s, more than {MOST_WAIT:g}", passing=True)
    return AttemptFailed(reason, wait)


def fault(error: Exception, timeout: float, key: str) -> AttemptFailed:
    """What an attempt that ended with `error` means; without the key, if the server repeats it."""
    import httpx2

    match error:
        case AttemptFailed():
            found = error
        case TimeoutError() | httpx2.TimeoutException():
            found = AttemptFailed(f"no answer within {timeout:g} s", wait=0.0, silent=True)
        case httpx2.HTTPError():
            found = AttemptFailed(f"connection lost: {type(error).__name__}: {error}", wait=0.0)
        case _:
            ours = isinstance(error, (ValueError, TypeError))  # and the same at the next attempt
            found = AttemptFailed(f"{type(error).__name__}: {error}", None if ours else 0.0)
    found.reason = without_key(found.reason, key)
    return found


def without_key(reason: str, key: str) -> str:
    """A reason without the key, should a server have sent it back, whole or cut off."""
    if len(key) >= SECRET:
        return re.sub(re.escape(key[:_START]) + r"\S*", "[key]", reason)[:600]
    return (reason.replace(key, "[key]") if key else reason)[:600]
