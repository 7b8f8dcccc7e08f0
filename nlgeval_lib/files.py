"""Where folders are, in a checkout or without one; a file is written whole or not at all; any value as JSON has it."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_WAYS_OUT = {
    **dict.fromkeys(NO_ROOM, "free some space and run again; nothing half-written was left"),
    errno.EFBIG: "raise the limit on the size of files (ulimit -f) and run again; nothing half-written was left",
    errno.ENOTDIR: "a part of its path is a file; name another place",
    errno.EEXIST: "a part of its path is a file; name another place",
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), "make the folder writable, or name another one"),
}


def root() -> Path:
    """The checkout: `NLGEVAL_ROOT` if set, else the folder that holds the package; without one, the working folder."""
    if override := os.environ.get("NLGEVAL_ROOT"):
        return Path(override).resolve()
    holding = Path(__file__).resolve().parent.parent
    return holding if (holding / "data" / "registry.csv").exists() else Path.cwd()


def committed(path: Path) -> Path:
    """A file that only the repository has. Raises: FileNotFoundError saying so, where it is not there."""
    if not path.is_file():
        said = "this needs the repository: run it in a clone, or name the clone's folder in NLGEVAL_ROOT"
        raise FileNotFoundError(f"{path} is missing; {said}")
    return path


def data() -> Path:
    """`data/`: registry, printed tables, mini set, downloads."""
    return root() / "data"


def raw() -> Path:
    """`data/raw/`: downloads, git-ignored."""
    return data() / "raw"


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
    """`.nlgeval/` (or the folder named by `NLGEVAL_HOME`): caches, completions, runner state; git-ignored."""
    return Path(os.environ.get("NLGEVAL_HOME") or root() / ".nlgeval").joinpath(*parts)


def located(name: str) -> Path:
    """The place of a file by the name that records give it: `results/...`, `figures/...`, or committed `data/...`."""
    top, _, rest = name.partition("/")
    return {"results": results(), "figures": figures(), "data": data()}[top] / rest


def way_out(error: OSError) -> str:
    """What went wrong with a file, and what to do about it."""
    said = error.strerror or str(error)
    advice = _WAYS_OUT.get(error.errno or 0, "")
    return f"{said}; {advice}" if advice else said


@contextlib.contextmanager
def replacing(path: Path | str, private: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it onto `path` on success, remove it on any error.

    private: for its owner only. Raises: OSError naming `path` where the folder cannot be written or the disk is full.
    """
    path = Path(path)
    tmp: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        os.close(handle)
        tmp = Path(name)
        yield tmp
        with open(tmp, "rb+") as written:
            os.fsync(written.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(tmp, 0o600 if private else 0o666 & ~umask)
        os.replace(tmp, path)
    except OSError as error:
        raise OSError(error.errno, f"cannot write {path}: {way_out(error)}") from error
    finally:
        if tmp is not None:
            tmp.unlink(missing_ok=True)


def private_folder(path: Path) -> None:
    """Make a folder and those above it that are not there, for their owner only."""
    for folder in (*reversed(path.parents), path):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def printable(text: str, keep: str = "") -> str:
    """The text with control characters, which could steer a terminal or break a line, spelt out, all but `keep`."""
    return _CONTROL.sub(lambda found: found[0] if found[0] in keep else repr(found[0])[1:-1], text)


def whole(text: str) -> str:
    """A text as a file can hold it: half characters (lone surrogates), which JSON can escape, are spelt out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def check(path: Path | str) -> None:
    """Passes where a file can be written at `path`, whose folder is made. Raises: OSError naming `path`."""
    try:
        if Path(path).is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder; name a file")
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=Path(path).parent, prefix=f".{Path(path).name}."):
            pass
    except OSError as error:
        raise OSError(error.errno, f"cannot write {path}: {way_out(error)}") from error


def write_text(path: Path | str, text: str) -> None:
    """Write `text` to `path` as UTF-8, whole or not at all; half characters are spelt out, as JSON does."""
    with replacing(path) as tmp:
        tmp.write_text(text, encoding="utf-8", errors="backslashreplace")


def plain(value: Any) -> Any:
    """The value as JSON has it: NaN and other marks of a missing one are null, numpy's and our types are plain ones."""
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
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if hasattr(value, "tolist"):  # numpy's numbers and arrays
        return plain(value.tolist())
    return None if type(value).__name__ in ("NAType", "NaTType") else str(value)


def json_lines(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Each record as a line of JSON."""
    for record in records:
        yield json.dumps(plain(record), ensure_ascii=False, allow_nan=False) + "\n"


def markdown_table(heads: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    """A table in Markdown, a row a line; what a cell holds is escaped by whoever made it, where it comes from data."""
    lines = [list(heads)]
    lines += [["---"] * len(lines[0]), *map(list, rows)]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
