"""OpenAIEngine against a server that misbehaves: bounded time, nothing lost, the
failed ones named.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import logging
import random
import re
import threading
import time
from types import SimpleNamespace

import hostile_server
import pytest
from cli_tools import cases
from hostile_server import KEY_FORMS, SERVED_KEY
from hypothesis import given
from hypothesis import strategies as st

from nlgeval_lib import engines
from nlgeval_lib.engines import (
    Ask,
    OpenAIEngine,
    Request,
    Sampling,
    UnsupportedSetting,
    _server,
)
from nlgeval_lib.engines import openai_compatible as module
from nlgeval_lib.engines._server import retry_after, without_key
from nlgeval_lib.engines.store import Store
from nlgeval_lib.records import Completion
from nlgeval_lib.scoring import asking

KEY = "sk-proj-" + "".join(chr(97 + i * 7 % 26) for i in range(150))


class Patient(OpenAIEngine):
    """Waiting takes no time here, and is written down."""

    def __init__(self, server, **options):
        super().__init__("judge", base_url=server.url, **{"timeout": 20.0, **options})
        self.now, self.calls = 1000.0, 0
        self._now = self._time_of_day = lambda: self.now

    def body(self, ask, sampling):
        self.calls += 1
        return super().body(ask, sampling)

    async def _sleep(self, seconds):
        self.now += seconds
        await asyncio.sleep(0)


class Timed(Patient):
    """One request at a time, whose time is over when the server falls silent, by no
    clock: a busy machine takes its time for the others.
    """

    def __init__(self, server, **options):
        super().__init__(server, concurrency=1, **options)
        server.falls_silent = self._expire

    def _limit(self, seconds):
        self.limit = asyncio.timeout(None)
        self.loop = asyncio.get_running_loop()
        return self.limit

    def _expire(self):
        self.loop.call_soon_threadsafe(self.limit.reschedule, self.loop.time())


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def server():
    made = []

    def start(**headers):
        made.append(
            hostile_server.HostileServer(
                {name.replace("_", "-"): value for name, value in headers.items()}
            )
        )
        return made[-1]

    yield start
    for one in made:
        one.stop()


GREEDY = Sampling(max_tokens=9)


# -- what is sent, what is read


@pytest.mark.parametrize("chat", [False, True])
def test_every_setting_reaches_the_server(server, chat):
    s = server()
    request = Request.chat("hi", "be strict") if chat else Request(prompt="hi")
    own = {
        "temperature": 0.7,
        "top_p": 0.9,
        "top_k": 5,
        "max_tokens": 9,
        "repetition_penalty": 1.1,
    }
    sampling = Sampling(**own, stop="#", logprobs=2, choice=("4", "5"))
    e = Patient(s, dialect="vllm", extra_body={"user": "me"})
    [[made]] = engines.complete(e, [request], sampling)
    [body] = s.bodies
    sent = {**own, "model": "judge", "stop": ["#"], "user": "me"}
    assert {name: body[name] for name in sent} == sent
    assert body["structured_outputs"] == {"choice": ["4", "5"]} and isinstance(
        body["seed"], int
    )
    assert (body["logprobs"], body.get("top_logprobs")) == (
        (True, 2) if chat else (2, None)
    )
    assert made.logprobs == ({"4": -0.1, "5": -2.0},) and made.text == "echo of hi"
    assert (made.prompt_tokens, made.completion_tokens, e.served) == (
        7,
        5,
        {"served-name"},
    )
    if chat:
        assert [m["role"] for m in body["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    "setting",
    [{"top_k": 4}, {"repetition_penalty": 1.1}, {"choice": ("a",)}, {"regex": "a"}],
)
def test_what_the_protocol_lacks_is_refused_before_anything_is_asked(server, setting):
    s = server()
    with pytest.raises(
        UnsupportedSetting, match=rf"{next(iter(setting))}=.*a server of vLLM does; -s "
    ):
        engines.complete(
            Patient(s, dialect="openai"), ["a"], Sampling(temperature=1.0, **setting)
        )
    assert not s.bodies


def test_a_server_that_tells_it_is_vllm_gets_neutral_settings_too(
    server,
):
    s = server()
    s.models = {"data": [{"id": "judge", "owned_by": "vllm"}]}
    engines.complete(Patient(s), ["a"], GREEDY)
    engines.complete(
        Patient(s), ["b"], Sampling(temperature=1.0, repetition_penalty=1.1)
    )
    assert [body["repetition_penalty"] for body in s.bodies] == [1.0, 1.1] and s.bodies[
        0
    ]["top_k"] == 0


def test_json_schemas_are_sent_in_the_dialect():
    schema = {"type": "object"}
    request = Request.chat("x")
    sampling = Sampling(json_schema=schema)

    def body(dialect):
        engine = OpenAIEngine("m", dialect=dialect)
        return engine.body(Ask.from_draw(request, 0, "0" * 64, sampling), sampling)

    openai = body("openai")
    assert (
        openai["response_format"]["json_schema"]["schema"] == schema
        and openai["max_tokens"] == 512
    )
    assert body("vllm")["structured_outputs"] == {"json": schema} and not {
        "logprobs",
        "seed",
        "stop",
    } & set(openai)


def test_concurrency_is_used_and_bounded(server):
    s = server()
    for _ in range(
        20
    ):  # on a busy machine each answer can be there before the next request
        answers = engines.complete(
            Patient(s, concurrency=4), [f"p{i}" for i in range(60)], GREEDY
        )
        assert [c.text for c in answers.flat] == [f"echo of p{i}" for i in range(60)]
        assert s.most_at_once <= 4
        if s.most_at_once >= 2:
            return
    pytest.fail("requests never overlapped")


@pytest.mark.parametrize("most", [4, 256])
@pytest.mark.parametrize("queues", [True, False], ids=["queues", "refuses"])
@pytest.mark.parametrize("slots", [1, 8, 40, 500])
def test_the_pace_finds_what_a_server_takes(slots, queues, most):
    """A server that has so many slots, a second an answer; what is beyond them
    waits, or is refused.
    """
    clock = 0.0
    pace = module.Pace(most, clock=lambda: clock)
    opened = []
    for _ in range(200):
        sent = clock
        count = pace.open
        opened.append(count)
        clock += 1.0 if count <= slots or not queues else count / slots
        for number in range(count):
            pace.answered() if queues or number < slots else pace.pushed_back(sent)
    late = sorted(opened[100:])[50]
    assert min(slots, most) / 2 <= late <= min(most, max(16, 2 * slots))


def test_the_pace_reaches_the_most_within_four_answers_of_each():
    """Where all answers come after .2 s, however many are asked."""
    clock = 0.0
    pace = module.Pace(256, clock=lambda: clock)
    for _ in range(4):
        clock += 0.2
        for _ in range(pace.open):
            pace.answered()
    assert pace.open == 256


# -- failures


@pytest.mark.parametrize("chat", [False, True], ids=["text", "chat"])
@pytest.mark.parametrize("case", cases("server_faults"), ids=lambda case: case["name"])
def test_whatever_a_server_does_has_its_end(server, tmp_path, monkeypatch, case, chat):
    """Of three prompts asked one after another the second is met with the fault;
    what fails is named, the rest kept.
    """
    monkeypatch.setattr(module, "MOST_BYTES", 1 << 20)
    elsewhere = server()
    prompts = ["first", case["prompt"], "last"]
    place = elsewhere.url.removeprefix("http://").removesuffix("/v1")
    s = server(
        **{
            name: value.replace("ELSEWHERE", place)
            for name, value in case.get("headers", {}).items()
        }
    )
    e = Timed(s, **case.get("options", {}))
    store = Store(tmp_path)
    requests = [
        Request.chat(prompt, id=prompt) if chat else Request(prompt=prompt, id=prompt)
        for prompt in prompts
    ]
    answers = engines.complete(e, requests, GREEDY, store)
    reasons = {failure.id: failure.reason for failure in answers.failed}
    for prompt, end, said in zip(
        prompts,
        ("answered", case["end"], case["after"]),
        ("", case["said"], ""),
        strict=True,
    ):
        if end == "answered":
            assert (
                answers[prompts.index(prompt)][0].text == f"echo of {prompt}"
                and prompt not in reasons
            )
        else:
            wanted = said.replace("ELSEWHERE", place) if end == "failed" else end
            assert (
                wanted in reasons[prompt] and not answers[prompts.index(prompt)][0].text
            )
    counts = {
        (one.prompt_tokens, one.completion_tokens)
        for one in answers.flat
        if one.finish_reason != "error"
    }
    assert counts <= {(7, 5), *([(0, 0)] if "miscounted" in case["prompt"] else [])}
    assert len(store) == 3 - len(reasons) and e.calls == case.get("calls", e.calls)
    assert (
        e.now - 1000 >= case.get("waits", 0)
        and not elsewhere.bodies
        and not elsewhere.sent_keys
    )


# -- a server that hangs


def test_a_server_that_hangs_is_told_and_given_up(server, monkeypatch):
    """By the default settings after 5 to 25 seconds, and after 4 minutes."""
    assert (
        2 * OpenAIEngine("m").timeout <= 240
        and module._BEAT + 2 * _server._PATIENCE <= 25
    )
    monkeypatch.setattr(module, "_BEAT", 0.0)
    monkeypatch.setattr(_server, "_PATIENCE", 0.2)
    for name in ("_FIRST", "_EVERY", "_SILENT"):
        monkeypatch.setattr(asking, name, 0.0)
    s = server()
    said = io.StringIO()
    s.mute = True
    e = Patient(s, timeout=0.3, concurrency=4)
    bar = asking.ProgressBar("judge", stream=said)
    with pytest.warns(
        UserWarning,
        match=r"127.0.0.1:\d+ has not answered within 0.2 s what models it has",
    ):
        answers = engines.complete(
            e, [f"p{i}" for i in range(40)], GREEDY, progress=bar.report
        )
    calls = e.calls
    assert len(answers.failed) == 40 and 0 < calls < 12, (
        "none of four workers tries a third time"
    )
    assert all(
        "no request was answered within 0.6 s: the server hangs" in one.reason
        for one in answers.failed[8:]
    )
    lines = said.getvalue().splitlines()
    assert re.search(r"0 done, 0 stored, 0 failed, no answer for \d s", lines[1])
    assert (
        "(the last: not asked" in lines[-1]
        and "no request was answered within 0.6 s" in lines[-1]
    )
    with pytest.raises(
        engines.EngineError, match=r"has not answered within 0\.2 s, nor before"
    ):
        engines.complete(e, ["p"], GREEDY)
    assert e.calls == calls


# -- where the key and the prompts may go


@pytest.mark.parametrize("case", cases("key_ways"), ids=json.dumps)
def test_a_key_is_sent_as_a_header_can_hold_it_and_over_plain_http_to_this_machine_alone(
    case, monkeypatch
):
    # a word such as EMPTY is for a server that wants no key
    key = case.get("key", "{start}{end}").format(start=KEY[:20], end=KEY[20:])
    monkeypatch.setenv("OPENAI_API_KEY", key)
    engine = OpenAIEngine(
        "m", base_url=case["url"], plain_http=case.get("plain_http", False)
    )
    if case["sent"]:
        assert engine._key() == key.strip()
        return
    said = case.get(
        "says", r"OPENAI_API_KEY would go to .* unencrypted.*plain_http=yes"
    )
    with pytest.raises(engines.EngineError, match=said) as caught:
        _ = engine.revision
    assert KEY[:12] not in str(caught.value)


def test_a_dead_server_is_given_up(server, tmp_path):
    s = server()
    e = Patient(s, concurrency=2, max_retries=1)
    e.give_up_after = 3
    e.unreachable_for = float("inf")
    store = Store(tmp_path)
    assert e.revision  # it is met while it lives
    s.stop()
    answers = engines.complete(e, [f"p{i}" for i in range(200)], GREEDY, store)
    assert len(answers.failed) == 200 and e.calls < 20 and len(store) == 0
    assert "nobody answers" in answers.failed[0].reason
    assert "3 requests failed one after another" in answers.failed[-1].reason
    assert all(failure.passing for failure in answers.failed), (
        "this says nothing about the prompts"
    )
    for known in (
        e,
        Patient(s),
    ):  # the next judge of this model, and the next model: one look, and no more
        calls = known.calls
        with pytest.raises(engines.EngineError, match="nobody answers at 127"):
            engines.complete(known, ["p"], GREEDY, store)
        assert known.calls == calls


def test_an_evening_with_a_hostile_server(server, tmp_path, monkeypatch):
    """Everything at once: each answer is either right or named as failed, and a
    second run asks only for those.
    """
    monkeypatch.setattr(module, "MOST_BYTES", 1 << 20)
    rng = random.Random(1)
    kinds = ["429", "500", "drop", "bad", "400", "huge", "fine"]
    prompts = []
    for i in range(60):
        kind = rng.choice(kinds)
        times = "" if kind == "fine" else f" {rng.choice([1, 2, 99])}"
        prompts.append(
            f"{kind}{times}: {rng.choice(sorted(hostile_server.BAD)) if kind == 'bad' else i}"
        )
    s = server(retry_after="3")
    store = Store(tmp_path)
    e = Patient(s, concurrency=8, max_retries=2)
    answers = engines.complete(e, prompts, GREEDY, store)
    never = ("400", "huge")
    bad = {p for p in prompts if p.startswith(never) or " 99: " in p}
    assert {prompts[int(failure.id[1:])] for failure in answers.failed} == bad
    assert all(
        c.text == f"echo of {p}"
        for p, c in zip(prompts, answers.flat, strict=True)
        if p not in bad
    )
    assert len(store) == len(set(prompts) - bad)
    s.bodies.clear()
    engines.complete(Patient(s, max_retries=0), prompts, GREEDY, store)
    assert {body["prompt"] for body in s.bodies} == bad


def test_an_interruption_ends_the_workers_and_keeps_what_came(server, tmp_path):
    def report(progress, batch):
        if progress.done >= 5:
            raise KeyboardInterrupt

    s = server()
    store = Store(tmp_path)
    prompts = [*(f"p{i}" for i in range(5)), *(f"hang 9: {i}" for i in range(5))]
    with pytest.raises(KeyboardInterrupt):
        engines.complete(Patient(s, concurrency=2), prompts, GREEDY, store, report)
    assert len(store) == 5
    assert not [
        thread
        for thread in threading.enumerate()
        if thread.name.startswith("nlgeval-openai")
    ]


def test_it_works_where_an_event_loop_is_running_already(server):
    async def notebook():
        return engines.complete(Patient(server()), ["p"], GREEDY)

    assert asyncio.run(notebook())[0][0].text == "echo of p"


# -- the key


def test_the_key_is_sent_and_kept_nowhere(server, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    s = server()
    store = Store(tmp_path)
    e = Patient(s, max_retries=0)
    answers = engines.complete(e, ["good", "500 99: x", "400 99: y"], GREEDY, store)
    assert s.sent_keys == {f"Bearer {KEY}"}
    assert len(answers.failed) == 2 and all(
        "[key]" in failure.reason for failure in answers.failed
    )
    seen = [
        repr(e),
        str(vars(e)),
        repr(answers),
        str(answers.failed),
        str(answers.flat),
        e.signature(),
        caplog.text,
    ]
    seen += [path.read_bytes().decode(errors="replace") for path in tmp_path.iterdir()]
    assert not [text for text in seen if KEY in text]


def test_without_a_key_the_real_server_is_not_asked(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(engines.EngineError, match="OPENAI_API_KEY"):
        engines.complete(OpenAIEngine("gpt-x"), ["a"], GREEDY)


@pytest.mark.parametrize("case", cases("retry_after"), ids=json.dumps)
def test_retry_after_is_read_in_all_its_forms(case):
    assert retry_after(case["headers"], 1_700_000_000.0) == case["seconds"]


def test_geminis_wait_is_read_from_its_body():
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12s"}
    body = json.dumps([{"error": {"code": 429, "message": "x", "details": [delay]}}])
    answer = SimpleNamespace(status_code=429, headers={})
    assert _server.refused(answer, body.encode(), KEY, "K", 0.0).wait == 12
    answer.headers["retry-after"] = "3"
    assert _server.refused(answer, body.encode(), KEY, "K", 0.0).wait == 3
    answer.headers.clear()
    longer = body.replace("12s", "3600.5s").encode()
    assert _server.refused(answer, longer, KEY, "K", 0.0).wait is None


def test_a_clock_that_is_set_back_prolongs_no_wait(server):
    """The time of day serves to read a date in an answer, and for nothing else."""
    assert OpenAIEngine._now is time.monotonic
    hours = itertools.count(10, -1)
    engine = Patient(server(retry_after="20"), concurrency=1)
    engine._time_of_day = lambda: next(hours) * 3600.0
    engines.complete(engine, ["429 2: x", "y"], GREEDY)
    assert 40 <= engine.now - 1000 < 60


# -- what an answer may not be


def text(said: str, **more: object) -> bytes:
    return json.dumps(
        {"choices": [{"text": said, "finish_reason": "stop", **more}]}
    ).encode()


@pytest.fixture
def ask(server, tmp_path):
    """`ask(status, content)`: what one prompt comes to at a server that says this;
    and the server.
    """

    def start(status: int, content: bytes):
        one = server()
        one.says = status, content
        engine = Patient(one, max_retries=1)
        with Store(tmp_path / "store") as store:
            [[made]] = engines.complete(engine, ["p"], GREEDY, store)
        return made, one

    return start


@pytest.mark.parametrize(
    "content",
    [
        b"<html>" + KEY.encode(),
        json.dumps({"error": "x" * 100 + KEY}).encode(),
        text(f"you sent {KEY}"),
        text("4", finish_reason=[KEY]),
    ],
    ids=["page", "error", "text", "reason"],
)
def test_an_answer_with_the_key_in_it_is_kept_nowhere(ask, content, tmp_path):
    one, server = ask(200, content)
    assert (
        one.error == "the answer repeats the API key; nothing of it is kept"
        and len(server.bodies) == 1
    )
    assert not any(
        b"sk-proj-" in path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    )


def escaped(content: bytes) -> bytes:
    """JSON that says the same with each letter of the key as an escape."""
    hidden = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
    return content.replace(KEY.encode(), hidden.encode())


@pytest.mark.parametrize(
    "content",
    [
        text(f"you sent {KEY}"),
        text("4", model=KEY),
        json.dumps(
            {"choices": [{"text": "4", "finish_reason": "stop"}], "model": KEY}
        ).encode(),
        json.dumps(
            {
                "choices": [{"text": "4", "finish_reason": "stop"}],
                "system_fingerprint": KEY,
            }
        ).encode(),
    ],
    ids=["text", "choice", "model", "fingerprint"],
)
def test_an_answer_with_the_key_in_escapes_is_kept_nowhere(ask, content, tmp_path):
    assert KEY.encode() not in escaped(content)
    completion, _ = ask(200, escaped(content))
    if completion.finish_reason == "error":
        assert "repeats the API key" in completion.error
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY[:12].encode() not in kept


@pytest.mark.parametrize("way", KEY_FORMS)
def test_the_key_is_known_in_another_form(way):
    hidden = KEY_FORMS[way](SERVED_KEY)
    texts = {"text", "reasoning", "finish_reason", "served", "fingerprint"}
    for name in texts:
        made = Completion("k", **{"text": "4", name: f"see ({hidden}) there"})
        assert _server.repeats_key(made, SERVED_KEY)
    steps = tuple({sign: -0.1} for sign in hidden)
    second = tuple({"<the>": -0.1, sign: -2.0} for sign in hidden)
    halves = (hidden[:9], hidden[9:18], hidden[18:])
    one_step = (dict.fromkeys(("4", *halves), -2.0),)
    whole_in_one = ({"4": -0.1, hidden: -2.0},)
    for table in (steps, second, one_step, whole_in_one):
        made = Completion("k", "4", logprobs=table)
        assert _server.repeats_key(made, SERVED_KEY)
    short = SERVED_KEY[:24]
    for one, other in (("text", "reasoning"), ("reasoning", "text")):
        halves = {one: short[:12], other: short[12:]}
        assert _server.repeats_key(Completion("k", **{"text": "", **halves}), short)
    masked = without_key(f"bad key ({hidden})", SERVED_KEY)
    assert "[key]" in masked and not _server.has_key(masked, SERVED_KEY)


@pytest.mark.parametrize("way", ["base64", "reversed"])
def test_the_key_in_another_form_is_kept_nowhere(ask, way, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", SERVED_KEY)
    hidden = KEY_FORMS[way](SERVED_KEY)
    completion, _ = ask(200, text(f"you sent ({hidden}) here"))
    assert completion.error == "the answer repeats the API key; nothing of it is kept"
    failed, _ = ask(401, json.dumps({"error": {"message": hidden}}).encode())
    assert failed.error.startswith("HTTP 401: [key]")
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert hidden.encode() not in kept


def test_a_text_that_has_no_key_in_it_is_kept(ask, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SERVED_KEY)
    said = "An API key begins with sk- and is sent as Bearer; mine ends in 01234-Qq7."
    assert ask(200, text(said))[0].text == said
    assert ask(400, said.encode())[0].error == f"HTTP 400: {said}"


def test_headers_without_end_hold_no_start(server, monkeypatch):
    monkeypatch.setattr(_server, "_PATIENCE", 0.2)
    dripping = server()
    dripping.drips = True
    with pytest.warns(UserWarning, match="has not answered within 0.2 s what models"):
        assert Patient(dripping).revision.startswith("at:127.0.0.1:")


@pytest.mark.parametrize("count", [10**400, -1, "7", None, 1.5, True])
def test_a_count_of_tokens_that_is_none_counts_nothing(ask, count):
    answer = {"choices": [{"text": "4", "finish_reason": "stop"}]}
    answer["usage"] = {"prompt_tokens": count, "completion_tokens": 3}
    completion, _ = ask(200, json.dumps(answer).encode())
    assert (completion.prompt_tokens, completion.completion_tokens) == (0, 3)


@given(st.text(), st.integers(12, len(KEY)), st.text())
def test_no_reason_has_the_key_or_its_beginning(before, cut, after):
    assert KEY[:12] not in without_key(before + KEY[:cut] + after + KEY, KEY)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_named_by_its_variable(ask, status, monkeypatch):
    one, server = ask(
        status, json.dumps({"error": {"message": f"bad key {KEY}"}}).encode()
    )
    assert (
        one.error.endswith("bad key [key]; the key is that of OPENAI_API_KEY")
        and len(server.bodies) == 1
    )
    monkeypatch.delenv("OPENAI_API_KEY")
    assert ask(status, b'{"error": {"message": "who?"}}')[0].error.endswith(
        "no key was sent: set OPENAI_API_KEY"
    )


@pytest.mark.parametrize("name", ["length", "max_tokens", "MAX_TOKENS", "model_length"])
def test_an_answer_is_cut_by_any_name(ask, name):
    assert ask(200, text("4", finish_reason=name))[0].finish_reason == "length"


def test_log_probabilities_that_are_no_numbers_are_none(server, tmp_path):
    one = server()
    asked = Sampling(logprobs=0)
    table = {"tokens": ["4"], "token_logprobs": [float("nan")], "top_logprobs": None}
    one.says = 200, text("4", logprobs=table)
    [[made]] = engines.complete(Patient(one, max_retries=0), ["p"], asked)
    assert "no log-probabilities" in made.error


def test_a_log_probability_above_0_is_a_bad_answer(server):
    one = server()
    table = {"tokens": ["4"], "token_logprobs": [710.0], "top_logprobs": None}
    one.says = 200, text("4", logprobs=table)
    [[made]] = engines.complete(
        Patient(one, max_retries=0), ["p"], Sampling(logprobs=0)
    )
    assert "a log-probability above 0" in made.error


@pytest.mark.parametrize("fact", ["owned_by", "root", "quantization"])
def test_a_key_among_the_facts_of_a_model_is_kept_nowhere(server, fact):
    one = server()
    one.models = {"data": [{"id": "judge", fact: f"Bearer {KEY}"}]}
    engine = Patient(one)
    assert "[key]" in engine.revision
    assert KEY[:12] not in f"{engine.revision} {engine.about} {engine.signature()}"


@pytest.mark.parametrize(
    "settings",
    [
        {"extra_body": {"token": KEY}},
        {"name": KEY},
        {"revision": KEY},
        {"server": KEY},
        {"base_url": f"http://127.0.0.1:9/{KEY}/v1"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_a_setting_with_the_key_in_it_is_refused(settings):
    address = {"base_url": "http://127.0.0.1:9/v1"}
    with pytest.raises(ValueError, match="has the key of OPENAI_API_KEY") as caught:
        OpenAIEngine("judge", **{**address, **settings})
    assert KEY[:12] not in str(caught.value)


def test_an_address_that_cannot_be_asked_is_told_without_its_key():
    with pytest.raises(ValueError, match="is needed") as caught:
        _server.check_address(f"ftp://me:{KEY}@h/v1")
    assert KEY not in str(caught.value)


def test_a_server_that_ended_is_given_up_within_seconds(server):
    gone = server()
    engine = Patient(gone, concurrency=1)
    assert engine._met()["server"].startswith("127.0.0.1:")
    gone.stop()
    started = engine.now
    answers = engines.complete(engine, [f"p{i}" for i in range(20)], GREEDY)
    assert engine.now - started < 10
    assert len(answers.failed) == 20 and all(one.passing for one in answers.failed)
    assert any("start the server again" in one.reason for one in answers.failed)
