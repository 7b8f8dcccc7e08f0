"""One run over the catalogue: what is stale is executed, several notebooks at a
time; the rest is left alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import textwrap
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from nlgeval_lib import files
from nlgeval_lib.report import seal
from nlgeval_lib.report.notebook import shown
from nlgeval_lib.runner import pool, stale
from nlgeval_lib.runner.stale import Options, Record, Step, record_path, step, waits_for
from nlgeval_lib.study.catalogue import Catalogue, Entry, scoreboard_entry

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[^\t\n\x20-\x7e\xa0-\U0010ffff]")
_WORDS = {
    "ran": "done",
    "cached": "cached",
    "failed": "FAILED",
    "unavailable": "not run",
}


def plain(text: str) -> str:
    """`text` without terminal colours and without other control characters."""
    return _ANSI.sub("", text)


class Progress:
    """A line for each of `total` outputs as it ends and, on a terminal, one live
    line of what goes on now.
    """

    def __init__(self, total: int = 0, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._live = Live(
            console=Console(file=self._stream), auto_refresh=False, transient=True
        )
        self.total, self.began, self.counts = total, time.monotonic(), Counter[str]()

    def say(self, text: str) -> None:
        """One line that stays."""
        self.close()
        print(plain(text), file=self._stream, flush=True)

    def outcome(
        self, name: str, what: str, seconds: float | None = None, detail: str = ""
    ) -> None:
        """`name` ended as `what`: ran, cached, failed, unavailable."""
        self.counts[what] += 1
        took = f" {seconds:6.1f} s" if seconds is not None else " " * 9
        place = f"[{self.counts.total():{len(str(self.total))}}/{self.total}]"
        self.say(
            f"{place} {_WORDS[what]:8}{took}  {name}{'  ' + detail if detail else ''}"
        )

    def tick(self, running: Sequence[str]) -> None:
        """Redraw the live line (terminals only)."""
        if self._live.console.is_terminal:
            done = f"{self.counts.total()}/{self.total} | {self.summary()} | {time.monotonic() - self.began:.0f} s"
            self._live.start()
            text = Text(
                f"{done} | running: {', '.join(running)}",
                no_wrap=True,
                overflow="ellipsis",
            )
            self._live.update(text, refresh=True)

    def summary(self, kept: str = "") -> str:
        """How many ran, were cached, failed, were not run; `kept`: what stands from
        earlier runs, since these had less.

        That nothing failed is said only where nothing was lost either.
        """
        said = [f"{self.counts['ran']} run", f"{self.counts['cached']} cached"]
        said += (
            [f"{self.counts['failed']} failed"]
            if self.counts["failed"] or not kept
            else []
        )
        said += (
            [f"{self.counts['unavailable']} not run"]
            if self.counts["unavailable"]
            else []
        )
        return ", ".join(
            [*said, f"{kept} not made again, kept from earlier"] if kept else said
        )

    def close(self) -> None:
        """Leave the terminal's line clean."""
        self._live.stop()


@dataclass(slots=True)
class Outcome:
    """What a run did, by output id."""

    ran: list[str] = field(default_factory=list)
    cached: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    unavailable: dict[str, dict[str, str]] = field(
        default_factory=dict
    )  # id -> data set -> why
    saved: dict[str, Mapping[str, Any]] = field(
        default_factory=dict
    )  # id -> what save() reported

    @property
    def code(self) -> int:
        """The exit code: 1 where anything failed; what is unavailable is no failure."""
        return 1 if self.failed else 0


