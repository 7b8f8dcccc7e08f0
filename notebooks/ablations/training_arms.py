"""The training ablations of the miniature judge: the kept judgments of each fine-tuned
arm, and what they say.

`make mini-ablations` (tools/mini_judge) fine-tunes one base on other data, arm by arm
and seed by seed, and keeps what each run said of the held-out set under
`data/mini/ablations/`. The notebooks `training_*` beside this read it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from nlgeval_lib import datasets, files, meta
from nlgeval_lib.datasets import mini_judge
from nlgeval_lib.training import mini

RUNS = "runs.csv"
LINE = [
    "study",
    "arm",
    "seed",
    "digest",
    "base",
    "heldout",
    "judgments",
    "examples",
    "tokens",
    "steps",
    "seconds",
]
KEYS = ["input_id", "system_id", "aspect"]
KNOWN = (
    "careful",
    "misread",
    "terse",
    "chatty",
)  # systems of the held-out set whose outputs the real channel has
NEW_RUBRIC = "relevance"  # the aspect whose rubric no fine-tuning shows
ONE_TASK = "one task"  # whichever domain's arm is asked about its own domain
MEAN = "mean"
COEFS = ("kendall-b", "pearson", "spearman")


# -- the kept judgments


def folder() -> Path:
    """Where the judgments of all runs lie."""
    return files.data() / "mini" / "ablations"


def path(study: str, arm: str, seed: int, folder: Path) -> Path:
    """Where the judgments of a run lie."""
    return (
        folder
        / study
        / f"{re.sub(r'[^a-z0-9]+', '-', arm.lower()).strip('-')}-{seed}.csv"
    )


def sha(file: Path) -> str:
    """A file's hash as a run's line has it."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def runs(where: Path | None = None) -> pd.DataFrame:
    """One row a finished run, arm by arm as its study names them: `LINE`.

    Raises: ValueError for another table.
    """
    file = (where or folder()) / RUNS
    if not file.is_file():
        return pd.DataFrame(columns=LINE)
    found = pd.read_csv(
        file, dtype={"digest": str, "base": str, "heldout": str, "judgments": str}
    )
    if list(found.columns) != LINE:
        raise ValueError(
            f"{file}: columns {', '.join(found.columns)}, not {', '.join(LINE)}; delete it and run again"
        )
    return found


def read(study: str, where: Path | None = None) -> pd.DataFrame:
    """The judgments of all runs of a study (`KEYS, value, status, told`), with `arm`
    and `seed`.

    Raises: ValueError for judgments that are not those of the run's line or of another
    held-out set; FileNotFoundError that names the command.
    """
    where = where or folder()
    found = []
    for line in runs(where).query("study == @study").itertuples():
        file = path(study, line.arm, line.seed, where)
        if not file.is_file() or sha(file) != line.judgments:
            raise ValueError(
                f"{file} is not what its run wrote; restore it, or `make mini-ablations` makes it again"
            )
        if line.heldout != sha(mini_judge.path()):
            raise ValueError(
                f"{file} judges another held-out set; `make mini-ablations` judges this one"
            )
        rows = pd.read_csv(
            file,
            keep_default_na=False,
            na_values={"value": [""]},
            dtype={"value": float},
            float_precision="round_trip",
        )
        found.append(rows.assign(arm=line.arm, seed=line.seed))
    if not found:
        raise FileNotFoundError(
            f"no run of a study {study!r} under {where}; `make mini-ablations` runs it"
        )
    return pd.concat(found, ignore_index=True)


def load(study: str, records: int = 0, where: Path | None = None) -> pd.DataFrame:
    """The judgments of a study with their gold, of all records of the held-out set or
    of the first ones.

    `system`: known, as the real channel has its outputs, or new; `rubric`: known, as
    the fine-tuning has it, or new.
    """
    rows = with_gold(read(study, where), study)
    if records:
        rows = rows[
            rows["input_id"].isin(
                datasets.load("mini_judge")["input_id"].unique()[:records]
            )
        ]
    known = rows["system_id"].isin(KNOWN)
    new = rows["aspect"] == NEW_RUBRIC
    return rows.assign(
        system=np.where(known, "known", "new"), rubric=np.where(new, "new", "known")
    )


