"""Which headline claims of the papers hold, and which of their differences can any test
tell from chance?

A claim of `data/paper_claims.csv` rests on a `table`; `cells` picks rows and columns of
it as `relations.toml` does, `check` holds the rest of the test, or names a relation of
the audit by one of its texts (`audit`), `inference` the test that the printed numbers
allow: all three are TOML, "; " for a new line. In a check, `within` is how far a number
may be from one that the text calls approximate, `significant` that the text says so of
the difference, `axis = 'column'` that columns are compared instead of rows. `proxy`
names an output whose recorded judges inform the reader; it decides nothing. `lacking`
says what would tell where no number at hand does; `untold` in a check, what of a claim
stays open beside what is printed. A claim keeps its `id` for good, so that other tables
can be joined to it; one that is dropped leaves its id unused.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from nlgeval_lib import files, statistics
from nlgeval_lib.names import p_in_words
from reproduction.papers import inference
from reproduction.papers.auditing import SAID_OF, findings, relations, written_out
from reproduction.papers.auditing import cells as audit_cells
from reproduction.papers.auditing.cells import Finding, Tables, joined
from reproduction.papers.auditing.sentences import Lead, leads
from reproduction.papers.claim_sentences import SIGNIFICANT, chance, sentence
from reproduction.papers.printed_tables import load, marks, nearest, strings

VERDICTS = ("holds", "repeated", "holds in part", "does not hold", "cannot be told yet")
HOLDS, REPEATED, IN_PART, FAILS, UNTOLD = VERDICTS
# Rules that find a number printed in two places: that repeats it, and supports nothing.
REPEATS = ("said again", "printed twice")
Answer = tuple[str, str]  # a verdict and its evidence
# of data/paper_claims.csv
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
# of what `judge` returns
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
    "test_says",
    "chance",
    "proxy",
    "cells",
    "decided_by",
)
COMPARED = ("id", "comparison", "says", "p")  # of what `compared` returns
# what decides a claim, in words
KINDS = {
    "arithmetic": "arithmetic on printed numbers",
    "share": "the sentence's share against the table's",
    "gain": "a gain or ratio, within what rounding allows",
    "monotone": "each step in one direction, printed numbers",
    "ahead": "ahead in the cells named, printed numbers",
    "maximum": "the largest of its column, printed numbers",
    "public data": (
        "public data, the library's default test, corrected by Holm within the claim"
    ),
    "run": "the judge's own run",
    "nothing": "nothing that is printed or public",
}
UNDECIDABLE = ("run", "nothing")  # kinds of claims that no number at hand decides
SHOWN = 4  # cells that a sentence of evidence names
# what a check says of the whole claim
OWN = ("audit", "significant", "within", "untold")
SMALL = 0.1  # a correlation below it counts as none where no test tells it from none
# options of a test that say which cells it is of, as `leads` takes them
PICKS = ("rows", "best", "over", "falling", "columns", "statistics", "minus")
# options of a sentence that `leads` does not take
_NO_LEADS = (
    "rule",
    "table",
    "says",
    "place",
    "how_many",
    "readings",
    "reading",
    "axis",
    *SAID_OF,
)
# a reading with one of these options is a relation of its own
_OWN_RELATION = {"of", "table", "how_many"}


def claims() -> pd.DataFrame:
    """The claims as they stand in `data/paper_claims.csv`: a row each, columns
    `COLUMNS`, all text.
    """
    return strings(files.data() / "paper_claims.csv", COLUMNS)


def judge(
    rows: pd.DataFrame | None = None,
    data: Callable[..., Any] | None = None,
    computed: Mapping[str, Mapping[str, Any]] | None = None,
    read: Callable[[str, str], pd.DataFrame] = load,
) -> pd.DataFrame:
    """Does each claim hold? A row a claim, with its arithmetic, columns `RESULT`.

    rows: claims as `claims()` gives them (None: all).
    data: public data sets by name, as for `audit`.
    computed: for claims of kind "public data", id -> label -> the `statistics.Comparison` of
    a judge with its reverse.
    read: (paper, table) -> the printed table, as `load` gives it.
    Returns: `verdict` is one of `VERDICTS`, `evidence` names cells and numbers,
    `sentence` says the same in short. `test_says` is one of `inference.ANSWERS`,
    `inference` the same in full and `chance` for a reader; they are about the stated
    comparison, not its verdict, and empty where a claim names no test.
    Raises: ValueError naming the claim whose cells or check are not there.
    """
    if rows is None:
        rows = claims()
    computed = computed or {}
    judged = []
    for paper, claims_of_paper in rows.groupby("paper", sort=False):
        # Each table of a paper is read once for all of its claims.
        tables = Tables(functools.partial(read, paper), marks(paper))
        for claim in claims_of_paper.to_dict("records"):
            comparisons = computed.get(claim["id"], {})
            try:
                told = _inferred(claim, tables)
                verdict, evidence = _decided(claim, tables, data, comparisons, told)
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"claim {claim['id']}: {error}") from error
            cells = claim["cells"] or claim["check"]
            answer = dict(
                verdict=verdict,
                sentence=sentence(evidence, VERDICTS),
                evidence=evidence,
                inference=told.words,
                test_says=told.says,
                chance=chance(told),
                cells=joined(claim["table"], cells, between=": "),
                decided_by=KINDS[claim["kind"]],
            )
            judged.append(claim | answer)
    return pd.DataFrame(judged, columns=list(RESULT))


def compared(
    rows: pd.DataFrame | None = None, read: Callable[[str, str], pd.DataFrame] = load
) -> pd.DataFrame:
    """Which comparisons does each claim make, and does a test tell them from chance?

    rows, read: as for `judge`.
    Returns: a row a comparison, columns `COMPARED`; `p` is NaN where the test gives
    none. Claims without a test have no row.
    """
    if rows is None:
        rows = claims()
    listed = []
    for paper, claims_of_paper in rows.groupby("paper", sort=False):
        tables = Tables(functools.partial(read, paper), marks(paper))
        for claim in claims_of_paper.to_dict("records"):
            for one in _inferred(claim, tables).comparisons:
                listed.append((claim["id"], *one))
    return pd.DataFrame(listed, columns=list(COMPARED))


def counts(judged: pd.DataFrame) -> pd.DataFrame:
    """How many claims of each paper have which verdict.

    judged: as `judge` returns them.
    Returns: a row a paper in the order of `judged` and a row "all"; a column a verdict
    and a column "all".
    """
    table = pd.crosstab(judged["paper"], judged["verdict"])
    table = table.reindex(columns=list(VERDICTS), fill_value=0)
    table = table.loc[judged["paper"].unique()]
    table.loc["all"] = table.sum()
    return table.assign(all=table.sum(axis=1)).rename_axis(columns=None)


def _options(claim: Mapping[str, str], *columns: str) -> dict[str, Any]:
    """What the named columns of a claim hold, read as TOML, the paper's names written
    out.
    """
    text = "\n".join(claim[column] for column in columns).replace("; ", "\n")
    return written_out(tomllib.loads(text), claim["paper"])


def _decided(
    claim: Mapping[str, str],
    tables: Tables,
    data: Any,
    computed: Mapping[str, Any],
    told: inference.Told,
) -> Answer:
    """The verdict on a claim, and the evidence for it."""
    kind = claim["kind"]
    if kind not in KINDS:
        raise ValueError(f"no kind {kind!r}; nearest: {nearest(kind, KINDS)}")
    if kind in UNDECIDABLE:
        return UNTOLD, claim["lacking"]
    if kind == "public data" and not claim["check"]:
        return _public(computed, claim["lacking"])
    check = _options(claim, "check")
    verdict, evidence = _together(_answers(claim, check, tables, data))
    if not check.get("significant"):
        return verdict, evidence
    return _as_significant(verdict, evidence, told)


def _answers(
    claim: Mapping[str, str], check: Mapping[str, Any], tables: Tables, data: Any
) -> list[Answer]:
    """What each relation of a claim answers: sentences first, then findings of the
    audit; of these only the one that the check names by its place, where it does.
    """
    answers: list[Answer] = []
    checked: list[tuple[str, Finding]] = []
    repeats = set()  # places of the findings that only repeat a number
    for relation in _relations(claim):
        if relation["rule"] == "sentence":
            answers += _sentence(relation, tables)
        else:
            reading = relation.pop("reading", "")
            for finding in findings(relation, tables, data):
                checked.append((reading, finding))
                if relation["rule"] in REPEATS:
                    repeats.add(finding.place)
    # A text of the check may be a place (one finding), or only a text that the relation
    # holds (all of its findings).
    place = check.get("audit", "")
    at_place = [pair for pair in checked if pair[1].place == place]
    for reading, finding in at_place or checked:
        verdict, text = _checked(reading, finding, check.get("within", 0))
        if verdict == HOLDS and finding.place in repeats:
            verdict = REPEATED
        answers.append((verdict, text))
    if check.get("untold"):
        answers.append((UNTOLD, check["untold"]))
    return answers


def _checked(reading: str, finding: Finding, room: float) -> Answer:
    """The verdict on a finding of the audit, and its arithmetic."""
    text = finding.place
    if finding.printed:
        text += f", printed {finding.printed}"
    if finding.value is not None:
        text += f", {finding.relation} {finding.numbers[0]:,.5g}"
    allowed = f"approximately: within {room:g} is allowed" if room else ""
    notes = joined(finding.note, allowed)
    if notes:
        text += f" ({notes})"
    if reading:
        text = f"{reading}, {text}"
    return _verdict_on(finding, room), text


def _verdict_on(finding: Finding, room: float) -> str:
    """The verdict on a claim by one finding of the audit; `room` as for `_checked`."""
    if finding.verdict == audit_cells.UNTOLD:
        return UNTOLD
    if finding.verdict != audit_cells.CONTRADICTS:
        return HOLDS
    # What the text calls approximate may be off by `room`.
    if finding.value is not None and room:
        printed = audit_cells.Quantity.printed(finding.printed)
        distance = abs(float(finding.value.face - printed.face))
        if distance <= room:
            return HOLDS
    # A number that was cut off instead of rounded is right as far as it goes.
    if "cut off" in finding.note:
        return IN_PART
    return FAILS


def _as_significant(
    verdict: str, evidence: str, told: inference.Told
) -> tuple[str, str]:
    """The verdict on a difference that a paper calls significant, and the evidence with
    the test's answer.
    """
    if verdict == HOLDS and told.says != inference.YES:
        verdict = IN_PART
    return verdict, f"{evidence}{SIGNIFICANT}{told.words}"


def _relations(claim: Mapping[str, str]) -> list[dict[str, Any]]:
    """The relation that a claim is, or those of the audit that it names."""
    options = _options(claim, "cells", "check")
    if options.get("audit"):
        return _of_audit(claim["paper"], claim["table"], options["audit"])
    for name in OWN:
        options.pop(name, None)
    # Readings that differ in columns or rows stay in one relation, which looks for the
    # best; those with a table or rule of their own become a relation each.
    readings = options.get("readings", {})
    own_relations = any(_OWN_RELATION & set(reading) for reading in readings.values())
    if not own_relations:
        return [_relation(claim["table"], options)]
    del options["readings"]
    relations_of_claim = []
    for name, reading in readings.items():
        relation = _relation(claim["table"], options | reading)
        relations_of_claim.append(relation | {"reading": name})
    return relations_of_claim


def _of_audit(paper: str, table: str, text: str) -> list[dict[str, Any]]:
    """The relations of a table that hold a text."""
    of_table = [relation for relation in relations(paper) if relation["table"] == table]
    naming = [relation for relation in of_table if text in _texts(relation)]
    if not naming:
        hint = nearest(text, _texts(of_table))
        raise ValueError(f"no relation of {table} names {text!r}; nearest: {hint}")
    return naming


def _relation(table: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """A relation of a claim's own, by the rule that its options are for."""
    rule = "value" if "of" in options else "sentence"
    return {"rule": rule, "table": table} | dict(options)


