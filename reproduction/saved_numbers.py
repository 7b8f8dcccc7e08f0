"""Makes `data/numbers` of the sets' files and of what outputs asked of their texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.datasets import frame, registry
from nlgeval_lib.datasets.numbers import TEXT, TEXTS
from nlgeval_lib.datasets.numbers.text import digest_of, shape_of

# the sets whose numbers travel
_NAMES = """
summeval topical_chat sfres sfhot bagel openmeva webnlg2020 wmt22_zhen gsm8k
gsm8k_tigerscore self_instruct vicuna_bench mt_bench hhh llmbar pandalm alttest_wax
alttest_lgbteen alttest_mtbench alttest_framing alttest_cebab_aspects
alttest_10k_prompts alttest_cebab_stars alttest_lesion judge_bench_dices_350
judge_bench_dices_990 judge_bench_inferential judge_bench_newsroom judge_bench_recipes
llm_rubric
"""
# the options that give most rows, where there are any
_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "wmt22_zhen": {"systems": "all"},
    "self_instruct": {"stand_ins": True},
}
SETS = {name: _OPTIONS.get(name, {}) for name in _NAMES.split()}
RECORDINGS = (
    "alttest_summeval",
    "acloserlook",
    "llm_summeval",
    "instructscore_wmt22",
    "instructscore_webnlg",
    "gemba_wmt22",
    "prometheus_gpt4",
    "llmbar_judges",
    "pandalm_judges",
    "alttest_judges",
    "llm_rubric_judge",
)
LEFT_OUT = {
    "tigerscore_outputs": "what is read of it is text: locations and explanations"
}
# The scores of texts that are of no set, such as an output that a notebook makes of an
# input: those of encoders alone, which are read by hash wherever they are asked for.
OTHERS = "others"
# what the rule of a metric with weights has in it
_WEIGHTS = "|model:"
# how far processors move the value of such a metric
TOLERANCE = 1e-5
# the columns that hold texts
PROSE = (
    *frame.TEXTS,
    "prompt",
    "text",
    "text_2",
    "output_1",
    "output_2",
    "feedback_gpt4_0",
    "feedback_gpt4_1",
    "feedback_gpt4_2",
)
# an item, the digests of its texts -> its value, and the reason where it has none
Items = Mapping[tuple[bytes, ...], tuple[float, str]]


class Places:
    """The texts of a set, each once, in the order in which they come.

    digests: of texts that have a place already.
    of: digest -> place. rows: digest, characters, words and shape of each new place.
    """

    def __init__(self, digests: Sequence[bytes] = ()) -> None:
        self.of: dict[bytes, int] = {}
        for place, digest in enumerate(digests):
            self.of[digest] = place
        self.rows: list[tuple[bytes, int, int, int]] = []

    def at(self, text: str) -> int:
        """The place of a text; a new text gets the next one."""
        digest = digest_of(text)
        if digest not in self.of:
            self.of[digest] = len(self.of)
            lengths = len(text), len(text.split()), shape_of(text)
            self.rows.append((digest, *lengths))
        return self.of[digest]


def put(folder: Path, name: str, loaded: pd.DataFrame, hashes: bool) -> Places:
    """Write the rows of a set and the table of its texts; the places of its texts.

    hashes: whether the SHA-256 of each text is kept; a recording's texts are known by
    their places, for their hashes would be most of the bundle.
    """
    places = Places()
    columns: dict[str, Any] = {}
    for column, values in loaded.items():
        if column == "references":
            columns[f"{TEXTS}{column}"] = [
                list(map(places.at, texts)) for texts in values
            ]
        elif column in PROSE:
            at = [places.at(text) for text in values]
            columns[f"{TEXT}{column}"] = np.array(at, dtype=np.int32)
        else:
            columns[str(column)] = values
    _write(folder / f"{name}.rows.parquet", pd.DataFrame(columns))
    if places.rows:
        _write_texts(folder / f"{name}.texts.parquet", places, hashes)
    return places


def put_scores(
    folder: Path, name: str, places: Places, scores: Mapping[str, Items]
) -> None:
    """Write the values that outputs asked for of a set's texts; items with a text that
    is not of this set are passed over.
    """
    rows: list[tuple[str, list[int], float, str]] = []
    # In a fixed order, so that the same scores make the same file.
    for rule in sorted(scores):
        rows_of_rule = []
        for item, (value, reason) in scores[rule].items():
            if all(digest in places.of for digest in item):
                at = [places.of[digest] for digest in item]
                rows_of_rule.append((rule, at, value, reason))
        rows += sorted(rows_of_rule, key=lambda row: row[1])
    if rows:
        table = pd.DataFrame(rows, columns=["rule", "item", "value", "reason"])
        _write(folder / f"{name}.scores.parquet", table, split=["value"])


def joined(
    fresh: Mapping[str, Items], earlier: Mapping[str, Items]
) -> dict[str, dict[tuple[bytes, ...], tuple[float, str]]]:
    """New scores, an encoder's value as it was where the two differ by no more than
    `TOLERANCE`: so the bundle is the same from every processor.
    """
    scores = {}
    for rule, new in fresh.items():
        items = dict(new)
        before = earlier.get(rule, {})
        for item, (value, _) in new.items():
            is_moved = item in before and abs(value - before[item][0]) <= TOLERANCE
            if _WEIGHTS in rule and is_moved:
                items[item] = before[item]
        scores[rule] = items
    return scores


def put_others(
    folder: Path, sets: Sequence[Places], scores: Mapping[str, Items]
) -> None:
    """Write the encoders' scores of items that are of no set, and the hashes of their
    texts.
    """
    import pyarrow

    left: dict[str, dict[tuple[bytes, ...], tuple[float, str]]] = {}
    for rule, items in scores.items():
        if _WEIGHTS not in rule:
            continue
        for item, score in items.items():
            if not any(all(text in places.of for text in item) for places in sets):
                left.setdefault(rule, {})[item] = score
    texts: set[bytes] = set()
    for items in left.values():
        texts.update(*items)
    digests = sorted(texts)
    if digests:
        column = pyarrow.array(digests, pyarrow.binary(32))
        table = pyarrow.table({"sha256": column})
        _save(folder / f"{OTHERS}.texts.parquet", table)
        put_scores(folder, OTHERS, Places(digests), left)


def _write_texts(path: Path, places: Places, hashes: bool) -> None:
    """Write the table of texts: a row a place."""
    import pyarrow

    digests, characters, words, shapes = zip(*places.rows, strict=True)
    columns = {}
    if hashes:
        columns["sha256"] = pyarrow.array(digests, pyarrow.binary(32))
    columns["characters"] = pyarrow.array(characters, pyarrow.int32())
    columns["words"] = pyarrow.array(words, pyarrow.int32())
    columns["shape"] = pyarrow.array(shapes, pyarrow.uint8())
    _save(path, pyarrow.table(columns))


def _write(path: Path, table: pd.DataFrame, split: list[str] | None = None) -> None:
    """Write a frame; its lists of whole numbers take 32 bits each. split: as `_save`
    has it.
    """
    import pyarrow

    columns = pyarrow.Table.from_pandas(table, preserve_index=False)
    for number, field in enumerate(columns.schema):
        if pyarrow.types.is_list(field.type):
            cast = columns[field.name].cast(pyarrow.list_(pyarrow.int32()))
            columns = columns.set_column(number, field.name, cast)
    _save(path, columns, split)


def _save(path: Path, table: Any, split: list[str] | None = None) -> None:
    """Write a table of parquet, packed as small as may be."""
    import pyarrow.parquet as parquet

    options: dict[str, Any] = {"compression": "zstd", "compression_level": 19}
    if split:
        plain = [name for name in table.column_names if name not in split]
        options |= {"use_dictionary": plain, "use_byte_stream_split": split}
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, path, row_group_size=50_000, **options)


def describe(
    folder: Path, commit: str, encoders: Mapping[str, Mapping[str, str]]
) -> None:
    """Write `sets.csv` (a row a set: sources, licence, hash of its files, what is left
    out) and `about.json`.

    encoders: label in the rules -> its id on the model hub and its weights' hash.
    """
    import pyarrow.parquet as parquet

    from nlgeval_lib import datasets

    rows = []
    for name in [*SETS, *RECORDINGS, *LEFT_OUT]:
        entries = [registry.entry(path) for path in datasets.files(name)]
        hashes = "\n".join(f"{entry.sha256}  {entry.path}" for entry in entries)
        path = folder / f"{name}.scores.parquet"
        count = parquet.read_metadata(path).num_rows if path.is_file() else 0
        rows.append(
            {
                "set": name,
                "kept": "no" if name in LEFT_OUT else "yes",
                "left out": LEFT_OUT.get(name, "all texts"),
                "scores": count,
                "files": len(entries),
                "sha256 of the list of files": hashlib.sha256(
                    hashes.encode()
                ).hexdigest(),
                "repositories": _joined(entry.repository for entry in entries),
                "commits": _joined(entry.commit for entry in entries),
                "licence": _joined(entry.licence for entry in entries),
            }
        )
    text = pd.DataFrame(rows).to_csv(index=False, lineterminator="\n")
    files.write_text(folder / "sets.csv", text)
    about = {"commit": commit, "encoders": encoders}
    files.write_text(folder / "about.json", json.dumps(about, indent=1) + "\n")


def _joined(values: Any) -> str:
    """Values with semicolons between them, each once; empty ones are left out."""
    return "; ".join(dict.fromkeys(value for value in values if value))
