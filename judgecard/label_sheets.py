"""A sheet of rows that people are to rate, drawn at random, and its answers."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judgecard import rated_columns
from nlgeval_lib.files import replacing
from nlgeval_lib.scoring.cells import InputError, as_number, inert, is_missing
from nlgeval_lib.scoring.columns import RATING, REFERENCES
from nlgeval_lib.scoring.rows import Rows, read

ITEM = "item"
ANSWER = "rating"
PROBABILITY = "draw_probability"
_SHOWN = ("instruction", "source", "context", *REFERENCES, "output", "aspect", "rubric")
_MOST_STRATA = 12  # a column of more numbers is cut into quarters
_DIGITS = 12


def sheet(rows: Rows, n: int, by: str = "", seed: int = 0) -> pd.DataFrame:
    """The rows that people are to rate, in random order; a larger n has all rows of a
    smaller one.

    n: rows in all. by: the column whose values are strata, each with as many rows as
    the others, as far as it has them; "" for rows at random.
    Returns: `item`, the texts that the rows have, an empty `rating`, and
    `draw_probability`, the chance by which the row is in the sheet, in (0, 1].
    Raises: InputError for rows without outputs, and an unknown column of strata.
    """
    items = _items(rows)
    population = np.flatnonzero(~rows.frame["output"].map(is_missing).astype(bool))
    strata = _strata(rows, by)[population]
    chosen = []
    chances = []
    for place, (stratum, number) in enumerate(_allotted(strata, n).items()):
        members = population[strata == stratum]
        # one order a stratum, of which a larger draw takes more
        order = np.random.default_rng([seed, place]).permutation(members)
        chosen += order[:number].tolist()
        chances += [number / len(members)] * number
    texts = [name for name in _SHOWN if name in rows.frame]
    table = rows.frame[texts].iloc[chosen].map(_as_text).reset_index(drop=True)
    table.insert(0, ITEM, [items[place] for place in chosen])
    table = table.assign(**{ANSWER: "", PROBABILITY: chances})
    # by its digest, so that a row's place says nothing of its stratum
    return table.sort_values(ITEM, ignore_index=True)


def _strata(rows: Rows, by: str) -> np.ndarray:
    """The stratum of each row, as a text."""
    if not by:
        return np.full(len(rows), "", dtype=object)
    ours = rows.ours(by)
    if ours not in rows.frame:
        raise InputError(f"--by {rows.lacks(by)}")
    column = rows.frame[ours]
    if column.nunique() > _MOST_STRATA:
        with contextlib.suppress(InputError):
            ranks = pd.Series(rows.numbers(ours)).rank(pct=True)
            column = np.ceil(4 * ranks)
    return column.astype(str).to_numpy(dtype=object)


def _allotted(strata: np.ndarray, n: int) -> dict[str, int]:
    """How many rows of each stratum are drawn."""
    names, sizes = np.unique(strata.astype(str), return_counts=True)
    numbers = dict.fromkeys(map(str, names), 0)
    remaining = min(n, int(sizes.sum()))
    while remaining:
        for name, size in zip(map(str, names), sizes, strict=True):
            if remaining and numbers[name] < size:
                numbers[name] += 1
                remaining -= 1
    return numbers


def _items(rows: Rows) -> list[str]:
    """A name a row, of its place and its output.

    Raises: InputError for rows without outputs.
    """
    if "output" not in rows.theirs:
        raise InputError(f"{rows.name} has no outputs to rate: --map output=COLUMN")
    texts = rows.only(lambda name: name == "output").frame["output"]
    items = []
    for place, text in enumerate(texts):
        digest = hashlib.sha256(f"{place}\n{text}".encode()).hexdigest()
        items.append(digest[:_DIGITS])
    return items


def _as_text(cell: Any) -> str:
    """A cell as a rater reads it."""
    if isinstance(cell, list | tuple):
        return "\n".join(map(str, cell))
    if is_missing(cell):
        return ""
    return str(inert(str(cell)))


def written(path: str, drawn: pd.DataFrame) -> int:
    """Write a sheet; what is answered in one that is there stays answered.

    Returns: how many rows are answered.
    Raises: InputError for answers of rows that are not drawn; OSError.
    """
    if Path(path).exists():
        answers = _answers(path).set_index(ITEM)[ANSWER]
        rated_items = answers[answers != ""].to_dict()
        unknown = rated_items.keys() - set(drawn[ITEM])
        if unknown:
            raise InputError(
                f"{path} has {len(unknown)} answers of rows that are not drawn now: "
                "give the file, --by and --seed of its draw and no smaller --n, or "
                "another --output"
            )
        ratings = [rated_items.get(item, "") for item in drawn[ITEM]]
        drawn = drawn.assign(**{ANSWER: ratings})
    with replacing(path, private=True) as partial:
        drawn.to_csv(partial, index=False, lineterminator="\n")
    return int((drawn[ANSWER] != "").sum())


def _answers(path: str) -> pd.DataFrame:
    """The items, answers and chances of a sheet."""
    table = read(path).frame
    for name in (ITEM, ANSWER, PROBABILITY):
        if name not in table:
            raise InputError(f"{path} is no sheet of nlgeval label: no {name!r}")
    if table[ITEM].duplicated().any():
        raise InputError(f"{path} has an item twice")
    texts = table[ANSWER].map(_as_text).str.strip()
    chances = table[PROBABILITY].map(as_number)
    return table[[ITEM]].assign(**{ANSWER: texts, PROBABILITY: chances})


def joined(rows: Rows, paths: Sequence[str]) -> Rows:
    """The rows with what people answered in sheets: one sheet's answers are `human`;
    those of several are a rater each, and `human` is their mean.

    Raises: InputError for rows that are rated already, a sheet of other rows, and
    sheets that were drawn apart.
    """
    rated = rated_columns.ratings_in(rows.theirs)
    if rated:
        column = rows.theirs[rated[0]]
        raise InputError(
            f"{rows.name} has ratings already, and --sheet gives others: "
            f"--without {column!r}"
        )
    places = {item: place for place, item in enumerate(_items(rows))}
    columns: dict[str, list[Any]] = {}
    chances: list[Any] = [None] * len(rows)
    drawn: list[set[str]] = []
    for path in paths:
        name = f"{ANSWER} in {Path(path).name}"
        answers = _answers(path)
        unknown = set(answers[ITEM]) - places.keys()
        if unknown:
            raise InputError(
                f"{path} has {len(unknown)} items that are not in {rows.name}; is it "
                "the file that they were drawn from, read with the same --map?"
            )
        cells: list[Any] = [None] * len(rows)
        for item, text, chance in answers.to_numpy():
            cells[places[item]] = text or None
            chances[places[item]] = max(chance, chances[places[item]] or 0.0)
        columns[name] = cells
        drawn.append(set(answers[ITEM]))
    if any(items - max(drawn, key=len) for items in drawn):
        raise InputError(
            f"{', '.join(paths)} were drawn apart; give raters sheets of one --seed"
        )
    return _with_columns(rows, columns, chances)


def _with_columns(
    rows: Rows, answers: Mapping[str, list[Any]], chances: list[Any]
) -> Rows:
    """The rows with columns of answers, and of the chances of the draw."""
    added = {**answers, PROBABILITY: chances}
    columns = pd.DataFrame(added, rows.given.index, dtype=object)
    given = pd.concat([rows.given, columns], axis=1)
    sources: dict[str, Sequence[str]] = {**rows.plan.sources, RATING: [*answers]}
    if len(answers) > 1:
        for number, name in enumerate(answers, start=1):
            sources[f"rater_{number}"] = [name]
    sources[PROBABILITY] = [PROBABILITY]
    why = {**dict.fromkeys(sources, "said"), **rows.plan.why}
    plan = replace(rows.plan, sources=sources, why=why)
    return replace(rows, given=given, plan=plan)


def unequal(frame: pd.DataFrame) -> str:
    """That rows were drawn with different chances, in words; "" where they were not."""
    if PROBABILITY not in frame:
        return ""
    chances = frame[PROBABILITY].dropna().astype(float)
    if chances.empty or chances.max() - chances.min() < 1e-9:
        return ""
    return (
        f"rows were drawn with chances from {chances.min():.3g} to {chances.max():.3g}, "
        "and agreement is that of the rows as drawn, not weighed by these chances: a "
        "judge that errs most among rows that were seldom drawn looks better than it is "
        "on the whole file (nlgeval estimate weighs)"
    )
