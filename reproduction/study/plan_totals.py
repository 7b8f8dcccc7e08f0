"""A plan one can decide by: what each model takes (GPUs, disk, hours, dollars) and
which printed cells it gives.

What a model is stands in `data/models.toml`, what it costs in `data/prices.csv` (dollars
for a million prompt and new tokens, or an hour), how many printed cells its answers
fill in `data/judged_cells.csv` (`make rehearsal` writes it). Estimates, each with what
it rests on; nothing is loaded or asked.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import files, weights
from nlgeval_lib.scoring.planning import COUNTS, GUESS
from reproduction.study import catalogue, gpu_rate
from reproduction.study.gpu_rate import GpuRate

# Guesses, for where `make gpu-check` measured nothing. RATE: new tokens a second of a
# model of a billion parameters on one 80 GB GPU.
RATE = 20_000.0
READS = 10.0  # prompt tokens are read so many times as fast as new ones are written
SERVED = 1_000.0  # new tokens a second of a served model
# What has to fit beside the weights, at least: so many sequences of so many tokens.
SEQUENCES = 8
CONTEXT = 4096
# What one can rent, smallest first: GB of one GPU, and how many of them.
GPUS = ((24, 1), (48, 1), (80, 1), (80, 2), (80, 4), (80, 8))
USED = 0.9  # the share of a GPU's memory that weights and sequences may take
COMPLETION = 2e-6  # GB that a stored completion takes
# The name under which data/prices.csv has the price of an hour.
GPU = "80 GB GPU"


def totals(planned: pd.DataFrame, rate: float | None = None) -> pd.DataFrame:
    """What each model takes and gives for each paper, the printed cells an hour first.

    planned: the frame of `completions.plan_catalogue`.
    rate: new tokens a second, for all models; None: as measured here, or guessed.
    Returns: a row a model and paper: `model, paper`; `COUNTS`, summed; `gpus` (such as
    "2 x 80 GB", empty for served models and unknown ones); `disk` (GB); `hours`;
    `dollars` (NaN where unknown); `cells` (printed ones that the answers give);
    `an_hour` and `a_dollar` (cells).
    Raises: ValueError for a model that fits on no GPUs of `GPUS`; OSError.
    """
    models = weights.table()
    measured = gpu_rate.read()
    price_table = _prices()
    filled = pd.read_csv(files.data() / "judged_cells.csv")
    covers = _covered()
    rows = []
    by_paper = planned.groupby(["model", "paper"], sort=False)
    for (model, paper), judges in by_paper:
        row = {"model": model, "paper": paper}
        row |= judges[list(COUNTS)].sum().to_dict()
        needs = _needs_of(model, models, measured)
        # Prompt tokens count as the new tokens that could be written in the same time.
        tokens = row["new_tokens"] + row["prompt_tokens"] / READS
        seconds = tokens / (rate or needs.speed)
        if measured and needs.gpus and row["to_ask"]:
            # larger weights take longer to load
            seconds += measured.load_seconds * needs.billions / measured.billions
        row["hours"] = seconds / 3600
        row["gpus"] = needs.in_words()
        # Two bytes a parameter, and what the stored answers take.
        row["disk"] = 2 * needs.billions + COMPLETION * row["to_ask"]
        row["dollars"] = _dollars(row, needs.gpus, price_table)
        of_model = filled[filled["model"] == model]
        row["cells"] = _cells(judges, of_model, covers)
        rows.append(row)
    table = pd.DataFrame(rows)
    table["an_hour"] = table["cells"] / table["hours"]
    table["a_dollar"] = table["cells"] / table["dollars"]
    order = ["an_hour", "hours"]
    return table.sort_values(order, ascending=[False, True], ignore_index=True)


@dataclass(frozen=True)
class _Needs:
    """The GPUs that a model of so many billions of parameters needs, and the new tokens
    a second that it gives there; as they are for a served model and an unknown one.
    """

    billions: float = 0.0
    gpus: int = 0
    gpu_size: int = 0  # GB
    speed: float = SERVED

    def in_words(self) -> str:
        """The GPUs, such as "2 x 80 GB"."""
        if not self.gpus:
            return ""
        return f"{self.gpus} x {self.gpu_size} GB"


def _needs_of(model: str, models: pd.DataFrame, measured: GpuRate | None) -> _Needs:
    """What a model needs."""
    if model not in models.index:
        return _Needs()
    facts = models.loc[model]
    billions = facts["billions"]
    # A served model has no number of parameters (NaN).
    if not billions > 0:
        return _Needs()
    size, number = gpus(billions, facts["layers"], facts["kv_width"])
    of_a_billion = RATE
    if measured:
        of_a_billion = measured.of_a_billion
    return _Needs(billions, number, size, of_a_billion / billions * number)


def _covered() -> dict[str, list[tuple[Any, str]]]:
    """The printed tables of each output, as (paper, table)."""
    covers = {}
    for entry in catalogue.load(notebooks=False).outputs:
        covers[entry.id] = [(entry.paper, table) for table in entry.covers]
    return covers


def _dollars(row: Mapping[str, Any], number: int, prices: pd.DataFrame) -> float:
    """What a row of the plan costs on so many GPUs, or of a server; NaN where no price
    is known.
    """
    if number and GPU in prices.index:
        return row["hours"] * number * prices.at[GPU, "hour"]
    if row["model"] in prices.index:
        price = prices.loc[row["model"]]
        for_prompts = row["prompt_tokens"] * price["prompt"]
        for_answers = row["new_tokens"] * price["new"]
        return (for_prompts + for_answers) / 1e6
    return math.nan


def _cells(
    judges: pd.DataFrame,
    filled: pd.DataFrame,
    covers: Mapping[str, Sequence[tuple[Any, str]]],
) -> int:
    """The printed cells that the answers of a model give to these rows of the plan."""
    tables: set[tuple[str, str]] = set()
    for outputs in judges.loc[judges["to_ask"] > 0, "outputs"]:
        for output in outputs.split(", "):
            tables.update(covers[output])
    count = 0
    for row in filled.itertuples():
        if (row.paper, row.table) in tables:
            count += row.cells
    return count


def gpus(billions: float, layers: float, kv_width: float) -> tuple[int, int]:
    """The smallest GPUs (GB, how many) that hold a model in 16 bits and 8 sequences of
    4,096 tokens.

    kv_width: hidden units of a key, all its heads together.
    Raises: ValueError where none of them does.

    Example:
    >>> gpus(6.74, 32, 4096)
    (48, 1)
    """
    of_a_token = 2 * 2 * layers * kv_width  # bytes of keys and values
    # Two bytes a parameter; a billion of them are two GB.
    needed = 2 * billions + of_a_token * SEQUENCES * CONTEXT / 1e9
    for size, number in GPUS:
        if needed <= USED * size * number:
            return size, number
    raise ValueError(f"{needed:,.0f} GB: more than eight GPUs of 80 GB")


def in_words(
    planned: pd.DataFrame, rate: float | None = None
) -> Iterator[str | pd.DataFrame]:
    """A plan's judges, the printed cells that they give, best first, what the models
    take, and what that rests on.

    Returns: lines and tables, in the order in which they are printed.
    """
    table = totals(planned, rate)
    yield _judges(planned)
    todo = table[table["to_ask"] > 0]
    if len(todo):
        yield "\nprinted cells, those that an hour gives most of first"
        rates = {"an_hour": "cells an hour", "a_dollar": "cells a dollar"}
        columns = ["model", "paper", "cells", "hours", "dollars", *rates]
        yield _readable(todo[columns].rename(columns=rates))
    by_model = _by_model(table)
    yield "\nwhat the models take"
    yield _readable(_needs(by_model))
    yield ""
    # What cannot be planned here is said once for all judges with the same reason.
    unplanned = planned[planned["why"] != ""]
    by_reason = unplanned.groupby(["model", "why"], sort=False)
    for (model, reason), rows in by_reason:
        judges = ", ".join(rows["judge"])
        yield f"{model}: not here: {judges}: {reason}"
    yield from _obstacles(by_model.index[by_model["to_ask"] > 0])
    if not planned["exact"].all():
        yield "estimates depend on answers that are not stored yet"
    if len(todo):
        yield from _rests_on(planned, rate)
    else:
        stored = int(planned["stored"].sum())
        limits = " (of what can be planned here)" if len(unplanned) else ""
        yield f"nothing to ask, {stored:,} stored{limits}"


# Column -> its head in a printed table.
_SPACED = {name: name.replace("_", " ") for name in (*COUNTS, "at_most")}
# What of several rows is added up.
_SUMS = (*COUNTS, "hours", "dollars", "cells")
# The sum of what is known; NaN where nothing is.
_sum_known = functools.partial(pd.Series.sum, min_count=1)


def _by_model(table: pd.DataFrame) -> pd.DataFrame:
    """What each model takes for all papers together: sums, the largest disk, its
    GPUs.
    """
    aggregates: dict[str, Any] = dict.fromkeys(_SUMS, _sum_known)
    aggregates["disk"] = "max"
    aggregates["gpus"] = "first"
    return table.groupby("model", sort=False).agg(aggregates)


def _needs(by_model: pd.DataFrame) -> pd.DataFrame:
    """What each model takes and what all take, in the columns that are shown."""
    sums = by_model[[*_SUMS, "disk"]].agg(_sum_known)
    total = sums.to_frame("all").T
    table = pd.concat([by_model, total.assign(gpus="")])
    table = table.rename_axis("model").reset_index()
    table = table.rename(columns={"limit": "at_most"})
    columns = [
        "model",
        "completions",
        "stored",
        "to_ask",
        "prompt_tokens",
        "new_tokens",
        "at_most",
        "gpus",
        "disk",
        "hours",
        "dollars",
        "cells",
    ]
    return table[columns].rename(columns=_SPACED | {"disk": "GB of disk"})


def _judges(planned: pd.DataFrame) -> pd.DataFrame:
    """What each judge asks; a model's name stands in its first row alone."""
    table = planned[["model", "judge", "outputs", *COUNTS[:-1]]]
    names = table["model"].mask(table["model"].duplicated(), "")
    notes = np.where(planned["exact"], "", "estimate")
    return _readable(table.assign(model=names, note=notes).rename(columns=_SPACED))


