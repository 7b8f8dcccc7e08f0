"""EXTENDING.md: its code runs, its commands work, its entry is one that the
catalogue takes.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from pathlib import Path

import notebook_cells
import pandas as pd
import pytest
import typer
from cli_tools import call
from runner_tools import Checkout
from scipy import stats

from nlgeval_lib import datasets, files
from reproduction.study import ablations, catalogue, question_rows

PAGE = Path(__file__).resolve().parents[2] / "EXTENDING.md"
BLOCKS = re.findall(
    r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NLGEVAL_HOME", str(tmp_path / "state"))
    return tmp_path


def test_the_page_runs_from_top_to_bottom(elsewhere, monkeypatch, capsys):
    space: dict = {"__name__": "page"}
    for number, (language, text) in enumerate(BLOCKS):
        if language == "python":
            exec(compile(text, f"EXTENDING.md, block {number}", "exec"), space)
        elif language == "sh":
            for line in text.splitlines():
                name, *arguments = shlex.split(line)
                assert name == "nlgeval"
                got = call(monkeypatch, capsys, *arguments)
                assert got.code == 0, (line, got.err)
    assert {language for language, _ in BLOCKS} == {
        "python",
        "sh",
        "toml",
        "bash",
        "text",
    }  # bash and text: below


def test_the_evaluator_is_a_plugin_as_it_stands(elsewhere, monkeypatch, capsys):
    [text] = [
        text
        for language, text in BLOCKS
        if language == "python" and "class Copied" in text
    ]
    (elsewhere / "copied.py").write_text(text.partition("\n\nscores = ")[0])
    (elsewhere / "rows.csv").write_text("output,source\na b,a c\n,x\n")
    got = call(
        monkeypatch,
        capsys,
        "score",
        "--plugin",
        "copied.py",
        "-e",
        "copied",
        "-i",
        "rows.csv",
        "-o",
        "s.csv",
        "--max-missing",
        "1",
    )
    assert got.code == 0 and "0.5" in (elsewhere / "s.csv").read_text(), got.err


def test_the_entries_are_ones_that_the_catalogue_takes(tmp_path):
    [text] = [text for language, text in BLOCKS if language == "toml"]
    checkout = Checkout(tmp_path)
    (checkout.root / "notebooks" / "ablations").mkdir()
    checkout.notebook("ablations/my_table", "x = 1")
    checkout.catalogue(text)
    [question] = catalogue.load(tmp_path / "notebooks" / "catalogue.toml").questions_of(
        "my_table"
    )
    assert question.name == "n=10" and question.judge.settings == (
        "task=dialogue",
        "n=10",
    )


TASKS = re.findall(
    r"^\| ([^|]+) \| `(nlgeval [^`]+)` \| (?:`(nlgeval run \w+)`)? ?\|$",
    PAGE.read_text(encoding="utf-8"),
    re.MULTILINE,
)
# Nothing is downloaded for these, and no model is asked.
QUICK = ("my_words", "my_rows")


def test_each_task_of_a_student_is_two_commands(nl, here, judge, monkeypatch):
    """Each command of the table is taken; those of metrics are run to their page."""
    assert len(TASKS) == 8
    monkeypatch.chdir(here.root)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    server = judge(lambda prompt: "Score: 3")
    (here.root / "mine.txt").write_text(PROMPT)
    aspects = {"overall": {"Support": "Does the record have each thing that is said?"}}
    (here.root / "list.json").write_text(json.dumps(aspects))
    items = datasets.items(datasets.load("mini")).head(48)
    rows = items.rename(columns={"human_quality": "human"})
    columns = ["input_id", "system_id", "output", "reference", "human"]
    rows[columns].to_csv(here.root / "rows.csv", index=False)
    for task, first, then in TASKS:
        words = shlex.split(first.replace("URL", server.url))[1:]
        if words[:2] == ["run", "ablation_aggregator_types"]:
            continue  # `test_aggregators_of_the_page_join_recorded_scores` runs it
        wrote = nl(*words)
        assert wrote.code == 0, (task, wrote.err)
        if then:
            assert then == f"nlgeval run {words[1]}" and then in wrote.out
        if words[1] in QUICK and then:
            assert (ran := nl("run", words[1])).code == 0, ran.out
            assert f"results/private/meta/{words[1]}.md" in ran.out


def test_commands_of_the_page_exist():
    from nlgeval_lib.cli import app

    known = typer.main.get_command(app).commands
    assert (
        set(re.findall(r"`?nlgeval ([a-z-]+) ", PAGE.read_text(encoding="utf-8")))
        <= known.keys()
    )


[PROMPT] = [text for language, text in BLOCKS if language == "text"]
[TRANSCRIPT] = [text for language, text in BLOCKS if language == "bash"]
MADE = [line for line in TRANSCRIPT.splitlines() if "new-ablation" in line]


@pytest.fixture
def nl(student):
    """The command in a checkout of its own."""
    return student


def saved(name: str, folder: str = "private") -> tuple[pd.DataFrame, pd.DataFrame]:
    place = files.results() / folder / "meta"
    return pd.read_csv(place / f"{name}__table.csv"), pd.read_csv(
        place / f"{name}__tests.csv"
    )


def test_a_metric_is_swept_and_a_trial_takes_other_values(nl):
    got = nl(
        "new-ablation",
        "mine",
        "-e",
        "rouge",
        "--sweep",
        "type=rouge1,rougeL",
        "--base",
        "type=rougeL",
    )
    assert got.code == 0 and "nlgeval run mine" in got.out, got.err
    assert (ran := nl("run", "mine")).code == 0, ran.out
    table, tests = saved("mine")
    human = datasets.load("mini")["human"]
    scores = ablations.scored("rouge", {"type": ["rouge1", "rougeL"]}).scores
    for one in table.itertuples():
        assert one.value == pytest.approx(
            stats.kendalltau(scores[one.variant], human).statistic
        )
        assert (
            one.route == "mini"
            and one.ci_low < one.value < one.ci_high
            and "ci:jack-inputs" in one.signature
        )
    assert (
        tests["variant"].tolist() == ["type=rouge1"]
        and tests["p_holm"].between(0, 1).all()
    )
    assert (
        nl(
            "run", "mine", "-p", "sweep={'type': ['rouge1', 'rouge2']}", "-p", "base={}"
        ).code
        == 0
    )
    tests = saved("mine", "partial")[1]
    assert tests["variant"].tolist() == ["type=rouge2"]
    assert tests["against"].tolist() == ["type=rouge1"]
    # each run made its page, with its own numbers
    for folder, variants in {"private": "rougeL", "partial": "rouge2"}.items():
        page = (files.results() / folder / "meta" / "mine.md").read_text()
        assert f"| type={variants} |" in page and "(mine__table.csv)" in page
    assert (
        nl("run", "mine", "-p", "coef=pearson", "--dry-run").out
        == "run      mine  (parameters from the command line)\n"
    )


@pytest.mark.parametrize(
    ("line", "variants"),
    [
        (
            MADE[1],
            [
                "rubric=yes reference=yes",
                "rubric=yes reference=no",
                "rubric=no reference=yes",
                "rubric=no reference=no",
            ],
        ),
        pytest.param(
            MADE[2],
            ["aggregator=average", "aggregator=lr", "aggregator=boosting"],
            marks=pytest.mark.thorough,
        ),
        (MADE[3], ["prompt=original", "prompt=mine.txt"]),
    ],
    ids=["my_parts", "my_joined", "my_prompt"],
)
def test_each_recipe_runs_in_two_commands(nl, here, monkeypatch, line, variants):
    monkeypatch.setattr(
        question_rows, "QUICK_INPUTS", 5
    )  # as many as the folds of a fit
    (here.root / "mine.txt").write_text(PROMPT)
    words = shlex.split(line)[1:]
    assert (wrote := nl(*words)).code == 0, wrote.err
    assert (ran := nl("run", words[1], "--mode", "quick")).code == 0, ran.out
    table, tests = saved(words[1], "quick")
    assert table["variant"].tolist() == variants and (table["n"] == 30).all()
    assert len(tests) == len(variants) * (len(variants) - 1) / 2
    assert (tests["p_holm"] <= 1).all()


def test_more_aspects_follow_the_ratings_more_closely(nl, monkeypatch):
    monkeypatch.setattr(question_rows, "QUICK_INPUTS", 4)
    words = shlex.split(MADE[0])[1:]
    assert nl(*words).code == 0
    assert (ran := nl("run", words[1], "--mode", "quick")).code == 0, ran.out
    table, tests = saved(words[1], "quick")
    assert (
        table["variant"].tolist() == ["n=1", "n=3", "n=7"] and (table["n"] == 24).all()
    )
    assert table["value"].is_monotonic_increasing and (tests["difference"] > 0.05).all()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-e", "rouge", "--sweep", "type=rouge1"), "two values or more"),
        (("-e", "rouge", "--sweep", "tipe=rouge1,rouge2"), "tipe"),
        (("-e", "rogue", "--sweep", "type=a,b"), "rouge"),
        (
            ("-e", "rouge", "--sweep", "type=rouge1,rouge2", "--base", "type=bleu"),
            "is no variant",
        ),
        (("-e", "rouge", "--sweep", "type=rouge1,rouge2", "--data", "summ"), "summ"),
        (("-e", "semscore", "--sweep", "n=1,2"), "n"),
        (("-e", "llmscore", "--sweep", "prompt=original,no.txt"), "no such file"),
        (("--sweep", "prompt=original,no.txt"), "-e llmscore"),
        (
            ("-e", "rouge", "--sweep", "type=rouge1,rouge2", "--plugin", "no.py"),
            "no.py",
        ),
        (("-e", "rouge", "--sweep", "type={[]:1},{[]:2}"), "type is '{[]:1}'"),
        (
            ("-e", "rouge", "--sweep", "type=rouge1,b", "--sweep", "type=c,d"),
            "--sweep type is given twice",
        ),
        (
            ("-e", "rouge", "--sweep", "type=a,b", "-s", "value=f", "-s", "value=p"),
            "value is given twice",
        ),
        (
            ("--sweep", "evaluator=coascore,prompted", "-s", "prompt={output}"),
            "variant evaluator=coascore: coascore takes no prompt of yours",
        ),
        (
            ("-e", "coascore", "--sweep", "n=1,3", "-s", "prompt={output}"),
            "variant n=1: coascore takes no prompt of yours",
        ),
        (
            (
                *("-e", "coascore", "--sweep", "prompt=original,mine.txt"),
                *("--sweep", "n=1,3"),
            ),
            "variant prompt=mine.txt n=1: n of coascore says nothing",
        ),
        (
            (
                *("-e", "llmscore", "--sweep", "prompt=original,mine.txt"),
                *("--sweep", "evaluator=llmscore,geval"),
            ),
            "llmscore takes no prompt of yours",
        ),
        (
            ("-e", "rouge", "--sweep", "judge=a,b"),
            "judge=a and judge=b would be the same",
        ),
    ],
)
def test_what_is_refused_leaves_nothing(nl, here, words, said):
    before = (here.root / "notebooks" / "catalogue.toml").read_bytes()
    got = nl("new-ablation", "mine", *words)
    assert got.code == 2 and said in got.err and "Traceback" not in got.err
    assert (here.root / "notebooks" / "catalogue.toml").read_bytes() == before
    assert not list((here.root / "notebooks").glob("*/*"))


def test_names_are_checked_and_not_taken_twice(nl):
    words = ("-e", "rouge", "--sweep", "type=rouge1,rouge2")
    assert nl("new-ablation", "mine", *words).code == 0
    assert "already" in nl("new-ablation", "mine", *words).err
    assert "lower-case" in nl("new-ablation", "My-own", *words).err


def test_my_prompt_against_the_original(nl, here, monkeypatch):
    """The miniature judge reads one wording and not another: that one has no test."""
    monkeypatch.setattr(question_rows, "QUICK_INPUTS", 4)
    (here.root / "mine.txt").write_text(PROMPT)
    (here.root / "strange.txt").write_text("Is this good? {output}")
    sweep = "prompt=original,mine.txt,strange.txt"
    got = nl("new-ablation", "mine", "-e", "llmscore", "--sweep", sweep)
    assert got.code == 0 and "only the wordings" in got.err, got.err
    assert (ran := nl("run", "mine", "--mode", "quick")).code == 0, ran.out
    table, tests = saved("mine", "quick")
    assert table["variant"].tolist() == ["prompt=original", "prompt=mine.txt"]
    assert tests["against"].tolist() == ["prompt=original"]
    coverage = pd.read_csv(
        files.results() / "quick" / "meta" / "mine__variants.csv", index_col="variant"
    )
    assert coverage["scored"].tolist()[:2] == ["24 of 24"] * 2
    assert "are needed for a test" in coverage.loc["prompt=strange.txt", "why not"]
    (here.root / "mine.txt").write_text(PROMPT + "Now: ")
    again = nl("run", "mine", "--mode", "quick", "--dry-run").out
    assert "changed: mine.txt" in again


def test_prompts_on_summeval_by_a_server(nl, here, judge, needs, monkeypatch):
    needs("summeval")
    monkeypatch.setattr(question_rows, "QUICK_INPUTS", 3)
    server = judge(lambda prompt: f"Score: {1 + len(prompt) % 5}")
    (here.root / "a.txt").write_text("Rate the {aspect}, 1 to 5.\n{output}")
    (here.root / "b.txt").write_text("{definition}\n{source}\n{output}\n1 to 5?")
    words = ("--sweep", "prompt=a.txt,b.txt", "--data", "summeval", "-s")
    words += ("task=summary", "--aspect", "coherence", "--judge-url", server.url)
    assert "-m NAME" in nl("new-ablation", "mine", *words).err
    got = nl("new-ablation", "mine", *words, "-m", "judge")
    assert got.code == 0, got.err
    assert (ran := nl("run", "mine", "--mode", "quick")).code == 0, ran.out
    table, tests = saved("mine", "quick")
    assert (table["n"] == 48).all() and tests["variant"].tolist() == ["prompt=b.txt"]
    assert (table["route"] == "run").all() and 48 < len(server.bodies) <= 96


def test_an_evaluator_of_ones_own_is_swept(nl, here):
    path = here.root / "share.py"
    path.write_text(
        "from nlgeval_lib import evaluators\n"
        "from nlgeval_lib.records import Judgment\n\n\n"
        '@evaluators.register("share")\n'
        "class Share:\n"
        '    name = "share"\n\n'
        "    def __init__(self, power: float = 1.0):\n"
        "        self.power = power\n\n"
        "    def signature(self):\n"
        '        return f"share|power:{self.power}"\n\n'
        "    def score(self, frame):\n"
        "        scores = [\n"
        "            Judgment(float(len(text) ** self.power)) for text in frame.output\n"
        "        ]\n"
        "        return evaluators.score_frame(frame.index, scores, self.signature())\n"
    )
    words = ("-e", "share", "--sweep", "power=1,2,-1", "--plugin", str(path))
    got = nl("new-ablation", "mine", *words)
    assert got.code == 0 and "the code of share.py is run" in got.err, got.err
    assert (ran := nl("run", "mine")).code == 0, ran.out
    _, tests = saved("mine")
    assert tests["against"].tolist() == ["power=1", "power=1", "power=2"]
    assert tests["difference"].iat[0] == 0 and tests["difference"].iat[2] != 0


@pytest.mark.slow
def test_aggregators_of_the_page_join_recorded_scores(needs, tmp_path, monkeypatch):
    needs("acloserlook", "summeval")
    for name in ("RESULTS", "FIGURES", "HOME"):
        monkeypatch.setenv(f"NLGEVAL_{name}", str(tmp_path / name))
    [listed] = re.findall(r"aggregators=(\[.+?\])", PAGE.read_text(encoding="utf-8"))
    names = notebook_cells.run(
        PAGE.parent / "notebooks" / "ablations" / "aggregator_types.ipynb",
        mode="quick",
        aggregators=ast.literal_eval(listed),
        units=["row"],
    )
    tested = names["tests"].dropna(subset="p_holm")
    assert {"LR", "boosting", "sklearn.svm.SVR"} <= set(tested["kind"])


@pytest.mark.slow
@pytest.mark.timeout(1800)  # four ablations of 300 texts, minutes each
def test_the_transcript_of_extending(nl, here):
    """Each choice of the charter makes a difference that its test sees, or one that
    is told to be none.
    """
    (here.root / "mine.txt").write_text(PROMPT)
    for line in TRANSCRIPT.splitlines():
        assert (got := nl(*shlex.split(line)[1:])).code == 0, got.out + got.err
    found = {
        shlex.split(line)[2]: saved(shlex.split(line)[2])[1].set_index(
            ["aspect", "variant"]
        )
        for line in MADE
    }
    aspects, parts, joined, prompts = found.values()
    assert (aspects["p_holm"] < 0.05).all() and (aspects["difference"] > 0.05).all()
    joined = joined[joined["against"] == "aggregator=average"]
    assert (joined["p_holm"] < 0.05).all()
    assert f"(p {prompts['p_holm'].item():.2f}".replace("0.", ".") in PAGE.read_text()
    values, none = (saved(shlex.split(MADE[n])[2])[0]["value"] for n in (0, 2))
    page = " ".join(PAGE.read_text("utf-8").split())
    # the numbers that the page has
    assert f"({', '.join(f'{value:.2f}'[1:] for value in values)})" in page
    lost = sorted(f"{-gap:.2f}"[1:] for gap in joined["difference"])
    assert (
        f"loses {' to '.join(lost)} against the plain average ({none[0]:.2f}".replace(
            "(0", "("
        )
        in page
    )
    parts = parts[parts["against"] == "rubric=yes reference=yes"]
    without = parts.xs("fluency").filter(like="rubric=no", axis=0)
    assert (without["p_holm"] < 0.001).all() and (without["difference"] < -0.5).all()
    assert parts.loc[
        ("fluency", "rubric=yes reference=no"), "difference"
    ] == pytest.approx(0, abs=0.03)
