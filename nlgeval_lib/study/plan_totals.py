"""A plan one can decide by: what each model takes (GPUs, disk, hours, dollars) and
which printed cells it gives.

What a model is stands in `data/models.csv`, what it costs in `data/prices.csv` (dollars
for a million prompt and new tokens, or an hour), how many printed cells its answers
fill in `data/judged_cells.csv` (`make rehearsal` writes it). Estimates, each with what
it rests on; nothing is loaded or asked.
"""

from __future__ import annotations

import functools
import math
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.study import catalogue
from nlgeval_lib.study.completions import COUNTS, GUESS

# new tokens a second of a model of a billion parameters on one 80 GB GPU; a guess, as
# the next two
RATE = 20_000.0
READS = 10.0  # prompt tokens are read so many times as fast as new ones are written
SERVED = 1_000.0  # new tokens a second of a served model
# what has to fit beside the weights, at least
SEQUENCES = 8
CONTEXT = 4096
GPUS = ((24, 1), (48, 1), (80, 1), (80, 2), (80, 4), (80, 8))  # GB and how many
USED = 0.9  # the share of a GPU's memory that weights and sequences may take
COMPLETION = 2e-6  # GB that a stored completion takes
GPU = "80 GB GPU"


def totals(
    planned: pd.DataFrame, rate: float | None = None, prices: str = ""
) -> pd.DataFrame:
    """A row a model and paper of `completions.plan_catalogue`, the printed cells an
    hour first.

    rate: new tokens a second, for all models. prices: a file in place of
    data/prices.csv. Columns: model, paper, COUNTS, gpus (such as "2 x 80 GB"; empty for
    served models and unknown ones), disk (GB), hours, dollars (NaN where unknown),
    cells, an_hour, a_dollar.
    Raises: ValueError for a file of prices without `model, prompt, new`; OSError.
    """
    known = _table("models.csv").set_index("model")
    cost = _prices(prices)
    filled = _table("judged_cells.csv")
    entries = {one.id: one for one in catalogue.load().outputs}
    rows = []
    for (model, paper), part in planned.groupby(["model", "paper"], sort=False):
        row = {"model": model, "paper": paper, **part[list(COUNTS)].sum().to_dict()}
        size = 0
        number = 0
        weights = 0.0
        speed = SERVED
        if model in known.index and known.at[model, "billions"] > 0:
            weights = known.at[model, "billions"]
            size, number = gpus(
                weights, known.at[model, "layers"], known.at[model, "kv_width"]
            )
            speed = RATE / weights * number
        row["hours"] = (
            (row["new_tokens"] + row["prompt_tokens"] / READS) / (rate or speed) / 3600
        )
        row["gpus"], row["disk"] = (
            f"{number} x {size} GB" if number else "",
            2 * weights + COMPLETION * row["to_ask"],
        )
        row["dollars"] = math.nan
        if number and GPU in cost.index:
            row["dollars"] = row["hours"] * number * cost.at[GPU, "hour"]
        elif model in cost.index:
            paid = (
                row["prompt_tokens"] * cost.at[model, "prompt"]
                + row["new_tokens"] * cost.at[model, "new"]
            )
            row["dollars"] = paid / 1e6
        asked = {
            name
            for names in part.loc[part["to_ask"] > 0, "outputs"]
            for name in names.split(", ")
        }
        tables = {
            (entries[name].paper, table)
            for name in asked
            for table in entries[name].covers
        }
        own = filled[filled["model"] == model]
        row["cells"] = sum(
            own["cells"][
                [key in tables for key in zip(own["paper"], own["table"], strict=True)]
            ]
        )
        rows.append(row)
    found = pd.DataFrame(rows)
    found["an_hour"], found["a_dollar"] = (
        found["cells"] / found["hours"],
        found["cells"] / found["dollars"],
    )
    return found.sort_values(
        ["an_hour", "hours"], ascending=[False, True], ignore_index=True
    )


def gpus(billions: float, layers: float, kv_width: float) -> tuple[int, int]:
    """The smallest GPUs (GB, how many) that hold a model in 16 bits and 8 sequences of
    4,096 tokens.

    kv_width: hidden units of a key, all its heads together. Raises: ValueError where
    none of them does.
    """
    needed = 2 * billions + 2 * 2 * layers * kv_width * SEQUENCES * CONTEXT / 1e9
    for size, number in GPUS:
        if needed <= USED * size * number:
            return size, number
    raise ValueError(f"{needed:,.0f} GB: more than eight GPUs of 80 GB")


