"""Metrics whose value is a function of some texts, computed once for each: of each
row, or of output and reference.
"""

from __future__ import annotations

import abc
import contextlib
import importlib.metadata
import math
import os
import statistics
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.datasets import numbers
from nlgeval_lib.datasets.numbers import HashedText, collected
from nlgeval_lib.evaluators import base
from nlgeval_lib.evaluators.score_cache import ValueCache, Values, key
from nlgeval_lib.names import extra
from nlgeval_lib.records import Judgment, Sample, Status

Item = tuple[str, ...]  # the texts that a value depends on, or their hashes
Found = Values | Judgment  # an item's values, or why it has none
_BIG = 20_000  # items from which one process a core pays for its start


class Metric(abc.ABC):
    """A metric with a disk cache of its values by content, which several processes fill
    together.

    cache: True: `files.state("metrics")`; a path: that file; False: none. After a call,
    `details` counts the values that were cached and computed.
    """

    name: ClassVar[str]
    parts: ClassVar[tuple[str, ...]] = (
        "value",
    )  # what one item yields, cached together: the values to choose from
    revision_of_code: ClassVar[int] = (
        1  # raised when a change of this project's code changes values
    )
    chunk: ClassVar[int] = 1000  # items computed, then stored, at a time
    digits: ClassVar[int] = (
        # decimals that a value is rounded to: further ones hang on what it was computed
        # beside
        0
    )
    parallel: ClassVar[bool] = (
        True  # many items are shared out among processes; torch uses the cores itself
    )
    needs: Sequence[str] = ()  # the columns beside `output`
    join: Callable[[list[float]], float] = staticmethod(statistics.fmean)

    def __init__(
        self, *, part: str | None = None, cache: bool | str | Path = True
    ) -> None:
        self.part = base.choose("value", part or self.parts[0], self.parts)
        path = files.state("metrics", "scores.sqlite") if cache is True else cache
        self.cache = ValueCache(path) if path else None
        self.details: dict[str, Any] = {}
        self.recalled: dict[str, Any] = {}

    def recall(self, settings: dict[str, Any]) -> None:
        """From now on only read values that were stored under these `settings()`: no
        weights, nothing computed.
        """
        self.recalled = dict(settings)

    @abc.abstractmethod
    def settings(self) -> dict[str, Any]:
        """What determines an item's values, versions included.

        Raises: Unavailable if that cannot be told here.
        """

    @abc.abstractmethod
    def compute(self, items: Sequence[Item]) -> list[Found]:
        """The values of distinct items, in the order of `parts`, or why there are none.

        Raises: Unavailable.
        """

    def items(self, sample: Sample) -> list[Item]:
        """The items of one row, whose values are joined; none where its output is
        empty.

        Raises: Unavailable.
        """
        raise NotImplementedError(f"{type(self).__name__} has no items()")

    def rules(self) -> dict[str, Any]:
        """What determines how items' values become a score, for the signature."""
        return {}

    def signature(self) -> str:
        """Everything that determines a score but the texts."""
        try:
            settings = self.recalled or self.settings()
        except base.Unavailable:
            settings = {"settings": "unavailable"}
        part = self.part if len(self.parts) > 1 else None
        return base.signature(
            self.name, value=part, **self.rules(), **settings, v=self.revision_of_code
        )

    def score(self, frame: pd.DataFrame) -> pd.DataFrame:
        """`value, status, reason` of each row, same index; `attrs` hold `signature` and
        `details`.

        Raises: ValueError naming the column or the row.
        """
        plans = self.plans(frame)
        values = self.values(
            [item for plan in plans if isinstance(plan, list) for item in plan]
        )
        position = self.parts.index(self.part)
        judged = []
        for plan in plans:
            given = (
                [plan]
                if isinstance(plan, Judgment)
                else [values[item] for item in plan]
            )
            known = [one[position] for one in given if isinstance(one, tuple)]
            known = (
                [round(value, self.digits) for value in known] if self.digits else known
            )
            lost = next((one for one in given if isinstance(one, Judgment)), None)
            judged.append(
                lost or Judgment(self.join(known) if len(known) > 1 else known[0])
            )
        return base.score_frame(frame.index, judged, self.signature(), self.details)

    def plans(self, frame: pd.DataFrame) -> Sequence[list[Item] | Judgment]:
        """The items whose values make each row's score, or the score where none is
        needed.
        """
        given = base.samples(frame, self.needs, self.name)
        nothing = Judgment.missing(Status.EMPTY, "output is empty")
        try:
            return [self.items(sample) or nothing for sample in given]
        except base.Unavailable as error:
            return [Judgment.missing(Status.UNAVAILABLE, str(error))] * len(given)

    def values(self, items: Sequence[Item]) -> dict[Item, Found]:
        """The values of all `items`: from the cache, else computed and stored chunk by
        chunk.

        Sets `details`.
        """
        from tqdm import tqdm

        items = list(dict.fromkeys(items))
        found: dict[Item, Found] = {}
        self.details = {"cached": 0, "computed": 0}
        try:
            prefix = base.signature(
                self.name, **(self.recalled or self.settings()), v=self.revision_of_code
            )
            keys = {item: key(prefix, *item) for item in items}
            found |= self._stored(keys)
            found |= self._saved(prefix, [one for one in items if one not in found])
            if self.recalled and len(found) < len(items):
                raise base.Unavailable(
                    f"the metric cache has {len(found):,} of {len(items):,} values"
                )
            # neighbours share their last text, and long ones stand together: less to
            # tokenise and to pad
            todo = sorted(
                (item for item in items if item not in found),
                key=lambda item: (len(item[-1]), item[::-1]),
            )
            jobs = (os.cpu_count() or 1) if self.parallel and len(todo) >= _BIG else 1
            batches = [
                todo[start : start + self.chunk * jobs]
                for start in range(0, len(todo), self.chunk * jobs)
            ]
            # delay: a short run prints nothing; disable=None: nothing where there is no
            # terminal
            with tqdm(
                total=len(todo),
                desc=self.name,
                unit="item",
                delay=2,
                leave=False,
                disable=None,
            ) as bar:
                for wait in (
                    False,
                    True,
                    # first what no other process is at, then what the others have made
                    # or
                    # left
                ):
                    for batch in batches:
                        if lacking := {
                            item: keys[item] for item in batch if item not in found
                        }:
                            made = self._batch(lacking, jobs, wait)
                            found |= made
                            bar.update(len(made))
        except base.Unavailable as error:
            gone = Judgment.missing(Status.UNAVAILABLE, str(error))
            found |= {item: gone for item in items if item not in found}
        if collected.wanted():
            self._collect(found)
        return found

    def _saved(self, prefix: str, items: Sequence[Item]) -> dict[Item, Found]:
        """What `data/numbers` has of those items whose texts are not here.

        Raises: TextNotHere where it lacks one.
        """
        hashed: list[Any] = [item for item in items if isinstance(item[0], HashedText)]
        if not hashed:
            return {}
        rule = f"{prefix}#{self.part}"
        saved: dict[Any, tuple[float, str]] = numbers.saved_scores(rule, hashed)
        if short := [item for item in hashed if item not in saved]:
            raise numbers.lacking(rule, short)
        self.details["cached"] += len(saved)
        found: dict[Any, Found] = {}
        for item, one in saved.items():
            found[item] = self._as_found(*one)
        return found

    def _as_found(self, value: float, reason: str) -> Found:
        """A saved value as one of `parts`, or why there is none."""
        if reason:
            status, _, why = reason.partition(": ")
            return Judgment.missing(Status(status), why)
        return (value,) * len(self.parts)

    def _collect(self, found: dict[Item, Found]) -> None:
        """Write down what was asked, for `nlgeval numbers`."""
        settings = self.recalled or self.settings()
        prefix = base.signature(self.name, **settings, v=self.revision_of_code)
        position = self.parts.index(self.part)
        scores: dict[tuple[bytes, ...], tuple[float, str]] = {}
        for item, one in found.items():
            digests = tuple(map(numbers.digest_of, item))
            if isinstance(one, Judgment) and one.status is Status.UNAVAILABLE:
                return
            if isinstance(one, Judgment):
                scores[digests] = math.nan, f"{one.status.value}: {one.reason}"
            else:
                scores[digests] = one[position], ""
        collected.add(f"{prefix}#{self.part}", scores)

    def _stored(self, keys: dict[Item, bytes]) -> dict[Item, Found]:
        """What the cache has of these items."""
        there = self.cache.get(keys.values()) if self.cache is not None else {}
        found: dict[Item, Found] = {
            i: there[k]
            for i, k in keys.items()
            if len(there.get(k, ())) == len(self.parts)
        }
        self.details["cached"] += len(found)
        return found

    def _batch(
        self, keys: dict[Item, bytes], jobs: int, wait: bool
    ) -> dict[Item, Found]:
        """Computes and stores what is not there; nothing where another process is at
        it and `wait` is off.
        """
        with (
            self.cache.alone(keys.values(), wait)
            if self.cache is not None
            else contextlib.nullcontext(True) as mine
        ):
            if not mine:
                return {}
            found = self._stored(keys)
            todo = [item for item in keys if item not in found]
            chunks = [
                todo[start : start + self.chunk]
                for start in range(0, len(todo), self.chunk)
            ]
            if jobs > 1:
                import joblib

                made = joblib.Parallel(n_jobs=jobs)(
                    joblib.delayed(self.compute)(chunk) for chunk in chunks
                )
            else:
                made = [self.compute(chunk) for chunk in chunks]
            computed = [one for values in made for one in values]
            fresh = {
                item: one
                for item, one in zip(todo, computed, strict=True)
                if isinstance(one, tuple)
            }
            if self.cache is not None and fresh:
                self.cache.put({keys[item]: one for item, one in fresh.items()})
        self.details["computed"] += len(fresh)
        return found | dict(zip(todo, computed, strict=True))

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: the settings, not the loaded models."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if not name.startswith("_loaded")
        }


