"""Meta-evaluation: arrays in, frozen results with a signature out. Convention: `X[system, input]`, NaN is missing."""

from __future__ import annotations

from . import baselines
from .agreement import Agreement, gwet_ac, icc, krippendorff_alpha, weighted_kappa
from .alttest import AltTest, alt_test
from .association import Association, association
from .bias import LengthBias, SelfPreference, length_bias, self_preference
from .ceiling import Ceiling, against_leave_one_out, human_ceiling
from .classical import Classical, fisher_interval, fisher_test, steiger, williams
from .correlation import Correlation, by_input, correlate, correlate_many
from .kernels import COEFFICIENTS
from .levels import LEVELS
from .many import coefficients
from .missing import AUTHORS, POLICIES, SAMPLE_RULES, Samples, authors, mean_of_samples
from .multiplicity import Corrected, League, correct, league, rank_clusters
from .pairwise import PairwiseAccuracy, pairwise_accuracy, soft_pairwise_accuracy
from .policies import Bounds, bounds, side_by_side
from .position import PositionBias, position_bias
from .power import Detectable, minimum_detectable_difference
from .resampling import Bootstrap, bootstrap
from .scale import ScaleUse, scale_use
from .significance import Comparison, compare
from .splits import Resampled, resampled_t
from .strata import by_stratum
from .ties import TieAccuracy, acc_eq, calibrate_ties, held_out_acc_eq

__all__ = [
    "AUTHORS",
    "COEFFICIENTS",
    "LEVELS",
    "POLICIES",
    "SAMPLE_RULES",
    "Agreement",
    "AltTest",
    "Association",
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
    "association",
    "authors",
    "baselines",
    "bootstrap",
    "bounds",
    "by_input",
    "by_stratum",
    "calibrate_ties",
    "coefficients",
    "compare",
    "correct",
    "correlate",
    "correlate_many",
    "fisher_interval",
    "fisher_test",
    "gwet_ac",
    "held_out_acc_eq",
    "human_ceiling",
    "icc",
    "krippendorff_alpha",
    "league",
    "length_bias",
    "mean_of_samples",
    "minimum_detectable_difference",
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
