"""Which test and which interval are taken where none is named. The two constants are the only place that says so."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

DEFAULT_TEST = DEFAULT_CI = "auto"  # the jackknife, and permutation of systems at system level


def chosen(what: str, level: str, coef: str, here: npt.NDArray[np.bool_]) -> tuple[str, str]:
    """What "auto" stands for: the name of a test or an interval, or none ("") and the reason.

    what: "test", the paired test; "value" or "difference", the interval of one coefficient or of a difference. here:
    which items take part.
    """
    systems, inputs = (int(here.any(axis=axis).sum()) for axis in (1, 0)) if here.ndim == 2 else (1, here.size)
    if level == "system":
        if what == "test":
            return "exact-systems", ""
        least, name = (4, "fisher") if coef == "pearson" and what == "value" else (5, "wide-both")
        few = f"no interval: {systems} systems at system level, at least {least} are needed"
        return (name, "") if systems >= least else ("", few)
    if systems == 1 or inputs == 1:
        return "jack-rows", ""
    if systems == 2:
        return "jack-inputs", "2 systems: what is said holds for these two only"
    return ("jack-both", "") if inputs > 2 else ("jack-systems", "2 inputs: what is said holds for these two only")
