"""Who answered is in key, record, signature and table: two servers of one name are
two judges, everywhere.
"""

from __future__ import annotations

import json

import pandas as pd
import pytest
from cli_tools import asks, cases, jsonl, rows
from hostile_server import HostileServer

from nlgeval_lib import engines
from nlgeval_lib.engines import OpenAIEngine, Request, Sampling, _server
from nlgeval_lib.engines.store import Store
from nlgeval_lib.scoring.provenance import record_of
from nlgeval_lib.study import identity
from nlgeval_lib.study.catalogue import Judge

GREEDY = Sampling(max_tokens=9)


def listing(owner: str, **more: str) -> dict:
    return {"data": [{"id": "judge", "owned_by": owner, **more}]}


def scored(nl, server, *more: str) -> tuple[pd.DataFrame, dict]:
    """The scores of six rows by a server, and their record."""
    jsonl(server.folder / "in.jsonl", rows(6, aspect="overall", source="s"))
    got = nl(
        "score", "-e", "geval", "-i", "in.jsonl", "-o", "out.csv", *asks(server, *more)
    )
    assert got.code == 0, got.err
    return pd.read_csv("out.csv"), record_of("out.csv")["scores"]["value"]


@pytest.fixture
def two(judge, tmp_path):
    """Two servers of the model name `judge`: one says 2, the other 4."""
    made = [judge(lambda prompt: "Score: 2"), judge(lambda prompt: "Score: 4")]
    for one, owner in zip(made, ("vllm", "me"), strict=True):
        one.models, one.folder = listing(owner, root=f"/weights/of/{owner}"), tmp_path
    return made


def test_two_servers_under_one_name_give_two_rows(nl, two):
    first, second = (scored(nl, one) for one in two)
    assert first[0]["value"].eq(2).all() and second[0]["value"].eq(4).all()
    assert [len(one.bodies) for one in two] == [6, 6]
    for (_, record), server, owner in zip(
        (first, second), two, ("vllm", "me"), strict=True
    ):
        place = server.url.removeprefix("http://").removesuffix("/v1")
        assert (
            f"model:judge@at:{place}+owner:{owner}+root:{owner}|" in record["signature"]
        )
        about = {"server": place, "owner": owner, "root": owner, "version": "1.2.3"}
        assert record["about"] == about and record["date"]
        assert record["completions_made_by"] == {
            f"{owner} 1.2.3": [record["date"][:10]] * 2
        }
    again, record = scored(nl, two[0])
    assert (
        len(two[0].bodies) == 6
        and again.equals(first[0])
        and record["signature"] == first[1]["signature"]
    )


def test_other_weights_behind_one_address_are_another_judge(nl, two):
    scored(nl, two[0])
    two[0].models = listing("vllm", root="org/other-weights")
    assert (
        scored(nl, two[0])[1]["revision"].endswith("+root:org/other-weights")
        and len(two[0].bodies) == 12
    )


def test_what_is_sent_besides_is_a_setting_like_any_other(nl, two):
    think = 'extra_body={"chat_template_kwargs": {"enable_thinking": %s}}'
    for step, value in enumerate(("true", "false", "true"), 1):
        record = scored(nl, two[0], "--engine-set", think % value)[1]
        assert (
            f'+extra:{{"chat_template_kwargs":{{"enable_thinking":{value}}}}}|'
            in record["signature"]
        )
        assert record["extra_body"]["chat_template_kwargs"] == {
            "enable_thinking": value == "true"
        }
        assert len(two[0].bodies) == 6 * min(step, 2)


def test_a_name_of_ones_own_for_servers_whose_addresses_change(two):
    two[1].models = two[0].models
    keys = {
        OpenAIEngine("judge", base_url=one.url, server="lab").revision for one in two
    }
    assert keys == {"at:lab+owner:vllm+root:vllm"}


def test_openais_own_server_is_named_by_none_and_the_environments_is_told(
    monkeypatch, two
):
    for address in (None, "https://api.openai.com/v1", "https://API.openai.com/v1/"):
        assert OpenAIEngine("gpt-4", base_url=address, revision="r").revision == "r"
    assert (
        OpenAIEngine("gpt-4", extra_body={"a|b": "+"}).revision
        == 'extra:{"a\\u007cb":"\\u002b"}'
    )
    monkeypatch.setenv("OPENAI_BASE_URL", two[0].url)
    with pytest.warns(
        UserWarning,
        match=f"OPENAI_BASE_URL is set: {_server.place(two[0].url)} is asked",
    ):
        engine = OpenAIEngine("judge")
    engines.complete(engine, [Request.chat("hi")], GREEDY)
    assert len(two[0].bodies) == 1 and engine.revision.startswith(
        f"at:{_server.place(two[0].url)}"
    )


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"data": None},
        {"data": [None, {"id": "x"}]},
        {"data": [{"id": "judge"}]},
        [],
    ],
)
def test_a_server_that_tells_nothing_is_known_by_its_address(told):
    server = HostileServer()
    server.models = told
    assert (
        OpenAIEngine("judge", base_url=server.url).revision
        == f"at:{_server.place(server.url)}"
    )
    server.stop()


