"""What recorded scores of several aspects say about a chain of aspects: a stand-in
where CoAScore's judge cannot run.

CoAScore shows a judge the scores of other aspects before it scores the target. Here the
recorded scores of separate prompts are joined by arithmetic: a plain mean, or a ridge
regression that never sees the input it predicts for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from judgecard import recorded_judges
from nlgeval_lib import statistics
from reproduction import papers

# Topical-Chat's aspects -> the ends of the scale that the judge was asked for.
CHAT_SCALES = {
    "coherence": (1, 3),
    "engagingness": (1, 3),
    "groundedness": (0, 1),
    "naturalness": (1, 3),
}
# How the ways of joining aspects are called in tables and figures.
DIRECT = "direct"
OTHERS = "mean of the others"
ALL = "mean of all"
RIDGE_OTHERS = "fitted on the others"
RIDGE_ALL = "fitted on all"


def chat_scores(
    items: pd.DataFrame, prompt_form: str = "analyze_rate"
) -> dict[str, np.ndarray]:
    """gpt-3.5-turbo's recorded scores of Topical-Chat outputs, the mean of the draws:
    {aspect: a value an item}.

    Returns: values from 0 to 1; a text without a number counts as missing (NaN).
    Source: Chiang and Lee 2023, A Closer Look into Automatic Evaluation Using LLMs (the
    recording).
    """
    recorded = recorded_judges.scores(
        items, "acloserlook", CHAT_SCALES, by="prompt_form", prompt_forms=(prompt_form,)
    )
    by_aspect = recorded[prompt_form]
    scores = {}
    for name, (low, high) in CHAT_SCALES.items():
        scores[name] = (by_aspect[name] - low) / (high - low)
    return scores


def news_scores(items: pd.DataFrame) -> dict[str, dict[str, np.ndarray]]:
    """Six judges' recorded scores of SummEval outputs: {judge: {aspect: a value an
    item}}, 0 to 1, NaN where there is none.

    Source: Calderon et al. 2025, The Alternative Annotator Test (the recording).
    """
    recorded = recorded_judges.scores(items, "alttest_summeval")
    scores = {}
    for judge, by_aspect in recorded.items():
        from_0_to_1 = {}
        for name, values in by_aspect.items():
            from_0_to_1[name] = (values - 1) / (5 - 1)
        scores[judge] = from_0_to_1
    return scores


def combined(
    items: pd.DataFrame,
    scores: Mapping[str, np.ndarray],
    target: str,
    human: np.ndarray,
    *,
    folds: int = 5,
    seed: int = 0,
    fitted: bool = True,
) -> dict[str, np.ndarray]:
    """The target's score in five ways: direct, mean of the others, mean of all, and
    fitted on the others and on all.

    items: a row an output, with `input_id`.
    scores: {aspect: values on one scale}; a target without a score of its own has only
    the ways that need none.
    human: the target's ratings, which the fitted ways learn from.
    Returns: {way: a value an item}, the ways by the names above.
    """

    def ridge(features: Mapping[str, np.ndarray]) -> np.ndarray:
        return ridge_out_of_sample(
            features.values(), human, items["input_id"], folds=folds, seed=seed
        )

    other_aspects = dict(scores)
    other_aspects.pop(target, None)
    combinations = {}
    if target in scores:
        combinations[DIRECT] = scores[target]
    combinations[OTHERS] = mean(other_aspects.values())
    if target in scores:
        combinations[ALL] = mean(scores.values())
    if fitted:
        combinations[RIDGE_OTHERS] = ridge(other_aspects)
        if target in scores:
            combinations[RIDGE_ALL] = ridge(scores)
    return combinations


def mean(scores: Any) -> np.ndarray:
    """The mean over aspects, of those that have a score; NaN where none has (as
    CoAScore's variant `average`).

    Example:
    >>> mean([[0.5, float("nan")], [1.0, 0.25]])
    array([0.75, 0.25])
    """
    return statistics.mean_of_samples(list(scores)).scores


def ridge_out_of_sample(
    scores: Any, human: Any, inputs: Sequence[Any], *, folds: int = 5, seed: int = 0
) -> np.ndarray:
    """What a ridge regression on the aspects' scores predicts for inputs that it did
    not learn from.

    scores: an array an aspect, a value an item; missing scores are the mean of the
    learning part.
    inputs: an item's input; all items of an input are in one fold.
    Returns: (items,) predictions; NaN for items without any score, or without a rating.
    Raises: ValueError with fewer inputs than folds.
    """
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import RidgeCV
    from sklearn.model_selection import GroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = np.array(list(scores), dtype=float).T
    y = np.asarray(human, dtype=float)
    has_score = ~np.isnan(x).all(axis=1)
    rows = np.flatnonzero(has_score & ~np.isnan(y))
    input_of_item, _ = pd.factorize(np.asarray(inputs, dtype=object))
    groups = input_of_item[rows]
    n_inputs = len(set(groups))
    if n_inputs < folds:
        raise ValueError(
            f"{n_inputs} inputs with scores and ratings; {folds} folds need as many"
        )
    # The strength of the penalty is chosen in each learning part, from .01 to 1,000.
    penalties = np.logspace(-2, 3, 11)
    model = make_pipeline(SimpleImputer(), StandardScaler(), RidgeCV(penalties))
    split = GroupKFold(folds, shuffle=True, random_state=seed)
    predicted = np.full(len(y), np.nan)
    predicted[rows] = cross_val_predict(
        model, x[rows], y[rows], groups=groups, cv=split
    )
    return predicted


def ridge_signature(folds: int, seed: int) -> str:
    """How the fitted ways are made, in one line."""
    return f"fit:ridge-cv|folds:{folds} by input|seed:{seed}"


def printed_gains(cells: pd.DataFrame) -> pd.DataFrame:
    """How far CoAScore is printed above the judge asked directly, LLMScore, a row a
    length of the chain of aspects.

    cells: one table of CoAScore's as `papers.compare` gives it.
    Returns: the numbers of cells above LLMScore and of all cells, the lowest, mean and
    highest gain, and in how many of the cells with data the gain is larger than half
    the width of a computed interval (the mean width of a column and statistic).
    """
    table = papers.load("coascore", cells["table"].iat[0])
    printed = table.set_index(["row", "column", "statistic"])["number"]
    # The intervals are those computed from public data beside printed cells.
    is_public = cells["route"] == "public"
    is_printed = cells["verdict"] != "extra"
    ours = cells[is_public & is_printed]
    widths = ours["ci_high"] - ours["ci_low"]
    mean_widths = widths.groupby([ours["column"], ours["statistic"]]).mean()
    half = mean_widths / 2
    rows = []
    for length in (5, 10, 20):
        gain = printed[f"CoAScore (n={length})"] - printed["LLMScore"]
        beyond = gain.reindex(half.index) > half
        rows.append(
            {
                "chain of aspects": length,
                "cells above LLMScore": int((gain > 0).sum()),
                "of": len(gain),
                "lowest gain": gain.min(),
                "mean gain": gain.mean(),
                "highest gain": gain.max(),
                "gains beyond half an interval": int(beyond.sum()),
                "of those with data": len(half),
            }
        )
    return pd.DataFrame(rows)
