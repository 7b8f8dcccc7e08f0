"""The chapters of a card's page: each gives its texts for one set."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from judgecard import looked_for
from judgecard.web import folded
from judgecard.written import (
    DASH,
    Numbers,
    alt_test,
    at,
    cell,
    coefficient,
    esc,
    interval_of,
    listed,
    number,
    p_value,
    ranks,
    share,
    table,
    text,
)
from nlgeval_lib import files

_LEVELS = {"dataset": "all outputs", "input": "within an input", "system": "systems"}


# -- beside others


def other_judges(numbers: Numbers) -> Iterator[str]:
    """How does the judge follow the ratings, and how do others?

    Yields: for graded outputs a table of coefficients, a row an aspect and level, then
        the judges beside this one, folded; for pairs one table of accuracies.
    """
    if numbers["kind"] == "pairs":
        yield _pairs_beside(numbers)
        return
    rows = []
    for aspect, measured in numbers["aspects"].items():
        for level, words in _LEVELS.items():
            if level not in measured:
                continue
            coefficients = measured[level]
            kendall = coefficients["kendall"]
            rows.append(
                {
                    "aspect": aspect,
                    "level": words,
                    "Pearson r": coefficient(coefficients["pearson"]),
                    "Spearman rho": coefficient(coefficients["spearman"]),
                    "Kendall tau-b": coefficient(kendall),
                    "tau-b, these systems only": interval_of(kendall, "these"),
                    "tau-b, other families of systems": interval_of(
                        kendall, "families"
                    ),
                }
            )
    yield table(rows)
    yield folded("Among recorded judges and baselines", _among_judges(numbers))


def _pairs_beside(numbers: Numbers) -> str:
    """The judges of pairs by accuracy, a row each."""
    rows = []
    for row in numbers["beside"]:
        rows.append(
            {
                "judge of pairs": row["name"],
                "accuracy": cell(row),
                "this judge minus it": cell(row.get("judge_minus_it")),
            }
        )
    return table(rows)


def _among_judges(numbers: Numbers) -> str:
    """The judge among others, a row an aspect and judge, with the ranks that each can
    have.
    """
    rows = []
    for aspect, measured in numbers["aspects"].items():
        for row in listed(measured["beside"]):
            rows.append(
                {
                    "aspect": aspect,
                    "possible ranks": ranks(row),
                    "judge": row["name"],
                    "tau-b over all outputs": cell(row["kendall"]),
                    "this judge minus it": number(row.get("judge_minus_it")),
                    "p, corrected": p_value(row.get("p")),
                }
            )
    return table(rows)


# -- where it fails


def failing(numbers: Numbers) -> Iterator[str]:
    """Where does the judge fail? The use of the scale, the distance from the ratings,
    and parts of the outputs.

    Yields: for graded outputs one table for all aspects, then folded ones: faults that
        were looked for, thirds, systems, variance, a confusion table an aspect, the worst disagreements; for
        pairs the accuracy in each subset.
    """
    if numbers["kind"] == "pairs":
        rows = []
        for row in numbers["subsets"]:
            rows.append({"pairs of": row["subset"], "accuracy": cell(row)})
        yield table(rows)
        return
    yield _faults(numbers)
    yield folded("Faults that were looked for", _looked_for(numbers))
    yield folded("Within thirds by rating and by length", _thirds(numbers))
    yield folded("Leniency by system family", _leniency(numbers))
    yield folded("Where the variance of the scores is", _variance(numbers))
    for aspect, measured in numbers["aspects"].items():
        confusion = measured["closeness"].get("confusion")
        if confusion:
            title = f"Judge by people, {esc(aspect)}"
            yield folded(title, _confusion(confusion))
    yield folded("The worst disagreements", _worst(numbers))


def _faults(numbers: Numbers) -> str:
    """The numbers that name faults, a row an aspect."""
    rows = []
    for aspect, measured in numbers["aspects"].items():
        use = measured["use"]
        closeness = measured["closeness"]
        length = measured["length"]
        rows.append(
            {
                "aspect": aspect,
                "mean score": number(use.get("mean")),
                "most frequent score": share(use.get("mode_share")),
                "people's most frequent": share(use.get("human_mode_share")),
                "tied pairs": share(use.get("ties")),
                "leniency": cell(closeness.get("leniency")),
                "nearer than a constant by": cell(
                    closeness.get("nearer_than_constant")
                ),
                "tau-b with length": cell(length.get("kendall")),
                "tau-b above that of length": cell(length.get("versus")),
            }
        )
    return table(rows)


def _looked_for(numbers: Numbers) -> str:
    """The faults with an interval, found or not, and what could have been told."""
    return table(list(looked_for.rows(numbers["aspects"])))


def _thirds(numbers: Numbers) -> str:
    """Kendall's tau-b in each third of the outputs, by rating and by length."""
    rows = []
    for aspect, measured in numbers["aspects"].items():
        for divider in ("rating", "length"):
            for third in listed(measured["strata"][divider]):
                rows.append(
                    {
                        "aspect": aspect,
                        "third by": divider,
                        "from": f"{third['from']:.4g} to {third['to']:.4g}",
                        "tau-b": cell(third["kendall"]),
                    }
                )
    return table(rows)


