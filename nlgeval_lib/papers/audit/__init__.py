"""Do a paper's printed numbers agree with each other, and its sentences with them?
Relations are data, rules are code.

A relation of `data/paper_tables/<paper>/relations.toml` names its `rule` and `table`,
the rule's options and what is said of its findings, in one text or place by place:
`note`; `finding`, the name of one fact that shows in several rows; `assumes`, what it
needs that the paper does not print, so that no finding contradicts. "@name" stands for
an entry of the file's `[names]`; `each` repeats a relation, a list of settings whose
values are put where "{name}" stands. A rule takes the tables, the name of its own, and
options; it yields a `Finding` for each printed result.
"""

from __future__ import annotations

import dataclasses
import functools
import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from nlgeval_lib.papers.audit import attainable, sentences, values
from nlgeval_lib.papers.tables import PAPERS, folder, index, known, load, marks
from nlgeval_lib.papers.tables import tables as printed_tables

from .cells import (
    CONTRADICTS,
    HOLDS,
    ROUNDED,
    UNTOLD,
    VERDICTS,
    Finding,
    Quantity,
    Tables,
    joined,
)

COLUMNS = (
    "paper",
    "table",
    "place",
    "rule",
    "relation",
    "printed",
    "recomputed",
    "allowed_low",
    "allowed_high",
    "verdict",
    "note",
    "finding",
)
__all__ = [
    "CONTRADICTS",
    "HOLDS",
    "ROUNDED",
    "RULES",
    "UNTOLD",
    "VERDICTS",
    "Finding",
    "Quantity",
    "audit",
    "recomputed",
]

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


