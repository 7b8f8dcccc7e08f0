"""Read a pickle that holds plain values only; anything that would import code is refused."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any


class UnsafePickle(ValueError):
    """The pickle asks for more than str, int, float, bool, None, bytes, list, tuple, dict and set."""


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise UnsafePickle(f"the pickle asks for {module}.{name}; only plain values are read, nothing is imported")

    def persistent_load(self, pid: Any) -> Any:
        raise UnsafePickle(f"the pickle asks for the outside object {pid!r}; only plain values are read")


def load(path: Path | str) -> Any:
    """The plain value in the file at `path`.

    Raises: UnsafePickle where a class, function, extension or outside object is asked for; ValueError where the
    content is no pickle, or is cut off; both name the file.
    """
    try:
        return _PlainUnpickler(io.BytesIO(Path(path).read_bytes())).load()
    except UnsafePickle as error:
        raise UnsafePickle(f"{path}: {error}") from None
    except OSError:
        raise
    except Exception as error:  # a broken pickle can raise nearly anything
        raise ValueError(f"{path}: not a readable pickle: {type(error).__name__}: {error}") from error
