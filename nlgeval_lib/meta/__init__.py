"""Meta-evaluation: arrays in, frozen results with a signature out. Convention: `X[system, input]`, NaN is missing."""

from __future__ import annotations

from . import baselines, intervals, missing
from .agreement import Agreement, gwet_ac, icc, krippendorff_alpha, weighted_kappa
from .bias import (
    LengthBias,
    PositionBias,
    ScaleUse,
    SelfPreference,
    length_bias,
    position_bias,
    scale_use,
    self_preference,
)
from .comparison import Classical, Comparison, compare, fisher_test, steiger, williams
from .correlation import Correlation, coefficients, correlate
from .intervals import Bootstrap, Resampled, bootstrap, fisher_interval, resampled_t
from .levels import COEFFICIENTS, LEVELS
from .missing import POLICIES, SAMPLE_RULES, Samples, mean_of_samples
from .multiplicity import Corrected, League, correct, league, rank_clusters
from .pairwise import (
    PairwiseAccuracy,
    TieAccuracy,
    acc_eq,
    calibrate_ties,
    held_out_acc_eq,
    pairwise_accuracy,
    soft_pairwise_accuracy,
)
from .power import Detectable, minimum_detectable_difference
from .raters import AltTest, Ceiling, against_leave_one_out, alt_test, human_ceiling
from .robustness import Bounds, bounds, by_stratum, side_by_side

__all__ = [
    "COEFFICIENTS",
    "LEVELS",
    "POLICIES",
    "SAMPLE_RULES",
    "Agreement",
    "AltTest",
    "Bootstrap",
    "Bounds",
    "Ceiling",
    "Classical",
    "Comparison",
    "Corrected",
    "Correlation",
    "Detectable",
    "League",
    "LengthBias",
    "PairwiseAccuracy",
    "PositionBias",
    "Resampled",
    "Samples",
    "ScaleUse",
    "SelfPreference",
    "TieAccuracy",
    "acc_eq",
    "against_leave_one_out",
    "alt_test",
    "baselines",
    "bootstrap",
    "bounds",
    "by_stratum",
    "calibrate_ties",
    "coefficients",
    "compare",
    "correct",
    "correlate",
    "fisher_interval",
    "fisher_test",
    "gwet_ac",
    "held_out_acc_eq",
    "human_ceiling",
    "icc",
    "intervals",
    "krippendorff_alpha",
    "league",
    "length_bias",
    "mean_of_samples",
    "minimum_detectable_difference",
    "missing",
    "pairwise_accuracy",
    "position_bias",
    "rank_clusters",
    "resampled_t",
    "scale_use",
    "self_preference",
    "side_by_side",
    "soft_pairwise_accuracy",
    "steiger",
    "weighted_kappa",
    "williams",
]
