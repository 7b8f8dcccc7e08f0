"""What a notebook shows and saves.

from nlgeval_lib import report
out = report.Output("hdeval_table_01", mode=mode, parameters=dict(seed=seed))
cells = out.compare(ours)      # printed beside ours
out.table(cells)               # last line of a cell: shown
out.save()                     # last cell: CSV, provenance, figures
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nlgeval_lib.report.output import Output
    from nlgeval_lib.report.tables import Table, comparison, show

__all__ = ["Output", "Table", "comparison", "show"]


def __getattr__(name: str) -> Any:
    """Loaded where it is used: the runner reads notebooks, and needs no pandas for it."""
    if name in __all__:
        return getattr(importlib.import_module(f"{__name__}.{'output' if name == 'Output' else 'tables'}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
