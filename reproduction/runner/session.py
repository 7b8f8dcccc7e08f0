"""One run over the catalogue: what is stale is executed, several notebooks at a time;
the rest is left alone.

An entry waits until the outputs before it have ended, is checked (`_checked`), and is
cached, refused, unavailable or ready; `_following` gives the pool the next job, and
`_finish` keeps or reports what came of it. `listing` says what a run would do.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sys
import tempfile
import textwrap
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

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

# A terminal's colour or movement, or any other control character.
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[\ -/]*[@-~]|[^\t\n\x20-\x7e\xa0-\U0010ffff]")
# Outcome -> the word that is printed for it.
_WORDS = {
    "ran": "done",
    "cached": "cached",
    "failed": "FAILED",
    "unavailable": "not run",
}


def plain(text: str) -> str:
    """`text` without terminal colours and without other control characters."""
    return _CONTROL.sub("", text)


class Progress:
    """Prints a line for each output as it ends, and counts them.

    total: how many outputs there are. stream: None for standard output.
    """

    def __init__(self, total: int = 0, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self.total = total
        self.began = time.monotonic()
        self.counts = Counter[str]()

    def say(self, text: str) -> None:
        """Print a line."""
        print(plain(text), file=self._stream, flush=True)

    def outcome(
        self, name: str, outcome: str, seconds: float | None = None, detail: str = ""
    ) -> None:
        """Print that an output ended.

        outcome: ran, cached, failed or unavailable. seconds: None where it was not run.
        """
        self.counts[outcome] += 1
        width = len(str(self.total))
        place = f"[{self.counts.total():{width}}/{self.total}]"
        duration = "" if seconds is None else f"{seconds:.1f} s"
        line = f"{place} {_WORDS[outcome]:8} {duration:>8}  {name}  {detail}"
        self.say(line.rstrip())

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


@dataclass(slots=True)
class Outcome:
    """What a run did, by output id: unavailable has id -> data set -> reason, saved id
    -> the report of `save()`.
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


