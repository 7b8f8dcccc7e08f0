"""What a run over a store shows: one live line on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from nlgeval_lib.engines import Progress
from nlgeval_lib.records import Completion

_EVERY = 30.0  # seconds between two lines where the live line cannot be
_FIRST = 5.0


class ProgressBar:
    """Shows how the completions of a run come in: done, stored before, failed, parse rate, tokens a second, time left.

    Pass `bar.report` as `progress` to `engines.complete` or to an evaluator. `reads` says whether a completion can be
    read; without it no parse rate is shown. Nothing is shown where nothing has to be asked, or with `quiet`.
    """

    def __init__(
        self,
        name: str = "completions",
        reads: Callable[[Completion], bool] | None = None,
        stream: TextIO | None = None,
        quiet: bool = False,
    ) -> None:
        self.stream = stream or sys.stderr
        self.quiet = quiet
        self._clock = time.monotonic
        self.start(name, reads)

    def start(self, name: str, reads: Callable[[Completion], bool] | None = None) -> None:
        """A new stage of the run."""
        self.name, self.reads = name, reads
        self.read = self.unread = 0
        self.last: Progress | None = None
        self._bar: Any = None
        self._said = -math.inf

    def report(self, progress: Progress, batch: Sequence[Completion] = ()) -> None:
        """What `engines.complete` calls at the start and after each batch."""
        self.last = progress
        if self.reads is not None:
            came = [self.reads(completion) for completion in batch if completion.finish_reason != "error"]
            self.read += sum(came)
            self.unread += len(came) - sum(came)
        if not self.quiet and (progress.left or batch):
            (self._draw if self.stream.isatty() else self._say)(progress)

    __call__ = report

    def until(self, stopped: Callable[[], bool]) -> Callable[[Progress, Sequence[Completion]], None]:
        """`report`, which shows nothing more once the run is being stopped."""

        def report(progress: Progress, batch: Sequence[Completion] = ()) -> None:
            if not stopped():
                self.report(progress, batch)
            self.last = progress

        return report

    @property
    def parse_rate(self) -> float:
        """The share of the completions made now that could be read, NaN before the first."""
        seen = self.read + self.unread
        return self.read / seen if seen else math.nan

    def close(self) -> None:
        """Leave the line as it stands."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def line(self, progress: Progress) -> str:
        """The numbers as text."""
        parts = [f"{progress.done:,} done", f"{progress.stored:,} stored", f"{progress.failed:,} failed"]
        if not math.isnan(self.parse_rate):
            parts.append(f"{self.parse_rate:.1%} parsed")
        if progress.done and progress.seconds > 0:
            parts.append(f"{progress.tokens_per_second:,.0f} tokens/s")
        if progress.left and not math.isnan(progress.seconds_left):
            parts.append(f"{duration(progress.seconds_left)} left")
        return ", ".join(parts)

    def _draw(self, progress: Progress) -> None:
        from tqdm import tqdm

        there = progress.total - progress.left
        if self._bar is None:
            form = "{desc}: {percentage:3.0f}% |{bar:20}| {n_fmt}/{total_fmt}{postfix}"
            shown = {"desc": self.name, "file": self.stream, "bar_format": form, "dynamic_ncols": True}
            self._bar = tqdm(total=progress.total, initial=there, mininterval=0.2, **shown)
        self._bar.set_postfix_str(self.line(progress), refresh=False)
        self._bar.update(there - self._bar.n)
        if not progress.left:
            self._bar.refresh()
            self.close()

    def _say(self, progress: Progress) -> None:
        now, first = self._clock(), self._said == -math.inf
        if first:
            self._said = now - _EVERY + _FIRST
            said = f"{progress.total:,} wanted, {progress.stored:,} stored" if progress.stored < progress.total else ""
        elif now - self._said >= _EVERY or not progress.left:
            self._said, said = now, self.line(progress)
        else:
            return
        if said:
            print(f"{self.name}: {said}", file=self.stream, flush=True)


def duration(seconds: float) -> str:
    """Seconds as people read them: 45 s, 3 min, 2.5 h, 1.2 days."""
    for most, unit, form in ((100, 1, "{:.0f} s"), (6000, 60, "{:.0f} min"), (48 * 3600, 3600, "{:.1f} h")):
        if seconds < most:
            return form.format(seconds / unit)
    return f"{seconds / 86400:.1f} days"
