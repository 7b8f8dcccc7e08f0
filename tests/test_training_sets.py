"""A training set on disk: whole, or known not to be."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgeval_lib.records import Completion
from nlgeval_lib.training import sets
from nlgeval_lib.training.filters import Filters, Rule, unique
from nlgeval_lib.training.pipeline import Piece, answered, no_text

SET = [{"id": "a", "prompt": "p", "completion": "c", "score": float("nan")}]
OTHER = [{"id": "b", "prompt": "q", "completion": "d"}, {"id": "c", "prompt": "q", "completion": "e"}]


def test_what_is_saved_is_loaded(tmp_path) -> None:
    sets.save(tmp_path / "new" / "set", SET, [{"id": "x", "rule": "r"}], {"pipeline": "test"}, "# Read me")
    examples, report = sets.load(tmp_path / "new" / "set")
    assert examples["completion"].tolist() == ["c"] and report["examples"] == 1 and report["pipeline"] == "test"
    assert json.loads((tmp_path / "new" / "set" / "train.jsonl").read_text())["score"] is None  # NaN is no JSON


@pytest.mark.parametrize("stop_at", range(4))
def test_a_save_that_is_stopped_is_noticed_and_can_be_repeated(tmp_path, monkeypatch, stop_at: int) -> None:
    sets.save(tmp_path, SET, [], {}, "# One")
    write, left = sets.write_text, iter(range(stop_at))

    def stopping(path, text):
        if next(left, None) is None:
            raise OSError(28, "No space left on device")
        write(path, text)

    monkeypatch.setattr(sets, "write_text", stopping)
    with pytest.raises(OSError, match="No space"):
        sets.save(tmp_path, OTHER, [{"id": "x"}], {}, "# Two")
    monkeypatch.undo()
    if stop_at == 0:  # nothing was replaced yet: the earlier set is whole
        assert sets.load(tmp_path)[0]["id"].tolist() == ["a"]
    else:
        with pytest.raises(ValueError, match="a save was stopped"):
            sets.load(tmp_path)
    sets.save(tmp_path, OTHER, [{"id": "x"}], {}, "# Two")
    assert sets.load(tmp_path)[0]["id"].tolist() == ["b", "c"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "removed.jsonl", "report.json", "report.md", "train.jsonl",
    ]  # fmt: skip


def test_an_example_without_a_text_is_never_written(tmp_path) -> None:
    with pytest.raises(ValueError, match="completion; nothing was written"):
        sets.save(tmp_path, [*SET, {"id": "z", "prompt": "p", "completion": " "}], [], {}, "")
    assert not list(tmp_path.iterdir())


def test_a_file_of_examples_is_checked_line_by_line(tmp_path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"prompt": "p", "completion": "c"}\n\n{"prompt": "p"}\n')
    with pytest.raises(ValueError, match="line 3: no text in 'completion'"):
        sets.read(path)
    path.write_text('{"prompt": "p", "completion": "c"}\n[1]\n')
    with pytest.raises(ValueError, match="line 2: a list"):
        sets.read(path)
    path.write_text('{"prompt": "p", "completion": "c"}\n')
    assert sets.read(path)["id"].tolist() == ["line-1"]
    with pytest.raises(ValueError, match="no such file"):
        sets.read(tmp_path / "none.jsonl")
    with pytest.raises(ValueError, match="no whole training set"):
        sets.load(tmp_path)


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.sampled_from(["prompt", "completion", "id"]), st.text(min_size=1).filter(str.strip)))
def test_any_text_comes_back(tmp_path_factory, fields: dict[str, str]) -> None:
    example = {"id": "i", "prompt": "p", "completion": "c", **fields}
    folder = sets.save(tmp_path_factory.mktemp("set"), [example], [], {}, "")
    [back] = sets.load(folder)[0].to_dict("records")
    assert all(back[name] == text.encode("utf-8", "replace").decode() for name, text in example.items())


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
    with pytest.raises(ValueError, match="allowed: paper, ours"):
        Rule("x", "x", str, "mine")


def test_unique_and_completions() -> None:
    rule = unique(str.lower, "the same word")
    assert [bool(rule.why(word)) for word in ("A", "b", "a", "A")] == [False, False, True, True]
    assert no_text(Completion("k", " ")) and no_text(Completion("k", "x", error="gone")) == "gone"
    assert no_text(Completion("k", "x")) == ""


def test_a_piece_without_an_answer_or_with_one_that_cannot_be_read_is_removed() -> None:
    failed, malformed = answered()
    for piece, why in (
        (Piece(failure="gone"), ["gone", ""]),
        (Piece(problem="no JSON"), ["", "no JSON"]),
        (Piece(), ["", ""]),
    ):
        assert [failed.why(piece), malformed.why(piece)] == why
