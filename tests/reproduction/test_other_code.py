"""A result is made by the notebook that the catalogue names, as it is written: what a
changed copy gives is set apart.
"""

from __future__ import annotations

import io
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from runner_tools import PARAMETERS, Checkout

from nlgeval_lib import files
from reproduction.report import notebook, seal, verify
from reproduction.report.notebook import other_code  # the fixture `here` replaces it
from reproduction.runner import pool, session, stale
from reproduction.runner.session import Progress
from reproduction.study import catalogue

FIRST = "import math"
LAST = "x = 1\n"
INJECTED = "# Parameters\nmode = 'quick'\nseed = 7\n"
RAN_THE_SAME = {
    "all of it": [PARAMETERS, FIRST, LAST],
    "up to here": [PARAMETERS, FIRST],
    "without a last line end": [PARAMETERS, FIRST, LAST.rstrip()],
    "with papermill's parameters": [PARAMETERS, INJECTED, FIRST, LAST],
}
RAN_OTHERWISE = {
    "a constant changed": ([PARAMETERS, FIRST, "x = 2\n"], "In[3] differs"),
    "a cell left out": ([PARAMETERS, LAST], "In[2] differs"),
    "a cell between": ([PARAMETERS, FIRST, "math.pi = 3", LAST], "In[3] differs"),
    "a cell twice": ([PARAMETERS, FIRST, FIRST, LAST], "In[3] differs"),
    "parameters that compute": (
        [PARAMETERS, "seed = len('abc')", FIRST, LAST],
        "In[2] differs",
    ),
    "parameters that are none": ([PARAMETERS, "x = 3", FIRST, LAST], "In[2] differs"),
    "parameters twice": ([PARAMETERS, INJECTED, INJECTED, FIRST], "In[3] differs"),
    "parameters too late": ([PARAMETERS, FIRST, INJECTED, LAST], "In[3] differs"),
    "no notebook": (None, "no notebook runs here"),
}


@pytest.mark.parametrize("name", RAN_THE_SAME)
def test_a_notebook_run_as_it_is_written_is_itself(
    name: str, here: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = here.notebook("one", FIRST, " \n", LAST)
    monkeypatch.setattr(notebook, "ran", lambda: RAN_THE_SAME[name])
    assert other_code(path) == ""


@pytest.mark.parametrize("name", RAN_OTHERWISE)
def test_anything_else_that_ran_is_other_code(
    name: str, here: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = here.notebook("one", FIRST, LAST)
    cells, said = RAN_OTHERWISE[name]
    monkeypatch.setattr(notebook, "ran", lambda: cells)
    assert said in other_code(path)
    assert "notebooks/one.ipynb" in other_code(path)


def test_a_module_from_elsewhere_is_other_code(
    here: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = ["import beside_it"]
    path = here.notebook("one", *cells)
    own = path.with_name("beside_it.py")
    own.write_text("x = 1\n")
    monkeypatch.setattr(notebook, "ran", lambda: [PARAMETERS, *cells])
    for place, said in ((own, ""), (here.root / "beside_it.py", "is another than")):
        module = SimpleNamespace(__file__=str(place))
        monkeypatch.setitem(sys.modules, "beside_it", module)
        assert said in other_code(path)
        assert bool(said) == bool(other_code(path))
    assert "notebooks/beside_it.py" in notebook.code(notebook.read(path))


def execute(source: Path, folder: Path) -> str:
    """Run a notebook in a kernel, as papermill does; what it printed."""
    target = folder / f"{source.stem}.done.ipynb"
    job = pool.Job("one", source, target, {}, {"NLGEVAL_RECORD": ""})
    jobs = iter([job])
    [(_, answer, _)] = pool.executed(1, lambda: next(jobs, None))
    assert answer == {"ok": True}, answer
    printed = []
    for cell in json.loads(target.read_text())["cells"]:
        for output in cell.get("outputs", ()):
            printed += output.get("text", [])
    return "".join(printed)


def test_a_changed_copy_is_set_apart_and_a_committed_notebook_is_not(
    here: Checkout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pool, "ThreadPoolExecutor", ThreadPoolExecutor)
    original = here.output("one", value=0.5)
    assert "saved: results/hdeval/one" in execute(original, tmp_path)
    record = json.loads(here.result("hdeval/one.json").read_text())
    assert record["code"] == notebook.code(notebook.read(original))
    names = ("hdeval/one.csv", "hdeval/one.json", "MANIFEST.csv")
    before = [here.result(name).read_bytes() for name in names]

    text = original.read_text().replace("value=0.5", "value=0.75")
    copy = tmp_path / "copy.ipynb"
    copy.write_text(text)
    said = execute(copy, tmp_path)
    assert "saved: results/partial/hdeval/one because the code that ran" in said
    assert "nlgeval run one makes it" in said
    assert [here.result(name).read_bytes() for name in names] == before
    apart = json.loads(here.result("partial/hdeval/one.json").read_text())
    assert apart["code"] == {}
    assert "0.75" in here.result("partial/hdeval/one.csv").read_text()

    # The author who edits the notebook itself makes the new official result.
    original.write_text(text)
    assert "saved: results/hdeval/one" in execute(original, tmp_path)
    assert "0.75" in here.result("hdeval/one.csv").read_text()
    changed = json.loads(here.result("hdeval/one.json").read_text())["code"]
    assert changed == notebook.code(notebook.read(original)) != record["code"]


def test_the_way_out_of_false_numbers_leaves_none_of_them(here: Checkout) -> None:
    here.data("registry.csv")
    here.output("one", value=0.5)
    listed = catalogue.load()
    options = stale.Options(force=True, replace=True)
    session.Session(listed, options, Progress(1, io.StringIO())).run(listed.outputs)
    result = here.result("hdeval/one.csv")
    true = result.read_bytes()
    assert list(verify.result_faults()) == []

    # As a changed copy once left it: all files agree, and so does the manifest.
    result.write_bytes(true.replace(b",0.5,0.5,0,equal", b",0.5,0.75,0.25,differs"))
    record_path = here.result("hdeval/one.json")
    record = json.loads(record_path.read_text())
    record["code"]["notebooks/one.ipynb"] = "0" * 64
    record["files"]["results/hdeval/one.csv"] = files.sha256(result)
    record_path.write_text(json.dumps(record))
    seal.renew([*record["files"]], [*record["files"]])
    faults = {fault.file: fault for fault in verify.result_faults()}
    fault = faults["notebooks/one.ipynb"]
    assert "is other code than made results/hdeval/one.json" in fault.message
    assert fault.way_out.startswith("nlgeval run one --force --replace makes it")

    session.Session(listed, options, Progress(1, io.StringIO())).run(listed.outputs)
    assert result.read_bytes() == true
    assert list(verify.result_faults()) == []
