"""The long frame, in which every rated data set comes: one row an output and aspect.

A loader reads its files into one row an output, holds what must be true of them by
`expect`, and lets `build` make the frame, whose counts must be those of `datasets.csv`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

# the columns that a long frame begins with
KEYS = ("dataset", "input_id", "system_id", "aspect", "human")
# its columns of texts, in this order after the ratings; a set has some of them
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
# with a file each, whether its files are fetched only when asked for, and the
# categories of a set of labels
TABLE = pd.read_csv(
    Path(__file__).with_name("datasets.csv"), index_col="name", keep_default_na=False
)


@dataclass(frozen=True)
class Spec:
    """What is known about a data set before any of its files is here.

    files: registry paths, in the order in which the loader reads them.
    n_items, n_inputs, n_systems: outputs, distinct inputs, and systems; 0 where not
    known.
    scale: aspect -> (lowest, highest) possible human rating, in the order of the frame;
    -inf for no lowest.
    licence: of the files, as their publishers state it.
    embedded: files below data/ that the repository holds itself.
    """

    name: str
    title: str
    files: tuple[str, ...]
    n_items: int
    n_inputs: int
    n_systems: int
    scale: Mapping[str, tuple[float, float]]
    licence: str
    source: str
    embedded: tuple[str, ...] = ()


def known(name: str, *files: str, embedded: tuple[str, ...] = ()) -> Spec:
    """The spec of a data set of these files; `datasets.csv` has the rest, a scale as
    `aspect aspect 1 5; aspect 0 1`.
    """
    columns = ["module", "systems", "optional", "kind", "labels"]  # not of the spec
    row = TABLE.loc[name].drop(columns).to_dict()
    scale: dict[str, tuple[float, float]] = {}
    for entry in row.pop("scale").split(";"):
        *aspects, low, high = entry.split()
        lowest = float(low) if low == "-inf" else int(low)
        scale |= dict.fromkeys(aspects, (lowest, int(high)))
    return Spec(name=name, files=files, scale=scale, embedded=embedded, **row)


def systems(name: str) -> tuple[str, ...]:
    """The systems of a data set that has one file a system, in the table's order."""
    return tuple(TABLE["systems"][name].split())


def labels(name: str) -> tuple[str, ...]:
    """The categories of a set of labels, in order; none where they are grades."""
    return tuple(filter(None, TABLE["labels"][name].split("|")))


def expect(name: str, fact: str, actual: object, expected: object) -> None:
    """Hold one fact of a data set: pass where `actual` is `expected`. Raises:
    ValueError.
    """
    if actual != expected:
        raise ValueError(
            f"{name}: {fact}: got {actual}, expected {expected}; "
            "the file is not what the loader was written for"
        )


def build(
    spec: Spec,
    rows: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]],
    counts: tuple[int, int, int] | None = None,
) -> pd.DataFrame:
    """The long frame of `spec`: one row an output and aspect, from one row an output.

    rows: mappings, or a list a column. Each output has input_id, system_id, `human`,
    and `output` where the set has texts. A value that is a mapping (aspect -> value)
    belongs to the aspects; any other is repeated for each. Of `reference` (a text, ""
    for none) and `references` (a tuple of texts) one is enough.
    counts: outputs, inputs, systems of a variant of the set, in place of the spec's.
    Returns: the columns `KEYS`, ratings, `TEXTS`, then the others; all aspects of an
    output stand together. Ratings are float64, NaN where nobody rated.
    Raises: ValueError where a count is not the expected one.
    """
    wide = pd.DataFrame(rows)
    aspects = list(spec.scale)
    sizes = (len(wide), wide["input_id"].nunique(), wide["system_id"].nunique())
    if counts is None and spec.n_items:
        counts = (spec.n_items, spec.n_inputs, spec.n_systems)
    expect(spec.name, "outputs, inputs, systems", sizes, counts or sizes)
    if "references" in wide:
        wide["reference"] = [texts[0] for texts in wide["references"]]
    elif "reference" in wide:
        wide["references"] = [(text,) if text else () for text in wide["reference"]]
    # What is the same for all aspects is repeated; what differs is put beside it.
    by_aspect = [column for column in wide if isinstance(wide[column][0], Mapping)]
    places = np.repeat(np.arange(len(wide)), len(aspects))
    long = wide.drop(columns=by_aspect).take(places).reset_index(drop=True)
    texts = [text for text in TEXTS if text in long]
    long["dataset"] = spec.name
    long["aspect"] = aspects * len(wide)
    ratings = []
    added: dict[str, Any] = {}
    for column in by_aspect:
        cells = [value[aspect] for value in wide[column] for aspect in aspects]
        if _rated(column):
            ratings.append(column)
            added[column] = np.array(cells, dtype=float)
        else:
            added[column] = cells
    long = pd.concat([long, pd.DataFrame(added, index=long.index)], axis=1)
    order = dict.fromkeys([*KEYS, *ratings, *texts, *long])
    about = {"name": spec.name, "scale": dict(spec.scale), "aspects": tuple(aspects)}
    return counted(long[list(order)], about)


