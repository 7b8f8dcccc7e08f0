"""What a notebook shows and saves.

out = report.Output("hdeval_table_01", mode=mode, parameters=dict(seed=seed)); cells = out.compare(ours);
out.table(cells) is the last line of a cell, out.save() of the last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nlgeval_lib.on_use import loaded_on_use

if TYPE_CHECKING:
    from nlgeval_lib.report.output import Output
    from nlgeval_lib.report.tables import Table, comparison, show

__all__ = ["Output", "Table", "comparison", "show"]

# The runner reads notebooks, and needs no pandas for it.
__getattr__ = loaded_on_use(
    __name__, {"output": ("Output",), "tables": ("Table", "comparison", "show")}
)
