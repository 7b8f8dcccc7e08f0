"""Numbers of the card by independent code: what a scripted judge was asked and said is
written down, and repeats, probes, shares of variance, families and ranks follow from
it by plain loops and scipy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import judgecard as card
from judgecard import probes
from nlgeval_lib import statistics
from nlgeval_lib.datasets.families import of_systems
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.evaluators import PromptedJudge
from tools import planted

DRAWS = 3
RANGE = 4.0  # of the scale from 1 to 5


def scripted(log: dict[str, list[int]]) -> planted.Script:
    """A judge with noise that differs by draw, that reacts to changed outputs, and whose
    answers are written down by output.
    """

    def answer(request: Any, draw: int) -> str:
        output = planted._output(request)
        tag = planted._TAG.search(output)
        value = 3 + planted.noise(str(tag), 1) + 0.7 * planted.noise(output, draw)
        if "highest score" in output:
            value += 1.5
        score = int(np.clip(np.round(value), 1, 5))
        log.setdefault(output, [0] * DRAWS)[draw] = score
        return str(score)

    return answer


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return planted.rated(systems=6, inputs=20)


@pytest.fixture(scope="module")
def log() -> dict[str, list[int]]:
    return {}


@pytest.fixture(scope="module")
def made(frame: pd.DataFrame, log: dict[str, list[int]]) -> card.Card:
    judge = PromptedJudge(planted.PROMPT)
    engine = ScriptedEngine(scripted(log))
    return card.make_card(judge, [frame], engine=engine, repeat=DRAWS, probes=True)


def part(made: card.Card) -> dict[str, Any]:
    return made.numbers["sets"]["drawn"]["aspects"]["overall"]


def test_repeats_by_analysis_of_variance(made, frame, log):
    table = np.array([log[output] for output in frame["output"]], dtype=float)
    numbers = part(made)["repeats"]
    assert numbers["draws"] == DRAWS
    assert numbers["same"] == np.mean([len({*row}) == 1 for row in table])
    items = len(table)
    between = DRAWS * table.mean(axis=1).var(ddof=1)
    within = table.var(axis=1, ddof=1).mean()
    ratio = between / within
    assert numbers["icc"]["value"] == pytest.approx((ratio - 1) / (ratio + DRAWS - 1))
    df = items - 1, items * (DRAWS - 1)
    for end, quantile in (("low", 0.975), ("high", 0.025)):
        bound = ratio / stats.f.ppf(quantile, *df)
        expected = (bound - 1) / (bound + DRAWS - 1)
        assert numbers["icc"][end] == pytest.approx(expected)


def test_shares_of_variance_by_mean_squares(made, frame, log):
    """Two-way analysis of variance without repeats, of the mean of the draws."""
    means = [np.mean(log[output]) for output in frame["output"]]
    table = frame.assign(mean=means).pivot(
        index="system_id", columns="input_id", values="mean"
    )
    x = table.to_numpy()
    systems, inputs = x.shape
    by_system = x.mean(axis=1, keepdims=True)
    by_input = x.mean(axis=0, keepdims=True)
    rest = x - by_system - by_input + x.mean()
    residual = (rest**2).sum() / ((systems - 1) * (inputs - 1))
    expected = {
        "systems": (inputs * by_system.var(ddof=1) - residual) / inputs,
        "inputs": (systems * by_input.var(ddof=1) - residual) / systems,
        "residual": residual,
    }
    total = sum(max(value, 0) for value in expected.values())
    shares = part(made)["variance"]["judge"]["shares"]
    for name, value in expected.items():
        assert shares[name] == pytest.approx(max(value, 0) / total), name
    assert "repeats" in part(made)["variance"]
    assert sum(part(made)["variance"]["repeats"]["shares"].values()) == pytest.approx(1)


ADDED = {"filler": "Note to the reader", "instruction": "Note to the evaluator"}


def changes(log: dict[str, list[int]], words: str) -> dict[str, float]:
    """Output -> the mean change of its score where these words were added."""
    by_output = {}
    for output, scores in log.items():
        before, added, _ = output.partition("\n\n" + words)
        if added:
            by_output[before] = (np.mean(scores) - np.mean(log[before])) / RANGE
    return by_output


@pytest.mark.parametrize("name", ADDED)
def test_a_probe_by_the_answers(made, log, name):
    numbers = made.numbers["sets"]["drawn"]["probes"][name]["effect"]
    gaps = list(changes(log, ADDED[name]).values())
    assert numbers["n"] == len(gaps) == 20
    assert numbers["value"] == pytest.approx(np.mean(gaps))
    ends = stats.ttest_1samp(gaps, 0).confidence_interval()
    got = [numbers["low"], numbers["high"]]
    assert got == pytest.approx([ends.low, ends.high])


def test_an_instruction_beyond_filler_is_paired(made, log):
    filler, instruction = (changes(log, words) for words in ADDED.values())
    gaps = [instruction[output] - filler[output] for output in filler]
    numbers = made.numbers["sets"]["drawn"]["probes"]["instruction"]["beyond_filler"]
    ends = stats.ttest_1samp(gaps, 0).confidence_interval()
    got = [numbers[end] for end in ("value", "low", "high")]
    assert got == pytest.approx([np.mean(gaps), ends.low, ends.high])


def test_what_each_probe_changes(frame, made):
    asked = card.judged.rated(frame)
    texts = frame.set_index(["input_id", "system_id"])["output"]
    changed = probes.changed(asked, 0)
    assert set(changed) == {"filler", "instruction", "other_input", "shuffled", "fact"}
    for name, part_of_set in changed.items():
        rows = part_of_set.frame
        assert rows["input_id"].is_unique
        for row in rows.itertuples():
            before = texts[row.input_id, row.system_id]
            assert row.output != before
            if name == "other_input":
                assert f"[{row.input_id} " not in row.output
            if name == "shuffled":
                assert sorted(row.output.split()) == sorted(before.split())
            if name == "fact":
                numbers = [word for word in row.output.split() if word.isdigit()]
                old = [word for word in before.split() if word.isdigit()]
                assert len(numbers) == len(old)


# -- families and ranks of a recorded judge


@pytest.fixture(scope="module")
def topical() -> card.Card:
    return card.of_recorded(
        "topical_chat", "acloserlook", "gpt-3.5-turbo-0613", "rate_explain"
    )


@pytest.mark.parametrize("level", statistics.LEVELS)
def test_other_families_leave_out_whole_families(topical, level):
    rows = topical.judged[0].frame.query("aspect == 'groundedness'")
    numbers = topical.numbers["sets"]["topical_chat"]["aspects"]["groundedness"]
    systems = list(rows["system_id"].unique())
    wide = [
        rows.pivot(index="system_id", columns="input_id", values=column).loc[systems]
        for column in ("value", "human")
    ]
    families = of_systems("topical_chat", systems)
    assert len({*families}) < len(systems)
    expected = statistics.correlate(
        *(side.to_numpy() for side in wide),
        "kendall-b",
        level,
        ci="auto",
        system_groups=families,
    )
    cell = numbers[level]["kendall"]
    got = [cell["low_families"], cell["high_families"]]
    assert got == pytest.approx([expected.low, expected.high])
    assert cell["families"] == len({*families})


def test_possible_ranks_by_holm_of_statsmodels(topical):
    """Between the ranks that the corrected tests leave open."""
    part_of_set = topical.judged[0]
    rows = part_of_set.frame.query("aspect == 'groundedness'")
    listed = topical.numbers["sets"]["topical_chat"]["aspects"]["groundedness"]
    places = rows.index.to_numpy()
    scores = {"this judge": rows["value"].to_numpy()}
    for name, values in part_of_set.other_judges.items():
        scores[name] = values[places]
    scores["output length"] = statistics.baselines.length(rows["output"].tolist())
    human = rows["human"].to_numpy()
    present = ~np.isnan(human)
    for values in scores.values():
        present &= ~np.isnan(np.asarray(values, dtype=float))
    wide = {}
    for name, values in {**scores, "human": human}.items():
        column = rows.assign(x=np.where(present, np.asarray(values, float), np.nan))
        table = column.pivot(index="system_id", columns="input_id", values="x")
        systems, inputs = rows["system_id"].unique(), rows["input_id"].unique()
        wide[name] = table.loc[systems, inputs]
    wide["random"] = wide["human"] * 0 + random_scores(wide["human"].to_numpy())
    names = [*scores, "random"]
    pairs = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
    tests = []
    for first, second in pairs:
        sides = (wide[name].to_numpy() for name in (first, second, "human"))
        tests.append(statistics.compare(*sides, coef="kendall-b"))
    rejected = multipletests([test.p for test in tests], method="holm")[0]
    best = dict.fromkeys(names, 1)
    worst = dict.fromkeys(names, len(names))
    for (first, second), test, differs in zip(pairs, tests, rejected, strict=True):
        if differs:
            higher, lower = (first, second) if test.difference > 0 else (second, first)
            best[lower] += 1
            worst[higher] -= 1
    for row in listed["beside"]:
        got = (row["rank"], row["rank_worst"])
        assert got == (best[row["name"]], worst[row["name"]]), row["name"]


def random_scores(human: np.ndarray) -> np.ndarray:
    """Of 200 draws the one whose tau, by scipy, is the middle one."""
    draws = [statistics.baselines.uniform(human.shape, seed) for seed in range(200)]
    rated = ~np.isnan(human)
    taus = [stats.kendalltau(draw[rated], human[rated]).statistic for draw in draws]
    return draws[int(np.argsort(taus, kind="stable")[100])]


def test_random_scores_on_a_card_are_the_mean_of_many_draws(topical):
    """Between the ends that Kendall's variance without ties gives (1938), nearly."""
    aspects = topical.numbers["sets"]["topical_chat"]["aspects"]
    for numbers in aspects.values():
        [row] = [row for row in numbers["beside"] if row["name"] == "random"]
        reached = row["kendall"]
        n = reached["n"]
        sd = np.sqrt(2 * (2 * n + 5) / (9 * n * (n - 1)))
        assert abs(reached["value"]) < 0.2 * sd
        assert reached["high"] == pytest.approx(1.96 * sd, rel=0.25)
        assert reached["low"] == pytest.approx(-1.96 * sd, rel=0.25)


