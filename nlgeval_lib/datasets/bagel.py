"""BAGEL: data-to-text for restaurants, 202 meaning representations, two systems."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import _novikova
from nlgeval_lib.datasets.specs import Spec

SPEC = Spec(
    name="bagel",
    title="BAGEL data-to-text, restaurants",
    files=("bagel/bartscore_data.pkl", _novikova.TABLE),
    n_items=404,
    n_inputs=202,
    n_systems=2,
    scale=_novikova.SCALE,
    licence="MIT (ratings), Apache-2.0 (this copy)",
    source=_novikova.SOURCE,
    notes=(*_novikova.NOTES, "CoAScore's aspect Overall is `quality`"),
)


def load() -> pd.DataFrame:
    """BAGEL in file order: 404 outputs of 2 systems, 3 aspects, all references, stored metrics."""
    return _novikova.load(SPEC, "BAGEL")
