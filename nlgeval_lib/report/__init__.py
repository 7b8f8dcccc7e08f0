"""What a notebook shows and saves.

out = report.Output("hdeval_table_01", mode=mode, parameters=dict(seed=seed)); cells = out.compare(ours);
out.table(cells) is the last line of a cell, out.save() of the last one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nlgeval_lib.report.output import Output
    from nlgeval_lib.report.tables import Table, comparison, show

__all__ = ["Output", "Table", "comparison", "show"]


def __getattr__(name: str) -> Any:
    """Loaded where it is used: the runner reads notebooks, and needs no pandas for
    it.
    """
    if name in __all__:
        return getattr(
            importlib.import_module(
                f"{__name__}.{'output' if name == 'Output' else 'tables'}"
            ),
            name,
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
