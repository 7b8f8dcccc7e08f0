"""Where each printed cell stands in its paper's text, and whether it still says what
was read there.

`data/paper_tables/papers.csv` has the hash of each paper's text;
`data/paper_tables/<paper>/witnesses.csv` has a row a cell: `line` (from 1) and
`position` (characters from 0) of its first character, `basis` (how the place was found,
or why there is none) and `seal`. The first half of the seal is a hash of the cell with
its number, the second half one of the cell with its place. The text itself is not in
the repository: where it lies, `misplaced` reads it; elsewhere `broken` compares seals.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pandas as pd

from nlgeval_lib.papers.tables import KEY, folder, keys_in_words, load, strings, tables

PAPER_COLUMNS = ("paper", "file", "sha256")
COLUMNS = ("table", *KEY, "line", "position", "basis", "seal")
HALF = 8  # hexadecimal digits of each half of a seal
COUNTED = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_WORDS = {word: str(number) for number, word in enumerate(COUNTED)}
_DASHES = str.maketrans(dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\u2014", "-"))
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_NUMBER = re.compile(
    r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE]-?\d+)?"
    r"(?:[kKM](?![a-zA-Z])|B(?![a-zA-Z]))?(?:\s?\\?%)?"
)


class Fault(NamedTuple):
    """A cell that is not what its witness saw: the file that says so, and what is
    wrong.
    """

    file: str
    message: str


class Token(NamedTuple):
    """A number in a line: its first character, and the number as it is compared."""

    position: int
    text: str


def normalised(text: str) -> str:
    """A printed string as it is compared with the text: any dash is "-", capital
    letters are small, white space, thousands commas and "\\" go, and a number word to
    twelve is its digits.
    """
    plain = re.sub(r"[\s\\]", "", text.translate(_DASHES)).casefold()
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", plain)
    return _WORDS.get(plain, plain)


def visible(line: str) -> str:
    """A line of text whose tags are blanks of the same length, and whose dashes are
    "-": a position in it is one in the line.
    """
    return _TAG.sub(lambda tag: " " * len(tag[0]), line).translate(_DASHES)


def numbers(line: str) -> Iterator[Token]:
    """The whole numbers of a line, number words to twelve included, in their order."""
    shown = visible(line)
    place = 0
    while place < len(shown):
        found = _at(shown, place)
        if found is None:
            place += 1
            continue
        yield Token(place, normalised(found))
        place += len(found)


def _at(shown: str, place: int) -> str | None:
    """The number that begins here; None where none does."""
    before = shown[place - 1] if place else " "
    if before.isalpha() or before.isdigit():
        return None
    if shown[place].isalpha():
        word = re.match(r"[^\W\d_]+", shown[place:])
        return word[0] if word and word[0].casefold() in _WORDS else None
    if shown[place] == "-" and before in ".)%":
        return None
    if before == "." and place > 1 and shown[place - 2].isdigit():
        return None
    found = _NUMBER.match(shown, place)
    return found[0] if found and any(map(str.isdigit, found[0])) else None


def stands(printed: str, line: str, position: int) -> bool:
    """Whether the printed string stands at this place of a line: as a whole number, or,
    of words, as the same words in the same order.
    """
    wanted = Token(position, normalised(printed))
    return wanted in numbers(line) or position in phrases(printed, line)


def phrases(printed: str, line: str) -> list[int]:
    """Where the words of a printed string stand one after the other in a line; nowhere
    where it has no letter.
    """
    words = re.findall(r"[\w+%-]+", printed.translate(_DASHES))
    if not any(map(str.isalpha, printed)):
        return []
    form = r"\W+".join(map(re.escape, words))
    found = re.finditer(rf"(?<!\w){form}(?!\w)", visible(line), re.IGNORECASE)
    return [match.start() for match in found]


def read(paper: str) -> pd.DataFrame:
    """The witnesses of a paper's cells, all columns text; no row without a file."""
    return strings(folder() / paper / "witnesses.csv", COLUMNS)


def texts() -> dict[str, Mapping[str, str]]:
    """Of each paper the name of its text's file and its sha256."""
    rows = strings(folder() / "papers.csv", PAPER_COLUMNS)
    return {row["paper"]: row for row in rows.to_dict("records")}


def seal(cell: Mapping[str, str], printed: str, sha256: str) -> str:
    """What binds a cell to its number and to its place.

    cell: a row of witnesses. sha256: that of the paper's text.
    """
    key = [cell[name] for name in ("table", *KEY)]
    place = [cell[name] for name in ("line", "position", "basis")]
    return _half([*key, printed]) + _half([*key, sha256, *place])


def _half(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:HALF]


def cells(paper: str) -> dict[tuple[str, ...], str]:
    """Every printed cell of a paper by (table, row, column, statistic)."""
    found: dict[tuple[str, ...], str] = {}
    for table in tables(paper):
        for row in load(paper, table).to_dict("records"):
            found[(table, *(row[name] for name in KEY))] = row["printed"]
    return found


def broken(paper: str) -> list[Fault]:
    """The cells of a paper whose number or place is not what its witness sealed."""
    base = f"data/paper_tables/{paper}"
    printed = cells(paper)
    sha256 = texts().get(paper, {}).get("sha256", "")
    seen = set()
    faults = []
    for cell in read(paper).to_dict("records"):
        key = tuple(cell[name] for name in ("table", *KEY))
        words = keys_in_words([key[1:]])
        seen.add(key)
        if key not in printed:
            said = f"{words} has a witness and is not printed"
            faults.append(Fault(f"{base}/{key[0]}.csv", said))
            continue
        wanted = seal(cell, printed[key], sha256)
        if cell["seal"][:HALF] != wanted[:HALF]:
            said = f"{words} is {printed[key]!r}, which its witness did not see"
            faults.append(Fault(f"{base}/{key[0]}.csv", said))
        elif cell["seal"] != wanted:
            said = f"{key[0]} {words}: the place is not the one that was sealed"
            faults.append(Fault(f"{base}/witnesses.csv", said))
    for key in printed.keys() - seen:
        said = f"{keys_in_words([key[1:]])} has no witness"
        faults.append(Fault(f"{base}/{key[0]}.csv", said))
    return sorted(faults)


def misplaced(paper: str, text: str) -> list[str]:
    """The witnessed cells whose printed string does not stand at its place of the
    paper's text, in words.
    """
    lines = text.splitlines()
    printed = cells(paper)
    faults = []
    for cell in read(paper).to_dict("records"):
        key = tuple(cell[name] for name in ("table", *KEY))
        if not cell["line"]:
            continue
        line = lines[int(cell["line"]) - 1]
        if not stands(printed.get(key, ""), line, int(cell["position"])):
            where = f"line {cell['line']}, position {cell['position']}"
            cell_name = keys_in_words([key])
            faults.append(f"{cell_name}: {printed.get(key)!r} is not at {where}")
    return faults
