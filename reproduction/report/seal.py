"""The seal: what every committed result, figure, page and input held when it was made
or read, and what it was made from.

`results/MANIFEST.csv` has a line a file: `file`, `sha256`, and `made_from`, the hash of
the two and of the names and contents of its origins (of a CSV, figure, page or notebook's
outputs the record; of a record the printed tables). A run renews the lines of what it
wrote (`renew`). What people write is taken in by name (`adopt`): every file that decides
a number, and of texts the numbers in them.
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import functools
import hashlib
import io
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from nlgeval_lib import files
from reproduction.import_graph import HOUSES
from reproduction.report import committed
from reproduction.study import catalogue
from reproduction.study.catalogue import Entry

MANIFEST = "results/MANIFEST.csv"
COLUMNS = ("file", "sha256", "made_from")
BLOCKS = ("findings", "counts")  # what is generated of the README
NUMBERS = "numbers"  # after the name of a text of which only the numbers are sealed
OUTPUTS = "outputs"  # after the name of a notebook: what its run wrote into it
ALL = "all"  # for `adopt`: whatever people changed
# Folders of which nothing is committed.
_APART = (
    "data/raw",
    "figures/mini/meta",
    "figures/partial",
    "figures/private",
    "figures/quick",
    "notebooks/private",
    "results/executed",
    "results/mini/meta",
    "results/partial",
    "results/private",
    "results/quick",
    "results/report",
    "results/sweeps",
)
DATA_OF_CODE = (".csv", ".gz", ".json", ".jsonl", ".toml", ".txt", ".yaml")
# Where files are sealed, and with which endings. A folder of further inputs is a line
# here, unless it is below data/, of which everything is sealed.
_ENDINGS = {
    "results": (".csv", ".json", ".md"),
    "figures": (".svg", ".png"),
    "data": ("",),
    "notebooks": (".csv", ".toml", ".py"),
    **dict.fromkeys(HOUSES, DATA_OF_CODE),
    "requirements": (".txt",),
}
# Texts that people write: of these the numbers are sealed.
_TEXTS = ("*.md", "docs/*.md", "notebooks/**/*.ipynb")
_NUMBER = re.compile(r"[-+\u2212]?\.?\d(?:[\d.,]*\d)?")
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
    """What a file held when it was sealed, and what it was made from: `made_from` tells
    an edited line from an edited file.
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
    """The files that there are to seal, by name; the README's blocks as
    `README.md#counts`, the numbers of a text as `docs/scale.md#numbers`.
    """
    names = set()
    for top, endings in _ENDINGS.items():
        for name in _below(top):
            if name.endswith(endings):
                names.add(name)
    for pattern in _TEXTS:
        for path in files.root().glob(pattern):
            name = path.relative_to(files.root()).as_posix()
            if not _is_apart(name):
                names.add(f"{name}#{NUMBERS}")
    for name in _listed().shown:
        if not _is_apart(name) and digest(name):
            names.add(name)
    for mark in BLOCKS:
        if block(mark) is not None:
            names.add(f"README.md#{mark}")
    return sorted(names - {MANIFEST})


def _below(top: str) -> Iterator[str]:
    """The names of the files below a folder, but hidden ones and what is apart."""
    start = _place(top)
    for folder, inner_folders, file_names in os.walk(start):
        inner = Path(folder).relative_to(start).as_posix()
        name = top if inner == "." else f"{top}/{inner}"
        if _is_apart(f"{name}/"):
            inner_folders.clear()
            continue
        for file_name in file_names:
            if not file_name.startswith("."):
                yield f"{name}/{file_name}"


def _is_apart(name: str) -> bool:
    """Whether a file is in a folder of which nothing is committed, or is the outputs of
    a notebook whose result is.
    """
    shown = _listed().shown.get(name) if name.endswith(f"#{OUTPUTS}") else None
    if shown:
        return shown.route == "mini" and shown.paper == catalogue.META
    folders = tuple(f"{folder}/" for folder in _APART)
    return name.startswith(folders) or "/." in name or "/__pycache__/" in name


def _place(name: str) -> Path:
    """Where a file or folder is, by its name from the checkout's root."""
    if name.partition("/")[0] in ("results", "figures"):
        return files.located(f"{name}/")
    return files.root() / name


