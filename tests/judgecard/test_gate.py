"""A gate that knows what it gates, and two judges or logs compared pair by pair."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from cli_tools import run
from scipy.stats import kendalltau

import judgecard as card
from judgecard import fingerprint, saved
from nlgeval_lib import files
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.evaluators import PromptedJudge
from nlgeval_lib.evaluators.prometheus import Prometheus, Rubric
from nlgeval_lib.scoring.cells import InputError
from tools import planted


@pytest.fixture(scope="module")
def drawn() -> pd.DataFrame:
    return planted.rated(systems=6, inputs=20)


def asked(
    frame: pd.DataFrame,
    sd: float = 0.5,
    prompt: str = planted.PROMPT,
    model: str = "m",
    **settings: Any,
) -> card.Card:
    """The card of a judge that follows people but for noise of this SD."""
    judge = PromptedJudge(prompt, **settings)
    engine = ScriptedEngine(planted.honest(frame, sd, 1), model=model)
    return card.make_card(judge, [frame], engine=engine)


@pytest.fixture(scope="module")
def before(drawn: pd.DataFrame) -> card.Card:
    return asked(drawn)


def test_a_judge_asked_again_is_the_same(
    before: card.Card, drawn: pd.DataFrame
) -> None:
    again = asked(drawn, sd=1.0)
    differing, unknown = fingerprint.differences(before.numbers, again.numbers)
    assert differing == {}
    assert set(unknown).isdisjoint({"model", "prompt", "rubric", "settings", "data"})


@pytest.mark.parametrize(
    ("field", "changed"),
    [
        ("model", {"model": "n"}),
        ("prompt", {"prompt": planted.PROMPT + "\nThink."}),
        ("settings", {"chat": "raw"}),
        ("data", {"rows": slice(0, 60)}),
    ],
)
def test_another_judge_or_data_is_refused_unless_allowed(
    before: card.Card, drawn: pd.DataFrame, field: str, changed: dict[str, Any]
) -> None:
    part = changed.get("rows", slice(None))
    settings = {name: value for name, value in changed.items() if name != "rows"}
    after = asked(drawn.iloc[part].reset_index(drop=True), **settings).numbers
    with pytest.raises(InputError, match=f"{field} was .*--allow {field}"):
        fingerprint.check_same(before.numbers, after, [])
    notes = fingerprint.check_same(before.numbers, after, [field])
    assert notes[0].startswith(f"allowed to differ: {field}")


def test_another_rubric_is_another_judge() -> None:
    levels = ("dull", "so so", "witty")
    fields = []
    for criteria in ("Is it witty?", "Is it kind?"):
        judge = Prometheus(rubric=Rubric(criteria, levels))
        fields.append(fingerprint.of_judge(judge, None, {}))
    differing = [name for name in fields[0] if fields[0][name] != fields[1][name]]
    assert "rubric" in differing and "prompt" not in differing


def test_what_a_card_does_not_know_is_named(
    before: card.Card, drawn: pd.DataFrame
) -> None:
    made_elsewhere = card.of_scores(before.scores(), drawn)
    with pytest.raises(InputError) as caught:
        fingerprint.check_same(before.numbers, made_elsewhere.numbers, [])
    for name in ("model", "prompt", "rubric"):
        assert f"{name} is not known of both cards" in str(caught.value)
    allowed = ["model", "prompt", "rubric"]
    told = fingerprint.check_same(before.numbers, made_elsewhere.numbers, allowed)
    assert "data" not in told[-1] and "model, " in told[-1]
    with pytest.raises(InputError, match="did you mean 'prompt'"):
        fingerprint.check_same(before.numbers, before.numbers, ["promt"])


@pytest.mark.usefixtures("undrawn")
def test_a_gate_by_the_card_that_set_the_bar(
    before: card.Card, drawn: pd.DataFrame, tmp_path: Path, capsys: Any
) -> None:
    before.write(tmp_path / "bar")
    asked(drawn, sd=3.0).write(tmp_path / "worse")
    asked(drawn, model="n").write(tmp_path / "other")
    bar = ["--bar", str(tmp_path / "bar")]
    gate = ["card", "gate"]
    assert run(*gate, str(tmp_path / "bar"), *bar) == 0
    assert run(*gate, str(tmp_path / "bar"), *bar, "overall.kendall.low >= .99") == 1
    assert "would tell" in (said := capsys.readouterr().out) or "proved" in said
    assert run(*gate, str(tmp_path / "worse"), *bar) == 1
    assert "follows the ratings worse" in capsys.readouterr().out
    assert run(*gate, str(tmp_path / "other"), *bar) == 2
    assert "model was m, is n" in capsys.readouterr().err
    assert run(*gate, str(tmp_path / "other"), *bar, "--allow", "model") == 0
    assert run(*gate, str(tmp_path / "bar")) == 2
    # without scores nothing is compared, and nothing else is asked
    (tmp_path / "bar" / "scores.csv").unlink()
    assert run(*gate, str(tmp_path / "worse"), *bar) == 2
    assert "nothing is gated" in capsys.readouterr().err
    assert run(*gate, str(tmp_path / "worse"), *bar, "overall.n > 1") == 0


def test_a_recorded_judge_is_named_as_one_without_a_fingerprint() -> None:
    demo = saved.demo()
    with pytest.raises(InputError, match="a recorded judge was asked by somebody else"):
        fingerprint.check_same(demo, demo, [])


def test_two_logs_are_compared_pair_by_pair(
    drawn: pd.DataFrame, tmp_path: Path, capsys: Any
) -> None:
    tau = {}
    for name, sd in (("before", 3.0), ("after", 0.25)):
        scores = asked(drawn, sd).scores().rename(columns={"human": "rating"})
        scores.drop(columns="set").to_csv(tmp_path / f"{name}.csv", index=False)
        tau[name] = kendalltau(scores["rating"], scores["value"]).statistic
    paths = [str(tmp_path / f"{name}.csv") for name in tau]
    assert run("card", "compare", *paths, "--map", "human=rating") == 0
    said = capsys.readouterr().out
    assert "better" in said
    assert f"{tau['after'] - tau['before']:.3f}" in said


# -- where it stands in a project's own CI


@pytest.mark.usefixtures("undrawn")
def test_the_workflow_of_the_docs_runs(
    before: card.Card, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (files.root() / "docs" / "judge-card.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    [snippet] = [block for block in blocks if "card gate" in block]
    steps = yaml.safe_load(snippet)["jobs"]["gate"]["steps"]
    [gate] = [step["run"] for step in steps if "nlgeval card" in step.get("run", "")]
    renamed = before.judged[0].frame.assign(aspect="coherence")
    for folder in ("card", "bar"):
        asked(renamed).write(tmp_path / folder)
    command = f"{sys.executable} -m nlgeval_lib"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(files.root()))
    ran = [
        subprocess.run(
            ["bash", "-ec", script.replace("nlgeval", command, 1)],
            capture_output=True,
            text=True,
        )
        for script in (gate, gate.replace(">= .3", ">= .99"))
    ]
    assert [one.returncode for one in ran] == [0, 1], ran[0].stderr
    assert "FAILS  own.coherence.kendall.low >= 0.99" in ran[1].stdout


def test_neither_house_needs_pytest() -> None:
    code = (
        "import sys, judgecard, nlgeval_lib, judgecard.told, judgecard.cards; "
        "sys.exit('pytest' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    lock = (files.root() / "pyproject.toml").read_text()
    dependencies = lock.partition("\ndependencies = [")[2].partition("]\n")[0]
    assert dependencies and "pytest" not in dependencies
