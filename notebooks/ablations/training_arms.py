"""The training ablations of the miniature judge: the kept judgments of each fine-tuned
arm, and what they say.

`make mini-ablations` (mini_judge) fine-tunes one base on other data, arm by arm
and seed by seed, and keeps what each run said of the held-out set under
`data/mini/ablations/`. The notebooks `training_channels` (the question of TIGERScore's
Figure 3), `training_tasks` (its Table 8) and `training_grading` (Prometheus' ablation)
beside this read it:

1. `load` reads the judgments of a study beside their gold; `trained` says what each arm
learnt from.
2. `correlations` gives each arm's agreement with the gold, `against` the difference of
pairs of arms, `by_group` both group by group.
3. `found_by_kind` says which errors were found, `reading` what the tests allow to say.

Rows are judgments: an output of the held-out set, an arm, a seed. In the study
"grading" an output has two, by a known rubric and by the new one, so that `by_group`
takes them by rubric. A difference holds only where held-out records say so and training
seeds say so.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from nlgeval_lib import datasets, files, statistics
from nlgeval_lib.datasets import mini_judge
from reproduction.training import mini

RUNS = "runs.csv"  # the table of finished runs
# its columns; digest, base, heldout and judgments are hashes
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
KEYS = ["input_id", "system_id", "aspect"]  # what names a judgment of a run
# The systems of the held-out set whose outputs the real channel has.
KNOWN = ("careful", "misread", "terse", "chatty")
NEW_RUBRIC = "relevance"  # the aspect whose rubric no fine-tuning shows
ONE_TASK = "one task"  # whichever domain's arm is asked about its own domain
MEAN = "mean"  # the group that stands for the mean over groups
COEFS = ("kendall-b", "pearson", "spearman")


# -- the kept judgments


def folder() -> Path:
    """Where the judgments of all runs lie."""
    return files.data() / "mini" / "ablations"


def path(study: str, arm: str, seed: int, folder: Path) -> Path:
    """Where the judgments of a run lie.

    study: "channels", "tasks" or "grading".
    arm: its name; the file has it in small letters.
    seed: of the training.
    folder: of the judgments of all runs.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", arm.lower()).strip("-")
    return folder / study / f"{slug}-{seed}.csv"


