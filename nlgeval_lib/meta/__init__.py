"""Meta-evaluation: arrays in, frozen results with a signature out. Convention: `X[system, input]`, NaN is missing."""

from __future__ import annotations

from .correlation import Correlation, correlate

__all__ = ["Correlation", "correlate"]
