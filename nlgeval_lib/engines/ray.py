"""Replicas of an engine on many GPUs and machines: Ray places them, carries prompts,
and tells what is lost. A replica is an actor with an engine, loaded once, that is
fed blocks of neighbouring prompts.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import os
import queue
import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from nlgeval_lib.engines.base import (
    Ask,
    Engine,
    EngineError,
    Sampling,
    UnsupportedSetting,
    failed,
)
from nlgeval_lib.records import Completion

_BLOCK = 128  # asks in a block, at most
_OPEN = 512  # asks that a replica has open: as many as vLLM keeps waiting
_ATTEMPTS = 3  # of a block
# A lost block is asked again in this many parts, each of at most so many asks: a prompt
# that ends a replica then takes few others along.
_PARTS = 8
_PART_SIZE = 16
# nothing works any more after so many blocks that were given up with no completion in
# between, or so many failed starts for each replica
_HOPELESS = 3
_HAND_OVER = 0.2  # seconds for which a replica gathers completions before it sends them
_POLL = 1.0


class Replica:
    """What an actor holds: one engine. Faults come back as texts, not as exceptions."""

    def __init__(self, make: Callable[[], Engine]) -> None:
        self._make = make
        self._turn = threading.Lock()
        self._ended_run = 0
        self._inboxes: dict[int, queue.Queue[list[Ask]]] = {}

    def start(self) -> tuple[str, str, str, str] | str:
        """Load the engine; its name, model, revision and maker, or why it cannot be."""
        try:
            self._engine = self._make()
        except Exception as error:
            return str(error) or type(error).__name__
        engine = self._engine
        return engine.name, engine.model, engine.revision, engine.maker()

    def refusal(self, sampling: Sampling) -> str:
        """Why the backend cannot honour these settings; empty where it can."""
        try:
            self._engine.check(sampling)
        except UnsupportedSetting as error:
            return str(error)
        return ""

    def feed(self, run: int, asks: list[Ask]) -> None:
        """Take in what else a run asks; nothing ends its answers."""
        self._inboxes.setdefault(run, queue.Queue()).put(asks)

    def end(self, run: int) -> None:
        """Forget what is open of a run, and of those before it."""
        self._ended_run = run
        self.feed(run, [])

    def answer(
        self, sampling: Sampling, run: int
    ) -> Iterator[tuple[list[Completion], str]]:
        """Completions of what a run feeds, as they are finished; each with a text that
        is empty, or says why no more will come.
        """
        # one run at a time: the engine is shared
        with self._turn:
            inbox = self._inboxes.setdefault(run, queue.Queue())
            finished: list[Completion] = []
            due = 0.0  # when the next ones are sent
            try:
                while self._ended_run < run and (asks := inbox.get()):
                    batches = self._batches(asks, sampling, inbox)
                    with contextlib.closing(batches):
                        for batch in batches:
                            if self._ended_run >= run:
                                return
                            finished += batch
                            if time.monotonic() > due:
                                yield finished, ""
                                finished = []
                                due = time.monotonic() + _HAND_OVER
                    yield finished, ""
                    finished = []
            except Exception as error:
                yield finished, f"{type(error).__name__}: {error}"

    def _batches(
        self, asks: list[Ask], sampling: Sampling, inbox: queue.Queue[list[Ask]]
    ) -> Generator[list[Completion], None, None]:
        """The engine's batches; an engine that streams is fed from the inbox too."""
        unanswered = {ask.key: ask for ask in asks}
        source: Any = asks
        if self._engine.streams:
            source = _stream(deque(asks), inbox, unanswered)
        batches: Any = self._engine.generate(source, sampling)
        with contextlib.closing(batches):
            for batch in batches:
                for completion in batch:
                    unanswered.pop(completion.key, None)
                yield batch
        reason = "the engine gave no answer"
        yield [failed(ask, reason, passing=True) for ask in unanswered.values()]


def _stream(
    waiting: deque[Ask], inbox: queue.Queue[list[Ask]], unanswered: dict[str, Ask]
) -> Iterator[Ask | None]:
    """Asks that wait and those that arrive later; None while there is none."""
    while True:
        while not inbox.empty():
            asks = inbox.get()
            waiting.extend(asks)
            unanswered.update((ask.key, ask) for ask in asks)
        yield waiting.popleft() if waiting else None


@dataclass(eq=False)
class _Worker:
    """A replica as this process sees it."""

    actor: Any  # Ray's handle of it
    starting: Any  # the reference to what `start` returns; None once it is up
    stream: Any = None  # that to its answers; None where this run has not fed it yet
    open: dict[str, Ask] = field(default_factory=dict)  # to be answered, by key


