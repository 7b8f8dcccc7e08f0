"""What is built from the mini set and its scripted teachers, and what the miniature
judge learns, byte for byte.

A hash that changes is another training set: change it here only on purpose.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import tiny_model

from mini_judge import recipe, studies, tokens
from mini_judge.prompts import Example, make_example
from mini_judge.records import make_item
from notebooks.meta import scripted_teachers
from reproduction.training import finetune
from reproduction.training.feedback_collection import FeedbackCollection
from reproduction.training.metricinstruct import MetricInstruct

# settings of the pipeline, each so manyth row with a slip -> the files of the set:
# train, removed, report.json and .md
METRICINSTRUCT = [
    (
        {"seed": 3},
        5,
        "f3b80b53c01bf51a 6889810bc21052c9 34a46bd2289d608e f8feb679bc5295ec",
    ),
    (
        {
            "balance": False,
            "check": False,
            "most_errors": 2,
        },
        3,
        "7ad45537657fb3a1 d0aee7ab93a056ee 6d20a68ffcb49239 fa269ba75c67d94e",
    ),
]
COLLECTION = {
    "full": "fcddbbe224839b5f ddef0fbbe1fcf25e a896d52030e725d1 1aebd14d46a45056",
    "no_rubric": "c9d34357fd8824ff ddef0fbbe1fcf25e cb6bedea26ae1364 1aebd14d46a45056",
    "no_reference": "7784f48821e94b13 ddef0fbbe1fcf25e a9d021bc9d9a703f 1aebd14d46a45056",
    "no_feedback": "4b17b158e6c76c1c ddef0fbbe1fcf25e f8e1997ac34430d0 1aebd14d46a45056",
}


def sha(content: bytes | str) -> str:
    return hashlib.sha256(
        content.encode() if isinstance(content, str) else content
    ).hexdigest()[:16]


def files(folder: Path) -> str:
    names = ("train.jsonl", "removed.jsonl", "report.json", "report.md")
    return " ".join(sha((folder / name).read_bytes()) for name in names)


@pytest.mark.parametrize(("settings", "every", "expected"), METRICINSTRUCT)
def test_metricinstruct_is_the_same_set(settings, every, expected, tmp_path) -> None:
    real = scripted_teachers.mini_inputs(120)
    plain = scripted_teachers.mini_inputs(systems=["clean"])
    frames = {"real": real, "synthetic": plain}
    if "seed" in settings:
        frames["free"] = (
            plain[plain["task"] == "Instruct"].head(8).reset_index(drop=True)
        )
    teacher = scripted_teachers.MiniTeacher(real, plain, every=every).engine()
    assert (
        files(MetricInstruct(**settings).build(teacher, **frames).save(tmp_path))
        == expected
    )


def test_the_feedback_collection_is_the_same_set_in_each_view(tmp_path) -> None:
    pipeline = FeedbackCollection(rounds=2, per_round=8, instructions=3, seed=1)
    built = pipeline.build(scripted_teachers.FeedbackTeacher().engine())
    assert {
        view: files(built.save(tmp_path / view, view=view)) for view in COLLECTION
    } == COLLECTION


@pytest.mark.parametrize(
    ("chat", "expected"),
    [("raw", "981d9ea1c1e7ec5a"), ("prometheus-v1", "3ee595f33164189d")],
)
def test_examples_are_the_same_tokens(chat, expected) -> None:
    rows = scripted_teachers.mini_inputs(20)
    examples = (
        MetricInstruct(check=False)
        .build(scripted_teachers.MiniTeacher(rows).engine(), real=rows)
        .examples()
    )
    made = finetune.tokenized(
        pd.DataFrame(examples),
        tiny_model.tokenizer(),
        finetune.Config("t", "b", chat=chat),
    )
    assert sha(json.dumps(made.rows)) == expected


def told(examples: Iterable[Example]) -> str:
    return sha(json.dumps([[one.form, one.prompt, one.answer] for one in examples]))


def test_the_miniature_judge_learns_the_same_examples() -> None:
    """A hundred at each stage of the recipe, and the vocabulary that they are made
    of.
    """
    found = []
    for seen in (0, 20_000, 40_000, 206_848, 327_680, 378_880):
        rng = random.Random(f"golden:{seen}")
        mix = recipe.Recipe().mix(seen)
        found += [
            make_example(rng, make_item(rng, mix), None, mix.lists, mix.long)
            for _ in range(100)
        ]
    assert told(found) == "81dda4ad04c739b3"
    assert sha(json.dumps(tokens.pieces())) == "3ace71fd05f382fd"


def test_the_ablations_learn_the_same_examples() -> None:
    found = {
        study: told(e for arm in arms for e in arm.examples(1, 40))
        for study, arms in studies.STUDIES.items()
    }
    assert found == {
        "channels": "d90da9ba476a52a8",
        "tasks": "8c5beeee3ac85674",
        "grading": "93bf83a2c3bde6b5",
    }
    assert (
        told(studies.base_examples(replace(recipe.BASE, chunk=200), 3))
        == "6dd50b16d66ac223"
    )
    assert (
        told(studies.reading(replace(recipe.READING, chunk=200), 1))
        == "0f094e2714c2a396"
    )
