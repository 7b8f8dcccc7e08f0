"""A progress bar for `complete`: done, cached, failed, share that could be read, tokens a second, time left."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from nlgeval_lib.engines.completion import Progress
from nlgeval_lib.schema import Completion


class Bar:
    """A bar to pass as `progress`; use it in a `with` block.

    `readable(text)` says whether a parser could read a completion; with it the bar shows the parse rate of what was
    made now (`parse_rate`, NaN before the first).
    """

    def __init__(
        self, label: str = "completions", readable: Callable[[str], bool] | None = None, file: TextIO | None = None
    ) -> None:
        self.label, self.readable, self.file = label, readable, file
        self._bar: Any = None
        self._read = self._seen = 0

    @property
    def parse_rate(self) -> float:
        """The share of the completions made now that could be read."""
        return self._read / self._seen if self._seen else math.nan

    def __call__(self, progress: Progress, batch: Sequence[Completion]) -> None:
        """Show where the run stands."""
        if self._bar is None:
            from tqdm.auto import tqdm

            self._bar = tqdm(
                total=progress.total, initial=progress.stored, desc=self.label, file=self.file, unit="", mininterval=0.5
            )
        good = [completion for completion in batch if completion.finish_reason != "error"]
        if self.readable is not None:
            self._seen += len(good)
            self._read += sum(self.readable(completion.text) for completion in good)
        self._bar.set_postfix_str(self._state(progress), refresh=False)
        self._bar.update(len(batch))

    def _state(self, progress: Progress) -> str:
        parts = [f"cached {progress.stored}", f"failed {progress.failed}"]
        if self._seen:
            parts.append(f"read {self.parse_rate:.1%}")
        if progress.seconds > 0:
            parts.append(f"{progress.tokens_per_second:.0f} tok/s")
        return ", ".join(parts)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
