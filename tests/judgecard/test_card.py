"""The judge card: its numbers are those of `statistics`, its verdict names what was planted,
and nothing of a judge or of data runs.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import judgecard as card
from judgecard import cells, conditions, judged, measure, verdict
from judgecard.estimates import estimate
from nlgeval_lib import datasets, statistics
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.evaluators import Preference, PromptedJudge
from nlgeval_lib.scoring.cells import InputError
from tools import planted

PRAISE = (verdict.PRAISES, verdict.THESE)


@pytest.fixture(scope="module")
def demo() -> card.Card:
    return card.demo()


@pytest.fixture(scope="module")
def drawn() -> pd.DataFrame:
    return planted.rated()


def asked(script: planted.Script, frame: pd.DataFrame, **options: Any) -> card.Card:
    judge = PromptedJudge(planted.PROMPT)
    engine = ScriptedEngine(script)
    return card.make_card(judge, [frame], engine=engine, **options)


def rules_of(made: card.Card) -> set[str]:
    """The rules that hold, but for praise."""
    listed = made.numbers["verdict"]["findings"]
    return {row["rule"] for row in listed if row["kind"] not in PRAISE}


def wide(rows: pd.DataFrame, column: str) -> np.ndarray:
    """A column as `X[system, input]`, in order of first appearance."""
    table = rows.pivot(index="system_id", columns="input_id", values=column)
    return table.loc[rows["system_id"].unique(), rows["input_id"].unique()].to_numpy()


# -- the numbers


@pytest.mark.parametrize("aspect", ["coherence", "fluency"])
@pytest.mark.parametrize("level", statistics.LEVELS)
def test_each_coefficient_is_that_of_meta(
    demo: card.Card, aspect: str, level: str
) -> None:
    rows = demo.judged[0].frame
    rows = rows[rows["aspect"] == aspect]
    sides = [wide(rows, "value"), wide(rows, "human")]
    for name, coef in measure.COEFS.items():
        expected = statistics.correlate(*sides, coef, level, ci="auto")
        these = expected.these_systems
        cell = demo.numbers["sets"]["summeval"]["aspects"][aspect][level][name]
        got = [cell["value"], cell["low"], cell["high"]]
        assert got == pytest.approx([expected.value, expected.low, expected.high])
        got = [cell["low_these"], cell["high_these"]]
        assert got == pytest.approx([these.low, these.high])


def test_rater_numbers_are_those_of_meta(demo: card.Card) -> None:
    rows = demo.judged[0].frame
    rows = rows[rows["aspect"] == "relevance"]
    ratings = rows[[f"rater_expert_{place}" for place in range(3)]].to_numpy().T
    expected = statistics.alt_test(rows["value"].to_numpy(), ratings, epsilon=0.2)
    part = demo.numbers["sets"]["summeval"]["aspects"]["relevance"]
    test = part["raters"]["alt_test"]["judge"]
    assert test["advantage"] == pytest.approx(expected.advantage)
    assert test["passed"] == expected.passed
    gap = rows["value"] - rows["human"]
    assert part["closeness"]["leniency"]["value"] == pytest.approx(gap.mean())


def test_worth_in_labels_is_that_of_meta(demo: card.Card) -> None:
    rows = demo.judged[0].frame.query("aspect == 'coherence'")
    numbers = demo.numbers["sets"]["summeval"]["aspects"]["coherence"]["worth"]
    judge = wide(rows, "value")
    human = wide(rows, "human").copy()
    hidden = np.random.default_rng(0).permutation(human.shape[1])[30:]
    human[:, hidden] = np.nan
    estimates = estimate(judge, human)
    assert numbers["labels"] == pytest.approx(estimates.worth_differences)
    planned = estimates.labels_needed(numbers["width"], of="differences")
    assert numbers["inputs_needed_alone"] == planned.alone
    # no number of labels gives so narrow an interval: the card has none
    assert np.isnan(planned.labels) and numbers["inputs_needed"] is None
    assert numbers["signature"] == estimates.signature()


@pytest.mark.parametrize("aspect", ["coherence", "fluency"])
def test_confusion_calibration_and_strata_are_those_of_the_rows(
    demo: card.Card, aspect: str
) -> None:
    rows = demo.judged[0].frame.query("aspect == @aspect")
    numbers = demo.numbers["sets"]["summeval"]["aspects"][aspect]
    closeness = numbers["closeness"]
    table = closeness["confusion"]
    counts = pd.DataFrame(table["counts"], table["judge"], table["human"])
    for judge_score, human_score in [(5, 5), (4, 5), (3, 4)]:
        both = rows["value"].round().eq(judge_score)
        both &= rows["human"].round().eq(human_score)
        if judge_score in counts.index and human_score in counts.columns:
            assert counts.loc[judge_score, human_score] == both.sum()
    assert counts.to_numpy().sum() == len(rows)
    for cell in closeness["calibration"]:
        ratings = rows["human"][rows["value"].round() == cell["score"]]
        assert cell["human"]["value"] == pytest.approx(ratings.mean())
    edges = np.quantile(rows["human"], [0, 1 / 3, 2 / 3, 1])
    thirds = numbers["strata"]["rating"]
    if isinstance(thirds, list) and len(set(edges)) == 4:
        lowest = rows[rows["human"] < edges[1]]
        expected = statistics.correlate(
            lowest["value"].to_numpy(), lowest["human"].to_numpy(), "kendall-b"
        )
        assert thirds[0]["kendall"]["value"] == pytest.approx(expected.value)


def test_the_judges_beside_it_are_ranked_by_meta(demo: card.Card) -> None:
    rows = demo.judged[0].frame.query("aspect == 'coherence'")
    human = wide(rows, "human")
    listed = demo.numbers["sets"]["summeval"]["aspects"]["coherence"]["beside"]
    own = next(row for row in listed if row["name"] == "this judge")
    other = next(row for row in listed if row["name"] == "gemini_flash")
    places = rows.index.to_numpy()
    scores = demo.judged[0].other_judges["gemini_flash"][places]
    beside = wide(rows.assign(other=scores), "other")
    value = statistics.correlate(beside, human, "kendall-b", "dataset").value
    assert other["kendall"]["value"] == pytest.approx(value)
    gap = statistics.compare(wide(rows, "value"), beside, human, coef="kendall-b")
    assert other["judge_minus_it"] == pytest.approx(gap.difference)
    assert own["kendall"]["value"] - value == pytest.approx(gap.difference)


def test_mean_interval_is_that_of_scipy() -> None:
    from scipy import stats

    values = np.array([0.1, 0.4, -0.2, 0.3, 0.2])
    cell = cells.mean_interval(values)
    expected = stats.ttest_1samp(values, 0).confidence_interval()
    assert [cell["low"], cell["high"]] == pytest.approx([expected.low, expected.high])


def test_the_sample_is_the_same_for_all_and_keeps_whole_inputs() -> None:
    whole = judged.rated("summeval")
    first = judged.sampled(whole, 160, seed=3).frame
    second = judged.sampled(judged.rated("summeval"), 160, seed=3).frame
    assert first["input_id"].tolist() == second["input_id"].tolist()
    assert first.groupby("input_id").size().tolist() == [64] * 10
    other = judged.sampled(whole, 160, seed=4).frame
    assert {*other["input_id"]} != {*first["input_id"]}


def test_one_aspect_of_a_set() -> None:
    whole = judged.rated("summeval")
    fluency = judged.of_aspect(whole, "fluency").frame
    assert fluency["aspect"].unique().tolist() == ["fluency"]
    expected = whole.frame.groupby("aspect")["human"].sum()["fluency"]
    assert fluency["human"].sum() == pytest.approx(expected, abs=1e-9)
    with pytest.raises(ValueError, match="aspect of summeval 'fluenci'; nearest: flu"):
        judged.of_aspect(whole, "fluenci")


# -- the verdict


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("length", "length"),
        ("constant", "constant"),
        ("obedient", "obeys"),
        ("turned", "reversed"),
        ("fickle", "changes its mind"),
    ],
)
def test_a_planted_fault_is_named(drawn: pd.DataFrame, name: str, rule: str) -> None:
    scripts = {
        "length": planted.length,
        "constant": planted.constant,
        "obedient": planted.obedient(drawn),
        "turned": planted.turned(drawn),
        "fickle": planted.fickle(drawn),
    }
    made = asked(scripts[name], drawn, repeat=2, probes=True)
    assert rule in rules_of(made)
    assert "do not use it" in made.verdict
    assert "agrees with people" not in made.verdict


@pytest.mark.parametrize("sd", [0.25, 0.5, 1.0, 1.5])
def test_an_honest_judge_is_not_accused(drawn: pd.DataFrame, sd: float) -> None:
    made = asked(planted.honest(drawn, sd, seed=1), drawn, repeat=2, probes=True)
    assert rules_of(made) <= {"nearer than a constant"}
    assert "its order of systems by overall agrees with people's" in made.verdict


def test_every_rule_reads_numbers_that_a_card_has(demo: card.Card) -> None:
    [numbers] = demo.numbers["sets"].values()
    measured = numbers["aspects"]["coherence"]
    for rule in verdict.rules():
        for alternative in conditions.read_rule(rule["when"]):
            assert alternative
            for condition in alternative:
                # a card of every sort has these; others need probes, repeats or pairs
                if rule["of"] == "aspect" and condition.path.startswith("faults."):
                    condition.value(measured)


def test_a_judge_that_prefers_the_first_is_named(drawn: pd.DataFrame) -> None:
    pairs = planted.pairs(drawn)
    scripts = {"first": planted.first, "honest": planted.chooses(drawn, 0.5, 0)}
    holding = {}
    for name, script in scripts.items():
        judge = Preference(planted.PAIRS)
        made = card.make_card(judge, [pairs], engine=ScriptedEngine(script))
        holding[name] = rules_of(made)
    assert {"prefers first", "swap"} <= holding["first"]
    assert holding["honest"] == set()


def test_a_judge_of_single_outputs_has_a_card_of_pairs(drawn: pd.DataFrame) -> None:
    pairs = planted.pairs(drawn)
    engine = ScriptedEngine(planted.length)
    judge = PromptedJudge("Rate <<{output}>> from 1 to 5")
    made = card.make_card(judge, [pairs], engine=engine, items=60)
    numbers = made.numbers["sets"]["drawn_pairs"]
    assert numbers["pairs"] == 60
    assert "swap" not in numbers
    assert {"chance pairs", "not above longer"} & rules_of(made)


def test_a_judge_of_pairs_is_refused_a_set_of_single_outputs(
    drawn: pd.DataFrame,
) -> None:
    with pytest.raises(InputError, match="compares two outputs"):
        card.make_card(Preference(planted.PAIRS), [drawn], engine=ScriptedEngine(["A"]))


def test_pairs_are_measured_by_meta(tmp_path: Path) -> None:
    made = card.demo("llmbar")
    made.write(tmp_path)
    again = card.read(tmp_path)
    other = card.of_recorded("llmbar", "llmbar_judges", "ChatGPT", "Vanilla")
    [row] = card.compared(again, other).to_dict("records")
    accuracies = []
    for one in (made, other):
        accuracies.append(one.numbers["sets"]["llmbar"]["accuracy"]["value"])
    assert [row["first"], row["second"]] == pytest.approx(accuracies)
    assert row["verdict"] == "worse"
    numbers = made.numbers["sets"]["llmbar"]
    part = made.judged[0]
    rows = part.frame
    expected = statistics.pair_accuracy(
        part.verdicts(), rows["preference"], rows["input_id"]
    )
    got = [numbers["accuracy"][end] for end in ("value", "low", "high")]
    assert got == pytest.approx([expected.value, expected.low, expected.high])
    effect = statistics.order_effect(rows["given"], rows["swapped"], rows["input_id"])
    assert numbers["swap"]["value"] == pytest.approx(effect.value)
    shown_first = effect.first / (effect.first + effect.second)
    assert numbers["first"]["value"] == pytest.approx(shown_first, abs=0.01)


@pytest.mark.parametrize(
    ("dataset", "recording", "judge", "form", "aspects"),
    [
        ("mini_judge", "mini_judge", "miniature judge", "plain score", 5),
        ("topical_chat", "acloserlook", "gpt-3.5-turbo-0613", "analyze_rate", 4),
    ],
)
def test_recorded_judges_have_cards(
    dataset: str, recording: str, judge: str, form: str, aspects: int
) -> None:
    made = card.of_recorded(dataset, recording, judge, form)
    assert len(made.numbers["sets"][dataset]["aspects"]) == aspects
    table = made.table()
    assert table["path"].is_unique
    for row in table.head(20).itertuples():
        condition = conditions.Condition(row.path, ">=", row.value)
        assert condition.holds(made.numbers)


# -- conditions

ASPECT = {"dataset": {"kendall": {"low": 0.3}}}
NUMBERS = {
    "sets": {
        "s": {"aspects": {"a": ASPECT}},
        "news v1.2": {"aspects": {"data coverage": ASPECT}},
    }
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("s.a.kendall.low >= .3", True),
        ("s.a.kendall.low>.3", False),
        ("s.a.dataset.kendall.low < 1e0", True),
        ("sets.s.aspects.a.dataset.kendall.low != 0.3", False),
        ("news v1.2.data coverage.kendall.low >= .3", True),
        ("sets.news v1.2.aspects.data coverage.kendall.low>.3", False),
    ],
)
def test_a_condition(text: str, holds: bool) -> None:
    assert conditions.Condition.read(text).holds(NUMBERS) is holds


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('x') > 1",
        "s.a.kendall.low >= s.a.kendall.low",
        "s.a.kendall.low",
        "s.a.kendal.low > 0",
        "news v1.a.kendall.low > 0",
        "s.a.kendall > 0",
        "s.a.kendall.low.__class__ > 0",
        "",
    ],
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        conditions.Condition.read(text).holds(NUMBERS)


# -- pages and files


def test_nothing_of_data_or_judge_runs(drawn: pd.DataFrame, tmp_path: Path) -> None:
    bad = "<img src=x onerror=alert(1)>|`x`[a](http://b)"
    frame = drawn.assign(system_id=bad + drawn["system_id"], aspect=bad)
    frame.attrs = {"name": "drawn"}
    values = frame[["input_id", "system_id", "aspect", "human"]]
    made = card.of_scores(values, frame, column="human", title=bad)
    made.write(tmp_path)
    for name in ("card.html", "card.md", "judgments_drawn.html"):
        text = (tmp_path / name).read_text()
        assert not re.search("<img src=x", text), name
    page = (tmp_path / "card.html").read_text()
    assert "<script" not in page
    assert 'src="http' not in page


def test_a_card_is_written_read_and_compared(demo: card.Card, tmp_path: Path) -> None:
    written = {path.name for path in demo.write(tmp_path)}
    assert {"card.html", "card.md", "card.json", "scores.csv"} <= written
    again = card.read(tmp_path / "card.json")
    assert again.numbers == json.loads((tmp_path / "card.json").read_text())
    other = card.of_scores(
        demo.scores().assign(value=1.0 * demo.scores()["human"]), "summeval"
    )
    table = card.compared(again, other).set_index("aspect")
    assert (table["verdict"] == "better").all()
    rows = demo.judged[0].frame
    rows = rows[rows["aspect"] == "fluency"]
    sides = [wide(rows, "human"), wide(rows, "value")]
    expected = statistics.compare(*sides, sides[0], units="auto")
    assert table.at["fluency", "gain"] == pytest.approx(expected.difference)
    assert table.at["fluency", "p"] == pytest.approx(expected.p)


def test_what_is_no_card_is_refused(tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text('{"schema": "other/9"}')
    with pytest.raises(InputError, match="schema 'other/9'"):
        card.read(tmp_path)
    for text, message in (
        ("[]", "is no card"),
        ("[" * 100_000, "is no card"),
        (f'{{"schema": "{card.SCHEMA}"}}', "title is not there"),
    ):
        (tmp_path / "card.json").write_text(text)
        with pytest.raises(InputError, match=message):
            card.read(tmp_path)


def test_scores_beside_a_card_are_held_against_its_keys(
    demo: card.Card, tmp_path: Path
) -> None:
    demo.write(tmp_path)
    path = tmp_path / "scores.csv"
    text = path.read_text()
    assert len(card.read(tmp_path).scores()) == len(demo.scores())
    _, _, rows = text.partition("\n")
    for changed, message in (
        (text + rows, "a row twice"),
        (text.replace("human,value", "value,value", 1), "a column twice"),
        (text.replace("input_id", "id", 1), "no column 'input_id'"),
        ("", "cannot be read"),
    ):
        path.write_text(changed)
        with pytest.raises(InputError, match=message):
            card.read(tmp_path)


def test_scores_that_fit_nothing_are_refused(demo: card.Card) -> None:
    scores = demo.scores()
    with pytest.raises(InputError, match="no column 'mine'"):
        card.of_scores(scores, "summeval", "mine")
    with pytest.raises(InputError, match="no score has the keys"):
        card.of_scores(scores.assign(input_id="x" + scores["input_id"]), "summeval")
    with pytest.raises(InputError, match="several rows"):
        card.of_scores(pd.concat([scores, scores]), "summeval")


def test_rows_of_ones_own_without_ids_and_with_holes() -> None:
    rng = np.random.default_rng(0)
    human = rng.integers(1, 11, 80).astype(float)
    raters = {}
    for place in range(3):
        ratings = np.clip(human + rng.integers(-1, 2, 80), 1, 10)
        raters[f"rater_{place}"] = np.where(rng.random(80) < 0.2, np.nan, ratings)
    frame = pd.DataFrame({"output": [f"text {n}" for n in range(80)], **raters})
    engine = ScriptedEngine(lambda request, draw: str(1 + len(request.text()) % 10))
    judge = PromptedJudge("Rate {output} from 1 to 10.", low=1, high=10)
    made = card.make_card(judge, [frame], engine=engine)
    numbers = made.numbers["sets"]["own"]["aspects"]["overall"]
    assert "system" not in numbers
    assert numbers["raters"]["number"] == 3
    assert any("ranking systems" in line for line in made.numbers["cannot_tell"])


def test_known_sets_have_titles() -> None:
    assert judged.rated("mini").title == datasets.spec("mini").title
