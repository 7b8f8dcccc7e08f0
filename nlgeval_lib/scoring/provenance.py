"""Where scores come from: code, packages, input. Written beside them as JSON."""

from __future__ import annotations

import importlib.metadata
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

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


def git() -> dict[str, Any]:
    """The commit of the checkout, and whether code or data differ from it (`dirty`);
    both None where that cannot be said, with the `reason`.
    """
    root = files.root()
    in_checkout = (root / ".git").exists() and (root / "nlgeval_lib").exists()
    commit = None
    reason = "not a git checkout, or no git here"
    # Without optional locks no other run of git is disturbed.
    git_command = ("git", "--no-optional-locks")
    if in_checkout and shutil.which("git"):
        commit = output_of(*git_command, "rev-parse", "HEAD")
        reason = "no commit yet"
    if commit is None:
        return {"commit": None, "dirty": None, "reason": reason}
    present = [name for name in CODE if (root / name).exists()]
    status = output_of(*git_command, "status", "--porcelain", "--", *present)
    return {"commit": commit, "dirty": None if status is None else bool(status)}


def output_of(*command: str) -> str | None:
    """What a program prints in the checkout; None where it is missing, fails or hangs."""
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


def clean(value: Any, name: str = "") -> Any:
    """`value` as plain JSON values, without secrets (known by `name`) and absolute
    places on this machine.
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
    """`text` without folders of this machine; the name of a file stays."""
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
    """What was recorded beside a file of scores: `sha256`, and `scores`: column -> the
    facts of its run; empty where the file has changed since.
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
    """
    scores = dict(earlier.get("scores") or {})
    scores[column] = clean(files.plain(facts))
    record = {"sha256": files.sha256(path), "scores": scores}
    text = json.dumps(record, ensure_ascii=False, indent=1) + "\n"
    files.write_text(f"{path}{RECORD}", text)
