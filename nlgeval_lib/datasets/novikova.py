"""SFRES, SFHOT and BAGEL, data-to-text: a pickle with all references each, and the original table of all three."""

from __future__ import annotations

import csv

import pandas as pd

from nlgeval_lib.datasets import fetch, frame, safe_pickle
from nlgeval_lib.datasets.frame import expect, known

TABLE = "novikova2017/emnlp_data_medians.csv"
# metrics of the original table, here in small letters after `stored_`
STORED = ("TER", "Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4", "ROUGE_L", "NIST", "LEPOR", "CIDEr", "METEOR", "sim.mr.sys")

SPECS = {
    name: known(name, f"{name}/bartscore_data.pkl", TABLE, *more)
    for name, more in {
        "sfres": ["sfres/unieval_sfres_result.json"],
        "sfhot": ["sfhot/unieval_sfhot_result.json"],
        "bagel": [],
    }.items()
}


def load(name: str) -> pd.DataFrame:
    """One of the sets in file order: outputs of 2 systems, 3 aspects, all references, stored metrics.

    `human` is the median of 3 raters, joined by row with system ids and stored metrics of the original table. Inputs
    are the distinct meaning representations; a system may have several outputs for one. `unieval` holds UniEval's
    scores of the first two sets. CoAScore's aspect Overall is BAGEL's `quality`.
    """
    spec = SPECS[name]
    records = list(safe_pickle.load(fetch.path(spec.files[0])).values())
    with open(fetch.path(TABLE), encoding="utf-8", newline="") as handle:
        table = [row for row in csv.DictReader(handle) if row["dataset"] == name.upper()]
    # the two files have no common id: output and all three ratings must agree row by row
    agree = sum(
        _letters(row["sys_ref"]) == _letters(record["sys_summ"])
        and all(float(row[aspect]) == record["scores"][aspect] for aspect in spec.scale)
        for row, record in zip(table, records, strict=True)
    )
    expect(name, "rows whose output and ratings agree with the original table", agree, len(records))
    numbers: dict[str, str] = {}
    for record in records:
        numbers.setdefault(record["src"], f"{name}-{len(numbers):03d}")
    items = {
        "input_id": [numbers[r["src"]] for r in records],
        "system_id": [row["system"] for row in table],
        "source": [r["src"] for r in records],
        "references": [tuple(r["ref_summs"]) for r in records],
        "output": [r["sys_summ"] for r in records],
        "doc_id": list(range(len(records))),
        "act": [row["mr_type"] for row in table],
        **{f"stored_{name.split('.')[0].lower()}": [float(row[name]) for row in table] for name in STORED},
    }
    per_aspect = {}
    for relpath in spec.files[2:]:
        predicted = fetch.json_file(relpath)
        agree = sum(p["system_output"] == r["sys_summ"] for p, r in zip(predicted, records, strict=True))
        expect(name, "outputs that UniEval's file has in the same order", agree, len(records))
        # UniEval's file calls the aspect `quality` of the original ratings `overall`
        per_aspect["unieval"] = [{**p["predict_scores"], "quality": p["predict_scores"]["overall"]} for p in predicted]
    return frame.build(spec, items, [r["scores"] for r in records], per_aspect=per_aspect)


def _letters(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())
