"""Replicas of an engine on many GPUs and machines: Ray places them, carries prompts, and tells what is lost.

This process alone reads and writes the store. A replica is an actor that holds an engine of ours, loaded once for all
stages. It answers one stream a run, and is fed blocks of neighbouring prompts before it would have to wait for them.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import queue
import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from nlgeval_lib.engines.base import Ask, Engine, EngineError, Sampling, UnsupportedSetting, failed
from nlgeval_lib.records import Completion

_BLOCK, _OPEN = 128, 512  # asks in a block, at most; asks that a replica has open: as much as vLLM keeps at hand
_ATTEMPTS = 3  # of a block
_PARTS, _PIECE = 8, 16  # what is lost is asked again in so many parts, of so many: a bad prompt takes few along
_HOPELESS = 3  # blocks given up with no completion in between, or starts of each replica with none up: nothing works
_HAND_OVER = 0.2  # seconds for which a replica gathers completions before it sends them
_POLL = 1.0


class Replica:
    """What an actor holds: one engine. Faults come back as texts, not as exceptions."""

    def __init__(self, make: Callable[[], Engine]) -> None:
        self._make, self._turn, self._over = make, threading.Lock(), 0
        self._inboxes: dict[int, queue.Queue[list[Ask]]] = {}

    def start(self) -> tuple[str, str, str, str] | str:
        """Load the engine: its name, model, revision and maker; or why it cannot be."""
        try:
            one = self._engine = self._make()
        except Exception as error:
            return str(error) or type(error).__name__
        return one.name, one.model, one.revision, one.maker()

    def refusal(self, sampling: Sampling) -> str:
        """Why the backend cannot honour these settings; empty where it can."""
        try:
            self._engine.check(sampling)
        except UnsupportedSetting as error:
            return str(error)
        return ""

    def feed(self, run: int, asks: list[Ask]) -> None:
        """Take in what else is to be answered."""
        self._inboxes.setdefault(run, queue.Queue()).put(asks)

    def end(self, run: int) -> None:
        """Forget what is open."""
        self._over = run
        self.feed(run, [])

    def answer(self, sampling: Sampling, run: int) -> Iterator[tuple[list[Completion], str]]:
        """Completions of what it is fed as they are finished; or why there will be no more."""
        with self._turn:
            inbox = self._inboxes.setdefault(run, queue.Queue())
            made: list[Completion] = []
            told = 0.0
            try:
                while self._over < run and (asks := inbox.get()):
                    left = {ask.key: ask for ask in asks}
                    given: Any = _stream(deque(asks), inbox, left) if self._engine.streams else asks
                    batches: Any = self._engine.generate(given, sampling)
                    with contextlib.closing(batches):
                        for batch in batches:
                            if self._over >= run:
                                return
                            made += batch
                            for one in batch:
                                left.pop(one.key, None)
                            if time.monotonic() > told + _HAND_OVER:
                                yield made, ""
                                made, told = [], time.monotonic()
                    yield made + [failed(ask, "the engine gave no answer", passing=True) for ask in left.values()], ""
                    made, told = [], time.monotonic()
            except Exception as error:
                yield made, f"{type(error).__name__}: {error}"


def _stream(waiting: deque[Ask], inbox: queue.Queue[list[Ask]], left: dict[str, Ask]) -> Iterator[Ask | None]:
    """Asks while there are any, with those that come meanwhile; None where there are none at the moment."""
    while True:
        while not inbox.empty():
            asks = inbox.get()
            waiting.extend(asks)
            left.update((ask.key, ask) for ask in asks)
        yield waiting.popleft() if waiting else None


@dataclass(eq=False)
class _Held:
    """A replica as this process sees it: its actor, what tells that it is up, its stream, and what it has open."""

    actor: Any
    coming: Any
    stream: Any = None
    open: dict[str, Ask] = field(default_factory=dict)


class RayEngine(Engine):
    """So many replicas of one engine, asked as one; keys, texts and records are those of that engine in one process.

    make: gives the engine in each replica; picklable. address: of a Ray cluster; without one, a cluster of this machine
    is started that only loopback reaches. gpus: that a replica takes; none where the cluster has none. patience:
    seconds to wait for a replica to be placed and loaded where none is at work.

    A block of prompts that is lost with its replica is asked of another, three times in all, then failed by name; a
    lost replica is started again where there is room. Raises: EngineError where Ray is not installed, the cluster does
    not answer, or the engine does not start; from `generate`, where nothing works any more.
    """

    def __init__(
        self,
        make: Callable[[], Engine],
        *,
        replicas: int = 1,
        address: str = "",
        gpus: float = 0,
        patience: float = 1800.0,
    ) -> None:
        if replicas < 1:
            raise ValueError(f"replicas={replicas}: at least 1 is needed")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if not address:  # read when Ray is imported: else its servers listen to the whole network
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        try:
            import ray
        except ImportError as error:
            raise EngineError(f"Ray cannot be imported ({error}): install the extra `ray`") from error
        self._ray, self._mine = ray, not ray.is_initialized()
        here = {"num_cpus": max(os.cpu_count() or 1, replicas), "include_dashboard": False}
        how: dict[str, Any] = {"address": address} if address else {"address": "local", **here}
        left = 1 if address else 3  # attempts: a busy machine starts a cluster more slowly than Ray waits for it
        while not ray.is_initialized():
            try:
                ray.init(**how, log_to_driver=False, logging_level=logging.ERROR)
            except Exception as error:  # of many kinds: no such address, no token, another version
                if not (left := left - 1):
                    raise EngineError(f"no Ray cluster at {address or 'this machine'}: {error}") from error
                ray.shutdown()
        self._patience = patience
        self._given_up = self._unborn = 0  # in a row
        self._run, self._lost, self._attempts = 0, list[list[Ask]](), Counter[str]()
        needs = {"num_gpus": gpus if ray.cluster_resources().get("GPU") else 0, "num_cpus": 1}
        actor: Any = ray.remote(Replica).options(**needs, max_concurrency=6)
        self._new: Any = functools.partial(actor.remote, make)
        self.slice = max(Engine.slice, replicas << 14)
        self._replicas = [self._start() for _ in range(replicas)]
        try:
            self.ready()
        except BaseException:
            self.close()
            raise

    def ready(self, count: int = 1) -> None:
        """Wait until so many replicas are up. Raises: EngineError where they do not come up."""
        while sum(held.coming is None for held in self._replicas) < count:
            for held, reference in self._heard():
                self._read(held, reference)

    def check(self, sampling: Sampling) -> None:
        """Raises: UnsupportedSetting as a replica words it."""
        self.ready()
        held = next(held for held in self._replicas if held.coming is None)
        try:
            said = self._ray.get(held.actor.refusal.remote(sampling))
        except self._ray.exceptions.RayActorError as error:
            self._lose(held, str(error))
            return self.check(sampling)
        if said:
            raise UnsupportedSetting(said)

    def maker(self) -> str:
        """The maker that a replica names."""
        return self._maker

    def generate(self, asks: Sequence[Ask], sampling: Sampling) -> Iterator[list[Completion]]:
        """Completions as the replicas send them."""
        self._fresh = deque(sorted(asks, key=lambda ask: ask.request.text()))
        self._run, self._lost, self._attempts = self._run + 1, [], Counter()
        try:
            while self._fresh or self._lost or any(held.open for held in self._replicas):
                for held in self._replicas:
                    self._feed(held, sampling)
                for held, reference in self._heard():
                    if came := self._read(held, reference):
                        yield came
        finally:
            for held in self._replicas:
                if held.stream is not None:
                    held.actor.end.remote(self._run)
                held.stream, held.open = None, {}

    def close(self) -> None:
        """End the replicas, and the cluster where it was started here."""
        for held in self._replicas:
            with contextlib.suppress(Exception):
                self._ray.kill(held.actor)
        self._replicas = []
        if self._mine:
            self._ray.shutdown()

    # -- replicas ------------------------------------------------------------------------------------------------------

    def _start(self) -> _Held:
        actor = self._new()
        return _Held(actor, actor.start.remote())

    def _feed(self, held: _Held, sampling: Sampling) -> None:
        """Give blocks to a replica that is up. What was lost is asked first, and alone: it may be to blame."""
        while held.coming is None and (self._fresh or self._lost):
            size = max(1, min(_BLOCK, len(self._fresh) // (8 * len(self._replicas))))  # small at the end
            if self._lost and not held.open:
                block = self._lost.pop()
            elif self._lost or len(held.open) + size > _OPEN or any(self._attempts[key] for key in held.open):
                return
            else:
                block = [self._fresh.popleft() for _ in range(size)]
            if held.stream is None:
                held.stream = held.actor.answer.options(num_returns="streaming").remote(sampling, self._run)
            held.actor.feed.remote(self._run, block)
            held.open |= {ask.key: ask for ask in block}

    def _heard(self) -> list[tuple[_Held, Any]]:
        """The replicas that have something to say, and the reference to it. Raises: EngineError after long silence."""
        until = time.monotonic() + self._patience
        refs = [(held.stream if held.coming is None else held.coming, held) for held in self._replicas]
        waited = {one: held for one, held in refs if one is not None}
        while not self._ray.wait(list(waited), timeout=_POLL)[0]:
            if time.monotonic() > until and not any(held.open for held in self._replicas):
                has = {name: count for name, count in self._ray.cluster_resources().items() if name in ("CPU", "GPU")}
                raise EngineError(f"no replica came up within {self._patience:.0f} s; the cluster has {has}")
        return [(waited[one], one) for one in self._ray.wait(list(waited), num_returns=len(waited), timeout=0)[0]]

    def _read(self, held: _Held, reference: Any) -> list[Completion]:
        """The completions that a replica sent, those that are given up among them; or take in who it is."""
        if held not in self._replicas:  # it was lost a moment ago
            return []
        came: list[Completion] = []
        try:
            if held.coming is not None:
                return self._met(held, self._ray.get(reference))
            came, why = self._ray.get(next(reference))
        except StopIteration:
            why = "its answers ended"
        except self._ray.exceptions.RayError as error:
            if held.coming is not None:
                return self._met(held, error)
            why = str(error)
        self._given_up = 0 if came else self._given_up
        for completion in came:
            held.open.pop(completion.key, None)
        return came + (self._lose(held, why) if why else [])

    def _met(self, held: _Held, said: Any) -> list[Completion]:
        """Take in a replica that is up, or replace one that is not."""
        if isinstance(said, tuple):
            if said[:3] != getattr(self, "_who", said[:3]):
                raise EngineError(f"the replicas differ: {self.signature()} before, {said[:3]} on another")
            self._who = self.name, self.model, self.revision = said[:3]
            self._maker, held.coming, self._unborn = said[3], None, 0
            return []
        if isinstance(said, str) and not hasattr(self, "_who"):
            raise EngineError(said)
        self._unborn += 1  # several at once where their node is lost before Ray knows
        return self._lose(held, f"it did not start: {said}")

    def _lose(self, held: _Held, why: str) -> list[Completion]:
        """Start a replica in the place of one that is gone; what it had is asked again, in pieces, or given up."""
        with contextlib.suppress(Exception):
            self._ray.kill(held.actor)
        self._replicas[self._replicas.index(held)] = self._start()
        left, said = list(held.open.values()), " ".join(why.split())[:200]
        warnings.warn(f"a replica is lost, its {len(left)} open prompts go to others: {said}", stacklevel=2)
        self._attempts.update(held.open.keys())
        attempts = max((self._attempts[ask.key] for ask in left), default=0)
        given_up: list[Completion] = []
        if attempts == _ATTEMPTS:
            reason = f"given up after {attempts} attempts; the last replica said: {why}"
            given_up = [failed(ask, reason, passing=True) for ask in left]
            self._given_up += 1
        elif left:
            size = min(_PIECE, -(-len(left) // _PARTS))
            self._lost += [left[start : start + size] for start in range(0, len(left), size)]
        if self._given_up >= _HOPELESS or self._unborn >= _HOPELESS * len(self._replicas):
            row = max(self._given_up, self._unborn)
            raise EngineError(f"nothing works any more: {row} failures in a row, the last: {said}")
        return given_up
