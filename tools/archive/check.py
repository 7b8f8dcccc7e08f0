"""Hold an archive against the validators of RO-Crate and Croissant: `make
archive-check`.

It runs in an environment of its own (requirements/archive.txt) and imports nothing of
this checkout. It writes nothing but a temporary folder, and needs no network: the
context that RO-Crate's validator would fetch is put into its cache first.
"""

from __future__ import annotations

import argparse
import importlib.resources
import io
import itertools
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

# what the crate's `@context` names, and the profile that it is held against
CONTEXT = "https://w3id.org/ro/crate/1.1/context"
PROFILE = "process-run-crate-0.5"
# recommendations that are left out: the address of the repository, which is left to
# whoever publishes it, and asking for 600 files at their addresses
LEFT_OUT = (
    "process-run-crate-0.5_3.2",
    "process-run-crate-0.5_5.1",
    "ro-crate-1.1_28.1",
)
# how many rows of each data set's table are read through its record
ROWS = 3


def main(arguments: list[str] | None = None) -> int:
    """Print what each validator says; exit code 1 where one finds a fault.

    arguments: of the command line; None for those of this process.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archive")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "archive")
        with zipfile.ZipFile(options.archive) as bundle:
            bundle.extractall(root)
        crate_is_valid = _crate(root, Path(folder, "cache"))
        faults = list(_croissant_faults(root))
    for fault in faults:
        print(fault)
    return 0 if crate_is_valid and not faults else 1


def _crate(root: Path, cache: Path) -> bool:
    """Whether the crate meets its profile, recommendations included. Public files are
    not asked for at their addresses.
    """
    keep_context(cache)
    command = [
        str(Path(sys.executable).with_name("rocrate-validator")),
        "--disable-color",
        "validate",
        "--no-paging",
        "--offline",
        "--cache-path",
        str(cache),
        "--profile-identifier",
        PROFILE,
        "--requirement-severity",
        "recommended",
        "--skip-checks",
        ",".join(LEFT_OUT),
        "--verbose",
        str(root),
    ]
    return subprocess.run(command).returncode == 0


def keep_context(cache: Path) -> None:
    """Put RO-Crate's context, as the package `rocrate` has it, where the validator
    keeps what it fetched: the check needs no network then.

    cache: the file of the validator's cache, without its ending.
    Raises: SystemExit where the package has another version of the context.
    """
    import requests
    import requests_cache
    import urllib3

    text = importlib.resources.files("rocrate").joinpath("data/ro-crate.jsonld")
    content = text.read_bytes()
    if json.loads(content)["@id"] != CONTEXT:
        raise SystemExit(f"the package rocrate has another context than {CONTEXT}")

    # the package's text in place of a request: the cache stores it as if it were
    # fetched
    def answer(adapter, request, **_):
        body = urllib3.HTTPResponse(
            io.BytesIO(content),
            headers={"Content-Type": "application/ld+json"},
            status=200,
            preload_content=False,
            request_url=request.url,
        )
        return adapter.build_response(request, body)

    session = requests_cache.CachedSession(
        str(cache), backend="sqlite", expire_after=-1
    )
    with patch.object(requests.adapters.HTTPAdapter, "send", answer):
        session.get(CONTEXT)
    session.close()


def _croissant_faults(root: Path) -> Iterator[str]:
    """What is wrong with the records of data sets, a line a fault; the first rows of
    every table are read through its record.
    """
    import mlcroissant

    count = 0
    for path in sorted(root.glob("croissant_*.json")):
        try:
            dataset = mlcroissant.Dataset(jsonld=str(path))
            for table in dataset.metadata.record_sets:
                records = dataset.records(table.uuid)
                rows = list(itertools.islice(records, ROWS))
                if len(rows) != ROWS:
                    yield f"{path.name}: {len(rows)} rows of {table.uuid}"
            count += 1
        # whatever the validator's parser raises is a fault of this record; the others
        # are still read
        except Exception as error:
            yield f"{path.name}: {error}"
    print(f"Croissant: {count} records are valid")


if __name__ == "__main__":
    sys.exit(main())
