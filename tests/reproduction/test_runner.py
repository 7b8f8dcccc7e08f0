"""The runner: strict parameters, content hashes, failures kept aside, missing data,
and the real thing once.
"""

from __future__ import annotations

import functools
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_tools import cases
from runner_tools import SAVES, Checkout, Here

from reproduction.report import notebook
from reproduction.runner import session, stale
from reproduction.runner.session import Progress
from reproduction.runner.stale import Options
from reproduction.study import catalogue


def run(*ids: str, **options) -> tuple[session.Outcome, str]:
    """Run the catalogue; what happened and what was printed."""
    listed = catalogue.load()
    shown = io.StringIO()
    chosen = listed.select(ids)
    outcome = session.Session(
        listed, Options(**options), Progress(len(chosen), shown)
    ).run(chosen)
    return outcome, shown.getvalue()


# ---- parameters


def source(here: Checkout, parameters: str | None) -> notebook.Source:
    return notebook.read(here.notebook("one", "x = 1", parameters=parameters))


TYPED = 'mode = "full"  # share\nn = 3\nrate = 0.5\nflag = False\nnames = ["a"]\nlimit: int | None = None\nany = None'


@pytest.mark.parametrize("case", cases("parameters"), ids=json.dumps)
def test_parameters_are_typed(here, case):
    """`given` to the parameters cell TYPED, `read` from a command line, or a `cell`
    that is one or not.
    """

    def value():
        if "cell" in case:
            return source(here, case["cell"])
        if "read" in case:
            name, text = case["read"]
            return source(here, TYPED).parameters[name].read(text)
        return source(here, TYPED).resolve(case["given"])

    if "refused" in case:
        with pytest.raises(notebook.NotebookRefused) as caught:
            value()
        assert case["refused"] in str(caught.value)
        assert "read" in case or "notebooks/one.ipynb" in str(caught.value)
    else:
        expected = case.get("value", case.get("given"))
        assert repr(value()) == repr(expected), "5 is not 5.0"


def test_all_faults_are_told_at_once_and_automatic_parameters_given_where_there_are_some(
    here,
):
    assert source(here, 'mode = "full"').resolve({}, {"mode": "quick", "more": 1}) == {
        "mode": "quick"
    }
    with pytest.raises(notebook.NotebookRefused, match=r"(?s)'n' is True.*'other'"):
        source(here, TYPED).resolve(dict(n=True, other=1))


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"cells": [', '{"nbformat": 3, "cells": []}', '{"nbformat": 4}'],
)
def test_what_is_no_notebook_is_refused(here, text):
    path = here.notebook("one", "x = 1")
    path.write_text(text)
    with pytest.raises(notebook.NotebookRefused, match=r"one\.ipynb"):
        notebook.read(path)


# ---- what is run again, and what is not


def test_second_run_does_nothing_and_outputs_and_metadata_are_no_change(here):
    path = here.output("one")
    assert run()[0].ran == ["one"] and here.result("executed/hdeval/one.ipynb").exists()
    raw = json.loads(path.read_text())
    raw["metadata"]["papermill"] = {"duration": 3}
    for cell in raw["cells"]:
        cell |= {
            "execution_count": 5,
            "outputs": [{"output_type": "stream", "name": "stdout", "text": ["x"]}],
        }
        cell["metadata"]["execution"] = {"time": 1}
    path.write_text(json.dumps(raw, indent=2))
    os.utime(path, (1, 1))
    second, said = run()
    assert (second.ran, second.cached, here.count("one")) == (
        [],
        ["one"],
        1,
    ) and "cached: 1 outputs" in said
    assert run(force=True)[0].ran == ["one"] and here.count("one") == 2


@pytest.mark.parametrize(
    ("name", "old", "new", "ran"),
    [
        ("notebooks/two.ipynb", "needs a judge", "needs another judge", ["two"]),
        (
            "notebooks/catalogue.toml",
            '"two.ipynb"\n',
            '"two.ipynb"\nparameters = {seed = 3}\n',
            ["two"],
        ),
        (
            "notebooks/catalogue.toml",
            '"two.ipynb"\n',
            '"two.ipynb"\ntitle = "Second"\n',
            [],
        ),
        ("data/paper_tables/hdeval/table_02.csv", "0.50", "0.51", ["one", "two"]),
        ("requirements/base.txt", "numpy==2", "numpy==3", ["one", "two"]),
    ],
)
def test_what_hangs_on_an_edited_file_runs_again(here, name, old, new, ran):
    here.output("one")
    here.output("two")
    run()
    path = here.root / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert sorted(run()[0].ran) == ran
    assert run()[0].cached == ["one", "two"]
    assert "seed = 3" not in new or json.loads(
        here.result("hdeval/two.json").read_text()
    )["parameters"] == {"seed": 3}


