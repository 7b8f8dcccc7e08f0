"""A result hangs on the modules whose code ran or is named, and on no other."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

WATCHED = """
import json, sys
from reproduction import used_code
used_code.watch()
{work}
print(json.dumps(used_code.modules()))
"""
# work -> modules that it hangs on, and modules that are loaded and idle
CASES = [
    (
        "from nlgeval_lib.statistics import agreement, arrays\narrays.rescaled([1.0, 2.0])",
        {"nlgeval_lib/statistics/arrays.py"},
        {"nlgeval_lib/statistics/agreement.py", "nlgeval_lib/statistics/intervals.py"},
    ),
    (  # a constant that the notebook names
        "In = ['from reproduction import papers; papers.OWN']\n"
        "from reproduction import papers\npapers.OWN",
        {"reproduction/papers/kinds.py", "reproduction/papers/__init__.py"},
        {"reproduction/papers/numbers.py"},
    ),
    (  # a constant that code names which ran
        "from reproduction.papers.numbers import parse\nparse('.5')",
        {"reproduction/papers/numbers.py"},
        set(),
    ),
    (  # a class by a name in data: its settings may be read, though nothing of it ran
        "from nlgeval_lib import evaluators\nevaluators.get('bleu')",
        {
            "nlgeval_lib/evaluators/reference_metrics.py",
            "nlgeval_lib/evaluators/base.py",
        },
        {"nlgeval_lib/datasets/registry.py"},
    ),
    (  # what runs to show something
        "from reproduction.papers import numbers\n"
        "with used_code.unseen():\n    numbers.parse('.5')",
        set(),
        {"reproduction/papers/numbers.py"},
    ),
]
COMPARED = """
import pandas as pd
from nlgeval_lib import datasets
from reproduction import papers
from nlgeval_lib.scoring import correlations

frame = datasets.load_numbers("summeval")
items = frame[frame["aspect"] == "coherence"].iloc[:320].reset_index(drop=True)
lengths = items["output"].map(lambda text: text.words).to_numpy(float)
human = items["human"].to_numpy(float)
table = correlations.table(items, {"length": {"COH": lengths}}, {"COH": human})
cells = papers.load("hdeval", "table_01")
print(table.drop(columns="replicates").to_csv(), len(cells))
"""
ALL_LOADED = """
import json
from reproduction import used_code
print(json.dumps(used_code.modules()))
"""
# Every function of a module that nothing is said to hang on fails when it runs.
HOLLOW = """
import ast, json, sys
from reproduction import used_code
used = json.loads(sys.argv[1])

class Loader(used_code._Loader):
    def get_code(self, fullname):
        path = self.get_filename(fullname)
        tree = ast.parse(self.get_data(path))
        if str(path).removeprefix(f"{used_code.ROOT}/") not in used:
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    check = "assert __spec__._initializing, __name__"
                    place = bool(ast.get_docstring(node))
                    node.body.insert(place, ast.parse(check).body[0])
        return compile(ast.fix_missing_locations(tree), path, "exec")

used_code._Loader = Loader
used_code.watch()
"""


def printed(code: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.mark.parametrize(("work", "used", "idle"), CASES)
def test_what_a_result_hangs_on(work, used, idle) -> None:
    work += "\nloaded = sorted(name for name in sys.modules)"
    code = WATCHED.format(work=work) + "print(json.dumps(loaded))"
    hangs_on, loaded = (json.loads(line) for line in printed(code).splitlines())
    assert used <= set(hangs_on)
    for path in idle:
        module = path.removesuffix(".py").replace("/", ".")
        assert module in loaded
        assert path not in hangs_on


def test_a_result_is_the_same_where_all_else_is_hollow() -> None:
    code = WATCHED.format(work=f"In = [{COMPARED!r}]\n{COMPARED}")
    *expected, hangs_on = printed(code).splitlines()
    loaded = printed(COMPARED + ALL_LOADED).splitlines()[-1]
    idle = set(json.loads(loaded)) - set(json.loads(hangs_on))
    assert len(idle) > 5  # hollowing does something
    again = printed(HOLLOW + COMPARED, hangs_on).splitlines()
    assert again == expected


def test_without_a_watch_all_that_is_loaded_counts() -> None:
    loaded = printed("from nlgeval_lib.statistics import agreement" + ALL_LOADED)
    assert {
        "nlgeval_lib/statistics/agreement.py",
        "nlgeval_lib/statistics/intervals.py",
    } <= set(json.loads(loaded))
