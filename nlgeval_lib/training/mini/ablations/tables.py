"""What the kept judgments say: each arm's correlation with the gold, arms against each other, errors found by kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from nlgeval_lib import datasets, meta
from nlgeval_lib.training.mini.ablations import judging, kept
from nlgeval_lib.training.mini.ablations.parts import KNOWN, NEW_RUBRIC
from nlgeval_lib.training.mini.ablations.studies import STUDIES

ONE_TASK = "one task"  # whichever domain's arm is asked about its own domain
MEAN = "mean"
COEFS = ("kendall-b", "pearson", "spearman")


def load(study: str, records: int = 0, folder: Path | None = None) -> pd.DataFrame:
    """The judgments of a study with their gold, of all records of the held-out set or of the first ones.

    `system`: known, as the real channel has its outputs, or new; `rubric`: known, as the fine-tuning has it, or new.
    """
    rows = judging.gold(kept.read(study, folder), study)
    if records:
        rows = rows[rows["input_id"].isin(datasets.load("mini_judge")["input_id"].unique()[:records])]
    known = rows["system_id"].isin(KNOWN)
    new = rows["aspect"] == NEW_RUBRIC
    return rows.assign(system=np.where(known, "known", "new"), rubric=np.where(new, "new", "known"))


def arms(rows: pd.DataFrame) -> list[str]:
    """The arms that are there, in the order of their study, a task of its own first."""
    order = [ONE_TASK, *(one.name for study in STUDIES.values() for one in study)]
    return [name for name in order if name in set(rows["arm"])]


def matrices(rows: pd.DataFrame, arm: str) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Seed -> values and gold of an arm as `X[system, input]`, one question an output."""
    mine = rows[rows["arm"] == arm]
    found = {}
    for seed, part in mine.groupby("seed"):
        x, y = (
            part.pivot(index="system_id", columns="input_id", values=column).sort_index().sort_index(axis=1)
            for column in ("value", "gold")
        )
        found[int(seed)] = (x.to_numpy(float), y.to_numpy(float))
    return found


def correlations(
    rows: pd.DataFrame, coef: str = "kendall-b", n_boot: int = 1000, seed: int = 0
) -> tuple[pd.DataFrame, dict[str, np.ndarray], dict[str, list[float]]]:
    """Each arm's mean correlation with the gold over its seeds, an interval, and the spread between seeds.

    The interval is of the mean over these seeds: records are drawn again, the same for all seeds and arms. `seed_sd` is
    the standard deviation over the training seeds, which the interval does not hold. Unparsed judgments take no part;
    `parsed` is the share of the others. NaN with a reason where a seed has no coefficient.
    Returns the table `variant, value, ci_low, ci_high, seed_sd, seeds, parsed, n, signature, reason`; replicates by
    arm; and the values of the seeds by arm.
    """
    table, drawn, single = [], {}, {}
    for arm in arms(rows):
        found, replicates, reason = [], [], ""
        for x, y in matrices(rows, arm).values():
            if (~np.isnan(x)).sum() < 3:
                found, reason = [], "a seed with fewer than 3 judgments that could be read"
                break
            found.append(meta.correlate(x, y, coef=coef))
            replicates.append(meta.bootstrap(x, y, coef=coef, units="inputs", n_boot=n_boot, seed=seed).replicates)
            reason = reason or found[-1].reason
        mine = rows[rows["arm"] == arm]
        line: dict[str, Any] = {"variant": arm, "seeds": mine["seed"].nunique(), "n": mine.groupby("seed").size().min()}
        line["parsed"] = (mine["status"] == "ok").mean()
        values = [one.value for one in found] if found else [np.nan]
        drawn[arm] = np.mean(replicates, axis=0) if found else np.full(n_boot, np.nan)
        single[arm] = values
        line["value"] = float(np.mean(values))
        line["ci_low"], line["ci_high"] = _ends(drawn[arm])
        line["seed_sd"] = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
        line["signature"] = f"mean-of-seeds:{len(values)}|{_signature(found, n_boot, seed)}" if found else ""
        table.append({**line, "reason": reason})
    columns = ["variant", "value", "ci_low", "ci_high", "seed_sd", "seeds", "parsed", "n", "signature", "reason"]
    return pd.DataFrame(table)[columns], drawn, single


