"""SummEval: 100 news articles, 16 summarizers, rated by experts and by crowd workers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import _read, fetch, frame, safe_pickle
from nlgeval_lib.datasets.specs import Spec, expect

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
    notes=(
        "human: mean of 3 experts, recomputed from their ratings",
        "the crowd's ratings are public for 12 of the 16 systems (not M0, M1, M2, M5)",
    ),
)


def load(raters: bool = True) -> pd.DataFrame:
    """SummEval in the order of the file, on which a published split depends: 1600 outputs, 4 aspects, 11 references.

    `raters` adds rater_expert_0..2 and rater_crowd_0..4 (NaN for the four systems without).
    """
    documents = safe_pickle.load(fetch.path(PICKLE))
    expect(SPEC.name, "documents", len(documents), 100)
    items: dict[str, list] = {c: [] for c in ("input_id", "system_id", "source", "reference", "references", "output")}
    human: dict[str, list] = {aspect: [] for aspect in SPEC.aspects}
    for input_id, document in documents.items():
        references = tuple(document["ref_summs"])
        expect(SPEC.name, f"references of {input_id}", len(references), 11)
        for system_id, summary in document["sys_summs"].items():
            items["input_id"].append(input_id)
            items["system_id"].append(system_id)
            items["source"].append(document["src"])
            items["reference"].append(references[0])
            items["references"].append(references)
            items["output"].append(summary["sys_summ"])
            for aspect in SPEC.aspects:
                human[aspect].append(summary["scores"][aspect])
    files = [PICKLE]
    columns: dict[str, dict[str, np.ndarray]] = {}
    if raters:
        keys = list(zip(items["input_id"], items["system_id"], strict=True))
        columns = _experts(keys, human) | _crowd(keys)
        files = list(SPEC.files)
    return frame.build(SPEC, items, human, raters=columns, files=files)


def _experts(keys: list[tuple[str, str]], human: dict[str, list]) -> dict[str, dict[str, np.ndarray]]:
    annotations = _read.json_file(EXPERTS)
    expect(SPEC.name, "experts", len(annotations), 3)
    columns = {
        f"rater_expert_{number}": {
            aspect: np.array([ratings[f"{i}__{s}__{aspect}"] for i, s in keys], dtype=float) for aspect in SPEC.aspects
        }
        for number, ratings in enumerate(annotations.values())
    }
    for aspect in SPEC.aspects:
        mean = np.mean([column[aspect] for column in columns.values()], axis=0)
        expect(
            SPEC.name, f"means of 3 experts for {aspect} that agree", int(np.isclose(mean, human[aspect]).sum()), 1600
        )
    return columns


def _crowd(keys: list[tuple[str, str]]) -> dict[str, dict[str, np.ndarray]]:
    place = {key: row for row, key in enumerate(keys)}
    columns = {f"rater_crowd_{n}": {a: np.full(len(keys), np.nan) for a in SPEC.aspects} for n in range(5)}
    for system in CROWD:
        records = _read.json_lines(f"summeval/{system}_outputs_annotations.jsonl")
        expect(SPEC.name, f"annotated outputs of {system}", len(records), 100)
        for record in records:
            crowd = record["turker_annotations"]
            expect(SPEC.name, f"crowd ratings of {record['id']}, {system}", len(crowd), 5)
            row = place[record["id"], system]
            for number, ratings in enumerate(crowd):
                for aspect in SPEC.aspects:
                    columns[f"rater_crowd_{number}"][aspect][row] = ratings[aspect]
    return columns
