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

# each room imports only from rooms of an earlier row, and from itself
FLOORS = (
    {"records", "files", "names", "hub", "on_use", "used_code"},
    {"datasets", "prompts", "parsers", "papers"},
    {"weights"},
    {"engines", "figures"},
    {"evaluators"},
    {"scoring", "training"},
    {"study"},
    {"report"},
    {"card"},
    {"runner"},
    {"cli"},
    {"__main__"},
)
KNOWS_NONE = {
    "meta"
}  # arrays in, results out: it imports on_use alone, and any room may import it
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def module_of(path: Path) -> str:
    """The dotted name of a file of the package."""
    return ".".join(
        ("nlgeval_lib", *path.relative_to(PACKAGE).with_suffix("").parts)
    ).removesuffix(".__init__")


FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = {module_of(path): path for path in FILES}


def imported(path: Path) -> set[str]:
    """Every module of nlgeval_lib that a file imports, at its top or inside a
    function.
    """
    package = ("nlgeval_lib", *path.relative_to(PACKAGE).parts[:-1])
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
            module = name if name in MODULES else name.rpartition(".")[0]
            if module in MODULES:
                found.add(module)
    return found - {module_of(path)}


def room_of(module: str) -> str:
    """The room of a module: its folder, or itself where it stands beside the
    folders.
    """
    return module.split(".")[1] if "." in module else ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_one_way(path: Path) -> None:
    room = room_of(module_of(path))
    others = {room_of(module) for module in imported(path)} - {room, ""}
    if room in KNOWS_NONE or not room:
        assert not others - {"on_use"}
        return
    assert room in FLOOR, f"{room} is new: give it a place in tests/test_layout.py"
    wrong = {other for other in others - KNOWS_NONE if FLOOR[other] >= FLOOR[room]}
    assert not wrong, (
        f"{path.relative_to(PACKAGE)} imports {sorted(wrong)}, which stand no lower than {room}"
    )


def test_no_circle_of_imports() -> None:
    """No module reaches itself; a package's face counts as what it hands on."""
    arrows = {
        module: imported(path)
        for module, path in MODULES.items()
        if path.name != "__init__.py"
    }
    reached = {
        module: {other for other in others if other in arrows}
        for module, others in arrows.items()
    }
    while True:
        wider = {
            module: others.union(*(reached[other] for other in others))
            for module, others in reached.items()
        }
        if wider == reached:
            break
        reached = wider
    assert (
        sorted(module for module, others in reached.items() if module in others) == []
    )


def test_the_library_imports_no_tool() -> None:
    named = re.compile(r"^\s*(?:from|import) tools\b", re.M)
    assert [
        str(path) for path in FILES if named.search(path.read_text(encoding="utf-8"))
    ] == []


HEAVY = (
    "torch",
    "vllm",
    "transformers",
    "sentence_transformers",
    "shap",
    "sklearn",
    "matplotlib",
    "bert_score",
    "ray",
)


@pytest.mark.parametrize(
    "module",
    [
        "nlgeval_lib",
        "nlgeval_lib.evaluators",
        "nlgeval_lib.engines",
        "nlgeval_lib.datasets",
        "nlgeval_lib.cli",
    ],
)
def test_importing_is_cheap(module: str) -> None:
    code = f"import sys, {module}; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_nothing_names_a_local_path() -> None:
    """Sources hold no absolute path of somebody's machine."""
    root = PACKAGE.parent
    listed = subprocess.run(
        ["git", "ls-files"], cwd=root, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    needles = ("/ho" + "me/", "/ro" + "ot/", "/Us" + "ers/", "/wo" + "rk/")
    suffixes = {".py", ".md", ".toml", ".sh", ".yml", ".ipynb", ".json", ".csv", ".txt"}
    found = []
    for name in listed.stdout.splitlines():
        file = root / name
        if (
            file.suffix not in suffixes
            or not file.exists()
            or name == "data/registry.csv"
        ):
            continue
        content = file.read_text(encoding="utf-8")
        found += [f"{name}: {needle}" for needle in needles if needle in content]
    assert not found


def test_the_map_names_files_that_are_there() -> None:
    """Each of the ten questions of ARCHITECTURE.md is answered by at most three
    files or folders, which exist.
    """
    root = PACKAGE.parent
    text = (
        (root / "ARCHITECTURE.md")
        .read_text(encoding="utf-8")
        .partition("## Ten questions")[2]
        .partition("\n## ")[0]
    )
    rows = [line.split("|")[1:4] for line in text.splitlines() if line.startswith("|")][
        2:
    ]
    assert len(rows) == 10
    for question, opened, tests in rows:
        paths = re.findall(r"`([\w/.<>*-]+)`", opened)
        assert 1 <= len(paths) <= 3, question
        for path in paths:
            pattern = re.sub(r"<\w+>", "*", path)
            assert list(root.glob(pattern)) or list(PACKAGE.glob(pattern)), path
        for path in re.findall(r"`([\w/.*]+)`", tests):
            assert list((root / "tests").glob(path)), path
