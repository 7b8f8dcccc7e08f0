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
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = {
    "meta": ("meta_*",),
    "papers": ("paper*", "counts"),
    "parsers": ("parsers_*",),
}  # tests of a room
# of a mutant's tests
SLOW = "not uniform and not benchmark and not cover and not memory and not real"
KEPT = ROOT / ".mutants" / "results.jsonl"
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


def changes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Changes the tree in place, one mutant after the other, and undoes each: line
    and what was changed.
    """
    for node in list(_code(tree)):
        line = getattr(node, "lineno", 0)
        for field in ("op", "ops"):
            given = getattr(node, field, None)
            first = given[0] if isinstance(given, list) else given
            if type(first) in SWAPS and not (
                isinstance(node, ast.UnaryOp) and isinstance(first, ast.Not)
            ):
                swapped = SWAPS[type(first)]()
                setattr(
                    node,
                    field,
                    [swapped, *given[1:]] if isinstance(given, list) else swapped,
                )
                yield line, f"{type(first).__name__} -> {type(swapped).__name__}"
                setattr(node, field, given)
        if isinstance(node, (ast.If, ast.IfExp)):
            test, node.test = (
                node.test,
                ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test),
            )
            yield line, "condition turned"
            node.test = test
        elif isinstance(node, ast.Constant) and isinstance(
            node.value, (bool, int, float)
        ):
            value = node.value
            node.value = not value if isinstance(value, bool) else value + 1
            yield line, f"{value!r} -> {node.value!r}"
            node.value = value
        elif isinstance(node, ast.Return) and node.value is not None:
            result, node.value = (
                node.value,
                ast.copy_location(ast.Constant(None), node.value),
            )
            yield line, "returns None"
            node.value = result


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


def mutants(path: Path) -> Iterator[tuple[str, int, str, str]]:
    """Each mutant of a file: its key, line, what was changed, and the whole text."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    for number, (line, what) in enumerate(changes(tree)):
        yield (
            f"{path.relative_to(ROOT)}:{digest}:{number}",
            line,
            what,
            ast.unparse(ast.fix_missing_locations(tree)),
        )


def survives(copy: Path, path: Path, text: str, room: str, seconds: float) -> bool:
    """Whether the tests of the room pass with the changed file in the copy; a run
    that hangs is a mutant found.
    """
    target = copy / path.relative_to(ROOT)
    kept = target.read_text(encoding="utf-8")
    target.write_text(text, encoding="utf-8")
    tests = [
        f"tests/{one.name}"
        for name in ROOMS[room]
        for one in sorted((copy / "tests").glob(f"test_{name}.py"))
    ]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-k",
        SLOW,
        "-m",
        "not slow",
        *tests,
    ]
    # numba keeps what it compiled by the file's time: a changed kernel needs a place of
    # its own
    with tempfile.TemporaryDirectory() as own:
        cache = own if path.name == "_kernels.py" else str(copy / ".numba")
        told = os.environ | {
            "PYTHONPATH": str(copy),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CACHE_DIR": cache,
        }
        try:
            return (
                subprocess.run(
                    command, cwd=copy, env=told, capture_output=True, timeout=seconds
                ).returncode
                == 0
            )
        except subprocess.TimeoutExpired:
            return False
        finally:
            target.write_text(kept, encoding="utf-8")


def main() -> int:
    """Tries a sample of mutants; 0 whatever survives: it is to be read, not to be
    passed.
    """
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
    args = parser.parse_args()
    places = [ROOT / "nlgeval_lib" / name for name in args.paths]
    files = [
        file
        for place in places
        for file in ([place] if place.is_file() else sorted(place.rglob("*.py")))
    ]
    every = [(file, *one) for file in files for one in mutants(file)]
    chosen = random.Random(args.seed).sample(every, min(args.sample, len(every)))
    part, parts = map(int, args.shard.split("/"))
    KEPT.parent.mkdir(exist_ok=True)
    lines = KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else []
    known = {one["key"]: one["survived"] for one in map(json.loads, lines)}
    count: Counter[bool] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        aside = shutil.ignore_patterns(
            ".git", ".venv", ".mutants", "results", "figures", "raw", "__pycache__"
        )
        shutil.copytree(ROOT, copy, ignore=aside, symlinks=True)
        sound: dict[str, bool] = {}  # whether a room's tests pass as they are
        for file, key, line, what, text in chosen[part - 1 :: parts]:
            if key not in known:
                room = file.relative_to(ROOT / "nlgeval_lib").parts[0]
                if room not in sound:
                    sound[room] = survives(
                        copy,
                        file,
                        file.read_text(encoding="utf-8"),
                        room,
                        3 * args.seconds,
                    )
                if not sound[room]:
                    print(
                        f"the tests of {room} fail without a change, or take more than {3 * args.seconds:g} s"
                    )
                    return 1
                known[key] = survives(copy, file, text, room, args.seconds)
                with KEPT.open("a", encoding="utf-8") as out:
                    out.write(
                        json.dumps(
                            {
                                "key": key,
                                "line": line,
                                "what": what,
                                "survived": known[key],
                            }
                        )
                        + "\n"
                    )
            count[known[key]] += 1
            if known[key]:
                print(f"{file.relative_to(ROOT)}:{line}: {what}", flush=True)
    print(
        f"{len(every)} mutants, {count.total()} tried, {count[False]} found, {count[True]} survive"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
