"""Any server that speaks OpenAI's protocol: OpenAI, vLLM, llama.cpp, gateways."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import queue
import random
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nlgeval_lib.engines import _http, _protocol
from nlgeval_lib.engines._attempts import Clock, Faults, Gate, backoff
from nlgeval_lib.engines.base import Ask, Engine, EngineError, failed
from nlgeval_lib.engines.sampling import Sampling
from nlgeval_lib.records import Completion

DIALECTS = ("openai", "vllm")
_HAND_OVER = 0.05  # seconds between two hand-overs to the asking thread: each one stops the event loop for a moment
_APART, _RAMP = 0.004, 0.25  # seconds between the first requests of two workers, and of the first and the last


@dataclass
class Usage:
    """What an engine's calls came to. `uncounted` answers came without token counts; `cost` is in the prices' unit."""

    calls: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    cost: float = 0.0


class _Waited(Exception):
    """A request failed for good."""


class OpenAIEngine(Engine):
    """A model behind an OpenAI-compatible server, asked by up to `concurrency` requests at a time.

    base_url        the server's address up to and with `/v1`; OpenAI's own if left out
    api_key_env     the environment variable with the key; it is read when a run begins and kept nowhere
    dialect         "vllm" for servers that take top_k, repetition_penalty, choice and regex; "openai" refuses these
    timeout         seconds for one attempt, from sending to the last byte
    max_retries     further attempts after what may pass: 408, 409, 429, 5xx, timeouts, lost connections, bad answers
    max_wait        longest wait in seconds between two attempts; a server that asks for more fails the request
    give_up_after   so many requests failed for good in a row, and the rest is not asked any more
    max_bytes       longest answer that is read
    group_draws     ask all missing draws of a prompt in one call (the server's `n`): cheaper where prompts cost
    prices          for a million prompt and completion tokens, for `usage.cost`

    Raw prompts go to `/completions`, messages to `/chat/completions`. `usage` counts what was used, `served` holds the
    model names that the server answered with. Raises: ValueError for an option out of range; EngineError, when a run
    begins, where OpenAI's own server is meant and there is no key, or for a key that no header can hold.
    """

    name = "openai"

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        revision: str = "",
        name: str | None = None,
        api_key_env: str = "OPENAI_API_KEY",
        dialect: str = "openai",
        concurrency: int = 16,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        timeout: float = 120.0,
        max_retries: int = 6,
        max_wait: float = 120.0,
        give_up_after: int = 50,
        max_bytes: int = 4 << 20,
        group_draws: bool = False,
        max_tokens_field: str = "max_tokens",
        prices: tuple[float, float] | None = None,
        extra_body: dict[str, Any] | None = None,
        clock: Clock | None = None,
    ) -> None:
        if dialect not in DIALECTS:
            raise ValueError(f"dialect {dialect!r}: allowed are {', '.join(DIALECTS)}")
        for option, value, least in (
            ("concurrency", concurrency, 1),
            ("max_retries", max_retries, 0),
            ("give_up_after", give_up_after, 1),
            ("max_bytes", max_bytes, 1),
        ):
            if value < least:
                raise ValueError(f"{option}={value}: at least {least} is needed")
        for option, rate in (
            ("timeout", timeout),
            ("requests_per_minute", requests_per_minute),
            ("tokens_per_minute", tokens_per_minute),
        ):
            if rate is not None and not rate > 0:
                raise ValueError(f"{option}={rate}: a number above 0 is needed")
        if base_url is not None:
            _http.check_address(base_url)
        self.model, self.revision = name or model, revision
        self.base_url, self.api_key_env, self.dialect = base_url, api_key_env, dialect
        self.concurrency, self.timeout, self.max_retries = concurrency, timeout, max_retries
        self.max_wait, self.give_up_after, self.max_bytes = max_wait, give_up_after, max_bytes
        self.group_draws, self.max_tokens_field, self.prices = group_draws, max_tokens_field, prices
        self.extra_body = dict(extra_body or {})
        self.usage = Usage()
        self.served: set[str] = set()
        self._asked_model = model
        self._clock = clock or Clock()
        self._gate = Gate(self._clock, requests_per_minute, tokens_per_minute)
        self._rng = random.Random()
        self._run: _Run | None = None

    def check(self, sampling: Sampling) -> None:
        """Raises: UnsupportedSetting for what OpenAI's own protocol does not have, unless the dialect is "vllm"."""
        if self.dialect == "openai":
            names = ("top_k", "repetition_penalty", "choice", "regex")
            self._refuse(
                sampling,
                *names,
                why='OpenAI\'s protocol does not have it; a vLLM server does (dialect="vllm", '
                "on the command line --engine-set dialect=vllm)",
            )

    def generate(self, asks: Sequence[Ask], sampling: Sampling) -> Iterator[list[Completion]]:
        """Completions as they arrive. The calls are made in a thread with an event loop of its own."""
        key = os.environ.get(self.api_key_env, "").strip()  # a file's line break often comes with it
        if not (key.isascii() and key.isprintable()):
            raise EngineError(f"the key in {self.api_key_env} has a character that no key has; set it again")
        if not key and self.base_url is None:
            raise EngineError(f"no API key: set the environment variable {self.api_key_env}, or name a base_url")
        run = self._run = _Run(self, asks, sampling, key)
        thread = threading.Thread(target=run.main, name="nlgeval-openai", daemon=True)
        thread.start()
        try:
            while (batch := run.out.get()) is not None:
                yield batch
            if run.crash is not None:
                raise run.crash
        except KeyboardInterrupt:  # what has arrived is paid for: hand it over before the end
            run.stop()
            thread.join()
            while not run.out.empty():
                if (batch := run.out.get()) is not None:
                    yield batch
            raise
        finally:
            run.stop()
            thread.join()

    def stop(self) -> None:
        """End the run that is going on, from any thread or a signal's handler: it hands over what has arrived."""
        if self._run is not None:
            self._run.stop()


class _Run:
    """One call of `generate`: the workers, their queue, and what ends them."""

    def __init__(self, engine: OpenAIEngine, asks: Sequence[Ask], sampling: Sampling, key: str) -> None:
        self.engine, self.sampling, self._key = engine, sampling, key
        self._faults = Faults(key, engine.api_key_env, engine.timeout, engine.max_wait, engine._clock)
        self.todo = deque(_groups(asks) if engine.group_draws else ([ask] for ask in asks))
        self.out: queue.SimpleQueue[list[Completion] | None] = queue.SimpleQueue()
        self._finished: list[Completion] = []
        self.crash: BaseException | None = None
        self.hopeless = ""
        self.in_a_row = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopped = False

    def main(self) -> None:
        """The thread: everything until the last answer, or until `stop`."""
        try:
            asyncio.run(self._all())
        except asyncio.CancelledError:
            pass
        except BaseException as error:
            self.crash = error
        finally:
            self._hand_over()
            self.out.put(None)

    def _hand_over(self) -> None:
        """Give what is finished to the thread that stores it."""
        if self._finished:
            self.out.put(self._finished)
            self._finished = []

    def _finish(self, done: list[Completion]) -> None:
        """Take finished completions, to be handed over in a moment."""
        if not self._finished and self._loop is not None:
            self._loop.call_later(_HAND_OVER, self._hand_over)
        self._finished += done

    def stop(self) -> None:
        """End the workers, from any thread; nothing happens if they have ended."""
        self._stopped = True
        if self._loop is not None and self._task is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._task.cancel)

    async def _all(self) -> None:
        engine = self.engine
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        if self._stopped:
            return
        workers = min(engine.concurrency, len(self.todo))
        client = _http.client(
            engine.base_url, self._key, connections=workers, timeout=engine.timeout, max_bytes=engine.max_bytes
        )
        async with client, asyncio.TaskGroup() as group:
            for number in range(workers):
                group.create_task(self._work(client, after=min(number * _APART, _RAMP)))

    async def _work(self, client: Any, after: float) -> None:
        """Take groups of draws until there are none. Workers that start together stay together, and queue up."""
        await asyncio.sleep(after)
        while self.todo:
            draws = self.todo.popleft()
            if self.hopeless:
                self._finish([failed(ask, f"not asked: {self.hopeless}") for ask in draws])
                continue
            try:
                done = await self._ask(client, draws)
            except _Waited as error:
                self.in_a_row += 1
                if self.in_a_row >= self.engine.give_up_after and not self.hopeless:
                    self.hopeless = f"{self.in_a_row} requests failed one after another, the last with: {error}"
                done = [failed(ask, str(error)) for ask in draws]
            else:
                self.in_a_row = 0
            self._finish(done)

    async def _ask(self, client: Any, draws: list[Ask]) -> list[Completion]:
        """The completions of the draws of one request, after as many attempts as it takes. Raises: _Waited."""
        import httpx2

        engine, request = self.engine, draws[0].request
        chat = request.messages is not None
        sent = {
            **_protocol.body(
                request,
                self.sampling,
                model=engine._asked_model,
                count=len(draws),
                seed=draws[0].seed,
                dialect=engine.dialect,
                limit_field=engine.max_tokens_field,
            ),
            **engine.extra_body,
        }
        path = "/chat/completions" if chat else "/completions"
        for attempt in range(engine.max_retries + 1):
            await engine._gate.wait()
            if self.hopeless:
                raise _Waited(f"not asked again: {self.hopeless}")
            engine.usage.calls += 1
            engine.usage.retries += attempt > 0
            try:
                async with asyncio.timeout(engine.timeout):
                    response = await client.post(path, cast_to=httpx2.Response, body=sent)
                self._faults.refuse_key(response.content)
                answer = _protocol.read(response.content, chat=chat, count=len(draws), sampling=self.sampling)
            except Exception as error:
                fault = self._faults.fault(error)
                if fault.hopeless:
                    self.hopeless = self.hopeless or fault.reason
                if fault.wait is None:
                    raise _Waited(fault.reason) from None
                if fault.wait:
                    engine._gate.hold(fault.wait)
                if attempt == engine.max_retries:
                    raise _Waited(f"{fault.reason} ({attempt + 1} attempts)") from None
                await engine._clock.sleep(max(fault.wait, backoff(attempt, 0.5, engine.max_wait / 4, engine._rng)))
            else:
                return self._completions(draws, answer)
        raise AssertionError("unreachable")

    def _completions(self, draws: list[Ask], answer: _protocol.Answer) -> list[Completion]:
        """The completions, and their tokens on the account. A call's tokens are shared out by length of text."""
        engine, usage = self.engine, self.engine.usage
        prompt, written = answer.prompt_tokens or 0, answer.completion_tokens or 0
        usage.prompt_tokens += prompt
        usage.completion_tokens += written
        usage.uncounted += answer.prompt_tokens is None or answer.completion_tokens is None
        if engine.prices is not None:
            usage.cost += (prompt * engine.prices[0] + written * engine.prices[1]) / 1e6
        engine._gate.used(prompt + written)
        if answer.model:
            engine.served.add(answer.model)
        shares = _shares(written, [len(choice.text) for choice in answer.choices])
        return [
            Completion(
                key=ask.key,
                text=choice.text,
                finish_reason=choice.finish_reason,
                prompt_tokens=prompt if i == 0 else 0,
                completion_tokens=shares[i],
                logprobs=choice.logprobs,
                model=engine.model,
                revision=engine.revision,
            )
            for i, (ask, choice) in enumerate(zip(draws, answer.choices, strict=True))
        ]


def _groups(asks: Sequence[Ask]) -> Iterator[list[Ask]]:
    """Runs of draws of the same request."""
    group: list[Ask] = []
    for ask in asks:
        if group and group[-1].request is not ask.request:
            yield group
            group = []
        group.append(ask)
    if group:
        yield group


def _shares(total: int, weights: list[int]) -> list[int]:
    """`total` shared out by weights, as integers that add up to it."""
    bounds, so_far, whole = [0], 0, sum(weights) or len(weights)
    for weight in weights:
        so_far += weight if sum(weights) else 1
        bounds.append(round(total * so_far / whole))
    return [b - a for a, b in itertools.pairwise(bounds)]
