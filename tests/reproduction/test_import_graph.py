"""What an output hangs on is what its notebook imports, as the sources say it."""

from __future__ import annotations

import importlib
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from cli_tools import cases

from nlgeval_lib import files
from reproduction import import_graph
from reproduction.import_graph import NO_VALUE, Graph, Source
from reproduction.report import notebook
from reproduction.runner import stale
from reproduction.study import catalogue
from tools import reach

# A small house: path -> text.
HOUSE = {
    "nlgeval_lib/__init__.py": "",
    "nlgeval_lib/plain.py": "ONE = 1",
    "nlgeval_lib/shapes.py": "from nlgeval_lib import plain\ndef area(): ...",
    "nlgeval_lib/inner.py": "def late():\n    from nlgeval_lib import shapes",
    "nlgeval_lib/typed.py": "if TYPE_CHECKING:\n    from nlgeval_lib import plain\n",
    "nlgeval_lib/broken.py": "from nlgeval_lib import (",
    "nlgeval_lib/circle.py": "from nlgeval_lib import round",
    "nlgeval_lib/round.py": "from nlgeval_lib import circle",
    "nlgeval_lib/eager/__init__.py": "from nlgeval_lib.eager.parts import area",
    "nlgeval_lib/eager/parts.py": "from ..shapes import area",
    "nlgeval_lib/lazy/__init__.py": "if TYPE_CHECKING:\n"
    "    from nlgeval_lib.lazy.told import name\n"
    "__getattr__ = loaded_on_use(__name__, TABLE)\nOWN = 1",
    "nlgeval_lib/lazy/told.py": "from nlgeval_lib.shapes import area as name",
    "nlgeval_lib/lazy/found.py": "class Found: ...",
    "nlgeval_lib/lazy/idle.py": "from nlgeval_lib import inner",
    "nlgeval_lib/datasets/__init__.py": "from nlgeval_lib import plain",
    "nlgeval_lib/datasets/datasets.csv": "name,module\nsumm,news\nnews2,news\n",
    "nlgeval_lib/datasets/news.py": "",
    "nlgeval_lib/evaluators/__init__.py": "_BUILT_IN = {'bleu': 'grams:Bleu', "
    "'tree': 'trees:Tree'}\ndef __getattr__(name): ...",
    "nlgeval_lib/evaluators/grams.py": "class Bleu: ...",
    "nlgeval_lib/evaluators/trees/__init__.py": "def __getattr__(name): ...",
    "nlgeval_lib/evaluators/trees/tree.py": "class Tree: ...",
    "nlgeval_lib/evaluators/trees/other.py": "",
}
# Notebooks that need neither data nor much time, one of each sort.
RUN = ("tigerscore_figure_01", "meta_prompts", "meta_pipelines", "judge_card_mini")
# Each notebook runs in a fork of one process that has imported what is of no house.
LOADED = """
import json, os, sys
from pathlib import Path
import matplotlib.pyplot, pandas, scipy.stats, sklearn.linear_model
from notebook_cells import run
for place, given, answer in json.loads(sys.argv[1]):
    if os.fork() == 0:
        run(Path(place), **given)
        files = [getattr(one, "__file__", None) for one in list(sys.modules.values())]
        Path(answer).write_text(json.dumps([path for path in files if path]))
        os._exit(0)
    assert os.wait()[1] == 0, place
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    for name, text in HOUSE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize("case", cases("imports"), ids=lambda case: case["text"])
def test_what_a_text_imports(house: Path, case: dict) -> None:
    """`reached`: the modules below nlgeval_lib; `names`: what is asked for by name."""
    source = Source(case["text"])
    found = Graph(house).reached([source], case.get("names", ()))
    below = {module.removeprefix("nlgeval_lib.") for module in found - {"nlgeval_lib"}}
    assert below == {*case["reached"]}


GRAPH = Graph()
PACKAGES = [
    module
    for module, path in GRAPH.paths.items()
    if path.name == "__init__.py" and "__getattr__" in GRAPH.source(module).defined
]


@pytest.mark.parametrize("package", PACKAGES)
def test_names_loaded_on_use_lead_to_the_module_that_has_them(package: str) -> None:
    loaded = importlib.import_module(package)
    for name in loaded.__all__:
        reached = GRAPH.reached([Source(f"from {package} import {name}")])
        value = getattr(loaded, name)
        holders = [
            module
            for module in reached
            if vars(sys.modules.get(module, loaded)).get(name) is value
            or sys.modules.get(module) is value
        ]
        assert holders, f"{package}.{name}: {sorted(reached)}"


def test_imports_that_give_no_value_are_there() -> None:
    for module, others in NO_VALUE.items():
        source = Source(GRAPH.paths[module].read_text(encoding="utf-8"))
        assert {*others} <= GRAPH.imported(source), module


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[Path]]:
    """The files that a run of each notebook loads."""
    folder = tmp_path_factory.mktemp("runs")
    listed = catalogue.load()
    jobs = []
    for output in RUN:
        entry = listed[output]
        answer = folder / f"{output}.json"
        jobs.append((str(entry.path), dict(entry.parameters), str(answer)))
    places = {f"NLGEVAL_{name}": str(folder) for name in ("RESULTS", "FIGURES")}
    paths = os.pathsep.join([str(Path(__file__).parents[1]), str(import_graph.ROOT)])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOADED, json.dumps(jobs)],
        env={**os.environ, **places, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {}
    for output in RUN:
        names = json.loads((folder / f"{output}.json").read_text())
        found[output] = set(map(Path, names))
    return found


@pytest.mark.parametrize("output", RUN)
def test_what_a_run_loads_is_among_what_is_hashed(output: str, loaded) -> None:
    stale.forget()  # what other tests looked at
    listed = catalogue.load()
    entry = listed[output]
    source = notebook.read(entry.path)
    shown = [Source(f"import {module}") for row in NO_VALUE.values() for module in row]
    hashed = {import_graph.ROOT / name for name in stale.code(entry, listed, source)}
    hashed |= {GRAPH.paths[module] for module in GRAPH.reached(shown)}
    of_results = [import_graph.ROOT / house for house in import_graph.HOUSES]
    of_results.append(files.notebooks())
    ours = {
        path for path in loaded[output] if any(map(path.is_relative_to, of_results))
    }
    assert len(ours) > 20
    assert sorted(ours - hashed) == []


def test_an_edit_of_most_files_makes_few_outputs_stale() -> None:
    """`python -m tools.reach` prints the counts."""
    assert statistics.median(reach.counts().values()) <= 20
