"""Measure speed on this machine, side by side in one run; write results/bench.json.
`make bench`.

python tools/bench.py                     every section
python tools/bench.py --only data metrics
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from nlgeval_lib import __version__, datasets, files  # noqa: E402


def seconds(call: Callable[[], Any]) -> float:
    """Wall seconds of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def data() -> dict[str, Any]:
    """Seconds to load each data set and recording, files already verified."""
    found: dict[str, Any] = {}
    for name in datasets.groups():
        here, reason = datasets.available(name)
        if not here:
            found[name] = reason
            continue
        load = datasets.load if name in datasets.NAMES else datasets.recordings.load
        load(name)  # verify the files, warm the file cache
        found[name] = round(seconds(lambda load=load, name=name: load(name)), 3)
    return {"seconds": found}


def metrics() -> dict[str, Any]:
    """Seconds for each metric per 1,000 outputs, nothing cached, and again with
    everything cached.
    """
    from nlgeval_lib.evaluators import BertScore, Bleu, Meteor, Rouge, SemScore

    here, _ = datasets.available("summeval")
    items = datasets.items(datasets.load("summeval" if here else "mini"))[:1000]
    chosen = {
        "BLEU (sacrebleu)": Bleu,
        "ROUGE-L (rouge-score)": lambda: Rouge("rougeL"),
        "ROUGE-L (rouge)": lambda: Rouge("rougeL", package="rouge"),
        "METEOR": Meteor,
        "BERTScore (MiniLM)": BertScore,
        "SemScore (MiniLM)": SemScore,
    }
    found: dict[str, Any] = {
        "data": f"{len(items)} outputs of {items['dataset'].iat[0]}",
        "seconds per 1000": {},
    }
    state = os.environ.get("NLGEVAL_HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NLGEVAL_HOME"] = folder
        try:
            for name, make in chosen.items():
                began = time.perf_counter()
                frame = make().score(items)
                cold = time.perf_counter() - began
                if (
                    not frame["status"].eq("ok").all()
                ):  # saying why there is no value takes no time worth knowing
                    sys.exit(
                        f"bench: {name} is not timed: {frame.loc[frame['status'] != 'ok', 'reason'].iat[0]}"
                    )
                warm = seconds(lambda make=make: make().score(items))
                found["seconds per 1000"][name] = {
                    "cold": round(1000 * cold / len(items), 3),
                    "cached": round(1000 * warm / len(items), 3),
                }
        finally:
            os.environ.pop("NLGEVAL_HOME") if state is None else os.environ.update(
                NLGEVAL_HOME=state
            )
    return found


def reproduce() -> dict[str, Any]:
    """Seconds of `make reproduce-all` with nothing cached, and again with nothing
    changed.
    """
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        places = {
            f"NLGEVAL_{name}": str(Path(folder) / name.lower())
            for name in ("HOME", "RESULTS", "FIGURES")
        }
        for state in ("cold", "warm"):
            began = time.perf_counter()
            command = [str(Path(sys.executable).parent / "nlgeval"), "run"]
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=os.environ | places,
                capture_output=True,
                text=True,
            )
            found[state] = round(time.perf_counter() - began, 1)
            found[f"{state}: last line"] = (done.stdout.strip().splitlines() or [""])[
                -1
            ]
    return found


SECTIONS: dict[str, Callable[[], dict[str, Any]]] = {"data": data, "metrics": metrics}
for _module in sorted(path.stem for path in (ROOT / "tools").glob("bench_*.py")):
    SECTIONS[_module.removeprefix("bench_")] = lambda module=_module: (
        importlib.import_module(module).measure()
    )
SECTIONS["reproduce-all"] = reproduce


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=list(SECTIONS),
        default=list(SECTIONS),
        metavar="SECTION",
    )
    chosen = parser.parse_args().only
    target = ROOT / "results" / "bench.json"
    result = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    result["machine"] = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "library": __version__,
    }
    for name in chosen:
        print(f"bench: {name} ...", flush=True)
        found = SECTIONS[name]()
        # by size: BENCH_ROWS
        result[name] = {**result.get(name, {}), **found} if name == "memory" else found
        print(json.dumps(result[name], indent=2, ensure_ascii=False), flush=True)
        files.write_text(
            target, json.dumps(result, indent=2, ensure_ascii=False) + "\n"
        )
    print("written: results/bench.json")


if __name__ == "__main__":
    main()
