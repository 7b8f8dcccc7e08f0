"""What recorded scores of several aspects say about a chain of aspects: a stand-in where CoAScore's judge cannot run.

CoAScore shows a judge the scores of other aspects before it scores the target. Here the recorded scores of separate
prompts are joined by arithmetic: a plain mean, or a ridge regression that never sees the input it predicts for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets, experiments, meta

CHAT_SCALES = {"coherence": (1, 3), "engagingness": (1, 3), "groundedness": (0, 1), "naturalness": (1, 3)}
DIRECT, OTHERS, ALL = "direct", "mean of the others", "mean of all"
FITTED, FITTED_ALL = "fitted on the others", "fitted on all"


def chat_scores(items: pd.DataFrame, prompt_form: str = "analyze_rate") -> dict[str, np.ndarray]:
    """gpt-3.5-turbo's recorded scores of Topical-Chat outputs: {aspect: mean of 20 draws an item}, 0 to 1.

    items: a row an output. Texts without a number count as missing; an aspect's scale is brought to 0 to 1.
    Source: Chiang and Lee 2023, A Closer Look into Automatic Evaluation Using LLMs (the recording).
    """
    raw = datasets.recordings.load("acloserlook", prompt_forms=(prompt_form,))
    raw = raw[raw["input_id"].isin(set(items["input_id"]))]
    read = experiments.read_ratings(raw, CHAT_SCALES)
    mean = read.groupby(["aspect", "input_id", "system_id"], sort=False)["value"].mean()
    wanted = pd.MultiIndex.from_frame(items[["input_id", "system_id"]])
    return {name: _unit(mean[name].reindex(wanted), *ends) for name, ends in CHAT_SCALES.items()}


def judge_scores(items: pd.DataFrame) -> dict[str, dict[str, np.ndarray]]:
    """Six judges' recorded scores of SummEval outputs: {judge: {aspect: a value an item}}, 0 to 1.

    Source: Calderon et al. 2025, The Alternative Annotator Test (the recording).
    """
    recorded = experiments.recorded_scores(items, "alttest_summeval")
    return {judge: {name: _unit(v, 1, 5) for name, v in given.items()} for judge, given in recorded.items()}


def joined(
    items: pd.DataFrame,
    scores: Mapping[str, np.ndarray],
    target: str,
    human: np.ndarray,
    *,
    folds: int = 5,
    seed: int = 0,
    fitted: bool = True,
) -> dict[str, np.ndarray]:
    """The target's score in five ways: direct, mean of the others, mean of all, and fitted on the others and on all.

    scores: {aspect: values on one scale}; a target without a score of its own has only the ways that need none.
    human: the target's ratings, which the fitted ways learn from; `fitted=False` leaves these out.
    """
    others = {name: values for name, values in scores.items() if name != target}
    ways = {OTHERS: mean(others.values())}
    if target in scores:
        ways = {DIRECT: scores[target], **ways, ALL: mean(scores.values())}
    if fitted:
        settings = {"folds": folds, "seed": seed}
        ways[FITTED] = out_of_sample(others.values(), human, items["input_id"], **settings)
        if target in scores:
            ways[FITTED_ALL] = out_of_sample(scores.values(), human, items["input_id"], **settings)
    return ways


def mean(scores: Any) -> np.ndarray:
    """The mean over aspects, of those that have a score; NaN where none has (as CoAScore's variant `average`)."""
    table = np.array(list(scores), dtype=float)
    here = ~np.isnan(table)
    count = here.sum(axis=0)
    return np.where(count > 0, np.where(here, table, 0).sum(axis=0) / np.maximum(count, 1), np.nan)


def out_of_sample(scores: Any, human: Any, inputs: Sequence[Any], *, folds: int = 5, seed: int = 0) -> np.ndarray:
    """What a ridge regression on the aspects' scores predicts for inputs that it did not learn from.

    scores: aspects, each a value an item; human: a rating an item; inputs: an item's input, which is in one fold only.
    Missing scores are the mean of the learning part; items without any score, or a rating, get NaN.
    Raises: ValueError with fewer inputs than folds.
    """
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import RidgeCV
    from sklearn.model_selection import GroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = np.array(list(scores), dtype=float).T, np.asarray(human, dtype=float)
    known = ~np.isnan(x).all(axis=1) & ~np.isnan(y)
    groups = pd.factorize(np.asarray(inputs, dtype=object))[0]
    if len(set(groups[known])) < folds:
        raise ValueError(f"{len(set(groups[known]))} inputs with scores and ratings; {folds} folds need as many")
    predicted = np.full(len(y), np.nan)
    rows = np.flatnonzero(known)
    for learn, test in GroupKFold(folds, shuffle=True, random_state=seed).split(x[rows], groups=groups[rows]):
        model = make_pipeline(SimpleImputer(), StandardScaler(), RidgeCV(np.logspace(-2, 3, 11)))
        model.fit(x[rows[learn]], y[rows[learn]])
        predicted[rows[test]] = model.predict(x[rows[test]])
    return predicted


def fit_signature(folds: int, seed: int) -> str:
    """How the fitted ways are made, in one line."""
    return f"fit:ridge-cv|folds:{folds} by input|seed:{seed}"


def tests(
    items: pd.DataFrame,
    pairs: Mapping[tuple[str, ...], tuple[np.ndarray, np.ndarray, np.ndarray]],
    names: Sequence[str],
    *,
    coef: str = "spearman",
    n_perm: int = 1000,
    n_boot: int = 1000,
    seed: int = 0,
    family: str | None = None,
) -> pd.DataFrame:
    """Does the first way follow the ratings more closely than the second? One row a pair, p-values corrected by Holm.

    pairs: {key: (first scores, second scores, ratings)}, a value an item; names: what the parts of a key are called.
    family: the name whose values are corrected apart; None corrects all pairs together. Permutation and interval are
    over systems and inputs, or over inputs alone where the systems are few.
    Returns the names, `first, second, difference, ci_low, ci_high, n, p, p_holm, signature`.
    """
    grid = experiments.Grid(items)
    units = grid.interval("auto").removeprefix("boot-")
    rows = []
    for key, sides in pairs.items():
        one, two, ratings = (grid.matrix(side) for side in sides)
        found = meta.compare(
            one, two, ratings, coef, units=units, n_perm=n_perm, seed=seed, ci=f"boot-{units}", n_boot=n_boot
        )
        rows.append(
            {
                **dict(zip(names, key, strict=True)),
                "first": found.first,
                "second": found.second,
                "difference": found.difference,
                "ci_low": found.low,
                "ci_high": found.high,
                "n": found.n,
                "p": found.p,
                "signature": found.signature(),
            }
        )
    frame = pd.DataFrame(rows)
    corrected = meta.correct(frame["p"].tolist(), "holm", None if family is None else frame[family].tolist())
    frame.insert(frame.columns.get_loc("p") + 1, "p_holm", corrected.adjusted)
    frame["signature"] += "|" + corrected.signature()
    return frame


def _unit(values: Any, low: float, high: float) -> np.ndarray:
    """Ratings on the scale low to high as 0 to 1."""
    return (np.asarray(values, dtype=float) - low) / (high - low)
