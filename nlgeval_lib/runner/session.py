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
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nlgeval_lib import files, paths
from nlgeval_lib.catalogue import SCOREBOARD, Catalogue, Entry, scoreboard_entry
from nlgeval_lib.notebook import shown
from nlgeval_lib.runner import fingerprint, inputs, records
from nlgeval_lib.runner.plan import Options, Step, current, step, waits_for
from nlgeval_lib.runner.pool import Job, Pool
from nlgeval_lib.runner.progress import Progress, plain


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


class Session:
    """Runs the chosen entries of a catalogue, then the scoreboard."""

    def __init__(self, catalogue: Catalogue, options: Options, progress: Progress | None = None) -> None:
        self._catalogue = catalogue
        self._options = options
        self._progress = progress
        self._outcome = Outcome()
        self._steps: dict[str, tuple[Step, Path, Path]] = {}
        self._pool: Pool | None = None
        fingerprint.forget()
        inputs.forget()

    def run(self, entries: Sequence[Entry]) -> Outcome:
        """Run what is stale of `entries` and of the scoreboard.

        Raises: CatalogueError for unknown inputs; OSError where results or state cannot be written.
        """
        _writable()
        todo = list(entries)
        if not self._options.aside and scoreboard_entry().path.exists():
            todo.append(scoreboard_entry())
        show = self._progress = self._progress or Progress(len(todo))
        if any(entry.inputs for entry in entries):
            show.say(inputs.mirror_line())
        try:
            self._all(todo)
            if self._pool:
                self._pool.close()
        except BaseException:
            if self._pool:
                show.say("stopping; what was finished is kept")
                self._pool.close()
            raise
        finally:
            _sweep()
            show.close()
        self._report()
        return self._outcome

    def _all(self, todo: list[Entry]) -> None:
        show = self._show
        open_ids = {entry.id for entry in todo}
        waiting = [entry for entry in todo if entry.after]
        ready = self._checked([entry for entry in todo if not entry.after])
        if self._outcome.cached:
            show.say(f"cached: {len(self._outcome.cached)} outputs, unchanged since they were run here")
        open_ids -= self._closed()
        while ready or waiting or (self._pool and self._pool.running):
            for entry in [one for one in waiting if not waits_for(one, self._catalogue) & open_ids]:
                waiting.remove(entry)
                if entry.id == SCOREBOARD:
                    self._stamp()
                ready += self._checked([entry])
                open_ids -= self._closed()
            while ready and (self._pool is None or self._pool.free):
                self._start(ready.pop(0))
            if self._pool and self._pool.running:
                show.tick(self._pool.running)
                finished = self._pool.next(timeout=1.0)
                if finished:
                    self._finish(*finished)
            open_ids -= self._closed()

    def _stamp(self) -> None:
        """Write down which outputs stand as this checkout made them, for the scoreboard."""
        mode = self._options.mode
        now = [entry.id for entry in self._catalogue.outputs if current(entry, self._catalogue, mode)]
        files.write_text(paths.state("runs", mode, "now.json"), json.dumps(now))

    def _checked(self, entries: list[Entry]) -> list[Step]:
        """The steps that must and can be run; the others are booked. Longest first, by their last run."""
        stale = []
        for entry in entries:
            decided = step(entry, self._catalogue, self._options)
            if decided.action == "cached":
                self._outcome.cached.append(entry.id)
                record = records.read(self._options.mode, entry.id)
                self._kept(entry.id, record.saved if record else {})
                self._show.counts["cached"] += 1
            elif decided.action == "refused":
                self._fail(entry, {"error": decided.reason})
            else:
                stale.append(decided)
        lacking = inputs.missing(name for one in stale for name in one.entry.inputs)
        runnable = []
        for one in stale:
            gaps = {name: lacking[name] for name in one.entry.inputs if name in lacking}
            if gaps:
                self._outcome.unavailable[one.entry.id] = gaps
                self._show.outcome(one.entry.id, "unavailable", detail=f"needs {', '.join(gaps)}")
            else:
                runnable.append(one)

        def expected(one: Step) -> float:
            record = records.read(self._options.mode, one.entry.id)
            return record.seconds if record else 30.0

        return sorted(runnable, key=expected, reverse=True)

    def _start(self, one: Step) -> None:
        if self._pool is None:
            self._pool = Pool(self._options.jobs)
        entry = one.entry
        target = _executed(entry, self._options)
        work = target.with_name(f".{entry.id}.{os.getpid()}.ipynb")
        report = paths.state("runs", self._options.mode, f".{entry.id}.{os.getpid()}.saved").resolve()
        try:
            work.parent.mkdir(parents=True, exist_ok=True)
            report.unlink(missing_ok=True)
        except OSError as error:
            self._fail(entry, {"error": f"cannot write to {shown(work.parent)}: {error.strerror}"})
            return
        self._steps[entry.id] = (one, target, report)
        environment = {
            "NLGEVAL_RECORD": str(report),
            "NLGEVAL_TRIAL": "1" if self._options.overrides else "",
            "NLGEVAL_REPLACE": "1" if self._options.replace else "",
        }
        job = Job(entry.id, entry.path.resolve(), work.resolve(), one.values, environment, self._options.timeout)
        self._pool.submit(job)

    def _finish(self, job: Job, answer: dict[str, Any], seconds: float) -> None:
        one, target, report = self._steps.pop(job.name)
        saved: dict[str, Any] = {}
        if answer["ok"]:
            saved, problem = _saved(one.entry, report)
            if problem:
                answer = {"ok": False, "error": problem}
        report.unlink(missing_ok=True)
        if answer["ok"]:
            try:
                os.replace(job.target, target)
                _aside(one.entry).unlink(missing_ok=True)
                self._keep(one, "ok", seconds, saved)
            except OSError as error:
                answer = {"ok": False, "error": f"cannot keep the run: {error}"}
        if not answer["ok"]:
            self._fail(one.entry, answer, seconds, job.target, one)
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
        now = datetime.now(UTC).isoformat(timespec="seconds")
        hashes = {name: fingerprint.file_hash(records.located(name)) for name in saved.get("files", ())}
        parts = {**one.parts, fingerprint.CODE: fingerprint.code(saved.get("modules", ()))}
        records.write(
            records.Record(one.entry.id, self._options.mode, status, parts, round(seconds, 2), now, saved, hashes)
        )

    def _fail(
        self,
        entry: Entry,
        answer: dict[str, Any],
        seconds: float | None = None,
        made: Path | None = None,
        one: Step | None = None,
    ) -> None:
        self._outcome.failed.append(entry.id)
        kept = ""
        if made is not None and made.exists():
            aside = _aside(entry)
            with contextlib.suppress(OSError):
                aside.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(made, aside)
                kept = f"kept aside: {shown(aside)}"
        if one is not None:
            with contextlib.suppress(OSError):
                self._keep(one, "failed", seconds or 0.0, {})
        self._show.outcome(entry.id, "failed", seconds, answer["error"].splitlines()[0] if "cell" in answer else "")
        for line in _told(entry, answer, kept):
            self._show.say(line)

    def _report(self) -> None:
        show, outcome = self._show, self._outcome
        costs: dict[str, list[str]] = defaultdict(list)
        reasons: dict[str, str] = {}
        for name, gaps in outcome.unavailable.items():
            for dataset, why in gaps.items():
                costs[dataset].append(name)
                reasons[dataset] = why
        for dataset, names in costs.items():
            show.say(f"unavailable: {dataset}: {_short(reasons[dataset])}; not run: {', '.join(names)}")
        if costs:
            show.say(
                f"to get {', '.join(costs)}: set NLGEVAL_DATA_MIRROR to a folder with these files, or run again where "
                "the network reaches their addresses; results saved before are kept"
            )
        if outcome.failed:
            show.say(f"failed: {', '.join(outcome.failed)}")
        for name, saved in outcome.kept.items():
            show.say(f"kept from {saved['since']}: {name}: {_counted(saved['kept'])}; this run: {saved['why']}")
        total = Counter[str]()
        for saved in outcome.kept.values():
            total.update(saved["kept"])
        ended = show.summary(f"{_counted(total)} of {len(outcome.kept)} outputs" if outcome.kept else "")
        show.say(f"{ended} in {show.seconds:.1f} s")

    @property
    def _show(self) -> Progress:
        assert self._progress is not None
        return self._progress

    def _closed(self) -> set[str]:
        outcome = self._outcome
        return {*outcome.ran, *outcome.cached, *outcome.failed, *outcome.unavailable}


