"""Where a result comes from: code, packages, data, parameters, machine. Written beside
each result as JSON.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nlgeval_lib
from nlgeval_lib import datasets
from nlgeval_lib.datasets import registry
from nlgeval_lib.scoring.provenance import clean, git, output_of, packages


def collect(
    *,
    output: str,
    paper: str,
    notebook: str,
    route: str,
    mode: str,
    parameters: Mapping[str, Any],
    inputs: Iterable[str] = (),
    coverage: Mapping[str, Any] | None = None,
    signatures: Iterable[str] = (),
    seconds: float | None = None,
    facts: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The record of one result, as plain JSON values.

    notebook: that made it, below notebooks/.
    parameters: of the run; those that are seeds are named again.
    inputs: data sets and recordings, of which the hashes of their files are recorded.
    seconds: wall time; None where it was not taken.
    """
    names = [name for name in parameters if name == "seed" or name.endswith("_seed")]
    record = {
        "output": output,
        "paper": paper,
        "notebook": f"notebooks/{notebook}",
        "route": route,
        "mode": mode,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "library": nlgeval_lib.__version__,
        "git": git(),
        "parameters": dict(parameters),
        "seeds": {name: parameters[name] for name in names},
        "inputs": {name: data_hashes(name) for name in inputs},
        "coverage": dict(coverage or {}),
        "signatures": sorted(set(signatures)),
        "wall_seconds": None if seconds is None else round(seconds, 2),
        "hardware": dict(hardware()),
        "python": platform.python_version(),
        "packages": packages(),
        **(facts or {}),
    }
    return clean(record)


@functools.cache
def hardware() -> Mapping[str, Any]:
    """Processor model, cores, memory in GiB, accelerators, operating system and
    architecture; looked up once.
    """
    cpu = platform.processor() or "unknown"
    memory = None
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
        model = re.search(r"(?m)^model name\s*: (.*)$", text)
        if model:
            cpu = model[1]
    with contextlib.suppress(ValueError, OSError, AttributeError):
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        memory = round(size / 2**30, 1)
    gpus = output_of("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gib": memory,
        "gpu": (gpus or "").splitlines(),
        "system": platform.system(),
        "machine": platform.machine(),
    }


def data_hashes(name: str) -> dict[str, str]:
    """The sha256 of each file of a data set or recording, by its registry path.

    More than 12 files become one entry: the hash of their list.
    """
    hashes = {}
    for path in datasets.files(name):
        hashes[path] = registry.entry(path).checksum
    if len(hashes) <= 12:
        return hashes
    lines = [f"{sha256}  {path}" for path, sha256 in sorted(hashes.items())]
    joined = "\n".join(lines)
    return {f"{len(hashes)} files": hashlib.sha256(joined.encode()).hexdigest()}
