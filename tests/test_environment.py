"""pyproject.toml, the locks, environment.yml and the Makefile agree."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from nlgeval_lib.runner import stale

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCK_GROUPS = {
    "cpu": ("notebooks", "train", "dev", "cpu-serve"),
    "gpu": ("notebooks", "train", "dev", "gpu"),
    "base": ("notebooks", "train", "dev"),
}


def pins(lines: list[str]) -> dict[str, str]:
    """name -> version for each `name==version` line, names normalised."""
    found = {}
    for line in lines:
        match = re.match(r"^([A-Za-z0-9._-]+)==([^\s;]+)", line.strip())
        if match:
            found[re.sub(r"[-_.]+", "-", match[1]).lower()] = match[2]
    return found


@pytest.mark.parametrize("name", LOCK_GROUPS)
def test_lock_holds_every_pin(name: str) -> None:
    locked = pins((ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8").splitlines())
    wanted = pins(PROJECT["dependencies"])
    for group in LOCK_GROUPS[name]:
        wanted |= pins(EXTRAS[group])
    assert {package: locked.get(package) for package in wanted} == wanted


@pytest.mark.parametrize("name", LOCK_GROUPS)
def test_lock_names_no_place(name: str) -> None:
    text = (ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8")
    assert not re.search(r"https?:|file:|--index|--find-links|\+cpu", text)


def test_cpu_lock_has_no_cuda() -> None:
    locked = pins((ROOT / "requirements/cpu.txt").read_text(encoding="utf-8").splitlines())
    assert not [name for name in locked if name.startswith(("nvidia-", "triton", "torchvision", "torchaudio"))]


def test_environment_yml_is_pyproject() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    pip = next(entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    expected = list(PROJECT["dependencies"])
    for group in ("notebooks", "train", "dev"):
        expected += EXTRAS[group]
    assert sorted(pip) == sorted(expected)
    assert not [line for line in pip if line.startswith("-")]


def test_vllm_groups_are_declared_to_conflict() -> None:
    assert [{"extra": "gpu"}, {"extra": "cpu-serve"}] in PYPROJECT["tool"]["uv"]["conflicts"]


def test_every_file_beside_the_code_is_installed_and_decides_what_is_stale() -> None:
    package = ROOT / "nlgeval_lib"
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"]["nlgeval_lib"]
    installed = {path for pattern in patterns for path in package.glob(pattern)}
    beside = {p for p in package.rglob("*") if p.is_file() and p.suffix != ".py" and "__pycache__" not in p.parts}
    assert beside == installed and {path.suffix for path in beside} <= set(stale.LIBRARY)


TARGETS = """
setup data test reproduce-all reproduce-<paper> quick scoreboard lab bench lint clean distclean
"""


def test_make_help_lists_every_target_in_one_line() -> None:
    done = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    listed = [line[1] for line in lines if line[:1] == ["make"]]
    assert len(listed) == len(set(listed))
    assert set(TARGETS.split()) <= set(listed)
    assert all(len(line) > 3 for line in lines)
