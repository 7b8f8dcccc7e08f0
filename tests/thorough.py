"""Which cases the suite has, and which `make test-thorough` alone: more of the same
kind, of some seconds each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def but(kept: Collection[Any], cases: Iterable[Any]) -> list[Any]:
    """The cases of a test, all but the kept ones marked as thorough."""
    marked: list[Any] = []
    for case in cases:
        marks = () if case in kept else pytest.mark.thorough
        marked.append(pytest.param(case, marks=marks))
    return marked
