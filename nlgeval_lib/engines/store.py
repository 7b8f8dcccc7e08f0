"""Completions in one SQLite file, each under the key of what determines it: asked once,
kept whatever ends the process.

A record is JSON that begins with its key, and has a checksum: the CRC-32 of all but its
first character. A line of an exported file is `{"crc":"1f0c9a3e","key":"<64 hex
digits>","text":"...", ...}`: the record with its checksum before it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import sqlite3
import tempfile
import threading
import warnings
import weakref
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from nlgeval_lib import files
from nlgeval_lib.engines.base import request_key
from nlgeval_lib.errors import Told
from nlgeval_lib.records import Completion

FILE = "completions.sqlite"
_VERSION = 1
# How often the answer of a key was thrown away; stores of before get it when they are
# opened.
_TIMES = """
CREATE TABLE IF NOT EXISTS thrown_away (
    key BLOB PRIMARY KEY, times INTEGER NOT NULL
) WITHOUT ROWID
"""
_SCHEMA = f"""
PRAGMA journal_mode = WAL;
CREATE TABLE records (
    id INTEGER PRIMARY KEY,  -- rises in the order in which they came
    key BLOB NOT NULL UNIQUE,
    -- of a completion; NULL where the record says what was asked
    model TEXT, revision TEXT,
    crc INTEGER NOT NULL,
    record TEXT NOT NULL
);
CREATE INDEX of_model ON records (model, revision);
CREATE TABLE claims (key BLOB PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
{_TIMES};
PRAGMA user_version = {_VERSION};
"""
_WHOLE = "whole(records.key, records.crc, CAST(records.record AS BLOB))"
_PUT = f"""
INSERT INTO records (key, crc, record, model, revision) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE  -- the first one of a key stays, unless it is damaged
SET crc = excluded.crc, record = excluded.record,
    model = excluded.model, revision = excluded.revision
WHERE NOT {_WHOLE}
"""
_CLAIM = f"""
INSERT OR IGNORE INTO claims
SELECT key, owner FROM (SELECT ? AS key, ? AS owner) AS new
WHERE NOT EXISTS (SELECT 1 FROM records WHERE records.key = new.key AND {_WHOLE})
"""
_REMOVE = "DELETE FROM records WHERE key = ?"
_COUNT_THROWN = """
INSERT INTO thrown_away VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET times = times + 1
"""
_CENSUS = """
SELECT model, revision, count(*) FROM records
WHERE model IS NOT NULL GROUP BY model, revision
"""
_MAKERS = """
SELECT json_extract(record, '$.made[0]') AS maker,
       min(json_extract(record, '$.made[1]')),
       max(json_extract(record, '$.made[1]'))
FROM records
WHERE model IS NULL AND json_valid(record) AND maker IS NOT NULL
AND json_extract(record, '$.request.model') = ?
AND json_extract(record, '$.request.revision') = ?
GROUP BY maker
"""
_AT_ONCE = 500  # keys in one query, and records in one transaction of a merge
# fields of a stored completion: those that a record always has, and has if not empty
_ALWAYS = {"key": str, "text": str, "finish_reason": str}
_OPTIONAL = {
    "prompt_tokens": int,
    "completion_tokens": int,
    "model": str,
    "revision": str,
    "served": str,
    "fingerprint": str,
    "reasoning": str,
    "reasoning_tokens": int,
}
_FIELDS: Mapping[str, type] = {**_ALWAYS, **_OPTIONAL, "logprobs": list}
# seconds that another process may keep the file to itself; a Ctrl-C is heard after them
_PATIENCE = 20.0
_WAY_OUT = (
    "free the disk, make the folder writable, or name another one; "
    "what was stored is still there"
)
_RESCUE = f"`sqlite3 {FILE} .recover | sqlite3 new.sqlite` saves what is whole"
# key, crc, record, model, revision
_Row = tuple[bytes, int, str, str | None, str | None]


class StoreError(Told, OSError):
    """The store cannot be read or written; the message names file and way out."""


class Store(contextlib.AbstractContextManager["Store"]):
    """The completions in `folder`, whose file is opened, or made, at the first use.

    A completion is stored once by its key, with what was asked, and never changed.
    Threads and processes of one machine may use one store at once; machines have one
    each, and join them by `merge`. What `put_many` has returned from survives the end
    of the process, and after `sync` a power cut too. A damaged record is reported,
    counts as not stored, and is replaced by the next one of its key.
    Raises, in every method: StoreError where the file cannot be read or written.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.path = self.folder / FILE
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        _STORES.add(self)

    def __repr__(self) -> str:
        return f"Store({str(self.folder)!r})"

    # -- reading

    def get(self, key: str) -> Completion | None:
        """The completion of a key, or None."""
        return self.get_many((key,)).get(key)

    def get_many(self, keys: Iterable[str]) -> dict[str, Completion]:
        """The completions of those keys that are stored, in their order; bad ones are
        warned of.
        """
        distinct = list(dict.fromkeys(keys))
        completions: dict[str, Completion] = {}
        damaged = []
        for key, crc, record in self._of_keys("key, crc, record", "records", distinct):
            try:
                completions[key.hex()] = _completion(key, crc, record)
            except ValueError as error:
                damaged.append(f"{key.hex()[:12]}: {error}")
        if damaged:
            warnings.warn(
                f"{self.path}: {len(damaged):,} stored answers cannot be used and will "
                f"be asked again (such as {damaged[0]})",
                stacklevel=2,
            )
        return {key: completions[key] for key in distinct if key in completions}

    def __len__(self) -> int:
        """How many completions are stored."""
        return sum(self.census().values())

    def keys(self, model: str = "", revision: str = "") -> Iterator[str]:
        """The keys of completions, the oldest first; "" for all models."""
        columns = "key, model, revision"
        for key, its_model, its_revision in self._all(columns, "model IS NOT NULL"):
            of_model = not model or its_model == model.encode()
            if of_model and (not revision or its_revision == revision.encode()):
                yield key.hex()

    __iter__ = keys

    def census(self) -> dict[tuple[str, str], int]:
        """How many completions there are, by (model, revision)."""
        counts = {}
        for model, revision, count in self._rows(_CENSUS):
            counts[model.decode(), revision.decode()] = count
        return counts

    def makers(self, model: str, revision: str = "") -> dict[str, tuple[str, str]]:
        """Which engines first answered a model's requests: engine with its version ->
        the first and the last day, as YYYY-MM-DD.
        """
        days = {}
        for maker, first, last in self._rows(_MAKERS, (model, revision)):
            days[maker.decode()] = (first.decode(), last.decode())
        return days

    # -- writing

    def put(self, completion: Completion) -> bool:
        """Store one finished completion; False if its key is stored already."""
        return self.put_many((completion,)) == 1

    def put_many(
        self,
        completions: Iterable[Completion],
        requests: Iterable[Mapping[str, Any]] = (),
        maker: str = "",
    ) -> int:
        """Store finished completions, and what was asked for them: all or none; how
        many are new. One whose key is stored already is left out.

        requests: bodies as `Request.body` gives them. maker: `Engine.maker`.
        """
        rows = [_completion_row(completion) for completion in completions]
        request_rows = []
        for request in {id(request): request for request in requests}.values():
            body = {"key": request_key(request), "request": dict(request)}
            if maker:
                body["made"] = [maker, date.today().isoformat()]
            request_rows.append(_row(body))
        return self._put(rows, request_rows)

    def _put(self, rows: list[_Row], request_rows: Sequence[_Row] = ()) -> int:
        """Store rows in one transaction; how many of `rows` are new."""
        if not rows and not request_rows:
            return 0
        with self._writing() as database:
            database.executemany(_PUT, request_rows)
            return max(0, database.executemany(_PUT, rows).rowcount)

    def sync(self) -> None:
        """Return when everything written would survive a power cut."""
        self._rows("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- who asks what

    @contextlib.contextmanager
    def claimant(self) -> Iterator[str]:
        """A name to claim keys under, free again when this, or the process, ends."""
        name = os.urandom(8).hex()
        # within a transaction nobody looks for claimants that have ended
        with self._writing():
            claims = open(self.folder / f"{name}.claims", "wb")  # noqa: SIM115 - below
            fcntl.flock(claims, fcntl.LOCK_EX)
        with claims:  # its end frees the claims
            try:
                yield name
            finally:
                Path(claims.name).unlink(missing_ok=True)

    def claim(self, name: str, keys: Iterable[str]) -> set[str]:
        """Those of `keys` that are for a claimant to ask: not stored, nobody else's."""
        pairs = [(bytes.fromhex(key), name) for key in keys]
        query = "SELECT key FROM claims WHERE owner = ?"
        with self._writing() as database:
            self._free_claims(database)
            database.executemany(_CLAIM, pairs)
            claimed = {key for (key,) in database.execute(query, (name,))}
        return {key.hex() for key, _ in pairs if key in claimed}

    def _free_claims(self, database: sqlite3.Connection) -> None:
        owners = []
        for path in self.folder.glob("*.claims"):
            try:
                with open(path, "rb") as claims:
                    # a lock ends with its process: what can be locked is nobody's
                    fcntl.flock(claims, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()
            except BlockingIOError:
                owners.append(path.stem)
            except FileNotFoundError:
                pass
        marks = ",".join("?" * len(owners))
        database.execute(f"DELETE FROM claims WHERE owner NOT IN ({marks})", owners)

    # -- looking after it

    def verify(self) -> list[str]:
        """The keys of records that cannot be used, after reading every one."""
        for (fault,) in self._rows("PRAGMA quick_check"):
            if fault != b"ok":
                raise StoreError(
                    f"the store {self.path} is damaged: {fault.decode()}; {_RESCUE}"
                )
        query = f"SELECT key FROM records WHERE NOT {_WHOLE}"
        return [key.hex() for (key,) in self._rows(query)]

    def forget(self, keys: Iterable[str], thrown_away: bool = False) -> int:
        """Remove the records of these keys, so that they are asked again; how many
        there were. thrown_away: this is counted, and they are asked by another seed
        each time.
        """
        with self._writing() as database:
            # read within the transaction, as `keys` may come from this store
            rows = [(bytes.fromhex(key),) for key in keys]
            if thrown_away:
                database.executemany(_COUNT_THROWN, rows)
            return max(0, database.executemany(_REMOVE, rows).rowcount)

    def thrown_away(self, keys: Iterable[str]) -> dict[str, int]:
        """How often the answers of these keys were thrown away, where they were."""
        rows = self._of_keys("key, times", "thrown_away", keys)
        return {key.hex(): times for key, times in rows}

    def export(self, path: Path | str, keys: Iterable[str] | None = None) -> int:
        """Write the whole records (of some keys, sorted, or all) to a file that `merge`
        can read, a line each, for its owner only; how many there are.
        """
        records = self._all("crc, record", _WHOLE)
        if keys is not None:
            records = self._of_keys("crc, record", "records", sorted(set(keys)), _WHOLE)
        count = 0
        with files.replacing(path, private=True) as draft, open(draft, "wb") as out:
            for crc, record in records:
                count += 1
                out.write(b'{"crc":"%08x",%b\n' % (crc, record[1:]))
        return count

    def merge(self, source: Path | str) -> int:
        """Take over the records of an exported file, or of another store's folder; how
        many are new. Damaged lines are counted in a warning; an unfinished last one
        is left out.
        """
        if Path(source).is_dir():
            if not os.path.lexists(Path(source, FILE)):
                raise StoreError(f"{source} is no store: it has no {FILE}")
            with tempfile.TemporaryDirectory() as folder, Store(source) as other_store:
                other_store.export(f"{folder}/all.jsonl")
                return self.merge(f"{folder}/all.jsonl")
        added = 0
        rows: list[_Row] = []
        faults = []
        with open(source, "rb") as file:
            for line in file:
                try:
                    rows.append(_exported_row(line))
                except ValueError as error:
                    if line.endswith(b"\n"):
                        faults.append(str(error))
                if len(rows) == _AT_ONCE:
                    added += self._put(rows)
                    rows = []
        added += self._put(rows)
        if faults:
            warnings.warn(
                f"{source}: {len(faults):,} damaged lines are left out (the first: "
                f"{faults[0]})",
                stacklevel=2,
            )
        return added

    # -- SQLite

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query; none where there is no file yet."""
        with self._using() as database:
            if database is None:
                return []
            return database.execute(query, values).fetchall()

    def _of_keys(
        self, columns: str, table: str, keys: Iterable[str], where: str = "TRUE"
    ) -> Iterator[tuple[Any, ...]]:
        """Columns of the rows with one of the keys, sorted where the keys are."""
        distinct = [bytes.fromhex(key) for key in dict.fromkeys(keys)]
        for start in range(0, len(distinct), _AT_ONCE):
            block = distinct[start : start + _AT_ONCE]
            marks = ",".join("?" * len(block))
            query = f"SELECT {columns} FROM {table} WHERE key IN ({marks}) "
            query += f"AND {where} ORDER BY key"
            yield from self._rows(query, block)

    def _all(self, columns: str, where: str) -> Iterator[tuple[Any, ...]]:
        """Columns of the records in the order in which they came, to the newest."""
        last = 0
        query = (
            f"SELECT {columns}, id FROM records WHERE id > ? AND {where} "
            f"ORDER BY id LIMIT {_AT_ONCE}"
        )
        while rows := self._rows(query, (last,)):
            for row in rows:
                yield row[:-1]
            last = rows[-1][-1]

    @contextlib.contextmanager
    def _using(self, write: bool = False) -> Iterator[sqlite3.Connection | None]:
        """The open file; None where there is none and nothing is to be written."""
        try:
            with self._lock:
                yield self._connection or self._open(write)
        # locked, full, read-only, cannot open
        except sqlite3.OperationalError as error:
            way_out = _WAY_OUT
            if _is(error, sqlite3.SQLITE_BUSY):
                way_out = "another process keeps it to itself: end it, or wait for it"
            elif _is(error, sqlite3.SQLITE_CANTOPEN):
                way_out += "; of a read-only folder, copy the folder to where it is not"
            raise StoreError(
                f"cannot use the store {self.path}: {error}; {way_out}"
            ) from error
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"the store {self.path} is damaged: {error}; {_RESCUE}"
            ) from error
        except StoreError:
            raise
        except OSError as error:
            raise StoreError(
                error.errno, f"cannot use the store {self.path}: {files.way_out(error)}"
            ) from error

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """The open file within a transaction: all of it is written, or nothing."""
        with self._using(write=True) as database:
            assert database is not None
            database.execute("BEGIN IMMEDIATE")
            with database:
                yield database

    def _open(self, write: bool) -> sqlite3.Connection | None:
        """Open the file; make it where there is something to write."""
        try:
            os.stat(self.path)  # a path that leads nowhere is no empty store
        except FileNotFoundError:
            if not write:
                return None
            _create(self.path)
        mode = "mode=rw"
        path = self.path.resolve()
        if not (os.access(path, os.W_OK) and os.access(self.folder, os.W_OK)):
            # Where records lie beside the file (in SQLite's write-ahead log), as after
            # a run that was killed, they are read too, or this fails.
            mode = "immutable=1"
            with contextlib.suppress(FileNotFoundError):
                if os.stat(f"{path}-wal").st_size:
                    mode = "mode=ro"
        address = f"{path.as_uri()}?{mode}"
        database = sqlite3.connect(
            address, _PATIENCE, isolation_level=None, check_same_thread=False, uri=True
        )
        [[version]] = database.execute("PRAGMA user_version").fetchall()
        if version != _VERSION:
            database.close()
            raise StoreError(
                f"{self.path} is no store of version {_VERSION} (it says {version}): "
                "update, or name another one"
            )
        if mode == "mode=rw":
            database.execute(_TIMES)
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("PRAGMA mmap_size = 268435456")
        database.create_function("whole", 3, _is_whole, deterministic=True)
        database.text_factory = bytes
        self._connection = database
        return database


def _is(error: sqlite3.Error, code: int) -> bool:
    """Whether an error is of a kind, by the part of its code that says so."""
    return error.sqlite_errorcode & 0xFF == code


def _create(path: Path) -> None:
    """Make an empty store's file, whole at once: others may be doing the same."""
    files.private_folder(path.parent)
    # a file of mkstemp is readable by its owner only
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        database = sqlite3.connect(name, isolation_level=None)
        with contextlib.closing(database):
            database.executescript(_SCHEMA)
        with contextlib.suppress(FileExistsError):
            os.link(name, path)
    finally:
        os.unlink(name)


# -- records


def _checksum(record: bytes) -> int:
    """The CRC-32 of all but a record's first character."""
    return zlib.crc32(memoryview(record or b" ")[1:])


def _row(body: dict[str, Any]) -> _Row:
    record = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    if record != files.whole(record):
        record = json.dumps(body, separators=(",", ":"))
    key = bytes.fromhex(body["key"])
    crc = _checksum(record.encode())
    if "request" in body:
        return key, crc, record, None, None
    model = files.whole(body.get("model", ""))
    return key, crc, record, model, files.whole(body.get("revision", ""))


def _completion_row(completion: Completion) -> _Row:
    key = completion.key
    if completion.finish_reason == "error" or completion.error:
        raise ValueError(
            f"completion {key[:12]} failed ({completion.error}): only finished "
            "completions are stored"
        )
    if not isinstance(key, str) or not re.fullmatch("[0-9a-f]{64}", key):
        raise ValueError(
            f"key {key!r}: a key is 64 lower-case hex digits, as draw_keys() gives them"
        )
    body: dict[str, Any] = {}
    for name in (*_ALWAYS, *_OPTIONAL):
        value = getattr(completion, name)
        if value or name in _ALWAYS:
            body[name] = value
    if completion.logprobs is not None:
        body["logprobs"] = [dict(position) for position in completion.logprobs]
    _check_completion(body)
    return _row(body)


def _completion(key: bytes, crc: int, record: bytes) -> Completion:
    """The completion of a record; ValueError for one that cannot be used."""
    fields = _body(key, crc, record)
    if "request" in fields:
        raise ValueError("it is no completion")
    if "logprobs" in fields:
        fields["logprobs"] = tuple(fields["logprobs"])
    return Completion(**fields)


def _is_whole(key: bytes, crc: int, record: bytes) -> bool:
    """Whether a record can be read: what is not counts as not stored, everywhere."""
    with contextlib.suppress(ValueError):
        return bool(_body(key, crc, record))
    return False


def _body(key: bytes, crc: int, record: bytes) -> dict[str, Any]:
    """The JSON object of a record; ValueError saying what is wrong with it."""
    if _checksum(record) != crc:
        raise ValueError("its checksum does not match")
    body = files.from_json(record)
    if not isinstance(body, dict) or body.get("key") != key.hex():
        raise ValueError("it is the record of another key")
    if "request" not in body:
        _check_completion(body)
    elif request_key(body["request"]) != body["key"]:
        raise ValueError("its key is not that of its request")
    return body


def _check_completion(body: Mapping[str, Any]) -> None:
    """ValueError for a record that is no completion as this version writes it."""
    for name, value in body.items():
        kind = _FIELDS.get(name)
        if kind is None:
            raise ValueError(f"it has {name!r}, which this version does not know")
        right = isinstance(value, kind)
        if kind is int:
            right = type(value) is int and value >= 0
        elif kind is list and right:
            steps = [step.values() for step in value if isinstance(step, dict)]
            kinds = {type(number) for step in steps for number in step}
            right = len(steps) == len(value) and kinds <= {float, int}
        if not right:
            raise ValueError(f"its {name} cannot be one")
    if "text" not in body:
        raise ValueError("it has no text")
    if body.get("finish_reason") == "error":
        raise ValueError("it failed")


def _exported_row(line: bytes) -> _Row:
    """The row of a line of an exported file; ValueError for a damaged one."""
    if line[:8] != b'{"crc":"':
        raise ValueError("it is no line of an exported file")
    record = b"{" + line[18:].rstrip(b"\r\n")
    found = re.match(rb'\{"key":"([0-9a-f]{64})"', record)
    if not found:
        raise ValueError("it has no key")
    key = bytes.fromhex(found[1].decode())
    return _row(_body(key, int(line[8:16], 16), record))


# SQLite's connections must not be carried into a forked process: they are closed
# before, and opened again when used
_STORES: weakref.WeakSet[Store] = weakref.WeakSet()


def _close_all() -> None:
    for store in list(_STORES):
        store.close()


os.register_at_fork(before=_close_all)
