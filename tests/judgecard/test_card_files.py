"""Cards that were edited by hand or are no cards: each is refused in one line that names
the file and what is wrong with it; a card is written whole or not at all.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_tools import cases

import judgecard as card
from judgecard import conditions, standing
from nlgeval_lib import files
from nlgeval_lib.scoring.cells import InputError

# -- card.json: `cases/bad_cards.jsonl`

CASES = cases("bad_cards")


def committed(name: str) -> Any:
    """The numbers of a card of a recorded judge."""
    return json.loads((files.data() / "cards" / f"{name}.json").read_text())


def changed(case: dict[str, Any]) -> Any:
    """The numbers of a committed card with another value at a path, or without it."""
    numbers = committed(case["card"])
    *parents, last = case["at"]
    target = numbers
    for name in parents:
        target = target[name]
    if case.get("removed"):
        del target[last]
    else:
        target[last] = case["value"]
    return numbers


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_bad_card_is_named_with_its_part(
    case: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "card.json"
    path.write_text(json.dumps(changed(case)))
    with pytest.raises(InputError) as error:
        standing.read_all([path])
    message = str(error.value)
    assert message == f"{path} is no whole card: " + message.partition("card: ")[2]
    assert case["says"] in message and message.endswith("make the card again")
    assert message.isprintable()


@pytest.mark.parametrize(
    "call",
    [
        ("beside", "card.json"),
        ("gate", "card.json", "llmbar.accuracy.low >= 0"),
        ("compare", "card.json", "card.json"),
    ],
    ids=lambda call: call[0],
)
def test_every_command_refuses_a_bad_card(nl, tmp_path: Path, call) -> None:
    numbers = committed("llmbar-gpt-4-vanilla")
    del numbers["sets"]["llmbar"]["accuracy"]
    (tmp_path / "card.json").write_text(json.dumps(numbers))
    got = nl("card", *call)
    assert got.code == 2 and got.err.count("\n") == 1
    assert "card.json is no whole card: sets.llmbar.accuracy is not there" in got.err


def test_committed_cards_have_the_shape_and_pages(tmp_path: Path) -> None:
    for path in standing.committed():
        read = card.read(path)
        assert read.table()["path"].is_unique
    read.write(tmp_path)
    assert card.read(tmp_path).numbers == read.numbers


@pytest.mark.parametrize("sets", [{}, {"summeval": {"aspects": {}}}])
def test_a_card_without_numbers_stands_nowhere(tmp_path: Path, sets: Any) -> None:
    numbers = committed("summeval-gpt-4o")
    for name, replaced in sets.items():
        sets[name] = numbers["sets"][name] | replaced
    numbers["sets"] = sets
    (tmp_path / "card.json").write_text(json.dumps(numbers))
    with pytest.raises(InputError, match=r"no number of a judge in .*card\.json"):
        standing.among_recorded(standing.read_all([tmp_path]))


# -- paths that lead to no number


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "summeval.coherence.kendall.signature",
            "kendall.signature is a text, no number; beside it: value, low, high, n,",
        ),
        ("judge.model", "judge.model is a text, no number; there is none beside it"),
        (
            "summeval.coherence",
            "summeval.coherence is no number; below it: n, pearson, spearman, kendall,",
        ),
        ("summeval.coherence.use", "no number; below it: mode_share, human_mode"),
        ("summeval", "summeval is no number; below it: outputs, inputs, systems, "),
        ("judge", "judge is no number; there is none below it"),
        ("cannot_tell", "cannot_tell is a list, no number; beside it: summeval.ou"),
        ("summeval.coherense.kendall", "'coherense'; did you mean 'coherence'? it has"),
        ("summeval.coherence.n.low", "summeval.coherence.n has nothing below it"),
        ("odd.x", "odd has no 'x'; it has sets, 5"),
    ],
)
def test_a_path_to_no_number_lists_the_numbers(path: str, message: str) -> None:
    numbers = committed("summeval-gpt-4o")
    numbers["odd"] = {"sets": [1], "5": "6"}
    with pytest.raises(ValueError) as error:
        conditions.Condition(path, ">", 0).value(numbers)
    assert message in str(error.value)
    assert len(str(error.value)) < 400


# -- writing, and the scores beside a card


@pytest.fixture(scope="module")
def pairs() -> card.Card:
    return card.demo("llmbar")


@pytest.mark.parametrize(
    "name", ["card.json", "card.html", "scores.csv", "beside_llmbar.png"]
)
def test_nothing_is_written_where_a_name_is_a_folder(
    pairs: card.Card, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(OSError, match=f"cannot write .*{name}: it is a folder"):
        pairs.write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_where_the_folder_should_be_is_named(
    pairs: card.Card, tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(OSError, match=r"cannot write .*; a part of its path"):
        pairs.write(tmp_path / "mine")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",1.0\n", ",high\n", "scores.csv: could not convert .*; write the card again"),
        ("human", "people", "scores.csv has no column 'human'"),
        ("\nllmbar,", "\nllmbar,more,columns,", "scores.csv cannot be read: .*saw 8$"),
    ],
)
def test_scores_that_are_none_are_refused(
    pairs: card.Card, tmp_path: Path, old: str, new: str, message: str
) -> None:
    pairs.write(tmp_path)
    path = tmp_path / "scores.csv"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        card.read(tmp_path)


def test_scores_of_a_set_that_the_card_lacks_are_left_out(
    pairs: card.Card, tmp_path: Path
) -> None:
    pairs.write(tmp_path)
    path = tmp_path / "scores.csv"
    path.write_text(path.read_text().replace("\nllmbar,", "\nother,"))
    read = card.read(tmp_path)
    assert read.judged == ()
    with pytest.raises(InputError, match="share no set"):
        card.compared(read, read)