def _leniency(numbers: Numbers) -> str:
    """How far the judge scores above people, a row an aspect and family of systems."""
    rows = []
    for aspect, measured in numbers["aspects"].items():
        for row in measured["strata"]["system"]:
            rows.append(
                {
                    "aspect": aspect,
                    "systems": row["system"],
                    "judge minus people": cell(row),
                }
            )
    return table(rows)


def _variance(numbers: Numbers) -> str:
    """What of the variance lies between systems and between inputs, of the judge's
    scores and of the ratings; of repeated answers, what asking again changes.
    """
    rows = []
    for aspect, measured in numbers["aspects"].items():
        variance = measured.get("variance", {})
        for whose in ("judge", "people", "repeats"):
            if whose not in variance:
                continue
            shares = variance[whose]["shares"]
            by_asking_again = DASH
            if whose == "repeats":
                by_asking_again = share(_of_repeats(shares))
            rows.append(
                {
                    "aspect": aspect,
                    "scores of": whose,
                    "between systems": share(shares["systems"]),
                    "between inputs": share(shares["inputs"]),
                    "by asking again": by_asking_again,
                }
            )
    return table(rows)


def _of_repeats(shares: Numbers) -> float:
    """The share of the variance that repeats have, with what is left over."""
    total = 0
    for name, value in shares.items():
        if value is not None and "repeat" in name:
            total += value
    if shares["residual"] is not None:
        total += shares["residual"]
    return total


def _confusion(confusion: Numbers) -> str:
    """How many outputs have each score of the judge (row) and of people (column)."""
    heads = [""]
    for score in confusion["human"]:
        heads.append(f"people {score:g}")
    lines = []
    for score, counts in zip(confusion["judge"], confusion["counts"], strict=True):
        lines.append([f"judge {score:g}", *counts])
    return files.markdown_table(heads, lines)


def _worst(numbers: Numbers) -> str:
    """The outputs, each a link to the explorer's page."""
    lines = []
    for row in numbers.get("worst", ()):
        line = [
            _link(row, numbers.get("explorer")),
            esc(row["system_id"]),
            esc(row["aspect"]),
            number(row["human"]),
            number(row["value"]),
            number(row["gap"]),
        ]
        lines.append(line)
    if not lines:
        return ""
    heads = ["input", "system", "aspect", "people", "judge", "ranks apart"]
    return files.markdown_table(heads, lines)


def _link(row: Numbers, explorer: str | None) -> str:
    """The name of an output's input, a link where there is an explorer."""
    name = esc(row["input_id"])
    if not explorer:
        return name
    query = (
        f"text={quote(row['input_id'])}&system={quote(row['system_id'])}"
        f"&aspect={quote(row['aspect'])}"
    )
    return f"[{name}]({explorer}#{query})"


# -- the same twice, probes, raters


def repeats(numbers: Numbers) -> Iterator[str]:
    """Does the judge say the same twice?

    Yields: for a judge that saw pairs in both orders, how often it keeps its choice;
        for graded outputs that were asked for several times, how far the answers agree.
    """
    if "swap" in numbers:
        yield table(
            [
                {
                    "share of pairs": "same choice in both orders",
                    "how many": cell(numbers["swap"]),
                },
                {
                    "share of pairs": "choices of the option shown first",
                    "how many": cell(numbers["first"]),
                },
            ]
        )
    rows = []
    for aspect, measured in numbers.get("aspects", {}).items():
        agreement = measured.get("repeats", {})
        rows.append(
            {
                "aspect": aspect,
                "times asked": text(agreement.get("draws")),
                "all answers equal": share(agreement.get("same")),
                "variance between outputs, ICC(1,1)": cell(agreement.get("icc")),
            }
        )
    if any(row["times asked"] != DASH for row in rows):
        yield table(rows)


def probes(numbers: Numbers) -> Iterator[str]:
    """What did changes of the outputs do to the score?

    Yields: nothing where no probe was asked about; else what is measured, and a table,
        a row a probe.
    """
    rows = []
    for probe in numbers.get("probes", {}).values():
        effect = probe["effect"]
        rows.append(
            {
                "what was done": probe["words"],
                "what the score should do": probe["expected"],
                "change": cell(effect),
                "beyond that of filler": cell(probe.get("beyond_filler")),
                "inputs": effect.get("n", 0),
            }
        )
    if rows:
        yield "Mean change of the score, as a share of the scale."
        yield table(rows)


def replacing(numbers: Numbers) -> Iterator[str]:
    """May the judge replace a rater, and what are its scores worth in labels?

    Yields: nothing where there are no ratings of single raters; else a table, a row an
        aspect, and how the worth in labels is to be read.
    """
    rows = []
    explanation = ""
    for aspect, measured in numbers.get("aspects", {}).items():
        raters = measured["raters"]
        worth = measured["worth"]
        explanation = explanation or worth.get("words", "")
        rows.append(
            {
                "aspect": aspect,
                "raters": text(raters.get("kind")),
                "how many": text(raters.get("number")),
                "one of them with the others, tau-b": cell(at(raters, "dataset.rater")),
                "the judge with the same": cell(at(raters, "dataset.judge")),
                "raters that the judge beats (alt-test)": alt_test(
                    at(raters, "alt_test.judge")
                ),
                "raters that a constant beats": alt_test(
                    at(raters, "alt_test.constant")
                ),
                "a label counts for": number(worth.get("labels")),
            }
        )
    if any(row["how many"] != DASH for row in rows):
        yield table(rows)
        yield explanation
