"""The long frame: one row an output and aspect; how it is built of what a loader
read, cut, and made wide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

KEYS = ("dataset", "input_id", "system_id", "aspect", "human")
TEXTS = (
    "source",
    "reference",
    "references",
    "output",
    "context",
    "instruction",
    "rubric",
)

# a row a data set: what `Spec` says of it, the module here that reads it, the systems
# with a file each, and whether its files are fetched only when asked for
TABLE = pd.read_csv(
    Path(__file__).with_name("datasets.csv"), index_col="name", keep_default_na=False
)


@dataclass(frozen=True)
class Spec:
    """What is known about a data set before any of its files is here."""

    name: str
    title: str
    files: tuple[str, ...]  # registry paths
    n_items: (
        int  # outputs, 0 where not known before; a frame has n_items x len(scale) rows
    )
    n_inputs: int  # distinct sources
    n_systems: int
    scale: Mapping[
        str, tuple[float, float]
    ]  # aspect -> (lowest, highest) possible human rating, in frame order
    licence: str
    source: str  # publication
    embedded: tuple[str, ...] = ()  # files below data/ that the repository holds itself


def known(name: str, *files: str, embedded: tuple[str, ...] = ()) -> Spec:
    """The spec of a data set of these files: the table's row says the rest, its
    scale as `aspect aspect 1 5; ...`.
    """
    row = TABLE.loc[name].drop(["module", "systems", "optional"]).to_dict()
    scale: dict[str, tuple[float, float]] = {}
    for part in row.pop("scale").split(";"):
        *aspects, low, high = part.split()
        ends = (float(low) if low == "-inf" else int(low), int(high))
        scale |= dict.fromkeys(aspects, ends)
    return Spec(name=name, files=files, scale=scale, embedded=embedded, **row)


def systems(name: str) -> tuple[str, ...]:
    """The systems of a data set whose files are named by them."""
    return tuple(TABLE["systems"][name].split())


def expect(name: str, what: str, got: object, expected: object) -> None:
    """Hold one count or fact of a data set.

    Raises: ValueError naming the data set, what was got and expected.
    """
    if got != expected:
        raise ValueError(
            f"{name}: {what}: got {got}, expected {expected}; the file is not what the loader was written for"
        )


def build(
    spec: Spec,
    rows: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]],
    counts: tuple[int, int, int] | None = None,
) -> pd.DataFrame:
    """The long frame of `spec` from one row an output (or a list a column, where there
    are many): what is known of it.

    A row has input_id, system_id, output and `human`. A value that is itself a mapping
    (aspect -> value) is the aspect's own, such as `human`, `rater_...` or predictions;
    any other is repeated for each aspect. Of `reference` and `references` one is
    enough. `counts` (outputs, inputs, systems) overrides what the spec promises, for a
    variant.

    Raises: ValueError where a count is not what the spec says.
    """
    wide = pd.DataFrame(rows)
    aspects = list(spec.scale)
    got = (len(wide), wide["input_id"].nunique(), wide["system_id"].nunique())
    if not spec.n_items and counts is None:
        counts = got
    expect(
        spec.name,
        "outputs, inputs, systems",
        got,
        counts or (spec.n_items, spec.n_inputs, spec.n_systems),
    )
    if "references" in wide:
        wide["reference"] = [texts[0] for texts in wide["references"]]
    elif "reference" in wide:
        wide["references"] = [(text,) if text else () for text in wide["reference"]]
    own = [column for column in wide if isinstance(wide[column][0], Mapping)]
    rated = [column for column in own if _rated(column)]
    places = np.repeat(np.arange(len(wide)), len(aspects))
    long = wide.drop(columns=own).take(places).reset_index(drop=True)
    long["dataset"], long["aspect"] = spec.name, aspects * len(wide)
    for column in own:
        cells = [value[aspect] for value in wide[column] for aspect in aspects]
        long[column] = np.array(cells, dtype=float) if column in rated else cells
    order = dict.fromkeys(
        [
            *KEYS,
            *rated,
            *(text for text in TEXTS if text in long and text not in own),
            *long,
        ]
    )
    return counted(
        long[list(order)],
        {"name": spec.name, "scale": dict(spec.scale), "aspects": tuple(aspects)},
    )


def _rated(column: Any) -> bool:
    return column == "human" or str(column).startswith("rater_")


def counted(frame: pd.DataFrame, about: Mapping[str, Any]) -> pd.DataFrame:
    """The frame, with what it is about and how many items, inputs and systems it has
    in its `attrs`.
    """
    n_items = len(frame) // max(1, frame["aspect"].nunique())
    n_inputs = frame["input_id"].nunique()
    n_systems = frame["system_id"].nunique()
    frame.attrs = {
        **about,
        "n_items": n_items,
        "n_inputs": n_inputs,
        "n_systems": n_systems,
    }
    return frame


def items(frame: pd.DataFrame) -> pd.DataFrame:
    """One row an output, in file order: ratings become columns `human_<aspect>`,
    `rater_..._<aspect>`.

    Columns that differ between the aspects of an output (e.g. `unieval`) become
    `<column>_<aspect>` too; `aspect` and `human` are gone, all else is as in the frame.

    Raises: ValueError where the aspects are not about the same outputs in the same
    order.
    """
    parts = {
        aspect: part.reset_index(drop=True)
        for aspect, part in frame.groupby("aspect", sort=False)
    }
    first = next(iter(parts.values()), frame)
    keys = ["input_id", "system_id"]
    for aspect, part in parts.items():
        if not part[keys].equals(first[keys]):
            raise ValueError(
                f"the rows of aspect {aspect} are not the outputs of {next(iter(parts))} in the same order"
            )
    wide: dict[str, Any] = {}
    for column in first.columns.drop("aspect"):
        known = column in (*KEYS, *TEXTS)
        if _rated(column) or (
            not known
            and any(not first[column].equals(part[column]) for part in parts.values())
        ):
            wide |= {
                f"{column}_{aspect}": part[column] for aspect, part in parts.items()
            }
        else:
            wide[column] = first[column]
    return pd.DataFrame(wide).__finalize__(frame)


def quick(frame: pd.DataFrame, inputs: int = 20) -> pd.DataFrame:
    """The rows of the first `inputs` inputs, everything else as it is."""
    keep = frame["input_id"].unique()[:inputs]
    return counted(
        frame[frame["input_id"].isin(keep)].reset_index(drop=True), frame.attrs
    )
