"""Metrics whose value is a function of some texts: each list of texts is computed once, on any machine, in any run."""

from __future__ import annotations

import abc
import importlib.metadata
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from nlgeval_lib import paths
from nlgeval_lib.cache import ValueCache, Values, key
from nlgeval_lib.evaluators import base
from nlgeval_lib.schema import Judgment, Status

Item = tuple[str, ...]  # the texts that a value depends on
_BIG = 20_000  # items from which one process a core pays for its start


@dataclass(frozen=True, slots=True)
class Missing:
    """Why one item has no value."""

    status: Status
    reason: str


class CachedMetric(abc.ABC):
    """A metric with a disk cache of its values by content.

    cache: True: `paths.state("metrics")`; a path: that file; False: none.
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
            self.cache = ValueCache(paths.state("metrics", "scores.sqlite")) if cache else None
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
