"""Names: which known one was probably meant, the two sides of `NAME=VALUE`, the extra that brings a package."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


def plain(name: str) -> str:
    """A name as it is compared: its letters and digits alone, large and small ones alike."""
    return "".join(char for char in name.casefold() if char.isalnum())


def near(name: object, known: Iterable[str], n: int = 3) -> list[str]:
    """The known names most like `name`, the nearest first, at most `n`; large and small letters are alike."""
    by_fold = {one.casefold(): one for one in known}
    return [by_fold[one] for one in difflib.get_close_matches(str(name).casefold(), by_fold, n=n, cutoff=0.5)]


def meant(name: object, known: Iterable[str], otherwise: str = ";", n: int = 1) -> str:
    """The same as a part of a message, `; did you mean 'x'?`; `otherwise` where none is near."""
    found = near(name, known, n)
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else otherwise


def pair(text: str, form: str = "NAME=VALUE") -> tuple[str, str]:
    """The two sides of `NAME=VALUE`.

    Raises: ValueError saying the form; it repeats the name alone, as the value may be a key.
    """
    name, found, value = text.partition("=")
    if not found or not name:
        raise ValueError(f"{name[:60]!r}; the form is {form}")
    return name, value


def extra(module: str) -> str:
    """How to get a module or package that is not installed: by the extra that asks for it, where one does."""
    from importlib import metadata

    package = module.partition(".")[0].replace("sklearn", "scikit-learn")
    named = re.compile(rf"{re.escape(package).replace('_', '[-_]')}\b.*extra == .(\w+)", re.I)
    found = [match[1] for line in metadata.requires("nlgeval-lib") or () if (match := named.match(line))]
    return f"pip install 'nlgeval-lib[{found[0]}]' brings it" if found else f"pip install {package} brings it"