# A small library, of which the notebook `one` imports a part: file -> whether an edit of
# it makes that output stale.
LIBRARY = {
    "__init__.py": True,
    "note.txt": True,
    "report/__init__.py": True,
    "report/output.py": True,
    "report/style/box.txt": True,  # no package of its own, so the nearest one's
    "meta/__init__.py": True,
    "meta/pairs.py": False,
    "meta/table.csv": True,
    "prompts/__init__.py": False,
    "prompts/a.txt": False,
    "meta/__pycache__/ties.py": False,
}
IMPORTS = "def late():\n    from nlgeval_lib import meta\n    from nlgeval_lib.report import output\n"


@pytest.fixture
def library(here) -> Path:
    folder = here.root / "library" / "nlgeval_lib"
    for name in LIBRARY:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("before")
    here.output("one", IMPORTS + SAVES.format(id="one", value=0.5))
    here.output("reads", "x = 1", more="saves = false\ncovers = []")
    return folder


@pytest.mark.parametrize("name", [*LIBRARY, "meta/new.csv", "prompts/new.py"])
def test_an_edit_of_the_library_costs_the_outputs_that_import_it(library, name):
    assert run()[0].ran == ["one", "reads"]
    assert run()[0].cached == ["one", "reads"]
    (library / name).write_text("after")
    ran = ["one"] if LIBRARY.get(name, name.startswith("meta")) else []
    listed = catalogue.load()
    told = list(session.listing(listed, Options(), listed.outputs))
    assert (f"run      one  (changed: nlgeval_lib/{name})" in told) == bool(ran)
    assert run()[0].ran == ran
    # Without it, the folder's texts belong to the package above.
    if not name.endswith("__init__.py"):
        (library / name).unlink()
        assert run()[0].ran == ran
    assert run()[0].cached == ["one", "reads"]


def test_an_edit_beside_a_notebook_costs_what_imports_it(here):
    """A module beside it, itself or through another, and the data that it names."""
    folder = here.root / "notebooks"
    beside = "if None:\n    import first\n"
    here.output("one", beside + SAVES.format(id="one", value=0.5))
    here.output("two")
    (folder / "first.py").write_text("import second")
    (folder / "second.py").write_text("DATA = 'numbers.csv'")
    (folder / "numbers.csv").write_text("1")
    (folder / "other.py").write_text("1")
    run()
    for name in ("first.py", "second.py", "numbers.csv", "other.py"):
        text = (folder / name).read_text()
        (folder / name).write_text(f"{text}  ")
        assert run()[0].ran == ([] if name == "other.py" else ["one"]), name


@pytest.mark.parametrize("end", [".csv", ".json"])
def test_a_lost_or_altered_result_is_made_again(here, end):
    here.output("one")
    run()
    path = here.result(f"hdeval/one{end}")
    whole = path.read_bytes()
    path.unlink()
    assert run()[0].ran == ["one"]
    if end == ".csv":
        assert path.read_bytes() == whole
        path.write_bytes(whole.replace(b"0.5", b"0.4"))
        assert run()[0].ran == ["one"]
        assert path.read_bytes() == whole


def test_an_output_after_another_waits_and_follows_its_result(here):
    reads = "from nlgeval_lib import files\ntext = (files.results() / 'hdeval/first.csv').read_text()\n"
    here.output(
        "later", reads + SAVES.format(id="later", value=0.5), more='after = ["first"]'
    )
    path = here.output("first")
    outcome, _ = run()
    assert outcome.ran == ["first", "later"]
    path.write_text(path.read_text().replace("value=0.5", "value=0.4"))
    assert run()[0].ran == ["first", "later"]
    path.write_text(path.read_text().replace("seed = 0", "seed = 0  # a comment"))
    assert run()[0].ran == ["first"], (
        "the same result again is no reason to run what reads it"
    )


def test_the_longest_first_and_outputs_of_one_notebook_one_after_the_other(
    here, monkeypatch
):
    """Side by side they would compute the same scores twice; the second finds them
    in the cache.
    """
    saves = SAVES.format(id="x", value=0.5).replace("'x'", "name")
    took = {"first": 9, "second": 20, "short": 1, "long": 8}
    for name, seconds in took.items():
        asked = 'mode = "full"\nseed = 0\nname = "first"'
        here.output(
            name, saves, parameters=asked, more=f'parameters = {{name = "{name}"}}'
        )
        here.result("hdeval").mkdir(parents=True, exist_ok=True)
        here.result(f"hdeval/{name}.json").write_text(
            json.dumps({"wall_seconds": seconds, "files": []})
        )
    here.entries[1] = here.entries[1].replace("second.ipynb", "first.ipynb")
    here.catalogue()
    begun = []
    monkeypatch.setattr(
        Here,
        "submit",
        lambda self, do, job, env, go=Here.submit: (
            begun.append(job.name),
            go(self, do, job, env),
        )[1],
    )
    assert run(jobs=2)[0].code == 0
    assert begun == ["second", "long", "first", "short"]


