"""A card as pages: Markdown, and one HTML file that fetches nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from nlgeval_lib import files
from nlgeval_lib.card import verdict
from nlgeval_lib.report import tables, web
from nlgeval_lib.report.answers import folded

esc = tables.for_markdown
Numbers = Mapping[str, Any]
BESIDE = "Beside others"
IDENTITY = "Who was judged"
_DASH = "–"
_LEVELS = {"dataset": "all outputs", "input": "within an input", "system": "systems"}
_WHY = (
    "Each part of the sentence follows from a rule on the numbers of this card and "
    "their 95 % intervals. What fails by a rule, or cannot be told, is not praised. "
    "`low` and `high` are for other systems and inputs like these, `low_these` for "
    "these systems alone, `low_families` for other families of systems. Another "
    "judge is called better where the paired test says so after correction for all "
    "pairs."
)


def markdown(card: Numbers, pictures: Iterable[str] = ()) -> str:
    """The whole card as Markdown; pictures: names of figures beside it."""
    parts = [f"# {esc(card['title'])}", f"**{esc(card['verdict']['sentence'])}**"]
    for title, text in sections(card):
        parts += [f"## {title}", text]
        if title == BESIDE:
            parts += [f"![{name}]({name}.svg)" for name in pictures]
    return "\n\n".join(parts) + "\n"


def html(card: Numbers, pictures: Mapping[str, bytes]) -> str:
    """The whole card as one HTML page; pictures: name -> PNG."""
    title = card["title"]
    sentence = tables.esc(card["verdict"]["sentence"])
    body = [
        f"<h1>{tables.esc(title)}</h1>",
        f'<div class="note"><strong>{sentence}</strong></div>',
    ]
    for heading, text in sections(card):
        section = web.text_body(f"## {heading}\n\n{text}")
        if heading == IDENTITY:
            section = f'<div class="about">{section}</div>'
        body.append(section)
        if heading == BESIDE:
            body += [web.picture(png, name, 700) for name, png in pictures.items()]
    opening = '<div class="wide" tabindex="0" role="region" aria-label="Table"><table>'
    content = "\n".join(body).replace("<table>", opening)
    return web.page(title, content.replace("</table>", "</table></div>"), scripts=())


def sections(card: Numbers) -> list[tuple[str, str]]:
    """Heading and Markdown of each part that there is, in the order of the page."""
    parts = [
        ("Why this verdict", "\n\n".join(_why(card))),
        (IDENTITY, _identity(card)),
        (BESIDE, _each(card, _beside)),
        ("Where it fails", _each(card, _failing)),
        ("Does it say the same twice", _each(card, _repeats)),
        ("Probes", _each(card, _probes)),
        ("May it replace a rater", _each(card, _replacing)),
        ("What this card cannot tell", _bullets(card["cannot_tell"])),
    ]
    return [(title, text) for title, text in parts if text]


def _each(card: Numbers, part: Callable[[Numbers], Iterator[str]]) -> str:
    """A part of every set that has it, under the set's name where there are several."""
    texts = []
    for name, numbers in card["sets"].items():
        text = "\n\n".join(filter(None, part(numbers)))
        if text and len(card["sets"]) > 1:
            text = f"### {esc(name)}\n\n{text}"
        texts.append(text)
    return "\n\n".join(filter(None, texts))


def _why(card: Numbers) -> Iterator[str]:
    yield _WHY
    rows = []
    for finding in card["verdict"]["findings"]:
        place = " ".join(filter(None, [finding["set"], finding["aspect"]]))
        rows.append([place, finding["kind"], finding["words"], finding["when"]])
    holding = _table(["of", "kind", "in words", "because"], rows)
    yield folded("The rules that hold", holding)
    keys = ["of", "kind", "words", "when"]
    rows = [[rule[key] for key in keys] for rule in verdict.rules()]
    yield folded("All rules", _table(keys, rows))


def _identity(card: Numbers) -> str:
    rows = []
    for name, value in card["judge"].items():
        if value:
            rows.append([name.replace("_", " "), _plain(value)])
    rows.append(["date", card["made"]["date"]])
    for name, numbers in card["sets"].items():
        coverage = numbers["coverage"]
        counts = ", ".join(f"{n:,} {word}" for word, n in coverage["statuses"].items())
        rows.append([f"{name}: scored", f"{coverage['value']:.1%} ({counts})"])
        rows.append([f"{name}: sample", numbers["sample"]])
        if numbers.get("cost"):
            rows.append([f"{name}: 1,000 judgments take", _cost(numbers["cost"])])
    return _table(["what", "which"], rows)


