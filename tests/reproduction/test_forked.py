"""Kernels forked from a template: as separate as started ones, and replaced by those
where a fork fails.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import textwrap

import nbformat
import pytest

from reproduction.runner import kernels, pool

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="kernels are forked on Linux only"
)

PARENT = "open(f'/proc/{os.getppid()}/cmdline').read()"
LEAVES = f"""
    import json, os, sys
    import numpy, pandas
    from reproduction import papers
    pandas.trace = os.environ["TRACE"] = "left behind"
    papers.load = None
    name = "first"
    draw = numpy.random.random()
    json.dump(dict(parent={PARENT}, draw=draw, pid=os.getpid()), open("first.json", "w"))
    os.chdir("/")
    """
FINDS = """
    import json, os, sys, threading
    present = {*sys.modules}
    import numpy, pandas, scipy.linalg
    import matplotlib.pyplot as plt
    from reproduction import papers
    first = json.load(open("first.json"))
    assert os.getcwd() == folder and os.environ["OMP_NUM_THREADS"] == "2"
    assert os.environ["NLGEVAL_RECORD"] == "second.saved" and "" in sys.path
    assert not hasattr(pandas, "trace") and "TRACE" not in os.environ and papers.load is not None
    assert "name" not in globals() and numpy.random.random() != first["draw"] and os.getpid() != first["pid"]
    assert os.getpid() == os.getpgid(0) == os.getsid(0)
    # provenance names what a kernel has imported
    assert not present & {"sklearn", "statsmodels", "nltk", "sacrebleu", "torch", "transformers"}
    a = numpy.random.default_rng(0).normal(size=(400, 400))
    assert numpy.allclose(a @ a, numpy.einsum("ij,jk->ik", a, a))
    assert numpy.allclose(scipy.linalg.inv(a) @ a, numpy.eye(400))
    plt.plot([1, 2])
    from reproduction.runner import kernels
    assert {*kernels.PRELOADED} <= present
    """


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Execute a cell of code in a kernel, and return its answer and the executed
    copy's outputs.
    """
    monkeypatch.setenv("NLGEVAL_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")

    def execute(name: str, code: str) -> tuple[dict, str]:
        parameters = nbformat.v4.new_code_cell(
            "folder = ''", metadata={"tags": ["parameters"]}
        )
        cells = [parameters, nbformat.v4.new_code_cell(textwrap.dedent(code))]
        source = tmp_path / f"{name}.ipynb"
        target = tmp_path / f"{name}.done.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=cells), source)
        environment = {"NLGEVAL_RECORD": f"{name}.saved"}
        job = pool.Job(name, source, target, {"folder": str(tmp_path)}, environment)
        [(_, answer, _)] = pool.executed(1, iter([job, None]).__next__)
        return answer, target.read_text() if target.exists() else ""

    with kernels.template():  # the same for all
        monkeypatch.setattr(kernels, "template", contextlib.nullcontext)
        yield execute


def test_one_kernel_leaves_nothing_to_the_next_and_a_lost_template_is_replaced(
    ask, tmp_path
):
    answer, _ = ask("first", LEAVES)
    assert answer == {"ok": True}
    assert (
        "reproduction.runner.kernels"
        in json.loads((tmp_path / "first.json").read_text())["parent"]
    )
    answer, executed = ask("second", FINDS)
    assert answer == {"ok": True}, answer["traceback"]
    assert "image/png" in executed and "stderr" not in executed
    answer, _ = ask(
        "killer", "import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(60)"
    )
    assert answer == {
        "ok": False,
        "error": "the kernel died (out of memory, or killed)",
    }
    assert ask("first", LEAVES)[0] == {"ok": True}
    assert (
        "reproduction.runner.kernels"
        in json.loads((tmp_path / "first.json").read_text())["parent"]
    )


@pytest.mark.parametrize("why", ["turned off", "broken"])
def test_kernels_that_are_not_forked_are_left_to_jupyter(monkeypatch, why):
    import asyncio

    def refuse(self, request):
        raise OSError("the template process ended (exit 1)")

    async def start(self, cmd, **kwargs):
        started.append(cmd)
        return {}

    started: list[list[str]] = []
    monkeypatch.setattr(kernels.LocalProvisioner, "launch_kernel", start)
    if why == "broken":
        monkeypatch.setattr(kernels.Template, "fork", refuse)
    monkeypatch.setenv("NLGEVAL_FORK", "0" if why == "turned off" else "1")
    monkeypatch.setattr(kernels.TEMPLATE, "closed", False)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "x.json"]
    asyncio.run(
        kernels.Forked(kernel_id="x").launch_kernel(command, env={}, cwd=os.getcwd())
    )
    assert started == [command]
