"""TIGERScore's own outputs: sampled through an engine, the least likely kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import tiny_model
from cli_tools import jsonl

from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.evaluators import BartScore
from nlgeval_lib.evaluators.stages import plan, run
from reproduction.training.own_outputs import SAMPLING, least_likely, sampled

ROWS = pd.DataFrame(
    {
        "input_id": ["a", "b"],
        "instruction": ["Summarise.", "Translate."],
        "source": ["A bus left at nine. It rained.", "Der Bus fuhr ab."],
    }
)


class Length:
    """A metric that puts the longest text lowest, and knows nothing of the word no."""

    def score(self, frame: pd.DataFrame) -> pd.DataFrame:
        values = -frame["output"].str.len().astype(float)
        return pd.DataFrame({"value": values.mask(frame["output"] == "no")})


def answer(request, draw):
    return "" if draw == 4 else f"{request.id} " + "x" * (draw % 3)


def test_five_draws_an_input_are_asked_by_top_p():
    [stage] = plan(sampled(ROWS, "system"), ScriptedEngine(answer))
    assert stage.completions == 10
    assert (SAMPLING.n, SAMPLING.top_p) == (5, 0.9)
    prompts = [request.text() for request in stage.requests]
    assert "Summarise.\nA bus left at nine. It rained." in prompts[0]


def test_the_least_likely_output_of_each_input_is_kept():
    outputs = run(sampled(ROWS, "system"), ScriptedEngine(answer))
    assert outputs.groupby("input_id")["draw"].apply(list).tolist() == [[*range(5)]] * 2
    assert outputs.loc[outputs["draw"] == 4, "failure"].str.len().min() > 5
    lowest = least_likely(outputs, Length())
    assert lowest[["input_id", "draw"]].to_numpy().tolist() == [["a", 2], ["b", 2]]
    assert lowest["likelihood"].tolist() == [-4, -4]
    both = least_likely(outputs, Length(), keep=2)
    # 0 and 3 are equally long: the earlier draw stays
    assert both.loc[both["input_id"] == "a", "draw"].tolist() == [1, 2]


def test_what_has_no_value_is_left_out():
    outputs = pd.DataFrame(
        {"input_id": "a", "system_id": "s", "draw": [0, 1], "output": ["no", "yes"]}
    )
    assert least_likely(outputs, Length())["output"].tolist() == ["yes"]


def test_a_missing_column_is_named():
    with pytest.raises(
        ValueError, match="source or input; the columns are instruction"
    ):
        next(sampled(ROWS[["instruction"]], "system"))


def test_the_command_samples_and_keeps_what_bartscore_puts_lowest(
    command, judge, tmp_path, own_state
):
    server = judge(lambda prompt: f"It is about {len(prompt)} things.")
    model = tiny_model.build_seq2seq(tmp_path / "tiny-bart")
    rows = jsonl(tmp_path / "rows.jsonl", ROWS.to_dict("records"))
    asked = ("--engine", "openai", "--base-url", server.url, "-m", "tiny")
    call = ("build", "outputs", "--rows", rows, *asked, "--store", tmp_path / "store")
    plan = command(*call, "--dry-run")
    assert plan.code == 0 and "10" in plan.out and not server.asked
    path = tmp_path / "outputs.jsonl"
    done = command(*call, "--bartscore", model, "-o", path, "-s", "top_p=0.8", "-q")
    assert done.code == 0, done.err
    assert "10 outputs of tiny sampled, 2 kept" in done.out
    kept = pd.read_json(path, lines=True, orient="records")
    assert kept["input_id"].tolist() == ["a", "b"]
    metric = BartScore(str(model), direction="source", cache=False)
    expected = metric.score(kept)["value"].to_numpy()
    np.testing.assert_allclose(kept["likelihood"], expected, atol=1e-6)