class Session:
    """Runs the chosen entries of a catalogue, then the scoreboard."""

    def __init__(
        self, catalogue: Catalogue, options: Options, progress: Progress | None = None
    ) -> None:
        self._catalogue = catalogue
        self._options = options
        self._show = progress or Progress()
        self._outcome = Outcome()
        self._waiting: list[Entry] = []  # until the outputs before them have ended
        self._ready: list[Step] = []
        self._running: dict[str, Step] = {}
        self._work = Path()  # executed copies and reports until they are whole
        stale.forget()

    def run(self, entries: Sequence[Entry]) -> Outcome:
        """Run what is stale of `entries` and of the scoreboard.

        Raises: CatalogueError for unknown inputs; OSError where results or state cannot
        be written.
        """
        # A folder that cannot be written is refused now, not after an hour.
        for folder in (files.results() / "executed", files.state("runs")):
            files.check(folder / ".writable")
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
            count = len(self._outcome.cached)
            self._show.say(
                f"cached: {count} outputs, unchanged since they were run here"
            )
        with tempfile.TemporaryDirectory(prefix="nlgeval-run-") as work:
            self._work = Path(work)
            try:
                ended = pool.executed(self._options.jobs, self._following)
                for job, answer, seconds in ended:
                    self._finish(job, answer, seconds)
            except BaseException:
                self._show.say("stopping; what was finished is kept")
                raise
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
        missing = stale.missing(name for one in due for name in one.entry.inputs)
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

    def _following(self) -> pool.Job | None:
        """What to run next, None where nothing is ready: the longest, but not beside
        another output of its notebook where others can be. What one notebook asks for
        its outputs is mostly the same: the later one reads the scores of the first.
        """
        # An entry that turns out to need no run may be what others have waited for.
        while self._release() and not self._ready:
            pass
        if not self._ready:
            return None
        busy = {running.entry.path for running in self._running.values()}

        def rank(due: Step) -> tuple[bool, float]:
            return due.entry.path not in busy, _seconds(due.entry)

        chosen = max(self._ready, key=rank)
        self._ready.remove(chosen)
        entry = chosen.entry
        self._running[entry.id] = chosen
        report = self._work / f"{entry.id}.json"
        report.unlink(missing_ok=True)
        environment = {
            "NLGEVAL_RECORD": str(report),
            "NLGEVAL_TRIAL": "1" if self._options.overrides else "",
            "NLGEVAL_REPLACE": "1" if self._options.replace else "",
            # All that could be fetched is here by now: no address is asked again.
            "NLGEVAL_OFFLINE": "1",
        }
        return pool.Job(
            entry.id,
            entry.path.resolve(),
            self._work / f"{entry.id}.ipynb",
            chosen.values,
            environment,
        )

    def _release(self) -> bool:
        """Check the entries that wait for nothing any more; whether there were any."""
        pending = {*self._running}
        pending.update(entry.id for entry in self._waiting)
        pending.update(due.entry.id for due in self._ready)
        free = []
        for entry in self._waiting:
            if not waits_for(entry, self._catalogue) & pending:
                free.append(entry)
        for entry in free:
            self._waiting.remove(entry)
            self._ready += self._checked([entry])
        return bool(free)

    def _finish(self, job: pool.Job, answer: dict[str, Any], seconds: float) -> None:
        """Keep the results of a job that ended, or report its problems."""
        step_run = self._running.pop(job.name)
        aside = files.state("failed", f"{job.name}.ipynb")
        report = Path(job.environment["NLGEVAL_RECORD"])
        saved, problems = came(step_run.entry, answer, report)
        if not problems:
            try:
                executed = job.target.read_text(encoding="utf-8")
                files.write_text(self._place_of_copy(step_run.entry), executed)
                aside.unlink(missing_ok=True)
                self._keep(step_run, "ok", seconds, saved)
            except OSError as error:
                problems = [f"cannot keep the run: {error}"]
        if not problems:
            self._publish(step_run.entry, executed, saved)
            self._outcome.ran.append(job.name)
            self._outcome.saved[job.name] = saved
            self._show.outcome(job.name, "ran", seconds, saved.get("line", ""))
            return
        # A failed run is recorded too: it is not cached, and its copy shows the error.
        with contextlib.suppress(OSError):
            self._keep(step_run, "failed", seconds, {})
            aside.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(job.target, aside)
            problems.append(f"kept aside: {shown(aside)}")
        detail = ""
        if "cell" in answer:
            detail = answer["error"].splitlines()[0]
        self._fail(step_run.entry, problems, seconds, detail)

    def _place_of_copy(self, entry: Entry) -> Path:
        """Where the executed copy of an output's notebook lies."""
        top = "quick" if self._options.mode == "quick" else ""
        if self._options.overrides:
            top = "trial"
        return files.results() / "executed" / top / entry.paper / f"{entry.id}.ipynb"

    def _publish(self, entry: Entry, executed: str, saved: Mapping[str, Any]) -> None:
        """Put what a run of full size wrote into its notebook, and renew the seal."""
        if self._options.aside:
            return
        if entry.is_private:
            self._show_in_notebook(entry, executed)
            return
        if self._options.mode != "full" or saved.get("folder") not in ("", "mini"):
            return
        shown_in = []
        name = seal.shown_in(entry)
        is_whole = seal.applies() and not saved.get("without_texts")
        if name and is_whole and self._show_in_notebook(entry, executed):
            shown_in = [name]
        if "written" in saved:
            names = [*saved["files"], *shown_in]
            seal.renew(names, [*saved["written"], *shown_in])
        elif shown_in:
            # The scoreboard sealed its own files.
            seal.renew(shown_in, shown_in, gone=False)

    def _show_in_notebook(self, entry: Entry, executed: str) -> bool:
        """Put the outputs of the executed copy into the notebook; whether that is done."""
        source = entry.path.read_text(encoding="utf-8")
        try:
            shown_now = committed.with_outputs(source, executed)
        except ValueError:  # somebody saved the notebook while it ran
            self._show.say(f"{entry.id}: its notebook was edited meanwhile: run again")
            return False
        if shown_now != source:
            files.write_text(entry.path, shown_now)
        return True

    def _keep(
        self, step_run: Step, status: str, seconds: float, saved: dict[str, Any]
    ) -> None:
        """Write the record of a run that is not aside. Raises: OSError."""
        if self._options.aside:
            return
        hashes = {}
        for name in saved.get("files", ()):
            hashes[name] = stale.file_hash(files.located(name))
        record = Record(status, step_run.parts, round(seconds, 2), saved, hashes)
        record.write(record_path(self._options.mode, step_run.entry.id))

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
            if saved.get("kept"):
                show.say(
                    f"kept from {saved['since']}: {name}: {_counted(saved['kept'])}; "
                    f"this run: {saved['why']}"
                )
                total.update(saved["kept"])
                outputs += 1
        without_texts = sum(
            bool(saved.get("without_texts")) for saved in outcome.saved.values()
        )
        if without_texts:
            show.say(f"from saved scores, without texts: {without_texts} outputs")
        if without_texts or outcome.unavailable:
            show.say(
                f"need a download: {len(outcome.unavailable)} outputs; `make data` "
                "brings the texts of all"
            )
        self._say_private()
        retained = f"{_counted(total)} of {outputs} outputs" if outputs else ""
        seconds = time.monotonic() - show.began
        show.say(f"{show.summary(retained)} in {seconds:.1f} s")

    def _say_unavailable(self) -> None:
        """Which data sets are not available, who needs them, and what to do."""
        needed_by: dict[str, list[str]] = defaultdict(list)
        for output, gaps in self._outcome.unavailable.items():
            for dataset, reason in gaps.items():
                # Without addresses, and without the advice that is given once below.
                reason = re.sub(r"https?://[^ ]+: ", "", reason.partition(". Set ")[0])
                needed_by[f"{dataset}: {reason}"].append(output)
        for problem, outputs in needed_by.items():
            self._show.say(f"unavailable: {problem}; not run: {', '.join(outputs)}")
        if needed_by:
            names = [problem.partition(":")[0] for problem in needed_by]
            self._show.say(
                f"to get {', '.join(names)}: set NLGEVAL_DATA_MIRROR to a folder with "
                "these files, or run again where the network reaches their addresses; "
                "what was saved is kept"
            )

    def _say_private(self) -> None:
        """Where the page and the figures of each output of one's own are."""
        for entry in self._catalogue.private:
            saved = self._outcome.saved.get(entry.id)
            if saved:
                names = [f"results/{saved['folder']}/{META}/{entry.id}.md"]
                names += [file for file in saved["files"] if file.endswith(".png")]
                listed = ", ".join(shown(files.located(file)) for file in names)
                self._show.say(f"to read: {listed}")


def listing(
    catalogue: Catalogue, options: Options, entries: Sequence[Entry]
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
    """The entries, and after them the scoreboard where it counts any of them: none of
    the miniature judge alone, and none of one's own.
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


def _seconds(entry: Entry) -> float:
    """How long an output took when its result was saved, else half a minute."""
    path = files.results() / entry.paper / f"{entry.id}.json"
    try:
        return float(json.loads(path.read_bytes())["wall_seconds"])
    except (OSError, ValueError, TypeError, KeyError):
        return 30.0


def came(
    entry: Entry, answer: Mapping[str, Any], report: Path
) -> tuple[dict[str, Any], list[str]]:
    """What came of a run: the report, a file, of what the notebook saved and []; or {}
    and texts: the cell and its traceback, or another reason.
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
        problem = f"the notebook saved {saved['id']!r}; its entry is {entry.id!r}"
        return {}, [problem]
    return saved, []


def _counted(counts: Mapping[str, int]) -> str:
    """How many of each kind, in words: `39 cells, 12 rows`, `1 cell`."""
    texts = []
    for kind, count in counts.items():
        texts.append(f"{count} {kind if count > 1 else kind[:-1]}")
    return ", ".join(texts)
