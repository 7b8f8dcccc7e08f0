"""Who answers behind an address: what goes into the keys of its completions, and whether anybody is there at all."""

from __future__ import annotations

import contextlib
import json
import re
import time
import warnings
from typing import Any
from urllib.parse import urlsplit

from nlgeval_lib.engines.base import EngineError
from nlgeval_lib.engines.keys import canonical

OFFICIAL = "api.openai.com"
MARKS = ("at:", "extra:", "quantization=", "load_in_4bit=", "load_in_8bit=")  # how parts of a revision begin
_UNKNOWN = re.compile(r"unrecogni|unknown|unexpected|unsupported|not (permitted|allowed|supported)|extra", re.I)
_PATIENCE = 10.0  # seconds for an answer that costs a server nothing
_MOST = 1 << 20  # bytes of it


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
            told = {"owner": one.get("owned_by"), "root": "" if root == model else root}
            told["quantization"] = one.get("quantization")
            found |= {name: _plain(str(value)) for name, value in told.items() if value}
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
        parts += [f"{name}:{about[name]}" for name in ("owner", "root", "quantization") if name in about]
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
