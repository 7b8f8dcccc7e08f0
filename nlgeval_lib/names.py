"""Which known name was probably meant, for the messages about unknown ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near(name: object, known: Iterable[str], n: int = 3) -> list[str]:
    """The known names most like `name`, the nearest first, at most `n`; large and small letters are alike."""
    by_fold = {one.casefold(): one for one in known}
    return [by_fold[one] for one in difflib.get_close_matches(str(name).casefold(), by_fold, n=n, cutoff=0.5)]


def meant(name: object, known: Iterable[str], otherwise: str = ";", n: int = 1) -> str:
    """The same as a part of a message, `; did you mean 'x'?`; `otherwise` where none is near."""
    found = near(name, known, n)
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else otherwise
