"""Who answers behind an address: what goes into the keys of its completions, how it is asked, how much it takes."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import math
import os
import re
import time
import warnings
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from nlgeval_lib.engines._protocol import SECRET, AttemptFailed
from nlgeval_lib.engines.base import EngineError
from nlgeval_lib.engines.keys import canonical

OFFICIAL = "api.openai.com"
MARKS = ("at:", "extra:", "quantization=", "load_in_4bit=", "load_in_8bit=")  # how parts of a revision begin
_TOLD = ("owner", "root", "quantization")  # what a server tells of a model and keys have
_UNKNOWN = re.compile(r"unrecogni|unknown|unexpected|unsupported|not (permitted|allowed|supported)|extra", re.I)
_PATIENCE = 10.0  # seconds for an answer that costs a server nothing
_MOST = 1 << 20  # bytes of it
_FEW, _HOLD = 16, 8  # requests that are open at first; rounds after which more are tried again
MOST_BYTES = 64 << 20  # of a completion's answer


def place(address: str | None) -> str:
    """Host, port and path of a server, as keys have them; empty for OpenAI's own."""
    parts = urlsplit(address or "")
    where = parts.netloc.rpartition("@")[2] + parts.path.rstrip("/").removesuffix("/v1")
    return "" if parts.hostname in (None, OFFICIAL) else _plain(where)


def about(address: str | None, model: str, key: str, hung: bool = False) -> dict[str, str]:
    """What a server tells of a model: `server`, and where it tells them `owner`, `root` (the weights that it serves
    under this name), `quantization` and the engine's `version`.

    hung: it was given up before for want of an answer. Warns of one that is silent.
    Raises: EngineError where nobody answers.
    """
    address = (address or f"https://{OFFICIAL}/v1").rstrip("/")
    found = {"server": place(address) or OFFICIAL}
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
    if found["server"] != OFFICIAL:
        with contextlib.suppress(TimeoutError):
            if version := _told(f"{address.removesuffix('/v1')}/version", key).get("version"):
                found["version"] = _plain(str(version))
    return found


def takes(address: str | None, model: str, key: str) -> bool:
    """Whether a server takes vLLM's settings: asked once, with a value that vLLM refuses and others do not know."""
    import httpx2

    body = {"model": model, "prompt": "1", "max_tokens": 1, "repetition_penalty": -1.0}
    headers = {"authorization": f"Bearer {key or 'none'}"}
    try:
        said = httpx2.post(f"{(address or '').rstrip('/')}/completions", json=body, headers=headers, timeout=_PATIENCE)
    except httpx2.TransportError:
        return False
    refused = said.status_code in (400, 422) and "repetition_penalty" in said.text
    return refused and not _UNKNOWN.search(said.text)


def revision(given: str, about: dict[str, str], extra: dict[str, Any]) -> str:
    """The revision of a served model: the one that was given, and what tells this server and its settings from others.

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


def _plain(text: str) -> str:
    return re.sub(r"[\s|+@]+", "_", text)[:80]


def _told(url: str, key: str) -> dict[str, Any]:
    """The JSON object that a GET is answered with; empty for any other answer.

    Raises: EngineError where nobody is there; TimeoutError for somebody who is silent.
    """
    import httpx2

    body, until = b"", time.monotonic() + _PATIENCE
    try:
        headers = {"authorization": f"Bearer {key or 'none'}"}
        with httpx2.stream("GET", url, headers=headers, timeout=_PATIENCE) as response:
            for part in response.iter_bytes():
                body += part
                if len(body) > _MOST or time.monotonic() > until:
                    return {}
        found = json.loads(body) if response.status_code == 200 else {}
    except httpx2.ReadTimeout:
        raise TimeoutError from None
    except httpx2.TransportError as error:
        if not isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout)):
            return {}  # somebody is there, who does not speak of models
        where = urlsplit(url).netloc.rpartition("@")[2]
        raise EngineError(
            f"nobody answers at {where}: {error}; start the server, or read what is stored with --engine replay"
        ) from None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


# -- the way there -----------------------------------------------------------------------------------------------------


def check_address(url: str) -> None:
    """Passes for an address that can be asked. Raises: ValueError, without the user name or key in it."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port out of range, a broken IPv6 address
        usable = False
    if not usable:
        raise ValueError(f"base_url {url.rpartition('@')[2]!r}: an address such as http://host:8000/v1 is needed")


def key(variable: str, url: str | None, plain_http: bool) -> str:
    """The key in an environment variable, which goes over https or to this machine alone, unless `plain_http`.

    Raises: EngineError where it may not be sent or no header can hold it, or where OpenAI's own server needs one.
    """
    found = os.environ.get(variable, "").strip()  # a file's line break often comes with it
    if not (found.isascii() and found.isprintable()):
        raise EngineError(f"the key in {variable} has a character that no key has; set it again")
    if not found and not place(url):
        raise EngineError(f"no API key: set the environment variable {variable}, or name a base_url")
    parts = urlsplit(url or "")
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


class Pace:
    """How many requests may be open, up to `most`: twice as many while that pays, half as many when the server is hurt.

    A round is two answers for each open request. One with a tenth more answers a second than the one before was worth
    it; one that was not is taken back, and tried again after a while. After a push-back (429, 5xx, a timeout, a lost
    connection) steps are small. Source: AIMD, Chiu and Jain (1989), doi:10.1016/0169-7552(89)90019-6.
    """

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic) -> None:
        self.most, self.open, self._now = most, min(_FEW, most), now
        self._factor, self._best = 2.0, 0.0
        self._before = self._held = 0
        self._cut = -math.inf  # when the last push-back came
        self._round()

    def answered(self) -> None:
        """Note an answer."""
        self._done += 1
        if self._done < 2 * self.open:
            return
        rate = self._done / max(self._now() - self._since, 1e-9)
        paid = rate > 1.1 * self._best
        if self._before and not paid:
            self.open, self._before, self._held = self._before, 0, 0
        else:
            self._best, self._held = rate, self._held + 1
            grows = paid or self._held > _HOLD
            self._before = self.open if grows else 0
            self.open = min(self.most, max(self.open + 1, int(self.open * self._factor))) if grows else self.open
        self._round()

    def pushed_back(self, sent: float) -> None:
        """Note that a request that was sent then was not taken; those that were open together count once."""
        if sent > self._cut:
            self.open, self._factor, self._cut = max(1, self.open // 2), 1.125, self._now()
            self._before = self._held = 0
            self._round()

    def _round(self) -> None:
        self._done, self._since = 0, self._now()
