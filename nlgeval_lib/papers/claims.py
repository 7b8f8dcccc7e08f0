"""Which headline claims of the papers hold, and which of their differences can any test
tell from chance?

A claim of `data/paper_claims.csv` rests on a `table`; `cells` picks rows and columns of
it as `relations.toml` does, `check` holds the rest of the test, or names a relation of
the audit by one of its texts (`audit`), `inference` the test that the printed numbers
allow: all three are TOML, "; " for a new line. In a check, `within` is how far a number
may be from one that the text calls approximate, `significant` that the text says so of
the difference, `axis = 'column'` that columns are compared instead of rows. `proxy` names an output whose recorded
judges inform the reader; it decides nothing. `lacking` says what would tell where no
number at hand does.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from nlgeval_lib import files, meta
from nlgeval_lib.papers import inference
from nlgeval_lib.papers.audit import SAID_OF, findings, relations, written_out
from nlgeval_lib.papers.audit import cells as found_by
from nlgeval_lib.papers.audit.cells import Tables
from nlgeval_lib.papers.audit.sentences import Lead, leads
from nlgeval_lib.papers.claim_sentences import SIGNIFICANT, sentence
from nlgeval_lib.papers.tables import load, marks, nearest, strings

VERDICTS = ("holds", "holds in part", "does not hold", "cannot be told yet")
HOLDS, IN_PART, FAILS, UNTOLD = VERDICTS
COLUMNS = (
    "id",
    "paper",
    "place",
    "claim",
    "kind",
    "table",
    "cells",
    "check",
    "inference",
    "proxy",
    "lacking",
)
RESULT = (
    "id",
    "paper",
    "place",
    "claim",
    "kind",
    "verdict",
    "sentence",
    "evidence",
    "inference",
    "proxy",
    "cells",
    "decided_by",
)
# what decides a claim -> in words
KINDS = {
    "arithmetic": "arithmetic on printed numbers",
    "share": "the sentence's share against the table's",
    "gain": "a gain or ratio, within what rounding allows",
    "monotone": "each step in one direction, printed numbers",
    "ahead": "ahead in the cells named, printed numbers",
    "maximum": "the largest of its column, printed numbers",
    "public data": "public data, the library's default test, corrected by Holm within the claim",
    "run": "the judge's own run",
    "nothing": "nothing that is printed or public",
}
UNDECIDABLE = ("run", "nothing")
SHOWN = 4  # cells that a sentence of evidence names
OWN = ("audit", "significant", "within")  # what a check says of the whole claim
SMALL = 0.1  # a correlation below it counts as none where no test tells it from none
PICKS = ("rows", "best", "over", "falling", "columns", "statistics", "minus")


def claims() -> pd.DataFrame:
    """The claims as they stand in `data/paper_claims.csv`, a row each, all columns
    text.
    """
    return strings(files.data() / "paper_claims.csv", COLUMNS)


def judge(
    rows: pd.DataFrame | None = None,
    data: Callable[..., Any] | None = None,
    computed: Mapping[str, Mapping[str, Any]] | None = None,
    read: Callable[[str, str], pd.DataFrame] = load,
) -> pd.DataFrame:
    """The verdict on each claim, with its arithmetic: a row a claim, columns `RESULT`.

    rows: claims as `claims()` gives them (None: all). data: public data sets by name,
    as for `audit`. computed: for claims of kind "public data", id -> label -> the
    `meta.Comparison` of a judge with its reverse. read: gives a printed table.
    `inference`: yes, no, what it needs, or cannot be told; about the stated comparison,
    not its verdict.
    Raises: ValueError naming the claim whose cells or check are not there.
    """
    rows = claims() if rows is None else rows
    out = []
    for paper, part in rows.groupby("paper", sort=False):
        tables = Tables(functools.partial(read, paper), marks(paper))
        for one in part.to_dict("records"):
            try:
                verdict, evidence = _decided(
                    one, tables, data, (computed or {}).get(one["id"], {})
                )
                told = _inferred(one, tables)
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"claim {one['id']}: {error}") from error
            used = ": ".join(filter(None, [one["table"], one["cells"] or one["check"]]))
            out.append(
                one
                | dict(
                    verdict=verdict,
                    sentence=sentence(evidence, VERDICTS),
                    evidence=evidence,
                    inference=told,
                    cells=used,
                    decided_by=KINDS[one["kind"]],
                )
            )
    return pd.DataFrame(out, columns=list(RESULT))


def counts(judged: pd.DataFrame) -> pd.DataFrame:
    """How many claims of each paper have which verdict: a row a paper in the order
    of `judged`, and the sum.
    """
    table = pd.crosstab(judged["paper"], judged["verdict"]).reindex(
        columns=list(VERDICTS), fill_value=0
    )
    table = table.loc[judged["paper"].unique()]
    table.loc["all"] = table.sum()
    return table.assign(all=table.sum(axis=1)).rename_axis(columns=None)


def _options(one: Mapping[str, str], *columns: str) -> dict[str, Any]:
    """What the named columns of a claim hold, the paper's names written out."""
    text = "\n".join(one[column] for column in columns).replace("; ", "\n")
    return written_out(tomllib.loads(text), one["paper"])


