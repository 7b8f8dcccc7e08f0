"""Where folders are, in a checkout or without one; how files are written: whole or not
at all, with an `OSError` that names the file and the way out.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import json
import math
import os
import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

MIRROR = "NLGEVAL_DATA_MIRROR"  # the variable that names the copies' folder
BESIDE = "shared/data"  # where that folder is sought without it, beside the checkout
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)  # errors of a full disk or quota
# What to do about an error: for `way_out`, by the error's number.
_PATH_IS_FILE = "a part of its path is a file; name another place"
_NO_RIGHT = "make the folder writable, or name another one"
_WAYS_OUT = {
    **dict.fromkeys(
        NO_ROOM, "free some space and run again; nothing half-written was left"
    ),
    errno.EFBIG: (
        "raise the limit on the size of files (ulimit -f) and run again; "
        "nothing half-written was left"
    ),
    errno.ENOTDIR: _PATH_IS_FILE,
    errno.EEXIST: _PATH_IS_FILE,
    errno.EROFS: _NO_RIGHT,
    errno.EACCES: _NO_RIGHT,
    errno.EPERM: _NO_RIGHT,
}


def root() -> Path:
    """The checkout: `NLGEVAL_ROOT`, else around the package, else the folder here."""
    override = os.environ.get("NLGEVAL_ROOT")
    if override:
        return _resolved(Path(override).absolute())
    return _around_the_package() or Path.cwd()


@functools.lru_cache(maxsize=16)
def _resolved(folder: Path) -> Path:
    """The folder without links on its way: it is asked for again and again."""
    return folder.resolve()


@functools.cache
def _around_the_package() -> Path | None:
    """The folder that holds the package, where that is a checkout."""
    folder = Path(__file__).resolve().parent.parent
    if (folder / "data" / "registry.csv").exists():
        return folder
    return None


def committed(path: Path) -> Path:
    """A file that only the repository has; FileNotFoundError where it is not there."""
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is missing; this needs the repository: run it in a clone, "
            "or name the clone's folder in NLGEVAL_ROOT"
        )
    return path


def data() -> Path:
    """`data/`: registry, printed tables, mini set, downloads."""
    return root() / "data"


def place(name: str) -> Path:
    """A file by its path below `data()`, else the copy of its name in a wheel."""
    path = data() / name
    if path.is_file():
        return path
    return _installed(path.name) or path


@functools.cache
def _installed(name: str) -> Path | None:
    """Where a wheel installed its copy of a file."""
    from importlib import metadata

    try:
        installed = metadata.files("nlgeval-lib") or []
    except metadata.PackageNotFoundError:
        return None
    for file in installed:
        if file.parts[-3:] == ("share", "nlgeval", name):
            return Path(str(file.locate())).resolve()
    return None


def raw() -> Path:
    """`data/raw/`: downloads, git-ignored."""
    return data() / "raw"


def mirror() -> Path | None:
    """The folder with copies of the public files: NLGEVAL_DATA_MIRROR, or where that is
    not set `shared/data` beside the checkout; None for none.
    """
    value = os.environ.get(MIRROR)
    if value is not None:
        name = value.strip()
        return Path(name).expanduser() if name else None
    folder = root().parent / BESIDE
    return folder if folder.is_dir() else None


def notebooks() -> Path:
    """`notebooks/`: sources and catalogue."""
    return root() / "notebooks"


def results() -> Path:
    """`results/`, or the folder named by `NLGEVAL_RESULTS`."""
    return Path(os.environ.get("NLGEVAL_RESULTS") or root() / "results")


def figures() -> Path:
    """`figures/`, or the folder named by `NLGEVAL_FIGURES`."""
    return Path(os.environ.get("NLGEVAL_FIGURES") or root() / "figures")


def state(*parts: str) -> Path:
    """A place below `.nlgeval/`, or the folder named by `NLGEVAL_HOME`: caches,
    completions, the runner's state.
    """
    folder = Path(os.environ.get("NLGEVAL_HOME") or root() / ".nlgeval")
    return folder.joinpath(*parts)


def located(name: str) -> Path:
    """The place of a file by its name in records: `results/...`, `figures/...`,
    `data/...`.
    """
    top, _, inner = name.partition("/")
    folders = {"results": results(), "figures": figures(), "data": data()}
    return folders[top] / inner


def way_out(error: OSError) -> str:
    """What went wrong with a file, and for the usual errors what to do about it."""
    problem = error.strerror or str(error)
    advice = _WAYS_OUT.get(error.errno or 0, "")
    return f"{problem}; {advice}" if advice else problem


def from_json(text: str | bytes, **options: Any) -> Any:
    """The value of a JSON text from outside; ValueError also where it is nested too
    deep.
    """
    try:
        return json.loads(text, **options)
    except RecursionError:
        raise ValueError("its JSON is nested too deep") from None


def zip_member(
    name: str, date: tuple[int, int, int, int, int, int] = (1980, 1, 1, 0, 0, 0)
) -> zipfile.ZipInfo:
    """A compressed member of a zip file with one date and one set of rights: the same
    content is the same bytes, whoever writes it.
    """
    member = zipfile.ZipInfo(name, date)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.create_system = 3  # Unix, wherever it is made
    member.external_attr = 0o100644 << 16  # a file that its owner may write, all read
    return member


@contextlib.contextmanager
def replacing(path: Path | str, private: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it onto `path` on success.

    private: for its owner only; else with the rights that new files get.
    """
    path = Path(path)
    partial: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}.", suffix=".tmp"
        )
        os.close(handle)
        partial = Path(name)
        yield partial
        # On the disk before it gets its name: a crash leaves the old file or the new.
        with open(partial, "rb+") as file:
            os.fsync(file.fileno())
        # `mkstemp` makes files for their owner only; the umask is read by setting it.
        umask = os.umask(0)
        os.umask(umask)
        rights = 0o600 if private else 0o666 & ~umask
        os.chmod(partial, rights)
        os.replace(partial, path)
    except OSError as error:
        if type(error).__module__ != "builtins":
            raise  # of a store that was read meanwhile: its message names that
        raise OSError(error.errno, f"cannot write {path}: {way_out(error)}") from error
    finally:
        if partial is not None:
            partial.unlink(missing_ok=True)


