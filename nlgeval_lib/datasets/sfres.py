"""SFRES: data-to-text for a San Francisco restaurant dialogue system."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import _novikova
from nlgeval_lib.datasets.specs import Spec

UNIEVAL = "sfres/unieval_sfres_result.json"

SPEC = Spec(
    name="sfres",
    title="SFRES data-to-text, restaurants",
    files=("sfres/bartscore_data.pkl", _novikova.TABLE, UNIEVAL),
    n_items=1181,
    n_inputs=580,
    n_systems=2,
    scale=_novikova.SCALE,
    licence="MIT (ratings), Apache-2.0 (this copy)",
    source=_novikova.SOURCE,
    notes=_novikova.NOTES,
)


def load() -> pd.DataFrame:
    """SFRES in file order: outputs of 2 systems, 3 aspects, all references, stored metrics, UniEval's scores."""
    return _novikova.load(SPEC, "SFRES", UNIEVAL)
