"""OpenMEVA-ROC: five story generators continue 200 first sentences."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import fetch, frame

FILE = "openmeva/openmeva.json"
PREPARED = "openmeva/tigerscore_storygen.json"

SPEC = frame.known("openmeva", FILE, PREPARED)


def load() -> pd.DataFrame:
    """OpenMEVA-ROC in file order: 1000 outputs, one aspect, 18 stored metrics and one
    ChatGPT rating.

    `human` is the mean of 5 raters. `instruction` is that of TIGERScore's prepared
    copy, which has the same outputs and ratings. `stored_chatgpt` is one star rating,
    the other `stored_` columns are reference metrics and perplexity.
    """
    prepared = {story["id"]: story for story in fetch.json_file(PREPARED)}
    rows = []
    same = 0
    for story in fetch.json_file(FILE):
        copy = prepared[story["doc_id"]]
        copies = {
            one["model"]: (one["text"], one["scores"]["human"])
            for one in copy["candidates"]
        }
        for system, given in story["gen"].items():
            scores = dict(given["score"])
            same += copies[system] == (given["text"], scores["human"])
            row = {
                "input_id": story["doc_id"],
                "system_id": system,
                "human": {"overall": scores.pop("human")},
                "source": story["prompt"],
                "reference": story["reference"],
                "output": given["text"],
                "instruction": copy["instruction"],
            }
            rows.append(
                row
                | {
                    f"stored_{key.replace('-', '_')}": float(value)
                    for key, value in scores.items()
                }
            )
    frame.expect(
        SPEC.name,
        "outputs and ratings equal to those of TIGERScore's copy",
        same,
        SPEC.n_items,
    )
    return frame.build(SPEC, rows)
