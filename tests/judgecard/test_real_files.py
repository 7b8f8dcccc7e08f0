"""Files as people and tools write them: what each command takes for what, says and
reads (`cases/real_files.jsonl`).
"""

from __future__ import annotations

import csv
import zipfile
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cli_tools import call, cases
from hostile_server import HostileServer

from judgecard import cards, judged, rated_rows
from nlgeval_lib.scoring import chosen_rows

CASES = cases("real_files")


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case['kind']}: {case['name']}"
)
def test_a_file_is_read_as_it_was_meant(case, tmp_path, monkeypatch, capsys):
    path = tmp_path / case["file"]
    path.write_text(case["text"], encoding="utf-8")
    places = {"FILE": path, "OUT": tmp_path / "scored.csv", "CARD": tmp_path / "card"}
    words = [str(places.get(word, word)) for word in case["call"]]
    got = call(monkeypatch, capsys, *words)
    said = got.out + got.err
    assert got.code == case["code"], said
    for words_said in case["says"]:
        assert words_said in said
    for words_never in case["never"]:
        assert words_never not in said
    if "reason" in case:
        with open(tmp_path / "scored.csv", encoding="utf-8") as file:
            reasons = [row["reason"] for row in csv.DictReader(file)]
        assert all(case["reason"] in reason for reason in reasons)
    if "column" in case:
        written = pd.read_csv(tmp_path / "scored.csv", dtype=str, keep_default_na=False)
        for name, cells in case["column"].items():
            assert written[name].tolist() == cells
    if "card" in case:
        assert case["card"] in (tmp_path / "card" / "card.md").read_text("utf-8")


def test_the_long_form_gives_what_the_wide_form_gives(tmp_path):
    rng = np.random.default_rng(3)
    wide = pd.DataFrame(
        [
            {"input_id": f"d{i}", "system_id": s, "output": f"{s}{i}", "judge": j}
            for i in range(8)
            for s, j in zip("abc", rng.integers(1, 6, 3), strict=True)
        ]
    )
    for rater in ("rater_1", "rater_2"):
        wide[rater] = rng.integers(1, 6, len(wide)).astype(float)
    wide["human"] = wide[["rater_1", "rater_2"]].mean(axis=1)
    long = wide.drop(columns="human").melt(
        ["input_id", "system_id", "output", "judge"],
        var_name="rater",
        value_name="human",
    )
    path = tmp_path / "long.csv"
    long.sample(frac=1, random_state=1).to_csv(path, index=False)
    rows = chosen_rows(str(path))
    made, notes = rated_rows.prepared(rows, ["judge"], ["human"], rated_rows.Said())
    assert "48 rows are 24 outputs of 2 raters" in notes[0]
    keys = ["input_id", "system_id"]
    found = made.frame.sort_values(keys)
    assert found["human"].tolist() == wide.sort_values(keys)["human"].tolist()


def rated_frame(**more: Any) -> pd.DataFrame:
    human = [1, 2, 3, 4, 5, 3, 2, 4, 1, 5, 3, 2]
    frame = pd.DataFrame({"human": human, "output": ["a word"] * 12})
    frame["input_id"] = [f"d{i // 3}" for i in range(12)]
    frame["system_id"] = list("abc") * 4
    return frame.assign(**more)


def test_a_score_off_the_stated_scale_has_no_value_on_a_card():
    frame = rated_frame()
    frame["value"] = [-1.0, *frame["human"][1:]]
    card = cards.of_scores(frame, frame, scale=(1, 5))
    [numbers] = card.numbers["sets"].values()
    assert numbers["coverage"]["statuses"] == {"ok": 11, "out_of_range": 1}


@pytest.mark.parametrize(
    ("human_scale", "why"),
    [
        (None, "the scale of the ratings is not known"),
        ((1, 5), "judge and ratings use different scales"),
    ],
)
def test_the_ratings_have_their_own_scale(human_scale, why):
    frame = rated_frame()
    frame["value"] = 2.0 * frame["human"]
    card = cards.of_scores(frame, frame, scale=(1, 10), human_scale=human_scale)
    [numbers] = card.numbers["sets"].values()
    assert why in str(numbers["aspects"]["overall"]["closeness"])


def test_a_set_is_what_both_commands_take(tmp_path):
    frame = rated_frame(value=range(12), seen_in_training=["True"] * 2 + ["False"] * 10)
    path = tmp_path / "fitted.csv"
    frame.to_csv(path, index=False)
    rows = chosen_rows(str(path))
    made, _ = rated_rows.prepared(rows, ["value"], ["human"], rated_rows.Said())
    assert len(made) == len(judged.of_rows(made).frame) == 10


def test_a_packed_log_of_inspect_is_read(tmp_path):
    path = tmp_path / "run.eval"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("header.json", '{"eval": {"model": "m"}}')
        for number in (1, 2):
            sample = '{"id": "q%d", "input": "x", "target": "t", "output": '
            sample += '{"completion": "o"}, "scores": {"g": {"value": %d}}}'
            packed.writestr(f"samples/q{number}.json", sample % (number, number))
    frame = chosen_rows(str(path)).frame
    assert frame["output"].tolist() == ["o", "o"] and frame["g"].tolist() == [1, 2]
    assert frame["system_id"].tolist() == ["m", "m"]


