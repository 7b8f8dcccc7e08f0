"""One recorded text, read in several ways, whole and cut; `how_read.ipynb` reads it."""

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
_LOW, _HIGH = 1, 5


def free(text: str) -> float:
    """The score by any rule of ours."""
    return parsers.rating(text, _LOW, _HIGH).value


def declared(text: str) -> float:
    """The score where the text names it so ("Score: 4"), else NaN."""
    reading = parsers.rating(text, _LOW, _HIGH)
    return reading.value if reading.rule in DECLARED else np.nan


def of_cut(text: str) -> float:
    """The score by any rule of ours, of a text that the token limit ended."""
    judge = LLMScore(low=_LOW, high=_HIGH)
    return judge.read(Completion("", text, finish_reason="length")).value


def published(text: str) -> float:
    """The score by the decoder that came with the recording."""
    return naive.authors_llm_summeval(text).value


def last_number(text: str) -> float:
    """The last number of the text, where it is on the scale."""
    value = naive.last_number(text).value
    return value if _LOW <= value <= _HIGH else np.nan


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
    """The text up to and with its word number `count`, as a token limit ends it."""
    words = list(re.finditer(r"\S+", text))
    return text if len(words) <= count else text[: words[count - 1].end()]


def read(texts: pd.Series, cut: int) -> pd.DataFrame:
    """What each way reads in each text: [texts, ways], NaN for nothing.

    cut: words after which a text is cut for `CUT_WAYS`; shorter texts stay whole.
    """
    columns = {}
    for name, way in WAYS.items():
        columns[name] = texts.map(way)
    short = texts.map(lambda text: first_words(text, cut))
    ended = short != texts
    for name, way in CUT_WAYS.items():
        # a text that the limit did not reach is read as it is
        columns[f"cut: {name}"] = short.map(way).where(ended, texts.map(free))
    return pd.DataFrame(columns)


def counts(readings: pd.DataFrame) -> pd.DataFrame:
    """How many texts each way reads, and how many wrongly.

    Wrong is a number that differs from the one that the whole text declares; of texts
    that declare none, nobody can say. Columns: `way, texts, read, coverage,
    declared, wrong`.
    """
    truth = readings["declared forms only"]
    rows = []
    for name in readings:
        values = readings[name]
        both = values.notna() & truth.notna()
        rows.append(
            {
                "way": name,
                "texts": len(values),
                "read": int(values.notna().sum()),
                "coverage": values.notna().mean(),
                "declared": int(both.sum()),
                "wrong": int((values[both] != truth[both]).sum()),
            }
        )
    return pd.DataFrame(rows)
