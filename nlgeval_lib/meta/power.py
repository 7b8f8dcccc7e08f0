"""How small a difference between two judges could this data set show?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import checks, comparison, draws, levels, missing
from .checks import Floats

NAN = float("nan")


@dataclass(frozen=True)
class Detectable:
    """The smallest difference that the paired permutation test finds with the wanted power, by simulation.

    difference: NaN with a reason where even the largest simulated difference was found too seldom. curve: (share of
    scores disturbed, mean difference, power) of each step.
    """

    difference: float
    power: float
    alpha: float
    coef: str
    level: str
    units: str
    n_systems: int
    n_inputs: int
    n_sim: int
    n_perm: int
    seed: int
    curve: tuple[tuple[float, float, float], ...]
    reason: str = ""

    def signature(self) -> str:
        """What was computed, in one line."""
        return (
            f"level:{self.level}|coef:{self.coef}|mdd:perm-{self.units}/{self.n_perm}|power:{checks.exactly(self.power)}"
            f"|alpha:{checks.exactly(self.alpha)}|shares:{','.join(checks.exactly(step[0]) for step in self.curve)}"
            f"|systems:{self.n_systems}|inputs:{self.n_inputs}|sim:{self.n_sim}|seed:{self.seed}"
        )


def minimum_detectable_difference(
    x: Any,
    y: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    units: str = "both",
    power: float = 0.8,
    alpha: float = 0.05,
    n_sim: int = 200,
    n_perm: int = 199,
    shares: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0),
    n_inputs: int | None = None,
    seed: int = 0,
) -> Detectable:
    """How much worse must a second judge be before this design would notice?

    x, y: a judge's scores and ratings, `X[system, input]`. Each simulated data set redraws the inputs (as many as
    `n_inputs`, those there are when None) and disturbs a share of the judge's scores by exchanging them among items,
    which leaves their distribution alone; the disturbed judge is compared with the judge. The power at each share is
    the rate of p <= alpha; the answer is read off between the shares.
    Raises: ValueError as `compare`, for shares outside (0, 1] or not rising.
    """
    coef = levels.named(coef)
    checks.choice(level, levels.LEVELS, "level")
    checks.between(power, "power")
    checks.between(alpha, "alpha")
    n_sim, n_perm = checks.whole(n_sim, "n_sim"), checks.whole(n_perm, "n_perm")
    shares = tuple(checks.vector(shares, "shares").tolist())
    if not all(0 < share <= 1 for share in shares) or list(shares) != sorted(set(shares)):
        raise ValueError(f"shares: got {shares}; pass rising numbers above 0, at most 1")
    checks.same_index(x=x, y=y)
    a, b = checks.pair(checks.matrix(x, "x"), checks.matrix(y, "y"))
    filled = missing.apply(a, b, "drop")
    draws.check_units(units, a.shape)
    levels.check(filled.y, level)
    size = a.shape[1] if n_inputs is None else checks.whole(n_inputs, "n_inputs", low=2)
    if alpha * (n_perm + 1) < 1:
        raise ValueError(f"n_perm: got {n_perm}; p cannot fall to {alpha:g} with fewer than {round(1 / alpha) - 1}")
    curve = []
    for number, share in enumerate(shares):
        rng = np.random.default_rng([checks.whole(seed, "seed", low=0), number])
        outcome = [_one(filled.x, filled.y, share, size, rng, coef, level, units, n_perm) for _ in range(n_sim)]
        defined = [(d, p) for d, p in outcome if d == d]
        found = sum(p <= alpha and d > 0 for d, p in defined) / n_sim
        curve.append((share, float(np.mean([d for d, _ in defined])) if defined else NAN, found))
    difference = _read_off(curve, power)
    reason = _why(curve, power) if np.isnan(difference) else ""
    settings = power, alpha, coef, level, units, a.shape[0], size, n_sim, n_perm, seed
    return Detectable(difference, *settings, tuple(curve), reason)


def _one(
    x: Floats, y: Floats, share: float, size: int, rng: np.random.Generator, *settings: Any
) -> tuple[float, float]:
    """Difference and p of one simulated data set; settings: coefficient, level, units and permutations of `compare`."""
    inputs = rng.integers(0, x.shape[1], size)
    x, y = x[:, inputs], y[:, inputs]
    here = np.flatnonzero(~np.isnan(x))
    moved = here[rng.random(len(here)) < share]
    worse = x.copy()
    worse.flat[moved] = x.flat[rng.permutation(moved)]
    try:
        result = comparison.compare(x, worse, y, *settings, int(rng.integers(2**31)))
    except ValueError:
        return NAN, NAN
    return result.difference, result.p


def _why(curve: list[tuple[float, float, float]], power: float) -> str:
    if all(np.isnan(step[1]) for step in curve):
        return "no simulated difference is defined: scores or ratings are constant, or too few are left"
    return f"power was at most {max(step[2] for step in curve):g} of {power:g}"


def _read_off(curve: list[tuple[float, float, float]], power: float) -> float:
    before = (0.0, 0.0, 0.0)
    for step in curve:
        if step[2] >= power:
            part = (power - before[2]) / (step[2] - before[2])
            return before[1] + part * (step[1] - before[1])
        before = step
    return NAN