def test_scores_are_joined_with_rated_rows_of_another_file(
    tmp_path, monkeypatch, capsys
):
    frame = rated_frame()
    rows = tmp_path / "rows.csv"
    frame.rename(columns={"input_id": "doc"}).to_csv(rows, index=False)
    scores = tmp_path / "scores.csv"
    made = frame[["input_id", "system_id"]].assign(judge=[*frame["human"]][::-1])
    made.sample(frac=1, random_state=2).to_csv(scores, index=False)
    words = ["card", "--scores", scores, "--score", "judge", "-i", rows]
    got = call(monkeypatch, capsys, *words, "-o", tmp_path / "card")
    assert got.code == 2 and "input_id" in got.err
    frame.to_csv(rows, index=False)
    got = call(monkeypatch, capsys, *words, "-o", tmp_path / "card")
    assert got.code == 0, got.err
    written = pd.read_csv(tmp_path / "card" / "scores.csv")
    assert written["human"].tolist() == frame["human"].tolist()
    assert written["value"].tolist() == frame["human"].tolist()[::-1]


def test_a_card_says_all_that_it_lacks_at_once(tmp_path, monkeypatch, capsys):
    rows = tmp_path / "rows.csv"
    rows.write_text("output\na\nb\nc\n")
    prompt = tmp_path / "mine.txt"
    prompt.write_text("Rate it from 1 to 5: {output}")
    got = call(monkeypatch, capsys, "card", "--prompt", prompt, "-i", rows)
    assert got.code == 2
    for lacking in ("--engine and --model", "--scale 1-5", "has no ratings"):
        assert lacking in got.err


def test_no_card_is_made_of_a_server_that_refuses(tmp_path, monkeypatch, capsys):
    rows = tmp_path / "rows.csv"
    rated_frame().to_csv(rows, index=False)
    prompt = tmp_path / "mine.txt"
    prompt.write_text("Rate it from 1 to 5: {output}")
    server = HostileServer()
    server.says = (400, b'{"error": {"message": "temperature must be 1"}}')
    try:
        got = call(
            *(monkeypatch, capsys, "card", "--prompt", prompt, "--scale", "1-5"),
            *("-i", rows, "--engine", "openai", "--base-url", server.url, "-m", "j"),
            *("--store", tmp_path / "store", "-o", tmp_path / "card"),
        )
    finally:
        server.stop()
    assert got.code == 1 and "no card is made" in got.err
    assert "-s temperature=1" in got.err
    assert not (tmp_path / "card" / "card.json").exists()


def test_a_card_of_scores_that_run_the_other_way(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(4)
    human = rng.integers(1, 6, 60)
    frame = pd.DataFrame({"human": human, "judge": 6 - human})
    frame["input_id"] = np.arange(60) // 3
    frame["system_id"] = list("abc") * 20
    path = tmp_path / "scores.csv"
    frame.to_csv(path, index=False)
    words = ["card", "--scores", path, "--score", "judge", "--scale", "1-5"]
    got = call(monkeypatch, capsys, *words, "-o", tmp_path / "one")
    assert "the other way round than people do" in got.err
    got = call(
        monkeypatch, capsys, *words, "--reverse", "judge", "-o", tmp_path / "two"
    )
    assert got.code == 0 and "other way round" not in got.err
    written = pd.read_csv(tmp_path / "two" / "scores.csv")
    assert (written["value"] == written["human"]).all()


def test_coverage_counts_draws_too():
    """A mean of draws hides one that could not be read."""
    frame = rated_frame(status="ok", reason="")
    frame["value"] = frame["human"].astype(float)
    draws = [(float(human), np.nan) for human in frame["human"]]
    frame["details"] = [{"values": values} for values in draws]
    [numbers] = (
        cards.of_sets(
            "a card", {}, [judged.Judged("own", "own", frame.assign(aspect="overall"))]
        )
        .numbers["sets"]
        .values()
    )
    assert numbers["coverage"]["value"] == 1
    assert numbers["coverage"]["draws"] == {"value": 0.5, "n": 24}


def test_a_card_of_a_score_that_is_called_human(tmp_path, monkeypatch, capsys):
    path = tmp_path / "scores.csv"
    frame = rated_frame(people=[5, *[2, 3, 4] * 3, 1, 5])
    frame.to_csv(path, index=False)
    words = ["card", "--scores", path, "--score", "human", "--map", "human=people"]
    got = call(monkeypatch, capsys, *words, "-o", tmp_path / "card")
    assert got.code == 0, got.err
    written = pd.read_csv(tmp_path / "card" / "scores.csv")
    assert written["human"].tolist() == frame["people"].tolist()
    assert written["value"].tolist() == frame["human"].tolist()


def test_an_ordered_category_is_numbers_in_its_order(tmp_path):
    frame = rated_frame(value=range(12))
    words = ["bad", "poor", "fair", "good", "great"]
    named = [words[human - 1] for human in frame["human"]]
    path = tmp_path / "likert.parquet"
    frame.assign(human=pd.Categorical(named, words, ordered=True)).to_parquet(path)
    rows = chosen_rows(str(path))
    assert "human has an order: bad < poor" in rows.in_words()
    assert rows.numbers("human").tolist() == frame["human"].tolist()
    said = chosen_rows(str(path), values=["bad=5,poor=4,fair=3,good=2,great=1"])
    assert said.numbers("human").tolist() == (6 - frame["human"]).tolist()
