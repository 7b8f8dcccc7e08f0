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

from nlgeval_lib.names import NUMBER_WORDS
from reproduction.papers.printed_tables import (
    KEY,
    folder,
    keys_in_words,
    load,
    strings,
    tables,
)

PAPER_COLUMNS = ("paper", "file", "sha256")  # of papers.csv
COLUMNS = ("table", *KEY, "line", "position", "basis", "seal")  # of witnesses.csv
HALF = 8  # hexadecimal digits of each half of a seal
COUNTED = NUMBER_WORDS[:13]  # zero to twelve
_WORDS = {word: str(number) for number, word in enumerate(COUNTED)}
_DASHES = str.maketrans(dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\u2014", "-"))
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")  # of HTML, which some texts have
# "+", "1,234.5", "-1e-4", "20K", "3.5 %", "3.5\%"; it may match nothing at all
_NUMBER = re.compile(
    r"""
    [+-]?
    (?:\d{1,3}(?:,\d{3})+|\d+)?
    (?:\.\d+)?
    (?:[eE]-?\d+)?
    (?:[kKM](?![a-zA-Z])|B(?![a-zA-Z]))?
    (?:\s?\\?%)?
    """,
    re.VERBOSE,
)


class Fault(NamedTuple):
    """A cell that is not what its witness saw.

    file: the file to look at, from the repository's root.
    message: which cell, and what is wrong.
    """

    file: str
    message: str


class Token(NamedTuple):
    """A number in a line.

    position: of its first character, from 0.
    text: the number as it is compared (`normalised`).
    """

    position: int
    text: str


def normalised(text: str) -> str:
    r"""A printed string as it is compared with the text.

    Any dash is "-", capital letters are small, white space, thousands commas and "\\"
    go, and a number word to twelve is its digits.

    Example:
    >>> normalised("1,234 %"), normalised("Seven")
    ('1234%', '7')
    """
    dashed = text.translate(_DASHES)
    plain = re.sub(r"[\s\\]", "", dashed).casefold()
    without_commas = re.sub(r"(?<=\d),(?=\d{3})", "", plain)
    return _WORDS.get(without_commas, without_commas)


def visible(line: str) -> str:
    """A line of text whose tags are blanks of the same length, and whose dashes are
    "-".

    A position in it is one in the line.
    """
    return _TAG.sub(lambda tag: " " * len(tag[0]), line).translate(_DASHES)


def numbers(line: str) -> Iterator[Token]:
    """The whole numbers of a line, number words to twelve included, in their order.

    "Whole" is as in "whole word": no number begins inside another or inside a word.

    Example:
    >>> [token.text for token in numbers("in 3.5 % of two runs, GPT-4")]
    ['3.5%', '2', '4']
    """
    text = visible(line)
    place = 0
    while place < len(text):
        number = _at(text, place)
        if number is None:
            place += 1
        else:
            yield Token(place, normalised(number))
            place += len(number)


def _at(text: str, place: int) -> str | None:
    """The number that begins at this place of a text, as it stands there; None where
    none does.
    """
    previous = text[place - 1] if place else " "
    # In the midst of a word or a number none begins.
    if previous.isalpha() or previous.isdigit():
        return None
    if text[place].isalpha():
        match = re.match(r"[^\W\d_]+", text[place:])
        is_number = match is not None and match[0].casefold() in _WORDS
    else:
        # After a number or a bracket a dash is no sign.
        if text[place] == "-" and previous in ".)%":
            return None
        # The digits after a decimal point belong to the number before it.
        if previous == "." and place > 1 and text[place - 2].isdigit():
            return None
        match = _NUMBER.match(text, place)
        is_number = match is not None and any(map(str.isdigit, match[0]))
    if match is None or not is_number:
        return None
    return match[0]


def stands(printed: str, line: str, position: int) -> bool:
    """Whether the printed string stands at this place of a line: as a whole number, or,
    of words, as the same words in the same order.

    position: of the first character, from 0.
    """
    number = Token(position, normalised(printed))
    return number in numbers(line) or position in phrases(printed, line)


def phrases(printed: str, line: str) -> list[int]:
    """Where the words of a printed string stand one after the other in a line.

    Returns: positions of the first word, from 0; none where the string has no letter.
    Capital letters and what stands between the words do not count.

    Example:
    >>> phrases("GPT-4 Eval", "Only gpt-4 | eval is above it.")
    [5]
    """
    if not any(map(str.isalpha, printed)):
        return []
    words = re.findall(r"[\w+%-]+", printed.translate(_DASHES))
    phrase = r"\W+".join(map(re.escape, words))
    matches = re.finditer(rf"(?<!\w){phrase}(?!\w)", visible(line), re.IGNORECASE)
    return [match.start() for match in matches]


def read(paper: str) -> pd.DataFrame:
    """The witnesses of a paper's cells: a row a cell, columns `COLUMNS`, all text; no
    row without a file.
    """
    return strings(folder() / paper / "witnesses.csv", COLUMNS)


def texts() -> dict[str, Mapping[str, str]]:
    """Of each paper the name of its text's file and its sha256, as a mapping with
    `PAPER_COLUMNS`.
    """
    rows = strings(folder() / "papers.csv", PAPER_COLUMNS)
    return {row["paper"]: row for row in rows.to_dict("records")}


def seal(cell: Mapping[str, str], printed: str, sha256: str) -> str:
    """What binds a cell to its number and to its place: two hashes of `HALF` digits
    each.
    """
    key = _key(cell)
    place = [cell[name] for name in ("line", "position", "basis")]
    return _half([*key, printed]) + _half([*key, sha256, *place])


def _half(fields: list[str]) -> str:
    """One half of a seal: the first digits of a hash of these fields."""
    return hashlib.sha256("\0".join(fields).encode()).hexdigest()[:HALF]


def _key(cell: Mapping[str, str]) -> tuple[str, ...]:
    """The table, row, column and statistic of a row of witnesses."""
    return tuple(cell[name] for name in ("table", *KEY))


def cells(paper: str) -> dict[tuple[str, ...], str]:
    """Every printed cell of a paper, as printed, by (table, row, column, statistic)."""
    printed: dict[tuple[str, ...], str] = {}
    for table in tables(paper):
        for cell in load(paper, table).to_dict("records"):
            printed[_key(cell)] = cell["printed"]
    return printed


def broken(paper: str) -> list[Fault]:
    """The cells of a paper whose number or place is not what its witness sealed.

    A cell without a witness and a witness without a cell are faults too. The paper's
    text is not needed.

    Returns: sorted by file; empty where all is well.
    """
    base = f"data/paper_tables/{paper}"
    printed = cells(paper)
    paper_text = texts().get(paper, {})
    sha256 = paper_text.get("sha256", "")
    unwitnessed = set(printed)
    faults = []
    for cell in read(paper).to_dict("records"):
        key = _key(cell)
        file = f"{base}/{key[0]}.csv"
        words = keys_in_words([key[1:]])
        unwitnessed.discard(key)
        if key not in printed:
            faults.append(Fault(file, f"{words} has a witness and is not printed"))
            continue
        # Where the first half is broken the number was changed, and the table is to
        # blame; where only the second is, the witness was.
        expected = seal(cell, printed[key], sha256)
        if cell["seal"][:HALF] != expected[:HALF]:
            message = f"{words} is {printed[key]!r}, which its witness did not see"
            faults.append(Fault(file, message))
        elif cell["seal"] != expected:
            message = f"{key[0]} {words}: the place is not the one that was sealed"
            faults.append(Fault(f"{base}/witnesses.csv", message))
    for key in unwitnessed:
        message = f"{keys_in_words([key[1:]])} has no witness"
        faults.append(Fault(f"{base}/{key[0]}.csv", message))
    return sorted(faults)


def misplaced(paper: str, text: str) -> list[str]:
    """The witnessed cells whose printed string does not stand at its place of the
    paper's text.

    text: the whole text of the paper, whose hash `texts` has.
    Returns: a sentence a cell; empty where all is well. Cells without a place are
    passed over.
    """
    lines = text.splitlines()
    printed = cells(paper)
    faults = []
    for cell in read(paper).to_dict("records"):
        if not cell["line"]:
            continue  # a cell whose place is not known; its `basis` says why
        key = _key(cell)
        line = lines[int(cell["line"]) - 1]
        if not stands(printed.get(key, ""), line, int(cell["position"])):
            place = f"line {cell['line']}, position {cell['position']}"
            name = keys_in_words([key])
            faults.append(f"{name}: {printed.get(key)!r} is not at {place}")
    return faults
