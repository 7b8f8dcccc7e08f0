"""Whether what is committed still is what was made: which files were edited by hand.

No data are needed. Does every file hold what the manifest (`report.seal`) and its record
say? Is its notebook the code that made it? Do verdicts, differences, intervals and counts
follow from the other columns, and are the printed numbers those that their witnesses
sealed? Do scoreboard, pages, claims and README say what the results say? Each of CHECKS
yields a `Finding` for each fault of one sort.
"""

from __future__ import annotations

import csv
import functools
import io
import itertools
import math
import multiprocessing
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.datasets import registry
from reproduction import papers
from reproduction.papers import claims, witnesses
from reproduction.report import answers, committed, notebook, saving, scoreboard, seal
from reproduction.study import catalogue
from reproduction.study.catalogue import Entry

# What of a saved cell `papers.compare` needs to find its verdict anew.
GIVEN_TO_COMPARE = (*papers.KEY, *papers.comparison.OPTIONAL, "own_sd", "draws")
CLAIMS = "results/meta/meta_claims__claims.csv"
BY_PAPER = "results/meta/meta_claims__by_paper.csv"
# The columns that an interval is of, the first that a table has.
VALUES = ("ours", "value", "difference")
# Signatures of intervals whose ends lie alike around the value; what was estimated from
# a value is on another scale.
_EVEN = re.compile(r"(?!.*\bestimate:).*ci:(?:jack|careful|resampled-t|fisher)\b.*")
_ENDS = (0, 1, 2, 100, 200)  # of the scales of statistics, where intervals are cut
_ROUNDING = 5e-6  # cards keep six digits
SHARES = 8  # the parts in which pages are looked at
PUBLIC_DATA = "public data"  # the kind of claims that need data to be judged


class Finding(NamedTuple):
    """A file that is not what was made.

    file: its name from the checkout's root. message: what is wrong, after the name.
    way: how it comes right again, where that is not as for every file of its sort.
    """

    file: str
    message: str
    way: str = ""

    @property
    def way_out(self) -> str:
        """The command that takes the edit back, and the one that keeps it or makes the
        file anew.
        """
        name = self.file.partition("#")[0]
        back = f"git checkout -- {name}"
        if self.way:
            return self.way
        if seal.by_hand(self.file):
            return f"{back}; or, where it was meant: nlgeval verify --adopt {name}"
        output = seal.output_of(self.file) or catalogue.SCOREBOARD
        return f"{back}; or delete it and make it again: nlgeval run {output} --force"

    def __str__(self) -> str:
        return f"{self.file}: {self.message}. Way out: {self.way_out}"


Check = Callable[[], Iterator[Finding]]


def findings() -> list[Finding]:
    """Every file that was edited by hand, with what is wrong; none where all is as it
    was made.
    """
    # New processes, so that they see the environment as it is now.
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(mp_context=fresh) as pool:
        found = itertools.chain.from_iterable(pool.map(_found, CHECKS))
        return list(dict.fromkeys(found))


def _found(check: Check) -> list[Finding]:
    """The findings of one check; what it could not read is one, too."""
    try:
        return list(check())
    except (ValueError, OSError, KeyError, TypeError) as error:
        # Such errors begin with the file's name.
        message = str(error)
        name = message.partition(" ")[0].strip(":,")
        file = name if "/" in name else "results"
        return [Finding(file, f"cannot be read: {message}")]


def manifest_faults() -> Iterator[Finding]:
    """The files that the manifest knows otherwise or lacks, and those that only it
    has.
    """
    lines = seal.read()
    names = seal.sealed_files()
    for name in sorted({*names, *lines}):
        if name not in lines:
            maker = "nobody took it in" if seal.by_hand(name) else "no run made it"
            yield Finding(name, f"is not in the manifest: {maker}")
        elif name not in names:
            yield Finding(name, "is in the manifest and is gone")
        else:
            yield from _line_faults(name, lines[name])


