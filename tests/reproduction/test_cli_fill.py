"""`nlgeval completions` over the catalogue's judges: planned, made model by model,
read by notebooks, asked once.
"""

from __future__ import annotations

import importlib.metadata
import io
import json
import sys
from types import SimpleNamespace

import pandas as pd
import pytest
from cli_tools import KEY, RUBRIC
from engine_fixtures import CACHE, CONTEXT, no_vllm
from runner_tools import Checkout

from nlgeval_lib import datasets, files, names
from nlgeval_lib.engines import Progress as Came
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.scoring import EngineChoice, planning
from nlgeval_lib.scoring.asking import ProgressBar
from reproduction.runner import session
from reproduction.runner.session import Progress
from reproduction.runner.stale import Options
from reproduction.study import (
    EngineOptions,
    catalogue,
    completions,
    gpu_rate,
    judge_scores,
    judges,
    plan_totals,
    question_rows,
)

LLAMA = "meta-llama/Llama-2-7b-chat-hf"
PROMETHEUS = "kaist-ai/prometheus-7b-v1.0"
API = "gpt-4-0613"
JUDGES = {  # id: evaluator, model, settings
    "n=2": (
        "coascore",
        LLAMA,
        ["task=summary", "n=2", "aspect_sampling.max_tokens=200"],
    ),
    "absolute": ("prometheus", PROMETHEUS, ["n=1", "max_tokens=64"]),
    "terse": ("llmscore", LLAMA, ["task=summary", "max_tokens=4"]),
    "api": ("geval", API, []),
}
READ = {  # output: {name: judge, with what in a column}
    "one": {"n=2": ("n=2", "aspect=coherence"), "terse": ("terse", "aspect=fluency")},
    "two": {
        "absolute": ("absolute", f"rubric={RUBRIC}"),
        "terse": ("terse", "aspect=fluency"),
        "api": ("api", "aspect=fluency"),
    },
}
READS = """from reproduction import report, study
made = study.judge_scores({id!r}, {judge!r}, mode=mode)
out = report.Output({id!r}, mode=mode, parameters=dict(seed=seed), route=made.route)
if made.available:
    kept = made.frame[["input_id", "value", "status"]].assign(route=made.route, signature=made.signature)
    out.frame(kept, "scores")
else:
    import pandas as pd
    out.frame(pd.DataFrame([dict(why=made.why)]), "scores")
out.save()"""


