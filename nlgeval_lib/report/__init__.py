"""What a notebook shows and saves.

from nlgeval_lib import report
out = report.Output("hdeval_table_01", mode=mode, parameters=dict(seed=seed))
cells = out.compare(ours)      # printed beside ours
out.table(cells)               # last line of a cell: shown
out.save()                     # last cell: CSV, provenance, figures
"""

from __future__ import annotations

from nlgeval_lib.report.output import Output
from nlgeval_lib.report.tables import Table, comparison, show

__all__ = ["Output", "Table", "comparison", "show"]