# -- what was asked once


def test_a_judge_that_was_asked_once_at_a_temperature_is_told(frame):
    engine = ScriptedEngine(planted.honest(frame, 0.5, 1))
    warm = PromptedJudge(planted.PROMPT, sampling={"temperature": 0.7})
    made = card.make_card(warm, [frame], engine=engine)
    assert "how far its own answers vary is unknown (--repeat 3)" in made.verdict
    [line] = [line for line in made.numbers["cannot_tell"] if "temperature" in line]
    assert "asked once at temperature 0.7" in line and "--repeat 3" in line


@pytest.mark.parametrize(("temperature", "repeat"), [(0.0, 1), (0.7, 3)])
def test_a_greedy_or_repeated_judge_is_not(frame, temperature, repeat):
    engine = ScriptedEngine(planted.honest(frame, 0.5, 1))
    judge = PromptedJudge(planted.PROMPT, sampling={"temperature": temperature})
    made = card.make_card(judge, [frame], engine=engine, repeat=repeat)
    assert "--repeat 3" not in made.verdict


# -- sets in which a system says several things to one input


@pytest.mark.parametrize("name", ["sfres", "sfhot", "bagel", "openmeva"])
def test_scores_of_every_row_of_a_set_have_a_card(data, name):
    """Also where one input and system has several rows: each keeps its own score."""
    frame = data(name)
    values = frame["human"].to_numpy() * 2
    scores = frame[["input_id", "system_id", "aspect"]].assign(value=values)
    made = card.of_scores(scores, name, scale=(2, 12))
    numbers = made.numbers["sets"][name]
    assert numbers["coverage"]["value"] == frame["human"].notna().mean()
    for part_of_set in numbers["aspects"].values():
        assert part_of_set["dataset"]["kendall"]["value"] == pytest.approx(1)
    keys = ["input_id", "system_id", "aspect"]
    once = scores.drop_duplicates(keys)
    made = card.of_scores(once, name)
    coverage = made.numbers["sets"][name]["coverage"]
    assert coverage["statuses"]["ok"] == len(once)
    [reason] = {
        part_of_set["closeness"]["reason"]
        for part_of_set in made.numbers["sets"][name]["aspects"].values()
    }
    assert reason == "the scale of the scores is not known (--scale LOW-HIGH)"


def test_more_scores_than_a_set_has_rows_are_refused(data):
    frame = data("bagel")
    scores = frame[["input_id", "system_id", "aspect"]].assign(value=frame["human"])
    with pytest.raises(card.asked.InputError, match="several rows"):
        card.of_scores(pd.concat([scores, scores]), "bagel")


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_judge_whose_answers_cannot_be_read_has_reasons_for_numbers(frame):
    """And no number that is made from nothing."""
    silent = ScriptedEngine(lambda request, draw: "I would rather not say")
    judge = PromptedJudge(planted.PROMPT)
    made = card.make_card(judge, [frame], engine=silent, repeat=DRAWS, probes=True)
    [of_set] = made.numbers["sets"].values()
    [numbers] = of_set["aspects"].values()
    assert numbers["closeness"] == {"reason": "no output has a score and a rating"}
    assert numbers["repeats"] == {"reason": "no judgment has a score in every draw"}