@pytest.fixture
def here(here, tmp_path, monkeypatch):
    """A checkout with the mini set, two outputs and their judges; its state lies
    elsewhere.
    """
    monkeypatch.setenv("NLGEVAL_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    here.data("mini/mini.jsonl", "models.toml", "prices.csv", "judged_cells.csv")
    more = 'route = "run"\ncovers = []\n'
    here.output("one", READS.format(id="one", judge="n=2"), more=more)
    here.output("two", READS.format(id="two", judge="absolute"), more=more)
    return here


@pytest.fixture
def nl(here, command):
    return command


def listed(here: Checkout, structured: bool = False, where: str = "") -> None:
    """Write judges into the catalogue, and what outputs read of them; where: the
    rows of "terse" that "two" reads.
    """
    entries = []
    for entry in here.entries:
        output = next(name for name in READ if f'id = "{name}"' in entry)
        lines = []
        for name, (judge, fill) in READ[output].items():
            rows = (
                f", where = [{json.dumps(where)}]"
                if where and (output, name) == ("two", "terse")
                else ""
            )
            lines.append(
                f"{json.dumps(name)} = {{ judge = {json.dumps(judge)}, fill = [{json.dumps(fill)}]{rows} }}"
            )
        entries.append("\n".join([entry.rstrip(), "[output.judges]", *lines]))
    for name, (evaluator, model, settings) in JUDGES.items():
        if structured and model != API:
            form = "yes" if evaluator == "llmscore" else "json"
            settings = [*settings, f"structured={form}"]
        pairs = {
            "id": name,
            "evaluator": evaluator,
            "data": "mini",
            "model": model,
            "settings": settings,
        }
        pairs |= {"api": True} if model == API else {}
        entries.append(
            "[[judge]]\n"
            + "\n".join(f"{key} = {json.dumps(value)}" for key, value in pairs.items())
        )
    here.catalogue("\n\n".join(entries))


@pytest.fixture
def loaded(monkeypatch):
    """Which models were loaded, in order; each is an engine that says 3."""
    made = []

    def answer(request, draw):
        if "Your task is to list" in request.text():
            return "Clarity: is it clear?\nTruth: is it true?"
        return (
            '{"Clarity": 3, "Truth": 4}'
            if "in JSON format" in request.text()
            else "3 [RESULT] 3"
        )

    def start(self, kept=None):
        if self.engine == "replay" or self.planning:
            return real(self, kept)
        label = next(
            (text[5:] for text in self.settings if text.startswith("name=")), self.model
        )
        made.append(ScriptedEngine(answer, model=label, revision="main"))
        return made[-1]

    real = EngineChoice.start
    monkeypatch.setattr(EngineChoice, "start", start)
    return made


def run(mode: str = "quick") -> str:
    shown = io.StringIO()
    every = catalogue.load()
    session.Session(every, Options(mode=mode), Progress(2, shown)).run(every.outputs)
    return shown.getvalue()


def test_the_plan_names_models_completions_and_hours(here, nl, loaded):
    listed(here)
    got = nl(
        "completions",
        "--engine",
        "vllm",
        "--dry-run",
        "--mode",
        "quick",
        "--rate",
        "100",
    )
    assert got.code == 0 and not loaded, got
    lines = got.out.splitlines()
    named = [
        line.split()[0]
        for line in lines
        if line.startswith((LLAMA + " ", PROMETHEUS + " "))
    ]
    assert named[:2] == [LLAMA, PROMETHEUS]
    [terse] = [
        line for line in lines if "terse aspect=fluency" in line
    ]  # asked by two outputs in the same way: once
    assert "one, two" in terse
    todo, _ = completions.select(catalogue.load(), EngineOptions("vllm"))
    planned = completions.plan_catalogue(
        todo, EngineOptions("vllm", mode="quick", planning=True)
    )
    sizes = planned.groupby("model")[["to_ask", "prompt_tokens", "limit"]].sum()
    sizes["new"] = planning.GUESS * sizes["limit"]
    takes = {
        line.split()[0]: line.split()
        for line in got.out.partition("what the models take")[2].splitlines()
        if line
    }
    for model, one in [*sizes.iterrows(), ("all", sizes.sum())]:
        for name in ("to_ask", "prompt_tokens", "new", "limit"):
            assert f"{one[name]:,.0f}" in takes[model], (model, name)
    assert {"1", "x", "48", "GB"} <= {
        *takes[LLAMA]
    } and f"{LLAMA}: gated: accept" in got.out
    assert (
        "100 new tokens a second, as given" in got.out
        and "a guess of 20% of the limit" in got.out
    )
    assert "four characters a token" in got.out
    assert "1 judges are for --engine openai" in got.out and API in lines[-1]
    assert "estimates depend on answers" in got.out


def test_the_plan_of_both_kinds_says_what_an_hour_and_a_dollar_give(
    here, nl, monkeypatch, tmp_path
):
    listed(here)
    (here.root / "data" / "judged_cells.csv").write_text(
        f"paper,table,model,cells\nhdeval,table_01,{LLAMA},3\nhdeval,table_01,{API},40\nhdeval,table_02,{LLAMA},999\n"
    )
    for number, entry in enumerate(here.entries):
        here.entries[number] = entry.replace("covers = []", 'covers = ["table_01"]')
    listed(here)
    planned = pd.concat(
        completions.plan_catalogue(
            part, EngineOptions(engine, mode="quick", planning=True)
        )
        for engine, part in zip(
            ("vllm", "openai"),
            completions.select(catalogue.load(), EngineOptions("vllm")),
            strict=True,
        )
    )
    found = plan_totals.totals(planned).set_index("model")
    assert (
        found.loc[[LLAMA, API], "cells"].tolist() == [3, 40]
        and found["an_hour"].is_monotonic_decreasing
    )
    own = found.loc[API]
    assert own["dollars"] == pytest.approx(
        (30 * own["prompt_tokens"] + 60 * own["new_tokens"]) / 1e6
    )
    llama = found.loc[LLAMA]
    speed = plan_totals.RATE / 6.74
    assert llama["hours"] * 3600 == pytest.approx(
        (llama["new_tokens"] + llama["prompt_tokens"] / 10) / speed
    )
    assert (
        llama["dollars"] == pytest.approx(2.5 * llama["hours"])
        and llama["a_dollar"] == 3 / llama["dollars"]
    )
    gpu_rate.write(
        {"model": "m", "billions": 3.37, "tokens_a_second": 100, "load_seconds": 30}
    )
    on_this_gpu = plan_totals.totals(planned).set_index("model")
    tokens = llama["new_tokens"] + llama["prompt_tokens"] / 10
    assert on_this_gpu.loc[LLAMA, "hours"] * 3600 == pytest.approx(tokens / 50 + 60)
    assert on_this_gpu.loc[API, "hours"] == own["hours"]
    got = nl("completions", "--dry-run", "--mode", "quick")
    assert "30 s to load, as `make gpu-check` measured m here" in got.out
    assert (
        got.code == 0
        and API in got.out
        and PROMETHEUS in got.out
        and "are for --engine" not in got.out
    )


def test_a_checkout_without_notebooks_and_their_packages_asks(
    here, nl, loaded, monkeypatch
):
    """A bare one, on PYTHONPATH: the package's metadata are not there either."""

    def none_there(name):
        raise importlib.metadata.PackageNotFoundError(name)

    listed(here)
    for entry in catalogue.load().outputs:
        entry.path.unlink()
    for name in ("nbformat", "papermill", "pooch"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(importlib.metadata, "requires", none_there)
    got = nl("completions", "--engine", "vllm", "--mode", "quick")
    assert got.code == 0 and loaded, got.err
    # to run them, they are needed
    assert "there is no notebooks/" in nl("run", "--dry-run").err
    assert names.extra("sklearn.svm") == "pip install scikit-learn brings it"


def planned_by_keys(rows: pd.DataFrame, options: EngineOptions) -> pd.DataFrame:
    """What each judge of a plan would ask, from the keys of its requests."""
    counts = []
    keys_of_model: dict[str, set[str]] = {}
    for row in rows.itertuples():
        job = judges.job(row.question, options)
        known = keys_of_model.setdefault(row.model, set())
        totals = dict.fromkeys(("completions", "to_ask", "limit", "prompt_tokens"), 0.0)
        for stage in job.planned():
            for request in stage.requests:
                keys = request.keys(job.engine, stage.sampling)
                new = set(keys) - known
                known |= new
                lacking = len(new) - len(job.store.get_many(new))
                totals["completions"] += len(keys)
                totals["to_ask"] += lacking
                totals["limit"] += lacking * stage.sampling.max_tokens
                totals["prompt_tokens"] += lacking * len(request.text()) / 4
        counts.append(totals)
    return pd.DataFrame(counts, index=rows.index)


def test_a_plan_counts_what_the_keys_of_its_requests_give(
    here, nl, loaded, monkeypatch
):
    """Of models that are asked the same, too; before anything is stored and after a
    part of it is.
    """
    _, _, settings = JUDGES["terse"]
    monkeypatch.setitem(JUDGES, "same", ("llmscore", PROMETHEUS, settings))
    for name, n in (("fewer", 2), ("more", 3)):
        drawn = [*settings, f"n={n}", "temperature=1"]
        monkeypatch.setitem(JUDGES, name, ("llmscore", PROMETHEUS, drawn))
    for name in ("same", "fewer", "more"):
        monkeypatch.setitem(READ["two"], name, (name, "aspect=fluency"))
    listed(here)
    options = EngineOptions("vllm", mode="quick", planning=True)
    questions, _ = completions.select(catalogue.load(), options)
    stored = []
    for output in ("", "one", "two"):
        if output:
            filled = ("--engine", "vllm", "--mode", "quick", "--output", output)
            assert nl("completions", *filled).code == 0
        planned = completions.plan_catalogue(questions, options)
        by_keys = planned_by_keys(planned, options)
        pd.testing.assert_frame_equal(
            planned[by_keys.columns].astype(float), by_keys, check_dtype=False
        )
        stored.append(planned["stored"].sum())
    # of "more", the draws that "fewer" asks for are not asked for again
    more = planned.set_index("judge").loc["more aspect=fluency"]
    assert more["stored"] == more["requests"] > 0
    assert 0 == stored[0] < stored[1] < stored[2] and not planned["to_ask"].any()


@pytest.mark.parametrize(
    ("billions", "layers", "kv_width", "gpus"),
    [
        (6.74, 32, 4096, (48, 1)),
        (13.02, 40, 5120, (80, 1)),
        (68.98, 80, 1024, (80, 4)),
        (1, 16, 2048, (24, 1)),
    ],
)
def test_the_gpus_that_hold_a_model(billions, layers, kv_width, gpus):
    assert plan_totals.gpus(billions, layers, kv_width) == gpus


def test_one_line_tells_of_the_whole_plan():
    shown = io.StringIO()
    bar = ProgressBar("the plan", stream=shown, plan=30)
    for stage, count in (("first", 10), ("second", 20)):
        bar.start(stage)
        bar.report(Came(total=count, stored=0))
        bar.report(
            Came(
                total=count, stored=0, done=count, completion_tokens=count, seconds=1.0
            ),
            [SimpleNamespace(error="")],
        )
        bar.close()
    lines = shown.getvalue().splitlines()
    assert lines[0] == "the plan: 30 wanted, 0 stored" and lines[-1].startswith(
        "the plan: 30 done"
    )


def test_every_model_is_loaded_once_and_nothing_is_asked_twice(here, nl, loaded):
    listed(here)
    got = nl("completions", "--engine", "vllm", "--mode", "quick")
    assert got.code == 0 and [engine.model for engine in loaded] == [
        LLAMA,
        PROMETHEUS,
    ], got
    assert (
        "[1/3] n=2 aspect=coherence: " in got.out
        and "[3/3] absolute rubric=" in got.out
    )
    asked = [ask.key for engine in loaded for ask in engine.asked]
    assert (
        len(asked)
        == len(set(asked))
        == sum(Store(files.state("completions")).census().values())
    )
    again = nl("completions", "--engine", "vllm", "--mode", "quick")
    assert again.code == 0 and len(loaded) == 2 and again.out.count("all stored") == 3
    assert (
        "nothing to ask"
        in nl("completions", "--engine", "vllm", "--mode", "quick", "--dry-run").out
    )


def test_outputs_that_read_other_rows_of_one_judge_get_all_of_theirs(here, nl, loaded):
    """What is asked is one by completion, not by judge: neither output's rows
    swallow the other's.
    """
    [kept, *_] = datasets.load("mini")["system_id"].unique()
    listed(here, where=f"system_id={kept}")
    todo, _ = completions.select(catalogue.load(), EngineOptions("vllm"))
    planned = completions.plan_catalogue(
        todo, EngineOptions("vllm", mode="quick", planning=True)
    ).set_index("judge")
    part = planned.loc[f"terse aspect=fluency system_id={kept}"]
    whole = planned.loc["terse aspect=fluency"]
    assert (
        0 == part["to_ask"] < part["completions"] < whole["to_ask"]
        and part["outputs"] == "two"
    )
    for output in ("two", "one"):
        assert (
            nl(
                "completions", "--engine", "vllm", "--mode", "quick", "--output", output
            ).code
            == 0
        )
    asked = [ask.key for engine in loaded for ask in engine.asked]
    assert (
        len(asked) == len(set(asked))
        and judge_scores("one", "terse", mode="quick").available
    )
    assert (
        "nothing to ask"
        in nl("completions", "--engine", "vllm", "--mode", "quick", "--dry-run").out
    )


def test_choosing(here, nl, loaded):
    listed(here)
    every = ("completions", "--engine", "vllm", "--mode", "quick", "--dry-run")
    assert PROMETHEUS not in nl(*every, "--output", "one").out
    assert LLAMA not in nl(*every, "--for-model", PROMETHEUS).out
    assert nl(*every, "--paper", "coascore").code == 2
    wrong = nl(*every, "--for-model", "gpt-5")
    assert (
        wrong.code == 2 and f"models it has: {LLAMA}, {PROMETHEUS}, {API}" in wrong.err
    )
    api = nl("completions", "--engine", "openai", "--mode", "quick", "--dry-run")
    assert (
        api.code == 0
        and API in api.out
        and "4 judges" not in api.out
        and "3 judges are for --engine vllm" in api.out
    )
    other = nl(*every, "-m", "some/model")
    assert "some/model " in other.out and LLAMA not in other.out


def test_a_model_that_cannot_be_loaded_does_not_stop_the_others(
    here, nl, monkeypatch, loaded
):
    from nlgeval_lib.engines import EngineError

    listed(here)
    good = EngineChoice.start

    def start(self, kept=None):
        if self.model == LLAMA and not self.planning:
            raise EngineError("no weights of this model")
        return good(self, kept)

    monkeypatch.setattr(EngineChoice, "start", start)
    got = nl("completions", "--engine", "vllm", "--mode", "quick")
    assert got.code == 1 and f"{LLAMA}: error: no weights" in got.out
    assert [engine.model for engine in loaded] == [PROMETHEUS] and len(
        loaded[0].asked
    ) > 100


def test_ctrl_c_keeps_what_was_made(here, nl, loaded, monkeypatch):
    listed(here)

    calls = []

    def interrupted(self, bar):
        calls.append(self.name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return whole(self, bar)

    whole = completions.Job.fill
    monkeypatch.setattr(completions.Job, "fill", interrupted)
    got = nl("completions", "--engine", "vllm", "--mode", "quick")
    made = sum(Store(files.state("completions")).census().values())
    assert (
        got.code == 130
        and f"stopped: {made:,} completions made now are stored" in got.out
        and made > 100
    )


def test_data_that_are_not_here_cost_what_needs_them(here, nl, loaded):
    listed(here)
    (here.root / "data" / "mini" / "mini.jsonl").unlink()
    got = nl("completions", "--engine", "vllm")
    assert (
        got.code == 0
        and not loaded
        and got.out.count("not here: mini is unavailable") == 3
    )
    assert "not here: n=2" in nl("completions", "--engine", "vllm", "--dry-run").out


# ---- the whole path, with tiny models under the real ids


def test_stand_ins_keep_out_of_real_stores(
    here, nl, tiny_folder, tmp_path, monkeypatch
):
    listed(here)
    way = (
        "completions",
        "--engine",
        "transformers",
        "--mode",
        "quick",
        "--output",
        "one",
    )
    way += ("--model-path", f"{LLAMA}={tiny_folder}")
    own = here.root / ".nlgeval" / "completions"
    refused = nl(*way, "--store", str(own))
    assert (
        refused.code == 1
        and "is for real completions" in refused.out
        and not own.exists()
    )
    real = tmp_path / "real"
    with Store(real) as store:
        from nlgeval_lib.engines import Sampling, complete

        complete(
            ScriptedEngine(["4"], model=LLAMA, revision="main"),
            ["a prompt"],
            Sampling(),
            store,
        )
    refused = nl(*way, "--store", str(real))
    assert (
        refused.code == 1
        and "is for real completions" in refused.out
        and Store(real).census() == {(LLAMA, "main"): 1}
    )
    single = (
        "completions",
        "-e",
        "llmscore",
        "-s",
        "task=summary",
        "--fill",
        "aspect=fluency",
        "--data",
        "mini",
    )
    refused = nl(
        *single,
        "--engine",
        "transformers",
        "-m",
        tiny_folder,
        "--engine-set",
        f"name={LLAMA}",
        "--store",
        str(real),
    )
    assert refused.code == 2 and "is for real completions" in refused.err


@pytest.mark.vllm
def test_vllm_fills_the_store_and_notebooks_read_it(here, nl, tiny_folder, monkeypatch):
    """What a machine with GPUs and a hub does, with a tiny model under the real id
    of the judge of "one".
    """
    if no_vllm():
        pytest.skip(no_vllm())
    # of the judges that are asked, the one whose answers are held to choices
    notebook = here.root / "notebooks" / "one.ipynb"
    notebook.write_text(notebook.read_text().replace("'n=2'", "'terse'"))
    listed(here, structured=True)
    monkeypatch.setattr(question_rows, "QUICK_INPUTS", 1)
    assert "2 run, 0 cached" in run() and json_of(here, "one")["route"] == "run"
    assert "0 run, 2 cached" in run()
    why = pd.read_csv(here.root / "results" / "quick" / "hdeval" / "one__scores.csv")[
        "why"
    ]
    assert (
        "the store has no completions" in why[0]
        and "nlgeval completions --output one" in why[0]
    )
    way = (
        "completions",
        "--engine",
        "vllm",
        "--mode",
        "quick",
        "--engine-set",
        f"max_model_len={CONTEXT}",
    )
    way += ("--engine-set", f"kv_cache_memory_bytes={CACHE}")
    way += ("--model-path", f"{LLAMA}={tiny_folder}", "--output", "one")
    made = nl(*way)
    assert made.code == 0, made.out + made.err
    held = Store(files.state("completions")).census()
    [(model, revision)] = held
    assert model == LLAMA and revision.startswith("sha256:")
    assert (
        "2 run, 0 cached, 0 failed" in run()
    )  # "two" reads completions of this model too
    frame = pd.read_csv(here.root / "results" / "quick" / "hdeval" / "one__scores.csv")
    assert (
        frame["value"].between(1, 5).all()
        and frame["status"].eq("ok").all()
        and len(frame) == 8
    )
    assert (
        frame["route"].eq("mini").all()
        and frame["signature"].str.contains("|stand-in:sha256:", regex=False).all()
    )
    again = nl(*way)
    assert (
        again.code == 0
        and again.out.count("all stored") == 2
        and Store(files.state("completions")).census() == held
    )
    assert "0 run, 2 cached" in run()
    real = nl(
        "completions", "--engine", "vllm", "--output", "one", "-m", "some/real-model"
    )
    assert real.code == 1 and "error" in real.out


def json_of(here: Checkout, output: str) -> dict:
    return json.loads(
        (here.root / "results" / "quick" / "hdeval" / f"{output}.json").read_text()
    )
