"""Printed numbers of papers other than the five, beside what `meta` makes of their
published labels and verdicts. They are counted apart from the five papers' numbers.

table = others.llmbar()
others.count(table)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
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
    digits = len(number.partition(".")[2])
    if digits >= _WRITTEN_OUT:
        return math.isclose(float(number), ours, abs_tol=_ROUNDING)
    return abs(float(number) - ours) <= 0.5 * 10.0**-digits + _ROUNDING


def compared(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """The table of rows with `printed` and `ours`, and whether they are `equal`."""
    table = pd.DataFrame(rows)
    ours = zip(table["printed"], table["ours"], strict=True)
    table["equal"] = [is_equal(number, value) for number, value in ours]
    return table


def count(table: pd.DataFrame) -> str:
    """`N of M equal`."""
    return f"{int(table['equal'].sum()):,} of {len(table):,} equal"


def every() -> pd.DataFrame:
    """All comparisons, one under the other, with the `paper` that printed the number
    and what names it there in `row`.
    """
    parts = []
    for paper, compare in COMPARED.items():
        table = compare()
        names = table.columns.drop(["statistic", "printed", "ours", "equal"])
        row = table[list(names)].astype(str).agg(", ".join, axis=1)
        columns = ["statistic", "printed", "ours", "equal"]
        part = table[columns].assign(paper=paper, row=row)
        parts.append(part[["paper", "row", *columns]])
    return pd.concat(parts, ignore_index=True)


# -- LLMBar


def llmbar() -> pd.DataFrame:
    """Nine statistics of each of 65 evaluators on five subsets.

    As the publisher's program has it: a pair without a verdict is wrong; two of them
    are equal; and kappa takes every verdict that is not 1 for a 2. Its kappas with the
    labels compare labels 1 and 2 with verdicts 1 and 0, so that a label 2 never agrees.
    """
    rows = []
    recorded = recordings.load("llmbar_judges")
    labels = datasets.load("llmbar").set_index("pair_id")["preference"]
    listed = printed("llmbar").set_index(["judge", "prompt_form", "subset"])
    keys = ["judge", "prompt_form", "subset"]
    for key, answers in recorded.groupby(keys, sort=False):
        given, swapped = both_orders(answers)
        gold = labels[given.index].to_numpy()
        ours = llmbar_statistics(given.to_numpy(), swapped.to_numpy(), gold)
        for statistic, value in ours.items():
            row = dict(zip(keys, key, strict=True)) | {"statistic": statistic}
            rows.append(
                row
                | {
                    "printed": listed[statistic][key],
                    "ours": value,
                }
            )
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
    for order, said in (("given", given), ("swapped", swapped)):
        accuracy = meta.pair_accuracy(said, gold, unread="wrong")
        right[order] = accuracy.value
    same = (given == swapped) | (np.isnan(given) & np.isnan(swapped))
    first_given = (given == pairs.FIRST).astype(int)
    first_swapped = (swapped == pairs.FIRST).astype(int)
    with_given = meta.kappa(first_given, gold).value
    with_swapped = meta.kappa(first_swapped, gold).value
    return {
        "correct_given": n * right["given"],
        "correct_swapped": n * right["swapped"],
        "correct_average": 50 * (right["given"] + right["swapped"]),
        "correct_both": float(((given == gold) & (swapped == gold)).sum()),
        "equal": float(same.sum()),
        "kappa_given": with_given,
        "kappa_swapped": with_swapped,
        "kappa_average": (with_given + with_swapped) / 2,
        "kappa_orders": meta.kappa(first_given, first_swapped).value,
    }


# -- the alternative annotator test


def alttest() -> pd.DataFrame:
    """Winning rate and advantage of each judge on nine sets."""
    rows: list[dict[str, Any]] = []
    listed = printed("alttest")
    for part, judges in listed.groupby("set", sort=False):
        test = alttest_sets.TESTS[str(part)]
        said, ratings = _judges_and_raters(str(part))
        for row in judges.to_dict("records"):
            values = said[row["judge"]].to_numpy()
            result = meta.alt_test(
                values,
                ratings,
                test.score,
                test.epsilon,
            )
            ours = {
                "winning_rate": result.winning_rate,
                "advantage": result.advantage,
            }
            rows += _beside({"set": part, "judge": row["judge"]}, row, ours)
    return compared(rows)


def _beside(
    key: Mapping[str, Any], line: Mapping[Any, Any], ours: Mapping[str, float]
) -> Iterator[dict[str, Any]]:
    """A row a statistic: the number in a printed line and ours. key: what they are of."""
    for statistic, value in ours.items():
        numbers = {"printed": line[statistic], "ours": value}
        yield {**key, "statistic": statistic, **numbers}


def _judges_and_raters(part: str) -> tuple[pd.DataFrame, np.ndarray]:
    """What each judge says of the items of one of the nine sets, a column a judge, and
    the ratings `R[rater, item]`.
    """
    keys = ["input_id", "system_id", "aspect"]
    if part == "summeval":
        frame = datasets.load("summeval")
        said = recordings.load("alttest_summeval")
        experts = [f"rater_expert_{number}" for number in range(3)]
        ratings = frame[experts].to_numpy(dtype=float).T
    else:
        frame = datasets.load(f"alttest_{part}")
        every_set = recordings.load("alttest_judges")
        said = every_set[every_set["dataset"] == f"alttest_{part}"]
        ratings = labelled.raters(frame)
    table = said.pivot(index=keys, columns="judge", values="value")
    return table.reindex(pd.MultiIndex.from_frame(frame[keys])), ratings


# -- JUDGE-BENCH


def judge_bench() -> pd.DataFrame:
    """Krippendorff's alpha of the raters: nominal for categories, ordinal for grades."""
    rows = []
    for row in printed("judge_bench_alphas").to_dict("records"):
        frame = datasets.load(f"judge_bench_{row['set']}")
        ratings = labelled.raters(frame, row["property"])
        graded = row["set"] not in judge_bench_sets.LABELS
        metric = "ordinal" if graded else "nominal"
        alpha = meta.krippendorff_alpha(ratings, metric)
        key = {
            "set": row["set"],
            "property": row["property"],
            "statistic": "alpha",
        }
        rows.append(
            key
            | {
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
    rows: list[dict[str, Any]] = []
    for row in printed("llm_rubric").to_dict("records"):
        if row["answer"] not in READINGS:
            continue
        column = answers[READINGS[row["answer"]]]
        ours = rubric_statistics(column[overall["input_id"]].to_numpy(), human)
        rows += _beside({"answer": row["answer"]}, row, ours)
    return compared(rows)


def rubric_statistics(said: np.ndarray, human: np.ndarray) -> dict[str, float]:
    """The publisher's statistics of one way to read the answers."""
    coefs = {
        "pearson": "pearson",
        "spearman": "spearman",
        "kendall": "kendall-b",
    }
    ours = {"rmse": float(np.sqrt(np.mean((said - human) ** 2)))}
    for statistic, coef in coefs.items():
        ours[statistic] = meta.correlate(
            said,
            human,
            coef,
            ci=None,
        ).value
    ours["mean"] = float(np.mean(said))
    ours["std"] = float(np.std(said))
    return ours


# -- PandaLM


def pandalm(unread: str = "tie") -> pd.DataFrame:
    """Raters' kappas, labels, and two judges' accuracy with macro precision, recall and
    F1, in percent. unread: what becomes of GPT-3.5's 25 answers without a verdict; the
    printed row is that of a tie.
    """
    frame = datasets.load("pandalm")
    recorded = recordings.load("pandalm_judges")
    ours: dict[tuple[str, str], float] = {}
    for first, second in combinations(("rater_0", "rater_1", "rater_2"), 2):
        agreement = meta.kappa(frame[first], frame[second])
        ours["kappa", f"{first} {second}"] = agreement.value
    for label, number in frame["preference"].value_counts().items():
        ours["labels", f"{label:g}"] = float(number)
    gold = frame.set_index("pair_id")["preference"]
    for judge, answers in recorded.groupby("judge"):
        said = answers.set_index("pair_id")["value"][gold.index].to_numpy()
        for what, value in class_statistics(said, gold.to_numpy(), unread).items():
            ours[what, str(judge)] = value
    rows = []
    for row in printed("pandalm").to_dict("records"):
        key = {
            "of": row["of"],
            "statistic": row["what"],
            "printed": row["printed"],
        }
        rows.append(key | {"ours": ours[row["what"], row["of"]]})
    return compared(rows)


def class_statistics(
    said: np.ndarray,
    gold: np.ndarray,
    unread: str = "tie",
) -> dict[str, float]:
    """Accuracy and macro-averaged precision, recall and F1 over tie, 1 and 2, in
    percent.
    """
    from sklearn.metrics import precision_recall_fscore_support

    accuracy = meta.pair_accuracy(said, gold, unread=unread).value
    present = ~np.isnan(said)
    if unread == "drop":
        said, gold = said[present], gold[present]
    # a verdict of its own is wrong everywhere
    filled = np.where(np.isnan(said), pairs.TIE if unread == "tie" else -1, said)
    averaged = precision_recall_fscore_support(
        gold,
        filled,
        labels=[0, 1, 2],
        average="macro",
        zero_division=0,
    )
    values = [100 * float(value) for value in (accuracy, *averaged[:3])]
    return dict(zip(("accuracy", "precision", "recall", "f1"), values, strict=True))


# -- UniEval


def unieval() -> pd.DataFrame:
    """Three coefficients of UniEval's published scores with the ratings of three sets,
    over all outputs.
    """
    rows: list[dict[str, Any]] = []
    for row in printed("unieval").to_dict("records"):
        frame = datasets.load(row["set"])
        rated = frame[frame["aspect"] == row["aspect"]]
        ours = {}
        for coef in ("pearson", "spearman", "kendall-b"):
            result = meta.correlate(
                rated["unieval"].to_numpy(dtype=float),
                rated["human"].to_numpy(dtype=float),
                coef,
                ci=None,
            )
            ours[coef] = result.value
        rows += _beside({"set": row["set"], "aspect": row["aspect"]}, row, ours)
    return compared(rows)


def unieval_levels() -> pd.DataFrame:
    """What the printed coefficients leave out, a row a set, aspect and level: tau-b of
    UniEval and of output length with intervals for other systems and inputs.
    """
    tables = []
    for name, listed in printed("unieval").groupby("set", sort=False):
        frame = datasets.load(str(name))
        for aspect in listed["aspect"]:
            rated = frame[frame["aspect"] == aspect]
            length = meta.baselines.length(rated["output"].tolist())
            scores = {"UniEval": rated["unieval"], "output length": length}
            # two systems, as SFRES and SFHOT have, can be ranked in no other way
            several = rated["system_id"].nunique() > 2
            for level in meta.LEVELS if several else ("dataset",):
                table = correlations.table(
                    rated,
                    scores,
                    {str(aspect): "human"},
                    coefs=["kendall-b"],
                    level=level,
                )
                place = {"set": name, "level": level}
                table = table.drop(columns="replicates", errors="ignore")
                tables.append(table.assign(**place))
    every = pd.concat(tables, ignore_index=True)
    every = every.rename(columns={"row": "judge", "column": "aspect"})
    first = ["set", "aspect", "level", "judge"]
    return every[[*first, *every.columns.drop(first)]]


COMPARED: Mapping[str, Callable[[], pd.DataFrame]] = {
    "LLMBar": llmbar,
    "AltTest": alttest,
    "JUDGE-BENCH": judge_bench,
    "LLM-Rubric": llm_rubric,
    "PandaLM": pandalm,
    "UniEval": unieval,
}
