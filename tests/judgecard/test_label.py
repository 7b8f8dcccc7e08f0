"""A blind sheet of rows to rate, and its answers beside the rows again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_tools import call

from judgecard import label_sheets
from judgecard.estimates import estimate
from nlgeval_lib.scoring import chosen_rows


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with 200 outputs of four systems, with a judge's scores."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    rows = []
    for place in range(50):
        for system in "abcd":
            quality = rng.normal(3, 1)
            judge = round(quality + rng.normal(0, 0.5), 2)
            text = f"=answer {place} of {quality:.3f}"
            row = {"input_id": place, "system_id": system, "output": text}
            rows.append({**row, "judge": judge, "quality": quality})
    pd.DataFrame(rows).to_csv("rows.csv", index=False)
    return tmp_path


def filled(path: str, rows: pd.DataFrame, n: int | None = None) -> None:
    """Rate the first n rows of a sheet by the quality that their texts tell."""
    sheet = pd.read_csv(path, dtype={"rating": object})
    quality = sheet["output"].str.split().str[-1].astype(float)
    sheet["rating"] = quality.round(2)
    if n is not None:
        sheet.loc[sheet.index >= n, "rating"] = None
    sheet.to_csv(path, index=False)


def test_a_sheet_is_blind_and_goes_on(here, monkeypatch, capsys):
    def label(*more: str):
        return call(monkeypatch, capsys, "label", "rows.csv", *more)

    assert label("--n", "30").code == 0
    sheet = pd.read_csv("labels.csv")
    assert [*sheet] == ["item", "output", "rating", "draw_probability"]
    assert sheet["draw_probability"].unique().tolist() == [0.15]
    assert sheet["output"].str.startswith("'=").all()  # no formula
    rows = pd.read_csv("rows.csv")
    filled("labels.csv", rows, 12)
    assert "12 rated, 18 to go" in label("--n", "30").out
    assert "12 rated, 38 to go" in label("--n", "50").out
    larger = pd.read_csv("labels.csv")
    assert {*sheet["item"]} < {*larger["item"]}
    refused = label("--n", "50", "--seed", "9")
    assert refused.code == 2
    assert "answers of rows" in refused.err
    assert "12 rated, 38 to go" in label("--n", "50").out


def test_answers_come_back_where_names_do_not_tell(here, monkeypatch, capsys):
    rows = pd.read_csv("rows.csv")
    names = {"input_id": "place", "system_id": "bot", "output": "reply"}
    rows.rename(columns=names).drop(columns="quality").to_csv("own.csv", index=False)

    def told(*words: str) -> str:
        got = call(monkeypatch, capsys, *words)
        assert got.code == 0, got.err
        return got.out

    told("label", "own.csv", "--n", "60", "--by", "bot")
    filled("labels.csv", rows)
    sheet = ("own.csv", "--sheet", "labels.csv")
    assert "60 of them rated" in (said := told("doctor", *sheet))
    assert "output=reply" in said.partition("\nnext ")[2]
    assert "mean ratings" in told("estimate", *sheet, "--score", "judge")


def test_answers_come_back_to_their_rows(here, monkeypatch, capsys):
    rows = pd.read_csv("rows.csv")
    for name in ("anna.csv", "ben.csv"):
        call(monkeypatch, capsys, "label", "rows.csv", "-o", name, "--n", "60")
        filled(name, rows)
    read = label_sheets.joined(chosen_rows("rows.csv"), ["anna.csv", "ben.csv"])
    frame = read.frame
    rated = frame["human"].notna().to_numpy()
    assert rated.sum() == 60
    assert np.allclose(frame["human"][rated], rows["quality"][rated], atol=0.01)
    assert frame["rater_2"].notna().sum() == 60
    words = ["estimate", "rows.csv", "--sheet", "anna.csv", "--score", "judge"]
    got = call(monkeypatch, capsys, *words, "--format", "csv")
    assert got.code == 0
    assert "labels" in got.out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda sheet: sheet.assign(item=["0"] * len(sheet)), "an item twice"),
        (lambda sheet: sheet.replace({"item": {sheet["item"][0]: "x"}}), "not in rows"),
        (lambda sheet: sheet.drop(columns="rating"), "no sheet of nlgeval label"),
    ],
)
def test_a_sheet_of_other_rows_is_refused(change, words, here, monkeypatch, capsys):
    call(monkeypatch, capsys, "label", "rows.csv", "--n", "20")
    change(pd.read_csv("labels.csv")).to_csv("labels.csv", index=False)
    call_words = ["estimate", "rows.csv", "--sheet", "labels.csv", "--score", "judge"]
    got = call(monkeypatch, capsys, *call_words)
    assert got.code == 2
    assert words in got.err


def test_sheets_that_were_drawn_apart_are_refused(here, monkeypatch, capsys):
    for name, seed in (("a.csv", "0"), ("b.csv", "1")):
        more = ["-o", name, "--n", "20", "--seed", seed]
        call(monkeypatch, capsys, "label", "rows.csv", *more)
        filled(name, pd.read_csv("rows.csv"))
    words = ["--sheet", "a.csv", "--sheet", "b.csv", "--score", "judge"]
    got = call(monkeypatch, capsys, "estimate", "rows.csv", *words)
    assert got.code == 2
    assert "drawn apart" in got.err


def test_strata_have_as_many_rows_and_their_chance(here, monkeypatch, capsys):
    rows = pd.read_csv("rows.csv")
    rows = rows[(rows["system_id"] != "d") | (rows["input_id"] < 10)]
    rows.to_csv("rows.csv", index=False)
    call(monkeypatch, capsys, "label", "rows.csv", "--n", "40", "--by", "system_id")
    sheet = pd.read_csv("labels.csv")
    assert sorted(sheet["draw_probability"]) == [0.2] * 30 + [1.0] * 10
    filled("labels.csv", rows)
    scored = ["--sheet", "labels.csv", "--score", "judge"]
    assert call(monkeypatch, capsys, "doctor", "rows.csv", *scored).code == 0
    got = call(monkeypatch, capsys, "meta", "rows.csv", *scored)
    assert "not weighed by these chances" in got.err
    assert call(monkeypatch, capsys, "card", "--scores", "rows.csv", *scored).code == 0
    assert "not weighed by these chances" in (here / "card" / "card.md").read_text()


def test_the_chance_of_the_draw_takes_out_what_strata_put_in():
    """Outputs with a high score are drawn four times as often; their mean is not that
    of all, and the estimate is.
    """
    rng = np.random.default_rng(11)
    quality = rng.normal(0, 1, 400)
    judge = quality + rng.normal(0, 1, 400)
    chances = np.where(judge > 0, 0.4, 0.1)
    taken = {"with": [], "without": []}
    covered = 0
    for _ in range(300):
        human = np.where(rng.random(400) < chances, quality, np.nan)
        [weighted] = estimate(judge, human, chances=chances).means
        [plain] = estimate(judge, human).means
        taken["with"].append(weighted.value)
        taken["without"].append(plain.labels_alone)
        covered += weighted.interval.low <= quality.mean() <= weighted.interval.high
    truth = quality.mean()
    error = np.std(taken["with"]) / np.sqrt(300)
    assert abs(np.mean(taken["with"]) - truth) < 4 * error
    assert np.mean(taken["without"]) - truth > 0.2
    assert covered / 300 > 0.9


def test_equal_chances_change_nothing():
    rng = np.random.default_rng(1)
    judge = rng.normal(size=(2, 40))
    human = np.where(rng.random((2, 40)) < 0.5, judge + 1, np.nan)
    [first, _] = estimate(judge, human).means
    [second, _] = estimate(judge, human, chances=np.full((2, 40), 0.5)).means
    assert first.value == pytest.approx(second.value, abs=1e-12)
    assert first.interval.low == pytest.approx(second.interval.low, abs=1e-12)


def test_a_label_without_a_chance_is_refused():
    with pytest.raises(ValueError, match="chances"):
        estimate(np.arange(5.0), np.arange(5.0), chances=np.full(5, np.nan))
