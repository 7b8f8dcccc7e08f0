"""What a training set looks like: variety of wording, lengths, errors, channels. Texts or frames in, numbers out.

A frame of instances has one row an instance; each function names the columns that it reads.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

_WORD = re.compile(r"\w+")
CHANNELS = {"real": "Real-World", "synthetic": "Synthetic"}


def words(text: str) -> list[str]:
    """The lower-cased words of a text, punctuation left out: the token of the functions here unless they say."""
    return _WORD.findall(text.casefold())


# -- variety of wording ------------------------------------------------------------------------------------------------


def distinct_ngrams(
    texts: Iterable[str], n: int, *, by: str = "set", tokens: Callable[[str], Sequence[Any]] = words
) -> float:
    """How varied the wording is: different n-grams as a share of all n-grams, 0 to 1.

    by: `set` counts over all texts together, so it falls as a set grows and only sets of like size compare; `text` is
    the mean of each text's own share. No n-gram reaches from one text into the next. NaN where no text has n tokens.
    Raises: ValueError for n below 1 or another `by`.
    Source: Prometheus, appendix C, Table 7 (bigrams and trigrams; the paper does not say which count it takes).
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"n={n!r}; a whole number of at least 1 is needed")
    if by not in ("set", "text"):
        raise ValueError(f"by={by!r}; allowed: set, text")
    seen: set[tuple] = set()
    total, shares = 0, []
    for text in _texts(texts):
        found = tokens(text)
        grams = [tuple(found[i : i + n]) for i in range(len(found) - n + 1)]
        if by == "text" and grams:
            shares.append(len(set(grams)) / len(grams))
        elif grams:
            seen.update(grams)
            total += len(grams)
    if by == "text":
        return math.fsum(shares) / len(shares) if shares else math.nan
    return len(seen) / total if total else math.nan


def diversity_table(parts: Mapping[str, Iterable[str]], sizes: Sequence[int] = (2, 3), **how: Any) -> pd.DataFrame:
    """`distinct_ngrams` of each part of the instances, a row a part and a column a size, in the layout of Table 7.

    parts: name -> texts, such as {"Instruction": [...], "Feedback": [...]}. `how` as for `distinct_ngrams`.
    Source: Prometheus, Table 7.
    """
    lists = {name: list(texts) for name, texts in parts.items()}
    rows = {name: {n: distinct_ngrams(texts, n, **how) for n in sizes} for name, texts in lists.items()}
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(sizes))
    table.columns = [{2: "bigram", 3: "trigram"}.get(n, f"{n}-gram") for n in sizes]
    return table.assign(texts=[len(texts) for texts in lists.values()])


def rouge_l_pairs(
    texts: Sequence[str],
    others: Sequence[str] | None = None,
    *,
    most: int | None = 20_000,
    seed: int = 0,
) -> np.ndarray:
    """How much pairs of texts overlap: their ROUGE-L F1, 0 to 1, one number a pair.

    Pairs are of two different positions of `texts`, or of one text and one of `others`. More pairs than `most` (None:
    no limit) are sampled without repeats, by `seed`; fewer come in the order of `itertools`' combinations or product.
    By package rouge-score, no stemming: it keeps only a-z and 0-9.
    Raises: ValueError for `most` below 1.
    Source: Prometheus, appendix C, Figure 7 (within the training rubrics); appendix D, Figure 10 (training, test).
    """
    if most is not None and most < 1:
        raise ValueError(f"most={most}; at least one pair, or None for all")
    from rouge_score import rouge_scorer, tokenizers

    plain = tokenizers.DefaultTokenizer(use_stemmer=False)

    class Once(tokenizers.Tokenizer):
        tokenize = staticmethod(functools.lru_cache(maxsize=None)(plain.tokenize))

    scorer = rouge_scorer.RougeScorer(["rougeL"], tokenizer=Once())
    first = list(_texts(texts))
    second = first if others is None else list(_texts(others))
    total = len(first) * (len(first) - 1) // 2 if others is None else len(first) * len(second)
    if most is None or total <= most:
        places: Iterable[tuple[int, int]] = (
            itertools.combinations(range(len(first)), 2)
            if others is None
            else itertools.product(range(len(first)), range(len(second)))
        )
    else:
        picked = np.random.default_rng(seed).choice(total, size=most, replace=False)
        places = (_pair(int(at), len(first)) if others is None else divmod(int(at), len(second)) for at in picked)
    return np.array([scorer.score(first[i], second[j])["rougeL"].fmeasure for i, j in places], dtype=float)


