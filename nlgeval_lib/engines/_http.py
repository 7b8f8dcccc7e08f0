"""The client that OpenAI-compatible servers are asked with: so many connections, and no answer longer than agreed."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

_PIECE = 1 << 16  # bytes that are unpacked at a time


class TooLong(Exception):
    """An answer's body is longer than `max_bytes`, or packed so that its length cannot be told."""


def check_address(url: str) -> None:
    """Passes for an address that can be asked. Raises: ValueError, without the user name or key in it."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port out of range, a broken IPv6 address
        usable = False
    if not usable:
        shown = url.rpartition("@")[2]
        raise ValueError(f"base_url {shown!r}: an address such as http://host:8000/v1 is needed")


def client(base_url: str | None, key: str, *, connections: int, timeout: float, max_bytes: int) -> Any:
    """An `openai.AsyncOpenAI` that never asks again by itself. timeout: seconds; max_bytes: of one answer's body."""
    import httpx2
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    return AsyncOpenAI(
        api_key=key or "none",
        base_url=base_url,
        max_retries=0,
        timeout=timeout,
        default_headers={"Accept-Encoding": "identity"},
        http_client=DefaultAsyncHttpxClient(
            limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
            timeout=timeout,
            verify=_certificates(),
            event_hooks={"response": [_limited(max_bytes)]},
        ),
    )


@functools.lru_cache(maxsize=1)
def _certificates() -> Any:
    """What a server's certificate is held against, read once."""
    import httpx2

    return httpx2.create_ssl_context()


def _limited(max_bytes: int) -> Any:
    """A hook on every response that stops reading after so many bytes, counted as they are once unpacked."""
    import httpx2

    def too_long() -> TooLong:
        return TooLong(f"the answer is longer than {max_bytes} bytes (max_bytes)")

    class Limited(httpx2.AsyncByteStream):
        def __init__(self, stream: Any, unpacked: Callable[[bytes], Iterator[bytes]]) -> None:
            self.stream, self.unpacked = stream, unpacked

        async def __aiter__(self) -> Any:
            read = 0
            async for part in self.stream:
                for piece in self.unpacked(part):
                    read += len(piece)
                    if read > max_bytes:
                        raise too_long()
                    yield piece

        async def aclose(self) -> None:
            await self.stream.aclose()

    async def hook(response: Any) -> None:
        packed = response.headers.pop("content-encoding", "identity").strip().lower()
        if int(response.headers.get("content-length") or 0) > max_bytes:
            await response.aclose()
            raise too_long()
        response.stream = Limited(response.stream, _unpacker(packed))

    return hook


def _unpacker(packed: str) -> Callable[[bytes], Iterator[bytes]]:
    """Unpacks a body part by part, a piece at a time: a short body may unfold to a long one, though none was asked."""
    if packed in ("", "identity"):
        return lambda part: iter((part,))
    if packed not in ("gzip", "x-gzip", "deflate"):
        raise TooLong(f"the answer is packed ({packed!r}), and an unpacked one was asked for")
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip and zlib alike

    def unpacked(part: bytes) -> Iterator[bytes]:
        while piece := unpacking.decompress(part, _PIECE):
            yield piece
            part = unpacking.unconsumed_tail

    return unpacked
