"""SFHOT: data-to-text for a San Francisco hotel dialogue system."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import _novikova
from nlgeval_lib.datasets.specs import Spec

UNIEVAL = "sfhot/unieval_sfhot_result.json"

SPEC = Spec(
    name="sfhot",
    title="SFHOT data-to-text, hotels",
    files=("sfhot/bartscore_data.pkl", _novikova.TABLE, UNIEVAL),
    n_items=875,
    n_inputs=398,
    n_systems=2,
    scale=_novikova.SCALE,
    licence="MIT (ratings), Apache-2.0 (this copy)",
    source=_novikova.SOURCE,
    notes=_novikova.NOTES,
)


def load() -> pd.DataFrame:
    """SFHOT in file order: outputs of 2 systems, 3 aspects, all references, stored metrics, UniEval's scores."""
    return _novikova.load(SPEC, "SFHOT", UNIEVAL)
