"""What do the tests not see? One small change of the code at a time, the tests of its
room run against it: `make mutants`.

    python tools/mutants.py --sample 40 --seed 0 --shard 1/2
    python tools/mutants.py nlgeval_lib/statistics/pairs.py --sample 20

A mutant is one operator, comparison, constant, condition or returned value changed. A
sample drawn with the seed is tried; a shard takes every n-th of it. What was tried is
kept in `.mutants/results.jsonl` by the mutant's place and the hash of its file, so that
a run resumes where it stopped. Survivors are printed with their line and counted;
equivalent ones (no test could see them) are among them. The file is changed in a copy
of the checkout, never here.

`changes` makes the changes in a file's syntax tree, `mutants` turns each into a
`Mutant`, `survives` runs the tests on it.
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
# the rooms that are tried, and the names of their tests: tests/*/test_PATTERN.py
ROOMS = {
    "nlgeval_lib/statistics": ("meta_*",),
    "reproduction/papers": ("paper*", "counts"),
    "nlgeval_lib/parsers": ("parsers_*",),
}
# which of these tests are run, in pytest's words for `-k`
SLOW = "not uniform and not benchmark and not cover and not memory and not real"
# what the tests do not need of the checkout, by name
NOT_COPIED = (
    ".git",
    ".venv",
    ".mutants",
    "results",
    "figures",
    "raw",
    "__pycache__",
)
RESULTS = ROOT / ".mutants" / "results.jsonl"
# an operator -> what stands in its place in a mutant
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
    """A changed file.

    file: in this checkout, where it is not changed.
    key: its place in the results: file, hash of its text, number of the change.
    line: of the change.
    change: what was changed, in words.
    text: the whole changed file.
    """

    file: Path
    key: str
    line: int
    change: str
    text: str


def changes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Changes the tree in place, one mutant after the other, and undoes each when the
    next is asked for: line (0 where the node has none) and what was changed.
    """
    for node in list(_code(tree)):
        for field, changed, change in _changes_of(node):
            original = getattr(node, field)
            setattr(node, field, changed)
            yield getattr(node, "lineno", 0), change
            setattr(node, field, original)


def _changes_of(node: ast.AST) -> Iterator[tuple[str, Any, str]]:
    """Each change of a node: the field, what stands there in the mutant, and what was
    changed in words.
    """
    for field in ("op", "ops"):
        swapped = _swapped(getattr(node, field, None))
        if swapped is not None:
            operators, change = swapped
            yield field, operators, change
    if isinstance(node, (ast.If, ast.IfExp)):
        negated = ast.UnaryOp(ast.Not(), node.test)
        yield "test", ast.copy_location(negated, node.test), "condition turned"
    elif isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, bool):
            changed: Any = not value
        elif isinstance(value, (int, float)):
            changed = value + 1
        else:
            return
        yield "value", changed, f"{value!r} -> {changed!r}"
    elif isinstance(node, ast.Return) and node.value is not None:
        nothing = ast.Constant(None)
        yield "value", ast.copy_location(nothing, node.value), "returns None"


def _swapped(operators: Any) -> tuple[Any, str] | None:
    """Another operator in the place of a node's (first) one, and what was changed; None
    where it has none, or none that is swapped.

    operators: the node's field `op` or `ops`.
    """
    # a comparison has a list of operators, as in a < b < c; anything else has one
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
    """The nodes whose change may matter: no annotation, no decorator, no message of an
    error, no formatted text.
    """
    for name, children in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        if not isinstance(children, list):
            children = [children]
        for node in children:
            if isinstance(node, (ast.Raise, ast.JoinedStr)):
                continue
            if isinstance(node, ast.AST):
                yield node
                yield from _code(node)


