"""ROUGE where a text is not written in a-z: what is dropped is said, and another
tokenizer keeps it.
"""

from __future__ import annotations

import random
import tracemalloc

import pytest
from rouge_score.rouge_scorer import RougeScorer

from nlgeval_lib.evaluators import Rouge
from nlgeval_lib.evaluators.reference_metrics import unicode_words

# words worked out by hand
WORDS = [
    ("The cat's 2 hats.", ["the", "cat", "s", "2", "hats"]),
    ("größer, größter", ["größer", "größter"]),
    ("GPT 東京", ["gpt", "東", "京"]),
    ("Москва-река", ["москва", "река"]),
    ("cafe\u0301", ["café"]),  # composed, as if written in one
    ("นก", ["น", "ก"]),
    ("हिन्दी", ["हिन्दी"]),  # marks stay with their letter
    ("العربية ١٢", ["العربية", "١٢"]),
    ("!?", []),
]


@pytest.mark.parametrize(("text", "words"), WORDS)
def test_words_of_every_script(text: str, words: list[str]) -> None:
    assert unicode_words(text) == words


@pytest.mark.parametrize(
    ("output", "reference", "ascii", "unicode"),
    [
        # GPT alone is left of both; with the letters 1 of 3 words is shared
        ("GPT 東京", "GPT 大阪", 1.0, 1 / 3),
        # gr, er against gr, ter: 1 of 2; as words none is
        ("größer", "größter", 0.5, 0.0),
        ("東京 2024", "東京 2024", 1.0, 1.0),
    ],
)
def test_a_row_says_what_its_tokenizer_drops(
    output: str, reference: str, ascii: float, unicode: float
) -> None:
    [plain] = Rouge("rouge1").score([output], [reference]).to_dict("records")
    assert plain["value"] == pytest.approx(ascii) and plain["status"] == "ok"
    assert plain["reason"].startswith("package rouge_score drops letters (")
    assert "-s tokenize=unicode keeps them" in plain["reason"]
    kept = Rouge("rouge1", tokenize="unicode")
    [row] = kept.score([output], [reference]).to_dict("records")
    assert row["value"] == pytest.approx(unicode) and row["reason"] == ""
    assert "|tok:unicode|" in kept.signature()


def test_of_english_nothing_is_said_and_both_give_the_same() -> None:
    """Typographic marks are no letters."""
    texts = ["A bus left \u2013 at 9.", "It\u2019s the cat\u2026"]
    references = ["The bus left at nine.", "It\u2019s a cat."]
    plain = Rouge().score(texts, references)
    assert plain["reason"].tolist() == ["", ""]
    kept = Rouge(tokenize="unicode").score(texts, references)
    assert kept["value"].tolist() == plain["value"].tolist()
    assert "tok:" not in Rouge().signature()


def test_texts_without_a_word_and_the_other_package() -> None:
    [row] = Rouge().score(["東京"], ["東京"]).to_dict("records")
    assert row["status"] == "empty" and "-s tokenize=unicode" in row["reason"]
    [row] = Rouge(tokenize="unicode").score(["東京"], ["東京"]).to_dict("records")
    assert row["value"] == 1.0
    [row] = Rouge(tokenize="unicode").score(["!"], ["東京"]).to_dict("records")
    assert (row["status"], row["reason"]) == ("empty", "output has no word")
    with pytest.raises(ValueError, match="package 'rouge' splits at spaces alone"):
        Rouge(package="rouge", tokenize="unicode")


def test_long_texts_take_no_table_and_give_what_the_package_gives() -> None:
    draw = random.Random(2)
    package = RougeScorer(["rougeL"])
    for _ in range(200):
        texts = [" ".join(draw.choices("abcdefg", k=draw.randint(1, 40))) for _ in "ab"]
        theirs = package.score(*texts[::-1])["rougeL"]
        expected = (theirs.fmeasure, theirs.precision, theirs.recall)
        assert Rouge().compute([tuple(texts)]) == [expected]
    words = [f"w{number}" for number in range(500)]
    long = [" ".join(draw.choices(words, k=6_000)) for _ in "ab"]
    tracemalloc.start()
    Rouge().compute([tuple(long)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e8  # a table of all pairs of words takes three times as much


@pytest.mark.parametrize("type", ["rougeL", "rougeLsum"])
def test_a_sentence_that_would_take_the_memory_has_no_value(type: str) -> None:
    package = "rouge" if type == "rougeL" else "rouge_score"
    text = "a " * (3_000 if package == "rouge" else 11_000)
    [row] = Rouge(type, package=package).score([text], [text]).to_dict("records")
    assert row["status"] == "failed" and "too long" in row["reason"]