class RayEngine(Engine):
    """So many replicas of one engine, asked as one.

    Keys, texts and records are those of that engine in one process. A block of prompts
    that is lost with its replica is asked of another, three times in all, then failed
    by name. A lost replica is started again where there is room.

    make: gives the engine in each replica; picklable.
    address: of a Ray cluster; "": one of this machine, only for it, is started.
    gpus: that a replica takes; none where the cluster has none.
    patience: seconds to wait for a replica where none is at work.
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
        # read when Ray is imported: else its servers listen to the whole network
        if not address:
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        try:
            import ray
        except ImportError as error:
            raise EngineError(
                f"Ray cannot be imported ({error}): install the extra `ray`"
            ) from error
        self._ray = ray
        self._owns_cluster = not ray.is_initialized()
        _connect(ray, address, replicas)
        self._patience = patience
        # both are counted in a row
        self._given_up = 0
        self._failed_starts = 0
        self._run = 0
        self._lost: list[list[Ask]] = []
        self._attempts: Counter[str] = Counter()
        if not ray.cluster_resources().get("GPU"):
            gpus = 0
        actor: Any = ray.remote(Replica)
        actor = actor.options(num_gpus=gpus, num_cpus=1, max_concurrency=6)
        self._new_actor: Any = functools.partial(actor.remote, make)
        self._replicas = [self._start() for _ in range(replicas)]
        try:
            self.ready()
        except BaseException:
            self.close()
            raise

    def ready(self, count: int = 1) -> None:
        """Wait until so many replicas are up; EngineError where they do not come up."""
        while sum(worker.starting is None for worker in self._replicas) < count:
            for worker, reference in self._reports():
                self._read(worker, reference)

    def check(self, sampling: Sampling) -> None:
        """Raises: UnsupportedSetting as a replica words it."""
        self.ready()
        worker = next(worker for worker in self._replicas if worker.starting is None)
        try:
            refusal = self._ray.get(worker.actor.refusal.remote(sampling))
        except self._ray.exceptions.RayActorError as error:
            self._lose(worker, str(error))
            return self.check(sampling)
        if refusal:
            raise UnsupportedSetting(refusal)

    def maker(self) -> str:
        """The maker that a replica names, such as `vllm 0.32.0`."""
        return self._maker

    def generate(
        self, asks: Sequence[Ask], sampling: Sampling
    ) -> Iterator[list[Completion]]:
        """Completions as the replicas send them."""
        # neighbours have a beginning in common, which an engine may compute once
        in_order = sorted(asks, key=lambda ask: ask.request.text())
        self._fresh = deque(in_order)
        self._run += 1
        self._lost = []
        self._attempts = Counter()
        try:
            while self._fresh or self._lost or self._any_open():
                for worker in self._replicas:
                    self._feed(worker, sampling)
                for worker, reference in self._reports():
                    completions = self._read(worker, reference)
                    if completions:
                        yield completions
        finally:
            for worker in self._replicas:
                if worker.stream is not None:
                    worker.actor.end.remote(self._run)
                worker.stream = None
                worker.open = {}

    def close(self) -> None:
        """End the replicas, and the cluster where it was started here."""
        for worker in self._replicas:
            with contextlib.suppress(Exception):
                self._ray.kill(worker.actor)
        self._replicas = []
        if self._owns_cluster:
            self._ray.shutdown()

    # -- replicas

    def _start(self) -> _Worker:
        actor = self._new_actor()
        return _Worker(actor, actor.start.remote())

    def _any_open(self) -> bool:
        return any(worker.open for worker in self._replicas)

    def _feed(self, worker: _Worker, sampling: Sampling) -> None:
        while worker.starting is None:
            block = self._next_block(worker)
            if not block:
                return
            if worker.stream is None:
                answer = worker.actor.answer.options(num_returns="streaming")
                worker.stream = answer.remote(sampling, self._run)
            worker.actor.feed.remote(self._run, block)
            worker.open |= {ask.key: ask for ask in block}

    def _next_block(self, worker: _Worker) -> list[Ask]:
        """The asks that a replica gets next; none where it has to answer first."""
        # what was lost is asked first, and alone: it may be to blame
        if self._lost:
            if worker.open:
                return []
            return self._lost.pop()
        if any(self._attempts[key] for key in worker.open):
            return []
        # blocks become smaller towards the end, so that all replicas end together
        share = len(self._fresh) // (8 * len(self._replicas))
        size = max(1, min(_BLOCK, share))
        if not self._fresh or len(worker.open) + size > _OPEN:
            return []
        return [self._fresh.popleft() for _ in range(size)]

    def _reports(self) -> list[tuple[_Worker, Any]]:
        """The replicas that have something to report, and the reference to it."""
        until = time.monotonic() + self._patience
        workers = {}
        for worker in self._replicas:
            reference = worker.stream if worker.starting is None else worker.starting
            if reference is not None:
                workers[reference] = worker
        references = list(workers)
        while not self._ray.wait(references, timeout=_POLL)[0]:
            if time.monotonic() > until and not self._any_open():
                resources = self._ray.cluster_resources()
                counts = {name: resources.get(name, 0) for name in ("CPU", "GPU")}
                raise EngineError(
                    f"no replica came up within {self._patience:.0f} s; the cluster "
                    f"has {counts}"
                )
        arrived, _ = self._ray.wait(references, num_returns=len(references), timeout=0)
        return [(workers[reference], reference) for reference in arrived]

    def _read(self, worker: _Worker, reference: Any) -> list[Completion]:
        """The completions that a replica sent, with those that are given up."""
        if worker not in self._replicas:  # it was lost a moment ago
            return []
        if worker.starting is not None:
            try:
                identity = self._ray.get(reference)
            except self._ray.exceptions.RayError as error:
                identity = error
            return self._take_in(worker, identity)
        completions: list[Completion] = []
        try:
            completions, reason = self._ray.get(next(reference))
        except StopIteration:
            reason = "its answers ended"
        except self._ray.exceptions.RayError as error:
            reason = str(error)
        if completions:
            self._given_up = 0
        for completion in completions:
            worker.open.pop(completion.key, None)
        if reason:
            return completions + self._lose(worker, reason)
        return completions

    def _take_in(self, worker: _Worker, identity: Any) -> list[Completion]:
        """Take in a replica that is up, or replace one that is not."""
        if isinstance(identity, tuple):
            *labels, maker = identity
            if labels != getattr(self, "_labels", labels):
                raise EngineError(
                    f"the replicas differ: {self.signature()} before, "
                    f"{tuple(labels)} on another"
                )
            self._labels = labels
            self.name, self.model, self.revision = labels
            self._maker = maker
            worker.starting = None
            self._failed_starts = 0
            return []
        if isinstance(identity, str) and not hasattr(self, "_labels"):
            raise EngineError(identity)
        # several fail at once where their machine is lost before Ray knows
        self._failed_starts += 1
        return self._lose(worker, f"it did not start: {identity}")

    def _lose(self, worker: _Worker, reason: str) -> list[Completion]:
        """Replace a lost replica; what it had open is asked again, or given up."""
        with contextlib.suppress(Exception):
            self._ray.kill(worker.actor)
        self._replicas[self._replicas.index(worker)] = self._start()
        unanswered = list(worker.open.values())
        summary = " ".join(reason.split())[:200]
        warnings.warn(
            f"a replica is lost, its {len(unanswered)} open prompts go to others: "
            f"{summary}",
            stacklevel=2,
        )
        self._attempts.update(worker.open.keys())
        attempts = max((self._attempts[key] for key in worker.open), default=0)
        given_up: list[Completion] = []
        if attempts == _ATTEMPTS:
            summed_up = f"given up after {attempts} attempts"
            explanation = f"{summed_up}; the last replica said: {reason}"
            given_up = [failed(ask, explanation, passing=True) for ask in unanswered]
            self._given_up += 1
        elif unanswered:
            size = min(_PART_SIZE, math.ceil(len(unanswered) / _PARTS))
            for start in range(0, len(unanswered), size):
                self._lost.append(unanswered[start : start + size])
        starts_allowed = _HOPELESS * len(self._replicas)
        if self._given_up >= _HOPELESS or self._failed_starts >= starts_allowed:
            failures = max(self._given_up, self._failed_starts)
            raise EngineError(
                f"nothing works any more: {failures} failures in a row, the last: "
                f"{summary}"
            )
        return given_up


def _connect(ray: Any, address: str, replicas: int) -> None:
    """Connect to the cluster at an address, or start one of this machine."""
    settings: dict[str, Any] = {"address": address}
    attempts = 1
    if not address:
        settings = {
            "address": "local",
            "num_cpus": max(os.cpu_count() or 1, replicas),
            "include_dashboard": False,
        }
        # a busy machine starts a cluster more slowly than Ray waits for it
        attempts = 3
    while not ray.is_initialized():
        try:
            ray.init(**settings, log_to_driver=False, logging_level=logging.ERROR)
        # of many kinds: no such address, no token, another version
        except Exception as error:
            attempts -= 1
            if not attempts:
                place = address or "this machine"
                raise EngineError(f"no Ray cluster at {place}: {error}") from error
            ray.shutdown()
