"""Completions on disk: asked once, kept for ever, whatever kills the process that wrote them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from nlgeval_lib.schema import Completion
from nlgeval_lib.store import lines
from nlgeval_lib.store.keys import check_key, request_key
from nlgeval_lib.store.segment import AppendError, Reader, Writer, take

_BLOCK = 1 << 24
_LENGTH, _OFFSET = 34, 46  # bits of a packed place: segment | offset | length
_MOST_LENGTH, _MOST_OFFSET = (1 << _LENGTH) - 1, (1 << _OFFSET) - 1


class StoreError(OSError):
    """The store cannot be read or written. The message names the folder and the way out."""


class Store:
    """A folder of append-only segments, and an index of them in memory.

    A completion is stored once by its key (`completion_key`); what is stored is never changed. With a completion the
    engines also store what was asked, once a request, so that a store explains itself. Keys, prompts and texts go in,
    never a credential.

    Safe against: SIGKILL at any moment (at most the line being written is lost, and it was not finished); several
    processes at once (each appends to a segment of its own); a full disk (what fits stays, the rest is an error);
    damaged lines (skipped, counted by `verify`). `sync()` makes what was written survive a power cut.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._lock = threading.RLock()
        self._start_index()
        self._writer: Writer | None = None
        self.refresh()

    def _start_index(self) -> None:
        self._readers: list[Reader] = []
        self._places: dict[str, int] = {}
        self._requests: dict[str, int] = {}

    def __repr__(self) -> str:
        closed = isinstance(self._places, _Closed)
        return f"Store({str(self.folder)!r}, {'closed' if closed else f'{len(self)} completions'})"

    # -- reading ------------------------------------------------------------------------------------------------------

    def refresh(self) -> int:
        """Index what was added since the last look, by this process or another; the number of new completions.

        Raises: StoreError where the folder cannot be read.
        """
        with self._lock:
            if isinstance(self._places, _Closed):
                self._start_index()
            before = len(self._places)
            try:
                names = sorted(entry.name for entry in os.scandir(self.folder) if entry.name.endswith(".jsonl"))
            except FileNotFoundError:
                names = []
            except OSError as error:
                raise StoreError(error.errno, f"cannot read the store {self.folder}: {error.strerror}") from error
            if not self._same_files():
                for reader in self._readers:
                    reader.close()
                self._start_index()
            known = {reader.path.name for reader in self._readers}
            for path in (self.folder / name for name in names if name not in known):
                try:
                    self._readers.append(Reader(path))
                except FileNotFoundError:
                    if path.is_symlink():
                        raise StoreError(f"cannot read {path}: a link to a file that is not there; mend it") from None
                    return self.refresh()  # compacted by another process between the listing and the reading
                except OSError as error:
                    raise StoreError(error.errno, f"cannot read {path}: {error.strerror}") from error
            for number, reader in enumerate(self._readers):
                try:
                    self._index(number, reader)
                except OSError as error:
                    raise StoreError(error.errno, f"cannot read {reader.path}: {error.strerror}") from error
            return len(self._places) - before

    def _same_files(self) -> bool:
        """Whether every segment that is open is still the file of its name, and no shorter than what was read."""
        for reader in self._readers:
            try:
                stat = os.stat(reader.path)
            except FileNotFoundError:
                return False
            if (stat.st_dev, stat.st_ino) != reader.identity or stat.st_size < reader.seen:
                return False
        return True

    def _index(self, number: int, reader: Reader) -> None:
        """Index the whole lines that follow what is already indexed of one segment."""
        size, want = reader.size(), _BLOCK
        while reader.seen < size:
            block = reader.read(reader.seen, want)
            end = block.rfind(b"\n") + 1
            if end == 0:
                if len(block) < want:
                    return  # the rest of a line that is being written, or never was finished
                want *= 2  # a line longer than the block
                continue
            for line in lines.scan(block[:end]):
                if line.key:
                    index = self._requests if line.is_request else self._places
                    index.setdefault(line.key, _pack(number, reader.seen + line.start, line.length))
            reader.seen += end
            want = _BLOCK

    def has(self, key: str) -> bool:
        """Whether a completion is stored."""
        return key in self._places

    __contains__ = has

    def __len__(self) -> int:
        """Completions stored, as of the last `refresh`."""
        return len(self._places)

    def keys(self) -> Iterator[str]:
        """The keys of all completions."""
        return iter(list(self._places))

    __iter__ = keys

    def get(self, key: str) -> Completion | None:
        """The completion of a key, or None.

        Raises: StoreError where the file was changed under the store; ValueError for a newer version's record.
        """
        place = self._places.get(key)
        return None if place is None else lines.to_completion(self._record(key, place))

    def get_many(self, keys: Iterable[str]) -> dict[str, Completion]:
        """The completions of those keys that are stored."""
        found = {}
        place_of, record, completion = self._places.get, self._record, lines.to_completion
        for key in keys:
            place = place_of(key)
            if place is not None:
                found[key] = completion(record(key, place))
        return found

    def request(self, key: str) -> dict[str, Any] | None:
        """What was asked: the body of a `request_key`, or None."""
        place = self._requests.get(key)
        return None if place is None else self._record(key, place)["request"]

    def requests(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every request's key and body: model, revision, prompt or messages, sampling."""
        for key, place in list(self._requests.items()):
            yield key, self._record(key, place)["request"]

    def _record(self, key: str, place: int) -> dict[str, Any]:
        reader = self._readers[place >> _LENGTH + _OFFSET]
        offset, length = place >> _LENGTH & _MOST_OFFSET, place & _MOST_LENGTH
        line = os.pread(reader.fd, length, offset)
        try:
            record = lines.parse(line) if len(line) == length else lines.decode(line)
            if record["key"] != key:
                raise ValueError(f"it is that of {record['key'][:12]}")
            return record
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"the record at byte {offset} of {reader.path} is not what it was when it was indexed ({error}): "
                "the file was changed by something else; open the store again"
            ) from error

    # -- writing ------------------------------------------------------------------------------------------------------

    def put(self, completion: Completion) -> bool:
        """Store one finished completion; False if its key is stored already (the first one stays).

        Raises: ValueError for an error completion or a bad key; StoreError where it cannot be written.
        """
        return self.put_many((completion,)) == 1

    def put_many(self, completions: Iterable[Completion], requests: Iterable[Mapping[str, Any]] = ()) -> int:
        """Store finished completions, and what was asked for them (`request_body`); the number that are new.

        One write for all of them. Raises: as `put`; on a full disk those that found room are stored.
        """
        with self._lock:
            new: dict[str, bytes] = {}
            for body in requests:
                key = request_key(body)
                if key not in self._requests:
                    new[key] = lines.encode(key, {"request": dict(body)})
            asked = len(new)
            for c in completions:
                if c.finish_reason == "error" or c.error:
                    raise ValueError(
                        f"completion {c.key[:12]} failed ({c.error}): only finished completions are stored"
                    )
                if c.key not in self._places and c.key not in new:
                    new[check_key(c.key)] = lines.encode(c.key, lines.of_completion(c))
            if new:
                self._append(new, asked)
            return len(new) - asked

    def _append(self, new: dict[str, bytes], asked: int) -> None:
        """Write the lines and index those that were written."""
        try:
            writer, number = self._open()
        except OSError as error:
            raise StoreError(error.errno, f"cannot write the store {self.folder}: {error.strerror or error}") from error
        start, failure = writer.end, None
        try:
            kept = writer.append(b"".join(new.values()))
        except AppendError as error:
            kept, failure = error.kept, error.cause
        offset, stored = start, 0
        for position, (key, line) in enumerate(new.items()):
            if offset + len(line) > start + kept:
                break
            index = self._requests if position < asked else self._places
            index[key] = _pack(number, offset, len(line))
            offset += len(line)
            stored += position >= asked
        reader = self._readers[number]
        if reader.seen == start:
            reader.seen = offset
        if failure is not None:
            raise StoreError(
                failure.errno,
                f"cannot write {writer.path}: {failure.strerror or failure}; of this batch {stored} completions out of "
                f"{len(new) - asked} are stored, and all earlier ones: make room and run again, only the rest is asked",
            ) from failure

    def _open(self) -> tuple[Writer, int]:
        """This process's segment, and its number among the readers."""
        if self._writer is not None and self._writer.pid != os.getpid():
            self._writer = None  # after a fork the segment is the parent's; closing it here would not free it
        if self._writer is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._writer = take(self.folder)
            self.refresh()
        for number, reader in enumerate(self._readers):
            if reader.path == self._writer.path:
                return self._writer, number
        raise StoreError(f"{self._writer.path} {_REMOVED}")

    def sync(self) -> None:
        """Return when everything written would survive a power cut.

        Raises: StoreError, also where this process's segment was removed or replaced: what is written would be lost.
        """
        with self._lock:
            if self._writer is not None:
                if not self._writer.there():
                    raise StoreError(f"{self._writer.path} {_REMOVED}")
                try:
                    self._writer.sync()
                except OSError as error:
                    raise StoreError(error.errno, f"cannot write {self._writer.path}: {error.strerror}") from error

    def close(self) -> None:
        """Give back this process's segment and the open files; `refresh()` opens the store again."""
        with self._lock:
            if self._writer is not None and self._writer.pid == os.getpid():
                self._writer.close()
            self._writer = None
            for reader in self._readers:
                reader.close()
            self._start_index()
            self._places = self._requests = _Closed()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_REMOVED = "was removed while the store was open, and what it held with it; open the store again, what is gone is asked"


class _Closed(dict):
    """The index of a closed store: an empty one would read as `nothing is stored`."""

    def _refuse(self, *_: object) -> Any:
        raise ValueError("the store is closed: call refresh() or open it again")

    __contains__ = __len__ = __iter__ = __getitem__ = get = items = _refuse


def _pack(number: int, offset: int, length: int) -> int:
    return (number << _OFFSET | offset) << _LENGTH | length
