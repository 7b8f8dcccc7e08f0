"""SummEval: 100 news articles, 16 summarizers, rated by experts and by crowd workers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import fetch, frame, safe_pickle
from nlgeval_lib.datasets.frame import expect, known

PICKLE = "summeval/bartscore_data.pkl"
EXPERTS = "summeval/alttest_human_annotations.json"
# the systems whose outputs come with the crowd's ratings
CROWD = ("M8", "M9", "M10", "M11", "M12", "M13", "M14", "M15", "M17", "M20", "M22", "M23")

SPEC = known("summeval", PICKLE, EXPERTS, *(f"summeval/{system}_outputs_annotations.jsonl" for system in CROWD))


def load() -> pd.DataFrame:
    """SummEval in the order of the file, on which a published split depends: 1600 outputs, 4 aspects, 11 references.

    `human` is the mean of 3 experts, rater_expert_0..2; rater_crowd_0..4 are NaN for the four systems without.
    """
    documents = safe_pickle.load(fetch.path(PICKLE))
    keys = [(input_id, system_id) for input_id, document in documents.items() for system_id in document["sys_summs"]]
    summaries = [documents[input_id]["sys_summs"][system_id] for input_id, system_id in keys]
    items = {
        "input_id": [input_id for input_id, _ in keys],
        "system_id": [system_id for _, system_id in keys],
        "source": [documents[input_id]["src"] for input_id, _ in keys],
        "references": [tuple(documents[input_id]["ref_summs"]) for input_id, _ in keys],
        "output": [summary["sys_summ"] for summary in summaries],
    }
    human = [summary["scores"] for summary in summaries]
    raters: dict[str, Any] = {
        f"rater_expert_{number}": {a: np.array([given[f"{i}__{s}__{a}"] for i, s in keys]) for a in SPEC.scale}
        for number, given in enumerate(fetch.json_file(EXPERTS).values())
    }
    for aspect in SPEC.scale:
        mean = np.mean([rater[aspect] for rater in raters.values()], axis=0)
        agree = int(np.isclose(mean, [scores[aspect] for scores in human]).sum())
        expect(SPEC.name, f"means of 3 experts for {aspect} that agree", agree, SPEC.n_items)
    crowd = {
        (record["id"], system): record["turker_annotations"]
        for system in CROWD
        for record in fetch.json_lines(f"summeval/{system}_outputs_annotations.jsonl")
    }
    unrated = [dict.fromkeys(SPEC.scale, np.nan)] * 5
    by_crowd = {f"rater_crowd_{n}": [crowd.get(key, unrated)[n] for key in keys] for n in range(5)}
    return frame.build(SPEC, items, human, raters=raters | by_crowd)