def _plain(value: Any) -> str:
    """A list or mapping as words."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {inner}" for name, inner in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _cost(cost: Numbers) -> str:
    texts = [
        f"{cost['prompt_tokens']:,.0f} prompt tokens",
        f"{cost['new_tokens']:,.0f} new tokens",
    ]
    if cost.get("seconds") is not None:
        texts.append(f"{cost['seconds']:,.1f} s as they were asked here")
    if cost.get("money") is not None:
        texts.append(f"{cost['money']:,.2f} at the price given")
    return ", ".join(texts)


# -- the parts of a set


def _beside(numbers: Numbers) -> Iterator[str]:
    if numbers["kind"] == "pairs":
        rows = [
            [row["name"], _cell(row), _cell(row.get("judge_minus_it", {}))]
            for row in numbers["beside"]
        ]
        yield _table(["judge of pairs", "accuracy", "this judge minus it"], rows)
        return
    rows = []
    for aspect, part in numbers["aspects"].items():
        for level, words in _LEVELS.items():
            if level in part:
                cells = part[level]
                ends = [_ends(cells["kendall"], of) for of in ("these", "families")]
                rows.append([aspect, words, *map(_cell, cells.values()), *ends])
    heads = ["aspect", "level", "Pearson r", "Spearman rho", "Kendall tau-b"]
    heads += ["tau-b, these systems only", "tau-b, other families of systems"]
    yield _table(heads, rows)
    rows = []
    for aspect, part in numbers["aspects"].items():
        for row in _listed(part["beside"]):
            minus = _number(row.get("judge_minus_it"))
            cells = [_cell(row["kendall"]), minus, _p(row.get("p"))]
            rows.append([aspect, _ranks(row), row["name"], *cells])
    heads = ["aspect", "possible ranks", "judge", "tau-b over all outputs"]
    among = _table([*heads, "this judge minus it", "p, corrected"], rows)
    yield folded("Among recorded judges and baselines", among)


def _failing(numbers: Numbers) -> Iterator[str]:
    if numbers["kind"] == "pairs":
        rows = [[row["subset"], _cell(row)] for row in numbers["subsets"]]
        yield _table(["pairs of", "accuracy"], rows)
        return
    columns: dict[str, Any] = {
        "mean score": ("use.mean", _number),
        "most frequent score": ("use.mode_share", _share),
        "people's most frequent": ("use.human_mode_share", _share),
        "tied pairs": ("use.ties", _share),
        "leniency": ("closeness.leniency", _cell),
        "nearer than a constant by": ("closeness.nearer_than_constant", _cell),
        "tau-b with length": ("length.kendall", _cell),
        "tau-b above that of length": ("length.versus", _cell),
    }
    yield _by_aspect(numbers, columns)
    rows = []
    by_system = []
    for aspect, part in numbers["aspects"].items():
        for side in ("rating", "length"):
            for third in _listed(part["strata"][side]):
                span = f"{third['from']:.4g} to {third['to']:.4g}"
                rows.append([aspect, side, span, _cell(third["kendall"])])
        for row in part["strata"]["system"]:
            by_system.append([aspect, row["system"], _cell(row)])
    heads = ["aspect", "third by", "from", "tau-b"]
    yield folded("Within thirds by rating and by length", _table(heads, rows))
    heads = ["aspect", "systems", "judge minus people"]
    yield folded("Leniency by system family", _table(heads, by_system))
    yield folded("Where the variance of the scores is", _variance(numbers))
    for aspect, part in numbers["aspects"].items():
        confusion = part["closeness"].get("confusion")
        if confusion:
            yield folded(f"Judge by people, {esc(aspect)}", _confusion(confusion))
    yield folded("The worst disagreements", _worst(numbers))


def _variance(numbers: Numbers) -> str:
    """What of the variance lies between systems and between inputs, of the judge's
    scores and of the ratings; of repeated answers, what asking again changes.
    """
    rows = []
    for aspect, part in numbers["aspects"].items():
        variance = part.get("variance", {})
        for whose in ("judge", "people", "repeats"):
            if whose not in variance:
                continue
            shares = variance[whose]["shares"]
            again = [share for name, share in shares.items() if "repeat" in name]
            changed = _DASH
            if whose == "repeats":
                again.append(shares["residual"])
                changed = _share(sum(part for part in again if part is not None))
            ends = [_share(shares[name]) for name in ("systems", "inputs")]
            rows.append([aspect, whose, *ends, changed])
    heads = ["aspect", "scores of", "between systems", "between inputs"]
    return _table([*heads, "by asking again"], rows)


def _confusion(confusion: Numbers) -> str:
    rows = []
    for score, counts in zip(confusion["judge"], confusion["counts"], strict=True):
        rows.append([f"judge {score:g}", *counts])
    heads = [f"people {score:g}" for score in confusion["human"]]
    return _table(["", *heads], rows)


def _worst(numbers: Numbers) -> str:
    """The outputs, each a link to the explorer's page."""
    lines = []
    for row in numbers["worst"]:
        names = [row["input_id"], row["system_id"], row["aspect"]]
        text = esc(names[0])
        if numbers.get("explorer"):
            query = f"text={quote(names[0])}&system={quote(names[1])}"
            query += f"&aspect={quote(names[2])}"
            text = f"[{text}]({numbers['explorer']}#{query})"
        values = [_number(row[name]) for name in ("human", "value", "gap")]
        lines.append([text, *map(esc, names[1:]), *values])
    heads = ["input", "system", "aspect", "people", "judge", "ranks apart"]
    return files.markdown_table(heads, lines) if lines else ""


