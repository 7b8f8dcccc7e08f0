"""Try the choices that the papers leave open on public data: how many printed cells of
lexical metrics come out with each alternative.

    python tools/assumed_trials.py            show each trial as it is done
    python tools/assumed_trials.py --write    and write data/assumed_trials.csv

A trial takes a table's metrics and outputs as its notebook does, and changes one thing.
`TRIALS` has a function for each choice of `data/assumed.csv`; each gives its
alternatives by name, the one that is taken first, with what `papers.compare` is given.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.evaluators import Bleu, Meteor, Rouge
from nlgeval_lib.scoring import correlations
from reproduction import papers
from reproduction.study import criteria_scores, judged_rows
from reproduction.study.judged_rows import Part

# an alternative's name, and our cells of some printed tables
Alternative = tuple[str, Mapping[str, pd.DataFrame]]
SUMMEVAL = ("coherence", "consistency", "fluency", "relevance")
DIALOGUE = ("naturalness", "coherence", "engagingness", "groundedness")
WEBNLG = ("correctness", "data_coverage", "fluency", "relevance", "text_structure")
# TIGERScore's tables: the statistic that each prints
TIGERSCORE = {
    "table_04": "kendall-b",
    "table_25": "pearson",
    "table_26": "spearman",
}
ALL_COEFFICIENTS = ("pearson", "spearman", "kendall-b")


def coascore_metrics(empty: str = "zero") -> dict[str, Any]:
    """The lexical rows of CoAScore's tables.

    empty: what an empty output scores.
    """
    first = dict(multi="first", empty=empty)
    return {
        "BLEU": Bleu(**first),
        "ROUGE": Rouge("rougeL", **first),
        "METEOR": Meteor(tokenize="blank", rematch=True, **first),
    }


def hdeval_metrics() -> dict[str, Any]:
    """The lexical rows of HD-Eval's tables, against the first reference."""
    return {
        f"ROUGE-{name}": Rouge(f"rouge{name}", package="rouge")
        for name in ("1", "2", "L")
    }


# (signature of a metric, hash of the outputs) -> its values
_SCORES: dict[tuple[str, int], pd.Series] = {}


def scored(
    parts: Mapping[str, Part], metrics: Mapping[str, Any]
) -> dict[str, dict[str, pd.Series]]:
    """What metrics say of each part, as `judged_rows.scored`; the same outputs are
    scored once.
    """
    scores: dict[str, dict[str, pd.Series]] = {}
    for name, part in parts.items():
        scores[name] = {}
        outputs = part.items[["input_id", "system_id", "output"]]
        outputs_hash = int(pd.util.hash_pandas_object(outputs).sum())
        for row, metric in metrics.items():
            key = (metric.signature(), outputs_hash)
            if key not in _SCORES:
                _SCORES[key] = metric.score(part.items)["value"]
            scores[name][row] = _SCORES[key]
    return scores


def cells(
    parts: Mapping[str, Part],
    metrics: Mapping[str, Any],
    coefs: Sequence[str] = ALL_COEFFICIENTS,
    **options: Any,
) -> pd.DataFrame:
    """Our cells of a table, without intervals.

    options: of the correlations.
    """
    scores = scored(parts, metrics)
    table = judged_rows.correlated(parts, scores, ci=None, coefs=coefs, **options)
    return correlations.cells(judged_rows.averaged(parts, table))


def dialogues() -> pd.DataFrame:
    """The outputs of Topical-Chat but for the references' own."""
    return judged_rows.outputs("topical_chat", ground_truth=False)


def rated_by(items: pd.DataFrame, raters: Sequence[str]) -> pd.DataFrame:
    """SummEval's outputs, rated by the mean of some raters."""
    rated = items.copy()
    for aspect in SUMMEVAL:
        columns = [f"rater_{rater}_{aspect}" for rater in raters]
        rated[f"human_{aspect}"] = items[columns].mean(axis=1)
    return rated


# -- the choices


def coascore_kendall() -> Iterator[Alternative]:
    items = judged_rows.outputs("summeval")
    parts = {"summeval": Part(items, {aspect: aspect for aspect in SUMMEVAL})}
    for coef in ("kendall-b", "kendall-a", "kendall-c"):
        yield (
            f"tau-{coef[-1]}",
            {"table_12": cells(parts, coascore_metrics(), [coef])},
        )


