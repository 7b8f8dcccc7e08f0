"""Metrics whose value is a function of some texts, computed once for each.

A subclass of `Metric` cuts each row into items (tuples of texts) and computes the
values of items; the base looks items up in a cache on disk, computes those that are not
there chunk by chunk, and joins the values of a row's items to its score. The items of a
`PairMetric` are (output, reference) pairs.
"""

from __future__ import annotations

import abc
import contextlib
import importlib.metadata
import itertools
import math
import os
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
_PARALLEL_FROM = 20_000  # items from which one process a core pays for its start


class Metric(abc.ABC):
    """A metric with a disk cache of its values by content, which several processes fill
    together.

    part: which of `parts` is the score; None for the first.
    cache: True: `files.state("metrics")`; a path: that file; False: none.

    After a call, `details` counts the values that were `cached` and `computed`.
    """

    name: ClassVar[str]
    # What one item yields, cached together: the values to choose from, such as F,
    # precision and recall.
    parts: ClassVar[tuple[str, ...]] = ("value",)
    # Raised when a change of this project's code changes values.
    revision_of_code: ClassVar[int] = 1
    chunk: ClassVar[int] = 1000  # items computed, then stored, at a time
    # Decimals that a value is rounded to, 0 for no rounding. Further decimals depend on
    # the texts that an item is computed together with.
    digits: ClassVar[int] = 0
    # Whether values are made once and read from `data/numbers` by the texts' hashes,
    # wherever these texts are scored: an encoder's last digits differ with the processor.
    travels: ClassVar[bool] = False
    # Whether many items are shared out among processes; torch uses the cores itself.
    parallel: ClassVar[bool] = True
    needs: Sequence[str] = ()  # the columns beside `output`
    # What the values of a row's items become, where it has several.
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
        weights are loaded, nothing is computed.
        """
        self.recalled = dict(settings)

    def __repr__(self) -> str:
        return self.signature()

    def weights_are_here(self) -> bool:
        """Whether a metric that travels can compute its values here."""
        return True

    @abc.abstractmethod
    def settings(self) -> dict[str, Any]:
        """What determines an item's values, versions of packages included; it stands in
        the signature and in the keys of the cache. Raises: Unavailable if that
        cannot be found out here.
        """

    @abc.abstractmethod
    def compute(self, items: Sequence[Item]) -> list[Found]:
        """The values of distinct items, in their order: numbers in the order of
        `parts`, or the judgment why there are none. Raises: Unavailable where a
        model or package is not here.
        """

    def items(self, sample: Sample) -> list[Item]:
        """The items of one row, whose values are joined; none where its output is
        empty. Raises: Unavailable.
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
        settings = {"value": part, **self.rules(), **settings}
        return base.signature(self.name, **settings, v=self.revision_of_code)

    def _signature_of_values(self) -> str:
        """What determines an item's values, as the keys of the cache have it. Raises:
        Unavailable.
        """
        settings = self.recalled or self.settings()
        return base.signature(self.name, **settings, v=self.revision_of_code)

    def score(self, frame: pd.DataFrame) -> pd.DataFrame:
        """`value, status, reason` of each row of a frame, with the frame's index;
        `attrs` hold `signature` and `details`. Where something is not on this machine,
        rows are `unavailable`.

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

    def remark(self, items: Sequence[Item]) -> str:
        """What a reader of a row's score should know, as the reason of a score that is
        ok.
        """
        return ""

    def _joined(self, outcomes: Sequence[Found]) -> Judgment:
        """The score of a row from its items' values; the first item without any counts
        for all.
        """
        position = self.parts.index(self.part)
        numbers = []
        for outcome in outcomes:
            if isinstance(outcome, Judgment):
                return outcome
            numbers.append(outcome[position])
        if self.digits:
            numbers = [round(number, self.digits) for number in numbers]
        if len(numbers) == 1:
            return Judgment(numbers[0])
        return Judgment(self.join(numbers))

    def plans(self, frame: pd.DataFrame) -> Sequence[list[Item] | Judgment]:
        """For each row the items whose values make its score, or its judgment where
        none is needed, such as EMPTY.
        """
        samples = base.samples(frame, self.needs, self.name)
        empty = Judgment.missing(Status.EMPTY, "output is empty")
        try:
            return [self.items(sample) or empty for sample in samples]
        except base.Unavailable as error:
            return [Judgment.missing(Status.UNAVAILABLE, str(error))] * len(samples)

    def values(self, items: Sequence[Item]) -> dict[Item, Found]:
        """The values of all `items`, from the cache, else computed and stored; or the
        judgment why there are none. Sets `details`.
        """
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

    def _add_values(self, values: dict[Item, Found], items: Sequence[Item]) -> None:
        """Put the values of `items` into `values`. Raises: Unavailable, where `values`
        has what could be found until then.
        """
        signature = self._signature_of_values()
        if self.travels:
            values |= self._travelled(signature, items)
        keys = {item: key(signature, *item) for item in items if item not in values}
        # From the cache, then from the saved numbers of texts that are not here.
        values |= self._stored(keys)
        values |= self._saved(signature, [item for item in items if item not in values])
        absent = [item for item in items if item not in values]
        if self.recalled and absent:
            raise base.Unavailable(
                f"the metric cache has {len(values):,} of {len(items):,} values"
            )
        # Neighbours share their last text, and long ones stand together: less to
        # tokenise and to pad.
        absent.sort(key=lambda item: (len(item[-1]), item[::-1]))
        # One process, unless there is enough to do for one a core.
        jobs = 1
        if self.parallel and len(absent) >= _PARALLEL_FROM:
            jobs = os.cpu_count() or 1
        with progress.bar(total=len(absent), desc=self.name, unit="item") as bar:
            # The first time without the batches that another process is at; then it has
            # stored them, or has ended without.
            for wait in (False, True):
                for batch in _slices(absent, self.chunk * jobs):
                    todo = {item: keys[item] for item in batch if item not in values}
                    if todo:
                        computed = self._batch(todo, jobs, wait)
                        values |= computed
                        bar.update(len(computed))

    def _travelled(self, signature: str, items: Sequence[Item]) -> dict[Item, Found]:
        """What `data/numbers` has of those items under the metric's rule, whether or
        not their texts are here; nothing while these numbers are made anew, unless the
        weights are not here.
        """
        if collected.wanted() and self.weights_are_here():
            return {}
        return self._found(numbers.scores_of_texts(f"{signature}#{self.part}", items))

    def _saved(self, signature: str, items: Sequence[Item]) -> dict[Item, Found]:
        """What `data/numbers` has of those items whose texts are not here.

        Raises: TextNotHere where it lacks one.
        """
        hashed: list[Any] = [item for item in items if isinstance(item[0], HashedText)]
        rule = f"{signature}#{self.part}"
        saved: dict[Any, tuple[float, str]] = numbers.saved_scores(rule, hashed)
        absent = [item for item in hashed if item not in saved]
        if absent:
            raise numbers.text_not_here(rule, absent)
        return self._found(saved)

    def _found(self, saved: Mapping[Any, tuple[float, str]]) -> dict[Item, Found]:
        """Saved values as each of `parts`, or why there is none; counts them.

        saved: item -> (value, "" or `status: text` as `_collect` wrote it).
        """
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
        """Write down the scores of all items by the texts' digests, for `nlgeval
        numbers`; nothing where one is unavailable.
        """
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

    def _batch(
        self, keys: dict[Item, bytes], jobs: int, wait: bool
    ) -> dict[Item, Found]:
        """Computes (in so many processes) and stores what is not in the cache yet (item
        -> key).

        wait: wait for another process that is at one of the items; off, give nothing
        then.
        """
        claim: contextlib.AbstractContextManager[bool] = contextlib.nullcontext(True)
        if self.cache is not None:
            claim = self.cache.alone(keys.values(), wait)
        with claim as alone:
            if not alone:
                return {}
            # Another process may have stored some since they were looked up.
            stored = self._stored(keys)
            absent = [item for item in keys if item not in stored]
            outcomes = self._computed(absent, jobs)
            computed = dict(zip(absent, outcomes, strict=True))
            # Values alone are stored; an item without one is computed again next time.
            fresh = {}
            for item, values in computed.items():
                if isinstance(values, tuple):
                    fresh[keys[item]] = values
            if self.cache is not None and fresh:
                self.cache.put(fresh)
        self.details["computed"] += len(fresh)
        return stored | computed

    def _computed(self, items: Sequence[Item], jobs: int) -> list[Found]:
        """The values of items, in their order, chunk by chunk in so many processes."""
        chunks = _slices(items, self.chunk)
        if jobs > 1:
            import joblib

            compute = joblib.delayed(self.compute)
            computed = joblib.Parallel(n_jobs=jobs)(map(compute, chunks))
        else:
            computed = map(self.compute, chunks)
        return list(itertools.chain.from_iterable(computed))

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
    is read before `references`; `"first"`: the first alone; `"max"` and `"mean"` of the
    pairwise values; `"joint"`: the metric's own way, where it has one.
    empty: what a text without a word gives. `"nan"`: no value but a reason; `"zero"`:
    0, as some published code has.
    common: `part` and `cache` of `Metric`.
    """

    # The values that `multi` and `empty` may have.
    multi_rules: ClassVar[tuple[str, ...]] = ("first", "max", "mean")
    empty_rules: ClassVar[tuple[str, ...]] = ("nan", "zero")

    def __init__(
        self, *, multi: str | None = None, empty: str = "nan", **common: Any
    ) -> None:
        super().__init__(**common)
        if multi is not None:
            base.choose("multi", multi, self.multi_rules)
        self.multi = multi
        self.empty = base.choose("empty", empty, self.empty_rules)
        self.join = max if multi == "max" else statistics.fmean

    def blank(self, text: str) -> str:
        """Why `text` has nothing that the metric can compare, such as "is empty"; "" if
        it has. Such texts do not reach `compute`.
        """
        return "" if text.strip() else "is empty"

    def reference_columns(self) -> tuple[str, ...]:
        """The columns that may hold what the output is compared with, the preferred
        first.
        """
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
        """As `Metric.score` of a frame; or of a list of outputs, with as many
        references (a text each, or several).

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
        # Without a rule no row may have several.
        for position, references in enumerate(groups):
            if self.multi is None and len(references) > 1:
                raise ValueError(
                    f"{base.row_name(position, frame.index)}: {len(references)} "
                    "references; say what they become, -s multi=RULE: "
                    f"{', '.join(self.multi_rules)}"
                )
        return [
            self._plan(output, references)
            for (output,), references in zip(outputs, groups, strict=True)
        ]

    def _plan(self, output: str, references: Sequence[str]) -> list[Item] | Judgment:
        """(output, reference) for each reference that has a word, with `multi="joint"`
        one item of all these; or a judgment where a text is empty.
        """
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
    """The installed version of a package.

    install: the command that installs it; "" where an extra of this package or plain
    pip does.

    Raises: Unavailable, with how to install it.
    """
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        advice = f"install it with `{install}`" if install else extra(package)
        raise base.Unavailable(
            f"package {package} is not installed; {advice}"
        ) from None


def _slices(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """The items in lists of `size`; the last one may be shorter."""
    return [items[start : start + size] for start in range(0, len(items), size)]
