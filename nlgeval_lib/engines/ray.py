"""Replicas of an engine on many GPUs and machines: Ray places them, carries blocks of prompts, and tells what is lost.

This process alone reads and writes the store. A replica is an actor that holds an engine of ours, loaded once for all
stages, and answers blocks of neighbouring prompts, several at a time, so that it never waits for the next one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from nlgeval_lib.engines.base import Ask, Engine, EngineError, Sampling, UnsupportedSetting, failed
from nlgeval_lib.records import Completion

_BLOCK, _OPEN = 128, 4  # asks in a block, at most; blocks that a replica has open: as much as vLLM keeps at hand
_ATTEMPTS, _PARTS = 3, 8  # of a block; what is lost is asked again in parts, so that one bad prompt takes few along
_HOPELESS = 3  # blocks given up with no completion in between, or starts of each replica with none up: nothing works
_HAND_OVER = 0.2  # seconds for which a replica gathers completions before it sends them
_POLL = 1.0


class Replica:
    """What an actor holds: one engine, and a thread that asks it. Faults come back as texts, not as exceptions."""

    def __init__(self, make: Callable[[], Engine]) -> None:
        self._make = make
        self._inbox: queue.Queue[tuple[list[Ask], Sampling, queue.SimpleQueue[Any]]] = queue.Queue()
        self._drops = 0

    def start(self) -> tuple[str, str, str, str] | str:
        """Load the engine: its name, model, revision and maker; or why it cannot be."""
        try:
            self._engine = self._make()
        except Exception as error:
            return str(error) or type(error).__name__
        threading.Thread(target=self._work, daemon=True).start()
        return self._engine.name, self._engine.model, self._engine.revision, self._engine.maker()

    def refusal(self, sampling: Sampling) -> str:
        """Why the backend cannot honour these settings; empty where it can."""
        try:
            self._engine.check(sampling)
        except UnsupportedSetting as error:
            return str(error)
        return ""

    def answer(self, asks: list[Ask], sampling: Sampling) -> Iterator[tuple[list[Completion], str | None]]:
        """A block's completions as they are finished, and None; or why there will be no more ("": it said nothing)."""
        box: queue.SimpleQueue[Completion | str] = queue.SimpleQueue()
        self._inbox.put((asks, sampling, box))
        left, end = len(asks), None
        while left and end is None:
            said: list[Any] = [box.get()]
            until = time.monotonic() + _HAND_OVER
            with contextlib.suppress(queue.Empty):
                while len(said) < left and not isinstance(said[-1], str):
                    said.append(box.get(timeout=max(0.0, until - time.monotonic())))
            end = said.pop() if isinstance(said[-1], str) else None
            left -= len(said)
            yield said, end

    def drop(self) -> None:
        """Forget what is open."""
        self._drops += 1
        with contextlib.suppress(queue.Empty):
            while True:
                self._inbox.get_nowait()[2].put("")

    def _work(self) -> None:
        """One call of the engine after another; one that `streams` takes in the blocks that come meanwhile."""
        while True:
            asks, sampling, box = self._inbox.get()
            boxes, end, drops = dict.fromkeys((ask.key for ask in asks), box), "", self._drops
            try:
                given: Any = self._stream(deque(asks), sampling, boxes) if self._engine.streams else asks
                batches: Any = self._engine.generate(given, sampling)
                with contextlib.closing(batches):
                    for batch in batches:
                        for completion in batch:
                            boxes.pop(completion.key, box).put(completion)
                        if drops != self._drops:
                            break
            except Exception as error:
                end = f"{type(error).__name__}: {error}"
            for one in set(boxes.values()):
                one.put(end)

    def _stream(self, waiting: deque[Ask], sampling: Sampling, boxes: dict[str, Any]) -> Iterator[Ask | None]:
        """Asks while there are any, None where there are none at the moment."""
        while True:
            while self._inbox.queue and self._inbox.queue[0][1] == sampling:
                asks, _, box = self._inbox.get()
                boxes.update(dict.fromkeys((ask.key for ask in asks), box))
                waiting.extend(asks)
            yield waiting.popleft() if waiting else None


@dataclass(eq=False)
class _Block:
    """Asks that travel together, by key, those that are answered taken out; and how often they were lost."""

    asks: dict[str, Ask]
    attempts: int = 0


@dataclass(eq=False)
class _Held:
    """A replica as this process sees it: its actor, the reference that tells when it is up, the blocks it has open."""

    actor: Any
    coming: Any
    open: dict[Any, _Block] = field(default_factory=dict)


