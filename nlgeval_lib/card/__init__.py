"""The judge card: may a judge be trusted, for what, and how far?

from nlgeval_lib import card
card.demo()                                          # a recorded judge, no key
card.of(judge, data=["summeval"], engine=engine)     # shown below the cell
"""

from __future__ import annotations

from nlgeval_lib.card.asked import of
from nlgeval_lib.card.cards import (
    SCHEMA,
    Card,
    demo,
    of_recorded,
    of_scores,
    read,
)
from nlgeval_lib.card.compare import compared

__all__ = [
    "SCHEMA",
    "Card",
    "compared",
    "demo",
    "of",
    "of_recorded",
    "of_scores",
    "read",
]
