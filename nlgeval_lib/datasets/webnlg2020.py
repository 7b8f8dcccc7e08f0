"""WebNLG-2020, English: 16 systems put 178 sets of triples into words, rated on five criteria."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import fetch, frame
from nlgeval_lib.datasets.frame import expect, known

PREPARED = "webnlg2020/tigerscore_webnlg.json"
RATINGS = "webnlg2020/english_humeval_data_all_teams.json"
SYSTEMS = (
    "Amazon_AI_(Shanghai)",
    "Baseline-FORGE2017",
    "Baseline-FORGE2020",
    "CycleGT",
    "DANGNT-SGU",
    "FBConvAI",
    "Huawei_Noahs_Ark_Lab",
    "NILC",
    "NUIG-DSI",
    "ORANGE-NLG",
    "OSU_Neural_NLG",
    "RALI",
    "TGen",
    "UPC-POE",
    "bt5",
    "cuni-ufal",
)
RATERS = 3
# aspect here -> name in the files
CRITERIA = {
    "correctness": "Correctness",
    "data_coverage": "DataCoverage",
    "fluency": "Fluency",
    "relevance": "Relevance",
    "text_structure": "TextStructure",
}

SPEC = known("webnlg2020", PREPARED, RATINGS, *(f"webnlg2020/{system}.primary.json" for system in SYSTEMS))


def load() -> pd.DataFrame:
    """WebNLG-2020 in the order of TIGERScore's prepared copy: 2848 outputs, five criteria 0-100.

    `human` is the mean of up to 3 raters; 2847 outputs are rated (not Baseline-FORGE2020 on 1124). rater_0..2 are the
    raters of an output in file order: places, not persons, and NaN where fewer rated. `source` is one triple a line,
    `references` are 1 to 4 texts, `reference` the first. The challenge's rated reference texts are left out: which one
    was shown is not recorded.
    """
    about = {record["sample_id"]: record for record in fetch.json_file(RATINGS)}
    rows = [(given, candidate) for given in fetch.json_file(PREPARED) for candidate in given["candidates"]]
    keys = [(candidate["model"], str(given["id"])) for given, candidate in rows]
    items = {
        "input_id": [sample for _, sample in keys],
        "system_id": [system for system, _ in keys],
        "source": [given["input"] for given, _ in rows],
        "references": [tuple(given["output"]) for given, _ in rows],
        "output": [candidate["text"] for _, candidate in rows],
        "instruction": [given["instruction"] for given, _ in rows],
        "category": [about[sample]["category"] for _, sample in keys],
        "domain": [about[sample]["domain"] for _, sample in keys],
        "triples": [int(about[sample]["size"]) for _, sample in keys],
    }
    human = {
        aspect: [candidate["scores"].get(name, np.nan) for _, candidate in rows] for aspect, name in CRITERIA.items()
    }
    return frame.build(SPEC, items, human, raters=_raters(keys, human))


def _raters(keys: list[tuple[str, str]], human: dict[str, list]) -> dict[str, dict[str, np.ndarray]]:
    """The single ratings, which must give the prepared copy's means."""
    single = {system: fetch.json_file(f"webnlg2020/{system}.primary.json") for system in SYSTEMS}
    columns = {f"rater_{n}": {a: np.full(len(keys), np.nan) for a in CRITERIA} for n in range(RATERS)}
    for row, (system, sample) in enumerate(keys):
        for column, ratings in zip(columns.values(), single[system][sample].values(), strict=False):
            for aspect, name in CRITERIA.items():
                column[aspect][row] = ratings[name]
    for aspect in CRITERIA:
        mean = pd.DataFrame({name: column[aspect] for name, column in columns.items()}).mean(axis=1)
        agree = int(np.isclose(mean, human[aspect], equal_nan=True).sum())
        expect(SPEC.name, f"means of {aspect} that single ratings give", agree, len(keys))
    return columns
