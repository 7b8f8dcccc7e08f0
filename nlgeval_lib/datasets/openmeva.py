"""OpenMEVA-ROC: five story generators continue 200 first sentences."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import fetch, frame

FILE = "openmeva/openmeva.json"
# TIGERScore's copy, which has the instruction
PREPARED = "openmeva/tigerscore_storygen.json"

SPEC = frame.known("openmeva", FILE, PREPARED)


def load() -> pd.DataFrame:
    """OpenMEVA-ROC in file order: 200 inputs x 5 systems, one aspect `overall` 1-5.

    `human` is the mean of 5 raters. An input is a first sentence (`source`), `output`
    the story that goes on from it. `instruction` is that of TIGERScore's prepared copy,
    which has the same outputs and ratings. `stored_chatgpt` is one star rating by
    ChatGPT; the other `stored_` columns are reference metrics and perplexity.
    Raises: ValueError where the two files do not agree.
    """
    copies = {story["id"]: story for story in fetch.json_file(PREPARED)}
    rows = []
    agreeing = 0
    for story in fetch.json_file(FILE):
        copy = copies[story["doc_id"]]
        copied = {}  # system -> its text and rating in the copy
        for candidate in copy["candidates"]:
            rating = candidate["scores"]["human"]
            copied[candidate["model"]] = (candidate["text"], rating)
        for system, generated in story["gen"].items():
            scores = dict(generated["score"])
            human = scores.pop("human")
            agreeing += copied[system] == (generated["text"], human)
            row = {
                "input_id": story["doc_id"],
                "system_id": system,
                "human": {"overall": human},
                "source": story["prompt"],
                "reference": story["reference"],
                "output": generated["text"],
                "instruction": copy["instruction"],
            }
            for metric, value in scores.items():
                row[f"stored_{metric.replace('-', '_')}"] = float(value)
            rows.append(row)
    fact = "outputs and ratings equal to those of TIGERScore's copy"
    frame.expect(SPEC.name, fact, agreeing, SPEC.n_items)
    return frame.build(SPEC, rows)
