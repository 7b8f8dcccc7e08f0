"""Ask a language model stage by stage: progress is shown, every completion is stored,
Ctrl-C loses none.
"""

from __future__ import annotations

import contextlib
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

from nlgeval_lib.engines import (
    Answers,
    Ask,
    Engine,
    Failure,
    Progress,
    Sampling,
    complete,
)
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.stages import Draws, Stage, Stages, drive
from nlgeval_lib.progress import in_notebook
from nlgeval_lib.records import Completion

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # that end a run gently
_TOKENS = ("prompt_tokens", "completion_tokens", "reasoning_tokens")
# the fields of `Progress` that `Run` adds up
COUNTS = ("total", "stored", "done", "failed", *_TOKENS)
# what a record of a completion has, and what only where it is not empty
_RAW = ("text", "finish_reason", "prompt_tokens", "completion_tokens", "key")
_RARE = ("error", "reasoning", "reasoning_tokens")
# the fields of `Progress` that are added up over the stages of a plan
_SUMMED = ("done", "failed", *_TOKENS, "seconds")
# Seconds between two printed lines, and to the first, where no live line can be drawn.
_EVERY = 30.0
_FIRST = 5.0
# A line says for how many seconds no answer has come once they are this many.
_SILENT = 5.0
# says whether a completion can be read
Reads = Callable[[Completion], bool]


@dataclass
class Run:
    """The outcome of one run over a store; raw: None where no records are wanted.

    counts: COUNTS over all stages, and `asked_again`, the stored completions that were
    thrown away.
    served: the models that answered, as their servers called them.
    ask_again: which stored completions to forget first: "empty", "unparsed", "".
    """

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    raw: list[dict[str, Any]] | None = None
    served: set[str] = field(default_factory=set)
    ask_again: str = ""

    def summary(self) -> str:
        """How many completions were needed, stored and made, in one line."""
        counts = self.counts
        text = (
            f"{counts['total']:,} completions: {counts['stored']:,} stored, "
            f"{counts['done']:,} made"
        )
        if counts["asked_again"]:
            text += f", {counts['asked_again']:,} of them asked again"
        if counts["failed"]:
            text += f", {counts['failed']:,} failed"
        if counts["done"]:
            text += (
                f"; {counts['prompt_tokens']:,} prompt and "
                f"{counts['completion_tokens']:,} new tokens"
            )
            if counts["reasoning_tokens"]:
                text += f", of these {counts['reasoning_tokens']:,} of reasoning"
        return text


def ask(
    stages: Stages[Any],
    name: str,
    engine: Engine,
    store: Store | None,
    bar: ProgressBar,
    run: Run,
    reads: Callable[[Stage], Reads | None] = lambda stage: None,
) -> Any:
    """What a generator of stages returns, each stage asked through the store (None: all
    anew) with progress and noted in `run`; a Ctrl-C loses no finished completion.

    reads: gives what says whether a completion of a stage can be read; None for a stage
    whose completions are not read so.
    """

    def answer(stage: Stage) -> Sequence[Draws]:
        if not stage.requests:
            return []
        bar.start(f"{name} {stage.name}", reads(stage))
        if store is not None and run.ask_again in ("empty", "unparsed"):
            useful = _has_text if run.ask_again == "empty" else bar.reads
            run.counts["asked_again"] += _throw_away(store, stage, engine, useful)
        answers = _answers(stage, engine, store, bar, run)
        run.failures += answers.failed
        run.served |= answers.served
        if run.raw is not None:
            run.raw += _raw_records(stage, answers)
        return answers

    try:
        return drive(stages, answer)
    except KeyboardInterrupt:
        bar.print(f"\n{run.counts['done']:,} completions made now are stored")
        raise


