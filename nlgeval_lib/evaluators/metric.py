"""Metrics whose value is a function of some texts: each list of texts is computed once, on any machine, in any run.

`PairMetric` compares an output with its reference: what several references become, and what an empty text gives.
"""

from __future__ import annotations

import abc
import importlib.metadata
import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.evaluators import base, samples
from nlgeval_lib.evaluators.score_cache import ValueCache, Values, key
from nlgeval_lib.records import Judgment, Status

Item = tuple[str, ...]  # the texts that a value depends on
_BIG = 20_000  # items from which one process a core pays for its start


@dataclass(frozen=True, slots=True)
class Missing:
    """Why one item has no value."""

    status: Status
    reason: str


class CachedMetric(abc.ABC):
    """A metric with a disk cache of its values by content.

    cache: True: `files.state("metrics")`; a path: that file; False: none.
    jobs: processes. None: one, or one a core from 20,000 items on. The values do not depend on it.

    After a call, `details` says how many values were cached and computed.
    """

    name: ClassVar[str]
    # what one item yields, cached together: values to choose from, and `..._cut` flags that `details` counts
    parts: ClassVar[tuple[str, ...]] = ("value",)
    revision_of_code: ClassVar[int] = 1  # raised when a change of this project's code changes values
    chunk: ClassVar[int] = 1000  # items computed, then stored, at a time
    parallel: ClassVar[bool] = True  # items may be shared out among processes

    def __init__(self, *, part: str | None = None, cache: bool | str | Path = True, jobs: int | None = None) -> None:
        choices = self.choices()
        self.part = choose("value", choices[0] if part is None else part, choices)
        if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
            raise ValueError(f"jobs is {jobs!r}; a number of processes from 1 on, or None")
        self.jobs = jobs
        if isinstance(cache, bool):
            self.cache = ValueCache(files.state("metrics", "scores.sqlite")) if cache else None
        else:
            self.cache = ValueCache(cache)
        self.details: dict[str, Any] = {}

    # -- what a metric defines --

    @abc.abstractmethod
    def settings(self) -> dict[str, Any]:
        """What determines an item's values, versions included. Raises: Unavailable if that cannot be told here."""

    @abc.abstractmethod
    def compute(self, items: Sequence[Item]) -> list[Values | Missing]:
        """The values of distinct items, in the order of `parts`. Raises: Unavailable."""

    def require(self) -> None:
        """Raises: Unavailable, with what to do, if the metric cannot be computed on this machine."""
        self.settings()

    # -- what a caller uses --

    def available(self) -> tuple[bool, str]:
        """Whether the metric can be computed here, and if not, what it would need."""
        try:
            self.require()
        except base.Unavailable as error:
            return False, str(error)
        return True, ""

    def signature(self) -> str:
        """Everything that determines a score but the texts."""
        try:
            settings = self.settings()
        except base.Unavailable:
            settings = {"settings": "unavailable"}
        value = {"value": self.part} if len(self.choices()) > 1 else {}
        return base.signature(self.name, **value, **self.rules(), **settings, v=self.revision_of_code)

    def rules(self) -> dict[str, Any]:
        """What determines how items' values become a score, for the signature."""
        return {}

    def judgment(self, value: Values | Missing) -> Judgment:
        """What one item's values say."""
        if isinstance(value, Missing):
            return Judgment.missing(value.status, value.reason)
        return Judgment(value[self.parts.index(self.part)])

    # -- how --

    @classmethod
    def choices(cls) -> list[str]:
        """The parts that can be the score."""
        return [part for part in cls.parts if not part.endswith("_cut")]

    def values(self, items: Sequence[Item]) -> dict[Item, Values | Missing]:
        """The values of all `items`: from the cache, else computed and stored chunk by chunk. Sets `details`."""
        items = list(dict.fromkeys(items))
        self.details = {"cached": 0, "computed": 0}
        try:
            prefix = base.signature(self.name, **self.settings(), v=self.revision_of_code)
        except base.Unavailable as error:
            return dict.fromkeys(items, Missing(Status.UNAVAILABLE, str(error)))
        keys = {item: key(prefix, *item) for item in items} if self.cache is not None else {}
        stored = self.cache.get(keys.values()) if self.cache is not None else {}
        found: dict[Item, Values | Missing] = {
            item: stored[k] for item, k in keys.items() if len(stored.get(k, ())) == len(self.parts)
        }
        self.details["cached"] = len(found)
        # neighbours share their last text, and long ones stand together: less to tokenise and to pad
        todo = sorted((item for item in items if item not in found), key=lambda item: (len(item[-1]), item[::-1]))
        try:
            for chunk, values in self._computed(todo):
                fresh = {item: v for item, v in zip(chunk, values, strict=True) if not isinstance(v, Missing)}
                if self.cache is not None:
                    self.cache.put({keys[item]: v for item, v in fresh.items()})
                found.update(zip(chunk, values, strict=True))
                self.details["computed"] += len(fresh)
        except base.Unavailable as error:
            found |= {item: Missing(Status.UNAVAILABLE, str(error)) for item in todo if item not in found}
        for position, part in enumerate(self.parts):
            if part.endswith("_cut"):
                rows = (value for value in found.values() if not isinstance(value, Missing))
                self.details[part] = int(sum(row[position] for row in rows))
        return found

    def framed(
        self, index: pd.Index, plans: Sequence[list[Item] | Judgment], join: Callable[[list[float]], float]
    ) -> pd.DataFrame:
        """The score frame of rows of items, their values joined, or of what is known of a row without any."""
        values = self.values([item for plan in plans if isinstance(plan, list) for item in plan])
        judged = []
        for plan in plans:
            parts = [plan] if isinstance(plan, Judgment) else [self.judgment(values[item]) for item in plan]
            lost = [part for part in parts if part.status is not Status.OK]
            known = parts if len(parts) == 1 or lost else [Judgment(join([part.value for part in parts]))]
            judged.append((lost or known)[0])
        missing = sum(one.status is not Status.OK for one in judged)
        self.details |= {"items": len(judged), "pairs": len(values), "missing": missing}
        return base.score_frame(index, judged, self.signature(), self.details)

    def _computed(self, todo: list[Item]) -> Iterator[tuple[list[Item], list[Values | Missing]]]:
        from tqdm import tqdm

        chunks = [todo[start : start + self.chunk] for start in range(0, len(todo), self.chunk)]
        jobs = (os.cpu_count() or 1) if self.jobs is None and len(todo) >= _BIG else self.jobs or 1
        jobs = min(jobs, len(chunks)) if self.parallel else 1
        # delay: a short run prints nothing; disable=None: nothing where there is no terminal
        with tqdm(total=len(todo), desc=self.name, unit="item", delay=2, leave=False, disable=None) as bar:
            if jobs > 1:
                import joblib

                self.require()
                pool = joblib.Parallel(n_jobs=jobs, return_as="generator")
                results = pool(joblib.delayed(self.compute)(chunk) for chunk in chunks)
            else:
                results = map(self.compute, chunks)
            for chunk, values in zip(chunks, results, strict=True):
                yield chunk, values
                bar.update(len(chunk))

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: the settings, not the loaded models."""
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_loaded")}


class PairMetric(CachedMetric):
    """A metric of (output, reference) pairs, with a rule for several references and one for empty texts.

    multi: what several references become. None: an item has one reference, more are an error; `"first"`; `"max"` and
        `"mean"` of the pairwise values; `"joint"`: the metric's own way, where it has one.
    empty: what a text without a word gives. `"nan"`: no value but a reason; `"zero"`: 0, as some published code has.
    cache, jobs: as for every cached metric.

    After a call, `details` says how many items, pairs, cached, computed and missing values there were.
    """

    multi_rules: ClassVar[tuple[str, ...]] = ("first", "max", "mean")
    empty_rules: ClassVar[tuple[str, ...]] = ("nan", "zero")

    def __init__(self, *, multi: str | None = None, empty: str = "nan", **common: Any) -> None:
        super().__init__(**common)
        self.multi = multi if multi is None else choose("multi", multi, self.multi_rules)
        self.empty = choose("empty", empty, self.empty_rules)

    def blank(self, text: str) -> str:
        """Why `text` has nothing that the metric can compare, or "" if it has. Such texts do not reach `compute`."""
        return "" if text.strip() else "is empty"

    def reference_columns(self) -> tuple[str, ...]:
        """The columns of a frame that may hold what the output is compared with, the preferred one first."""
        return ("reference", "references") if self.multi is None else ("references", "reference")

    def rules(self) -> dict[str, Any]:
        return {"refs": self.multi or "one", "empty": self.empty}

    def score_texts(self, outputs: Sequence[str], references: Sequence[str | Sequence[str]]) -> np.ndarray:
        """The value of each output against its reference or references: float64, NaN where undefined.

        Raises: ValueError naming the row for anything but texts, for unequal lengths, and for several references of an
        item without a rule (`multi`). Warns if what the metric needs is not on this machine.
        """
        for what, given in (("output", outputs), ("reference", references)):
            if isinstance(given, str | bytes):
                raise ValueError(f"{what} is one text ({str(given)[:40]!r}); give a list with one entry an item")
        outputs, references = list(outputs), list(references)
        if len(outputs) != len(references):
            raise ValueError(f"{len(outputs)} outputs and {len(references)} references; give one entry an item of each")
        columns = {"output": outputs, self.reference_columns()[0]: references}
        scored = self.score(pd.DataFrame({name: pd.Series(texts, dtype=object) for name, texts in columns.items()}))
        gone = scored.loc[scored["status"] == Status.UNAVAILABLE.value, "reason"]
        if len(gone):
            warnings.warn(f"{self.name}: {gone.iloc[0]}", UserWarning, stacklevel=2)
        return scored["value"].to_numpy()

    def score(self, frame: pd.DataFrame) -> pd.DataFrame:
        """`value, status, reason` of each row of `frame`, same index; needs `output` and `reference` or `references`.

        With a rule for several references the column `references` is preferred, without one `reference`.
        `attrs["signature"]` and `attrs["details"]` tell how.

        Raises: ValueError naming the column or the row.
        """
        outputs, groups = samples.pairs(frame, self.reference_columns())
        if self.multi is None:
            for position, group in enumerate(groups):
                if len(group) > 1:
                    row, rules = samples.row_name(position, list(frame.index)), ", ".join(self.multi_rules)
                    raise ValueError(f"{row}: {len(group)} references; say what they become: multi= {rules}")
        plans = [self._plan(output, group) for output, group in zip(outputs, groups, strict=True)]
        return self.framed(frame.index, plans, max if self.multi == "max" else mean)

    def _plan(self, output: str, group: tuple[str, ...]) -> list[Item] | Judgment:
        """The pairs whose values make an item's score, or the score where no pair is needed."""
        if not group:
            return Judgment.missing(Status.EMPTY, "no reference")
        group = group[:1] if self.multi == "first" else group
        if self.empty in ("nan", "zero"):
            kept = tuple(reference for reference in group if not self.blank(reference))
            if why := self.blank(output):
                return self._blank(f"output {why}")
            if not kept:
                return self._blank(f"reference {self.blank(group[0])}")
            group = kept
        return [(output, *group)] if self.multi == "joint" else [(output, reference) for reference in group]

    def _blank(self, why: str) -> Judgment:
        if self.empty == "zero":
            return Judgment(0.0, reason=f"{why}; counted as 0")
        return Judgment.missing(Status.EMPTY, why)


def mean(values: Sequence[float]) -> float:
    """The mean of one or more numbers."""
    return math.fsum(values) / len(values)


def choose(what: str, given: Any, allowed: Sequence[Any]) -> Any:
    """`given` if it is one of `allowed`. Raises: ValueError that lists them."""
    if given not in allowed:
        raise ValueError(f"{what} is {given!r}; allowed: {', '.join(map(repr, allowed))}")
    return given


def version(package: str, install: str = "") -> str:
    """The installed version of `package`. Raises: Unavailable, with how to install it, if it is not there."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        way = install or f"pip install {package}"
        raise base.Unavailable(f"package {package} is not installed; install it with `{way}`") from None
