"""Any server that speaks OpenAI's protocol: OpenAI, vLLM, llama.cpp, gateways."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import math
import os
import random
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from typing import Any

from nlgeval_lib.engines import _server
from nlgeval_lib.engines._server import MOST_WAIT, SECRET, AttemptFailed
from nlgeval_lib.engines.base import Ask, Engine, Sampling, failed
from nlgeval_lib.records import Completion

DIALECTS = ("auto", "openai", "vllm")
MOST_BYTES = 64 << 20  # of an answer
_BEYOND = ("top_k", "repetition_penalty", "choice", "regex")  # settings that OpenAI's own protocol does not have
_HAND_OVER = 0.05  # seconds between two hand-overs to the asking thread: each one stops the event loop for a moment
_BEAT = 5.0  # seconds after which the asking thread hears of it that nothing has come
_APART = 0.004  # seconds between requests while more are open than ever: what starts together stays together
_FEW, _HOLD = 16, 8  # requests that are open at first; rounds after which more are tried again


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
    plain_http      send the key over http to a host that is not this one
    extra_body      more of each call's JSON, such as {"chat_template_kwargs": {"enable_thinking": false}}

    Raw prompts go to `/completions`, messages to `/chat/completions`. `about` has what the server tells of itself,
    `served` the model names that it answered with. Server and `extra_body` are a part of `revision`, and so of the
    keys: two servers never share completions. OpenAI's own, asked plainly, is named by none.
    Raises: ValueError for an option out of range; EngineError, when a run begins or `revision` is first read, where
    nobody answers, OpenAI's own server is meant and there is no key, or for a key that no header can hold.
    """

    name = "openai"
    give_up_after = 50  # requests that failed for good in a row; nor is the rest asked after two timeouts of silence
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
        max_tokens_field: str = "max_tokens",
        extra_body: dict[str, Any] | None = None,
        plain_http: bool = False,
    ) -> None:
        if dialect not in DIALECTS:
            raise ValueError(f"dialect {dialect!r}: allowed are {', '.join(DIALECTS)}")
        for option, value, least in (
            ("concurrency", concurrency, 1),
            ("timeout", timeout, 1e-3),
            ("max_retries", max_retries, 0),
        ):
            if value < least:
                raise ValueError(f"{option}={value}: at least {least} is needed")
        if base_url is None and (base_url := os.environ.get("OPENAI_BASE_URL") or None):
            warnings.warn(f"OPENAI_BASE_URL is set: {_server.place(base_url) or 'OpenAI'} is asked", stacklevel=2)
        self.base_url = _server.check_address(base_url or _server.OFFICIAL)
        self.model, self._asked_model, self._named, self._called = name or model, model, revision, server
        self.api_key_env, self.dialect, self.max_tokens_field = api_key_env, dialect, max_tokens_field
        self.concurrency, self.timeout, self.max_retries = concurrency, timeout, max_retries
        self.extra_body, self._plain_http = dict(extra_body or {}), plain_http
        self.about: dict[str, str] = {}
        self.served: set[str] = set()
        self._probed = self._hung = False  # hung: the last run was given up for want of any answer
        self._run: _Run | None = None

    @functools.cached_property
    def revision(self) -> str:  # type: ignore[override]
        """The given one with `at:HOST+owner:...+root:...+extra:{...}`, as far as the server tells and as they apply."""
        about = self._met() if _server.place(self.base_url) else {}
        return _server.revision(self._named, about, self.extra_body)

    def _met(self) -> dict[str, str]:
        """What the server tells of itself, once; and again after a run that was given up. Raises: EngineError."""
        if not self.about:
            found = _server.about(self.base_url, self._asked_model, self._key(), self._hung)
            self.about = found | ({"server": self._called} if self._called else {})
        return self.about

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
        other = wanted and self.dialect == "auto" and _server.place(self.base_url)
        if other and "version" in self._met() and not self.beyond:
            self._probed = _server.takes(self.base_url, self._asked_model, self._key())
        if wanted and not self.beyond:
            ways = [f"-s {name}={getattr(plain, name)}" for name in wanted if getattr(plain, name) is not None]
            why = "OpenAI's protocol does not have it, a server of vLLM does; {} asks without"
            self._refuse(sampling, *wanted, why=why.format(" ".join(ways) or "-s structured=no"))

    def body(self, ask: Ask, sampling: Sampling) -> dict[str, Any]:
        """The JSON of one call. Settings at their neutral value are sent too: a server's own defaults may differ."""
        request, likely = ask.request, sampling.logprobs
        asked: dict[str, Any] = {
            "model": self._asked_model,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            self.max_tokens_field: sampling.max_tokens,
            "n": 1,
            "seed": ask.seed,
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
            schema = {"name": "answer", "schema": sampling.form["json"], "strict": True}
            asked["response_format"] = {"type": "json_schema", "json_schema": schema}
        return {name: value for name, value in asked.items() if value is not None} | self.extra_body

    def generate(self, asks: Sequence[Ask], sampling: Sampling) -> Iterator[list[Completion]]:
        """Completions as they arrive. The calls are made in a thread with an event loop of its own."""
        self._met()
        run = self._run = _Run(self, asks, sampling, self._key())
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
    """One call of `generate`: the requests that are open, what they came to, and what ends them."""

    def __init__(self, engine: OpenAIEngine, asks: Sequence[Ask], sampling: Sampling, key: str) -> None:
        self.engine, self.sampling, self.key = engine, sampling, key
        self.asks, self.arrived = asks, deque[Completion]()
        self.hopeless = ""
        self.in_a_row = self.silent = 0  # requests that failed; attempts since the last answer of any kind
        self.quiet_until = 0.0  # the server wants no request before
        self.pace, self.open, self.freed = Pace(min(engine.concurrency, len(asks))), 0, asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopped = False

    def stop(self) -> None:
        """End it, from any thread; nothing happens if it has ended."""
        self._stopped = True
        if self._task is not None:
            with contextlib.suppress(RuntimeError):
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    def taken(self) -> list[Completion]:
        """What has arrived since the last call."""
        return [self.arrived.popleft() for _ in range(len(self.arrived))]

    async def main(self) -> None:
        """Everything until the last answer, or until `stop`."""
        import httpx2

        self._task = asyncio.current_task()
        if self._stopped:
            return
        limits = httpx2.Limits(max_connections=self.pace.most, max_keepalive_connections=self.pace.most)
        how: dict[str, Any] = {"timeout": self.engine.timeout, "limits": limits, "follow_redirects": False}
        self._client = httpx2.AsyncClient(headers={"authorization": f"Bearer {self.key or 'none'}"}, **how)
        most = 0
        with contextlib.suppress(asyncio.CancelledError):
            async with self._client, asyncio.TaskGroup() as group:
                for ask in self.asks:
                    while self.open >= self.pace.open:
                        self.freed.clear()
                        await self.freed.wait()
                    self.open += 1
                    group.create_task(self._finish(ask))
                    if self.open > most:
                        most = self.open
                        await asyncio.sleep(_APART)

    async def _finish(self, ask: Ask) -> None:
        """Ask, unless nothing can come of it, and hand over what it came to."""
        try:
            if self.hopeless:
                raise AttemptFailed(f"not asked: {self.hopeless}", passing=True)
            made = await self._answer(ask)
            self.in_a_row = 0
            self.pace.answered()
        except AttemptFailed as error:
            self.in_a_row += 1
            if self.in_a_row >= self.engine.give_up_after and not self.hopeless:
                self.hopeless = f"{self.in_a_row} requests failed one after another, the last with: {error}"
            made = failed(ask, str(error), error.passing)
        self.arrived.append(made)
        self.open -= 1
        self.freed.set()

    async def _answer(self, ask: Ask) -> Completion:
        """What one request comes to after as many attempts as it takes. Raises: AttemptFailed."""
        for attempt in itertools.count(1):
            try:
                return await self._attempt(ask)
            except AttemptFailed as error:
                if error.wait is None:
                    raise
                if attempt > self.engine.max_retries:
                    raise AttemptFailed(f"{error} ({attempt} attempts)", passing=True) from None
            most = min(MOST_WAIT / 4, 2.0 ** (attempt - 2))
            await self.engine._sleep(max(0.25, random.uniform(0, most)))
        raise AssertionError

    async def _attempt(self, ask: Ask) -> Completion:
        """One attempt, not before the server wants one again. Raises: AttemptFailed."""
        engine = self.engine
        while (delay := self.quiet_until - engine._now()) > 0:
            await engine._sleep(delay)
        if self.hopeless:
            raise AttemptFailed(f"not asked again: {self.hopeless}", passing=True)
        sent = time.monotonic()
        try:
            async with asyncio.timeout(engine.timeout):
                content = await self._sent(ask)
            who = {"model": engine.model, "revision": engine.revision}
            made, named = _server.read(content, ask, self.sampling.logprobs is not None, **who)
        except Exception as error:
            fault = _server.fault(error, engine.timeout, self.key)
            self.hopeless = self.hopeless or (str(fault) if fault.hopeless else "")
            self.silent = self.silent + 1 if fault.silent else 0
            if self.silent >= 2 * self.open and not self.hopeless:
                said = f"no request was answered within {2 * engine.timeout:g} s"
                self.hopeless = f"{said}: the server hangs, or needs a longer --engine-set timeout=SECONDS"
            if fault.wait is not None:
                self.pace.pushed_back(sent)
            self.quiet_until = max(self.quiet_until, engine._now() + (fault.wait or 0.0))
            raise fault from None
        self.silent = 0
        engine.served |= {named} - {""}
        return made

    async def _sent(self, ask: Ask) -> bytes:
        """The body of the answer to a request. Raises: AttemptFailed; HTTPError of httpx2."""
        engine, content = self.engine, bytearray()
        address = f"{engine.base_url}{'/completions' if ask.request.messages is None else '/chat/completions'}"
        async with self._client.stream("POST", address, json=engine.body(ask, self.sampling)) as answer:
            async for part in answer.aiter_bytes():
                content += part
                if len(content) > MOST_BYTES:
                    raise AttemptFailed(f"the answer is longer than {MOST_BYTES} bytes")
        if answer.status_code >= 300:
            variable, now = engine.api_key_env, engine._now()
            raise _server.refused(answer.status_code, answer.headers, bytes(content), self.key, variable, now)
        if len(self.key) >= SECRET and self.key.encode() in content:
            raise AttemptFailed("the answer repeats the API key; nothing of it is kept")
        return bytes(content)


class Pace:
    """How many requests may be open, up to `most`: twice as many while that pays, half as many when the server is hurt.

    A round is two answers for each open request. One with a tenth more answers a second than the one before was worth
    it; one that was not is taken back, and tried again after a while. After a push-back (429, 5xx, a timeout, a lost
    connection) steps are small. Source: AIMD, Chiu and Jain (1989), doi:10.1016/0169-7552(89)90019-6.
    """

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic) -> None:
        self.most, self.open, self._now = most, min(_FEW, most), now
        self._factor, self._best = 2.0, 0.0
        self._before = self._held = 0
        self._cut = -math.inf  # when the last push-back came
        self._round()

    def answered(self) -> None:
        """Note an answer."""
        self._done += 1
        if self._done < 2 * self.open:
            return
        rate = self._done / max(self._now() - self._since, 1e-9)
        paid = rate > 1.1 * self._best
        if self._before and not paid:
            self.open, self._before, self._held = self._before, 0, 0
        else:
            self._best, self._held = rate, self._held + 1
            grows = paid or self._held > _HOLD
            self._before = self.open if grows else 0
            self.open = min(self.most, max(self.open + 1, int(self.open * self._factor))) if grows else self.open
        self._round()

    def pushed_back(self, sent: float) -> None:
        """Note that a request that was sent then was not taken; those that were open together count once."""
        if sent > self._cut:
            self.open, self._factor, self._cut = max(1, self.open // 2), 1.125, self._now()
            self._before = self._held = 0
            self._round()

    def _round(self) -> None:
        self._done, self._since = 0, self._now()
