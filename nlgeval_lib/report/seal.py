"""The seal: what every committed result, figure, page and printed table held when it
was made, and what it was made from.

`results/MANIFEST.csv` has a line a file: `file`, `sha256` and `made_from`, the hash of
the names and contents of what it was made from (a CSV, a figure or a page: its record;
a record: the printed tables that its output covers). A run renews the lines of the
files that it wrote (`renew`), and of no others. What people write (printed tables,
claims, the registry, bundles of numbers, the list of cards) is taken in by name, with
`nlgeval verify --adopt` (`adopt`). `report.verify` reads all this (`read`), and holds
it against the files as they are (`line`).
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import hashlib
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from nlgeval_lib import files
from nlgeval_lib.study import catalogue

MANIFEST = "results/MANIFEST.csv"
COLUMNS = ("file", "sha256", "made_from")
BLOCKS = ("counts", "claims")  # what is generated of the README
# Folders below results/ and figures/ that are not committed.
_APART = ("quick", "partial", "executed", "sweeps", "report", "mini/meta")
# Where files are sealed, and with which endings.
_ENDINGS = {
    "results": (".csv", ".json", ".md"),
    "figures": (".svg", ".png"),
    "data/paper_tables": (".csv", ".toml"),
    "data/numbers": ("",),
    "data/cards": (".csv", ".json"),
    "data/completions": (".zip",),
}
# Single files that people write, beside those in the folders above.
_BY_HAND = ("data/registry.csv", "data/paper_claims.csv")
# The name of a file that an output made.
_RESULT = re.compile(
    r"""
    (?:results|figures)/
    (?P<folder>(?:mini/)?[a-z]+)/   # the paper
    (?P<id>[a-z0-9_]+?)             # the output
    (?:__\w+)?                      # the name of a further table or figure
    \.\w+
    """,
    re.VERBOSE,
)


class Line(NamedTuple):
    """What a file held when it was sealed, and what it was made from.

    sha256: of the file.
    made_from: the hash of the names and contents of its origins; "" without any.
    """

    sha256: str
    made_from: str


def applies() -> bool:
    """Whether results and figures are this checkout's own, and not in folders that
    NLGEVAL_RESULTS or NLGEVAL_FIGURES names. Only those are sealed.
    """
    root = files.root()
    return files.results() == root / "results" and files.figures() == root / "figures"


def read() -> dict[str, Line]:
    """The lines of the manifest by file; nothing where there is no manifest.

    Raises: ValueError for a damaged one.
    """
    path = files.located(MANIFEST)
    if not path.exists():
        return {}
    text = io.StringIO(path.read_text(encoding="utf-8", errors="replace"))
    rows = list(csv.reader(text))
    is_whole = all(len(row) == len(COLUMNS) for row in rows)
    if not rows or tuple(rows[0]) != COLUMNS or not is_whole:
        raise ValueError(f"{MANIFEST} is damaged; git checkout -- {MANIFEST}")
    return {name: Line(sha256, origin) for name, sha256, origin in rows[1:]}


def sealed_files() -> list[str]:
    """The files that there are to seal, by name and in its order; the README's blocks
    as `README.md#counts`. The manifest itself is none.
    """
    names = {name for name in _BY_HAND if files.located(name).is_file()}
    for top, endings in _ENDINGS.items():
        folder = files.located(top)
        for path in folder.rglob("*"):
            inner = path.relative_to(folder).as_posix()
            name = f"{top}/{inner}"
            if path.is_file() and name.endswith(endings) and not _is_apart(name):
                names.add(name)
    for mark in BLOCKS:
        if block(mark) is not None:
            names.add(f"README.md#{mark}")
    return sorted(names - {MANIFEST})


def _is_apart(name: str) -> bool:
    """Whether a file is in a folder that is not committed."""
    top, _, inner = name.partition("/")
    folders = tuple(f"{folder}/" for folder in _APART)
    return top in ("results", "figures") and inner.startswith(folders)


def block(mark: str, text: str | None = None) -> str | None:
    """A generated block of the README; None where it has none.

    mark: one of BLOCKS. It stands between `<!-- mark -->` and `<!-- /mark -->`.
    text: another text than that of the checkout's README.

    Example:
    >>> block("counts", "<!-- counts -->\\n12\\n<!-- /counts -->")
    '12\\n'
    """
    if text is None:
        readme = files.root() / "README.md"
        text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    _, start, below = text.partition(f"<!-- {mark} -->\n")
    content, end, _ = below.partition(f"<!-- /{mark} -->")
    if not start or not end:
        return None
    return content


def digest(name: str) -> str:
    """The sha256 of a file or of a block of the README; empty where there is none.

    name: from the checkout's root; of a block `README.md#counts`.
    """
    if name.startswith("README.md#"):
        mark = name.partition("#")[2]
        text = block(mark)
        if text is None:
            return ""
        return hashlib.sha256(text.encode()).hexdigest()
    try:
        return files.sha256(files.located(name))
    except OSError:
        return ""


def output_of(name: str) -> str:
    """The id of the output that a result, figure or page is named after; empty where
    a file is none.

    name: from the checkout's root.

    Example:
    >>> output_of("figures/meta/meta_levels__mini.png")
    'meta_levels'
    """
    match = _RESULT.fullmatch(name)
    return match["id"] if match else ""


def by_hand(name: str) -> bool:
    """Whether people or a tool write this file, and no run does.

    name: from the checkout's root.
    """
    if name.startswith("data/"):
        return True
    # A record that lies right below results/ is no output's.
    return name.count("/") == 1 and name.endswith(".json")


def sources(name: str, covers: Mapping[str, Collection[str]]) -> list[str]:
    """The files that this one was made from.

    name: from the checkout's root.
    covers: the printed tables of each output, as `covered` gives them.
    Returns: of a record the printed tables that are there, of another file of an output
    its record; nothing for a file that no output made.
    """
    match = _RESULT.fullmatch(name)
    if not match:
        return []
    record = f"results/{match['folder']}/{match['id']}.json"
    if name != record:
        return [record]
    return [table for table in covers.get(match["id"], ()) if digest(table)]


def covered() -> dict[str, list[str]]:
    """The files of the printed tables that each output of the catalogue covers, by the
    output's id.

    Raises: CatalogueError.
    """
    tables = {}
    for entry in catalogue.load().outputs:
        folder = f"data/paper_tables/{entry.paper}"
        tables[entry.id] = [f"{folder}/{table}.csv" for table in entry.covers]
    return tables


def line(name: str, covers: Mapping[str, Collection[str]]) -> Line:
    """The line of a file as it is now.

    name: from the checkout's root.
    covers: the printed tables of each output, as `covered` gives them.
    """
    origins = sorted(sources(name, covers))
    text = "\n".join(f"{origin} {digest(origin)}" for origin in origins)
    made_from = hashlib.sha256(text.encode()).hexdigest() if origins else ""
    return Line(digest(name), made_from)


def renew(names: Iterable[str], written: Collection[str], gone: bool = True) -> None:
    """Renew the lines of what a run made, where results are this checkout's own.

    names: all files of the run.
    written: those that it wrote. One that it left as it was keeps its sha256: had
    somebody edited it, that would still be found.
    gone: whether the lines of files of these outputs that are no more are dropped.
    Raises: ValueError for a damaged manifest; CatalogueError; OSError.
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
            is_unedited = sealed is None or sealed.sha256 == fresh.sha256
            if name in written or is_unedited:
                lines[name] = fresh
        ids = {output_of(name) for name in names} - {""}
        for name in list(lines):
            if gone and output_of(name) in ids and not digest(name):
                del lines[name]
        _write(lines)