# ---- failures


def test_failures_go_aside_and_leave_the_last_good_run_alone(here):
    path = here.output("bad")
    aside = here.root / ".nlgeval/failed/bad.ipynb"
    good = path.read_text()
    run()
    before = here.result("executed/hdeval/bad.ipynb").read_bytes()
    path.write_text(
        here.notebook(
            "other", "x = 1", "def f():\n    raise ValueError('boom')\nf()"
        ).read_text()
    )
    here.output("untagged", parameters=None)
    here.output("typed", more="parameters = {seed = true}")
    here.output("good")
    outcome, said = run()
    assert (sorted(outcome.failed), outcome.ran, outcome.code) == (
        ["bad", "typed", "untagged"],
        ["good"],
        1,
    )
    assert "ValueError: boom" in said and "raise ValueError('boom')" in said
    assert ".nlgeval/failed/bad.ipynb" in said and aside.exists()
    assert sorted(path.name for path in here.result("executed/hdeval").iterdir()) == [
        "bad.ipynb",
        "good.ipynb",
    ]
    assert (
        here.result("executed/hdeval/bad.ipynb").read_bytes() == before
        and here.result("hdeval/bad.csv").exists()
    )
    assert run("bad")[0].failed == ["bad"], "tried again"
    here.output("modeless", parameters="seed = 0")
    outcome, said = run("modeless", mode="quick")
    assert outcome.failed == ["modeless"] and "no parameter 'mode'" in said
    path.write_text(good)
    assert run("bad")[0].ran == ["bad"] and not aside.exists()


def test_a_notebook_that_saves_nothing_or_another_output_has_failed(here):
    here.output("one", "x = 1")
    here.output("two", SAVES.format(id="one", value=0.5))
    outcome, said = run()
    assert outcome.failed == ["one", "two"]
    assert all(text in said for text in ("saved nothing", "out.save()", "saved 'one'"))


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "[]",
        "{",
        {"parts": []},
        {"files": [["a", "b"]]},
        {"saved": None},
        {"seconds": "x"},
        {"format": 99},
    ],
)
def test_a_damaged_record_means_run_again(here, damage):
    here.output("one")
    run()
    path = stale.record_path("full", "one")
    path.write_text(
        damage
        if isinstance(damage, str)
        else json.dumps(json.loads(path.read_text()) | damage)
    )
    assert run()[0].ran == ["one"] and run()[0].cached == ["one"]


# ---- data


@pytest.fixture
def gone(monkeypatch) -> dict[str, str]:
    """Why a data set is not here: the runner learns it from this."""
    found: dict[str, str] = {}
    monkeypatch.setattr(
        stale, "checksums", functools.cache(lambda name: {f"{name}.csv": "1" * 64})
    )
    monkeypatch.setattr("reproduction.report.made_from.data_hashes", lambda name: {})
    monkeypatch.setattr(
        stale,
        "missing",
        lambda names: {name: found[name] for name in names if name in found},
    )
    return found


def test_missing_data_cost_what_needs_them_and_was_not_run(here, gone, monkeypatch):
    here.output("done", more='inputs = ["summeval"]')
    run()
    here.output("one", more='inputs = ["summeval"]')
    here.output("two", more='inputs = ["summeval", "bagel"]')
    here.output("three")
    gone["summeval"] = (
        "summeval.csv is unavailable: not in data/raw; https://h.org/x: h.org is unreachable. Set X"
    )
    outcome, said = run()
    assert (outcome.cached, outcome.ran, {*outcome.unavailable}) == (
        ["done"],
        ["three"],
        {"one", "two"},
    )
    assert outcome.code == 0
    lines = [line for line in said.splitlines() if line.startswith("unavailable:")]
    assert lines == [
        "unavailable: summeval: summeval.csv is unavailable: not in data/raw; h.org is unreachable; not run: one, two"
    ]
    assert here.count("one") == here.count("two") == 0
    monkeypatch.setattr(
        stale,
        "missing",
        lambda names: list(names) and pytest.fail("three needs no data"),
    )
    run("three")


def test_changed_data_run_again(here, gone, monkeypatch):
    here.output("one", more='inputs = ["summeval"]')
    run()
    assert run()[0].cached == ["one"]
    monkeypatch.setattr(
        stale, "checksums", functools.cache(lambda name: {"summeval.csv": "2" * 64})
    )
    assert run()[0].ran == ["one"]


