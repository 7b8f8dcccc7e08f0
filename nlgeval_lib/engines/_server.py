"""Who answers behind an address, whether it may have our key, and what its answers
mean: completions, or why not. Nothing that a server sends is trusted.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import email.utils
import functools
import ipaddress
import itertools
import math
import os
import re
import ssl
import warnings
from collections.abc import Collection, Mapping
from concurrent import futures
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from nlgeval_lib import files
from nlgeval_lib.engines.base import Ask, EngineError, canonical, likeliest
from nlgeval_lib.records import Completion

OFFICIAL = "https://api.openai.com/v1"
# how the parts of a revision begin that mark another server or other settings
MARKS = ("at:", "extra:", "quantization=")
MOST_WAIT = 120.0  # seconds that a server may ask to wait; beyond, a request fails
SECRET = 16  # characters; what is shorter is no key but a word such as "EMPTY"
# what a server says of a model, and what it is called in revisions
_MODEL_FACTS = {"owned_by": "owner", "root": "root", "quantization": "quantization"}
_PATIENCE = 10.0  # seconds for an answer that costs a server nothing
_MOST = 1 << 20  # bytes of it
_MOST_TOKENS = 1 << 32  # of one answer; a larger count is no count
_SURELY = 1e-3  # a logarithm above it is of no probability, whatever was rounded
# What servers call an end at the token limit, and an end that is none. What else they
# say is kept as they say it.
_CUT = ("length", "max_tokens", "max_length", "model_length")
_BROKEN = ("error", "abort", "aborted", "cancelled", "canceled", "content_filter")
# JSON can escape half a character, which no file and no tokenizer takes
_HALVES = re.compile(r"[\ud800-\udfff]")
# what an answer of another shape than OpenAI's leads to where it is read
_MISSHAPEN = (KeyError, TypeError, ValueError, AttributeError, IndexError)
_RETRY_DELAY = re.compile(rb'"retryDelay"\s*:\s*"([\d.]+)s"')  # in Gemini's errors


# -- who it is


def place(address: str) -> str:
    """Host, port and path of a server, as keys have them; empty for OpenAI's own.

    Example:
        >>> place("http://me@localhost:8000/v1")
        'localhost:8000'
    """
    parts = urlsplit(address)
    if parts.hostname == urlsplit(OFFICIAL).hostname:
        return ""
    path = parts.path.rstrip("/").removesuffix("/v1")
    return _plain(parts.netloc.rpartition("@")[2] + path)


def about(address: str, model: str, key: str, hung: bool = False) -> dict[str, str]:
    """What does a server say of a model: `server`, and what it names of `owner`, `root`
    (its weights), `quantization` and the engine's `version`; a silent one is warned
    of.

    hung: it was given up before for want of an answer.
    Raises: EngineError where nobody answers, or a server that hung is silent again.
    """
    facts = {"server": place(address) or urlsplit(OFFICIAL).netloc}
    try:
        facts |= _facts(_json_at(f"{address}/models", key).get("data"), model)
    except TimeoutError:
        silence = f"{facts['server']} has not answered within {_PATIENCE:g} s"
        if hung:
            raise EngineError(
                f"{silence}, nor before: is it stuck? Start it again"
            ) from None
        warnings.warn(
            f"{silence} what models it has; it is asked all the same", stacklevel=2
        )
        return facts
    # OpenAI's own server is not asked for a version
    if place(address):
        with contextlib.suppress(TimeoutError):
            answer = _json_at(f"{address.removesuffix('/v1')}/version", key)
            if answer.get("version"):
                facts["version"] = _plain(str(answer["version"]))
    return {name: without_key(value, key) for name, value in facts.items()}


def _facts(listed: Any, model: str) -> dict[str, str]:
    """Owner, root and quantization of a model in what a server sent as its list."""
    facts: dict[str, str] = {}
    for entry in listed if isinstance(listed, list) else ():
        if not isinstance(entry, dict) or entry.get("id") != model:
            continue
        root = str(entry.get("root") or "")
        if root.startswith(("/", ".", "~")):
            # weights in a folder are called by its name, not by its path
            root = root.rstrip("/").rpartition("/")[2]
        entry = {**entry, "root": root if root != model else ""}
        for field, name in _MODEL_FACTS.items():
            if entry.get(field):
                facts[name] = _plain(str(entry[field]))
    return facts


@functools.cache
def certificates() -> ssl.SSLContext:
    """What all clients check servers by; to read them takes a fifth of a second."""
    import httpx2

    return httpx2.create_ssl_context()


def _json_at(url: str, key: str) -> dict[str, Any]:
    """The JSON object that a GET is answered with; empty for any other answer."""
    import httpx2

    async def get() -> bytes:
        content = b""
        client = httpx2.AsyncClient(
            headers=authorization(key), timeout=_PATIENCE, verify=certificates()
        )
        # one limit for all: a server that sends a byte now and then is silent, too
        async with (
            asyncio.timeout(_PATIENCE),
            client,
            client.stream("GET", url) as response,
        ):
            async for part in response.aiter_bytes():
                content += part
                if len(content) > _MOST:
                    return b""
        return content if response.status_code == 200 else b""

    try:
        # a notebook's thread has an event loop already
        with futures.ThreadPoolExecutor(1, "nlgeval-server") as threads:
            answer = loaded(threads.submit(asyncio.run, get()).result())
    except httpx2.ReadTimeout:
        raise TimeoutError from None
    except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
        host = urlsplit(url).netloc.rpartition("@")[2]
        raise EngineError(
            f"nobody answers at {host}: {error}; start the server, or read what is "
            "stored with --engine replay"
        ) from None
    except (httpx2.HTTPError, ValueError):
        return {}
    return answer if isinstance(answer, dict) else {}


def revision(base: str, facts: dict[str, str], extra: dict[str, Any]) -> str:
    """The revision of a served model: its base, this server and the settings, with "+"
    between them; without the engine's version, whose update would orphan what is
    stored.
    """
    parts = [base] if base else []
    if facts:
        parts.append(f"at:{facts['server']}")
    for name in _MODEL_FACTS.values():
        if name in facts:
            parts.append(f"{name}:{facts[name]}")
    if extra:
        # the signature's own marks are escaped, as JSON allows
        settings = canonical(extra)
        escaped = settings.replace("|", "\\u007c").replace("+", "\\u002b")
        parts.append("extra:" + escaped)
    return "+".join(parts)


def is_marked(revision: str) -> bool:
    """Whether a revision is of another server than the model's own, or of other
    settings.
    """
    return any(part.startswith(MARKS) for part in revision.split("+"))


def check_address(url: str) -> str:
    """An address over http or https, without a slash at its end; else a ValueError."""
    with contextlib.suppress(ValueError):  # a port out of range, a broken IPv6 address
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return url.rstrip("/")
    address = url.rpartition("@")[2]
    raise ValueError(
        f"base_url {address!r}: an address such as http://host:8000/v1 is needed"
    )


def key(variable: str, url: str, plain_http: bool) -> str:
    """The key in an environment variable, "" where it has none, for an address; it goes
    over https or to this machine alone, unless `plain_http`; else an EngineError.
    """
    # a file's line break often comes with it
    secret = os.environ.get(variable, "").strip()
    if not (secret.isascii() and secret.isprintable()):
        raise EngineError(
            f"the key in {variable} has a character that no key has; set it again"
        )
    if not secret and not place(url):
        raise EngineError(
            f"no API key: set the environment variable {variable}, or name a base_url"
        )
    parts = urlsplit(url)
    host = parts.hostname or ""
    open_to_others = parts.scheme == "http" and not _is_local(host)
    if len(secret) >= SECRET and open_to_others and not plain_http:
        raise EngineError(
            f"the key in {variable} would go to {host} unencrypted: give an https "
            f"address; unset {variable} for a server that wants no key; or allow it "
            "with --engine-set plain_http=yes"
        )
    return secret


def _is_local(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def authorization(key: str) -> dict[str, str]:
    """The header that sends a key."""
    return {"authorization": f"Bearer {key or 'none'}"}


def _plain(text: str) -> str:
    """A text without blanks and signatures' marks, cut to 80 characters."""
    return re.sub(r"[\s|+@]+", "_", _HALVES.sub("\ufffd", text))[:80]


