"""Do a paper's printed numbers agree with each other, and its sentences with them? Relations are data, rules are code.

`data/paper_tables/<paper>/relations.toml` holds the relations; `values`, `attainable` and `sentences` the rules that
check them; `cells` the interval arithmetic over the rounding of printed numbers and the verdict. A relation names its
`rule` and `table`; what else it holds are the rule's options and what is said of its findings, in one text or place by
place: `note`; `finding`, the name of one fact that shows in several rows; `assumes`, what it needs that the paper does
not print, so that no finding contradicts. "@name" stands for an entry of the file's `[names]`; `each` repeats a
relation, a list of settings whose values are put where "{name}" stands.
"""

from __future__ import annotations

import dataclasses
import functools
import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from nlgeval_lib.papers.audit import attainable, sentences, values
from nlgeval_lib.papers.audit.cells import CONTRADICTS, HOLDS, ROUNDED, UNTOLD, VERDICTS, Finding, Quantity, Tables
from nlgeval_lib.papers.tables import PAPERS, folder, index, load, marks, nearest
from nlgeval_lib.papers.tables import tables as printed_tables

COLUMNS = (
    "paper", "table", "place", "rule", "relation", "printed", "recomputed", "allowed_low", "allowed_high", "verdict",
    "note", "finding",
)  # fmt: skip
__all__ = ["CONTRADICTS", "HOLDS", "ROUNDED", "RULES", "UNTOLD", "VERDICTS", "Finding", "Quantity", "audit"]

RULES: dict[str, Callable[..., Iterable[Finding]]] = {
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
SAID_OF = ("note", "finding", "assumes")


def written_out(options: dict[str, Any], paper: str) -> dict[str, Any]:
    """Options of a relation with the entries of a paper's `[names]` put where "@name" stands.

    Raises: ValueError for a name that is not known.
    """
    known = _read(paper).get("names", {})
    return {name: _filled(option, known, "@") for name, option in options.items()}


def _read(paper: str) -> dict[str, Any]:
    return _parsed((folder() / paper / "relations.toml").read_text(encoding="utf-8"))


_parsed = functools.lru_cache(maxsize=16)(tomllib.loads)  # as it is asked for with every claim


def relations(paper: str) -> list[dict[str, Any]]:
    """The relations of a paper, names and repetitions written out.

    Raises: ValueError for a rule or name that is not known.
    """
    read = _read(paper)
    out = []
    for one in read["relation"]:
        one = dict(one)
        for settings in one.pop("each", [{}]):
            relation = _filled(_filled(one, settings, "{}"), read.get("names", {}), "@")
            if relation.get("rule") not in RULES:
                raise ValueError(f"{paper}, relations.toml: no rule {relation.get('rule')!r}; allowed: {list(RULES)}")
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


def findings(relation: Mapping[str, Any], tables: Tables, data: Callable[..., Any] | None = None) -> list[Finding]:
    """The findings of a relation, notes included. Raises: ValueError where it finds nothing to check."""
    options = {name: value for name, value in relation.items() if name not in ("rule", *SAID_OF)}
    if relation["rule"] == "data":
        options["data"] = data
    found = list(RULES[relation["rule"]](tables, **options))
    if not found:
        raise ValueError(f"it finds nothing to check: {options}")
    out = []
    for one in found:
        note, name, assumes = (
            said.get(one.place, "") if isinstance(said := relation.get(what, ""), Mapping) else said for what in SAID_OF
        )
        told: dict[str, Any] = {"verdict": UNTOLD} if assumes and one.verdict == CONTRADICTS else {}
        notes = "; ".join(part for part in (one.note, note, assumes if told else "") if part)
        name = name or f"{relation['table']}: {one.place}: {one.relation}"
        out.append(dataclasses.replace(one, note=notes, name=name, **told))
    return out


def audit(
    paper: str | Iterable[str] | None = None,
    verdict: str | None = None,
    tables: str | Iterable[str] | None = None,
    data: Callable[..., Any] | None = None,
) -> pd.DataFrame:
    """Every relation that printed numbers and sentences of the papers must obey, and whether they do.

    One row a relation: `paper, table, place, rule, relation, printed, recomputed, allowed_low, allowed_high, verdict,
    note, finding`; rows of one `finding` show the same fact. `recomputed` takes the other cells at face value; allowed
    is what they give when each is anything that rounds to what is printed; both are NaN where words or marks are
    compared. Verdicts: "holds", "holds within rounding", "cannot be told" (the note says why), "contradicts".
    `paper`: one or several (None: all five); `verdict`: only rows with it; `tables`: only relations of these tables;
    `data`: gives a public data set as a frame by name, or None where it is not at hand.
    Raises: ValueError for an unknown paper, verdict or table.
    """
    papers = [paper] if isinstance(paper, str) else list(PAPERS if paper is None else paper)
    chosen = [tables] if isinstance(tables, str) else list(tables or ())
    listed = index().query("paper in @papers")["id"].tolist()
    known = {*listed, *(name for one in papers if one in PAPERS for name in printed_tables(one))}
    allowed = [(one, PAPERS) for one in papers] + [(one, known) for one in chosen]
    for name, names in allowed + ([(verdict, VERDICTS)] if verdict else []):
        if name not in names:
            raise ValueError(f"unknown name: {name!r}; nearest: {nearest(name, names)}")
    rows = []
    for one in papers:
        of_paper = Tables(functools.partial(load, one), marks(one))
        for relation in relations(one):
            if tables is not None and relation["table"] not in chosen:
                continue
            try:
                found = findings(relation, of_paper, data)
            except (TypeError, ValueError) as error:
                raise ValueError(f"{one} {relation['table']}, rule {relation['rule']!r}: {error}") from error
            rows += [
                (one, relation["table"], it.place, relation["rule"], it.relation, it.printed, it.recomputed, it.low,
                 it.high, it.verdict, it.note, it.name)
                for it in found
            ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame if verdict is None else frame[frame["verdict"] == verdict].reset_index(drop=True)
