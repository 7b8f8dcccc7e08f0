"""The package as a wheel, in an empty folder, with no checkout around it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from judgecard import saved
from nlgeval_lib import datasets

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DESCRIBED = """
from nlgeval_lib import datasets, files
rows = datasets.describe()
print(files.root(), len(rows), int(rows["here"].sum()), rows["reason"].iloc[0])
"""
LOADED = """
from nlgeval_lib import datasets
print(*datasets.load("topical_chat").shape)
"""


def test_a_wheel_brings_the_registry_and_the_places() -> None:
    [(folder, names)] = PROJECT["tool"]["setuptools"]["data-files"].items()
    assert folder == "share/nlgeval"
    tables = ["data/registry.csv", "data/places.csv", "data/models.toml"]
    assert names == [*tables, f"data/{saved.DEMO}"]
    assert all((ROOT / name).is_file() for name in names)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the wheel; all other packages are ours."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    ignore = shutil.ignore_patterns("__pycache__")
    for house in ("nlgeval_lib", "judgecard"):
        shutil.copytree(ROOT / house, source / house, ignore=ignore)
    [carried] = PROJECT["tool"]["setuptools"]["data-files"].values()
    for name in ("pyproject.toml", "README.md", *carried):
        (source / name).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = ["wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, source]
    subprocess.run([*pip, *build], check=True)
    [wheel] = folder.glob("*.whl")
    place = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    installed = place / "bin/python"
    install = ["--python", installed, "install", "-q", "--no-deps", "--no-index", wheel]
    subprocess.run([*pip, *install], check=True)
    [packages] = place.glob("lib/python*/site-packages")
    (packages / "ours.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return installed


def ran(python: Path, code: str, folder: Path, **variables: str) -> str:
    """What a program printed in an empty folder, with no variable of ours."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **variables}
    return subprocess.run(
        [python, "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.slow
def test_data_sets_are_listed_without_a_checkout(python: Path, tmp_path: Path) -> None:
    words = ran(python, DESCRIBED, tmp_path).split(maxsplit=3)
    assert words[:3] == [str(tmp_path.resolve()), str(len(datasets.NAMES)), "0"]
    assert "is not in data/raw nor in a mirror" in words[3]


@pytest.mark.slow
def test_a_data_set_is_loaded_without_a_checkout(
    python: Path, tmp_path: Path, needs
) -> None:
    needs("topical_chat")
    mirror = datasets.fetch.mirror() or ROOT / "data/raw"
    place = {"NLGEVAL_DATA_MIRROR": str(mirror)}
    expected = datasets.load("topical_chat").shape
    shape = ran(python, LOADED, tmp_path, **place).split()
    assert tuple(map(int, shape)) == expected


@pytest.mark.slow
def test_the_demo_needs_no_checkout(python: Path, tmp_path: Path) -> None:
    code = (
        "from judgecard import saved; saved.write(saved.demo(), '.'); "
        "print(saved.demo()['title'])"
    )
    assert ran(python, code, tmp_path).strip() == saved.demo()["title"]
    assert (tmp_path / "card.html").is_file()
