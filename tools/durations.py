"""Write how long each notebook took into `notebooks/durations.csv`, from what the
runner noted of this checkout's runs.

    make reproduce-all && make durations COLUMN=cold    with .nlgeval/ gone before
    .venv/bin/nlgeval run --force && make durations     what is stored is read, on top

Only this command writes the table; what no run here measured stands as it was.
"""

from __future__ import annotations

import csv
import os
import sys

from nlgeval_lib import files
from reproduction.report import durations
from reproduction.runner import stale
from reproduction.study import catalogue

# the table's times are of so many cores
CORES = 2


def main(column: str) -> int:
    """Write a column of the table, "cold" or "cached"; the exit code: 2 where this
    process may use more or fewer cores than the table is of, else 0.
    """
    if len(os.sched_getaffinity(0)) != CORES:
        print(f"the table is of {CORES} cores: taskset -c 0,1 limits a run to two")
        return 2
    rows = durations.table()
    names = sorted(entry.id for entry in catalogue.load().outputs)
    path = files.notebooks() / durations.NAME
    with files.replacing(path) as draft, open(draft, "w", newline="") as file:
        writer = csv.DictWriter(file, durations.COLUMNS, lineterminator="\n")
        writer.writeheader()
        for name in names:
            row = dict.fromkeys(durations.COLUMNS, "") | rows.get(name, {})
            record = stale.Record.read(stale.record_path("full", name))
            if record is not None and record.status == "ok":
                row[column] = f"{record.seconds:.0f}"
            writer.writerow(row | {"output": name})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
