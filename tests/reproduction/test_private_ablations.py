"""Ablations of one's own: what git sees of them, rows of a file, level and base, the
points of a sweep against each other.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_tools import jsonl
from scipy import stats

from nlgeval_lib import files
from nlgeval_lib.scoring import InputError
from reproduction.report import committed, seal
from reproduction.study import ablations, catalogue, variant_tests

ROOT = Path(__file__).resolve().parents[2]
ROUGE = ("-e", "rouge", "--sweep", "type=rouge1,rouge2,rougeL")


def rated(count: int = 12) -> list[dict]:
    """Outputs of two systems on made-up inputs: more of the reference, a better rating;
    one system keeps the words' order.
    """
    words = ["the", "small", "red", "bus", "left", "the", "old", "town", "at", "nine"]
    rows = []
    for number in range(count):
        for system in "AB":
            kept = 1 + (number * 3 + (system == "B")) % len(words)
            output = words[:kept] if system == "A" else words[:kept][::-1]
            rows.append(
                {
                    "doc_id": f"d{number}",
                    "model": system,
                    "answer": " ".join(output),
                    "gold": " ".join(words),
                    "human": kept + (system == "A"),
                }
            )
    return rows


def table_of(name: str, part: str, folder: str = "private") -> pd.DataFrame:
    return pd.read_csv(files.results() / folder / "meta" / f"{name}__{part}.csv")


def test_two_commands_show_a_page_and_git_sees_nothing(student, here):
    shutil.copy(ROOT / ".gitignore", here.root)
    (here.root / ".gitignore").open("a").write("counts/\n")
    (here.root / "results").mkdir()
    (here.root / "results" / "scoreboard.md").write_text("as it was")
    here.notebook("99_scoreboard", "raise SystemError('the scoreboard was run')")

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=here.root, capture_output=True, text=True, check=True
        )
        return done.stdout

    git("init", "-q")
    git("add", ".")
    before = git("status", "--porcelain", "--untracked-files=all")
    wrote = student("new-ablation", "mine", *ROUGE)
    assert wrote.code == 0, wrote.err
    assert "written: notebooks/private/mine.ipynb, 3 variants" in wrote.out
    ran = student("run", "mine")
    assert ran.code == 0, ran.out
    page = "results/private/meta/mine.md"
    assert f"to read: {page}, figures/private/meta/mine.png" in ran.out
    assert "**Tests of pairs**" in (here.root / page).read_text()
    assert git("status", "--porcelain", "--untracked-files=all") == before
    # What nothing changed for is not run again, and its page is still named.
    again = student("run", "mine")
    assert "1 cached" in again.out and page in again.out
    # Chosen by name alone: a run of all leaves it out.
    assert "mine" not in student("run", "--dry-run").out
    # A quick run has its page, too.
    quick = student("run", "mine", "--mode", "quick")
    assert "to read: results/quick/meta/mine.md" in quick.out
    assert (here.root / "results" / "quick" / "meta" / "mine.md").is_file()
    assert git("status", "--porcelain", "--untracked-files=all") == before
    # Nothing of it is sealed, and no count of the catalogue has it.
    assert not [name for name in seal.sealed_files() if "private" in name]
    listed = catalogue.load()
    assert listed["mine"].is_private and listed["mine"] not in listed.outputs
    # The name is taken, and free again without the notebook.
    assert "already" in student("new-ablation", "mine", *ROUGE).err
    listed["mine"].path.unlink()
    assert "no output 'mine'" in student("run", "mine").err


def test_what_a_run_showed_keeps_the_entry_of_the_notebook(student, here):
    assert student("new-ablation", "mine", *ROUGE).code == 0
    path = catalogue.load()["mine"].path
    entry = json.loads(path.read_text())["metadata"][catalogue.METADATA]
    assert catalogue.METADATA == committed.OWN and entry["inputs"] == ["mini"]
    text = path.read_text()
    shown = json.loads(committed.with_outputs(text, text))
    assert shown["metadata"][committed.OWN] == entry


@pytest.mark.parametrize(
    ("metadata", "said"),
    [({"route": "nowhere"}, "route"), ({"colour": "red"}, "colour")],
)
def test_a_private_entry_is_checked_as_any_other(student, here, metadata, said):
    assert student("new-ablation", "mine", *ROUGE).code == 0
    path = catalogue.load()["mine"].path
    document = json.loads(path.read_text())
    document["metadata"][catalogue.METADATA] = metadata
    path.write_text(json.dumps(document))
    got = student("run", "mine")
    assert got.code == 2 and "'mine'" in got.err and said in got.err


def test_a_notebook_that_is_no_output_stands_in_no_way(student, here):
    assert student("new-ablation", "mine", *ROUGE).code == 0
    path = catalogue.load()["mine"].path
    shutil.copy(path, path.with_name("Untitled 1.ipynb"))
    path.with_name("broken.ipynb").write_text("{")
    listed = catalogue.load()
    assert [entry.id for entry in listed.private] == ["broken", "mine"]
    got = student("run", "broken")
    assert got.code == 1 and "not a notebook" in got.out


# -- rows of one's own


def test_a_file_of_rows_is_the_data_of_an_ablation(student, here, monkeypatch):
    monkeypatch.chdir(here.root)
    rows = rated()
    jsonl(here.root / "rows.jsonl", rows)
    wrote = student("new-ablation", "mine", *ROUGE, "--data", "rows.jsonl")
    assert wrote.code == 0, wrote.err
    assert "output = answer" in wrote.err and "reference = gold" in wrote.err
    assert (ran := student("run", "mine")).code == 0, ran.out
    table = table_of("mine", "table")
    assert (table["n"] == len(rows)).all() and set(table["route"]) == {"own"}
    human = [row["human"] for row in rows]
    asked = ablations.scored("rouge", {"type": ["rouge1", "rougeL"]}, data="rows.jsonl")
    ours = table.set_index("variant")["value"]
    for name, values in asked.scores.items():
        assert ours[name] == pytest.approx(stats.kendalltau(values, human).statistic)
    page = (files.results() / "private" / "meta" / "mine.md").read_text()
    assert "rows of one's own" in page and "public data" not in page
    # Another content of the file is another result.
    jsonl(here.root / "rows.jsonl", rated(9))
    assert "changed: rows.jsonl" in student("run", "mine", "--dry-run").out


def test_columns_are_named_where_no_one_knows_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(rated())
    frame = frame.rename(columns={"answer": "a", "gold": "b", "human": "c"})
    frame[["a", "b", "c"]].to_csv("rows.csv", index=False)
    columns = ["output=a", "reference=b", "human=c"]
    sweep = {"type": ["rouge1", "rougeL"]}
    asked = ablations.scored("rouge", sweep, data="rows.csv", columns=columns)
    table, tests = ablations.compare(asked)
    assert (table["n"] == len(frame)).all() and tests["p"].between(0, 1).all()
    # Without inputs and systems each row is an input of its own.
    assert asked.items["input_id"].nunique() == len(frame)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame.drop(columns="human"), "--map human=COLUMN"),
        (lambda frame: pd.concat([frame, frame.head(1)]), "one row an output"),
        (lambda frame: frame.assign(human="good"), "human"),
    ],
    ids=["no ratings", "an output twice", "ratings in words"],
)
def test_rows_that_cannot_be_data_are_refused_before(
    student, here, monkeypatch, change, said
):
    monkeypatch.chdir(here.root)
    change(pd.DataFrame(rated())).to_csv("rows.csv", index=False)
    got = student("new-ablation", "mine", *ROUGE, "--data", "rows.csv")
    assert got.code == 2 and said in got.err and "rows.csv" in got.err
    assert not (here.root / "notebooks" / "private").exists()
    with pytest.raises(InputError):
        ablations.scored("rouge", {"type": ["rouge1", "rougeL"]}, data="rows.csv")


# -- level and base, every pair


@pytest.fixture
def asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "rows.jsonl", rated())
    return ablations.scored(
        "rouge", {"type": ["rouge1", "rouge2", "rougeL"]}, data="rows.jsonl"
    )


@pytest.mark.parametrize("level", ["dataset", "input", "system"])
def test_the_level_is_that_of_table_and_tests(asked, level):
    table, tests = ablations.compare(asked, level=level)
    for frame in (table, tests):
        assert frame["signature"].str.contains(f"level:{level}|", regex=False).all()


def test_the_level_of_old_is_the_default(asked):
    for given, default in zip(
        ablations.compare(asked, level="dataset"), ablations.compare(asked), strict=True
    ):
        pd.testing.assert_frame_equal(given, default)


def test_what_is_unknown_names_the_choices(asked):
    with pytest.raises(ValueError, match="dataset, input, system"):
        ablations.compare(asked, level="sistem")
    with pytest.raises(ValueError, match="type=rouge1, type=rouge2, type=rougeL"):
        ablations.compare(asked, {"type": "rouge9"})


def test_every_pair_is_tested_once_with_holms_correction(asked):
    _, tests = ablations.compare(asked, {"type": "rouge2"})
    adjusted = dict(
        zip(
            zip(tests["variant"], tests["against"], strict=True),
            tests["p_holm"],
            strict=True,
        )
    )
    pairs = variant_tests.every_pair(tests).set_index("variant")
    cells = pairs.stack().dropna()
    assert set(cells.index) == set(adjusted) and len(adjusted) == 3
    for key, text in cells.items():
        row = tests.set_index(["variant", "against"]).loc[key]
        assert text.startswith(f"{row['difference']:+.3f} (p ")
    p = np.sort(tests["p"])
    holm = np.maximum.accumulate(np.minimum(p * [3, 2, 1], 1))
    assert np.sort(tests["p_holm"]) == pytest.approx(holm)