def with_gold(rows: pd.DataFrame, study: str) -> pd.DataFrame:
    """The rows with `gold` by construction, `domain` and `kinds`: minus the sum of
    penalties, or the aspect's score.
    """
    frame = datasets.load("mini_judge")
    right = frame[[*KEYS, "domain", "kinds"]].assign(
        gold=frame["human"] if study == "grading" else -frame["penalty"]
    )
    return rows.merge(right, on=KEYS, how="left", validate="many_to_one")


def trained(study: str, where: Path | None = None) -> pd.DataFrame:
    """What each arm of a study was fine-tuned on: examples, tokens, steps and
    seconds, means over seeds.
    """
    arms = runs(where).query("study == @study").groupby("arm", sort=False)
    means = arms[["examples", "tokens", "steps", "seconds"]].mean().round().astype(int)
    means.insert(0, "seeds", arms.size())
    return means.reset_index()


# -- which errors were found


def found_by_kind(rows: pd.DataFrame) -> pd.DataFrame:
    """What each arm's analyses found of the errors that were put in, over all its
    seeds: `arm, kind, errors, found, false, recall, precision`; only the kind is asked
    for, not the words.
    """
    frame = datasets.load("mini_judge")
    tables = []
    for (arm, _), part in rows.groupby(["arm", "seed"], sort=False):
        told = [
            [{"kind": kind, "location": ""} for kind in kinds.split()]
            for kinds in part["told"]
        ]
        said = part[["input_id", "system_id"]].assign(errors=told).to_dict("records")
        tables.append(mini.by_kind(frame, said).assign(arm=arm))
    table = (
        pd.concat(tables)
        .groupby(["arm", "kind"], sort=False)[["errors", "found", "false"]]
        .sum()
        .reset_index()
    )
    precision = table["found"] / (table["found"] + table["false"])
    return table.assign(recall=table["found"] / table["errors"], precision=precision)


# -- what they say


def arms(rows: pd.DataFrame) -> list[str]:
    """The arms that are there, in the order of their study."""
    return list(rows["arm"].unique())