class RayEngine(Engine):
    """So many replicas of one engine, asked as one; keys, texts and records are those of that engine in one process.

    make            a function without arguments that gives the engine, called in each replica; it must be picklable
    address         of a Ray cluster; without one, a cluster of this machine is started that only loopback reaches
    gpus            that a replica takes; none where the cluster has none
    patience        seconds to wait for a replica to be placed and loaded where none is at work

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
        attempts = 1 if address else 3  # a busy machine starts a cluster more slowly than Ray waits for it
        while self._mine and not ray.is_initialized():
            try:
                ray.init(**how, log_to_driver=False, logging_level=logging.ERROR)
            except Exception as error:  # of many kinds: no such address, no token, another version
                attempts -= 1
                if not attempts:
                    raise EngineError(f"no Ray cluster at {address or 'this machine'}: {error}") from error
                ray.shutdown()
        self._make, self._patience = make, patience
        self._given_up = self._unborn = 0  # in a row
        needs = {"num_gpus": gpus if ray.cluster_resources().get("GPU") else 0, "num_cpus": 1}
        self._actor: Any = ray.remote(Replica).options(**needs, max_concurrency=_OPEN + 2)
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
        said: str | None = None
        while said is None:
            self.ready()
            held = next(held for held in self._replicas if held.coming is None)
            try:
                said = self._ray.get(held.actor.refusal.remote(sampling))
            except self._ray.exceptions.RayActorError as error:
                self._lose(held, str(error))
        if said:
            raise UnsupportedSetting(said)

    def maker(self) -> str:
        """The maker that a replica names."""
        return self._maker

    def generate(self, asks: Sequence[Ask], sampling: Sampling) -> Iterator[list[Completion]]:
        """Completions as the replicas send them."""
        self._fresh = deque(sorted(asks, key=lambda ask: ask.request.text()))
        self._lost: list[_Block] = []
        try:
            while self._fresh or self._lost or any(held.open for held in self._replicas):
                self._feed(sampling)
                for held, reference in self._heard():
                    if came := self._read(held, reference):
                        yield came
        finally:
            for held in self._replicas:
                if held.open:
                    held.actor.drop.remote()
                    held.open.clear()

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
        actor: Any = self._actor.remote(self._make)
        return _Held(actor, actor.start.remote())

    def _feed(self, sampling: Sampling) -> None:
        """Give blocks to the replicas that are up. What was lost is asked first, and alone: it may be to blame."""
        for held in self._replicas:
            while held.coming is None and (self._fresh or self._lost):
                alone = self._lost or any(block.attempts for block in held.open.values())
                if len(held.open) >= (1 if alone else _OPEN):
                    break
                size = max(1, min(_BLOCK, len(self._fresh) // (2 * _OPEN * len(self._replicas))))  # small at the end
                if self._lost:
                    block = self._lost.pop()
                else:
                    block = _Block({ask.key: ask for ask in (self._fresh.popleft() for _ in range(size))})
                stream = held.actor.answer.options(num_returns="streaming")
                held.open[stream.remote(list(block.asks.values()), sampling)] = block

    def _heard(self) -> list[tuple[_Held, Any]]:
        """The replicas that have something to say, and the reference to it. Raises: EngineError after long silence."""
        until = time.monotonic() + self._patience
        waited = {one: held for held in self._replicas for one in (held.open if held.coming is None else [held.coming])}
        while not self._ray.wait(list(waited), timeout=_POLL)[0]:
            if time.monotonic() > until and not any(held.open for held in self._replicas):
                has = {name: count for name, count in self._ray.cluster_resources().items() if name in ("CPU", "GPU")}
                raise EngineError(f"no replica came up within {self._patience:.0f} s; the cluster has {has}")
        return [(waited[one], one) for one in self._ray.wait(list(waited), num_returns=len(waited), timeout=0)[0]]

    def _read(self, held: _Held, reference: Any) -> list[Completion]:
        """The completions that a replica sent, those of blocks that are given up among them; or take in who it is."""
        if held not in self._replicas:  # it was lost a moment ago
            return []
        why: str | None
        came: list[Completion] = []
        try:
            if held.coming is not None:
                return self._met(held, self._ray.get(reference))
            came, why = self._ray.get(next(reference))
        except StopIteration:  # the end of a block
            held.open.pop(reference, None)
            return []
        except self._ray.exceptions.RayError as error:
            if held.coming is not None:
                return self._met(held, error)
            why = str(error)
        self._given_up = 0 if came else self._given_up
        block = held.open[reference]
        for completion in came:
            block.asks.pop(completion.key, None)
        if not block.asks or why == "":
            del held.open[reference]
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
        self._hope(self._unborn, _HOPELESS * len(self._replicas), said)
        return self._lose(held, f"it did not start: {said}")

    def _lose(self, held: _Held, why: str) -> list[Completion]:
        """Start a replica in the place of one that is gone; its blocks are asked again, in parts, or given up."""
        with contextlib.suppress(Exception):
            self._ray.kill(held.actor)
        self._replicas[self._replicas.index(held)] = self._start()
        count = sum(len(block.asks) for block in held.open.values())
        said = " ".join(why.split())[:200]
        warnings.warn(f"a replica is lost, its {count} open prompts go to others: {said}", stacklevel=2)
        given_up: list[Completion] = []
        for block in held.open.values():
            left, attempts = list(block.asks.values()), block.attempts + 1
            if attempts < _ATTEMPTS:
                size = -(-len(left) // _PARTS)
                parts = (left[start : start + size] for start in range(0, len(left), size))
                self._lost += [_Block({ask.key: ask for ask in part}, attempts) for part in parts]
            else:
                reason = f"given up after {_ATTEMPTS} attempts; the last replica said: {why}"
                given_up += [failed(ask, reason, passing=True) for ask in left]
                self._given_up += 1
                self._hope(self._given_up, _HOPELESS, why)
        held.open.clear()
        return given_up

    @staticmethod
    def _hope(failures: int, limit: int, why: object) -> None:
        if failures >= limit:
            raise EngineError(f"nothing works any more: {failures} failures in a row, the last: {why}")
