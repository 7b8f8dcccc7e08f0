"""Write environment.yml and environment-gpu.yml: every package of a lock at its exact
version, for conda users. `make lock` calls it.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# PyPI's torch for Linux brings CUDA; pip takes the CPU build of the same version here.
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
# the file for conda -> the group of the lock that it is made of
LOCKS = {"environment.yml": "cpu", "environment-gpu.yml": "gpu"}
# what stands before the list of packages
HEAD = """\
# Written by tools/environment.py from requirements/{lock}.txt; `make lock` renews it.
# {what}
# conda env create -f {file} && conda run -n {name} pip install --no-deps -e .
name: {name}
channels:
  - conda-forge
dependencies:
  - python=3.11
  - pip
  - make
  - pip:
"""
# by group: the second line of the file, which machine it is for
WHAT = {
    "cpu": "For machines without a CUDA device; judges run with transformers or "
    "behind a server.",
    "gpu": "For Linux with a CUDA device: the same with vLLM.",
}


def name(requirement: str) -> str:
    """The normalised name of the package that a requirement asks for.

    Example:
    >>> name("Scikit_Learn[extra] >= 1.5; python_version > '3.11'")
    'scikit-learn'
    """
    package, *_ = re.split(r"[<>=!~;\[ ]", requirement)
    return re.sub(r"[-_.]+", "-", package).lower()


def locked(group: str) -> dict[str, str]:
    """Package -> exact version in the lock of `group`."""
    lock = ROOT / f"requirements/{group}.txt"
    versions = {}
    for line in lock.read_text(encoding="utf-8").splitlines():
        # a line is `package==version ; marker \`, a hash, or a comment; the last two
        # have no `==`
        pin, _, _ = line.partition(";")
        package, equal, version = pin.strip(" \\").partition("==")
        if equal:
            versions[name(package)] = version
    return versions


def text(file: str) -> str:
    """The content that a file must have; `file`: a name of `LOCKS`."""
    lock = LOCKS[file]
    environment = "nlgeval" if lock == "cpu" else f"nlgeval-{lock}"
    head = HEAD.format(lock=lock, what=WHAT[lock], file=file, name=environment)
    lines = []
    if lock == "cpu":
        lines.append(f"--extra-index-url {CPU_BUILDS}")
    for package, version in sorted(locked(lock).items()):
        lines.append(f"{package}=={version}")
    listed = [f"      - {line}\n" for line in lines]
    return head + "".join(listed)


if __name__ == "__main__":
    for file in LOCKS:
        (ROOT / file).write_text(text(file), encoding="utf-8")
