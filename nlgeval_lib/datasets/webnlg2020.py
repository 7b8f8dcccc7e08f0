"""WebNLG-2020, English: 16 systems put 178 sets of triples into words, rated on five
criteria.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import fetch, frame

PREPARED = "webnlg2020/tigerscore_webnlg.json"
RATINGS = "webnlg2020/english_humeval_data_all_teams.json"
SYSTEMS = frame.systems("webnlg2020")
RATERS = 3
# aspect here -> name in the files
CRITERIA = {
    "correctness": "Correctness",
    "data_coverage": "DataCoverage",
    "fluency": "Fluency",
    "relevance": "Relevance",
    "text_structure": "TextStructure",
}

SPEC = frame.known(
    "webnlg2020",
    PREPARED,
    RATINGS,
    *(f"webnlg2020/{system}.primary.json" for system in SYSTEMS),
)


def load() -> pd.DataFrame:
    """WebNLG-2020 in the order of TIGERScore's prepared copy: 2848 outputs, five
    criteria 0-100.

    `human` is the mean of up to 3 raters; 2847 outputs are rated (not
    Baseline-FORGE2020 on 1124). rater_0..2 are the raters of an output in file order:
    places, not persons, and NaN where fewer rated. `source` is one triple a line,
    `references` are 1 to 4 texts, `reference` the first. The challenge's rated
    reference texts are left out: which one was shown is not recorded.
    """
    about = {record["sample_id"]: record for record in fetch.json_file(RATINGS)}
    single = {
        system: fetch.json_file(f"webnlg2020/{system}.primary.json")
        for system in SYSTEMS
    }
    rows = []
    for given in fetch.json_file(PREPARED):
        sample = str(given["id"])
        for candidate in given["candidates"]:
            raters = [*single[candidate["model"]][sample].values()]
            rated = [
                candidate["scores"],
                *raters[:RATERS],
                *[{}] * (RATERS - len(raters)),
            ]
            columns = ("human", *(f"rater_{n}" for n in range(RATERS)))
            row = {
                "input_id": sample,
                "system_id": candidate["model"],
                "source": given["input"],
                "references": tuple(given["output"]),
                "output": candidate["text"],
                "instruction": given["instruction"],
                "category": about[sample]["category"],
                "domain": about[sample]["domain"],
                "triples": int(about[sample]["size"]),
            }
            for column, ratings in zip(columns, rated, strict=True):
                row[column] = {
                    aspect: ratings.get(name, np.nan)
                    for aspect, name in CRITERIA.items()
                }
            rows.append(row)
    long = frame.build(SPEC, rows)
    means = long[[f"rater_{n}" for n in range(RATERS)]].mean(axis=1)
    agree = int(np.isclose(means, long["human"], equal_nan=True).sum())
    frame.expect(SPEC.name, "means that single ratings give", agree, len(long))
    return long
