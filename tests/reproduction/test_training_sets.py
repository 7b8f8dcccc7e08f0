"""Both training sets end to end with scripted teachers; and a set on disk: whole, or
known not to be.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import Prometheus, TigerScore
from nlgeval_lib.parsers.errors import error_analysis
from nlgeval_lib.parsers.feedbacks import feedback as read_feedback
from nlgeval_lib.records import Sample
from notebooks.meta import scripted_teachers as scripted
from reproduction.training import pipeline
from reproduction.training.feedback_collection import FeedbackCollection
from reproduction.training.metricinstruct import MetricInstruct, located
from reproduction.training.pipeline import Filters, TrainingSet, load

REAL = scripted.mini_inputs(60)
PLAIN = scripted.mini_inputs(systems=["clean"]).head(30)
FREE = PLAIN.head(6).assign(task="Instruct")
SMALL = {"rounds": 2, "per_round": 4, "instructions": 3, "use_seeds": False}


def teacher(**how: object) -> ScriptedEngine:
    return scripted.MiniTeacher(REAL, PLAIN, **how).engine()


def saved(built: TrainingSet, folder) -> tuple[pd.DataFrame, dict, list[dict]]:
    """The examples and the report of a set that was saved, and what was removed."""
    examples, report = load(built.save(folder))
    gone = [
        json.loads(line) for line in (folder / "removed.jsonl").read_text().splitlines()
    ]
    assert report["kept"] == len(examples) == len(built.kept)
    assert (
        len(gone)
        == report["removed"]
        == len(built.filters.removed)
        == built.filters.table()["removed"].sum()
    )
    assert set(examples["id"]).isdisjoint(one["id"] for one in gone) and all(
        one["rule"] and one["reason"] for one in gone
    )
    return examples, report, gone


# -- MetricInstruct


def test_both_channels_leave_a_valid_set_and_count_everything(tmp_path) -> None:
    built = MetricInstruct().build(teacher(), real=REAL, synthetic=PLAIN, free=FREE)
    examples, report, gone = saved(built, tmp_path)
    assert len(examples) + len(gone) == len(REAL) + len(PLAIN) + len(FREE)
    assert {
        "malformed",
        "location",
        "severity",
        "aspect",
        "reference",
        "unreasonable",
    } <= {one["rule"] for one in gone}
    assert built.filters.count("failed") == 0 and report["candidates"]["real"] == len(
        REAL
    )
    assert {one.channel for one in built.kept} == {"real", "synthetic"} and any(
        one.free for one in built.kept
    )
    judge = TigerScore()
    for row in examples.to_dict("records"):
        read = error_analysis(row["completion"])
        assert read.agrees and read.value == row["score"]
        assert all(located(error["location"], row["output"]) for error in row["errors"])
        rebuilt = pd.DataFrame(
            [
                {
                    "output": row["output"],
                    "instruction": row["instruction"],
                    "source": row["input"],
                }
            ]
        )
        # what the evaluator will ask
        assert judge.render(judge.given(rebuilt)[0]) == row["prompt"]
    assert "| malformed | paper |" in (tmp_path / "report.md").read_text()


def test_empty_and_repeated_inputs_are_counted_not_asked() -> None:
    rows = REAL.head(6).copy()
    rows.loc[0, "output"], rows.loc[1, "instruction"] = " ", ""
    rows = pd.concat([rows, rows.tail(1)], ignore_index=True)
    engine = scripted.MiniTeacher(rows, every=0).engine()
    built = MetricInstruct(check=False).build(engine, real=rows)
    assert (
        built.filters.count("empty_input") == 2
        and built.filters.count("duplicate") == 1
    )
    assert len(engine.asked) == 8  # two turns for four different outputs
    with pytest.raises(ValueError, match="no column output"):
        MetricInstruct().build(engine, real=rows.drop(columns="output"))


def test_nothing_left_is_a_report_too(tmp_path) -> None:
    built = MetricInstruct().build(
        ScriptedEngine(lambda request, draw: "no"), real=REAL.head(4)
    )
    assert built.kept == [] and built.filters.count("malformed") == 4
    folder = built.save(tmp_path)
    assert (folder / "train.jsonl").read_text() == "" and "4 removed" in (
        folder / "report.md"
    ).read_text()


def test_a_plan_asks_nothing_and_says_what_is_estimated() -> None:
    engine = teacher()
    stages = MetricInstruct().plan(engine, real=REAL, synthetic=PLAIN, free=FREE)
    exact = {"analyse": True, "format": False, "synthesise": False, "check": False}
    assert {one.name: one.exact for one in stages} == exact
    assert stages[0].completions == len(REAL) and not engine.asked
    stages = FeedbackCollection(**SMALL).plan()[:2]
    assert [(one.name, one.completions, one.exact) for one in stages] == [
        ("brainstorm", 8, True),
        ("paraphrase", 1, False),  # equal stand-ins: all but one would be alike
    ]


# -- the feedback collection


def test_a_collection_is_whole_and_valid(tmp_path) -> None:
    built = FeedbackCollection(**SMALL).build(scripted.FeedbackTeacher().engine())
    examples, report, gone = saved(built, tmp_path)
    assert len(examples) > 40 and set(examples["score"].value_counts()) == {
        len(examples) // 5
    }  # equally often
    assert {"malformed", "levels", "score", "length", "incomplete"} <= {
        one["rule"] for one in gone
    }
    assert {one["kind"] for one in gone} == {"rubric", "response", "instruction"}
    assert report["teacher"] == "scripted-feedback-teacher"
    for row in examples.to_dict("records"):
        read = read_feedback(row["completion"], 1, 5, "strict")
        assert read.value == row["score"] and read.feedback == row["feedback"]
        assert all(
            row[name] in row["prompt"]
            for name in ("instruction", "response", "reference", "criteria")
        )
    assert built.statistics()["Balance"].loc["scores"].to_dict() == {
        "value": 1.0,
        "limit": 1.0,
        "ok": True,
    }
    assert "Distinct n-grams (Table 7)" in (tmp_path / "report.md").read_text()


def test_views_are_what_the_evaluator_asks_without_a_part() -> None:
    built = FeedbackCollection(**SMALL).build(
        scripted.FeedbackTeacher(every=0).engine()
    )
    row = built.frame().iloc[0]
    sample = Sample(
        "x",
        row.response,
        row.instruction,
        references=(row.reference,),
        rubric=row.rubric,
    )
    shown = {
        view: built.examples(view)[0]
        for view in ("full", "no_rubric", "no_reference", "no_feedback")
    }
    for view, switch in (
        ("full", {}),
        ("no_rubric", {"rubric": False}),
        ("no_reference", {"reference": False}),
    ):
        assert shown[view]["prompt"] == Prometheus(chat="raw", **switch).render(sample)
        assert shown[view]["completion"] == f"{row.feedback} [RESULT] {row.score}"
    assert (
        row.criteria not in shown["no_rubric"]["prompt"]
        and row.reference not in shown["no_reference"]["prompt"]
    )
    assert shown["no_feedback"]["completion"] == str(row.score)
    with pytest.raises(ValueError, match="allowed: full"):
        built.examples("none")


# -- stopped runs, and sets on disk


@pytest.mark.parametrize(
    ("made", "script", "given"),
    [
        (
            MetricInstruct(),
            scripted.MiniTeacher(REAL),
            {"real": REAL.head(30), "synthetic": REAL.head(10)},
        ),
        (FeedbackCollection(**SMALL | {"rounds": 1}), scripted.FeedbackTeacher(), {}),
    ],
    ids=["metricinstruct", "collection"],
)
def test_a_stopped_run_goes_on_and_a_finished_one_asks_nothing(
    tmp_path, made, script, given
) -> None:
    whole = made.build(ScriptedEngine(script.answer, model="t"), **given)
    store = Store(tmp_path)
    left = iter(range(40))

    def stops(request, draw):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return script.answer(request, draw)

    with pytest.raises(KeyboardInterrupt):
        made.build(ScriptedEngine(stops, model="t", batch_size=4), store, **given)
    stored = len(store)
    assert 30 <= stored <= 40
    again, third = (
        ScriptedEngine(script.answer, model="t", batch_size=4) for _ in range(2)
    )
    assert made.build(again, store, **given).examples() == whole.examples()
    assert len(again.asked) == len(store) - stored
    assert (
        len(made.build(third, store, **given).kept) == len(whole.kept)
        and not third.asked
    )


@dataclass
class Plain(TrainingSet):
    """A set of examples as they are."""

    title = "Plain"
    examples = lambda self: self.kept  # noqa: E731
    statistics = lambda self: {}  # noqa: E731
    notes = lambda self: []  # noqa: E731


def save(folder, examples):
    return Plain(examples, Filters()).save(folder)


SET = [{"id": "a", "prompt": "p", "completion": "c", "score": float("nan")}]
OTHER = [
    {"id": "b", "prompt": "q", "completion": "d"},
    {"id": "c", "prompt": "q", "completion": "e"},
]
FILES = ["removed.jsonl", "report.json", "report.md", "train.jsonl"]


@pytest.mark.parametrize("stop_at", range(4))
def test_a_save_that_is_stopped_is_noticed_and_can_be_repeated(
    tmp_path, monkeypatch, stop_at: int
) -> None:
    save(tmp_path, SET)
    write = pipeline.write_text
    left = iter(range(stop_at))

    def stopping(path, text):
        if next(left, None) is None:
            raise OSError(28, "No space left on device")
        write(path, text)

    monkeypatch.setattr(pipeline, "write_text", stopping)
    with pytest.raises(OSError, match="No space"):
        save(tmp_path, OTHER)
    monkeypatch.undo()
    if stop_at == 0:  # nothing was replaced yet: the earlier set is whole
        assert load(tmp_path)[0]["id"].tolist() == ["a"]
    else:
        with pytest.raises(ValueError, match="a save was stopped"):
            load(tmp_path)
    save(tmp_path, OTHER)
    assert load(tmp_path)[0]["id"].tolist() == ["b", "c"]
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES


def test_an_example_without_a_text_is_never_written(tmp_path) -> None:
    with pytest.raises(ValueError, match="completion; nothing was written"):
        save(tmp_path, [*SET, {"id": "z", "prompt": "p", "completion": " "}])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            '{"prompt": "p", "completion": "c"}\n\n{"prompt": "p"}\n',
            "line 3: no text in 'completion'",
        ),
        ('{"prompt": "p", "completion": "c"}\n[1]\n', "line 2: no JSON object"),
        (None, "no such file"),
        ('{"prompt": "p", "completion": "c"}\n', ""),
    ],
)
def test_a_file_of_examples_is_checked_line_by_line(tmp_path, lines, said) -> None:
    path = tmp_path / "own.jsonl"
    if lines:
        path.write_text(lines)
    if not said:
        assert pipeline.read(path)["id"].tolist() == ["line-1"]
        return
    with pytest.raises(ValueError, match=said):
        pipeline.read(path)
    with pytest.raises(ValueError, match="no whole training set"):
        load(tmp_path)


TEXT = st.text(st.characters() | st.characters(categories=["Cs"]), min_size=1).filter(
    str.strip
)


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.sampled_from(["prompt", "completion", "id"]), TEXT))
def test_any_text_comes_back(tmp_path_factory, fields: dict[str, str]) -> None:
    """Half a character, which no file can hold, is spelt out."""
    example = {"id": "i", "prompt": "p", "completion": "c", **fields}
    folder = save(tmp_path_factory.mktemp("set"), [example])
    [back] = load(folder)[0].to_dict("records")
    assert all(
        back[name] == text.encode("utf-8", "backslashreplace").decode()
        for name, text in example.items()
    )
