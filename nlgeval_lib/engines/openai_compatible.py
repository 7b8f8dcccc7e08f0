"""Any server that speaks OpenAI's protocol: OpenAI, vLLM, llama.cpp, gateways."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import operator
import os
import time
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent import futures
from typing import Any

from nlgeval_lib.engines import _protocol, _server
from nlgeval_lib.engines._protocol import MOST_WAIT, SECRET, AttemptFailed
from nlgeval_lib.engines.base import Ask, Engine, Sampling, failed
from nlgeval_lib.records import Completion

DIALECTS = ("auto", "openai", "vllm")
_BEYOND = ("top_k", "repetition_penalty", "choice", "regex")  # settings that OpenAI's own protocol does not have
_HAND_OVER = 0.05  # seconds between two hand-overs to the asking thread: each one stops the event loop for a moment
_BEAT = 5.0  # seconds after which the asking thread hears of it that nothing has come
_APART, _RAMP = 0.004, 0.25  # seconds between the first requests of two workers, and of the first and the last


class OpenAIEngine(Engine):
    """A model behind an OpenAI-compatible server, asked by as many requests at a time as it takes.

    base_url        the server's address up to and with `/v1`; if left out OPENAI_BASE_URL (which is told), or OpenAI's
    server          what the server is called in keys, in place of its host and port, where these change
    api_key_env     the environment variable with the key; it is read when a run begins and kept nowhere
    concurrency     requests at a time, at most
    dialect         "vllm" for servers that take top_k, repetition_penalty, choice and regex; "openai" refuses these;
                    "auto" asks the server who it is, and where it does not tell, by one request
    timeout         seconds for one attempt, from sending to the last byte
    max_retries     further attempts after what may pass: 408, 409, 429, 5xx, timeouts, lost connections, bad answers
    give_up_after   so many requests failed for good in a row, and the rest is not asked any more; nor is it where no
                    request at all was answered for two timeouts
    group_draws     ask all missing draws of a prompt in one call (the server's `n`): cheaper where prompts cost
    prices          for a million prompt and completion tokens, for `cost`
    plain_http      send the key over http to a host that is not this one
    extra_body      more of each call's JSON, such as {"chat_template_kwargs": {"enable_thinking": false}}

    Raw prompts go to `/completions`, messages to `/chat/completions`. `about` has what the server tells of itself,
    `served` the model names that it answered with, `cost` what was used, in the prices' unit. Server and `extra_body`
    are a part of `revision`, and so of the keys: two servers never share completions. OpenAI's own, asked plainly, is
    named by none.
    Raises: ValueError for an option out of range; EngineError, when a run begins or `revision` is first read, where
    nobody answers, OpenAI's own server is meant and there is no key, or for a key that no header can hold.
    """

    name = "openai"
    _sleep = staticmethod(asyncio.sleep)  # tests put their own clock in place of these two
    _now = staticmethod(time.time)

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        server: str = "",
        revision: str = "",
        name: str | None = None,
        api_key_env: str = "OPENAI_API_KEY",
        dialect: str = "auto",
        concurrency: int = 256,
        timeout: float = 120.0,
        max_retries: int = 6,
        give_up_after: int = 50,
        group_draws: bool = False,
        max_tokens_field: str = "max_tokens",
        prices: tuple[float, float] | None = None,
        extra_body: dict[str, Any] | None = None,
        plain_http: bool = False,
    ) -> None:
        if dialect not in DIALECTS:
            raise ValueError(f"dialect {dialect!r}: allowed are {', '.join(DIALECTS)}")
        given = {"concurrency": concurrency, "max_retries": max_retries, "give_up_after": give_up_after}
        for option, value in {**given, "timeout": timeout}.items():
            if value < (least := {"max_retries": 0, "timeout": 0.001}.get(option, 1)):
                raise ValueError(f"{option}={value}: at least {least} is needed")
        if base_url is None and (base_url := os.environ.get("OPENAI_BASE_URL") or None):
            warnings.warn(f"OPENAI_BASE_URL is set: {_server.place(base_url) or 'OpenAI'} is asked", stacklevel=2)
        if base_url is not None:
            _server.check_address(base_url)
        self.model, self._named, self._called = name or model, revision, server
        self.base_url, self.api_key_env, self.dialect = base_url, api_key_env, dialect
        self.concurrency, self.timeout, self.max_retries = concurrency, timeout, max_retries
        self.give_up_after, self.group_draws = give_up_after, group_draws
        self.max_tokens_field, self.extra_body = max_tokens_field, dict(extra_body or {})
        self._asked_model, self._plain_http = model, plain_http
        self.prices, self.cost = prices or (0.0, 0.0), 0.0
        self.about: dict[str, str] = {}
        self.served: set[str] = set()
        self._probed = self._hung = False  # hung: the last run was given up for want of any answer
        self._run: _Run | None = None

    @functools.cached_property
    def revision(self) -> str:  # type: ignore[override]
        """The given one with `at:HOST+owner:...+root:...+extra:{...}`, as far as the server tells and as they apply."""
        other = bool(_server.place(self.base_url))
        if other:
            self._meet()
        return _server.revision(self._named, self.about if other else {}, self.extra_body)

    def _meet(self) -> None:
        """Ask the server who it is. Raises: EngineError where nobody answers."""
        found = _server.about(self.base_url, self._asked_model, self._key(), self._hung)
        self.about = found | ({"server": self._called} if self._called else {})

    def _key(self) -> str:
        return _server.key(self.api_key_env, self.base_url, self._plain_http)

    @property
    def beyond(self) -> bool:
        """Whether vLLM's settings are sent: by the dialect, by what the server told, or by the probe of `check`."""
        found = self._probed or self.about.get("owner") == "vllm"
        return self.dialect == "vllm" or (self.dialect == "auto" and found)

    def check(self, sampling: Sampling) -> None:
        """Raises: UnsupportedSetting for what this server does not take; EngineError where nobody answers."""
        plain = Sampling()
        wanted = [name for name in _BEYOND if getattr(sampling, name) != getattr(plain, name)]
        if wanted and self.dialect == "auto" and _server.place(self.base_url):
            if not self.about:
                self._meet()
            if "version" in self.about and not self.beyond:
                self._probed = _server.takes(self.base_url, self._asked_model, self._key())
        if wanted and not self.beyond:
            ways = [f"-s {name}={getattr(plain, name)}" for name in wanted if getattr(plain, name) is not None]
            why = "OpenAI's protocol does not have it, a server of vLLM does; {} asks without"
            self._refuse(sampling, *wanted, why=why.format(" ".join(ways) or "-s structured=no"))

    def body(self, draws: Sequence[Ask], sampling: Sampling) -> dict[str, Any]:
        """The JSON of one call for draws of one request.

        Settings at their neutral value are sent too: a server's own defaults may differ.
        """
        request, likely = draws[0].request, sampling.logprobs
        asked: dict[str, Any] = {
            "model": self._asked_model,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            self.max_tokens_field: sampling.max_tokens,
            "n": len(draws),
            "seed": draws[0].seed,
            "stop": list(sampling.stop) or None,
        }
        if request.messages is None:
            asked |= {"prompt": request.prompt, "logprobs": likely}
        else:
            messages = [dict(message) for message in request.messages]
            asked |= {"messages": messages, "logprobs": likely is not None or None, "top_logprobs": likely}
        if self.beyond:
            asked |= {"top_k": sampling.top_k, "repetition_penalty": sampling.repetition_penalty}
            asked["structured_outputs"] = sampling.form or None
        elif sampling.json_schema is not None:
            schema = {"name": "answer", "schema": sampling.schema, "strict": True}
            asked["response_format"] = {"type": "json_schema", "json_schema": schema}
        return {name: value for name, value in asked.items() if value is not None} | self.extra_body

    def generate(self, asks: Sequence[Ask], sampling: Sampling) -> Iterator[list[Completion]]:
        """Completions as they arrive. The calls are made in a thread with an event loop of its own."""
        key = self._key()
        if not self.about:  # once; and again after a run that was given up
            self._meet()
        run = self._run = _Run(self, asks, sampling, key)
        crash: BaseException | None = None
        with futures.ThreadPoolExecutor(1, "nlgeval-openai") as threads:
            over = threads.submit(asyncio.run, run.main())
            try:
                last = time.monotonic()
                while futures.wait([over], _HAND_OVER).not_done:
                    if (batch := run.taken()) or time.monotonic() - last >= _BEAT:  # an empty one: progress is told
                        yield batch
                        last = time.monotonic()
            except KeyboardInterrupt as error:  # what has arrived is paid for: hand it over before the end
                crash = error
            finally:
                run.stop()
        if batch := run.taken():
            yield batch
        if crash := crash or over.exception():
            raise crash
        if run.hopeless:
            self.about, self._hung = {}, run.silent > 0

    def maker(self) -> str:
        """What the server tells of itself, such as `vllm 0.32.0`."""
        about = self.about
        return " ".join(about[name] for name in ("owner", "version") if name in about) or about.get("server", "")

    def stop(self) -> None:
        """End the run that is going on, from any thread or a signal's handler: it hands over what has arrived."""
        if self._run is not None:
            self._run.stop()


class _Run:
    """One call of `generate`: the workers, what they have finished, and what ends them."""

    def __init__(self, engine: OpenAIEngine, asks: Sequence[Ask], sampling: Sampling, key: str) -> None:
        self.engine, self.sampling, self.key = engine, sampling, key
        groups = itertools.groupby(asks, lambda ask: id(ask.request) if engine.group_draws else ask.key)
        self.todo = deque(list(draws) for _, draws in groups)
        self.arrived: deque[Completion] = deque()
        self.hopeless = ""
        self.in_a_row = self.silent = 0  # requests that failed; attempts since the last answer of any kind
        self.quiet_until = 0.0  # the server wants no request before
        self.pace = _server.Pace(min(engine.concurrency, len(self.todo)))
        self.workers = 0
        self._task: asyncio.Task[None] | None = None
        self._stopped = False

    def stop(self) -> None:
        """End the workers, from any thread; nothing happens if they have ended."""
        self._stopped = True
        if self._task is not None:
            with contextlib.suppress(RuntimeError):
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    def taken(self) -> list[Completion]:
        """What has arrived since the last call."""
        return [self.arrived.popleft() for _ in range(len(self.arrived))]

    async def main(self) -> None:
        """Everything until the last answer, or until `stop`."""
        self._task = asyncio.current_task()
        if not self._stopped:
            self._client = _server.client(self.engine.base_url, self.key, self.engine.timeout, self.pace.most)
            with contextlib.suppress(asyncio.CancelledError):
                async with self._client, asyncio.TaskGroup() as self._group:
                    self._hire()

    def _hire(self) -> None:
        """As many workers as the pace allows. Those that start together stay together, and queue up."""
        for number in range(min(self.pace.open - self.workers, len(self.todo))):
            self.workers += 1
            self._group.create_task(self._work(after=min(number * _APART, _RAMP)))

    async def _work(self, after: float) -> None:
        """Take groups of draws until there are none, or there are more workers than the pace allows."""
        await asyncio.sleep(after)
        while self.todo and self.workers <= self.pace.open:
            draws = self.todo.popleft()
            try:
                if self.hopeless:
                    raise AttemptFailed(f"not asked: {self.hopeless}", passing=True)
                done = await self._ask(draws)
                self.in_a_row = 0
                self.pace.answered()
            except AttemptFailed as error:
                self.in_a_row += 1
                if self.in_a_row >= self.engine.give_up_after and not self.hopeless:
                    self.hopeless = f"{self.in_a_row} requests failed one after another, the last with: {error}"
                done = [failed(ask, str(error), error.passing) for ask in draws]
            self.arrived.extend(done)
            self._hire()
        self.workers -= 1

    async def _ask(self, draws: list[Ask]) -> list[Completion]:
        """The completions of the draws of one request, after as many attempts as it takes. Raises: AttemptFailed."""
        import tenacity

        most = self.engine.max_retries + 1
        attempts = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(lambda error: getattr(error, "wait", None) is not None),
            stop=tenacity.stop_after_attempt(most),
            wait=tenacity.wait_random_exponential(multiplier=0.5, max=MOST_WAIT / 4, min=0.25),
            sleep=self.engine._sleep,
            reraise=True,
        )
        try:
            return await attempts(self._attempt, draws)
        except AttemptFailed as error:
            if error.wait is None:
                raise
            raise AttemptFailed(f"{error} ({most} attempts)", passing=True) from None

    async def _attempt(self, draws: list[Ask]) -> list[Completion]:
        """One attempt, not before the server wants one again. Raises: AttemptFailed."""
        import httpx2

        engine = self.engine
        while (delay := self.quiet_until - engine._now()) > 0:
            await engine._sleep(delay)
        if self.hopeless:
            raise AttemptFailed(f"not asked again: {self.hopeless}", passing=True)
        path = "/completions" if draws[0].request.messages is None else "/chat/completions"
        body, sent = engine.body(draws, self.sampling), time.monotonic()
        try:
            async with asyncio.timeout(engine.timeout):
                response = await self._client.post(path, cast_to=httpx2.Response, body=body)
            if len(self.key) >= SECRET and self.key.encode() in response.content:
                raise AttemptFailed("the answer repeats the API key; nothing of it is kept")
            who = {"model": engine.model, "revision": engine.revision}
            made, named = _protocol.read(response.content, draws, self.sampling.logprobs is not None, **who)
        except Exception as error:
            fault = _protocol.fault(error, engine, self.key)
            self.hopeless = self.hopeless or (str(fault) if fault.hopeless else "")
            self.silent = self.silent + 1 if fault.silent else 0
            if self.silent >= 2 * self.workers and not self.hopeless:
                said = f"no request was answered within {2 * engine.timeout:g} s"
                self.hopeless = f"{said}: the server hangs, or needs a longer --engine-set timeout=SECONDS"
            if fault.wait is not None:
                self.pace.pushed_back(sent)
            self.quiet_until = max(self.quiet_until, engine._now() + (fault.wait or 0.0))
            raise fault from None
        self.silent = 0
        engine.served |= {named} - {""}
        for one in made:
            tokens = one.prompt_tokens, one.completion_tokens
            engine.cost += sum(map(operator.mul, tokens, engine.prices)) / 1e6
        return made
