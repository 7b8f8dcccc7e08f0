"""Find where each printed cell stands in its paper's text, and write the witnesses.

    python tools/witnesses.py ../shared/papers          show what is found where
    python tools/witnesses.py ../shared/papers --write  and write it

A table's cells are aligned in their order with the numbers between the captions around
its own: as many as can be, next to each other where they are next to each other in the
table, on the line of their row's name. Numbers of the running text are looked for in
the section or caption that the cell names. What is not found has a reason instead of a
place, and no place is guessed.

A `Text` knows the captions, sections and numbers of a paper. `of_paper` goes through
its cells: `of_table` places those of a table by `aligned`, `of_sentence` those of the
running text. `--write` writes witnesses.csv of each paper, and papers.csv with the
texts' hashes.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nlgeval_lib import files
from reproduction.papers import witnesses
from reproduction.papers.numbers import is_blank, parse
from reproduction.papers.printed_tables import KEY, PAPERS, folder

# what a cell is known by: table, row, column, statistic
Key = tuple[str, ...]
Cell = tuple[Key, str]  # and what is printed there
Cells = Sequence[Cell]
Row = dict[str, str]
# the lines that begin a caption, a numbered section and one with a name
CAPTION = re.compile(r"\W{0,6}(Table|Figure) (\d+)[.:]")
HEADING = re.compile(
    r"""
    (?:\#+[ ]*)? (?:\*\*)? (?:Appendix[ ])?  # marks of a heading, none in plain text
    ((?:\d{1,2} | [A-L]) (?:\.\d+)?)        # 4, 4.1, B, B.2
    \.? \s+ \*{0,2} [A-Z]                   # the first letter of its title
    """,
    re.VERBOSE,
)
NAMED = re.compile(r"(?:#+ *)?\**(abstract|limitations?|ethics[\w ]*)\**\s*$", re.I)
# figures whose numbers were read off a public file: no place of the text has them
FIGURE_FILES = {
    ("tigerscore", "figure_03"): "tigerscore_figures/channel_test.png",
    ("tigerscore", "authors' notebook of Figure 4"): (
        "tigerscore_figures/data_dist_analysis.ipynb"
    ),
}
PRINTED_IN = {  # numbers of a figure that the text gives
    ("prometheus", "figure_04"): "section 5.1",
    ("prometheus", "figure_05"): "section 5.1",
}
AFTER = {  # of an example with much text, the words before a score
    ("prometheus", f"figure_{number}"): r"(score is|score of|scores an?|\(Score) $"
    for number in (16, 17, 18, 19)
}
# what a cell at a place is worth, more where the one before it stands beside it, and
# where the line has the name of its row
FOUND = 10.0
BESIDE = 4.0
SAME_ROW = 3.0
# the fields of a cell's key (table, row, column, statistic) that its table may be
# sorted by
SORTED_BY: tuple[tuple[int, ...], ...] = (
    (),
    (2,),
    (3,),
    (2, 3),
    (3, 2),
    (1, 3),
)


class Span(NamedTuple):
    """Lines of a text.

    first: the first of them, from 0.
    last: the line after them.
    """

    first: int
    last: int


class Place(NamedTuple):
    """A number of the text.

    line, position: of its first character, from 0.
    text: the number as cells are compared with it (`witnesses.normalised`).
    label: the name of its row, its letters and digits alone.
    """

    line: int
    position: int
    text: str
    label: str


Places = Sequence[Place]
Placed = dict[Key, Place]


class Text:
    """A paper's text, its captions and its sections.

    sha256: of the file.
    captions: "Table 4" -> the line where its caption begins, from 0.
    sections: "4.1", "B.2", "limitations" -> its lines.
    """

    def __init__(self, path: Path) -> None:
        content = path.read_bytes()
        self.sha256 = hashlib.sha256(content).hexdigest()
        self.lines = path.read_text(encoding="utf-8").splitlines()
        self.captions: dict[str, int] = {}
        for number, line in enumerate(self.lines):
            if match := CAPTION.match(line):
                name = f"{match[1]} {match[2]}"
                self.captions.setdefault(name, number)
        self.sections = _sections(self.lines)

    def around(self, caption: str) -> list[Span]:
        """The lines from the caption before up to this one, and from this one up to the
        next: a table stands above its caption or below it.

        caption: as "Table 4".
        Raises: KeyError where the text has no such caption.
        """
        line = self.captions[caption]
        previous = -1
        following = len(self.lines)
        for number in self.captions.values():
            if number < line:
                previous = max(previous, number)
            elif number > line:
                following = min(following, number)
        return [Span(previous + 1, line + 1), Span(line, following)]

    def span(self, place: str) -> list[Span]:
        """The lines of what a cell calls its place; none where it is not found.

        place: as "Table 4", "Table 4 caption", "section 5.1", "appendix B".
        """
        if place.endswith(" caption"):
            line = self.captions.get(place.removesuffix(" caption"))
            if line is None:
                return []
            return [Span(line, line + 1)]
        if place in self.captions:
            return self.around(place)
        name = place.replace("section ", "")
        name = name.replace("appendix ", "")
        if name in self.sections:
            return [self.sections[name]]
        return []

    def places(self, span: Span, after: str = "") -> list[Place]:
        """The numbers of these lines, in their order.

        after: a regular expression that the line before a number must meet; empty for
            any.
        """
        places = []
        label = ""
        opened = False
        for number in range(*span):
            line = self.lines[number]
            visible = witnesses.visible(line)
            # A row's name is the first cell of a line of plain text, or of the line
            # after <tr>; where that has no letter, the name before it stays.
            html = line.lstrip().startswith("<t")
            if "<tr" in line:
                opened = True
            elif not html or opened:
                words = visible.split("\t")[0]
                if any(map(str.isalpha, words)):
                    label = words
                opened = opened and not label
            letters = _letters(label)
            for token in witnesses.numbers(line):
                if re.search(after, visible[: token.position]):
                    places.append(Place(number, token.position, token.text, letters))
        return places


def _letters(text: str) -> str:
    """The letters and digits of a text, small."""
    return "".join(filter(str.isalnum, text.casefold()))


def _sections(lines: Sequence[str]) -> dict[str, Span]:
    """Where each numbered or named section stands, its subsections included."""
    starts = _headings(lines)
    spans: dict[str, Span] = {}
    for place, (name, first) in enumerate(starts):
        end = len(lines)
        for later, line_number in starts[place + 1 :]:
            # a subsection, as 4.1 of 4, does not end its section
            if not later.startswith(f"{name}."):
                end = line_number
                break
        spans[name] = Span(first, end)
    return spans


def _headings(lines: Sequence[str]) -> list[tuple[str, int]]:
    """The name of each section, and the line of its heading, in their order."""
    starts: list[tuple[str, int]] = []
    current = "0"
    marked = sum(line.startswith("#") for line in lines) > len("abstract")
    for number, line in enumerate(lines):
        if match := NAMED.match(line):
            name = match[1].casefold().split()[0]
            if name.startswith("limitation"):
                name = "limitations"
            starts.append((name, number))
        elif marked and not line.startswith("#"):
            continue
        elif (match := HEADING.match(line)) and _follows(match[1], current):
            current = match[1]
            starts.append((current, number))
    return starts


def _follows(name: str, current: str) -> bool:
    """Whether a section may come next: its part is the same or the following one.

    A line of a table can look like a heading; such a line seldom has the next number.

    Example:
    >>> _follows("4.2", "4.1"), _follows("5", "4.2"), _follows("7", "4.2")
    (True, True, False)
    """
    part, _, number = name.partition(".")
    current_part, _, current_number = current.partition(".")
    if part == current_part:
        if not number:
            return False
        # one heading may have been missed
        step = int(number) - int(current_number or 0)
        return step in (1, 2)
    if part.isdigit() and not current_part.isdigit():
        following = False
    elif part.isdigit():
        following = int(part) - int(current_part) == 1
    elif current_part.isdigit():
        # The first appendix comes after the fourth section or a later one.
        following = part == "A" and int(current_part) >= 4
    else:
        following = ord(part) - ord(current_part) == 1
    return following and number in ("", "1")


def aligned(cells: Cells, places: Places) -> tuple[float, Placed]:
    """The places of cells that stand in this order, and what the alignment is worth.

    It is the alignment of two sequences that is worth most, by dynamic programming:
    each cell found gives `FOUND`, `BESIDE` more where the cell before it stands at the
    place before, and `SAME_ROW` more on the line of its name.

    Returns: the sum, and the place of each cell that has one; 0 and none where no
        number is equal to a cell.
    """
    if not places or not cells:
        return 0.0, {}
    texts = np.array([place.text for place in places])
    size = len(places)
    impossible = np.full(size, -np.inf)
    best = np.zeros(size + 1)  # the best of all that ends before a place
    score = impossible
    scores = []
    steps = []
    for key, printed in cells:
        # Of each place: what is reached if the cell before stands right before it, or
        # anywhere before it.
        beside = impossible.copy()
        beside[1:] = score[:-1] + BESIDE
        before_place = best[:-1]
        worth = np.maximum(before_place, beside) + FOUND
        equal = texts == witnesses.normalised(printed)
        # The cell can stand where its number does.
        score = np.where(equal, worth, -np.inf)
        score = score + SAME_ROW * _is_named(key, places)
        # What is kept lets `_traced` go back: the worths, and which of both ways was
        # better.
        scores.append(score)
        steps.append(beside > before_place)
        from_nothing = np.concatenate([[0.0], score])
        reached = np.maximum.accumulate(from_nothing)
        best = np.maximum(best, reached)
    return _traced(cells, places, scores, steps)


def _is_named(key: Key, places: Places) -> np.ndarray:
    """Whether the row of each place has the name of a cell's row or column: an array of
    truths, one a place.
    """
    names = []
    # a title of several levels is written as A|B; the last one stands on the line
    for title in key[1:3]:
        _, _, last = title.rpartition("|")
        if name := _letters(last):
            names.append(name)
    on_row = []
    for place in places:
        on_row.append(any(name in place.label for name in names))
    return np.array(on_row)


def _traced(
    cells: Cells,
    places: Places,
    scores: Sequence[np.ndarray],
    steps: Sequence[np.ndarray],
) -> tuple[float, Placed]:
    """The best alignment, read from its end: its worth, and the cells' places.

    scores: of each cell, what the best alignment that ends with it at each place is
        worth.
    steps: of each cell, whether the one before stands right before, at each place.
    """
    number, place, total = _best(scores)
    if total == -np.inf:
        return 0.0, {}
    placed: Placed = {}
    while True:
        key, _ = cells[number]
        placed[key] = places[place]
        if steps[number][place]:
            number -= 1
            place -= 1
            continue
        if not number or not place:
            break
        earlier = [score[:place] for score in scores[:number]]
        number, place, worth = _best(earlier)
        if worth <= 0:
            break
    return total, placed


def _best(scores: Sequence[np.ndarray]) -> tuple[int, int, float]:
    """The cell and the place of the highest score, the first of equals, and the score.

    scores: of each cell, an array over places.
    """
    tops = [float(score.max()) for score in scores]
    number = int(np.argmax(tops))
    place = int(scores[number].argmax())
    return number, place, tops[number]


def of_table(
    text: Text,
    cells: Cells,
    spans: Iterable[Span],
    after: str,
) -> Placed:
    """Where the cells of a table stand: on the better end of its caption, in the order
    in which more of them are found.

    cells: of the table, those that are numbers.
    spans: the lines above and below the caption.
    after: what must stand before a number; where it is given, cells left over are
        placed where their number is free and there is one such place.
    """
    total = 0.0
    placed: Placed = {}
    candidates = []
    for span in spans:
        places = text.places(span, after)
        candidates += places
        for ordered in _orders(cells):
            worth, alignment = aligned(ordered, places)
            if worth > total:
                total = worth
                placed = alignment
    if after:
        _place_the_rest(cells, candidates, placed)
    return placed


def _place_the_rest(
    cells: Cells,
    candidates: Places,
    placed: Placed,
) -> None:
    """Give each cell without a place the one that is free and has its number; none
    where several are.

    placed: is added to.
    """
    for key, printed in cells:
        if key in placed:
            continue
        number = witnesses.normalised(printed)
        free = {place for place in candidates if place.text == number}
        free -= {*placed.values()}
        if len(free) == 1:
            placed[key] = free.pop()


def _orders(cells: Cells) -> Iterator[list[Cell]]:
    """The cells in the orders in which a text may have them, by `SORTED_BY`."""
    for fields in SORTED_BY:
        ordered = list(cells)
        # Sorted by the last field first, as a sort keeps the order of equals.
        for field in reversed(fields):
            ordered = _grouped(ordered, cells, field)
        yield ordered


def _grouped(
    ordered: Cells,
    cells: Cells,
    field: int,
) -> list[Cell]:
    """Cells with the same name together, in the order in which names come first.

    ordered: the cells as sorted so far, an order that is kept among equals.
    cells: the same in the table's own order, which ranks the names.
    field: of the key, whose names are grouped.
    """
    ranks: dict[str, int] = {}
    for key, _ in cells:
        ranks.setdefault(key[field], len(ranks))

    def rank(cell: Cell) -> int:
        key, _ = cell
        return ranks[key[field]]

    return sorted(ordered, key=rank)


def on_its_row(
    text: Text,
    key: Key,
    printed: str,
    placed: Placed,
) -> tuple[int, int] | None:
    """Where the words of a cell stand last on the line of its row's numbers: line and
    position; None where the row's numbers are on several lines, or the words are not
    there.

    placed: the cells of its table that have a place.
    """
    lines = set()
    for placed_key, place in placed.items():
        if placed_key[:2] == key[:2]:
            lines.add(place.line)
    if len(lines) != 1:
        return None
    line = lines.pop()
    positions = witnesses.phrases(printed, text.lines[line])
    if not positions:
        return None
    return line, positions[-1]


def of_sentence(
    text: Text,
    key: Key,
    printed: str,
    spans: Iterable[Span],
) -> tuple[int, int, str] | None:
    """Line, position and basis of a number or of words in a section; None where they do
    not stand there.

    Of several the one whose surroundings share most words with the cell's row is taken;
    the basis says so.
    """
    occurrences = _occurrences(text, printed, spans)
    if not occurrences:
        return None
    if len(occurrences) == 1:
        line, position = occurrences[0]
        return line, position, "the only one there"
    key_words = _stems(key[1])
    likeness = []
    for line, position in occurrences:
        begin = max(0, position - 90)
        near = text.lines[line][begin : position + 90]
        shared = key_words & _stems(near)
        likeness.append(len(shared))
    best = max(likeness)
    alike = likeness.count(best)
    basis = f"the first of {alike} alike"
    if alike == 1:
        basis = f"the nearest in words of {len(occurrences)}"
    line, position = occurrences[likeness.index(best)]
    return line, position, basis


def _occurrences(
    text: Text,
    printed: str,
    spans: Iterable[Span],
) -> list[tuple[int, int]]:
    """Line and position of each place of a number or of words, in their order."""
    number = witnesses.normalised(printed)
    occurrences = set()
    for span in spans:
        for line in range(*span):
            words = text.lines[line]
            for token in witnesses.numbers(words):
                if token.text == number:
                    occurrences.add((line, token.position))
            for position in witnesses.phrases(printed, words):
                occurrences.add((line, position))
    return sorted(occurrences)


def _stems(text: str) -> set[str]:
    """The first five letters of the words of four letters or more, small."""
    words = re.findall(r"[a-z]{4,}", text.casefold())
    return {word[:5] for word in words}


def _registered(file: str) -> str:
    """The sha256 of a public file, by its path in the registry.

    Raises: ValueError where the registry does not have it.
    """
    registry = files.data() / "registry.csv"
    with registry.open(encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            if row["path"] == file:
                return row["sha256"]
    raise ValueError(f"{file} is not in data/registry.csv")


def of_paper(paper: str, text: Text) -> list[Row]:
    """A witness for each cell of a paper, in the order of the printed tables, sealed.

    paper: its name, as tigerscore.
    """
    by_table: dict[str, list[Cell]] = {}
    for key, printed in witnesses.cells(paper).items():
        by_table.setdefault(key[0], []).append((key, printed))
    rows = []
    for table, cells in by_table.items():
        found_at = _witnesses_of_table(paper, table, cells, text)
        for (key, printed), witness in zip(cells, found_at, strict=True):
            row = dict(zip(("table", *KEY), key, strict=True))
            row |= witness
            row["seal"] = witnesses.seal(row, printed, text.sha256)
            rows.append(row)
    return rows


def _witnesses_of_table(
    paper: str,
    table: str,
    cells: Cells,
    text: Text,
) -> Iterator[Row]:
    """Where each cell of a table or of the text's claims stands, or why nowhere, one a
    cell.

    table: its name, as table_04 or text_claims.
    """
    # table_04 has the caption "Table 4"
    kind, _, number = table.partition("_")
    caption = f"{kind.capitalize()} {number.lstrip('0')}"
    section = PRINTED_IN.get((paper, table))
    drawn = FIGURE_FILES.get((paper, table))
    claims = table == "text_claims"
    placed: Placed = {}
    if not claims and not section and not drawn:
        numeric = []
        for key, printed in cells:
            if parse(printed).value is not None:
                numeric.append((key, printed))
        after = AFTER.get((paper, table), "")
        placed = of_table(text, numeric, text.span(caption), after)
    for key, printed in cells:
        source, _, _ = key[1].partition(":")
        file = drawn or FIGURE_FILES.get((paper, source))
        if is_blank(printed):
            yield _witness("an empty cell or a dash")
        elif file:
            sha256 = _registered(file)
            yield _witness(f"read off the file {file}, sha256 {sha256}")
        elif claims:
            yield _in_text(text, key, printed, source)
        elif section:
            yield _in_text(text, key, printed, section)
        else:
            yield _in_table(text, key, printed, placed)


def _witness(
    basis: str,
    line: int | None = None,
    position: int = 0,
) -> Row:
    """Line from 1, position and basis as a row has them; line and position empty
    without a place.

    line: from 0, or None for no place.
    """
    if line is None:
        return {"line": "", "position": "", "basis": basis}
    return {"line": str(line + 1), "position": str(position), "basis": basis}


def _in_text(
    text: Text,
    key: Key,
    printed: str,
    section: str,
) -> Row:
    """The witness of a cell that the running text gives.

    section: the place that the cell names.
    """
    place = of_sentence(text, key, printed, text.span(section))
    if place is None:
        return _witness(f"not found as a number or as words in {section}")
    line, position, basis = place
    return _witness(f"in {section}: {basis}", line, position)


def _in_table(
    text: Text,
    key: Key,
    printed: str,
    placed: Placed,
) -> Row:
    """The witness of a cell of a table whose numbers have been placed; words are looked
    for on the line of their row.
    """
    if key in placed:
        place = placed[key]
        return _witness("in its table", place.line, place.position)
    words = on_its_row(text, key, printed, placed)
    if words is None:
        return _witness("not found on its row of the table")
    line, position = words
    return _witness("in its table", line, position)


def _write(
    path: Path,
    columns: Sequence[str],
    rows: Iterable[Row],
) -> None:
    """Write a table as a file, at once or not at all."""
    with files.replacing(path) as fresh, open(fresh, "w", newline="") as handle:
        table = csv.DictWriter(handle, columns, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def _show(paper: str, rows: Sequence[Row]) -> None:
    """Print how many cells have a place, and the reasons of those that have none."""
    reasons = Counter(row["basis"] for row in rows if not row["line"])
    n_placed = len(rows) - reasons.total()
    print(f"{paper}: {n_placed} of {len(rows)} cells have a place")
    for reason, count in reasons.most_common():
        print(f"  {count:4} {reason}")


def main() -> None:
    """Find them, print how many, and write them where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the papers' texts lie")
    parser.add_argument("--write", action="store_true", help="write the witnesses")
    options = parser.parse_args()
    papers = []
    for paper in PAPERS:
        name = f"{paper}.txt"
        text = Text(options.folder / name)
        papers.append({"paper": paper, "file": name, "sha256": text.sha256})
        rows = of_paper(paper, text)
        _show(paper, rows)
        if options.write:
            _write(folder() / paper / "witnesses.csv", witnesses.COLUMNS, rows)
    if options.write:
        _write(folder() / "papers.csv", witnesses.PAPER_COLUMNS, papers)


if __name__ == "__main__":
    main()
