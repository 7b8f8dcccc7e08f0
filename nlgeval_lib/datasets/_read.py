"""Verified files as values. Only a line feed ends a line: texts may hold other separators."""

from __future__ import annotations

import json
from typing import Any

from nlgeval_lib.datasets import fetch


def text(relpath: str) -> str:
    """The file's text."""
    return fetch.path(relpath).read_bytes().decode("utf-8")


def json_file(relpath: str) -> Any:
    """The JSON value in a file."""
    return json.loads(fetch.path(relpath).read_bytes())


def json_lines(relpath: str) -> list[Any]:
    """The JSON values in a file that has one a line; blank lines are skipped."""
    return [json.loads(line) for line in fetch.path(relpath).read_bytes().split(b"\n") if line.strip()]
