"""What an output needs from outside: which files, with which checksums, and whether they can be had here."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable, Mapping

from nlgeval_lib.catalogue import CatalogueError, Entry


def checksums(name: str) -> Mapping[str, str]:
    """The sha256 of each file of a data set or recording, by its registry path.

    Raises: CatalogueError for a name that the library does not know.
    """
    return _checksums(name)


def forget() -> None:
    """Read the registry anew at the next call; a run calls this once when it starts."""
    _checksums.cache_clear()


@functools.cache
def _checksums(name: str) -> Mapping[str, str]:
    from nlgeval_lib import datasets
    from nlgeval_lib.datasets import registry

    try:
        wanted = datasets.files(name)
    except datasets.UnknownName as error:
        raise CatalogueError(f"inputs: {error}") from None
    return {relpath: registry.entry(relpath).sha256 for relpath in wanted}


def needed(entry: Entry) -> dict[str, str]:
    """The sha256 of every input file of `entry`, by its registry path. Raises: CatalogueError naming the entry."""
    found: dict[str, str] = {}
    for name in entry.inputs:
        try:
            found.update(checksums(name))
        except CatalogueError as error:
            raise CatalogueError(f"output {entry.id!r}: {error}") from None
    return found


def missing(names: Iterable[str]) -> dict[str, str]:
    """Of these data sets, those that cannot be had here, and why; the others are on this machine afterwards.

    Files that are in no local place are fetched, several at a time; a host that does not answer is asked once.
    """
    names = list(dict.fromkeys(names))
    if not names:
        return {}
    from nlgeval_lib.datasets import fetch

    return {result.name: result.reason for result in fetch.all(names, stream=io.StringIO()) if not result.ok}


def mirror_line() -> str:
    """Where data come from that are not in data/raw, in one line."""
    from nlgeval_lib.datasets import fetch

    return fetch.mirror_line()
