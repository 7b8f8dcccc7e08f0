"""The chapters of a card's page: each yields the Markdown of one set, whose numbers it
takes as `card.json` has them. An empty text is a part that the set does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from judgecard import looked_for
from judgecard.web import folded
from judgecard.written import (
    Numbers,
    alt_test,
    at,
    cell,
    coefficient,
    count,
    esc,
    families,
    listed,
    number,
    p_value,
    ranks,
    share,
    table,
    text,
    these,
)
from nlgeval_lib import files

# heading -> the path of the cell within a row, "" for the row itself, and how it is
# written
Columns = Mapping[str, tuple[str, Callable[[Any], str]]]

_LEVELS = {"dataset": "all outputs", "input": "within an input", "system": "systems"}
_COEFFICIENTS: Columns = {
    "aspect": ("aspect", text),
    "level": ("level", text),
    "Pearson r": ("pearson", coefficient),
    "Spearman rho": ("spearman", coefficient),
    "Kendall tau-b": ("kendall", coefficient),
    "tau-b, these systems only": ("kendall", these),
    "tau-b, other families of systems": ("kendall", families),
}
_AMONG_JUDGES: Columns = {
    "aspect": ("aspect", text),
    "possible ranks": ("", ranks),
    "judge": ("name", text),
    "tau-b over all outputs": ("kendall", cell),
    "this judge minus it": ("judge_minus_it", number),
    "p, corrected": ("p", p_value),
}
_PAIRS_BESIDE: Columns = {
    "judge of pairs": ("name", text),
    "accuracy": ("", cell),
    "this judge minus it": ("judge_minus_it", cell),
}
_SUBSETS: Columns = {"pairs of": ("subset", text), "accuracy": ("", cell)}
_FAULTS: Columns = {
    "aspect": ("aspect", text),
    "mean score": ("use.mean", number),
    "most frequent score": ("use.mode_share", share),
    "people's most frequent": ("use.human_mode_share", share),
    "tied pairs": ("use.ties", share),
    "leniency": ("closeness.leniency", cell),
    "nearer than a constant by": ("closeness.nearer_than_constant", cell),
    "tau-b with length": ("length.kendall", cell),
    "tau-b above that of length": ("length.versus", cell),
}
_THIRDS: Columns = {
    "aspect": ("aspect", text),
    "third by": ("divider", text),
    "from": ("span", text),
    "tau-b": ("kendall", cell),
}
_LENIENCY: Columns = {
    "aspect": ("aspect", text),
    "systems": ("system", text),
    "judge minus people": ("", cell),
}
_VARIANCE: Columns = {
    "aspect": ("aspect", text),
    "scores of": ("whose", text),
    "between systems": ("systems", share),
    "between inputs": ("inputs", share),
    "by asking again": ("again", share),
}
_ORDERS: Columns = {"share of pairs": ("what", text), "how many": ("", cell)}
_REPEATS: Columns = {
    "aspect": ("aspect", text),
    "times asked": ("repeats.draws", text),
    "all answers equal": ("repeats.same", share),
    "variance between outputs, ICC(1,1)": ("repeats.icc", cell),
}
_PROBES: Columns = {
    "what was done": ("words", text),
    "what the score should do": ("expected", text),
    "change": ("effect", cell),
    "beyond that of filler": ("beyond_filler", cell),
    "inputs": ("effect.n", count),
}
_RATERS: Columns = {
    "aspect": ("aspect", text),
    "raters": ("raters.kind", text),
    "how many": ("raters.number", text),
    "one of them with the others, tau-b": ("raters.dataset.rater", cell),
    "the judge with the same": ("raters.dataset.judge", cell),
    "raters that the judge beats (alt-test)": ("raters.alt_test.judge", alt_test),
    "raters that a constant beats": ("raters.alt_test.constant", alt_test),
    "a label counts for": ("worth.labels", number),
}


def _table(rows: Iterable[Numbers], columns: Columns) -> str:
    """A Markdown table, its cells taken from rows; "" without rows."""
    lines = []
    for row in rows:
        line = {}
        for head, (path, written) in columns.items():
            line[head] = written(at(row, path) if path else row)
        lines.append(line)
    return table(lines)


def _aspects(numbers: Numbers) -> Iterator[dict[str, Any]]:
    """What was measured of each aspect, with its name as `aspect`."""
    for aspect, measured in numbers.get("aspects", {}).items():
        yield {"aspect": aspect, **measured}


def _listed(numbers: Numbers, path: str) -> Iterator[dict[str, Any]]:
    """The rows that each aspect has at a path, with its name as `aspect`."""
    for measured in _aspects(numbers):
        for row in listed(at(measured, path)):
            yield {"aspect": measured["aspect"], **row}


def other_judges(numbers: Numbers) -> Iterator[str]:
    """How does the judge follow the ratings, and how do others?"""
    if numbers["kind"] == "pairs":
        yield _table(numbers["beside"], _PAIRS_BESIDE)
        return
    levels = []
    for measured in _aspects(numbers):
        for level, words in _LEVELS.items():
            if level in measured:
                about = {"aspect": measured["aspect"], "level": words}
                levels.append(about | measured[level])
    yield _table(levels, _COEFFICIENTS)
    among = _table(_listed(numbers, "beside"), _AMONG_JUDGES)
    yield folded("Among recorded judges and baselines", among)


def failing(numbers: Numbers) -> Iterator[str]:
    """Where does the judge fail?"""
    faults = folded("Faults that were looked for", table([*looked_for.rows(numbers)]))
    if numbers["kind"] == "pairs":
        yield _table(numbers["subsets"], _SUBSETS)
        yield faults
        return
    yield _table(_aspects(numbers), _FAULTS)
    yield faults
    thirds = _table(_thirds(numbers), _THIRDS)
    yield folded("Within thirds by rating and by length", thirds)
    leniency = _table(_listed(numbers, "strata.system"), _LENIENCY)
    yield folded("Leniency by system family", leniency)
    variance = _table(_variances(numbers), _VARIANCE)
    yield folded("Where the variance of the scores is", variance)
    for measured in _aspects(numbers):
        confusion = measured["closeness"].get("confusion")
        if confusion:
            title = f"Judge by people, {esc(measured['aspect'])}"
            yield folded(title, _confusion(confusion))
    yield folded("The worst disagreements", _worst(numbers))


def _thirds(numbers: Numbers) -> Iterator[dict[str, Any]]:
    """Each third of the outputs, by rating and by length."""
    for measured in _aspects(numbers):
        for divider in ("rating", "length"):
            for third in listed(measured["strata"][divider]):
                span = f"{third['from']:.4g} to {third['to']:.4g}"
                about = {"aspect": measured["aspect"], "divider": divider}
                yield {**about, "span": span, "kendall": third["kendall"]}


def _variances(numbers: Numbers) -> Iterator[dict[str, Any]]:
    """The shares of the variance of scores, of ratings and of repeated answers."""
    for measured in _aspects(numbers):
        for whose in ("judge", "people", "repeats"):
            shares = at(measured, f"variance.{whose}.shares")
            if shares is None:
                continue
            again = None
            if whose == "repeats":
                repeated = [shares[name] for name in shares if "repeat" in name]
                again = sum(filter(None, [*repeated, shares["residual"]]))
            about = {"aspect": measured["aspect"], "whose": whose}
            yield {**about, **shares, "again": again}


def _confusion(confusion: Numbers) -> str:
    """How many outputs have each score of the judge (row) and of people (column)."""
    heads = ["", *(f"people {score:g}" for score in confusion["human"])]
    lines = []
    for score, counts in zip(confusion["judge"], confusion["counts"], strict=True):
        lines.append([f"judge {score:g}", *counts])
    return files.markdown_table(heads, lines)


def _worst(numbers: Numbers) -> str:
    """The outputs, each a link to the explorer's page."""
    lines = []
    for row in numbers.get("worst", ()):
        name = esc(row["input_id"])
        if numbers.get("explorer"):
            query = (
                f"text={quote(row['input_id'])}&system={quote(row['system_id'])}"
                f"&aspect={quote(row['aspect'])}"
            )
            name = f"[{name}]({numbers['explorer']}#{query})"
        ranked = [number(row[key]) for key in ("human", "value", "gap")]
        lines.append([name, esc(row["system_id"]), esc(row["aspect"]), *ranked])
    if not lines:
        return ""
    heads = ["input", "system", "aspect", "people", "judge", "ranks apart"]
    return files.markdown_table(heads, lines)


def repeats(numbers: Numbers) -> Iterator[str]:
    """Does the judge say the same twice: in both orders of a pair, and asked again?"""
    if "swap" in numbers:
        orders = (
            {"what": "same choice in both orders", **numbers["swap"]},
            {"what": "choices of the option shown first", **numbers["first"]},
        )
        yield _table(orders, _ORDERS)
    aspects = list(_aspects(numbers))
    if any(at(measured, "repeats.draws") is not None for measured in aspects):
        yield _table(aspects, _REPEATS)


def probes(numbers: Numbers) -> Iterator[str]:
    """What did changes of the outputs do to the score?"""
    measured = numbers.get("probes", {})
    if measured:
        yield "Mean change of the score, as a share of the scale."
        yield _table(measured.values(), _PROBES)


def replacing(numbers: Numbers) -> Iterator[str]:
    """May the judge replace a rater, and what are its scores worth in labels?"""
    aspects = list(_aspects(numbers))
    if any(at(measured, "raters.number") is not None for measured in aspects):
        yield _table(aspects, _RATERS)
        words = [measured["worth"].get("words", "") for measured in aspects]
        yield next(filter(None, words), "")