def _texts(node: Any) -> list[str]:
    """Every text in a relation, or in a list or table inside it."""
    if isinstance(node, str):
        return [node]
    if isinstance(node, Mapping):
        node = list(node.values())
    if not isinstance(node, list):
        return []
    texts = []
    for item in node:
        texts += _texts(item)
    return texts


def _together(answers: list[Answer]) -> Answer:
    """One verdict of several: the one that all share, else in part; the evidence begins
    with those that fail, and names at most `SHOWN`.
    """
    verdict, _ = answers[0]
    if all(answer[0] == verdict for answer in answers):
        lines = [text for _, text in answers]
    else:
        # Each line says its own verdict; VERDICTS stand from good to bad.
        verdict = IN_PART
        worst_first = sorted(answers, key=lambda answer: -VERDICTS.index(answer[0]))
        lines = [": ".join(answer) for answer in worst_first]
    evidence = "; ".join(lines[:SHOWN])
    if len(lines) > SHOWN:
        evidence += f"; and {len(lines) - SHOWN} more"
    return verdict, evidence


def _sentence(relation: Mapping[str, Any], tables: Tables) -> Iterator[Answer]:
    """Of each reading of a sentence, whether it holds, in which cells not, and by how
    little it does.
    """
    shared = dict(relation)
    for name in _NO_LEADS:
        shared.pop(name, None)
    cells = tables[relation["table"]]
    if relation.get("axis") == "column":
        cells = cells.turned()
    readings = relation.get("readings") or {relation.get("reading", ""): {}}
    for reading, own_options in readings.items():
        options = shared | own_options
        smallest_first = sorted(leads(cells, **options), key=lambda lead: lead.gap.face)
        how_many = relation.get("how_many", "all")
        verdict = _how_many_ahead(smallest_first, how_many, tables)
        text = _counted(smallest_first, options)
        # What rests on something that is not printed cannot fail by printed numbers.
        if relation.get("assumes") and verdict != HOLDS:
            verdict = UNTOLD
            text = f"{text}; {relation['assumes']}"
        if reading:
            text = f"{reading}, {text}"
        yield verdict, text