def in_words(
    planned: pd.DataFrame, rate: float | None = None, prices: str = ""
) -> Iterator[str | pd.DataFrame]:
    """A plan: its judges, the printed cells that they give, best first, what the models
    take, and what that rests on.

    Raises: as `totals`.
    """
    judges = planned[["model", "judge", "outputs", *COUNTS[:-1]]].rename(
        columns=_spaced
    )
    judges["model"] = planned["model"].mask(planned["model"].duplicated(), "")
    yield _written(
        judges.assign(**{"": planned["exact"].map({True: "", False: "estimate"})})
    )
    found = totals(planned, rate, prices)
    todo = found[found["to_ask"] > 0]
    if len(todo):
        yield "\nprinted cells, those that an hour gives most of first"
        rates = {"an_hour": "cells an hour", "a_dollar": "cells a dollar"}
        yield _written(
            todo[["model", "paper", "cells", "hours", "dollars", *rates]].rename(
                columns=rates
            )
        )
    sums = (*COUNTS, "hours", "dollars", "cells")
    each = found.groupby("model", sort=False).agg(
        dict.fromkeys(sums, _sum) | {"disk": "max", "gpus": "first"}
    )
    whole = each[[*sums, "disk"]].agg(_sum).to_frame("all").T.assign(gpus="")
    takes = (
        pd.concat([each, whole])
        .rename_axis("model")
        .reset_index()
        .rename(columns={"limit": "at_most"})
    )
    order = [
        "completions",
        "stored",
        "to_ask",
        "prompt_tokens",
        "new_tokens",
        "at_most",
        "gpus",
        "disk",
        "hours",
    ]
    yield "\nwhat the models take"
    yield _written(
        takes[["model", *order, "dollars", "cells"]].rename(
            columns=_spaced | {"disk": "GB of disk"}
        )
    )
    yield ""
    for (model, why), part in planned[planned["why"] != ""].groupby(
        ["model", "why"], sort=False
    ):
        yield f"{model}: not here: {', '.join(part['judge'])}: {why}"
    yield from _ways_in(each[each["to_ask"] > 0])
    if not planned["exact"].all():
        yield "estimates depend on answers that are not stored yet"
    if len(todo):
        yield from _rests_on(planned, rate, prices)
    else:
        some = " (of what can be planned here)" if (planned["why"] != "").any() else ""
        yield f"nothing to ask, {int(planned['stored'].sum()):,} stored{some}"


_spaced = {name: name.replace("_", " ") for name in (*COUNTS, "at_most")}
_sum = functools.partial(
    pd.Series.sum, min_count=1
)  # of what is known; NaN where nothing is


def _written(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers as people read them: three digits below a hundred, none after the
    point above.
    """

    def text(value: Any) -> str:
        if isinstance(value, str) or pd.isna(value) or math.isinf(value):
            return value if isinstance(value, str) else ""
        return (
            f"{value:,.0f}"
            if value >= 100 or float(value).is_integer()
            else f"{value:.3g}"
        )

    return frame.map(text)


def _ways_in(each: pd.DataFrame) -> Iterator[str]:
    """What stands between this machine and a model, and what to do."""
    known = _table("models.csv").set_index("model")
    here = _here()
    for model, row in each.iterrows():
        if model in known.index and known.at[model, "access"] not in ("open", "served"):
            yield f"{model}: {known.at[model, 'access']}: {known.at[model, 'instead']}"
        number, size = (
            row["gpus"].removesuffix(" GB").split(" x ") if row["gpus"] else ("0", "0")
        )
        if here and len(here) * min(here) < 0.95 * int(number) * int(size):
            smaller = f"--engine-set tensor_parallel_size={number} on {row['gpus']}, or --engine-set quantization=fp8"
            yield f"{model}: too large for {len(here)} x {min(here):.0f} GB: {smaller} (told in the signature)"
    if not here and each["gpus"].any():
        yield "no GPU is seen here"


def _rests_on(planned: pd.DataFrame, rate: float | None, prices: str) -> Iterator[str]:
    if (planned["to_ask"].gt(0) & ~planned["counted"]).any():
        yield "prompt tokens: four characters a token, where no tokenizer is here"
    if planned["guessed"].any():
        yield f"new tokens: a guess of {GUESS:.0%} of the limit, where fewer than 20 answers are stored"
    by_size = (
        f"{RATE:,.0f} new tokens a second by billion of parameters on an 80 GB GPU"
    )
    guess = f"{by_size}, {SERVED:,.0f} of a served model (guesses; --rate gives yours)"
    speed = f"{rate:,.0f} new tokens a second, as given" if rate else guess
    yield f"hours: {speed}; a prompt is read {READS:.0f} times as fast"
    yield f"GPUs: weights in 16 bits and {SEQUENCES} sequences of {CONTEXT:,} tokens"
    dated = _prices(prices)["date"].dropna()
    yield (
        f"dollars: {prices or 'data/prices.csv'}"
        + (f", of {dated.max()}" if len(dated) else "")
        + "; --prices FILE"
    )
    yield "printed cells: as the rehearsal fills them (data/judged_cells.csv); of tables that already have some, too"


def _here() -> list[float]:
    """The memory of each GPU of this machine, in GB."""
    if not shutil.which("nvidia-smi"):
        return []
    asked = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    return [
        float(line) * 2**20 / 1e9 for line in said.split("\n") if line.strip().isdigit()
    ]


def _table(name: str) -> pd.DataFrame:
    return pd.read_csv(files.data() / name)


def _prices(given: str) -> pd.DataFrame:
    """Dollars by model. Raises: ValueError naming what the file lacks; OSError."""
    path = Path(given) if given else files.data() / "prices.csv"
    found = pd.read_csv(path)
    if lacking := [
        name for name in ("model", "prompt", "new") if name not in found.columns
    ]:
        raise ValueError(
            f"{path}: no column {', '.join(lacking)}; model, prompt and new are needed, hour for {GPU!r}"
        )
    try:
        found = found.reindex(
            columns=["model", "prompt", "new", "hour", "date"]
        ).set_index("model")
        return found.astype(dict.fromkeys(("prompt", "new", "hour"), float))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
