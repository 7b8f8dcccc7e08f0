"""The code stays readable: how dense it may be, how long a function, and which words
do not come back.

The bars hold for library, tools and notebook modules together. A bar that makes the
code worse is wrong; change the bar then, with the reason.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("nlgeval_lib", "tools", "notebooks")
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LAYOUT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)
LONG = 50  # lines of a function

# names that say nothing of what they hold
VAGUE = frozenset((ROOT / "tests/cases/vague_names.txt").read_text().split())
# per 1,000 lines, but for the tokens (a line; a tenth of them are type annotations),
# `vague` (percent of the bound names), and `long` and `skips` (in all)
BARS = {
    "tokens": 6.6,
    "tokens but types": 5.9,
    "over 88": 3,
    "ternaries": 12,
    "comprehensions": 22,
    "nested": 1,
    "packed": 5,
    "vague": 2,
    "long": 10,
    "skips": 0,
}


def modules() -> list[Path]:
    return [path for name in FOLDERS for path in sorted((ROOT / name).rglob("*.py"))]


def names_of(target: ast.AST) -> list[str]:
    """The plain names that an assignment or a loop binds."""
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]


def annotations(tree: ast.AST) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where the type annotations of a file begin and end, as (line, column)."""
    types: list[ast.expr | None] = []
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                types.append(node.returns)
            case ast.arg() | ast.AnnAssign():
                types.append(node.annotation)
    places = []
    for kind in types:
        if kind is not None:
            start = (kind.lineno, kind.col_offset)
            places.append((start, (kind.end_lineno, kind.end_col_offset)))
    return places


def count(path: Path) -> Counter[str]:
    """What the bars are about, in one file."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    counts: Counter[str] = Counter(lines=sum(bool(line.strip()) for line in lines))
    counts["over 88"] = sum(len(line) > 88 for line in lines)
    counts["skips"] = sum("fmt: skip" in line or "fmt: off" in line for line in lines)
    tree = ast.parse(text)
    types = annotations(tree)
    counts["types"] = len(types)  # the colon or arrow of each
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            counts["tokens"] += 1
            counts["types"] += any(start <= token.start < end for start, end in types)
    bound: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                counts["long"] += node.end_lineno - node.lineno + 1 > LONG
            case ast.IfExp():
                counts["ternaries"] += 1
            case ast.Assign(targets=[ast.Tuple(), *_], value=ast.Tuple()):
                counts["packed"] += 1
        if isinstance(node, COMPREHENSIONS):
            inner = [part for part in ast.walk(node) if part is not node]
            counts["comprehensions"] += 1
            counts["nested"] += any(isinstance(part, COMPREHENSIONS) for part in inner)
            for generator in node.generators:
                bound += names_of(generator.target)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                bound += names_of(target)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            bound += names_of(node.target)
        elif isinstance(node, ast.arg):
            bound.append(node.arg)
    counts["names"] = len(bound)
    counts["vague"] = sum(name in VAGUE for name in bound)
    return counts


@pytest.fixture(scope="module")
def measured() -> dict[str, float]:
    total: Counter[str] = Counter()
    for path in modules():
        total.update(count(path))
    values = {name: 1000 * total[name] / total["lines"] for name in BARS}
    values["tokens"] = total["tokens"] / total["lines"]
    without_types = total["tokens"] - total["types"]
    values["tokens but types"] = without_types / total["lines"]
    values["vague"] = 100 * total["vague"] / total["names"]
    values["long"] = total["long"]
    values["skips"] = total["skips"]
    return values


@pytest.mark.parametrize("name", BARS)
def test_the_code_is_no_denser_than_its_bar(
    name: str, measured: dict[str, float]
) -> None:
    if name.startswith("tokens") and sys.version_info >= (3, 12):
        pytest.skip("Python 3.12 and later count the parts of an f-string as tokens")
    assert measured[name] <= BARS[name]


# -- words that were retired: phrases that a reader has to read twice

RETIRED = re.compile(
    r"\b(is|are|was|were) told\b(?! to\b)|\b(what|that) is lacking\b|\bas they came\b"
    r"|\bof these some\b|\b(to|can|could|cannot) be had\b|\bhad here\b|\btold apart\b"
    r"|\bstays? together\b",
    re.IGNORECASE,
)
PAGES = ("README.md", "EXTENDING.md", "ARCHITECTURE.md")


def prose() -> Iterator[tuple[str, str]]:
    """(place, text) of each docstring, comment, message, page and notebook's words."""
    for name in PAGES:
        yield name, (ROOT / name).read_text(encoding="utf-8")
    for path in modules():
        place = str(path.relative_to(ROOT))
        with tokenize.open(path) as handle:
            for token in tokenize.generate_tokens(handle.readline):
                if token.type in (tokenize.STRING, tokenize.COMMENT):
                    yield f"{place}:{token.start[0]}", token.string
    for path in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                yield str(path.relative_to(ROOT)), "".join(cell["source"])


def test_retired_words_do_not_come_back() -> None:
    places = []
    for place, text in prose():
        phrase = RETIRED.search(text)
        if phrase:
            places.append(f"{place}: {phrase[0]}")
    assert not places
