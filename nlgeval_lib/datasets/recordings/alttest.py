"""Six LLM judges on all of SummEval, as collected for the alternative annotator test: scores only."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import _read, fetch, safe_pickle, summeval
from nlgeval_lib.datasets.recordings._base import Recording, choose
from nlgeval_lib.datasets.specs import expect

FILE = "summeval/alttest_llm_annotations.json"
JUDGES = ("gemini_flash", "gemini_pro", "gpt-4o", "gpt-4o-mini", "llama-31", "mistral-v03")
EXPERTS = ("expert_0", "expert_1", "expert_2")

RECORDINGS = {
    "alttest_summeval": Recording(
        name="alttest_summeval",
        title="Six LLM judges on SummEval",
        dataset="summeval",
        files=(FILE, summeval.EXPERTS, summeval.PICKLE),
        n_rows=38_400,
        kept="value",
        licence="none stated",
        source="Calderon et al. 2025, The Alternative Annotator Test for LLM-as-a-Judge",
        notes=("integers 1 to 5, complete; the prompts are not published", "experts=True adds the three human experts"),
    )
}


def load(recording: Recording, judges=None, experts: bool = False) -> pd.DataFrame:
    """One row a judge, output and aspect, in SummEval's order; `kind` is "llm" or "human"."""
    scores = _read.json_file(FILE)
    expect(recording.name, "judges", sorted(scores), sorted(JUDGES))
    chosen = {judge: scores[judge] for judge in choose(judges, JUDGES, "judge")}
    if experts:
        human = _read.json_file(summeval.EXPERTS)
        expect(recording.name, "experts", len(human), len(EXPERTS))
        chosen |= dict(zip(EXPERTS, human.values(), strict=True))
    documents = safe_pickle.load(fetch.path(summeval.PICKLE))
    aspects = summeval.SPEC.aspects
    keys = [
        (document, system, aspect)
        for document, content in documents.items()
        for system in content["sys_summs"]
        for aspect in aspects
    ]
    names = ["__".join(key) for key in keys]
    for judge, given in chosen.items():
        expect(recording.name, f"outputs and aspects that {judge} scored", set(given) == set(names), True)
    n = len(keys)
    return pd.DataFrame(
        {
            "dataset": "summeval",
            "input_id": [key[0] for key in keys] * len(chosen),
            "system_id": [key[1] for key in keys] * len(chosen),
            "aspect": [key[2] for key in keys] * len(chosen),
            "judge": np.repeat(np.array(list(chosen), dtype=object), n),
            "prompt_form": "unknown",
            "draw": 0,
            "value": np.array([[given[name] for name in names] for given in chosen.values()], dtype=float).ravel(),
            "kind": np.repeat(np.array(["human" if j in EXPERTS else "llm" for j in chosen], dtype=object), n),
        }
    )