def listing(catalogue: Catalogue, options: Options, entries: Sequence[Entry]) -> Iterator[str]:
    """What a run would do, a line an output; nothing is run, fetched or written."""
    fingerprint.forget()
    inputs.forget()
    stale: set[str] = set()
    for entry in [*entries, *([scoreboard_entry()] if scoreboard_entry().path.exists() else [])]:
        decided = step(entry, catalogue, options)
        action, reason = decided.action, decided.reason
        if action == "cached" and waits_for(entry, catalogue) & stale:
            action, reason = "run", "where the outputs before it give other results"
        if action == "run":
            stale.add(entry.id)
        yield f"{action:8} {entry.id}{'  (' + reason + ')' if reason else ''}"


def _counted(kept: Mapping[str, int]) -> str:
    """How much was kept, in words: `39 cells, 12 rows`."""
    return ", ".join(f"{count} {kind if count > 1 else kind[:-1]}" for kind, count in kept.items())


def _short(reason: str) -> str:
    """A data set's reason in one line: without addresses, and without the advice that is given once below."""
    return re.sub(r"https?://\S+: ", "", reason.partition(". Set ")[0])


def _executed(entry: Entry, options: Options) -> Path:
    folder = paths.results() / "executed"
    if options.overrides:
        folder = folder / "trial"
    elif options.mode == "quick":
        folder = folder / "quick"
    return folder / entry.paper / f"{entry.id}.ipynb"


