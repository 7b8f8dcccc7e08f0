"""Who answers behind an address, whether it may have our key, and what its answers mean: completions, or why not."""

from __future__ import annotations

import contextlib
import email.utils
import ipaddress
import json
import os
import re
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from nlgeval_lib.engines.base import Ask, EngineError, canonical, likeliest
from nlgeval_lib.records import Completion

OFFICIAL = "https://api.openai.com/v1"
MARKS = ("at:", "extra:", "quantization=", "load_in_4bit=", "load_in_8bit=")  # how parts of a revision begin
_TOLD = ("owner", "root", "quantization")  # what a server tells of a model and keys have
_UNKNOWN = re.compile(r"unrecogni|unknown|unexpected|unsupported|not (permitted|allowed|supported)|extra", re.I)
_PATIENCE = 10.0  # seconds for an answer that costs a server nothing
_MOST = 1 << 20  # bytes of it

# what servers call an end at the token limit, and an end that is none; what else they say is kept as they say it
_CUT = ("length", "max_tokens", "max_length", "model_length")
_BROKEN = ("error", "abort", "aborted", "cancelled", "canceled", "content_filter")
_HALVES = re.compile(r"[\ud800-\udfff]")  # JSON can escape half a character, which no file and no tokenizer takes
_START = 12  # as much of a key's beginning is taken for the key: an excerpt may end within it
MOST_WAIT = 120.0  # seconds that a server may ask to wait; a request that is to wait longer fails
SECRET = 16  # characters; what is shorter is no key but a word such as "EMPTY" for a server that wants none


# -- who it is ---------------------------------------------------------------------------------------------------------


def place(address: str) -> str:
    """Host, port and path of a server, as keys have them; empty for OpenAI's own."""
    parts = urlsplit(address)
    where = parts.netloc.rpartition("@")[2] + parts.path.rstrip("/").removesuffix("/v1")
    return "" if parts.hostname == urlsplit(OFFICIAL).hostname else _plain(where)


def about(address: str, model: str, key: str, hung: bool = False) -> dict[str, str]:
    """What a server tells of a model: `server`, `owner`, `root` (the weights that it serves under this name),
    `quantization` and the engine's `version`. Warns of one that is silent.

    hung: it was given up before for want of an answer. Raises: EngineError where nobody answers.
    """
    found = {"server": place(address) or urlsplit(OFFICIAL).netloc}
    try:
        listed = _told(f"{address}/models", key).get("data")
    except TimeoutError:
        said = f"{found['server']} has not answered within {_PATIENCE:g} s"
        if hung:
            raise EngineError(f"{said}, nor before: is it stuck? Start it again") from None
        warnings.warn(f"{said} what models it has; it is asked all the same", stacklevel=2)
        return found
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict) and one.get("id") == model:
            root = str(one.get("root") or "")
            root = root.rstrip("/").rpartition("/")[2] if root.startswith(("/", ".", "~")) else root
            told = (one.get("owned_by"), "" if root == model else root, one.get("quantization"))
            found |= {name: _plain(str(value)) for name, value in zip(_TOLD, told, strict=True) if value}
    if place(address):
        with contextlib.suppress(TimeoutError):
            if version := _told(f"{address.removesuffix('/v1')}/version", key).get("version"):
                found["version"] = _plain(str(version))
    return found


def takes(address: str, model: str, key: str) -> bool:
    """Whether a server takes vLLM's settings: asked once, with a value that vLLM refuses and others do not know."""
    body = {"model": model, "prompt": "1", "max_tokens": 1, "repetition_penalty": -1.0}
    with contextlib.suppress(TimeoutError):
        status, content = _exchange(f"{address}/completions", key, body)
        said = content.decode(errors="replace")
        return status in (400, 422) and "repetition_penalty" in said and not _UNKNOWN.search(said)
    return False


def revision(given: str, about: dict[str, str], extra: dict[str, Any]) -> str:
    """The revision of a served model: the given one, and what tells this server and its settings from others.

    The engine's version is no part of it, as a server's update would orphan what is stored.
    """
    parts = [given] if given else []
    if about:
        parts += [f"at:{about['server']}"]
        parts += [f"{name}:{about[name]}" for name in _TOLD if name in about]
    if extra:  # with the signature's own marks escaped, as JSON allows
        parts.append("extra:" + canonical(extra).replace("|", "\\u007c").replace("+", "\\u002b"))
    return "+".join(parts)


