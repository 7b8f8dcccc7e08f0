"""Any server that speaks OpenAI's protocol: OpenAI, vLLM, llama.cpp, gateways. What a
server's answers mean is in `_server`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import json
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
from nlgeval_lib.engines.base import Ask, Engine, Sampling, UnsupportedSetting, failed
from nlgeval_lib.records import Completion

DIALECTS = ("auto", "openai", "vllm")
MOST_BYTES = 64 << 20  # of an answer
# settings that OpenAI's own protocol does not have
_BEYOND = ("top_k", "repetition_penalty", "choice", "regex")
# seconds between two hand-overs to the asking thread: each one stops the event loop for
# a moment
_HAND_OVER = 0.05
# seconds after which the asking thread learns that nothing has come
_BEAT = 5.0
# Seconds between two requests while more are open than ever before. Requests that start
# at the same moment also end at the same moment, and the server idles in between.
_APART = 0.001
_REPEATED = "the answer repeats the API key; nothing of it is kept"
_SURPLUS = "the server sent more than one answer to one request; none is kept"
# from a response's stream to the state of its connection, by h11
_TO_STATE = ("_stream", "_httpcore_stream", "_stream", "_connection", "_h11_state")
_FEW = 16  # requests that are open at first
_HOLD = 8  # rounds after which more open requests are tried again


class OpenAIEngine(Engine):
    """A model behind an OpenAI-compatible server, asked by as many requests at a time
    as it takes.

    Raw prompts go to `/completions`, messages to `/chat/completions`. `about` has what
    the server says of itself, `served` the model names in its answers. The server and
    `extra_body` are a part of `revision`, and so of the keys: two servers never share
    completions. OpenAI's own server adds nothing to it.

    model: as the server calls it.
    base_url: the server's address up to and with `/v1`; None: OPENAI_BASE_URL (with a
    warning), or else OpenAI's server.
    server: what the server is called in keys, in place of host and port.
    revision: what the revision begins with; "" for nothing.
    name: of the model in keys, in place of the server's name for it.
    api_key_env: the environment variable with the key, which is kept nowhere.
    dialect: "vllm" for servers that take top_k, repetition_penalty, choice and regex;
    "openai" refuses these; "auto" goes by what the server says that it is.
    concurrency: requests at a time, at most.
    timeout: seconds for one attempt, from sending to the last byte.
    max_retries: further attempts after a failure that may pass.
    extra_body: more of each call's JSON, such as `{"chat_template_kwargs":
    {"enable_thinking": false}}`.
    plain_http: send the key over http to a host that is not this one.

    Raises: ValueError for an option out of range, or with the key in it; EngineError,
    when a run begins or `revision` is first read, without server or key.
    """

    name = "openai"
    # Requests that failed for good in a row. Requests are not sent either after two
    # timeouts without any answer.
    give_up_after = 50
    # seconds for which no connection could be made at all: the server has ended
    unreachable_for = 4.0
    # Tests put their own clock in place of these. Only a date in a server's answer is
    # held against the time of day, which may be set back meanwhile.
    _sleep = staticmethod(asyncio.sleep)
    _limit = staticmethod(asyncio.timeout)
    _now = staticmethod(time.monotonic)
    _time_of_day = staticmethod(time.time)

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
        extra_body: dict[str, Any] | None = None,
        plain_http: bool = False,
    ) -> None:
        if dialect not in DIALECTS:
            raise ValueError(f"dialect {dialect!r}: allowed are {', '.join(DIALECTS)}")
        if base_url is None:
            base_url = os.environ.get("OPENAI_BASE_URL") or None
            if base_url is not None:
                place = _server.place(base_url) or "OpenAI"
                warnings.warn(f"OPENAI_BASE_URL is set: {place} is asked", stacklevel=2)
        self.base_url = _server.check_address(base_url or _server.OFFICIAL)
        self.model = name or model
        self._requested_model = model
        self._base_revision = revision
        self._server_label = server
        self.api_key_env = api_key_env
        self.dialect = dialect
        self.concurrency = concurrency
        self.timeout = timeout
        self.max_retries = max_retries
        self.extra_body = dict(extra_body or {})
        self._plain_http = plain_http
        self.about: dict[str, str] = {}
        self.served: set[str] = set()
        # what the server said that it does not take (`_server.spared`)
        self._spared: set[str] = set()
        # whether the last run was given up because no answer of any kind came
        self._hung = False
        self._run: _Run | None = None
        self._check_numbers()
        self._check_for_key()

    def _check_numbers(self) -> None:
        """Raises: ValueError for a number that is too small."""
        leasts = {"concurrency": 1, "timeout": 1e-3, "max_retries": 0}
        for option, least in leasts.items():
            value = getattr(self, option)
            if value < least:
                raise ValueError(f"{option}={value}: at least {least} is needed")

    def _check_for_key(self) -> None:
        """Raises: ValueError where something that is stored or shown has the key in it."""
        secret = os.environ.get(self.api_key_env, "").strip()
        settings = {
            "model": f"{self._requested_model} {self.model}",
            "revision": self._base_revision,
            "server": self._server_label,
            "base_url": self.base_url,
            "extra_body": json.dumps(self.extra_body, ensure_ascii=False, default=str),
        }
        for option, text in settings.items():
            if _server.has_key(text, secret):
                raise ValueError(
                    f"{option} has the key of {self.api_key_env} in it, and would be "
                    "stored; leave it out, the key is sent by itself"
                )

    @functools.cached_property
    def revision(self) -> str:  # type: ignore[override]
        """The given revision, then `at:HOST+owner:...+root:...+extra:{...}`."""
        about = self._met() if _server.place(self.base_url) else {}
        return _server.revision(self._base_revision, about, self.extra_body)

    def _met(self) -> dict[str, str]:
        """What the server says of itself; asked again after a run that was given up."""
        if not self.about:
            self.about = _server.about(
                self.base_url, self._requested_model, self._key(), self._hung
            )
            if self._server_label:
                self.about = self.about | {"server": self._server_label}
        return self.about

    def _key(self) -> str:
        """The key, read anew; EngineError where it may not be sent, or is missing."""
        return _server.key(self.api_key_env, self.base_url, self._plain_http)

    @property
    def beyond(self) -> bool:
        """Whether vLLM's settings are sent."""
        if self.dialect == "auto":
            return self.about.get("owner") == "vllm"
        return self.dialect == "vllm"

    def check(self, sampling: Sampling) -> None:
        """Raises: UnsupportedSetting for a setting that this server does not take."""
        plain = Sampling()
        names = []
        for name in _BEYOND:
            if getattr(sampling, name) != getattr(plain, name):
                names.append(name)
        if not names:
            return
        if self.dialect == "auto" and _server.place(self.base_url):
            self._met()
        if self.beyond:
            return
        without = []
        for name in names:
            value = getattr(plain, name)
            if value is not None:
                without += ["-s", f"{name}={value}"]
        way_out = " ".join(without) or "-s structured=json or -s structured=no"
        error = UnsupportedSetting(
            f"engine openai cannot honour {names[0]}={getattr(sampling, names[0])!r}: "
            "OpenAI's protocol does not have it, a server of vLLM does; "
            f"{way_out} asks without"
        )
        error.without = tuple(without)
        raise error

    def body(self, ask: Ask, sampling: Sampling) -> dict[str, Any]:
        """The JSON of one call; neutral settings are sent too, as a server's defaults
        differ.
        """
        request = ask.request
        body: dict[str, Any] = {
            "model": self._requested_model,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "n": 1,
            "seed": ask.seed,
            "stop": list(sampling.stop) or None,
        }
        if request.messages is None:
            body["prompt"] = request.prompt
            body["logprobs"] = sampling.logprobs
        else:
            body["messages"] = [dict(message) for message in request.messages]
            body["logprobs"] = sampling.logprobs is not None or None
            body["top_logprobs"] = sampling.logprobs
        if self.beyond:
            body["top_k"] = sampling.top_k
            body["repetition_penalty"] = sampling.repetition_penalty
            body["structured_outputs"] = sampling.form or None
        elif sampling.json_schema is not None:
            form = _server.without_lengths(sampling.form["json"])
            schema = {"name": "answer", "schema": form, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        body = {name: value for name, value in body.items() if value is not None}
        return _server.spared(body, self._spared) | self.extra_body

    def generate(
        self, asks: Sequence[Ask], sampling: Sampling
    ) -> Iterator[list[Completion]]:
        """Completions as they arrive, by a thread with an event loop of its own; an
        empty batch now and then while nothing arrives, to show the progress.
        """
        self._met()
        run = self._run = _Run(self, asks, sampling, self._key())
        crash: BaseException | None = None
        with futures.ThreadPoolExecutor(1, "nlgeval-openai") as threads:
            over = threads.submit(asyncio.run, run.main())
            try:
                last = time.monotonic()
                while futures.wait([over], _HAND_OVER).not_done:
                    batch = run.take()
                    if batch or time.monotonic() - last >= _BEAT:
                        yield batch
                        last = time.monotonic()
            except KeyboardInterrupt as error:
                # what has arrived is paid for: hand it over before the end
                crash = error
            finally:
                run.stop()
        batch = run.take()
        if batch:
            yield batch
        crash = crash or over.exception()
        if crash:
            raise crash
        if run.hopeless:
            self.about = {}
            self._hung = run.silent > 0

    def maker(self) -> str:
        """What the server says of itself, such as `vllm 0.32.0`."""
        about = self.about
        names = [about[name] for name in ("owner", "version") if name in about]
        return " ".join(names) or about.get("server", "")

    def stop(self) -> None:
        """End the run that is going on, from any thread or a signal's handler."""
        if self._run is not None:
            self._run.stop()


class _Run:
    """One call of `generate`: its open requests, their results, and what ends it."""

    def __init__(
        self, engine: OpenAIEngine, asks: Sequence[Ask], sampling: Sampling, key: str
    ) -> None:
        self.engine = engine
        self.sampling = sampling
        self.key = key
        self.asks = asks
        self.arrived = deque[Completion]()
        self.hopeless = ""
        self.in_a_row = 0  # requests that failed one after another
        self.silent = 0  # attempts since the last answer of any kind
        self.unreachable_since: float | None = None
        self.quiet_until = 0.0  # the server wants no request before
        self.pace = Pace(min(engine.concurrency, len(asks)))
        self.open = 0
        self.freed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopped = False

    def stop(self) -> None:
        """End it, from any thread; nothing happens if it has ended."""
        self._stopped = True
        if self._task is not None:
            with contextlib.suppress(RuntimeError):
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    def take(self) -> list[Completion]:
        """What has arrived since the last call."""
        return [self.arrived.popleft() for _ in range(len(self.arrived))]

    async def main(self) -> None:
        """Everything until the last answer, or until `stop`."""
        import httpx2

        self._task = asyncio.current_task()
        if self._stopped:
            return
        most = self.pace.most
        limits = httpx2.Limits(max_connections=most, max_keepalive_connections=most)
        # no limit of the client's own: `_attempt` has one for all of an attempt
        self._client = httpx2.AsyncClient(
            headers={**_server.authorization(self.key), "accept-encoding": "identity"},
            timeout=None,
            verify=_server.certificates(),
            limits=limits,
        )
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
        """Ask, and hand over what it came to: a completion, or a failed one."""
        try:
            if self.hopeless:
                raise AttemptFailed(f"not asked: {self.hopeless}", passing=True)
            completion = await self._answer(ask)
            self.in_a_row = 0
            self.pace.answered()
        except AttemptFailed as error:
            self.in_a_row += 1
            if self.in_a_row >= self.engine.give_up_after:
                self.hopeless = self.hopeless or (
                    f"{self.in_a_row} requests failed one after another, "
                    f"the last with: {error}"
                )
            completion = failed(ask, str(error), error.passing)
        self.arrived.append(completion)
        self.open -= 1
        self.freed.set()

    async def _answer(self, ask: Ask) -> Completion:
        """What one request comes to after as many attempts as it takes."""
        left_out = {""}
        for attempt in itertools.count(1):
            try:
                return await self._attempt(ask)
            except AttemptFailed as error:
                name = error.without
                if name not in left_out:
                    # asked without what the server does not take, from here on
                    if name not in self.engine._spared:
                        problem = f"the server takes no {name}; asked without"
                        warnings.warn(problem, stacklevel=2)
                    self.engine._spared.add(name)
                    left_out.add(name)
                    continue
                if error.wait is None:
                    raise
                if attempt > self.engine.max_retries:
                    raise AttemptFailed(
                        f"{error} ({attempt} attempts)", passing=True
                    ) from None
            # by chance, up to twice as long after each further attempt
            most = min(MOST_WAIT / 4, 2.0 ** (attempt - 2))
            if self.unreachable_since is not None:
                most = min(most, 1.0)  # to learn soon whether the server has ended
            await self.engine._sleep(max(0.25, random.uniform(0, most)))
        raise AssertionError

    async def _attempt(self, ask: Ask) -> Completion:
        """One attempt, not before the server wants one again."""
        engine = self.engine
        while (delay := self.quiet_until - engine._now()) > 0:
            await engine._sleep(delay)
        if self.hopeless:
            raise AttemptFailed(f"not asked again: {self.hopeless}", passing=True)
        sent = time.monotonic()
        try:
            async with engine._limit(engine.timeout):
                content = await self._sent(ask)
            completion, model = _server.read(
                content,
                ask,
                self.sampling.logprobs is not None,
                asked_model=engine._requested_model,
                model=engine.model,
                revision=engine.revision,
            )
            if _server.repeats_key(completion, self.key):
                raise AttemptFailed(_REPEATED)
        except Exception as error:
            fault = _server.fault(error, engine.timeout, self.key)
            if fault.without == "temperature" and self.sampling.temperature != 1:
                fault.without = ""
            if not fault.without:  # else the next attempt does without
                self._note_fault(fault, sent)
            raise fault from None
        self.silent = 0
        self.unreachable_since = None
        if model:
            engine.served.add(model)
        return completion

    def _note_fault(self, fault: AttemptFailed, sent: float) -> None:
        """Take in what an attempt that began at a moment says about the server."""
        engine = self.engine
        moment = engine._now()
        reason = str(fault) if fault.hopeless else ""
        self.silent = self.silent + 1 if fault.silent else 0
        if not fault.unreachable:
            self.unreachable_since = None
        elif self.unreachable_since is None:
            self.unreachable_since = moment
        elif (seconds := moment - self.unreachable_since) >= engine.unreachable_for:
            reason = (
                f"{fault}, for {seconds:.0f} s; start the server again: the same "
                "command goes on with what is not stored"
            )
        if self.silent >= 2 * self.open:
            reason = (
                f"no request was answered within {2 * engine.timeout:g} s: the server "
                "hangs, or needs a longer --engine-set timeout=SECONDS"
            )
        self.hopeless = self.hopeless or reason
        if fault.wait is not None:
            self.pace.pushed_back(sent)
        self.quiet_until = max(self.quiet_until, moment + (fault.wait or 0.0))

    async def _sent(self, ask: Ask) -> bytes:
        """The body of the answer to a request; anything beyond its end is a failure."""
        engine = self.engine
        content = bytearray()
        chat = ask.request.messages is not None
        address = f"{engine.base_url}{'/chat' if chat else ''}/completions"
        body = engine.body(ask, self.sampling)
        async with self._client.stream("POST", address, json=body) as answer:
            stream: Any = answer.stream
            async for part in stream:
                content += part
                if len(content) > MOST_BYTES:
                    raise AttemptFailed(f"the answer is longer than {MOST_BYTES} bytes")
            # It would be taken for the answer to the next request on the connection,
            # whose protocol's state neither httpx2 nor httpcore2 shows.
            state: Any = stream
            for name in _TO_STATE:
                state = getattr(state, name)
            surplus, _ = state.trailing_data
            if surplus:
                state.send_failed()  # the connection is not used again
                raise AttemptFailed(_SURPLUS, wait=0.0)
        if answer.status_code >= 300:
            variable = engine.api_key_env
            seconds = engine._time_of_day()
            raise _server.refused(answer, bytes(content), self.key, variable, seconds)
        if len(self.key) >= SECRET and self.key.encode() in content:
            raise AttemptFailed(_REPEATED)
        return bytes(content)


class Pace:
    """How many requests may be open (`open`), up to `most`: twice as many while that
    pays, half as many when the server is hurt.

    A round is an answer for each open request. One with a tenth more answers a second
    than the one before was worth it; else it is taken back, and tried again later.
    Source: AIMD, Chiu and Jain (1989), doi:10.1016/0169-7552(89)90019-6.
    """

    _smaller: int  # open requests before the last step up; 0 for none
    _rounds_held: int
    _answers: int  # of this round
    _round_start: float

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self.open = min(_FEW, most)
        self._clock = clock
        self._factor = 2.0
        self._best_rate = 0.0
        self._last_push_back = -math.inf
        self._begin_rounds()

    def answered(self) -> None:
        """Note an answer."""
        self._answers += 1
        if self._answers < self.open:
            return
        moment = self._clock()
        rate = self._answers / max(moment - self._round_start, 1e-9)
        paid = rate > 1.1 * self._best_rate
        self._answers = 0
        self._round_start = moment
        # the last step up brought nothing
        if self._smaller and not paid:
            self.open = self._smaller
            self._begin_rounds()
            return
        self._best_rate = rate
        self._rounds_held += 1
        self._smaller = 0
        if paid or self._rounds_held > _HOLD:
            self._smaller = self.open
            larger = max(self.open + 1, int(self.open * self._factor))
            self.open = min(self.most, larger)

    def pushed_back(self, sent: float) -> None:
        """Note that a request sent at a moment was not taken; those open together count
        once.
        """
        if sent <= self._last_push_back:
            return
        self.open = max(1, self.open // 2)
        self._factor = 1.125
        self._last_push_back = self._clock()
        self._begin_rounds()

    def _begin_rounds(self) -> None:
        self._smaller = 0
        self._rounds_held = 0
        self._answers = 0
        self._round_start = self._clock()
