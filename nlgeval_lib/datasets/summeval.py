"""SummEval: 100 news articles, 16 summarizers, rated by experts and by crowd workers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import fetch, frame, safe_pickle
from nlgeval_lib.datasets.frame import Spec, expect

PICKLE = "summeval/bartscore_data.pkl"
EXPERTS = "summeval/alttest_human_annotations.json"
# the systems whose outputs come with the crowd's ratings
CROWD = ("M8", "M9", "M10", "M11", "M12", "M13", "M14", "M15", "M17", "M20", "M22", "M23")

SPEC = Spec(
    name="summeval",
    title="SummEval news summaries",
    files=(PICKLE, EXPERTS, *(f"summeval/{system}_outputs_annotations.jsonl" for system in CROWD)),
    n_items=1600,
    n_inputs=100,
    n_systems=16,
    scale={aspect: (1, 5) for aspect in ("coherence", "consistency", "fluency", "relevance")},
    licence="MIT (SummEval), Apache-2.0 (this copy)",
    source="Fabbri et al. 2021, SummEval: Re-evaluating Summarization Evaluation",
)


def load() -> pd.DataFrame:
    """SummEval in the order of the file, on which a published split depends: 1600 outputs, 4 aspects, 11 references.

    `human` is the mean of 3 experts, rater_expert_0..2; rater_crowd_0..4 are NaN for the four systems without.
    """
    documents = safe_pickle.load(fetch.path(PICKLE))
    rows = [
        (input_id, system_id, document, summary)
        for input_id, document in documents.items()
        for system_id, summary in document["sys_summs"].items()
    ]
    items = {
        "input_id": [input_id for input_id, _, _, _ in rows],
        "system_id": [system_id for _, system_id, _, _ in rows],
        "source": [document["src"] for _, _, document, _ in rows],
        "reference": [document["ref_summs"][0] for _, _, document, _ in rows],
        "references": [tuple(document["ref_summs"]) for _, _, document, _ in rows],
        "output": [summary["sys_summ"] for _, _, _, summary in rows],
    }
    human = {aspect: [summary["scores"][aspect] for _, _, _, summary in rows] for aspect in SPEC.scale}
    keys = [(input_id, system_id) for input_id, system_id, _, _ in rows]
    raters = {
        f"rater_expert_{number}": {a: np.array([given[f"{i}__{s}__{a}"] for i, s in keys]) for a in SPEC.scale}
        for number, given in enumerate(fetch.json_file(EXPERTS).values())
    }
    for aspect in SPEC.scale:
        mean = np.mean([rater[aspect] for rater in raters.values()], axis=0)
        agree = int(np.isclose(mean, human[aspect]).sum())
        expect(SPEC.name, f"means of 3 experts for {aspect} that agree", agree, SPEC.n_items)
    return frame.build(SPEC, items, human, raters=raters | _crowd(keys))


def _crowd(keys: list[tuple[str, str]]) -> dict[str, dict[str, np.ndarray]]:
    place = {key: row for row, key in enumerate(keys)}
    columns = {f"rater_crowd_{n}": {a: np.full(len(keys), np.nan) for a in SPEC.scale} for n in range(5)}
    for system in CROWD:
        for record in fetch.json_lines(f"summeval/{system}_outputs_annotations.jsonl"):
            row = place[record["id"], system]
            for column, ratings in zip(columns.values(), record["turker_annotations"], strict=True):
                for aspect in SPEC.scale:
                    column[aspect][row] = ratings[aspect]
    return columns
