"""System outputs for the real-world channel: five samples an input, and of them the least likely."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pandas as pd

from nlgeval_lib.engines import Engine, Sampling, complete
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.judge import ChatFormat, make_sampling
from nlgeval_lib.training.filters import Filters, Rule
from nlgeval_lib.training.pipeline import no_text

# five draws by top-p sampling; the paper gives neither p nor the temperature
SAMPLING = MappingProxyType({"temperature": 1.0, "top_p": 0.9, "max_tokens": 512, "n": 5})
BY = ["input_id", "system_id"]


def sample_outputs(
    frame: pd.DataFrame,
    systems: Mapping[str, Engine],
    *,
    store: Store | None = None,
    sampling: Sampling | Mapping[str, Any] | None = None,
    progress: Any = None,
) -> pd.DataFrame:
    """What each system writes for each input: the rows of `frame` once a system and draw, with `system_id`, `draw`,
    `output` and `failure` (why an output is empty).

    A system gets the instruction and, on the next lines, the input. `frame` has `instruction` and `source` or `input`.
    Raises: ValueError for a missing column; EngineError.
    Source: TIGERScore, section 3.2 (five samples by top-p sampling).
    """
    column = next((name for name in ("source", "input") if name in frame.columns), None)
    if "instruction" not in frame.columns or column is None:
        raise ValueError(f"instruction, and source or input, are needed; columns: {', '.join(map(str, frame.columns))}")
    rows, form = frame.to_dict("records"), ChatFormat.named("messages")
    texts = ["\n".join(filter(None, (row["instruction"], row[column]))) for row in rows]
    requests = [form.request(text, str(place)) for place, text in enumerate(texts)]
    made = []
    for name, engine in systems.items():
        answers = complete(engine, requests, make_sampling(SAMPLING, sampling), store, progress)
        for row, draws in zip(rows, answers, strict=True):
            for draw, completion in enumerate(draws):
                failure = no_text(completion)
                text = "" if failure else completion.text.strip()
                made.append({**row, "system_id": name, "draw": draw, "output": text, "failure": failure})
    added = ["system_id", "draw", "output", "failure"]
    return pd.DataFrame(made, columns=[*(name for name in frame.columns if name not in added), *added])


def least_likely(frame: pd.DataFrame, metric: Any, keep: int = 1) -> tuple[pd.DataFrame, Filters]:
    """The outputs that a likelihood metric ranks lowest, `keep` for each input and system, and what was passed over.

    metric: anything with `score(frame)` that gives a `value`, such as `BartScore`. Outputs that are empty or without a
    value are removed and counted as such; of equal values the earlier draw stays. The column `likelihood` is added.
    Raises: ValueError for keep below 1 or a missing column.
    Source: TIGERScore, section 3.2 (BARTScore; lower is taken to hold more errors).
    """
    if keep < 1:
        raise ValueError(f"keep={keep}; at least 1 is needed")
    if missing := [name for name in (*BY, "output") if name not in frame.columns]:
        raise ValueError(f"no column {', '.join(missing)}; the frame has {', '.join(map(str, frame.columns))}")
    frame = frame.reset_index(drop=True)
    filters: Filters[int] = Filters(lambda row: "/".join(frame.loc[row, BY].astype(str)) + f"#{row}", lambda row: "all")

    def passing(name: str, says: str, reasons: pd.Series, origin: str = "paper") -> list[int]:
        return filters.apply([Rule(name, says, reasons.get, origin)], reasons.index)

    empty = frame["output"].str.strip().eq("").map({True: "empty", False: ""})
    scored = metric.score(frame.loc[passing("no_output", "the system wrote nothing", empty)])
    reasons = scored["reason"].replace("", "no value").where(scored["value"].isna(), "")
    rows = passing("no_likelihood", "the metric gives no value", reasons, "ours")
    part = frame.loc[rows].assign(likelihood=scored["value"].loc[rows].astype(float))
    ranks = part.groupby(BY, sort=False)["likelihood"].rank(method="first")
    above = ranks.map(lambda rank: f"{rank:g}. from the bottom" if rank > keep else "")
    rows = passing("likelier", f"not among the {keep} least likely of an input and system", above)
    return part.loc[rows].reset_index(drop=True), filters
