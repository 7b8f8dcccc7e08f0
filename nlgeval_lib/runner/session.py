"""One run over the catalogue: what is stale is executed, several notebooks at a time; the rest is left alone."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nlgeval_lib import files
from nlgeval_lib.report.notebook import shown
from nlgeval_lib.runner.pool import Job, Pool
from nlgeval_lib.runner.progress import Progress, plain
from nlgeval_lib.runner.stale import (
    CODE,
    Options,
    Record,
    Step,
    code,
    current,
    file_hash,
    forget,
    missing,
    step,
    waits_for,
)
from nlgeval_lib.study.catalogue import SCOREBOARD, Catalogue, Entry, scoreboard_entry


@dataclass(slots=True)
class Outcome:
    """What a run did, by output id."""

    ran: list[str] = field(default_factory=list)
    cached: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    unavailable: dict[str, dict[str, str]] = field(default_factory=dict)  # id -> data set -> why
    kept: dict[str, dict[str, Any]] = field(default_factory=dict)  # id -> what save() reported of a run with less

    @property
    def code(self) -> int:
        """The exit code: 1 where anything failed; what is unavailable is no failure."""
        return 1 if self.failed else 0

    @property
    def closed(self) -> set[str]:
        """The outputs that nothing more happens to."""
        return {*self.ran, *self.cached, *self.failed, *self.unavailable}


class Session:
    """Runs the chosen entries of a catalogue, then the scoreboard."""

    def __init__(self, catalogue: Catalogue, options: Options, progress: Progress | None = None) -> None:
        self._catalogue = catalogue
        self._options = options
        self._show = progress or Progress(0)
        self._outcome = Outcome()
        self._running: dict[str, tuple[Step, Path, Path]] = {}
        self._pool: Pool | None = None
        forget()

    def run(self, entries: Sequence[Entry]) -> Outcome:
        """Run what is stale of `entries` and of the scoreboard.

        Raises: CatalogueError for unknown inputs; OSError where results or state cannot be written.
        """
        for folder in (files.results(), files.state("runs")):  # better refused now than after an hour
            files.write_text(folder / ".writable", "")
            (folder / ".writable").unlink(missing_ok=True)  # another run may look at the same time
        todo = list(entries)
        if not self._options.aside and scoreboard_entry().path.exists():
            todo.append(scoreboard_entry())
        self._show.total = self._show.total or len(todo)
        if any(entry.inputs for entry in entries):
            from nlgeval_lib.datasets import fetch

            self._show.say(fetch.mirror_line())
        try:
            self._all(todo)
        except BaseException:
            if self._pool:
                self._show.say("stopping; what was finished is kept")
            raise
        finally:
            if self._pool:
                self._pool.close()
            for folder, end in ((files.results() / "executed", "ipynb"), (files.state("runs"), "saved")):
                for half_made in folder.rglob(f".*.{os.getpid()}.{end}"):
                    half_made.unlink(missing_ok=True)
            self._show.close()
        self._report()
        return self._outcome

    def _all(self, todo: list[Entry]) -> None:
        ids = {entry.id for entry in todo}
        waiting = [entry for entry in todo if entry.after]
        ready = self._checked([entry for entry in todo if not entry.after])
        if self._outcome.cached:
            self._show.say(f"cached: {len(self._outcome.cached)} outputs, unchanged since they were run here")
        while ready or waiting or self._running:
            still = ids - self._outcome.closed
            for entry in [one for one in waiting if not waits_for(one, self._catalogue) & still]:
                waiting.remove(entry)
                if entry.id == SCOREBOARD:
                    self._stamp()
                ready += self._checked([entry])
            while ready and (self._pool is None or self._pool.free):
                ready.remove(one := self._next(ready))
                self._start(one)
            if self._pool and self._running:
                self._show.tick(self._pool.running)
                if finished := self._pool.next(timeout=1.0):
                    self._finish(*finished)

    def _stamp(self) -> None:
        """Write down which outputs stand as this checkout made them, for the scoreboard."""
        mode = self._options.mode
        now = [entry.id for entry in self._catalogue.outputs if current(entry, self._catalogue, mode)]
        files.write_text(files.state("runs", mode, "now.json"), json.dumps(now))

    def _checked(self, entries: list[Entry]) -> list[Step]:
        """The steps that must and can be run; the others are booked."""
        due = []
        for entry in entries:
            decided = step(entry, self._catalogue, self._options)
            if decided.action == "cached":
                self._outcome.cached.append(entry.id)
                record = Record.read(self._options.mode, entry.id)
                self._kept(entry.id, record.saved if record else {})
                self._show.counts["cached"] += 1
            elif decided.action == "refused":
                self._fail(decided, {"error": decided.reason})
            else:
                due.append(decided)
        lacking = missing(name for one in due for name in one.entry.inputs)
        runnable = []
        for one in due:
            gaps = {name: lacking[name] for name in one.entry.inputs if name in lacking}
            if gaps:
                self._outcome.unavailable[one.entry.id] = gaps
                self._show.outcome(one.entry.id, "unavailable", detail=f"needs {', '.join(gaps)}")
            else:
                runnable.append(one)
        return runnable

    def _next(self, ready: Sequence[Step]) -> Step:
        """Which of these to run now: the longest, but not beside another output of its notebook where others can be.

        What one notebook asks for its outputs is mostly the same: run one after the other, the later reads its scores.
        """
        busy = {one.entry.path for one, _, _ in self._running.values()}
        return max(ready, key=lambda one: (one.entry.path not in busy, self._seconds(one.entry)))

    def _seconds(self, entry: Entry) -> float:
        """How long an output will take: as its last run here, else as the saved result did."""
        if record := Record.read(self._options.mode, entry.id):
            return record.seconds
        try:
            saved = (files.results() / entry.paper / f"{entry.id}.json").read_text(encoding="utf-8")
            return float(json.loads(saved)["wall_seconds"])
        except (OSError, ValueError, TypeError, KeyError):
            return 30.0

    def _start(self, one: Step) -> None:
        self._pool = self._pool or Pool(self._options.jobs)
        entry = one.entry
        apart = "trial" if self._options.overrides else "quick" if self._options.mode == "quick" else ""
        target = files.results() / "executed" / apart / entry.paper / f"{entry.id}.ipynb"
        work = target.with_name(f".{entry.id}.{os.getpid()}.ipynb")
        report = files.state("runs", self._options.mode, f".{entry.id}.{os.getpid()}.saved").resolve()
        try:
            work.parent.mkdir(parents=True, exist_ok=True)
            report.unlink(missing_ok=True)
        except OSError as error:
            self._fail(one, {"error": f"cannot write to {shown(work.parent)}: {error.strerror}"})
            return
        environment = {
            "NLGEVAL_RECORD": str(report),
            "NLGEVAL_TRIAL": "1" if self._options.overrides else "",
            "NLGEVAL_REPLACE": "1" if self._options.replace else "",
        }
        self._running[entry.id] = (one, target, report)
        job = Job(entry.id, entry.path.resolve(), work.resolve(), one.values, environment, self._options.timeout)
        self._pool.submit(job)

    def _finish(self, job: Job, answer: dict[str, Any], seconds: float) -> None:
        one, target, report = self._running.pop(job.name)
        saved: dict[str, Any] = {}
        if answer["ok"] and one.entry.saves:
            saved, problem = reported(one.entry, report)
            answer = {"ok": False, "error": problem} if problem else answer
        report.unlink(missing_ok=True)
        if answer["ok"]:
            try:
                os.replace(job.target, target)
                _aside(one.entry).unlink(missing_ok=True)
                self._keep(one, "ok", seconds, saved)
            except OSError as error:
                answer = {"ok": False, "error": f"cannot keep the run: {error}"}
        if not answer["ok"]:
            with contextlib.suppress(OSError):
                self._keep(one, "failed", seconds, {})
            self._fail(one, answer, seconds, job.target)
            return
        self._outcome.ran.append(job.name)
        self._kept(job.name, saved)
        self._show.outcome(job.name, "ran", seconds, saved.get("line", ""))

    def _kept(self, name: str, saved: Mapping[str, Any]) -> None:
        if saved.get("kept"):
            self._outcome.kept[name] = dict(saved)

    def _keep(self, one: Step, status: str, seconds: float, saved: dict[str, Any]) -> None:
        if self._options.aside:
            return
        parts = {**one.parts, CODE: code(saved.get("modules", ()))}
        now = datetime.now(UTC).isoformat(timespec="seconds")
        record = Record(one.entry.id, self._options.mode, status, parts, round(seconds, 2), now, saved)
        hashes = {name: file_hash(files.located(name)) for name in saved.get("files", ())}
        replace(record, files=hashes).write()

    def _fail(
        self, one: Step, answer: Mapping[str, Any], seconds: float | None = None, made: Path | None = None
    ) -> None:
        entry, aside = one.entry, ""
        self._outcome.failed.append(entry.id)
        if made is not None and made.exists():
            with contextlib.suppress(OSError):
                _aside(entry).parent.mkdir(parents=True, exist_ok=True)
                shutil.move(made, _aside(entry))
                aside = f"kept aside: {shown(_aside(entry))}"
        self._show.outcome(entry.id, "failed", seconds, answer["error"].splitlines()[0] if "cell" in answer else "")
        for line in (*in_lines(entry, answer), aside):
            if line:
                self._show.say(textwrap.indent(line, "    "))

    def _report(self) -> None:
        show, outcome = self._show, self._outcome
        costs: dict[str, list[str]] = defaultdict(list)
        for name, gaps in outcome.unavailable.items():
            for dataset, why in gaps.items():  # without addresses, and without the advice that is given once below
                costs[f"{dataset}: {re.sub(r'https?://[^ ]+: ', '', why.partition('. Set ')[0])}"].append(name)
        for what, names in costs.items():
            show.say(f"unavailable: {what}; not run: {', '.join(names)}")
        if costs:
            show.say(
                f"to get {', '.join(what.partition(':')[0] for what in costs)}: set NLGEVAL_DATA_MIRROR to a folder "
                "with these files, or run again where the network reaches their addresses; what was saved is kept"
            )
        if outcome.failed:
            show.say(f"failed: {', '.join(outcome.failed)}")
        total = Counter[str]()
        for name, saved in outcome.kept.items():
            show.say(f"kept from {saved['since']}: {name}: {_counted(saved['kept'])}; this run: {saved['why']}")
            total.update(saved["kept"])
        ended = show.summary(f"{_counted(total)} of {len(outcome.kept)} outputs" if outcome.kept else "")
        show.say(f"{ended} in {show.seconds:.1f} s")


def listing(catalogue: Catalogue, options: Options, entries: Sequence[Entry]) -> Iterator[str]:
    """What a run would do, a line an output; nothing is run, fetched or written."""
    forget()
    due: set[str] = set()
    for entry in [*entries, *([scoreboard_entry()] if scoreboard_entry().path.exists() else [])]:
        decided = step(entry, catalogue, options)
        action, reason = decided.action, decided.reason
        if action == "cached" and waits_for(entry, catalogue) & due:
            action, reason = "run", "where the outputs before it give other results"
        if action == "run":
            due.add(entry.id)
        yield f"{action:8} {entry.id}{'  (' + reason + ')' if reason else ''}"


def reported(entry: Entry, report: Path) -> tuple[dict[str, Any], str]:
    """What the notebook told of what it saved, and what is wrong with that."""
    try:
        saved = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}, f"the notebook ran to its end but saved nothing: end it with out.save() on Output({entry.id!r})"
    if saved["id"] != entry.id:
        return {}, f"the notebook saved {saved['id']!r}; its catalogue entry is {entry.id!r} (use parameter output_id)"
    return saved, ""


def in_lines(entry: Entry, answer: Mapping[str, Any]) -> Iterator[str]:
    """A failure in words: the cell and its traceback, or what else went wrong."""
    if "cell" not in answer:
        yield answer["error"]
    else:
        yield f"{shown(entry.path)}, In[{answer['cell']}]:"
        yield textwrap.indent(answer["source"].rstrip(), "| ")
        yield plain(answer["traceback"]).rstrip()


def _counted(kept: Mapping[str, int]) -> str:
    """How much was kept, in words: `39 cells, 12 rows`."""
    return ", ".join(f"{count} {kind if count > 1 else kind[:-1]}" for kind, count in kept.items())


def _aside(entry: Entry) -> Path:
    return files.state("failed", f"{entry.id}.ipynb")
