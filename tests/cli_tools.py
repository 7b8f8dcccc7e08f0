"""What the tests of the command line share."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from nlgeval_lib import cli


class Called(NamedTuple):
    """What a call of `nlgeval` came to."""

    code: int
    out: str
    err: str


def call(monkeypatch: Any, capsys: Any, *arguments: str) -> Called:
    """`nlgeval ARGUMENTS`, through the real entry point."""
    monkeypatch.setattr(sys, "argv", ["nlgeval", *map(str, arguments)])
    capsys.readouterr()
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    got = capsys.readouterr()
    return Called(code, got.out, got.err)


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A JSON Lines file of these rows."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
