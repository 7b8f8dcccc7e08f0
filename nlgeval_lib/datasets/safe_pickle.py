"""Read a pickle that holds plain values only; whatever would import code is refused."""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nlgeval_lib.errors import Told


class UnsafePickle(Told, ValueError):
    """The pickle asks for more than plain values."""


# numpy's floats and whole numbers, by the kind and size that a pickle names -> the
# letter of `struct` for the same bytes
_FORMS = {"f4": "f", "f8": "d", "i4": "i", "i8": "q"}


class _Kind:
    """In the place of a numpy dtype: what its bytes mean, in the letters of `struct`."""

    def __init__(self, name: Any, *_: Any) -> None:
        if name not in _FORMS:
            raise UnsafePickle(
                f"the pickle has an array of kind {name!r}, not a number"
            )
        self.form = _FORMS[name]
        self.order = "<"

    def __setstate__(self, state: Any) -> None:
        # the second field of a dtype's state is the byte order
        self.order = ">" if state[1] == ">" else "<"


def _scalar(kind: _Kind, content: bytes) -> float | int:
    """In the place of a numpy number: the plain one that its bytes are."""
    if not isinstance(kind, _Kind) or not isinstance(content, bytes):
        raise UnsafePickle("the pickle builds a number from something else")
    number: float | int
    [number] = struct.unpack(kind.order + kind.form, content)
    return number


# (module, name) in a pickle -> what is called in its place; numpy 2 renamed a module
_NUMBERS: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy", "dtype"): _Kind,
    ("numpy.core.multiarray", "scalar"): _scalar,
    ("numpy._core.multiarray", "scalar"): _scalar,
}


class _PlainUnpickler(pickle.Unpickler):
    """Reads plain values alone, and with `numbers` numpy's single ones."""

    numbers = False

    def find_class(self, module: str, name: str) -> Any:
        if self.numbers and (module, name) in _NUMBERS:
            return _NUMBERS[module, name]
        raise UnsafePickle(
            f"the pickle asks for {module}.{name}; "
            "only plain values are read, nothing is imported"
        )

    def persistent_load(self, pid: Any) -> Any:
        raise UnsafePickle(
            f"the pickle asks for the outside object {pid!r}; "
            "only plain values are read"
        )


def load(path: Path | str, numbers: bool = False) -> Any:
    """The plain value in the file at `path`; with `numbers` also numpy's single
    numbers, as plain ones.

    Raises: UnsafePickle where a class, function, extension or outside object is asked
    for; ValueError where the content is no pickle, or is cut off; OSError.
    """
    try:
        unpickler = _PlainUnpickler(io.BytesIO(Path(path).read_bytes()))
        unpickler.numbers = numbers
        return unpickler.load()
    except UnsafePickle as error:
        raise UnsafePickle(f"{path}: {error}") from None
    except OSError:
        raise
    except Exception as error:  # a broken pickle can raise nearly anything
        raise ValueError(
            f"{path}: not a readable pickle: {type(error).__name__}: {error}"
        ) from error
