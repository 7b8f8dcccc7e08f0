"""Printed numbers of papers other than the five, beside what `meta` makes of their
published labels and verdicts. They are counted apart from the five papers' numbers.

table = others.llmbar()
others.count(table)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets, files, meta
from nlgeval_lib.datasets import alttest as alttest_sets
from nlgeval_lib.datasets import judge_bench as judge_bench_sets
from nlgeval_lib.datasets import labelled, pairs, recordings
from nlgeval_lib.scoring import correlations

# of a number with more digits than a paper prints, which a program wrote
_WRITTEN_OUT = 10
_ROUNDING = 1e-9
Row = dict[str, Any]


def printed(table: str) -> pd.DataFrame:
    """One of `data/paper_tables/others`, each cell as it is printed."""
    path = files.data() / "paper_tables" / "others" / f"{table}.csv"
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def sources() -> pd.DataFrame:
    """Where the tables are printed."""
    return printed("sources")


def is_equal(number: str, ours: float) -> bool:
    """Whether ours is the printed number, to its last digit."""
    if number == "":
        return math.isnan(ours)
    _, _, decimals = number.partition(".")
    digits = len(decimals)
    if digits >= _WRITTEN_OUT:
        return math.isclose(float(number), ours, abs_tol=_ROUNDING)
    half_a_digit = 0.5 * 10.0**-digits
    return abs(float(number) - ours) <= half_a_digit + _ROUNDING


def compared(rows: list[Row]) -> pd.DataFrame:
    """The table of rows with `printed` and `ours`, and whether they are `equal`."""
    table = pd.DataFrame(rows)
    equal = []
    for number, ours in zip(table["printed"], table["ours"], strict=True):
        equal.append(is_equal(number, ours))
    table["equal"] = equal
    return table


def count(table: pd.DataFrame) -> str:
    """`N of M equal`."""
    equal = int(table["equal"].sum())
    return f"{equal:,} of {len(table):,} equal"


def every() -> pd.DataFrame:
    """All comparisons, one under the other, with the `paper` that printed the number
    and what names it there in `row`.
    """
    columns = ["statistic", "printed", "ours", "equal"]
    tables = []
    for paper, compare in COMPARED.items():
        table = compare()
        names = list(table.columns.drop(columns))
        texts = table[names].astype(str)
        row = texts.agg(", ".join, axis=1)
        of_paper = table[columns].assign(paper=paper, row=row)
        tables.append(of_paper[["paper", "row", *columns]])
    return pd.concat(tables, ignore_index=True)


# -- LLMBar


def llmbar() -> pd.DataFrame:
    """Nine statistics of each of 65 evaluators on five subsets.

    As the publisher's program has it: a pair without a verdict is wrong; two of them
    are equal; and kappa takes every verdict that is not 1 for a 2. Its kappas with the
    labels compare labels 1 and 2 with verdicts 1 and 0, so that a label 2 never agrees.
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
    """One evaluator's verdicts in both orders, by pair."""
    table = answers.pivot(index="pair_id", columns="order", values="value")
    return table["given"], table["swapped"]


def llmbar_statistics(
    given: np.ndarray,
    swapped: np.ndarray,
    gold: np.ndarray,
) -> dict[str, float]:
    """The publisher's statistics of one evaluator, as `llmbar` says."""
    n = len(gold)
    right = {}
    for order, verdicts in (("given", given), ("swapped", swapped)):
        accuracy = meta.pair_accuracy(verdicts, gold, unread="wrong")
        right[order] = accuracy.value
    both_unread = np.isnan(given) & np.isnan(swapped)
    same = (given == swapped) | both_unread
    both_right = (given == gold) & (swapped == gold)
    first_given = (given == pairs.FIRST).astype(int)
    first_swapped = (swapped == pairs.FIRST).astype(int)
    with_given = meta.kappa(first_given, gold).value
    with_swapped = meta.kappa(first_swapped, gold).value
    return {
        "correct_given": n * right["given"],
        "correct_swapped": n * right["swapped"],
        "correct_average": 50 * (right["given"] + right["swapped"]),
        "correct_both": float(both_right.sum()),
        "equal": float(same.sum()),
        "kappa_given": with_given,
        "kappa_swapped": with_swapped,
        "kappa_average": (with_given + with_swapped) / 2,
        "kappa_orders": meta.kappa(first_given, first_swapped).value,
    }


# -- the alternative annotator test


