"""What a training set looks like: variety of wording, lengths, errors, channels. Texts
or frames in, numbers out.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

_WORD = re.compile(r"\w+")
# A channel's name in the frame -> its name in TIGERScore's Table 2.
CHANNELS = {"real": "Real-World", "synthetic": "Synthetic"}
# The largest values of `score_balance` that pass for even.
BALANCE = {"scores": 1.0, "length": 1.25, "length_rho": 0.1}


def words(text: str) -> list[str]:
    """The lower-cased words of a text, punctuation left out: the token of the functions
    here.

    Example:
    >>> words("It's 4 o'clock!")
    ['it', 's', '4', 'o', 'clock']
    """
    return _WORD.findall(text.casefold())


# -- variety of wording


def distinct_ngrams(texts: Iterable[str], n: int, *, by: str = "set") -> float:
    """How varied the wording is: different n-grams as a share of all n-grams, 0 to 1.

    texts: each is cut into `words`; no n-gram reaches from one text into the next.
    by: `set` counts over all texts together, so it falls as a set grows and only sets
    of like size compare; `text` is the mean of each text's own share.
    Returns: NaN where no text has n words.
    Raises: ValueError for another `by`.
    Source: Prometheus, appendix C, Table 7 (bigrams and trigrams; the paper does not
    say which count it takes).

    Example:
    >>> distinct_ngrams(["a b a b"], 2)
    0.6666666666666666
    """
    if by not in ("set", "text"):
        raise ValueError(f"by={by!r}; allowed: set, text")
    ngrams = []
    for text in texts:
        tokens = words(text)
        # The text beside itself, moved by 0 to n - 1 words, gives its n-grams.
        shifted = [tokens[start:] for start in range(n)]
        in_text = list(zip(*shifted, strict=False))
        if in_text:
            ngrams.append(in_text)
    if not ngrams:
        return math.nan
    if by == "text":
        shares = [len(set(in_text)) / len(in_text) for in_text in ngrams]
        return math.fsum(shares) / len(shares)
    different = set(itertools.chain(*ngrams))
    total = sum(map(len, ngrams))
    return len(different) / total


def diversity_table(
    parts: Mapping[str, Iterable[str]], by: str = "set"
) -> pd.DataFrame:
    """`distinct_ngrams` of each part of the instances, name -> texts: a row a part,
    with `bigram, trigram` (0 to 1, NaN where a part is too short) and `texts`, their
    number.

    Source: Prometheus, Table 7.
    """
    texts = {name: list(part) for name, part in parts.items()}
    table = pd.DataFrame(index=list(texts))
    for column, n in (("bigram", 2), ("trigram", 3)):
        shares = [distinct_ngrams(part, n, by=by) for part in texts.values()]
        table[column] = np.array(shares, dtype=float)
    return table.assign(texts=[len(part) for part in texts.values()])


@functools.cache
def rouge_l() -> Callable[[str, str], float]:
    """A function that gives the ROUGE-L F1 of two texts, 0 to 1: that of package
    rouge-score without stemming, which keeps only a-z and 0-9.
    """
    from rouge_score import rouge_scorer, tokenizers

    tokenizer = tokenizers.DefaultTokenizer(use_stemmer=False)

    # A text takes part in many pairs and is cut into words only once.
    class Once(tokenizers.Tokenizer):
        tokenize = staticmethod(
            functools.lru_cache(maxsize=100_000)(tokenizer.tokenize)
        )

    scorer = rouge_scorer.RougeScorer(["rougeL"], tokenizer=Once())
    return lambda first, second: scorer.score(first, second)["rougeL"].fmeasure


def rouge_l_pairs(
    texts: Sequence[str],
    others: Sequence[str] | None = None,
    *,
    most: int | None = 20_000,
    seed: int = 0,
) -> np.ndarray:
    """How much pairs of texts overlap: `rouge_l`, one number a pair.

    others: where there are any, a pair is one of `texts` and one of these.
    most: more pairs than that are sampled without repeats; None: no limit.
    Returns: (pairs,) numbers from 0 to 1; where all pairs are taken, in the order of
    `itertools`' combinations or product.
    Source: Prometheus, appendix C, Figure 7 (within the training rubrics); appendix D,
    Figure 10 (training, test).
    """
    first = list(texts)
    second = first
    if others is None:
        rows, columns = np.triu_indices(len(first), 1)
    else:
        second = list(others)
        rows, columns = np.indices((len(first), len(second))).reshape(2, -1)
    if most is not None and len(rows) > most:
        rng = np.random.default_rng(seed)
        sample = rng.choice(len(rows), size=most, replace=False)
        rows = rows[sample]
        columns = columns[sample]
    score = rouge_l()
    overlaps = []
    for row, column in zip(rows, columns, strict=True):
        overlaps.append(score(first[row], second[column]))
    return np.array(overlaps, dtype=float)


# -- lengths and scores


def length_by_score(
    frame: pd.DataFrame,
    text: str = "response",
    score: str = "score",
    length: Callable[[str], int] = lambda text: len(words(text)),
) -> pd.DataFrame:
    """How long the texts of each score are: a row a score, with `n, mean, sd, min, q1,
    median, q3, max`; `sd` is NaN for a single text.

    length: how a text is measured; by default its number of words.
    Source: Prometheus, Figure 9 (training set), Figures 13 to 15 (judged responses).
    """
    lengths = frame[text].map(length).astype(float)
    grouped = lengths.groupby(frame[score].to_numpy())
    table = grouped.agg(n="size", mean="mean", sd="std", min="min")
    quartiles = {
        "q1": grouped.quantile(0.25),
        "median": grouped.median(),
        "q3": grouped.quantile(0.75),
    }
    return table.assign(**quartiles, max=grouped.max()).rename_axis(score)


# -- counts


def channel_table(frame: pd.DataFrame) -> pd.DataFrame:
    """What the instances are made of: a row a task, and for each channel its data sets,
    output sources and samples. The last row, `Total`, counts what tasks share once.

    frame: reads `task`, `channel` (real, synthetic), `dataset` and `system_id`.
    Source: TIGERScore, Table 2.
    """
    parts = dict(iter(frame.groupby("task", sort=False)))
    parts["Total"] = frame
    rows = {}
    for task, part in parts.items():
        row = {}
        for channel, title in CHANNELS.items():
            instances = part[part["channel"] == channel]
            row[f"{title} datasets"] = instances["dataset"].nunique()
            row[f"{title} sources"] = instances["system_id"].nunique()
            row[f"{title} samples"] = len(instances)
        rows[task] = row
    return pd.DataFrame.from_dict(rows, orient="index")


def errors_per_instance(frame: pd.DataFrame) -> pd.DataFrame:
    """How many errors an instance has: a row a task, a column a number of errors, the
    count of instances in each.

    frame: reads `task` and `errors`, which has a sequence an instance.
    Source: TIGERScore, appendix A.4, Figure 4 top right.
    """
    numbers = frame["errors"].map(len)
    table = pd.crosstab(frame["task"], numbers)
    columns = range(int(numbers.max()) + 1)
    table = table.reindex(columns=columns, fill_value=0)
    table = table.reindex(frame["task"].unique())
    return table.rename_axis("task").rename_axis("errors", axis=1)


def error_counts(
    frame: pd.DataFrame, field: str, always: Sequence[str] = ()
) -> pd.DataFrame:
    """How many errors have each `aspect` or `severity`: a row a task, a column a value.

    frame: reads `task` and `errors`, which has a sequence of mappings an instance.
    always: values that are there as 0 too, and come first.
    Source: TIGERScore, section 3.2 (aspects); appendix A.4, Figure 4 bottom right
    (severities).
    """
    errors = frame[["task", "errors"]].explode("errors").dropna()
    values = errors["errors"].map(lambda error: str(error[field]))
    columns = list(dict.fromkeys([*always, *values]))
    table = pd.crosstab(errors["task"], values)
    table = table.reindex(index=frame["task"].unique(), columns=columns)
    table = table.fillna(0).astype(int)
    return table.rename_axis("task").rename_axis(field, axis=1)


def collection_table(frame: pd.DataFrame) -> pd.Series:
    """How large a feedback set is, as the numbers of Prometheus' Table 1.

    frame: reads `criteria`, `instruction`, `score`: one row a response.
    Returns: `rubrics, instructions, responses`, `instructions_per_rubric` and
    `responses_per_instruction` (means, NaN over none), and the responses of each score
    as `score_1` to `score_5`. An instruction counts once a rubric.
    Source: Prometheus, Table 1.
    """
    rubrics = frame["criteria"].nunique()
    problems = frame[["criteria", "instruction"]].drop_duplicates()
    instructions = len(problems)
    counts: dict[str, float] = {
        "rubrics": rubrics,
        "instructions": instructions,
        "responses": len(frame),
        "instructions_per_rubric": math.nan,
        "responses_per_instruction": math.nan,
    }
    if rubrics:
        counts["instructions_per_rubric"] = instructions / rubrics
    if instructions:
        counts["responses_per_instruction"] = len(frame) / instructions
    for score in range(1, 6):
        counts[f"score_{score}"] = int((frame["score"] == score).sum())
    return pd.Series(counts, name="value")


def score_balance(frame: pd.DataFrame) -> pd.DataFrame:
    """Does the set meet the conditions that the paper sets for its data? A row each,
    with `value`, `limit` and `ok`.

    frame: reads `response` and `score`.
    Returns: `scores`: the most frequent score's count over the rarest one's (infinite
    where a score is missing); `length`: the largest mean length over the smallest, in
    words; `length_rho`: Spearman's correlation of length and score, whose size is held
    against the limit. The paper gives no limits; `BALANCE` are ours. A value that is
    not there (NaN) is not ok.
    Source: Prometheus, section 3 (considerations 2 and 3), Figure 9.
    """
    from scipy import stats

    scores = frame["score"]
    lengths = frame["response"].map(lambda text: float(len(words(text))))
    values = {"scores": math.nan, "length": math.nan, "length_rho": math.nan}
    counts = scores.value_counts().reindex(range(1, 6), fill_value=0)
    if counts.min():
        values["scores"] = counts.max() / counts.min()
    elif counts.max():
        values["scores"] = math.inf
    means = lengths.groupby(scores.to_numpy()).mean()
    if len(means) and means.min():
        values["length"] = means.max() / means.min()
    enough = len(frame) > 2
    if enough and lengths.nunique() == 1:
        values["length_rho"] = 0.0  # equal lengths follow no score
    elif enough and lengths.nunique() > 1 and scores.nunique() > 1:
        correlation = stats.spearmanr(lengths, scores.astype(float))
        values["length_rho"] = float(correlation.statistic)
    table = pd.DataFrame({"value": values, "limit": BALANCE}).rename_axis("check")
    return table.assign(ok=table["value"].abs() <= table["limit"])
