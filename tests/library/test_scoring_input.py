"""Somebody's own files: what is read from them, and how an error names the place."""

from __future__ import annotations

import csv
import io
import json
import math
import tempfile

import numpy as np
import pandas as pd
import pytest
from cli_tools import jsonl, rows
from hypothesis import given
from hypothesis import settings as runs
from hypothesis import strategies as st

from nlgeval_lib import evaluators
from nlgeval_lib.engines import OpenAIEngine, Sampling
from nlgeval_lib.scoring import (
    chosen_rows,
    named,
    of_frame,
    read,
    score_files,
    settings,
)
from nlgeval_lib.scoring.cells import InputError


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content.encode())
    return path


# -- reading


def test_one_table_from_every_format(tmp_path):
    rows = [
        {"output": 'she said "no",\nthen left', "n": 1, "x": None},
        {"output": "naïve – ünïcode", "n": 2, "x": "y"},
    ]
    frame = pd.DataFrame(rows)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    (tmp_path / "a.jsonl").write_text(
        "\n".join(map(json.dumps, rows)) + "\n\n", encoding="utf-8"
    )
    for ending in ("jsonl", "json", "parquet", "csv", "tsv"):
        found = read(tmp_path / f"a.{ending}").frame
        assert found["output"].tolist() == [row["output"] for row in rows]
        if ending in ("csv", "tsv"):
            assert found["n"].tolist() == ["1", "2"] and found["x"].tolist() == [
                "",
                "y",
            ]
        else:
            assert found["n"].tolist() == [1, 2] and found["x"].tolist() == [None, "y"]


def test_a_row_knows_its_line(tmp_path):
    before = csv.field_size_limit()
    path = written(tmp_path, "a.csv", 'output,human\n"two\nlines",1\n\nplain,2\n')
    assert (
        read(path).frame.index.tolist() == ["line 2", "line 5"]
        and csv.field_size_limit() == before
    )
    path = written(tmp_path, "a.jsonl", '{"output": "a"}\n\n{"output": "b"}\n')
    assert read(path).frame.index.tolist() == ["line 1", "line 3"]


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)


@runs(max_examples=60, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6))
def test_csv_is_read_as_it_was_written(rows):
    made = io.StringIO()
    csv.writer(made).writerows([("output", "reference"), *rows])
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write(made.getvalue().encode())
        file.flush()
        kept = [row for row in rows if any(map(str.strip, row))]
        if not kept:
            with pytest.raises(InputError, match="has no rows"):
                read(file.name)
            return
        assert list(read(file.name).given.itertuples(index=False, name=None)) == kept


# -- columns


def frame_of(**values):
    return of_frame(pd.DataFrame(values, dtype=object), "mine").frame


def test_references_as_a_json_list_in_one_field():
    texts = ['["a", "b"]', "[1] a plain text", '["a", 3]', "[]"]
    found = frame_of(references=texts)["references"].tolist()
    assert found == [("a", "b"), *texts[1:]]
    assert frame_of(reference=['["a", "b"]'])["reference"].tolist() == ['["a", "b"]']


def test_ratings_become_numbers():
    given = ["1", " 2.5 ", "", "NaN", "n/a", None, 3, 4.0]
    found = frame_of(human=given)["human"].to_numpy()
    np.testing.assert_array_equal(
        found, [1, 2.5, math.nan, math.nan, math.nan, math.nan, 3, 4]
    )
    assert frame_of(rater_1=["2"])["rater_1"].tolist() == [2.0]


# -- settings


def test_settings_have_the_types_of_the_signature():
    found = settings.parsed(
        evaluators.Prometheus,
        ["n=5", "temperature=0.5", "reference=no", "low=1", "high=10"],
        "p",
    )
    assert found == {
        "sampling": {"n": 5, "temperature": 0.5},
        "reference": False,
        "low": 1,
        "high": 10,
    }
    found = settings.parsed(
        evaluators.CoAScore,
        ["n=5", "sampling.n=3", "list_sampling.max_tokens=9"],
        "coascore",
    )
    assert found == {"n": 5, "sampling": {"n": 3}, "list_sampling": {"max_tokens": 9}}
    found = settings.parsed(
        evaluators.CoAScore,
        ['targets={"wit": "Is it funny?"}', "seed=3", "low=none"],
        "coascore",
    )
    assert found == {"targets": {"wit": "Is it funny?"}, "seed": 3, "low": None}
    found = settings.parsed(
        evaluators.HDEval,
        ["layers=1,2", 'groups=["a", "b"]', 'criteria={"a": "b"}'],
        "hdeval",
    )
    assert found == {"layers": (1, 2), "groups": ("a", "b"), "criteria": {"a": "b"}}
    found = settings.parsed(OpenAIEngine, ["plain_http=yes", "timeout=90"], "openai")
    assert found == {"plain_http": True, "timeout": 90.0}


