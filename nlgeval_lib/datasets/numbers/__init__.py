"""`data/numbers`: ratings, lengths, hashes of texts and the scores by these hashes, for
machines where the files of a set are not.

It holds no text. Each set has up to three tables: NAME.rows (the frame, a text as its
place), NAME.texts (a row a text: hash, lengths, shape) and NAME.scores (what metrics
and parsers gave these texts). `rows` puts the first two together: each text is a
`HashedText`, which knows its length and its hash and refuses to be read. `saved_scores`
looks up the third by such texts, `lacking` is the error for what is not in it. `build`
makes the tables, from what `collected` wrote down.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
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


def rows(name: str) -> pd.DataFrame:
    """All rows of a set as its loader gives them with the options that give most.

    name: of a data set or recording.
    Returns: the frame; each text is a `HashedText`, an empty one is "".
    Raises: FileNotFoundError where the set is not among the numbers.
    """
    import pyarrow.parquet as parquet

    _used[name] = None
    texts = _texts(name)
    columns: dict[str, Any] = {}
    # one file, as it lies: no folder is taken for a partition
    table = parquet.ParquetFile(folder() / f"{name}.rows.parquet").read()
    for column, values in table.to_pandas().items():
        kind, _, label = str(column).partition(":")
        if f"{kind}:" == TEXT:
            columns[label] = pd.Series([texts[at] for at in values], dtype=object)
        elif f"{kind}:" == TEXTS:
            of_rows = []
            for places in values:
                of_rows.append(tuple(texts[at] for at in places))
            columns[label] = pd.Series(of_rows, dtype=object)
        else:
            columns[str(column)] = values
    return pd.DataFrame(columns)


@functools.lru_cache(maxsize=32)
def _texts(name: str) -> list[HashedText | str]:
    """The texts of a set by their places: a `HashedText`, or "" for an empty one."""
    import pyarrow.parquet as parquet

    path = folder() / f"{name}.texts.parquet"
    if not path.is_file():
        return []
    table = parquet.ParquetFile(path).read()
    if "sha256" in table.column_names:
        hashes = table["sha256"].to_pylist()
    else:
        # a recording's texts are known by their places
        hashes = [digest_of(f"{name}/{at}") for at in range(len(table))]
    lengths = [table[column].to_pylist() for column in ("characters", "words", "shape")]
    texts: list[HashedText | str] = []
    entries = enumerate(zip(hashes, *lengths, strict=True))
    for at, (digest, characters, words, shape) in entries:
        if characters:
            text = HashedText(name, at, digest, characters, words, SHAPES[shape])
            texts.append(text)
        else:
            texts.append("")
    return texts


def saved_scores(
    rule: str, items: Iterable[tuple[HashedText, ...]]
) -> dict[tuple[HashedText, ...], tuple[float, str]]:
    """The saved scores of those items that have one under a rule.

    rule: a metric's settings and part, or a parser and its scale.
    items: tuples of texts, those of one tuple from one set.
    Returns: item -> (value, reason why there is none); items without a saved score are
    not in it.
    """
    saved: dict[tuple[HashedText, ...], tuple[float, str]] = {}
    for item in items:
        scores = _scores(item[0].name, rule)
        key = tuple(text.at for text in item)
        if key in scores:
            saved[item] = scores[key]
    return saved


def scores_of_texts(
    rule: str, items: Iterable[tuple[str | HashedText, ...]]
) -> dict[tuple[Any, ...], tuple[float, str]]:
    """The saved scores of those items that have one under a rule, whichever set their
    texts are of and whether or not they are here.

    rule: as for `saved_scores`.
    items: tuples of texts, or of what stands for them.
    Returns: item -> (value, reason why there is none).
    """
    saved = _scores_by_digest(rule)
    found = {}
    if saved:
        for item in items:
            score = saved.get(tuple(map(digest_of, item)))
            if score is not None:
                found[item] = score
    return found


@functools.lru_cache(maxsize=16)
def _scores_by_digest(rule: str) -> Mapping[tuple[bytes, ...], tuple[float, str]]:
    """All that is saved under a rule: the digests of an item's texts -> (value,
    reason). Empty where the package that reads the tables is not installed.
    """
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        return {}
    scores: dict[tuple[bytes, ...], tuple[float, str]] = {}
    for path in sorted(folder().glob("*.scores.parquet")):
        name = path.name.removesuffix(".scores.parquet")
        of_set = _scores(name, rule)
        digests = saved_digests(name) if of_set else []
        if digests:
            for places, score in of_set.items():
                scores[tuple(digests[at] for at in places)] = score
    return scores


def all_saved() -> dict[str, dict[tuple[bytes, ...], tuple[float, str]]]:
    """All saved scores of texts whose hashes are kept: rule -> the digests of an item's
    texts -> (value, reason). Those of recordings are not among them.
    """
    import pyarrow.parquet as parquet

    saved: dict[str, dict[tuple[bytes, ...], tuple[float, str]]] = {}
    for path in sorted(folder().glob("*.scores.parquet")):
        name = path.name.removesuffix(".scores.parquet")
        digests = saved_digests(name)
        if not digests:
            continue
        table = parquet.ParquetFile(path).read()
        rules = table["rule"].to_pylist()
        values = table["value"].to_pylist()
        reasons = table["reason"].to_pylist()
        rows = zip(rules, _places(table["item"]), values, reasons, strict=True)
        for rule, places, value, reason in rows:
            item = tuple(digests[at] for at in places)
            saved.setdefault(rule, {})[item] = (value, reason)
    return saved


def saved_digests(name: str) -> list[bytes]:
    """The SHA-256 of each text of a set, by its place; empty for a recording, whose
    hashes are not kept, and for a set without texts.
    """
    import pyarrow.parquet as parquet

    path = folder() / f"{name}.texts.parquet"
    if not path.is_file():
        return []
    file = parquet.ParquetFile(path)
    if "sha256" not in file.schema_arrow.names:
        return []
    return list(file.read(["sha256"])["sha256"].to_pylist())


@functools.lru_cache(maxsize=64)
def _scores(name: str, rule: str) -> Mapping[tuple[int, ...], tuple[float, str]]:
    """What is saved of one set under one rule: the places of an item's texts -> (value,
    reason); empty where the set has no scores.
    """
    import pyarrow.parquet as parquet

    path = folder() / f"{name}.scores.parquet"
    if not path.is_file():
        return {}
    table = parquet.read_table(path, filters=[("rule", "==", rule)])
    items = _places(table["item"])
    values = table["value"].to_numpy().tolist()
    reasons = table["reason"].to_pylist()
    scores = zip(values, reasons, strict=True)
    return dict(zip(items, scores, strict=True))


def _places(column: Any) -> list[tuple[int, ...]]:
    """A column of lists of whole numbers as tuples."""
    lists = column.combine_chunks()
    flat = iter(lists.flatten().to_numpy().tolist())
    lengths = lists.value_lengths().to_numpy().tolist()
    return [tuple(itertools.islice(flat, length)) for length in lengths]


def text_not_here(rule: str, items: Sequence[tuple[HashedText, ...]]) -> TextNotHere:
    """The error for items without a saved score, to be raised.

    items: at least one; the message names the set of the first.
    """
    metric = rule.partition("|")[0]
    problem = f"{metric}: {len(items):,} of its values are not among the saved ones"
    return TextNotHere(f"{problem}; {without_texts(items[0][0].name)}")
