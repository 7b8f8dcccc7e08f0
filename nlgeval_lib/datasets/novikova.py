"""SFRES, SFHOT and BAGEL, data-to-text: a pickle (BARTScore's) with all references
each, and the original table of all three, with system ids and stored metrics; `load`
puts them together row by row.
"""

from __future__ import annotations

import csv
from typing import Any

import pandas as pd

from nlgeval_lib.datasets import fetch, frame, safe_pickle

TABLE = "novikova2017/emnlp_data_medians.csv"
# metrics of the original table, here in small letters after `stored_`
STORED = ["TER", "Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4", "ROUGE_L", "NIST", "LEPOR"]
STORED += ["CIDEr", "METEOR", "sim.mr.sys"]

# the further files of each set: UniEval's scores
_UNIEVAL = {
    "sfres": ["sfres/unieval_sfres_result.json"],
    "sfhot": ["sfhot/unieval_sfhot_result.json"],
    "bagel": [],
}
SPECS = {
    name: frame.known(name, f"{name}/bartscore_data.pkl", TABLE, *more)
    for name, more in _UNIEVAL.items()
}


def load(name: str) -> pd.DataFrame:
    """One of the sets in file order: outputs of 2 systems, 3 aspects, all references,
    stored metrics.

    Aspects: naturalness, informativeness, quality, 1-6; `human` is the median of 3
    raters. CoAScore's aspect Overall is BAGEL's `quality`. An input is a distinct
    meaning representation (`source`); in SFRES and SFHOT a system may have several
    outputs for one. `references` are 6 to 3810 texts, some of them alike.
    Further columns: `doc_id` (the output's place in the file), `act` (the dialogue act
    of the source), `stored_...` (metrics of the original table), and for sfres and
    sfhot `unieval` (UniEval's score for the aspect).
    Raises: ValueError where the files do not fit together.
    """
    spec = SPECS[name]
    content = safe_pickle.load(fetch.path(spec.files[0]))
    records = list(content.values())
    table = _original_rows(name, records)
    sources = dict.fromkeys(record["src"] for record in records)
    ids = {source: f"{name}-{number:03d}" for number, source in enumerate(sources)}
    rows = []
    for place, (record, original) in enumerate(zip(records, table, strict=True)):
        row = {
            "input_id": ids[record["src"]],
            "system_id": original["system"],
            "human": record["scores"],
            "source": record["src"],
            "references": tuple(record["ref_summs"]),
            "output": record["sys_summ"],
            "doc_id": place,
            "act": original["mr_type"],
        }
        for metric in STORED:
            column = f"stored_{metric.split('.')[0].lower()}"
            row[column] = float(original[metric])
        rows.append(row)
    for relpath in spec.files[2:]:
        _add_unieval(name, rows, fetch.json_file(relpath))
    return frame.build(spec, rows)


def _original_rows(name: str, records: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The set's rows of the original table. The files have no common id: output and all
    ratings must agree row by row.
    """
    with open(fetch.path(TABLE), encoding="utf-8", newline="") as handle:
        every_row = list(csv.DictReader(handle))
    rows = [row for row in every_row if row["dataset"] == name.upper()]
    agreeing = 0
    for row, record in zip(rows, records, strict=True):
        scores = record["scores"]
        ratings_agree = all(
            float(row[aspect]) == scores[aspect] for aspect in SPECS[name].scale
        )
        outputs_agree = letters(row["sys_ref"]) == letters(record["sys_summ"])
        agreeing += ratings_agree and outputs_agree
    fact = "rows whose output and ratings agree with the original table"
    frame.expect(name, fact, agreeing, len(records))
    return rows


def _add_unieval(
    name: str, rows: list[dict[str, Any]], predictions: list[dict[str, Any]]
) -> None:
    """Put UniEval's scores into the rows, whose outputs they must be of."""
    agreeing = 0
    for row, prediction in zip(rows, predictions, strict=True):
        agreeing += prediction["system_output"] == row["output"]
        scores = prediction["predict_scores"]
        # UniEval's file calls the aspect `quality` of the original ratings `overall`.
        row["unieval"] = {**scores, "quality": scores["overall"]}
    fact = "outputs that UniEval's file has in the same order"
    frame.expect(name, fact, agreeing, len(rows))


def letters(text: str) -> str:
    """The letters and digits of a text, in small letters: copies of one output differ
    in blanks, marks and capitals.
    """
    return "".join(filter(str.isalnum, text.lower()))
