"""The seal: what every committed result, figure, page and printed table held when it
was made, and what it was made from.

`results/MANIFEST.csv` has a line a file: `file`, `sha256` and `made_from`, the hash of
the names and contents of what it was made from (a CSV, a figure or a page: its record;
a record: the printed tables that its output covers). A run renews the lines of the
files that it wrote, and of no others. What people write (printed tables, claims, the
registry, bundles of numbers) is taken in by name, with `nlgeval verify --adopt`.
`report.verify` reads all this.
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import hashlib
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from nlgeval_lib import files
from nlgeval_lib.study import catalogue

MANIFEST = "results/MANIFEST.csv"
COLUMNS = ("file", "sha256", "made_from")
BLOCKS = ("counts", "claims")  # what is generated of the README
_APART = ("quick", "partial", "executed", "sweeps", "report", "mini/meta")
_ENDINGS = {
    "results": (".csv", ".json", ".md"),
    "figures": (".svg", ".png"),
    "data/paper_tables": (".csv", ".toml"),
    "data/numbers": ("",),
}
_BY_HAND = ("data/registry.csv", "data/paper_claims.csv")
_RESULT = re.compile(
    r"(?:results|figures)/(?P<folder>(?:mini/)?[a-z]+)/(?P<id>[a-z0-9_]+?)(?:__\w+)?\.\w+"
)


class Line(NamedTuple):
    """What a file held when it was sealed, and what it was made from."""

    sha256: str
    made_from: str


def applies() -> bool:
    """Whether results and figures are this checkout's own, not set apart."""
    root = files.root()
    return files.results() == root / "results" and files.figures() == root / "figures"


def read() -> dict[str, Line]:
    """The manifest by file; nothing where there is none.

    Raises: ValueError for a damaged one.
    """
    path = files.located(MANIFEST)
    if not path.exists():
        return {}
    header, *rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
    if tuple(header) != COLUMNS or any(len(row) != len(COLUMNS) for row in rows):
        raise ValueError(f"{MANIFEST} is damaged; git checkout -- {MANIFEST}")
    return {name: Line(sha256, origin) for name, sha256, origin in rows}


def sealed_files() -> list[str]:
    """The files that there are to seal, by name; the README's blocks as
    `README.md#counts`.
    """
    found = []
    for top, endings in _ENDINGS.items():
        folder = files.located(top)
        for path in folder.rglob("*"):
            inner = path.relative_to(folder).as_posix()
            name = f"{top}/{inner}"
            if path.is_file() and name.endswith(endings) and not _is_apart(name):
                found.append(name)
    found += [name for name in _BY_HAND if files.located(name).is_file()]
    found += [f"README.md#{mark}" for mark in BLOCKS if block(mark) is not None]
    return sorted({*found} - {MANIFEST})


_FOLDERS = tuple(
    f"{top}/{folder}/" for top in ("results", "figures") for folder in _APART
)


def _is_apart(name: str) -> bool:
    """Whether a file is in a folder that is not committed."""
    return name.startswith(_FOLDERS)


def block(mark: str, text: str | None = None) -> str | None:
    """A generated block of the README (or of `text`); None where it has none."""
    if text is None:
        readme = files.root() / "README.md"
        text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    _, opened, rest = text.partition(f"<!-- {mark} -->\n")
    content, closed, _ = rest.partition(f"<!-- /{mark} -->")
    return content if opened and closed else None


def digest(name: str) -> str:
    """The sha256 of a file or of a block of the README; empty where there is none."""
    if name.startswith("README.md#"):
        text = block(name.partition("#")[2])
        return "" if text is None else hashlib.sha256(text.encode()).hexdigest()
    try:
        return hashlib.sha256(files.located(name).read_bytes()).hexdigest()
    except OSError:
        return ""


def output_of(name: str) -> str:
    """The id of the output that a result, figure or page is named after; empty where
    a file is none.
    """
    found = _RESULT.fullmatch(name)
    return found["id"] if found else ""


