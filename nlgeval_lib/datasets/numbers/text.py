"""A text that is not here: its hash and lengths, which are enough to find the scores
that it was given.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, field
from typing import Any

from nlgeval_lib.datasets.registry import DataUnavailable

# what stands for a text where a metric only asks whether there is a word in it: one
# with a letter of a to z or a digit, with other letters, with full stops alone, with
# nothing
SHAPES = ("a", "é", ".", "")


class TextNotHere(DataUnavailable, AttributeError):
    """A text is needed, and only its hash is on this machine."""


@functools.total_ordering
@dataclass(slots=True, unsafe_hash=True, repr=False)
class HashedText:
    """In the place of one text of a set: its hash and lengths.

    It is no `str`: whatever would read it raises `TextNotHere`. `len(text)` and
    `len(text.split())` are those of the text; equality, order and hash its digest's.
    """

    name: str = field(compare=False)  # the set
    at: int = field(compare=False)  # its place in the table of the set's texts, from 0
    digest: bytes  # its SHA-256; of a recording's texts, that of their place
    characters: int = field(compare=False)
    words: int = field(compare=False)  # parted at blanks
    shape: str = field(default="a", compare=False)  # one of SHAPES

    def __len__(self) -> int:
        return self.characters

    def split(self) -> range:
        """As many places as the text has words; the words are not here."""
        return range(self.words)

    def __lt__(self, text: HashedText | str) -> bool:
        # beside hashes the only text is the empty one, which comes first
        return isinstance(text, HashedText) and self.digest < text.digest

    def __repr__(self) -> str:
        return f"sha256:{self.digest.hex()}"

    def __format__(self, spec: str) -> str:
        """Refuse to be put into a text, such as a prompt."""
        raise TextNotHere(without_texts(self.name))

    def __getattr__(self, name: str) -> Any:
        """Refuse every method and attribute of a text, but names with an underscore,
        which Python's own protocols ask for (copying, pickling, numpy).
        """
        if name.startswith("_"):
            raise AttributeError(name)
        raise TextNotHere(without_texts(self.name))


def without_texts(name: str) -> str:
    """Why a set's texts cannot be read here, and what would bring them, in one line."""
    from nlgeval_lib import datasets

    first, *more = datasets.files(name)
    paths = f"{first} and {len(more)} more files" if more else first
    return (
        f"{name}: this needs its texts, and only their hashes and numbers are here "
        f"(data/numbers); `make data` brings {paths}"
    )


def digest_of(text: str | HashedText) -> bytes:
    """The SHA-256 of a text, at hand or not; 32 bytes."""
    if isinstance(text, HashedText):
        return text.digest
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def outline(text: str | HashedText) -> str:
    """The text itself, or for one that is not here its shape."""
    return text.shape if isinstance(text, HashedText) else text


def shape_of(text: str) -> int:
    """The place in `SHAPES` of what stands for the text."""
    if not text.strip():
        return 3
    if not text.replace(".", "").strip():
        return 2
    latin = any("a" <= letter <= "z" or "0" <= letter <= "9" for letter in text.lower())
    return 0 if latin else 1
