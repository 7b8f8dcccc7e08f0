"""The judge's measured quality: what is parsed, tau with the gold beside judges that
cost nothing, errors found.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from nlgeval_lib import meta
from nlgeval_lib.training.mini import RATED

NEW = (
    "error analysis, new sentences",
    "plain score, new sentences",
)  # forms asked of sentences in no training text
BARS = {"error analysis": 0.80}
BAR = 0.75
PARSABLE = 0.99


def baselines(outputs: pd.DataFrame) -> dict[str, np.ndarray]:
    """Scores that need no judge, one a row: a constant, the length, ROUGE-L and
    SemScore to the reference.
    """
    from nlgeval_lib.evaluators import get

    return {
        "constant": meta.baselines.constant((len(outputs),)),
        "length": meta.baselines.length(outputs["output"].tolist()),
        "ROUGE-L": get("rouge")().score(outputs)["value"].to_numpy(float),
        "SemScore": get("semscore")().score(outputs)["value"].to_numpy(float),
    }


def rated(judgments: pd.DataFrame, form: str) -> list[str]:
    """The rated aspects that a form has judgments of, the overall quality first."""
    there = set(judgments.loc[judgments["form"] == form, "aspect"])
    return [key for key in RATED if key in there]


def _matrix(part: pd.DataFrame, column: str) -> np.ndarray:
    """A column of one form's judgments of one aspect as `X[system, input]`."""
    wide = part.drop_duplicates(["input_id", "system_id"]).pivot(
        index="system_id", columns="input_id", values=column
    )
    return wide.sort_index().sort_index(axis=1).to_numpy(float)


def _part(judgments: pd.DataFrame, form: str, aspect: str) -> pd.DataFrame:
    return judgments[(judgments["form"] == form) & (judgments["aspect"] == aspect)]


def taus(judgments: pd.DataFrame) -> pd.DataFrame:
    """Kendall's tau-b with the gold, at dataset level, for each form and rated aspect,
    and the mean of a form's.

    Intervals: jackknife over records and systems; that of a mean is of the mean as one
    statistic. Returns `form, aspect, value, n, ci_low, ci_high, signature, reason`.
    """
    rows = []
    for form in judgments["form"].unique():
        values = []
        for aspect in rated(judgments, form):
            part = _part(judgments, form, aspect)
            x = _matrix(part, "value")
            y = _matrix(part, "gold")
            if (~np.isnan(x)).sum() < 3:
                rows.append(
                    (form, aspect, np.nan, 0, np.nan, np.nan, "", "nothing was parsed")
                )
                continue
            found = meta.correlate(x, y, ci=True)
            rows.append(
                (
                    form,
                    aspect,
                    found.value,
                    found.n,
                    found.low,
                    found.high,
                    found.signature(),
                    found.reason,
                )
            )
            values.append(found)
        if len(values) > 1:
            mean = float(np.mean([one.value for one in values]))
            n = min(one.n for one in values)
            ends = meta.intervals.of_mean([one.replicates for one in values], mean)
            signature = f"mean-of:{len(values)}|{values[0].signature()}"
            rows.append(
                (form, "mean", mean, n, ends.low, ends.high, signature, ends.reason)
            )
    return pd.DataFrame(
        rows,
        columns=[
            "form",
            "aspect",
            "value",
            "n",
            "ci_low",
            "ci_high",
            "signature",
            "reason",
        ],
    )


def headline(judgments: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """One row a form: the share parsed and the tau that its bar is for, with whether
    both are met.

    The tau is that of the overall quality; of the form that rates aspects only, the
    mean over them. The two forms with new sentences have no bar.
    """
    read = (judgments["status"] == "ok").groupby(judgments["form"])
    rows = []
    for form, part in table.groupby("form", sort=False):
        aspect = "overall" if "overall" in set(part["aspect"]) else "mean"
        one = part[part["aspect"] == aspect].iloc[0]
        share = read.mean()[form]
        bar = float("nan") if form in NEW else BARS.get(form, BAR)
        rows.append(
            {
                "form": form,
                "judgments": read.size()[form],
                "parsable": share,
                "gold": aspect,
                "tau": one["value"],
                "ci_low": one["ci_low"],
                "ci_high": one["ci_high"],
                "n": one["n"],
                "bar": bar,
                "met": None
                if form in NEW
                else bool(one["value"] >= bar and share >= PARSABLE),
                "signature": one["signature"],
            }
        )
    return pd.DataFrame(rows)


def against(
    judgments: pd.DataFrame,
    outputs: pd.DataFrame,
    costless: Mapping[str, np.ndarray],
    n_perm: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Each form's overall score against each baseline: tau of both, their difference, p
    corrected over all (Holm).

    A constant has no tau; it stands in the table as 0, with the test that the form's
    own tau is not above 0.
    """
    rows = []
    p = {}
    for form in judgments["form"].unique():
        if form in NEW or "overall" not in rated(judgments, form):
            continue
        part = _part(judgments, form, "overall")
        judge = _matrix(part, "value")
        gold = _matrix(part, "gold")
        if np.isnan(judge).all():
            continue
        for name, scores in costless.items():
            scored = outputs.assign(score=np.asarray(scores, float))[
                ["input_id", "system_id", "score"]
            ]
            other = _matrix(
                part[["input_id", "system_id"]].merge(scored, how="left"), "score"
            )
            if (
                name == "constant"
                # any judge that knows nothing: scores exchanged at random between
                # outputs
            ):
                found = _above_nothing(judge, gold, n_perm, seed)
            else:
                tested = meta.compare(judge, other, gold, alternative="greater")
                found = (tested.first, tested.second, tested.p, tested.signature())
            rows.append(
                (
                    form,
                    name,
                    found[0],
                    found[1],
                    found[0] - found[1],
                    found[2],
                    found[3],
                )
            )
            p[(form, name)] = found[2]
    fixed = meta.correct(p, "holm")
    table = pd.DataFrame(
        rows,
        columns=[
            "form",
            "baseline",
            "tau",
            "baseline_tau",
            "difference",
            "p",
            "signature",
        ],
    )
    return table.assign(
        p_holm=[fixed[(row.form, row.baseline)] for row in table.itertuples()]
    )


def _above_nothing(
    judge: np.ndarray, gold: np.ndarray, n_perm: int, seed: int
) -> tuple[float, float, float, str]:
    """tau, 0, and the p-value of a tau as high where the gold is put in random
    order.
    """
    from scipy.stats import kendalltau

    there = ~(np.isnan(judge) | np.isnan(gold))
    x = judge[there]
    y = gold[there]
    tau = float(kendalltau(x, y).statistic)
    rng = np.random.default_rng(seed)
    null = [kendalltau(x, rng.permutation(y)).statistic for _ in range(n_perm)]
    p = (1 + sum(one >= tau for one in null)) / (n_perm + 1)
    return (
        tau,
        0.0,
        p,
        f"level:dataset|coef:kendall-b|test:perm-rows/{n_perm}|alt:greater|seed:{seed}",
    )
