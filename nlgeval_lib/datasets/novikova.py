"""SFRES, SFHOT and BAGEL, data-to-text: a pickle with all references each, and the
original table of all three.
"""

from __future__ import annotations

import csv

import pandas as pd

from nlgeval_lib.datasets import fetch, frame, safe_pickle

TABLE = "novikova2017/emnlp_data_medians.csv"
# metrics of the original table, here in small letters after `stored_`
STORED = (
    "TER",
    "Bleu_1",
    "Bleu_2",
    "Bleu_3",
    "Bleu_4",
    "ROUGE_L",
    "NIST",
    "LEPOR",
    "CIDEr",
    "METEOR",
    "sim.mr.sys",
)

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

    `human` is the median of 3 raters, joined by row with system ids and stored metrics
    of the original table. Inputs are the distinct meaning representations; a system may
    have several outputs for one. `unieval` holds UniEval's scores of the first two
    sets. CoAScore's aspect Overall is BAGEL's `quality`.
    """
    spec = SPECS[name]
    records = list(safe_pickle.load(fetch.path(spec.files[0])).values())
    with open(fetch.path(TABLE), encoding="utf-8", newline="") as handle:
        table = [
            row for row in csv.DictReader(handle) if row["dataset"] == name.upper()
        ]
    # the two files have no common id: output and all three ratings must agree row by
    # row
    agree = sum(
        _letters(row["sys_ref"]) == _letters(record["sys_summ"])
        and all(float(row[aspect]) == record["scores"][aspect] for aspect in spec.scale)
        for row, record in zip(table, records, strict=True)
    )
    frame.expect(
        name,
        "rows whose output and ratings agree with the original table",
        agree,
        len(records),
    )
    numbers = {
        source: n
        for n, source in enumerate(dict.fromkeys(record["src"] for record in records))
    }
    rows = [
        {
            "input_id": f"{name}-{numbers[record['src']]:03d}",
            "system_id": told["system"],
            "human": record["scores"],
            "source": record["src"],
            "references": tuple(record["ref_summs"]),
            "output": record["sys_summ"],
            "doc_id": place,
            "act": told["mr_type"],
            **{
                f"stored_{metric.split('.')[0].lower()}": float(told[metric])
                for metric in STORED
            },
        }
        for place, (record, told) in enumerate(zip(records, table, strict=True))
    ]
    for relpath in spec.files[2:]:
        predicted = fetch.json_file(relpath)
        agree = sum(
            one["system_output"] == row["output"]
            for one, row in zip(predicted, rows, strict=True)
        )
        frame.expect(
            name,
            "outputs that UniEval's file has in the same order",
            agree,
            len(records),
        )
        for row, scores in zip(
            rows, (one["predict_scores"] for one in predicted), strict=True
        ):
            # UniEval's file calls the aspect `quality` of the original ratings
            # `overall`
            row["unieval"] = {**scores, "quality": scores["overall"]}
    return frame.build(spec, rows)


def _letters(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())
