"""gpt-3.5-turbo-16k's answers to LLM-Rubric's questions: 223 dialogues x 9 questions,
values only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import fetch, llm_rubric

_PROBABILITIES = "llm_rubric/real_data/gpt-3.5-turbo-16k_real_evaluations_FIXED.tsv"
_DRAWN = "llm_rubric/experiments/real_data/predictions/real_convs_machine_baselines.tsv"
# the columns with the probabilities of the answers 1 to 4
_ANSWERS = [f"answer{answer}_prob" for answer in range(1, 5)]


def _load() -> pd.DataFrame:
    """A row a dialogue and question, with the four probabilities as the file has them.

    `value`: the expected answer, by the probabilities made to sum to one; `sampled`:
    the answer that the authors' baselines drew, NaN where the rater gave none;
    `most_probable`: the answer with the highest probability, 1 to 4.
    """
    table = _table(_PROBABILITIES)
    probabilities = table[_ANSWERS].to_numpy(dtype=float)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    answers = np.arange(1.0, 5.0)
    drawn = _table(_DRAWN).set_index(["text_id", "criterion"])["sample_llm"]
    places = pd.MultiIndex.from_frame(table[["text_id", "criterion"]])
    systems = _table(llm_rubric.FILE).set_index("text_id")["dialogue_system"]
    rows = table.assign(
        input_id=table["text_id"],
        system_id=[f"dialogue system {systems[item]}" for item in table["text_id"]],
        aspect=table["criterion"],
        value=(probabilities * answers).sum(axis=1),
        sampled=drawn.reindex(places).to_numpy(dtype=float),
        most_probable=answers[probabilities.argmax(axis=1)],
        dataset="llm_rubric",
        judge="gpt-3.5-turbo-16k",
        prompt_form="question",
        draw=0,
    )
    return rows.drop(columns=["text_id", "criterion", "sample_llm"])


def _table(relpath: str) -> pd.DataFrame:
    return pd.read_csv(fetch.path(relpath), sep="\t")


FILES: dict[str, tuple[str, ...]] = {
    "llm_rubric_judge": (_PROBABILITIES, _DRAWN, llm_rubric.FILE),
}
READERS: dict[str, Callable[..., pd.DataFrame]] = {"llm_rubric_judge": _load}
