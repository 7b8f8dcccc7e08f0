"""Outputs of one's own systems for a training set: several draws an input, of which the
least likely are kept, since they probably hold more errors.

frame = run(sampled(rows, "my-model"), engine, store)
frame = least_likely(frame, BartScore("facebook/bart-large-cnn", direction="source"))
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from nlgeval_lib.engines import Sampling
from nlgeval_lib.evaluators.judge import ChatFormat
from nlgeval_lib.evaluators.stages import Stage, Stages
from reproduction.training.pipeline import no_text

# Five draws by top-p sampling (TIGERScore, section 3.1); the paper names neither p nor
# the temperature, so these are ours.
SAMPLING = Sampling(n=5, temperature=1.0, top_p=0.9, max_tokens=512)
INPUTS = ("source", "input")  # columns that hold the text to work on


def sampled(
    rows: pd.DataFrame, system: str, sampling: Sampling = SAMPLING
) -> Stages[pd.DataFrame]:
    """What a system writes for each row, several draws a row.

    rows: `instruction`, and `source` or `input`; the system gets the two on lines of
    their own. `input_id` names a row; without it, its number does.
    Returns: stages to be run by `evaluators.stages.run`; they end in a frame with the
    row once a draw and `system_id`, `draw` (from 0), `output`, and `failure`, which
    says why an output is empty.
    Raises: ValueError for a missing column.
    Source: TIGERScore, section 3.1 and Figure 2.
    """
    column = next((name for name in INPUTS if name in rows), "")
    is_complete = column and "instruction" in rows
    if not is_complete:
        columns = ", ".join(map(str, rows.columns))
        raise ValueError(
            "outputs are sampled for rows with instruction, and source or input; "
            f"the columns are {columns}"
        )
    if "input_id" not in rows:
        numbers = [str(number) for number in range(len(rows))]
        rows = rows.assign(input_id=numbers)
    chat = ChatFormat.named("messages")
    # Each request has the row's number as its id, and one stage asks them all.
    requests = []
    for number, row in enumerate(rows.to_dict("records")):
        texts = [row["instruction"], row[column]]
        prompt = "\n".join(text for text in texts if text)
        requests.append(chat.request(prompt, str(number)))
    answers = yield Stage("outputs", requests, sampling)
    # A draw that failed stays as a row with an empty output and its reason.
    outputs = []
    for row, completions in zip(rows.to_dict("records"), answers, strict=True):
        for draw, completion in enumerate(completions):
            failure = no_text(completion)
            text = ""
            if not failure:
                text = completion.text.strip()
            answer = {
                "system_id": system,
                "draw": draw,
                "output": text,
                "failure": failure,
            }
            outputs.append(row | answer)
    return pd.DataFrame(outputs)


def least_likely(outputs: pd.DataFrame, metric: Any, keep: int = 1) -> pd.DataFrame:
    """The `keep` outputs of each input and system that a likelihood metric puts lowest,
    with the column `likelihood`.

    Empty outputs and those without a value are left out; of equal values the earlier
    draw stays.

    metric: has `score(frame)` that gives a `value`, as `BartScore` does.
    Source: TIGERScore, section 3.1: lower BARTScore, more errors.
    """
    has_text = outputs["output"].str.strip() != ""
    texts = outputs[has_text].reset_index(drop=True)
    values = metric.score(texts)["value"].astype(float)
    scored = texts.assign(likelihood=values)[values.notna()]
    draws = scored.groupby(["input_id", "system_id"], sort=False)
    rank = draws["likelihood"].rank(method="first")
    return scored[rank <= keep].reset_index(drop=True)
