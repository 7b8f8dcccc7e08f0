"""What can be read from an OpenAI-compatible server's answer: completions, or what its failure means."""

from __future__ import annotations

import email.utils
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
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
_HOPELESS = (401, 403, 404)  # no key, no right, no such model: the next request will fare no better
_PASSING = (408, 409, 429)  # and all of 500 and above
SECRET = 16  # characters; what is shorter is no key but a word such as "EMPTY" for a server that wants none


@dataclass(eq=False)
class AttemptFailed(Exception):
    """What an attempt at a request came to.

    wait: seconds until another attempt, at the least; None where there should be none. hopeless: no request of this run
    will fare better. passing: it says nothing about the prompt, which another run may ask again. silent: nobody
    answered in time.
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


class BadAnswer(ValueError):
    """The server answered, but not with a completion."""


def read(content: bytes, draws: Sequence[Ask], logprobs: bool, **who: Any) -> tuple[list[Completion], str]:
    """The completions in a response's body, a choice for each draw of one request, and the model that it names.

    who: the completions' model and revision. The call's tokens are shared out by length of text.
    Raises: BadAnswer saying what is wrong with it.
    """
    try:
        answer = json.loads(content, parse_constant=lambda name: None if name == "NaN" else float(name))
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"not JSON: {error}; it begins {content[:60]!r}") from None
    chat = draws[0].request.messages is not None
    match answer:
        case {"error": said} if said:
            raise BadAnswer(f"an error in place of a completion: {str(said)[:200]}")
        case {"choices": [_, *_] as choices} if len(choices) == len(draws):
            made = [_choice(choice, chat, logprobs) for choice in choices]
        case {"choices": [_, *_] as choices}:
            raise BadAnswer(f"{len(choices)} choices where {len(draws)} were asked")
        case _:
            raise BadAnswer(f"no choices in it: it begins {content[:60]!r}")
    match answer.get("usage"):
        case {**counts}:
            given = [counts.get(name) for name in ("prompt_tokens", "completion_tokens")]
            prompt, written = (count if type(count) is int and count >= 0 else 0 for count in given)
        case _:
            prompt = written = 0
    lengths = [len(one["text"]) for one in made]
    so_far = list(itertools.accumulate(lengths if any(lengths) else [1] * len(made), initial=0))
    bounds = [round(written * length / so_far[-1]) for length in so_far]
    completions = [
        Completion(ask.key, **one, prompt_tokens=0 if i else prompt, completion_tokens=bounds[i + 1] - bounds[i], **who)
        for i, (ask, one) in enumerate(zip(draws, made, strict=True))
    ]
    return completions, str(answer.get("model") or "")


def _choice(choice: Any, chat: bool, logprobs: bool) -> dict[str, Any]:
    """One choice, read without trust: its text, finish reason and log-probabilities."""
    match choice:
        case {"message": {"content": str(text)} | {"refusal": str(text)}} if chat:
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
            table = tuple(map(likeliest, (_of_chat if chat else _of_text)(choice["logprobs"])))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise BadAnswer("no log-probabilities in it, and they were asked") from None
    return {"text": _HALVES.sub("\ufffd", text), "finish_reason": reason, "logprobs": table}


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


def fault(error: Exception, engine: Any, key: str) -> AttemptFailed:
    """What an attempt of an `OpenAIEngine` that ended with `error` means; without the key, if the server repeats it."""
    import openai

    cause, passing, silent = error.__cause__ or error, True, False
    if isinstance(cause, AttemptFailed):
        return cause
    match error:
        case openai.APIStatusError():
            return _refused(error, engine, key)
        case TimeoutError() | openai.APITimeoutError():
            reason, silent = f"no answer within {engine.timeout:g} s", True
        case openai.APIConnectionError():
            reason = f"connection lost: {type(cause).__name__}: {cause}"
        case BadAnswer():
            reason = f"a bad answer: {error}"
        case _:
            reason = f"{type(error).__name__}: {error}"
            passing = not isinstance(error, (ValueError, TypeError))  # of ours, and the same at the next attempt
    return AttemptFailed(without_key(reason, key), 0.0 if passing else None, silent=silent)


def _refused(error: Any, engine: Any, key: str) -> AttemptFailed:
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