def sha(file: Path) -> str:
    """A file's hash as a run's line has it: 16 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def runs(where: Path | None = None) -> pd.DataFrame:
    """One row a finished run, arm by arm as its study names them: columns `LINE`.

    where: the folder of the judgments (None: `folder()`).
    Returns: no row where nothing was run.
    Raises: ValueError for another table.
    """
    file = (where or folder()) / RUNS
    if not file.is_file():
        return pd.DataFrame(columns=LINE)
    hashes = ("digest", "base", "heldout", "judgments")
    table = pd.read_csv(file, dtype=dict.fromkeys(hashes, str))
    if list(table.columns) != LINE:
        raise ValueError(
            f"{file}: columns {', '.join(table.columns)}, not {', '.join(LINE)}; "
            "delete it and run again"
        )
    return table


def read(study: str, where: Path | None = None) -> pd.DataFrame:
    """The judgments of all runs of a study.

    study: "channels", "tasks" or "grading".
    where: as for `runs`.
    Returns: `KEYS, value, status, told`, with `arm` and `seed`: value NaN where a text
    could not be read; `told`: the kinds of the errors that an analysis lists.
    Raises: ValueError for judgments that are not those of the run's line or of another
    held-out set; FileNotFoundError that names the command.
    """
    where = where or folder()
    judgments = []
    for line in runs(where).query("study == @study").itertuples():
        # Judgments count only where they are what the run wrote, of this held-out set.
        file = path(study, line.arm, line.seed, where)
        if not file.is_file() or sha(file) != line.judgments:
            raise ValueError(
                f"{file} is not what its run wrote; restore it, or "
                "`make mini-ablations` makes it again"
            )
        if line.heldout != sha(mini_judge.path()):
            raise ValueError(
                f"{file} judges another held-out set; `make mini-ablations` judges "
                "this one"
            )
        rows = pd.read_csv(
            file,
            keep_default_na=False,
            na_values={"value": [""]},
            dtype={"value": float},
            float_precision="round_trip",
        )
        judgments.append(rows.assign(arm=line.arm, seed=line.seed))
    if not judgments:
        raise FileNotFoundError(
            f"no run of a study {study!r} under {where}; `make mini-ablations` runs it"
        )
    return pd.concat(judgments, ignore_index=True)


def load(study: str, records: int = 0, where: Path | None = None) -> pd.DataFrame:
    """The judgments of a study with their gold.

    study: "channels", "tasks" or "grading".
    records: only the first so many records of the held-out set; 0: all.
    where: as for `runs`.
    Returns: as `read` and `with_gold`, with `system`: known, as the real channel has
    its outputs, or new; and `rubric`: known, as the fine-tuning has it, or new.
    Raises: as `read`.
    """
    rows = with_gold(read(study, where), study)
    if records:
        inputs = datasets.load("mini_judge")["input_id"].unique()
        rows = rows[rows["input_id"].isin(inputs[:records])]
    known_systems = rows["system_id"].isin(KNOWN)
    known_rubrics = rows["aspect"] != NEW_RUBRIC
    return rows.assign(
        system=np.where(known_systems, "known", "new"),
        rubric=np.where(known_rubrics, "known", "new"),
    )


def with_gold(rows: pd.DataFrame, study: str) -> pd.DataFrame:
    """The rows with their gold, which is known by construction.

    rows: with `KEYS`.
    study: "grading" takes the aspect's score as gold, any other minus the sum of
    penalties.
    Returns: the rows with `gold`, `domain` and `kinds` (of the errors that were put
    in).
    """
    frame = datasets.load("mini_judge")
    gold = frame["human"] if study == "grading" else -frame["penalty"]
    facts = frame[[*KEYS, "domain", "kinds"]].assign(gold=gold)
    return rows.merge(facts, on=KEYS, how="left", validate="many_to_one")


def trained(study: str, where: Path | None = None) -> pd.DataFrame:
    """What each arm of a study was fine-tuned on: a row an arm.

    where: as for `runs`.
    Returns: `arm, seeds` (how many), and means over them: `examples, tokens, steps,
    seconds`.
    """
    arms = runs(where).query("study == @study").groupby("arm", sort=False)
    means = arms[["examples", "tokens", "steps", "seconds"]].mean().round().astype(int)
    means.insert(0, "seeds", arms.size())
    return means.reset_index()


# -- which errors were found


def found_by_kind(rows: pd.DataFrame) -> pd.DataFrame:
    """What each arm's analyses found of the errors that were put in, over all its
    seeds.

    Only the kind is asked for, not the words.

    rows: as `load` gives them, of error analyses.
    Returns: a row an arm and kind: `arm, kind, errors, found, false, recall,
    precision`; the last two in [0, 1], NaN where nothing was there or listed.
    """
    frame = datasets.load("mini_judge")
    tables = []
    for (arm, _), of_run in rows.groupby(["arm", "seed"], sort=False):
        analyses = of_run[["input_id", "system_id", "told"]].to_dict("records")
        for analysis in analyses:
            # `told` has the kinds of the errors that an analysis lists, blanks between.
            kinds = analysis.pop("told").split()
            analysis["errors"] = [{"kind": kind, "location": ""} for kind in kinds]
        tables.append(mini.by_kind(frame, analyses).assign(arm=arm))
    groups = pd.concat(tables).groupby(["arm", "kind"], sort=False)
    table = groups[["errors", "found", "false"]].sum().reset_index()
    recall = table["found"] / table["errors"]
    precision = table["found"] / (table["found"] + table["false"])
    return table.assign(recall=recall, precision=precision)


# -- what they say


def arms(rows: pd.DataFrame) -> list[str]:
    """The arms that are there, in the order of their study."""
    return list(rows["arm"].unique())


def _matrices(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Values and gold as matrices `X[seed and system, input]`.

    rows: of one arm, one judgment an output and seed.
    """
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
    all seeds and arms. It does not hold how far another training seed would move the
    value: that is `seed_sd`. Unparsed judgments take no part.

    rows: as `load` gives them, one judgment an output, arm and seed.
    coef: as for `statistics.correlate`.
    n_boot: bootstrap resamples.
    seed: of the resamples.
    Returns: the table `variant, value, ci_low, ci_high, seed_sd, seeds, parsed, n,
    signature, reason` (`parsed`: the share of judgments that could be read; NaN with a
    reason where a seed has no coefficient); arm -> its replicates; arm -> the values of
    its seeds.
    """
    table = []
    replicates = {}
    points = {}
    for arm, of_arm in rows.groupby("arm", sort=False):
        seeds = of_arm.groupby("seed")
        results = _seed_by_seed(of_arm, coef, n_boot, seed)
        if results:
            points[arm] = [result.value for result in results]
            # The same records are drawn for all seeds, so replicates may be averaged.
            replicates[arm] = np.mean([result.replicates for result in results], axis=0)
            signature = _signature(results, coef)
            signature += f"|ci:boot-inputs/{n_boot}|seed:{seed}"
            reasons = [result.reason for result in results if np.isnan(result.value)]
            reason = reasons[0] if reasons else ""
        else:
            points[arm] = [np.nan] * len(seeds)
            replicates[arm] = np.full(n_boot, np.nan)
            signature = ""
            reason = "a seed with fewer than 3 judgments that could be read"
        facts = {
            "seeds": len(seeds),
            "parsed": (of_arm["status"] == "ok").mean(),
            "n": seeds.size().min(),
            "signature": signature,
            "reason": reason,
        }
        table.append(_arm_row(arm, points[arm], replicates[arm]) | facts)
    return pd.DataFrame(table), replicates, points


def _seed_by_seed(
    of_arm: pd.DataFrame, coef: str, n_boot: int, seed: int
) -> list[statistics.Correlation]:
    """The correlation of each training seed of an arm; none where a seed has fewer
    than 3 judgments that could be read.
    """
    seeds = of_arm.groupby("seed")
    if seeds["value"].count().min() < 3:
        return []
    results = []
    for _, of_seed in seeds:
        values, gold = _matrices(of_seed)
        result = statistics.correlate(
            values, gold, coef, ci="boot-inputs", n_boot=n_boot, seed=seed
        )
        results.append(result)
    return results


def _signature(results: Sequence[statistics.Correlation], coef: str) -> str:
    """What a mean over seeds is of: the correlation of each, and missing judgments."""
    missing = sum(result.n_missing for result in results)
    total = sum(result.total for result in results)
    signature = f"mean-of-seeds:{len(results)}|level:dataset|coef:{coef}"
    return f"{signature}|nan:drop({missing}/{total})"


def against(
    rows: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
    coef: str = "kendall-b",
    n_boot: int = 1000,
    n_perm: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Is one arm better than another? The difference of their means over seeds, a row a
    pair.

    rows: as for `correlations`.
    pairs: of arms, (variant, base).
    coef: as for `statistics.correlate`.
    n_boot, n_perm: bootstrap resamples; permutations of the test.
    seed: of both.
    Returns: `variant, base, first, second, difference, ci_low, ci_high, seeds_low,
    seeds_high, seeds, p, p_holm, holds, signature`. `p`: permutation; in a record all
    systems and seeds of the two arms change places together. `ci_low, ci_high`: records
    drawn again. `seeds_low, seeds_high`: Student's t over the differences seed by seed.
    `p_holm` is over these pairs; `holds`: p_holm below .05 and 0 outside of both
    intervals.
    """
    _, replicates, points = correlations(rows, coef, n_boot, seed)
    return _corrected(_tests(rows, replicates, points, pairs, coef, n_perm, seed))


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

    rows, pairs, coef, n_boot, n_perm: as for `against`.
    column: what makes the groups, such as "domain". The arm that bears a group's name
    is called `ONE_TASK` in it.
    seed: of the first group; the next has the next number.
    Returns: both tables with `group` in front, rows of the mean (`MEAN`) below, which
    have intervals and no test; and (group, arm) -> the values of the seeds.
    """
    tables = []
    tests = []
    points = {}
    replicates = defaultdict[str, list[np.ndarray]](list)
    groups = rows.groupby(column, sort=False)
    for number, (group, of_group) in enumerate(groups, start=seed):
        renamed = of_group["arm"].where(of_group["arm"] != group, ONE_TASK)
        of_group = of_group.assign(arm=renamed)
        table, drawn, values = correlations(of_group, coef, n_boot, number)
        test = _tests(of_group, drawn, values, pairs, coef, n_perm, number)
        tables.append(table.assign(group=group))
        tests.append(test.assign(group=group))
        for arm in drawn:
            replicates[arm].append(drawn[arm])
            points[group, arm] = values[arm]
    table = pd.concat(tables, ignore_index=True)
    tested = _corrected(pd.concat(tests, ignore_index=True))
    # Only an arm that every group has gets a mean over them.
    means = {}
    for arm, of_groups in replicates.items():
        if len(of_groups) == len(tests):
            means[arm] = np.mean(of_groups, axis=0)
    rows_of_means = []
    for arm, drawn_means in means.items():
        of_arm = table[table["variant"] == arm]
        by_seed = [points[group, arm] for group in of_arm["group"]]
        points[MEAN, arm] = list(np.mean(by_seed, axis=0))
        row = _arm_row(arm, points[MEAN, arm], drawn_means)
        rows_of_means.append(row | _joint_facts(of_arm))
    gaps = _gaps_of_means(pairs, points, means)
    return _with_means(table, rows_of_means), _with_means(tested, gaps), points


def _gaps_of_means(
    pairs: Sequence[tuple[str, str]],
    points: dict[tuple[str, str], list[float]],
    means: dict[str, np.ndarray],
) -> list[dict[str, Any]]:
    """The difference of each pair in the mean over groups, with intervals, no test.

    points: values of the seeds by group and arm. means: of the replicates, by arm.
    """
    gaps = []
    for variant, base in pairs:
        first = np.array(points[MEAN, variant])
        second = np.array(points[MEAN, base])
        drawn_gaps = means[variant] - means[base]
        gaps.append(_gap((variant, base), first, second, first - second, drawn_gaps))
    return gaps


def _joint_facts(of_arm: pd.DataFrame) -> dict[str, Any]:
    """What the row of an arm's mean over groups takes from its rows of the groups."""
    return {
        "seeds": of_arm["seeds"].min(),
        "parsed": of_arm["parsed"].mean(),
        "n": of_arm["n"].sum(),
        "signature": f"mean-of-groups:{len(of_arm)}|{of_arm['signature'].iloc[0]}",
        "reason": "",
    }


