"""System outputs for the real-world channel: five samples an input, and of them the least likely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd

from nlgeval_lib.engines import Engine, Sampling, complete
from nlgeval_lib.evaluators.chat import ChatFormat
from nlgeval_lib.evaluators.judge import make_sampling
from nlgeval_lib.store import Store
from nlgeval_lib.training.sieve import Rule, Sieve, there

# five draws by top-p sampling; the paper gives neither p nor the temperature
SAMPLING = MappingProxyType({"temperature": 1.0, "top_p": 0.9, "max_tokens": 512, "n": 5})


def sample_outputs(
    frame: pd.DataFrame,
    systems: Mapping[str, Engine],
    *,
    store: Store | None = None,
    sampling: Sampling | Mapping[str, Any] | None = None,
    chat: str | ChatFormat = "messages",
    progress: Any = None,
) -> pd.DataFrame:
    """What each system writes for each input: the rows of `frame` once a system and draw, with `system_id`, `draw`,
    `output` and `failure` (why an output is empty).

    A system gets the instruction and, on the next lines, the input. `frame` has `instruction` and `source` or `input`.
    Raises: ValueError for a missing column; EngineError.
    Source: TIGERScore, section 3.2 (five samples by top-p sampling).
    """
    settings = make_sampling(SAMPLING, sampling)
    form = ChatFormat.named(chat)
    column = next((name for name in ("source", "input") if name in frame.columns), None)
    if "instruction" not in frame.columns or column is None:
        raise ValueError(f"instruction, and source or input, are needed; columns: {', '.join(map(str, frame.columns))}")
    rows = frame.to_dict("records")
    requests = [
        form.request("\n".join(text for text in (row["instruction"], row[column]) if text), str(place))
        for place, row in enumerate(rows)
    ]
    made = []
    for name, engine in systems.items():
        answers = complete(engine, requests, settings, store, progress)
        for row, draws in zip(rows, answers, strict=True):
            for draw, completion in enumerate(draws):
                failure = there(completion)
                text = "" if failure else completion.text.strip()
                made.append({**row, "system_id": name, "draw": draw, "output": text, "failure": failure})
    added = ["system_id", "draw", "output", "failure"]
    return pd.DataFrame(made, columns=[*(name for name in frame.columns if name not in added), *added])


def least_likely(
    frame: pd.DataFrame,
    metric: Any,
    keep: int = 1,
    by: Sequence[str] = ("input_id", "system_id"),
) -> tuple[pd.DataFrame, Sieve]:
    """The outputs that a likelihood metric ranks lowest, `keep` for each input and system, and what was passed over.

    metric: anything with `score(frame)` that gives a `value`, such as `BartScore`. Outputs that are empty or without a
    value are removed and counted as such; of equal values the earlier draw stays. The column `likelihood` is added.
    Raises: ValueError for keep below 1 or a missing column.
    Source: TIGERScore, section 3.2 (BARTScore; lower is taken to hold more errors).
    """
    if keep < 1:
        raise ValueError(f"keep={keep}; at least 1 is needed")
    if missing := [name for name in (*by, "output") if name not in frame.columns]:
        raise ValueError(f"no column {', '.join(missing)}; the frame has {', '.join(map(str, frame.columns))}")
    frame = frame.reset_index(drop=True)
    sieve: Sieve[int] = Sieve(lambda row: "/".join(str(frame.at[row, name]) for name in by) + f"#{row}")
    empty = Rule(
        "no_output", "the system wrote nothing", lambda row: "" if frame.at[row, "output"].strip() else "empty"
    )
    rows = sieve.through([empty], range(len(frame)))
    scored = metric.score(frame.loc[rows])
    values = scored["value"]
    unscored = Rule(
        "no_likelihood",
        "the metric gives no value",
        lambda row: (str(scored.at[row, "reason"]) or "no value") if pd.isna(values.at[row]) else "",
        "ours",
    )
    rows = sieve.through([unscored], rows)
    part = frame.loc[rows].assign(likelihood=values.loc[rows].astype(float))
    ranks = part.groupby(list(by), sort=False)["likelihood"].rank(method="first")
    likelier = Rule(
        "likelier",
        f"not among the {keep} least likely of an input and system",
        lambda row: f"{ranks.at[row]:g}. from the bottom" if ranks.at[row] > keep else "",
    )
    return part.loc[sieve.through([likelier], rows)].reset_index(drop=True), sieve
