"""METEOR equals nltk's, with the full WordNet, and what older nltk computed where
words were matched once more.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import meteor_score as nltk_meteor

from nlgeval_lib import datasets, statistics
from nlgeval_lib.evaluators import Meteor, meteor
from nlgeval_lib.evaluators.meteor import rematching_meteor_score as meteor_score
from reproduction import papers

ROOT = Path(__file__).resolve().parents[2]


pytestmark = pytest.mark.usefixtures("own_state")


def synonyms(*groups: str) -> SimpleNamespace:
    """A WordNet made of groups of words."""

    def synset(group: list[str]) -> SimpleNamespace:
        return SimpleNamespace(
            lemmas=lambda: [SimpleNamespace(name=word.__str__) for word in group]
        )

    split = [group.split() for group in groups]
    return SimpleNamespace(
        synsets=lambda word: [synset(group) for group in split if word in group]
    )


WHOLE = SimpleNamespace(stem=str)  # a stemmer that leaves words as they are
WORDNET = synonyms("cat feline", "cats cat", "dogs dog", "saw seen see")
TEXTS = st.lists(
    st.sampled_from(["the", "cat", "cats", "feline", "dog", "dogs", "saw", "."]),
    min_size=1,
    max_size=9,
)


def rescored(
    output: str,
    reference: str,
    stemmer: object = PorterStemmer(),
    wordnet: object = WORDNET,
) -> float:
    return meteor_score(
        [reference.split()], output.split(), stemmer=stemmer, wordnet=wordnet
    )


def test_a_word_matched_by_stem_is_matched_again():
    """Two matches of one word: precision and recall 2, mean 2, two chunks of two
    matches, penalty .5.
    """
    assert rescored("dogs", "dog") == pytest.approx(2 * (1 - 0.5))
    assert nltk_meteor([["dog"]], ["dogs"], wordnet=WORDNET) == pytest.approx(0.5)


def test_synonyms_are_those_of_the_word_not_of_its_stem():
    """`feline` has the stem `felin`, which no WordNet knows."""
    assert rescored("feline", "cat") == pytest.approx(0.5)
    assert nltk_meteor([["cat"]], ["feline"], wordnet=WORDNET) == 0


@given(TEXTS, TEXTS)
def test_without_stems_or_without_wordnet_it_is_nltks(output, reference):
    """Nothing can be matched twice then."""
    for stemmer, wordnet in ((WHOLE, WORDNET), (PorterStemmer(), synonyms())):
        ours = meteor_score([reference], output, stemmer=stemmer, wordnet=wordnet)
        assert ours == pytest.approx(
            nltk_meteor([reference], output, stemmer=stemmer, wordnet=wordnet),
            abs=1e-12,
        )


@given(TEXTS, TEXTS)
def test_it_matches_no_less_than_nltks(output, reference):
    """Where the order plays no part (gamma 0), more matches can only raise the
    value.
    """
    settings = dict(stemmer=PorterStemmer(), wordnet=WORDNET, gamma=0.0)
    assert (
        meteor_score([reference], output, **settings)
        >= nltk_meteor([reference], output, **settings) - 1e-12
    )


@pytest.mark.parametrize("rematch", [True, False])
def test_it_is_what_coascore_printed(mirror, rematch):
    """The three METEOR cells of BAGEL are equal with the older matching, and not
    with today's.
    """
    items = datasets.items(datasets.load("bagel"))
    scores = Meteor(
        multi="first", tokenize="blank", rematch=rematch, cache=False
    ).score(items)["value"]
    equal = [
        papers.agrees(
            statistics.correlate(scores, items["human_quality"], coef).value,
            f"{papers.cell('coascore', 'table_02', 'METEOR', 'BAGEL', coef):.3f}",
        )
        for coef in ("pearson", "spearman", "kendall")
    ]
    assert equal == [rematch] * 3


OUTPUTS = [
    "The cat sat on the mat. It was happy.",
    "A dog runs.",
    "one two three four five six",
    "x",
]
REFERENCES = [
    "The Cat sat on a mat. It was sad.",
    "Dogs are running.",
    "one two 3 four six",
    "y z",
]


def rows(name: str) -> list[dict]:
    """A table of expected values, made with nltk on the full WordNet 3.0."""
    with (ROOT / "tests" / "cases" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("tokenize", ["word", "blank"])
def test_meteor_without_wordnet_is_nltks_with_an_empty_one(tokenize: str) -> None:
    from nltk import word_tokenize

    split = (
        str.split
        if tokenize == "blank"
        else lambda text: word_tokenize(text, preserve_line=True)
    )
    expected = [
        nltk_meteor([split(r)], split(o), wordnet=synonyms())
        for o, r in zip(OUTPUTS, REFERENCES, strict=True)
    ]
    ours = Meteor(synonyms=False, tokenize=tokenize)
    assert ours.score(OUTPUTS, REFERENCES)["value"].tolist() == expected
    assert "wordnet:none" in ours.signature()


def test_synonyms_are_those_of_nltk_on_the_full_wordnet() -> None:
    ours = meteor.Synonyms()
    for case in rows("wordnet_synonyms.csv"):
        names = {
            lemma.name()
            for synset in ours.synsets(case["word"])
            for lemma in synset.lemmas()
        }
        assert names == set(case["synonyms"].split()), case["word"]


@pytest.mark.parametrize(
    ("column", "options"),
    [("today", {}), ("older", {"tokenize": "blank", "rematch": True})],
    ids=["today", "older"],
)
def test_meteor_is_that_of_nltk_on_the_full_wordnet(
    column: str, options: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no data of nltk, wherever they may lie on this machine."""
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    cases = pd.DataFrame(rows("meteor.csv"))
    scored = Meteor(**options).score(
        cases["output"].tolist(), cases["reference"].tolist()
    )["value"]
    assert scored.tolist() == cases[column].astype(float).tolist()


def test_meteor_names_the_wordnet_of_the_committed_results() -> None:
    committed = json.loads(
        (ROOT / "results" / "coascore" / "coascore_table_02.json").read_text("utf-8")
    )
    metric = Meteor(tokenize="blank", rematch=True, multi="first", empty="zero")
    assert metric.signature() == committed["models"]["METEOR"]
