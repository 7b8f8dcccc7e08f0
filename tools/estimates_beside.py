"""How do the intervals of `nlgeval estimate` stand beside those of glide-py, truescore,
cje-eval and ppi-python, on the same data?

    python -m tools.estimates_beside [--sims 100] [--seed 0]

Runs in an environment that has these packages (`docs/statistics.md` says how to make
one); the project does not need them. Inputs of rated sets are drawn with the scores
that a recorded judge gave them, people rated `LABELS` of them. Each package is called
as its own documentation does, with what it does by default.

Writes data/simulated/estimates_beside.csv, a row a world and package, and what the
packages say of fixed data (tests/cases/estimates_elsewhere.csv). Takes about ten
minutes of one core, nearly all of them cje-eval's.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from typing import Any

import cje
import numpy as np
import pandas as pd
import ppi_py
import truescore
from glide.estimators import PPIMeanEstimator

from judgecard.estimates import estimate
from nlgeval_lib import files
from tools import estimate_coverage as worlds

INPUTS = 300
LABELS = 25
# the data of the test: GPT-4o on SummEval
FIXED = worlds.WORLDS["SummEval, coherence"]
Scores = np.ndarray  # [system, input]
# of each mean, then of each difference of neighbours: `[contrast, end]`
Ends = np.ndarray


def differences(scores: Scores) -> Scores:
    """Each system less the next."""
    return scores[:-1] - scores[1:]


# -- one function a package: scores, ratings (NaN where nobody rated), ends of the scale


def ours(scores: Scores, ratings: Scores, scale: Sequence[float]) -> Ends:
    """`nlgeval estimate`."""
    return _ours(scores, ratings, ("low", "high"))


def labels_alone(scores: Scores, ratings: Scores, scale: Sequence[float]) -> Ends:
    """Student's t on the labels, as `nlgeval estimate` shows it."""
    return _ours(scores, ratings, ("low_alone", "high_alone"))


def _ours(scores: Scores, ratings: Scores, ends: Sequence[str]) -> Ends:
    result = estimate(scores, ratings)
    estimates = list(result.means)
    for first, second in zip(result.names[:-1], result.names[1:], strict=True):
        estimates.append(result.difference(first, second))
    intervals = []
    for estimated in estimates:
        intervals.append([getattr(estimated, end) for end in ends])
    return np.array(intervals)


def by_cje(scores: Scores, ratings: Scores, scale: Sequence[float]) -> Ends:
    """cje-eval, which knows the pairing of systems by input."""
    responses: dict[str, list[dict[str, Any]]] = {}
    for system, (judged, rated) in enumerate(zip(scores, ratings, strict=True)):
        responses[f"{system:02d}"] = [
            {"prompt_id": place, "judge_score": score, "oracle_label": rating}
            for place, (score, rating) in enumerate(zip(judged, rated, strict=True))
        ]
    analysis = cje.analyze_dataset(fresh_draws_data=responses, fresh_oracle_scale=scale)
    intervals = list(np.transpose(analysis.confidence_interval()))
    for first, second in zip(responses, list(responses)[1:], strict=False):
        compared = analysis.compare_policies(first, second)
        intervals.append([compared["ci_lower"], compared["ci_upper"]])
    return np.array(intervals)


def _by_row(interval: Callable[[Scores, Scores], Any]) -> Callable[..., Ends]:
    """Means and differences of a package that takes one row of scores and ratings."""

    def intervals(scores: Scores, ratings: Scores, scale: Sequence[float]) -> Ends:
        ends = []
        rows = np.vstack([scores, differences(scores)])
        rated = np.vstack([ratings, differences(ratings)])
        for row, labels in zip(rows, rated, strict=True):
            try:
                ends.append(interval(row, labels))
            except ValueError:  # equal ratings or scores: there is no interval
                ends.append((np.nan, np.nan))
        return np.array(ends, dtype=float)

    return intervals


def _by_ppi(scores: Scores, ratings: Scores) -> Any:
    known = ~np.isnan(ratings)
    low, high = ppi_py.ppi_mean_ci(
        ratings[known], scores[known], scores[~known], alpha=0.05
    )
    return float(low.item()), float(high.item())


def _by_glide(scores: Scores, ratings: Scores) -> Any:
    interval = PPIMeanEstimator().estimate(ratings, scores).confidence_interval
    return interval.lower_bound, interval.upper_bound


def _by_truescore(scores: Scores, ratings: Scores) -> Any:
    known = np.flatnonzero(~np.isnan(ratings))
    interval = truescore.ppi_estimate(scores, ratings[known], known)
    return interval.low, interval.high


