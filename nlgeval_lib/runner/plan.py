"""What has to be done for one output now: nothing, a run, or nothing that this machine could do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nlgeval_lib import notebook, paths
from nlgeval_lib.catalogue import META, SCOREBOARD, Catalogue, Entry
from nlgeval_lib.runner import fingerprint, inputs, records

MODES = ("full", "quick")


@dataclass(frozen=True, slots=True)
class Options:
    """How a run goes. `overrides` are parameter values from the command line, as text."""

    mode: str = "full"
    jobs: int = 1
    force: bool = False
    replace: bool = False  # let a result with less replace one with more
    timeout: int | None = None  # seconds a cell may take
    overrides: Mapping[str, str] = field(default_factory=dict)
    records: bool = True  # False: a run on the side; no scoreboard, and no trace for the next run

    @property
    def aside(self) -> bool:
        """Does this run leave the outputs' records and the scoreboard alone?"""
        return bool(self.overrides) or not self.records


@dataclass(frozen=True, slots=True)
class Step:
    """The decision about one output."""

    entry: Entry
    action: str  # run, cached, refused
    reason: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)


def step(entry: Entry, catalogue: Catalogue, options: Options) -> Step:
    """Decide about one output from content hashes alone; no data file is read.

    Raises: CatalogueError where its inputs are unknown names.
    """
    data = inputs.needed(entry)
    try:
        source = notebook.read(entry.path)
        given = dict(entry.parameters)
        for name, text in options.overrides.items():
            if name in source.parameters:
                given[name] = source.parameters[name].read(text)
            else:
                given[name] = text  # refused below, with the names that are known
        if options.mode == "quick" and entry.saves and "mode" not in source.parameters:
            raise notebook.NotebookRefused(
                f"{notebook.shown(entry.path)}: no parameter 'mode', so it has no quick mode"
            )
        values = source.resolve(given, {"mode": options.mode, "output_id": entry.id})
    except notebook.NotebookRefused as error:
        return Step(entry, "refused", str(error))
    judges = tuple(one for one in catalogue.questions if one.output == entry.id)
    parts = fingerprint.parts(entry, source, values, data, _others(entry, catalogue, options.mode), judges)
    if options.force or (options.replace and entry.id != SCOREBOARD):
        return Step(entry, "run", "--force" if options.force else "--replace", values, parts)
    if options.overrides:
        return Step(entry, "run", "parameters from the command line", values, parts)
    record = records.read(options.mode, entry.id)
    reason = "never run here" if record is None else record.stale(parts)
    return Step(entry, "run" if reason else "cached", reason, values, parts)


def current(entry: Entry, catalogue: Catalogue, mode: str) -> bool:
    """Does the saved result stand as this checkout made it: run here, whole, and nothing changed since?"""
    if step(entry, catalogue, Options(mode=mode)).action != "cached":
        return False
    record = records.read(mode, entry.id)
    return record is not None and record.saved.get("folder") != "partial"


def waits_for(entry: Entry, catalogue: Catalogue) -> set[str]:
    """The outputs that must be finished before `entry`."""
    if "*" in entry.after:
        return {other.id for other in catalogue.outputs}
    return set(entry.after)


def _others(entry: Entry, catalogue: Catalogue, mode: str) -> dict[str, Any]:
    """What the outputs that `entry` reads hold now."""
    found: dict[str, Any] = {}
    for name in sorted(waits_for(entry, catalogue)):
        other = catalogue[name]
        folders = {"quick"} if mode == "quick" else {"", "mini"}
        for folder in folders:
            base = paths.results() / folder / other.paper
            found[f"{folder}/{name}"] = [fingerprint.file_hash(base / f"{name}{end}") for end in (".csv", ".json")]
        if entry.id == SCOREBOARD:  # it also says when each was run, and whether it still stands
            found[f"run/{name}"] = current(other, catalogue, mode)
    if entry.paper == META and entry.id == SCOREBOARD:
        found["catalogue"] = fingerprint.file_hash(paths.notebooks() / "catalogue.toml")
    return found
