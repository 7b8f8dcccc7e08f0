"""The client that OpenAI-compatible servers are asked with: so many connections, and no answer longer than agreed."""

from __future__ import annotations

import functools
from typing import Any


class TooLong(Exception):
    """An answer's body is longer than `max_bytes`."""


def client(base_url: str | None, key: str, *, connections: int, timeout: float, max_bytes: int) -> Any:
    """An `openai.AsyncOpenAI` that never asks again by itself. timeout: seconds; max_bytes: of one answer's body."""
    import httpx2
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    return AsyncOpenAI(
        api_key=key or "none",
        base_url=base_url,
        max_retries=0,
        timeout=timeout,
        default_headers={"Accept-Encoding": "identity"},  # a short body cannot unfold to a long one
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
    """A hook on every response that stops reading after so many bytes."""
    import httpx2

    def too_long() -> TooLong:
        return TooLong(f"the answer is longer than {max_bytes} bytes (max_bytes)")

    class Limited(httpx2.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self.stream = stream

        async def __aiter__(self) -> Any:
            read = 0
            async for part in self.stream:
                read += len(part)
                if read > max_bytes:
                    raise too_long()
                yield part

        async def aclose(self) -> None:
            await self.stream.aclose()

    async def hook(response: Any) -> None:
        if int(response.headers.get("content-length") or 0) > max_bytes:
            await response.aclose()
            raise too_long()
        response.stream = Limited(response.stream)

    return hook