def _with_means(table: pd.DataFrame, means: list[dict[str, Any]]) -> pd.DataFrame:
    """The table with rows of the mean over its groups below; `group` comes first."""
    below = pd.DataFrame(means).assign(group=MEAN)
    joined = pd.concat([table, below], ignore_index=True)
    return joined[["group", *joined.columns.drop("group")]]


def reading(tests: pd.DataFrame) -> str:
    """What the tests allow to say, a line a pair of arms: whether the difference holds,
    over records and seeds.

    tests: as `against` or `by_group` gives them.
    """
    lines = []
    for test in tests.to_dict("records"):
        verdict = "cannot be told"
        if np.isnan(test["p_holm"]):
            verdict = "not tested"
        elif test["holds"]:
            verdict = "holds"
        records = f"[{test['ci_low']:+.2f}, {test['ci_high']:+.2f}] over records"
        seeds = f"[{test['seeds_low']:+.2f}, {test['seeds_high']:+.2f}] over seeds"
        pair = f"{test['variant']} against {test['base']}"
        if "group" in test:
            pair = f"{test['group']}, {pair}"
        gap = f"{test['difference']:+.2f}"
        lines.append(f"{pair}: {verdict}: {gap} {records}, {seeds}")
    return "\n".join(lines)


def _tests(
    rows: pd.DataFrame,
    replicates: dict[str, np.ndarray],
    points: dict[str, list[float]],
    pairs: Sequence[tuple[str, str]],
    coef: str,
    n_perm: int,
    seed: int,
) -> pd.DataFrame:
    """The rows of `against`, uncorrected.

    replicates, points: what `correlations` gives second and third.
    """
    by_seed = {}
    for arm, of_arm in rows.groupby("arm"):
        seeds = sorted(of_arm["seed"].unique())
        by_seed[arm] = dict(zip(seeds, points[arm], strict=True))
    lines = []
    for variant, base in pairs:
        # Seed by seed: only seeds of which both arms have a run.
        shared = [number for number in by_seed[variant] if number in by_seed[base]]
        first = np.array([by_seed[variant][number] for number in shared])
        second = np.array([by_seed[base][number] for number in shared])
        # All seeds are taken as one: their systems stand below each other, and inputs
        # change places as a whole.
        in_both = rows[rows["seed"].isin(shared)]
        x, gold = _matrices(in_both[in_both["arm"] == variant])
        y, _ = _matrices(in_both[in_both["arm"] == base])
        p = np.nan
        signature = ""
        judged_by_both = ~np.isnan(x) & ~np.isnan(y)
        if judged_by_both.sum() >= 3:
            test = statistics.compare(
                x, y, gold, coef=coef, units="inputs", n_perm=n_perm, seed=seed
            )
            p = test.p
            signature = f"seeds-stacked:{len(shared)}|{test.signature()}"
        line = _gap(
            (variant, base),
            points[variant],
            points[base],
            first - second,
            replicates[variant] - replicates[base],
        )
        line |= {"p": p, "p_holm": np.nan, "holds": False, "signature": signature}
        lines.append(line)
    return pd.DataFrame(lines)