def tigerscore_kendall() -> Iterator[Alternative]:
    for coef in ("kendall-b", "kendall-a", "kendall-c"):
        ours = tigerscore_cells(story_part(), coefs={"table_04": coef})
        yield f"tau-{coef[-1]}", ours


def hdeval_level() -> Iterator[Alternative]:
    columns = {aspect: aspect for aspect in DIALOGUE}
    parts = {"topical_chat": Part(dialogues(), columns)}
    for level in ("dataset", "input", "system"):
        ours = cells(parts, hdeval_metrics(), ("pearson", "spearman"), level=level)
        yield level, {"table_02": ours}


def tigerscore_level() -> Iterator[Alternative]:
    for level in ("dataset", "input", "system"):
        yield level, tigerscore_cells(story_part(), level=level)


RATERS = {
    "three experts": ("expert_0", "expert_1", "expert_2"),
    "the first expert": ("expert_0",),
    "five crowd workers": tuple(f"crowd_{number}" for number in range(5)),
    "all eight": (
        *(f"expert_{number}" for number in range(3)),
        *(f"crowd_{number}" for number in range(5)),
    ),
}


def coascore_gold() -> Iterator[Alternative]:
    items = judged_rows.outputs("summeval")
    columns = {aspect: aspect for aspect in SUMMEVAL}
    for name, raters in RATERS.items():
        parts = {"summeval": Part(rated_by(items, raters), columns)}
        yield name, {"table_12": cells(parts, coascore_metrics())}


def summeval_half() -> pd.DataFrame:
    """The outputs of SummEval that HD-Eval tests on."""
    items = judged_rows.outputs("summeval")
    test = criteria_scores.test_half(len(items), seed=42)
    return items.iloc[test].reset_index(drop=True)


def hdeval_gold() -> Iterator[Alternative]:
    columns = {aspect: aspect for aspect in SUMMEVAL}
    for name, raters in RATERS.items():
        parts = {"summeval": Part(rated_by(summeval_half(), raters), columns)}
        ours = cells(parts, hdeval_metrics(), ("pearson", "spearman"))
        yield name, {"table_01": ours}


def coascore_aspects() -> Iterator[Alternative]:
    fixed = {"natural": "naturalness", "understandable": "understandability"}
    for name, interest, context in (
        ("engagingness, coherence", "engagingness", "coherence"),
        ("coherence, engagingness", "coherence", "engagingness"),
        ("engagingness, groundedness", "engagingness", "groundedness"),
        ("groundedness, coherence", "groundedness", "coherence"),
    ):
        columns = fixed | {"interest": interest, "context": context}
        parts = {"topical_chat": Part(dialogues(), columns)}
        ours = cells(parts, coascore_metrics())
        ours = ours[ours["column"].isin(["interest", "context"])]
        is_spearman = ours["statistic"] == "spearman"
        yield name, {"table_04": ours[is_spearman], "table_13": ours[~is_spearman]}


def coascore_bagel() -> Iterator[Alternative]:
    items = judged_rows.outputs("bagel")
    rated = ["human_quality", "human_informativeness", "human_naturalness"]
    items = items.assign(human_mean=items[rated].mean(axis=1))
    for aspect in ("quality", "informativeness", "naturalness", "mean"):
        parts = {"bagel": Part(items, {"BAGEL": aspect})}
        yield aspect, {"table_02": cells(parts, coascore_metrics())}


def coascore_empty() -> Iterator[Alternative]:
    sets = {"openmeva": ("OpenMEVA", "overall"), "bagel": ("BAGEL", "quality")}
    for name, empty in {"0": "zero", "left out": "nan"}.items():
        parts = {}
        for data, (column, aspect) in sets.items():
            parts[data] = Part(judged_rows.outputs(data), {column: aspect})
        yield name, {"table_02": cells(parts, coascore_metrics(empty))}


# -- TIGERScore: BLEU and ROUGE-2f, three tables


def tigerscore_metrics(task: str) -> dict[str, Any]:
    """BLEU and ROUGE-2f of a task, with the references that its notebook takes."""
    bleu = {"Summ": "first", "D2T": "joint"}.get(task)
    rouge = {"Summ": "mean", "D2T": "max"}.get(task)
    return {
        "BLEU": Bleu(multi=bleu, empty="zero"),
        "ROUGE-2f": Rouge("rouge2", stemmer=True, multi=rouge, empty="zero"),
    }