@pytest.mark.parametrize(
    ("which", "again"), [("empty", 1), ("unparsed", 3), ("failed", 0)]
)
def test_what_gave_nothing_is_asked_again_when_told_to(
    nl, judge, tmp_path, which, again
):
    said = {0: " ", 1: "no idea", 2: "no idea"}
    server = judge(
        lambda prompt: said.get(
            next((i for i in range(6) if f"answer {i}" in prompt), 9), "Score: 2"
        )
    )
    server.folder = tmp_path
    first = scored(nl, server, "--max-missing", "1")[0]
    said.clear()
    second = scored(nl, server, "--max-missing", "1", "--ask-again", which)[0]
    assert (
        len(server.bodies) == 6 + again
        and second["value"].notna().sum() == first["value"].notna().sum() + again
    )
    got = nl(
        "score",
        "-e",
        "geval",
        "-i",
        "in.jsonl",
        "-n",
        *asks(server, "--ask-again", which),
    )
    assert got.code == 2 and "--ask-again removes stored completions" in got.err


def test_a_list_of_aspects_that_cannot_be_used_is_asked_again(nl, judge, tmp_path):
    """One list that nobody can read loses every row."""
    lists = iter(["no idea", "Aspect 1: Wit: how witty.\nAspect 2: Tact: how tactful."])

    def reply(prompt: str) -> str:
        if "Aspect 1" not in prompt and "two" in prompt:
            return next(lists)
        return '{"Wit": 3, "Tact": 4}' if "Wit: how" in prompt else "Score: 2"

    server = judge(reply)
    jsonl(tmp_path / "in.jsonl", rows(3, aspect="overall", source="s"))
    call = ("score", "-e", "coascore", "-s", "n=2", "-i", "in.jsonl", "-o", "out.csv")
    nl(*call, *asks(server, "--max-missing", "1"))
    assert pd.read_csv("out.csv")["value"].isna().all()
    nl(*call, *asks(server, "--max-missing", "1", "--ask-again", "unparsed"))
    assert next(lists, None) is None
    assert len(server.bodies) > 2


# -- in the papers' tables


@pytest.mark.parametrize("case", cases("own_judges"), ids=json.dumps)
def test_who_is_the_papers_judge(case):
    judge = Judge(
        id="id",
        evaluator="geval",
        data="summeval",
        model=case.get("asked", "gpt-4"),
        revision=case["named"],
    )
    grade = identity.of(judge, case["model"], case["revision"], case.get("served", ()))
    assert grade == case["grade"] and grade.papers_own is case["own"]


@pytest.mark.parametrize(
    ("named_models", "served"),
    [
        (["judge"], [""]),
        (["judge-2024"], ["judge-2024"]),
        (["judge", "judge-2024"], ["", "judge-2024"]),
    ],
    ids=["as asked", "another", "changes in the middle"],
)
def test_the_name_in_each_answer_is_kept_with_it(named_models, served, tmp_path):
    server = HostileServer()
    engine = OpenAIEngine("judge", base_url=server.url)
    with Store(tmp_path) as store:
        for turn, model in enumerate(named_models):
            choice = {"message": {"content": "4"}, "finish_reason": "stop"}
            answer = {"model": model, "system_fingerprint": "fp_1", "choices": [choice]}
            server.says = 200, json.dumps(answer).encode()
            request = Request.chat(f"question {turn}")
            answers = engines.complete(engine, [request], GREEDY, store)
            assert answers.served == {model}
        kept = store.get_many(store.keys()).values()
        assert [completion.served for completion in kept] == served
        assert {completion.fingerprint for completion in kept} == {"fp_1"}
        replayed = engines.ReplayEngine(store, "judge")
        requests = [Request.chat(f"question {turn}") for turn in range(len(served))]
        answers = engines.complete(replayed, requests, GREEDY, store)
        assert answers.served == set(named_models)
    server.stop()
