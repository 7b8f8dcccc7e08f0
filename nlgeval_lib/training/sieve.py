"""Rules that remove what is not fit to be trained on: named, applied in order, every removal counted and kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import pandas as pd

from nlgeval_lib.schema import Completion

T = TypeVar("T")
ORIGINS = ("paper", "ours")
Kept = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Rule:
    """One reason to remove an item.

    says: what it removes, for reports. origin: `paper`, named there as a filter, or `ours`. why: item -> what is wrong
    with it, empty where the rule has nothing against it.
    Raises: ValueError for another origin.
    """

    name: str
    says: str
    why: Callable[[Any], str]
    origin: str = "paper"

    def __post_init__(self) -> None:
        if self.origin not in ORIGINS:
            raise ValueError(f"rule {self.name}: origin {self.origin!r}; allowed: {', '.join(ORIGINS)}")


@dataclass(frozen=True, slots=True)
class Removed:
    """An item that a rule removed, why, and the part of the data that it belongs to."""

    id: str
    rule: str
    reason: str
    group: str
    item: Any


@dataclass
class Sieve(Generic[T]):
    """Applies rules in order and counts, a part of the data apart: an item is removed by the first rule against it.

    name: item -> its id. group: item -> its part of the data, such as its channel.
    """

    name: Callable[[T], str]
    group: Callable[[T], str] = lambda item: "all"
    rules: dict[str, Rule] = field(default_factory=dict)
    removed: list[Removed] = field(default_factory=list)
    reached: dict[tuple[str, str], int] = field(default_factory=dict)

    def through(self, rules: Sequence[Rule], items: Iterable[T]) -> list[T]:
        """The items that no rule is against, in order."""
        for rule in rules:
            self.rules.setdefault(rule.name, rule)
        kept = []
        for item in items:
            part = self.group(item)
            for rule in rules:
                self.reached[rule.name, part] = self.reached.get((rule.name, part), 0) + 1
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
            for part in dict.fromkeys(parts) if by_group else [None]:
                reached = sum(n for (name, of), n in self.reached.items() if name == rule.name and part in (None, of))
                removed = self.count(rule.name, part)
                rows.append(
                    {
                        "rule": rule.name,
                        **({"group": part} if by_group else {}),
                        "origin": rule.origin,
                        "reached": reached,
                        "removed": removed,
                        "share": removed / reached if reached else float("nan"),
                        "says": rule.says,
                    }
                )
        names = ["rule", *(["group"] if by_group else []), "origin", "reached", "removed", "share", "says"]
        return pd.DataFrame(rows, columns=names)

    def by_part(self) -> pd.DataFrame:
        """How many items each rule removed of each part: a row a rule, a column a part, and a last row of what stayed.

        A part is only in the table where something of it reached a rule.
        """
        parts = list(dict.fromkeys(part for _, part in self.reached))
        rows = {name: {part: self.count(name, part) for part in parts} for name in self.rules}
        came = {part: max((n for (_, of), n in self.reached.items() if of == part), default=0) for part in parts}
        rows["kept"] = {part: came[part] - sum(row[part] for row in rows.values()) for part in parts}
        table = pd.DataFrame.from_dict(rows, orient="index", columns=parts)
        table.index.name = "rule"
        return table


def unique(key: Callable[[Any], Hashable], says: str, name: str = "duplicate") -> Rule:
    """A rule that removes an item whose key an earlier item had. It remembers: make one for each run."""
    seen: dict[Hashable, int] = {}

    def why(item: Any) -> str:
        found = key(item)
        seen[found] = seen.get(found, 0) + 1
        return "" if seen[found] == 1 else "the same as an earlier one"

    return Rule(name, says, why, origin="ours")


def there(completion: Completion) -> str:
    """Why there is no text in a completion, empty where there is one."""
    if completion.error or completion.finish_reason == "error":
        return completion.error or "the engine gave no completion"
    return "" if completion.text.strip() else "the completion is empty"


def cut(completion: Completion) -> str:
    """A remark for a text that cannot be read: that it was cut at the token limit, where it was."""
    return "; it was cut at the token limit" if completion.finish_reason == "length" else ""
