"""How fast is the library on this machine? Measured side by side in one run: `make
bench`.

python benchmarks/bench.py                     every section
python benchmarks/bench.py --only data metrics

It prints each section and writes it to results/bench.json at once, so that a run that
stops keeps what it has measured; sections that were not asked for stay as they were.
`data`, `metrics` and `reproduce-all` are measured here, every other section by the
`measure` of its file `bench_NAME.py` beside this one.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from judgecard import recordings  # noqa: E402
from nlgeval_lib import __version__, datasets, files  # noqa: E402

# by title: a number, a text that says why there is none, or more of the same
Results = dict[str, Any]


def seconds(call: Callable[[], Any]) -> float:
    """Wall seconds of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def data() -> Results:
    """Seconds to load each data set and recording, files already verified; the reason
    in place of those that are not available.
    """
    results: Results = {}
    for name in datasets.groups():
        available, reason = datasets.available(name)
        if not available:
            results[name] = reason
            continue
        load = recordings.load
        if name in datasets.NAMES:
            load = datasets.load
        # The first time, to verify the files and warm the system's file cache.
        load(name)
        elapsed = seconds(functools.partial(load, name))
        results[name] = round(elapsed, 3)
    return {"seconds": results}


def metrics() -> Results:
    """Seconds for each metric per 1,000 outputs, nothing cached, and again with
    everything cached.

    The outputs are SummEval's first 1,000, or all of the miniature set where SummEval
    is not available.
    """
    from nlgeval_lib.evaluators import BertScore, Bleu, Meteor, Rouge, SemScore

    available, _ = datasets.available("summeval")
    name = "summeval" if available else "mini"
    items = datasets.items(datasets.load(name))[:1000]
    chosen: dict[str, Callable[[], Any]] = {
        "BLEU (sacrebleu)": Bleu,
        "ROUGE-L (rouge-score)": lambda: Rouge("rougeL"),
        "ROUGE-L (rouge)": lambda: Rouge("rougeL", package="rouge"),
        "METEOR": Meteor,
        "BERTScore (MiniLM)": BertScore,
        "SemScore (MiniLM)": SemScore,
    }
    by_metric: Results = {}
    with _fresh_home():
        for title, make in chosen.items():
            by_metric[title] = _cold_and_cached(title, make, items)
    return {
        "data": f"{len(items)} outputs of {items['dataset'].iat[0]}",
        "seconds per 1000": by_metric,
    }


def _cold_and_cached(
    title: str,
    make: Callable[[], Any],
    items: pd.DataFrame,
) -> dict[str, float]:
    """Seconds of a metric per 1,000 outputs: `cold`, for the first time, and `cached`,
    again by a new evaluator.
    """
    began = time.perf_counter()
    frame = make().score(items)
    cold = time.perf_counter() - began
    # saying why there is no value takes no time worth knowing
    without = frame[frame["status"] != "ok"]
    if len(without):
        sys.exit(f"bench: {title} is not timed: {without['reason'].iat[0]}")
    cached = seconds(lambda: make().score(items))
    return {
        "cold": round(1000 * cold / len(items), 3),
        "cached": round(1000 * cached / len(items), 3),
    }


@contextlib.contextmanager
def _fresh_home() -> Iterator[None]:
    """An empty state folder; afterwards the one that was set before."""
    state = os.environ.get("NLGEVAL_HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NLGEVAL_HOME"] = folder
        try:
            yield
        finally:
            if state is None:
                del os.environ["NLGEVAL_HOME"]
            else:
                os.environ["NLGEVAL_HOME"] = state


def reproduce() -> Results:
    """Seconds of `make reproduce-all` with nothing cached, and again with nothing
    changed; the last line that each run printed.

    State, results and figures go to a temporary folder, so nothing of the checkout
    changes.
    """
    nlgeval = Path(sys.executable).parent / "nlgeval"
    results: Results = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ)
        for name in ("home", "results", "figures"):
            environment[f"NLGEVAL_{name.upper()}"] = str(Path(folder) / name)
        for state in ("cold", "warm"):
            began = time.perf_counter()
            run = subprocess.run(
                [str(nlgeval), "run"],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
            )
            results[state] = round(time.perf_counter() - began, 1)
            lines = run.stdout.strip().splitlines()
            results[f"{state}: last line"] = lines[-1] if lines else ""
    return results


def _measured(module: str) -> Results:
    """What a file of this folder measures; imported only where it is asked for."""
    return importlib.import_module(module).measure()


# each section by its name, in the order in which they are measured
SECTIONS: dict[str, Callable[[], Results]] = {
    "data": data,
    "metrics": metrics,
}
for _path in sorted((ROOT / "benchmarks").glob("bench_*.py")):
    _section = _path.stem.removeprefix("bench_")
    SECTIONS[_section] = functools.partial(_measured, f"benchmarks.{_path.stem}")
SECTIONS["reproduce-all"] = reproduce


def main() -> None:
    """Measure the sections that are asked for, print and keep what came out."""
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
    results: Results = {}
    if target.exists():
        results = json.loads(target.read_text(encoding="utf-8"))
    results["machine"] = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "library": __version__,
    }
    for name in chosen:
        print(f"bench: {name} ...", flush=True)
        section = SECTIONS[name]()
        if name == "memory":
            # a run measures the sizes of BENCH_ROWS; those of others stay
            section = results.get(name, {}) | section
        results[name] = section
        print(_as_json(section), flush=True)
        files.write_text(target, _as_json(results) + "\n")
    print("written: results/bench.json")


def _as_json(results: Results) -> str:
    """As a section is printed and kept."""
    return json.dumps(results, indent=2, ensure_ascii=False)


if __name__ == "__main__":
    main()
