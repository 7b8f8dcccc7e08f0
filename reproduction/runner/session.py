"""One run over the catalogue: what is stale is executed, several notebooks at a time;
the rest is left alone.

`Session.run` is the run, and its `Outcome` what it did; `Progress` prints. An entry
waits until the outputs before it have ended, is checked (`_checked`), and is cached,
refused, unavailable or ready; `_following` gives the pool the next job, `_finish` keeps
or reports what came of it. `listing` says what a run would do.
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
from reproduction.report import committed, seal
from reproduction.report.notebook import shown
from reproduction.runner import pool, stale
from reproduction.runner.stale import (
    Options,
    Record,
    Step,
    record_path,
    step,
    waits_for,
)
from reproduction.study.catalogue import META, Catalogue, Entry, scoreboard_entry

_ANSI = re.compile(
    r"""
    \x1b\[ [0-9;?]* [\ -/]* [@-~]              # a terminal's colour or movement
  | [^\t\n\x20-\x7e\xa0-\U0010ffff]          # any other control character
    """,
    re.VERBOSE,
)
# Outcome -> the word that is printed for it.
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
    """A line for each output as it ends and, on a terminal, one live line of what goes
    on now.

    total: how many outputs there are.
    stream: where to print; None for standard output.
    """

    def __init__(self, total: int = 0, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._live = Live(
            console=Console(file=self._stream),
            auto_refresh=False,
            transient=True,
        )
        self.total = total
        self.began = time.monotonic()
        self.counts = Counter[str]()

    def say(self, text: str) -> None:
        """One line that stays."""
        self.close()
        print(plain(text), file=self._stream, flush=True)

    def outcome(
        self,
        name: str,
        outcome: str,
        seconds: float | None = None,
        detail: str = "",
    ) -> None:
        """Print that an output ended.

        name: its id.
        outcome: ran, cached, failed or unavailable.
        seconds: how long it took; None where it was not run.
        detail: what else the line says.
        """
        self.counts[outcome] += 1
        width = len(str(self.total))
        place = f"[{self.counts.total():{width}}/{self.total}]"
        duration = " " * 9
        if seconds is not None:
            duration = f" {seconds:6.1f} s"
        if detail:
            detail = f"  {detail}"
        self.say(f"{place} {_WORDS[outcome]:8}{duration}  {name}{detail}")

    def tick(self, running: Sequence[str]) -> None:
        """Redraw the live line (terminals only)."""
        if not self._live.console.is_terminal:
            return
        seconds = time.monotonic() - self.began
        line = (
            f"{self.counts.total()}/{self.total} | {self.summary()} | {seconds:.0f} s"
            f" | running: {', '.join(running)}"
        )
        self._live.start()
        text = Text(line, no_wrap=True, overflow="ellipsis")
        self._live.update(text, refresh=True)

    def summary(self, retained: str = "") -> str:
        """How many ran, were cached, failed, were not run.

        retained: in words, the results that stand from earlier runs, as the new ones
        had less. That nothing failed is said only where nothing was lost either.
        """
        counts = self.counts
        texts = [f"{counts['ran']} run", f"{counts['cached']} cached"]
        if counts["failed"] or not retained:
            texts.append(f"{counts['failed']} failed")
        if counts["unavailable"]:
            texts.append(f"{counts['unavailable']} not run")
        if retained:
            texts.append(f"{retained} not made again, kept from earlier")
        return ", ".join(texts)

    def close(self) -> None:
        """Leave the terminal's line clean."""
        self._live.stop()


@dataclass(slots=True)
class Outcome:
    """What a run did, by output id.

    ran, cached, failed: ids, in the order in which they ended.
    unavailable: id -> data set -> reason.
    saved: id -> the report of `save()`.
    """

    ran: list[str] = field(default_factory=list)
    cached: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    unavailable: dict[str, dict[str, str]] = field(default_factory=dict)
    saved: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def code(self) -> int:
        """The exit code: 1 where anything failed; what is unavailable is no failure."""
        return 1 if self.failed else 0


def _remove_unfinished(endings: Mapping[Path, str]) -> None:
    """Remove the files in work of this process, and of those that have ended, however
    they ended.

    endings: folder -> the ending of its files in work, named .ID.PROCESS.ENDING.
    """
    for folder, ending in endings.items():
        for unfinished in folder.rglob(f".*.{ending}"):
            number = unfinished.name.split(".")[-2]
            if number.isdigit() and not _is_another(int(number)):
                unfinished.unlink(missing_ok=True)


def _is_another(number: int) -> bool:
    """Whether a process of this number runs, and is not this one."""
    if number == os.getpid():
        return False
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # of another user
        return True
    return True


class Session:
    """Runs the chosen entries of a catalogue, then the scoreboard.

    progress: what prints; None for a new one.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        options: Options,
        progress: Progress | None = None,
    ) -> None:
        self._catalogue = catalogue
        self._options = options
        self._show = progress or Progress()
        self._outcome = Outcome()
        self._waiting: list[Entry] = []  # until the outputs before them have ended
        self._ready: list[Step] = []
        self._running: dict[str, Step] = {}
        self._began_cold = stale.nothing_stored()
        stale.forget()

    def run(self, entries: Sequence[Entry]) -> Outcome:
        """Run what is stale of `entries` and of the scoreboard.

        Raises: CatalogueError for unknown inputs; OSError where results or state cannot
        be written.
        """
        # Folder that is written -> the ending of files in work.
        endings = {files.results() / "executed": "ipynb", files.state("runs"): "saved"}
        # A folder that cannot be written is refused now, not after an hour.
        for folder in endings:
            files.check(folder / ".writable")
        _remove_unfinished(endings)
        self._take_in_shared_runs()
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
                f"cached: {len(self._outcome.cached)} outputs, unchanged since they "
                "were run here"
            )
        try:
            for job, answer, seconds in pool.executed(
                self._options.jobs,
                self._following,
                self._show.tick,
            ):
                self._finish(job, answer, seconds)
        except BaseException:
            self._show.say("stopping; what was finished is kept")
            raise
        finally:
            _remove_unfinished(endings)
            self._show.close()
        self._report()
        return self._outcome

    def _take_in_shared_runs(self) -> None:
        """Put the completions that travel with the checkout into the store."""
        if not files.located("data/completions").is_dir():
            return
        from nlgeval_lib.engines.store import Store
        from reproduction.report import shared_run

        with Store(files.state("completions")) as store:
            for line in shared_run.take_in_all(store):
                self._show.say(line)

    def _checked(self, entries: list[Entry]) -> list[Step]:
        """The steps that must and can be run; all others count as ended: cached,
        refused, or without their data.
        """
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
        inputs = [name for decided in due for name in decided.entry.inputs]
        missing = stale.missing(inputs)
        runnable = []
        for decided in due:
            entry = decided.entry
            gaps = {name: missing[name] for name in entry.inputs if name in missing}
            if gaps and not stale.from_numbers(entry, gaps):
                self._outcome.unavailable[entry.id] = gaps
                detail = f"needs {', '.join(gaps)}"
                self._show.outcome(entry.id, "unavailable", detail=detail)
            else:
                runnable.append(decided)
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
        where others can be. None where nothing is ready.

        What one notebook asks for its outputs is mostly the same: run one after the
        other, the later reads its scores.
        """
        # An entry that turns out to need no run may be what others have waited for.
        while self._release() and not self._ready:
            pass
        if not self._ready:
            return None
        busy = {running.entry.path for running in self._running.values()}

        def rank(step_due: Step) -> tuple[bool, float]:
            entry = step_due.entry
            return entry.path not in busy, self._seconds(entry)

        chosen = max(self._ready, key=rank)
        self._ready.remove(chosen)
        self._running[chosen.entry.id] = chosen
        return self._job(chosen.entry, chosen.values)

    def _release(self) -> bool:
        """Check the entries that wait for nothing any more; whether there were any."""
        pending = {*self._running}
        pending.update(entry.id for entry in self._waiting)
        pending.update(step_due.entry.id for step_due in self._ready)
        free = []
        for entry in self._waiting:
            if not waits_for(entry, self._catalogue) & pending:
                free.append(entry)
        for entry in free:
            self._waiting.remove(entry)
            self._ready += self._checked([entry])
        return bool(free)

    def _seconds(self, entry: Entry) -> float:
        """How long an output will take: as its last run here, else as the saved result
        did, else half a minute.
        """
        record = Record.read(record_path(self._options.mode, entry.id))
        if record:
            return record.seconds
        path = files.results() / entry.paper / f"{entry.id}.json"
        try:
            saved = json.loads(path.read_text(encoding="utf-8"))
            return float(saved["wall_seconds"])
        except (OSError, ValueError, TypeError, KeyError):
            return 30.0

    def _job(self, entry: Entry, values: Mapping[str, Any]) -> pool.Job:
        """The job of an output: the executed copy gets a name of its own until it is
        finished, and the notebook reports what it saved in a file.

        values: the notebook's parameters.
        """
        options = self._options
        folder = files.results() / "executed"
        if options.overrides:
            folder /= "trial"
        elif options.mode == "quick":
            folder /= "quick"
        folder /= entry.paper
        folder.mkdir(parents=True, exist_ok=True)
        report = files.state(
            "runs",
            options.mode,
            f".{entry.id}.{os.getpid()}.saved",
        ).resolve()
        report.unlink(missing_ok=True)
        environment = {
            "NLGEVAL_RECORD": str(report),
            "NLGEVAL_TRIAL": "1" if options.overrides else "",
            "NLGEVAL_REPLACE": "1" if options.replace else "",
            # All that could be fetched is here by now: no address is asked again.
            "NLGEVAL_OFFLINE": "1",
        }
        work = folder.resolve() / f".{entry.id}.{os.getpid()}.ipynb"
        return pool.Job(
            entry.id,
            entry.path.resolve(),
            work,
            values,
            environment,
            options.timeout,
        )

    def _finish(
        self,
        job: pool.Job,
        answer: dict[str, Any],
        seconds: float,
    ) -> None:
        """Keep the results of a job that ended, or report its problems.

        answer, seconds: as `pool.executed` gives them.
        """
        step_run = self._running.pop(job.name)
        aside = files.state("failed", f"{job.name}.ipynb")
        report = Path(job.environment["NLGEVAL_RECORD"])
        saved, problems = came(step_run.entry, answer, report)
        # The executed copy gets its name, and the run its record.
        if not problems:
            try:
                os.replace(job.target, job.target.with_name(f"{job.name}.ipynb"))
                aside.unlink(missing_ok=True)
                self._keep(step_run, "ok", seconds, saved)
            except OSError as error:
                problems = [f"cannot keep the run: {error}"]
        if not problems:
            self._seal(saved, self._show_in_notebook(step_run, job, saved))
            self._outcome.ran.append(job.name)
            self._outcome.saved[job.name] = saved
            self._show.outcome(job.name, "ran", seconds, saved.get("line", ""))
            return
        # A failed run is recorded too: it is not cached, and its copy shows the error.
        with contextlib.suppress(OSError):
            self._keep(step_run, "failed", seconds, {})
        with contextlib.suppress(OSError):
            aside.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(job.target, aside)
            problems.append(f"kept aside: {shown(aside)}")
        detail = ""
        if "cell" in answer:
            detail = answer["error"].splitlines()[0]
        self._fail(step_run.entry, problems, seconds, detail)

    def _show_in_notebook(
        self, step_run: Step, job: pool.Job, saved: Mapping[str, Any]
    ) -> list[str]:
        """Put what the run of an official output, or of one's own, wrote into its
        notebook.

        A run from saved scores leaves it as it is: it may show less.

        Returns: the name under which the outputs are sealed; nothing where they stay.
        """
        name = seal.shown_in(step_run.entry)
        is_official = self._is_published(saved) and seal.applies()
        is_shown = name and is_official and not saved.get("without_texts")
        is_private = step_run.entry.is_private and not self._options.aside
        if not is_shown and not is_private:
            return []
        executed = job.target.with_name(f"{job.name}.ipynb")
        source = job.source.read_text(encoding="utf-8")
        try:
            shown_now = committed.with_outputs(
                source, executed.read_text(encoding="utf-8")
            )
        except ValueError:  # somebody saved the notebook while it ran
            self._show.say(f"{job.name}: its notebook was edited meanwhile: run again")
            return []
        if shown_now != source:
            files.write_text(job.source, shown_now)
        return [] if is_private else [name]

    def _is_published(self, saved: Mapping[str, Any]) -> bool:
        """Whether a run of full size wrote to its output's own place."""
        is_full = self._options.mode == "full" and not self._options.aside
        return is_full and saved.get("folder") in ("", "mini")

    def _seal(self, saved: Mapping[str, Any], shown_in: list[str]) -> None:
        """Renew the seal of what a run of full size wrote; the scoreboard sealed its
        own.

        shown_in: the notebook that shows it, as `_show_in_notebook` gives it.
        """
        if not self._is_published(saved):
            return
        if "written" in saved:
            names = [*saved["files"], *shown_in]
            seal.renew(names, [*saved["written"], *shown_in])
        elif shown_in:
            seal.renew(shown_in, shown_in, gone=False)

    def _keep(
        self,
        step_run: Step,
        status: str,
        seconds: float,
        saved: dict[str, Any],
    ) -> None:
        """Write the record of a run that is not aside.

        status: ok or failed.
        saved: the notebook's report; {} where it failed.

        Raises: OSError.
        """
        if self._options.aside:
            return
        hashes = {}
        for name in saved.get("files", ()):
            hashes[name] = stale.file_hash(files.located(name))
        path = record_path(self._options.mode, step_run.entry.id)
        earlier = Record.read(path)
        cold_seconds = earlier.cold_seconds if earlier else None
        seconds = round(seconds, 2)
        if self._began_cold and status == "ok":
            cold_seconds = seconds
        record = Record(status, step_run.parts, seconds, saved, hashes, cold_seconds)
        record.write(path)

    def _fail(
        self,
        entry: Entry,
        problems: Sequence[str],
        seconds: float | None = None,
        detail: str = "",
    ) -> None:
        """Count an output as failed, and print its problems below its line."""
        self._outcome.failed.append(entry.id)
        self._show.outcome(entry.id, "failed", seconds, detail)
        for text in problems:
            self._show.say(textwrap.indent(text, "    "))

    def _report(self) -> None:
        """Say at the end what was unavailable, failed, kept and saved."""
        show = self._show
        outcome = self._outcome
        self._say_unavailable()
        if outcome.failed:
            show.say(f"failed: {', '.join(outcome.failed)}")
        total = Counter[str]()
        outputs = 0
        for name, saved in outcome.saved.items():
            retained = saved.get("kept")
            if retained:
                show.say(
                    f"kept from {saved['since']}: {name}: {_counted(retained)}; this "
                    f"run: {saved['why']}"
                )
                total.update(retained)
                outputs += 1
        self._say_saved()
        self._say_private()
        retained_text = f"{_counted(total)} of {outputs} outputs" if outputs else ""
        summary = show.summary(retained_text)
        show.say(f"{summary} in {time.monotonic() - show.began:.1f} s")

    def _say_unavailable(self) -> None:
        """Which data sets are not available, who needs them, and what to do."""
        show = self._show
        needed_by: dict[str, list[str]] = defaultdict(list)
        for output, gaps in self._outcome.unavailable.items():
            for dataset, reason in gaps.items():
                # Without addresses, and without the advice that is given once below.
                reason = re.sub(r"https?://[^ ]+: ", "", reason.partition(". Set ")[0])
                needed_by[f"{dataset}: {reason}"].append(output)
        for problem, outputs in needed_by.items():
            show.say(f"unavailable: {problem}; not run: {', '.join(outputs)}")
        if needed_by:
            names = [problem.partition(":")[0] for problem in needed_by]
            show.say(
                f"to get {', '.join(names)}: set NLGEVAL_DATA_MIRROR to a folder with "
                "these files, or run again where the network reaches their addresses; "
                "what was saved is kept"
            )

    def _say_saved(self) -> None:
        """How many outputs came from saved scores, how many need texts, and the way."""
        saved = self._outcome.saved.values()
        without_texts = sum(bool(report.get("without_texts")) for report in saved)
        unavailable = len(self._outcome.unavailable)
        if without_texts:
            self._show.say(
                f"from saved scores: {without_texts} outputs (data/numbers; their "
                "texts are not here)"
            )
        if without_texts or unavailable:
            self._show.say(
                f"need a download: {unavailable} outputs; `make data` brings the texts "
                "of all"
            )

    def _say_private(self) -> None:
        """Where the page and the figures of each output of one's own are."""
        private = {entry.id for entry in self._catalogue.private}
        for name, saved in self._outcome.saved.items():
            if name not in private or not saved:
                continue
            names = [f"results/{saved['folder']}/{META}/{name}.md"]
            names += [file for file in saved["files"] if file.endswith(".png")]
            listed = ", ".join(shown(files.located(file)) for file in names)
            self._show.say(f"to read: {listed}")


def listing(
    catalogue: Catalogue,
    options: Options,
    entries: Sequence[Entry],
) -> Iterator[str]:
    """What a run would do, a line an output; nothing is run, fetched or written.

    Yields: action, id, and the reason in brackets.
    """
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
        note = f"  ({reason})" if reason else ""
        yield f"{action:8} {entry.id}{note}"


def _with_scoreboard(entries: Sequence[Entry], options: Options) -> list[Entry]:
    """The entries, and after them the scoreboard where this run makes it.

    What the miniature judge gave, and what is one's own, stands in no tile and no count
    of the scoreboard.
    """
    scoreboard = scoreboard_entry()
    counted = []
    for entry in entries:
        if not entry.is_private and (entry.route != "mini" or entry.covers):
            counted.append(entry)
    is_counted_nowhere = entries and not counted
    if options.aside or is_counted_nowhere or not scoreboard.path.exists():
        return list(entries)
    return [*entries, scoreboard]


def came(
    entry: Entry,
    answer: Mapping[str, Any],
    report: Path,
) -> tuple[dict[str, Any], list[str]]:
    """What came of a run: the notebook's report of what it saved, and the problems.

    answer: as `pool.execute` gives it.
    report: the file in which the notebook says what it saved.

    Returns: the report and []; or {} and texts: the cell and its traceback, or another
    reason.
    """
    if "cell" in answer:
        place = f"{shown(entry.path)}, In[{answer['cell']}]:"
        source = textwrap.indent(answer["source"].rstrip(), "| ")
        return {}, [place, source, plain(answer["traceback"]).rstrip()]
    if not answer["ok"]:
        return {}, [answer["error"]]
    if not entry.saves:
        return {}, []
    try:
        saved = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        problem = (
            "the notebook ran to its end but saved nothing: end it with out.save() on "
            f"Output({entry.id!r})"
        )
        return {}, [problem]
    if saved["id"] != entry.id:
        problem = (
            f"the notebook saved {saved['id']!r}; its catalogue entry is {entry.id!r}"
        )
        return {}, [problem]
    return saved, []


def _counted(counts: Mapping[str, int]) -> str:
    """How many of each kind, in words: `39 cells, 12 rows`, `1 cell`."""
    texts = []
    for kind, count in counts.items():
        texts.append(f"{count} {kind if count > 1 else kind[:-1]}")
    return ", ".join(texts)
