"""The relations of the papers: data in `data/paper_tables/<paper>/relations.toml`, and the rules that check them.

A relation names its `rule` and `table`; what else it holds are the rule's options, and `note`, which goes to its
findings. "@name" stands for an entry of the file's `[names]`; `each` repeats a relation, a list of settings whose
values are put where "{name}" stands.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from nlgeval_lib.papers.audit import attainable, sentences, values
from nlgeval_lib.papers.audit.cells import Tables
from nlgeval_lib.papers.audit.quantity import Finding
from nlgeval_lib.papers.tables import folder

RULES: dict[str, Callable[..., list[Finding]]] = {
    "summary": values.summaries,
    "difference": values.differences,
    "percent change": values.percent_changes,
    "printed twice": values.repeats,
    "said again": values.equal,
    "value": values.follows,
    "worked examples": values.different,
    "multiple of 1/n": attainable.multiples,
    "pooled share": attainable.pooled_shares,
    "attainable coefficient": attainable.coefficients,
    "correlation of ranks": attainable.rank_correlations,
    "ranks of scores": attainable.ranks_of_scores,
    "permutation": attainable.permutations,
    "bounds": attainable.bounds,
    "sentence": sentences.ahead,
    "mark": sentences.marks,
    "copied": sentences.copied,
    "data": sentences.in_data,
    "not printed": sentences.not_printed,
}


def relations(paper: str) -> list[dict[str, Any]]:
    """The relations of a paper, names and repetitions written out.

    Raises: ValueError for a rule or name that is not known.
    """
    path = folder() / paper / "relations.toml"
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    out = []
    for one in read["relation"]:
        for settings in one.pop("each", [{}]):
            relation = _filled(_filled(one, settings, "{}"), read.get("names", {}), "@")
            if relation.get("rule") not in RULES:
                raise ValueError(f"{path}: no rule {relation.get('rule')!r}; allowed: {list(RULES)}")
            out.append(relation)
    return out


def _filled(node: Any, known: Mapping[str, Any], sign: str) -> Any:
    """A part of a relation with known names put in; a list in a list is put in item by item."""
    if isinstance(node, Mapping):
        return {_filled(key, known, sign): _filled(item, known, sign) for key, item in node.items()}
    if isinstance(node, list):
        return [_filled(item, known, sign) for item in node]
    if not isinstance(node, str):
        return node
    if sign == "@" and node.startswith("@"):
        if node[1:] not in known:
            raise ValueError(f"no name {node!r} among {sorted(known)}")
        return _filled(known[node[1:]], known, sign)
    for name, value in known.items() if sign == "{}" else ():
        if node == f"{{{name}}}":
            return value
        node = node.replace(f"{{{name}}}", str(value))
    return node


def check(relation: Mapping[str, Any], tables: Tables, data: Callable[..., Any] | None = None) -> list[Finding]:
    """The findings of a relation. Raises: ValueError where it finds nothing to check."""
    options = {name: value for name, value in relation.items() if name not in ("rule", "note")}
    if relation["rule"] == "data":
        options["data"] = data
    found = RULES[relation["rule"]](tables, **options)
    if not found:
        raise ValueError(f"it finds nothing to check: {options}")
    return found
