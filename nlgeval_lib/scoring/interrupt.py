"""Ctrl-C between two batches: what an engine has finished is handed over and stored before the run ends."""

from __future__ import annotations

import contextlib
import inspect
import signal
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from nlgeval_lib.engines import Ask, Engine, Sampling
from nlgeval_lib.schema import Completion

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Gentle:
    """An engine that hears of a Ctrl-C only while it is waited for, never while its completions are being stored.

    It then gets a KeyboardInterrupt, hands over what it has finished and ends; a second Ctrl-C ends at once.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting = False
        self.pending = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def hear(self, *_: Any) -> None:
        """The signals' handler."""
        if self._waiting or self.pending:
            raise KeyboardInterrupt
        self.pending = True

    def generate(self, asks: Sequence[Ask], sampling: Sampling) -> Iterator[list[Completion]]:
        """The engine's batches."""
        inner = self._engine.generate(asks, sampling)
        with contextlib.closing(inner):
            while True:
                try:
                    self._waiting = True
                    batch = inner.throw(self._heard()) if self.pending else next(inner)
                except StopIteration:
                    return
                except KeyboardInterrupt:
                    if inspect.getgeneratorstate(inner) == inspect.GEN_CLOSED:
                        raise
                    self.pending = True  # it came a moment before the engine was waited for
                    continue
                finally:
                    self._waiting = False
                yield batch

    def _heard(self) -> KeyboardInterrupt:
        self.pending = False
        return KeyboardInterrupt()


@contextlib.contextmanager
def gentle(engine: Engine) -> Iterator[Any]:
    """The engine as `Gentle`, with the signals' handlers in place where this is the main thread.

    Raises: KeyboardInterrupt at the end, if one came when nothing was waited for any more.
    """
    asked = Gentle(engine)
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {one: signal.getsignal(one) for one in SIGNALS}
    mine = [one for one, handler in before.items() if handler is signal.default_int_handler]
    for one in mine:
        signal.signal(one, asked.hear)
    try:
        yield asked
    finally:
        for one in mine:
            signal.signal(one, before[one])
    if asked.pending:
        raise KeyboardInterrupt
