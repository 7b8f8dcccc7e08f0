"""Names: the known name that was probably meant, the two sides of `NAME=VALUE`.

Also the extra of this package that brings a package that is not installed (`extra`),
and numbers as words: `NUMBER_WORDS`, p-values, counted nouns.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable

# What a command ends with on Ctrl-C.
STOPPED = "stopped; the same command goes on from there"
# The numbers from 0 to 20 as they are written in English.
_WRITTEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen seventeen eighteen nineteen twenty"
)
NUMBER_WORDS = tuple(_WRITTEN.split())


def plain(name: str) -> str:
    """A name as it is compared: its letters and digits alone, in one case.

    Example:
    >>> plain("Topical-Chat (v2)")
    'topicalchatv2'
    """
    return "".join(char for char in name.casefold() if char.isalnum())


def near(
    name: object, known: Iterable[str], n: int = 3, cutoff: float = 0.5
) -> list[str]:
    """The known names most like `name`, the nearest first, in any case of letters.

    n: at most so many. cutoff: how alike, from 0 to 1 (the same).

    Example:
    >>> near("Rogue", ["bleu", "rouge", "meteor"])
    ['rouge']
    """
    by_fold = {candidate.casefold(): candidate for candidate in known}
    folded = str(name).casefold()
    nearest = difflib.get_close_matches(folded, by_fold, n=n, cutoff=cutoff)
    return [by_fold[fold] for fold in nearest]


def meant(
    name: object,
    known: Iterable[str],
    otherwise: str = ";",
    n: int = 1,
    cutoff: float = 0.5,
) -> str:
    """The nearest names as a part of a message, `; did you mean 'x'?`; `otherwise` where
    none is near. The others: as for `near`.
    """
    nearest = near(name, known, n, cutoff)
    if not nearest:
        return otherwise
    return f"; did you mean {' or '.join(map(repr, nearest))}?"


def pair(text: str, form: str = "NAME=VALUE") -> tuple[str, str]:
    """The two sides of `NAME=VALUE`; the value may hold further signs.

    form: how the error says the form.

    Raises: ValueError saying the form; it repeats the name alone, as the value may be a
    key.

    Example:
    >>> pair("n=5")
    ('n', '5')
    """
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise ValueError(f"{name[:60]!r}; the form is {form}")
    return name, value


def extra(module: str) -> str:
    """How to get a module or package that is not installed, by an extra of this package
    where one asks for it: a command for a message.
    """
    from importlib import metadata

    package = module.partition(".")[0].replace("sklearn", "scikit-learn")
    pattern = re.compile(
        rf"{re.escape(package).replace('_', '[-_]')}\b.*extra == .(\w+)", re.I
    )
    try:
        requirements = metadata.requires("nlgeval-lib") or ()
    except metadata.PackageNotFoundError:
        requirements = ()
    for line in requirements:
        match = pattern.match(line)
        if match:
            return f"pip install 'nlgeval-lib[{match[1]}]' brings it"
    return f"pip install {package} brings it"


def p_in_words(p: float) -> str:
    """A p-value as a reader meets it, never 0; "no p" for NaN.

    Example:
    >>> p_in_words(0.0312), p_in_words(0.0002)
    ('p = .031', 'p < .001')
    """
    if math.isnan(p):
        return "no p"
    return f"p {p_value(p)}"


def p_value(p: float) -> str:
    """A p-value behind its letter: `= .031`, never 0: `< .001`."""
    if p < 0.001:
        return "< .001"
    return f"= {p:.3f}".replace("= 0.", "= .")


def counted_noun(number: int, noun: str, plural: str = "") -> str:
    """How many of what: `1 printed number`, `2 printed numbers`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
