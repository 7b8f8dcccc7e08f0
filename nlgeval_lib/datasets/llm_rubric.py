"""LLM-Rubric's real dialogues: nine questions about each of 223, one rater a dialogue."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import fetch, frame

FILE = "llm_rubric/real_data/human_judges_real_convs_FIXED_ANON.tsv"
SPEC = frame.known("llm_rubric", FILE)
NOT_ANSWERED = 0  # what the file has where the rater gave no answer


def load() -> pd.DataFrame:
    """223 dialogues x 9 questions, in file order: a dialogue an item, a question an
    aspect.

    A dialogue is its own input; its system is one of three. The aspect `Q0` is the
    overall satisfaction, `Q1` to `Q8` ask for single properties; answers are 1 to 4.
    `human` is the answer of the dialogue's one rater, NaN where that rater gave none
    (some of Q1, Q3, Q4, Q5). `annotator` is who rated the dialogue, one of 13. The
    dialogues' texts are not loaded.
    """
    table = pd.read_csv(fetch.path(FILE), sep="\t")
    answers = table[[*SPEC.scale]].astype(float).replace(NOT_ANSWERED, np.nan)
    columns = {
        "input_id": table["text_id"],
        "system_id": [f"dialogue system {name}" for name in table["dialogue_system"]],
        "human": answers.to_dict("records"),
        "annotator": table["annotator_id"].map(str),
    }
    return frame.build(SPEC, columns)
