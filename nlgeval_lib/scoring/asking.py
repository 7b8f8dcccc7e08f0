"""Ask a language model stage by stage: progress is shown, every completion is
stored, Ctrl-C loses none.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import signal
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from nlgeval_lib.engines import Ask, Engine, Failure, Progress, Sampling, complete
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.stages import Draws, Stage, Stages, drive
from nlgeval_lib.records import Completion

SIGNALS = (signal.SIGINT, signal.SIGTERM)
COUNTS = ("total", "stored", "done", "failed", "prompt_tokens", "completion_tokens")
RAW = ("text", "finish_reason", "prompt_tokens", "completion_tokens", "error", "key")
# seconds between two lines where the live line cannot be, and to the first
_EVERY = 30.0
_FIRST = 5.0
_SILENT = 5.0  # seconds without an answer that are told
Reads = Callable[[Completion], bool]


@dataclass
class Run:
    """What one run over a store came to: counts as `Progress` has them, failures,
    raw completions if wanted.
    """

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    raw: list[dict[str, Any]] | None = None
    # "empty" or "unparsed": which stored completions are forgotten before they are
    # asked for
    ask_again: str = ""

    def summary(self) -> str:
        """What was asked and had, in one line."""
        said = f"{self.counts['total']:,} completions: {self.counts['stored']:,} stored, {self.counts['done']:,} made"
        if self.counts["failed"]:
            said += f", {self.counts['failed']:,} failed"
        if self.counts["done"]:
            said += f"; {self.counts['prompt_tokens']:,} prompt and {self.counts['completion_tokens']:,} new tokens"
        return said


def ask(
    stages: Stages[Any],
    name: str,
    engine: Engine,
    store: Store | None,
    bar: ProgressBar,
    run: Run,
    reads: Callable[[Stage], Reads | None] = lambda stage: None,
) -> Any:
    """The result of a generator of stages, each asked through the store with progress
    and noted in `run`.

    name: whose stages these are, for the progress. reads: what says whether a
    completion of a stage can be read.
    """

    def answer(stage: Stage) -> Sequence[Draws]:
        if not stage.requests:
            return []
        bar.start(f"{name} {stage.name}", reads(stage))
        useful = {
            "empty": lambda one: bool(one.text.strip()),
            "unparsed": bar.reads,
        }.get(run.ask_again)
        if useful is not None and store is not None:
            kept = store.get_many(
                key
                for one in stage.requests
                for key in one.keys(engine, stage.sampling)
            ).values()
            store.forget(one.key for one in kept if not useful(one))
        last = Progress(total=0, stored=0)

        def shown(progress: Progress, batch: Sequence[Completion] = ()) -> None:
            nonlocal last
            last = progress
            if not asked.pending:  # nothing more once the run is being stopped
                bar.report(progress, batch)

        try:
            with Gentle(engine) as asked:
                answers = complete(asked, stage.requests, stage.sampling, store, shown)
        finally:
            bar.close()
            run.counts.update({name: getattr(last, name) for name in COUNTS})
        run.failures += answers.failed
        if run.raw is not None:
            for request, draws in zip(stage.requests, answers, strict=True):
                for draw, completion in enumerate(draws):
                    known = {
                        name: getattr(completion, name)
                        for name in RAW
                        if name != "error" or completion.error
                    }
                    run.raw.append(
                        {"id": request.id, "stage": stage.name, "draw": draw, **known}
                    )
        return answers

    try:
        return drive(stages, answer)
    except KeyboardInterrupt:
        print(
            f"\n{run.counts['done']:,} completions made now are stored",
            file=bar.stream,
            flush=True,
        )
        raise


# -- Ctrl-C


class Gentle:
    """A context with an engine that a Ctrl-C ends without losing what it has finished;
    it is never heard while completions are being stored. An engine with `stop` is told
    to, and then waited for; another one gets a KeyboardInterrupt where it waits. A
    second Ctrl-C ends at once.

    Raises: KeyboardInterrupt at the end of the context, if one came and nothing has
    raised it yet.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting = self._raised = False
        self.pending = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def __enter__(self) -> Any:
        main = threading.current_thread() is threading.main_thread()
        self._mine = [
            one
            for one in SIGNALS
            if main and signal.getsignal(one) is signal.default_int_handler
        ]
        for one in self._mine:
            signal.signal(one, self.hear)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        for one in self._mine:
            signal.signal(one, signal.default_int_handler)
        if self.pending and kind is None:
            raise KeyboardInterrupt

    def hear(self, *_: Any) -> None:
        """The signals' handler."""
        again, self.pending = self.pending, True
        if again or (self._waiting and not self._stopping()):
            self._raised = True
            raise KeyboardInterrupt

    def generate(
        self, asks: Sequence[Ask], sampling: Sampling
    ) -> Iterator[list[Completion]]:
        """The engine's batches."""
        inner: Any = self._engine.generate(asks, sampling)
        with contextlib.closing(inner):
            while True:
                try:
                    self._waiting = True
                    late = self.pending and not self._stopping() and not self._raised
                    self._raised = self._raised or late
                    batch = inner.throw(KeyboardInterrupt()) if late else next(inner)
                except StopIteration:
                    return
                except KeyboardInterrupt:
                    if inspect.getgeneratorstate(inner) == inspect.GEN_CLOSED:
                        raise
                    self._raised = (
                        False  # it came a moment before the engine was waited for
                    )
                    continue
                finally:
                    self._waiting = False
                yield batch

    def _stopping(self) -> bool:
        stop = getattr(self._engine, "stop", None)
        if stop is not None:
            stop()
        return stop is not None