# -- what is sent


def without_lengths(schema: Any) -> Any:
    """A JSON schema without the lengths of texts, which OpenAI's form refuses."""
    if isinstance(schema, list):
        return [without_lengths(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    shorter = {}
    for name, part in schema.items():
        if name not in ("minLength", "maxLength") or not isinstance(part, int):
            shorter[name] = without_lengths(part)
    return shorter


def spared(body: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """A request's body without what the server does not take: `max_tokens` is called
    max_completion_tokens, a `system` message stands before the user's first, a
    neutral `top_p`, `temperature` or `n` or a `seed` is left out.
    """
    body = dict(body)
    if "max_tokens" in names and "max_tokens" in body:
        body["max_completion_tokens"] = body.pop("max_tokens")
    for name in ("top_p", "temperature", "n"):
        if name in names and body.get(name) == 1:
            del body[name]
    if "seed" in names:
        body.pop("seed", None)
    messages = body.get("messages", ())
    if "system" in names and len(messages) > 1 and messages[0]["role"] == "system":
        text = f"{messages[0]['content']}\n\n{messages[1]['content']}"
        body["messages"] = [{**messages[1], "content": text}, *messages[2:]]
    return body


# -- what it answers


@dataclass(eq=False)
class AttemptFailed(Exception):
    """What an attempt at a request came to."""

    reason: str
    # seconds until another attempt, at the least; None where there should be none
    wait: float | None = None
    hopeless: bool = False  # no request of this run will fare better
    # It says nothing about the prompt: so where it is hopeless or may be tried again.
    passing: bool = False
    silent: bool = False  # nobody answered in time
    unreachable: bool = False  # nobody is there
    without: str = ""  # what the server does not take, and `spared` leaves out

    def __post_init__(self) -> None:
        self.passing = self.passing or self.hopeless or self.wait is not None

    def __str__(self) -> str:
        return self.reason


def _bad(reason: str) -> AttemptFailed:
    """The failure of an answer that makes no sense; another may be asked at once."""
    return AttemptFailed(f"a bad answer: {reason}", wait=0.0)


def loaded(content: bytes) -> Any:
    """The JSON in a body; NaN in it is None."""
    constants = {"NaN": None, "Infinity": math.inf, "-Infinity": -math.inf}
    return files.from_json(content, parse_constant=constants.get)


def read(
    content: bytes,
    ask: Ask,
    logprobs: bool,
    asked_model: str = "",
    model: str = "",
    revision: str = "",
) -> tuple[Completion, str]:
    """The completion in a body of status 200, and the model that it names ("" for
    none); AttemptFailed says what is wrong with it.
    """
    try:
        answer = loaded(content)
    except ValueError as error:
        raise _bad(f"not JSON: {error}; it begins {content[:60]!r}") from None
    if isinstance(answer, dict) and answer.get("error"):
        raise _bad(f"an error in place of a completion: {str(answer['error'])[:200]}")
    try:
        [choice] = answer["choices"]
        fields = _choice(choice, ask.request.messages is not None, logprobs)
    except _MISSHAPEN:
        raise _bad(f"no completion in it: it begins {content[:60]!r}") from None
    fields |= _counts(answer.get("usage"))
    if answer.get("system_fingerprint"):
        fields["fingerprint"] = _plain(str(answer["system_fingerprint"]))
    named = _plain(str(answer.get("model") or ""))
    if named and named != _plain(asked_model):
        fields["served"] = named
    return Completion(ask.key, model=model, revision=revision, **fields), named


def _choice(choice: Any, chat: bool, logprobs: bool) -> dict[str, Any]:
    reason = choice.get("finish_reason") or "stop"
    if reason.lower() in _BROKEN:
        raise _bad(f"finish reason {reason!r}")
    is_cut = reason.lower() in _CUT
    if chat:
        text, reasoning = _message(choice["message"], is_cut)
    else:
        text, reasoning = choice["text"], ""
    table = None
    if logprobs:
        try:
            table = tuple(map(likeliest, _steps(choice["logprobs"], chat)))
        except _MISSHAPEN:
            raise _bad(
                f"no log-probabilities in it, and they were asked; {_WITHOUT_LOGPROBS}"
            ) from None
        if any(max(row.values(), default=0.0) > _SURELY for row in table):
            raise _bad("a log-probability above 0")
    return {
        "text": _HALVES.sub("\ufffd", text),
        "reasoning": _HALVES.sub("\ufffd", reasoning),
        "finish_reason": "length" if is_cut else reason,
        "logprobs": table,
    }


def _message(message: Any, is_cut: bool) -> tuple[str, str]:
    """Text and reasoning of a chat's answer; a refusal is a text too."""
    reasoning = message.get("reasoning") or message.get("reasoning_content")
    if not isinstance(reasoning, str):
        reasoning = ""
    content = message.get("content")
    if content and isinstance(content, list):
        texts = {False: "", True: ""}
        for is_thought, text in map(_part, content):
            texts[is_thought] += text
        return texts[False], reasoning or texts[True]
    for text in (content, message.get("refusal")):
        if isinstance(text, str):
            return text, reasoning
    # after a long thought the limit can come before the answer begins
    if content is None and (is_cut or reasoning):
        return "", reasoning
    raise _bad("a choice without a text")


def _part(part: Any) -> tuple[bool, str]:
    """Whether a part of a content is a thought, and its text."""
    if isinstance(part, str):
        return False, part
    if part.get("type") in ("thinking", "reasoning"):
        text = part.get("thinking") or part.get("text") or part.get("summary") or ""
        if not isinstance(text, str):
            text = "".join(_part(inner)[1] for inner in text)
        return True, text
    if not isinstance(part.get("text"), str):
        raise _bad("a part of its content without a text")
    return False, part["text"]


def _steps(logprobs: Any, chat: bool) -> list[list[tuple[str, float]]]:
    """At each place the written token, then the alternatives, with their values."""
    steps = []
    if chat:
        for step in logprobs["content"]:
            entries = [step, *(step["top_logprobs"] or ())]
            steps.append([(entry["token"], entry["logprob"]) for entry in entries])
        return steps
    tokens = logprobs["tokens"]
    alternatives = logprobs.get("top_logprobs") or [None] * len(tokens)
    rows = zip(tokens, logprobs["token_logprobs"], alternatives, strict=True)
    for token, value, table in rows:
        steps.append([(token, value), *(table or {}).items()])
    return steps


def _counts(usage: Any) -> dict[str, int]:
    if not isinstance(usage, dict):
        return {}
    details = usage.get("completion_tokens_details")
    if isinstance(details, dict):
        usage = {**usage, "reasoning_tokens": details.get("reasoning_tokens")}
    counts = {}
    for name in ("prompt_tokens", "completion_tokens", "reasoning_tokens"):
        count = usage.get(name)
        if type(count) is int and 0 <= count <= _MOST_TOKENS:
            counts[name] = count
    return counts


# -- what its refusals mean


def retry_after(
    headers: Mapping[str, str], now: float, content: bytes = b""
) -> float | None:
    """The seconds that a server asks to wait, or None. now: seconds since 1970.

    Source: RFC 9110, section 10.2.3; `retry-after-ms` is OpenAI's, `retryDelay` that of
    google.rpc.RetryInfo (Gemini's).
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
        if not math.isnan(seconds):
            return max(0.0, seconds)
    delay = _RETRY_DELAY.search(content)
    with contextlib.suppress(ValueError):
        return float(delay[1]) if delay else None
    return None


def refused(
    answer: Any, content: bytes, key: str, variable: str, seconds: float
) -> AttemptFailed:
    """What does an answer with a status of 300 or more mean? variable: where the key
    is.
    """
    status = answer.status_code
    message, code = _error_message(content)
    # masked before it is cut, which may be within the key
    message = without_key(message[:2000], key)[:400]
    reason = f"HTTP {status}: {message}"
    if status in (401, 403):
        whose = f"the key is that of {variable}"
        reason += f"; {whose if key else f'no key was sent: set {variable}'}"
    if status in (400, 403, 422):
        name, advice = _not_taken(message)
        if advice or name:
            reason += f"; {advice}" if advice else ""
            return AttemptFailed(reason, hopeless=True, without=name)
    if 300 <= status < 400:
        target = "an address that cannot be read"
        with contextlib.suppress(ValueError):
            host = urlsplit(answer.headers.get("location", "")).netloc
            target = host.rpartition("@")[2] or "itself"
        reason = (
            f"HTTP {status}: the server sends on to {target}, and prompts "
            "follow no redirect; is its address, with /v1, to be asked (--base-url)?"
        )
        return AttemptFailed(reason, hopeless=True)
    # no key, no right, no such model, no money
    if status in (401, 403, 404) or code == "insufficient_quota":
        return AttemptFailed(reason, hopeless=True)
    if status not in (408, 409, 429) and status < 500:
        return AttemptFailed(reason, passing=code == "content_filter")
    wait = retry_after(answer.headers, seconds, content) or 0.0
    if wait > MOST_WAIT:
        reason += f"; the server asks to wait {wait:.0f} s, more than {MOST_WAIT:g}"
        return AttemptFailed(reason, passing=True)
    return AttemptFailed(reason, wait)


_WITHOUT_LOGPROBS = "ask without log-probabilities: -s method=mean, or -s weigh=no"
_AT_MOST = (
    r"(?:<=|less than or equal to|at most|maximum\D{0,20}|up to|more than|"
    r"between 0 and)\s*([1-9]\d*)"
)
_TEMPERATURE = "ask with -s temperature=1"
# What servers say that they do not take: a pattern, what `spared` leaves out, and how
# to ask without it. The first that fits counts.
_SAID = (
    (r"max_tokens\b.*\buse.{0,3}max_completion_tokens", "max_tokens", ""),
    (r"temperature\W+and\W+top_p\W+cannot both", "top_p", ""),
    (
        r"system.{0,30}(role|message|prompt)s?.{0,60}not (supported|allowed|permitted)|"
        r"(role|message).{0,20}system.{0,60}not (supported|allowed|permitted)|"
        r"role.{0,20}not support.{0,4}system|developer instruction.{0,10}not enabled|"
        r"only user and assistant roles",
        "system",
        "",
    ),
)
# The same where a message is a refusal of a setting, too.
_SAID_IN_REFUSALS = (
    (rf"(?=.*log_?prob).*?{_AT_MOST}", "", "ask with -s logprobs={}"),
    (r"log_?prob", "", _WITHOUT_LOGPROBS),
    # where another value will do, the server names it
    (r"(?=.*\btemperature\b).*\b1\b", "", _TEMPERATURE),
    (r"\btemperature\b", "temperature", _TEMPERATURE),
    (r"\btop_p\b", "top_p", ""),
    (r"\bseed\b", "seed", ""),
    (r"\bloc\W+body\W+n\b", "n", ""),  # as pydantic names a field
)
_REFUSAL = re.compile(
    r"unsupported|not support|does not|only|unknown|unrecognized|"
    r"not (allowed|permitted|enabled)|more than|less than|at most|<=|maximum|must be|"
    r"deprecated",
    re.I,
)


def _not_taken(message: str) -> tuple[str, str]:
    """What of a request a server says that it does not take (a name for `spared`, or
    ""), and the setting that asks without it, or "".
    """
    table: tuple[tuple[str, str, str], ...] = _SAID
    if _REFUSAL.search(message):
        table += _SAID_IN_REFUSALS
    for pattern, name, advice in table:
        found = re.search(pattern, message, re.S | re.I)
        if found:
            return name, advice.format(*found.groups())
    return "", ""


def _error_message(content: bytes) -> tuple[str, Any]:
    """The message and the code of an error in a body; the body's text without them."""
    try:
        error = loaded(content)
    except ValueError:
        error = content.decode(errors="replace").strip()
    if isinstance(error, list) and len(error) == 1:
        error = error[0]  # as Gemini's are
    if isinstance(error, dict):
        error = error.get("error", error)
    if not isinstance(error, dict):
        return str(error), None
    return str(error.get("message") or error), error.get("code")


def fault(error: Exception, timeout: float, key: str) -> AttemptFailed:
    """What does an attempt that ended with `error` mean?"""
    import httpx2

    text = f"{type(error).__name__}: {error}"
    failure = AttemptFailed(text, wait=0.0)
    match error:
        case AttemptFailed():
            failure = error
        case TimeoutError() | httpx2.TimeoutException():
            failure.reason = f"no answer within {timeout:g} s"
            failure.silent = True
        case httpx2.ConnectError():
            failure.reason = f"nobody answers: {text}"
            failure.unreachable = True
        case httpx2.HTTPError():
            failure.reason = f"connection lost: {text}"
        case ValueError() | TypeError():
            # a fault of ours, which would be the same at the next attempt
            failure = AttemptFailed(text)
    failure.reason = without_key(failure.reason, key)
    return failure


# -- the key in what it answers

# as much of a key's beginning is taken for the key: an excerpt may end within it
_START = 12
# A form of the key is looked for in pieces of so many signs, one begun every few: a run
# of `_PIECE + _STEP - 1` signs has a piece in it.
_PIECE = 12
_STEP = 4
# one sign as its number: percent-encoded, or escaped as in Python, JSON or HTML
_ESCAPED = re.compile(r"(?:%|\\x|\\u00|&#x)([0-9a-f]{2});?", re.I)


def repeats_key(completion: Completion, key: str) -> bool:
    """Whether a text of a completion has the key in it; of log-probabilities the tokens
    of each rank are one text, and all of them, in their order, are another.
    """
    texts = [
        completion.served + completion.fingerprint,
        completion.text + completion.reasoning + completion.finish_reason,
        completion.reasoning + completion.text,
    ]
    steps = completion.logprobs or ()
    texts += map("".join, itertools.zip_longest(*steps, fillvalue=""))
    texts.append("".join(itertools.chain.from_iterable(steps)))
    return any(has_key(text, key) for text in texts)


def without_key(reason: str, key: str) -> str:
    """A reason of at most 600 characters without the key, whole or cut off."""
    if len(key) >= SECRET:
        start = re.escape(key[:_START])
        reason = re.sub(start + r"\S*", "[key]", reason, flags=re.I)
        if has_key(reason, key):
            reason = "[key]"
    elif key:
        reason = reason.replace(key, "[key]")
    return reason[:600]


def has_key(text: str, key: str) -> bool:
    """Whether a text has a run of 15 letters and digits or more of the key, in any of
    its `_forms`, whatever other signs stand between; a short key is none.
    """
    if len(key) < SECRET or len(text) < _PIECE:
        return False
    bare = _bare(text)
    return any(piece in bare for piece in _pieces(key))


@functools.lru_cache(maxsize=4)
def _pieces(key: str) -> frozenset[str]:
    """What a text has in it that has one of the key's forms."""
    pieces = set()
    for form in map(_bare, _forms(key)):
        for start in range(0, max(1, len(form) - _PIECE + 1), _STEP):
            pieces.add(form[start : start + _PIECE])
    return frozenset(pieces)


def _forms(key: str) -> list[str]:
    """The key as it is, reversed, as hexadecimal digits, and in base64 wherever it
    begins.
    """
    secret = key.encode()
    forms = [key, key[::-1], secret.hex()]
    # Three bytes are four signs; those that have bits of what stands before are cut.
    for before, cut in ((0, 0), (1, 2), (2, 3)):
        whole = len(b" " * before + secret) // 3 * 4
        encoded = base64.b64encode(b" " * before + secret).decode()
        forms.append(encoded[cut:whole])
    return forms


def _bare(text: str) -> str:
    """The letters and digits of a text, in lower case, none escaped."""
    plain = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    return re.sub(r"[\W_]+", "", plain).lower()