def _line_faults(name: str, sealed: seal.Line) -> Iterator[Finding]:
    """How a file that is there differs from its line in the manifest."""
    fresh = seal.line(name)
    if fresh == sealed:
        return
    if fresh.made_from == sealed.made_from:
        # Only the file as it is now gives this hash.
        way = f"git checkout -- {seal.MANIFEST}"
        yield Finding(seal.MANIFEST, f"has an edited line, that of {name}", way)
    elif fresh.sha256 != sealed.sha256:
        yield Finding(name, "was edited after it was made")
    else:
        origins = ", ".join(seal.sources(name)) or "its line in the manifest"
        yield Finding(name, f"was made from another state of {origins}")


def witness_faults() -> Iterator[Finding]:
    """The printed cells that are not what their witnesses sealed."""
    for paper in papers.PAPERS:
        for fault in witnesses.broken(paper):
            yield Finding(*fault)


def result_faults() -> Iterator[Finding]:
    """The results whose verdicts, differences or printed numbers do not follow, and
    records that say something else than their results.
    """
    lines = seal.read()
    for entry in catalogue.load().outputs:
        name = f"{answers.base(entry)}.csv"
        try:
            cells = answers.saved_cells(name)
            for message in _not_following(cells):
                yield Finding(name, message)
            yield from _record_faults(entry, cells, lines)
        except (ValueError, KeyError) as error:
            # A result alone: the others are looked at.
            yield Finding(name, str(error).removeprefix(f"{name} "))


def listing_faults() -> Iterator[Finding]:
    """The results and figures that no output of the catalogue and no record lists.

    Files that no output is named after, such as the scoreboard, are passed over.
    """
    ids = set()
    listed = set()
    # All files of results and figures that may be there, by what the records say.
    for entry in catalogue.load().outputs:
        ids.add(entry.id)
        base = answers.base(entry)
        record = saving.read_json(f"{base}.json") or {}
        listed |= {f"{base}.json", f"{base}.md", *record.get("files", ())}
    for name in seal.sealed_files():
        if not name.startswith(("results/", "figures/")):
            continue
        output = seal.output_of(name)
        if output and output not in ids:
            yield Finding(name, "is of no output of the catalogue")
        elif output and name not in listed:
            yield Finding(name, "is in no record: no run made it")


def _not_following(cells: pd.DataFrame | None) -> Iterator[str]:
    """Where saved cells differ from what `papers.compare` says of their numbers."""
    if cells is None:
        return
    for (paper, table), part in cells.groupby(["paper", "table"], sort=False):
        printed = papers.load(str(paper), str(table)).set_index([*papers.KEY])["number"]
        with_number = {*printed[printed.notna()].index}
        # A row of ours that the table does not print has to say so.
        keys = part[[*papers.KEY]].itertuples(index=False, name=None)
        extra = [key not in with_number for key in keys]
        present = [name for name in GIVEN_TO_COMPARE if name in part]
        ours = part[present].assign(value=part["ours"], extra=extra)
        again = papers.compare(str(paper), str(table), ours)
        columns = [name for name in part.columns if name in again.columns]
        # Both as CSV: a file holds ten digits of a number, and no types.
        saved = saving.csv_text(part[columns])
        follows = saving.csv_text(again[columns])
        for difference in saving.csv_differences(saved, follows):
            yield f"{paper} {table}, {_as_saved(difference)}"


def _as_saved(difference: str) -> str:
    """A difference of two CSV texts, where the first is saved and the other follows."""
    return f"{difference.replace(' became ', ' is saved, ')} follows"