def _as_read(value: Any) -> str:
    """A number as people read it: three digits below a hundred, none after the point
    above; empty for NaN and infinity.

    Example:
    >>> _as_read(1234.5), _as_read(1.23456), _as_read(float("nan"))
    ('1,234', '1.23', '')
    """
    if isinstance(value, str):
        return value
    if pd.isna(value) or math.isinf(value):
        return ""
    if value >= 100 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _readable(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers as people read them."""
    return frame.map(_as_read)


def _obstacles(models: Iterable[str]) -> Iterator[str]:
    """What stands between a reader and a model, and what to do: a line each."""
    known = weights.table()
    for model in models:
        if model in known.index:
            access = known.at[model, "access"]
            if access not in ("open", "served"):
                yield f"{model}: {access}: {known.at[model, 'instead']}"


def _rests_on(planned: pd.DataFrame, rate: float | None) -> Iterator[str]:
    """What the estimates rest on, a line each."""
    if planned["to_ask"].any():
        yield "prompt tokens: four characters a token"
    if planned["guessed"].any():
        yield (
            f"new tokens: a guess of {GUESS:.0%} of the limit, "
            "where fewer than 20 answers are stored"
        )
    yield f"hours: {_speed(rate)}; a prompt is read {READS:.0f} times as fast"
    yield f"GPUs: weights in 16 bits and {SEQUENCES} sequences of {CONTEXT:,} tokens"
    yield f"dollars: data/prices.csv, of {_prices()['date'].max()}"
    yield (
        "printed cells: as the rehearsal fills them (data/judged_cells.csv); "
        "of tables that already have some, too"
    )


def _speed(rate: float | None) -> str:
    """How fast a model is taken to be, and where that is from."""
    if rate:
        return f"{rate:,.0f} new tokens a second, as given"
    measured = gpu_rate.read()
    if measured:
        return (
            f"{measured.tokens_a_second:,.0f} new tokens a second and "
            f"{measured.load_seconds:,.0f} s to load, as `make gpu-check` measured "
            f"{measured.model} here; in proportion to the parameters for others"
        )
    return (
        f"{RATE:,.0f} new tokens a second by billion of parameters on an "
        f"80 GB GPU, {SERVED:,.0f} of a served model (guesses; --rate gives yours)"
    )


def _prices() -> pd.DataFrame:
    """data/prices.csv by model: dollars for a million `prompt` and `new` tokens, and of
    an `hour`; the `date` of the price.
    """
    return pd.read_csv(files.data() / "prices.csv").set_index("model")
