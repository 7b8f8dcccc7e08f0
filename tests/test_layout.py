"""Imports run one way, and importing the package stays cheap."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nlgeval_lib

PACKAGE = Path(nlgeval_lib.__file__).parent
BASE = {"schema", "paths", "files", "cache", "names", "notebook"}
BESIDE = {"papers", "report", "figures", "provenance", "catalogue"}

# part -> the other parts of nlgeval_lib that it may import
ALLOWED: dict[str, set[str]] = {
    **{part: BASE for part in BASE},
    **{part: BASE for part in ("datasets", "parsers", "store", "prompts")},
    "engines": BASE | {"parsers", "store", "prompts"},
    "evaluators": BASE | {"datasets", "parsers", "store", "prompts", "engines"},
    "training": BASE | {"datasets", "parsers", "store", "prompts", "engines", "evaluators", "meta"},
    "meta": set(),
    **{part: BASE | BESIDE | {"datasets"} for part in BESIDE},
    "catalogue": BASE | {"datasets", "evaluators"},  # their names
}
# these may import anything
TOP = {
    "experiments",
    "study",
    "run",
    "runner",
    "cli",
    "scoring",
}


def part_of(path: Path) -> str:
    """The part of the package that a file belongs to: its folder or module name."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    """Every part of nlgeval_lib that a file imports, at its top or inside a function."""
    package = ("nlgeval_lib", *path.relative_to(PACKAGE).with_suffix("").parts)[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            head = package[: len(package) - node.level + 1] if node.level else ()
            stem = ".".join((*head, *([node.module] if node.module else [])))
            names = [f"{stem}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            steps = name.split(".")
            if steps[0] == "nlgeval_lib" and len(steps) > 1:
                found.add(steps[1])
    return found


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py" or path.parent != PACKAGE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_one_way(path: Path) -> None:
    part = part_of(path)
    assert part in ALLOWED or part in TOP, f"{part} is new: give it a place in tests/test_layout.py"
    if part in TOP:
        return
    parts = {entry.stem for entry in PACKAGE.iterdir()}
    wrong = (imported_parts(path) & parts) - ALLOWED[part] - {part}
    assert not wrong, f"{path.relative_to(PACKAGE)} imports {sorted(wrong)}; {part} may import {sorted(ALLOWED[part])}"


def test_the_library_imports_no_tool() -> None:
    named = re.compile(r"^\s*(?:from|import) tools\b", re.M)
    assert [str(path) for path in FILES if named.search(path.read_text(encoding="utf-8"))] == []


HEAVY = ("torch", "vllm", "transformers", "sentence_transformers", "shap", "sklearn", "matplotlib", "bert_score")


@pytest.mark.parametrize(
    "module",
    ["nlgeval_lib", "nlgeval_lib.evaluators", "nlgeval_lib.engines", "nlgeval_lib.datasets", "nlgeval_lib.cli"],
)
def test_importing_is_cheap(module: str) -> None:
    code = f"import sys, {module}; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_names_a_local_path() -> None:
    """Sources hold no absolute path of somebody's machine."""
    root = PACKAGE.parent
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    needles = ("/ho" + "me/", "/ro" + "ot/", "/Us" + "ers/", "/wo" + "rk/")
    suffixes = {".py", ".md", ".toml", ".sh", ".yml", ".ipynb", ".json", ".csv", ".txt"}
    found = []
    for name in listed.stdout.splitlines():
        file = root / name
        if file.suffix not in suffixes or not file.exists() or name == "data/registry.csv":
            continue
        content = file.read_text(encoding="utf-8")
        found += [f"{name}: {needle}" for needle in needles if needle in content]
    assert not found
