"""The leaderboard of recorded judges as a page, and cards among its rows."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import judgecard as card
from judgecard import standing
from nlgeval_lib import files
from nlgeval_lib.scoring.cells import InputError
from reproduction.report import judges_page, sentences
from tools import recorded_cards

CELLS = [
    # set, aspect, judge, column of judges.csv, level, coefficient
    ("summeval", "coherence", "gpt-4o", "value", "dataset", "kendall-b"),
    ("summeval", "fluency", "gpt-4-0314", "over_systems", "system", "kendall-b"),
    ("summeval", "relevance", "gemini_pro", "within_input", "input", "kendall-b"),
    ("openmeva", "overall", "chatgpt", "pearson", "dataset", "pearson"),
    ("sfres", "quality", "UniEval", "spearman", "dataset", "spearman"),
    ("wmt22_zhen", "mqm", "GEMBA-GPT4, DA-src", "value", "dataset", "kendall-b"),
]


def saved(name: str) -> pd.DataFrame:
    return pd.read_csv(files.root() / f"results/meta/others_judges__{name}.csv")


@pytest.fixture(scope="module")
def board() -> pd.DataFrame:
    return judges_page.table()


@pytest.mark.parametrize(("name", "aspect", "judge", "column", "level", "coef"), CELLS)
def test_a_cell_is_that_of_the_saved_leaderboard(
    board, name, aspect, judge, column, level, coef
):
    rated = saved("rated")
    place = {"set": name, "aspect": aspect, "judge": judge}
    for key, value in (place | {"level": level, "coef": coef}).items():
        rated = rated[rated[key] == value]
    row = board
    for key, value in place.items():
        row = row[row[key] == value]
    assert row[column].tolist() == rated["value"].tolist()
    assert len(row) == 1


def test_pairs_and_labels_stand_in_the_same_table(board):
    pairs = saved("pairs").set_index(["set", "subset", "judge"])
    key = ("llmbar", "Natural", "GPT-4, Vanilla")
    row = board.set_index(["set", "aspect", "judge"]).loc[key]
    assert row["value"] == pairs.loc[key, "accuracy"]
    assert row["position_bias"] == pairs.loc[key, "bias"]
    assert row["measure"] == "accuracy"
    assert len(board) == sum(
        [
            saved("rated").groupby(["set", "aspect", "judge"]).ngroups,
            len(saved("pairs")),
            len(saved("labels")),
        ]
    ) + len(board[board["origin"].str.startswith("card ")])


def test_the_best_stands_first(board):
    for _, rows in board.groupby(["set", "aspect"]):
        values = rows["value"].dropna().to_numpy()
        assert (np.diff(values) <= 0).all()


def test_page_and_csv_say_the_same(board):
    texts = judges_page.texts()
    listed = pd.read_csv(io.BytesIO(texts["results/judges.csv"]))
    assert listed["judge"].tolist() == board["judge"].tolist()
    page = texts["results/judges.md"].decode()
    assert "What a single number hides" in page
    for word in ("Level", "Systems", "Families"):
        assert f"**{word}.**" in page
    assert page.count("<details>") == board.groupby(["set", "aspect"]).ngroups


def test_the_page_of_the_report_sorts_filters_and_runs_nothing_of_a_card(
    monkeypatch, board
):
    bad = "<img src=x onerror=alert(1)>"
    real = judges_page._saved

    def with_a_card(name):
        if name == "cards":
            columns = ("card", "judge", "engine", "set", "verdict")
            mine = dict.fromkeys(columns, bad)
            twice = dict.fromkeys(columns, "again.json") | dict(set="summeval")
            return pd.DataFrame([mine, twice | dict(engine="recorded")])
        if name == "card_rows":
            row = dict(set=bad, aspect=bad, level="dataset", coef="kendall-b")
            row |= dict(judge=bad, value=0.5, ci_low=0.1, ci_high=0.9, origin=bad)
            again = row | dict(set="summeval", judge="again", origin="card again.json")
            return pd.DataFrame([row, again])
        return real(name)

    monkeypatch.setattr(judges_page, "_saved", with_a_card)
    recorded = ~board["origin"].str.startswith("card ")
    assert len(judges_page.table()) == 1 + recorded.sum()
    text = judges_page.texts()["results/judges.md"].decode()
    assert not re.search("<img", text)


# -- cards as rows


@pytest.fixture(scope="module")
def pairs() -> card.Card:
    return card.demo("llmbar")


def test_rows_of_a_card_are_its_numbers(pairs, tmp_path):
    pairs.write(tmp_path)
    rows = standing.rows(standing.read_all([tmp_path]))
    numbers = pairs.numbers["sets"]["llmbar"]
    whole = rows[rows["aspect"] == "all"].iloc[0]
    assert whole["value"] == numbers["accuracy"]["value"]
    assert whole["consistency"] == numbers["swap"]["value"]
    assert len(rows) == 1 + len(numbers["subsets"])
    listed = saved("pairs").set_index(["set", "subset", "judge"])["accuracy"]
    for row in rows.itertuples():
        key = (row.set, row.aspect, "GPT-4, Vanilla")
        assert row.value == pytest.approx(listed[key])


def test_a_card_stands_among_the_recorded_judges(pairs, tmp_path, nl):
    pairs.write(tmp_path / "mine")
    cards = standing.read_all([tmp_path / "mine" / "card.json"])
    table = standing.among_recorded(cards)
    whole = table[table["aspect"] == "all"]
    assert whole["value"].is_monotonic_decreasing
    own = whole[whole["origin"] == "card mine/card.json"]
    assert len(own) == 1
    said = nl("card", "beside", str(tmp_path / "mine"))
    assert said.code == 0 and "mine/card.json" in said.out


def test_a_card_of_a_set_without_recorded_judges_is_told(tmp_path):
    frame = pd.DataFrame({"output": list("abcdefgh"), "human": range(8)})
    frame["value"] = [1, 3, 2, 4, 6, 5, 8, 7]
    frame["input_id"] = [str(place) for place in range(8)]
    frame["system_id"] = "all"
    frame.attrs["name"] = "mine"
    card.of_scores(frame, frame).write(tmp_path)
    with pytest.raises(InputError, match="no recorded judge of mine; there are"):
        standing.among_recorded(standing.read_all([tmp_path]))
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "card.json").unlink()
    with pytest.raises(InputError, match="is no card"):
        standing.read_all([tmp_path])


# -- the committed cards


def listed_cards() -> pd.DataFrame:
    return pd.read_csv(files.data() / "cards/cards.csv", keep_default_na=False)


def test_every_listed_card_is_there_with_numbers_and_no_text():
    paths = standing.committed()
    assert sorted(path.stem for path in paths) == sorted(listed_cards()["card"])
    for path in paths:
        numbers = json.loads(path.read_text())
        assert numbers["schema"] == card.SCHEMA
        for part in numbers["sets"].values():
            assert "worst" not in part
    verdicts = standing.verdicts(standing.read_all(paths))
    assert (verdicts["verdict"] != "").all()


@pytest.mark.parametrize(
    "name", ["mini-judge-miniature-judge-plain-score", "llmbar-palm2-vanilla"]
)
def test_a_committed_card_is_what_its_recording_gives(name):
    row = listed_cards().set_index("card").loc[name]
    made = card.of_recorded(row["dataset"], row["recording"], row["judge"], row["form"])
    path = Path(files.data() / "cards" / f"{name}.json")
    expected = recorded_cards._apart_from_making(recorded_cards.as_text(made.numbers))
    assert recorded_cards._apart_from_making(path.read_text()) == expected


def test_the_answer_counts_the_sets_of_the_table():
    """A set of labels or pairs alone counts as well."""
    sentence = sentences.sentence(judges_page.OUTPUT, judges_page.BASE)
    sets = judges_page.table()["set"].nunique()
    assert sentence.startswith(f"{sets} sets with recorded judges")
