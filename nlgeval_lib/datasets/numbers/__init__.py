"""`data/numbers`: ratings, lengths, hashes of texts and the scores by these hashes, for
machines where the files of a set are not.

It holds no text. Each set has up to three tables: NAME.rows (the frame, a text as its
place), NAME.texts (a row a text: hash, lengths, shape) and NAME.scores (what metrics
and parsers gave these texts). `rows` puts the first two together: each text is a
`HashedText`. `saved_scores` looks up the third by such texts.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.datasets.numbers.text import (
    SHAPES,
    HashedText,
    TextNotHere,
    digest_of,
    outline,
    without_texts,
)

__all__ = [
    "HashedText",
    "TextNotHere",
    "digest_of",
    "has",
    "outline",
    "rows",
    "saved_scores",
    "scores_of_texts",
    "used",
    "without_texts",
]

TEXT = "text:"  # before the name of a column that holds one text's place
TEXTS = "texts:"  # before the name of a column that holds several
_used: dict[str, None] = {}  # sets that this process took from the bundle
# the digests of an item's texts, or their places -> (value, why there is none)
ByDigest = dict[tuple[bytes, ...], tuple[float, str]]
ByPlace = dict[tuple[int, ...], tuple[float, str]]


def folder() -> Path:
    """Where the numbers lie in the checkout."""
    return files.data() / "numbers"


def has(name: str) -> bool:
    """Whether the numbers of a data set or recording travel with the checkout."""
    return (folder() / f"{name}.rows.parquet").is_file()


def used() -> list[str]:
    """The sets whose numbers this process took, since their texts are not here;
    sorted.
    """
    return sorted(_used)


def about() -> dict[str, Any]:
    """What is known of the numbers: `commit`, the last one that changed them or the
    code that made them, and `encoders`, whose scores they have, with hashes of weights.
    """
    return dict(json.loads((folder() / "about.json").read_text(encoding="utf-8")))


def _table(name: str, kind: str) -> Any:
    """One of a set's tables, as it lies: no folder is taken for a partition. None where
    there is none.
    """
    import pyarrow.parquet as parquet

    path = folder() / f"{name}.{kind}.parquet"
    return parquet.ParquetFile(path).read() if path.is_file() else None


def rows(name: str) -> pd.DataFrame:
    """All rows of a set as its loader gives them with the options that give most; each
    text is a `HashedText`, an empty one is "".

    Raises: FileNotFoundError where the set is not among the numbers.
    """
    table = _table(name, "rows")
    if table is None:
        raise FileNotFoundError(f"no {name}.rows.parquet in {folder()}")
    _used[name] = None
    texts = _texts(name)
    columns: dict[str, Any] = {}
    for column, values in table.to_pandas().items():
        kind, _, label = str(column).partition(":")
        if f"{kind}:" == TEXT:
            columns[label] = pd.Series([texts[at] for at in values], dtype=object)
        elif f"{kind}:" == TEXTS:
            of_rows = [tuple(map(texts.__getitem__, places)) for places in values]
            columns[label] = pd.Series(of_rows, dtype=object)
        else:
            columns[str(column)] = values
    return pd.DataFrame(columns)


@functools.lru_cache(maxsize=32)
def _texts(name: str) -> list[HashedText | str]:
    """The texts of a set by their places: a `HashedText`, or "" for an empty one."""
    table = _table(name, "texts")
    if table is None:
        return []
    # a recording's texts are known by their places
    hashes = saved_digests(name)
    if not hashes:
        hashes = [digest_of(f"{name}/{at}") for at in range(len(table))]
    lengths = [table[column].to_pylist() for column in ("characters", "words", "shape")]
    texts: list[HashedText | str] = []
    entries = enumerate(zip(hashes, *lengths, strict=True))
    for at, (digest, characters, words, shape) in entries:
        text = HashedText(name, at, digest, characters, words, SHAPES[shape])
        texts.append(text if characters else "")
    return texts


def saved_scores(
    rule: str, items: Iterable[tuple[HashedText, ...]]
) -> dict[tuple[HashedText, ...], tuple[float, str]]:
    """The saved scores of those items (tuples of texts of one set) that have one under
    a rule: a metric's settings and part, or a parser and its scale.

    Returns: item -> (value, reason why there is none).
    """
    saved = {}
    for item in items:
        score = _scores(item[0].name, rule).get(tuple(text.at for text in item))
        if score is not None:
            saved[item] = score
    return saved


def scores_of_texts(
    rule: str, items: Iterable[tuple[str | HashedText, ...]]
) -> dict[tuple[Any, ...], tuple[float, str]]:
    """As `saved_scores`, whichever set the texts are of and whether or not they are
    here.
    """
    saved = _scores_by_digest(rule)
    scores = {}
    for item in items if saved else ():
        score = saved.get(tuple(map(digest_of, item)))
        if score is not None:
            scores[item] = score
    return scores


@functools.lru_cache(maxsize=16)
def _scores_by_digest(rule: str) -> ByDigest:
    """All that is saved under a rule. Empty where the package that reads the tables is
    not installed.
    """
    try:
        return _by_digest(lambda name: [(rule, _scores(name, rule))]).get(rule, {})
    except ImportError:
        return {}


def all_saved() -> dict[str, ByDigest]:
    """All saved scores of texts whose hashes are kept, by rule; those of recordings are
    not among them.
    """

    def of_set(name: str) -> Iterable[tuple[str, ByPlace]]:
        table = _table(name, "scores")
        rules = table["rule"].to_pylist()
        for rule, (places, score) in zip(rules, _scored(table), strict=True):
            yield rule, {places: score}

    return _by_digest(of_set)


def _by_digest(
    scores: Callable[[str], Iterable[tuple[str, ByPlace]]],
) -> dict[str, ByDigest]:
    """Rule -> scores by digests, of all sets whose texts' hashes are kept.

    scores: gives a set's scores by places, each with its rule.
    """
    saved: dict[str, ByDigest] = {}
    for path in sorted(folder().glob("*.scores.parquet")):
        name = path.name.removesuffix(".scores.parquet")
        digests = saved_digests(name)
        for rule, by_place in scores(name) if digests else ():
            of_rule = saved.setdefault(rule, {})
            for places, score in by_place.items():
                of_rule[tuple(map(digests.__getitem__, places))] = score
    return saved


def saved_digests(name: str) -> list[bytes]:
    """The SHA-256 of each text of a set, by its place; empty for a recording, whose
    hashes are not kept, and for a set without texts.
    """
    table = _table(name, "texts")
    if table is None or "sha256" not in table.column_names:
        return []
    return list(table["sha256"].to_pylist())


@functools.lru_cache(maxsize=64)
def _scores(name: str, rule: str) -> ByPlace:
    """What is saved of one set under one rule, by places; empty where there is none."""
    import pyarrow.parquet as parquet

    path = folder() / f"{name}.scores.parquet"
    if not path.is_file():
        return {}
    return dict(_scored(parquet.read_table(path, filters=[("rule", "==", rule)])))


def _scored(table: Any) -> Iterator[tuple[tuple[int, ...], tuple[float, str]]]:
    """The places of each item's texts, and its (value, reason)."""
    lists = table["item"].combine_chunks()
    flat = iter(lists.flatten().to_numpy().tolist())
    lengths = lists.value_lengths().to_numpy().tolist()
    items = (tuple(itertools.islice(flat, length)) for length in lengths)
    values = table["value"].to_numpy().tolist()
    scores = zip(values, table["reason"].to_pylist(), strict=True)
    return zip(items, scores, strict=True)


def text_not_here(rule: str, items: Sequence[tuple[HashedText, ...]]) -> TextNotHere:
    """The error for items (one or more) without a saved score, to be raised."""
    metric = rule.partition("|")[0]
    problem = f"{metric}: {len(items):,} of its values are not among the saved ones"
    return TextNotHere(f"{problem}; {without_texts(items[0][0].name)}")
