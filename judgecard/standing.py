"""A card's place among the recorded judges: its numbers as rows of the leaderboard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from judgecard.cards import Card, read
from judgecard.measure import COEFS
from nlgeval_lib import datasets, files
from nlgeval_lib.scoring.cells import InputError

# what `notebooks/others/leaderboard.py` saved; the numbers of all recorded judges
BOARDS = "results/meta/others_judges__{}.csv"
Row = dict[str, Any]
PAIRS = "pairs"  # the level and the aspect of a judge of pairs
_LEVELS = ("dataset", "input", "system")


def committed() -> list[Path]:
    """The files of the recorded judges' cards that lie in the checkout (`make cards`),
    sorted.
    """
    return sorted((files.data() / "cards").glob("*.json"))


def read_all(paths: Sequence[str | Path]) -> dict[str, Card]:
    """Cards by the name of their file; of a folder its card.json, or every card in it.

    Raises: InputError for what is no card; OSError.
    """
    cards = {}
    for path in map(Path, paths):
        files_here = [path]
        if (path / "card.json").is_file():
            files_here = [path / "card.json"]
        elif path.is_dir():
            files_here = sorted(path.glob("*.json"))
        for card_path in files_here:
            cards[card_path.as_posix()] = read(card_path)
    return cards


def verdicts(cards: Mapping[str, Card]) -> pd.DataFrame:
    """A row a card and set: `card, title, judge, engine, set, verdict`, the whole
    sentence of the card.
    """
    columns = ["card", "title", "judge", "engine", "set", "verdict"]
    table = []
    for file, card in cards.items():
        engine = str(card.numbers["judge"].get("engine", ""))
        about = (_short(file), card.numbers["title"], label(card), engine)
        for name in card.numbers["sets"]:
            table.append((*about, name, card.verdict))
    return pd.DataFrame(table, columns=columns)


def rows(cards: Mapping[str, Card]) -> pd.DataFrame:
    """The cards' numbers, a row each, in the columns of the leaderboard.

    A judge of pairs has the level "pairs", the coefficient "accuracy" and one more
    column, `consistency`: how often it keeps its choice when the options change places.
    """
    table: list[Row] = []
    for file, card in cards.items():
        for name, numbers in card.numbers["sets"].items():
            about = {
                "set": name,
                "judge": label(card),
                "origin": f"card {_short(file)}",
                "systems": numbers["systems"],
                "coverage": numbers["coverage"]["value"],
            }
            of_kind = _of_pairs if numbers["kind"] == PAIRS else _of_ratings
            table += [about | row for row in of_kind(numbers)]
    return pd.DataFrame(table)


def label(card: Card) -> str:
    """What a card's judge is called in a table: its model and the form of its prompt,
    or the card's title where neither is known.
    """
    judge = card.numbers["judge"]
    names = filter(None, (judge.get("model"), judge.get("prompt form")))
    return ", ".join(map(str, names)) or card.numbers["title"]


def _short(file: str) -> str:
    """A card's file without the places of this machine."""
    path = Path(file)
    if path.name == "card.json":
        return f"{path.parent.name}/card.json"
    return path.name


def _of_ratings(numbers: Mapping[str, Any]) -> Iterator[Row]:
    """A row an aspect, level and coefficient."""
    for aspect, measured in numbers["aspects"].items():
        for level in _LEVELS:
            cells = measured.get(level, {})
            for name, coef in COEFS.items():
                if name in cells:
                    yield {
                        "aspect": aspect,
                        "level": level,
                        "coef": coef,
                        **_interval(cells[name]),
                        "tied scores": measured["use"].get("ties"),
                    }


def _of_pairs(numbers: Mapping[str, Any]) -> Iterator[Row]:
    """The accuracy over all pairs, then in each subset."""
    about = {"level": PAIRS, "coef": "accuracy"}
    consistency = numbers.get("swap", {}).get("value")
    accuracy = _interval(numbers["accuracy"])
    yield {"aspect": "all", **about, **accuracy, "consistency": consistency}
    for subset in numbers["subsets"]:
        yield {"aspect": subset["subset"], **about, **_interval(subset)}


def _interval(cell: Mapping[str, Any]) -> Row:
    """A cell of a card in the leaderboard's columns."""
    return {
        "value": cell.get("value"),
        "ci_low": cell.get("low"),
        "ci_high": cell.get("high"),
        "these_low": cell.get("low_these"),
        "these_high": cell.get("high_these"),
        "n": cell.get("n"),
        "reason": cell.get("reason", ""),
        "signature": cell.get("signature", ""),
    }


def among_recorded(cards: Mapping[str, Card]) -> pd.DataFrame:
    """The cards' judges among the recorded ones of the same sets, best first: tau-b
    over all outputs, or the accuracy of pairs.

    Returns: a row a judge and aspect: `set, aspect, judge, measure, value, low, high,
    n, origin`; only aspects that a card has.
    Raises: InputError where no set of the cards has recorded judges; DataUnavailable
    where no leaderboard is saved.
    """
    of_cards = rows(cards)
    if of_cards.empty:
        raise InputError(f"no number of a judge in {', '.join(cards)}")
    is_shown = of_cards["coef"].isin(["kendall-b", "accuracy"])
    is_shown &= of_cards["level"].isin(["dataset", PAIRS])
    of_cards = of_cards[is_shown]
    boards = _saved_boards()
    recorded = boards[boards["set"].isin(of_cards["set"])]
    if recorded.empty:
        sets = ", ".join(sorted(set(of_cards["set"])))
        recorded_sets = ", ".join(sorted(set(boards["set"])))
        raise InputError(
            f"no recorded judge of {sets}; there are judges of {recorded_sets}"
        )
    table = pd.concat([recorded, of_cards], ignore_index=True)
    table = table[table["aspect"].isin(of_cards["aspect"])]
    columns = {"coef": "measure", "ci_low": "low", "ci_high": "high"}
    table = table.dropna(subset=["value"]).rename(columns=columns)
    table = table.sort_values(
        ["set", "aspect", "value"],
        ascending=[True, True, False],
        kind="stable",
        ignore_index=True,
    )
    measured = ["set", "aspect", "judge", "measure", "value", "low", "high", "n"]
    return table[[*measured, "origin"]]


def _saved_boards() -> pd.DataFrame:
    """The recorded judges' tau-b and accuracies, as the leaderboard saved them."""
    rated_path = files.located(BOARDS.format("rated"))
    pairs_path = files.located(BOARDS.format("pairs"))
    if not rated_path.is_file() or not pairs_path.is_file():
        raise datasets.DataUnavailable(
            "no leaderboard is saved here; nlgeval run others_judges makes it"
        )
    rated = pd.read_csv(rated_path).query("coef == 'kendall-b' and level == 'dataset'")
    pairs = pd.read_csv(pairs_path)
    pairs = pairs.rename(columns={"subset": "aspect", "accuracy": "value"})
    pairs = pairs.assign(coef="accuracy", origin="recorded verdicts")
    return pd.concat([rated, pairs], ignore_index=True)