def _decided(
    one: Mapping[str, str], tables: Tables, data: Any, computed: Mapping[str, Any]
) -> tuple[str, str]:
    kind = one["kind"]
    if kind not in KINDS:
        raise ValueError(f"no kind {kind!r}; nearest: {nearest(kind, KINDS)}")
    if kind in UNDECIDABLE:
        return UNTOLD, one["lacking"]
    if kind == "public data" and not one["check"]:
        return _public(computed, one["lacking"])
    check = _options(one, "check")
    wanted = check.get("audit", "")
    sentences: list[tuple[str, str]] = []
    found: list[tuple[str, found_by.Finding]] = []
    for relation in _relations(one):
        if relation["rule"] == "sentence":
            sentences += _sentence(relation, tables)
        else:
            reading = relation.pop("reading", "")
            for finding in findings(relation, tables, data):
                found.append((reading, finding))
    chosen = [pair for pair in found if pair[1].place == wanted] or found
    room = check.get("within", 0)
    verdict, evidence = _together(
        sentences + [_checked(reading, it, room) for reading, it in chosen]
    )
    if not check.get("significant"):
        return verdict, evidence
    return _as_significant(verdict, evidence, _inferred(one, tables))


def _checked(reading: str, it: found_by.Finding, room: float) -> tuple[str, str]:
    """The verdict on a finding of the audit, and its arithmetic; `room`: how far the
    number may be from a printed one that the text calls approximate.
    """
    against = IN_PART if "cut off" in it.note else FAILS
    if it.value is not None and room:
        printed = found_by.Quantity.printed(it.printed)
        if abs(float(it.value.face - printed.face)) <= room:
            against = HOLDS
    verdicts = {found_by.CONTRADICTS: against, found_by.UNTOLD: UNTOLD}
    printed_text = f", printed {it.printed}" if it.printed else ""
    number = "" if it.value is None else f", {it.relation} {it.numbers[0]:,.5g}"
    about = f"approximately: within {room:g} is allowed" if room else ""
    notes = found_by.joined(it.note, about)
    text = f"{it.place}{printed_text}{number}" + (f" ({notes})" if notes else "")
    if reading:
        text = f"{reading}, {text}"
    return verdicts.get(it.verdict, HOLDS), text


def _as_significant(verdict: str, evidence: str, inference: str) -> tuple[str, str]:
    """The verdict on a difference that a paper calls significant: one that is there,
    and that no test tells from chance, holds in part.
    """
    if verdict == HOLDS and not inference.startswith("yes"):
        verdict = IN_PART
    return verdict, f"{evidence}{SIGNIFICANT}{inference}"


def _relations(one: Mapping[str, str]) -> list[dict[str, Any]]:
    """The relation that a claim is, or those of the audit that it names."""
    options = _options(one, "cells", "check")
    if wanted := options.get("audit"):
        known = [
            relation
            for relation in relations(one["paper"])
            if relation["table"] == one["table"]
        ]
        if not (
            found := [relation for relation in known if wanted in _texts(relation)]
        ):
            texts = [text for relation in known for text in _texts(relation)]
            raise ValueError(
                f"no relation of {one['table']} names {wanted!r}; nearest: {nearest(wanted, texts)}"
            )
        return found
    plain = {name: option for name, option in options.items() if name not in OWN}
    readings = plain.get("readings", {})
    apart = any({"of", "table", "how_many"} & {*option} for option in readings.values())
    if not apart:
        return [_relation(one["table"], plain)]
    shared = {name: option for name, option in plain.items() if name != "readings"}
    found = []
    for reading, option in readings.items():
        found.append(_relation(one["table"], shared | dict(option), reading))
    return found


def _relation(table: str, what: Mapping[str, Any], reading: str = "") -> dict[str, Any]:
    """A relation of a claim's own; `reading`: which reading of its sentence it is."""
    rule = "value" if "of" in what else "sentence"
    named = {"reading": reading} if reading else {}
    return {"rule": rule, "table": table} | dict(what) | named


def _texts(node: Any) -> list[str]:
    """Every text in a part of a relation."""
    if isinstance(node, str):
        return [node]
    parts = (
        node.values()
        if isinstance(node, Mapping)
        else node
        if isinstance(node, list)
        else ()
    )
    return [text for part in parts for text in _texts(part)]


