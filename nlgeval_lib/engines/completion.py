"""Ask an engine for what a store does not have yet: look up, claim, generate, store."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nlgeval_lib.engines.base import Ask, Engine, Request, Sampling, failed
from nlgeval_lib.engines.store import Store
from nlgeval_lib.files import whole
from nlgeval_lib.parsers.reasoning import apart
from nlgeval_lib.progress import in_cell
from nlgeval_lib.records import Completion

_POLL_SECONDS = 0.2
_ELSEWHERE = Completion(
    "", "", "error", error="another shard is to ask this", passing=True
)
_HALF = "the prompt has half a character (a lone surrogate), which no model can be sent"
# completions, and whether this run made them (else another process did)
_Batch = tuple[list[Completion], bool]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands."""

    total: int  # different completions that are needed
    stored: int  # those that were in the store, or that another process made
    done: int = 0  # those that this run made
    failed: int = 0  # those that could not be made
    prompt_tokens: int = 0  # of `done`
    completion_tokens: int = 0  # of `done`
    reasoning_tokens: int = 0  # those of `completion_tokens` that are reasoning
    seconds: float = 0.0  # since the run began

    def after(
        self, batch: Sequence[Completion], seconds: float, by_this_run: bool
    ) -> Progress:
        """Where the run stands with one more batch, of this run or another process."""
        if not by_this_run:
            return replace(self, stored=self.stored + len(batch))
        finished = _finished(batch)
        counted = {}
        for name in ("prompt_tokens", "completion_tokens", "reasoning_tokens"):
            of_batch = sum(getattr(completion, name) for completion in finished)
            counted[name] = getattr(self, name) + of_batch
        counted["done"] = self.done + len(finished)
        counted["failed"] = self.failed + len(batch) - len(finished)
        return replace(self, seconds=seconds, **counted)

    @property
    def left(self) -> int:
        """Completions still to come."""
        return self.total - self.stored - self.done - self.failed


