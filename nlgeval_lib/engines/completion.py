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
    """Where a run stands. Counts are of different completions: a prompt that occurs twice is asked once.

    `total` wanted, of which `stored` were found in the store; `done` were made now and `failed` could not be made.
    Tokens are those of `done`; `seconds` count from the engine's start.
    """

    total: int
    stored: int
    done: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    @property
    def left(self) -> int:
        """Completions still to come."""
        return self.total - self.stored - self.done - self.failed

    @property
    def tokens_per_second(self) -> float:
        """Tokens written a second, NaN before the first."""
        return self.completion_tokens / self.seconds if self.seconds > 0 else float("nan")

    @property
    def seconds_left(self) -> float:
        """Estimate from the pace so far, NaN before the first completion."""
        made = self.done + self.failed
        return self.left * self.seconds / made if made else float("nan")


@dataclass(frozen=True, slots=True)
class Failure:
    """A completion that could not be made: the request's id, its draw, its key, and why."""

    id: str
    draw: int
    key: str
    reason: str


class Answers(list[tuple[Completion, ...]]):
    """For every request, in order, the tuple of its `n` completions. `failed` names those that could not be made."""

    def __init__(
        self, completions: Iterable[tuple[Completion, ...]], failed: tuple[Failure, ...], progress: Progress
    ) -> None:
        super().__init__(completions)
        self.failed, self.progress = failed, progress

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
    """The completions of all requests, in their order: from the store where it has them, else from the engine.

    Each finished completion is stored as soon as the engine hands it over, so a run that is stopped - Ctrl-C, a crash,
    an error of the engine - resumes where it was. What fails is named in `Answers.failed` and asked again next time.
    What another process is asking for on the same store is waited for, not asked twice.
    `progress` is called at the start and after each batch with a `Progress` and the batch.

    Raises: UnsupportedSetting before anything is asked; EngineError; StoreError; KeyboardInterrupt.
    """
    named = [Request(prompt=r) if isinstance(r, str) else r for r in requests]
    named = [r if r.id else replace(r, id=f"#{i}") for i, r in enumerate(named)]
    bodies = [request.body(engine, sampling) for request in named]
    asks = [Ask.all(request, body, sampling) for request, body in zip(named, bodies, strict=True)]
    unique: dict[str, tuple[Ask, dict[str, Any]]] = {}
    for draws, body in zip(asks, bodies, strict=True):
        for ask in draws:
            unique.setdefault(ask.key, (ask, body))

    have = store.get_many(unique) if store is not None else {}
    state = Progress(total=len(unique), stored=len(have))
    missing = [ask for key, (ask, _) in unique.items() if key not in have]
    tell = progress or (lambda state, batch: None)
    tell(state, ())
    if broken := [failed(ask, _HALF) for ask in missing if whole(ask.request.text()) != ask.request.text()]:
        have.update((completion.key, completion) for completion in broken)
        missing = [ask for ask in missing if ask.key not in have]
        state = replace(state, failed=len(broken))
        tell(state, broken)
    if missing:
        engine.check(sampling)
        if store is None or engine.name == "replay":
            batches = _generate(engine, missing, sampling, store, unique, state)
        else:
            batches = _shared(engine, missing, sampling, store, unique, state)
        for state, batch in batches:
            have.update((completion.key, completion) for completion in batch)
            tell(state, batch)
    failures = [
        Failure(ask.request.id, ask.draw, ask.key, have[ask.key].error)
        for draws in asks
        for ask in draws
        if have[ask.key].finish_reason == "error"
    ]
    return Answers([tuple(have[ask.key] for ask in draws) for draws in asks], tuple(failures), state)


Asked = Mapping[str, tuple[Ask, dict[str, Any]]]  # by key: what is asked, and what the store keeps of it
_HALF = "the prompt has half a character (a lone surrogate), which no model can be sent"


def _shared(
    engine: Engine,
    missing: list[Ask],
    sampling: Sampling,
    store: Store,
    unique: Asked,
    state: Progress,
) -> Iterator[tuple[Progress, list[Completion]]]:
    """Ask for what no other process is asking for; then take what those came to, or ask for what they gave up."""
    try:
        with store.claimant() as name:
            while missing:
                mine = store.claim(name, [ask.key for ask in missing])
                asked = [ask for ask in missing if ask.key in mine]
                batches = _generate(engine, asked, sampling, store, unique, state) if asked else ()
                for state, batch in batches:
                    yield state, batch
                others = store.get_many(ask.key for ask in missing if ask.key not in mine)
                missing = [ask for ask in missing if ask.key not in mine and ask.key not in others]
                if others:
                    state = replace(state, stored=state.stored + len(others))
                    yield state, list(others.values())
                elif not asked:
                    if getattr(engine, "pending", False):  # a Ctrl-C that is held back until the engine is asked
                        raise KeyboardInterrupt
                    time.sleep(_POLL_SECONDS)
    finally:
        store.sync()


def _generate(
    engine: Engine,
    asked: list[Ask],
    sampling: Sampling,
    store: Store | None,
    unique: Asked,
    state: Progress,
) -> Iterator[tuple[Progress, list[Completion]]]:
    """Store each batch of the engine's and yield it, as the store has it, with the progress after it."""
    open_keys = {ask.key for ask in asked}
    began = time.monotonic() - state.seconds
    batches = engine.generate(asked, sampling)
    with contextlib.ExitStack() as stack:
        stack.callback(getattr(batches, "close", lambda: None))
        for batch in batches:
            stray = [completion.key for completion in batch if completion.key not in open_keys]
            if stray:
                raise RuntimeError(
                    f"{engine.signature()} gave {len(stray)} completions that were not asked, or gave them twice"
                )
            good = [completion for completion in batch if completion.finish_reason != "error"]
            open_keys.difference_update(completion.key for completion in batch)
            if store is not None and good:
                new = store.put_many(good, (unique[completion.key][1] for completion in good))
                if new < len(good):  # another process was first: one completion is the truth for both
                    kept = store.get_many(completion.key for completion in good)
                    batch = [kept.get(completion.key, completion) for completion in batch]
            state = replace(
                state,
                done=state.done + len(good),
                failed=state.failed + len(batch) - len(good),
                prompt_tokens=state.prompt_tokens + sum(completion.prompt_tokens for completion in good),
                completion_tokens=state.completion_tokens + sum(completion.completion_tokens for completion in good),
                seconds=time.monotonic() - began,
            )
            yield state, batch
    if open_keys:
        lost = [failed(ask, "the engine gave no answer") for ask in asked if ask.key in open_keys]
        yield replace(state, failed=state.failed + len(lost)), lost
