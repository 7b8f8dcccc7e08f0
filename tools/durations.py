"""Write how long each notebook took, from the runner's records of the last run.

    python tools/durations.py cold      after a run with an empty .nlgeval/
    python tools/durations.py cached    after `nlgeval run --force` on top of it

Both on two cores; `notebooks/durations.csv` keeps what this run has no record of.
"""

from __future__ import annotations

import csv
import os
import sys

from nlgeval_lib import files
from nlgeval_lib.report import durations
from nlgeval_lib.runner import stale
from nlgeval_lib.study import catalogue

CORES = 2


def main(kind: str) -> int:
    """Write the column `kind`; 2 where it is none, or the machine another."""
    if kind not in durations.COLUMNS[1:]:
        print(__doc__)
        return 2
    if len(os.sched_getaffinity(0)) != CORES:
        print(f"the table is of {CORES} cores: taskset -c 0,1 limits a run to two")
        return 2
    path = files.notebooks() / durations.NAME
    rows = {}
    if path.is_file():
        rows = dict(durations.table(path, path.stat().st_mtime_ns))
    outputs = catalogue.load().outputs
    for entry in outputs:
        record = stale.Record.read(stale.record_path("full", entry.id))
        row = dict.fromkeys(durations.COLUMNS, "") | dict(rows.get(entry.id, {}))
        if record and record.status == "ok":
            row[kind] = f"{record.seconds:.0f}"
        rows[entry.id] = row | {"output": entry.id}
    with files.replacing(path) as draft, open(draft, "w", newline="") as file:
        writer = csv.DictWriter(file, durations.COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[name] for name in sorted(entry.id for entry in outputs))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) == 2 else ""))
