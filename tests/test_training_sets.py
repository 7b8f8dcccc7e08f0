"""A training set on disk: whole, or known not to be."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.records import Completion
from nlgeval_lib.training import pipeline
from nlgeval_lib.training.feedback_collection import FeedbackCollection
from nlgeval_lib.training.metricinstruct import MetricInstruct
from nlgeval_lib.training.pipeline import Filters, Rule, TrainingSet, no_text, unique
from notebooks.meta import scripted_teachers as scripted


@dataclass
class Plain(TrainingSet):
    """A set of examples as they are."""

    title = "Plain"

    def examples(self):
        return self.kept

    def statistics(self):
        return {}

    def notes(self):
        return []


def save(folder, examples):
    return Plain(examples, Filters()).save(folder)


def metricinstruct() -> tuple:
    rows = scripted.mini_inputs(40)
    frames = {"real": rows.head(30), "synthetic": rows.head(10)}
    return MetricInstruct(), scripted.MiniTeacher(rows), frames


def collection() -> tuple:
    return FeedbackCollection(rounds=1, per_round=4, instructions=3, use_seeds=False), scripted.FeedbackTeacher(), {}


@pytest.mark.parametrize("make", [metricinstruct, collection])
def test_a_stopped_run_goes_on_and_a_finished_one_asks_nothing(tmp_path, make) -> None:
    pipeline, script, given = make()
    whole = pipeline.build(ScriptedEngine(script.answer, model="t"), **given)
    store, left = Store(tmp_path), iter(range(40))

    def stops(request, draw):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return script.answer(request, draw)

    with pytest.raises(KeyboardInterrupt):
        pipeline.build(ScriptedEngine(stops, model="t", batch_size=4), store, **given)
    stored = len(store)
    assert 30 <= stored <= 40
    again, third = (ScriptedEngine(script.answer, model="t", batch_size=4) for _ in range(2))
    assert pipeline.build(again, store, **given).examples() == whole.examples()
    assert len(again.asked) == len(store) - stored
    assert len(pipeline.build(third, store, **given).kept) == len(whole.kept) and not third.asked


SET = [{"id": "a", "prompt": "p", "completion": "c", "score": float("nan")}]
OTHER = [{"id": "b", "prompt": "q", "completion": "d"}, {"id": "c", "prompt": "q", "completion": "e"}]


@pytest.mark.parametrize("stop_at", range(4))
def test_a_save_that_is_stopped_is_noticed_and_can_be_repeated(tmp_path, monkeypatch, stop_at: int) -> None:
    save(tmp_path, SET)
    write, left = pipeline.write_text, iter(range(stop_at))

    def stopping(path, text):
        if next(left, None) is None:
            raise OSError(28, "No space left on device")
        write(path, text)

    monkeypatch.setattr(pipeline, "write_text", stopping)
    with pytest.raises(OSError, match="No space"):
        save(tmp_path, OTHER)
    monkeypatch.undo()
    if stop_at == 0:  # nothing was replaced yet: the earlier set is whole
        assert pipeline.load(tmp_path)[0]["id"].tolist() == ["a"]
    else:
        with pytest.raises(ValueError, match="a save was stopped"):
            pipeline.load(tmp_path)
    save(tmp_path, OTHER)
    assert pipeline.load(tmp_path)[0]["id"].tolist() == ["b", "c"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "removed.jsonl", "report.json", "report.md", "train.jsonl",
    ]  # fmt: skip


def test_an_example_without_a_text_is_never_written(tmp_path) -> None:
    with pytest.raises(ValueError, match="completion; nothing was written"):
        save(tmp_path, [*SET, {"id": "z", "prompt": "p", "completion": " "}])
    assert not list(tmp_path.iterdir())


def test_a_file_of_examples_is_checked_line_by_line(tmp_path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"prompt": "p", "completion": "c"}\n\n{"prompt": "p"}\n')
    with pytest.raises(ValueError, match="line 3: no text in 'completion'"):
        pipeline.read(path)
    path.write_text('{"prompt": "p", "completion": "c"}\n[1]\n')
    with pytest.raises(ValueError, match="line 2: no JSON object"):
        pipeline.read(path)
    path.write_text('{"prompt": "p", "completion": "c"}\n')
    assert pipeline.read(path)["id"].tolist() == ["line-1"]
    with pytest.raises(ValueError, match="no such file"):
        pipeline.read(tmp_path / "none.jsonl")
    with pytest.raises(ValueError, match="no whole training set"):
        pipeline.load(tmp_path)


TEXT = st.text(st.characters() | st.characters(categories=["Cs"]), min_size=1).filter(str.strip)


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.sampled_from(["prompt", "completion", "id"]), TEXT))
def test_any_text_comes_back(tmp_path_factory, fields: dict[str, str]) -> None:
    """Half a character, which no file can hold, is spelt out."""
    example = {"id": "i", "prompt": "p", "completion": "c", **fields}
    folder = save(tmp_path_factory.mktemp("set"), [example])
    [back] = pipeline.load(folder)[0].to_dict("records")
    assert all(back[name] == text.encode("utf-8", "backslashreplace").decode() for name, text in example.items())


def test_the_first_rule_against_an_item_counts() -> None:
    even = Rule("even", "even numbers", lambda n: "even" if n % 2 == 0 else "")
    big = Rule("big", "numbers above 5", lambda n: "big" if n > 5 else "", "ours")
    filters: Filters[int] = Filters(str, lambda n: "low" if n < 5 else "high")
    assert filters.apply([even, big], range(10)) == [1, 3, 5]
    assert filters.apply([even], [11, 12]) == [11]
    table = filters.table().set_index("rule")
    assert table["removed"].tolist() == [6, 2] and table["reached"].tolist() == [12, 5]
    assert table.loc["big", "share"] == 0.4 and table.loc["big", "origin"] == "ours"
    assert len(filters.table(by_group=True)) == 4 and filters.count("even", "low") == 3
    assert filters.by_part().loc["kept"].to_dict() == {"low": 2, "high": 2}


def test_unique_and_completions() -> None:
    rule = unique(str.lower, "the same word")
    assert [bool(rule.why(word)) for word in ("A", "b", "a", "A")] == [False, False, True, True]
    assert no_text(Completion("k", " ")) and no_text(Completion("k", "x", error="gone")) == "gone"
    assert no_text(Completion("k", "x")) == ""
