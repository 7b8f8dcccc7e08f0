"""Numbers kept on disk by what determines them."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from nlgeval_lib.datasets.numbers import HashedText, digest_of
from nlgeval_lib.errors import Told

Values = tuple[float, ...]
_SLICE = 900  # keys in one query; SQLite's oldest limit on variables is 999


class CacheError(Told, OSError):
    """The cache file cannot be read or written; the message says what to do."""


def key(*parts: str | HashedText) -> bytes:
    """The 32-byte key of texts: sha256 over the sha256 of each, so hashes alone do."""
    return hashlib.sha256(b"".join(map(digest_of, parts))).digest()


class ValueCache:
    """A map from 32-byte keys to short tuples of float64 in one SQLite file, which
    several processes may use; each call may raise CacheError.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Values]:
        """The stored values of those `keys` that are there."""
        distinct = list(dict.fromkeys(keys))
        stored: dict[bytes, Values] = {}
        if not distinct or not self.path.exists():
            return stored
        with self._connection() as connection:
            for start in range(0, len(distinct), _SLICE):
                block = distinct[start : start + _SLICE]
                marks = ",".join("?" * len(block))
                query = f"SELECT key, value FROM scores WHERE key IN ({marks})"
                for key, blob in connection.execute(query, block):
                    length = len(blob) // 8  # bytes of a float64
                    stored[key] = struct.unpack(f"<{length}d", blob)
        return stored

    def put(self, values: Mapping[bytes, Sequence[float]]) -> None:
        """Store values, all or none of them; a key that is there is overwritten."""
        rows = []
        for key, numbers in values.items():
            rows.append((key, struct.pack(f"<{len(numbers)}d", *numbers)))
        with self._connection() as connection, connection:
            connection.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", rows)

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """A connection for one operation: never carried into a forked process."""
        table = "scores (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(sqlite3.connect(self.path, 120)) as connection:
                connection.execute(f"CREATE TABLE IF NOT EXISTS {table}")
                yield connection
        # The file is locked or read-only, the disk is full, or it cannot be opened.
        except (sqlite3.OperationalError, OSError) as error:
            raise CacheError(
                f"cannot use the metric cache {self.path}: {error}; free the disk, "
                "name a writable folder in NLGEVAL_HOME, or score with the setting "
                "cache=no"
            ) from error
        except (sqlite3.DatabaseError, struct.error) as error:
            raise CacheError(
                f"the metric cache {self.path} is damaged: {error}; "
                "delete it, its numbers are computed again"
            ) from error