def tigerscore_cells(
    parts: Mapping[str, Part],
    coefs: Mapping[str, str] = TIGERSCORE,
    **options: Any,
) -> dict[str, pd.DataFrame]:
    """Our cells of Tables 4, 25 and 26, times 100.

    parts: of one task, by its name.
    coefs: the coefficient of each table.
    options: of the correlations.
    """
    (task,) = parts
    metrics = tigerscore_metrics(task)
    scores = scored(parts, metrics)
    tables = {}
    for table, coef in coefs.items():
        ours = judged_rows.correlated(
            parts, scores, ci=None, coefs=[coef], scale=100, **options
        )
        tables[table] = correlations.cells(judged_rows.averaged(parts, ours))
    return tables


def story_part() -> dict[str, Part]:
    """The stories: one rating each, no output without one."""
    return {
        "Story-Gen": Part.from_aspects(
            "Story-Gen", judged_rows.outputs("openmeva"), ["overall"]
        )
    }


def tigerscore_aspects() -> Iterator[Alternative]:
    items = judged_rows.outputs("webnlg2020")
    rated = [f"human_{aspect}" for aspect in WEBNLG]
    items = items.assign(human_mean=items[rated].mean(axis=1))
    one_by_one = Part.from_aspects("D2T", items, WEBNLG, digits=2)
    yield "one by one", tigerscore_cells({"D2T": one_by_one})
    yield (
        "one rating",
        tigerscore_cells({"D2T": Part.from_aspects("D2T", items, ["mean"])}),
    )


def semscore_rouge() -> Iterator[Alternative]:
    # Texts of the printed shape: seven words each, one shared.
    target = "ta shared tc td te tf tg."
    response = "ra rb shared rd re rf rg."
    for name, metric in {
        "rouge_score": Rouge("rougeL"),
        "stemmed": Rouge("rougeL", stemmer=True),
        "package rouge": Rouge("rougeL", package="rouge"),
    }.items():
        value = metric.score([response], [target])["value"][0]
        key = dict(row="example", column="ROUGE-L", statistic="score")
        yield name, {"table_01": pd.DataFrame([key | {"value": value}])}


# paper and choice, as in data/assumed.csv -> its alternatives
TRIALS: Mapping[tuple[str, str], Callable[[], Iterator[Alternative]]] = {
    ("semscore", "variant of ROUGE-L (Table 1)"): semscore_rouge,
    ("tigerscore", "variant of Kendall's tau"): tigerscore_kendall,
    ("tigerscore", "level of the correlations"): tigerscore_level,
    ("hdeval", "level of the correlations"): hdeval_level,
    ("coascore", "aspects behind interest and context"): coascore_aspects,
    ("coascore", "rating of BAGEL"): coascore_bagel,
    ("coascore", "score of an empty output"): coascore_empty,
    ("hdeval", "gold of SummEval"): hdeval_gold,
    ("tigerscore", "ratings of data-to-text"): tigerscore_aspects,
    ("coascore", "variant of Kendall's tau"): coascore_kendall,
    ("coascore", "gold of SummEval"): coascore_gold,
}


def trial(paper: str, choice: str) -> pd.DataFrame:
    """The printed cells that each alternative of a choice gives.

    Returns: `paper, choice, alternative, equal, of`, the alternative that is taken
    first; equal by `papers.compare`, the paper's own rounding included.
    """
    rows = []
    for alternative, tables in TRIALS[paper, choice]():
        equal = 0
        compared = 0
        for table, ours in tables.items():
            beside = papers.compare(paper, table, ours.assign(route="public"))
            beside = beside[beside["ours"].notna()]
            equal += int((beside["verdict"] == "equal").sum())
            compared += len(beside)
        rows.append((paper, choice, alternative, equal, compared))
    return pd.DataFrame(rows, columns=["paper", "choice", "alternative", "equal", "of"])


def in_words(trials: pd.DataFrame) -> str:
    """What each alternative of one choice wins, as `data/assumed.csv` has it."""
    texts = []
    for row in trials.itertuples():
        texts.append(f"{row.alternative}: {row.equal} of {row.of}")
    return "; ".join(texts)


def main() -> None:
    """Do the trials, show what each wins, and write them where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    tables = []
    for paper, choice in TRIALS:
        table = trial(paper, choice)
        print(f"{paper}, {choice}: {in_words(table)}", flush=True)
        tables.append(table)
        if write:
            path = files.data() / "assumed_trials.csv"
            pd.concat(tables).to_csv(path, index=False)


if __name__ == "__main__":
    main()