PACKAGES: dict[str, Callable[..., Ends]] = {
    "nlgeval": ours,
    "labels alone": labels_alone,
    "ppi-python": _by_row(_by_ppi),
    "glide-py": _by_row(_by_glide),
    "truescore": _by_row(_by_truescore),
    "cje-eval": by_cje,
}


def version(package: str) -> str:
    """The installed version of another's package; empty for ours."""
    if package in ("nlgeval", "labels alone"):
        return ""
    return metadata.version(package)


def expected() -> pd.DataFrame:
    """What the packages say where the project must say the same, of one system: the
    first `LABELS` outputs are rated, four inputs in turn are of one topic.
    """
    scores, ratings = (side[0] for side in worlds.pool(FIXED))
    rated = ratings[:LABELS]
    labelled = np.where(np.arange(len(ratings)) < LABELS, ratings, np.nan)
    places = np.arange(LABELS)
    at_quarter = ppi_py.ppi_mean_pointestimate(
        rated, scores[:LABELS], scores[LABELS:], lam=0.25
    )
    at_one = PPIMeanEstimator().estimate(labelled, scores, power_tuning=False)
    alone = truescore.gold_only_estimate(rated)
    by_topic = truescore.gold_only_estimate(rated, clusters=places // 4)
    all_rated = cje.calibrated_mean_ci(scores, (ratings - 1) / 4)
    passed = truescore.rogan_gladen_estimate(scores > 3, rated > 4.2, places)
    rows = [
        ("ppi-python", "mean at weight .25", at_quarter.item()),
        ("glide-py", "mean at weight 1", at_one.mean),
        ("truescore", "low, labels alone", alone.low),
        ("truescore", "high, labels alone", alone.high),
        ("truescore", "low, labels alone, topics", by_topic.low),
        ("truescore", "high, labels alone, topics", by_topic.high),
        ("truescore", "pass rate", passed.point),
        ("cje-eval", "low, all rated, from 0 to 1", all_rated.ci[0]),
        ("cje-eval", "high, all rated, from 0 to 1", all_rated.ci[1]),
    ]
    table = pd.DataFrame(rows, columns=["package", "quantity", "value"])
    table.insert(1, "version", [version(package) for package in table["package"]])
    return table


# -- what is measured


def measure(name: str, sims: int, seed: int) -> Iterator[dict[str, Any]]:
    """A row a package of one world: coverage, median width and the share without an
    interval (which counts as a miss), of means and differences; seconds a data set.
    """
    world = worlds.WORLDS[name]
    assert isinstance(world, worlds.OfData)
    _, all_ratings = worlds.pool(world)
    scale = float(all_ratings.min()), float(all_ratings.max())
    means = all_ratings.mean(axis=1)
    truth = np.concatenate([means, -np.diff(means)])
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(sims):
        scores, ratings = world.draw(INPUTS, rng)
        drawn.append((scores, worlds.labelled(ratings, "input", LABELS, rng)))
    for package, intervals in PACKAGES.items():
        # what is compiled or loaded at the first call is not counted
        intervals(*drawn[0], scale)
        begun = time.process_time()
        ends = np.array([intervals(*data, scale) for data in drawn])
        seconds = (time.process_time() - begun) / sims
        row: dict[str, Any] = {"world": name, "package": package}
        row["version"] = version(package)
        row |= {"systems": len(means), "inputs": INPUTS, "labels": LABELS, "sims": sims}
        low, high = ends[..., 0], ends[..., 1]
        held = (low <= truth) & (truth <= high)
        parts = {"means": slice(len(means)), "differences": slice(len(means), None)}
        for kind, part in parts.items():
            row[f"{kind} held"] = held[:, part].mean()
            row[f"{kind} width"] = np.nanmedian((high - low)[:, part])
            row[f"{kind} without"] = np.isnan(low[:, part]).mean()
        row["seconds"] = seconds
        yield row


def main(argv: Sequence[str] | None = None) -> None:
    """Measure every world from data."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sims", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    logging.disable(logging.WARNING)
    cases = files.root() / "tests" / "cases" / "estimates_elsewhere.csv"
    expected().to_csv(cases, index=False, float_format="%.15g")
    rows = []
    for name, world in worlds.WORLDS.items():
        if world.note != "from data":
            continue
        for row in measure(name, options.sims, options.seed):
            print(*row.values(), flush=True)
            rows.append(row)
    path = files.data() / "simulated" / "estimates_beside.csv"
    pd.DataFrame(rows).to_csv(path, index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
