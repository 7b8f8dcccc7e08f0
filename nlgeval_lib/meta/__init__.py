"""Meta-evaluation: arrays in, frozen results with a signature out. Convention: `X[system, input]`, NaN is missing.

A module is imported when one of its names is asked for, so that a notebook loads, and hangs on, what it uses only.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "agreement": "Agreement gwet_ac icc krippendorff_alpha weighted_kappa",
    "baselines": "",
    "bias": "LengthBias PositionBias ScaleUse SelfPreference length_bias position_bias scale_use self_preference",
    "comparison": "Classical Comparison compare fisher_test steiger williams",
    "correlation": "Correlation coefficients correlate",
    "intervals": "Bootstrap Resampled bootstrap fisher_interval resampled_t",
    "levels": "COEFFICIENTS LEVELS",
    "missing": "POLICIES SAMPLE_RULES Samples mean_of_samples",
    "multiplicity": "Corrected League correct league rank_clusters",
    "pairwise": "PairwiseAccuracy TieAccuracy acc_eq calibrate_ties held_out_acc_eq pairwise_accuracy "
    "soft_pairwise_accuracy",
    "power": "Detectable minimum_detectable_difference",
    "raters": "AltTest Ceiling against_leave_one_out alt_test human_ceiling",
    "robustness": "Bounds bounds by_stratum side_by_side",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted({*_HOME, "baselines", "intervals", "missing"})


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return __all__
