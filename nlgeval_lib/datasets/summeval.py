"""SummEval: 100 news articles, 16 summarizers, rated by experts and by the crowd."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import fetch, frame, safe_pickle

PICKLE = "summeval/bartscore_data.pkl"  # texts, references, the experts' means
# each expert's ratings, by `article__system__aspect`
EXPERTS = "summeval/alttest_human_annotations.json"
# the systems whose outputs come with the crowd's ratings
CROWD = frame.systems("summeval")

SPEC = frame.known(
    "summeval",
    PICKLE,
    EXPERTS,
    *(f"summeval/{system}_outputs_annotations.jsonl" for system in CROWD),
)


def load() -> pd.DataFrame:
    """SummEval: 100 articles x 16 systems, 4 aspects 1-5, 11 references.

    Rows are in the order of the file, on which a published split (HD-Eval, Table 1)
    depends. An input is an article (`source`), `output` its summary. `human` is the
    mean of 3 experts, who are in rater_expert_0 to rater_expert_2; rater_crowd_0 to
    rater_crowd_4 are crowd workers, NaN for the four systems whose crowd ratings are
    not published (M0, M1, M2, M5).
    Raises: ValueError where the experts' means are not the stored ones.
    """
    experts = list(fetch.json_file(EXPERTS).values())
    crowd = {}  # (article, system) -> the ratings of five crowd workers
    for system, relpath in zip(CROWD, SPEC.files[2:], strict=True):
        for record in fetch.json_lines(relpath):
            crowd[record["id"], system] = record["turker_annotations"]
    unrated = [dict.fromkeys(SPEC.scale, np.nan)] * 5
    rows = []
    for input_id, document in safe_pickle.load(fetch.path(PICKLE)).items():
        for system, summary in document["sys_summs"].items():
            row = {
                "input_id": input_id,
                "system_id": system,
                "human": summary["scores"],
                "source": document["src"],
                "references": tuple(document["ref_summs"]),
                "output": summary["sys_summ"],
            }
            for number, expert in enumerate(experts):
                row[f"rater_expert_{number}"] = {
                    aspect: expert[f"{input_id}__{system}__{aspect}"]
                    for aspect in SPEC.scale
                }
            ratings = crowd.get((input_id, system), unrated)
            for number, rating in enumerate(ratings):
                row[f"rater_crowd_{number}"] = rating
            rows.append(row)
    long = frame.build(SPEC, rows)
    expert_columns = [f"rater_expert_{number}" for number in range(len(experts))]
    # The experts come from another file than `human`: hold both against each other.
    means = long[expert_columns].mean(axis=1)
    agreeing = int(np.isclose(means, long["human"]).sum())
    frame.expect(SPEC.name, "means of 3 experts that agree", agreeing, len(long))
    return long