@functools.lru_cache(maxsize=16)  # as it is asked for with every claim
def _read(paper: str, text: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What stands for each "@name" in a paper's file, and its relations, names and
    repetitions written out.
    """
    held = tomllib.loads(text)
    names = {f"@{name}": value for name, value in held.get("names", {}).items()}
    out = []
    for one in held["relation"]:
        plain = {key: value for key, value in one.items() if key != "each"}
        for settings in one.get("each", [{}]):
            filled = _filled(
                plain,
                {f"{{{name}}}": value for name, value in settings.items()},
                within=True,
            )
            out.append(_filled(filled, names))
            if (rule := out[-1].get("rule")) not in RULES:
                raise ValueError(
                    f"{paper}, relations.toml: no rule {rule!r}; allowed: {list(RULES)}"
                )
    return names, out


def _of(paper: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return _read(
        paper, (folder() / paper / "relations.toml").read_text(encoding="utf-8")
    )


def written_out(options: Mapping[str, Any], paper: str) -> dict[str, Any]:
    """Options with the entries of a paper's `[names]` put where "@name" stands.

    Raises: ValueError for another name.
    """
    return _filled(options, _of(paper)[0])


def relations(paper: str) -> list[dict[str, Any]]:
    """The relations of a paper, names and repetitions written out.

    Raises: ValueError for an unknown rule or name.
    """
    return _of(paper)[1]


def _filled(node: Any, given: Mapping[str, Any], within: bool = False) -> Any:
    """A part of a relation with known names put in, also `within` a text; a list in
    a list is put in item by item.
    """
    if isinstance(node, Mapping):
        return {
            _filled(key, given, within): _filled(item, given, within)
            for key, item in node.items()
        }
    if isinstance(node, list):
        return [_filled(item, given, within) for item in node]
    if isinstance(node, str) and node in given:
        return given[node] if within else _filled(given[node], given)
    if isinstance(node, str) and not within and node.startswith("@"):
        raise ValueError(f"no name {node!r} among {sorted(given)}")
    for name in given if isinstance(node, str) and within else ():
        node = node.replace(name, str(given[name]))
    return node


def findings(
    relation: Mapping[str, Any], tables: Tables, data: Callable[..., Any] | None = None
) -> list[Finding]:
    """The findings of a relation, notes included.

    Raises: ValueError where it finds nothing to check.
    """
    options = {
        name: value
        for name, value in relation.items()
        if name not in ("rule", *SAID_OF)
    }
    options |= {"data": data} if relation["rule"] == "data" else {}
    out = []
    for one in RULES[relation["rule"]](tables, **options):
        said = (relation.get(what, "") for what in SAID_OF)
        note, name, assumes = (
            text.get(one.place, "") if isinstance(text, Mapping) else text
            for text in said
        )
        name = name or f"{relation['table']}: {one.place}: {one.relation}"
        if one.verdict == CONTRADICTS and assumes:
            one = dataclasses.replace(one, verdict=UNTOLD)
            note = joined(note, assumes)
        out.append(dataclasses.replace(one, note=joined(one.note, note), name=name))
    if not out:
        raise ValueError(f"it finds nothing to check: {options}")
    return out


def audit(
    paper: str | Iterable[str] | None = None,
    verdict: str | None = None,
    tables: str | Iterable[str] | None = None,
    data: Callable[..., Any] | None = None,
) -> pd.DataFrame:
    """Every relation that printed numbers and sentences of the papers must obey, and
    whether they do: a row each.

    Columns `COLUMNS`; rows of one `finding` show one fact. `recomputed` takes the other
    cells at face value; allowed is what they give when each is anything that rounds to
    what is printed; both are NaN where words or marks are compared. Verdicts: "holds",
    "holds within rounding", "cannot be told" (the note says why), "contradicts".
    `paper`: one or several (None: all five); `verdict`: only rows with it; `tables`:
    only relations of these tables; `data`: gives a public data set as a frame by name,
    or None where it is not at hand.
    Raises: ValueError for an unknown paper, verdict or table.
    """
    papers = (
        [paper] if isinstance(paper, str) else list(PAPERS if paper is None else paper)
    )
    chosen = [tables] if isinstance(tables, str) else list(tables or ())
    listed = [name for one in papers if one in PAPERS for name in printed_tables(one)]
    listed += [*index().query("paper in @papers")["id"]]
    allowed = [(one, PAPERS) for one in papers] + [(one, listed) for one in chosen]
    for name, names in allowed + ([(verdict, VERDICTS)] if verdict else []):
        known(name, names)
    rows = []
    for one in papers:
        of_paper = Tables(functools.partial(load, one), marks(one))
        for relation in relations(one):
            table = relation["table"]
            rule = relation["rule"]
            try:
                found = (
                    findings(relation, of_paper, data)
                    if tables is None or table in chosen
                    else ()
                )
            except (TypeError, ValueError) as error:
                raise ValueError(f"{one} {table}, rule {rule!r}: {error}") from error
            for it in found:
                said = (
                    it.place,
                    rule,
                    it.relation,
                    it.printed,
                    *it.numbers,
                    it.verdict,
                    it.note,
                    it.name,
                )
                rows.append((one, table, *said))
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return (
        frame
        if verdict is None
        else frame[frame["verdict"] == verdict].reset_index(drop=True)
    )


def recomputed(paper: str, table: str, *rules: str) -> pd.DataFrame:
    """Cells of a table as its other printed numbers give them by these rules, for
    `compare`: route `published`.

    The reason says by which relation a printed number is off, or holds by rounding
    alone.
    Raises: ValueError for an unknown paper or table.
    """
    found = audit(paper, tables=table).query("rule in @rules and recomputed.notna()")
    cells = (
        found["place"]
        .str.split(" / ", expand=True)
        .set_axis(["row", "column", "statistic"], axis=1)
    )
    said = [
        {HOLDS: "", ROUNDED: f"{one.relation}: {ROUNDED}"}.get(
            one.verdict, joined(one.relation, one.note)
        )
        for one in found.itertuples()
    ]
    return cells.assign(
        value=found["recomputed"], reason=said, route="published"
    ).reset_index(drop=True)
