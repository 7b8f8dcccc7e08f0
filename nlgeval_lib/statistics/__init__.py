"""Meta-evaluation: arrays in, frozen results with a signature out. Convention:
`X[system, input]`, NaN is missing.

One grammar: `ci=` names an interval and `units=` a paired test, each a method and what
would be drawn anew ("jack-both", "boot-inputs", "perm-systems") or "auto";
`confidence=` is the interval's. `intervals` says what is taken unasked.

Where to look, by what is asked:
- Does a judge follow the ratings, and better than another? `correlation`, `comparison`,
  `many_judges`, `multiplicity`; `pairs` for ties, `verdicts` for judges of pairs.
- How sure is that? `intervals`, over `jackknife` and `draws`; `classical` has formulas,
  `influence` and `questions` say what depends on a few systems, `groups` are families
  and topics, `cautions` speak of near-copies and skewed ratings.
- Do raters agree? `agreement`, `kappas`, `intraclass`, `raters`, `replacement`.
- What follows for the systems? `ranks`; estimates are in `judgecard`.
- What could mislead? `baselines`: constants, length, use of the scale.
- The coefficients themselves: `levels`, over `lists` and `_kernels`. Every
  result is a `result.Result`; `arrays` checks what comes in.

A module is imported when one of its names is asked for, so that a notebook loads, and
hangs on, what it uses only.
"""

from __future__ import annotations

from nlgeval_lib.on_use import loaded_on_use

# module -> the names of it that `statistics` has as its own
_NAMES = {
    "agreement": ("Agreement", "krippendorff_alpha"),
    "arrays": ("POLICIES", "SAMPLE_RULES", "Samples", "TooFew", "mean_of_samples"),
    "baselines": ("LengthBias", "ScaleUse", "length_bias", "scale_use"),
    "classical": ("Classical", "fisher_test", "williams"),
    "comparison": ("Comparison", "compare", "untested"),
    "groups": (),
    "influence": ("Influence",),
    "questions": ("Answer",),
    "correlation": (
        "Bounds",
        "Correlation",
        "bounds",
        "by_stratum",
        "coefficients",
        "correlate",
        "uncorrelated",
    ),
    "intervals": (
        "Interval",
        "Resampled",
        "fisher_interval",
        "resampled_t",
    ),
    "intraclass": ("icc",),
    "kappas": ("kappa", "weighted_kappa"),
    "levels": ("COEFFICIENTS", "LEVELS"),
    "many_judges": ("rank_judges",),
    "multiplicity": ("Corrected", "League", "correct", "league", "rank_clusters"),
    "pairs": ("TieAccuracy", "acc_eq", "calibrate_ties", "held_out_acc_eq"),
    "ranks": ("RankSets", "rank_sets", "stepdown_p"),
    "raters": ("Ceiling", "against_leave_one_out", "human_ceiling", "other_raters"),
    "replacement": ("AltTest", "alt_test"),
    "verdicts": (
        "OrderEffect",
        "PairAccuracy",
        "combined",
        "order_effect",
        "pair_accuracy",
    ),
}

# modules that callers reach as a whole, such as `statistics.baselines.constant`
_MODULES = {"arrays", "baselines", "groups", "intervals"}

__all__ = sorted(_MODULES.union(*_NAMES.values()))

__getattr__ = loaded_on_use(__name__, _NAMES)


def __dir__() -> list[str]:
    return __all__
