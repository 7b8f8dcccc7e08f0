"""A training set on disk: examples, what was removed and why, and a report that names both by their hashes."""

from __future__ import annotations

import hashlib
import html
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib.files import markdown_table, write_text

TRAIN, REMOVED, REPORT, READABLE = "train.jsonl", "removed.jsonl", "report.json", "report.md"


def save(
    folder: Path | str,
    examples: Iterable[Mapping[str, Any]],
    removed: Iterable[Mapping[str, Any]],
    report: Mapping[str, Any],
    readable: str,
) -> Path:
    """Write `train.jsonl`, `removed.jsonl`, `report.md` and, last, `report.json` with the hashes of the others.

    Each file is written whole or not at all, and a set counts only with a report that fits it: a save that is stopped
    leaves the earlier files or a set that `load` refuses, and the stored completions make it again.
    Raises: ValueError for an example without an id, a prompt or a completion; OSError.
    """
    folder, kept = Path(folder), [dict(example) for example in examples]
    for place, example in enumerate(kept):
        if lacking := _lacking(example, "id", "prompt", "completion"):
            raise ValueError(f"example {place} ({example.get('id')!r}) has no {lacking}; nothing was written")
    texts = {TRAIN: _lines(kept), REMOVED: _lines(removed), READABLE: readable.rstrip() + "\n"}
    for name, text in texts.items():
        write_text(folder / name, text)
    files = {name: hashlib.sha256(text.encode("utf-8")).hexdigest() for name, text in texts.items()}
    whole = _plain({**report, "examples": len(kept), "sha256": files})
    write_text(folder / REPORT, json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    return folder


def load(folder: Path | str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The examples and the report of a set that was saved whole.

    Raises: ValueError where a file is missing or is not the one that the report names.
    """
    folder = Path(folder)
    try:
        report = json.loads((folder / REPORT).read_text(encoding="utf-8"))
        found = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in report["sha256"]}
    except FileNotFoundError as error:
        raise ValueError(f"{folder} is no whole training set: no {Path(error.filename).name}; make it again") from None
    for name, wanted in report["sha256"].items():
        if found[name] != wanted:
            raise ValueError(
                f"{folder / name} is not the file that {REPORT} names: a save was stopped, or the file was changed; "
                "make the set again, which asks only what is not stored"
            )
    return read(folder / TRAIN), report


def read(path: Path | str) -> pd.DataFrame:
    """The examples of a JSONL file: one object a line, each with a prompt and a completion; ids are made if absent.

    Raises: ValueError naming the line that is none.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path}: no such file; give a JSONL file with prompt and completion, or a set's folder")
    rows = []
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: not JSON: {error}") from None
            if not isinstance(row, dict):
                raise ValueError(f"{path}, line {number}: a {type(row).__name__}; an object is needed")
            if lacking := _lacking(row, "prompt", "completion"):
                raise ValueError(
                    f"{path}, line {number}: no text in {lacking!r}; each example needs prompt, completion"
                )
            rows.append({"id": f"line-{number}", **row})
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: {error}") from None
    if not rows:
        raise ValueError(f"{path} holds no examples")
    return pd.DataFrame(rows)


def markdown(title: str, tables: Mapping[str, pd.DataFrame], notes: Sequence[str] = ()) -> str:
    """A report for reading: a title, notes, and each table under its heading."""
    return "\n\n".join([f"# {title}", *notes, *(f"## {name}\n\n{_table(table)}" for name, table in tables.items())])


def _table(frame: pd.DataFrame) -> str:
    flat = frame.set_axis([" ".join(map(str, c)) if isinstance(c, tuple) else str(c) for c in frame.columns], axis=1)
    if not isinstance(flat.index, pd.RangeIndex):
        label = str(flat.index.name or "")
        flat.insert(0, label if label not in flat.columns else "index", [str(value) for value in flat.index])
    return markdown_table(flat.columns, ([_cell(value) for value in row] for row in flat.itertuples(index=False)))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.3f}".rstrip("0").rstrip(".")
    return html.escape(" ".join(str(value).split()), quote=False).replace("|", "\\|")


def _lacking(example: Mapping[str, Any], *names: str) -> str:
    return ", ".join(name for name in names if not isinstance(example.get(name), str) or not example[name].strip())


def _lines(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(_plain(record), ensure_ascii=False, allow_nan=False) + "\n" for record in records)


def _plain(value: Any) -> Any:
    """A value as JSON can hold it: NaN is null, numpy's numbers are Python's, lone surrogates are replaced."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, pd.DataFrame):
        return _plain(value.reset_index().to_dict("records"))
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "item"):
        return _plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value
