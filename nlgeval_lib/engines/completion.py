"""Ask an engine for what a store does not have yet."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nlgeval_lib.engines.base import Ask, Engine, Request, Sampling, failed
from nlgeval_lib.engines.store import Store
from nlgeval_lib.files import whole
from nlgeval_lib.records import Completion

_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands: different completions wanted in `total`, of which `stored` were found, `done` made now, and
    `failed` could not be made. Tokens are those of `done`; `seconds` count from the engine's start.
    """

    total: int
    stored: int
    done: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def after(self, batch: Sequence[Completion], seconds: float, made: bool) -> Progress:
        """Where it stands `seconds` after its start, with a batch more: `made` by this run, or by another."""
        if not made:
            return replace(self, stored=self.stored + len(batch))
        good = [one for one in batch if one.finish_reason != "error"]
        done, lost = self.done + len(good), self.failed + len(batch) - len(good)
        prompt = self.prompt_tokens + sum(one.prompt_tokens for one in good)
        written = self.completion_tokens + sum(one.completion_tokens for one in good)
        return Progress(self.total, self.stored, done, lost, prompt, written, seconds)

    @property
    def left(self) -> int:
        """Completions still to come."""
        return self.total - self.stored - self.done - self.failed


@dataclass(frozen=True, slots=True)
class Failure:
    """A completion that could not be made: the request's id, its draw, its key, why, and whether that may pass."""

    id: str
    draw: int
    key: str
    reason: str
    passing: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Answers(Sequence[tuple[Completion, ...]]):
    """For every request, in order, the tuple of its `n` completions. `failed` names those that could not be made.

    What was asked in more than one slice is read from the store when it is looked at, a part at a time.
    """

    _keys: Sequence[str]
    _n: int
    _held: Mapping[str, Completion]
    _store: Store | None
    failed: tuple[Failure, ...]
    progress: Progress

    def __len__(self) -> int:
        return len(self._keys) // self._n

    def __getitem__(self, place: Any) -> Any:
        found = range(len(self))[place]
        return self._draws(found) if isinstance(place, slice) else self._draws([found])[0]

    def __iter__(self) -> Iterator[tuple[Completion, ...]]:
        for start in range(0, len(self), _AT_ONCE):
            yield from self._draws(range(start, min(start + _AT_ONCE, len(self))))

    def _draws(self, places: Sequence[int]) -> list[tuple[Completion, ...]]:
        keys = [self._keys[place * self._n : (place + 1) * self._n] for place in places]
        elsewhere = [key for draws in keys for key in draws if key not in self._held]
        found = self._store.get_many(elsewhere) if elsewhere and self._store is not None else {}
        found.update((key, replace(_ELSEWHERE, key=key)) for key in elsewhere if key not in found)
        return [tuple(self._held.get(key) or found[key] for key in draws) for draws in keys]

    @property
    def flat(self) -> list[Completion]:
        """All completions, request by request, draw by draw."""
        return [completion for draws in self for completion in draws]


_AT_ONCE = 1000  # requests whose answers are read from a store together
_ELSEWHERE = Completion("", "", "error", error="another shard is to ask this", passing=True)
Report = Callable[[Progress, Sequence[Completion]], None]


