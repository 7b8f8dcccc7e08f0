"""Whether what is committed still is what was made: which files were edited by hand.

Four questions, and no data are needed for them: does every file hold what the manifest
says (`report.seal`)? Do the verdicts, differences and counts of every result follow
from its `printed` and `ours`, by the library's own functions? Are its printed numbers
those of `data/paper_tables`, and those the ones that their witnesses sealed
(`papers.witnesses`)? Do scoreboard, pages, claims and README say what the results say?
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from nlgeval_lib import files, papers
from nlgeval_lib.papers import claims, witnesses
from nlgeval_lib.report import answers, saving, scoreboard, seal
from nlgeval_lib.study import catalogue
from nlgeval_lib.study.catalogue import Entry

GIVEN_TO_COMPARE = (*papers.KEY, *papers.comparison.OPTIONAL, "own_sd", "draws")
CLAIMS = "results/meta/meta_claims__claims.csv"
BY_PAPER = "results/meta/meta_claims__by_paper.csv"
PUBLIC_DATA = "public data"  # the kind of claims that need data to be judged


class Finding(NamedTuple):
    """A file that is not what was made, and what is wrong with it."""

    file: str
    message: str

    @property
    def way_out(self) -> str:
        """How it comes right again."""
        if seal.by_hand(self.file):
            back = f"git checkout -- {self.file}"
            return f"{back}; or, where it was meant: nlgeval verify --adopt {self.file}"
        name = self.file.partition("#")[0]
        output = seal.output_of(name)
        command = f"nlgeval run {output} --force" if output else "nlgeval scoreboard"
        return f"git checkout -- {name}; or delete it and make it again: {command}"

    def __str__(self) -> str:
        return f"{self.file}: {self.message}. Way out: {self.way_out}"


def findings() -> list[Finding]:
    """Every file that was edited by hand, with what is wrong; none where all is as it
    was made.
    """
    faults: list[Finding] = []
    for check in CHECKS:
        try:
            faults += list(check())
        except (ValueError, OSError, KeyError, TypeError) as error:
            message = str(error)
            name = message.partition(" ")[0].strip(":,")
            file = name if "/" in name else "results"
            faults.append(Finding(file, f"cannot be read: {message}"))
    return list(dict.fromkeys(faults))


def manifest_faults() -> Iterator[Finding]:
    """The files that the manifest knows otherwise or lacks, and those that only it
    has.
    """
    lines = seal.read()
    covers = seal.covered()
    names = seal.sealed_files()
    for name in sorted({*names, *lines}):
        if name not in lines:
            yield Finding(name, "is not in the manifest: no run made it")
        elif name not in names:
            yield Finding(name, "is in the manifest and is gone")
        else:
            fresh = seal.line(name, covers)
            if fresh.sha256 != lines[name].sha256:
                yield Finding(name, "was edited after it was made")
            elif fresh.made_from != lines[name].made_from:
                origins = ", ".join(seal.sources(name, covers))
                yield Finding(name, f"was made from another state of {origins}")


def witness_faults() -> Iterator[Finding]:
    """The printed cells that are not what their witnesses sealed."""
    for paper in papers.PAPERS:
        for fault in witnesses.broken(paper):
            yield Finding(*fault)


def result_faults() -> Iterator[Finding]:
    """The results whose verdicts, differences or printed numbers do not follow."""
    for entry in catalogue.load().outputs:
        name = f"{answers.base(entry)}.csv"
        try:
            cells = answers.saved_cells(name)
            for message in _not_following(cells):
                yield Finding(name, message)
            yield from _record_faults(entry, cells)
        except (ValueError, KeyError) as error:
            yield Finding(name, str(error).removeprefix(f"{name} "))


def listing_faults() -> Iterator[Finding]:
    """The results and figures that no output of the catalogue and no record lists."""
    ids = set()
    listed = set()
    for entry in catalogue.load().outputs:
        ids.add(entry.id)
        base = answers.base(entry)
        record = saving.read_json(f"{base}.json") or {}
        listed |= {f"{base}.json", f"{base}.md", *record.get("files", ())}
    for name in seal.sealed_files():
        output = seal.output_of(name)
        if output and output not in ids:
            yield Finding(name, "is of no output of the catalogue")
        elif output and name not in listed:
            yield Finding(name, "is in no record: no run made it")


def _not_following(cells: pd.DataFrame | None) -> Iterator[str]:
    """Where saved cells differ from what the library says of their numbers."""
    if cells is None:
        return
    for (paper, table), part in cells.groupby(["paper", "table"], sort=False):
        again = compared_again(str(paper), str(table), part)
        columns = [name for name in part.columns if name in again.columns]
        saved = saving.csv_text(part[columns])
        follows = saving.csv_text(again[columns])
        for message in saving.csv_differences(saved, follows):
            yield f"{paper} {table}, {message.replace(' became ', ' is saved, ')} follows"


def compared_again(paper: str, table: str, cells: pd.DataFrame) -> pd.DataFrame:
    """What `papers.compare` says of the numbers of saved cells."""
    printed = papers.load(paper, table).set_index([*papers.KEY])["number"]
    numeric = {*printed[printed.notna()].index}
    keys = cells[[*papers.KEY]].itertuples(index=False, name=None)
    ours = cells[[name for name in GIVEN_TO_COMPARE if name in cells]]
    extra = [key not in numeric for key in keys]
    return papers.compare(paper, table, ours.assign(value=cells["ours"], extra=extra))


def _record_faults(entry: Entry, cells: pd.DataFrame | None) -> Iterator[Finding]:
    """What an output's record says of its files, counts and inputs, and is not so."""
    name = f"{answers.base(entry)}.json"
    record = saving.read_json(name)
    if record is None:
        if cells is not None:
            yield Finding(name, "is gone, and its result is there")
        return
    for file in record.get("files", ()):
        if not files.located(file).is_file():
            yield Finding(file, f"is gone; {name} lists it")
    for fact, value in (("output", entry.id), ("paper", entry.paper)):
        if record.get(fact) != value:
            yield Finding(name, f"{fact} is {record.get(fact)!r}, not {value!r}")
    if cells is not None:
        counted = papers.counts(cells)
        for count, value in record.get("coverage", {}).items():
            if count in counted and counted[count] != value:
                wrong = f"coverage says {count} {value}, its result gives"
                yield Finding(name, f"{wrong} {counted[count]}")
    yield from _input_faults(name, record)


