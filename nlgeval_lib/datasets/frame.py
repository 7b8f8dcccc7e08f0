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
    """What is known about a data set before any of its files is here.

    files: registry paths. n_items: outputs, 0 where not known before; a frame has
    n_items x len(scale) rows. n_inputs: distinct sources. scale: aspect -> (lowest,
    highest) possible human rating, in frame order. source: the publication. embedded:
    files below data/ that the repository holds itself.
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
    """The spec of a data set of these files: the table's row says the rest, its
    scale as `aspect aspect 1 5; ...`.
    """
    row = TABLE.loc[name].drop(["module", "systems", "optional", "kind"]).to_dict()
    scale: dict[str, tuple[float, float]] = {}
    for entry in row.pop("scale").split(";"):
        *aspects, low, high = entry.split()
        lowest = float(low) if low == "-inf" else int(low)
        scale |= dict.fromkeys(aspects, (lowest, int(high)))
    return Spec(name=name, files=files, scale=scale, embedded=embedded, **row)


def systems(name: str) -> tuple[str, ...]:
    """The systems of a data set whose files are named by them."""
    return tuple(TABLE["systems"][name].split())


def expect(name: str, fact: str, actual: object, expected: object) -> None:
    """Hold one count or fact of a data set.

    Raises: ValueError naming the data set, what was got and expected.
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
    sizes = (len(wide), wide["input_id"].nunique(), wide["system_id"].nunique())
    if counts is None and spec.n_items:
        counts = (spec.n_items, spec.n_inputs, spec.n_systems)
    expect(spec.name, "outputs, inputs, systems", sizes, counts or sizes)
    if "references" in wide:
        wide["reference"] = [texts[0] for texts in wide["references"]]
    elif "reference" in wide:
        wide["references"] = [(text,) if text else () for text in wide["reference"]]
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
    return column == "human" or str(column).startswith("rater_")


def counted(frame: pd.DataFrame, about: Mapping[str, Any]) -> pd.DataFrame:
    """The frame, with what it is about and how many items, inputs and systems it has
    in its `attrs`.
    """
    frame.attrs = {
        **about,
        "n_items": len(frame) // max(1, frame["aspect"].nunique()),
        "n_inputs": frame["input_id"].nunique(),
        "n_systems": frame["system_id"].nunique(),
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
        differs = _rated(column)
        if not differs and column not in (*KEYS, *TEXTS):
            differs = not all(
                first[column].equals(rows[column]) for rows in by_aspect.values()
            )
        if differs:
            for aspect, rows in by_aspect.items():
                wide[f"{column}_{aspect}"] = rows[column]
        else:
            wide[column] = first[column]
    return pd.DataFrame(wide).__finalize__(frame)


def quick(frame: pd.DataFrame, inputs: int = 20) -> pd.DataFrame:
    """The rows of the first `inputs` inputs, everything else as it is."""
    rows = frame[frame["input_id"].isin(first_inputs(frame, inputs))]
    return counted(rows.reset_index(drop=True), frame.attrs)


def first_inputs(frame: pd.DataFrame, inputs: int) -> pd.Series:
    """The first `inputs` inputs.

    Pairs of several categories stand one category after the other in their file: of
    each category, as many are taken.
    """
    different = frame["input_id"].drop_duplicates()
    systems = set(frame["system_id"]) if "system_id" in frame else set()
    if "category" in frame and systems == {"chosen", "rejected"}:
        place_in_category = frame.loc[different.index].groupby("category").cumcount()
        different = different[place_in_category.sort_values(kind="stable").index]
    return different[:inputs]
