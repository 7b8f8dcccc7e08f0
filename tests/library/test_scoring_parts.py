"""`nlgeval score` on a file in parts: the same scores, columns and words as of all
at once; a stopped run goes on.
"""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest
from cli_tools import RUBRIC, asks, jsonl, rows

from nlgeval_lib import files
from nlgeval_lib.scoring import cells, score_files
from nlgeval_lib.scoring.cells import InputError

OWN = '''
import os
from pathlib import Path
from nlgeval_lib.evaluators import register, score_frame
from nlgeval_lib.records import Judgment

@register("mine")
class Mine:
    """Place of the output among those that are scored together; notes what it was asked."""
    whole_file = bool(os.environ.get("WHOLE"))

    def signature(self):
        return "mine|v:1"

    def score(self, frame):
        if "answer 4" in list(frame["output"]) and Path("stop").exists():
            raise KeyboardInterrupt
        with open("asked", "a") as out:
            out.writelines(f"{text}\\n" for text in frame["output"])
        found = [Judgment(float(place)) for place in range(len(frame))]
        return score_frame(frame.index, found, self.signature())
'''


def said(prompt: str) -> str:
    """A judge whose answers differ in kind: a list of aspects, a score, nothing that
    can be read.
    """
    if "to list" in prompt:
        return "Wit: is it funny?\nTruth: is it true?"
    if "Wit" in prompt:
        return f"Wit: {1 + sum(map(ord, prompt)) % 5}\nTruth: 2\nOverall: 3"
    return (
        "no idea"
        if "answer 3" in prompt
        else f"Fine. [RESULT] {1 + sum(map(ord, prompt)) % 5}"
    )


COUNTS = ("date", "completions", "made_now")
LISTED = ("-s", "n=2", "--fill", "aspect=overall", "--map", "input_id=doc")
CASES = [
    ("bleu", "csv", ()),
    ("rouge", "parquet", ("--only-scores", "--column", "r")),
    ("prometheus", "jsonl", ("-s", "n=2", "--engine-set", "dialect=vllm")),
    ("coascore", "csv", LISTED),
    ("coascore", "parquet", LISTED),
    ("llmscore", "jsonl", ("--column", "judged")),
]


@pytest.mark.parametrize(("name", "ending", "options"), CASES)
def test_parts_give_what_the_whole_gives(
    nl, judge, monkeypatch, tmp_path, name, ending, options
):
    server = judge(said)

    def reference(i):
        return "an answer" if i else None

    mine = rows(
        7, references=reference, rubric=RUBRIC, source="s", doc=lambda i: f"n{i}"
    )
    mine[4]["later"] = "a column that the first rows do not have"
    pd.DataFrame(mine).to_parquet("in.parquet")
    jsonl(tmp_path / "in.jsonl", mine)
    given = "in.jsonl" if ending == "csv" else "in.parquet"
    call = [
        "score",
        "-e",
        name,
        "-i",
        given,
        "--skip-incomplete",
        "--max-missing",
        "1",
        "-q",
        "--raw",
        "raw.jsonl",
    ]
    made = []
    for size in (cells.ROWS, 2):
        monkeypatch.setattr(cells, "ROWS", size)
        asked = (
            asks(server, "--store", f"store {size}")
            if name in ("prometheus", "coascore", "llmscore")
            else ()
        )
        got = nl(*call, *asked, *options, "-o", f"s.{ending}")
        assert got.code == 0, got.err
        record = json.loads((tmp_path / f"s.{ending}.meta.json").read_text())["scores"]
        facts = {
            key: one
            for key, one in next(iter(record.values())).items()
            if key not in COUNTS
        }
        # a question that parts share is stored at the second
        words = re.sub(r"\n\d+ completions: .*", "", got.out)
        content = (
            (tmp_path / f"s.{ending}").read_bytes()
            if ending != "parquet"
            else pd.read_parquet("s.parquet")
        )
        made.append((words, facts, set((tmp_path / "raw.jsonl").open()), content))
    assert made[0][:3] == made[1][:3]
    if ending == "parquet":
        pd.testing.assert_frame_equal(made[0][3], made[1][3])
    else:
        assert made[0][3] == made[1][3]
    assert not list(tmp_path.glob(".*"))


@pytest.fixture
def own(nl, monkeypatch, tmp_path):
    """A call of `nlgeval score` with the evaluator above, two rows a part."""
    monkeypatch.setattr(cells, "ROWS", 2)
    (tmp_path / "own.py").write_text(OWN)
    jsonl(tmp_path / "in.jsonl", rows(7))
    return lambda *more: nl(
        "score",
        "--plugin",
        "own.py",
        "-e",
        "mine",
        "-i",
        "in.jsonl",
        "-o",
        "s.csv",
        *more,
    )


