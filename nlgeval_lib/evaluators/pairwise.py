"""Metrics that compare an output with its reference: one pair of texts computed once, on any machine, in any run."""

from __future__ import annotations

import abc
import importlib.metadata
import math
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from nlgeval_lib import paths
from nlgeval_lib.cache import ValueCache, key
from nlgeval_lib.evaluators import base
from nlgeval_lib.schema import Judgment, Status

Pair = tuple[str, tuple[str, ...]]  # output, references that it is compared with at once
_BIG = 20_000  # pairs from which one process a core pays for its start


@dataclass(frozen=True, slots=True)
class Missing:
    """Why one pair has no value."""

    status: Status
    reason: str


class PairMetric(abc.ABC):
    """A metric of (output, reference) pairs, with a disk cache, a rule for several references and one for empty texts.

    multi: what several references become. None: an item has one reference, more are an error; `"first"`; `"max"` and
        `"mean"` of the pairwise values; `"joint"`: the metric's own way, where it has one.
    empty: what a text without a word gives. `"nan"`: no value but a reason; `"zero"`: 0, as some published code has.
    cache: True: `paths.state("metrics")`; a path: that file; False: none.
    jobs: processes. None: one, or one a core from 20,000 pairs on. The values do not depend on it.

    After a call, `details` says how many items, pairs, cached, computed and missing values there were.
    """

    name: ClassVar[str]
    # what one pair yields, cached together: values to choose from, and `..._cut` flags that `details` counts
    parts: ClassVar[tuple[str, ...]] = ("value",)
    multi_rules: ClassVar[tuple[str, ...]] = ("first", "max", "mean")
    empty_rules: ClassVar[tuple[str, ...]] = ("nan", "zero")
    chunk: ClassVar[int] = 1000  # pairs computed, then stored, at a time
    parallel: ClassVar[bool] = True  # pairs may be shared out among processes

    def __init__(
        self,
        *,
        part: str | None = None,
        multi: str | None = None,
        empty: str = "nan",
        cache: bool | str | Path = True,
        jobs: int | None = None,
    ) -> None:
        self.part = choose("value", part or self.parts[0], self._choices())
        self.multi = multi if multi is None else choose("multi", multi, self.multi_rules)
        self.empty = choose("empty", empty, self.empty_rules)
        self.jobs = jobs
        if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
            raise ValueError(f"jobs is {jobs!r}; a number of processes from 1 on, or None")
        if isinstance(cache, bool):
            self.cache = ValueCache(paths.state("metrics", "scores.sqlite")) if cache else None
        else:
            self.cache = ValueCache(cache)
        self.details: dict[str, Any] = {}

    # -- what a metric defines --

    @abc.abstractmethod
    def settings(self) -> dict[str, Any]:
        """What determines a pair's values, versions included. Raises: Unavailable if that cannot be told here."""

    @abc.abstractmethod
    def compute(self, pairs: Sequence[Pair]) -> list[tuple[float, ...] | Missing]:
        """The values (in the order of `parts`) of distinct pairs without empty texts. Raises: Unavailable."""

    def blank(self, text: str) -> str:
        """Why `text` has nothing that the metric can compare, or "" if it has."""
        return "" if text.strip() else "is empty"

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
        value = {"value": self.part} if len(self._choices()) > 1 else {}
        return base.signature(self.name, **value, refs=self.multi or "one", empty=self.empty, **settings)

    def score_texts(self, outputs: Sequence[str], references: Sequence[str | Sequence[str]]) -> np.ndarray:
        """The value of each output against its reference or references: float64, NaN where undefined.

        Raises: ValueError naming the row for anything but texts, for unequal lengths, and for several references of an
        item without a rule (`multi`). Warns if what the metric needs is not on this machine.
        """
        outputs = base.check_texts(outputs, "output")
        groups = base.check_references(references)
        judged = self._judge(outputs, groups)
        gone = next((j.reason for j in judged if j.status is Status.UNAVAILABLE), None)
        if gone is not None:
            warnings.warn(f"{self.name}: {gone}", UserWarning, stacklevel=2)
        return np.array([j.value for j in judged], dtype=np.float64)

    def score(self, frame: pd.DataFrame) -> pd.DataFrame:
        """`value, status, reason` of each row of `frame`, same index; needs `output` and `reference` or `references`.

        With a rule for several references the column `references` is preferred, without one `reference`.
        `attrs["signature"]` and `attrs["details"]` tell how.

        Raises: ValueError naming the column or the row.
        """
        labels = list(frame.index) if isinstance(frame, pd.DataFrame) else None
        outputs = base.check_texts(base.column(frame, "output"), "output", labels)
        choices = ("reference", "references") if self.multi is None else ("references", "reference")
        chosen = base.column(frame, *choices)
        groups = base.check_references(chosen, labels, str(chosen.name))
        return base.score_frame(frame.index, self._judge(outputs, groups, labels), self.signature(), self.details)

    # -- how --

    @classmethod
    def _choices(cls) -> list[str]:
        """The parts that can be the score."""
        return [part for part in cls.parts if not part.endswith("_cut")]

    def _judge(
        self, outputs: list[str], groups: list[tuple[str, ...]], labels: list[Any] | None = None
    ) -> list[Judgment]:
        if len(outputs) != len(groups):
            raise ValueError(
                f"{len(outputs)} outputs and {len(groups)} references; give as many of the one as of the other"
            )
        if self.multi is None:
            for position, group in enumerate(groups):
                if len(group) > 1:
                    row = base.row_name(position, labels)
                    raise ValueError(
                        f"{row}: {len(group)} references; say what they become: multi= {', '.join(self.multi_rules)}"
                    )
        plans = [self._plan(output, group) for output, group in zip(outputs, groups, strict=True)]
        pairs = list(dict.fromkeys(pair for plan in plans if isinstance(plan, list) for pair in plan))
        values = self._values(pairs)
        self.details |= {"items": len(outputs), "pairs": len(pairs)}
        judged = [plan if isinstance(plan, Judgment) else self._join([values[p] for p in plan]) for plan in plans]
        self.details["missing"] = sum(j.status is not Status.OK for j in judged)
        return judged

    def _plan(self, output: str, group: tuple[str, ...]) -> list[Pair] | Judgment:
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
        if self.multi == "joint":
            return [(output, group)]
        return [(output, (reference,)) for reference in group]

    def _blank(self, why: str) -> Judgment:
        if self.empty == "zero":
            return Judgment(0.0, reason=f"{why}; counted as 0")
        return Judgment.missing(Status.EMPTY, why)

    def _join(self, values: list[tuple[float, ...] | Missing]) -> Judgment:
        for value in values:
            if isinstance(value, Missing):
                return Judgment.missing(value.status, value.reason)
        numbers = [value[self.parts.index(self.part)] for value in values]
        return Judgment(max(numbers) if self.multi == "max" else math.fsum(numbers) / len(numbers))

    def _values(self, pairs: list[Pair]) -> dict[Pair, tuple[float, ...] | Missing]:
        """The values of all `pairs`: from the cache, else computed and stored chunk by chunk."""
        try:
            prefix = base.signature(self.name, **self.settings())
        except base.Unavailable as error:
            return dict.fromkeys(pairs, Missing(Status.UNAVAILABLE, str(error)))
        keys = {pair: key(prefix, pair[0], *pair[1]) for pair in pairs} if self.cache is not None else {}
        stored = self.cache.get(keys.values()) if self.cache is not None else {}
        found: dict[Pair, tuple[float, ...] | Missing] = {}
        for pair, k in keys.items():
            if len(stored.get(k, ())) == len(self.parts):
                found[pair] = stored[k]
        # neighbours share their reference, and long ones stand together: less to tokenise and to pad
        todo = sorted((p for p in pairs if p not in found), key=lambda p: (len(p[1][0]), p[1], len(p[0]), p[0]))
        self.details = {"cached": len(found), "computed": 0}
        try:
            for chunk, values in self._computed(todo):
                fresh = {p: v for p, v in zip(chunk, values, strict=True) if not isinstance(v, Missing)}
                if self.cache is not None:
                    self.cache.put({keys[p]: v for p, v in fresh.items()})
                found.update(zip(chunk, values, strict=True))
                self.details["computed"] += len(fresh)
        except base.Unavailable as error:
            found |= {p: Missing(Status.UNAVAILABLE, str(error)) for p in todo if p not in found}
        for position, part in enumerate(self.parts):
            if part.endswith("_cut"):
                rows = (value for value in found.values() if not isinstance(value, Missing))
                self.details[part] = int(sum(row[position] for row in rows))
        return found

    def _computed(self, todo: list[Pair]) -> Iterator[tuple[list[Pair], list[tuple[float, ...] | Missing]]]:
        from tqdm import tqdm

        chunks = [todo[start : start + self.chunk] for start in range(0, len(todo), self.chunk)]
        jobs = (os.cpu_count() or 1) if self.jobs is None and len(todo) >= _BIG else self.jobs or 1
        jobs = min(jobs, len(chunks)) if self.parallel else 1
        # delay: a short run prints nothing; disable=None: nothing where there is no terminal
        with tqdm(total=len(todo), desc=self.name, unit="pair", delay=2, leave=False, disable=None) as bar:
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


def choose(what: str, given: Any, allowed: Sequence[Any]) -> Any:
    """`given` if it is one of `allowed`. Raises: ValueError that lists them."""
    if given not in allowed:
        raise ValueError(f"{what} is {given!r}; allowed: {', '.join(map(repr, allowed))}")
    return given


def version(package: str) -> str:
    """The installed version of `package`. Raises: Unavailable if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        raise base.Unavailable(f"package {package} is not installed; install it with pip") from None