def _aside(entry: Entry) -> Path:
    return paths.state("failed", f"{entry.id}.ipynb")


def _saved(entry: Entry, report: Path) -> tuple[dict[str, Any], str]:
    """What the notebook reported to have saved, and what is wrong with that."""
    if not entry.saves:
        return {}, ""
    try:
        saved = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}, f"the notebook ran to its end but saved nothing: end it with out.save() on Output({entry.id!r})"
    if saved["id"] != entry.id:
        return {}, f"the notebook saved {saved['id']!r}; its catalogue entry is {entry.id!r} (use parameter output_id)"
    return saved, ""


def _told(entry: Entry, answer: dict[str, Any], kept: str) -> Iterator[str]:
    if "cell" not in answer:
        yield textwrap.indent(answer["error"], "    ")
    else:
        yield f"    {shown(entry.path)}, In[{answer['cell']}]:"
        yield textwrap.indent(answer["source"].rstrip(), "    | ")
        yield textwrap.indent(plain(answer["traceback"]).rstrip(), "    ")
    if kept:
        yield f"    {kept}"


def _writable() -> None:
    """Refuse to begin where results or state cannot be written: better now than after an hour."""
    for folder in (paths.results(), paths.state("runs")):
        files.write_text(folder / ".writable", "")
        (folder / ".writable").unlink(missing_ok=True)  # another run may look at the same time


def _sweep() -> None:
    """Remove what this process left half-made."""
    for folder, end in ((paths.results() / "executed", "ipynb"), (paths.state("runs"), "saved")):
        for path in folder.rglob(f".*.{os.getpid()}.{end}"):
            path.unlink(missing_ok=True)