# -- progress


class ProgressBar:
    """How the completions of a run come in: a live line on a terminal, elsewhere a line
    now and then.

    Pass `bar.report` as `progress` to `engines.complete` or to an evaluator. plan: how
    many completions a plan of many runs asks; one line then goes on from stage to
    stage, and says how much of the whole is made.
    """

    def __init__(
        self,
        name: str = "completions",
        quiet: bool = False,
        stream: TextIO | None = None,
        plan: int | None = None,
    ) -> None:
        self.stream = stream or sys.stderr
        self.quiet = quiet or self.stream.closed
        self._within = ""
        self._began = self._told = time.monotonic()
        self._plan: int | None = None
        self.start(name)
        self._plan = plan
        self._before = self._sum = Progress(
            total=0, stored=0
        )  # of a plan's stages that ended, and with this one

    def part(self, name: str, done: int, total: int, rows: int) -> None:
        """A new part of the rows: `done` of all are scored, and these are so many;
        told where there are several.
        """
        now = time.monotonic()
        self._within = (
            f" (rows {done + 1:,}-{done + rows:,} of {total:,})" if rows < total else ""
        )
        if done and not self.quiet and now >= self._told + _EVERY:
            self._told = now
            left = duration((now - self._began) * (total - done) / done)
            print(
                f"{name}: {done:,} of {total:,} rows, {left} left",
                file=self.stream,
                flush=True,
            )

    def start(self, name: str, reads: Reads | None = None) -> None:
        """A new stage of the run. reads: says whether a completion can be read."""
        self.reads, self.read, self.came = reads, 0, 0
        if self._plan is not None:
            return
        self.name, self.fault = name + self._within, ""
        self._heard = time.monotonic()
        self._bar: Any = None
        self._next = -math.inf

    def report(self, progress: Progress, batch: Sequence[Completion] = ()) -> None:
        """What `engines.complete` calls at the start and after each batch."""
        if self._plan is not None:
            names = ("done", "failed", "prompt_tokens", "completion_tokens", "seconds")
            sums = {
                name: getattr(self._before, name) + getattr(progress, name)
                for name in names
            }
            total = max(
                self._plan, sums["done"] + sums["failed"] + progress.left
            )  # later stages are estimated
            progress = self._sum = Progress(total=total, stored=0, **sums)
        if self.reads is not None:
            came = [
                self.reads(completion)
                for completion in batch
                if completion.finish_reason != "error"
            ]
            self.read, self.came = self.read + sum(came), self.came + len(came)
        self._heard = time.monotonic() if batch else self._heard
        self.fault = next(
            (one.error for one in reversed(batch) if one.error), self.fault
        )
        if not self.quiet and (progress.left or batch):
            (self._draw if self.stream.isatty() else self._say)(progress)

    def close(self) -> None:
        """Leave the line as it stands; that of a plan is for the next stage too."""
        self._before = self._sum
        if self._bar is not None and self._plan is None:
            self._bar.close()
            self._bar = None

    def line(self, progress: Progress) -> str:
        """The numbers as text."""
        last = (
            f" (the last: {textwrap.shorten(self.fault, 80)})"
            if progress.failed and self.fault
            else ""
        )
        parts = [
            f"{progress.done:,} done",
            f"{progress.stored:,} stored",
            f"{progress.failed:,} failed{last}",
        ]
        silent = time.monotonic() - self._heard
        if progress.left and silent >= _SILENT:
            parts.append(f"no answer for {duration(silent)}")
        if self.came:
            parts.append(f"{self.read / self.came:.1%} parsed")
        if progress.done and progress.seconds > 0:
            parts.append(
                f"{progress.completion_tokens / progress.seconds:,.0f} tokens/s"
            )
        if progress.left and (made := progress.done + progress.failed):
            parts.append(f"{duration(progress.left * progress.seconds / made)} left")
        return ", ".join(parts)

    def _draw(self, progress: Progress) -> None:
        from tqdm import tqdm

        if self._bar is None:
            form = {
                "bar_format": "{desc} {percentage:3.0f}% |{bar:20}| {n_fmt}/{total_fmt} {postfix}"
            }
            self._bar = tqdm(
                total=progress.total,
                desc=self.name,
                file=self.stream,
                dynamic_ncols=True,
                **form,
            )
        self._bar.n = progress.total - progress.left
        self._bar.set_postfix_str(self.line(progress))
        if not progress.left:
            self.close()

    def _say(self, progress: Progress) -> None:
        now = time.monotonic()
        said = ""
        if self._next == -math.inf:
            self._next = now + _FIRST
            said = (
                f"{progress.total:,} wanted, {progress.stored:,} stored"
                if progress.stored < progress.total
                else ""
            )
        elif now >= self._next or not progress.left:
            self._next, said = now + _EVERY, self.line(progress)
        if said:
            print(f"{self.name}: {said}", file=self.stream, flush=True)


def duration(seconds: float) -> str:
    """Seconds as people read them: 45 s, 3 min, 2.5 h, 1.2 days."""
    for most, unit, form in (
        (100, 1, "{:.0f} s"),
        (6000, 60, "{:.0f} min"),
        (48 * 3600, 3600, "{:.1f} h"),
    ):
        if seconds < most:
            return form.format(seconds / unit)
    return f"{seconds / 86400:.1f} days"
