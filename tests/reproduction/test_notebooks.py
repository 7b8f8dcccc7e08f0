"""What holds for every notebook, and for every committed result."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import papermill
import pytest
from public_data import needs

from judgecard import recordings
from reproduction import papers
from reproduction.report import committed, notebook, saving
from reproduction.report.committed import cleaned
from reproduction.runner import kernels
from reproduction.study import catalogue
from tools.jupyter_config import told

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    p
    for p in (ROOT / "notebooks").rglob("*.ipynb")
    if not {".ipynb_checkpoints", catalogue.PRIVATE}.intersection(p.parts)
)
OUTPUTS = [
    entry for entry in catalogue.load().outputs if entry.saves and entry.route != "mini"
]
COMPUTED = ("public", "recorded", "run")
SHOWN = re.compile(r"\bdisplay\(|\bout\.(answer|audit|frame|table)\(|\bshow\(")


def cells_of(path: Path, kind: str) -> list[dict]:
    return [
        cell
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == kind
    ]


# The template shows nothing: its copy does, once it has run.
SHOWN_NOTEBOOKS = [path for path in SOURCES if not path.name.startswith("template_")]


@pytest.mark.parametrize(
    "path", SHOWN_NOTEBOOKS, ids=lambda path: str(path.relative_to(ROOT / "notebooks"))
)
def test_a_notebook_shows_what_it_gives(path: Path) -> None:
    cells = cells_of(path, "code")
    shown = [output for cell in cells for output in cell["outputs"]]
    assert shown, "no outputs: nlgeval run makes them"
    kinds = {output["output_type"] for output in shown}
    assert kinds <= {"stream", "display_data", "execute_result"}
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"/(home|Users|tmp|root|work)/", text)
    assert "<script" not in json.dumps(shown)
    assert len(text.encode()) <= 400_000


def test_texts_of_others_are_shown_only_where_they_are() -> None:
    """Of the recorded answers that a notebook reads none stands in what it shows."""
    needs("acloserlook")
    path = ROOT / "notebooks/meta/golden_replay.ipynb"
    [marked] = [
        cell
        for cell in cells_of(path, "code")
        if committed.OTHERS in cell["metadata"].get("tags", [])
    ]
    [note] = marked["outputs"]
    assert "".join(note["text"]) == committed.NOT_OURS
    shown = " ".join(
        json.dumps(cell["outputs"], ensure_ascii=False)
        for cell in cells_of(path, "code")
    )
    texts = recordings.load("acloserlook")["text"].dropna()
    ends = {" ".join(text.split())[-60:] for text in texts if len(text) >= 120}
    assert len(ends) > 1000
    assert not [end for end in ends if end in shown]


def test_notebooks_are_small() -> None:
    sizes = [path.stat().st_size for path in SHOWN_NOTEBOOKS]
    assert sum(sizes) / len(sizes) <= 80_000


def test_cells_are_formatted(tmp_path: Path) -> None:
    """All but the parameters, which papermill reads a line each."""
    for path in SOURCES:
        name = "_".join(path.relative_to(ROOT / "notebooks").with_suffix("").parts)
        for number, cell in enumerate(cells_of(path, "code")):
            if "parameters" not in cell["metadata"].get("tags", []):
                source = "".join(cell["source"])
                (tmp_path / f"{name}__{number}.py").write_text(f"{source}\n", "utf-8")
    program = str(Path(sys.executable).parent / "ruff")
    options = ["format", "--check", "--isolated", "--line-length", "88"]
    done = subprocess.run(
        [program, *options, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "notebooks"))
)
def test_a_notebook_is_one_that_a_reader_can_follow(path: Path) -> None:
    code = cells_of(path, "code")
    prose = cells_of(path, "markdown")
    tagged = [cell for cell in code if "parameters" in cell["metadata"].get("tags", [])]
    assert len(tagged) == 1, "one cell tagged parameters"
    told = papermill.inspect_notebook(path)  # as `papermill --help-notebook` shows it
    assert told.keys() == notebook.read(path).parameters.keys(), (
        "an assignment a line, with one = in it"
    )
    for name, one in told.items():
        assert one["inferred_type_name"] != "None" and one["help"], (
            f"{name}: TYPE = VALUE  # comment"
        )
    assert "".join(prose[0]["source"]).startswith("# ")
    assert len(code) + len(prose) <= 40, (
        "longer than a reader's patience; move logic to the library"
    )
    before = [bool(SHOWN.search("".join(cell["source"]))) for cell in code]
    if (
        True in before and path.name != "00_start_here.ipynb"
    ):  # which shows one item first
        ahead = [
            line
            for cell in code[: before.index(True) + 1]
            if cell not in tagged
            for line in cell["source"]
        ]
        assert len([line for line in ahead if line.strip()]) <= 45, (
            "the answer first: begin with out.answer()"
        )
    long = [
        line for cell in code for line in cell["source"] if len(line.rstrip("\n")) > 120
    ]
    assert not long, f"lines of code over 120 characters do not fit a page: {long}"


def passed(path: Path) -> set[str] | None:
    """The names that a notebook hands to `Output(parameters=...)`; None where it
    makes no Output.
    """
    tree = ast.parse(
        "\n".join("".join(cell["source"]) for cell in cells_of(path, "code"))
    )
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    made = [call for call in calls if ast.unparse(call.func).endswith("Output")]
    if not made:
        return None
    [given] = [
        [word.value for word in call.keywords if word.arg == "parameters"]
        for call in made
    ]
    top = [node for node in tree.body if isinstance(node, ast.Assign | ast.AugAssign)]

    def named(value: ast.expr) -> set[str]:
        """The names in `dict(...)`, in what a variable was given, and in `a | b`."""
        if isinstance(value, ast.Call):
            return {word.arg for word in value.keywords if word.arg}
        if isinstance(value, ast.BinOp):
            return named(value.left) | named(value.right)
        found = set()
        for node in top:
            target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
            if ast.unparse(target) == ast.unparse(value):
                found |= named(node.value)
        return found

    return set().union(*map(named, given))


@pytest.mark.parametrize(
    "path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "notebooks"))
)
def test_a_notebook_tells_all_its_parameters(path: Path) -> None:
    """By them it is decided whether a run may publish: one that is not told could be
    played with.
    """
    names = passed(path)
    assert names is None or names == set(notebook.read(path).parameters) - set(
        catalogue.RESERVED
    )


@pytest.fixture(scope="module")
def forks() -> Iterator[None]:
    """One process has imported what the kernels of the tests need."""
    with kernels.template():
        yield


@pytest.mark.parametrize(
    ("copied", "played"),
    [(False, {"confidence": 0.5}), (True, {})],
    ids=["played with", "copied"],
)
def test_papermill_alone(tmp_path, monkeypatch, forks, copied, played) -> None:
    """`papermill NOTEBOOK out.ipynb -p confidence 0.5`, by anyone: what is saved
    stays, the last line says so.
    """
    path = ROOT / "notebooks" / "tigerscore" / "table_07_hallucination.ipynb"
    where = tmp_path / "out.ipynb"
    if copied:
        path = Path(shutil.copy(path, tmp_path / "mine.ipynb"))
    kept = (
        "results/tigerscore/tigerscore_table_07",
        "figures/tigerscore/tigerscore_table_07",
    )
    before = {}
    for file in (
        file
        for name in kept
        for file in (ROOT / name).parent.glob(Path(name).name + "[._]*")
    ):
        target = tmp_path / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        before[target] = Path(shutil.copy(file, target)).read_bytes()
    for name in ("NLGEVAL_RECORD", "NLGEVAL_TRIAL", "NLGEVAL_REPLACE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("RESULTS", "FIGURES", "HOME"):
        monkeypatch.setenv(f"NLGEVAL_{name}", str(tmp_path / name.lower()))
    how = {
        "kernel_name": kernels.NAME,
        "language": "python",
        "kernel_manager_class": kernels.manager({}),
    }
    papermill.execute_notebook(
        path, where, played, progress_bar=False, cwd=str(path.parent), **how
    )
    last = [
        out["text"]
        for cell in cells_of(where, "code")
        for out in cell["outputs"]
        if "text" in out
    ][-1]
    assert len(before) > 3
    if played:
        assert {file: file.read_bytes() for file in before} == before
        assert (
            tmp_path / "results/partial/tigerscore/tigerscore_table_07.csv"
        ).exists()
        assert (
            "because confidence is 0.5, the catalogue's is 0.95"
            in "".join(last).splitlines()[-1]
        )
    else:
        assert not (tmp_path / "results/partial").exists() and "because" not in "".join(
            last
        )


def test_every_notebook_is_in_the_catalogue() -> None:
    listed = {entry.notebook for entry in catalogue.load().outputs} | {
        catalogue.scoreboard_entry().notebook
    }
    here = {
        str(path.relative_to(ROOT / "notebooks"))
        for path in SOURCES
        if not path.name.startswith("template_")
    }
    assert here == listed


@pytest.mark.parametrize("entry", OUTPUTS, ids=lambda entry: entry.id)
def test_every_output_has_its_result_and_provenance(entry: catalogue.Entry) -> None:
    proof = ROOT / "results" / entry.paper / f"{entry.id}.json"
    assert proof.exists(), f"no committed result; run: nlgeval run {entry.id}"
    record = json.loads(proof.read_text(encoding="utf-8"))
    assert record["mode"] == "full" and record["output"] == entry.id
    assert record["route"] in catalogue.ROUTES
    assert record["git"]["commit"] and record["packages"] and record["date"]
    assert any(name.endswith(".csv") for name in record["files"]), (
        "numbers are saved as CSV"
    )
    for name in record["files"]:
        assert (ROOT / name).exists(), (
            f"{name} is named by the provenance of {entry.id}, but is not there"
        )
    text = proof.read_text(encoding="utf-8")
    assert not re.search(r"/(home|Users|tmp|root)/", text)


@pytest.mark.parametrize("entry", OUTPUTS, ids=lambda entry: entry.id)
def test_a_row_less_is_noticed_in_every_committed_table(entry: catalogue.Entry) -> None:
    record = saving.read_json(f"results/{entry.paper}/{entry.id}.json")
    whole = {name: (ROOT / name).read_bytes() for name in record["files"]}
    assert saving.lost(record, whole) == []
    for name in (name for name in whole if name.endswith(".csv")):
        frame = pd.read_csv(ROOT / name, dtype=str, keep_default_na=False)
        shorter = saving.csv_text(frame.iloc[: len(frame) // 2]).encode()
        [loss] = saving.lost(record, whole | {name: shorter})
        assert loss.count == len(frame) - len(frame) // 2
        assert f" of {Path(name).name}" in loss.said


@pytest.mark.parametrize("entry", OUTPUTS, ids=lambda entry: entry.id)
def test_no_correlation_without_signature_n_and_interval(
    entry: catalogue.Entry,
) -> None:
    """In cells beside a paper's and in tables of our own; what has no interval says
    why.
    """
    folder = ROOT / "results" / entry.paper
    for path in (*folder.glob(f"{entry.id}.csv"), *folder.glob(f"{entry.id}__*.csv")):
        frame = pd.read_csv(path, dtype={"printed": str})
        compared = path.stem == entry.id
        named = [name for name in ("statistic", "coef", "coefficient") if name in frame]
        value = "ours" if compared else "value"
        if compared:
            assert set(frame["route"].dropna()) <= set(catalogue.ROUTES) - {"mini"}
            assert frame.loc[frame["verdict"] == "missing", "reason"].notna().all()
            frame = frame[frame["route"].isin(COMPUTED)]
        if not named or value not in frame:
            continue
        part = frame[
            frame[named[0]].astype(str).str.contains("pearson|spearman|kendall")
            & frame[value].notna()
        ]
        if part.empty:
            continue
        assert part["signature"].notna().all() and part["n"].notna().all(), path.name
        low, high = ("ci_low", "ci_high") if "ci_low" in part else ("low", "high")
        bare = part[part.reindex(columns=[low, high]).isna().any(axis=1)]
        told = bare["reason"].notna() if "reason" in bare else bare["n"].isna()
        if not compared:
            told |= bare["signature"].str.contains("ci:none(", regex=False)
        assert told.all(), f"{path.name}: no interval"


def cells_file(entry: catalogue.Entry) -> Path:
    """Where the compared cells of an output are, if it has any."""
    return ROOT / "results" / entry.paper / f"{entry.id}.csv"


@pytest.mark.parametrize(
    "entry",
    [entry for entry in OUTPUTS if cells_file(entry).exists()],
    ids=lambda entry: entry.id,
)
def test_verdicts_follow_from_the_numbers(entry: catalogue.Entry) -> None:
    """The committed verdicts are those of the printed tables as they are now."""
    path = cells_file(entry)
    cells = pd.read_csv(
        path, dtype={"printed": str}, keep_default_na=False, na_values={"ours": ""}
    )
    for table, part in cells[cells["verdict"] != "extra"].groupby("table"):
        printed = papers.load(part["paper"].iat[0], str(table)).set_index(
            ["row", "column", "statistic"]
        )["printed"]
        for cell in part[part["ours"].notna()].to_dict("records"):
            text = printed[(cell["row"], cell["column"], cell["statistic"])]
            assert text == cell["printed"]
            equal = (
                papers.agrees(float(cell["ours"]), text)
                or "by the paper's rounding" in cell["reason"]
            )
            if cell["route"] == "recorded":
                assert cell["verdict"] == "orientation"
                continue
            assert equal == (cell["verdict"] in ("equal", "construction"))


# -- git's filter for notebooks: a run that is saved changes nothing for git, an edit does -----------------------------


@pytest.fixture
def checkout(tmp_path):
    """A git repository with one of our notebooks, and the filter as the set-up sets
    it; and git in it.
    """
    (tmp_path / "reproduction/report").mkdir(parents=True)
    for name in (".gitattributes", "reproduction/report/committed.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "notebooks/00_start_here.ipynb", tmp_path / "one.ipynb")
    [key, command] = re.findall(
        r'git config (\S+) "(.+?)"', (ROOT / "tools/setup.sh").read_text()
    )[0]

    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        done = subprocess.run(
            ["git", *who, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    git("init", "-q")
    git("config", key, command)
    git("add", ".")
    git("commit", "-qm", "first")
    return tmp_path / "one.ipynb", git


def test_a_run_that_is_saved_is_no_change_and_an_edit_is_one(checkout):
    path, git = checkout
    assert git("show", "HEAD:one.ipynb") == path.read_text(encoding="utf-8")
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    warning = {"output_type": "stream", "name": "stderr", "text": ["é\n"]}
    for count, cell in enumerate(code, 7):  # as JupyterLab saves it
        cell |= {"execution_count": count, "outputs": [warning, *cell["outputs"]]}
        cell["metadata"] |= {
            "execution": {"iopub.status.idle": "2024"},
            "scrolled": True,
        }
    notebook["metadata"]["kernelspec"]["display_name"] = "Python 3 (ipykernel)"
    notebook["metadata"]["language_info"] |= {
        "version": "3.12.1",
        "codemirror_mode": {"name": "ipython"},
    }
    path.write_text(
        json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    assert git("diff") == ""
    told({"type": "notebook"}, str(path))
    assert (
        git("status", "--porcelain") == ""
        and "outputs" in code[0]
        and '"é\\n"' in path.read_text(encoding="utf-8")
    )
    code[0]["source"] = ["mode = 'quick'"]
    path.write_text(
        json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    told({"type": "notebook"}, str(path))
    assert git("status", "--porcelain") == " M one.ipynb\n" and "mode = 'quick'" in git(
        "diff"
    )


def test_committed_notebooks_pass_through_unchanged_and_other_texts_too():
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert cleaned(text) == text, path
    for text in ("", "no notebook", "[1]", '{"cells": 3'):
        assert cleaned(text) == text
