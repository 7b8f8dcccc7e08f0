"""Settings, requests, `complete`, and the engines that run no model."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import itertools
import json
import multiprocessing
import random
import sqlite3
import sys
from dataclasses import replace
from types import ModuleType

import pytest
from cli_tools import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgeval_lib import engines
from nlgeval_lib.engines import (
    EngineError,
    ReplayEngine,
    Request,
    Sampling,
    ScriptedEngine,
    vllm,
)
from nlgeval_lib.engines.store import Store
from nlgeval_lib.records import Completion

DRAWS = Sampling(temperature=1.0, n=3, max_tokens=20)


def echo(request, draw):
    return f"{request.text()} / {draw}"


# -- settings


@pytest.mark.parametrize("case", cases("asks_refused"), ids=json.dumps)
def test_settings_and_requests_out_of_range_are_refused(case):
    with pytest.raises((ValueError, TypeError), match=case["says"]):
        getattr(engines, case["of"])(**case["given"])


# -- complete


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from("abcdef"), max_size=12),
    st.integers(1, 4),
    st.integers(1, 5),
    st.data(),
)
def test_order_is_kept_and_nothing_is_asked_twice(
    tmp_path_factory, prompts, n, batch_size, data
):
    store = Store(tmp_path_factory.mktemp("store"))
    sampling = Sampling(temperature=1.0, n=n)
    before = data.draw(st.lists(st.sampled_from("abcdef"), max_size=3))
    engines.complete(ScriptedEngine(echo), before, Sampling(temperature=1.0), store)
    engine = ScriptedEngine(echo, batch_size=batch_size)
    answers = engines.complete(engine, prompts, sampling, store)
    assert [answers[i] for i in range(-len(prompts), 0)] == answers[:] == list(answers)
    assert [[c.text for c in draws] for draws in answers] == [
        [f"{p} / {i}" for i in range(n)] for p in prompts
    ]
    wanted = {(p, i) for p in prompts for i in range(n)}
    asked = [(ask.request.prompt, ask.draw) for ask in engine.asked]
    assert len(asked) == len(set(asked)) and set(asked) == wanted - {
        (p, 0) for p in before
    }
    assert (answers.progress.total, answers.progress.done) == (len(wanted), len(asked))
    assert len(store) == len(wanted | {(p, 0) for p in before})
    assert (
        engines.complete(ScriptedEngine([]), prompts, sampling, store).flat
        == answers.flat
    )
    store.close()


def test_shards_ask_their_own_part_and_their_stores_make_the_whole(tmp_path):
    prompts = [f"prompt {i}" for i in range(200)]
    parts = []
    with Store(tmp_path / "all") as whole:
        for i in range(3):
            with Store(tmp_path / str(i)) as store:
                engine = ScriptedEngine(echo)
                engine.shard = (i + 1, 3)
                answers = engines.complete(engine, prompts, DRAWS, store)
                assert (
                    not answers.failed
                    and answers.progress.left == 0
                    and answers.progress.total == len(store)
                )
                others = [
                    one
                    for one in answers.flat
                    if one.error == "another shard is to ask this"
                ]
                assert len(others) == 600 - len(store)
                parts.append({ask.key for ask in engine.asked})
            whole.merge(tmp_path / str(i))
        assert (
            sum(map(len, parts)) == len(set().union(*parts)) == 600
            and min(map(len, parts)) > 150
        )
        assert (
            engines.complete(ScriptedEngine([]), prompts, DRAWS, whole).progress.stored
            == 600
        )


def test_failures_are_named_and_not_stored_and_asked_again(tmp_path):
    def script(request, draw):
        if request.id == "bad" and draw == 1:
            raise TimeoutError("no  answer\nin time")
        return "fine"

    store = Store(tmp_path)
    seen = []
    requests = [Request(prompt="x", id="good"), Request(prompt="y", id="bad")]

    def report(state, batch):
        seen.append((state.stored, state.done, state.failed, state.left, len(batch)))

    answers = engines.complete(
        ScriptedEngine(script, batch_size=4), requests, DRAWS, store, report
    )
    [failure] = answers.failed
    assert (failure.id, failure.draw, failure.reason) == (
        "bad",
        1,
        "TimeoutError: no answer in time",
    )
    assert answers[1][1].finish_reason == "error" and answers[1][1].text == ""
    assert (
        seen == [(0, 0, 0, 6, 0), (0, 4, 0, 2, 4), (0, 5, 1, 0, 2)] and len(store) == 5
    )
    assert (answers.progress.prompt_tokens, answers.progress.completion_tokens) == (
        5,
        5,
    )
    engine = ScriptedEngine(echo)
    assert engines.complete(engine, requests, DRAWS, store).failed == ()
    assert [(ask.request.id, ask.draw) for ask in engine.asked] == [("bad", 1)]


HALF = "a\ud800b"
STRAY = Completion(key="0" * 64, text="?")


def test_half_a_character_fails_its_own_request_only(tmp_path):
    requests = [
        Request(HALF, id="odd"),
        Request("fine é"),
        Request.chat(HALF),
        Request("emoji 😀"),
    ]
    with Store(tmp_path) as store:
        answers = engines.complete(
            ScriptedEngine(lambda request, draw: "4"), requests, Sampling(), store
        )
        assert len(store) == 2
    assert [one.finish_reason for one in answers.flat] == [
        "error",
        "stop",
        "error",
        "stop",
    ]
    assert [failure.id for failure in answers.failed] == ["odd", "#2"]
    assert all("half a character" in failure.reason for failure in answers.failed)
    assert (answers.progress.done, answers.progress.failed, answers.progress.left) == (
        2,
        2,
        0,
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda made: [*made, STRAY], "not asked"),
        (lambda made: [STRAY], "not asked"),
        (lambda made: made[1:], ""),
    ],
)
def test_an_engine_that_forgets_one_has_failed_it_and_must_invent_none(
    monkeypatch, change, said
):
    def generate(asks, sampling):
        yield change([engine._answer(ask) for ask in asks])

    engine = ScriptedEngine(echo)
    monkeypatch.setattr(engine, "generate", generate)
    if said:
        with pytest.raises(RuntimeError, match=said):
            engines.complete(engine, ["a", "b"], Sampling())
        return
    answers = engines.complete(engine, ["a", "b"], Sampling())
    assert [(failure.id, failure.reason) for failure in answers.failed] == [
        ("#0", "the engine gave no answer")
    ]
    assert answers[1][0].text == "b / 0"


def test_kills_at_any_moment_and_the_same_store(tmp_path):
    """Killed at 15 random moments and resumed: the store of an undisturbed run, and
    nothing finished asked again.
    """
    prompts = [f"prompt {i}" for i in range(2000)]
    draw = random.Random(3)

    def run(folder, report=None):
        with Store(folder) as store:
            engines.complete(
                ScriptedEngine(echo, batch_size=3), prompts, Sampling(), store, report
            )
            return store.get_many(store)

    fork = multiprocessing.get_context("fork")
    finished = []
    for _ in range(15):
        ours, theirs = fork.Pipe(duplex=False)
        # few keys ahead: no child ends before it is killed
        fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
        tell = functools.partial(
            lambda pipe, _, batch: pipe.send([c.key for c in batch]), theirs
        )
        child = fork.Process(target=run, args=(tmp_path / "killed", tell))
        child.start()
        theirs.close()
        got = [ours.recv() for _ in range(draw.randint(1, 10))]
        child.kill()
        child.join()
        assert child.exitcode == -9
        with contextlib.suppress(EOFError, OSError):
            while True:
                got.append(ours.recv())
        finished += itertools.chain.from_iterable(got)
    assert len(finished) > 100
    assert len(finished) == len(set(finished)), "a finished completion was asked again"
    assert run(tmp_path / "killed") == run(tmp_path / "undisturbed")
    assert Store(tmp_path / "killed").verify() == []


def test_what_another_run_stored_meanwhile_is_the_truth(tmp_path):
    """Claims lapse: an engine may be asked for what comes to be stored while it
    writes.
    """
    other = Store(tmp_path)

    def script(request, draw):
        [ask] = [ask for ask in engine.asked if ask.request is request]
        other.put(Completion(key=ask.key, text="first", model="scripted", revision="0"))
        return "second"

    engine = ScriptedEngine(script)
    [[made]] = engines.complete(engine, ["p"], Sampling(), Store(tmp_path))
    assert made.text == "first" == other.get(made.key).text


# -- engines without a model


def test_a_script_that_is_too_short_says_so():
    with pytest.raises(
        ValueError, match="the script has 2 answers, and request #2 needs one more"
    ):
        engines.complete(ScriptedEngine(["a", "b"]), ["x", "y", "z"], Sampling())
    with pytest.raises(ValueError, match="one text"):
        ScriptedEngine("abc")


def test_replay_answers_from_the_store_alone(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(EngineError, match="no revision of 'm'; it holds nothing"):
        ReplayEngine(store, "m")
    made = engines.complete(
        ScriptedEngine(echo, model="m", revision="7"), ["a", "b"], DRAWS, store
    )
    replayed = engines.complete(ReplayEngine(store, "m"), ["b", "a"], DRAWS)
    assert [c.text for c in replayed.flat] == [c.text for c in [*made[1], *made[0]]]
    engines.complete(
        ScriptedEngine(echo, model="m", revision="7"), ["c"], replace(DRAWS, n=1), store
    )
    words = r"2 completions are not in Store.*c1 \(draw 1\), c1 \(draw 2\)"
    with pytest.raises(EngineError, match=words):
        engines.complete(
            ReplayEngine(store, "m", "7"), [Request(prompt="c", id="c1"), "a"], DRAWS
        )
    engines.complete(
        ScriptedEngine(echo, model="m", revision="8"), ["a"], Sampling(), store
    )
    with pytest.raises(EngineError, match="2 revisions of 'm'; it holds m@7, m@8"):
        ReplayEngine(store, "m")


def test_what_was_refused_is_told_from_what_was_never_asked(tmp_path):
    store = Store(tmp_path)
    [[made]] = engines.complete(
        ScriptedEngine(echo, model="m"), ["a"], Sampling(), store
    )
    asker = ReplayEngine(store, "m", refused={})
    first = engines.complete(asker, ["a", "b", "c"], Sampling())
    assert (
        first.flat[0] == made
        and asker.missing == [one.key for one in first.flat[1:]]
        and not asker.excused
    )
    again = ReplayEngine(store, "m", refused={asker.missing[0]: "no room"})
    failed = engines.complete(again, ["b", "c"], Sampling()).failed
    assert [one.reason for one in failed] == ["no room", "not in the store"]
    assert (again.excused, again.missing) == (asker.missing[:1], asker.missing[1:])


def test_make_knows_the_engines_and_helps_with_the_others():
    assert isinstance(engines.make("scripted", answers=["x"]), ScriptedEngine)
    with pytest.raises(ValueError, match=r"did you mean 'transformers'"):
        engines.make("transformer")
    with pytest.raises(TypeError, match="modell"):
        engines.make("scripted", answers=[], modell="x")


class Seeded(ScriptedEngine):
    """Keeps seeds: by the same one it says the same."""

    def generate(self, asks, sampling):
        for ask in asks:
            yield [self._made(ask, text=str(ask.seed))]


def test_what_is_thrown_away_is_asked_by_another_seed_each_time(tmp_path):
    engine = Seeded(echo)
    with Store(tmp_path) as store:
        first = engines.complete(engine, ["a", "b"], DRAWS, store)
        keys = [one.key for one in first.flat]
        assert [one.text for one in first.flat] == [
            str(int(key[:8], 16) >> 1) for key in keys
        ]
        said = {keys[1]: {first.flat[1].text}}
        for times in (1, 2):
            assert store.forget([keys[1]], thrown_away=True) == 1
            assert store.thrown_away(keys) == {keys[1]: times}
            again = engines.complete(engine, ["a", "b"], DRAWS, store)
            assert again.progress.done == 1, "the others stay"
            said[keys[1]].add(again.flat[1].text)
            assert [one.key for one in again.flat] == keys
        assert len(said[keys[1]]) == 3
        # of greedy decoding there is no seed, and what is forgotten is as never asked
        store.forget([keys[0]])
        last = engines.complete(engine, ["a", "b"], DRAWS, store)
        assert last.flat[0].text == first.flat[0].text


def test_a_store_of_before_counts_what_is_thrown_away_too(tmp_path):
    with Store(tmp_path) as store:
        [made] = engines.complete(Seeded(echo), ["a"], Sampling(), store).flat
    with contextlib.closing(sqlite3.connect(store.path)) as database:
        database.execute("DROP TABLE thrown_away")
        database.commit()
    with Store(tmp_path) as store:
        assert store.thrown_away([made.key]) == {}
        store.forget([made.key], thrown_away=True)
        assert store.thrown_away([made.key]) == {made.key: 1}


# -- vLLM's package


@pytest.mark.parametrize("has_dispatcher", [True, False])
def test_what_a_vllm_has_is_repaired(monkeypatch, has_dispatcher):
    package = ModuleType("vllm")
    modules = {"vllm": package, "vllm.triton_utils": ModuleType("triton_utils")}
    dispatcher = ModuleType("dispatcher")
    modules["vllm.triton_utils.dispatcher"] = dispatcher if has_dispatcher else None
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    assert vllm._import_vllm() is package
    assert ("vars" in vars(dispatcher)) == has_dispatcher


def test_where_there_is_no_vllm_the_way_to_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(EngineError, match="install the `gpu` group"):
        vllm._import_vllm()
