"""From a path in the registry to a verified file on this machine: data/raw, then a mirror folder, then the URL."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from nlgeval_lib import files
from nlgeval_lib.datasets import download, registry, verify
from nlgeval_lib.datasets.errors import DataError, DataUnavailable

MIRROR = "NLGEVAL_DATA_MIRROR"
BESIDE = "shared/data"


def mirror() -> Path | None:
    """The folder with copies of the public files: NLGEVAL_DATA_MIRROR, or None where that is set and empty; where it
    is not set, the folder `shared/data` beside the checkout, if there is one.
    """
    value = os.environ.get(MIRROR)
    if value is not None:
        return Path(value.strip()).expanduser() if value.strip() else None
    beside = files.root().parent / BESIDE
    return beside if beside.is_dir() else None


def mirror_line() -> str:
    """Where files come from that are not in data/raw, in one line."""
    folder = mirror()
    if folder is None:
        why = f"{MIRROR} is empty" if MIRROR in os.environ else f"no {MIRROR}, no ../{BESIDE}"
        return f"data mirror: none ({why})"
    return f"data mirror: {folder} ({MIRROR if MIRROR in os.environ else f'beside the checkout; {MIRROR}= for none'})"


def local(relpath: str) -> Path | None:
    """The verified file in data/raw or in the mirror, or None where neither has it. Never uses the network.

    Raises: UnknownName for a path that is not in the registry; ChecksumError where a file is there but is another one;
    DataUnavailable where it cannot be read.
    """
    entry = registry.entry(relpath)
    folders = [files.raw(), *([mirror()] if mirror() else [])]
    for folder in folders:
        candidate = folder / relpath
        try:
            if candidate.is_file():
                verify.check(candidate, entry)
                return candidate
        except OSError as error:
            said = f"{candidate} cannot be read: {error.strerror or error}"
            raise DataUnavailable(f"{said}; make it readable, or take it away", said) from error
    return None


def path(relpath: str, progress=None) -> Path:
    """The verified local file for a registry path; downloaded to data/raw where no copy is here.

    Raises: UnknownName, ChecksumError, DataUnavailable (what was tried, the way out), OSError where data/raw cannot be
    written.
    """
    entry = registry.entry(relpath)
    found = local(relpath)
    if found is not None:
        return found
    tried, short = ["not in data/raw"], "not in data/raw"
    folder = mirror()
    if folder is None:
        tried.append(f"no mirror set ({MIRROR})")
        short += ", no mirror"
    else:
        tried.append(f"not in the mirror {folder}" if folder.is_dir() else f"the mirror {folder} is no folder")
        short += " nor in the mirror" if folder.is_dir() else f", the mirror {folder} is no folder"
    if download.offline():
        tried.append("downloads are off (NLGEVAL_OFFLINE)")
        short += ", downloads are off"
    else:
        try:
            target = files.raw() / relpath
            download.download(entry, target, progress)
            return target
        except DataUnavailable as error:
            tried.append(str(error))
            short += f", {error.short}"
    raise DataUnavailable(
        f"{relpath} is unavailable: {'; '.join(tried)}. Set {MIRROR} to a folder that has it, "
        f"or run `make data` where the network reaches the address",
        short,
    )


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of one data set: its files, those here, and why not the rest."""

    name: str
    files: int
    here: int
    bytes: int
    reason: str = ""
    short: str = ""

    @property
    def ok(self) -> bool:
        """Are all files here and verified?"""
        return self.here == self.files

    def line(self) -> str:
        """One line for people."""
        if not self.files:
            return f"{self.name:24} part of the repository"
        size = f"{self.bytes / 1e6:8.1f} MB"
        if self.ok:
            return f"{self.name:24} {self.here:4} files {size}  ready"
        return f"{self.name:24} {self.here:4} of {self.files} files  unavailable: {self.short or self.reason}"


def all(names: Iterable[str] | None = None, stream=None, workers: int = 8) -> list[Fetched]:
    """Fetch the files of the named data sets and recordings (default: every one), a line each and a summary.

    A file that cannot be had is reported and ends only its own data set. Returns one `Fetched` a name.

    Raises: UnknownName; OSError where data/raw cannot be written.
    """
    from nlgeval_lib import datasets

    stream = stream or sys.stdout
    results = []
    for name in names if names is not None else datasets.groups():
        result = _fetch_group(name, datasets.files(name), workers)
        print(result.line(), file=stream, flush=True)
        results.append(result)
    short = [result.name for result in results if not result.ok]
    seen = {relpath for result in results for relpath in datasets.files(result.name)}
    total = sum(registry.entry(relpath).bytes for relpath in seen) / 1e6
    summary = f"{len(results) - len(short)} of {len(results)} data sets ready ({len(seen)} files, {total:.0f} MB)"
    print(summary + (f"; unavailable: {', '.join(short)}" if short else ""), file=stream, flush=True)
    if short and not mirror():
        print(f"To use a copy of the files, set {MIRROR} to its folder.", file=stream, flush=True)
    return results


def _fetch_group(name: str, relpaths: list[str], workers: int) -> Fetched:
    from tqdm import tqdm

    wanted, here, size, failed = [], 0, 0, None
    for relpath in relpaths:
        try:
            found = local(relpath)
        except DataError as error:
            failed = failed or error
            continue
        if found is None:
            wanted.append(relpath)
        else:
            here, size = here + 1, size + registry.entry(relpath).bytes
    if wanted:
        total = sum(registry.entry(relpath).bytes for relpath in wanted)
        with (
            tqdm(total=total, desc=name, unit="B", unit_scale=True, leave=False, disable=None) as bar,
            ThreadPoolExecutor(workers) as pool,
        ):
            for relpath, outcome in zip(wanted, pool.map(lambda p: _try(p, bar.update), wanted), strict=True):
                if isinstance(outcome, DataError):
                    failed = failed or outcome
                else:
                    here, size = here + 1, size + registry.entry(relpath).bytes
    return Fetched(name, len(relpaths), here, size, str(failed or ""), failed.short if failed else "")


def _try(relpath: str, progress) -> Path | DataError:
    try:
        return path(relpath, progress)
    except DataError as error:
        return error
