"""Who answers behind an address: what goes into the keys of its completions, and whether it may have our key."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import time
import warnings
from typing import Any
from urllib.parse import urlsplit

from nlgeval_lib.engines._protocol import SECRET, loaded
from nlgeval_lib.engines.base import EngineError
from nlgeval_lib.engines.keys import canonical

OFFICIAL = "https://api.openai.com/v1"
MARKS = ("at:", "extra:", "quantization=", "load_in_4bit=", "load_in_8bit=")  # how parts of a revision begin
_TOLD = ("owner", "root", "quantization")  # what a server tells of a model and keys have
_UNKNOWN = re.compile(r"unrecogni|unknown|unexpected|unsupported|not (permitted|allowed|supported)|extra", re.I)
_PATIENCE = 10.0  # seconds for an answer that costs a server nothing
_MOST = 1 << 20  # bytes of it


def place(address: str) -> str:
    """Host, port and path of a server, as keys have them; empty for OpenAI's own."""
    parts = urlsplit(address)
    where = parts.netloc.rpartition("@")[2] + parts.path.rstrip("/").removesuffix("/v1")
    return "" if parts.hostname == urlsplit(OFFICIAL).hostname else _plain(where)


def about(address: str, model: str, key: str, hung: bool = False) -> dict[str, str]:
    """What a server tells of a model: `server`, and where it tells them `owner`, `root` (the weights that it serves
    under this name), `quantization` and the engine's `version`.

    hung: it was given up before for want of an answer. Warns of one that is silent.
    Raises: EngineError where nobody answers.
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


def headers(key: str) -> dict[str, str]:
    """What each request has; servers that want no key take any."""
    return {"authorization": f"Bearer {key or 'none'}"}


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
    how: dict[str, Any] = {"json": body, "headers": headers(key), "timeout": _PATIENCE}
    try:
        with httpx2.stream("POST" if body else "GET", url, **how) as response:
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