def _record_faults(
    entry: Entry, cells: pd.DataFrame | None, lines: Mapping[str, seal.Line]
) -> Iterator[Finding]:
    """What an output's record says of its code, files, counts and inputs, and is not
    so.
    """
    name = f"{answers.base(entry)}.json"
    record = saving.read_json(name)
    if record is None:
        if cells is not None:
            yield Finding(name, "is gone, and its result is there")
        return
    yield from _code_faults(entry, name, record)
    for file, sha256 in record.get("files", {}).items():
        present = seal.digest(file)
        if not present:
            yield Finding(file, f"is gone; {name} lists it")
        elif present != sha256 and file in lines and lines[file].sha256 == present:
            # Where the manifest's line is the old one, that has been said.
            yield Finding(file, f"was edited after {name} was written")
    facts = {"output": entry.id, "paper": entry.paper}
    for fact, value in facts.items():
        if record.get(fact) != value:
            yield Finding(name, f"{fact} is {record.get(fact)!r}, not {value!r}")
    if cells is not None:
        counted = papers.counts(cells)
        coverage = record.get("coverage", {})
        for count, value in coverage.items():
            if count in counted and counted[count] != value:
                claim = f"coverage says {count} {value}"
                yield Finding(name, f"{claim}, its result gives {counted[count]}")
    # Of each input the record has the sha256 of its files; of very many one for their
    # list, under a name that the registry does not know.
    registered = registry.entries()
    for inputs in record.get("inputs", {}).values():
        for file, sha256 in inputs.items() if isinstance(inputs, dict) else ():
            if file in registered and registered[file].sha256 != sha256:
                message = f"was made from another {file} than data/registry.csv names"
                yield Finding(name, message)


def _code_faults(
    entry: Entry, name: str, record: Mapping[str, Any]
) -> Iterator[Finding]:
    """The notebook of an output, and modules beside it, that are not the code that its
    record names.
    """
    again = _again(entry)
    made_by = record.get("code")
    if not made_by:
        yield Finding(name, "does not say which code made it", again)
        return
    present = notebook.code(notebook.read(entry.path))
    for file in sorted({*made_by, *present}):
        if made_by.get(file) != present.get(file):
            way = f"{again}; or git checkout -- {file}"
            yield Finding(file, f"is other code than made {name}", way)


def _again(entry: Entry) -> str:
    """The way out that leaves no number of an earlier result, whoever made it."""
    command = f"nlgeval run {entry.id} --force --replace"
    return f"{command} makes it again by the code that is here"


def interval_faults() -> Iterator[Finding]:
    """The intervals by t or by Fisher's z whose ends do not lie alike around their
    value.
    """
    for name in seal.sealed_files():
        if not name.startswith("results/") or not name.endswith(".csv"):
            continue
        text = files.located(name).read_text(encoding="utf-8", errors="replace")
        rows = csv.DictReader(io.StringIO(text))
        if not {"ci_low", "ci_high", "signature"} <= {*(rows.fieldnames or ())}:
            continue
        values = [column for column in VALUES if column in (rows.fieldnames or ())]
        for number, row in enumerate(rows, 1):
            if values and _EVEN.fullmatch(row["signature"] or ""):
                ends = f"{row['ci_low']} to {row['ci_high']}"
                if not _lies_between(row[values[0]], row["ci_low"], row["ci_high"]):
                    message = f"{ends} is no interval of {row[values[0]]}"
                    yield Finding(name, f"row {number}: {message}")


def _lies_between(value: str, low: str, high: str) -> bool:
    """Whether a value is in the middle of an interval, on its own scale or on Fisher's
    z, apart from rounding and from ends that are cut at the scale's; or a cell is
    empty.
    """
    if "" in (value, low, high):
        return True
    middle, bottom, top = float(value), float(low), float(high)
    # As far above as below: where it would end, were nothing cut.
    even_top = 2 * middle - bottom
    even_bottom = 2 * middle - top
    tolerance = _ROUNDING * max(1.0, abs(bottom), abs(top))
    if abs(top - even_top) <= tolerance:
        return True
    if abs(top) in _ENDS and top <= even_top:
        return True
    if abs(bottom) in _ENDS and bottom >= even_bottom:
        return True
    if max(abs(middle), abs(bottom), abs(top)) >= 1:
        return False
    z_top = 2 * math.atanh(middle) - math.atanh(bottom)
    return abs(top - math.tanh(z_top)) <= tolerance


def shared_faults() -> Iterator[Finding]:
    """The shared runs of judges that are damaged or belong to other results."""
    if files.located("data/completions").is_dir():
        from reproduction.report import shared_run

        for name in shared_run.shared_files():
            for message in shared_run.differences(name):
                yield Finding(name, message)


