"""EXTENDING.md: its code runs, its commands work, its entry is one that the catalogue takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
from cli_tools import call
from runner_tools import Checkout

from nlgeval_lib.study import catalogue

PAGE = Path(__file__).resolve().parent.parent / "EXTENDING.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NLGEVAL_HOME", str(tmp_path / "state"))
    return tmp_path


def test_the_page_runs_from_top_to_bottom(elsewhere, monkeypatch, capsys):
    space: dict = {"__name__": "page"}
    for number, (language, text) in enumerate(BLOCKS):
        if language == "python":
            exec(compile(text, f"EXTENDING.md, block {number}", "exec"), space)
        elif language == "sh":
            for line in text.splitlines():
                name, *arguments = shlex.split(line)
                assert name == "nlgeval"
                got = call(monkeypatch, capsys, *arguments)
                assert got.code == 0, (line, got.err)
    assert {language for language, _ in BLOCKS} == {"python", "sh", "toml", "bash"}  # bash: tests/test_new_ablation.py


def test_the_evaluator_is_a_plugin_as_it_stands(elsewhere, monkeypatch, capsys):
    [text] = [text for language, text in BLOCKS if language == "python" and "class Copied" in text]
    (elsewhere / "copied.py").write_text(text.partition("\n\nscores = ")[0])
    (elsewhere / "rows.csv").write_text("output,source\na b,a c\n,x\n")
    got = call(monkeypatch, capsys, "score", "--plugin", "copied.py", "-e", "copied", "-i", "rows.csv", "-o", "s.csv",
               "--max-missing", "1")  # fmt: skip
    assert got.code == 0 and "0.5" in (elsewhere / "s.csv").read_text(), got.err


def test_the_entries_are_ones_that_the_catalogue_takes(tmp_path):
    [text] = [text for language, text in BLOCKS if language == "toml"]
    checkout = Checkout(tmp_path)
    (checkout.root / "notebooks" / "ablations").mkdir()
    checkout.notebook("ablations/my_table", "x = 1")
    checkout.catalogue(text)
    [question] = catalogue.load(tmp_path / "notebooks" / "catalogue.toml").questions_of("my_table")
    assert question.name == "n=10" and question.judge.settings == ("task=dialogue", "n=10")


def test_commands_of_the_page_exist():
    from nlgeval_lib.cli import app

    known = typer.main.get_command(app).commands
    assert set(re.findall(r"`?nlgeval ([a-z-]+) ", PAGE.read_text(encoding="utf-8"))) <= known.keys()