def _how_many_ahead(leads: list[Lead], how_many: Any, tables: Tables) -> str:
    """The verdict on "ahead in all cells", in most, or in as many as a cell says."""
    ahead = sum(lead.gap.face > 0 for lead in leads)
    if how_many == "all":
        # Equal printed numbers may have differed before they were rounded.
        if all(lead.gap.high > 0 for lead in leads):
            return HOLDS
        return IN_PART if ahead else FAILS
    if how_many == "most":
        enough = 2 * ahead > len(leads)
    else:
        cells, key = tables.one(how_many)
        enough = cells[key].face == ahead
    return HOLDS if enough else FAILS


def _counted(leads: list[Lead], options: Mapping[str, Any]) -> str:
    """In how many cells one is ahead, and those where it is not, or else the closest."""
    ahead = sum(lead.gap.face > 0 for lead in leads)
    behind = [lead for lead in leads if lead.gap.high <= 0]
    text = f"{ahead} of {len(leads)}"
    within = len(leads) - ahead - len(behind)
    if within:
        text += f", {within} more within rounding"
    kind = "closest"
    named_leads = leads[:1]
    if behind:
        kind = "not"
        named_leads = behind[:SHOWN]
    cells = [f"{lead.where} {_against(lead, options)}" for lead in named_leads]
    text += f"; {kind}: {', '.join(cells)}"
    if len(behind) > SHOWN:
        text += f" and {len(behind) - SHOWN} more"
    return text


