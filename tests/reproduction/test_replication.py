"""Claims asked again of another judge: differences, intervals and verdicts, made again
by other code; and the saved scores that they come from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from public_data import needs
from scipy import stats

from nlgeval_lib import files
from nlgeval_lib.engines.store import Store
from notebooks.meta import replicated_arms
from reproduction.report import shared_run
from reproduction.study import (
    catalogue,
    judge_scores,
    questions,
    replication,
    saved_judges,
)

SMALL = "smollm2-135m-instruct"
SMALL_LABEL = "SmolLM2-135M"
JUDGE = "qwen2.5-coder-1.5b-instruct"
COMPARISONS = files.located("results/meta/meta_replication__comparisons.csv")
OUTPUT = ["input_id", "system_id"]


def saved_frame(judge: str, human: pd.DataFrame, aspect: str) -> pd.DataFrame:
    """Inputs, ratings and one judge's scores, straight from the parquet file."""
    path = files.located(f"data/judged/{JUDGE}.parquet")
    rows = pd.read_parquet(path)
    rows = rows[(rows["judge"] == judge) & (rows["aspect"] == aspect)]
    return human.merge(rows[[*OUTPUT, "value"]], on=OUTPUT)


def ratings(data: str, aspect: str) -> pd.DataFrame:
    """Outputs with the ratings of one aspect."""
    from nlgeval_lib import datasets

    frame = datasets.load(data)
    frame = frame[frame["aspect"] == aspect]
    if data == "topical_chat":
        frame = frame[frame["system_id"] != "Original Ground Truth"]
    return frame[[*OUTPUT, "human"]]


def by_hand(first: pd.DataFrame, second: pd.DataFrame) -> tuple[float, float, float]:
    """Difference of two Spearman coefficients and its 95 % interval over inputs:
    leave-one-input-out by scipy alone."""
    both = first.merge(second, on=[*OUTPUT, "human"])
    both = both.dropna()

    def difference(rows: pd.DataFrame) -> float:
        one = stats.spearmanr(rows["value_x"], rows["human"]).statistic
        other = stats.spearmanr(rows["value_y"], rows["human"]).statistic
        return one - other

    whole = difference(both)
    left_out = []
    for name in both["input_id"].unique():
        left_out.append(difference(both[both["input_id"] != name]))
    n = len(left_out)
    variance = (n - 1) / n * np.sum((left_out - np.mean(left_out)) ** 2)
    width = stats.t.ppf(0.975, n - 1) * np.sqrt(variance)
    return whole, whole - width, whole + width


# claim, what it says, data set, aspect, the judges of the first and the second arm
AGAIN = [
    (
        "a chain of 10 aspects above asking directly",
        "topical_chat",
        "overall",
        "coascore/topical_chat/gpt-3.5-turbo/n=10",
        "llmscore/topical_chat/gpt-3.5-turbo",
    ),
    (
        "a chain of 10 aspects above asking directly, understandability",
        "topical_chat",
        "understandability",
        "coascore/topical_chat/gpt-3.5-turbo/n=10",
        "llmscore/topical_chat/gpt-3.5-turbo",
    ),
    (
        "asking again above averaging the aspects' scores, 5 aspects",
        "openmeva",
        "overall",
        "coascore/openmeva/gpt-3.5-turbo/n=5",
        "coascore/openmeva/gpt-3.5-turbo/n=5/average",
    ),
]


@pytest.mark.parametrize(("says", "data", "aspect", "first", "second"), AGAIN)
def test_rows_of_the_page_come_out_by_other_code(
    says: str, data: str, aspect: str, first: str, second: str
) -> None:
    printed = pd.read_csv(COMPARISONS)
    [row] = printed[printed["says"] == says].to_dict("records")
    human = ratings(data, aspect)
    again = by_hand(
        saved_frame(first, human, aspect), saved_frame(second, human, aspect)
    )
    shown = (row["difference"], row["ci_low"], row["ci_high"])
    np.testing.assert_allclose(again, shown, atol=1e-6)


def test_the_page_asks_at_least_25_claims_of_the_list() -> None:
    asked = pd.read_csv(files.data() / "replications.csv")
    claims = pd.read_csv(files.data() / "paper_claims.csv")
    assert asked["claim"].nunique() >= 25
    assert set(asked["claim"]) <= set(claims["id"])