class Session:
    """Runs the chosen entries of a catalogue, then the scoreboard."""

    def __init__(
        self, catalogue: Catalogue, options: Options, progress: Progress | None = None
    ) -> None:
        self._catalogue, self._options = catalogue, options
        self._show, self._outcome = progress or Progress(), Outcome()
        self._waiting: list[Entry] = []  # for others to end
        self._ready: list[Step] = []
        self._running: dict[str, Step] = {}
        stale.forget()

    def run(self, entries: Sequence[Entry]) -> Outcome:
        """Run what is stale of `entries` and of the scoreboard.

        Raises: CatalogueError for unknown inputs; OSError where results or state cannot
        be written.
        """
        made = {files.results() / "executed": "ipynb", files.state("runs"): "saved"}
        for folder in made:  # better refused now than after an hour
            files.check(folder / ".writable")
        todo = _with_scoreboard(entries, self._options)
        self._show.total = self._show.total or len(todo)
        if any(entry.inputs for entry in entries):
            from nlgeval_lib.datasets import fetch, unreachable

            unreachable.forget()
            self._show.say(fetch.mirror_line())
        self._waiting = [entry for entry in todo if entry.after]
        self._ready = self._checked([entry for entry in todo if not entry.after])
        if self._outcome.cached:
            self._show.say(
                f"cached: {len(self._outcome.cached)} outputs, unchanged since they were run here"
            )
        try:
            for job, answer, seconds in pool.executed(
                self._options.jobs, self._following, self._show.tick
            ):
                self._finish(job, answer, seconds)
        except BaseException:
            self._show.say("stopping; what was finished is kept")
            raise
        finally:
            for folder, end in made.items():
                for half_made in folder.rglob(f".*.{os.getpid()}.{end}"):
                    half_made.unlink(missing_ok=True)
            self._show.close()
        self._report()
        return self._outcome

    def _checked(self, entries: list[Entry]) -> list[Step]:
        """The steps that must and can be run; the others are booked."""
        due = []
        for entry in entries:
            decided = step(entry, self._catalogue, self._options)
            if decided.action == "cached":
                record = Record.read(record_path(self._options.mode, entry.id))
                self._outcome.cached.append(entry.id)
                self._outcome.saved[entry.id] = record.saved if record else {}
                self._show.counts["cached"] += 1
            elif decided.action == "refused":
                self._fail(entry, [decided.reason])
            else:
                due.append(decided)
        self._seal_cached(entries)
        lacking = stale.missing(name for one in due for name in one.entry.inputs)
        runnable = []
        for one in due:
            gaps = {name: lacking[name] for name in one.entry.inputs if name in lacking}
            if gaps and not stale.from_numbers(one.entry, gaps):
                self._outcome.unavailable[one.entry.id] = gaps
                self._show.outcome(
                    one.entry.id, "unavailable", detail=f"needs {', '.join(gaps)}"
                )
            else:
                runnable.append(one)
        return runnable

    def _seal_cached(self, entries: Sequence[Entry]) -> None:
        """Give a line to what earlier runs here made and nobody changed since."""
        if self._options.aside or self._options.mode != "full":
            return
        names: list[str] = []
        for entry in entries:
            saved = self._outcome.saved.get(entry.id, {})
            if entry.id in self._outcome.cached and saved.get("folder") in ("", "mini"):
                names += saved["files"]
        seal.add(names)

    def _following(self) -> pool.Job | None:
        """What to run now: the longest, but not beside another output of its notebook
        where others can be.

        What one notebook asks for its outputs is mostly the same: run one after the
        other, the later reads its scores.
        """
        while True:
            pending = (
                {entry.id for entry in self._waiting}
                | {one.entry.id for one in self._ready}
                | {*self._running}
            )
            free = [
                one
                for one in self._waiting
                if not waits_for(one, self._catalogue) & pending
            ]
            for entry in free:
                self._waiting.remove(entry)
                self._ready += self._checked([entry])
            if (
                self._ready or not free
            ):  # else what was just checked needs no run, so others need wait no more
                break
        if not self._ready:
            return None
        busy = {one.entry.path for one in self._running.values()}
        one = max(
            self._ready,
            key=lambda one: (one.entry.path not in busy, self._seconds(one.entry)),
        )
        self._ready.remove(one)
        self._running[one.entry.id] = one
        return self._job(one.entry, one.values)

    def _seconds(self, entry: Entry) -> float:
        """How long an output will take: as its last run here, else as the saved
        result did.
        """
        if record := Record.read(record_path(self._options.mode, entry.id)):
            return record.seconds
        try:
            saved = (files.results() / entry.paper / f"{entry.id}.json").read_text(
                encoding="utf-8"
            )
            return float(json.loads(saved)["wall_seconds"])
        except (OSError, ValueError, TypeError, KeyError):
            return 30.0

    def _job(self, entry: Entry, values: Mapping[str, Any]) -> pool.Job:
        """The notebook's copy is made under another name beside its place, and what
        it saved is told in a file.
        """
        options = self._options
        apart = (
            "trial" if options.overrides else "quick" if options.mode == "quick" else ""
        )
        folder = files.results() / "executed" / apart / entry.paper
        folder.mkdir(parents=True, exist_ok=True)
        report = files.state(
            "runs", options.mode, f".{entry.id}.{os.getpid()}.saved"
        ).resolve()
        report.unlink(missing_ok=True)
        environment = {
            "NLGEVAL_RECORD": str(report),
            "NLGEVAL_TRIAL": "1" if options.overrides else "",
            "NLGEVAL_REPLACE": "1" if options.replace else "",
            # what could be fetched is here by now: no address is asked a second time
            "NLGEVAL_OFFLINE": "1",
        }
        work = folder.resolve() / f".{entry.id}.{os.getpid()}.ipynb"
        return pool.Job(
            entry.id, entry.path.resolve(), work, values, environment, options.timeout
        )

    def _finish(self, job: pool.Job, answer: dict[str, Any], seconds: float) -> None:
        one = self._running.pop(job.name)
        aside = files.state("failed", f"{job.name}.ipynb")
        saved, said = came(one.entry, answer, Path(job.environment["NLGEVAL_RECORD"]))
        if not said:
            try:
                os.replace(job.target, job.target.with_name(f"{job.name}.ipynb"))
                aside.unlink(missing_ok=True)
                self._keep(one, "ok", seconds, saved)
            except OSError as error:
                said = [f"cannot keep the run: {error}"]
        if not said:
            self._seal(saved)
            self._outcome.ran.append(job.name)
            self._outcome.saved[job.name] = saved
            self._show.outcome(job.name, "ran", seconds, saved.get("line", ""))
            return
        with contextlib.suppress(OSError):
            self._keep(one, "failed", seconds, {})
        with contextlib.suppress(OSError):
            aside.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(job.target, aside)
            said.append(f"kept aside: {shown(aside)}")
        self._fail(
            one.entry,
            said,
            seconds,
            answer["error"].splitlines()[0] if "cell" in answer else "",
        )

    def _seal(self, saved: Mapping[str, Any]) -> None:
        """Renew the seal of what a run of full size wrote; the scoreboard sealed its
        own.
        """
        published = saved.get("folder") in ("", "mini") and "written" in saved
        if published and not self._options.aside:
            seal.renew(saved["files"], saved["written"])

    def _keep(
        self, one: Step, status: str, seconds: float, saved: dict[str, Any]
    ) -> None:
        if not self._options.aside:
            hashes = {
                name: stale.file_hash(files.located(name))
                for name in saved.get("files", ())
            }
            record = Record(
                status,
                one.parts,
                stale.code(saved.get("modules", ())),
                round(seconds, 2),
                saved,
                hashes,
            )
            record.write(record_path(self._options.mode, one.entry.id))

    def _fail(
        self,
        entry: Entry,
        said: Sequence[str],
        seconds: float | None = None,
        detail: str = "",
    ) -> None:
        self._outcome.failed.append(entry.id)
        self._show.outcome(entry.id, "failed", seconds, detail)
        for line in said:
            self._show.say(textwrap.indent(line, "    "))

    def _report(self) -> None:
        show = self._show
        outcome = self._outcome
        costs: dict[str, list[str]] = defaultdict(list)
        for name, gaps in outcome.unavailable.items():
            for (
                dataset,
                why,
            ) in (
                gaps.items()
            ):  # without addresses, and without the advice that is given once below
                costs[
                    f"{dataset}: {re.sub(r'https?://[^ ]+: ', '', why.partition('. Set ')[0])}"
                ].append(name)
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
        kept = {
            name: saved for name, saved in outcome.saved.items() if saved.get("kept")
        }  # of runs with less
        for name, saved in kept.items():
            show.say(
                f"kept from {saved['since']}: {name}: {_counted(saved['kept'])}; this run: {saved['why']}"
            )
            total.update(saved["kept"])
        self._say_saved()
        ended = show.summary(
            f"{_counted(total)} of {len(kept)} outputs" if kept else ""
        )
        show.say(f"{ended} in {time.monotonic() - show.began:.1f} s")

    def _say_saved(self) -> None:
        """How many outputs came from saved scores, how many need texts, and the way."""
        came = [
            name
            for name, saved in self._outcome.saved.items()
            if saved.get("without_texts")
        ]
        if came:
            self._show.say(
                f"from saved scores: {len(came)} outputs (data/numbers; their texts are not here)"
            )
        if came or self._outcome.unavailable:
            self._show.say(
                f"need a download: {len(self._outcome.unavailable)} outputs; `make data` brings the texts of all"
            )