def block(mark: str, text: str | None = None) -> str | None:
    """A generated block of the README; None where it has none.

    mark: one of BLOCKS. It stands between `<!-- mark -->` and `<!-- /mark -->`.

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
    """The sha256 of a file or of a part of one, by its name as `sealed_files` gives it;
    empty where there is none.
    """
    file, is_part, mark = name.partition("#")
    if not is_part:
        try:
            return files.sha256(_place(name))
        except OSError:
            return ""
    if not _place(file).is_file():
        return ""
    if mark == OUTPUTS:
        cells = committed.outputs(_place(file).read_text(encoding="utf-8"))
        text = json.dumps(cells) if cells else None
    else:
        text = _numbers_of(file) if mark == NUMBERS else block(mark)
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()


def _numbers_of(file: str) -> str:
    """The numbers that people wrote in a text, a line a number; of a notebook those in
    its Markdown, of the README those outside its generated blocks.
    """
    text = _place(file).read_text(encoding="utf-8", errors="replace")
    if file.endswith(".ipynb"):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            cells = json.loads(text)["cells"]
            prose = [cell for cell in cells if cell["cell_type"] == "markdown"]
            text = "\n".join("".join(cell["source"]) for cell in prose)
    for mark in BLOCKS:
        text = text.replace(block(mark, text) or "", "")
    return "\n".join(_NUMBER.findall(text))


class _Listed(NamedTuple):
    """What the catalogue says of files: the notebooks that show what they give, as
    `notebooks/...#outputs`, each with the output whose run wrote that; and by output
    the files of the printed tables that it covers.
    """

    shown: dict[str, Entry]
    covers: dict[str, list[str]]


def _listed() -> _Listed:
    """What the catalogue says, read again where it changed. Raises: CatalogueError."""
    path = files.notebooks() / "catalogue.toml"
    return _listed_in(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _listed_in(path: Path, modified: int) -> _Listed:
    listed = _Listed({}, {})
    outputs = catalogue.load(path).outputs
    for entry in [*outputs, catalogue.scoreboard_entry()]:
        listed.shown.setdefault(f"notebooks/{entry.notebook}#{OUTPUTS}", entry)
        folder = f"data/paper_tables/{entry.paper}"
        listed.covers[entry.id] = [f"{folder}/{table}.csv" for table in entry.covers]
    return listed


def shown_in(entry: Entry) -> str:
    """The notebook that shows what this output's run gives, as `sealed_files` names it;
    empty where another output of the same notebook is shown: the first of the
    catalogue is.
    """
    name = f"notebooks/{entry.notebook}#{OUTPUTS}"
    shown = _listed().shown.get(name)
    return name if shown and shown.id == entry.id else ""


def output_of(name: str) -> str:
    """The id of the output that a result, figure or page is named after, or that is
    shown in a notebook; empty where a file is none.

    Example:
    >>> output_of("figures/meta/meta_levels__mini.png")
    'meta_levels'
    """
    if name.endswith(f"#{OUTPUTS}"):
        shown = _listed().shown.get(name)
        return shown.id if shown else ""
    match = _RESULT.fullmatch(name)
    return match["id"] if match else ""


def by_hand(name: str) -> bool:
    """Whether people or a tool write this file, and no run does."""
    if name.startswith(("results/", "figures/")):
        # A record that lies right below results/ is no output's.
        return name.count("/") == 1 and name.endswith(".json")
    if name.endswith(f"#{OUTPUTS}"):
        return False
    return name not in [f"README.md#{mark}" for mark in BLOCKS]


def sources(name: str) -> list[str]:
    """The files that this one was made from: of a record the printed tables that are
    there, of another file of an output its record.
    """
    if name.endswith(f"#{OUTPUTS}"):
        shown = _listed().shown.get(name)
        if not shown or shown.id == catalogue.SCOREBOARD:
            return []
        folder = "mini/" if shown.route == "mini" else ""
        return [f"results/{folder}{shown.paper}/{shown.id}.json"]
    match = _RESULT.fullmatch(name)
    if not match:
        return []
    record = f"results/{match['folder']}/{match['id']}.json"
    if name != record:
        return [record]
    return [table for table in _listed().covers.get(match["id"], ()) if digest(table)]


def line(name: str) -> Line:
    """The line of a file as it is now."""
    sha256 = digest(name)
    parts = [f"{name} {sha256}"]
    for origin in sorted(sources(name)):
        parts.append(f"{origin} {digest(origin)}")
    return Line(sha256, hashlib.sha256("\n".join(parts).encode()).hexdigest())


def renew(names: Iterable[str], written: Collection[str], gone: bool = True) -> None:
    """Renew the lines of what a run made, where results are this checkout's own.

    written: those that it wrote. One that it left as it was keeps its sha256: had
    somebody edited it, that would still be found.
    gone: whether the lines of files of these outputs that are no more are dropped.
    Raises: ValueError for a damaged manifest; CatalogueError; OSError.
    """
    if not applies():
        return
    with _locked():
        lines = read()
        names = [name for name in names if not _is_apart(name)]
        for name in names:
            fresh = line(name)
            sealed = lines.get(name)
            is_unedited = sealed is None or sealed.sha256 == fresh.sha256
            if name in written or is_unedited:
                lines[name] = fresh
        ids = {output_of(name) for name in names} - {""}
        for name in list(lines):
            if gone and output_of(name) in ids and not digest(name):
                del lines[name]
        _write(lines)


def adopt(names: Iterable[str]) -> list[str]:
    """Seal files that people wrote, by name; files of these names that are no more lose
    their lines.

    names: from the checkout's root; a folder stands for all below it that people write,
    a text for its numbers, ALL for whatever people changed.
    Returns: the names of the files whose lines changed.
    Raises: ValueError for a file that a run makes, and for one that is not sealed.
    """
    # All names are looked at before a line is changed.
    chosen: set[str] = set()
    sealed = sorted({*sealed_files(), *read()})
    for name in names:
        chosen.update(_written_by_people(name, sealed))
    adopted = []
    with _locked():
        lines = read()
        for name in sorted(chosen):
            fresh = line(name)
            if fresh == lines.get(name):
                continue
            adopted.append(name)
            lines[name] = fresh
            if not fresh.sha256:
                del lines[name]
        _write(lines)
    return adopted


def _written_by_people(name: str, sealed: Iterable[str]) -> list[str]:
    """The files among `sealed` that a name stands for, as for `adopt`."""
    if name == ALL:
        return [file for file in sealed if by_hand(file)]
    name = Path(name).as_posix().rstrip("/")
    inner = (f"{name}/", f"{name}#")
    meant = [file for file in sealed if file == name or file.startswith(inner)]
    if not meant:
        raise ValueError(f"{name}: no file of the seal; they are in {MANIFEST}")
    chosen = [file for file in meant if by_hand(file)]
    if not chosen:
        output = output_of(meant[0])
        command = f"nlgeval run {output}".rstrip()
        raise ValueError(f"{name} is made by a run, never by hand: {command} --force")
    return chosen


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
