"""The judge's measured quality: what is parsed, tau with the gold beside judges that
cost nothing, errors found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from nlgeval_lib import meta
from nlgeval_lib.training.mini import RATED

# forms asked of sentences in no training text
NEW = ("error analysis, new sentences", "plain score, new sentences")
KEYS = ["input_id", "system_id"]
TAU_COLUMNS = ["form", "aspect", "value", "n", "ci_low", "ci_high"]
TAU_COLUMNS += ["signature", "reason"]
AGAINST_COLUMNS = ["form", "baseline", "tau", "baseline_tau", "difference", "p"]
AGAINST_COLUMNS += ["signature"]
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
    aspects = set(judgments.loc[judgments["form"] == form, "aspect"])
    return [key for key in RATED if key in aspects]


def _matrix(of_form: pd.DataFrame, column: str) -> np.ndarray:
    """A column of one form's judgments of one aspect as `X[system, input]`."""
    wide = of_form.drop_duplicates(KEYS).pivot(
        index="system_id", columns="input_id", values=column
    )
    return wide.sort_index().sort_index(axis=1).to_numpy(float)


def _of_form(judgments: pd.DataFrame, form: str, aspect: str) -> pd.DataFrame:
    """The judgments of one form and aspect."""
    return judgments[(judgments["form"] == form) & (judgments["aspect"] == aspect)]


def taus(judgments: pd.DataFrame) -> pd.DataFrame:
    """Kendall's tau-b with the gold, at dataset level, for each form and rated aspect,
    and the mean of a form's.

    Intervals: jackknife over records and systems; that of a mean is of the mean as one
    statistic. Returns `form, aspect, value, n, ci_low, ci_high, signature, reason`.
    """
    rows: list[tuple[object, ...]] = []
    for form in judgments["form"].unique():
        correlations = []
        for aspect in rated(judgments, form):
            of_aspect = _of_form(judgments, form, aspect)
            x = _matrix(of_aspect, "value")
            if (~np.isnan(x)).sum() < 3:
                nothing = (np.nan, 0, np.nan, np.nan, "", "nothing was parsed")
                rows.append((form, aspect, *nothing))
                continue
            tau = meta.correlate(x, _matrix(of_aspect, "gold"), ci=True)
            row = (tau.value, tau.n, tau.low, tau.high, tau.signature(), tau.reason)
            rows.append((form, aspect, *row))
            correlations.append(tau)
        if len(correlations) > 1:
            rows.append((form, "mean", *_mean_row(correlations)))
    return pd.DataFrame(rows, columns=TAU_COLUMNS)


def _mean_row(correlations: Sequence[meta.Correlation]) -> tuple[object, ...]:
    """The mean of several correlations as a row of `taus`, from its value on."""
    mean = float(np.mean([correlation.value for correlation in correlations]))
    n = min(correlation.n for correlation in correlations)
    replicates = [correlation.replicates for correlation in correlations]
    ends = meta.intervals.of_mean(replicates, mean)
    signature = f"mean-of:{len(correlations)}|{correlations[0].signature()}"
    return mean, n, ends.low, ends.high, signature, ends.reason


def headline(judgments: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """One row a form: the share parsed and the tau that its bar is for, with whether
    both are met.

    The tau is that of the overall quality; of the form that rates aspects only, the
    mean over them. The two forms with new sentences have no bar.
    """
    parsed = (judgments["status"] == "ok").groupby(judgments["form"])
    rows = []
    for form, of_form in table.groupby("form", sort=False):
        aspect = "overall" if "overall" in set(of_form["aspect"]) else "mean"
        tau = of_form[of_form["aspect"] == aspect].iloc[0]
        share = parsed.mean()[form]
        bar = float("nan")
        met = None
        if form not in NEW:
            bar = BARS.get(form, BAR)
            met = bool(tau["value"] >= bar and share >= PARSABLE)
        rows.append(
            {
                "form": form,
                "judgments": parsed.size()[form],
                "parsable": share,
                "gold": aspect,
                "tau": tau["value"],
                "ci_low": tau["ci_low"],
                "ci_high": tau["ci_high"],
                "n": tau["n"],
                "bar": bar,
                "met": met,
                "signature": tau["signature"],
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
        of_form = _of_form(judgments, form, "overall")
        judge = _matrix(of_form, "value")
        gold = _matrix(of_form, "gold")
        if np.isnan(judge).all():
            continue
        for name, scores in costless.items():
            if name == "constant":
                # Any judge that knows nothing: scores exchanged at random between
                # outputs.
                test = _above_nothing(judge, gold, n_perm, seed)
            else:
                scored = outputs[KEYS].assign(score=np.asarray(scores, float))
                scored = of_form[KEYS].merge(scored, how="left")
                test = _above_baseline(judge, _matrix(scored, "score"), gold)
            tau, of_baseline, p[form, name], signature = test
            gap = tau - of_baseline
            rows.append((form, name, tau, of_baseline, gap, p[form, name], signature))
    corrected = meta.correct(p, "holm")
    table = pd.DataFrame(rows, columns=AGAINST_COLUMNS)
    return table.assign(p_holm=[corrected[pair] for pair in p])


Tested = tuple[float, float, float, str]


def _above_baseline(
    judge: np.ndarray, baseline: np.ndarray, gold: np.ndarray
) -> Tested:
    """tau of both, the p-value of "no better than the baseline", and its signature."""
    test = meta.compare(judge, baseline, gold, alternative="greater")
    return test.first, test.second, test.p, test.signature()


def _above_nothing(
    judge: np.ndarray, gold: np.ndarray, n_perm: int, seed: int
) -> Tested:
    """tau, 0, the p-value of a tau as high where the gold is put in random order, and
    the test's signature.
    """
    from scipy.stats import kendalltau

    present = ~(np.isnan(judge) | np.isnan(gold))
    x = judge[present]
    y = gold[present]
    tau = float(kendalltau(x, y).statistic)
    rng = np.random.default_rng(seed)
    as_high = 0
    for _ in range(n_perm):
        as_high += kendalltau(x, rng.permutation(y)).statistic >= tau
    p = (1 + as_high) / (n_perm + 1)
    test = f"test:perm-rows/{n_perm}|alt:greater|seed:{seed}"
    return tau, 0.0, p, f"level:dataset|coef:kendall-b|{test}"
