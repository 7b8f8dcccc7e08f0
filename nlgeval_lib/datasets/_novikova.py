"""What the three data-to-text sets of Novikova et al. share: a pickle with all references, and the original table."""

from __future__ import annotations

import csv

import pandas as pd

from nlgeval_lib.datasets import _read, fetch, frame, safe_pickle
from nlgeval_lib.datasets.specs import Spec, expect

TABLE = "novikova2017/emnlp_data_medians.csv"
SCALE = {aspect: (1, 6) for aspect in ("naturalness", "informativeness", "quality")}
SOURCE = "Novikova et al. 2017, Why We Need New Evaluation Metrics for NLG"
NOTES = (
    "human: median of 3 raters, joined with system ids and stored metrics of the original table by row",
    "inputs are the distinct meaning representations; a system may have several outputs for one",
)
# column of the original table -> column here
STORED = {
    "TER": "stored_ter",
    "Bleu_1": "stored_bleu_1",
    "Bleu_2": "stored_bleu_2",
    "Bleu_3": "stored_bleu_3",
    "Bleu_4": "stored_bleu_4",
    "ROUGE_L": "stored_rouge_l",
    "NIST": "stored_nist",
    "LEPOR": "stored_lepor",
    "CIDEr": "stored_cider",
    "METEOR": "stored_meteor",
    "sim.mr.sys": "stored_sim",
}


def load(spec: Spec, prefix: str, unieval_file: str | None = None) -> pd.DataFrame:
    """The long frame of one of the three sets; `prefix` names its rows in the original table and its input ids."""
    pickle = f"{spec.name}/bartscore_data.pkl"
    records = list(safe_pickle.load(fetch.path(pickle)).values())
    expect(spec.name, "records", len(records), spec.n_items)
    with open(fetch.path(TABLE), encoding="utf-8", newline="") as handle:
        table = [row for row in csv.DictReader(handle) if row["dataset"] == prefix]
    _hold_order(spec, records, table)
    numbers: dict[str, str] = {}
    for record in records:
        numbers.setdefault(record["src"], f"{spec.name}-{len(numbers):03d}")
    items = {
        "input_id": [numbers[r["src"]] for r in records],
        "system_id": [row["system"] for row in table],
        "source": [r["src"] for r in records],
        "reference": [r["ref_summs"][0] for r in records],
        "references": [tuple(r["ref_summs"]) for r in records],
        "output": [r["sys_summ"] for r in records],
        "doc_id": list(range(len(records))),
        "act": [row["mr_type"] for row in table],
    }
    for column, name in STORED.items():
        items[name] = [float(row[column]) for row in table]
    human = {aspect: [r["scores"][aspect] for r in records] for aspect in spec.aspects}
    files, per_aspect = [pickle, TABLE], {}
    if unieval_file:
        files.append(unieval_file)
        per_aspect["unieval"] = _unieval(spec, unieval_file, records)
    return frame.build(spec, items, human, per_aspect=per_aspect, files=files)


def _hold_order(spec: Spec, records: list[dict], table: list[dict]) -> None:
    """The two files have no common id: output and all three ratings must agree row by row."""
    expect(spec.name, "rows in the original table", len(table), len(records))
    agree = sum(
        _letters(row["sys_ref"]) == _letters(record["sys_summ"])
        and all(float(row[aspect]) == record["scores"][aspect] for aspect in spec.aspects)
        for row, record in zip(table, records, strict=True)
    )
    expect(spec.name, "rows whose output and ratings agree with the original table", agree, len(records))


def _letters(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def _unieval(spec: Spec, relpath: str, records: list[dict]) -> dict[str, list[float]]:
    predicted = _read.json_file(relpath)
    expect(spec.name, "UniEval's predictions", len(predicted), len(records))
    agree = sum(p["system_output"] == r["sys_summ"] for p, r in zip(predicted, records, strict=True))
    expect(spec.name, "outputs that UniEval's file has in the same order", agree, len(records))
    # UniEval's file calls the aspect `quality` of the original ratings `overall`
    names = {"quality": "overall"}
    return {aspect: [p["predict_scores"][names.get(aspect, aspect)] for p in predicted] for aspect in spec.aspects}