def test_a_stopped_run_goes_on_with_the_next_part(own, tmp_path):
    (tmp_path / "stop").touch()
    assert own().code == 130 and not (tmp_path / "s.csv").exists()
    (tmp_path / "stop").unlink()
    assert own().code == 0
    assert (tmp_path / "asked").read_text().split("\n")[:-1] == [
        f"answer {i}" for i in range(7)
    ], "none twice"
    assert pd.read_csv(tmp_path / "s.csv")["value"].tolist() == [0, 1, 0, 1, 0, 1, 0]
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "[" * 100_000, '[{"value": ["x"]}, ""]', "[{}, 1]"]
)
def test_a_stored_part_that_cannot_be_read_is_made_again(own, tmp_path, text):
    (tmp_path / "stop").touch()
    assert own().code == 130
    (stored,) = tmp_path.glob(".*.parts/*/0.json")
    stored.write_text(text)
    (tmp_path / "stop").unlink()
    assert own().code == 0
    assert pd.read_csv(tmp_path / "s.csv")["value"].tolist() == [0, 1, 0, 1, 0, 1, 0]


def test_what_was_done_of_another_input_is_not_taken(own, tmp_path):
    (tmp_path / "stop").touch()
    assert own().code == 130
    (tmp_path / "stop").unlink()
    jsonl(tmp_path / "in.jsonl", rows(3))
    assert own().code == 0 and own("--limit", "2").code == 0
    assert (tmp_path / "asked").read_text().count("\n") == 4 + 3 + 2


def test_an_evaluator_that_needs_all_rows_gets_them_at_once(own, monkeypatch, tmp_path):
    monkeypatch.setenv("WHOLE", "1")
    assert own().code == 0
    assert pd.read_csv(tmp_path / "s.csv")["value"].tolist() == list(range(7))


def test_the_first_wrong_row_is_found_before_any_is_scored(own, tmp_path):
    jsonl(tmp_path / "in.jsonl", [*rows(6), rows(1)[0] | {"output": 5}])
    got = own()
    assert (
        got.code == 2
        and "in.jsonl, line 7, column 'output': int '5' where a text is needed"
        in got.err
    )
    assert not (tmp_path / "asked").exists()


def test_rows_that_are_there_twice_are_found_across_parts(own, tmp_path):
    jsonl(tmp_path / "in.jsonl", [*rows(6), rows(2)[1], rows(1)[0]])
    assert (
        "2 rows have the input_id, system_id of an earlier one, first in.jsonl, line 7: "
        in own().err
    )
    assert "input_id '0', system_id 'B' as in line 2" in own().err


def test_progress_tells_the_part(nl, judge, monkeypatch, tmp_path):
    monkeypatch.setattr(cells, "ROWS", 2)
    jsonl(tmp_path / "in.jsonl", rows(5, source="s"))
    got = nl(
        "score", "-e", "llmscore", "-i", "in.jsonl", *asks(judge(said)), "-o", "s.csv"
    )
    assert [
        f"llmscore score (rows {part} of 5): " in got.err
        for part in ("1-2", "3-4", "5-5")
    ] == [True] * 3


def test_meta_reads_only_what_it_needs(nl, tmp_path):
    mine = [
        row | {"value": i % 4, "source": 42, "rubric": ["no", "text"]}
        for i, row in enumerate(rows(8))
    ]
    call = ("meta", "--coef", "pearson", "--ci", "none")
    assert nl(*call, jsonl(tmp_path / "in.jsonl", mine)).code == 0
    assert (
        "'source': int '42'"
        in nl(
            "score", "-e", "bleu", "-i", "in.jsonl", "--column", "b", "-o", "s.csv"
        ).err
    )


def test_two_runs_into_one_file_do_not_meet(tmp_path):
    path = str(tmp_path / "scores.csv")
    with score_files.ScoreFile(path, key="same") as first:
        for key in ("same", "other", ""):
            with (
                pytest.raises(InputError, match=r"another run is writing .*\.csv"),
                score_files.ScoreFile(path, key=key),
            ):
                pass
        assert first._folder.is_dir()
    with score_files.ScoreFile(path, key="same"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", ["", "another"])
def test_what_a_killed_run_left_is_removed_by_the_next_one(nl, judge, tmp_path, key):
    """Drafts and parts of the same outputs, and no file of another name."""
    jsonl(tmp_path / "in.jsonl", rows(2, source="s"))
    outputs = ("-o", "s.csv", "--raw", "raw.jsonl")
    killed = score_files.ScoreFile(str(tmp_path / "s.csv"), key=key)
    killed.__enter__()
    for number in range(2):
        (killed._folder / f"{number}.json").write_text('[{"value": [9, 9]}, ""]')
    killed._lock.close()
    drafts = [files.replacing(tmp_path / name) for name in ("s.csv", "raw.jsonl")]
    assert all(draft.__enter__().exists() for draft in drafts)
    others = [".s.csv.tmp", ".t.csv.abcdefgh.tmp", ".s.csv.a.tmp", ".s.csv.abcdefgh"]
    for name in others:
        (tmp_path / name).touch()
    call = ("score", "-e", "llmscore", "-i", "in.jsonl", *asks(judge(said)), *outputs)
    assert nl(*call).code == 0
    kept = [".s.csv.parts"] if key else []  # of other settings, which may go on
    found = sorted(path.name for path in tmp_path.glob(".*"))
    assert found == sorted([*others, *kept])
    if key:
        with score_files.ScoreFile(str(tmp_path / "s.csv"), key=key) as again:
            assert len(list(again._folder.glob("*.json"))) == 2
    assert not (tmp_path / ".s.csv.parts").exists()
    assert not pd.read_csv(tmp_path / "s.csv")["value"].eq(9).any()
