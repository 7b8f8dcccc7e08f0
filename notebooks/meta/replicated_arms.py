"""The arms that claims are asked of again: scores of each design, by judge.

`arms` gives the scores of one design and judge as a `replication.Arms`. A design is
an output of the catalogue that asks judges (its arms are the judges' names there), or
one of the others below, which make their arms from scores: HD-Eval's aggregators, the
metrics of SemScore's eight public systems, and judges whose answers others published.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from judgecard import recorded_judges
from nlgeval_lib import datasets
from nlgeval_lib.evaluators import BertScore, Bleu, Rouge, SemScore
from reproduction import papers
from reproduction.study import (
    aspect_scores,
    catalogue,
    criteria_scores,
    judge_scores,
    replication,
    saved_judges,
)
from reproduction.study.replication import OUTPUT, Arms

# What a design's judges are, where they are not those that were asked here.
CLOSER_LOOK = "acloserlook"
ALT_TEST = "alttest_summeval"
SEMSCORE = "semscore_table_02"
HDEVAL = "hdeval_table_02"
# The aggregators as the claims call them: arguments of `criteria_scores.predicted`.
AGGREGATORS: Mapping[str, Mapping[str, Any]] = {
    "HD-Eval-NN": {"kind": "mlp"},
    "HD-Eval-RF": {"kind": "rf"},
    "HD-Eval-LR": {"kind": "lr"},
    "HD-Eval-DT": {"kind": "dt"},
    "HD-Eval-NN, 25 % of the data": {"kind": "mlp", "share": 0.5},
    "HD-Eval-RF, 25 % of the data": {"kind": "rf", "share": 0.5},
    "HD-Eval-NN, 5 % of the data": {"kind": "mlp", "share": 0.1},
    "HD-Eval-RF, 5 % of the data": {"kind": "rf", "share": 0.1},
    "HD-Eval-NN, layers 1 and 2": {"kind": "mlp", "up_to": 2},
    "HD-Eval-NN, layer 1": {"kind": "mlp", "up_to": 1},
}
AVERAGE = "plain average"
DIRECT = "asked directly"
SEED = 42  # of the split that the paper's own rows come from
STAND_IN = "all-MiniLM-L6-v2"  # the small encoder, in the place of BERTScore's own


@functools.cache
def judges_of(design: str) -> list[str]:
    """The judges that answered a design: names that `arms` takes."""
    if design == CLOSER_LOOK:
        return ["gpt-3.5-turbo-0613"]
    if design == ALT_TEST:
        items = datasets.items(datasets.load("summeval"))
        return list(recorded_judges.scores(items, ALT_TEST))
    if design == SEMSCORE:
        return ["all-mpnet-base-v2", STAND_IN]
    output, _, settings = design.partition("|")
    asked = set()
    for question in catalogue.load().questions_of(output):
        asked.add(saved_judges.key(question.judge.id, settings.split()))
    answered = []
    for model in saved_judges.models():
        if asked & set(model.judges):
            answered.append(model.name)
    return answered


def arms(design: str, judge: str, mode: str = "full") -> Arms:
    """The scores of a design's arms by one judge. mode: "quick" takes 20 inputs."""
    if design == CLOSER_LOOK:
        return _prompt_forms(mode)
    if design == ALT_TEST:
        return _four_aspects(judge, mode)
    if design == SEMSCORE:
        return _metrics(judge, mode)
    if design == HDEVAL:
        return _hdeval(judge, mode)
    return replication.of_questions(design, judge, mode)


def level(design: str) -> str:
    """The level of a design's correlations."""
    return "system" if design == SEMSCORE else "dataset"


def label(judge: str) -> str:
    """A judge's name in tables."""
    names = {model.name: model.label for model in saved_judges.models()}
    return names.get(judge, judge.replace("_", "-"))


def _hdeval(judge: str, mode: str) -> Arms:
    """HD-Eval on Topical-Chat: the aggregators on the test half, a plain average of the
    criteria, and the judge asked directly.
    """
    options = {"engine": "saved", "model": judge, "mode": mode}
    criteria_of = judge_scores(HDEVAL, "topical_chat", **options)
    direct = judge_scores(HDEVAL, "GPT-4 Eval, topical_chat", **options)
    if not criteria_of.available:
        why = dict.fromkeys([*AGGREGATORS, AVERAGE, DIRECT], criteria_of.why)
        return Arms(pd.DataFrame(), {}, {}, why, {})
    criteria = criteria_scores.of_judge("topical_chat", criteria_of)
    test = criteria.test_rows("row", SEED)
    items = criteria.items.iloc[test].reset_index(drop=True)
    scores = _aggregated(criteria, test, tuple(AGGREGATORS))
    signatures = dict.fromkeys(scores, criteria_of.signature)
    why = {}
    if direct.available:
        places = pd.MultiIndex.from_frame(items[OUTPUT])
        scores[DIRECT] = replication.wide(direct.frame, "value", places)
        signatures[DIRECT] = direct.signature
    else:
        why[DIRECT] = direct.why
    return Arms(items, _ratings(criteria, test), scores, why, signatures)


def _ratings(
    criteria: criteria_scores.CriteriaScores, rows: np.ndarray
) -> dict[str, np.ndarray]:
    """The ratings of the test rows, by aspect."""
    return {target: criteria.Y[target].to_numpy()[rows] for target in criteria.Y}


