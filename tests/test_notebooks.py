"""What holds for every notebook, and for every committed result."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import papermill
import pytest

from nlgeval_lib import papers
from nlgeval_lib.report import notebook, saving
from nlgeval_lib.runner import kernels
from nlgeval_lib.study import catalogue

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted(p for p in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
OUTPUTS = [entry for entry in catalogue.load().outputs if entry.saves and entry.route != "mini"]
COMPUTED = ("public", "recorded", "run")
SHOWN = re.compile(r"\bdisplay\(|\bout\.(answer|audit|frame|table)\(|\bshow\(")
# keep in step with the recipe of `make lint`
STRIP = ["nbstripout", "--verify", "--keep-id", "--extra-keys",
         "metadata.papermill cell.metadata.papermill cell.metadata.execution"]  # fmt: skip


def cells_of(path: Path, kind: str) -> list[dict]:
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


def test_sources_are_clean() -> None:
    """No outputs, no execution counts, no traces of a run in what is committed."""
    program = str(Path(__import__("sys").executable).parent / STRIP[0])
    done = subprocess.run([program, *STRIP[1:], *map(str, SOURCES)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "notebooks")))
def test_a_notebook_is_one_that_a_reader_can_follow(path: Path) -> None:
    code, prose = cells_of(path, "code"), cells_of(path, "markdown")
    tagged = [cell for cell in code if "parameters" in cell["metadata"].get("tags", [])]
    assert len(tagged) == 1, "one cell tagged parameters"
    told = papermill.inspect_notebook(path)  # as `papermill --help-notebook` shows it
    assert told.keys() == notebook.read(path).parameters.keys(), "an assignment a line, with one = in it"
    for name, one in told.items():
        assert one["inferred_type_name"] != "None" and one["help"], f"{name}: TYPE = VALUE  # comment"
    assert "".join(prose[0]["source"]).startswith("# ")
    assert len(code) + len(prose) <= 40, "longer than a reader's patience; move logic to the library"
    before = [bool(SHOWN.search("".join(cell["source"]))) for cell in code]
    if True in before and path.name != "00_start_here.ipynb":  # which shows one item first
        ahead = [line for cell in code[: before.index(True) + 1] if cell not in tagged for line in cell["source"]]
        assert len([line for line in ahead if line.strip()]) <= 25, "the answer first: begin with out.answer()"
    long = [line for cell in code for line in cell["source"] if len(line.rstrip("\n")) > 120]
    assert not long, f"lines of code over 120 characters do not fit a page: {long}"


def passed(path: Path) -> set[str] | None:
    """The names that a notebook hands to `Output(parameters=...)`; None where it makes no Output."""
    tree = ast.parse("\n".join("".join(cell["source"]) for cell in cells_of(path, "code")))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    made = [call for call in calls if ast.unparse(call.func).endswith("Output")]
    if not made:
        return None
    [given] = [[word.value for word in call.keywords if word.arg == "parameters"] for call in made]
    parts = list(given)
    if given and isinstance(given[0], ast.Name):  # name = dict(...); name |= dict(...)
        top = [node for node in tree.body if isinstance(node, ast.Assign | ast.AugAssign)]
        targets = {id(node): node.targets[0] if isinstance(node, ast.Assign) else node.target for node in top}
        parts = [node.value for node in top if ast.unparse(targets[id(node)]) == given[0].id]
    return {word.arg for part in parts if isinstance(part, ast.Call) for word in part.keywords if word.arg}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "notebooks")))
def test_a_notebook_tells_all_its_parameters(path: Path) -> None:
    """By them it is decided whether a run may publish: one that is not told could be played with."""
    names = passed(path)
    assert names is None or names == set(notebook.read(path).parameters) - set(catalogue.RESERVED)


@pytest.mark.parametrize(
    ("copied", "played"), [(False, {"confidence": 0.5}), (True, {})], ids=["played with", "copied"]
)
def test_papermill_alone(tmp_path, monkeypatch, copied, played) -> None:
    """`papermill NOTEBOOK out.ipynb -p confidence 0.5`, by anyone: what is saved stays, the last line says so."""
    path, where = ROOT / "notebooks" / "tigerscore" / "table_07_hallucination.ipynb", tmp_path / "out.ipynb"
    if copied:
        path = Path(shutil.copy(path, tmp_path / "mine.ipynb"))
    kept = ("results/tigerscore/tigerscore_table_07", "figures/tigerscore/tigerscore_table_07")
    before = {}
    for file in (file for name in kept for file in (ROOT / name).parent.glob(Path(name).name + "[._]*")):
        target = tmp_path / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        before[target] = Path(shutil.copy(file, target)).read_bytes()
    for name in ("NLGEVAL_RECORD", "NLGEVAL_TRIAL", "NLGEVAL_REPLACE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("RESULTS", "FIGURES", "HOME"):
        monkeypatch.setenv(f"NLGEVAL_{name}", str(tmp_path / name.lower()))
    monkeypatch.setenv("NLGEVAL_FORK", "0")
    papermill.execute_notebook(
        path,
        where,
        played,
        kernel_name=kernels.NAME,
        language="python",
        progress_bar=False,
        cwd=str(path.parent),
        kernel_manager_class=kernels.manager({}),
    )
    last = [out["text"] for cell in cells_of(where, "code") for out in cell["outputs"] if "text" in out][-1]
    assert len(before) > 3
    if played:
        assert {file: file.read_bytes() for file in before} == before
        assert (tmp_path / "results/partial/tigerscore/tigerscore_table_07.csv").exists()
        assert "because confidence is 0.5, the catalogue's is 0.95" in "".join(last).splitlines()[-1]
    else:
        assert not (tmp_path / "results/partial").exists() and "because" not in "".join(last)


def test_every_notebook_is_in_the_catalogue() -> None:
    listed = {entry.notebook for entry in catalogue.load().outputs} | {catalogue.scoreboard_entry().notebook}
    here = {str(path.relative_to(ROOT / "notebooks")) for path in SOURCES if not path.name.startswith("template_")}
    assert here == listed


@pytest.mark.parametrize("entry", OUTPUTS, ids=lambda entry: entry.id)
def test_every_output_has_its_result_and_provenance(entry: catalogue.Entry) -> None:
    proof = ROOT / "results" / entry.paper / f"{entry.id}.json"
    assert proof.exists(), f"no committed result; run: nlgeval run {entry.id}"
    record = json.loads(proof.read_text(encoding="utf-8"))
    assert record["mode"] == "full" and record["output"] == entry.id
    assert record["route"] in catalogue.ROUTES
    assert record["git"]["commit"] and record["packages"] and record["date"]
    assert any(name.endswith(".csv") for name in record["files"]), "numbers are saved as CSV"
    for name in record["files"]:
        assert (ROOT / name).exists(), f"{name} is named by the provenance of {entry.id}, but is not there"
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
        assert loss.count == len(frame) - len(frame) // 2 and loss.file == Path(name).name


@pytest.mark.parametrize("entry", OUTPUTS, ids=lambda entry: entry.id)
def test_no_correlation_without_signature_n_and_interval(entry: catalogue.Entry) -> None:
    path = ROOT / "results" / entry.paper / f"{entry.id}.csv"
    if not path.exists():
        pytest.skip("this output has no cells to compare")
    cells = pd.read_csv(path, dtype={"printed": str})
    assert set(cells["route"].dropna()) <= set(catalogue.ROUTES) - {"mini"}
    assert cells.loc[cells["verdict"] == "missing", "reason"].notna().all()
    kind = cells["statistic"].str.contains("pearson|spearman|kendall") & cells["ours"].notna()
    part = cells[kind & cells["route"].isin(COMPUTED)]
    assert part["signature"].notna().all() and part["n"].notna().all()
    bare = part[part["ci_low"].isna() | part["ci_high"].isna()]
    assert bare["reason"].notna().all(), "no interval needs a reason"


@pytest.mark.parametrize("entry", OUTPUTS, ids=lambda entry: entry.id)
def test_frames_of_correlations_have_signature_n_and_interval(entry: catalogue.Entry) -> None:
    """The same in the tables that are not compared with a paper; one without interval says why, if in its signature."""
    for path in sorted((ROOT / "results" / entry.paper).glob(f"{entry.id}__*.csv")):
        frame = pd.read_csv(path)
        named = [name for name in ("statistic", "coef", "coefficient") if name in frame]
        if not named or "value" not in frame:
            continue
        part = frame[frame[named[0]].astype(str).str.contains("pearson|spearman|kendall") & frame["value"].notna()]
        if part.empty:
            continue
        assert "signature" in part and part["signature"].notna().all(), path.name
        assert "n" in part and part["n"].notna().all(), path.name
        low, high = ("ci_low", "ci_high") if "ci_low" in part else ("low", "high")
        if low not in part:
            part = part.assign(**{low: float("nan"), high: float("nan")})
        bare = part[part[low].isna() | part[high].isna()]
        why = bare["reason"].notna() if "reason" in bare else False
        assert (bare["signature"].str.contains("ci:none(", regex=False) | why).all(), f"{path.name}: no interval"


@pytest.mark.parametrize("entry", OUTPUTS, ids=lambda entry: entry.id)
def test_verdicts_follow_from_the_numbers(entry: catalogue.Entry) -> None:
    """The committed verdicts are those of the printed tables as they are now."""
    path = ROOT / "results" / entry.paper / f"{entry.id}.csv"
    if not path.exists():
        pytest.skip("this output has no cells to compare")
    cells = pd.read_csv(path, dtype={"printed": str}, keep_default_na=False, na_values={"ours": ""})
    for table, part in cells[cells["verdict"] != "extra"].groupby("table"):
        printed = papers.load(part["paper"].iat[0], str(table)).set_index(["row", "column", "statistic"])["printed"]
        for cell in part[part["ours"].notna()].to_dict("records"):
            text = printed[(cell["row"], cell["column"], cell["statistic"])]
            assert text == cell["printed"]
            equal = papers.agrees(float(cell["ours"]), text) or "by the paper's rounding" in cell["reason"]
            assert equal == (cell["verdict"] in ("equal", "construction"))
            if cell["verdict"] in ("within", "outside"):
                inside = float(cell["ci_low"]) <= float(papers.parse(text)) <= float(cell["ci_high"])
                assert inside == (cell["verdict"] == "within") and cell["route"] in ("recorded", "run")
