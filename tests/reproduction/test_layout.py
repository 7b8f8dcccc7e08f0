"""Imports run one way, and importing the package stays cheap."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# What each house may import beside itself, and its rooms: each imports only from rooms
# of an earlier row, and from itself. The judge card is one room.
HOUSES = {
    "nlgeval_lib": (
        (),
        (
            {"errors", "progress"},
            {"records", "files", "names", "hub", "on_use", "houses"},
            {"datasets", "prompts", "parsers", "tables"},
            {"weights"},
            {"engines"},
            {"evaluators"},
            {"scoring"},
            {"cli"},
            {"__main__"},
        ),
    ),
    "judgecard": (("nlgeval_lib",), ()),
    "reproduction": (
        ("nlgeval_lib", "judgecard"),
        (
            {"papers", "printed_prompts", "import_graph"},
            {"training"},
            {"study"},
            {"report"},
            {"saved_numbers"},
            {"runner"},
            {"cli"},
        ),
    ),
}
KNOWS_NONE = (
    "statistics"  # arrays in, results out: any room of the library may import it
)


def module_of(path: Path) -> str:
    """The dotted name of a file of a house."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


FILES = [path for house in HOUSES for path in sorted((ROOT / house).rglob("*.py"))]
MODULES = {module_of(path): path for path in FILES}


def imported(path: Path) -> set[str]:
    """Every module of the houses that a file imports, at its top or inside a
    function.
    """
    package = path.relative_to(ROOT).parts[:-1]
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


def house_of(module: str) -> str:
    return module.partition(".")[0]


def room_of(module: str) -> str:
    """The room of a module: its folder, or itself where it stands beside the
    folders.
    """
    return module.split(".")[1] if "." in module else ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_one_way(path: Path) -> None:
    module = module_of(path)
    house = house_of(module)
    below, floors = HOUSES[house]
    others = imported(path)
    houses = {house_of(other) for other in others} - {house}
    assert houses <= {*below}, f"{house} imports {sorted(houses)}"
    if not floors:
        return
    floor_of = {room: floor for floor, rooms in enumerate(floors) for room in rooms}
    room = room_of(module)
    rooms = {room_of(other) for other in others if house_of(other) == house}
    rooms -= {room, ""}
    if not room:
        return  # the house's face offers its rooms
    if room == KNOWS_NONE:
        assert not rooms - {"errors", "on_use", "houses"}
        return
    assert room in floor_of, (
        f"{room} is new: give it a place in tests/reproduction/test_layout.py"
    )
    wrong = {
        other for other in rooms - {KNOWS_NONE} if floor_of[other] >= floor_of[room]
    }
    assert not wrong, (
        f"{module} imports {sorted(wrong)}, which stand no lower than {room}"
    )


@pytest.mark.parametrize(
    ("house", "others"),
    [("library", "judgecard|reproduction"), ("judgecard", "reproduction")],
)
def test_a_houses_tests_know_no_house_above(house: str, others: str) -> None:
    imports = re.compile(rf"^\s*(?:from|import) (?:{others})\b", re.M)
    files = sorted((ROOT / "tests" / house).glob("*.py"))
    assert len(files) > 5
    assert [path.name for path in files if imports.search(path.read_text())] == []


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


def test_the_library_is_small() -> None:
    lines = 0
    for module, path in MODULES.items():
        if house_of(module) == "nlgeval_lib":
            lines += len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= 32_500


def test_no_house_imports_a_tool() -> None:
    named = re.compile(
        r"^\s*(?:from|import) (?:tools|benchmarks|mini_judge|notebooks)\b", re.M
    )
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
        "judgecard",
        "reproduction",
    ],
)
def test_importing_is_cheap(module: str) -> None:
    code = f"import sys, {module}; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "package",
    [
        "nlgeval_lib",
        "nlgeval_lib.datasets",
        "nlgeval_lib.engines",
        "nlgeval_lib.evaluators",
        "nlgeval_lib.evaluators.hdeval",
        "nlgeval_lib.parsers",
        "nlgeval_lib.scoring",
        "nlgeval_lib.statistics",
        "judgecard",
        "judgecard.figures",
        "judgecard.recordings",
    ],
)
def test_tab_offers_the_public_names_alone(package: str) -> None:
    module = importlib.import_module(package)
    assert dir(module) == sorted(module.__all__)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_nothing_names_a_local_path() -> None:
    """Sources hold no absolute path of somebody's machine."""
    root = ROOT
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


def definition_lines(path: Path) -> dict[str, int]:
    """Each function and class of a module, with how many lines it has."""
    definitions = ast.FunctionDef | ast.ClassDef
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {
        node.name: (node.end_lineno or 0) - node.lineno + 1
        for node in body
        if isinstance(node, definitions)
    }


def test_the_map_answers_ten_questions_in_few_lines() -> None:
    """ARCHITECTURE.md names functions that are there: at most 15 files and 1,500
    lines, and the tests.
    """
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.partition("## Ten questions")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    assert len(rows) == 10
    lines: dict[tuple[str, str], int] = {}
    for row in rows:
        _, _, to_read, tests, _ = row.split("|")
        for part in to_read.split(";"):
            path, *names = re.findall(r"`([^`]+)`", part)
            known = definition_lines(ROOT / path)
            lines |= {(path, name): known[name] for name in names}
        for path in re.findall(r"`([^`]+)`", tests):
            assert list((ROOT / "tests").rglob(path)), path
    assert len({path for path, _ in lines}) <= 15
    assert sum(lines.values()) <= 1500


LISTED = """
from nlgeval_lib import houses
is_here = houses.is_here
houses.is_here = lambda name: not name.startswith({absent!r}) and is_here(name)
import typer
from nlgeval_lib.cli import app
commands = typer.main.get_command(app).commands
print(*sorted(name for name in commands if not commands[name].hidden))
"""


def test_the_repositorys_commands_are_known_elsewhere() -> None:
    """Where the reproduction is not installed, its commands say where they run."""
    listed = []
    for absent in ("no house", "reproduction"):
        code = LISTED.format(absent=absent)
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True
        )
        listed.append(done.stdout.split())
    assert listed[0] == listed[1] != []
