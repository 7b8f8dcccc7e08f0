"""Metrics whose value is a function of some texts, computed once for each.

A subclass of `Metric` cuts each row into items (tuples of texts) and computes their
values; the base looks them up in a cache on disk, computes the others chunk by chunk,
and joins those of a row. The items of a `PairMetric` are (output, reference) pairs.
"""

from __future__ import annotations

import abc
import importlib.metadata
import itertools
import math
import statistics
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from nlgeval_lib import files, progress
from nlgeval_lib.datasets import numbers
from nlgeval_lib.datasets.numbers import HashedText, collected
from nlgeval_lib.evaluators import base
from nlgeval_lib.evaluators.score_cache import ValueCache, Values, key
from nlgeval_lib.names import extra
from nlgeval_lib.records import Judgment, Sample, Status

Item = tuple[str, ...]  # the texts that a value depends on, or their hashes
Found = Values | Judgment  # an item's values, or why it has none


class Metric(abc.ABC):
    """A metric with a disk cache of its values by content.

    cache: True: `files.state("metrics")`; a path: that file; False: none.
    After a call, `details` counts the values that were `cached` and `computed`.
    """

    name: ClassVar[str]
    # What one item yields, cached together: the values to choose from, such as F,
    # precision and recall. `part` is the score.
    parts: ClassVar[tuple[str, ...]] = ("value",)
    part = "value"
    # Raised when a change of this project's code changes values.
    revision_of_code: ClassVar[int] = 1
    chunk: ClassVar[int] = 1000  # items computed, then stored, at a time
    # Decimals that a value is rounded to, 0 for no rounding. Further decimals depend on
    # the texts that an item is computed together with.
    digits: ClassVar[int] = 0
    # Whether values are made once and read from `data/numbers` by the texts' hashes,
    # wherever these texts are scored: an encoder's last digits differ with the processor.
    travels: ClassVar[bool] = False
    needs: Sequence[str] = ()  # the columns beside `output`
    join: Callable[[list[float]], float] = staticmethod(statistics.fmean)

    def __init_subclass__(cls) -> None:
        base.name_all_settings(cls)

    def __init__(self, *, cache: bool | str | Path = True) -> None:
        path = files.state("metrics", "scores.sqlite") if cache is True else cache
        self.cache = ValueCache(path) if path else None
        self.details: dict[str, Any] = {}
        self.recalled: dict[str, Any] = {}

    def recall(self, settings: dict[str, Any]) -> None:
        """Only read values stored under these `settings()`; compute nothing."""
        self.recalled = dict(settings)

    def __repr__(self) -> str:
        return self.signature()

    # -- what a subclass writes

    @abc.abstractmethod
    def settings(self) -> dict[str, Any]:
        """What determines an item's values, versions of packages included, for the
        signature and the keys of the cache. Raises: Unavailable.
        """

    @abc.abstractmethod
    def compute(self, items: Sequence[Item]) -> list[Found]:
        """The values of distinct items, in the order of `parts`, or the judgment why
        there are none. Raises: Unavailable where a model or package is not here.
        """

    def items(self, sample: Sample) -> list[Item]:
        """The items of a row with an output, whose values are joined."""
        raise NotImplementedError(f"{type(self).__name__} has no items()")

    def rules(self) -> dict[str, Any]:
        """What determines how items' values become a score, for the signature."""
        return {}

    def remark(self, items: Sequence[Item]) -> str:
        """What a reader of a row's score should know, as its reason."""
        return ""

    def weights_are_here(self) -> bool:
        """Whether a metric that travels can compute its values here."""
        return True

    # -- scoring

    def signature(self) -> str:
        """Everything that determines a score but the texts."""
        try:
            settings = self.recalled or self.settings()
        except base.Unavailable:
            settings = {"settings": "unavailable"}
        part = self.part if len(self.parts) > 1 else None
        rules = {"value": part, **self.rules()}
        return base.signature(self.name, **rules, **settings, v=self.revision_of_code)

    def score(self, frame: pd.DataFrame) -> pd.DataFrame:
        """`value, status, reason` of each row of a frame, with the frame's index;
        `attrs` hold `signature` and `details`. What is not here is `unavailable`.

        Raises: ValueError naming the column or the row.
        """
        plans = self.plans(frame)
        # All items at once: the cache is asked once, and chunks are full.
        lists = [plan for plan in plans if not isinstance(plan, Judgment)]
        values = self.values(list(itertools.chain.from_iterable(lists)))
        judgments = []
        for plan in plans:
            if isinstance(plan, Judgment):
                judgments.append(plan)
                continue
            judgment = self._joined([values[item] for item in plan])
            if judgment.status is Status.OK and (remark := self.remark(plan)):
                judgment = Judgment(judgment.value, reason=remark)
            judgments.append(judgment)
        return base.score_frame(frame.index, judgments, self.signature(), self.details)

    def _joined(self, outcomes: Sequence[Found]) -> Judgment:
        """The score of a row; the first item without a value counts for all."""
        position = self.parts.index(self.part)
        numbers = []
        for outcome in outcomes:
            if isinstance(outcome, Judgment):
                return outcome
            number = outcome[position]
            numbers.append(round(number, self.digits) if self.digits else number)
        return Judgment(numbers[0] if len(numbers) == 1 else self.join(numbers))

    def plans(self, frame: pd.DataFrame) -> Sequence[list[Item] | Judgment]:
        """For each row the items of its score, or its judgment, such as EMPTY."""
        samples = base.samples(frame, self.needs, self.name)
        empty = Judgment.missing(Status.EMPTY, "output is empty")
        plans: list[list[Item] | Judgment] = []
        try:
            for sample in samples:
                items = self.items(sample) if sample.output.strip() else []
                plans.append(items or empty)
        except base.Unavailable as error:
            return [Judgment.missing(Status.UNAVAILABLE, str(error))] * len(samples)
        return plans

    # -- values: from the cache, from saved numbers, or computed

    def values(self, items: Sequence[Item]) -> dict[Item, Found]:
        """The values of `items`, from the cache or computed; or why there are none."""
        items = list(dict.fromkeys(items))
        values: dict[Item, Found] = {}
        self.details = {"cached": 0, "computed": 0}
        try:
            self._add_values(values, items)
        except base.Unavailable as error:
            unavailable = Judgment.missing(Status.UNAVAILABLE, str(error))
            for item in items:
                values.setdefault(item, unavailable)
        if collected.wanted():
            self._collect(values)
        return values

    def _signature_of_values(self) -> str:
        """What determines an item's values, as the cache's keys have it."""
        settings = self.recalled or self.settings()
        return base.signature(self.name, **settings, v=self.revision_of_code)

    def _add_values(self, values: dict[Item, Found], items: Sequence[Item]) -> None:
        """Put the values of `items` into `values`. Raises: Unavailable; TextNotHere."""
        signature = self._signature_of_values()
        rule = f"{signature}#{self.part}"
        # While saved numbers are made anew they are not read, where the weights are.
        made_anew = collected.wanted() and self.weights_are_here()
        if self.travels and not made_anew:
            values |= self._found(numbers.scores_of_texts(rule, items))
        keys = {item: key(signature, *item) for item in items if item not in values}
        values |= self._stored(keys)
        absent = [item for item in items if item not in values]
        hashed: list[Any] = [item for item in absent if isinstance(item[0], HashedText)]
        values |= self._found(numbers.saved_scores(rule, hashed))
        lacking = [item for item in hashed if item not in values]
        if lacking:
            raise numbers.text_not_here(rule, lacking)
        absent = [item for item in absent if item not in values]
        if self.recalled and absent:
            raise base.Unavailable(
                f"the metric cache has {len(values):,} of {len(items):,} values"
            )
        # Neighbours share their last text, and long ones stand together: less to
        # tokenise and to pad.
        absent.sort(key=lambda item: (len(item[-1]), item[::-1]))
        with progress.bar(total=len(absent), desc=self.name, unit="item") as bar:
            for start in range(0, len(absent), self.chunk):
                chunk = absent[start : start + self.chunk]
                values |= self._chunk({item: keys[item] for item in chunk})
                bar.update(len(chunk))

    def _found(self, saved: Mapping[Any, tuple[float, str]]) -> dict[Item, Found]:
        """Saved values (item -> value, reason) as each of `parts`; counts them."""
        outcomes: dict[Item, Found] = {}
        for item, (value, reason) in saved.items():
            # The part that was asked for was saved; no other part will be read.
            outcomes[item] = (value,) * len(self.parts)
            if reason:
                status, _, text = reason.partition(": ")
                outcomes[item] = Judgment.missing(Status(status), text)
        self.details["cached"] += len(saved)
        return outcomes

    def _collect(self, values: dict[Item, Found]) -> None:
        """Write down the scores by the texts' digests, for `nlgeval numbers`."""
        position = self.parts.index(self.part)
        scores: dict[tuple[bytes, ...], tuple[float, str]] = {}
        for item, outcome in values.items():
            if not isinstance(outcome, Judgment):
                score = (outcome[position], "")
            elif outcome.status is Status.UNAVAILABLE:
                return
            else:
                score = (math.nan, f"{outcome.status.value}: {outcome.reason}")
            scores[tuple(map(numbers.digest_of, item))] = score
        collected.add(f"{self._signature_of_values()}#{self.part}", scores)

    def _stored(self, keys: dict[Item, bytes]) -> dict[Item, Found]:
        """What the cache has of these items (item -> key); counts them in `details`."""
        stored = self.cache.get(keys.values()) if self.cache else {}
        cached: dict[Item, Found] = {}
        for item, key_of_item in keys.items():
            values = stored.get(key_of_item, ())
            if len(values) == len(self.parts):
                cached[item] = values
        self.details["cached"] += len(cached)
        return cached

    def _chunk(self, keys: dict[Item, bytes]) -> dict[Item, Found]:
        """Compute and store what the cache lacks of these items (item -> key)."""
        # Another process may have stored some since they were looked up.
        outcomes = self._stored(keys)
        absent = [item for item in keys if item not in outcomes]
        if not absent:
            return outcomes
        # Values alone are stored; an item without one is computed again next time.
        fresh = {}
        for item, values in zip(absent, self.compute(absent), strict=True):
            outcomes[item] = values
            if isinstance(values, tuple):
                fresh[keys[item]] = values
        if self.cache is not None and fresh:
            self.cache.put(fresh)
        self.details["computed"] += len(fresh)
        return outcomes


