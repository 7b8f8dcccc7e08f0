"""Why an attempt at a server failed: in what words, never with the key, and whether another attempt can help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nlgeval_lib.engines import _http, _protocol
from nlgeval_lib.engines._pacing import Clock, retry_after

_HOPELESS = (401, 403, 404)  # no key, no right, no such model: the next request will fare no better
_PASSING = (408, 409, 429)  # and all of 500 and above
_LONGEST = 400  # characters of a reason
_START = 12  # as much of a key's beginning is taken for the key: an excerpt may end within it
_SECRET = 16  # characters; what is shorter is no key but a word such as "EMPTY" for a server that wants none


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
