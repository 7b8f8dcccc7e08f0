"""What a training set looks like: each number against another way to it."""

from __future__ import annotations

import itertools
from collections import Counter

import nltk
import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from rouge_score import rouge_scorer

from nlgeval_lib import datasets
from reproduction.training import statistics as stats

TEXTS = ["The tea was hot, the tea was sweet.", "A tea is hot", "", "tea"]
SMALL = st.lists(st.text(alphabet="ab ", max_size=12), max_size=5)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_distinct_ngrams_agree_with_nltk_on_the_mini_set(n: int) -> None:
    texts = datasets.load("mini")["output"].tolist()[:80]
    grams = [gram for text in texts for gram in nltk.ngrams(stats.words(text), n)]
    assert stats.distinct_ngrams(texts, n) == pytest.approx(
        len(Counter(grams)) / len(grams)
    )
    own = [list(nltk.ngrams(stats.words(text), n)) for text in texts]
    means = [len(set(one)) / len(one) for one in own if one]
    assert stats.distinct_ngrams(texts, n, by="text") == pytest.approx(np.mean(means))


def test_rouge_l_pairs_are_rouge_scores() -> None:
    scorer = rouge_scorer.RougeScorer(["rougeL"])
    within = [
        scorer.score(a, b)["rougeL"].fmeasure
        for a, b in itertools.combinations(TEXTS, 2)
    ]
    assert stats.rouge_l_pairs(TEXTS).tolist() == within
    others = ["hot tea", "cold"]
    between = [
        scorer.score(a, b)["rougeL"].fmeasure
        for a, b in itertools.product(TEXTS, others)
    ]
    assert stats.rouge_l_pairs(TEXTS, others).tolist() == between
    assert stats.rouge_l_pairs(["one"]).tolist() == []


def test_sampled_pairs_are_some_of_all_and_depend_on_the_seed() -> None:
    texts = datasets.load("mini")["reference"].drop_duplicates().tolist()[:20]
    everything = Counter(stats.rouge_l_pairs(texts, most=None).round(12))
    some = stats.rouge_l_pairs(texts, most=50)
    assert len(some) == 50 and not Counter(some.round(12)) - everything
    assert some.tolist() == stats.rouge_l_pairs(texts, most=50).tolist()
    assert some.tolist() != stats.rouge_l_pairs(texts, most=50, seed=1).tolist()


def test_length_by_score_is_what_numpy_says() -> None:
    frame = pd.DataFrame(
        {"response": ["a b", "a b c", "a", "a b c d"], "score": [1, 1, 5, 5]}
    )
    table = stats.length_by_score(frame)
    assert " ".join(table) == "n mean sd min q1 median q3 max"
    for score, lengths in ((1, [2, 3]), (5, [1, 4])):
        described = [
            2,
            np.mean(lengths),
            np.std(lengths, ddof=1),
            *np.quantile(lengths, [0, 0.25, 0.5, 0.75, 1]),
        ]
        np.testing.assert_allclose(table.loc[score], described)
