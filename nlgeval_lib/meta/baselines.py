"""Judges that cost nothing, as score producers: what any real judge has to beat. `X[system, input]` or flat."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import checks
from .checks import Floats

UNITS = ("characters", "words")


def constant(shape: tuple[int, ...], value: float = 1.0) -> Floats:
    """The same score for every item. Correlations with it are not defined; its acc_eq is the share of tied ratings.

    Raises: ValueError for a value that is not a finite number.
    """
    return np.full(shape, checks.number(value, "value"))


def uniform(shape: tuple[int, ...], seed: int, values: Sequence[float] | None = None) -> Floats:
    """Random scores: uniform in [0, 1), or drawn evenly from the values of a scale.

    Raises: ValueError for a negative seed or an empty scale.
    """
    rng = np.random.default_rng(checks.whole(seed, "seed", low=0))
    if values is None:
        return rng.random(shape)
    return rng.choice(checks.vector(list(values), "values"), size=shape)


def length(texts: Sequence[str], unit: str = "characters") -> Floats:
    """The length of each output: characters, or words between blanks. (items,); NaN where there is no text (None).

    Raises: ValueError for anything that is neither text nor None.
    """
    checks.choice(unit, UNITS, "unit")
    if isinstance(texts, str):
        raise ValueError("texts: got one text; pass a list of outputs")
    out = []
    for number, text in enumerate(texts):
        if text is not None and not isinstance(text, str):
            raise ValueError(f"texts: item {number} is {type(text).__name__}; pass text, or None where there is none")
        out.append(np.nan if text is None else len(text) if unit == "characters" else len(text.split()))
    return np.array(out, dtype=float)
