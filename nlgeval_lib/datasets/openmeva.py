"""OpenMEVA-ROC: five story generators continue 200 first sentences."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import fetch, frame
from nlgeval_lib.datasets.frame import expect, known

FILE = "openmeva/openmeva.json"
PREPARED = "openmeva/tigerscore_storygen.json"

SPEC = known("openmeva", FILE, PREPARED)


def load() -> pd.DataFrame:
    """OpenMEVA-ROC in file order: 1000 outputs, one aspect, 18 stored metrics and one ChatGPT rating.

    `human` is the mean of 5 raters. `instruction` is that of TIGERScore's prepared copy, which has the same outputs and
    ratings. `stored_chatgpt` is one star rating, the other `stored_` columns are reference metrics and perplexity.
    """
    prepared = {story["id"]: story for story in fetch.json_file(PREPARED)}
    copies = {
        (story["id"], candidate["model"]): (candidate["text"], candidate["scores"]["human"])
        for story in prepared.values()
        for candidate in story["candidates"]
    }
    rows = [(story, system, given) for story in fetch.json_file(FILE) for system, given in story["gen"].items()]
    same = sum(copies[story["doc_id"], s] == (given["text"], given["score"]["human"]) for story, s, given in rows)
    expect(SPEC.name, "outputs and ratings equal to those of TIGERScore's copy", same, SPEC.n_items)
    items: dict[str, list] = {
        "input_id": [story["doc_id"] for story, _, _ in rows],
        "system_id": [system for _, system, _ in rows],
        "source": [story["prompt"] for story, _, _ in rows],
        "reference": [story["reference"] for story, _, _ in rows],
        "output": [given["text"] for _, _, given in rows],
        "instruction": [prepared[story["doc_id"]]["instruction"] for story, _, _ in rows],
    }
    for name in rows[0][2]["score"]:
        if name != "human":
            items["stored_" + name.replace("-", "_")] = [float(given["score"][name]) for _, _, given in rows]
    return frame.build(SPEC, items, {"overall": [given["score"]["human"] for _, _, given in rows]})
