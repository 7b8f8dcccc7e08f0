"""Write environment.yml: what pyproject.toml declares, at the versions of the lock,
for conda users.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GROUPS = ("stats", "judges", "notebooks", "train", "ray", "dev")
HEAD = """\
# Written by tools/environment.py from pyproject.toml and requirements/base.txt; `make lock` renews it.
# conda env create -f environment.yml && conda run -n nlgeval pip install --no-deps -e .
# For judges on a GPU: conda run -n nlgeval pip install {vllm}
name: nlgeval
channels:
  - conda-forge
dependencies:
  - python=3.11
  - pip
  - make
  - pip:
"""


def name(requirement: str) -> str:
    """The normalised name of the package that a requirement asks for."""
    return re.sub(r"[-_.]+", "-", re.split(r"[<>=!~;\[ ]", requirement)[0]).lower()


def locked(group: str) -> dict[str, str]:
    """Package -> exact version in the lock of `group`."""
    lines = (
        (ROOT / f"requirements/{group}.txt").read_text(encoding="utf-8").splitlines()
    )
    versions = {}
    for line in lines:
        pin, _, _ = line.partition(";")
        package, equal, version = pin.strip(" \\").partition("==")
        if equal:
            versions[name(package)] = version
    return versions


def text() -> str:
    """The content that environment.yml must have."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        *(each for group in GROUPS for each in extras[group]),
    ]
    versions = locked("base")
    pins = [f"      - {name(each)}=={versions[name(each)]}\n" for each in wanted]
    return HEAD.format(vllm=extras["gpu"][0]) + "".join(pins)


if __name__ == "__main__":
    (ROOT / "environment.yml").write_text(text(), encoding="utf-8")