def _together(said: list[tuple[str, str]]) -> tuple[str, str]:
    """One verdict of several: the one that all share, else in part; the evidence
    begins with those that fail.
    """
    verdict = said[0][0]
    lines = [text for _, text in said]
    if {other for other, _ in said} != {verdict}:
        ordered = sorted(said, key=lambda one: -VERDICTS.index(one[0]))
        verdict = IN_PART
        lines = [f"{mine}: {text}" for mine, text in ordered]
    more = f"; and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
    return verdict, "; ".join(lines[:SHOWN]) + more


def _sentence(relation: Mapping[str, Any], tables: Tables) -> Iterator[tuple[str, str]]:
    """Of each reading of a sentence, whether it holds, in which cells not, and by
    how little it does.
    """
    outer = {
        "rule",
        "table",
        "says",
        "place",
        "how_many",
        "readings",
        "reading",
        "axis",
    }
    outer |= {*SAID_OF}
    shared = {name: option for name, option in relation.items() if name not in outer}
    how_many = relation.get("how_many", "all")
    why = relation.get("assumes")
    alone = relation.get("reading", "")
    cells = tables[relation["table"]]
    if relation.get("axis") == "column":
        cells = cells.turned()
    for name, options in (relation.get("readings") or {alone: {}}).items():
        what = shared | dict(options)
        found = sorted(leads(cells, **what), key=lambda one: one.gap.face)
        behind = [one for one in found if one.gap.high <= 0]
        ahead = sum(one.gap.face > 0 for one in found)
        if how_many == "most":
            verdict = HOLDS if 2 * ahead > len(found) else FAILS
        elif how_many == "all":
            verdict = HOLDS if not behind else IN_PART if ahead else FAILS
        else:
            where, key = tables.one(how_many)
            verdict = HOLDS if where[key].face == ahead else FAILS
        told = ", ".join(
            f"{one.where} {_against(one, what)}"
            for one in (behind or found[:1])[:SHOWN]
        )
        more = f" and {len(behind) - SHOWN} more" if len(behind) > SHOWN else ""
        within = (
            f", {within} more within rounding"
            if (within := len(found) - ahead - len(behind))
            else ""
        )
        text = f"{ahead} of {len(found)}{within}; {'not' if behind else 'closest'}: {told}{more}"
        if why and verdict != HOLDS:
            verdict = UNTOLD
            text = f"{text}; {why}"
        yield verdict, f"{name}, {text}" if name else text


def _against(one: Lead, what: Mapping[str, Any]) -> str:
    """The two numbers of a lead, in words."""
    if what.get("mean"):
        return f"by {float(one.gap.face):.5g}"
    least = what.get("least", 0)
    if not what.get("over") and not what.get("falling"):
        return f"{float(one.ours.face):.5g} against {least:.5g}"
    limit = f" ({'allowed' if least < 0 else 'needed'}: {least:+g})" if least else ""
    return f"{float(one.ours.face):.5g} against {float(one.theirs.face):.5g}{limit}"


def _public(computed: Mapping[str, Any], lacking: str) -> tuple[str, str]:
    """Whether there is no correlation, as a claim says: a small one that no test
    tells from none.
    """
    if not computed:
        return UNTOLD, f"not computed here: {lacking}"
    told = meta.correct({name: one.p for name, one in computed.items()})
    said = []
    for name, one in computed.items():
        verdict = (
            FAILS
            if told[name] <= told.alpha
            else HOLDS
            if abs(one.first) < SMALL
            else UNTOLD
        )
        why = f" ({one.reason})" if one.reason else ""
        said.append(
            (
                verdict,
                f"{name} {one.first:.3f}, {inference.p_in_words(told[name])}{why}",
            )
        )
    return _together(said)


def _inferred(one: Mapping[str, str], tables: Tables) -> str:
    """What the test of the printed numbers says; "" where a claim names none."""
    test = _options(one, "inference")
    if not test:
        return ""
    if said := test.get("untold"):
        return f"cannot be told: {said}"
    name = test.pop("test")
    cells = tables[test.pop("table", one["table"])]
    if name == "models":
        return inference.models(cells, **test)
    what = next(iter(_relations(one)))
    what = {**what, **next(iter(what.get("readings", {}).values()), {}), **test}
    picks = {pick: what[pick] for pick in PICKS if pick in what}
    if rival := test.pop("rival", None):
        best = {
            row: cells.best(row, rival, what["statistics"]).face
            for row in picks["over"]
        }
        picks["over"] = [max(best, key=lambda row: best[row])]
    options = {option: value for option, value in test.items() if option not in PICKS}
    said = inference.TESTS[name](leads(cells, **picks), **options)
    return f"{said}, against {picks['over'][0]}" if rival else said
