"""The ablation "how is a judge's text read?": one recorded text, read in several ways,
whole and cut. The notebook `how_read` beside this calls it.

1. `WAYS` are the ways to find a score in a text; `CUT_WAYS` those for a text that a
token limit ended.
2. `read` lets each of them read each text, whole and cut after so many words.
3. `counts` says how many texts each way reads, and how many wrongly.

The texts are recorded judgments on the scale 1 to 5. To try a way of your own, write a
function from text to score (NaN for none) and name it in `WAYS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pandas as pd

from nlgeval_lib import parsers
from nlgeval_lib.evaluators import LLMScore
from nlgeval_lib.parsers import naive
from nlgeval_lib.records import Completion

# rules by which a text itself names a number its score
DECLARED = ("final", "label")
# the scale of the recorded scores
_LOW = 1
_HIGH = 5


def free(text: str) -> float:
    """The score by any rule of ours, NaN for none."""
    return parsers.rating(text, _LOW, _HIGH).value


def declared(text: str) -> float:
    """The score where the text names it so ("Score: 4"), else NaN.

    Example:
    >>> declared("Score: 4"), declared("4 sentences of it are right")
    (4.0, nan)
    """
    reading = parsers.rating(text, _LOW, _HIGH)
    if reading.rule in DECLARED:
        return reading.value
    return np.nan


def of_cut(text: str) -> float:
    """The score by any rule of ours, of a text that is known to be cut by the token
    limit; NaN where the cut form allows none.
    """
    judge = LLMScore(low=_LOW, high=_HIGH)
    completion = Completion("", text, finish_reason="length")
    return judge.read(completion).value


def published(text: str) -> float:
    """The score by the decoder that came with the recording, NaN for none."""
    return naive.authors_llm_summeval(text).value


def last_number(text: str) -> float:
    """The last number of the text, where it is on the scale; else NaN."""
    value = naive.last_number(text).value
    if _LOW <= value <= _HIGH:
        return value
    return np.nan


# name -> what it reads in a text; a new way is a function above and a line here
WAYS: dict[str, Callable[[str], float]] = {
    "free text": free,
    "declared forms only": declared,
    "published decoder": published,
    "last number": last_number,
}
# of a cut text: as one that is known to be cut, and as if it were whole
CUT_WAYS: dict[str, Callable[[str], float]] = {"free text, known to be cut": of_cut}
CUT_WAYS |= {f"{name}, taken for whole": way for name, way in WAYS.items()}


def first_words(text: str, count: int) -> str:
    """The text up to and with its word number `count`, as a token limit ends it.

    A text of no more words stays whole.

    Example:
    >>> first_words("Score: 4, as the summary is clear", 2)
    'Score: 4,'
    """
    words = list(re.finditer(r"\S+", text))
    if len(words) <= count:
        return text
    end = words[count - 1].end()
    return text[:end]


def read(texts: pd.Series, cut: int) -> pd.DataFrame:
    """What each way reads in each text.

    texts: recorded judgments.
    cut: words after which a text is cut for `CUT_WAYS`; shorter texts stay whole.
    Returns: [texts, ways], NaN for nothing; columns are the names in `WAYS`, and those
    in `CUT_WAYS` after "cut: ".
    """
    columns = {}
    for name, way in WAYS.items():
        columns[name] = texts.map(way)
    short = texts.map(lambda text: first_words(text, cut))
    was_cut = short != texts
    uncut_values = texts.map(free)
    for name, way in CUT_WAYS.items():
        # a text that the limit did not reach is read as it is
        columns[f"cut: {name}"] = short.map(way).where(was_cut, uncut_values)
    return pd.DataFrame(columns)


def counts(readings: pd.DataFrame) -> pd.DataFrame:
    """How many texts each way reads, and how many wrongly: a row a way.

    Wrong is a number that differs from the one that the whole text declares; of texts
    that declare none, nobody can say.

    readings: as `read` gives them.
    Returns: `way, texts, read, coverage, declared, wrong`. `coverage` is the share of
    texts that are read; `declared` how many of these declare a score, of which `wrong`
    are read otherwise.
    """
    truth = readings["declared forms only"]
    rows = []
    for name in readings:
        values = readings[name]
        is_read = values.notna()
        both = is_read & truth.notna()
        is_wrong = values[both] != truth[both]
        rows.append(
            {
                "way": name,
                "texts": len(values),
                "read": int(is_read.sum()),
                "coverage": is_read.mean(),
                "declared": int(both.sum()),
                "wrong": int(is_wrong.sum()),
            }
        )
    return pd.DataFrame(rows)
