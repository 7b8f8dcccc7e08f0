"""A card's place among the recorded judges: its numbers as rows of the leaderboard.

rows = standing.rows([card.read("card/")])
table = standing.beside(card.read("card/"))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import datasets, files
from nlgeval_lib.card.cards import Card, read
from nlgeval_lib.card.measure import COEFS
from nlgeval_lib.scoring.cells import InputError

# what `study.leaderboard` saved; the numbers of all recorded judges
BOARDS = "results/meta/others_judges__{}.csv"
PAIRS = "pairs"  # the level and the aspect of a judge of pairs


def committed() -> list[Path]:
    """The cards of recorded judges that lie in the checkout (`make cards`)."""
    return sorted((files.data() / "cards").glob("*.json"))


def read_all(paths: Sequence[str | Path]) -> dict[str, Card]:
    """Cards by the name of their file; a folder stands for every card in it.

    Raises: InputError for what is no card; OSError.
    """
    cards = {}
    for path in map(Path, paths):
        chosen = [path]
        if (path / "card.json").is_file():
            chosen = [path / "card.json"]
        elif path.is_dir():
            chosen = sorted(path.glob("*.json"))
        for file in chosen:
            cards[file.as_posix()] = read(file)
    return cards


def verdicts(cards: Mapping[str, Card]) -> pd.DataFrame:
    """A row a card and set: `card, title, judge, engine, set, verdict`."""
    rows = []
    for file, card in cards.items():
        judge = card.numbers["judge"]
        for name in card.numbers["sets"]:
            rows.append(
                {
                    "card": _short(file),
                    "title": card.numbers["title"],
                    "judge": label(card),
                    "engine": str(judge.get("engine", "")),
                    "set": name,
                    "verdict": card.verdict,
                }
            )
    columns = ["card", "title", "judge", "engine", "set", "verdict"]
    return pd.DataFrame(rows, columns=columns)


def rows(cards: Mapping[str, Card]) -> pd.DataFrame:
    """The cards' numbers in the columns of `study.leaderboard`: `set, aspect, level,
    coef, judge, value, ci_low, ci_high, these_low, these_high, systems, n, coverage,
    tied scores, reason, signature, origin`.

    A judge of pairs has the level "pairs" and the coefficient "accuracy".
    """
    listed: list[dict[str, Any]] = []
    for file, card in cards.items():
        for name, numbers in card.numbers["sets"].items():
            about = {
                "set": name,
                "judge": label(card),
                "origin": f"card {_short(file)}",
                "systems": numbers["systems"],
                "coverage": numbers["coverage"]["value"],
            }
            of_set = _of_pairs if numbers["kind"] == PAIRS else _of_ratings
            for row in of_set(numbers):
                listed.append(about | row)
    return pd.DataFrame(listed)


def label(card: Card) -> str:
    """What a card's judge is called in a table."""
    judge = card.numbers["judge"]
    names = (judge.get("model"), judge.get("prompt form"))
    return ", ".join(str(name) for name in names if name) or card.numbers["title"]


def _short(file: str) -> str:
    """A card's file without the places of this machine."""
    path = Path(file)
    if path.name == "card.json":
        return f"{path.parent.name}/card.json"
    return path.name


def _of_ratings(numbers: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for aspect, part in numbers["aspects"].items():
        for level in ("dataset", "input", "system"):
            for name, coef in COEFS.items():
                cell = part.get(level, {}).get(name)
                if cell is None:
                    continue
                place = {"aspect": aspect, "level": level, "coef": coef}
                ties = part["use"].get("ties")
                yield place | _interval(cell) | {"tied scores": ties}


def _of_pairs(numbers: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    cell = _interval(numbers["accuracy"])
    place = {"level": PAIRS, "coef": "accuracy"}
    consistency = numbers.get("swap", {}).get("value")
    yield {"aspect": "all", **place, **cell, "consistency": consistency}
    for subset in numbers["subsets"]:
        yield {"aspect": subset["subset"], **place, **_interval(subset)}


def _interval(cell: Mapping[str, Any]) -> dict[str, Any]:
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


def beside(cards: Mapping[str, Card]) -> pd.DataFrame:
    """The cards' judges among the recorded ones of the same sets, best first: tau-b
    over all outputs, or the accuracy of pairs.

    Columns: set, aspect, judge, measure, value, low, high, n, origin.
    Raises: InputError where no set of the cards has recorded judges.
    """
    own = rows(cards)
    own = own[own["coef"].isin(("kendall-b", "accuracy"))]
    own = own[own["level"].isin(("dataset", PAIRS))]
    boards = _saved_boards()
    same = boards[boards["set"].isin(own["set"])]
    if same.empty:
        known = ", ".join(sorted({*boards["set"]}))
        raise InputError(
            f"no recorded judge of {', '.join(sorted({*own['set']}))}; "
            f"there are judges of {known}"
        )
    table = pd.concat([same, own], ignore_index=True)
    table = table[table["aspect"].isin(own["aspect"])].dropna(subset=["value"])
    table = table.rename(
        columns={"coef": "measure", "ci_low": "low", "ci_high": "high"}
    )
    order = ["set", "aspect", "value"]
    table = table.sort_values(order, ascending=[True, True, False], kind="stable")
    columns = ["set", "aspect", "judge", "measure", "value", "low", "high", "n"]
    return table[[*columns, "origin"]].reset_index(drop=True)


def _saved_boards() -> pd.DataFrame:
    """The recorded judges' tau-b and accuracies, as the leaderboard saved them.

    Raises: DataUnavailable where nothing is saved.
    """
    paths = [files.located(BOARDS.format(name)) for name in ("rated", "pairs")]
    if not all(path.is_file() for path in paths):
        raise datasets.DataUnavailable(
            "no leaderboard is saved here; nlgeval run others_judges makes it"
        )
    rated, paired = map(pd.read_csv, paths)
    rated = rated[(rated["coef"] == "kendall-b") & (rated["level"] == "dataset")]
    paired = paired.rename(columns={"subset": "aspect", "accuracy": "value"})
    paired = paired.assign(coef="accuracy", origin="recorded verdicts")
    return pd.concat([rated, paired], ignore_index=True)
