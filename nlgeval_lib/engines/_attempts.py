"""Attempts at a server: when the next may go out, and why one failed, in what words, never with the key."""

from __future__ import annotations

import asyncio
import email.utils
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nlgeval_lib.engines import _http, _protocol

_HOPELESS = (401, 403, 404)  # no key, no right, no such model: the next request will fare no better
_PASSING = (408, 409, 429)  # and all of 500 and above
_LONGEST = 400  # characters of a reason
_START = 12  # as much of a key's beginning is taken for the key: an excerpt may end within it
_SECRET = 16  # characters; what is shorter is no key but a word such as "EMPTY" for a server that wants none


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


@dataclass(frozen=True, slots=True)
class Fault:
    """reason: for people. wait: the least seconds before another attempt, None where there should be none.

    hopeless: no request of this run will fare better.
    """

    reason: str
    wait: float | None = None
    hopeless: bool = False


@dataclass(frozen=True, slots=True)
class Faults:
    """What is known of the attempts of one run. key: as it is sent, "" without one; variable: where it comes from."""

    key: str
    variable: str
    timeout: float
    max_wait: float
    clock: Clock

    def fault(self, error: Exception) -> Fault:
        """What an attempt that ended with `error` means."""
        import openai

        for one in (error, error.__cause__):
            if isinstance(one, (_http.TooLong, KeySentBack)):
                return Fault(str(one))
        if isinstance(error, openai.APIStatusError):
            return self._status(error)
        if isinstance(error, (TimeoutError, openai.APITimeoutError)):
            return Fault(f"no answer within {self.timeout:g} s", 0.0)
        if isinstance(error, openai.APIConnectionError):
            cause = error.__cause__ or error
            return Fault(self.clean(f"connection lost: {type(cause).__name__}: {cause}"), 0.0)
        if isinstance(error, _protocol.BadAnswer):
            return Fault(self.clean(f"a bad answer: {error}"), 0.0)
        passing = not isinstance(error, (ValueError, TypeError))  # of ours, and the same at the next attempt
        return Fault(self.clean(f"{type(error).__name__}: {error}"), 0.0 if passing else None)

    def _status(self, error: Any) -> Fault:
        status = error.status_code
        reason = self.clean(f"HTTP {status}: {error.message}")
        if status in (401, 403):
            reason += f"; the key is that of {self.variable}" if self.key else f"; no key was sent: set {self.variable}"
        if status in _HOPELESS or error.code == "insufficient_quota":
            return Fault(reason, hopeless=True)
        if status not in _PASSING and status < 500:
            return Fault(reason)
        wait = retry_after(error.response.headers, self.clock)
        if wait is not None and wait > self.max_wait:
            return Fault(f"{reason}; the server asks to wait {wait:.0f} s, more than max_wait={self.max_wait:g}")
        return Fault(reason, wait or 0.0)

    def refuse_key(self, content: bytes) -> None:
        """Passes where the key is not in an answer: it must get into no store. Raises: KeySentBack."""
        if len(self.key) >= _SECRET and self.key.encode() in content:
            raise KeySentBack("the answer repeats the API key; nothing of it is kept")

    def clean(self, reason: str) -> str:
        """A reason without the key, should a server have sent it back, whole or cut off."""
        if self.key:
            reason = reason.replace(self.key, "[key]")
        if len(self.key) >= _SECRET:
            while (at := reason.find(self.key[:_START])) >= 0:
                there = (n for n in range(len(self.key), _START, -1) if reason.startswith(self.key[:n], at))
                reason = reason[:at] + "[key]" + reason[at + next(there, _START) :]
        return reason[:_LONGEST]


class KeySentBack(ValueError):
    """A server's answer has the key in it."""
