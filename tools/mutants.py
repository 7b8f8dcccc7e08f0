"""What do the tests not see? One small change of the code at a time, the tests of its
room run against it.

    python tools/mutants.py --sample 40 --seed 0 --shard 1/2
    python tools/mutants.py meta/pairs.py --sample 20

A mutant is one operator, comparison, constant, condition or returned value changed. A
sample drawn with the seed is tried; a shard takes every n-th of it. What was tried is
kept in `.mutants/results.jsonl` by the mutant's place and the hash of its file, so that
a run resumes where it stopped. Survivors are printed with their line and counted;
equivalent ones (no test could see them) are among them. The file is changed in a copy
of the checkout, never here.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
# the tests of each room
ROOMS = {
    "meta": ("meta_*",),
    "papers": ("paper*", "counts"),
    "parsers": ("parsers_*",),
}
# which of them are run
SLOW = "not uniform and not benchmark and not cover and not memory and not real"
RESULTS = ROOT / ".mutants" / "results.jsonl"
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.In: ast.NotIn,
    ast.USub: ast.UAdd,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


class Mutant(NamedTuple):
    """A changed file: its key in the results, the line, what was changed, its text."""

    file: Path
    key: str
    line: int
    change: str
    text: str


def changes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Changes the tree in place, one mutant after the other, and undoes each: line
    and what was changed.
    """
    for node in list(_code(tree)):
        line = getattr(node, "lineno", 0)
        for field in ("op", "ops"):
            original = getattr(node, field, None)
            swapped = _swapped(original)
            if swapped is None:
                continue
            setattr(node, field, swapped[0])
            yield line, swapped[1]
            setattr(node, field, original)
        if isinstance(node, (ast.If, ast.IfExp)):
            test = node.test
            node.test = ast.copy_location(ast.UnaryOp(ast.Not(), test), test)
            yield line, "condition turned"
            node.test = test
        elif isinstance(node, ast.Constant):
            value = node.value
            if not isinstance(value, (bool, int, float)):
                continue
            node.value = not value if isinstance(value, bool) else value + 1
            yield line, f"{value!r} -> {node.value!r}"
            node.value = value
        elif isinstance(node, ast.Return) and node.value is not None:
            result = node.value
            node.value = ast.copy_location(ast.Constant(None), result)
            yield line, "returns None"
            node.value = result


def _swapped(operators: Any) -> tuple[Any, str] | None:
    """Another operator in the place of a node's (first) one, and what was changed."""
    first = operators
    if isinstance(operators, list):
        first = operators[0]
    if type(first) not in SWAPS:
        return None
    other = SWAPS[type(first)]()
    change = f"{type(first).__name__} -> {type(other).__name__}"
    if isinstance(operators, list):
        return [other, *operators[1:]], change
    return other, change


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes whose change may matter: no annotation, no decorator, no message of
    an error.
    """
    for name, child in ast.iter_fields(tree):
        for node in child if isinstance(child, list) else [child]:
            aside = name in ("annotation", "returns", "decorator_list") or isinstance(
                node, (ast.Raise, ast.JoinedStr)
            )
            if isinstance(node, ast.AST) and not aside:
                yield node
                yield from _code(node)


def mutants(path: Path) -> Iterator[Mutant]:
    """Each mutant of a file."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    for number, (line, change) in enumerate(changes(tree)):
        key = f"{path.relative_to(ROOT)}:{digest}:{number}"
        text = ast.unparse(ast.fix_missing_locations(tree))
        yield Mutant(path, key, line, change, text)


def survives(copy: Path, path: Path, text: str, seconds: float) -> bool:
    """Whether the tests of a file's room pass with the changed file in the copy; a run
    that hangs is a mutant found.
    """
    target = copy / path.relative_to(ROOT)
    original = target.read_text(encoding="utf-8")
    target.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-k", SLOW, "-m", "not slow"]
    for name in ROOMS[room(path)]:
        files = sorted((copy / "tests").glob(f"test_{name}.py"))
        command += [f"tests/{file.name}" for file in files]
    environment = os.environ | {
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(copy / ".numba"),
    }
    with tempfile.TemporaryDirectory() as own:
        # numba keeps what it compiled by the file's time: a changed kernel needs a
        # place of its own.
        if path.name == "_kernels.py":
            environment["NUMBA_CACHE_DIR"] = own
        try:
            run = subprocess.run(
                command,
                cwd=copy,
                env=environment,
                capture_output=True,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return False
        finally:
            target.write_text(original, encoding="utf-8")
    return run.returncode == 0


def room(path: Path) -> str:
    """The room of the library that a file is part of."""
    return path.relative_to(ROOT / "nlgeval_lib").parts[0]


def main() -> int:
    """Tries a sample of mutants; 0 whatever survives: it is to be read, not to be
    passed.
    """
    options = _options()
    every: list[Mutant] = []
    for name in options.paths:
        place = ROOT / "nlgeval_lib" / name
        for file in [place] if place.is_file() else sorted(place.rglob("*.py")):
            every += mutants(file)
    sample = random.Random(options.seed).sample(every, min(options.sample, len(every)))
    shard, shards = map(int, options.shard.split("/"))
    chosen = sample[shard - 1 :: shards]
    results = _results()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        ignored = shutil.ignore_patterns(
            ".git", ".venv", ".mutants", "results", "figures", "raw", "__pycache__"
        )
        shutil.copytree(ROOT, copy, ignore=ignored, symlinks=True)
        sound: set[str] = set()  # rooms whose tests pass without a change
        for mutant in chosen:
            file = mutant.file
            if mutant.key not in results:
                if room(file) not in sound:
                    text = file.read_text(encoding="utf-8")
                    if not survives(copy, file, text, 3 * options.seconds):
                        print(
                            f"the tests of {room(file)} fail without a change, "
                            f"or take more than {3 * options.seconds:g} s"
                        )
                        return 1
                    sound.add(room(file))
                survived = survives(copy, file, mutant.text, options.seconds)
                results[mutant.key] = survived
                _keep(mutant, survived)
            if results[mutant.key]:
                print(
                    f"{file.relative_to(ROOT)}:{mutant.line}: {mutant.change}",
                    flush=True,
                )
    survivors = sum(results[mutant.key] for mutant in chosen)
    print(
        f"{len(every)} mutants, {len(chosen)} tried, "
        f"{len(chosen) - survivors} found, {survivors} survive"
    )
    return 0


def _results() -> dict[str, bool]:
    """Which mutants survived when they were tried, by key."""
    if not RESULTS.exists():
        RESULTS.parent.mkdir(exist_ok=True)
        return {}
    lines = map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines())
    return {line["key"]: line["survived"] for line in lines}


def _keep(mutant: Mutant, survived: bool) -> None:
    line = {"key": mutant.key, "line": mutant.line, "what": mutant.change}
    with RESULTS.open("a", encoding="utf-8") as out:
        out.write(json.dumps(line | {"survived": survived}) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "paths", nargs="*", default=list(ROOMS), help="rooms or files below nlgeval_lib"
    )
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shard", default="1/1", help="which part of how many")
    parser.add_argument(
        "--seconds", type=float, default=300, help="a run of the tests may take"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
