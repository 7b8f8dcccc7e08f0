"""The scores of a run as a file: the user's columns, the scores beside them, and a record of where they come from."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.scoring.readers import InputError, format_of, is_missing, present
from nlgeval_lib.scoring.rows import IDS, RATING, REFERENCES, TEXTS, Rows

RECORD = ".meta.json"  # after the name of the file with the scores


def apart(output: str, *inputs: str, why: str = "") -> None:
    """Passes where an output file is none of the inputs. Raises: InputError."""
    for one in inputs:
        same = os.path.realpath(output) == os.path.realpath(one)
        if same or (os.path.exists(output) and os.path.exists(one) and os.path.samefile(output, one)):
            raise InputError(f"{output} is the input itself{why}; name another file to write to")


def writable(*paths: str) -> None:
    """Passes where these files can be written: better known now than when the work is done. Raises: InputError."""
    for path in filter(None, paths):
        try:
            files.check(path)
        except OSError as error:
            raise InputError(error.strerror or str(error)) from None


def table(path: str, what: str = "scores") -> None:
    """Passes where a file's name says a format that rows are written in. Raises: InputError naming those there are."""
    if format_of(path) == "json":
        raise InputError(f"{path}: {what} are written as jsonl, csv, tsv or parquet")


def names(column: str) -> tuple[str, ...]:
    """The columns that a run adds: value, status, reason, details; or NAME, NAME_status, NAME_reason, NAME_details."""
    return (column, *((part if column == "value" else f"{column}_{part}") for part in ("status", "reason", "details")))


def check(data: Rows, path: str, column: str) -> None:
    """Passes where the scores can be written to `path`. Raises: InputError naming the column or the format."""
    table(path)
    taken = [name for name in names(column) if name in data.columns]
    if taken:
        raise InputError(
            f"{data.name} has a column {taken[0]!r} already, which the scores have too; give them a name: --column NAME"
        )


def joined(data: Rows, scored: pd.DataFrame, column: str, only_scores: bool = False) -> pd.DataFrame:
    """The user's rows with their scores.

    Added: value, status, reason; from the details, what is one text or number; `details`, JSON of the rest. The columns
    that say which row it is (`input_id`, `system_id`, `aspect`, `human`) have the project's names where they were
    mapped or filled. only_scores: leave out the texts.
    """
    texts = {data.theirs.get(name, name) for name in (*TEXTS, *REFERENCES) if name != "aspect"}
    kept: dict[str, Any] = {
        name: data.given[name].tolist() for name in data.given.columns if not (only_scores and name in texts)
    }
    for name in (*IDS, "aspect", RATING):
        if name in data.frame.columns and data.theirs.get(name) != name and name not in kept:
            kept[name] = present(data.frame[name])
    value, status, reason, details = names(column)
    kept[value] = scored["value"].to_numpy()
    kept[status], kept[reason] = scored["status"].tolist(), scored["reason"].tolist()
    if "details" in scored.columns:
        simple, rest = _split(scored["details"].tolist(), prefix="" if column == "value" else f"{column}_", taken=kept)
        kept |= simple
        if any(rest):
            kept[details] = rest
    return pd.DataFrame(kept)


def _split(
    details: Sequence[Mapping[str, Any]], prefix: str, taken: Iterable[str]
) -> tuple[dict[str, list[Any]], list[dict[str, Any]]]:
    """Details that are one text, number or truth in every row that has them, as columns; and the others, a row each."""
    taken = {*taken}
    simple: dict[str, list[Any]] = {}
    for name in dict.fromkeys(name for row in details for name in row):
        values = [row.get(name) for row in details]
        flat = all(value is None or isinstance(value, (str, int, float, bool)) for value in values)
        if flat and prefix + name not in taken and any(value not in (None, "") for value in values):
            simple[prefix + name] = [_spelt_out(value) for value in values]
    rest = [
        {name: value for name, value in row.items() if prefix + name not in simple and value not in (None, "", (), {})}
        for row in details
    ]
    return simple, rest


def write(frame: pd.DataFrame, path: str) -> None:
    """The frame as a file of the format that its name says, whole or not at all. Raises: OSError."""
    kind = format_of(path)
    with files.replacing(path) as tmp:
        if kind == "parquet":
            _parquet(frame).to_parquet(tmp, index=False)
            return
        columns = [files.whole(str(column)) for column in frame.columns]
        rows = frame.itertuples(index=False, name=None)
        with open(tmp, "w", encoding="utf-8", newline="") as out:
            if kind == "jsonl":
                out.writelines(files.json_lines(dict(zip(columns, row, strict=True)) for row in rows))
            else:
                writer = csv.writer(out, delimiter="\t" if kind == "tsv" else ",", lineterminator="\n")
                writer.writerow(columns)
                writer.writerows([_field(value) for value in row] for row in rows)


def _spelt_out(value: Any) -> Any:
    """The value without half characters, which no file can hold."""
    if isinstance(value, (list, tuple)):
        return [files.whole(text) for text in value]
    return files.whole(value) if isinstance(value, str) else value


def _field(value: Any) -> Any:
    """The value as a field of CSV: nothing where it is missing, JSON where it is no text or number."""
    if is_missing(value):
        return ""
    if isinstance(value, (str, int, float, np.number)):
        return files.whole(value) if isinstance(value, str) else value
    held = files.plain(value)
    if isinstance(held, (str, int, float)):
        return held
    return json.dumps(held, ensure_ascii=False) if held else ""


def _parquet(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with columns that parquet can hold: of one type each; JSON text where a column has several."""
    columns: dict[str, Any] = {}
    for name in frame.columns:
        values = present(frame[name].tolist())
        kinds = {type(value) for value in values if value is not None}
        lists = kinds <= {list, tuple} and all(isinstance(text, str) for value in values for text in value or ())
        if not (lists or (len(kinds) <= 1 and kinds <= {str, bool, int, float}) or kinds == {int, float}):
            held = [files.plain(value) for value in values]
            values = [v if v is None or isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in held]
        columns[files.whole(str(name))] = [_spelt_out(value) for value in values]
    return pd.DataFrame(columns)


# -- the record --------------------------------------------------------------------------------------------------------


def record_of(path: str | Path) -> dict[str, Any]:
    """What was recorded beside a file of scores; empty where nothing was, or where the file has changed."""
    beside = Path(f"{path}{RECORD}")
    try:
        found = json.loads(beside.read_text(encoding="utf-8"))
        same = found["sha256"] == hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return found if same and isinstance(found.get("scores"), dict) else {}


def write_record(path: str, earlier: Mapping[str, Any], column: str, facts: Mapping[str, Any]) -> None:
    """Record beside a file of scores where its scores come from; those of the file that it was made from stay.

    Nothing in it names a place on the machine or holds a secret. Raises: OSError.
    """
    from nlgeval_lib.scoring import provenance

    scores = {**(earlier.get("scores") or {}), column: provenance.clean(files.plain(facts))}
    record = {"sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest(), "scores": scores}
    files.write_text(f"{path}{RECORD}", json.dumps(record, ensure_ascii=False, indent=1) + "\n")