def add(names: Iterable[str]) -> None:
    """Give a line to those of these files that have none; a run found them unchanged
    since it made them.

    names: from the checkout's root.
    """
    if applies():
        sealed = read()
        fresh = [name for name in names if name not in sealed]
        if fresh:
            renew(fresh, fresh, gone=False)


def adopt(names: Iterable[str]) -> list[str]:
    """Seal files that people wrote, by name; files of these names that are no more lose
    their lines.

    names: from the checkout's root; a folder stands for all below it.
    Returns: the names of all these files.
    Raises: ValueError for a file that a run makes, and for one that is not sealed.
    """
    # All names are looked at before a line is changed.
    adopted = []
    sealed = {*sealed_files(), *read()}
    for name in names:
        name = Path(name).as_posix().rstrip("/")
        chosen = []
        for file in sorted(sealed):
            if file == name or file.startswith(f"{name}/"):
                chosen.append(file)
        if not chosen:
            raise ValueError(f"{name}: no file of the seal; they are in {MANIFEST}")
        for file in chosen:
            if not by_hand(file):
                command = f"nlgeval run {output_of(file)} --force"
                raise ValueError(f"{file} is made by a run, never by hand: {command}")
        adopted += chosen
    with _locked():
        lines = read()
        covers = covered()
        for name in adopted:
            lines[name] = line(name, covers)
            if not lines[name].sha256:
                del lines[name]
        _write(lines)
    return sorted(adopted)


def _write(lines: Mapping[str, Line]) -> None:
    """Write the manifest, unless it holds these lines already."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name in sorted(lines):
        writer.writerow((name, *lines[name]))
    text = buffer.getvalue()
    path = files.located(MANIFEST)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        files.write_text(path, text)


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """No other process writes the manifest meanwhile."""
    path = files.state("manifest.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