def _repeats(numbers: Numbers) -> Iterator[str]:
    if "swap" in numbers:
        same = ["same choice in both orders", _cell(numbers["swap"])]
        first = ["choices of the option shown first", _cell(numbers["first"])]
        yield _table(["share of pairs", "how many"], [same, first])
    columns: dict[str, Any] = {
        "times asked": ("repeats.draws", str),
        "all answers equal": ("repeats.same", _share),
        "variance between outputs, ICC(1,1)": ("repeats.icc", _cell),
    }
    if any("draws" in part.get("repeats", {}) for part in _aspects(numbers)):
        yield _by_aspect(numbers, columns)


def _probes(numbers: Numbers) -> Iterator[str]:
    rows = []
    for probe in numbers.get("probes", {}).values():
        effect = probe["effect"]
        beyond = _cell(probe.get("beyond_filler", {}))
        cells = [_cell(effect), beyond, effect.get("n", 0)]
        rows.append([probe["words"], probe["expected"], *cells])
    if rows:
        yield "Mean change of the score, as a share of the scale."
        heads = ["what was done", "what the score should do", "change"]
        yield _table([*heads, "beyond that of filler", "inputs"], rows)


def _replacing(numbers: Numbers) -> Iterator[str]:
    columns: dict[str, Any] = {
        "raters": ("raters.kind", str),
        "how many": ("raters.number", str),
        "one of them with the others, tau-b": ("raters.dataset.rater", _cell),
        "the judge with the same": ("raters.dataset.judge", _cell),
        "raters that the judge beats (alt-test)": ("raters.alt_test.judge", _alt),
        "raters that a constant beats": ("raters.alt_test.constant", _alt),
        "a label counts for": ("worth.labels", _number),
    }
    if any("number" in part["raters"] for part in _aspects(numbers)):
        yield _by_aspect(numbers, columns)
        for part in _aspects(numbers):
            if part["worth"].get("words"):
                yield part["worth"]["words"]
                return


def _alt(test: Any) -> str:
    if not isinstance(test, Mapping) or test.get("winning_rate") is None:
        return _DASH
    return f"{test['winning_rate']:.0%}, {'passes' if test['passed'] else 'fails'}"


# -- cells


def _aspects(numbers: Numbers) -> list[Numbers]:
    return list(numbers.get("aspects", {}).values())


def _listed(rows: Any) -> list[Any]:
    """Rows, or none where a reason stands in their place."""
    return rows if isinstance(rows, list) else []


def _by_aspect(
    numbers: Numbers, columns: Mapping[str, tuple[str, Callable[[Any], str]]]
) -> str:
    """A table with a row an aspect; columns: heading -> path and how it is written."""
    rows = []
    for aspect, part in numbers["aspects"].items():
        row = [aspect]
        for path, written in columns.values():
            place: Any = part
            for name in path.split("."):
                place = place.get(name) if isinstance(place, Mapping) else None
            row.append(_DASH if place is None else written(place))
        rows.append(row)
    return _table(["aspect", *columns], rows)


def _table(heads: list[Any], rows: list[list[Any]]) -> str:
    """A table of texts that are escaped here; nothing without rows."""
    if not rows:
        return ""
    lines = [[esc(str(cell)) for cell in row] for row in rows]
    return files.markdown_table(map(esc, heads), lines)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {esc(line)}" for line in lines)


def _number(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, int | float) else _DASH


def _share(value: Any) -> str:
    return _DASH if value is None else f"{value:.0%}"


def _p(value: Any) -> str:
    if value is None:
        return _DASH
    return "< .001" if value < 0.001 else f"{value:.3f}"


def _cell(cell: Any) -> str:
    """A number with its interval."""
    if not isinstance(cell, Mapping) or cell.get("value") is None:
        return _DASH
    if cell.get("low") is None:
        return _number(cell["value"])
    return f"{cell['value']:.3f} [{cell['low']:.3f}, {cell['high']:.3f}]"


def _ends(cell: Numbers, of: str) -> str:
    """The interval of a question: `these` systems, other `families`."""
    if cell.get(f"low_{of}") is None:
        return _DASH
    return f"[{cell[f'low_{of}']:.3f}, {cell[f'high_{of}']:.3f}]"


def _ranks(row: Numbers) -> str:
    """The ranks that a judge can have."""
    best = row["rank"]
    worst = row.get("rank_worst", best)
    return str(best) if best == worst else f"{best} to {worst}"
