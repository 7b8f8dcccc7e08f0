"""A newcomer's first hour: their own names for columns, the folder that `init` writes, README's section on own data."""

from __future__ import annotations

import pytest
from cli_tools import jsonl


def mine(tmp_path, **names):
    """`a.jsonl`: three systems on four inputs, under these names for our columns."""
    texts = {"output": "a{2} b", "reference": "a b", "instruction": "Say {1}.", "input_id": "{1}", "system_id": "{0}"}
    rows = [
        {names.get(ours, ours): text.format(system, number, " c" * system) for ours, text in texts.items()}
        | {"human": str(system + number % 2)}
        for number in range(4)
        for system in range(3)
    ]
    return jsonl(tmp_path / "a.jsonl", rows)


# -- names of columns --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        {"output": "prediction", "reference": "target"},
        {"output": "hypothesis", "reference": "gold", "input_id": "doc_id", "system_id": "model"},
        {"output": "candidate", "instruction": "prompt", "input_id": "id"},
        {"output": "answer", "reference": "gold", "instruction": "question", "input_id": "id", "system_id": "model"},
        {"output": "Output", "reference": "REFERENCE", "system_id": "System ID"},
    ],
)
def test_usual_names_are_known_told_and_known_to_the_next_command(nl, tmp_path, names):
    mine(tmp_path, **names)
    got = nl("score", "-e", "rouge", "-i", "a.jsonl", "-o", "s.csv")
    assert got.code == 0, got.err
    assert got.err.startswith("note: a.jsonl is read with ")
    assert all(f"{ours} = {theirs}" in got.err for ours, theirs in names.items())
    assert (tmp_path / "s.csv").read_text().splitlines()[0].count("output") == (0 if "output" in names else 1)
    rated = nl("meta", "s.csv", "--level", "system", "--coef", "pearson")
    assert rated.code == 0 and "output length (baseline)" in rated.out, rated.err


def test_a_map_is_remembered_for_the_next_commands(nl, tmp_path):
    mine(tmp_path, output="text_a", reference="text_b", input_id="nr", system_id="who")
    maps = [word for one in ("output=text_a", "reference=text_b", "input_id=nr", "system_id=who") for word in
            ("--map", one)]  # fmt: skip
    assert nl("score", "-e", "bleu", "-i", "a.jsonl", "-o", "s.jsonl", *maps).code == 0
    got = nl("score", "-e", "rouge", "-i", "s.jsonl", "-o", "s.jsonl", "--column", "rouge")
    assert got.code == 0 and "output = text_a" in got.err, got.err
    rated = nl("meta", "s.jsonl", "--level", "input", "--coef", "pearson")
    assert rated.code == 0 and "output length" in rated.out and "rouge" in rated.out, rated.err
    other = nl("score", "-e", "rouge", "-i", "s.jsonl", "-o", "t.csv", "--column", "r", "--map", "output=text_b")
    assert "output = " not in other.err and "1, from 1 to 1" in other.out


def test_what_is_not_known_is_asked_for_by_the_nearest_name(nl, tmp_path):
    jsonl(tmp_path / "a.jsonl", [{"quest": "why?", "model_output": "so", "answer": "so", "prediction": "so"}])
    got = nl("score", "-e", "bleu", "-i", "a.jsonl", "-o", "s.csv")
    assert got.code == 2 and "--map references=answer" in got.err
    jsonl(tmp_path / "b.jsonl", [{"predicted": "so", "gold": "so"}])
    got = nl("score", "-e", "bleu", "-i", "b.jsonl", "-o", "s.csv")
    assert got.code == 2 and "(--map output=predicted)" in got.err
    assert nl("score", "-e", "bleu", "-i", "b.jsonl", "-o", "s.csv", "--map", "output=predicted").code == 0
    jsonl(tmp_path / "c.jsonl", [{"value": 1, "rating": 2}, {"value": 2, "rating": 3}])
    assert "--human rating" in nl("meta", "c.jsonl").err


def test_a_guess_that_does_not_read_is_none(nl, tmp_path):
    rows = [{"value": n, "human": n % 3, "answer": n, "id": None, "model": {"a": 1}} for n in range(6)]
    jsonl(tmp_path / "a.jsonl", rows)
    got = nl("meta", "a.jsonl", "--coef", "pearson")
    assert got.code == 0 and "read with" not in got.err, got.err
