"""What goes into the archive, what stays outside, and which results hang on that."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nlgeval_lib import datasets, files
from nlgeval_lib.datasets import fetch, registry
from nlgeval_lib.datasets.registry import DataError, Entry
from reproduction.report import made_from

# The licences that allow a copy, by what the registry says of a file. Whatever it says
# otherwise ("none stated", "per data set") is not clear, and the file stays outside.
CLEAR = {
    "MIT": "MIT",
    "Apache-2.0": "Apache-2.0",
    "Apache-2.0 (data and code); MODEL_LICENSE for the model": "Apache-2.0",
    "CC BY-SA 4.0": "CC-BY-SA-4.0",
    "CC BY-SA 4.0 (project page)": "CC-BY-SA-4.0",
}
# An address that is reserved for examples: the true one is left to whoever publishes.
ADDRESS = "https://example.org/nlgeval-lib"
# the columns of OUTSIDE.csv
OUTSIDE = ("path", "url", "sha256", "bytes", "licence", "repository", "why", "results")


@dataclass(frozen=True, slots=True)
class Commit:
    """The state of the repository that is archived.

    id: the commit's full hash.
    seconds: when it was committed, since 1970, UTC.
    """

    id: str
    seconds: int


def commit() -> Commit:
    """The commit that is checked out.

    Raises: ValueError where a committed file was changed since, or there is no git.
    """
    if _git("status", "--porcelain", "--untracked-files=no"):
        raise ValueError("committed files were changed; commit them, then archive")
    [line] = _git("log", "-1", "--format=%H %ct").splitlines()
    name, _, seconds = line.partition(" ")
    return Commit(name, int(seconds))


def committed() -> list[str]:
    """The names of all committed files, sorted."""
    names = _git("ls-files", "-z").split("\0")
    return sorted(filter(None, names))


def _git(*arguments: str) -> str:
    """What git prints when it is called with these arguments in the checkout."""
    process = subprocess.run(
        ["git", *arguments], cwd=files.root(), capture_output=True, text=True
    )
    if process.returncode:
        raise ValueError(f"git {arguments[0]}: {process.stderr.strip()}")
    return process.stdout


def records() -> dict[str, dict[str, Any]]:
    """The provenance of every committed output, by its file's name.

    Other JSON files below `results/`, such as the benchmarks', have no `output` and
    `inputs` and are left out.
    """
    by_name = {}
    for name in committed():
        if not name.startswith("results/") or not name.endswith(".json"):
            continue
        text = (files.root() / name).read_text(encoding="utf-8")
        record = json.loads(text)
        if "output" in record and "inputs" in record:
            by_name[name] = record
    return by_name


def inputs(record: Mapping[str, Any]) -> list[str]:
    """The registry paths that an output was made from, sorted.

    record: the output's provenance; its `inputs` hold the hashes of the files of each
        data set or recording.
    Raises: ValueError where its record names other files than the registry.
    """
    paths: set[str] = set()
    for name, hashes in record["inputs"].items():
        if hashes != made_from.data_hashes(name):
            output = record["output"]
            raise ValueError(f"{output}: {name} is not the registry's; run it again")
        paths |= set(datasets.files(name))
    return sorted(paths)


def used_by(outputs: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The outputs that were made from each registry path, by name.

    Raises: ValueError as `inputs`.
    """
    outputs_of: dict[str, list[str]] = {}
    for record in outputs:
        for path in inputs(record):
            outputs_of.setdefault(path, []).append(record["output"])
    return outputs_of


def spdx(entry: Entry) -> str:
    """The SPDX name of a file's licence; empty where it is not clear."""
    return CLEAR.get(entry.licence, "")


def public(with_data: bool = True) -> tuple[list[Entry], dict[str, str]]:
    """The public files that go into the archive, and of all others why they do not.

    Returns: the entries inside, sorted by path; and the reason by the path of each file
        outside. A file that is out of reach is no error: it stays outside.
    """
    inside = []
    outside = {}
    for path, entry in sorted(registry.entries().items()):
        if not spdx(entry):
            outside[path] = f"licence: {entry.licence}"
        elif entry.optional:
            outside[path] = "no result is made from it"
        elif not with_data:
            outside[path] = "left out on request"
        else:
            try:
                fetch.path(path)
                inside.append(entry)
            except DataError:  # its message names folders of this machine
                outside[path] = "was out of reach when this archive was made"
    return inside, outside


def outside_csv(outside: Mapping[str, str], outputs_of: Mapping[str, list[str]]) -> str:
    """The table of the files that are not in the archive: where each lies, by which
    checksum it is known, why it is not here and which results were made from it.

    outside: the reason by registry path, as `public` gives it.
    outputs_of: the names of the outputs by registry path, as `used_by` gives them.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, OUTSIDE, lineterminator="\n")
    writer.writeheader()
    for path, reason in outside.items():
        entry = registry.entry(path)
        row = {name: getattr(entry, name, "") for name in OUTSIDE}
        row["sha256"] = entry.checksum
        row["why"] = reason
        row["results"] = " ".join(outputs_of.get(path, ()))
        writer.writerow(row)
    return text.getvalue()


def notice(inside: Iterable[Entry]) -> str:
    """Whose files are in the archive, under which licence: a table in Markdown.

    inside: the public files in the archive; a row counts those of one repository,
        commit and licence.
    """
    counts: dict[tuple[str, str, str], int] = {}
    for entry in inside:
        source = (entry.repository, entry.commit, spdx(entry))
        counts[source] = counts.get(source, 0) + 1
    rows = []
    for (repository, version, licence), count in sorted(counts.items()):
        address = f"https://github.com/{repository}/tree/{version}"
        licence_url = f"https://spdx.org/licenses/{licence}.html"
        rows.append([repository, address, f"[{licence}]({licence_url})", count])
    heads = ("repository", "copied from", "licence", "files below data/raw")
    return (
        "# Files of others in this archive\n\n"
        "They keep their owners' copyright and licence. MIT and Apache-2.0 ask that "
        "the owner's notice goes with a copy: whoever publishes this archive adds the "
        "LICENSE file of each repository below.\n\n"
        f"{files.markdown_table(heads, rows)}\n"
    )
