"""BLEU, ROUGE, METEOR and BERTScore equal the packages called directly, and say
where they have no value.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from nlgeval_lib import datasets, evaluators
from nlgeval_lib.evaluators import Bleu, Meteor, Rouge
from nlgeval_lib.records import Judgment, Status
from reproduction import papers

TARGET = "Please keep your shoes by the door."
RESPONSE = "Visitors should keep wet boots out here."
OUTPUTS = [
    RESPONSE,
    "The cat sat on the mat. It was happy.",
    "A dog runs.",
    "one two three four five six",
    "x",
]
REFERENCES = [
    TARGET,
    "The Cat sat on a mat. It was sad.",
    "Dogs are running.",
    "one two 3 four six",
    "y z",
]
SEVERAL = [
    [r, f"{o} indeed", "something else. Entirely so"]
    for o, r in zip(OUTPUTS, REFERENCES, strict=True)
]
WORDS = st.lists(
    st.sampled_from(["the", "cat", "Cat", "sat", "a", "mat", ".", "runs", "7", "é"]),
    min_size=1,
    max_size=12,
)
SENTENCES = WORDS.map(" ".join)


pytestmark = pytest.mark.usefixtures("own_state")


BLEUS = [
    # ours, sacrebleu's
    ({}, {}),
    ({"smooth": "floor"}, {"smooth_method": "floor"}),
    ({"smooth": "add-k"}, {"smooth_method": "add-k"}),
    ({"smooth": "none"}, {"smooth_method": "none"}),
    ({"tokenize": "char", "lowercase": True}, {"tokenize": "char", "lowercase": True}),
    ({"multi": "joint"}, {}),
]


@pytest.mark.parametrize(("options", "package"), BLEUS)
def test_bleu_is_sacrebleu(options: dict, package: dict) -> None:
    from sacrebleu import sentence_bleu

    references = (
        SEVERAL if options.get("multi") else [[reference] for reference in REFERENCES]
    )
    expected = [
        sentence_bleu(o, r, **package).score
        for o, r in zip(OUTPUTS, references, strict=True)
    ]
    assert Bleu(**options).score(OUTPUTS, references)["value"].tolist() == expected


@pytest.mark.parametrize("type_", ["rouge1", "rouge2", "rougeL", "rougeLsum"])
def test_rouge_is_that_of_the_packages(type_: str) -> None:
    from rouge import Rouge as Pypi
    from rouge_score.rouge_scorer import RougeScorer

    wanted = {}
    for stemmer in (False, True):
        scorer = RougeScorer([type_], use_stemmer=stemmer)
        scores = [
            scorer.score(r, o)[type_] for o, r in zip(OUTPUTS, REFERENCES, strict=True)
        ]
        wanted["rouge_score", stemmer] = [
            {"f": s.fmeasure, "p": s.precision, "r": s.recall} for s in scores
        ]
    if type_ != "rougeLsum":
        theirs = {"rougeL": "rouge-l"}.get(type_, f"rouge-{type_[-1]}")
        wanted["rouge", False] = [
            score[theirs] for score in Pypi().get_scores(OUTPUTS, REFERENCES)
        ]
    for (package, stemmer), scores in wanted.items():
        for value in "fpr":
            ours = Rouge(type_, package=package, stemmer=stemmer, value=value).score(
                OUTPUTS, REFERENCES
            )["value"]
            assert ours.tolist() == [score[value] for score in scores]


def test_one_shared_word_of_seven_has_the_values_of_semscore_table_1() -> None:
    """A sentence of our own in the shape of the printed example."""
    printed = papers.load("semscore", "table_01").set_index("column")["printed"]
    for metric, column in ((Bleu(), "BLEU"), (Rouge("rougeL"), "ROUGE-L")):
        assert papers.agrees(
            metric.score([RESPONSE], [TARGET])["value"][0], printed[column]
        )


def test_rules_for_several_references() -> None:
    single = [
        Rouge("rouge1").score(OUTPUTS, [group[i] for group in SEVERAL])["value"]
        for i in range(3)
    ]
    assert (
        Rouge("rouge1", multi="first").score(OUTPUTS, SEVERAL)["value"].tolist()
        == single[0].tolist()
    )
    assert (
        Rouge("rouge1", multi="max").score(OUTPUTS, SEVERAL)["value"].tolist()
        == np.max(single, axis=0).tolist()
    )
    np.testing.assert_allclose(
        Rouge("rouge1", multi="mean").score(OUTPUTS, SEVERAL)["value"],
        np.mean(single, axis=0),
    )
    with pytest.raises(
        ValueError,
        match=r"row 0: 3 references; say what they become, -s multi=RULE: first, max, mean",
    ):
        Rouge("rouge1").score(OUTPUTS, SEVERAL)


def test_a_frame_is_scored_by_the_column_that_the_rule_asks_for() -> None:
    frame = pd.DataFrame(
        {
            "output": ["the cat"] * 2,
            "reference": ["a dog", "the cat"],
            "references": [("a dog", "the cat"), ("the cat",)],
        },
        index=["p", "q"],
    )
    assert Rouge().score(frame)["value"].tolist() == [0, 1]
    scored = Rouge(multi="max").score(frame)
    assert scored["value"].tolist() == [1, 1] and list(scored.index) == ["p", "q"]
    assert list(scored.columns) == ["value", "status", "reason"]
    assert scored.attrs["signature"] == Rouge(multi="max").signature()
    with pytest.raises(
        ValueError,
        match="rouge needs a column 'reference' or 'references'; the frame has output",
    ):
        Rouge().score(frame[["output"]])


@pytest.mark.parametrize(
    "kind", [Bleu, Rouge, lambda **k: Rouge("rougeL", package="rouge", **k)]
)
@pytest.mark.parametrize("blank", ["", "   \n", "\u2003"])
def test_empty_texts_have_a_reason_or_are_zero_when_asked(kind, blank: str) -> None:
    frame = pd.DataFrame(
        {"output": [blank, "a", "a"], "references": [["a"], [blank], []]}
    )
    scored = kind(multi="first").score(frame)
    assert scored["value"].isna().all() and (scored["status"] == Status.EMPTY).all()
    assert scored["reason"].tolist() == [
        "output is empty",
        "reference is empty",
        "no reference",
    ]
    zero = kind(multi="first", empty="zero").score(frame)
    assert zero["value"].tolist()[:2] == [0, 0] and "counted as 0" in zero["reason"][0]
    assert math.isnan(zero["value"][2]), "there is nothing to compare with"


def test_texts_without_a_word_of_the_package_are_not_silently_zero() -> None:
    for metric, text in ((Rouge(), "日本語"), (Rouge(package="rouge"), " ... ")):
        scored = metric.score(pd.DataFrame({"output": [text], "reference": ["a word"]}))
        assert scored["status"].tolist() == ["empty"] and scored["reason"][0]
    assert Bleu(tokenize="char").score(["日本語"], ["日本語"])["value"][
        0
    ] == pytest.approx(100)


ROUGES = [
    Rouge(t, package=p, cache=False)
    for t in ("rouge1", "rouge2", "rougeL")
    for p in ("rouge", "rouge_score")
]


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=15, max_size=30))
def test_values_lie_in_their_range_and_are_highest_for_a_copy(
    pairs: list[tuple[str, str]],
) -> None:
    outputs, references = map(list, zip(*pairs, strict=True))
    for metric in (Bleu(cache=False), Meteor(synonyms=False, cache=False), *ROUGES):
        top = 100 if metric.name == "bleu" else 1
        values = metric.score(outputs, references)["value"]
        known = values[~np.isnan(values)]
        assert ((known >= 0) & (known <= top * (1 + 1e-9))).all()
        copies = metric.score(references, references)["value"]
        assert np.array_equal(
            np.isnan(copies), [bool(metric.blank(r)) for r in references]
        )
        if (
            metric.name != "meteor"
        ):  # METEOR's penalty for one chunk keeps a copy below 1
            assert (
                np.isnan(values) | np.isnan(copies) | (values <= copies + 1e-6)
            ).all()


@pytest.mark.parametrize(
    "bad", [None, float("nan"), 3, b"bytes", ["a", None], [float("nan")], {"a": 1}]
)
def test_what_is_no_text_names_the_row(bad: object) -> None:
    with pytest.raises(ValueError, match=r"row 1: output is .*a text is needed"):
        Bleu().score(["a", bad], ["a", "b"])
    with pytest.raises(ValueError, match="row 1: references is"):
        Bleu(multi="max").score(["a", "b"], ["a", bad])
    frame = pd.DataFrame(
        {"output": ["a", bad], "reference": ["a", "b"]}, index=["i", "j"]
    )
    with pytest.raises(ValueError, match=r"row 1 \(index 'j'\): output is"):
        Bleu().score(frame)


def test_evaluators_by_name() -> None:
    assert evaluators.get("rouge") is Rouge
    assert {"bleu", "rouge", "meteor", "bertscore", "semscore"} <= set(
        evaluators.names()
    )
    with pytest.raises(ValueError, match=r"no evaluator 'ruoge'; did you mean 'rouge'"):
        evaluators.get("ruoge")
    with pytest.raises(ValueError, match=r"'rouge' is .*:Rouge already"):
        evaluators.register("rouge", Bleu)


def test_the_score_frame_holds_only_numbers_and_reasons() -> None:
    index = pd.Index(["a"])
    with pytest.raises(ValueError, match="row 'a': value inf"):
        evaluators.score_frame(index, [Judgment(math.inf)])
    with pytest.raises(ValueError, match="row 'a': status 'failed' without a reason"):
        evaluators.score_frame(index, [Judgment(math.nan, Status.FAILED)])
    with pytest.raises(ValueError, match="0 judgments for 1 rows"):
        evaluators.score_frame(index, [])


def test_coascore_table_12_bleu_and_rouge(data) -> None:
    items = datasets.items(data("summeval"))
    for metric, row in ((Bleu(), "BLEU"), (Rouge("rougeL"), "ROUGE")):
        value = metric.score(items)["value"]
        for aspect in ("consistency", "relevance"):
            for name, coefficient in (("spearman", spearmanr), ("kendall", kendalltau)):
                printed = papers.cell("coascore", "table_12", row, aspect, name)
                assert coefficient(value, items[f"human_{aspect}"])[0] == pytest.approx(
                    printed, abs=5.1e-4
                )