def _answers(
    stage: Stage, engine: Engine, store: Store | None, bar: ProgressBar, run: Run
) -> Answers:
    progress = Progress(total=0, stored=0)

    def report(latest: Progress, batch: Sequence[Completion] = ()) -> None:
        nonlocal progress
        progress = latest
        # A run that is being stopped prints nothing more.
        if not gentle.pending:
            bar.report(latest, batch)

    try:
        with Gentle(engine) as gentle:
            return complete(gentle, stage.requests, stage.sampling, store, report)
    finally:
        bar.close()
        run.counts.update({count: getattr(progress, count) for count in COUNTS})


def _has_text(completion: Completion) -> bool:
    return bool(completion.text.strip())


def _throw_away(
    store: Store, stage: Stage, engine: Engine, useful: Reads | None
) -> int:
    """Remove a stage's useless completions, to be asked again; how many."""
    if useful is None:  # nothing says which can be read
        return 0
    keys = []
    for request in stage.requests:
        keys += request.keys(engine, stage.sampling)
    completions = store.get_many(keys).values()
    useless = [completion.key for completion in completions if not useful(completion)]
    return store.forget(useless, thrown_away=True)


def _raw_records(stage: Stage, answers: Sequence[Draws]) -> Iterator[dict[str, Any]]:
    """Every completion of a stage as a record: its request, stage, draw, then _RAW."""
    for request, draws in zip(stage.requests, answers, strict=True):
        for draw, completion in enumerate(draws):
            record = {"id": request.id, "stage": stage.name, "draw": draw}
            for name in (*_RAW, *_RARE):
                value = getattr(completion, name)
                if value or name in _RAW:
                    record[name] = value
            yield record


# -- Ctrl-C


class Gentle:
    """A context with an engine that a Ctrl-C ends without losing finished completions.

    An engine with `stop` is stopped and waited for; any other gets a KeyboardInterrupt
    where it waits. A second Ctrl-C ends the run at once.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting = False
        self.pending = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def __enter__(self) -> Any:
        """Take over, in the main thread, the signals that end a run."""
        self._handled = []
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) is signal.default_int_handler:
                    self._handled.append(number)
                    signal.signal(number, self.hear)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Give the signals back, and raise what was put off."""
        for number in self._handled:
            signal.signal(number, signal.default_int_handler)
        if self.pending and kind is None:
            raise KeyboardInterrupt

    def hear(self, *_: Any) -> None:
        """The signals' handler: interrupts the second time, or an engine without stop."""
        again = self.pending
        self.pending = True
        if again or (self._waiting and not self._stopping()):
            raise KeyboardInterrupt

    def generate(
        self, asks: Sequence[Ask], sampling: Sampling
    ) -> Iterator[list[Completion]]:
        """The engine's batches, until they end or the run is stopped."""
        batches: Any = self._engine.generate(asks, sampling)
        with contextlib.closing(batches):
            while True:
                # Only while the engine is waited for may a signal interrupt: a batch
                # that was yielded is being stored.
                self._waiting = True
                try:
                    if self.pending and not self._stopping():
                        raise KeyboardInterrupt
                    batch = next(batches, None)
                finally:
                    self._waiting = False
                if batch is None:
                    return
                yield batch

    def _stopping(self) -> bool:
        """Stop the engine; whether it can be stopped."""
        stop = getattr(self._engine, "stop", None)
        if stop is None:
            return False
        stop()
        return True


# -- progress


