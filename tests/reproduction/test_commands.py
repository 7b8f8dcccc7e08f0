"""What the commands on somebody's own files print, write and end with, frozen:
`cases/commands.jsonl`.

A case is one or more calls in an empty folder with the files of `cases/commands/`: exit
codes, both streams, and the files that were written. Numbers are equal at 1e-6. To
freeze anew what was changed on purpose: `FREEZE=1 pytest tests/reproduction/test_commands.py`, and
look at the difference.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
from cli_tools import KEY, asks, call, cases
from hostile_server import JudgeServer

from nlgeval_lib.scoring import asking

HERE = Path(__file__).parents[1] / "cases"
FILE = HERE / "commands.jsonl"
CASES = cases("commands")
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e-?\d+)?")
# of a record; `git` says nothing here
VOLATILE = (
    "sha256",
    "input_sha256",
    "date",
    "library",
    "git",
    "packages",
    "completions_made_by",
)


def number(prompt: str) -> int:
    """Of the answer that a prompt is about."""
    return int(prompt.split("answer ")[1].split()[0])


JUDGES = {
    "grades": lambda prompt: f"Score: {1 + number(prompt) % 5}",
    "fails": lambda prompt: {1: 400, 3: "no idea"}.get(number(prompt), "Score: 3"),
    "likes": lambda prompt: "It is fine. [RESULT] 4",
    "lists": lambda prompt: (
        "Wit: is it funny?\nTruth: is it true?" if "to list" in prompt else "4"
    ),
    "sums": lambda prompt: str(1 + sum(map(ord, prompt)) % 5),
}


def steady(text: str, server: JudgeServer) -> str:
    """A text without what differs from run to run."""
    text = re.sub(r"\d{4}-\d\d-\d\d", "DAY", text)
    return re.sub(
        r"[\d,]+ tokens/s",
        "N tokens/s",
        text.replace(server.url, "URL").replace(KEY, "KEY"),
    )


def content(path: Path) -> object:
    """What is in a file that was written: text, or the rows of parquet; of a record
    what does not change by itself.
    """
    if path.suffix == ".parquet":
        return json.loads(pd.read_parquet(path).to_json(orient="records"))
    if not path.name.endswith(".meta.json"):
        return path.read_text(encoding="utf-8")
    record = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: {k: v for k, v in one.items() if k not in VOLATILE}
        for name, one in record["scores"].items()
    }


def came(
    case: dict,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> dict:
    """What the calls of a case came to."""
    shutil.copytree(HERE / "commands", folder, dirs_exist_ok=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NLGEVAL_HOME", str(folder / "state"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    before = {
        path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()
    }
    for name in ("_FIRST", "_EVERY", "_SILENT"):  # on a slow machine no line more
        monkeypatch.setattr(asking, name, math.inf)
    server = JudgeServer(JUDGES[case.get("judge", "grades")])
    said = []
    try:
        for words in case["calls"]:
            given = [
                one
                for word in words
                for one in (asks(server) if word == "ASKS" else (word,))
            ]
            with open(
                folder / case.get("stdin", os.devnull), encoding="utf-8"
            ) as stdin:
                monkeypatch.setattr(sys, "stdin", stdin)
                got = call(monkeypatch, capsys, *given)
            said.append(
                {
                    "code": got.code,
                    "out": steady(got.out, server),
                    "err": steady(got.err, server),
                }
            )
    finally:
        server.stop()
    made = [
        path
        for path in sorted(folder.iterdir())
        if path.is_file() and before.get(path.name) != path.read_bytes()
    ]
    made = [path for path in made if path.name not in case.get("ignore", ())]
    found = json.dumps(
        {"said": said, "files": {path.name: content(path) for path in made}}
    )
    found = re.sub(r"[0-9a-f]{64}", "KEY", found)  # they hang on the server's port
    return json.loads(found.replace(f"127.0.0.1:{server.server_address[1]}", "SERVER"))


def same(got: object, wanted: object) -> None:
    """Equal, numbers in texts at 1e-6."""
    got, wanted = (
        json.dumps(one, ensure_ascii=False, indent=1).replace("\\n", "\n")
        for one in (got, wanted)
    )
    assert NUMBER.sub("#", got) == NUMBER.sub("#", wanted)
    for mine, theirs in zip(NUMBER.findall(got), NUMBER.findall(wanted), strict=True):
        assert math.isclose(float(mine), float(theirs), rel_tol=1e-6, abs_tol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_command_says_and_writes_what_it_did(case, tmp_path, monkeypatch, capsys):
    got = came(case, tmp_path, monkeypatch, capsys)
    if os.environ.get("FREEZE"):
        case.update(got)
        FILE.write_text(
            "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in CASES),
            encoding="utf-8",
        )
    same(got, {name: case[name] for name in ("said", "files")})


def test_no_key_is_in_anything_frozen():
    assert KEY not in FILE.read_text(encoding="utf-8")
