"""What a run shows: a line for each thing that happened and, on a terminal, one live line of what goes on now."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_WORDS = {"ran": "done", "cached": "cached", "failed": "FAILED", "unavailable": "not run"}


def plain(text: str) -> str:
    """`text` without terminal colours and without other control characters."""
    return re.sub(r"[^\t\n\x20-\x7e\x80-\U0010ffff]|[\x80-\x9f]", "", _ANSI.sub("", text))


class Progress:
    """Counts outcomes and prints them. `total` outputs are looked at; `stream` defaults to standard output."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._console = Console(file=self._stream)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self.total = total
        self._began = time.monotonic()
        self.counts: Counter[str] = Counter()

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.monotonic() - self._began

    def say(self, text: str) -> None:
        """One line that stays."""
        self.close()
        print(plain(text), file=self._stream, flush=True)

    def outcome(self, name: str, what: str, seconds: float | None = None, detail: str = "") -> None:
        """`name` ended as `what`: ran, cached, failed, unavailable."""
        self.counts[what] += 1
        took = f" {seconds:6.1f} s" if seconds is not None else " " * 9
        width = len(str(self.total))
        place = f"[{self.counts.total():{width}}/{self.total}]"
        self.say(f"{place} {_WORDS[what]:8}{took}  {name}{'  ' + detail if detail else ''}")

    def tick(self, running: Iterable[str]) -> None:
        """Redraw the live line (terminals only)."""
        if self._console.is_terminal:
            done = f"{self.counts.total()}/{self.total} | {self.summary()} | {self.seconds:.0f} s"
            text = f"{done} | running: {', '.join(running) or 'nothing'}"
            self._live.start()
            self._live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)

    def summary(self, kept: str = "") -> str:
        """How many ran, were cached, failed, were not run; `kept`: what stands from earlier runs, since these had less.

        That nothing failed is said only where nothing was lost either.
        """
        said = [f"{self.counts['ran']} run", f"{self.counts['cached']} cached"]
        if self.counts["failed"] or not kept:
            said.append(f"{self.counts['failed']} failed")
        if self.counts["unavailable"]:
            said.append(f"{self.counts['unavailable']} not run")
        if kept:
            said.append(f"{kept} not made again, kept from earlier")
        return ", ".join(said)

    def close(self) -> None:
        """Leave the terminal's line clean."""
        self._live.stop()
