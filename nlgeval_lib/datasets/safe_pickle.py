"""Read a pickle that holds plain values only; anything that would import code is refused."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

MAX_BYTES = 256 * 1024 * 1024


class UnsafePickle(ValueError):
    """The pickle asks for more than str, int, float, bool, None, bytes, list, tuple, dict and set."""


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise UnsafePickle(f"the pickle asks for {module}.{name}; only plain values are read, nothing is imported")

    def persistent_load(self, pid: Any) -> Any:
        raise UnsafePickle(f"the pickle asks for the outside object {pid!r}; only plain values are read")


def loads(content: bytes, max_bytes: int = MAX_BYTES) -> Any:
    """The plain value that `content` holds.

    Raises: UnsafePickle where a class, function, extension or outside object is asked for; ValueError where the
    content is over `max_bytes`, is no pickle, or is cut off.
    """
    if len(content) > max_bytes:
        raise ValueError(f"pickle of {len(content):,} bytes is over the limit of {max_bytes:,}")
    try:
        return _PlainUnpickler(io.BytesIO(content)).load()
    except UnsafePickle:
        raise
    except Exception as error:  # a broken pickle can raise nearly anything
        raise ValueError(f"not a readable pickle: {type(error).__name__}: {error}") from error


def load(path: Path | str, max_bytes: int = MAX_BYTES) -> Any:
    """The plain value in the file at `path`. Raises: as `loads`, with the file named."""
    path = Path(path)
    size = path.stat().st_size
    if size > max_bytes:
        raise ValueError(f"{path}: pickle of {size:,} bytes is over the limit of {max_bytes:,}")
    try:
        return loads(path.read_bytes(), max_bytes)
    except UnsafePickle as error:
        raise UnsafePickle(f"{path}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