def private_folder(path: Path) -> None:
    """Make a folder and those above it that are not there, for their owner only."""
    for folder in (*reversed(path.parents), path):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)


# Characters that steer a terminal, break a line, or turn the direction of writing.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def printable(text: str, keep: str = "") -> str:
    """The text with control characters spelt out, which could steer a terminal or break
    a line.

    keep: those that stay, such as line breaks.

    Example:
    >>> print(printable("red" + chr(27)))
    red\\x1b
    """

    def spelt_out(match: re.Match) -> str:
        sign = match[0]
        return sign if sign in keep else repr(sign)[1:-1]

    return _CONTROL.sub(spelt_out, text)


def whole(text: str) -> str:
    """A text as a file can hold it: half characters (lone surrogates) spelt out."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def check(path: Path | str) -> None:
    """Raise an OSError naming `path` where no file can be written there; make its
    folder.
    """
    place = Path(path)
    try:
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder; name a file")
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.stat(place)  # a name that is too long is no name
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place.parent, prefix=f".{place.name}."):
            pass
    except OSError as error:
        raise OSError(error.errno, f"cannot write {path}: {way_out(error)}") from error


def write_text(path: Path | str, text: str) -> None:
    """Write a text as UTF-8, whole or not at all; half characters spelt out."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8", errors="backslashreplace")


def write_all(contents: Mapping[Path, bytes]) -> list[Path]:
    """Write several files, each whole; none where one place is no good. Their paths."""
    # all places are tried before the first file is replaced
    for path in contents:
        check(path)
    for path, content in contents.items():
        with replacing(path) as partial:
            partial.write_bytes(content)
    return list(contents)


def sha256(path: Path | str) -> str:
    """The sha256 of the file's content, 64 hexadecimal digits."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def plain(value: Any) -> Any:
    """The value as JSON has it.

    Infinite numbers, NaN and other marks of a missing value are null; numpy's and our
    types are plain ones; mappings have texts as keys, dataclasses become mappings, and
    what JSON does not know becomes its text.
    """
    if isinstance(value, str):
        return whole(str(value))
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, Mapping):
        return {whole(str(name)): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(each) for each in value]
    if hasattr(value, "__dataclass_fields__"):
        fields = value.__dataclass_fields__
        return {name: plain(getattr(value, name)) for name in fields}
    if hasattr(value, "tolist"):  # numpy's numbers and arrays
        return plain(value.tolist())
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas' missing values
        return None
    return str(value)


def json_lines(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Each record as a line of JSON, line break included, with values made `plain`."""
    for record in records:
        yield json.dumps(plain(record), ensure_ascii=False, allow_nan=False) + "\n"


def markdown_table(heads: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    """A table in Markdown, a row a line; whoever makes a cell from data escapes it."""
    head = list(heads)
    lines = []
    for cells in (head, ["---"] * len(head), *rows):
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)
