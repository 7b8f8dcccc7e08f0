"""The parsers on real text: recorded judge outputs, published decoders, recorded
scores.
"""

from __future__ import annotations

import re
from statistics import fmean

import numpy as np
import public_data
import pytest
from scipy import stats

from judgecard import recordings
from nlgeval_lib import datasets, parsers, statistics
from nlgeval_lib.parsers import naive
from nlgeval_lib.scoring import correlations

SCALES = {
    "naturalness": (1, 3),
    "coherence": (1, 3),
    "engagingness": (1, 3),
    "groundedness": (0, 1),
}


def recorded(name: str, **options):
    public_data.needs(name)
    return recordings.load(name, **options)


def test_golden_replay_of_a_closer_look():
    """The library's way from texts to correlations is that of the recipe written out
    in plain loops.
    """
    public_data.needs("topical_chat")
    scores = datasets.load("topical_chat")
    items = datasets.items(scores)
    place = {
        key: k
        for k, key in enumerate(zip(items["input_id"], items["system_id"], strict=True))
    }
    for form in ("geval", "analyze_rate"):
        texts = recorded("acloserlook", prompt_forms=(form,))
        read = {
            text: naive.authors_acloserlook(text).value
            for text in texts["text"].unique()
        }
        for aspect, part in texts.groupby("aspect"):
            judged = np.full((20, len(items)), np.nan)
            plain: dict[tuple[str, str], list[int]] = {}
            for source, system, draw, text in part[
                ["input_id", "system_id", "draw", "text"]
            ].itertuples(index=False):
                judged[draw, place[source, system]] = read[text]
                digit = re.search("[0-9]", text.lower().split("rating:")[-1])
                plain.setdefault((source, system), []).extend(
                    [int(digit.group())] if digit else []
                )
            means = {"judge": statistics.mean_of_samples(judged).scores}
            ours = [
                correlations.table(
                    items,
                    means,
                    {aspect: f"human_{aspect}"},
                    coefs=[coef],
                    level=level,
                    ci=None,
                ).at[0, "value"]
                for coef, level in (("pearson", "dataset"), ("kendall-b", "input"))
            ]
            human = (
                scores[scores["aspect"] == aspect]
                .set_index(["input_id", "system_id"])["human"]
                .to_dict()
            )
            pairs = {
                key: (fmean(digits), human[key])
                for key, digits in plain.items()
                if digits
            }
            by_input: dict[str, list[tuple[float, float]]] = {}
            for (source, _), pair in pairs.items():
                by_input.setdefault(source, []).append(pair)
            taus = [
                stats.kendalltau(*zip(*found, strict=True)).statistic
                for found in by_input.values()
            ]
            oracle = [
                stats.pearsonr(*zip(*pairs.values(), strict=True)).statistic,
                np.nanmean(taus),
            ]
            assert ours == pytest.approx(oracle, abs=1e-9)


@pytest.mark.parametrize("form", ["rate_explain", "llm_eval_no_cot"])
def test_almost_every_text_of_a_closer_look_is_read(form):
    texts = recorded("acloserlook", prompt_forms=(form,))
    for aspect, (low, high) in SCALES.items():
        counts = texts.loc[texts["aspect"] == aspect, "text"].value_counts()
        reads = {text: parsers.rating(text, low, high) for text in counts.index}
        share = (
            sum(counts[text] for text, read in reads.items() if read.ok) / counts.sum()
        )
        assert share > 0.99
        # a text with exactly one number that is on the scale is never read as another
        # number
        for text, read in reads.items():
            numbers = naive._NUMBER.findall(text)
            if read.ok and len(numbers) == 1 and "%" not in text:
                assert read.value == float(numbers[0]), text


@pytest.mark.slow
def test_all_two_hundred_thousand_texts():
    texts = recorded("acloserlook")
    assert len(texts) == 200_000
    unread = 0
    for aspect, (low, high) in SCALES.items():
        counts = texts.loc[texts["aspect"] == aspect, "text"].value_counts()
        unread += sum(
            number
            for text, number in counts.items()
            if not parsers.rating(text, low, high).ok
        )
    assert unread < 500


