"""Write environment.yml from pyproject.toml: the same pins for conda users."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GROUPS = ("notebooks", "train", "dev")


def text() -> str:
    """The content that environment.yml must have."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [
        "# Written by tools/environment.py from pyproject.toml; `make lock` renews it.",
        "# conda env create -f environment.yml && conda run -n nlgeval pip install --no-deps -e .",
        "# For judges on a GPU: conda run -n nlgeval pip install " + project["optional-dependencies"]["gpu"][0],
        "name: nlgeval",
        "channels:",
        "  - conda-forge",
        "dependencies:",
        "  - python=3.11",
        "  - pip",
        "  - make",
        "  - pip:",
    ]
    pins = list(project["dependencies"])
    for group in GROUPS:
        pins += project["optional-dependencies"][group]
    return "\n".join(lines + [f"      - {pin}" for pin in pins]) + "\n"


if __name__ == "__main__":
    (ROOT / "environment.yml").write_text(text(), encoding="utf-8")