def test_unknown_data_sets_are_an_error_of_the_catalogue(here):
    (here.root / "data" / "registry.csv").write_text(
        "path,url,sha256,bytes,licence,repository,commit\n"
    )
    here.output("one", more='inputs = ["sumeval"]')
    with pytest.raises(catalogue.CatalogueError, match=r"'one'.*sumeval.*summeval"):
        run()


# ---- trials


def test_a_trial_touches_neither_result_nor_record(here):
    here.output("one")
    run()
    before = {path: path.read_bytes() for path in here.result("hdeval").iterdir()}
    outcome, _ = run("one", overrides={"seed": "7"})
    assert outcome.ran == ["one"]
    assert json.loads(here.result("partial/hdeval/one.json").read_text())[
        "parameters"
    ] == {"seed": 7}
    assert {
        path: path.read_bytes() for path in here.result("hdeval").iterdir()
    } == before
    assert run()[0].cached == ["one"]
    outcome, said = run("one", overrides={"sed": "7"})
    assert outcome.failed == ["one"] and "did you mean 'seed'" in said


# ---- the real thing


@pytest.fixture
def real(tmp_path, monkeypatch) -> Checkout:
    """A checkout whose notebooks run in kernels; a foreign `python3` kernel lies in
    wait.
    """
    monkeypatch.setenv("NLGEVAL_ROOT", str(tmp_path / "checkout"))
    for name in (
        "NLGEVAL_RESULTS",
        "NLGEVAL_FIGURES",
        "NLGEVAL_HOME",
        "NLGEVAL_RECORD",
    ):
        monkeypatch.delenv(name, raising=False)
    foreign = tmp_path / "jupyter" / "kernels" / "python3"
    foreign.mkdir(parents=True)
    argv = [
        "/nonexistent/python",
        "-m",
        "ipykernel_launcher",
        "-f",
        "{connection_file}",
    ]
    (foreign / "kernel.json").write_text(
        json.dumps({"argv": argv, "display_name": "x", "language": "python"})
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    (tmp_path / "checkout").mkdir()
    monkeypatch.setattr(stale, "ROOT", tmp_path / "library")
    return Checkout(tmp_path / "checkout")


def test_real_kernels(real):
    """Two at a time: a good notebook, one that fails, and one whose kernel is
    killed.
    """
    facts = "dict(python=sys.executable, cwd=os.getcwd(), seed=seed, threads=os.environ['OMP_NUM_THREADS'])"
    told = f"import json, os, sys\njson.dump({facts}, open({str(real.counts / 'told.json')!r}, 'w'))\n"
    real.output(
        "good",
        told + SAVES.format(id="good", value=0.5),
        more="parameters = {seed = 5}",
    )
    real.output("bad", "x = 1", "def f():\n    raise ValueError('boom')\nf()")
    kill = (
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGKILL)\ntime.sleep(60)"
    )
    real.output("killer", kill)
    outcome, said = run(jobs=2)
    assert outcome.ran == ["good"] and sorted(outcome.failed) == ["bad", "killer"]
    facts = json.loads((real.counts / "told.json").read_text())
    assert Path(facts["python"]).samefile(sys.executable)
    assert Path(facts["cwd"]).samefile(real.root / "notebooks")
    assert facts["seed"] == 5 and int(facts["threads"]) >= 1
    assert (
        "ValueError: boom" in said
        and "raise ValueError('boom')" in said
        and "\x1b" not in said
    )
    assert "the kernel died" in said
    executed = json.loads(real.result("executed/hdeval/good.ipynb").read_text())
    assert any(
        "injected-parameters" in cell["metadata"]["tags"]
        for cell in executed["cells"]
        if cell["metadata"]
    )
    assert executed["metadata"]["kernelspec"]["name"] == "python3"
    assert "boom" in (real.root / ".nlgeval/failed/bad.ipynb").read_text()
    assert not list(real.result("").rglob(".*")) and not list(
        (real.root / ".nlgeval/runs").rglob(".*")
    )
    assert run(jobs=2)[0].cached == ["good"]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_stops_everything(real):
    """The runner ends soon, with 130, and leaves no process and no half-made file."""
    mark = real.counts / "kernel.pid"
    sleeps = f"import os, time\nwith open({str(mark)!r}, 'w') as f:\n    f.write(str(os.getpid()))\ntime.sleep(120)"
    real.output("slow", sleeps)
    command = [sys.executable, "-c", "from nlgeval_lib.cli import main; main()", "run"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    deadline = time.monotonic() + 180
    while (
        not (mark.exists() and mark.read_text())
        and time.monotonic() < deadline
        and process.poll() is None
    ):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said
    kernel = int(mark.read_text())
    while _alive(kernel) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(kernel)
    assert not [path for path in real.root.rglob(".*") if path.is_file()]
    assert stale.Record.read(stale.record_path("full", "slow")) is None


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
