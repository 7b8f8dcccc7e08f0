"""A small checkout in a temporary folder, and an executor that runs notebooks in
this process.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import traceback
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from nlgeval_lib import files
from reproduction.report import notebook
from reproduction.runner import pool, stale

DATA = files.data()  # of the real checkout

SAVES = """from reproduction import report
import pandas as pd
out = report.Output({id!r}, mode=mode, parameters=dict(seed=seed))
ours = pd.DataFrame([dict(row="BLEU", column="A", statistic="accuracy", value={value})])
cells = out.compare(ours, reason="needs a judge")
out.save()"""
COUNTS = 'from pathlib import Path\nwith open(Path({folder!r}) / "{id}.count", "a") as f:\n    f.write("x")'
PARAMETERS = 'mode = "full"  # share of the data\nseed = 0'


def document(*cells: str, parameters: str | None = PARAMETERS) -> dict[str, Any]:
    """A notebook: a parameters cell, unless None, and code cells."""
    made = [] if parameters is None else [_code(parameters, 0, ["parameters"])]
    made += [_code(source, number, []) for number, source in enumerate(cells, 1)]
    metadata = {
        "kernelspec": {
            "display_name": "Python 3",
            "language": "python",
            "name": "python3",
        }
    }
    return {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _code(source: str, number: int, tags: list[str]) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": f"cell-{number}",
        "metadata": {"tags": tags} if tags else {},
        "source": source.splitlines(keepends=True),
        "outputs": [],
        "execution_count": None,
    }


class Checkout:
    """Notebooks, catalogue and printed tables of one paper in `root`; used through
    NLGEVAL_ROOT.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        tables = root / "data" / "paper_tables" / "hdeval"
        tables.mkdir(parents=True)
        (root / "requirements").mkdir()
        (root / "requirements" / "base.txt").write_text("numpy==2\n")
        (root / "notebooks").mkdir()
        self.counts = root / "counts"
        self.counts.mkdir()
        (tables / "index.csv").write_text(
            "paper,id,number,kind,title,cells,place,note\n"
            "hdeval,table_01,1,numeric,First,2,4,\n"
            "hdeval,table_02,2,numeric,Second,1,4,\n"
            "hdeval,table_03,3,prompt,Third,0,A,\n"
            "hdeval,figure_01,1,figure,Fourth,0,4,drawn only\n"
        )
        head = "paper,table,row,column,statistic,value\n"
        (tables / "table_01.csv").write_text(
            f"{head}hdeval,table_01,BLEU,A,accuracy,0.50\nhdeval,table_01,ROUGE,A,accuracy,0.25\n"
        )
        (tables / "table_02.csv").write_text(
            f"{head}hdeval,table_02,BLEU,A,accuracy,0.50\n"
        )
        (tables.parent / "kinds.csv").write_text(
            "paper,table,row,column,kind,method\n"
            "hdeval,*,HD-Eval*,*,own method,HD-Eval\n"
            "hdeval,*,*,*,lexical metric,n-grams\n"
        )
        (tables.parent / "own_methods.csv").write_text(
            'paper,table,method,needs\nhdeval,*,HD-Eval,"gpt-4-32k through its API"\n'
        )
        self.data("assumed.csv")
        self.entries: list[str] = []
        self.catalogue()

    def catalogue(self, text: str | None = None) -> None:
        """Write the catalogue: `text`, or the entries added so far."""
        (self.root / "notebooks" / "catalogue.toml").write_text(
            "\n".join(self.entries) if text is None else text
        )

    def notebook(
        self, name: str, *cells: str, parameters: str | None = PARAMETERS
    ) -> Path:
        """Write `notebooks/<name>.ipynb`."""
        path = self.root / "notebooks" / f"{name}.ipynb"
        path.write_text(json.dumps(document(*cells, parameters=parameters)))
        return path

    def output(
        self,
        id: str,
        *cells: str,
        value: float = 0.5,
        more: str = "",
        parameters: str | None = PARAMETERS,
    ) -> Path:
        """Add an output that counts its runs and saves one cell; or that has the
        given cells.
        """
        counting = COUNTS.format(folder=str(self.counts), id=id)
        path = self.notebook(
            id,
            counting,
            *(cells or [SAVES.format(id=id, value=value)]),
            parameters=parameters,
        )
        covers = "" if "covers" in more else 'covers = ["table_01"]\n'
        route = "" if "route" in more else 'route = "public"\n'
        self.entries.append(
            f'[[output]]\nid = "{id}"\npaper = "hdeval"\nnotebook = "{id}.ipynb"\n{covers}{route}{more}\n'
        )
        self.catalogue()
        return path

    def data(self, *names: str) -> None:
        """Copies of these files of the real data folder."""
        for name in names:
            (self.root / "data" / name).parent.mkdir(exist_ok=True)
            shutil.copy(DATA / name, self.root / "data" / name)

    def count(self, id: str) -> int:
        """How often the notebook of this output was run."""
        path = self.counts / f"{id}.count"
        return len(path.read_text()) if path.exists() else 0

    def result(self, name: str) -> Path:
        """A file below results/."""
        return self.root / "results" / name


class Here(Executor):
    """Stands for the threads: a notebook's cells run one after the other in this
    process, at once.
    """

    def __init__(self, jobs: int) -> None:
        """As many as are asked for: none runs beside another."""

    def submit(self, execute: Any, job: Any, environment: Any) -> Future:
        """Run the job."""
        done: Future = Future()
        done.set_result(_run(job))
        return done


def _run(job: Any) -> dict[str, Any]:
    document = json.loads(job.source.read_text())
    shutil.copy(job.source, job.target)
    space: dict[str, Any] = {"display": lambda *things: None}
    for number, cell in enumerate(document["cells"]):
        source = "".join(cell["source"]) if cell["cell_type"] == "code" else ""
        try:
            with (
                mock.patch.dict(os.environ, job.environment),
                contextlib.redirect_stdout(io.StringIO()),
            ):
                exec(compile(source, "cell", "exec"), space)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            return {
                "ok": False,
                "cell": number,
                "source": source,
                "error": said,
                "traceback": traceback.format_exc(),
            }
        if "parameters" in cell["metadata"].get("tags", ()):
            space.update(job.parameters)
    return {"ok": True}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """A checkout whose notebooks run in this process, with a library of its own:
    ours may be edited meanwhile.
    """
    monkeypatch.setenv("NLGEVAL_ROOT", str(tmp_path))
    for name in ("RESULTS", "FIGURES", "HOME", "RECORD", "TRIAL", "REPLACE"):
        monkeypatch.delenv(f"NLGEVAL_{name}", raising=False)
    monkeypatch.setattr(pool, "ThreadPoolExecutor", Here)
    monkeypatch.setattr(stale, "ROOT", tmp_path / "library")
    # No kernel tells which cells ran; `test_other_code.py` asks kernels.
    monkeypatch.setattr(notebook, "other_code", lambda path: "")
    return Checkout(tmp_path)


@pytest.fixture
def student(here: Checkout, command: Any) -> Any:
    """The command in a checkout of its own, with the template and the embedded data."""
    repository = DATA.parent
    shutil.copy(
        repository / "notebooks" / "template_ablation.ipynb", here.root / "notebooks"
    )
    (here.root / "notebooks" / "ablations").mkdir()
    for name in ("mini", "registry.csv"):
        (here.root / "data" / name).symlink_to(repository / "data" / name)
    return command
