"""The judge's measured quality: what is parsed, tau with the gold beside judges that
cost nothing, errors found.

`taus` correlates every form with its gold, `headline` holds each against its bar,
`against` tests it against the `baselines`. All read the judgments as `measure.judge`
gives them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import statistics
from reproduction.training.mini import RATED

# forms asked of sentences in no training text
NEW = ("error analysis, new sentences", "plain score, new sentences")
# what an output is known by
KEYS = ["input_id", "system_id"]
# what a form has to reach: a tau of its own or of all others, and a share parsed
BARS = {"error analysis": 0.80}
BAR = 0.75
PARSABLE = 0.99


def baselines(outputs: pd.DataFrame) -> dict[str, np.ndarray]:
    """Scores that need no judge, one a row of `outputs`: a constant, the length,
    ROUGE-L and SemScore to the reference.
    """
    from nlgeval_lib.evaluators import get

    rouge = get("rouge")().score(outputs)
    semscore = get("semscore")().score(outputs)
    texts = outputs["output"].tolist()
    return {
        "constant": statistics.baselines.constant((len(outputs),)),
        "length": statistics.baselines.length(texts),
        "ROUGE-L": rouge["value"].to_numpy(float),
        "SemScore": semscore["value"].to_numpy(float),
    }


def rated(judgments: pd.DataFrame, form: str) -> list[str]:
    """The rated aspects that a form has judgments of, the overall quality first."""
    aspects = set(judgments.loc[judgments["form"] == form, "aspect"])
    return [key for key in RATED if key in aspects]


def _matrix(of_form: pd.DataFrame, column: str) -> np.ndarray:
    """A column of one form's judgments of one aspect as `X[system, input]`, both sorted
    by name; NaN where there is none.
    """
    once = of_form.drop_duplicates(KEYS)
    wide = once.pivot(index="system_id", columns="input_id", values=column)
    wide = wide.sort_index().sort_index(axis=1)
    return wide.to_numpy(float)


def _of_form(judgments: pd.DataFrame, form: str, aspect: str) -> pd.DataFrame:
    """The judgments of one form and aspect."""
    is_form = judgments["form"] == form
    is_aspect = judgments["aspect"] == aspect
    return judgments[is_form & is_aspect]


# -- with the gold


def taus(judgments: pd.DataFrame) -> pd.DataFrame:
    """Kendall's tau-b with the gold, at dataset level, for each form and rated aspect,
    and the mean of a form's.

    Intervals: jackknife over records and systems; that of a mean is of the mean as one
        statistic.

    Returns: `form, aspect, value, n, ci_low, ci_high, signature, reason`; a value of
        NaN where fewer than three judgments were parsed.
    """
    rows = []
    for form in judgments["form"].unique():
        correlations = []
        for aspect in rated(judgments, form):
            of_aspect = _of_form(judgments, form, aspect)
            scores = _matrix(of_aspect, "value")
            row: dict[str, Any] = {"form": form, "aspect": aspect}
            if np.count_nonzero(~np.isnan(scores)) < 3:
                rows.append({**row, **_NO_TAU})
                continue
            gold = _matrix(of_aspect, "gold")
            tau = statistics.correlate(scores, gold, ci=True)
            correlations.append(tau)
            rows.append(row | _tau(tau))
        if len(correlations) > 1:
            row = {"form": form, "aspect": "mean"}
            rows.append(row | _mean(correlations))
    return pd.DataFrame(rows, columns=["form", "aspect", *_NO_TAU])


# what a row of `taus` says where there is none
_NO_TAU: Mapping[str, Any] = MappingProxyType(
    {
        "value": np.nan,
        "n": 0,
        "ci_low": np.nan,
        "ci_high": np.nan,
        "signature": "",
        "reason": "nothing was parsed",
    }
)


def _tau(tau: statistics.Correlation) -> dict[str, Any]:
    """What a row of `taus` says of one correlation."""
    return {
        "value": tau.value,
        "n": tau.n,
        "ci_low": tau.low,
        "ci_high": tau.high,
        "signature": tau.signature(),
        "reason": tau.reason,
    }


def _mean(correlations: Sequence[statistics.Correlation]) -> dict[str, Any]:
    """What a row of `taus` says of the mean of several correlations; its interval is of
    their replicates' mean.
    """
    values = []
    counts = []
    replicates = []
    for correlation in correlations:
        values.append(correlation.value)
        counts.append(correlation.n)
        replicates.append(correlation.replicates)
    mean = float(np.mean(values))
    ends = statistics.intervals.of_mean(replicates, mean)
    signature_of_first = correlations[0].signature()
    return {
        "value": mean,
        "n": min(counts),
        "ci_low": ends.low,
        "ci_high": ends.high,
        "signature": f"mean-of:{len(correlations)}|{signature_of_first}",
        "reason": ends.reason,
    }


def headline(judgments: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """One row a form: the share parsed and the tau that its bar is for, with whether
    both are met.

    The tau is that of the overall quality; of the form that rates aspects only, the
    mean over them. The two forms with new sentences have no bar: `bar` is NaN, `met`
    None.

    table: of `taus`.
    """
    is_parsed = judgments["status"] == "ok"
    by_form = is_parsed.groupby(judgments["form"])
    counts = by_form.size()
    shares = by_form.mean()
    rows = []
    for form, of_form in table.groupby("form", sort=False):
        by_aspect = of_form.set_index("aspect")
        aspect = "overall" if "overall" in by_aspect.index else "mean"
        tau = by_aspect.loc[aspect]
        share = shares[form]
        bar = float("nan")
        met = None
        if form not in NEW:
            bar = BARS.get(form, BAR)
            met = bool(tau["value"] >= bar and share >= PARSABLE)
        rows.append(
            {
                "form": form,
                "judgments": counts[form],
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

    outputs: those that the baselines have scored, in their order.
    costless: of `baselines`.
    Returns: `form, baseline`, the fields of `Tested`, `p_holm`.
    """
    rows = []
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
                tested = _above_nothing(judge, gold, n_perm, seed)
            else:
                baseline = _scores_of(of_form, outputs, scores)
                tested = _above_baseline(judge, baseline, gold)
            rows.append({"form": form, "baseline": name, **asdict(tested)})
    columns = [field.name for field in fields(Tested)]
    table = pd.DataFrame(rows, columns=["form", "baseline", *columns])
    pairs = zip(table["form"], table["baseline"], strict=True)
    p = dict(zip(pairs, table["p"], strict=True))
    corrected = statistics.correct(p, "holm")
    return table.assign(p_holm=[corrected[pair] for pair in p])


