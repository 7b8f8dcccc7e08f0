"""Which rule applies where: the relations of the five papers, as data."""

from __future__ import annotations

import importlib

from nlgeval_lib.papers.audit.relations.relation import RULES, Relation

__all__ = ["RULES", "Relation", "relations"]


def relations(paper: str) -> list[Relation]:
    """The relations of a paper, in the order of its tables."""
    return importlib.import_module(f"{__name__}.{paper}").RELATIONS
