"""Who answered is in key, record, signature and table: two servers of one name are
two judges, everywhere.
"""

from __future__ import annotations

import itertools
import json

import pandas as pd
import pytest
from cli_tools import KEY, asks, cases, jsonl, rows
from hostile_server import HostileServer

from nlgeval_lib import engines
from nlgeval_lib.engines import OpenAIEngine, Request, Sampling, _server
from nlgeval_lib.engines.store import Store
from nlgeval_lib.scoring.provenance import record_of
from reproduction.report import answers
from reproduction.study import catalogue, identity
from reproduction.study.catalogue import Judge

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


def test_what_is_asked_again_is_asked_by_another_seed_and_counted(nl, judge, tmp_path):
    """A server that keeps seeds would give the same answer."""
    server = judge(lambda prompt: "no idea" if "answer 1" in prompt else "Score: 2")
    server.folder = tmp_path
    drawn = ("-s", "temperature=1", "--max-missing", "1")
    scored(nl, server, *drawn)
    for times in (1, 2):
        record = scored(nl, server, *drawn, "--ask-again", "unparsed")[1]
        assert len(server.bodies) == 6 + times
        assert (
            record["completions"]["asked_again"] == record["completions"]["done"] == 1
        )
    asked = [body for body in server.bodies if "answer 1" in str(body["messages"])]
    assert len(asked) == 3 and len({body["seed"] for body in asked}) == 3
    assert "asked_again" not in scored(nl, server, *drawn)[1]["completions"]


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
    grade = identity.identify_model(
        judge, case["model"], case["revision"], case.get("served", ())
    )
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


PAPERS = "org/judge-7b"  # the model of the printed row
TABLE = """
from nlgeval_lib import datasets
from reproduction import report
from reproduction.study import judged_rows
import numpy as np, pandas as pd
items = datasets.items(datasets.load("mini"))
out = report.Output("one", mode=mode, parameters=dict(seed=seed))
judged = judged_rows.judged_rows("one", items, {"BLEU": "terse"})
rows = []
for row, scores in judged.scores.items():
    cell = dict(row=row, column="A", statistic="accuracy", route="run")
    value = np.nanmean([*scores.values()])
    rows.append({**cell, "value": value, "signature": judged.signatures[row]})
out.compare(pd.DataFrame(rows), lacking=judged.lacking)
out.save()
"""
JUDGE = f"""
[output.judges]
terse = {{ judge = "terse", fill = ["aspect=coherence"], where = ["system_id=clean"] }}

[[judge]]
id = "terse"
evaluator = "llmscore"
data = "mini"
model = "{PAPERS}"
settings = ["task=summary", "low=1", "high=5"]
"""
# What stands behind the address, a server or two: its owner, what it says it has
# loaded, how it names its answers in turn. Then whose rows there are beside the
# paper's, and whether the paper's own has a number.
SERVERS = {
    "own server, the genuine root": ([("vllm", PAPERS, [PAPERS])], [], True),
    "another name": ([("vllm", PAPERS, ["mixtral"])], ["mixtral"], False),
    "an alias with a date": (
        [("vllm", PAPERS, [f"{PAPERS}-2024-05"])],
        [f"{PAPERS}-2024-05"],
        False,
    ),
    "changes in the middle": (
        [("vllm", PAPERS, [PAPERS, "mixtral"])],
        [f"{PAPERS} and mixtral"],
        False,
    ),
    "two servers": (
        [("vllm", PAPERS, [PAPERS]), ("me", "", [PAPERS])],
        [f"{PAPERS}@at:"],
        True,
    ),
    "two others": (
        [("me", "", [PAPERS]), ("vllm", "mixtral", [PAPERS])],
        [f"{PAPERS}@at:", f"{PAPERS}@at:"],
        False,
    ),
}


@pytest.mark.parametrize("case", list(SERVERS))
def test_who_answered_decides_the_row_of_a_table(case, here, nl, judge, monkeypatch):
    """From servers over the store and the notebook to the page: no number of another
    model in the paper's row, and no table that stays as it was.
    """
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    here.data("mini/mini.jsonl", "models.toml", "prices.csv", "judged_cells.csv")
    here.output("one", TABLE, more='covers = ["table_01"]\nroute = "run"\n' + JUDGE)
    servers, others, papers_own = SERVERS[case]
    for number, (owner, root, names) in enumerate(servers):
        server = judge(lambda prompt, score=2 + number: f"Score: {score}")
        server.models = {"data": [{"id": PAPERS, "owned_by": owner, "root": root}]}
        server.named = itertools.cycle(names).__next__
        filled = nl("completions", "--engine", "openai", "--base-url", server.url)
        assert filled.code == 0, filled.err
    assert nl("run", "one").code == 0
    results = here.root / "results"
    cells = pd.read_csv(results / "hdeval" / "one.csv")
    printed = cells[cells["row"] == "BLEU"]["ours"]
    assert printed.notna().tolist() == [papers_own]
    apart = cells[cells["row"].str.startswith("BLEU, judged by ")]
    assert len(apart) == len(others) and apart["ours"].notna().all()
    for row, name in zip(apart["row"], others, strict=True):
        assert row.startswith(f"BLEU, judged by {name}")
    [page] = answers.pages(catalogue.load().outputs).values()
    for name in others:
        assert f"judged by {name}" in page.decode()
    assert not (results / "partial").exists()
