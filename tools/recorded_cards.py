"""Cards of the recorded judges for the leaderboard: `data/cards/`, numbers alone; `make
cards`.

python -m tools.recorded_cards [NAME ...]     # those of data/cards/cards.csv; all

Each card is a JSON file, sealed as what its maker wrote. One that differs from the
committed file in date, version and commit alone is left.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pandas as pd

import judgecard as card
from nlgeval_lib import files
from reproduction.report import seal

# significant digits of a number: two machines give the same file
DIGITS = 6


def main(names: list[str]) -> None:
    """Make the cards of these names, or all; write those that differ.

    Raises: SystemExit for a name that cards.csv does not have.
    """
    folder = files.data() / "cards"
    listed = pd.read_csv(folder / "cards.csv", keep_default_na=False)
    unknown = {*names} - {*listed["card"]}
    if unknown:
        raise SystemExit(f"no card {', '.join(sorted(unknown))} in cards.csv")
    for row in listed.itertuples(index=False):
        if names and row.card not in names:
            continue
        judged = card.of_recorded(row.dataset, row.recording, row.judge, row.form)
        path = folder / f"{row.card}.json"
        text = as_text(judged.numbers)
        if path.is_file() and _are_equal(path.read_text(), text):
            print(f"{row.card}: unchanged")
            continue
        files.write_text(path, text)
        sealed = [f"data/cards/{path.name}"]
        seal.renew(sealed, sealed, gone=False)
        print(f"{row.card}: {len(text):,} characters")


def as_text(numbers: Any) -> str:
    """A card's numbers as they are committed, as JSON: rounded, without single outputs.

    numbers: of `card.of_recorded`; they stay as they are.
    """
    rounded = _rounded(numbers)
    rounded["made"].pop("git")  # the commit that has the card says it
    for of_set in rounded["sets"].values():
        # the rows of single outputs, and the page that shows them
        of_set.pop("worst", None)
        of_set.pop("explorer", None)
    return json.dumps(rounded, ensure_ascii=False, indent=1) + "\n"


def _are_equal(saved: str, fresh: str) -> bool:
    """Whether two cards, as their files' texts, differ in nothing but how they were
    made.
    """
    return _apart_from_making(saved) == _apart_from_making(fresh)


def _apart_from_making(text: str) -> Any:
    """A card without what it says of its making: date, version, commit."""
    numbers = json.loads(text)
    numbers.pop("made")
    return numbers


def _rounded(value: Any) -> Any:
    """The same with every number inside rounded."""
    match value:
        case float():
            return float(f"{value:.{DIGITS}g}")
        case dict():
            return {name: _rounded(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_rounded(inner) for inner in value]
        case _:
            return value


if __name__ == "__main__":
    main(sys.argv[1:])
