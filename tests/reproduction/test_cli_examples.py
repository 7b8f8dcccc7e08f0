"""The examples of `--help` and of the README work as they are printed; what asks a
model is only planned.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
import typer
from cli_tools import call, jsonl

from nlgeval_lib import cli, datasets, files
from reproduction.study import catalogue

RUBRIC = "[Is it good?]\n" + "\n".join(f"Score {n}: level {n}" for n in range(1, 6))
ROOT = Path(__file__).parents[2]
COMMAND = typer.main.get_command(cli.app)
COLUMNS = dict(
    instruction="say it",
    source="a text",
    reference="an answer",
    rubric=RUBRIC,
    task="summ",
    dataset="x",
)


def helps(command=COMMAND, name="nlgeval"):
    """Every command's name and help."""
    yield name, command.help or ""
    for short, part in getattr(command, "commands", {}).items():
        yield from helps(part, f"{name} {short}")


def examples(text):
    """The `nlgeval` lines of a text, continued lines joined, without what is said
    after them.
    """
    joined = re.sub(r"\\\n\s*", "", text)
    for line in joined.splitlines():
        if line.strip().startswith("nlgeval "):
            said = re.split(r"\s{3,}", line.strip())[0]
            yield re.sub(r"\s+#.*", "", said)


IN_HELP = [
    (name, line) for name, text in helps() for line in dict.fromkeys(examples(text))
]
PAGES = ("README.md", "docs/own-data.md", "docs/gpu.md", "docs/judge-card.md")
IN_README = [
    (page, line)
    for page in PAGES
    for line in examples((ROOT / page).read_text(encoding="utf-8"))
]
PLANNED = [
    line
    for _, line in (*IN_HELP, *IN_README)
    if line.split()[1] in ("score", "completions", "sweep", "build")
]


def parsed(line):
    """The command of a line with its arguments read, as click reads them.

    Raises: click's UsageError.
    """
    words = shlex.split(line)[1:]
    command = COMMAND
    context = COMMAND.make_context("nlgeval", list(words), resilient_parsing=True)
    while hasattr(command, "commands") and words:
        name, command, words = command.resolve_command(context, words)
        # a group may have options of its own, as `card` has
        if not hasattr(command, "commands") or words[0].startswith("-"):
            return name, command.make_context(name, list(words), parent=context)
    raise AssertionError(f"no command in {line!r}")


def test_there_are_examples():
    assert len(IN_HELP) > 30 and len(IN_README) >= 5


@pytest.mark.parametrize(("where", "line"), [*IN_HELP, *IN_README])
def test_an_example_is_a_call_and_names_what_there_is(where, line):
    name, context = parsed(line)
    given = context.params
    outputs = [
        *(given.get("ids") or ()),
        *([given["output"]] if name == "sweep" else ()),
    ]
    assert {*outputs} <= {entry.id for entry in catalogue.load().outputs}
    if name in ("completions", "score") and given["data"]:
        assert given["data"] in datasets.NAMES


@pytest.mark.parametrize("line", PLANNED)
def test_an_example_can_be_planned(monkeypatch, capsys, tmp_path, needs, line):
    name, context = parsed(line)
    given = context.params
    if given.get("data"):
        needs(given["data"])
    if given.get("table") or (name == "completions" and not given["evaluator"]):
        return  # no plan, or a long one; its names are checked above
    if (
        given.get("seeds")
        or given.get("engine") == "replay"
        or given.get("evaluator") == "semscore"
    ):
        # seed rubrics and recordings have tests of their own; semscore loads its model
        return
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NLGEVAL_HOME", str(tmp_path / "state"))
    rows = [
        COLUMNS
        | dict(
            input_id=i // 2,
            system_id=i % 2,
            output=f"o {i}",
            answer=f"o {i}",
            human=i % 5,
        )
        for i in range(12)
    ]
    for file in (
        "my.jsonl",
        "a.jsonl",
        "b.jsonl",
        "c.jsonl",
        "inputs.jsonl",
        "outputs.jsonl",
    ):
        jsonl(tmp_path / file, rows)
    # rows.jsonl and rubric.toml
    assert call(monkeypatch, capsys, "init", ".").code == 0
    for file in ("my.csv", "rated.csv", "scores.csv"):
        pd.DataFrame(rows).to_csv(tmp_path / file, index=False)
    words = shlex.split(line)[1:]
    words += [] if given.get("dry_run") else ["--dry-run"]
    words += (
        ["--limit", "6"]
        if name in ("score", "completions") and given.get("data")
        else []
    )
    if name == "sweep":
        monkeypatch.setattr(files, "results", lambda: tmp_path / "results")
    got = call(monkeypatch, capsys, *words)
    assert got.code == 0, got.err
