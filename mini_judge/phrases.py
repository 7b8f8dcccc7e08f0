"""The wordings of a sentence: a phrase between an opening and an ending, and which of
them are held out.

About one combination in five of opening, phrase and ending is kept for evaluation; a
bare phrase never is. The last two phrases of each attribute are in no combination of
the training: texts made of them alone show how the judge fares with new sentences.
"""

from __future__ import annotations

import functools
import random
import re
import zlib
from collections.abc import Sequence

from mini_judge.domains import ATTRIBUTES, HELD_OUT_PHRASES, HELD_OUT_SHARE, SUMS

# what may stand before and behind a phrase; the empty text for nothing
OPENINGS = (
    "",
    "Here",
    "There",
    "Every day",
    "That night",
    "On that day",
    "In that place",
    "At night",
    "From there on",
)
ENDINGS = (
    "",
    "there",
    "every day",
    "for you",
    "at night",
    "in that place",
    "for dinner",
)
# as `choose` describes them
STYLES = ("bare", "varied", "held out", "new")
# this share of the sentences has no opening for certain, and as many no ending
PLAIN = 0.5


def all_phrases() -> list[str]:
    """The phrases of all attributes, and those of sums."""
    phrases: list[str] = []
    for attribute in ATTRIBUTES.values():
        phrases += attribute.phrases
    return [*phrases, *SUMS]


@functools.cache
def _known() -> frozenset[str]:
    """The words of all phrases, as they are spelled there: openings and endings
    bring no others.
    """
    return frozenset(re.findall(r"[A-Za-z]+", " ".join(all_phrases())))


def join(opening: str, phrase: str, ending: str) -> str:
    """A sentence from its parts; an opening that would need a word of its own is left
    out.

    The phrase's first word becomes small behind an opening; as the tokenizer has a
    token for each word as it is spelled in a phrase, the opening is left out where no
    phrase has the small one. An ending that the phrase has already is not added.

    Example:
    >>> join("Here", "The singer [is|are] {}.", "for you")
    'Here the singer [is|are] {} for you.'
    """
    first, _, rest_of_phrase = phrase.partition(" ")
    first_inside = first.lower()
    fits = first.isalpha() and first_inside in _known()
    if opening and fits and not opening.endswith(first):
        phrase = f"{opening} {first_inside} {rest_of_phrase}"
    body = phrase.removesuffix(".")
    if ending and not body.endswith(ending):
        return f"{body} {ending}."
    return phrase


def held_out(sentence: str) -> bool:
    """Whether a wording is kept for evaluation; a checksum decides, the same
    everywhere.
    """
    return zlib.crc32(sentence.encode()) % HELD_OUT_SHARE == 0


def choose(rng: random.Random, phrases: Sequence[str], style: str) -> str:
    """A wording of a style: `bare` phrases of training, `varied` ones, `held out` ones,
    or a `new` phrase as it is.

    phrases: of one attribute; the last `HELD_OUT_PHRASES` are the new ones.
    Raises: ValueError for another style.
    """
    if style not in STYLES:
        raise ValueError(f"style {style!r}; allowed: {', '.join(STYLES)}")
    if style == "new":
        return rng.choice(phrases[-HELD_OUT_PHRASES:])
    if style == "bare":
        return rng.choice(phrases[:-HELD_OUT_PHRASES])
    while True:
        opening = _now_and_then(rng, OPENINGS)
        ending = _now_and_then(rng, ENDINGS)
        phrase = rng.choice(phrases[:-HELD_OUT_PHRASES])
        sentence = join(opening, phrase, ending)
        is_held_out = sentence != phrase and held_out(sentence)
        if is_held_out == (style == "held out"):
            return sentence


def _now_and_then(rng: random.Random, texts: Sequence[str]) -> str:
    """An opening or an ending, or none, so that plain sentences stay common."""
    if rng.random() < PLAIN:
        return ""
    return rng.choice(texts)
