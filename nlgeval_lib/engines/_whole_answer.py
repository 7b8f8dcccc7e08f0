"""One answer of a connection, and nothing that the server sends beyond its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2

from nlgeval_lib.engines._server import AttemptFailed

_SURPLUS = "the server sent more than one answer to one request; none is kept"
# from a response's stream to the state of its connection, by h11
_TO_STATE = ("_stream", "_httpcore_stream", "_stream", "_connection", "_h11_state")


class WholeAnswer(httpx2.AsyncByteStream):
    """The bytes of one answer. What a server sends beyond its end would be taken for
    the answer to the next request on that connection: it is closed then.

    Raises: AttemptFailed, after the last byte, where there is more.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self.stream:
            yield part
        # Neither httpx2 nor httpcore2 shows the protocol's state.
        state = self.stream
        for name in _TO_STATE:
            state = getattr(state, name)
        surplus, _ = state.trailing_data
        if surplus:
            # A connection whose state is an error is not used again.
            state.send_failed()
            raise AttemptFailed(_SURPLUS, wait=0.0)

    async def aclose(self) -> None:
        """Give the connection back, or close it."""
        await self.stream.aclose()
