"""The former place of `nlgeval_lib.papers.numbers`; import from `nlgeval_lib.papers`."""

from __future__ import annotations

from nlgeval_lib.papers import TOLERANCE, Number, agrees, difference, exact, is_blank, parse

__all__ = ["TOLERANCE", "Number", "agrees", "difference", "exact", "is_blank", "parse"]