def _aggregated(
    criteria: criteria_scores.CriteriaScores,
    test: np.ndarray,
    names: Sequence[str],
) -> dict[str, dict[str, np.ndarray]]:
    """What these aggregators predict for the test rows, and the plain average."""
    scores = {}
    for name in names:
        settings = AGGREGATORS[name]
        scores[name] = criteria_scores.predicted(criteria, test, seed=SEED, **settings)
    mean = criteria.X.mean(axis=1).to_numpy()[test]
    scores[AVERAGE] = dict.fromkeys(criteria.Y, mean)
    return scores


def _four_aspects(judge: str, mode: str) -> Arms:
    """A recorded judge's scores of SummEval's four aspects in the place of criteria."""
    inputs = catalogue.QUICK_INPUTS if mode == "quick" else None
    recorded = criteria_scores.recorded("summeval", inputs)
    columns = [name for name in recorded.X if name.startswith(f"{judge} ")]
    own = {}
    for aspect in recorded.Y:
        own[aspect] = (f"{judge} {aspect}",)
    criteria = criteria_scores.CriteriaScores(
        recorded.name,
        recorded.label,
        recorded.items,
        recorded.X[columns],
        recorded.Y,
        own,
        recorded.groups,
        f"{judge}'s scores of four aspects",
    )
    test = criteria.test_rows("row", SEED)
    scores = _aggregated(criteria, test, ("HD-Eval-NN", "HD-Eval-RF", "HD-Eval-LR"))
    scores[DIRECT] = {}
    for aspect, names in own.items():
        scores[DIRECT][aspect] = criteria.X[list(names)].to_numpy()[test, 0]
    items = criteria.items.iloc[test].reset_index(drop=True)
    signature = f"recorded:{ALT_TEST}|judge:{judge}|features:four aspects"
    signatures = dict.fromkeys(scores, signature)
    return Arms(items, _ratings(criteria, test), scores, {}, signatures)


def _prompt_forms(mode: str) -> Arms:
    """gpt-3.5-turbo-0613 under the prompt forms of A Closer Look, on Topical-Chat."""
    frame = datasets.load("topical_chat", ground_truth=False)
    if mode == "quick":
        frame = datasets.quick(frame, catalogue.QUICK_INPUTS)
    items = datasets.items(frame)
    human = {}
    for aspect in aspect_scores.CHAT_SCALES:
        human[aspect] = items[f"human_{aspect}"].to_numpy(float)
    forms = ("llm_eval_no_cot", "analyze_rate", "rate_explain", "geval")
    forms += ("geval_no_auto_cot",)
    scores = {form: aspect_scores.chat_scores(items, form) for form in forms}
    signatures = {form: f"recorded:{CLOSER_LOOK}|prompt:{form}" for form in forms}
    return Arms(items, human, scores, {}, signatures)


# -- SemScore's eight public systems


def _metrics(encoder: str, mode: str) -> Arms:
    """Metrics of the eight public systems of SemScore's Table 2, and the ranks that
    people gave these systems (the best system has the highest value).
    """
    frame = datasets.load("self_instruct")
    if mode == "quick":
        frame = datasets.quick(frame, catalogue.QUICK_INPUTS)
    items = datasets.items(frame)
    metrics: dict[str, Callable[[], Any]] = {
        "SemScore": lambda: SemScore(model=encoder, empty="zero"),
        "BERTScore (MiniLM)": lambda: BertScore(model=STAND_IN, empty="zero"),
        "ROUGE-L": lambda: Rouge("rougeL", empty="zero"),
        "BLEU": lambda: Bleu(empty="zero"),
    }
    scores = {}
    signatures = {}
    for name, make in metrics.items():
        metric = make()
        values = metric.score(items)["value"]
        scores[name] = {"overall": values.to_numpy(float)}
        signatures[name] = metric.signature()
    printed = papers.load("semscore", "table_02")
    ranks = printed[printed["column"] == "Human"].set_index("row")["number"]
    human = -items["system_id"].map(PRINTED_SYSTEMS).map(ranks).astype(float)
    return Arms(items, {"overall": human.to_numpy()}, scores, {}, signatures)


PRINTED_SYSTEMS = {  # system in the public data: model in SemScore's Table 2
    "text-davinci-003": "text-davinci-003",
    "text-davinci-002": "text-davinci-002",
    "text-davinci-001": "text-davinci-001",
    "davinci-self-instruct": "GPT-3Self-Inst",
    "davinci-self-instruct-and-superni-ft": "GPT-3Self-Inst+SuperNI",
    "davinci-superni-ft": "GPT-3+SuperNI",
    "davinci-t0-ft": "GPT-3+T0",
    "davinci": "Vanilla GPT-3",
}


# -- how far a judge varies


def spreads(judge: str) -> list[dict[str, Any]]:
    """How one-sided the scores of each question are that a judge answered: a row a
    question, with coverage, the share of its commonest value, and of a chain of aspects
    the correlation of its score with their mean.
    """
    rows = []
    seen = set()
    for question in catalogue.load().questions:
        asked = saved_judges.model(judge).judges.get(question.judge.id)
        if asked is None or asked["rows"] in seen or asked["criteria"]:
            continue
        seen.add(asked["rows"])
        answers = saved_judges.scores(question, judge)
        values = answers.frame["value"]
        shares = values.value_counts(normalize=True)
        means = [details.get("chain_mean") for details in answers.frame["details"]]
        means = pd.Series(means, dtype=float)
        with_mean = np.nan
        if means.notna().sum() > 2 and values.std() > 0 and means.std() > 0:
            with_mean = values.corr(means)
        rows.append(
            {
                "asked": asked["rows"],
                "scored": answers.coverage,
                "commonest score": shares.index[0] if len(shares) else np.nan,
                "its share": shares.iloc[0] if len(shares) else np.nan,
                "r with the mean of its aspects": with_mean,
            }
        )
    return rows
