"""Scores and answers that other authors published, fetched only when asked for: UniEval
and the metrics of the BARTScore paper, G-Eval's answers, GPT-4's reviews of FLASK.

The form is known of files beside them (UniEval, BARTScore) and of the programs that
wrote them (G-Eval, FLASK). A file of another form is refused, never guessed at. No
reader is written for TIGERScore's LF-QA and Instruct files: whether ratings are in
them, and under which name, is not known.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from nlgeval_lib.datasets import fetch, frame, novikova, safe_pickle, summeval

UNIEVAL = "summeval/unieval_summeval_result.json"
PICKLES = {
    name: f"{name}/bartscore_final_p.pkl"
    for name in ("summeval", "sfres", "sfhot", "bagel")
}
GEVAL = {
    aspect: f"geval/gpt4_{aspect[:3]}_detailed.json" for aspect in summeval.SPEC.scale
}
DRAWS = 20
REVIEWS = "flask/chatgpt_review.jsonl"


def field(name: str, record: Mapping[str, Any], key: str) -> Any:
    """A record's value. Raises: ValueError naming the data and what is there."""
    if not isinstance(record, Mapping) or key not in record:
        there = ", ".join(map(str, record)) if isinstance(record, Mapping) else record
        raise ValueError(
            f"{name}: a record has no {key!r}; it has {there}; the file is not of the "
            "form that the reader was written for"
        )
    return record[key]


def _number(name: str, value: Any) -> float:
    """A finite number. Raises: ValueError for anything else."""
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    if not numeric or not math.isfinite(value):
        raise ValueError(f"{name}: {value!r} is no score")
    return float(value)


# -- which output of SummEval a record is about


def _by_text(name: str) -> Callable[[Mapping[str, Any], int], tuple[str, str]]:
    """Ids of a record of SummEval, found by its source and output; where several systems
    wrote the same about one article, they are taken in the order of the file.
    """
    documents = safe_pickle.load(fetch.path(summeval.PICKLE))
    places: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for input_id, document in documents.items():
        for system, summary in document["sys_summs"].items():
            key = (_letters(document["src"]), _letters(summary["sys_summ"]))
            places.setdefault(key, []).append((input_id, system))

    def find(record: Mapping[str, Any], seen: int) -> tuple[str, str]:
        source = _letters(str(field(name, record, "source")))
        output = _letters(str(field(name, record, "system_output")))
        there = places.get((source, output), [])
        if seen >= len(there):
            raise ValueError(f"{name}: SummEval has no such output: {output[:60]!r}...")
        return there[seen]

    return find


