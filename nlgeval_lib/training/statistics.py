"""What a training set looks like: variety of wording, lengths, errors, channels. Texts
or frames in, numbers out.

A frame of instances has one row an instance; each function names the columns that it
reads.
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
CHANNELS = {"real": "Real-World", "synthetic": "Synthetic"}
BALANCE = {
    "scores": 1.0,
    "length": 1.25,
    "length_rho": 0.1,
}  # the largest values that pass for even


def words(text: str) -> list[str]:
    """The lower-cased words of a text, punctuation left out: the token of the
    functions here.
    """
    return _WORD.findall(text.casefold())


# -- variety of wording


def distinct_ngrams(texts: Iterable[str], n: int, *, by: str = "set") -> float:
    """How varied the wording is: different n-grams as a share of all n-grams, 0 to 1.

    by: `set` counts over all texts together, so it falls as a set grows and only sets
    of like size compare; `text` is the mean of each text's own share. No n-gram reaches
    from one text into the next. NaN where no text has n words.
    Raises: ValueError for another `by`.
    Source: Prometheus, appendix C, Table 7 (bigrams and trigrams; the paper does not
    say which count it takes).
    """
    if by not in ("set", "text"):
        raise ValueError(f"by={by!r}; allowed: set, text")
    found = (words(text) for text in texts)
    grams = [
        own
        for w in found
        if (own := list(zip(*(w[i:] for i in range(n)), strict=False)))
    ]
    if not grams:
        return math.nan
    if by == "text":
        return math.fsum(len(set(own)) / len(own) for own in grams) / len(grams)
    return len(set(itertools.chain(*grams))) / sum(map(len, grams))


def diversity_table(
    parts: Mapping[str, Iterable[str]], by: str = "set"
) -> pd.DataFrame:
    """`distinct_ngrams` of each part of the instances: a row a part, columns `bigram,
    trigram, texts`.

    parts: name -> texts, such as {"Instruction": [...], "Feedback": [...]}.
    Source: Prometheus, Table 7.
    """
    kept = {name: list(texts) for name, texts in parts.items()}
    grams = {"bigram": 2, "trigram": 3}
    shares = {
        column: {name: distinct_ngrams(kept[name], n, by=by) for name in kept}
        for column, n in grams.items()
    }
    return pd.DataFrame(shares, index=list(kept)).assign(
        texts=[len(texts) for texts in kept.values()]
    )


@functools.cache
def rouge_l() -> Callable[[str, str], float]:
    """The ROUGE-L F1 of two texts, 0 to 1, by package rouge-score, no stemming: it
    keeps only a-z and 0-9.
    """
    from rouge_score import rouge_scorer, tokenizers

    plain = tokenizers.DefaultTokenizer(use_stemmer=False)

    class Once(tokenizers.Tokenizer):
        tokenize = staticmethod(functools.lru_cache(maxsize=100_000)(plain.tokenize))

    scorer = rouge_scorer.RougeScorer(["rougeL"], tokenizer=Once())
    return lambda one, other: scorer.score(one, other)["rougeL"].fmeasure


def rouge_l_pairs(
    texts: Sequence[str],
    others: Sequence[str] | None = None,
    *,
    most: int | None = 20_000,
    seed: int = 0,
) -> np.ndarray:
    """How much pairs of texts overlap: `rouge_l`, one number a pair.

    Pairs are of two different positions of `texts`, or of one text and one of `others`.
    More pairs than `most` (None: no limit) are sampled without repeats, by `seed`;
    fewer come in the order of `itertools`' combinations or product.
    Source: Prometheus, appendix C, Figure 7 (within the training rubrics); appendix D,
    Figure 10 (training, test).
    """
    first = list(texts)
    score = rouge_l()
    second = first if others is None else list(others)
    pairs = (
        np.triu_indices(len(first), 1)
        if others is None
        else np.indices((len(first), len(second))).reshape(2, -1)
    )
    rows, columns = pairs
    if most is not None and len(rows) > most:
        picked = np.random.default_rng(seed).choice(len(rows), size=most, replace=False)
        rows = rows[picked]
        columns = columns[picked]
    return np.array(
        [score(first[i], second[j]) for i, j in zip(rows, columns, strict=True)],
        dtype=float,
    )


# -- lengths and scores


def length_by_score(
    frame: pd.DataFrame,
    text: str = "response",
    score: str = "score",
    length: Callable[[str], int] = lambda text: len(words(text)),
) -> pd.DataFrame:
    """How long the texts of each score are, in words: a row a score, `n, mean, sd, min,
    q1, median, q3, max`.

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
    output sources and samples.

    Reads `task`, `channel` (real, synthetic), `dataset` and `system_id`. Columns are
    the channel's title and `datasets`, `sources` or `samples`; a task without instances
    of a channel has 0 there. The last row, `Total`, counts data sets and sources that
    several tasks share once.
    Source: TIGERScore, Table 2.
    """
    rows: dict[str, dict[str, int]] = {}
    for task in [*dict.fromkeys(frame["task"]), "Total"]:
        part, rows[task] = (
            frame if task == "Total" else frame[frame["task"] == task],
            {},
        )
        for channel, title in CHANNELS.items():
            own = part[part["channel"] == channel]
            counts = {
                "datasets": own["dataset"].nunique(),
                "sources": own["system_id"].nunique(),
                "samples": len(own),
            }
            rows[task] |= {f"{title} {name}": count for name, count in counts.items()}
    return pd.DataFrame.from_dict(rows, orient="index")


def errors_per_instance(frame: pd.DataFrame) -> pd.DataFrame:
    """How many errors an instance has: a row a task, a column a number of errors, the
    count of instances in each.

    Reads `task` and `errors`. Numbers that no instance has are there as 0.
    Source: TIGERScore, appendix A.4, Figure 4 top right.
    """
    numbers = frame["errors"].map(len)
    table = pd.crosstab(frame["task"], numbers).reindex(
        columns=range(int(numbers.max()) + 1), fill_value=0
    )
    return (
        table.reindex(frame["task"].unique())
        .rename_axis("task")
        .rename_axis("errors", axis=1)
    )


def error_counts(
    frame: pd.DataFrame, field: str, always: Sequence[str] = ()
) -> pd.DataFrame:
    """How many errors have each `aspect` or `severity`: a row a task, a column a value;
    `always` are there as 0 too.

    Reads `task` and `errors`: of each instance a sequence of mappings.
    Source: TIGERScore, section 3.2 (aspects); appendix A.4, Figure 4 bottom right
    (severities).
    """
    errors = frame[["task", "errors"]].explode("errors").dropna()
    values = errors["errors"].map(lambda error: str(error[field]))
    columns = list(dict.fromkeys([*always, *values]))
    table = pd.crosstab(errors["task"], values).reindex(
        index=frame["task"].unique(), columns=columns
    )
    return table.fillna(0).astype(int).rename_axis("task").rename_axis(field, axis=1)


def collection_table(frame: pd.DataFrame) -> pd.Series:
    """How large a feedback set is: `rubrics, instructions, responses`,
    `instructions_per_rubric`, `responses_per_instruction` (means), and the responses of
    each score as `score_1` to `score_5`.

    Reads `criteria`, `instruction`, `score`: one row a response. An instruction counts
    once a rubric.
    Source: Prometheus, Table 1.
    """
    rubrics = frame["criteria"].nunique()
    instructions = len(frame[["criteria", "instruction"]].drop_duplicates())
    counts: dict[str, float] = {
        "rubrics": rubrics,
        "instructions": instructions,
        "responses": len(frame),
    }
    counts["instructions_per_rubric"] = instructions / rubrics if rubrics else math.nan
    counts["responses_per_instruction"] = (
        len(frame) / instructions if instructions else math.nan
    )
    counts |= {
        f"score_{score}": int((frame["score"] == score).sum()) for score in range(1, 6)
    }
    return pd.Series(counts, name="value")


def score_balance(frame: pd.DataFrame) -> pd.DataFrame:
    """The conditions that the paper sets for its data: a row each with `value`, `limit`
    and `ok`.

    scores: the most frequent score's count over the rarest one's; length: the largest
    mean length over the smallest, in words; length_rho: Spearman's correlation of
    length and score, its size. The paper gives no limits; `BALANCE` are ours. A value
    that cannot be had (NaN) is not ok. Reads `response` and `score`.
    Source: Prometheus, section 3 (considerations 2 and 3), Figure 9.
    """
    from scipy import stats

    counts = frame["score"].value_counts().reindex(range(1, 6), fill_value=0)
    lengths = frame["response"].map(lambda text: float(len(words(text))))
    means = lengths.groupby(frame["score"].to_numpy()).mean()
    follows = (
        0.0 if len(frame) > 2 and lengths.nunique() == 1 else math.nan
    )  # equal lengths follow no score
    if len(frame) > 2 and lengths.nunique() > 1 and frame["score"].nunique() > 1:
        follows = float(
            stats.spearmanr(lengths, frame["score"].astype(float)).statistic
        )
    values = {
        "scores": counts.max() / counts.min()
        if counts.min()
        else math.inf
        if counts.max()
        else math.nan,
        "length": means.max() / means.min() if len(means) and means.min() else math.nan,
        "length_rho": follows,
    }
    table = pd.DataFrame({"value": values, "limit": BALANCE}).rename_axis("check")
    return table.assign(ok=table["value"].abs() <= table["limit"])
