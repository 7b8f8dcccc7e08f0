"""Find where each printed cell stands in its paper's text, and write the witnesses.

    python tools/witnesses.py ../shared/papers          show what is found where
    python tools/witnesses.py ../shared/papers --write  and write it

A table's cells are aligned in their order with the numbers between the captions around
its own: as many as can be, next to each other where they are next to each other in the
table, on the line of their row's name. Numbers of the running text are looked for in the
section or caption that the cell names. What is not found has a reason instead of a
place, and no place is guessed.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nlgeval_lib import files
from nlgeval_lib.papers import witnesses
from nlgeval_lib.papers.numbers import is_blank, parse
from nlgeval_lib.papers.tables import KEY, PAPERS, folder

Key = tuple[str, ...]
CAPTION = re.compile(r"\W{0,6}(Table|Figure) (\d+)[.:]")
HEADING = re.compile(
    r"(?:#+ *)?(?:\*\*)?(?:Appendix )?((?:\d{1,2}|[A-L])(?:\.\d+)?)\.?\s+\*{0,2}[A-Z]"
)
NAMED = re.compile(r"(?:#+ *)?\**(abstract|limitations?|ethics[\w ]*)\**\s*$", re.I)
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
FOUND, BESIDE, SAME_ROW = 10.0, 4.0, 3.0  # what a cell at a place is worth


class Span(NamedTuple):
    """Lines of a text, from the first (from 0) to before the last."""

    first: int
    last: int


class Place(NamedTuple):
    """A number of the text: line and position from 0, as compared, its row's name."""

    line: int
    position: int
    text: str
    label: str


class Text:
    """A paper's text, its captions and its sections."""

    def __init__(self, path: Path) -> None:
        self.sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        self.lines = path.read_text(encoding="utf-8").splitlines()
        self.captions: dict[str, int] = {}
        for number, line in enumerate(self.lines):
            if found := CAPTION.match(line):
                name = f"{found[1]} {found[2]}"
                self.captions.setdefault(name, number)
        self.sections = _sections(self.lines)

    def around(self, caption: str) -> list[Span]:
        """The lines between a caption and those before and after it."""
        here = self.captions[caption]
        others = [-1, *sorted(self.captions.values()), len(self.lines)]
        before = max(number for number in others if number < here)
        after = min(number for number in others if number > here)
        return [Span(before + 1, here + 1), Span(here, after)]

    def span(self, place: str) -> list[Span]:
        """The lines of what a cell calls its place; none where it is not found."""
        if place.endswith(" caption"):
            line = self.captions.get(place.removesuffix(" caption"))
            return [] if line is None else [Span(line, line + 1)]
        if place in self.captions:
            return self.around(place)
        name = place.replace("section ", "").replace("appendix ", "")
        return [self.sections[name]] if name in self.sections else []

    def places(self, span: Span, after: str = "") -> list[Place]:
        """The numbers of these lines; `after`: what must stand before a number."""
        found = []
        label = ""
        opened = False
        for number in range(*span):
            line = self.lines[number]
            shown = witnesses.visible(line)
            html = line.lstrip().startswith("<t")
            if "<tr" in line:
                opened = True
            elif not html or opened:
                words = shown.split("\t")[0] if "\t" in shown else shown
                label = words if any(map(str.isalpha, words)) else label
                opened = opened and not label
            for token in witnesses.numbers(line):
                if not re.search(after, shown[: token.position]):
                    continue
                found.append(Place(number, token.position, token.text, _letters(label)))
        return found


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _sections(lines: Sequence[str]) -> dict[str, Span]:
    """Where each numbered or named section stands, its subsections included."""
    starts: list[tuple[str, int]] = []
    current = "0"
    marked = sum(line.startswith("#") for line in lines) > len("abstract")
    for number, line in enumerate(lines):
        if found := NAMED.match(line):
            name = found[1].casefold()
            name = "limitations" if name.startswith("limitation") else name.split()[0]
            starts.append((name, number))
        elif marked and not line.startswith("#"):
            continue
        elif (found := HEADING.match(line)) and _follows(found[1], current):
            current = found[1]
            starts.append((current, number))
    spans: dict[str, Span] = {}
    for place, (name, first) in enumerate(starts):
        later = starts[place + 1 :]
        ends = [line for other, line in later if not other.startswith(f"{name}.")]
        spans[name] = Span(first, min(ends, default=len(lines)))
    return spans


