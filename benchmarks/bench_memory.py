"""How much memory and time do `nlgeval score` and `nlgeval meta` take on large files,
beside pandas and polars reading them? Linux only: memory is read from /proc.

`measure()` returns a section of results/bench.json; `python benchmarks/bench.py --only
memory` runs it. `BENCH_ROWS="1000 1000000"` chooses the sizes; everything is written to a
temporary folder.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SIZES = os.environ.get("BENCH_ROWS", "1000000")
ROWS = tuple(map(int, _SIZES.split()))
# a plugin with the cheapest evaluator there is: what remains is the library's own work
LENGTH = '''
from nlgeval_lib.evaluators import register, score_frame
from nlgeval_lib.records import Judgment

@register("length")
class Length:
    """Characters of the output."""
    def signature(self):
        return "length|v:1"
    def score(self, frame):
        judgments = [Judgment(float(len(text))) for text in frame["output"]]
        return score_frame(frame.index, judgments, self.signature())
'''
# package -> a program that reads the file and does nothing else
READERS = {
    "pandas": "import pandas; pandas.read_json('rows.jsonl', lines=True)",
    "polars": "import polars; polars.read_ndjson('rows.jsonl')",
}


def rows(count: int) -> Iterator[str]:
    """Short rows as lines of JSON: two texts of about 40 characters, a rating from 0 to
    4, an input of four systems.
    """
    places = ("tall tower", "red bridge", "old harbour", "quiet square")
    for i in range(count):
        town = f"of town {i // 20}"
        row = {
            "input_id": i // 4,
            "system_id": "ABCD"[i % 4],
            "output": f"The {places[i % 4]} {town} is open on day {i % 7}.",
            "reference": f"The {places[i // 3 % 4]} {town} opens on day {i % 5}.",
            "human": i * 7 % 5,
        }
        yield json.dumps(row) + "\n"


def peak(command: list[str], folder: Path) -> dict[str, Any]:
    """MiB that a command and its children held at most, together (`peak_mib`), and its
    wall `seconds`.

    Raises: SystemExit, with the end of its output, where the command fails.
    """
    most = 0
    began = time.perf_counter()
    with open(folder / "log", "w+") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=subprocess.STDOUT
        )
        while process.poll() is None:
            # looked at twenty times a second: a shorter peak can be missed
            total = sum(map(resident, family(process.pid)))
            most = max(most, total)
            time.sleep(0.05)
        log.seek(0)
        if process.returncode:
            sys.exit(f"bench: {' '.join(command)[:200]}\n{log.read()[-2000:]}")
    return {
        "peak_mib": round(most / 2**20),
        "seconds": round(time.perf_counter() - began, 1),
    }


def family(pid: int) -> Iterator[int]:
    """The ids of a process and of all that it started, and they in turn."""
    yield pid
    try:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield from family(int(child))
    except OSError:
        return


def resident(pid: int) -> int:
    """Bytes of memory that a process holds; 0 of one that has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def measure() -> dict[str, Any]:
    """By number of rows: the size of the file, and what each command took."""
    results: dict[str, Any] = {}
    for count in ROWS:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            os.environ["NLGEVAL_HOME"] = str(folder / "state")
            (folder / "length.py").write_text(LENGTH)
            with open(folder / "rows.jsonl", "w", encoding="utf-8") as out:
                out.writelines(rows(count))
            size = (folder / "rows.jsonl").stat().st_size
            of_size: dict[str, Any] = {"file_mib": round(size / 2**20)}
            for title, command in commands(count).items():
                of_size[title] = peak(command, folder)
            for package, code in READERS.items():
                title = f"{package} reads the jsonl"
                if importlib.util.find_spec(package) is None:
                    of_size[title] = "not installed"
                else:
                    of_size[title] = peak([sys.executable, "-c", code], folder)
            results[f"{count:,} rows"] = of_size
            print(json.dumps(of_size, indent=2), flush=True)
    os.environ.pop("NLGEVAL_HOME")
    return results


def commands(count: int) -> dict[str, list[str]]:
    """The commands that are measured on a file of so many rows, in this order, by their
    titles.

    Beyond a million rows only the cheapest is run.
    """
    length = "score --plugin length.py -e length -i"
    chosen = {
        "score length, jsonl to parquet": f"{length} rows.jsonl -o s.parquet",
    }
    if count <= 1_000_000:
        chosen |= {
            "score length, parquet to jsonl": (
                f"{length} s.parquet --column again -o again.jsonl"
            ),
            "score rouge, jsonl to csv": "score -e rouge -i rows.jsonl -o rouge.csv",
            "meta, --coef pearson --ci none --no-baselines, parquet": (
                "meta s.parquet --no-baselines --coef pearson --ci none"
            ),
        }
    nlgeval = [sys.executable, "-m", "nlgeval_lib"]
    full = {}
    for title, words in chosen.items():
        full[title] = [*nlgeval, *words.split()]
    return full
