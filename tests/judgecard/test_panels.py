"""What a panel of judges is worth: by its definition, in worlds whose truth is known, and
by the command.
"""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from judgecard import judged
from judgecard.panels import panel_size


def drawn(
    rng: np.random.Generator, judges: int, shared: float, inputs: int = 60
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, ratings and inputs of 4 outputs each; errors correlate by `shared`."""
    n = 4 * inputs
    human = rng.normal(size=n)
    common = rng.normal(size=n)
    own = rng.normal(size=(judges, n))
    errors = np.sqrt(shared) * common + np.sqrt(1 - shared) * own
    # a harsh judge on a scale of ten errs no otherwise
    scores = 10 * (human + errors) - 3 * np.arange(judges)[:, None]
    return scores, human, np.repeat(np.arange(inputs), 4)


def test_the_worth_is_that_of_standardized_differences() -> None:
    scores, human, inputs = drawn(np.random.default_rng(0), 3, 0.4)
    errors = stats.zscore(scores, axis=1) - stats.zscore(human)
    expected = np.var(errors, axis=1).mean() / np.var(np.mean(errors, axis=0))
    size = panel_size(scores, human, inputs)
    assert size.value == pytest.approx(expected)
    correlations = np.corrcoef(errors)[np.triu_indices(3, 1)]
    assert size.errors == pytest.approx(correlations.mean())
    logs = []
    for place in range(60):
        rest = inputs != place
        left = stats.zscore(scores[:, rest], axis=1) - stats.zscore(human[rest])
        logs.append(np.log(np.var(left, axis=1).mean() / np.var(np.mean(left, axis=0))))
    error = np.sqrt(59 / 60 * ((np.array(logs) - np.mean(logs)) ** 2).sum())
    reach = stats.t.ppf(0.975, 59) * error
    assert size.high == pytest.approx(expected * np.exp(reach))


@pytest.mark.parametrize(("judges", "shared"), [(2, 0.0), (6, 0.5), (6, 0.9)])
def test_the_interval_holds_the_truth(judges: int, shared: float) -> None:
    rng = np.random.default_rng(1)
    scores, human, _ = drawn(rng, judges, shared, inputs=50_000)
    truth = panel_size(scores, human, np.arange(len(human)) % 20).value
    held = 0
    for _ in range(150):
        size = panel_size(*drawn(rng, judges, shared))
        held += size.low <= truth <= size.high
    assert 0.9 <= held / 150 <= 0.99


def test_the_same_judge_six_times_is_one() -> None:
    scores, human, _ = drawn(np.random.default_rng(0), 1, 0.0)
    size = panel_size(np.repeat(scores, 6, axis=0), human)
    assert size.value == pytest.approx(1)
    assert size.errors == pytest.approx(1)


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ([[1.0, 2.0]], "two judges or more"),
        ([[1.0, 2.0], [1.0, 2.0]], "at least 10"),
        ([[1.0] * 12, list(range(12))], "the same score"),
    ],
)
def test_what_is_no_panel_is_refused(scores: list[list[float]], says: str) -> None:
    human = np.arange(len(scores[0]), dtype=float)
    with pytest.raises(ValueError, match=says):
        panel_size(scores, human)


def test_the_command_says_what_the_library_does_of_recorded_judges(
    nl, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recorded = judged.recorded("summeval", "alttest_summeval", "gpt-4o")
    frame = recorded.frame.rename(columns={"value": "judge_0"})
    names = ["judge_0"]
    for number, values in enumerate(recorded.other_judges.values(), start=1):
        names.append(f"judge_{number}")
        frame[names[-1]] = values
    columns = ["input_id", "system_id", "aspect", "human", *names]
    frame[columns].to_csv("panel.csv", index=False)
    got = nl("panel", "panel.csv", "--score", "judge_*", "--format", "jsonl")
    assert got.code == 0, got.err
    table = pd.read_json(io.StringIO(got.out), lines=True).set_index("group")
    rows = frame[frame["aspect"] == "coherence"]
    expected = panel_size(rows[names].to_numpy().T, rows["human"], rows["input_id"])
    assert table.at["coherence", "worth"] == pytest.approx(expected.value)
    assert table.at["coherence", "low"] == pytest.approx(expected.low)
    # judges that read alike err alike
    assert (table["worth"] < table["judges"]).all()
    one = nl("panel", "panel.csv", "--score", "judge_0")
    assert one.code == 2 and "two judges or more" in one.err