def _against(lead: Lead, options: Mapping[str, Any]) -> str:
    """The two numbers of a lead, in words."""
    if options.get("mean"):
        return f"by {float(lead.gap.face):.5g}"
    least = options.get("least", 0)
    most = options.get("most")
    ours = f"{float(lead.ours.face):.5g}"
    if not options.get("over") and not options.get("falling"):
        if most is not None:
            return f"{ours} against {most:.5g} (at most)"
        return f"{ours} against {least:.5g}"
    text = f"{ours} against {float(lead.theirs.face):.5g}"
    if most is not None:
        return f"{text} (ahead by at most {most:g})"
    # A negative least lets ours be behind by so much.
    if least:
        word = "allowed" if least < 0 else "needed"
        text += f" ({word}: {least:+g})"
    return text


def _public(computed: Mapping[str, Any], lacking: str) -> Answer:
    """Whether there is no correlation, as a claim says: a small one that no test tells
    from none.
    """
    if not computed:
        return UNTOLD, f"not computed here: {lacking}"
    corrected = statistics.correct({name: pair.p for name, pair in computed.items()})
    answers = []
    for name, comparison in computed.items():
        if corrected[name] <= corrected.alpha:
            verdict = FAILS
        elif abs(comparison.first) < SMALL:
            verdict = HOLDS
        else:
            verdict = UNTOLD
        p_value = p_in_words(corrected[name])
        text = f"{name} {comparison.first:.3f}, {p_value}"
        if comparison.reason:
            text += f" ({comparison.reason})"
        answers.append((verdict, text))
    return _together(answers)


def _inferred(claim: Mapping[str, str], tables: Tables) -> inference.Told:
    """What the test of the printed numbers says; empty where a claim names none."""
    test = _options(claim, "inference")
    if not test:
        return inference.Told("", "")
    if test.get("untold"):
        words = f"{inference.UNTOLD}: {test['untold']}"
        return inference.Told(inference.UNTOLD, words)
    name = test.pop("test")
    cells = tables[test.pop("table", claim["table"])]
    if name == "models":
        return inference.models(cells, **test)
    # The cells are those of the claim, in its first reading, where the test names none.
    relation = _relations(claim)[0]
    readings: dict[str, dict[str, Any]] = relation.get("readings", {})
    first_reading = next(iter(readings.values()), {})
    relation = relation | first_reading | test
    picks = {pick: relation[pick] for pick in PICKS if pick in relation}
    # With `each` every rival is tested by itself; else the claim is held against the
    # best of them in each column.
    each_rival = test.pop("each", False)
    arguments = {key: value for key, value in test.items() if key not in PICKS}
    if not each_rival:
        return inference.TESTS[name](leads(cells, **picks), **arguments)
    answers = []
    for rivals in _rivals(picks):
        against = rivals["over"][0] if "over" in rivals else rivals["falling"][0][1]
        of_rival = leads(cells, **(picks | rivals))
        answers.append(inference.flips(of_rival, against=against, **arguments))
    return inference.each(answers)


def _rivals(picks: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The picks of each rival by itself: a row that is to be below, or a pair."""
    if "falling" in picks:
        return [{"falling": [pair]} for pair in picks["falling"]]
    return [{"over": [row]} for row in picks["over"]]
