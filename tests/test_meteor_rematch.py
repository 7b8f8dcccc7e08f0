"""METEOR as older nltk computed it: words matched by stem that WordNet matches once more."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import meteor_score as nltk_meteor

from nlgeval_lib import datasets, meta, papers
from nlgeval_lib.evaluators import Meteor
from nlgeval_lib.evaluators.meteor_rematch import meteor_score


class Lemma:
    def __init__(self, word: str) -> None:
        self.name = lambda: word


class Synset:
    def __init__(self, words: Iterable[str]) -> None:
        self.lemmas = lambda: [Lemma(word) for word in words]


class Synonyms:
    """A WordNet made of groups of words."""

    def __init__(self, *groups: str) -> None:
        self.groups = [group.split() for group in groups]

    def synsets(self, word: str) -> list[Synset]:
        return [Synset(group) for group in self.groups if word in group]


class Whole:
    """A stemmer that leaves words as they are."""

    def stem(self, word: str) -> str:
        return word


WORDNET = Synonyms("cat feline", "cats cat", "dogs dog", "saw seen see")
TEXTS = st.lists(st.sampled_from(["the", "cat", "cats", "feline", "dog", "dogs", "saw", "."]), min_size=1, max_size=9)


def rescored(output: str, reference: str, stemmer: object = PorterStemmer(), wordnet: object = WORDNET) -> float:
    return meteor_score([reference.split()], output.split(), stemmer=stemmer, wordnet=wordnet)


def test_a_word_matched_by_stem_is_matched_again():
    """Two matches of one word: precision and recall 2, mean 2, two chunks of two matches, penalty .5."""
    assert rescored("dogs", "dog") == pytest.approx(2 * (1 - 0.5))
    assert nltk_meteor([["dog"]], ["dogs"], wordnet=WORDNET) == pytest.approx(0.5)


def test_synonyms_are_those_of_the_word_not_of_its_stem():
    """`feline` has the stem `felin`, which no WordNet knows."""
    assert rescored("feline", "cat") == pytest.approx(0.5)
    assert nltk_meteor([["cat"]], ["feline"], wordnet=WORDNET) == 0


def test_the_value_can_exceed_one():
    """Five words match exactly and five by stem, these twice: 15 matches of 10 words."""
    words = ["the", "cat", "saw", "a", "lynx"]
    output, reference = [*words, *["dogs"] * 5], [*words, *["dog"] * 5]
    assert meteor_score([reference], output, stemmer=PorterStemmer(), wordnet=WORDNET) > 1


def test_the_best_reference_counts():
    references = [["dog"], ["the", "cat"], []]
    best = meteor_score(references, ["the", "cat"], stemmer=Whole(), wordnet=WORDNET)
    assert best == rescored("the cat", "the cat", Whole()) > 0.9
    assert rescored("the cat", "", Whole()) == rescored("", "the cat", Whole()) == 0


@given(TEXTS, TEXTS)
def test_without_stems_or_without_wordnet_it_is_nltks(output, reference):
    """Nothing can be matched twice then."""
    for stemmer, wordnet in ((Whole(), WORDNET), (PorterStemmer(), Synonyms())):
        ours = meteor_score([reference], output, stemmer=stemmer, wordnet=wordnet)
        assert ours == pytest.approx(nltk_meteor([reference], output, stemmer=stemmer, wordnet=wordnet), abs=1e-12)


@given(TEXTS, TEXTS)
def test_it_matches_no_less_than_nltks(output, reference):
    """Where the order plays no part (gamma 0), more matches can only raise the value."""
    settings = dict(stemmer=PorterStemmer(), wordnet=WORDNET, gamma=0.0)
    assert meteor_score([reference], output, **settings) >= nltk_meteor([reference], output, **settings) - 1e-12


def test_the_evaluator_names_the_variant():
    plain, older = Meteor(synonyms=False), Meteor(synonyms=False, rematch=True)
    assert "rematch" not in plain.signature() and "rematch:yes" in older.signature()


@pytest.mark.parametrize("rematch", [True, False])
def test_it_is_what_coascore_printed(mirror, rematch):
    """The three METEOR cells of BAGEL are equal with the older matching, and not with today's."""
    items = datasets.items(datasets.load("bagel"))
    scores = Meteor(multi="first", tokenize="blank", rematch=rematch, cache=False).score(items)["value"]
    equal = [
        papers.agrees(
            meta.correlate(scores, items["human_quality"], coef).value,
            f"{papers.cell('coascore', 'table_02', 'METEOR', 'BAGEL', coef):.3f}",
        )
        for coef in ("pearson", "spearman", "kendall")
    ]
    assert equal == [rematch] * 3