@pytest.mark.parametrize(
    ("difference", "low", "high", "verdict"),
    [
        (0.2, 0.1, 0.3, replication.TOLD_APART),
        (0.02, -0.049, 0.09, replication.SAME),
        (0.02, -0.051, 0.09, replication.CANNOT_TELL),
        (-0.02, -0.09, 0.049, replication.OPPOSITE),
        (-0.02, -0.09, 0.051, replication.CANNOT_TELL),
        (-0.2, -0.3, -0.1, replication.OPPOSITE_TOLD_APART),
        (0.0, -0.01, 0.01, replication.CANNOT_TELL),
        (np.nan, np.nan, np.nan, replication.CANNOT_TELL),
        (0.2, np.nan, np.nan, replication.CANNOT_TELL),
    ],
)
def test_verdicts(difference: float, low: float, high: float, verdict: str) -> None:
    assert replication.verdict(difference, low, high) == verdict


def test_an_arm_without_scores_gives_its_reason() -> None:
    arms = replicated_arms.arms("coascore_figure_02", JUDGE)
    result = replication.compare(arms, "full n=20", "LLMScore", ["overall"])
    assert np.isnan(result.difference)
    assert result.verdict == replication.CANNOT_TELL
    assert "full n=20" in result.reason
    missing = replication.compare(arms, "no such arm", "LLMScore", ["overall"])
    assert "no such arm" in missing.reason


def test_a_mean_over_aspects_is_the_mean_of_the_differences() -> None:
    arms = replicated_arms.arms("coascore_table_05", JUDGE)
    aspects = ["naturalness", "coherence"]
    single = []
    for aspect in aspects:
        single.append(replication.compare(arms, "n=10", "LLMScore", [aspect]))
    both = replication.compare(arms, "n=10", "LLMScore", aspects)
    assert both.difference == pytest.approx(np.mean([one.difference for one in single]))
    assert both.low < both.difference < both.high


# -- saved scores


def test_saved_scores_need_no_texts_and_name_who_answered() -> None:
    answers = judge_scores("coascore_table_06", "full n=5", engine="saved", model=JUDGE)
    assert answers.available and not answers.papers_own
    assert answers.route == "run"
    assert "judged-by:qwen2.5-coder-1.5b-instruct@sha256:cc324af070c2ecbf" in (
        answers.signature
    )
    assert "99aa0e43577f4cef" not in answers.signature
    assert len(answers.frame) == 1000


def test_what_was_not_asked_and_unknown_models_are_told() -> None:
    answers = judge_scores("hdeval_table_01", "summeval", engine="saved", model=JUDGE)
    assert not answers.available and "hdeval/summeval" in answers.why
    with pytest.raises(ValueError, match="there are those of"):
        judge_scores("hdeval_table_01", "summeval", engine="saved", model="qwen")


def test_a_judge_that_was_asked_a_part_counts_there_alone() -> None:
    """SmolLM2 was asked directly for overall quality, and for nothing else."""
    arms = replicated_arms.arms("coascore_table_06", SMALL)
    assert not arms.scores and "SmolLM2" in arms.why["full n=5"]
    arms = replicated_arms.arms("coascore_figure_02", SMALL)
    assert arms.asked("LLMScore") and not arms.asked("LLMScore", "full n=5")
    unasked = replication.compare(arms, "LLMScore", "LLMScore", ["coherence"])
    assert np.isnan(unasked.difference) and "coherence" in unasked.reason
    compared = pd.read_csv(COMPARISONS)
    assert SMALL_LABEL not in set(compared["judge"])


def test_quick_mode_takes_the_first_inputs() -> None:
    answers = judge_scores(
        "coascore_figure_02", "LLMScore", engine="saved", model=JUDGE, mode="quick"
    )
    assert answers.frame["input_id"].nunique() == 20


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store of completions that has the committed ones of the judge."""
    place = tmp_path_factory.mktemp("completions")
    with Store(place) as completions:
        path = files.located(f"data/completions/{JUDGE}.zip")
        shared_run.take_in(path, completions)
    return place


@pytest.mark.parametrize(
    ("output", "name"),
    [
        ("coascore_figure_02", "full n=10"),
        ("ablation_reference_and_rubric", "rubric only"),
    ],
)
def test_saved_scores_are_what_the_completions_say(
    output: str, name: str, store
) -> None:
    """The committed completions, read again by today's parsers."""
    needs(catalogue.load().question(output, name).judge.data)
    assert questions.has_model(store, JUDGE)
    again = judge_scores(output, name, model=JUDGE, store=store)
    saved = judge_scores(output, name, engine="saved", model=JUDGE)
    assert again.available, again.why
    columns = [*saved_judges.KEYS, "value", "status"]
    pd.testing.assert_frame_equal(
        saved.frame[columns], again.frame[columns], check_dtype=False
    )
