"""Makes `data/numbers` of the sets' files and of what outputs asked of their texts.

For each set `put` writes rows and texts, and `put_scores` the scores that were asked
for; `describe` writes the table of all sets. The module above it reads them back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.datasets import frame, registry
from nlgeval_lib.datasets.numbers import TEXT, TEXTS
from nlgeval_lib.datasets.numbers.text import digest_of, shape_of

# the sets whose numbers travel, with the options that give most rows
SETS: Mapping[str, Mapping[str, Any]] = {
    "summeval": {},
    "topical_chat": {},
    "sfres": {},
    "sfhot": {},
    "bagel": {},
    "openmeva": {},
    "webnlg2020": {},
    "wmt22_zhen": {"systems": "all"},
    "gsm8k": {},
    "gsm8k_tigerscore": {},
    "self_instruct": {"stand_ins": True},
    "vicuna_bench": {},
    "mt_bench": {},
    "hhh": {},
    "llmbar": {},
    "pandalm": {},
    "alttest_wax": {},
    "alttest_lgbteen": {},
    "alttest_mtbench": {},
    "alttest_framing": {},
    "alttest_cebab_aspects": {},
    "alttest_10k_prompts": {},
    "alttest_cebab_stars": {},
    "alttest_lesion": {},
    "judge_bench_dices_350": {},
    "judge_bench_dices_990": {},
    "judge_bench_inferential": {},
    "judge_bench_newsroom": {},
    "judge_bench_recipes": {},
    "llm_rubric": {},
}
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
    "tigerscore_outputs": "what is read of it is text: locations and explanations",
}
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

    of: digest -> place, from 0. rows: digest, characters, words and shape of each
    place.
    """

    def __init__(self) -> None:
        self.of: dict[bytes, int] = {}
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
    """Write the rows of a set and the table of its texts.

    folder: of the bundle.
    name: of the set.
    loaded: its frame, with all texts.
    hashes: whether the SHA-256 of each text is kept; a recording's texts are known by
    their places, for their hashes would be most of the bundle.
    Returns: the places of the texts, by which `put_scores` finds them.
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
) -> int:
    """Write the values that outputs asked for of a set's texts.

    scores: rule -> items; those with a text that is not of this set are passed over.
    Returns: how many values were written.
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
    return len(rows)


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
    """Write a table of parquet, packed as small as may be.

    split: columns of floats whose bytes are stored one place of all values after the
    other, which packs better.
    """
    import pyarrow.parquet as parquet

    options: dict[str, Any] = {"compression": "zstd", "compression_level": 19}
    if split:
        plain = [name for name in table.column_names if name not in split]
        options |= {"use_dictionary": plain, "use_byte_stream_split": split}
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, path, row_group_size=50_000, **options)


def describe(folder: Path, counts: Mapping[str, int], commit: str) -> None:
    """Write `sets.csv` (a row a set: sources, licence, hash of its files, what is left
    out) and `about.json`.

    counts: set -> how many scores were written of it.
    commit: that the numbers were made at.
    """
    from nlgeval_lib import datasets

    rows = []
    for name in [*SETS, *RECORDINGS, *LEFT_OUT]:
        entries = [registry.entry(path) for path in datasets.files(name)]
        hashes = "\n".join(f"{entry.sha256}  {entry.path}" for entry in entries)
        rows.append(
            {
                "set": name,
                "kept": "no" if name in LEFT_OUT else "yes",
                "left out": LEFT_OUT.get(name, "all texts"),
                "scores": counts.get(name, 0),
                "files": len(entries),
                "sha256 of the list of files": _sha256(hashes),
                "repositories": _joined(entry.repository for entry in entries),
                "commits": _joined(entry.commit for entry in entries),
                "licence": _joined(entry.licence for entry in entries),
            }
        )
    text = pd.DataFrame(rows).to_csv(index=False, lineterminator="\n")
    files.write_text(folder / "sets.csv", text)
    files.write_text(folder / "about.json", json.dumps({"commit": commit}) + "\n")


def _joined(values: Any) -> str:
    """Values with semicolons between them, each once; empty ones are left out."""
    return "; ".join(dict.fromkeys(value for value in values if value))


def _sha256(text: str) -> str:
    """The SHA-256 of a text in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()
