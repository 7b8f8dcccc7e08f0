"""Where a result comes from: code, packages, data, prompts, parameters, machine.
Written beside each result as JSON.

`collect` makes the record of one result; `git`, `packages`, `hardware` and
`data_hashes` are its parts. `clean` makes values fit for it: nothing in a record names
a user, a host or a place on a disk, and values of parameters that look like secrets are
left out. `write_record` and `record_of` are the record beside a file of scores.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import math
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nlgeval_lib
from nlgeval_lib import files

# The distributions whose versions are recorded where they were imported.
PACKAGES = (
    *("numpy", "pandas", "scipy", "scikit-learn", "statsmodels", "sacrebleu"),
    *("rouge-score", "rouge", "nltk", "bert-score", "sentence-transformers"),
    *("transformers", "tokenizers", "torch", "vllm", "shap", "matplotlib"),
    *("seaborn", "ipykernel"),
)
RECORD = ".meta.json"  # after the name of a file with scores
# what of the checkout a result depends on: a change here is a change of the code
CODE = ("nlgeval_lib", "notebooks", "data", "requirements", "pyproject.toml")
# the folders of an absolute path inside a text
_PLACE = re.compile(
    r"""
    (?<![\w.:/<>~\\])                       # not inside a word, an address, a path
    (?:
        /(?:[\w.+@-]+/)+                    # the folders of an absolute path
      | [A-Za-z]:\\(?:[^\\/:*?"<>|\s]+\\)+  # those of C:\Users\user\file
    )
    (?=[\w.+@-])                           # and the name of a file after them
    """,
    re.VERBOSE,
)
# a parameter's name whose value is left out
_SECRET = re.compile(
    r"(^|_)(key|token|secret|password|passwd|credential)s?($|_)", re.IGNORECASE
)


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

    output, paper: the result's name, and the paper that it belongs to.
    notebook, mode: that made it, below notebooks/, and the mode of its run.
    route: how its numbers came about, one of `catalogue.ROUTES`.
    parameters: of the run; those that are seeds are named again.
    inputs: data sets and recordings, of which the hashes of their files are recorded.
    coverage: how many items have a value.
    signatures: of the measures; sorted, each once.
    seconds: wall time; None where it was not taken.
    facts: what only the notebook knows (model, prompts, ...).
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


def git() -> dict[str, Any]:
    """The commit of the checkout, and whether code or data differ from it.

    Returns: `commit` and `dirty`; both None where that cannot be said, with the
    `reason`.
    """
    root = files.root()
    in_checkout = (root / ".git").exists() and (root / "nlgeval_lib").exists()
    commit = None
    reason = "not a git checkout, or no git here"
    # Without optional locks no other run of git is disturbed.
    git_command = ("git", "--no-optional-locks")
    if in_checkout and shutil.which("git"):
        commit = _output(*git_command, "rev-parse", "HEAD")
        reason = "no commit yet"
    if commit is None:
        return {"commit": None, "dirty": None, "reason": reason}
    present = [name for name in CODE if (root / name).exists()]
    status = _output(*git_command, "status", "--porcelain", "--", *present)
    return {"commit": commit, "dirty": None if status is None else bool(status)}


def _output(*command: str) -> str | None:
    """What a program prints in the checkout; None where it is not here, fails
    or hangs.
    """
    try:
        process = subprocess.run(
            command, cwd=files.root(), capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return process.stdout.strip() if process.returncode == 0 else None


def packages() -> dict[str, str]:
    """The version of each of `PACKAGES` that this process has imported."""
    versions = {}
    for name in PACKAGES:
        # the name of the module: of one distribution it is another word
        imported_as = name.replace("scikit-learn", "sklearn").replace("-", "_")
        module = sys.modules.get(imported_as)
        if module is None:
            continue
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            # Some builds of vllm are distributed under another name.
            versions[name] = str(getattr(module, "__version__", "unknown"))
    return versions


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
    gpus = _output("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
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
    from nlgeval_lib import datasets
    from nlgeval_lib.datasets import registry

    hashes = {}
    for path in datasets.files(name):
        hashes[path] = registry.entry(path).checksum
    if len(hashes) <= 12:
        return hashes
    lines = [f"{sha256}  {path}" for path, sha256 in sorted(hashes.items())]
    joined = "\n".join(lines)
    return {f"{len(hashes)} files": hashlib.sha256(joined.encode()).hexdigest()}


def clean(value: Any, name: str = "") -> Any:
    """`value` as plain JSON values, without secrets and without absolute places on this
    machine.

    name: of the value, by which a secret is known.
    Returns: mappings, lists, texts, numbers; numpy's as Python's. NaN and infinity are
    spelt out as text, as is what JSON has no form for.
    """
    if isinstance(value, str | Path) and value and _SECRET.search(name):
        return "(left out)"
    if isinstance(value, Mapping):
        return {str(key): clean(inner, str(key)) for key, inner in value.items()}
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return clean(value.tolist(), name)
    if isinstance(value, Iterable) and not isinstance(value, str | Path):
        return [clean(inner, name) for inner in value]
    return without_places(str(value))


def without_places(text: str) -> str:
    """`text` with folders of this machine cut out: checkout, home, data mirror, and any
    other absolute path; the name of the file stays.
    """
    folders = {str(files.root()): "<checkout>", str(Path.home()): "~"}
    mirror = files.mirror()
    if mirror is not None:
        folders[str(mirror)] = "<mirror>"
    # The longest first: the checkout may lie in the home.
    for folder in sorted(folders, key=len, reverse=True):
        if len(folder) > 1:
            text = text.replace(folder, folders[folder])
    return _PLACE.sub("<elsewhere>/", text)


# -- the record beside a file of scores


def record_of(path: str | Path, sha256: str = "") -> dict[str, Any]:
    """What was recorded beside a file of scores; empty where nothing was, or the file
    has changed since.

    path: of the file.
    sha256: of its bytes; "" where it is not known.
    Returns: `sha256`, and `scores`: column -> the facts of its run.
    """
    try:
        record = files.from_json(Path(f"{path}{RECORD}").read_text("utf-8"))
        same = record["sha256"] == (sha256 or files.sha256(path))
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return record if same and isinstance(record.get("scores"), dict) else {}


def runs(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The facts of each run that is recorded beside a file of scores."""
    facts = record.get("scores", {}).values()
    return [run for run in facts if isinstance(run, Mapping)]


def write_record(
    path: str, earlier: Mapping[str, Any], column: str, facts: Mapping[str, Any]
) -> None:
    """Record beside a file of scores, which is written already, where they come from.

    earlier: the record of the file that the rows were read from; empty without one.
    column: the scores' column. facts: of this run, as `Job.record` gives them.
    Raises: OSError.
    """
    scores = dict(earlier.get("scores") or {})
    scores[column] = clean(files.plain(facts))
    record = {"sha256": files.sha256(path), "scores": scores}
    text = json.dumps(record, ensure_ascii=False, indent=1) + "\n"
    files.write_text(f"{path}{RECORD}", text)
