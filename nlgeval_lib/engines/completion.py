"""Ask an engine for what a store does not have yet.

`complete` does it and gives `Answers`. It works slice by slice: look up what is stored,
claim the rest so that no other process asks for the same, generate, store. `Progress`
says how far it is, a `Failure` what could not be made.
"""

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
_AT_ONCE = 1000  # requests whose answers are read from a store together
_ELSEWHERE = Completion(
    "", "", "error", error="another shard is to ask this", passing=True
)
_HALF = "the prompt has half a character (a lone surrogate), which no model can be sent"
# completions, and whether this run made them (else another process did)
_Batch = tuple[list[Completion], bool]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands.

    total: different completions that are needed.
    stored: those that were in the store, or that another process made.
    done: those that this run made.
    failed: those that could not be made.
    prompt_tokens, completion_tokens: of `done`.
    reasoning_tokens: those of `completion_tokens` that are reasoning.
    seconds: since the run began.
    """

    total: int
    stored: int
    done: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    seconds: float = 0.0

    def after(
        self, batch: Sequence[Completion], seconds: float, by_this_run: bool
    ) -> Progress:
        """Where the run stands with one more batch.

        batch: finished and failed completions.
        seconds: since the run began.
        by_this_run: whether this run made them; else another process did.
        """
        if not by_this_run:
            return replace(self, stored=self.stored + len(batch))
        finished = _finished(batch)
        prompt_tokens = sum(completion.prompt_tokens for completion in finished)
        new_tokens = sum(completion.completion_tokens for completion in finished)
        reasoning_tokens = sum(completion.reasoning_tokens for completion in finished)
        return Progress(
            total=self.total,
            stored=self.stored,
            done=self.done + len(finished),
            failed=self.failed + len(batch) - len(finished),
            prompt_tokens=self.prompt_tokens + prompt_tokens,
            completion_tokens=self.completion_tokens + new_tokens,
            reasoning_tokens=self.reasoning_tokens + reasoning_tokens,
            seconds=seconds,
        )

    @property
    def left(self) -> int:
        """Completions still to come."""
        return self.total - self.stored - self.done - self.failed


def _finished(batch: Iterable[Completion]) -> list[Completion]:
    """Those of a batch that did not fail."""
    return [completion for completion in batch if completion.finish_reason != "error"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A completion that could not be made: which one, and why.

    id: of the request.
    draw: which draw of it, from 0.
    key: of the draw.
    reason: in words.
    passing: the reason may pass, so it can be asked for again.
    """

    id: str
    draw: int
    key: str
    reason: str
    passing: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Answers(Sequence[tuple[Completion, ...]]):
    """For every request, in order, the tuple of its `n` completions, each with its
    reasoning apart from its text.

    Where the requests filled more than one slice, completions are read from the store
    when they are looked at.

    failed: the completions that could not be made.
    progress: where the run stood at its end.
    served: the models that answered, as their servers called them.
    """

    _keys: Sequence[str]
    _n: int
    _in_memory: Mapping[str, Completion]
    _store: Store | None
    failed: tuple[Failure, ...]
    progress: Progress
    served: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self._keys) // self._n

    def __getitem__(self, place: Any) -> Any:
        places = range(len(self))[place]
        if isinstance(places, range):
            return self._draws(places)
        return self._draws([places])[0]

    def __iter__(self) -> Iterator[tuple[Completion, ...]]:
        for start in range(0, len(self), _AT_ONCE):
            end = min(start + _AT_ONCE, len(self))
            yield from self._draws(range(start, end))

    def _draws(self, places: Sequence[int]) -> list[tuple[Completion, ...]]:
        """The completions of the requests at these places, a tuple each."""
        keys_of_requests = []
        not_in_memory = []
        for place in places:
            first = place * self._n
            keys = self._keys[first : first + self._n]
            keys_of_requests.append(keys)
            not_in_memory += [key for key in keys if key not in self._in_memory]
        stored: dict[str, Completion] = {}
        if not_in_memory and self._store is not None:
            stored = self._store.get_many(not_in_memory)
        # what is nowhere belongs to another shard, which has not asked for it yet
        for key in not_in_memory:
            if key not in stored:
                stored[key] = replace(_ELSEWHERE, key=key)
        draws = []
        for keys in keys_of_requests:
            completions = (self._in_memory.get(key) or stored[key] for key in keys)
            draws.append(tuple(map(apart, completions)))
        return draws

    @property
    def flat(self) -> list[Completion]:
        """All completions, request by request, draw by draw."""
        return [completion for draws in self for completion in draws]


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
    requests: equal ones are asked for once.
    sampling: of all requests.
    store: with it, the memory holds all keys and one slice of the requests; None keeps
        nothing.
    progress: called at the start of each slice and after each batch, with a `Progress`
        and the batch.

    Returns: the completions. Failures are named in `failed` and asked for again next
    time.

    Raises: UnsupportedSetting before anything is asked; EngineError; StoreError;
    KeyboardInterrupt.
    """
    if not isinstance(requests, Sequence):
        requests = list(requests)
    keys: list[str] = []
    for request in requests:
        keys += _named(request).keys(engine, sampling)
    report = progress or in_cell(engine.model)
    if store is not None:
        store.in_haste = lambda: bool(getattr(engine, "pending", False))
    run = _Completing(engine, requests, sampling, store, keys, report)
    for start in range(0, len(requests) or 1, run.slice):
        run.complete_slice(start)
    return Answers(
        keys,
        sampling.n,
        run.in_memory,
        store,
        run.failures(),
        run.state,
        frozenset(run.served),
    )


class _Completing:
    """One call of `complete`: what is still to be asked, and what there is already.

    slice: how many requests are looked up and asked at a time.
    keep_all: whether all completions stay in memory; else only failed ones do.
    unvisited: the keys of all slices to come.
    state: where the run stands.
    """

    def __init__(
        self,
        engine: Engine,
        requests: Sequence[Request | str],
        sampling: Sampling,
        store: Store | None,
        keys: Sequence[str],
        report: Report,
    ) -> None:
        self.engine = engine
        self.requests = requests
        self.sampling = sampling
        self.store = store
        self.keys = keys
        self.report = report
        self.slice = max(1, engine.slice // sampling.n)
        self.keep_all = store is None or len(requests) <= self.slice
        self.in_memory: dict[str, Completion] = {}
        self.unvisited = set(keys)
        self.served: set[str] = set()
        total = sum(self._in_shard(key) for key in self.unvisited)
        self.state = Progress(total=total, stored=0)
        self.started = time.monotonic()

    def complete_slice(self, start: int) -> None:
        """Complete the slice of requests that begins at this place."""
        asks = self._asks(start)
        stored: dict[str, Completion] = {}
        if self.store is not None:
            stored = self.store.get_many(asks)
        # stored completions of other shards were not counted in the total yet
        of_others = sum(not self._in_shard(key) for key in stored)
        self.state = replace(
            self.state,
            total=self.state.total + of_others,
            stored=self.state.stored + len(stored),
        )
        self.report(self.state, ())
        if self.keep_all:
            self.in_memory |= stored
        self._note_served(stored.values())
        missing = []
        for key, ask in asks.items():
            if key not in stored and self._in_shard(key):
                missing.append(ask)
        missing = self._with_new_seeds(missing)
        batches = _completed(self.engine, missing, self.sampling, self.store)
        for batch, by_this_run in batches:
            for completion in batch:
                if self.keep_all or completion.finish_reason == "error":
                    self.in_memory[completion.key] = completion
            self._note_served(batch)
            seconds = time.monotonic() - self.started
            self.state = self.state.after(batch, seconds, by_this_run)
            self.report(self.state, batch)

    def _with_new_seeds(self, missing: list[Ask]) -> list[Ask]:
        """The asks, with another seed where their answers were thrown away."""
        if self.store is None:
            return missing
        times = self.store.thrown_away(ask.key for ask in missing)
        if not times:
            return missing
        asks = []
        for ask in missing:
            again = times.get(ask.key, 0)
            asks.append(
                Ask.from_draw(ask.request, ask.draw, ask.key, self.sampling, again)
            )
        return asks

    def _note_served(self, completions: Iterable[Completion]) -> None:
        """Note which models answered, as their servers called them."""
        for completion in completions:
            if completion.finish_reason != "error":
                self.served.add(completion.served or completion.model)

    def _asks(self, start: int) -> dict[str, Ask]:
        """The draws of the slice that begins at a place, by their keys, without those
        of an earlier request.
        """
        n = self.sampling.n
        asks: dict[str, Ask] = {}
        end = min(start + self.slice, len(self.requests))
        for place in range(start, end):
            request = _named(self.requests[place], place)
            keys = self.keys[place * n : (place + 1) * n]
            for draw, key in enumerate(keys):
                if key in self.unvisited:
                    self.unvisited.remove(key)
                    asks[key] = Ask.from_draw(request, draw, key, self.sampling)
        return asks

    def failures(self) -> tuple[Failure, ...]:
        """The completions that could not be made, in the order of the requests."""
        n = self.sampling.n
        failures = []
        for index, key in enumerate(self.keys):
            completion = self.in_memory.get(key)
            if completion is None or completion.finish_reason != "error":
                continue
            place, draw = divmod(index, n)
            request = _named(self.requests[place], place)
            failure = Failure(
                id=request.id,
                draw=draw,
                key=key,
                reason=completion.error,
                passing=completion.passing,
            )
            failures.append(failure)
        return tuple(failures)

    def _in_shard(self, key: str) -> bool:
        """Whether this run is to ask for a key.

        Keys are hashes, so that the parts of a shard are of about the same size.
        """
        part, parts = self.engine.shard
        return parts == 1 or int(key[:8], 16) % parts == part - 1


def _named(request: Request | str, place: int = 0) -> Request:
    """A request that has a name: its own, or its place."""
    if isinstance(request, str):
        return Request(prompt=request, id=f"#{place}")
    if request.id:
        return request
    return replace(request, id=f"#{place}")


def _completed(
    engine: Engine, missing: list[Ask], sampling: Sampling, store: Store | None
) -> Iterator[_Batch]:
    """The missing completions, batch by batch.

    A prompt that no model can be sent fails at once.
    """
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
    engine.check(sampling)
    if store is None or engine.name == "replay":
        yield from _generate(engine, sendable, sampling, store)
        return
    # what this run claims, no other process on the same store asks for
    try:
        with store.claimant() as claimant:
            yield from _claimed(engine, sendable, sampling, store, claimant)
    finally:
        store.sync()


def _claimed(
    engine: Engine,
    missing: list[Ask],
    sampling: Sampling,
    store: Store,
    claimant: str,
) -> Iterator[_Batch]:
    """The missing completions, where other processes may ask for the same ones.

    What no other process asks for is asked for here. Then come the completions that the
    other processes made; what they gave up is asked for here in the next round.

    claimant: the name of this run in the store.
    """
    while missing:
        claims = store.claim(claimant, [ask.key for ask in missing])
        claimed = [ask for ask in missing if ask.key in claims]
        if claimed:
            yield from _generate(engine, claimed, sampling, store)
        unclaimed = [ask for ask in missing if ask.key not in claims]
        arrived = store.get_many(ask.key for ask in unclaimed)
        missing = [ask for ask in unclaimed if ask.key not in arrived]
        if arrived:
            yield list(arrived.values()), False
        elif not claimed:
            # a Ctrl-C that is held back until the engine is asked
            if getattr(engine, "pending", False):
                raise KeyboardInterrupt
            time.sleep(_POLL_SECONDS)


def _generate(
    engine: Engine, asks: list[Ask], sampling: Sampling, store: Store | None
) -> Iterator[_Batch]:
    """Store each batch of the engine's, and yield it as the store has it."""
    batches: Any = engine.generate(asks, sampling)
    unanswered = {ask.key: ask for ask in asks}
    with contextlib.closing(batches):
        for batch in batches:
            keys = {completion.key for completion in batch}
            stray = keys - unanswered.keys()
            if stray:
                raise RuntimeError(
                    f"{engine.signature()} gave {len(stray)} completions that were "
                    "not asked, or gave them twice"
                )
            requests = {key: unanswered.pop(key).request for key in keys}
            if store is not None:
                batch = _stored(batch, requests, engine, sampling, store)
            yield batch, True
    if unanswered:
        failures = []
        for ask in unanswered.values():
            failures.append(failed(ask, "the engine gave no answer", passing=True))
        yield failures, True


def _stored(
    batch: list[Completion],
    requests: Mapping[str, Request],
    engine: Engine,
    sampling: Sampling,
    store: Store,
) -> list[Completion]:
    """Store a batch's finished completions; the batch as the store then has it.

    requests: key of a completion -> what was asked.
    """
    finished = _finished(batch)
    if not finished:
        return batch
    # several draws share one request, whose body is stored once
    different: dict[int, Request] = {}
    for completion in finished:
        request = requests[completion.key]
        different[id(request)] = request
    bodies = (request.body(engine, sampling) for request in different.values())
    added = store.put_many(finished, bodies, engine.maker())
    if added == len(finished):
        return batch
    # another process was first: its completion is the one that counts for both
    stored = store.get_many(completion.key for completion in finished)
    return [stored.get(completion.key, completion) for completion in batch]
