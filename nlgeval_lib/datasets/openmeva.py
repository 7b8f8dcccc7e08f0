"""OpenMEVA-ROC: five story generators continue 200 first sentences."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import _read, frame
from nlgeval_lib.datasets.specs import Spec, expect

FILE = "openmeva/openmeva.json"
PREPARED = "openmeva/tigerscore_storygen.json"

SPEC = Spec(
    name="openmeva",
    title="OpenMEVA-ROC story endings",
    files=(FILE, PREPARED),
    n_items=1000,
    n_inputs=200,
    n_systems=5,
    scale={"overall": (1, 5)},
    licence="none stated (scores), MIT (TIGERScore's copy)",
    source="Guan et al. 2021, OpenMEVA; stored scores: Wang et al. 2023, Is ChatGPT a Good NLG Evaluator?",
    notes=(
        "human: mean of 5 raters",
        "instruction is that of TIGERScore's prepared copy, which has the same outputs and ratings",
        "stored_chatgpt is one star rating by ChatGPT; the other stored_ columns are reference metrics and perplexity",
    ),
)


def load() -> pd.DataFrame:
    """OpenMEVA-ROC in file order: 1000 outputs, one aspect, 18 stored metrics and one ChatGPT rating."""
    stories = _read.json_file(FILE)
    prepared = {story["id"]: story for story in _read.json_file(PREPARED)}
    expect(SPEC.name, "prompts", len(stories), SPEC.n_inputs)
    rows = [(story, system, given) for story in stories for system, given in story["gen"].items()]
    items: dict[str, list] = {
        "input_id": [story["doc_id"] for story, _, _ in rows],
        "system_id": [system for _, system, _ in rows],
        "source": [story["prompt"] for story, _, _ in rows],
        "reference": [story["reference"] for story, _, _ in rows],
        "references": [(story["reference"],) for story, _, _ in rows],
        "output": [given["text"] for _, _, given in rows],
        "instruction": [prepared[story["doc_id"]]["instruction"] for story, _, _ in rows],
    }
    _hold_copy(rows, prepared)
    stored = [name for name in rows[0][2]["score"] if name != "human"]
    expect(SPEC.name, "stored scores", len(stored), 19)
    for name in stored:
        column = "stored_" + name.replace("-", "_")
        items[column] = [float(given["score"][name]) for _, _, given in rows]
    human = {"overall": [given["score"]["human"] for _, _, given in rows]}
    return frame.build(SPEC, items, human, files=SPEC.files)


def _hold_copy(rows: list[tuple], prepared: dict[str, dict]) -> None:
    """TIGERScore's copy must be about the same outputs and ratings."""
    same = 0
    copies = {
        identity: {candidate["model"]: candidate for candidate in story["candidates"]}
        for identity, story in prepared.items()
    }
    for story, system, given in rows:
        copy = copies[story["doc_id"]][system]
        same += copy["text"] == given["text"] and copy["scores"]["human"] == given["score"]["human"]
    expect(SPEC.name, "outputs and ratings equal to those of TIGERScore's copy", same, SPEC.n_items)
