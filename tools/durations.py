"""Write how long each notebook took into `notebooks/durations.csv`, from what the
runner noted of this checkout's runs.

    make reproduce-all && make durations                   with .nlgeval/ gone before
    .venv/bin/nlgeval run --force && make durations        the cached ones, on top of it

A run that began with nothing stored gives the column `cold`, a later one `cached`. Only
this command writes the table; what no run here measured stands as it was.
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


def measured(output: str) -> dict[str, str]:
    """The seconds that runs of this checkout took, by the table's columns; empty where
    the output was not run here.

    output: the output's id in the catalogue.
    """
    record = stale.Record.read(stale.record_path("full", output))
    if record is None:
        return {}
    seconds = {}
    if record.cold_seconds is not None:
        seconds["cold"] = f"{record.cold_seconds:.0f}"
    if record.status == "ok" and record.seconds != record.cold_seconds:
        seconds["cached"] = f"{record.seconds:.0f}"
    return seconds


def main() -> int:
    """Write the table; the exit code: 2 where this process may use more or fewer cores
    than the table is of, else 0.
    """
    if len(os.sched_getaffinity(0)) != CORES:
        print(f"the table is of {CORES} cores: taskset -c 0,1 limits a run to two")
        return 2
    path = files.notebooks() / durations.NAME
    rows = durations.table()
    names = sorted(entry.id for entry in catalogue.load().outputs)
    with files.replacing(path) as draft, open(draft, "w", newline="") as file:
        writer = csv.DictWriter(file, durations.COLUMNS, lineterminator="\n")
        writer.writeheader()
        for name in names:
            # What was measured here replaces what the table had, column by column.
            row = dict.fromkeys(durations.COLUMNS, "")
            row |= rows.get(name, {})
            row |= measured(name)
            row["output"] = name
            writer.writerow(row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
