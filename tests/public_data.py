"""The public data in the tests: hidden from every test but those that ask for them.

A test that reads a data set without asking would fail on a machine without the data,
and nobody who has them would notice. So the folder with the data is put aside for the
whole suite, and `needs("summeval")` brings it back for the test that calls it, or skips
that test with the name of the set. Addresses outside this machine are cut off as well.

What `data/raw` holds cannot be hidden; a suite that is run on downloads finds less.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nlgeval_lib import datasets
from nlgeval_lib.datasets import fetch
from tools.offline import dead_proxies

# Workers of a parallel run inherit an environment in which the data are hidden already.
REMEMBERED = "NLGEVAL_TESTS_MIRROR"


def _mirror() -> Path | None:
    """The folder that the suite was started with."""
    if REMEMBERED not in os.environ:
        os.environ[REMEMBERED] = str(fetch.mirror() or "")
    folder = os.environ[REMEMBERED]
    return Path(folder) if folder else None


HEADER = fetch.mirror_line()
MIRROR = _mirror()


def hide() -> None:
    """Put the data aside, for this process and those that it starts."""
    os.environ[fetch.MIRROR] = ""


def show() -> None:
    """Bring the data back until the running test ends."""
    if MIRROR is not None:
        os.environ[fetch.MIRROR] = str(MIRROR)


def cut_off_the_network() -> None:
    """Send whatever leaves this machine to an address where nobody answers."""
    os.environ.update(dead_proxies())


def needs(*names: str) -> None:
    """Bring the data back for the running test, or skip it with the reason.

    names: data sets and recordings, all of whose files must be here. A file that is
    here but is another one is no reason to skip: that raises.
    """
    show()
    for name in names:
        needs_file(*datasets.files(name), data_set=name)


def needs_file(*relpaths: str, data_set: str = "") -> None:
    """Like `needs`, for single files by their paths in the registry."""
    show()
    for relpath in relpaths:
        if fetch.local(relpath) is None:
            pytest.skip(
                f"{data_set or relpath.partition('/')[0]} is not here: {relpath} is "
                "neither in data/raw nor in a data mirror"
            )


def folder() -> Path:
    """The folder with the public files; skips the test where there is none."""
    show()
    for place in (fetch.mirror(), fetch.files.raw()):
        if place is not None and (place / "summeval/bartscore_data.pkl").is_file():
            return place
    pytest.skip("no public data here: neither a data mirror nor data/raw")
