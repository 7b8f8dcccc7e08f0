"""Ctrl-C between two batches: what an engine has finished is handed over and stored before the run ends."""

from __future__ import annotations

import contextlib
import inspect
import signal
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from nlgeval_lib.engines import Ask, Engine, Sampling
from nlgeval_lib.records import Completion

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Gentle:
    """An engine that a Ctrl-C ends without losing what it has finished.

    It is never heard while completions are being stored. An engine with `stop` is told to, and then waited for; another
    one gets a KeyboardInterrupt where it waits. A second Ctrl-C ends at once.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting = self._raised = False
        self.pending = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def hear(self, *_: Any) -> None:
        """The signals' handler."""
        again, self.pending = self.pending, True
        if again or (self._waiting and not self._stopping()):
            self._raised = True
            raise KeyboardInterrupt

    def generate(self, asks: Sequence[Ask], sampling: Sampling) -> Iterator[list[Completion]]:
        """The engine's batches."""
        inner: Any = self._engine.generate(asks, sampling)
        with contextlib.closing(inner):
            while True:
                try:
                    self._waiting = True
                    if self.pending and not self._stopping() and not self._raised:
                        self._raised = True
                        batch = inner.throw(KeyboardInterrupt())
                    else:
                        batch = next(inner)
                except StopIteration:
                    return
                except KeyboardInterrupt:
                    if inspect.getgeneratorstate(inner) == inspect.GEN_CLOSED:
                        raise
                    self._raised = False  # it came a moment before the engine was waited for
                    continue
                finally:
                    self._waiting = False
                yield batch

    def _stopping(self) -> bool:
        """Whether the engine can be told to stop, and now is."""
        stop = getattr(self._engine, "stop", None)
        if stop is not None:
            stop()
        return stop is not None


@contextlib.contextmanager
def gentle(engine: Engine) -> Iterator[Any]:
    """The engine as `Gentle`, with the signals' handlers in place where this is the main thread.

    Raises: KeyboardInterrupt at the end, if one came and nothing has raised it yet.
    """
    asked = Gentle(engine)
    mine = []
    if threading.current_thread() is threading.main_thread():
        mine = [one for one in SIGNALS if signal.getsignal(one) is signal.default_int_handler]
    for one in mine:
        signal.signal(one, asked.hear)
    try:
        yield asked
    finally:
        for one in mine:
            signal.signal(one, signal.default_int_handler)
    if asked.pending:
        raise KeyboardInterrupt