class PairMetric(Metric):
    """A metric of (output, reference) pairs.

    multi: what several references become. None: an error, and `reference` is read
    before `references`; `"first"`: the first alone; `"max"` and `"mean"` of the
    pairwise values; `"joint"`: the metric's own way, where it has one.
    empty: what a text without a word gives. `"nan"`: no value but a reason; `"zero"`:
    0, as some published code has.
    metric: `cache` of `Metric`.
    """

    multi_rules: ClassVar[tuple[str, ...]] = ("first", "max", "mean")
    empty_rules: ClassVar[tuple[str, ...]] = ("nan", "zero")

    def __init__(
        self,
        *,
        multi: str | None = None,
        empty: str = "nan",
        **metric: Any,
    ) -> None:
        super().__init__(**metric)
        if multi is not None:
            base.choose("multi", multi, self.multi_rules)
        self.multi = multi
        self.empty = base.choose("empty", empty, self.empty_rules)
        self.join = max if multi == "max" else statistics.fmean

    def blank(self, text: str) -> str:
        """Why `text` has nothing to compare, such as "is empty"; "" if it has."""
        return "" if text.strip() else "is empty"

    def reference_columns(self) -> tuple[str, ...]:
        """The columns that may hold what the output is compared with, in order."""
        if self.multi is None:
            return ("reference", "references")
        return ("references", "reference")

    def rules(self) -> dict[str, Any]:
        return {"refs": self.multi or "one", "empty": self.empty}

    def score(
        self,
        frame: pd.DataFrame | Sequence[str],
        references: Sequence[str | Sequence[str]] | None = None,
    ) -> pd.DataFrame:
        """As `Metric.score`; or of a list of outputs, with as many references (a text
        each, or several), with a warning if what is needed is not here.
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
                f"{self.name}: give a frame, or a list of outputs "
                "and as long a list of references"
            )
        columns = {
            "output": pd.Series(frame, dtype=object),
            self.reference_columns()[0]: pd.Series(references, dtype=object),
        }
        scored = super().score(pd.DataFrame(columns))
        unavailable = scored["status"] == Status.UNAVAILABLE.value
        for reason in scored.loc[unavailable, "reason"].unique():
            warnings.warn(f"{self.name}: {reason}", UserWarning, stacklevel=2)
        return scored

    def plans(self, frame: pd.DataFrame) -> Sequence[list[Item] | Judgment]:
        outputs = base.cells(frame, ("output",), self.name)
        groups = base.cells(frame, self.reference_columns(), self.name)
        plans: list[list[Item] | Judgment] = []
        for position, references in enumerate(groups):
            if self.multi is None and len(references) > 1:
                raise ValueError(
                    f"{base.row_name(position, frame.index)}: {len(references)} "
                    "references; say what they become, -s multi=RULE: "
                    f"{', '.join(self.multi_rules)}"
                )
            [output] = outputs[position]
            plans.append(self._plan(output, references))
        return plans

    def _plan(self, output: str, references: Sequence[str]) -> list[Item] | Judgment:
        """The items of a row; or a judgment where a text is empty."""
        if not references:
            return Judgment.missing(Status.EMPTY, "no reference")
        if self.multi == "first":
            references = references[:1]
        # An `outline` answers for a text that is not here.
        comparable = []
        for reference in references:
            if not self.blank(numbers.outline(reference)):
                comparable.append(reference)
        reason = self.blank(numbers.outline(output))
        if reason:
            reason = f"output {reason}"
        elif not comparable:
            reason = f"reference {self.blank(numbers.outline(references[0]))}"
        if reason and self.empty == "zero":
            return Judgment(0.0, reason=f"{reason}; counted as 0")
        if reason:
            return Judgment.missing(Status.EMPTY, reason)
        if self.multi == "joint":
            return [(output, *comparable)]
        return [(output, reference) for reference in comparable]


def version(package: str, install: str = "") -> str:
    """The installed version of a package. Raises: Unavailable (`install` says how)."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        advice = f"install it with `{install}`" if install else extra(package)
        raise base.Unavailable(
            f"package {package} is not installed; {advice}"
        ) from None
