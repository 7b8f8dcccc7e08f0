"""Every registered evaluator from the command line."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from cli_tools import RUBRIC, asks, jsonl, rows

from nlgeval_lib import evaluators
from nlgeval_lib.evaluators.base import NotAllowed
from nlgeval_lib.scoring import named, settings
from nlgeval_lib.scoring.provenance import record_of

TEXTS = {
    "instruction": "say it",
    "source": "the source",
    "context": "the context",
    "reference": "answer 3",
    "rubric": RUBRIC,
    "aspect": "overall",
    "analysis": "no errors",
    "output_1": "one",
    "output_2": "two",
}
MORE = {
    "hdeval": (
        "-s",
        "aggregator=average",
        "-s",
        "task=general",
        "-s",
        "criteria=summeval",
    ),
    "coascore": ("-s", "n=2"),
    "prompted": ("-s", "prompt=Rate {output}"),
    "preference": ("-s", "prompt=A: {output_1}, or B: {output_2}?"),
    "prometheus": ("-s", "repetition_penalty=1"),
    "tigerscore-reference": ("-s", "task=Summ"),
    "unieval": ("-s", "task=summarization", "-s", "aspect=coherence"),
}
# taken before any test registers another one
JUDGES = [name for name in evaluators.names() if named.asks(name)]
METRICS = sorted({*evaluators.names()} - {*JUDGES})


@pytest.mark.parametrize("name", JUDGES)
def test_every_judge_from_the_command_line(nl, judge, tmp_path, name):
    server = judge(
        lambda prompt: (
            "Aspect1: clarity, is it clear?\nAspect2: truth, is it true?"
            if "aspects" in prompt
            else "3"
        )
    )
    jsonl(tmp_path / "my.jsonl", rows(3, **TEXTS))
    ask = ("-i", "my.jsonl", *asks(server), *MORE.get(name, ()))
    plan = nl("score", "-e", name, *ask, "--dry-run")
    assert plan.code == 0 and not server.bodies, plan.err
    got = nl("score", "-e", name, *ask, "-o", "s.csv")
    assert got.code in (0, 1) and server.bodies, got.err
    frame = pd.read_csv("s.csv", keep_default_na=False)
    assert len(frame) == 3 and (frame["status"].eq("ok") == frame["value"].ne("")).all()
    assert (frame["reason"].ne("") == frame["status"].ne("ok")).all()
    again = nl("score", "-e", name, *ask, "-o", "s.csv")
    assert ", 0 made" in again.out


# what a metric may open: Python and its packages, the checkout, this test's folder, the
# system; time zones and fonts, which pandas and matplotlib list and the metrics do not
# read
BARE = """
import json, os, sys, sysconfig
from pathlib import Path
from nlgeval_lib import cli, files
here = Path.cwd().resolve()
known = [here, files.root(), Path(sys.prefix).resolve(), *map(Path, ("/proc", "/sys", "/dev", "/etc"))]
known += [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")]
known += [Path(base, name) for base in ("/usr/share", "/usr/local/share") for name in ("zoneinfo", "fonts")]
opened = set()
sys.addaudithook(lambda event, what: event == "open" and isinstance(what[0], str) and opened.add(what[0]))
sys.path.append(str(files.root() / "tests"))
import tiny_model
tiny_model.build(here / "llama")
tiny_model.build_seq2seq(here / "seq2seq")
codes = {}
for name, more in json.loads(Path("calls.json").read_text()).items():
    sys.argv = ["nlgeval", "score", "-e", name, "-i", "my.jsonl", *more, "-o", f"{name}.csv"]
    try:
        cli.main()
        codes[name] = 0
    except SystemExit as end:
        codes[name] = end.code or 0
real = {Path(name).resolve() for name in opened if os.path.isfile(name)}
outside = sorted(str(one) for one in real if not any(one.is_relative_to(place) for place in known))
Path("done.json").write_text(json.dumps([codes, outside]))
"""
NEEDY = {
    "comet": "unbabel-comet is not installed",
    "bleurt": "BLEURT is not installed",
    "unieval": "HF_HUB_OFFLINE",
    "steamshp": "HF_HUB_OFFLINE",
}


@pytest.mark.skipif(
    sys.platform != "linux", reason="the system's folders are those of Linux"
)
def test_every_metric_from_the_command_line(tmp_path):
    """An empty home, no variable set, and no file read that the set-up did not
    bring.
    """
    jsonl(tmp_path / "my.jsonl", rows(3, **TEXTS))
    prompt = "prompt=Rate: {{source}}\n\nText:\n"
    more = {
        **MORE,
        "bartscore": ("--model", str(tmp_path / "seq2seq")),
        "gptscore": ("--model", str(tmp_path / "llama"), "-s", prompt),
    }
    (tmp_path / "calls.json").write_text(
        json.dumps({name: more.get(name, ()) for name in METRICS})
    )
    folders = {
        name: str(tmp_path / name) for name in ("HOME", "TMPDIR", "NLGEVAL_HOME")
    }
    for folder in folders.values():
        Path(folder).mkdir()
    kept = {
        name: os.environ[name]
        for name in ("PATH", "PYTHONPATH", "OMP_NUM_THREADS")
        if name in os.environ
    }
    environment = {**kept, **folders, "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", BARE]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    codes, outside = json.loads((tmp_path / "done.json").read_text())
    assert outside == []
    for name in METRICS:
        frame = pd.read_csv(tmp_path / f"{name}.csv", keep_default_na=False)
        assert len(frame) == 3, name
        if (
            name in NEEDY
        ):  # packages and models that no set-up step brings: said, and nothing else
            assert codes[name] == 1 and set(frame["status"]) == {"unavailable"}
            assert frame["reason"].str.contains(NEEDY[name]).all(), frame["reason"][0]
        else:
            assert codes[name] == 0 and set(frame["status"]) == {"ok"}, (
                name,
                frame["reason"][0],
            )


N = 30


@pytest.fixture
def noise(nl, judge, tmp_path):
    """`noise(*words)`: HD-Eval of random scores over `rated.jsonl`, whose ratings
    are random too.
    """
    draw = random.Random(1)
    row = {"aspect": "coherence", "source": "s"}
    made = [
        {
            "input_id": i // 2,
            "system_id": i % 2,
            "output": f"answer {i}",
            "human": draw.random(),
            **row,
        }
        for i in range(N)
    ]
    jsonl(tmp_path / "rated.jsonl", made)
    server = judge(lambda prompt: str(1 + random.Random(prompt).randrange(5)))
    settings = ("-s", "aggregator=rf", "-s", "layers=[1]")

    def call(*words: str):
        how = () if "--load" in words else settings
        return nl("score", "-e", "hdeval", *asks(server, *how, "-q"), *words)

    call.nl, call.server = nl, server
    return call


def followed(nl, file: str):
    got = nl(
        "meta",
        file,
        "--coef",
        "pearson",
        "--format",
        "jsonl",
        "--no-baselines",
        "--ci",
        "none",
    )
    return got.err if got.code else json.loads(got.out.splitlines()[0])


def test_rows_that_it_was_fitted_on_are_marked_and_left_out(noise):
    assert (
        noise(
            "--fit",
            "rated.jsonl",
            "-i",
            "rated.jsonl",
            "-o",
            "own.csv",
            "--save",
            "hd.json",
        ).code
        == 0
    )
    scored = pd.read_csv("own.csv")
    assert (
        scored["seen_in_training"].all() and scored["value"].corr(scored["human"]) > 0.7
    ), "from random scores"
    assert (
        "a score was fitted on every row; rate others, or use score --cross-fit"
        in followed(noise.nl, "own.csv")
    )
    record = record_of("own.csv")["scores"]["value"]
    assert (
        record["fitted_on"].startswith(f"{N}#")
        and f"|fitted_on:{record['fitted_on']}|" in record["signature"]
    )
    pd.read_json("rated.jsonl", lines=True).assign(
        output=lambda rows: [f"answer {i + N // 2}" for i in range(N)]
    ).to_json("other.jsonl", orient="records", lines=True)
    assert (
        noise(
            "--load",
            "hd.json",
            "-i",
            "other.jsonl",
            "-o",
            "other.csv",
            "--column",
            "hd",
        ).code
        == 0
    )
    seen = pd.read_csv("other.csv")["hd_seen_in_training"].eq(True)
    assert seen.sum() == N // 2 == followed(noise.nl, "other.csv")["n"]
    assert record_of("other.csv")["scores"]["hd"]["fitted_on"] == record["fitted_on"]


def test_cross_fitting_gives_scores_that_did_not_see_their_ratings(noise):
    got = noise("--cross-fit", "5", "-i", "rated.jsonl", "-o", "folds.csv")
    assert got.code == 0 and "fitted_on:5 folds by input" in got.out, got.err
    asked = len(noise.server.bodies)
    scored = pd.read_csv("folds.csv")
    assert scored["value"].notna().all() and "seen_in_training" not in scored
    assert (
        followed(noise.nl, "folds.csv")["n"] == N
        and abs(scored["value"].corr(scored["human"])) < 0.4
    )
    assert noise("--fit", "rated.jsonl", "-i", "rated.jsonl", "-o", "own.csv").code == 0
    assert len(noise.server.bodies) == asked == len(set(noise.server.prompts)), (
        "no fold asks anything twice"
    )
    for words, said in (
        (
            ("--cross-fit", "5", "--fit", "rated.jsonl"),
            "leave out --fit, --load and --save",
        ),
        (("--cross-fit", "99"), "--cross-fit 99: rated.jsonl has 15 inputs"),
    ):
        wrong = noise(*words, "-i", "rated.jsonl", "-o", "x.csv")
        assert wrong.code == 2 and said in wrong.err


def fixed_choices(name):
    """Setting -> the texts that `--options` says it may be."""
    described = settings.described(evaluators.get(name))
    choices = {}
    for setting, words, _ in described:
        texts = set(words.split(", ")) - WORDS
        if texts:
            choices[setting] = texts
    return choices


# what `--options` says of settings that have no fixed choice
WORDS = {
    "yes or no",
    "a whole number",
    "a number",
    "a text",
    "a list",
    "a JSON object",
    "none",
    "anything",
    "the sampling settings of another stage",
}


@pytest.mark.parametrize(
    ("name", "setting", "texts"),
    [
        ("bleu", "smooth", {"floor", "add-k", "exp"}),  # sacrebleu's, and none
        ("rouge", "type", {"rouge1", "rouge2", "rougeL", "rougeLsum"}),
        ("hdeval", "task", {"summary", "dialogue", "data_to_text", "general"}),
        ("coascore", "few", {"missing", "use"}),
        (
            "tigerscore-reference",
            "task",
            {"Summ", "Trans", "D2T", "MathQA", "Instruct"},
        ),
        ("preference", "rule", {"agree", "first", "mean"}),
        ("prometheus", "missing", {"drop", "all", "fill:NUMBER such as fill:0"}),
    ],
)
def test_options_list_what_a_setting_may_be(name, setting, texts):
    assert texts <= fixed_choices(name)[setting]


def test_every_listed_choice_is_taken(tmp_path):
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("A: {output_1}, or B: {output_2}?")
    tried = 0
    for name in ("bleu", "rouge", "meteor", "geval", "preference", "coascore"):
        make = evaluators.get(name)
        needed = {"prompt": str(prompt)} if name == "preference" else {}
        for setting, texts in fixed_choices(name).items():
            for text in texts:
                if not text.startswith("fill:"):
                    try:
                        make(**{**needed, setting: text})
                    except NotAllowed as refusal:
                        raise AssertionError(f"{name}: {refusal}") from None
                    except ValueError:  # allowed, and lacks another setting
                        pass
                    tried += 1
    assert tried > 60


def test_a_judge_that_is_fitted_asks_for_all_it_lacks_at_once(nl):
    Path("mine.csv").write_text("Frage,Antwort\nWas?,Das\n")
    call = ("score", "-e", "hdeval", "-i", "mine.csv", "-o", "s.csv")
    got = nl(*call, "--engine", "openai", "-m", "x")
    assert got.code == 2
    for advice in (
        "--map output=Antwort --map source=COLUMN",
        "-s task=general and -s criteria=@FILE",
        "--fit FILE or --cross-fit 5, or -s aggregator=average",
    ):
        assert advice in got.err
