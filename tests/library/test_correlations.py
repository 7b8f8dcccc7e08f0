"""Tables of correlations: the same numbers as `statistics` gives, in the keys of the
printed tables.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nlgeval_lib import statistics
from nlgeval_lib.scoring import correlations


def outputs(systems: int = 6, inputs: int = 10, seed: int = 0) -> pd.DataFrame:
    """Outputs in shuffled order with two ratings."""
    rng = np.random.default_rng(seed)
    frame = pd.MultiIndex.from_product(
        [[f"s{i}" for i in range(systems)], [f"i{j}" for j in range(inputs)]],
        names=["system_id", "input_id"],
    ).to_frame(index=False)
    frame = frame.sample(frac=1, random_state=seed).reset_index(drop=True)
    frame["human_a"] = rng.integers(1, 6, len(frame)).astype(float)
    frame["human_b"] = frame["human_a"] + rng.normal(size=len(frame))
    frame["score"] = frame["human_a"] + 2 * rng.normal(size=len(frame))
    return frame


@pytest.mark.parametrize("coef", ["pearson", "spearman", "kendall-b"])
def test_a_cell_is_what_correlate_gives(coef: str) -> None:
    items = outputs()
    items.loc[::7, "score"] = np.nan
    [cell] = correlations.table(
        items,
        {"judge": items["score"]},
        {"a": "human_a"},
        coefs=[coef],
        ci="boot-both",
        n_boot=50,
        seed=3,
    ).to_dict("records")
    grid = correlations.Grid(items)
    x = grid.matrix(items["score"])
    y = grid.matrix(items["human_a"])
    wanted = statistics.correlate(x, y, coef=coef, ci="boot-both", n_boot=50, seed=3)
    assert (cell["value"], cell["ci_low"], cell["ci_high"]) == (
        wanted.value,
        wanted.low,
        wanted.high,
    )
    assert (cell["n"], cell["signature"]) == (wanted.n, wanted.signature()) and len(
        cell["replicates"]
    ) == 50
    known = items["score"].notna()
    oracle = {
        "pearson": stats.pearsonr,
        "spearman": stats.spearmanr,
        "kendall-b": stats.kendalltau,
    }[coef]
    assert cell["value"] == pytest.approx(
        oracle(items["score"][known], items["human_a"][known])[0], abs=1e-12
    )


@given(st.permutations(range(30)))
def test_the_order_of_the_outputs_does_not_matter(order: list[int]) -> None:
    items = outputs(5, 6)
    shuffled = items.iloc[order].reset_index(drop=True)
    first, second = (
        correlations.table(one, {"judge": one["score"]}, {"a": "human_a"}, ci=None)[
            "value"
        ]
        for one in (items, shuffled)
    )
    assert np.allclose(first, second, atol=1e-12)


def test_the_average_is_of_coefficients_and_its_interval_of_their_resamples() -> None:
    items = outputs()
    human = {"a": "human_a", "b": "human_b"}
    table = correlations.table(
        items, {"j": items["score"]}, human, ci="boot-both", n_boot=40, average="mean"
    )
    for statistic, part in table.groupby("statistic"):
        columns = part.set_index("column")
        assert columns.at["mean", "value"] == pytest.approx(
            columns.loc[["a", "b"], "value"].mean()
        )
        drawn = np.mean(columns.loc[["a", "b"], "replicates"].tolist(), axis=0)
        assert columns.at["mean", "ci_low"] == pytest.approx(
            np.quantile(drawn, 0.025)
        ), statistic
        assert columns.at["mean", "signature"].startswith("mean-of:2|level:dataset|")
        assert columns.at["mean", "signature"].endswith("|ci:boot-both/40|seed:0")


def test_the_average_is_left_out_of_as_one_statistic() -> None:
    items = outputs()
    human = {"a": "human_a", "b": "human_b"}
    table = correlations.table(
        items, {"j": items["score"]}, human, coefs=["pearson"], average="mean"
    )
    mean = table.set_index("column").loc["mean"]
    ratings = items[["human_a", "human_b"]].to_numpy()

    def without(column: str) -> float:
        values = []
        for name in items[column].unique():
            kept = ((items[column] != name) & items["score"].notna()).to_numpy()
            values.append(
                np.mean(
                    [
                        stats.pearsonr(items["score"][kept], y[kept])[0]
                        for y in ratings.T
                    ]
                )
            )
        return (len(values) - 1) * np.var(values)

    least = min(items["system_id"].nunique(), items["input_id"].nunique())
    reach = stats.t.ppf(0.975, (least - 1) / 2) * np.sqrt(
        without("system_id") + without("input_id")
    )
    expected = max(mean["value"] - reach, -1), min(mean["value"] + reach, 1)
    assert (mean["ci_low"], mean["ci_high"]) == pytest.approx(expected)
    system = correlations.table(
        items, {"j": items["score"]}, human, level="system", average="mean"
    )
    last = system[system["column"] == "mean"].iloc[0]
    assert (
        np.isnan(last["ci_low"])
        and "no interval of the mean" in last["reason"]
        and "|ci:" not in last["signature"]
    )


def test_an_undefined_coefficient_has_a_reason_and_makes_the_average_undefined() -> (
    None
):
    items = outputs()
    human = {"a": "human_a", "flat": np.ones(len(items))}
    table = correlations.table(
        items, {"j": items["score"]}, human, coefs=["pearson"], average="mean"
    ).set_index("column")
    assert (
        np.isnan(table.at["flat", "value"])
        and "constant ratings" in table.at["flat", "reason"]
    )
    assert (
        np.isnan(table.at["mean", "value"])
        and "constant ratings" in table.at["mean", "reason"]
    )


def test_too_few_usable_scores_are_a_reason_of_one_cell() -> None:
    items = outputs()
    few = items["score"].where(items.index < 2)
    scores = {"broken": few, "whole": items["score"]}
    table = correlations.table(
        items, scores, {"a": "human_a"}, coefs=["pearson"], n_boot=20, average="mean"
    )
    table = table.set_index(["row", "column"])
    assert table.loc[("broken", "a"), "n"] == 2 and np.isnan(
        table.loc[("broken", "mean"), "value"]
    )
    for column in ("a", "mean"):
        assert (
            "got 2 common item(s) of 60; at least 3 need both a score and a rating"
            in table.loc[("broken", column), "reason"]
        )
        assert table.loc[("whole", column), "value"] > 0
    filled = correlations.table(
        items, {"broken": few}, {"a": "human_a"}, coefs=["pearson"], nan="zero", ci=None
    )
    assert filled["value"].notna().all(), "a policy that fills scores has enough"


def test_what_does_not_fit_is_named() -> None:
    items = outputs()
    with pytest.raises(ValueError, match=r"no column 'human_c'; columns: .*human_a"):
        correlations.table(items, {"j": items["score"]}, {"c": "human_c"})
    with pytest.raises(ValueError, match=r"got \(3,\) values for 60 items"):
        correlations.table(items, {"j": [1, 2, 3]}, {"a": "human_a"})
    with pytest.raises(
        ValueError, match=r"j: scores for \['z'\], but ratings are of a"
    ):
        correlations.table(items, {"j": {"z": items["score"]}}, {"a": "human_a"})


def test_an_average_over_rows_is_the_mean_of_the_judges() -> None:
    items = outputs()
    scores = {"one": items["score"], "two": items["score"] ** 2}
    table = correlations.table(
        items, scores, {"a": "human_a", "b": "human_b"}, ci="boot-both", n_boot=40
    )
    mean = correlations.averaged(table, "both", over="row").set_index(
        ["row", "column", "statistic"]
    )
    for (column, statistic), part in table.groupby(["column", "statistic"]):
        cell = mean.loc["both", column, statistic]
        drawn = np.mean(part["replicates"].tolist(), axis=0)
        assert cell["value"] == pytest.approx(part["value"].mean())
        assert (cell["ci_low"], cell["ci_high"]) == pytest.approx(
            tuple(np.quantile(drawn, [0.025, 0.975]))
        )


def test_values_in_another_order_than_the_items_are_refused():
    items = pd.DataFrame(
        {"input_id": list("aabb"), "system_id": list("xyxy")}, index=[7, 3, 5, 1]
    )
    grid = correlations.Grid(items)
    values = pd.Series([1.0, 2, 3, 4], index=items.index)
    assert (
        grid.matrix(values).tolist()
        == grid.matrix(values.to_numpy()).tolist()
        == [[1, 3], [2, 4]]
    )
    assert grid.matrix(values.reset_index(drop=True)).tolist() == [
        [1, 3],
        [2, 4],
    ]  # labels of its own: by place
    placed = values.set_axis(pd.MultiIndex.from_frame(items[["input_id", "system_id"]]))
    assert grid.matrix(placed).tolist() == [[1, 3], [2, 4]]
    for one in (values.sort_index(), placed.sort_index(level="system_id")):
        with pytest.raises(ValueError, match="another order; align them"):
            grid.matrix(one)
    aligned = placed.sort_index(level="system_id").reindex(
        pd.MultiIndex.from_frame(items[["input_id", "system_id"]])
    )
    assert grid.matrix(aligned).tolist() == [[1, 3], [2, 4]]


def test_places_without_an_output_are_no_missing_scores():
    items = pd.DataFrame(
        [(s, i) for s in "abc" for i in range(5) if (s, i) != ("a", 0)]
    )
    items.columns = ["system_id", "input_id"]
    scores, human = np.random.default_rng(4).normal(size=(2, 14))
    gap = np.where(np.arange(14) == 3, np.nan, scores)
    for judged, nan, n in (
        (scores, "error", 14),
        (scores, "drop", 14),
        (gap, "drop", 13),
    ):
        found = correlations.table(
            items, {"judge": judged}, {"all": human}, coefs=("pearson",), nan=nan
        )
        assert f"nan:{nan}({14 - n}/14)" in found["signature"][0] and found["n"][0] == n
        known = ~np.isnan(judged)
        assert found["value"][0] == pytest.approx(
            np.corrcoef(judged[known], human[known])[0, 1]
        )
    with pytest.raises(ValueError, match="1 rated rows have no score"):
        correlations.table(
            items, {"judge": gap}, {"all": human}, coefs=("pearson",), nan="error"
        )


def test_a_system_with_several_outputs_for_an_input_stays_one_system():
    items = pd.DataFrame(
        [(s, i) for s in "abcd" for i in (0, 0, 1, 2)],
        columns=["system_id", "input_id"],
    )
    scores, human = np.random.default_rng(4).normal(size=(2, 16))
    found = correlations.table(
        items, {"j": scores}, {"h": human}, level="system", coefs=("pearson",)
    )
    means = [
        items.assign(v=side).groupby("system_id")["v"].mean()
        for side in (scores, human)
    ]
    assert found["value"][0] == pytest.approx(np.corrcoef(*means)[0, 1])