def _pair(at: int, n: int) -> tuple[int, int]:
    """The pair i < j of n things at place `at` of their combinations."""
    left = n * (n - 1) // 2 - 1 - at  # the place from the end
    k = (math.isqrt(8 * left + 1) - 1) // 2
    i = n - 2 - k
    return i, at - (i * (2 * n - i - 1) // 2) + i + 1


# -- lengths and scores ------------------------------------------------------------------------------------------------


def length_by_score(
    frame: pd.DataFrame,
    text: str = "response",
    score: str = "score",
    *,
    length: Callable[[str], int] | None = None,
) -> pd.DataFrame:
    """How long the texts of each score are: a row a score, `n, mean, sd, min, q1, median, q3, max`.

    length: text -> its length, in any unit (a tokenizer's count, say); words by default.
    Raises: ValueError for a missing column.
    Source: Prometheus, Figure 9 (training set), Figures 13 to 15 (judged responses).
    """
    _needs(frame, text, score)
    measure = length or (lambda given: len(words(given)))
    lengths = pd.Series([float(measure(given)) for given in frame[text]], index=frame.index, dtype=float)
    return _summaries(lengths, frame[score])


def sentiment_by_score(
    descriptions: pd.DataFrame, polarity: Callable[[str], float], text: str = "description", score: str = "score"
) -> pd.DataFrame:
    """How favourable the descriptions of each score are, `n, mean, sd, min, q1, median, q3, max` a score.

    polarity: text -> sentiment, on any scale; the paper does not name the tool that it used, and none is built in.
    Raises: ValueError for a missing column.
    Source: Prometheus, appendix C, Figure 8.
    """
    _needs(descriptions, text, score)
    values = pd.Series([float(polarity(given)) for given in descriptions[text]], index=descriptions.index, dtype=float)
    return _summaries(values, descriptions[score])


def _summaries(values: pd.Series, by: pd.Series) -> pd.DataFrame:
    grouped = values.groupby(by.to_numpy())
    table = grouped.agg(["size", "mean", "std", "min"])
    for name, share in (("q1", 0.25), ("median", 0.5), ("q3", 0.75)):
        table[name] = grouped.quantile(share)
    table["max"] = grouped.max()
    table.index.name = by.name
    return table.rename(columns={"size": "n", "std": "sd"})


def context_lengths(
    texts: Iterable[str], count: Callable[[str], int] | None = None, limit: int = 1024
) -> tuple[np.ndarray, float]:
    """How long the instances are, and the share of them below `limit`: (lengths, share 0 to 1, NaN without texts).

    count: text -> tokens, by the base model's tokenizer; words by default, which are fewer.
    Source: TIGERScore, appendix A.4, Figure 4 left.
    """
    measure = count or (lambda given: len(words(given)))
    lengths = np.array([measure(text) for text in _texts(texts)], dtype=int)
    return lengths, float((lengths < limit).mean()) if len(lengths) else math.nan


# -- counts ------------------------------------------------------------------------------------------------------------


def channel_table(frame: pd.DataFrame) -> pd.DataFrame:
    """What the instances are made of: a row a task, and for each channel its data sets, output sources and samples.

    Reads `task`, `channel` (real, synthetic) and, where there, `dataset` and `system_id`. Columns are pairs
    (channel, `datasets` / `sources` / `samples`); a task without instances of a channel has 0 there. The last row,
    `Total`, counts data sets and sources that several tasks share once.
    Raises: ValueError for a missing column or an unknown channel.
    Source: TIGERScore, Table 2.
    """
    _needs(frame, "task", "channel")
    if unknown := sorted(set(map(str, frame["channel"])) - set(CHANNELS)):
        raise ValueError(f"channel {', '.join(unknown)}; allowed: {', '.join(CHANNELS)}")
    tasks = list(dict.fromkeys(frame["task"]))
    rows: dict[Any, dict[tuple[str, str], int]] = {}
    for task in [*tasks, "Total"]:
        part = frame if task == "Total" else frame[frame["task"] == task]
        cells: dict[tuple[str, str], int] = {}
        for channel, title in CHANNELS.items():
            own = part[part["channel"] == channel]
            for name, column in (("datasets", "dataset"), ("sources", "system_id")):
                if column in frame.columns:
                    cells[title, name] = int(own[column].nunique())
            cells[title, "samples"] = len(own)
        rows[task] = cells
    table = pd.DataFrame.from_dict(rows, orient="index").fillna(0).astype(int)
    table.columns = pd.MultiIndex.from_tuples(table.columns)
    return table


def errors_per_instance(frame: pd.DataFrame, by: str | None = "task") -> pd.DataFrame:
    """How many errors an instance has: a row a task, a column a number of errors, the count of instances in each.

    Reads `n_errors`, or the length of `errors`; by None, one row, `all`. Numbers that no instance has are there as 0.
    Raises: ValueError for a missing column.
    Source: TIGERScore, appendix A.4, Figure 4 top right.
    """
    if "n_errors" in frame.columns:
        numbers = frame["n_errors"].astype(int)
    else:
        _needs(frame, "errors")
        numbers = pd.Series([len(errors) for errors in frame["errors"]], index=frame.index, dtype=int)
    groups = _groups(frame, by)
    most = int(numbers.max()) if len(numbers) else 0
    table = pd.crosstab(groups, numbers).reindex(columns=range(most + 1), fill_value=0)
    table = table.reindex(list(dict.fromkeys(groups)))
    table.index.name, table.columns.name = by, "errors"
    return table


def severity_counts(frame: pd.DataFrame, by: str | None = "task") -> pd.DataFrame:
    """How many errors are major and minor: a row a task, columns `Major` and `Minor`, and others where there are any.

    Reads `errors`: of each instance a sequence of mappings, or of objects, with `severity`.
    Raises: ValueError for a missing column.
    Source: TIGERScore, appendix A.4, Figure 4 bottom right.
    """
    return _error_counts(frame, "severity", by, ("Major", "Minor"))


def aspect_counts(frame: pd.DataFrame, by: str | None = "task") -> pd.DataFrame:
    """How many errors belong to each aspect: a row a task, a column an aspect, as `severity_counts`.

    Source: TIGERScore, section 3.2 (errors balanced over aspects).
    """
    return _error_counts(frame, "aspect", by, ())


def _error_counts(frame: pd.DataFrame, field: str, by: str | None, always: Sequence[str]) -> pd.DataFrame:
    _needs(frame, "errors")
    groups = _groups(frame, by)
    pairs = [
        (group, str(error[field] if isinstance(error, Mapping) else getattr(error, field)))
        for group, errors in zip(groups, frame["errors"], strict=True)
        for error in errors
    ]
    columns = list(dict.fromkeys([*always, *(value for _, value in pairs)]))
    table = pd.DataFrame(0, index=list(dict.fromkeys(groups)), columns=columns, dtype=int)
    for group, value in pairs:
        table.loc[group, value] += 1
    table.index.name, table.columns.name = by, field
    return table


def collection_table(frame: pd.DataFrame) -> pd.Series:
    """How large a feedback set is: `rubrics, instructions, responses`, `instructions_per_rubric`,
    `responses_per_instruction` (means), and the responses of each score as `score_1` to `score_5`.

    Reads `criteria` (or `rubric`), `instruction`, `score`: one row a response. An instruction counts once a rubric.
    Raises: ValueError for a missing column.
    Source: Prometheus, Table 1.
    """
    rubric = "criteria" if "criteria" in frame.columns else "rubric"
    _needs(frame, rubric, "instruction", "score")
    rubrics = int(frame[rubric].nunique())
    instructions = len(frame[[rubric, "instruction"]].drop_duplicates())
    counts: dict[str, float] = {
        "rubrics": rubrics,
        "instructions": instructions,
        "responses": len(frame),
        "instructions_per_rubric": instructions / rubrics if rubrics else math.nan,
        "responses_per_instruction": len(frame) / instructions if instructions else math.nan,
    }
    scores = frame["score"].astype(int)
    counts |= {f"score_{score}": int((scores == score).sum()) for score in range(1, 6)}
    return pd.Series(counts, name="value")


def _groups(frame: pd.DataFrame, by: str | None) -> pd.Series:
    if by is None:
        return pd.Series(["all"] * len(frame), index=frame.index, dtype=object)
    _needs(frame, by)
    return frame[by]


def _needs(frame: pd.DataFrame, *columns: str) -> None:
    if missing := [column for column in columns if column not in frame.columns]:
        has = ", ".join(map(str, frame.columns)) or "none"
        raise ValueError(f"the frame has no column {', '.join(missing)}; its columns: {has}")


def _texts(texts: Iterable[str]) -> Iterable[str]:
    if isinstance(texts, str):
        raise ValueError("texts is one text; give a list of texts")
    return texts
