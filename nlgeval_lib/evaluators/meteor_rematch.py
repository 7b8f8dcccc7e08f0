"""METEOR as nltk computed it up to version 3.6.2, which published numbers of that time come from.

Words that were matched by their stem were not taken out of the pool, so WordNet could match them a second time. It was
also given the words themselves, where later versions give it the stems.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

Pairs = list[tuple[int, int]]


def meteor_score(
    references: Sequence[Sequence[str]],
    hypothesis: Sequence[str],
    *,
    stemmer: Any,
    wordnet: Any,
    alpha: float = 0.9,
    beta: float = 3.0,
    gamma: float = 0.5,
) -> float:
    """How well do the tokens of `hypothesis` match those of its best reference? 0 to above 1: words can match twice.

    stemmer, wordnet: as nltk's METEOR takes them; alpha, beta, gamma: its weights of precision and of broken order.
    """
    return max(_single(reference, hypothesis, stemmer, wordnet, alpha, beta, gamma) for reference in references)


def _single(
    reference: Sequence[str],
    hypothesis: Sequence[str],
    stemmer: Any,
    wordnet: Any,
    alpha: float,
    beta: float,
    gamma: float,
) -> float:
    matched = _matches(reference, hypothesis, stemmer, wordnet)
    if not matched:
        return 0.0
    precision, recall = len(matched) / len(hypothesis), len(matched) / len(reference)
    mean = precision * recall / (alpha * precision + (1 - alpha) * recall)
    chunks = 1 + sum((b[0] - a[0], b[1] - a[1]) != (1, 1) for a, b in pairwise(matched))
    return mean * (1 - gamma * (chunks / len(matched)) ** beta)


def _matches(reference: Sequence[str], hypothesis: Sequence[str], stemmer: Any, wordnet: Any) -> Pairs:
    """Positions in (hypothesis, reference) that match: exactly, then by stem, then by synonym, in hypothesis order."""
    from nltk.translate import meteor_score as nltk_meteor

    exact, *rest = nltk_meteor.exact_match(hypothesis, reference)
    left, right = ([position for position, _ in words] for words in rest)
    words, targets = ([word for _, word in side] for side in rest)
    by_stem = nltk_meteor.stem_match(words, targets, stemmer)[0]
    by_synonym = nltk_meteor.wordnetsyn_match(words, targets, wordnet)[0]  # all that is left, stem matches included
    again = [(left[i], right[j]) for i, j in [*by_stem, *by_synonym]]
    return sorted([*exact, *again], key=lambda pair: pair[0])