def _arm_row(
    arm: str, values: Sequence[float], replicates: np.ndarray
) -> dict[str, Any]:
    """An arm's mean over seeds with its interval and the spread between seeds.

    values: of the seeds. replicates: of their mean.
    """
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
    return {
        "variant": arm,
        "value": float(np.mean(values)),
        **_ends(replicates),
        "seed_sd": spread,
    }


def _gap(
    pair: tuple[str, str],
    first: Any,
    second: Any,
    gaps: np.ndarray,
    replicates: np.ndarray,
) -> dict[str, Any]:
    """A difference with the interval of the records and that of the seeds.

    pair: variant and base.
    first, second: the values that their two means are of.
    gaps: seed by seed.
    replicates: of the difference, records drawn again.
    """
    # Student's t over the seeds: half the width of its 95 % interval.
    reach = np.nan
    if len(gaps) > 1:
        reach = stats.sem(gaps) * stats.t.ppf(0.975, len(gaps) - 1)
    mean = float(np.mean(gaps))
    variant, base = pair
    return {
        "variant": variant,
        "base": base,
        "first": np.mean(first),
        "second": np.mean(second),
        "difference": mean,
        **_ends(replicates),
        "seeds_low": mean - reach,
        "seeds_high": mean + reach,
        "seeds": len(gaps),
    }


def _corrected(table: pd.DataFrame) -> pd.DataFrame:
    """The tests corrected over the table (Holm), and which differences hold."""
    corrected = statistics.correct(table["p"].tolist(), "holm")
    adjusted = np.asarray(corrected.adjusted, dtype=float)
    # Both ends on one side of 0.
    over_records = table["ci_low"] * table["ci_high"] > 0
    over_seeds = table["seeds_low"] * table["seeds_high"] > 0
    holds = over_records & over_seeds & (adjusted < 0.05)
    return table.assign(p_holm=adjusted, holds=holds)


def _ends(replicates: np.ndarray) -> dict[str, float]:
    """The middle 95 % of the replicates, as `ci_low` and `ci_high`; NaN where most of
    them have no value.
    """
    if np.isnan(replicates).mean() > 0.5:
        return {"ci_low": np.nan, "ci_high": np.nan}
    low, high = np.nanquantile(replicates, [0.025, 0.975])
    return {"ci_low": float(low), "ci_high": float(high)}
