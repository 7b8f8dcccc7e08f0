"""Scores that other authors published, fetched only when asked for: UniEval and the
metrics of the BARTScore paper.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from nlgeval_lib.datasets import fetch, frame, novikova, safe_pickle, summeval
from nlgeval_lib.datasets.novikova import letters

UNIEVAL = "summeval/unieval_summeval_result.json"
# data set -> BARTScore's file of it, with the metrics
PICKLES = {
    name: f"{name}/bartscore_final_p.pkl"
    for name in ("summeval", "sfres", "sfhot", "bagel")
}


def field(name: str, record: Mapping[str, Any], key: str) -> Any:
    """A record's value.

    name: of the data, for the message. key: of the value.
    Raises: ValueError naming the data and what is there.
    """
    is_mapping = isinstance(record, Mapping)
    if not is_mapping or key not in record:
        content = ", ".join(map(str, record)) if is_mapping else record
        raise ValueError(
            f"{name}: a record has no {key!r}; it has {content}; the file is not of "
            "the form that the reader was written for"
        )
    return record[key]


def _number(name: str, value: Any) -> float:
    """A finite number."""
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    if not numeric or not math.isfinite(value):
        raise ValueError(f"{name}: {value!r} is no score")
    return float(value)


def _unieval() -> pd.DataFrame:
    """UniEval's score of each output of SummEval and aspect: 1600 x 4.

    Source: Zhong et al. 2022, Towards a Unified Multi-Dimensional Evaluator for Text
    Generation.
    """
    name = "unieval_summeval"
    # (source, output) -> the ids of all outputs that read so
    places: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for input_id, document in safe_pickle.load(fetch.path(summeval.PICKLE)).items():
        for system, summary in document["sys_summs"].items():
            texts = (letters(document["src"]), letters(summary["sys_summ"]))
            places.setdefault(texts, []).append((input_id, system))
    records = fetch.json_file(UNIEVAL)
    rows = []
    for record in records:
        source = letters(str(field(name, record, "source")))
        output = letters(str(field(name, record, "system_output")))
        remaining = places.get((source, output))
        if not remaining:
            raise ValueError(f"{name}: SummEval has no such output: {output[:60]!r}...")
        place = remaining.pop(0)
        predicted = field(name, record, "predict_scores")
        for aspect in summeval.SPEC.scale:
            value = _number(name, field(name, predicted, aspect))
            rows.append((*place, aspect, value))
    frame.expect(name, "outputs of SummEval", len(records), summeval.SPEC.n_items)
    columns = ["input_id", "system_id", "aspect", "value"]
    scores = pd.DataFrame(rows, columns=columns)
    return scores.assign(
        dataset="summeval", judge="UniEval", prompt_form="published", draw=0
    )


def _metrics(name: str) -> pd.DataFrame:
    """What metrics say of each output: `judge` is the metric's name in the file.

    name: the data set. One value holds for all aspects, and stands with each. The
    pickle is the data set's own with more names beside the ratings; texts and ratings
    of both must be the same.
    Raises: ValueError where they differ, or no metric is there.
    Source: Yuan et al. 2021, BARTScore.
    """
    label = f"bartscore_{name}"
    rows = []
    for ids, rated, output in _rated_outputs(name, label):
        text = field(label, output, "sys_summ")
        frame.expect(label, "an output", text, rated["sys_summ"])
        scores = field(label, output, "scores")
        ratings = rated["scores"]
        for aspect, rating in ratings.items():
            frame.expect(label, "a rating", field(label, scores, aspect), rating)
        # Whatever stands beside the ratings is a metric.
        for metric, score in scores.items():
            if metric in ratings:
                continue
            value = _number(label, score)
            for aspect in ratings:
                rows.append((*ids, aspect, value, metric))
    if not rows:
        raise ValueError(f"{label}: no metric stands beside the ratings")
    columns = ["input_id", "system_id", "doc_id", "aspect", "value", "judge"]
    values = pd.DataFrame(rows, columns=columns)
    if name == "summeval":
        values = values.drop(columns="doc_id")
    # SFRES and SFHOT have several outputs of a system for one input: they are its
    # draws.
    places = values.groupby(["judge", "aspect", "system_id", "input_id"], sort=False)
    return values.assign(dataset=name, prompt_form="metric", draw=places.cumcount())


def _rated_outputs(name: str, label: str) -> list[tuple[tuple, Any, Any]]:
    """Every output of a pickle."""
    content = safe_pickle.load(fetch.path(PICKLES[name]), numbers=True)
    rated = safe_pickle.load(fetch.path(_RATED[name]))
    frame.expect(label, "inputs in the order of the data set", [*content], [*rated])
    if name != "summeval":
        outputs = novikova.load(name).drop_duplicates("doc_id")
        ids = outputs[["input_id", "system_id", "doc_id"]].itertuples(
            index=False, name=None
        )
        return list(zip(ids, rated.values(), content.values(), strict=True))
    of_summeval = []
    for input_id, document in rated.items():
        summaries = field(label, content[input_id], "sys_summs")
        for system, summary in summaries.items():
            rated_summary = document["sys_summs"][system]
            of_summeval.append(((input_id, system, 0), rated_summary, summary))
    return of_summeval


# data set -> the file of its texts and ratings, of the same form as PICKLES
_RATED = {name: f"{name}/bartscore_data.pkl" for name in PICKLES}
FILES: dict[str, tuple[str, ...]] = {
    "unieval_summeval": (UNIEVAL, summeval.PICKLE),
    "bartscore_summeval": (PICKLES["summeval"], _RATED["summeval"]),
    **{
        f"bartscore_{name}": (PICKLES[name], *novikova.SPECS[name].files)
        for name in ("sfres", "sfhot", "bagel")
    },
}
READERS: dict[str, Callable[..., pd.DataFrame]] = {
    "unieval_summeval": _unieval,
    **{f"bartscore_{name}": functools.partial(_metrics, name) for name in PICKLES},
}
