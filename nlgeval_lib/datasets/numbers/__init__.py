"""`data/numbers`: ratings, lengths, hashes of texts and the scores by these hashes, for
machines where the files of a set are not. It holds no text.

Each set has up to three tables: NAME.rows (the frame, a text as its place), NAME.texts
(hash, lengths, shape of each) and NAME.scores (of metrics and parsers).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Sequence
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
    """The sets whose numbers this process took, since their texts are not here; sorted."""
    return sorted(_used)


def about() -> dict[str, Any]:
    """What is known of the numbers: `commit`, the last one that changed them or their
    code, and `encoders`, whose scores they have, with hashes of weights.
    """
    return dict(json.loads((folder() / "about.json").read_text(encoding="utf-8")))


def _table(name: str, kind: str) -> Any:
    """One of a set's tables; None where there is none."""
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
    """Those items (tuples of texts of one set) that have a saved score under a rule ->
    (value, reason why there is none).

    rule: a metric's settings and part, or a parser and its scale.
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
    """All that is saved under a rule, of the sets whose texts' hashes are kept; empty
    where the package that reads the tables is not installed.
    """
    saved: ByDigest = {}
    try:
        for name in _scored_sets():
            digests = saved_digests(name)
            for places, score in _scores(name, rule).items() if digests else ():
                saved[tuple(map(digests.__getitem__, places))] = score
    except ImportError:
        return {}
    return saved


def _scored_sets() -> list[str]:
    paths = sorted(folder().glob("*.scores.parquet"))
    return [path.name.removesuffix(".scores.parquet") for path in paths]


def all_saved() -> dict[str, ByDigest]:
    """All saved scores of texts whose hashes are kept (not recordings'), by rule."""
    rules: dict[str, None] = {}
    for name in _scored_sets():
        if saved_digests(name):
            rules |= dict.fromkeys(_table(name, "scores")["rule"].unique().to_pylist())
    return {rule: _scores_by_digest(rule) for rule in rules}


def saved_digests(name: str) -> list[bytes]:
    """The SHA-256 of each text of a set, by its place; empty where none are kept."""
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
    table = parquet.read_table(path, filters=[("rule", "==", rule)])
    items = map(tuple, table["item"].to_pylist())
    values = table["value"].to_numpy().tolist()
    scores = zip(values, table["reason"].to_pylist(), strict=True)
    return dict(zip(items, scores, strict=True))


def text_not_here(rule: str, items: Sequence[tuple[HashedText, ...]]) -> TextNotHere:
    """The error for items (one or more) without a saved score, to be raised."""
    metric = rule.partition("|")[0]
    problem = f"{metric}: {len(items):,} of its values are not among the saved ones"
    return TextNotHere(f"{problem}; {without_texts(items[0][0].name)}")