def complete(
    engine: Engine,
    requests: Iterable[Request | str],
    sampling: Sampling,
    store: Store | None = None,
    progress: Report | None = None,
) -> Answers:
    """The completions of all requests, in their order: from the store where it has them, else from the engine.

    Each finished completion is stored as soon as the engine hands it over; a run that is stopped resumes where it was.
    What fails is named in `Answers.failed` and asked again next time. What another process asks for on the same store
    is waited for, not asked twice. Of what the engine's `shard` leaves to others only what is stored is here; it counts
    neither as wanted nor as failed. With a store, memory holds all keys and one slice of the requests.
    `progress` is called at the start of each slice and after each batch with a `Progress` and the batch.

    Raises: UnsupportedSetting before anything is asked; EngineError; StoreError; KeyboardInterrupt.
    """
    asked = requests if isinstance(requests, Sequence) else list(requests)
    n, (part, parts) = sampling.n, engine.shard
    keys = [key for one in asked for key in _request(one).keys(engine, sampling)]
    new = set(keys)  # not walked yet
    at_once = max(1, engine.slice // n)
    in_memory = store is None or len(asked) <= at_once
    held: dict[str, Completion] = {}
    state = Progress(total=sum(_is_part(key, part, parts) for key in new), stored=0)
    tell = progress or (lambda state, batch: None)
    began = time.monotonic()
    for start in range(0, len(asked) or 1, at_once):
        wanted: dict[str, Ask] = {}
        for place in range(start, min(start + at_once, len(asked))):
            request = _request(asked[place], place)
            for draw, key in enumerate(keys[place * n : (place + 1) * n]):
                if key in new:
                    new.remove(key)
                    wanted[key] = Ask.of(request, draw, key, sampling)
        have = store.get_many(wanted) if store is not None else {}
        others = sum(not _is_part(key, part, parts) for key in have)
        state = replace(state, total=state.total + others, stored=state.stored + len(have))
        tell(state, ())
        held |= have if in_memory else {}
        missing = [ask for key, ask in wanted.items() if key not in have and _is_part(key, part, parts)]
        for batch, made in _asked(engine, missing, sampling, store):
            held |= {one.key: one for one in batch if in_memory or one.finish_reason == "error"}
            state = state.after(batch, time.monotonic() - began, made)
            tell(state, batch)
    failures = []
    for place, key in enumerate(keys):
        if key in held and held[key].finish_reason == "error":
            request, lost = _request(asked[place // n], place // n), held[key]
            failures.append(Failure(request.id, place % n, key, lost.error, lost.passing))
    return Answers(keys, n, held, store, tuple(failures), state)


_HALF = "the prompt has half a character (a lone surrogate), which no model can be sent"


def _request(asked: Request | str, place: int = 0) -> Request:
    """What is asked, with a name."""
    if isinstance(asked, str):
        return Request(prompt=asked, id=f"#{place}")
    return asked if asked.id else replace(asked, id=f"#{place}")


def _is_part(key: str, part: int, parts: int) -> bool:
    """Whether a key is in this part, counted from 1, of so many: keys are hashes, so that parts are of one size."""
    return parts == 1 or int(key[:8], 16) % parts == part - 1


_Batch = tuple[list[Completion], bool]  # and whether this run made it, or another process


def _asked(engine: Engine, missing: list[Ask], sampling: Sampling, store: Store | None) -> Iterator[_Batch]:
    """What is missing, batch by batch.

    What no other process is asking for is asked for; then comes what those made, or what they gave up is asked for.
    """
    if broken := [failed(ask, _HALF) for ask in missing if whole(ask.request.text()) != ask.request.text()]:
        yield broken, True
        missing = [ask for ask in missing if ask.key not in {one.key for one in broken}]
    if not missing:
        return
    engine.check(sampling)
    if store is None or engine.name == "replay":
        yield from _generate(engine, missing, sampling, store)
        return
    try:
        with store.claimant() as name:
            while missing:
                mine = store.claim(name, [ask.key for ask in missing])
                if asked := [ask for ask in missing if ask.key in mine]:
                    yield from _generate(engine, asked, sampling, store)
                others = store.get_many(ask.key for ask in missing if ask.key not in mine)
                missing = [ask for ask in missing if ask.key not in mine and ask.key not in others]
                if others:
                    yield list(others.values()), False
                elif not asked:
                    if getattr(engine, "pending", False):  # a Ctrl-C that is held back until the engine is asked
                        raise KeyboardInterrupt
                    time.sleep(_POLL_SECONDS)
    finally:
        store.sync()


def _generate(engine: Engine, asked: list[Ask], sampling: Sampling, store: Store | None) -> Iterator[_Batch]:
    """Store each batch of the engine's, and yield it as the store has it."""
    batches: Any = engine.generate(asked, sampling)
    left = {ask.key: ask for ask in asked}
    with contextlib.closing(batches):
        for batch in batches:
            if stray := {one.key for one in batch} - left.keys():
                said = f"gave {len(stray)} completions that were not asked, or gave them twice"
                raise RuntimeError(f"{engine.signature()} {said}")
            requests = {key: left.pop(key).request for key in {one.key for one in batch}}
            good = [one for one in batch if one.finish_reason != "error"]
            if store is not None and good:
                bodies = {id(one): one for one in (requests[made.key] for made in good)}.values()
                new = store.put_many(good, (one.body(engine, sampling) for one in bodies), engine.maker())
                if new < len(good):  # another process was first: one completion is the truth for both
                    kept = store.get_many(one.key for one in good)
                    batch = [kept.get(one.key, one) for one in batch]
            yield batch, True
    if left:
        yield [failed(ask, "the engine gave no answer", passing=True) for ask in left.values()], True