def claim_faults() -> Iterator[Finding]:
    """Where the verdicts on claims are not those that the printed tables give; claims
    about public data are only looked for.
    """
    if not files.located(CLAIMS).is_file():
        return
    saved = scoreboard.claims("claims").astype(str)
    rows = claims.claims()
    listed_ids = {*rows["id"]}
    saved_ids = {*saved["id"]}
    for name in sorted(listed_ids ^ saved_ids):
        yield Finding(CLAIMS, f"claim {name} is not in both it and the list of claims")
    # Each verdict, where no data are needed to judge the claim again.
    judged = claims.judge(rows[rows["kind"] != PUBLIC_DATA])
    judged_by_id = judged.set_index("id").to_dict("index")
    for claim in saved.to_dict("records"):
        following = judged_by_id.get(claim["id"], {})
        for column, value in following.items():
            if str(value) != claim[column]:
                place = f"claim {claim['id']}, {column}"
                outcome = f"{claim[column]!r} is saved, {str(value)!r} follows"
                yield Finding(CLAIMS, f"{place}: {outcome}")
    # The counts by paper, which follow from the saved verdicts.
    counted = saving.csv_text(claims.counts(saved).reset_index())
    text = files.located(BY_PAPER).read_text(encoding="utf-8")
    for difference in saving.csv_differences(text, counted):
        yield Finding(BY_PAPER, _as_saved(difference))


def page_faults(share: int = 0, shares: int = 1) -> Iterator[Finding]:
    """The outputs' pages, and beginnings of notebooks, that say something else than the
    results.

    share: which of `shares` parts of the pages is looked at, from 0.
    """
    for entry in catalogue.load().outputs[share::shares]:
        try:
            answer = answers.read_answer(entry)
            if not answer:
                continue
            page = {f"{answer.base}.md": answers.markdown(answer).encode()}
        except ValueError as error:  # a page alone: the others are looked at
            yield Finding(f"{answers.base(entry)}.md", f"cannot be made: {error}")
            continue
        yield from _other_contents(page)
        name = seal.shown_in(entry)
        if not name:
            continue
        shown = committed.first_answer(entry.path.read_text(encoding="utf-8"))
        follows = committed.shortened(answers.first_screen_of(answer).text)
        if shown is None:
            yield Finding(name, "shows nothing")
        elif shown and shown != follows:
            yield _other_text(name, shown, follows)


def _other_contents(contents: Mapping[str, bytes]) -> Iterator[Finding]:
    """The files that hold something else than they should."""
    for name, content in contents.items():
        path = files.located(name)
        if not path.is_file():
            yield Finding(name, "is gone")
        elif path.read_bytes() != content:
            saved = path.read_text(encoding="utf-8", errors="replace")
            yield _other_text(name, saved, content.decode())


def text_faults() -> Iterator[Finding]:
    """The scoreboard, the reports and README blocks that say something else than the
    results.
    """
    counted = scoreboard.kinds()
    contents = scoreboard.texts(scoreboard.build(), counted)
    yield from _other_contents(contents)
    readme = scoreboard.readme(counted)
    for mark in seal.BLOCKS:
        saved = seal.block(mark) or ""
        follows = seal.block(mark, readme) or ""
        if saved != follows:
            yield _other_text(f"README.md#{mark}", saved, follows)


def _other_text(name: str, saved: str, follows: str) -> Finding:
    """That a text is not the one that follows from the results, and where."""
    letters = enumerate(itertools.zip_longest(saved, follows))
    place = next(number for number, (was, due) in letters if was != due)
    line = saved.count("\n", 0, place) + 1
    around = slice(max(0, place - 30), place + 30)
    where = f"line {line}, {saved[around]!r} is saved, {follows[around]!r} follows"
    return Finding(name, f"does not say what the results say: {where}")


# All of them, in the order in which their findings are listed: the pages in parts, so
# that several processes share them.
CHECKS: tuple[Check, ...] = (
    manifest_faults,
    witness_faults,
    result_faults,
    interval_faults,
    listing_faults,
    shared_faults,
    claim_faults,
    text_faults,
    *[functools.partial(page_faults, share, SHARES) for share in range(SHARES)],
)