def by_hand(name: str) -> bool:
    """Whether people or a tool write this file, and no run does."""
    return name.startswith("data/") or (
        len(PurePosixPath(name).parts) == 2 and name.endswith(".json")
    )


def sources(name: str, covers: Mapping[str, Collection[str]]) -> list[str]:
    """The files that this one was made from.

    covers: the printed tables of each output, as `covered` gives them.
    """
    found = _RESULT.fullmatch(name)
    if not found:
        return []
    record = f"results/{found['folder']}/{found['id']}.json"
    if name != record:
        return [record]
    return [table for table in covers.get(found["id"], ()) if digest(table)]


def covered() -> dict[str, list[str]]:
    """The files of the printed tables that each output of the catalogue covers."""
    found = {}
    for entry in catalogue.load().outputs:
        folder = f"data/paper_tables/{entry.paper}"
        found[entry.id] = [f"{folder}/{table}.csv" for table in entry.covers]
    return found


def line(name: str, covers: Mapping[str, Collection[str]]) -> Line:
    """The line of a file as it is."""
    origins = sorted(sources(name, covers))
    text = "\n".join(f"{origin} {digest(origin)}" for origin in origins)
    made_from = hashlib.sha256(text.encode()).hexdigest() if origins else ""
    return Line(digest(name), made_from)


def renew(names: Iterable[str], written: Collection[str], gone: bool = True) -> None:
    """Renew the lines of what a run made, where results are this checkout's own.

    names: all files of the run. written: those that it wrote. One that it left as it
    was keeps its sha256: had somebody edited it, that would still be found. gone:
    whether the lines of files of these outputs that are no more are dropped.
    """
    if not applies():
        return
    with _locked():
        lines = read()
        covers = covered()
        names = [name for name in names if not _is_apart(name)]
        for name in names:
            fresh = line(name, covers)
            sealed = lines.get(name)
            if name in written or sealed is None or sealed.sha256 == fresh.sha256:
                lines[name] = fresh
        ids = {output_of(name) for name in names} - {""}
        for name in list(lines):
            if gone and output_of(name) in ids and not digest(name):
                del lines[name]
        _write(lines)


def add(names: Iterable[str]) -> None:
    """Give a line to those of these files that have none; a run found them unchanged
    since it made them.
    """
    if applies():
        known = read()
        fresh = [name for name in names if name not in known]
        if fresh:
            renew(fresh, fresh, gone=False)


def adopt(names: Iterable[str]) -> list[str]:
    """Take in what people wrote, by name (a folder: all below it), and what of it is
    gone; returns what was taken in.

    Raises: ValueError for a file that a run makes, and for one that is not sealed.
    """
    taken = []
    lines = read()
    there = {*sealed_files(), *lines}
    for name in names:
        name = Path(name).as_posix().rstrip("/")
        chosen = [one for one in there if one == name or one.startswith(f"{name}/")]
        if not chosen:
            raise ValueError(f"{name}: no file of the seal; they are in {MANIFEST}")
        made = sorted(one for one in chosen if not by_hand(one))
        if made:
            way = f"nlgeval run {output_of(made[0])} --force" if made else ""
            raise ValueError(f"{made[0]} is made by a run, never by hand: {way}")
        taken += chosen
    with _locked():
        lines = read()
        covers = covered()
        for name in taken:
            lines[name] = line(name, covers)
            if not lines[name].sha256:
                del lines[name]
        _write(lines)
    return sorted(taken)


def _write(lines: Mapping[str, Line]) -> None:
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(COLUMNS)
    out.writerows((name, *lines[name]) for name in sorted(lines))
    path = files.located(MANIFEST)
    if not path.exists() or path.read_text(encoding="utf-8") != text.getvalue():
        files.write_text(path, text.getvalue())


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    path = files.state("manifest.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
