"""A relation: a rule, the table that it is about, and the rule's options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from nlgeval_lib.papers.audit import arithmetic, attainable, formula
from nlgeval_lib.papers.audit.quantity import Finding

# rule -> function over the relation's own table
OVER_TABLES: dict[str, Callable[..., list[Finding]]] = {
    "summary": arithmetic.summaries,
    "difference": arithmetic.differences,
    "percent change": arithmetic.percent_changes,
    "order": arithmetic.at_least,
    "said again": arithmetic.all_equal,
    "multiple of 1/n": attainable.multiples,
    "pooled share": attainable.pooled_shares,
    "attainable tau": attainable.tau_values,
    "ranks of scores": attainable.ranks_of_scores,
    "permutation": attainable.permutations,
    "bounds": attainable.bounds,
}
RULES = (*OVER_TABLES, "printed twice", "correlation of ranks", "formula", "number of rows", "number of leads")


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation of a paper: `rule` (of RULES) over `table` with `options`; `note` goes to its findings.

    Options that name a table: `source` of "printed twice" and `ranks` of "correlation of ranks"; picks of "formula".
    `where`: only these rows are looked at, where given.
    """

    rule: str
    table: str
    options: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    where: tuple[str, ...] = ()

    def check(self, load: Callable[[str], pd.DataFrame]) -> list[Finding]:
        """The findings; `load` gives a table by name. Raises: ValueError for an unknown rule, or no finding."""
        options = dict(self.options)
        if self.rule not in RULES:
            raise ValueError(f"no rule {self.rule!r}; allowed: {RULES}")
        if self.rule == "formula":
            return [formula.follows(load, **options)]
        if self.rule == "number of rows":
            return [formula.listed(load, **options)]
        if self.rule == "number of leads":
            return [formula.led(load, **options)]
        frame = load(self.table)
        if self.where:
            frame = frame[frame["row"].isin(self.where)]
        if self.rule == "printed twice":
            source = options.pop("source")
            found = arithmetic.repeats(frame, load(source), source=source, **options)
        elif self.rule == "correlation of ranks":
            found = attainable.rank_correlations(load(options.pop("ranks")), frame, **options)
        else:
            found = OVER_TABLES[self.rule](frame, **options)
        if not found:
            raise ValueError(f"{self.rule} over {self.table} finds nothing to check: {options}")
        return found