def is_marked(revision: str) -> bool:
    """Whether a revision is of another server than the model's own, or of other settings than its plain ones."""
    return any(part.startswith(MARKS) for part in revision.split("+"))


def check_address(url: str) -> str:
    """An address that can be asked, without a slash at its end. Raises: ValueError, without the user name or key."""
    with contextlib.suppress(ValueError):  # a port out of range, a broken IPv6 address
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return url.rstrip("/")
    raise ValueError(f"base_url {url.rpartition('@')[2]!r}: an address such as http://host:8000/v1 is needed")


def key(variable: str, url: str, plain_http: bool) -> str:
    """The key in an environment variable, which goes over https or to this machine alone, unless `plain_http`.

    Raises: EngineError where it may not be sent or no header can hold it, or where OpenAI's own server needs one.
    """
    found = os.environ.get(variable, "").strip()  # a file's line break often comes with it
    if not (found.isascii() and found.isprintable()):
        raise EngineError(f"the key in {variable} has a character that no key has; set it again")
    if not found and not place(url):
        raise EngineError(f"no API key: set the environment variable {variable}, or name a base_url")
    parts = urlsplit(url)
    host = parts.hostname or ""
    here = host == "localhost" or host.endswith(".localhost")
    with contextlib.suppress(ValueError):
        here = here or ipaddress.ip_address(host).is_loopback
    if len(found) >= SECRET and not plain_http and parts.scheme == "http" and not here:
        raise EngineError(
            f"the key in {variable} would go to {host} unencrypted: give an https address; unset {variable} for a "
            "server that wants no key; or allow it with --engine-set plain_http=yes"
        )
    return found


def _plain(text: str) -> str:
    return re.sub(r"[\s|+@]+", "_", text)[:80]


def _told(url: str, key: str) -> dict[str, Any]:
    """The JSON object that a GET is answered with; empty for any other answer. Raises: as `_exchange`."""
    status, content = _exchange(url, key)
    with contextlib.suppress(ValueError):
        if status == 200 and isinstance(found := loaded(content), dict):
            return found
    return {}


def _exchange(url: str, key: str, body: dict[str, Any] | None = None) -> tuple[int, bytes]:
    """Status and body of the answer to a GET, or a POST of this JSON; 0 for one that is none.

    Raises: EngineError where nobody is there; TimeoutError for somebody who is silent.
    """
    import httpx2

    content, until = b"", time.monotonic() + _PATIENCE
    headers = {"authorization": f"Bearer {key or 'none'}"}
    try:
        how = "POST" if body else "GET"
        with httpx2.stream(how, url, json=body, headers=headers, timeout=_PATIENCE) as response:
            for part in response.iter_bytes():
                content += part
                if len(content) > _MOST or time.monotonic() > until:
                    return 0, b""
            return response.status_code, content
    except httpx2.ReadTimeout:
        raise TimeoutError from None
    except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
        where = urlsplit(url).netloc.rpartition("@")[2]
        raise EngineError(
            f"nobody answers at {where}: {error}; start the server, or read what is stored with --engine replay"
        ) from None
    except httpx2.HTTPError:
        return 0, b""


# -- what it answers ---------------------------------------------------------------------------------------------------


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
            table = tuple(map(likeliest, _steps(choice["logprobs"], chat)))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise _bad("no log-probabilities in it, and they were asked") from None
    end = "length" if reason.lower() in _CUT else reason
    return {"text": _HALVES.sub("\ufffd", text), "finish_reason": end, "logprobs": table}


def _steps(found: Any, chat: bool) -> list[list[tuple[str, float]]]:
    """For each token that was written: it and its log-probability, then the alternatives'."""
    if chat:
        steps = [(step, *(step["top_logprobs"] or ())) for step in found["content"]]
        return [[(one["token"], one["logprob"]) for one in step] for step in steps]
    others = found.get("top_logprobs") or [None] * len(found["tokens"])
    rows = zip(found["tokens"], found["token_logprobs"], others, strict=True)
    return [[(token, value), *(other or {}).items()] for token, value, other in rows]


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