class ProgressBar:
    """The progress of a run: a live line on a terminal, elsewhere a line at intervals.

    stream: where it is shown; None for standard error.
    plan: how many completions a plan of many runs asks for: one line for all stages.
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
        self._plan: int | None = None
        self.start(name)
        self._plan = plan
        # The sums over a plan's finished stages, and over these and the present one.
        self._finished = Progress(total=0, stored=0)
        self._sum = self._finished

    def start(self, name: str, reads: Reads | None = None) -> None:
        """Begin a new stage. reads: says whether a completion can be read."""
        self.reads = reads
        self.read = 0  # completions that could be read
        self.came = 0  # completions that came, without errors
        # One line goes on through all stages of a plan.
        if self._plan is not None:
            return
        self.name = name
        self.fault = ""  # the last error
        self._heard = time.monotonic()
        self._bar: Any = None  # the live line, once one is drawn
        self._next = -math.inf  # when the next line is due, where none is drawn

    def report(self, progress: Progress, batch: Sequence[Completion] = ()) -> None:
        """Take in a batch of a stage and show the progress."""
        if self._plan is not None:
            progress = self._of_plan(progress, self._plan)
        for completion in batch:
            if self.reads is not None and completion.finish_reason != "error":
                self.read += self.reads(completion)
                self.came += 1
            self.fault = completion.error or self.fault
        if batch:
            self._heard = time.monotonic()
        if self.quiet or not (progress.left or batch):
            return
        if self.stream.isatty() or in_notebook():
            self._draw(progress)
            return
        # a line at the start, and then not more often than every `_EVERY`
        moment = time.monotonic()
        if self._next == -math.inf:
            self._next = moment + _FIRST
            if progress.stored < progress.total:
                needed = f"{progress.total:,} wanted, {progress.stored:,} stored"
                self.print(f"{self.name}: {needed}")
        elif moment >= self._next or not progress.left:
            self._next = moment + _EVERY
            self.print(f"{self.name}: {self.line(progress)}")

    def close(self) -> None:
        """Leave the line, at a stage's end; that of a plan stays for the next."""
        self._finished = self._sum
        if self._bar is not None and self._plan is None:
            self._bar.close()
            self._bar = None

    def line(self, progress: Progress) -> str:
        """Done, stored, failed, silence, share parsed, speed, time left, as text."""
        failed = f"{progress.failed:,} failed"
        if progress.failed and self.fault:
            failed += f" (the last: {textwrap.shorten(self.fault, 80)})"
        texts = [f"{progress.done:,} done", f"{progress.stored:,} stored", failed]
        silent = time.monotonic() - self._heard
        if progress.left and silent >= _SILENT:
            texts.append(f"no answer for {duration(silent)}")
        if self.came:
            texts.append(f"{self.read / self.came:.1%} parsed")
        if progress.done and progress.seconds > 0:
            speed = progress.completion_tokens / progress.seconds
            texts.append(f"{speed:,.0f} tokens/s")
        answered = progress.done + progress.failed
        if progress.left and answered:
            remaining = progress.left * progress.seconds / answered
            texts.append(f"{duration(remaining)} left")
        return ", ".join(texts)

    def _of_plan(self, progress: Progress, plan: int) -> Progress:
        """The progress of a whole plan: its finished stages and this one."""
        sums = {}
        for name in _SUMMED:
            sums[name] = getattr(self._finished, name) + getattr(progress, name)
        total = max(plan, sums["done"] + sums["failed"] + progress.left)
        self._sum = Progress(total=total, stored=0, **sums)
        return self._sum

    def _draw(self, progress: Progress) -> None:
        from tqdm.auto import tqdm

        if self._bar is None:
            # A notebook's bar is no line of a stream.
            stream: dict[str, Any] = {} if in_notebook() else {"file": self.stream}
            self._bar = tqdm(
                total=progress.total,
                desc=self.name,
                **stream,
                dynamic_ncols=True,
                bar_format="{desc} {percentage:3.0f}% |{bar:20}| "
                "{n_fmt}/{total_fmt} {postfix}",
            )
        self._bar.n = progress.total - progress.left
        self._bar.set_postfix_str(self.line(progress))
        if not progress.left:
            self.close()

    def print(self, line: str) -> None:
        """Print a line where the progress is shown."""
        print(line, file=self.stream, flush=True)


def duration(seconds: float) -> str:
    """Seconds as people read them.

    Example:
        >>> duration(45), duration(170), duration(9000), duration(200_000)
        ('45 s', '3 min', '2.5 h', '2.3 days')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"