def _letters(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def _placed(
    name: str, records: Iterable[Mapping[str, Any]]
) -> list[tuple[tuple[str, str], Mapping[str, Any]]]:
    """Each record with the ids of its output; every output of SummEval once.

    Raises: ValueError where one is lacking or not known.
    """
    find = _by_text(name)
    seen: dict[tuple[str, str], int] = {}
    placed = []
    for record in records:
        texts = (
            _letters(str(field(name, record, "source"))),
            _letters(str(field(name, record, "system_output"))),
        )
        placed.append((find(record, seen.get(texts, 0)), record))
        seen[texts] = seen.get(texts, 0) + 1
    frame.expect(name, "outputs of SummEval", len(placed), summeval.SPEC.n_items)
    return placed


# -- the readers


def _unieval() -> pd.DataFrame:
    """UniEval's score of each output of SummEval and aspect."""
    name = "unieval_summeval"
    rows = []
    for (input_id, system), record in _placed(name, fetch.json_file(UNIEVAL)):
        predicted = field(name, record, "predict_scores")
        for aspect in summeval.SPEC.scale:
            value = _number(name, field(name, predicted, aspect))
            rows.append((input_id, system, aspect, value))
    return _tidy(rows, "summeval", judge="UniEval")


def _geval() -> pd.DataFrame:
    """GPT-4's answers to G-Eval's prompts: 20 draws an output and aspect, raw."""
    name = "geval_summeval"
    rows = []
    for aspect, relpath in GEVAL.items():
        for (input_id, system), record in _placed(name, fetch.json_file(relpath)):
            texts = field(name, record, "all_responses")
            frame.expect(name, "draws of an output", len(texts), DRAWS)
            for draw, text in enumerate(texts):
                rows.append((input_id, system, aspect, draw, str(text)))
    columns = ["input_id", "system_id", "aspect", "draw", "text"]
    found = pd.DataFrame(rows, columns=columns)
    return found.assign(dataset="summeval", judge="gpt-4", prompt_form="geval_detailed")


def _metrics(name: str) -> pd.DataFrame:
    """What metrics say of each output: `judge` is the metric's name in the file; one
    value holds for all aspects, and stands with each.

    The pickle is the data set's own with more names beside the ratings; texts and
    ratings of both must be the same.
    """
    label = f"bartscore_{name}"
    content = safe_pickle.load(fetch.path(PICKLES[name]), numbers=True)
    own = safe_pickle.load(fetch.path(f"{name}/bartscore_data.pkl"))
    frame.expect(label, "inputs in the order of the data set", [*content], [*own])
    if name == "summeval":
        outputs = [
            ((input_id, system, 0), own[input_id]["sys_summs"][system], summary)
            for input_id in own
            for system, summary in field(label, content[input_id], "sys_summs").items()
        ]
    else:
        keys = novikova.load(name).drop_duplicates("doc_id")
        ids = keys[["input_id", "system_id", "doc_id"]].itertuples(
            index=False, name=None
        )
        outputs = list(zip(ids, own.values(), content.values(), strict=True))
    rows = []
    for ids_of, known, output in outputs:
        text = field(label, output, "sys_summ")
        frame.expect(label, "an output", text, known["sys_summ"])
        scores = field(label, output, "scores")
        for aspect, rating in known["scores"].items():
            frame.expect(label, "a rating", field(label, scores, aspect), rating)
        for metric in [one for one in scores if one not in known["scores"]]:
            value = _number(label, scores[metric])
            for aspect in known["scores"]:
                rows.append((*ids_of, aspect, value, metric))
    if not rows:
        raise ValueError(f"{label}: no metric stands beside the ratings")
    columns = ["input_id", "system_id", "doc_id", "aspect", "value", "judge"]
    found = pd.DataFrame(rows, columns=columns)
    if name == "summeval":
        found = found.drop(columns="doc_id")
    places = found.groupby(["judge", "aspect", "system_id", "input_id"], sort=False)
    return found.assign(dataset=name, prompt_form="metric", draw=places.cumcount())


def _reviews() -> pd.DataFrame:
    """GPT-4's reviews of ChatGPT's answers: a row a question and skill; the review's
    whole text, and the score that its authors read from it (NaN for "N/A").
    """
    name = "flask_reviews"
    rows = []
    for record in fetch.json_lines(REVIEWS):
        question = f"flask-{field(name, record, 'question_id')}"
        text = str(field(name, record, "review"))
        for skill, value in field(name, record, "score").items():
            read = math.nan if value == "N/A" else _number(name, value)
            rows.append((question, "chatgpt", str(skill), read, text))
    columns = ["input_id", "system_id", "aspect", "value", "text"]
    found = pd.DataFrame(rows, columns=columns)
    return found.assign(
        dataset="flask", judge="gpt-4-0613", prompt_form="flask", draw=0
    )


def _tidy(rows: list[tuple], dataset: str, judge: str) -> pd.DataFrame:
    columns = ["input_id", "system_id", "aspect", "value"]
    found = pd.DataFrame(rows, columns=columns)
    return found.assign(dataset=dataset, judge=judge, prompt_form="published", draw=0)


_OWN = {name: f"{name}/bartscore_data.pkl" for name in PICKLES}
FILES: dict[str, tuple[str, ...]] = {
    "unieval_summeval": (UNIEVAL, summeval.PICKLE),
    "bartscore_summeval": (PICKLES["summeval"], _OWN["summeval"]),
    **{
        f"bartscore_{name}": (PICKLES[name], *novikova.SPECS[name].files)
        for name in ("sfres", "sfhot", "bagel")
    },
    "geval_summeval": (*GEVAL.values(), summeval.PICKLE),
    "flask_reviews": (REVIEWS,),
}
READERS: dict[str, Callable[..., pd.DataFrame]] = {
    "unieval_summeval": _unieval,
    **{f"bartscore_{name}": functools.partial(_metrics, name) for name in PICKLES},
    "geval_summeval": _geval,
    "flask_reviews": _reviews,
}