def test_llm_summeval():
    """Almost all are read, and rightly where the published decoder takes another
    digit.
    """
    texts = recorded("llm_summeval")
    rated = texts[~texts["prompt_form"].str.contains("mcq")]
    reads = [parsers.rating(text, 1, 5).ok for text in rated["text"].unique()[::3]]
    assert sum(reads) / len(reads) > 0.999
    relevance = rated[
        (rated["judge"].str.contains("70b")) & (rated["aspect"] == "relevance")
    ]["text"]
    said = [
        text
        for text in relevance
        if "is a 4 out of 5 in" in text and text.count("out of") == 1
    ]
    assert len(said) > 20
    assert {parsers.rating(text, 1, 5).value for text in said} == {4.0}
    chosen = texts.loc[texts["prompt_form"].str.contains("mcq"), "text"].unique()
    assert all(
        parsers.multiple_choice(text, tuple("ABCDE")).choice == text.strip()
        for text in chosen
    )


def test_the_rule_decides_the_correlation():
    """Llama-2-70b's coherence: ours correlates more with experts than the published
    rule, and that than naive ones.
    """
    public_data.needs("summeval")
    texts = recorded("llm_summeval", judges=("llama-2-70b-chat-hf",))
    texts = texts[texts["aspect"] == "coherence"].set_index(["input_id", "system_id"])[
        "text"
    ]
    scores = datasets.load("summeval")
    human = scores[scores["aspect"] == "coherence"].set_index(
        ["input_id", "system_id"]
    )["human"]
    both = texts.to_frame().join(human, how="inner")
    assert len(both) == 1200

    def correlation(rule):
        return both["text"].map(lambda text: rule(text).value).corr(both["human"])

    ours = correlation(lambda text: parsers.rating(text, 1, 5))
    authors = correlation(naive.authors_llm_summeval)
    assert ours > 0.28
    assert ours > authors + 0.02
    assert (
        authors
        > max(correlation(naive.first_number), correlation(naive.last_number)) + 0.1
    )


def test_tigerscore_outputs():
    """All 502 outputs are read; the published decoder is met on every one; 88 of its
    totals are not the sum.
    """
    outputs = recorded("tigerscore_outputs")
    differs = disagree = 0
    for text, value, errors in zip(
        outputs["text"], outputs["value"], outputs["errors"], strict=True
    ):
        read = parsers.error_analysis(text)
        theirs = parsers.tigerscore_authors(text)
        assert read.ok
        assert theirs.ok == (not np.isnan(value))
        disagree += read.agrees is False
        if theirs.ok:
            assert theirs.value == value
            differs += read.value != value
            assert [error.severity for error in read.errors] == [
                error["severity"] for error in errors
            ]
            assert [error.location for error in read.errors] == [
                error["location"].strip() for error in errors
            ]
            assert [error.reduction for error in read.errors] == [
                float(error["score_reduction"]) for error in errors
            ]
    assert (differs, disagree) == (88, 21)


def test_gpt4_feedback_that_names_its_score():
    """Where a recorded feedback names a score, it is the recorded score; most name
    none.
    """
    feedbacks = recorded("prometheus_gpt4").dropna(subset=["text", "value"])
    reads = (
        feedbacks["text"].map(lambda text: parsers.rating(text, 1, 5).value).dropna()
    )
    assert len(reads) >= 15
    assert (reads == feedbacks["value"].reindex(reads.index)).all()


def test_a_prompt_repeated_is_no_verdict():
    """Prometheus' prompts hold a rubric, a reference with score 5 and a response
    full of numbers, but no verdict.
    """
    recorded("prometheus_gpt4")
    texts = recordings.prompts("prometheus_gpt4")["prompt"].unique()[::3]
    assert len(texts) > 200
    assert (
        sum(
            parsers.rating(text, 1, 5).ok or parsers.feedback(text).ok for text in texts
        )
        <= 1
    )


def test_instructscore_outputs():
    outputs = recorded("instructscore_webnlg")
    texts = outputs["text"].dropna().unique()
    reads = [parsers.instructscore(text) for text in texts]
    assert sum(read.ok for read in reads) / len(reads) > 0.98
    assert {read.value for read in reads if read.ok} <= {
        -float(5 * major + minor) for major in range(7) for minor in range(7)
    }
