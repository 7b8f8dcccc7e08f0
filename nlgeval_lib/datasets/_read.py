"""Verified files as values. Only a line feed ends a line: texts may hold other separators."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nlgeval_lib.datasets import fetch
from nlgeval_lib.datasets.errors import DataUnavailable


def text(relpath: str) -> str:
    """The file's text."""
    return fetch.path(relpath).read_bytes().decode("utf-8")


def json_file(relpath: str) -> Any:
    """The JSON value in a file."""
    return json.loads(fetch.path(relpath).read_bytes())


def json_lines(relpath: str) -> list[Any]:
    """The JSON values in a file that has one a line; blank lines are skipped."""
    return [json.loads(line) for line in fetch.path(relpath).read_bytes().split(b"\n") if line.strip()]


def embedded(data_set: str, path: Path, label: str, fields: tuple[str, ...]) -> list[dict[str, Any]]:
    """The records of a file that belongs to the repository, one a line, each with all of `fields`.

    label: the file's name for messages. Raises: DataUnavailable without the file; ValueError naming a broken line.
    """
    if not path.is_file():
        raise DataUnavailable(
            f"{data_set} is unavailable: {label} is not in this checkout; restore it from the repository"
        )
    records = []
    for number, line in enumerate(path.read_bytes().removesuffix(b"\n").split(b"\n"), start=1):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{label}, line {number}: not JSON: {error}") from None
        missing = [field for field in fields if field not in record]
        if missing:
            raise ValueError(f"{label}, line {number}: no field {', '.join(missing)}")
        records.append(record)
    return records