def listing(
    catalogue: Catalogue, options: Options, entries: Sequence[Entry]
) -> Iterator[str]:
    """What a run would do, a line an output; nothing is run, fetched or written."""
    stale.forget()
    due: set[str] = set()
    for entry in _with_scoreboard(entries, options):
        decided = step(entry, catalogue, options)
        action = decided.action
        reason = decided.reason
        if action == "cached" and waits_for(entry, catalogue) & due:
            action = "run"
            reason = "where the outputs before it give other results"
        if action == "run":
            due.add(entry.id)
        yield f"{action:8} {entry.id}{'  (' + reason + ')' if reason else ''}"


def _with_scoreboard(entries: Sequence[Entry], options: Options) -> list[Entry]:
    last = scoreboard_entry()
    return [*entries, *([last] if last.path.exists() and not options.aside else [])]


def came(
    entry: Entry, answer: Mapping[str, Any], report: Path
) -> tuple[dict[str, Any], list[str]]:
    """What a notebook told of what it saved; and what went wrong: the cell and its
    traceback, or what else.
    """
    if "cell" in answer:
        source = textwrap.indent(answer["source"].rstrip(), "| ")
        return {}, [
            f"{shown(entry.path)}, In[{answer['cell']}]:",
            source,
            plain(answer["traceback"]).rstrip(),
        ]
    if not answer["ok"] or not entry.saves:
        return {}, [] if answer["ok"] else [answer["error"]]
    try:
        saved = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}, [
            f"the notebook ran to its end but saved nothing: end it with out.save() on Output({entry.id!r})"
        ]
    if saved["id"] != entry.id:
        return {}, [
            f"the notebook saved {saved['id']!r}; its catalogue entry is {entry.id!r}"
        ]
    return saved, []


def _counted(kept: Mapping[str, int]) -> str:
    """How much was kept, in words: `39 cells, 12 rows`."""
    return ", ".join(
        f"{count} {kind if count > 1 else kind[:-1]}" for kind, count in kept.items()
    )
