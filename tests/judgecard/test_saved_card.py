"""The demo by its saved numbers: they are what its recording gives, and nothing heavy is
loaded to show them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from cli_tools import run

import judgecard as card
from judgecard import saved, written
from nlgeval_lib import files
from nlgeval_lib.statistics import questions
from tools import recorded_cards

FILES = {"card.json", "card.md", "card.html", "at_a_glance.svg"}


def test_the_saved_numbers_are_what_the_recording_gives() -> None:
    fresh = json.loads(recorded_cards.as_text(card.demo().numbers))
    kept = saved.demo()
    made = {"made": None}
    assert {**kept, **made} == {**fresh, **made}


def test_the_demo_writes_a_whole_card_that_is_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("card", "--demo", "-o", str(tmp_path / "card")) == 0
    assert {path.name for path in tmp_path.glob("card/*")} == FILES
    made = card.read(tmp_path / "card")
    assert made.numbers == saved.demo()
    said = capsys.readouterr()
    assert made.verdict in said.out
    assert "--fresh" in said.err
    assert run("card", "--fresh", "--demo", "--scores", "x") == 2
    assert run("card", "--fresh", "--scores", "x") == 2


def test_the_demo_needs_the_core_alone(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "at_start = {*sys.modules}\n"  # an editable install, a .pth of a package
        "from importlib.metadata import packages_distributions\n"
        "from judgecard import saved\n"
        "saved.write(saved.demo(), sys.argv[1])\n"
        "known = packages_distributions()\n"
        "loaded = {*sys.modules} - at_start\n"
        "for name in {module.partition('.')[0] for module in loaded} & {*known}:\n"
        "    print(known[name][0])\n"
    )
    call = [sys.executable, "-c", code, str(tmp_path)]
    ran = subprocess.run(call, capture_output=True, text=True, check=True)
    loaded = {name.lower() for name in ran.stdout.split()}
    project = tomllib.loads((files.root() / "pyproject.toml").read_text())["project"]
    core = {re.split(r"[\[<>=]", line)[0].lower() for line in project["dependencies"]}
    brought = {"markupsafe", "webencodings", "tinycss2"}  # by jinja2, by bleach
    assert loaded - {"nlgeval-lib"} <= core | brought
    assert {"mistune", "bleach", "jinja2"} <= loaded


def test_the_demo_loads_no_package_of_numbers(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from judgecard import saved\n"
        "saved.write(saved.demo(), sys.argv[1])\n"
        "heavy = {'numpy', 'pandas', 'matplotlib', 'scipy', 'torch', 'pytest'}\n"
        "print(*sorted(heavy & {*sys.modules}))\n"
    )
    call = [sys.executable, "-c", code, str(tmp_path)]
    ran = subprocess.run(call, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


def test_the_command_loads_no_package_of_numbers(tmp_path: Path) -> None:
    call = [sys.executable, "-X", "importtime", "-m", "nlgeval_lib", "card", "--demo"]
    call += ["-o", str(tmp_path)]
    ran = subprocess.run(call, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}
    assert "judgecard.saved" in loaded
    assert loaded.isdisjoint({"numpy", "pandas", "matplotlib", "scipy", "torch"})


def test_a_page_and_the_statistics_call_the_same_width_everything() -> None:
    assert written.EVERYTHING == questions.EVERYTHING
