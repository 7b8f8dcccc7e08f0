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

    def after(self, batch: Sequence[Completion], seconds: float, made: bool) -> Progress:
        """Where it stands `seconds` after its start, with a batch more: `made` by this run, or by another."""
        if not made:
            return replace(self, stored=self.stored + len(batch))
        good = [completion for completion in batch if completion.finish_reason != "error"]
        return replace(
            self,
            done=self.done + len(good),
            failed=self.failed + len(batch) - len(good),
            prompt_tokens=self.prompt_tokens + sum(completion.prompt_tokens for completion in good),
            completion_tokens=self.completion_tokens + sum(completion.completion_tokens for completion in good),
            seconds=seconds,
        )

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
    """A completion that could not be made: the request's id, its draw, its key, why, and whether that may pass."""

    id: str
    draw: int
    key: str
    reason: str
    passing: bool = False


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
    asks: list[list[Ask]] = []
    unique: dict[str, Ask] = {}
    bodies: dict[str, dict[str, Any]] = {}
    for request in named:
        body = request.body(engine, sampling)
        asks.append(Ask.all(request, body, sampling))
        for ask in asks[-1]:
            unique.setdefault(ask.key, ask)
            bodies.setdefault(ask.key, body)

    have = store.get_many(bodies) if store is not None else {}
    state = Progress(total=len(bodies), stored=len(have))
    tell = progress or (lambda state, batch: None)
    tell(state, ())
    began = time.monotonic()
    missing = [ask for key, ask in unique.items() if key not in have]
    for batch, made in _asked(engine, missing, sampling, store, bodies):
        have.update((completion.key, completion) for completion in batch)
        state = state.after(batch, time.monotonic() - began, made)
        tell(state, batch)
    failures = [
        Failure(ask.request.id, ask.draw, ask.key, have[ask.key].error, have[ask.key].passing)
        for draws in asks
        for ask in draws
        if have[ask.key].finish_reason == "error"
    ]
    return Answers([tuple(have[ask.key] for ask in draws) for draws in asks], tuple(failures), state)


Bodies = Mapping[str, dict[str, Any]]  # what is asked, as the store keeps it, by key
_HALF = "the prompt has half a character (a lone surrogate), which no model can be sent"


def _asked(
    engine: Engine, missing: list[Ask], sampling: Sampling, store: Store | None, bodies: Bodies
) -> Iterator[tuple[list[Completion], bool]]:
    """What is missing, batch by batch; and whether this run made the batch, or another process.

    What no other process is asking for is asked for; then comes what those made, or what they gave up is asked for.
    """
    if broken := [failed(ask, _HALF) for ask in missing if whole(ask.request.text()) != ask.request.text()]:
        yield broken, True
        missing = [ask for ask in missing if ask.key not in {one.key for one in broken}]
    if not missing:
        return
    engine.check(sampling)
    if store is None or engine.name == "replay":
        yield from ((batch, True) for batch in _generate(engine, missing, sampling, store, bodies))
        return
    try:
        with store.claimant() as name:
            while missing:
                mine = store.claim(name, [ask.key for ask in missing])
                if asked := [ask for ask in missing if ask.key in mine]:
                    yield from ((batch, True) for batch in _generate(engine, asked, sampling, store, bodies))
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


def _generate(
    engine: Engine, asked: list[Ask], sampling: Sampling, store: Store | None, bodies: Bodies
) -> Iterator[list[Completion]]:
    """Store each batch of the engine's, and yield it as the store has it."""
    batches: Any = engine.generate(asked, sampling)
    open_keys = {ask.key for ask in asked}
    with contextlib.closing(batches):
        for batch in batches:
            if stray := {completion.key for completion in batch} - open_keys:
                raise RuntimeError(
                    f"{engine.signature()} gave {len(stray)} completions that were not asked, or gave them twice"
                )
            open_keys.difference_update(completion.key for completion in batch)
            good = [completion for completion in batch if completion.finish_reason != "error"]
            if store is not None and good:
                asked_for = (bodies[completion.key] for completion in good)
                new = store.put_many(good, asked_for, engine.maker())
                if new < len(good):  # another process was first: one completion is the truth for both
                    kept = store.get_many(completion.key for completion in good)
                    batch = [kept.get(completion.key, completion) for completion in batch]
            yield batch
    if open_keys:
        yield [failed(ask, "the engine gave no answer", passing=True) for ask in asked if ask.key in open_keys]