def mutants(path: Path) -> Iterator[Mutant]:
    """Each mutant of a file, in the order of its syntax tree."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    for number, (line, change) in enumerate(changes(tree)):
        key = f"{path.relative_to(ROOT)}:{digest}:{number}"
        text = ast.unparse(ast.fix_missing_locations(tree))
        yield Mutant(path, key, line, change, text)


def survives(
    copy: Path,
    path: Path,
    text: str,
    seconds: float,
) -> bool:
    """Whether the tests of a file's room pass with the changed file in the copy; a run
    that hangs is a mutant found.

    copy: the copy of the checkout; its file is put back.
    path: the file in this checkout.
    text: the file as changed.
    seconds: after which a run counts as one that hangs.
    """
    target = copy / path.relative_to(ROOT)
    original = target.read_text(encoding="utf-8")
    target.write_text(text, encoding="utf-8")
    environment = os.environ | {
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(copy / ".numba"),
    }
    with tempfile.TemporaryDirectory() as compiled:
        # numba keeps what it compiled by the file's time: a changed kernel needs a
        # place of its own.
        if path.name == "_kernels.py":
            environment["NUMBA_CACHE_DIR"] = compiled
        try:
            run = subprocess.run(
                _tests(copy, room(path)),
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


def _tests(copy: Path, name: str) -> list[str]:
    """The command that runs the tests of a room; it stops at the first failure.

    name: of the room.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-q"]
    command += ["-k", SLOW, "-m", "not slow"]
    for pattern in ROOMS[name]:
        for file in sorted((copy / "tests").rglob(f"test_{pattern}.py")):
            command.append(str(file.relative_to(copy)))
    return command


def room(path: Path) -> str:
    """The room of a house that a file is part of."""
    return "/".join(path.relative_to(ROOT).parts[:2])


def main() -> int:
    """Try a sample of mutants and print the survivors.

    Returns: the exit code: 0 whatever survives, as it is to be read, not to be passed;
        1 where the tests of a room fail without a change.
    """
    options = _options()
    population: list[Mutant] = []
    for file in _files(options.paths):
        population += mutants(file)
    chosen = _chosen(population, options)
    results = _results()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        ignored = shutil.ignore_patterns(*NOT_COPIED)
        shutil.copytree(ROOT, copy, ignore=ignored, symlinks=True)
        sound: set[str] = set()  # rooms whose tests pass without a change
        for mutant in chosen:
            file = mutant.file
            if mutant.key not in results:
                # tests that fail anyway would call every mutant found
                if room(file) not in sound:
                    if not _is_sound(copy, file, 3 * options.seconds):
                        return 1
                    sound.add(room(file))
                survived = survives(copy, file, mutant.text, options.seconds)
                results[mutant.key] = survived
                _keep(mutant, survived)
            if results[mutant.key]:
                place = f"{file.relative_to(ROOT)}:{mutant.line}"
                print(f"{place}: {mutant.change}", flush=True)
    survivors = sum(results[mutant.key] for mutant in chosen)
    print(
        f"{len(population)} mutants, {len(chosen)} tried, "
        f"{len(chosen) - survivors} found, {survivors} survive"
    )
    return 0


def _files(names: list[str]) -> Iterator[Path]:
    """The files that rooms and other paths name.

    names: folders or files of the houses.
    """
    for name in names:
        place = ROOT / name
        if place.is_file():
            yield place
        else:
            yield from sorted(place.rglob("*.py"))


def _chosen(population: list[Mutant], options: argparse.Namespace) -> list[Mutant]:
    """This shard of the sample."""
    size = min(options.sample, len(population))
    sample = random.Random(options.seed).sample(population, size)
    shard, shards = map(int, options.shard.split("/"))
    return sample[shard - 1 :: shards]


def _is_sound(
    copy: Path,
    file: Path,
    seconds: float,
) -> bool:
    """Whether the tests of a file's room pass without a change; says so where they do
    not.

    seconds: that they may take.
    """
    unchanged = file.read_text(encoding="utf-8")
    if survives(copy, file, unchanged, seconds):
        return True
    print(
        f"the tests of {room(file)} fail without a change, "
        f"or take more than {seconds:g} s"
    )
    return False


def _results() -> dict[str, bool]:
    """Which mutants survived when they were tried, by key."""
    if not RESULTS.exists():
        RESULTS.parent.mkdir(exist_ok=True)
        return {}
    results = {}
    for line in RESULTS.read_text(encoding="utf-8").splitlines():
        tried = json.loads(line)
        results[tried["key"]] = tried["survived"]
    return results


def _keep(mutant: Mutant, survived: bool) -> None:
    """Add a mutant that was tried to the results."""
    tried = {
        "key": mutant.key,
        "line": mutant.line,
        "what": mutant.change,
        "survived": survived,
    }
    with RESULTS.open("a", encoding="utf-8") as out:
        out.write(json.dumps(tried) + "\n")


def _options() -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "paths", nargs="*", default=list(ROOMS), help="rooms or files of the houses"
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
