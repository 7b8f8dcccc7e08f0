"""LLM-Rubric's real dialogues: nine questions about each of 223, one rater a dialogue,
and gpt-3.5's probabilities of the four answers.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import fetch, frame

HUMAN = "llm_rubric/real_data/human_judges_real_convs_FIXED_ANON.tsv"
JUDGE = "llm_rubric/real_data/gpt-3.5-turbo-16k_real_evaluations_FIXED.tsv"
SPEC = frame.known("llm_rubric", HUMAN)
NOT_ANSWERED = 0  # what the file has where the rater gave no answer
DRAWN = "llm_rubric/experiments/real_data/predictions/real_convs_machine_baselines.tsv"
# the columns with the probabilities of the answers 1 to 4
_ANSWERS = [f"answer{answer}_prob" for answer in range(1, 5)]


def load() -> pd.DataFrame:
    """223 dialogues x 9 questions, in file order: a dialogue an item, a question an
    aspect.

    A dialogue is its own input; its system is one of three. The aspect `Q0` is the
    overall satisfaction, `Q1` to `Q8` ask for single properties; answers are 1 to 4.
    `human` is the answer of the dialogue's one rater, NaN where that rater gave none
    (some of Q1, Q3, Q4, Q5). `annotator` is who rated the dialogue, one of 13. The
    dialogues' texts are not loaded.
    """
    table = _table(HUMAN)
    answers = table[[*SPEC.scale]].astype(float).replace(NOT_ANSWERED, np.nan)
    columns = {
        "input_id": table["text_id"],
        "system_id": [f"dialogue system {name}" for name in table["dialogue_system"]],
        "human": answers.to_dict("records"),
        "annotator": table["annotator_id"].map(str),
    }
    return frame.build(SPEC, columns)


def judge() -> pd.DataFrame:
    """gpt-3.5's answers to the same questions: a row a dialogue and question, 2007 in
    all.

    Returns: the keys of `recordings`, the four probabilities as the file has them, and
    `value`: the expected answer, by the probabilities made to sum to one; `sampled`:
    the answer that the authors' baselines drew, NaN where the rater gave none;
    `most_probable`: the answer with the highest probability, 1 to 4.
    """
    table = _table(JUDGE)
    probabilities = table[_ANSWERS].to_numpy(dtype=float)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    answers = np.arange(1.0, 5.0)
    drawn = _table(DRAWN).set_index(["text_id", "criterion"])["sample_llm"]
    places = pd.MultiIndex.from_frame(table[["text_id", "criterion"]])
    systems = _table(HUMAN).set_index("text_id")["dialogue_system"]
    rows = table.assign(
        input_id=table["text_id"],
        system_id=[f"dialogue system {systems[item]}" for item in table["text_id"]],
        aspect=table["criterion"],
        value=(probabilities * answers).sum(axis=1),
        sampled=drawn.reindex(places).to_numpy(dtype=float),
        most_probable=answers[probabilities.argmax(axis=1)],
        dataset=SPEC.name,
        judge="gpt-3.5-turbo-16k",
        prompt_form="question",
        draw=0,
    )
    return rows.drop(columns=["text_id", "criterion", "sample_llm"])


def _table(relpath: str) -> pd.DataFrame:
    """A registered file of tab-separated values as a frame."""
    return pd.read_csv(fetch.path(relpath), sep="\t")