def _follows(name: str, current: str) -> bool:
    """Whether a section may come next: its part is the same or the following one."""
    part, _, number = name.partition(".")
    current_part, _, current_number = current.partition(".")
    if part == current_part:
        return bool(number) and int(number) - int(current_number or 0) in (1, 2)
    if part.isdigit():
        following = current_part.isdigit() and int(part) - int(current_part) == 1
    elif current_part.isdigit():
        following = part == "A" and int(current_part) >= 4
    else:
        following = ord(part) - ord(current_part) == 1
    return following and number in ("", "1")


def aligned(
    cells: Sequence[tuple[Key, str]], places: Sequence[Place]
) -> tuple[float, dict[Key, Place]]:
    """The places of cells that stand in this order, and what the alignment is worth."""
    if not places or not cells:
        return 0.0, {}
    texts = np.array([place.text for place in places])
    size = len(places)
    best = np.zeros(size + 1)  # the best of all that ends before a place
    came = [np.full(size + 1, -1)]
    previous = np.full(size, -np.inf)
    steps = []
    for key, printed in cells:
        here = texts == witnesses.normalised(printed)
        names = [_letters(name.rpartition("|")[2]) for name in key[1:3]]
        named = np.array([_is_named(names, place.label) for place in places])
        beside = np.full(size, -np.inf)
        beside[1:] = previous[:-1] + BESIDE
        score = np.where(here, np.maximum(best[:-1], beside) + FOUND, -np.inf)
        score = score + SAME_ROW * named
        steps.append(np.where(beside > best[:-1], 1, 0))
        reached = np.maximum.accumulate(np.concatenate([[0.0], score]))
        best, previous = np.maximum(best, reached), score
        came.append(score)
    return _traced(cells, places, came[1:], steps)


def _is_named(names: Iterable[str], label: str) -> bool:
    return any(name and name in label for name in names)


def _traced(
    cells: Sequence[tuple[Key, str]],
    places: Sequence[Place],
    scores: Sequence[np.ndarray],
    steps: Sequence[np.ndarray],
) -> tuple[float, dict[Key, Place]]:
    """The best alignment, read from its end."""
    total = max(float(score.max()) for score in scores)
    if total == -np.inf:
        return 0.0, {}
    found: dict[Key, Place] = {}
    number = max(range(len(cells)), key=lambda one: (scores[one].max(), -one))
    place = int(scores[number].argmax())
    while True:
        found[cells[number][0]] = places[place]
        if steps[number][place]:
            number, place = number - 1, place - 1
            continue
        if not number or not place:
            break
        tops = [float(score[:place].max()) for score in scores[:number]]
        if max(tops) <= 0:
            break
        number = int(np.argmax(tops))
        place = int(scores[number][:place].argmax())
    return total, found


def of_table(
    text: Text, cells: Sequence[tuple[Key, str]], spans: Iterable[Span], after: str
) -> dict[Key, Place]:
    """Where the cells of a table stand: on the better end of its caption, in the order
    in which more of them are found.
    """
    columns = list(dict.fromkeys(key[2] for key, _ in cells))
    statistics = list(dict.fromkeys(key[3] for key, _ in cells))
    rows = list(dict.fromkeys(key[1] for key, _ in cells))
    orders: list[Callable[[Key], tuple[int, ...]]] = [
        lambda key: (),
        lambda key: (columns.index(key[2]),),
        lambda key: (statistics.index(key[3]),),
        lambda key: (columns.index(key[2]), statistics.index(key[3])),
        lambda key: (statistics.index(key[3]), columns.index(key[2])),
        lambda key: (rows.index(key[1]), statistics.index(key[3])),
    ]
    found: tuple[float, dict[Key, Place]] = (0.0, {})
    for span in spans:
        places = text.places(span, after)
        for order in orders:
            ranks = {key: order(key) for key, _ in cells}
            ordered = sorted(cells, key=lambda cell: ranks[cell[0]])
            found = max(found, aligned(ordered, places), key=lambda one: one[0])
    placed = found[1]
    if after:
        places = [place for span in spans for place in text.places(span, after)]
        for key, printed in cells:
            wanted = witnesses.normalised(printed)
            free = {place for place in places if place.text == wanted}
            free -= {*placed.values()}
            if key not in placed and len(free) == 1:
                placed[key] = free.pop()
    return placed


def on_its_row(
    text: Text, key: Key, printed: str, placed: dict[Key, Place]
) -> tuple[int, int] | None:
    """Where the words of a cell stand last on the line of its row's numbers."""
    lines = {place.line for other, place in placed.items() if other[:2] == key[:2]}
    if len(lines) != 1:
        return None
    line = lines.pop()
    found = witnesses.phrases(printed, text.lines[line])
    return (line, found[-1]) if found else None


