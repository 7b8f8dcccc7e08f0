"""What a reading says of results, each number and comparison with the result that it stands for.

`notebooks/readings.csv`, a line each: `said`, words of the notebook's section Reading; `value`, the number as it is
written, a bound (`>0`, `<=.05`) or a text; `file`, a result; `where` and `take`, which of its rows
and what of them, in pandas' query language; `of`, what makes one of several rows. A line without `value` says that its
sentence rests on no result.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import files, papers

_BOUNDS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
_ONE: dict[str, Callable[[pd.Series], Any]] = {
    "": lambda values: values.item(),
    "count": len,
    "distinct": lambda values: values.nunique(),
    "gap": lambda values: values.iloc[0] - values.iloc[-1],  # the first row less the last
    **{name: operator.methodcaller(name) for name in ("min", "max", "mean", "sum")},
}


def backing(notebook: str = "") -> list[dict[str, str]]:
    """What backs the reading of a notebook (its path below `notebooks/`), or of all."""
    return [line for line in _lines(files.notebooks() / "readings.csv") if notebook in ("", line["notebook"])]


@functools.lru_cache(maxsize=2)
def _lines(path: Path) -> list[dict[str, str]]:
    return pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records") if path.is_file() else []


def holds(line: Mapping[str, str], frame: pd.DataFrame) -> bool:
    """Whether these rows give what `line` says of them, to the digits that it says."""
    try:
        rows = frame.query(line["where"], engine="python", local_dict={}) if line["where"] else frame
        found = _ONE[line["of"]](rows.eval(line["take"], engine="python", local_dict={}) if line["take"] else rows)
    except (ValueError, IndexError):  # no such row, or several
        return False
    said = line["value"]
    if isinstance(found, str):
        return found == said
    for sign, holds_for in _BOUNDS.items():
        if said.startswith(sign):
            return bool(holds_for(found, float(said.removeprefix(sign))))
    return papers.agrees(found, said)


def backed(text: str, notebook: str, mode: str = "full") -> str:
    """The sentences of a reading that the saved results back; how many others there are is said at the end."""
    kept, left = [], 0
    for part in text.split("\n- "):
        lines = [line for line in backing(notebook) if line["value"] and line["said"] in part]
        if all(_saved(line, mode) for line in lines):
            kept.append(part)
        else:
            left += 1
    more = f"\n\n({left} further points are left out: the saved numbers do not bear them out.)" if left else ""
    return "\n- ".join(kept) + more


def _saved(line: Mapping[str, str], mode: str) -> bool:
    name = line["file"].replace("results/", "results/quick/", 1) if mode == "quick" else line["file"]
    return files.located(name).is_file() and holds(line, frame(name, files.located(name).stat().st_mtime_ns))


@functools.lru_cache(maxsize=256)
def frame(name: str, modified: int) -> pd.DataFrame:
    """A saved table by the name that records give it; `modified`: read again where this is another."""
    return pd.read_csv(files.located(name), keep_default_na=False, na_values=[""])