def alttest() -> pd.DataFrame:
    """Winning rate and advantage of each judge on nine sets."""
    rows: list[Row] = []
    listed = printed("alttest")
    for name, lines in listed.groupby("set", sort=False):
        test = alttest_sets.TESTS[str(name)]
        answers, ratings = _judges_and_raters(str(name))
        for line in lines.to_dict("records"):
            judge = line["judge"]
            result = meta.alt_test(
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
    """A row a statistic: the number in a printed line and ours.

    key: what they are of.
    """
    for statistic, value in ours.items():
        yield {
            **key,
            "statistic": statistic,
            "printed": line[statistic],
            "ours": value,
        }


def _judges_and_raters(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """What each judge says of the items of one of the nine sets, a column a judge, and
    the ratings `R[rater, item]`.
    """
    keys = ["input_id", "system_id", "aspect"]
    if name == "summeval":
        frame = datasets.load("summeval")
        recorded = recordings.load("alttest_summeval")
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
    """Krippendorff's alpha of the raters: nominal for categories, ordinal for
    grades.
    """
    rows = []
    for row in printed("judge_bench_alphas").to_dict("records"):
        frame = datasets.load(f"judge_bench_{row['set']}")
        ratings = labelled.raters(frame, row["property"])
        graded = row["set"] not in judge_bench_sets.LABELS
        metric = "ordinal" if graded else "nominal"
        alpha = meta.krippendorff_alpha(ratings, metric)
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

READINGS = {
    "sampled": "sampled",
    "most_probable": "most_probable",
    "expected": "value",
}


def llm_rubric() -> pd.DataFrame:
    """Error, three coefficients, mean and spread of gpt-3.5's answers about overall
    satisfaction, read from its probabilities in three ways.
    """
    frame = datasets.load("llm_rubric")
    overall = frame[frame["aspect"] == "Q0"]
    judge = recordings.load("llm_rubric_judge")
    answers = judge[judge["aspect"] == "Q0"].set_index("input_id")
    human = overall["human"].to_numpy()
    rows: list[Row] = []
    for row in printed("llm_rubric").to_dict("records"):
        if row["answer"] not in READINGS:
            continue
        by_input = answers[READINGS[row["answer"]]]
        predicted = by_input[overall["input_id"]].to_numpy()
        ours = rubric_statistics(predicted, human)
        rows += _beside({"answer": row["answer"]}, row, ours)
    return compared(rows)


def rubric_statistics(predicted: np.ndarray, human: np.ndarray) -> dict[str, float]:
    """The publisher's statistics of one way to read the answers."""
    coefs = {
        "pearson": "pearson",
        "spearman": "spearman",
        "kendall": "kendall-b",
    }
    mean_squared_error = np.mean((predicted - human) ** 2)
    statistics = {"rmse": float(np.sqrt(mean_squared_error))}
    for statistic, coef in coefs.items():
        result = meta.correlate(predicted, human, coef, ci=None)
        statistics[statistic] = result.value
    statistics["mean"] = float(np.mean(predicted))
    statistics["std"] = float(np.std(predicted))
    return statistics


# -- PandaLM


def pandalm(unread: str = "tie") -> pd.DataFrame:
    """Raters' kappas, labels, and two judges' accuracy with macro precision, recall and
    F1, in percent. unread: what becomes of GPT-3.5's 25 answers without a verdict; the
    printed row is that of a tie.
    """
    frame = datasets.load("pandalm")
    recorded = recordings.load("pandalm_judges")
    ours: dict[tuple[str, str], float] = {}
    raters = ("rater_0", "rater_1", "rater_2")
    for first, second in combinations(raters, 2):
        agreement = meta.kappa(frame[first], frame[second])
        ours["kappa", f"{first} {second}"] = agreement.value
    counts = frame["preference"].value_counts()
    for label, number in counts.items():
        ours["labels", f"{label:g}"] = float(number)
    gold = frame.set_index("pair_id")["preference"]
    for judge, answers in recorded.groupby("judge"):
        by_pair = answers.set_index("pair_id")["value"]
        verdicts = by_pair[gold.index].to_numpy()
        statistics = class_statistics(verdicts, gold.to_numpy(), unread)
        for statistic, value in statistics.items():
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
    """
    from sklearn.metrics import precision_recall_fscore_support

    accuracy = meta.pair_accuracy(verdicts, gold, unread=unread).value
    if unread == "drop":
        present = ~np.isnan(verdicts)
        verdicts = verdicts[present]
        gold = gold[present]
    # a verdict of its own is wrong everywhere
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
    over all outputs.
    """
    rows: list[Row] = []
    for row in printed("unieval").to_dict("records"):
        frame = datasets.load(row["set"])
        rated = frame[frame["aspect"] == row["aspect"]]
        scores = rated["unieval"].to_numpy(dtype=float)
        human = rated["human"].to_numpy(dtype=float)
        ours = {}
        for coef in ("pearson", "spearman", "kendall-b"):
            result = meta.correlate(scores, human, coef, ci=None)
            ours[coef] = result.value
        key = {"set": row["set"], "aspect": row["aspect"]}
        rows += _beside(key, row, ours)
    return compared(rows)


def unieval_levels() -> pd.DataFrame:
    """What the printed coefficients leave out, a row a set, aspect and level: tau-b of
    UniEval and of output length with intervals for other systems and inputs.
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
    length = meta.baselines.length(rated["output"].tolist())
    scores = {"UniEval": rated["unieval"], "output length": length}
    levels: Sequence[str] = meta.LEVELS
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


COMPARED: Mapping[str, Callable[[], pd.DataFrame]] = {
    "LLMBar": llmbar,
    "AltTest": alttest,
    "JUDGE-BENCH": judge_bench,
    "LLM-Rubric": llm_rubric,
    "PandaLM": pandalm,
    "UniEval": unieval,
}
