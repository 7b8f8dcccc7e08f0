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
from nlgeval_lib.training.pipeline import no_text

# Five draws by top-p sampling; the paper names neither p nor the temperature.
SAMPLING = Sampling(n=5, temperature=1.0, top_p=0.9, max_tokens=512)
INPUTS = ("source", "input")  # columns that hold the text to work on


def sampled(
    rows: pd.DataFrame, system: str, sampling: Sampling = SAMPLING
) -> Stages[pd.DataFrame]:
    """What a system writes for each row: the row once a draw, with `system_id`, `draw`,
    `output`, and `failure`, which says why an output is empty.

    rows: `instruction`, and `source` or `input`; the system gets the two on lines of
    their own. `input_id` names a row; without it, its number does.
    Raises: ValueError for a missing column.
    Source: TIGERScore, section 3.1 and Figure 2.
    """
    column = next((name for name in INPUTS if name in rows), "")
    if not column or "instruction" not in rows:
        columns = ", ".join(map(str, rows.columns))
        raise ValueError(
            "outputs are sampled for rows with instruction, and source or input; "
            f"the columns are {columns}"
        )
    if "input_id" not in rows:
        rows = rows.assign(input_id=[str(number) for number in range(len(rows))])
    chat = ChatFormat.named("messages")
    requests = []
    for number, row in enumerate(rows.to_dict("records")):
        texts = [row["instruction"], row[column]]
        prompt = "\n".join(text for text in texts if text)
        requests.append(chat.request(prompt, str(number)))
    answers = yield Stage("outputs", requests, sampling)
    outputs = []
    for row, completions in zip(rows.to_dict("records"), answers, strict=True):
        for draw, completion in enumerate(completions):
            failure = no_text(completion)
            text = "" if failure else completion.text.strip()
            answer = {"draw": draw, "output": text, "failure": failure}
            outputs.append(row | {"system_id": system} | answer)
    return pd.DataFrame(outputs)


def least_likely(outputs: pd.DataFrame, metric: Any, keep: int = 1) -> pd.DataFrame:
    """The `keep` outputs of each input and system that a likelihood metric puts lowest,
    with the column `likelihood`.

    metric: has `score(frame)` that gives a `value`, as `BartScore` does. Empty outputs
    and those without a value are left out; of equal values the earlier draw stays.
    Source: TIGERScore, section 3.1: lower BARTScore, more errors.
    """
    written = outputs[outputs["output"].str.strip() != ""].reset_index(drop=True)
    values = metric.score(written)["value"].astype(float)
    scored = written.assign(likelihood=values)[values.notna()]
    groups = scored.groupby(["input_id", "system_id"], sort=False)["likelihood"]
    lowest = groups.rank(method="first") <= keep
    return scored[lowest].reset_index(drop=True)
