"""WebNLG-2020, English: 16 systems put 178 sets of triples into words, rated on five
criteria.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import fetch, frame

PREPARED = "webnlg2020/tigerscore_webnlg.json"  # texts and mean ratings
# the challenge's file of all teams, of which categories are taken
RATINGS = "webnlg2020/english_humeval_data_all_teams.json"
SYSTEMS = frame.systems("webnlg2020")
RATERS = 3  # at most, of an output
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
    """WebNLG-2020: 178 inputs x 16 systems, five criteria 0-100.

    Rows are in the order of TIGERScore's prepared copy. An input is a set of triples,
    one a line in `source`. `human` is the mean of up to 3 raters; 2847 outputs are
    rated (not Baseline-FORGE2020 on 1124, which is NaN). rater_0 to rater_2 are the
    raters of an output in file order: places, not persons, and NaN where fewer rated.
    `references` are 1 to 4 texts. The challenge's rated reference texts are left out:
    which of them was shown is not recorded.
    Further columns: `instruction`, `category` (one of 19, of DBpedia), `domain` (type1
    to type3), `triples` (how many, 1 to 7).
    Raises: ValueError where single ratings do not give the means.
    """
    samples = {record["sample_id"]: record for record in fetch.json_file(RATINGS)}
    by_system = {}
    for system in SYSTEMS:
        by_system[system] = fetch.json_file(f"webnlg2020/{system}.primary.json")
    rater_columns = [f"rater_{number}" for number in range(RATERS)]
    rows = []
    for record in fetch.json_file(PREPARED):
        sample = str(record["id"])
        about = samples[sample]
        for candidate in record["candidates"]:
            system = candidate["model"]
            row = {
                "input_id": sample,
                "system_id": system,
                "source": record["input"],
                "references": tuple(record["output"]),
                "output": candidate["text"],
                "instruction": record["instruction"],
                "category": about["category"],
                "domain": about["domain"],
                "triples": int(about["size"]),
                "human": _ratings(candidate["scores"]),
            }
            # Empty ratings fill up the places of an output that fewer people rated.
            raters = [*by_system[system][sample].values(), *[{}] * RATERS]
            for column, scores in zip(rater_columns, raters, strict=False):
                row[column] = _ratings(scores)
            rows.append(row)
    long = frame.build(SPEC, rows)
    # Means and single ratings come from different files: hold them against each other.
    means = long[rater_columns].mean(axis=1)
    agreeing = int(np.isclose(means, long["human"], equal_nan=True).sum())
    frame.expect(SPEC.name, "means that single ratings give", agreeing, len(long))
    return long


def _ratings(scores: Mapping[str, float]) -> dict[str, float]:
    """The ratings of our aspects, NaN where there is none."""
    return {aspect: scores.get(name, np.nan) for aspect, name in CRITERIA.items()}
