"""What holds for every notebook, and for every committed result."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from nlgeval_lib import catalogue, papers

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted(p for p in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
OUTPUTS = [entry for entry in catalogue.load().outputs if entry.saves and entry.route != "mini"]
COMPUTED = ("public", "recorded", "run")
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
    for line in tagged[0]["source"]:
        assert re.match(r"^\w+(: [^=]+)? = .+  # \S", line), (
            f"a parameter is a plain assignment with a comment: {line!r}"
        )
    assert "".join(prose[0]["source"]).startswith("# ")
    assert len(code) + len(prose) <= 40, "longer than a reader's patience; move logic to the library"
    long = [line for cell in code for line in cell["source"] if len(line.rstrip("\n")) > 120]
    assert not long, f"lines of code over 120 characters do not fit a page: {long}"


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
            if cell["route"] == "recorded":
                assert cell["verdict"] == "orientation"
            else:
                equal = papers.agrees(float(cell["ours"]), text) or "by the paper's rounding" in cell["reason"]
                assert equal == (cell["verdict"] in ("equal", "construction"))
