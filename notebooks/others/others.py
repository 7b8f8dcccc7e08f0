"""Printed numbers of papers other than the five, beside what `statistics` makes of their
published labels and verdicts. They are counted apart from the five papers' numbers.

table = others.llmbar()
others.count(table)

A function a paper gives its comparison: a row a printed number, the columns that say
what the number is of, then `statistic, printed, ours, equal`. The statistics of LLMBar, of LLM-Rubric and of
PandaLM are functions of arrays, which tests call by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from judgecard import recordings
from nlgeval_lib import datasets, files, statistics
from nlgeval_lib.datasets import alttest as alttest_sets
from nlgeval_lib.datasets import judge_bench as judge_bench_sets
from nlgeval_lib.datasets import labelled, pairs
from nlgeval_lib.scoring import correlations

# A printed number with so many decimals or more was written out by a program. It is
# compared as a computed number then, not as one that somebody rounded.
_WRITTEN_OUT = 10
# What floating-point arithmetic may move a number by.
_ROUNDING = 1e-9
Row = dict[str, Any]


def printed(table: str) -> pd.DataFrame:
    """One of the tables in `data/paper_tables/others`, each cell as the text that is
    printed.

    table: the file's name without `.csv`, such as `llmbar`.
    Returns: all columns as text; an empty cell is "", never NaN.
    Raises: FileNotFoundError for a table that is not there.
    """
    path = files.data() / "paper_tables" / "others" / f"{table}.csv"
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def sources() -> pd.DataFrame:
    """Where each table is printed: a row a table, with `table, paper, printed_in,
    url`.
    """
    return printed("sources")


def is_equal(number: str, ours: float) -> bool:
    """Whether ours is the printed number, to its last digit.

    number: as it is printed; "" stands for a value that is not defined.
    ours: NaN equals an empty cell alone.

    Example:
    >>> is_equal("0.75", 0.7549), is_equal("0.750", 0.7549)
    (True, False)
    >>> is_equal("", float("nan"))
    True
    """
    if number == "":
        return math.isnan(ours)
    _, _, decimals = number.partition(".")
    digits = len(decimals)
    if digits >= _WRITTEN_OUT:
        return math.isclose(float(number), ours, abs_tol=_ROUNDING)
    # Half a unit of the last printed digit is what rounding can have taken away.
    half_a_digit = 0.5 * 10.0**-digits
    return abs(float(number) - ours) <= half_a_digit + _ROUNDING


def compared(rows: list[Row]) -> pd.DataFrame:
    """The table of rows with `printed` and `ours`, and whether they are `equal`.

    rows: a mapping a printed number; other keys of a row become columns as they are.
    """
    table = pd.DataFrame(rows)
    equal = []
    for number, ours in zip(table["printed"], table["ours"], strict=True):
        equal.append(is_equal(number, ours))
    table["equal"] = equal
    return table


def count(table: pd.DataFrame) -> str:
    """How many rows of a comparison are equal, as `N of M equal`.

    table: as `compared` gives it.
    """
    equal = int(table["equal"].sum())
    return f"{equal:,} of {len(table):,} equal"


# -- LLMBar


def llmbar() -> pd.DataFrame:
    """Nine statistics of each of 65 evaluators on five subsets.

    They are computed as the publisher's program computes them: a pair without a verdict
    is wrong; two such pairs are equal; and kappa takes every verdict that is not 1 for
    a 2. Its kappas with the labels compare labels 1 and 2 with verdicts 1 and 0, so
    that a label 2 never agrees.

    Returns: `judge, prompt_form, subset`, then `statistic, printed, ours, equal`.
    Source: Zeng et al. 2024, the `statistics.json` beside each evaluator's results.
    """
    rows: list[Row] = []
    recorded = recordings.load("llmbar_judges")
    labels = datasets.load("llmbar").set_index("pair_id")["preference"]
    keys = ["judge", "prompt_form", "subset"]
    listed = printed("llmbar").set_index(keys)
    for key, answers in recorded.groupby(keys, sort=False):
        in_given, in_swapped = both_orders(answers)
        gold = labels[in_given.index]
        ours = llmbar_statistics(
            in_given.to_numpy(),
            in_swapped.to_numpy(),
            gold.to_numpy(),
        )
        evaluator = dict(zip(keys, key, strict=True))
        line = listed.loc[key].to_dict()
        rows += _beside(evaluator, line, ours)
    return compared(rows)


def both_orders(answers: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """One evaluator's verdicts in both orders of showing, by pair.

    answers: a row a pair and order, with `pair_id`, `order` (given, swapped) and
    `value`.
    Returns: the verdicts in the given order and in the swapped one. Both have the
    pair's id as their index, and NaN where there is no verdict.
    """
    table = answers.pivot(index="pair_id", columns="order", values="value")
    return table["given"], table["swapped"]


def llmbar_statistics(
    given: np.ndarray,
    swapped: np.ndarray,
    gold: np.ndarray,
) -> dict[str, float]:
    """The publisher's nine statistics of one evaluator on one subset, as `llmbar` says.

    given, swapped: (pairs,) verdicts 1 or 2, NaN for none, in the two orders.
    gold: (pairs,) labels 1 or 2.
    Returns: `correct_given`, `correct_swapped`, `correct_both` and `equal` as numbers
    of pairs, `correct_average` in percent, and four kappas.
    """
    n = len(gold)
    right = {}
    for order, verdicts in (("given", given), ("swapped", swapped)):
        accuracy = statistics.pair_accuracy(verdicts, gold, unread="wrong")
        right[order] = accuracy.value
    # The publisher compares two missing verdicts and finds them equal.
    both_unread = np.isnan(given) & np.isnan(swapped)
    same = (given == swapped) | both_unread
    both_right = (given == gold) & (swapped == gold)
    # Its kappas know two categories alone: verdict 1, and everything else.
    first_given = (given == pairs.FIRST).astype(int)
    first_swapped = (swapped == pairs.FIRST).astype(int)
    with_given = statistics.kappa(first_given, gold).value
    with_swapped = statistics.kappa(first_swapped, gold).value
    return {
        "correct_given": n * right["given"],
        "correct_swapped": n * right["swapped"],
        "correct_average": 50 * (right["given"] + right["swapped"]),
        "correct_both": float(both_right.sum()),
        "equal": float(same.sum()),
        "kappa_given": with_given,
        "kappa_swapped": with_swapped,
        "kappa_average": (with_given + with_swapped) / 2,
        "kappa_orders": statistics.kappa(first_given, first_swapped).value,
    }


# -- the alternative annotator test


def alttest() -> pd.DataFrame:
    """Winning rate and advantage of each judge on nine sets.

    Returns: `set, judge`, then `statistic, printed, ours, equal`.
    Source: Calderon et al. 2025, the output of the example notebook.
    """
    rows: list[Row] = []
    listed = printed("alttest")
    for name, lines in listed.groupby("set", sort=False):
        test = alttest_sets.TESTS[str(name)]
        answers, ratings = _judges_and_raters(str(name))
        for line in lines.to_dict("records"):
            judge = line["judge"]
            result = statistics.alt_test(
                answers[judge].to_numpy(),
                ratings,
                test.score,
                test.epsilon,
            )
            ours = {
                "winning_rate": result.winning_rate,
                "advantage": result.advantage,
            }
            key = {"set": name, "judge": judge}
            rows += _beside(key, line, ours)
    return compared(rows)


def _beside(
    key: Mapping[str, Any],
    line: Mapping[Any, Any],
    ours: Mapping[str, float],
) -> Iterator[Row]:
    """A row for each statistic: the number in a printed line, and ours."""
    for statistic, value in ours.items():
        yield {
            **key,
            "statistic": statistic,
            "printed": line[statistic],
            "ours": value,
        }


def _judges_and_raters(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """What each judge says of the items of one of the nine sets, a column a judge, and
    the ratings `R[rater, item]`, in the same order of items.
    """
    keys = ["input_id", "system_id", "aspect"]
    if name == "summeval":
        frame = datasets.load("summeval")
        recorded = recordings.load("alttest_summeval")
        # Of SummEval's raters the three experts alone stand in this test.
        experts = [f"rater_expert_{number}" for number in range(3)]
        ratings = frame[experts].to_numpy(dtype=float).T
    else:
        dataset = f"alttest_{name}"
        frame = datasets.load(dataset)
        every_set = recordings.load("alttest_judges")
        recorded = every_set[every_set["dataset"] == dataset]
        ratings = labelled.raters(frame)
    answers = recorded.pivot(index=keys, columns="judge", values="value")
    places = pd.MultiIndex.from_frame(frame[keys])
    return answers.reindex(places), ratings


# -- JUDGE-BENCH


def judge_bench() -> pd.DataFrame:
    """Krippendorff's alpha of the raters of each set and property: nominal for
    categories, ordinal for grades.

    Returns: `set, property`, then `statistic` (alpha), `printed, ours, equal`.
    """
    rows = []
    for row in printed("judge_bench_alphas").to_dict("records"):
        frame = datasets.load(f"judge_bench_{row['set']}")
        ratings = labelled.raters(frame, row["property"])
        graded = row["set"] not in judge_bench_sets.LABELS
        metric = "ordinal" if graded else "nominal"
        alpha = statistics.krippendorff_alpha(ratings, metric)
        rows.append(
            {
                "set": row["set"],
                "property": row["property"],
                "statistic": "alpha",
                "printed": row["alpha"],
                "ours": alpha.value,
            }
        )
    return compared(rows)


# -- LLM-Rubric

# How a printed row of LLM-Rubric reads an answer -> the recording's column for it.
READINGS = {
    "sampled": "sampled",
    "most_probable": "most_probable",
    "expected": "value",
}


def llm_rubric() -> pd.DataFrame:
    """Error, three coefficients, mean and spread of gpt-3.5's answers about overall
    satisfaction, read from its probabilities in three ways.

    Returns: `answer` (a key of `READINGS`), then `statistic, printed, ours, equal`.
    """
    frame = datasets.load("llm_rubric")
    overall = frame[frame["aspect"] == "Q0"]
    judge = recordings.load("llm_rubric_judge")
    answers = judge[judge["aspect"] == "Q0"].set_index("input_id")
    human = overall["human"].to_numpy()
    rows: list[Row] = []
    for row in printed("llm_rubric").to_dict("records"):
        # The table also prints rows that no public answer gives, such as the network's.
        if row["answer"] not in READINGS:
            continue
        by_input = answers[READINGS[row["answer"]]]
        predicted = by_input[overall["input_id"]].to_numpy()
        ours = rubric_statistics(predicted, human)
        rows += _beside({"answer": row["answer"]}, row, ours)
    return compared(rows)


def rubric_statistics(predicted: np.ndarray, human: np.ndarray) -> dict[str, float]:
    """The publisher's statistics of one way to read the answers.

    predicted, human: (dialogues,) numbers on the scale of the ratings, in one order.
    Returns: `rmse`, `pearson`, `spearman`, `kendall` (tau-b), and of the predicted
    values `mean` and `std` (divided by n, not by n - 1).
    """
    coefs = {
        "pearson": "pearson",
        "spearman": "spearman",
        "kendall": "kendall-b",
    }
    mean_squared_error = np.mean((predicted - human) ** 2)
    measured = {"rmse": float(np.sqrt(mean_squared_error))}
    for statistic, coef in coefs.items():
        result = statistics.correlate(predicted, human, coef, ci=None)
        measured[statistic] = result.value
    measured["mean"] = float(np.mean(predicted))
    measured["std"] = float(np.std(predicted))
    return measured


# -- PandaLM


def pandalm(unread: str = "tie") -> pd.DataFrame:
    """Raters' kappas, labels, and two judges' accuracy with macro precision, recall and
    F1, in percent.

    unread: what becomes of GPT-3.5's 25 answers without a verdict: `tie` (the printed
    row is that of a tie), `wrong` or `drop`.
    Returns: `of` (two raters, a label or a judge), then `statistic, printed, ours,
    equal`.
    """
    frame = datasets.load("pandalm")
    recorded = recordings.load("pandalm_judges")
    ours: dict[tuple[str, str], float] = {}
    raters = ("rater_0", "rater_1", "rater_2")
    for first, second in combinations(raters, 2):
        agreement = statistics.kappa(frame[first], frame[second])
        ours["kappa", f"{first} {second}"] = agreement.value
    counts = frame["preference"].value_counts()
    for label, number in counts.items():
        ours["labels", f"{label:g}"] = float(number)
    gold = frame.set_index("pair_id")["preference"]
    for judge, answers in recorded.groupby("judge"):
        by_pair = answers.set_index("pair_id")["value"]
        verdicts = by_pair[gold.index].to_numpy()
        measured = class_statistics(verdicts, gold.to_numpy(), unread)
        for statistic, value in measured.items():
            ours[statistic, str(judge)] = value
    rows = []
    for row in printed("pandalm").to_dict("records"):
        rows.append(
            {
                "of": row["of"],
                "statistic": row["what"],
                "printed": row["printed"],
                "ours": ours[row["what"], row["of"]],
            }
        )
    return compared(rows)


def class_statistics(
    verdicts: np.ndarray,
    gold: np.ndarray,
    unread: str = "tie",
) -> dict[str, float]:
    """Accuracy and macro-averaged precision, recall and F1 over tie, 1 and 2, in
    percent.

    verdicts: (pairs,) 0 for a tie, 1 or 2, NaN for none.
    gold: (pairs,) the people's preferences, in the same words.
    unread: what a pair without a verdict counts as: `tie`, `wrong` or `drop`.
    """
    from sklearn.metrics import precision_recall_fscore_support

    accuracy = statistics.pair_accuracy(verdicts, gold, unread=unread).value
    if unread == "drop":
        present = ~np.isnan(verdicts)
        verdicts = verdicts[present]
        gold = gold[present]
    # Taken for wrong, it is a label of its own (-1), which no preference equals.
    instead = -1
    if unread == "tie":
        instead = pairs.TIE
    filled = np.where(np.isnan(verdicts), instead, verdicts)
    precision, recall, f1, _ = precision_recall_fscore_support(
        gold,
        filled,
        labels=[0, 1, 2],
        average="macro",
        zero_division=0,
    )
    return {
        "accuracy": 100 * float(accuracy),
        "precision": 100 * float(precision),
        "recall": 100 * float(recall),
        "f1": 100 * float(f1),
    }


# -- UniEval


def unieval() -> pd.DataFrame:
    """Three coefficients of UniEval's published scores with the ratings of three sets,
    over all outputs (dataset level).

    Returns: `set, aspect`, then `statistic, printed, ours, equal`.
    """
    rows: list[Row] = []
    for row in printed("unieval").to_dict("records"):
        frame = datasets.load(row["set"])
        rated = frame[frame["aspect"] == row["aspect"]]
        scores = rated["unieval"].to_numpy(dtype=float)
        human = rated["human"].to_numpy(dtype=float)
        ours = {}
        for coef in ("pearson", "spearman", "kendall-b"):
            result = statistics.correlate(scores, human, coef, ci=None)
            ours[coef] = result.value
        key = {"set": row["set"], "aspect": row["aspect"]}
        rows += _beside(key, row, ours)
    return compared(rows)


def unieval_levels() -> pd.DataFrame:
    """What the printed coefficients leave out: tau-b of UniEval and of output length at
    each level, with intervals for other systems and inputs.

    Returns: a row a set, aspect, level and judge: `set, aspect, level, judge`, then the
    columns of `scoring.correlations.table`.
    """
    tables = []
    by_set = printed("unieval").groupby("set", sort=False)
    for name, listed in by_set:
        frame = datasets.load(str(name))
        for aspect in listed["aspect"]:
            rated = frame[frame["aspect"] == aspect]
            for table in _tables_by_level(rated, str(aspect)):
                tables.append(table.assign(set=name))
    table = pd.concat(tables, ignore_index=True)
    table = table.rename(columns={"row": "judge", "column": "aspect"})
    first = ["set", "aspect", "level", "judge"]
    return table[[*first, *table.columns.drop(first)]]


def _tables_by_level(rated: pd.DataFrame, aspect: str) -> Iterator[pd.DataFrame]:
    """Tau-b of UniEval and of output length with one aspect's ratings, a table a
    level.
    """
    length = statistics.baselines.length(rated["output"].tolist())
    scores = {"UniEval": rated["unieval"], "output length": length}
    levels: Sequence[str] = statistics.LEVELS
    # two systems, as SFRES and SFHOT have, can be ranked in no other way
    if rated["system_id"].nunique() <= 2:
        levels = ("dataset",)
    for level in levels:
        table = correlations.table(
            rated,
            scores,
            {aspect: "human"},
            coefs=["kendall-b"],
            level=level,
        )
        table = table.drop(columns="replicates", errors="ignore")
        yield table.assign(level=level)