class PairMetric(Metric):
    """A metric of (output, reference) pairs, with a rule for several references and one
    for empty texts.

    multi: what several references become. None: several are an error, and `reference`
    is read before `references`; `"first"`; `"max"` and `"mean"` of the pairwise values;
    `"joint"`: the metric's own way, where it has one.
    empty: what a text without a word gives. `"nan"`: no value but a reason; `"zero"`:
    0, as some published code has.
    """

    multi_rules: ClassVar[tuple[str, ...]] = ("first", "max", "mean")
    empty_rules: ClassVar[tuple[str, ...]] = ("nan", "zero")

    def __init__(
        self, *, multi: str | None = None, empty: str = "nan", **common: Any
    ) -> None:
        super().__init__(**common)
        self.multi = (
            multi if multi is None else base.choose("multi", multi, self.multi_rules)
        )
        self.empty = base.choose("empty", empty, self.empty_rules)
        self.join = max if multi == "max" else statistics.fmean

    def blank(self, text: str) -> str:
        """Why `text` has nothing that the metric can compare, or "" if it has.

        Such texts do not reach `compute`.
        """
        return "" if text.strip() else "is empty"

    def reference_columns(self) -> tuple[str, ...]:
        """The columns of a frame that may hold what the output is compared with, the
        preferred one first.
        """
        return (
            ("reference", "references")
            if self.multi is None
            else ("references", "reference")
        )

    def rules(self) -> dict[str, Any]:
        return {"refs": self.multi or "one", "empty": self.empty}

    def score(
        self,
        frame: pd.DataFrame | Sequence[str],
        references: Sequence[str | Sequence[str]] | None = None,
    ) -> pd.DataFrame:
        """`value, status, reason` of each row of a frame; or of a list of outputs, each
        with its reference or several.

        Raises: ValueError naming the column or the row. Warns for lists if what is
        needed is not on this machine.
        """
        if isinstance(frame, pd.DataFrame):
            return super().score(frame)
        if (
            references is None
            or isinstance(frame, str)
            or isinstance(references, str)
            or len(frame) != len(references)
        ):
            raise ValueError(
                f"{self.name}: give a frame, or a list of outputs and as long a list of references"
            )
        columns = {"output": frame, self.reference_columns()[0]: references}
        scored = super().score(
            pd.DataFrame(
                {
                    name: pd.Series(texts, dtype=object)
                    for name, texts in columns.items()
                }
            )
        )
        for reason in scored.loc[
            scored["status"] == Status.UNAVAILABLE.value, "reason"
        ].unique():
            warnings.warn(f"{self.name}: {reason}", UserWarning, stacklevel=2)
        return scored

    def plans(self, frame: pd.DataFrame) -> Sequence[list[Item] | Judgment]:
        outputs = base.cells(frame, ("output",), self.name)
        groups = base.cells(frame, self.reference_columns(), self.name)
        for position, group in enumerate(groups):
            if self.multi is None and len(group) > 1:
                row = base.row_name(position, frame.index)
                rules = ", ".join(self.multi_rules)
                raise ValueError(
                    f"{row}: {len(group)} references; say what they become, -s multi=RULE: {rules}"
                )
        return [
            self._plan(output, group)
            for (output,), group in zip(outputs, groups, strict=True)
        ]

    def _plan(self, output: str, group: tuple[str, ...]) -> list[Item] | Judgment:
        """The pairs whose values make a row's score, or the score where no pair is
        needed.
        """
        if not group:
            return Judgment.missing(Status.EMPTY, "no reference")
        group = group[:1] if self.multi == "first" else group
        kept = tuple(one for one in group if not self.blank(numbers.outline(one)))
        why = self.blank(numbers.outline(output))
        if why or not kept:
            first = numbers.outline(group[0])
            why = f"output {why}" if why else f"reference {self.blank(first)}"
            zero = Judgment(0.0, reason=f"{why}; counted as 0")
            return zero if self.empty == "zero" else Judgment.missing(Status.EMPTY, why)
        return (
            [(output, *kept)]
            if self.multi == "joint"
            else [(output, reference) for reference in kept]
        )


def version(package: str, install: str = "") -> str:
    """The installed version of `package`.

    Raises: Unavailable, with how to install it, if it is not there.
    """
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        way = f"install it with `{install}`" if install else extra(package)
        raise base.Unavailable(f"package {package} is not installed; {way}") from None