def _wide(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Values and gold as matrices `X[seed and system, input]`."""
    wide = rows.pivot(
        index=["seed", "system_id"], columns="input_id", values=["value", "gold"]
    )
    return wide["value"].to_numpy(float), wide["gold"].to_numpy(float)


def correlations(
    rows: pd.DataFrame, coef: str = "kendall-b", n_boot: int = 1000, seed: int = 0
) -> tuple[pd.DataFrame, dict[str, np.ndarray], dict[str, list[float]]]:
    """Each arm's mean correlation with the gold over its seeds, an interval, and the
    spread between seeds.

    The interval is of the mean over these seeds: records are drawn again, the same for
    all seeds and arms. `seed_sd` is the standard deviation over the training seeds,
    which the interval does not hold. Unparsed judgments take no part; `parsed` is the
    share of the others. NaN with a reason where a seed has no coefficient. Returns the
    table `variant, value, ci_low, ci_high, seed_sd, seeds, parsed, n, signature,
    reason`; replicates by arm; and the values of the seeds by arm.
    """
    table = []
    drawn = {}
    points = {}
    how: dict[str, Any] = {
        "coef": coef,
        "ci": "boot-inputs",
        "n_boot": n_boot,
        "seed": seed,
    }
    for arm, mine in rows.groupby("arm", sort=False):
        seeds = mine.groupby("seed")
        points[arm], drawn[arm] = [np.nan] * len(seeds), np.full(n_boot, np.nan)
        signature = ""
        reason = "a seed with fewer than 3 judgments that could be read"
        if seeds["value"].count().min() >= 3:
            results = [meta.correlate(*_wide(part), **how) for _, part in seeds]
            points[arm] = [one.value for one in results]
            drawn[arm] = np.mean([one.replicates for one in results], axis=0)
            lost, total = (
                sum(getattr(one, name) for one in results)
                for name in ("n_missing", "total")
            )
            signature = f"mean-of-seeds:{len(results)}|level:dataset|coef:{coef}|nan:drop({lost}/{total})"
            signature += f"|ci:boot-inputs/{n_boot}|seed:{seed}"
            reason = next((one.reason for one in results if np.isnan(one.value)), "")
        counts = {
            "seeds": len(seeds),
            "parsed": (mine["status"] == "ok").mean(),
            "n": seeds.size().min(),
        }
        table.append(
            _line(arm, points[arm], drawn[arm])
            | counts
            | {"signature": signature, "reason": reason}
        )
    return pd.DataFrame(table), drawn, points


def against(
    rows: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
    coef: str = "kendall-b",
    n_boot: int = 1000,
    n_perm: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Pairs of arms: the difference of their means over seeds, whether records say so,
    whether training seeds say so.

    `p`: permutation; in a record all systems and seeds of the two arms change places
    together. `ci_low, ci_high`: records drawn again. `seeds_low, seeds_high`: Student's
    t over the differences seed by seed. `p_holm` is over these pairs; `holds`: p_holm
    below .05 and 0 outside of both intervals.
    """
    return _corrected(
        _tests(rows, correlations(rows, coef, n_boot, seed), pairs, coef, n_perm, seed)
    )


def by_group(
    rows: pd.DataFrame,
    column: str,
    pairs: Sequence[tuple[str, str]],
    coef: str = "kendall-b",
    n_boot: int = 1000,
    n_perm: int = 1000,
    seed: int = 0,
) -> tuple[pd.DataFrame, pd.DataFrame, dict[tuple[str, str], list[float]]]:
    """`correlations` and `against` group by group, and the mean over the groups; Holm
    over all tests.

    column: what makes the groups. The arm that bears a group's name is called
    `ONE_TASK` in it. The mean has an interval and no test. Returns both tables with
    `group` in front, and the values of the seeds by group and arm.
    """
    tables = []
    tests = []
    points = {}
    drawn: dict[str, list[np.ndarray]] = {}
    for number, (group, part) in enumerate(
        rows.groupby(column, sort=False), start=seed
    ):
        part = part.assign(arm=part["arm"].where(part["arm"] != group, ONE_TASK))
        measured = correlations(part, coef, n_boot, number)
        tables.append(measured[0].assign(group=group))
        tests.append(
            _tests(part, measured, pairs, coef, n_perm, number).assign(group=group)
        )
        for arm, replicates in measured[1].items():
            drawn.setdefault(arm, []).append(replicates)
            points[group, arm] = measured[2][arm]
    table = pd.concat(tables, ignore_index=True)
    tested = _corrected(pd.concat(tests, ignore_index=True))

    means = []
    gaps = []
    whole = {
        arm: np.mean(each, axis=0)
        for arm, each in drawn.items()
        if len(each) == len(tests)
    }
    for arm, replicates in whole.items():
        mine = table[table["variant"] == arm]
        points[MEAN, arm] = list(
            np.mean([points[group, arm] for group in mine["group"]], axis=0)
        )
        counts = {
            "seeds": mine["seeds"].min(),
            "parsed": mine["parsed"].mean(),
            "n": mine["n"].sum(),
        }
        signature = f"mean-of-groups:{len(mine)}|{mine['signature'].iloc[0]}"
        line = (
            _line(arm, points[MEAN, arm], replicates)
            | counts
            | {"signature": signature, "reason": ""}
        )
        means.append(line | {"group": MEAN})
    for pair in pairs:
        one, two = (np.array(points[MEAN, arm]) for arm in pair)
        gaps.append(
            _gap(pair, one, two, one - two, whole[pair[0]] - whole[pair[1]])
            | {"group": MEAN}
        )
    wholes = (
        pd.concat([each, pd.DataFrame(mean)], ignore_index=True)
        for each, mean in ((table, means), (tested, gaps))
    )
    table, tested = (each[["group", *each.columns.drop("group")]] for each in wholes)
    return table, tested, points


def reading(tests: pd.DataFrame) -> str:
    """What the tests allow to say, a line a pair of arms: whether the difference
    holds, over records and seeds.
    """
    lines = []
    for one in tests.to_dict("records"):
        tested = not np.isnan(one["p_holm"])
        verdict = (
            ("holds" if one["holds"] else "cannot be told") if tested else "not tested"
        )
        spread = f"{one['difference']:+.2f} [{one['ci_low']:+.2f}, {one['ci_high']:+.2f}] over records"
        spread += f", [{one['seeds_low']:+.2f}, {one['seeds_high']:+.2f}] over seeds"
        place = f"{one['group']}, " if "group" in one else ""
        lines.append(
            f"{place}{one['variant']} against {one['base']}: {verdict}: {spread}"
        )
    return "\n".join(lines)


def _tests(
    rows: pd.DataFrame,
    measured: tuple,
    pairs: Sequence[tuple[str, str]],
    coef: str,
    n_perm: int,
    seed: int,
) -> pd.DataFrame:
    """A line a pair, uncorrected; measured: what `correlations` gives."""
    _, drawn, points = measured
    of_seed = {
        arm: dict(zip(sorted(mine["seed"].unique()), points[arm], strict=True))
        for arm, mine in rows.groupby("arm")
    }
    lines = []
    for pair in pairs:
        one, two = (of_seed[arm] for arm in pair)
        shared = [number for number in one if number in two]
        gaps = np.array([one[number] - two[number] for number in shared])
        # all seeds as one: their systems stand below each other, inputs change places
        # whole
        (x, y), (z, _) = (
            _wide(rows[(rows["arm"] == arm) & rows["seed"].isin(shared)])
            for arm in pair
        )
        p = np.nan
        signature = ""
        if (~np.isnan(x) & ~np.isnan(z)).sum() >= 3:
            tested = meta.compare(
                x, z, y, coef=coef, units="inputs", n_perm=n_perm, seed=seed
            )
            p = tested.p
            signature = f"seeds-stacked:{len(shared)}|{tested.signature()}"
        line = _gap(
            pair,
            points[pair[0]],
            points[pair[1]],
            gaps,
            drawn[pair[0]] - drawn[pair[1]],
        )
        lines.append(
            line | {"p": p, "p_holm": np.nan, "holds": False, "signature": signature}
        )
    return pd.DataFrame(lines)


def _line(arm: str, values: Sequence[float], drawn: np.ndarray) -> dict[str, Any]:
    """An arm's mean over seeds with its interval and the spread between seeds."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
    return {
        "variant": arm,
        "value": float(np.mean(values)),
        **_ends(drawn),
        "seed_sd": spread,
    }


def _gap(
    pair: tuple[str, str], first: Any, second: Any, gaps: np.ndarray, drawn: np.ndarray
) -> dict[str, Any]:
    """A difference with the interval of the records and that of the seeds."""
    spread = (
        stats.sem(gaps) * stats.t.ppf(0.975, len(gaps) - 1) if len(gaps) > 1 else np.nan
    )
    mean = float(np.mean(gaps))
    means = {
        "variant": pair[0],
        "base": pair[1],
        "first": np.mean(first),
        "second": np.mean(second),
    }
    seeds = {
        "seeds_low": mean - spread,
        "seeds_high": mean + spread,
        "seeds": len(gaps),
    }
    return {**means, "difference": mean, **_ends(drawn), **seeds}


def _corrected(table: pd.DataFrame) -> pd.DataFrame:
    """The tests corrected over the table (Holm), and which differences hold."""
    adjusted = np.asarray(
        meta.correct(table["p"].tolist(), "holm").adjusted, dtype=float
    )
    clear = (table["ci_low"] * table["ci_high"] > 0) & (
        table["seeds_low"] * table["seeds_high"] > 0
    )
    return table.assign(p_holm=adjusted, holds=clear & (adjusted < 0.05))


def _ends(replicates: np.ndarray) -> dict[str, float]:
    """The middle 95 % of the replicates, NaN where most of them have no value."""
    few = np.isnan(replicates).mean() > 0.5
    low, high = (
        (np.nan, np.nan)
        if few
        else map(float, np.nanquantile(replicates, [0.025, 0.975]))
    )
    return {"ci_low": low, "ci_high": high}