def test_an_unloaded_model_has_the_key_of_the_loaded_one(tiny_folder):
    from nlgeval_lib.engines import Request, TransformersEngine

    with TransformersEngine(str(tiny_folder)) as loaded:
        planned = named.EngineChoice(
            "transformers", str(tiny_folder), planning=True
        ).start()
        request = Request.chat("how good is it?")
        assert request.body(planned, Sampling()) == request.body(loaded, Sampling())


# -- writing

# a judge that writes JSON may escape one in its text
HALF = "half \ud800"
SPELT = r"half \ud800"


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_what_is_written_can_be_read_and_half_a_character_is_spelt_out(
    tmp_path, ending
):
    frame = pd.DataFrame(
        {
            "text": ['a "quoted"\nline', "b, c"],
            "value": [1.5, math.nan],
            "refs": [("x", "y"), ("z",)],
            "mixed": [{"a": math.nan, HALF: [HALF]}, None],
            "half": pd.Series([HALF, "whole"], dtype=object),
            "either": [3, "three"],
        }
    )
    path = tmp_path / f"out.{ending}"
    score_files.write(frame, str(path))
    found = read(path).frame
    assert found["text"].tolist() == frame["text"].tolist()
    numbers = chosen_rows(str(path), mapping=["human=value"]).frame["human"]
    np.testing.assert_array_equal(numbers, [1.5, math.nan])
    if ending in ("csv", "tsv"):
        mixed = f'{{"a": null, {json.dumps(SPELT)}: {json.dumps([SPELT])}}}'
        assert found["refs"].iloc[0] == '["x", "y"]' and found["mixed"].tolist() == [
            mixed,
            "",
        ]
    if ending == "jsonl":
        mixed = {"a": None, SPELT: [SPELT]}
        assert found["refs"].iloc[0] == ["x", "y"] and found["mixed"].tolist() == [
            mixed,
            None,
        ]
    assert found["half"].tolist() == [SPELT, "whole"]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


# -- before and beside the scores


def test_the_first_wrong_row_is_found_before_any_is_scored(nl, tmp_path):
    mine = jsonl(tmp_path / "in.jsonl", [*rows(6), rows(1)[0] | {"output": 5}])
    got = nl("score", "-e", "bleu", "-i", mine, "-o", "s.csv")
    assert got.code == 2 and not (tmp_path / "s.csv").exists()
    assert "line 7, column 'output': int '5' where a text is needed" in got.err


def test_rows_that_are_there_twice_are_told(nl, tmp_path):
    mine = [*rows(6), rows(2)[1], rows(1)[0]]
    path = jsonl(tmp_path / "in.jsonl", [row | {"reference": "a"} for row in mine])
    said = nl("score", "-e", "bleu", "-i", path, "-o", "s.csv").err
    assert "2 rows have the input_id, system_id of an earlier one, first " in said
    assert "line 7: input_id '0', system_id 'B' as in line 2" in said


def test_meta_reads_only_what_it_needs(nl, tmp_path):
    mine = [
        row | {"value": i % 4, "source": 42, "rubric": ["no", "text"]}
        for i, row in enumerate(rows(8))
    ]
    call = ("meta", "--coef", "pearson", "--ci", "none")
    assert nl(*call, jsonl(tmp_path / "in.jsonl", mine)).code == 0
    got = nl("score", "-e", "bleu", "-i", "in.jsonl", "--column", "b", "-o", "s.csv")
    assert "'source': int '42'" in got.err


def test_a_line_of_a_log_with_several_ratings_is_several_rows(tmp_path):
    said = [{"user_id": name, "values": {"rating": {"value": 4}}} for name in "ab"]
    record = {"fields": {"text": "a bus"}, "responses": said}
    path = jsonl(tmp_path / "log.jsonl", [record, record])
    rows_read = chosen_rows(str(path), mapping=["human=rating"])
    assert rows_read.frame["rater"].tolist() == ["a", "b", "a", "b"]
    assert rows_read.given.index.tolist()[:2] == ["line 1, row 1", "line 1, row 2"]