def against(
    rows: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
    coef: str = "kendall-b",
    n_boot: int = 1000,
    n_perm: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Pairs of arms: the difference of their means over seeds, whether records say so, whether training seeds say so.

    `p`: permutation; in a record all systems and seeds of the two arms change places together. `ci_low, ci_high`:
    records drawn again. `seeds_low, seeds_high`: Student's t over the differences seed by seed. `p_holm` is over these
    pairs; `holds`: p_holm below .05 and 0 outside of both intervals.
    """
    _, drawn, single = correlations(rows, coef, n_boot, seed)
    lines, p = [], {}
    for first, second in pairs:
        one, two = matrices(rows, first), matrices(rows, second)
        shared = [number for number in one if number in two]
        ones, twos = (_of(shared, by, single[arm]) for arm, by in ((first, one), (second, two)))
        gaps = ones - twos
        tested = _tested([one[n] for n in shared], [two[n] for n in shared], coef, n_perm, seed)
        p[(first, second)] = tested.p if tested is not None else np.nan
        ends = _ends(drawn[first] - drawn[second])
        line = _gap_line(first, second, single[first], single[second], gaps, ends)
        told = "" if tested is None else f"seeds-stacked:{len(shared)}|{tested.signature()}"
        lines.append({**line, "p": p[(first, second)], "signature": told})
    fixed = meta.correct(p, "holm")
    table = pd.DataFrame(lines)
    table["p_holm"] = [fixed[pair] for pair in p]
    table["holds"] = _holds(table)
    return table[[*[c for c in table if c not in ("signature", "p_holm", "holds")], "p_holm", "holds", "signature"]]


def _of(seeds: Sequence[int], there: Mapping[int, Any], values: Sequence[float]) -> np.ndarray:
    """An arm's values for some of its seeds; NaN where it has none."""
    by = dict(zip(there, values, strict=True)) if len(values) == len(there) else {}
    return np.array([by.get(number, np.nan) for number in seeds])


def _gap_line(
    first: str,
    second: str,
    ones: Sequence[float],
    twos: Sequence[float],
    gaps: np.ndarray,
    ends: tuple[float, float],
) -> dict[str, Any]:
    """A difference with the interval of the records and that of the seeds."""
    spread = stats.sem(gaps) * stats.t.ppf(0.975, len(gaps) - 1) if len(gaps) > 1 else np.nan
    mean = float(np.mean(gaps))
    line: dict[str, Any] = {"variant": first, "base": second, "first": np.mean(ones), "second": np.mean(twos)}
    line |= {"difference": mean, "ci_low": ends[0], "ci_high": ends[1]}
    return line | {"seeds_low": mean - spread, "seeds_high": mean + spread, "seeds": len(gaps)}


def _holds(table: pd.DataFrame) -> pd.Series:
    clear = (table["ci_low"] * table["ci_high"] > 0) & (table["seeds_low"] * table["seeds_high"] > 0)
    return clear & (table["p_holm"] < 0.05)


def by_group(
    rows: pd.DataFrame,
    column: str,
    pairs: Sequence[tuple[str, str]],
    coef: str = "kendall-b",
    n_boot: int = 1000,
    n_perm: int = 1000,
    seed: int = 0,
) -> tuple[pd.DataFrame, pd.DataFrame, dict[tuple[str, str], list[float]]]:
    """`correlations` and `against` group by group, and the mean over the groups; Holm over all tests.

    column: what makes the groups. The arm that bears a group's name is called `ONE_TASK` in it. The mean has an
    interval and no test. Returns both tables with `group` in front, and the values of the seeds by group and arm.
    """
    values, tests, points, drawn = [], [], {}, {}
    groups = list(dict.fromkeys(rows[column]))
    for number, group in enumerate(groups):
        part = rows[rows[column] == group]
        part = part.assign(arm=part["arm"].where(part["arm"] != group, ONE_TASK))
        how: dict[str, Any] = {"coef": coef, "n_boot": n_boot, "seed": seed + number}
        table, replicates, single = correlations(part, **how)
        values.append(table.assign(group=group))
        tests.append(against(part, pairs, n_perm=n_perm, **how).assign(group=group))
        points |= {(group, arm): found for arm, found in single.items()}
        drawn |= {(group, arm): found for arm, found in replicates.items()}
    for arm in dict.fromkeys(arm for _, arm in drawn):
        if all((group, arm) in points for group in groups):
            points[(MEAN, arm)] = list(np.mean([points[(group, arm)] for group in groups], axis=0))
            drawn[(MEAN, arm)] = np.mean([drawn[(group, arm)] for group in groups], axis=0)
            values.append(_mean_line(pd.concat(values), arm, points[(MEAN, arm)], drawn[(MEAN, arm)]))
    joined, tested = pd.concat(values, ignore_index=True), pd.concat(tests, ignore_index=True)
    tested["p_holm"] = list(meta.correct(tested["p"].tolist(), "holm").adjusted)
    tested["holds"] = _holds(tested)
    means = []
    for first, second in pairs:
        gaps = np.subtract(points[(MEAN, first)], points[(MEAN, second)])
        ends = _ends(drawn[(MEAN, first)] - drawn[(MEAN, second)])
        means.append(
            {"group": MEAN, **_gap_line(first, second, points[(MEAN, first)], points[(MEAN, second)], gaps, ends)}
        )
    tested = pd.concat([tested, pd.DataFrame(means)], ignore_index=True)
    return _group_first(joined), _group_first(tested), points


def _mean_line(values: pd.DataFrame, arm: str, single: Sequence[float], drawn: np.ndarray) -> pd.DataFrame:
    mine = values[values["variant"] == arm]
    low, high = _ends(drawn)
    line = {
        "variant": arm,
        "value": float(np.mean(single)),
        "ci_low": low,
        "ci_high": high,
        "seed_sd": float(np.std(single, ddof=1)) if len(single) > 1 else np.nan,
        "seeds": mine["seeds"].min(),
        "parsed": mine["parsed"].mean(),
        "n": mine["n"].sum(),
        "signature": f"mean-of-groups:{len(mine)}|{mine['signature'].iloc[0]}",
        "reason": "",
        "group": MEAN,
    }
    return pd.DataFrame([line])


def _group_first(table: pd.DataFrame) -> pd.DataFrame:
    return table[["group", *[name for name in table if name != "group"]]]


def _tested(
    one: Sequence[tuple[np.ndarray, np.ndarray]],
    two: Sequence[tuple[np.ndarray, np.ndarray]],
    coef: str,
    n_perm: int,
    seed: int,
) -> Any:
    """The paired test over all seeds as one: their systems stand below each other, inputs change places whole."""
    x, z, y = (np.vstack(side) for side in ([a for a, _ in one], [b for b, _ in two], [gold for _, gold in one]))
    if (~np.isnan(x) & ~np.isnan(z)).sum() < 3:
        return None
    return meta.compare(x, z, y, coef=coef, units="inputs", n_perm=n_perm, seed=seed)


def _ends(replicates: np.ndarray) -> tuple[float, float]:
    if np.isnan(replicates).mean() > 0.5:
        return float("nan"), float("nan")
    low, high = np.nanquantile(replicates, [0.025, 0.975])
    return float(low), float(high)


def _signature(found: Sequence[Any], n_boot: int, seed: int) -> str:
    lost, total = (sum(getattr(one, name) for one in found) for name in ("n_missing", "total"))
    return f"level:dataset|coef:{found[0].coef}|nan:drop({lost}/{total})|ci:boot-inputs/{n_boot}|seed:{seed}"