def _scores_of(
    of_form: pd.DataFrame, outputs: pd.DataFrame, scores: np.ndarray
) -> np.ndarray:
    """A baseline's scores of the outputs that a form has judgments of, as
    `X[system, input]`.
    """
    scored = outputs[KEYS].assign(score=np.asarray(scores, float))
    scored = of_form[KEYS].merge(scored, how="left")
    return _matrix(scored, "score")


@dataclass(frozen=True)
class Tested:
    """A test that the judge is better than a baseline.

    tau: of the judge with the gold.
    baseline_tau: of the baseline.
    difference: tau minus that of the baseline.
    p: the p-value of "no better".
    signature: how it was tested.
    """

    tau: float
    baseline_tau: float
    difference: float
    p: float
    signature: str


def _above_baseline(
    judge: np.ndarray, baseline: np.ndarray, gold: np.ndarray
) -> Tested:
    """Against the scores of a baseline."""
    test = statistics.compare(judge, baseline, gold, alternative="greater")
    gap = test.first - test.second
    return Tested(test.first, test.second, gap, test.p, test.signature())


def _above_nothing(
    judge: np.ndarray, gold: np.ndarray, n_perm: int, seed: int
) -> Tested:
    """Against a constant, whose tau is 0 here: how often tau is as high where the gold
    is put in random order.
    """
    from scipy.stats import kendalltau

    present = ~(np.isnan(judge) | np.isnan(gold))
    x = judge[present]
    y = gold[present]
    tau = float(kendalltau(x, y).statistic)
    rng = np.random.default_rng(seed)
    n_as_high = 0
    for _ in range(n_perm):
        shuffled = rng.permutation(y)
        n_as_high += kendalltau(x, shuffled).statistic >= tau
    # the observed order counts as one of the orders, so p is never 0
    p = (1 + n_as_high) / (n_perm + 1)
    test = f"test:perm-rows/{n_perm}|alt:greater|seed:{seed}"
    signature = f"level:dataset|coef:kendall-b|{test}"
    return Tested(tau, 0.0, tau, p, signature)
