"""Peak memory and seconds of `nlgeval score` and `meta` on large files, beside
pandas and polars reading them.
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

ROWS = tuple(map(int, os.environ.get("BENCH_ROWS", "1000000 10000000").split()))
LENGTH = '''
from nlgeval_lib.evaluators import register, score_frame
from nlgeval_lib.records import Judgment

@register("length")
class Length:
    """Characters of the output."""
    def signature(self):
        return "length|v:1"
    def score(self, frame):
        return score_frame(frame.index, [Judgment(float(len(text))) for text in frame["output"]], self.signature())
'''
READ = "import {0}; {0}.{1}({2!r}{3})"


def rows(count: int) -> Iterator[str]:
    """Short rows: two texts of about 40 characters, a rating, two names."""
    things = ("tall tower", "red bridge", "old harbour", "quiet square")
    for i in range(count):
        said = f"The {things[i % 4]} of town {i // 20} is open on day {i % 7}."
        meant = f"The {things[i // 3 % 4]} of town {i // 20} opens on day {i % 5}."
        row = {
            "input_id": i // 4,
            "system_id": "ABCD"[i % 4],
            "output": said,
            "reference": meant,
            "human": i * 7 % 5,
        }
        yield json.dumps(row) + "\n"


def peak(command: list[str], folder: Path) -> dict[str, Any]:
    """MiB that a command and its children held at most, together, and its seconds."""
    most = 0
    began = time.perf_counter()
    with open(folder / "log", "w+") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=subprocess.STDOUT
        )
        while process.poll() is None:
            most = max(most, sum(map(held, family(process.pid))))
            time.sleep(0.05)
        log.seek(0)
        if process.returncode:
            sys.exit(f"bench: {' '.join(command)[:200]}\n{log.read()[-2000:]}")
    return {
        "peak_mib": round(most / 2**20),
        "seconds": round(time.perf_counter() - began, 1),
    }


def family(pid: int) -> Iterator[int]:
    """A process and what it started."""
    yield pid
    try:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield from family(int(child))
    except OSError:
        return


def held(pid: int) -> int:
    """Bytes of memory that a process holds now; 0 of one that is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf(
            "SC_PAGE_SIZE"
        )
    except OSError:
        return 0


def measure() -> dict[str, Any]:
    """By number of rows: the file, and what each command took."""
    nlgeval = [sys.executable, "-m", "nlgeval_lib.cli"]
    found: dict[str, Any] = {}
    for count in ROWS:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            os.environ["NLGEVAL_HOME"] = str(folder / "state")
            (folder / "length.py").write_text(LENGTH)
            with open(folder / "rows.jsonl", "w", encoding="utf-8") as out:
                out.writelines(rows(count))
            made: dict[str, Any] = {
                "file_mib": round((folder / "rows.jsonl").stat().st_size / 2**20)
            }
            score = [*nlgeval, "score", "--plugin", "length.py", "-e", "length", "-i"]
            made["score length, jsonl to parquet"] = peak(
                [*score, "rows.jsonl", "-o", "s.parquet"], folder
            )
            if count <= 1_000_000:
                again = [*score, "s.parquet", "--column", "again", "-o", "again.jsonl"]
                made["score length, parquet to jsonl"] = peak(again, folder)
                rouge = [
                    *nlgeval,
                    "score",
                    "-e",
                    "rouge",
                    "-i",
                    "rows.jsonl",
                    "-o",
                    "rouge.csv",
                ]
                made["score rouge, jsonl to csv"] = peak(rouge, folder)
                meta = [
                    *nlgeval,
                    "meta",
                    "s.parquet",
                    "--no-baselines",
                    "--coef",
                    "pearson",
                    "--ci",
                    "none",
                ]
                made["meta, one coefficient, parquet"] = peak(meta, folder)
            for package, call, more in (
                ("pandas", "read_json", ", lines=True"),
                ("polars", "read_ndjson", ""),
            ):
                if importlib.util.find_spec(package) is None:
                    made[f"{package} reads the jsonl"] = "not installed"
                    continue
                code = READ.format(package, call, "rows.jsonl", more)
                made[f"{package} reads the jsonl"] = peak(
                    [sys.executable, "-c", code], folder
                )
            found[f"{count:,} rows"] = made
            print(json.dumps(made, indent=2), flush=True)
    os.environ.pop("NLGEVAL_HOME")
    return found
