"""Do a paper's printed numbers agree with each other, and its sentences with them?
Relations are data, rules are code.

A relation of `data/paper_tables/<paper>/relations.toml` names its `rule` and `table`,
the rule's options and what is said of its findings, in one text or place by place:
`note`; `finding`, the name of one fact that shows in several rows; `assumes`, what it
needs that the paper does not print, so that no finding contradicts. "@name" stands for
an entry of the file's `[names]`; `each` repeats a relation, a list of settings whose
values are put where "{name}" stands. A rule takes the tables, the name of its own, and
options; it yields a `Finding` for each printed result.

A new rule is a generator in one of three modules (`values`: numbers from other numbers;
`attainable`: what a number can be at all; `sentences`: words about tables) and a line
in `RULES`.
"""

from __future__ import annotations

import dataclasses
import functools
import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from reproduction.papers.auditing import attainable, sentences, values
from reproduction.papers.printed_tables import (
    KEY,
    PAPERS,
    folder,
    index,
    known,
    load,
    marks,
)
from reproduction.papers.printed_tables import tables as printed_tables

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

# of what `audit` returns
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

# the rules that relations may name
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
SAID_OF = ("note", "finding", "assumes")  # options of a relation that no rule takes


@functools.lru_cache(maxsize=16)  # every claim asks for it
def _read(paper: str, text: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What stands for each "@name" in a paper's file, and its relations, names and
    repetitions written out.
    """
    document = tomllib.loads(text)
    names = {f"@{name}": value for name, value in document.get("names", {}).items()}
    relations = []
    for entry in document["relation"]:
        template = dict(entry)
        for settings in template.pop("each", [{}]):
            # Settings first: what they put in may be an "@name".
            values = {f"{{{name}}}": value for name, value in settings.items()}
            repetition = _filled(template, values, within=True)
            relation = _filled(repetition, names)
            rule = relation.get("rule")
            if rule not in RULES:
                raise ValueError(
                    f"{paper}, relations.toml: no rule {rule!r}; allowed: {list(RULES)}"
                )
            relations.append(relation)
    return names, relations


def _of(paper: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The names and the relations of a paper."""
    path = folder() / paper / "relations.toml"
    return _read(paper, path.read_text(encoding="utf-8"))


def written_out(options: Mapping[str, Any], paper: str) -> dict[str, Any]:
    """Options with the entries of a paper's `[names]` put where "@name" stands.

    Raises: ValueError for another name.
    """
    return _filled(options, _of(paper)[0])


def relations(paper: str) -> list[dict[str, Any]]:
    """The relations of a paper, names and repetitions written out, each with its
    `rule`, `table` and options.

    Raises: ValueError for an unknown rule or name.
    """
    return _of(paper)[1]


def _filled(node: Any, values: Mapping[str, Any], within: bool = False) -> Any:
    """A relation, or a list, table or text inside it, with the values of names put in."""
    fill = functools.partial(_filled, values=values, within=within)
    if isinstance(node, Mapping):
        return {fill(key): fill(value) for key, value in node.items()}
    if isinstance(node, list):
        return list(map(fill, node))
    if not isinstance(node, str):
        return node
    if node in values:
        return values[node] if within else fill(values[node])
    if within:
        for name, value in values.items():
            node = node.replace(name, str(value))
    elif node.startswith("@"):
        raise ValueError(f"no name {node!r} among {sorted(values)}")
    return node


def findings(
    relation: Mapping[str, Any], tables: Tables, data: Callable[..., Any] | None = None
) -> list[Finding]:
    """What the rule of a relation finds, with the relation's notes.

    Raises: ValueError where it finds nothing to check, or names what the tables have
    not.
    """
    options = dict(relation)
    rule = options.pop("rule")
    remarks = [options.pop(name, "") for name in SAID_OF]
    if rule == "data":
        options["data"] = data
    annotated = []
    for finding in RULES[rule](tables, **options):
        note, name, assumes = (_at_place(remark, finding.place) for remark in remarks)
        # Where the paper does not print what the relation needs, it may be that which
        # is otherwise than assumed.
        verdict = finding.verdict
        if verdict == CONTRADICTS and assumes:
            verdict = UNTOLD
            note = joined(note, assumes)
        name = name or f"{relation['table']}: {finding.place}: {finding.relation}"
        note = joined(finding.note, note)
        annotated.append(
            dataclasses.replace(finding, verdict=verdict, note=note, name=name)
        )
    if not annotated:
        raise ValueError(f"it finds nothing to check: {options}")
    return annotated


def _at_place(remark: str | Mapping[str, str], place: str) -> str:
    """What is said of a place: one text for all, or place by place."""
    return remark if isinstance(remark, str) else remark.get(place, "")


def audit(
    paper: str | Iterable[str] | None = None,
    verdict: str | None = None,
    tables: str | Iterable[str] | None = None,
    data: Callable[..., Any] | None = None,
) -> pd.DataFrame:
    """Do the printed numbers and sentences of the papers obey their relations? A row a
    finding.

    paper: one or several (None: all five).
    data: gives a public data set as a frame by name, or None where it is not at hand.
    Returns: columns `COLUMNS`; rows of one `finding` show one fact. `recomputed` takes
    the other cells at face value; `allowed_low` and `allowed_high` are the ends of what
    they give when each is anything that rounds to what is printed; all three are NaN
    where words or marks are compared. Verdicts: "holds", "holds within rounding",
    "cannot be told" (the note says why), "contradicts".
    Raises: ValueError for an unknown paper, verdict or table, and for a relation that
    cannot be held against its tables.
    """
    papers = list(PAPERS) if paper is None else _listed(paper)
    chosen = None if tables is None else _listed(tables)
    _check_names(papers, chosen or [], verdict)
    rows = []
    for name in papers:
        # Each printed table is read once for all relations of its paper.
        of_paper = Tables(functools.partial(load, name), marks(name))
        for relation in relations(name):
            if chosen is None or relation["table"] in chosen:
                rows += _rows(name, relation, of_paper, data)
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    if verdict is None:
        return frame
    return frame[frame["verdict"] == verdict].reset_index(drop=True)


def _listed(names: str | Iterable[str]) -> list[str]:
    """One name or several, as a list."""
    return [names] if isinstance(names, str) else list(names)


def _check_names(papers: list[str], chosen: list[str], verdict: str | None) -> None:
    """Pass where all names are known."""
    for paper in papers:
        known(paper, PAPERS)
    listed = []
    for paper in papers:
        listed += printed_tables(paper)
    # A relation may be of a table that is listed and not transcribed.
    listed += index().query("paper in @papers")["id"].tolist()
    for table in chosen:
        known(table, listed)
    if verdict:
        known(verdict, VERDICTS)


def _rows(
    paper: str,
    relation: Mapping[str, Any],
    tables: Tables,
    data: Callable[..., Any] | None,
) -> list[tuple[Any, ...]]:
    """The rows of one relation, in the order of `COLUMNS`."""
    table = relation["table"]
    rule = relation["rule"]
    rows = []
    try:
        for finding in findings(relation, tables, data):
            row = (
                paper,
                table,
                finding.place,
                rule,
                finding.relation,
                finding.printed,
                *finding.numbers,
                finding.verdict,
                finding.note,
                finding.name,
            )
            rows.append(row)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{paper} {table}, rule {rule!r}: {error}") from error
    return rows


def recomputed(paper: str, table: str, *rules: str) -> pd.DataFrame:
    """Cells of a table as its other printed numbers give them, for `compare`: route
    `published`.

    rules: names of `RULES`; findings of others are left out.
    Returns: `row, column, statistic, value, reason, route`. The reason says by which
    relation a printed number is off, or holds by rounding alone.
    Raises: ValueError for an unknown paper or table.
    """
    # A finding's place is the key of its cell in words.
    rows = audit(paper, tables=table).query("rule in @rules and recomputed.notna()")
    cells = rows["place"].str.split(" / ", expand=True).set_axis(list(KEY), axis=1)
    reasons = []
    for row in rows.itertuples():
        if row.verdict == HOLDS:
            reasons.append("")
        elif row.verdict == ROUNDED:
            reasons.append(f"{row.relation}: {ROUNDED}")
        else:
            reasons.append(joined(row.relation, row.note))
    cells = cells.assign(value=rows["recomputed"], reason=reasons, route="published")
    return cells.reset_index(drop=True)