def _rated(column: Any) -> bool:
    """Whether a column holds ratings: `human`, or those of one rater."""
    return column == "human" or str(column).startswith("rater_")


def counted(frame: pd.DataFrame, about: Mapping[str, Any]) -> pd.DataFrame:
    """The frame itself, with its sizes in `attrs` (n_items, rows an aspect; n_inputs,
    n_systems) beside what `about` says: name, scale and aspects.
    """
    frame.attrs = {
        **about,
        "n_items": len(frame) // max(1, frame["aspect"].nunique()),
        "n_inputs": frame["input_id"].nunique(),
        "n_systems": frame["system_id"].nunique(),
    }
    return frame


def items(frame: pd.DataFrame) -> pd.DataFrame:
    """One row an output, in file order: the long frame made wide.

    Ratings become columns `human_<aspect>` and `rater_..._<aspect>`; so does a further
    column that differs between the aspects of an output. Of `KEYS` and `TEXTS` those of
    the first aspect stand; `aspect` and `human` are gone.
    Raises: ValueError where the aspects are not about the same outputs in the same
    order.
    """
    by_aspect: dict[str, pd.DataFrame] = {}
    for aspect, rows in frame.groupby("aspect", sort=False):
        by_aspect[aspect] = rows.reset_index(drop=True)
    first_aspect = next(iter(by_aspect), "")
    first = by_aspect.get(first_aspect, frame)
    keys = ["input_id", "system_id"]
    for aspect, rows in by_aspect.items():
        if not rows[keys].equals(first[keys]):
            raise ValueError(
                f"the rows of aspect {aspect} are not the outputs of {first_aspect} "
                "in the same order"
            )
    wide: dict[str, Any] = {}
    for column in first.columns.drop("aspect"):
        columns = {aspect: rows[column] for aspect, rows in by_aspect.items()}
        differs = _rated(column)
        if not differs and column not in (*KEYS, *TEXTS):
            differs = not all(map(first[column].equals, columns.values()))
        if differs:
            wide |= {f"{column}_{aspect}": columns[aspect] for aspect in columns}
        else:
            wide[column] = first[column]
    return pd.DataFrame(wide).__finalize__(frame)


def quick(frame: pd.DataFrame, inputs: int = 20) -> pd.DataFrame:
    """The rows of the first `inputs` inputs (`first_inputs`), counted anew."""
    rows = frame[frame["input_id"].isin(first_inputs(frame, inputs))]
    return counted(rows.reset_index(drop=True), frame.attrs)


def first_inputs(frame: pd.DataFrame, inputs: int) -> pd.Series:
    """The `input_id` of the first `inputs` inputs, in the order of the frame; of pairs
    of several categories (`hhh`) as many of each.
    """
    different = frame["input_id"].drop_duplicates()
    systems = set(frame["system_id"]) if "system_id" in frame else set()
    if "category" in frame and systems == {"chosen", "rejected"}:
        place_in_category = frame.loc[different.index].groupby("category").cumcount()
        different = different[place_in_category.sort_values(kind="stable").index]
    return different[:inputs]