def _input_faults(name: str, record: Mapping[str, Any]) -> Iterator[Finding]:
    """The inputs of a record whose sha256 is not the registry's."""
    path = files.data() / "registry.csv"
    with open(path, encoding="utf-8", newline="") as handle:
        registered = {row["path"]: row["sha256"] for row in csv.DictReader(handle)}
    for inputs in record.get("inputs", {}).values():
        if not isinstance(inputs, dict):
            continue
        for file, sha256 in inputs.items():
            if registered.get(file, sha256) != sha256:
                message = f"was made from another {file} than data/registry.csv names"
                yield Finding(name, message)


def shared_faults() -> Iterator[Finding]:
    """The shared runs of judges that are damaged or belong to other results."""
    if files.located("data/completions").is_dir():
        from nlgeval_lib.report import shared_run

        for name in shared_run.shared_files():
            for message in shared_run.differences(name):
                yield Finding(name, message)


def claim_faults() -> Iterator[Finding]:
    """Where the verdicts on claims are not those that the printed tables give."""
    if not files.located(CLAIMS).is_file():
        return
    saved = scoreboard.claims("claims").astype(str)
    rows = claims.claims()
    for name in sorted({*rows["id"]} ^ {*saved["id"]}):
        yield Finding(CLAIMS, f"claim {name} is not in both it and the list of claims")
    judged = claims.judge(rows[rows["kind"] != PUBLIC_DATA])
    judged_by_id = judged.set_index("id").to_dict("index")
    for claim in saved.to_dict("records"):
        for column, value in judged_by_id.get(claim["id"], {}).items():
            if str(value) != claim[column]:
                place = f"claim {claim['id']}, {column}"
                outcome = f"{claim[column]!r} is saved, {str(value)!r} follows"
                yield Finding(CLAIMS, f"{place}: {outcome}")
    counted = saving.csv_text(claims.counts(saved).reset_index())
    text = files.located(BY_PAPER).read_text(encoding="utf-8")
    for message in saving.csv_differences(text, counted):
        yield Finding(BY_PAPER, f"{message.replace(' became ', ' is saved, ')} follows")


def text_faults() -> Iterator[Finding]:
    """The scoreboard, pages and README blocks that say something else than the
    results.
    """
    contents = scoreboard.own_texts(scoreboard.build())
    for entry in catalogue.load().outputs:
        try:
            contents |= answers.pages([entry])
        except ValueError as error:  # a page alone: the others are looked at
            yield Finding(f"{answers.base(entry)}.md", f"cannot be made: {error}")
    for name, content in contents.items():
        path = files.located(name)
        if not path.is_file():
            yield Finding(name, "is gone")
        elif path.read_bytes() != content:
            saved = path.read_text(encoding="utf-8", errors="replace")
            where = _first_difference(saved, content.decode())
            yield Finding(name, f"does not say what the results say: {where}")
    readme = scoreboard.readme(scoreboard.kinds())
    for mark in seal.BLOCKS:
        saved = seal.block(mark) or ""
        follows = seal.block(mark, readme) or ""
        if saved != follows:
            where = _first_difference(saved, follows)
            name = f"README.md#{mark}"
            yield Finding(name, f"does not say what the results say: {where}")


def _first_difference(saved: str, follows: str) -> str:
    """The first line in which two texts differ, in words."""
    saved_lines = io.StringIO(saved).readlines()
    following = io.StringIO(follows).readlines()
    pairs = zip(saved_lines, following, strict=False)
    for number, (line, expected) in enumerate(pairs, 1):
        if line != expected:
            place = 0
            while line[place : place + 1] == expected[place : place + 1]:
                place += 1
            around = slice(max(0, place - 30), place + 30)
            differ = f"{line[around]!r} is saved, {expected[around]!r} follows"
            return f"line {number}, {differ}"
    return f"{len(saved_lines)} lines are saved, {len(following)} follow"


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    manifest_faults,
    witness_faults,
    result_faults,
    listing_faults,
    shared_faults,
    claim_faults,
    text_faults,
)
