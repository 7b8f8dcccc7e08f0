"""`level` and `base` of ablation and table notebooks; aggregators against each of the
paper's; what a notebook's words name.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import notebook_cells
import numpy as np
import pandas as pd
import pytest

from nlgeval_lib.errors import Refused
from reproduction.report import notebook
from reproduction.study import catalogue, criteria_scores

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
ENTRIES = {entry.notebook: entry for entry in catalogue.load().outputs}
ABLATIONS = [*sorted((NOTEBOOKS / "ablations").glob("*.ipynb"))]
# Parameter -> the notebooks that have it.
WITH: dict[str, list[str]] = {"level": [], "base": []}
for _name, _entry in ENTRIES.items():
    for _parameter, _names in WITH.items():
        if _parameter in notebook.read(_entry.path).parameters:
            _names.append(_name)


def text_of(path: Path, kind: str) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]
    return "\n\n".join(sources)


def test_the_notebooks_that_take_them():
    tables = [name for name in WITH["level"] if "/table" in name]
    assert len(tables) >= 9 and "hdeval/table_02_topical_chat.ipynb" in tables
    for name in ("aspect_count", "reference_and_rubric", "how_read"):
        assert f"ablations/{name}.ipynb" in WITH["level"]
        assert f"ablations/{name}.ipynb" in WITH["base"]
    for name in ("training_channels", "training_grading", "aggregator_types"):
        assert f"ablations/{name}.ipynb" in WITH["base"]


@pytest.mark.parametrize("name", WITH["level"])
def test_the_default_level_is_that_of_the_papers(name):
    source = notebook.read(NOTEBOOKS / name)
    assert source.parameters["level"].default == "dataset"
    code = text_of(NOTEBOOKS / name, "code")
    # It is passed on to what correlates, and to the output.
    assert len(re.findall(r"\blevel=level\b|\"level\": level\b", code)) >= 2
    # The catalogue's run is the default's: no number of it moves.
    assert "level" not in ENTRIES[name].parameters


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("aspect_count", "LLMScore, n=5, n=10, n=20"),
        ("reference_and_rubric", "rubric + reference, rubric only, reference only"),
    ],
)
def test_an_unknown_base_names_the_choices_before_anything_is_asked(name, choices):
    path = NOTEBOOKS / "ablations" / f"{name}.ipynb"
    with pytest.raises(Refused, match=re.escape(choices)):
        notebook_cells.run(path, base="LLMScor")


@pytest.mark.parametrize("base", ["neither", "length"])
def test_an_unknown_base_of_trained_arms_names_the_arms(base, tmp_path, monkeypatch):
    for name in ("RESULTS", "FIGURES", "HOME"):
        monkeypatch.setenv(f"NLGEVAL_{name}", str(tmp_path / name))
    path = NOTEBOOKS / "ablations" / "training_grading.ipynb"
    with pytest.raises(Refused, match="variants: full, "):
        notebook_cells.run(path, mode="quick", base=base)


# -- aggregators


@pytest.fixture
def quality() -> pd.DataFrame:
    """Correlations of six kinds on ten splits: the more so the later the kind."""
    rng = np.random.default_rng(0)
    kinds = [criteria_scores.ALL, "LR", "DT", "RF", "NN", "SVR"]
    rows = []
    for number, kind in enumerate(kinds):
        for split in range(10):
            value = 0.5 + 0.02 * number + 0.01 * rng.normal()
            rows.append(["row", kind, "pearson", split, value, 100])
    columns = ["unit", "kind", "coef", "split", "value", "n"]
    return pd.DataFrame(rows, columns=columns)


def test_a_further_aggregator_is_tested_against_each_of_the_papers(quality):
    four = list(criteria_scores.PRINTED_NAMES.values())
    kinds = ["lr", "ridge", "dt", "rf", "mlp", "SVR"]
    assert criteria_scores.beyond_the_papers(kinds) == ["ridge", "SVR"]
    tests = criteria_scores.kinds_against(quality, ["SVR"], four, ["unit"])
    assert tests["against"].tolist() == ["LR", "DT", "RF", "NN"]
    wide = quality.pivot(index="split", columns="kind", values="value")
    for test in tests.itertuples():
        gain = (wide["SVR"] - wide[test.against]).mean()
        assert test.difference == pytest.approx(gain)
        assert f"against:{test.against}|" in test.signature
    # Holm over all four.
    p = np.sort(tests["p"])
    holm = np.maximum.accumulate(np.minimum(p * [4, 3, 2, 1], 1))
    assert np.sort(tests["p_holm"]) == pytest.approx(holm)


def test_against_one_base_is_the_same_table_without_its_name(quality):
    table = criteria_scores.against(quality, "LR", ["unit"])
    kinds = [kind for kind in quality["kind"].unique() if kind != "LR"]
    whole = criteria_scores.kinds_against(quality, kinds, ["LR"], ["unit"])
    pd.testing.assert_frame_equal(table, whole.drop(columns="against"))
    with pytest.raises(Refused, match="average of all, LR, DT, RF, NN, SVR"):
        criteria_scores.against(quality, "lr", ["unit"])


# -- words


@pytest.mark.parametrize(
    "path", [*ABLATIONS, NOTEBOOKS / "template_ablation.ipynb"], ids=lambda p: p.stem
)
def test_what_a_reader_is_to_change_is_in_the_code(path):
    code = text_of(path, "code")
    advice = re.findall(r"\bchange the [^.]*\.", text_of(path, "markdown"))
    names = re.findall(r"`([a-z_]+)`", " ".join(advice))
    assert [name for name in names if not re.search(rf"\b{name}\b", code)] == []
    if path.stem == "aggregator_types":
        assert names == ["criteria", "recorded"]
