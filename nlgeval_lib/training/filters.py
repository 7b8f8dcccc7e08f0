"""Rules that remove what is not fit to be trained on: named, applied in order, every removal counted and kept."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import pandas as pd

T = TypeVar("T")


class Rule(NamedTuple):
    """One reason to remove an item.

    says: what it removes, for reports. why: item -> what is wrong with it, empty where the rule has nothing against it.
    origin: `paper`, named there as a filter, or `ours`.
    """

    name: str
    says: str
    why: Callable[[Any], str]
    origin: str = "paper"


class Removed(NamedTuple):
    """An item that a rule removed, why, and the part of the data that it belongs to."""

    id: str
    rule: str
    reason: str
    group: str
    item: Any


@dataclass
class Filters(Generic[T]):
    """Applies rules in order and counts, a part of the data apart: an item is removed by the first rule against it.

    name: item -> its id. group: item -> its part of the data, such as its channel.
    """

    name: Callable[[T], str] = operator.attrgetter("id")
    group: Callable[[T], str] = operator.attrgetter("group")
    rules: dict[str, Rule] = field(default_factory=dict)
    removed: list[Removed] = field(default_factory=list)
    reached: Counter[tuple[str, str]] = field(default_factory=Counter)

    def apply(self, rules: Sequence[Rule], items: Iterable[T]) -> list[T]:
        """The items that no rule is against, in order."""
        for rule in rules:
            self.rules.setdefault(rule.name, rule)
        kept = []
        for item in items:
            part = self.group(item)
            for rule in rules:
                self.reached[rule.name, part] += 1
                if reason := rule.why(item):
                    self.removed.append(Removed(self.name(item), rule.name, reason, part, item))
                    break
            else:
                kept.append(item)
        return kept

    def count(self, rule: str, group: str | None = None) -> int:
        """How many items a rule removed, of one part or of all."""
        return sum(one.rule == rule and group in (None, one.group) for one in self.removed)

    def table(self, by_group: bool = False) -> pd.DataFrame:
        """A row a rule, in order (by_group: a rule and part): `origin, reached, removed, share` and what it removes.

        `share` is of the items that reached the rule, those that no earlier rule had removed.
        """
        rows = []
        for rule in self.rules.values():
            parts = [part for name, part in self.reached if name == rule.name]
            for groups in ([part] for part in parts) if by_group else [parts]:
                reached = sum(self.reached[rule.name, part] for part in groups)
                removed = sum(self.count(rule.name, part) for part in groups)
                share = removed / reached if reached else float("nan")
                rows.append((rule.name, "/".join(groups), rule.origin, reached, removed, share, rule.says))
        table = pd.DataFrame(rows, columns=["rule", "group", "origin", "reached", "removed", "share", "says"])
        return table if by_group else table.drop(columns="group")

    def by_part(self) -> pd.DataFrame:
        """How many items each rule removed of each part: a row a rule, a column a part, and a last row of what stayed.

        A part is only in the table where something of it reached a rule.
        """
        parts = list(dict.fromkeys(part for _, part in self.reached))
        rows = {name: {part: self.count(name, part) for part in parts} for name in self.rules}
        came = {part: max(n for (_, of), n in self.reached.items() if of == part) for part in parts}
        rows["kept"] = {part: came[part] - sum(row[part] for row in rows.values()) for part in parts}
        return pd.DataFrame.from_dict(rows, orient="index", columns=parts).rename_axis("rule")


def unique(key: Callable[[Any], Hashable], says: str) -> Rule:
    """A rule that removes an item whose key an earlier item had. It remembers: make one for each run."""
    seen: set[Hashable] = set()

    def why(item: Any) -> str:
        found = key(item)
        if found in seen:
            return "the same as an earlier one"
        seen.add(found)
        return ""

    return Rule("duplicate", says, why, "ours")


def answered(says: str = "the text is not in the form that was asked for", origin: str = "ours") -> list[Rule]:
    """The rules that each answer of the teacher has to pass first."""
    return [
        Rule("failed", "the teacher gave no completion; asked again next time", lambda one: one.failure, "ours"),
        Rule("malformed", says, lambda one: one.problem, origin),
    ]


def lacking(item: Any, *names: str) -> str:
    """Which of an item's texts are empty, as a list in words."""
    return ", ".join(name for name in names if not getattr(item, name).strip())
