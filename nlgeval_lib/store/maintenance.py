"""Looking after a store: is every line whole, and can its files be joined."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nlgeval_lib.files import replacing
from nlgeval_lib.store import lines
from nlgeval_lib.store.core import Store, StoreError
from nlgeval_lib.store.segment import sync_folder, try_lock

_BLOCK = 1 << 24


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that cannot be trusted: where, how long in bytes, and why."""

    segment: str
    offset: int
    length: int
    problem: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a store's files hold. `unfinished` are last lines without an end: being written, or never finished."""

    completions: int
    requests: int
    duplicates: int
    segments: int
    bytes: int
    damaged: tuple[Damage, ...]
    unfinished: tuple[Damage, ...]

    @property
    def ok(self) -> bool:
        """Whether every finished line is whole."""
        return not self.damaged


def _read(path: Path) -> Iterator[tuple[bytes, int, lines.Line | None]]:
    """Every line's bytes, offset and description; None describes what follows the last newline."""
    with open(path, "rb") as file:
        offset, rest = 0, b""
        while block := file.read(_BLOCK):
            block = rest + block
            end = block.rfind(b"\n") + 1
            for line in lines.scan(block[:end]):
                yield block[line.start : line.start + line.length], offset + line.start, line
            offset, rest = offset + end, block[end:]
        if rest:
            yield rest, offset, None


def verify(store: Store) -> Report:
    """Read every line of every segment and check its checksum and its JSON.

    Raises: StoreError where a file cannot be read.
    """
    completions: set[str] = set()
    requests: set[str] = set()
    damaged, unfinished, duplicates, size = [], [], 0, 0
    paths = sorted(store.folder.glob("*.jsonl"))
    for path in paths:
        try:
            for raw, offset, line in _read(path):
                size += len(raw)
                if line is None:
                    unfinished.append(Damage(path.name, offset, len(raw), "no end of line"))
                    continue
                problem = line.problem
                if not problem:
                    try:
                        record = lines.decode(raw)
                        if not line.is_request:
                            lines.to_completion(record)
                    except (ValueError, TypeError, KeyError) as error:
                        problem = f"not a record of this store: {error}"
                if problem:
                    damaged.append(Damage(path.name, offset, len(raw), problem))
                    continue
                seen = requests if line.is_request else completions
                duplicates += line.key in seen
                seen.add(line.key)
        except OSError as error:
            raise StoreError(error.errno, f"cannot read {path}: {error.strerror}") from error
    return Report(len(completions), len(requests), duplicates, len(paths), size, tuple(damaged), tuple(unfinished))


def compact(store: Store) -> Report:
    """Join the segments that no process holds into one, each record once; then report as `verify` does.

    Damaged lines are moved to `damaged.bin` beside the segments, not thrown away. Killed at any moment, it leaves at
    worst a record twice. Raises: StoreError where a file cannot be written.
    """
    store.close()
    held: list[tuple[Path, int]] = []
    try:
        for path in sorted(store.folder.glob("*.jsonl")):
            with contextlib.suppress(FileNotFoundError):
                fd = os.open(path, os.O_RDWR)
                if try_lock(fd):
                    held.append((path, fd))
                else:
                    os.close(fd)
        if held:
            _join([path for path, _ in held], store.folder)
    except OSError as error:
        raise StoreError(error.errno, f"cannot compact the store {store.folder}: {error.strerror or error}") from error
    finally:
        for _, fd in held:
            os.close(fd)
        store.refresh()
    return verify(store)


def _join(paths: list[Path], folder: Path) -> None:
    """Write every record of `paths` once onto the first of them, then remove the others."""
    seen: set[str] = set()
    lost: list[bytes] = []
    with replacing(paths[0]) as tmp, open(tmp, "wb") as out:
        for path in paths:
            for raw, _, line in _read(path):
                if line is None or line.problem:
                    lost.append(raw if raw.endswith(b"\n") else raw + b"\n")
                elif line.key not in seen:
                    seen.add(line.key)
                    out.write(raw)
        if lost:
            with open(folder / "damaged.bin", "ab") as aside:
                aside.writelines(lost)
    sync_folder(folder)
    for path in paths[1:]:
        path.unlink()
