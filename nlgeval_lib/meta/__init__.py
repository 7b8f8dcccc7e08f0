"""Meta-evaluation: arrays in, frozen results with a signature out. Convention: `X[system, input]`, NaN is missing."""

from __future__ import annotations

from .correlation import COEFFICIENTS, LEVELS, Correlation, by_input, correlate, correlate_many
from .missing import POLICIES
from .resampling import Bootstrap, bootstrap

__all__ = [
    "COEFFICIENTS",
    "LEVELS",
    "POLICIES",
    "Bootstrap",
    "Correlation",
    "bootstrap",
    "by_input",
    "correlate",
    "correlate_many",
]
