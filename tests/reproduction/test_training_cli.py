"""`nlgeval build` and `nlgeval finetune`: what they print, write and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_tools import jsonl, refused

from nlgeval_lib.engines.store import Store
from notebooks.meta import scripted_teachers as scripted
from reproduction.training.feedback_collection import FeedbackCollection, seed_rubrics
from reproduction.training.metricinstruct import MetricInstruct
from reproduction.training.pipeline import load

SMALL = ("rounds=1", "per_round=3", "instructions=2", "use_seeds=false")


@pytest.fixture
def inputs(tmp_path) -> Path:
    rows = scripted.mini_inputs(12)
    names = [
        "task",
        "dataset",
        "input_id",
        "system_id",
        "instruction",
        "source",
        "reference",
        "output",
    ]
    return jsonl(tmp_path / "inputs.jsonl", rows[names].to_dict("records"))


def replay(store: Path, model: str) -> tuple[str, ...]:
    return ("--engine", "replay", "--model", model, "--store", str(store))


def test_metricinstruct_is_built_from_a_file_and_a_store(
    command, inputs, tmp_path
) -> None:
    rows = scripted.mini_inputs(12)
    teacher = scripted.MiniTeacher(rows).engine()
    direct = MetricInstruct().build(teacher, Store(tmp_path / "store"), real=rows)
    how = replay(tmp_path / "store", teacher.model)
    plan = command("build", "metricinstruct", "--real", inputs, *how, "--dry-run")
    assert plan.code == 0 and "analyse" in plan.out and "12" in plan.out, plan.err
    done = command(
        "build",
        "metricinstruct",
        "--real",
        inputs,
        *how,
        "--output",
        tmp_path / "set",
        "--quiet",
    )
    assert done.code == 0, done.err
    assert (
        f"{len(direct.kept):,} kept, {len(direct.filters.removed):,} removed"
        in done.out
        and "location" in done.out
    )
    examples, report = load(tmp_path / "set")
    assert examples["completion"].tolist() == [
        one.example()["completion"] for one in direct.kept
    ]
    assert report["teacher"] == teacher.model


def test_a_feedback_collection_is_built_in_a_view_of_own_seeds(
    command, tmp_path
) -> None:
    teacher = scripted.FeedbackTeacher(every=0).engine()
    settings = {
        name: json.loads(value) for name, value in (text.split("=") for text in SMALL)
    }
    own = [draft.content() for draft in seed_rubrics()[:4]]
    direct = FeedbackCollection(**settings).build(
        teacher, Store(tmp_path / "store"), seeds=seed_rubrics(own)
    )
    seeds = (
        "--seeds",
        jsonl(tmp_path / "seeds.jsonl", own),
        *(part for text in SMALL for part in ("-s", text)),
    )
    how = (
        *replay(tmp_path / "store", teacher.model),
        "--view",
        "no_reference",
        "-o",
        tmp_path / "set",
        "--quiet",
    )
    done = command("build", "feedback-collection", *seeds, *how)
    assert done.code == 0, done.err
    examples, _ = load(tmp_path / "set")
    assert len(examples) == len(direct.kept) > 0 and set(examples["view"]) == {
        "no_reference"
    }


@pytest.mark.parametrize(("arguments", "said"), refused("training"))
def test_wrong_calls_are_one_line_and_2(
    command, inputs, tmp_path, monkeypatch, arguments, said
) -> None:
    monkeypatch.chdir(tmp_path)
    got = command(*(str(inputs) if part == "INPUTS" else part for part in arguments))
    assert (
        got.code == 2 and said.lower() in got.err.lower() and "Traceback" not in got.err
    )
    assert not (tmp_path / "x").exists()


def test_a_dry_run_states_tokens_memory_and_hours(command) -> None:
    plain = command("finetune", "prometheus-13b", "--dry-run")
    assert plain.code == 0, plain.err
    for part in (
        "409,600,000 tokens",
        "GB",
        "hours",
        "Table 8",
        "upper bound",
        "accelerate launch",
        "8 x a100-80gb",
    ):
        assert part in plain.out, part
