"""When to send the next request: rates, waits that the server asks for, back-off. The clock can be replaced."""

from __future__ import annotations

import asyncio
import email.utils
import random
import time
from collections.abc import Mapping


class Clock:
    """The time and the waiting. Tests put their own in its place."""

    def monotonic(self) -> float:
        """Seconds from any fixed point."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


def retry_after(headers: Mapping[str, str], clock: Clock) -> float | None:
    """The seconds that a server asks to wait, from `retry-after-ms` or `Retry-After` (seconds or a date), or None.

    Source: RFC 9110, section 10.2.3; `retry-after-ms` is OpenAI's.
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * unit
        except ValueError:
            try:
                seconds = email.utils.parsedate_to_datetime(value).timestamp() - clock.wall()
            except (ValueError, TypeError, OverflowError):
                continue
        if seconds == seconds:
            return max(0.0, seconds)
    return None


class Gate:
    """Lets requests pass at most so many a minute, and none before the time that the server named last."""

    def __init__(self, clock: Clock, requests_per_minute: float | None, tokens_per_minute: float | None) -> None:
        self.clock = clock
        self._gap = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._token_gap = 60.0 / tokens_per_minute if tokens_per_minute else 0.0
        self._next = self._not_before = float("-inf")
        self._tokens_free = float("-inf")

    async def wait(self) -> None:
        """Return when a request may go out."""
        slot = self.clock.monotonic()
        if self._gap:
            slot = max(slot, self._next)
            self._next = slot + self._gap
        while (delay := max(slot, self._not_before, self._tokens_free) - self.clock.monotonic()) > 0:
            await self.clock.sleep(delay)

    def hold(self, seconds: float) -> None:
        """Nobody sends for so long."""
        self._not_before = max(self._not_before, self.clock.monotonic() + seconds)

    def used(self, tokens: int) -> None:
        """Tokens were used: the next requests wait until the rate allows for them."""
        if self._token_gap:
            self._tokens_free = max(self._tokens_free, self.clock.monotonic()) + tokens * self._token_gap


def backoff(attempt: int, base: float, most: float, rng: random.Random) -> float:
    """Seconds before attempt number `attempt` + 1: doubled each time, up to `most`, times a random half to whole."""
    return min(most, base * 2.0**attempt) * (0.5 + 0.5 * rng.random())