def _finished(batch: Iterable[Completion]) -> list[Completion]:
    return [completion for completion in batch if completion.finish_reason != "error"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A completion that could not be made: which one, and why."""

    id: str  # of the request
    draw: int  # which draw of it, from 0
    key: str  # of the draw
    reason: str
    passing: bool = False  # the reason may pass, so it can be asked for again


@dataclass(frozen=True, eq=False, repr=False)
class Answers(Sequence[tuple[Completion, ...]]):
    """For every request, in order, the tuple of its `n` completions."""

    draws: Sequence[tuple[Completion, ...]]
    failed: tuple[Failure, ...]  # the completions that could not be made
    progress: Progress  # where the run stood at its end
    served: frozenset[str] = frozenset()  # the models' names, as servers call them

    def __len__(self) -> int:
        return len(self.draws)

    def __getitem__(self, place: Any) -> Any:
        return self.draws[place]

    @property
    def flat(self) -> list[Completion]:
        """All completions, request by request, draw by draw."""
        return [completion for draws in self.draws for completion in draws]


Report = Callable[[Progress, Sequence[Completion]], None]


def complete(
    engine: Engine,
    requests: Iterable[Request | str],
    sampling: Sampling,
    store: Store | None = None,
    progress: Report | None = None,
) -> Answers:
    """The completions of all requests, in their order.

    A completion comes from the store if it is there, and else from the engine. Each
    finished completion is stored as soon as the engine returns it, so a run that was
    stopped resumes where it was. If another process asks for the same completion on the
    same store, this run waits for its answer.

    engine: its `shard` may leave completions to other runs: of these only the stored
    ones are returned, and the others count neither as needed nor as failed.
    store: None keeps nothing.
    progress: called at the start and after each batch, with a `Progress` and the batch.
    Returns: the completions. Failures are named in `failed` and asked for again next
    time.
    Raises: UnsupportedSetting before anything is asked; EngineError; StoreError.
    """
    report = progress or in_cell(engine.model)
    named = [_named(request, place) for place, request in enumerate(requests)]
    return _Completing(engine, named, sampling, store, report).answers()


def _named(request: Request | str, place: int) -> Request:
    """A request that has a name: its own, or its place."""
    if isinstance(request, str):
        return Request(prompt=request, id=f"#{place}")
    if request.id:
        return request
    return replace(request, id=f"#{place}")


class _Completing:
    """One call of `complete`: what is still to be asked, and what there is already."""

    def __init__(
        self,
        engine: Engine,
        requests: Sequence[Request],
        sampling: Sampling,
        store: Store | None,
        report: Report,
    ) -> None:
        self.engine = engine
        self.requests = requests
        self.sampling = sampling
        self.store = store
        self.report = report
        self.keys = [request.keys(engine, sampling) for request in requests]
        # each different key -> the first request and draw that have it
        self.places: dict[str, tuple[Request, int]] = {}
        for request, keys in zip(requests, self.keys, strict=True):
            for draw, key in enumerate(keys):
                self.places.setdefault(key, (request, draw))
        self.completions: dict[str, Completion] = {}

    def answers(self) -> Answers:
        """The completions of all requests, asked for where they are not stored."""
        if self.store is not None:
            self.completions = self.store.get_many(self.places)
        missing = []
        part, parts = self.engine.shard
        for key in self.places:
            # by its hash, so that all parts are alike
            is_here = int(key[:8], 16) % parts == part - 1
            if is_here and key not in self.completions:
                missing.append(key)
        stored = len(self.completions)
        state = Progress(total=stored + len(missing), stored=stored)
        self.report(state, ())
        started = time.monotonic()
        for batch, by_this_run in self._completed(self._asks(missing)):
            for completion in batch:
                self.completions[completion.key] = completion
            state = state.after(batch, time.monotonic() - started, by_this_run)
            self.report(state, batch)
        draws = [tuple(map(self._answer, keys)) for keys in self.keys]
        served = {
            one.served or one.model for one in _finished(self.completions.values())
        }
        return Answers(draws, self._failures(), state, frozenset(served))

    def _answer(self, key: str) -> Completion:
        """The completion of a key; what is nowhere belongs to another shard."""
        if key in self.completions:
            return apart(self.completions[key])
        return replace(_ELSEWHERE, key=key)

    def _asks(self, keys: Sequence[str]) -> list[Ask]:
        """The draws of these keys; another seed for what was thrown away."""
        times: dict[str, int] = {}
        if keys and self.store is not None:
            times = self.store.thrown_away(keys)
        asks = []
        for key in keys:
            request, draw = self.places[key]
            again = times.get(key, 0)
            asks.append(Ask.from_draw(request, draw, key, self.sampling, again))
        return asks

    def _failures(self) -> tuple[Failure, ...]:
        failures = []
        for request, keys in zip(self.requests, self.keys, strict=True):
            for draw, key in enumerate(keys):
                one = self.completions.get(key)
                if one is not None and one.finish_reason == "error":
                    failure = Failure(request.id, draw, key, one.error, one.passing)
                    failures.append(failure)
        return tuple(failures)

    def _completed(self, missing: list[Ask]) -> Iterator[_Batch]:
        """The missing completions, batch by batch."""
        sendable = []
        unsendable = []
        for ask in missing:
            text = ask.request.text()
            if whole(text) == text:
                sendable.append(ask)
            else:
                unsendable.append(failed(ask, _HALF))
        if unsendable:
            yield unsendable, True
        if not sendable:
            return
        self.engine.check(self.sampling)
        if self.store is None or self.engine.name == "replay":
            yield from self._generate(sendable)
            return
        try:
            with self.store.claimant() as claimant:
                yield from self._claimed(sendable, self.store, claimant)
        finally:
            self.store.sync()

    def _claimed(
        self, missing: list[Ask], store: Store, claimant: str
    ) -> Iterator[_Batch]:
        """Ask what no other process asks for, then take over what the others made."""
        while missing:
            claims = store.claim(claimant, [ask.key for ask in missing])
            claimed = [ask for ask in missing if ask.key in claims]
            if claimed:
                yield from self._generate(claimed)
            unclaimed = [ask for ask in missing if ask.key not in claims]
            arrived = store.get_many(ask.key for ask in unclaimed)
            missing = [ask for ask in unclaimed if ask.key not in arrived]
            if arrived:
                yield list(arrived.values()), False
            elif not claimed:
                # a Ctrl-C that is held back until the engine is asked
                if getattr(self.engine, "pending", False):
                    raise KeyboardInterrupt
                time.sleep(_POLL_SECONDS)

    def _generate(self, asks: list[Ask]) -> Iterator[_Batch]:
        """Store each batch of the engine's, and yield it as the store has it."""
        batches: Any = self.engine.generate(asks, self.sampling)
        unanswered = {ask.key: ask for ask in asks}
        with contextlib.closing(batches):
            for batch in batches:
                keys = {completion.key for completion in batch}
                stray = keys - unanswered.keys()
                if stray:
                    raise RuntimeError(
                        f"{self.engine.signature()} gave {len(stray)} completions that "
                        "were not asked, or gave them twice"
                    )
                requests = {key: unanswered.pop(key).request for key in keys}
                yield self._stored(batch, requests), True
        if unanswered:
            reason = "the engine gave no answer"
            yield [failed(ask, reason, True) for ask in unanswered.values()], True

    def _stored(
        self, batch: list[Completion], requests: Mapping[str, Request]
    ) -> list[Completion]:
        """Store a batch's finished completions; the batch as the store then has it."""
        finished = _finished(batch)
        if self.store is None or not finished:
            return batch
        # several draws share one request, whose body is stored once
        different: dict[int, Request] = {}
        for completion in finished:
            request = requests[completion.key]
            different[id(request)] = request
        requested = different.values()
        bodies = (request.body(self.engine, self.sampling) for request in requested)
        added = self.store.put_many(finished, bodies, self.engine.maker())
        if added == len(finished):
            return batch
        # another process was first: its completion is the one that counts for both
        stored = self.store.get_many(completion.key for completion in finished)
        return [stored.get(completion.key, completion) for completion in batch]