def of_sentence(
    text: Text, key: Key, printed: str, spans: Iterable[Span]
) -> tuple[int, int, str] | None:
    """Line, position and basis of a number or of words in a section; None where they
    do not stand there.
    """
    found = []
    for span in spans:
        for line in range(*span):
            for token in witnesses.numbers(text.lines[line]):
                if token.text == witnesses.normalised(printed):
                    found.append((line, token.position))
            for position in witnesses.phrases(printed, text.lines[line]):
                found.append((line, position))
    found = sorted(set(found))
    if not found:
        return None
    if len(found) == 1:
        return (*found[0], "the only one there")
    wanted = {word[:5] for word in re.findall(r"[a-z]{4,}", key[1].casefold())}
    likeness = []
    for line, position in found:
        near = text.lines[line][max(0, position - 90) : position + 90].casefold()
        words = {word[:5] for word in re.findall(r"[a-z]{4,}", near)}
        likeness.append(len(wanted & words))
    best = max(likeness)
    if likeness.count(best) == 1:
        basis = f"the nearest in words of {len(found)}"
    else:
        basis = f"the first of {likeness.count(best)} alike"
    return (*found[likeness.index(best)], basis)


def _registered(file: str) -> str:
    with open(files.data() / "registry.csv", encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            if row["path"] == file:
                return row["sha256"]
    raise ValueError(f"{file} is not in data/registry.csv")


def of_paper(paper: str, text: Text) -> list[dict[str, str]]:
    """A witness for each cell of a paper."""
    by_table: dict[str, list[tuple[Key, str]]] = {}
    for key, printed in witnesses.cells(paper).items():
        by_table.setdefault(key[0], []).append((key, printed))
    rows = []
    for table, cells in by_table.items():
        kind, _, number = table.partition("_")
        caption = f"{kind.capitalize()} {number.lstrip('0')}"
        place = PRINTED_IN.get((paper, table), caption)
        spans = text.span(place)
        drawn = FIGURE_FILES.get((paper, table))
        placed = {}
        if table != "text_claims" and place == caption and not drawn:
            numeric = [cell for cell in cells if parse(cell[1]).value is not None]
            placed = of_table(text, numeric, spans, AFTER.get((paper, table), ""))
        for key, printed in cells:
            file = drawn or FIGURE_FILES.get((paper, key[1].partition(":")[0]))
            line, position, basis = "", "", ""
            in_text = table == "text_claims" or place != caption
            if is_blank(printed):
                basis = "an empty cell or a dash"
            elif file:
                basis = f"read off the file {file}, sha256 {_registered(file)}"
            elif key in placed:
                line, position = str(placed[key].line + 1), str(placed[key].position)
                basis = "in its table"
            elif in_text:
                name = key[1].partition(":")[0] if table == "text_claims" else place
                told = of_sentence(text, key, printed, text.span(name))
                basis = f"not found as a number or as words in {name}"
                if told:
                    line, position = str(told[0] + 1), str(told[1])
                    basis = f"in {name}: {told[2]}"
            elif row_place := on_its_row(text, key, printed, placed):
                line, position = str(row_place[0] + 1), str(row_place[1])
                basis = "in its table"
            else:
                basis = "not found on its row of the table"
            names = dict(zip(("table", *KEY), key, strict=True))
            row = names | {"line": line, "position": position, "basis": basis}
            rows.append(row | {"seal": witnesses.seal(row, printed, text.sha256)})
    return rows


def _write(path: Path, columns: Sequence[str], rows: Iterable[dict[str, str]]) -> None:
    with files.replacing(path) as made, open(made, "w", newline="") as handle:
        out = csv.DictWriter(handle, columns, lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def main() -> None:
    """Find them, print how many, and write them where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the papers' texts lie")
    parser.add_argument("--write", action="store_true", help="write the witnesses")
    options = parser.parse_args()
    known = []
    for paper in PAPERS:
        text = Text(options.folder / f"{paper}.txt")
        known.append(
            {"paper": paper, "file": f"{paper}.txt", "sha256": text.sha256},
        )
        rows = of_paper(paper, text)
        without = Counter(row["basis"] for row in rows if not row["line"])
        print(
            f"{paper}: {len(rows) - without.total()} of {len(rows)} cells have a place"
        )
        for basis, count in without.most_common():
            print(f"  {count:4} {basis}")
        if options.write:
            _write(folder() / paper / "witnesses.csv", witnesses.COLUMNS, rows)
    if options.write:
        _write(folder() / "papers.csv", witnesses.PAPER_COLUMNS, known)


if __name__ == "__main__":
    main()
