"""A card as pages: Markdown, one HTML file without a request, figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from nlgeval_lib import figures, files
from nlgeval_lib.card import verdict
from nlgeval_lib.report import tables, web
from nlgeval_lib.report.answers import folded

esc = tables.for_markdown
_LEVELS = {
    "dataset": "all outputs",
    "input": "within an input",
    "system": "systems",
}
_WORST_LINK = "judgments.html"
_DASH = "–"


def markdown(card: Mapping[str, Any], pictures: Iterable[str] = ()) -> str:
    """The whole card as Markdown; pictures: names of figures beside it."""
    parts = [f"# {esc(card['title'])}", f"**{esc(card['verdict']['sentence'])}**"]
    for title, text in sections(card):
        parts += [f"## {title}", text]
        if title == _BESIDE:
            parts += [f"![{name}]({name}.svg)" for name in pictures]
    return "\n\n".join(parts) + "\n"


def html(card: Mapping[str, Any], pictures: Mapping[str, bytes]) -> str:
    """The whole card as one HTML page; pictures: name -> PNG."""
    title = card["title"]
    body = [
        f"<h1>{tables.esc(title)}</h1>",
        f'<div class="note"><strong>{tables.esc(card["verdict"]["sentence"])}</strong>'
        "</div>",
    ]
    for heading, text in sections(card):
        body.append(web.text_body(f"## {heading}\n\n{text}"))
        if heading == _BESIDE:
            body += [web.picture(png, name) for name, png in pictures.items()]
    content = "\n".join(body)
    opening = '<div class="wide" tabindex="0" role="region" aria-label="Table"><table>'
    content = content.replace("<table>", opening)
    return web.page(title, content.replace("</table>", "</table></div>"), scripts=())


_BESIDE = "Beside others"


def sections(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Heading and Markdown of each part, in the order of the page."""
    parts = [
        ("Why this verdict", _why(card)),
        ("Who was judged", _identity(card)),
        (_BESIDE, _each(card, _beside)),
        ("Where it fails", _each(card, _failing)),
        ("Does it say the same twice", _each(card, _repeats)),
        ("Probes", _each(card, _probes)),
        ("May it replace a rater", _each(card, _raters)),
        ("What this card cannot tell", _bullets(card["cannot_tell"])),
    ]
    return [(title, text) for title, text in parts if text]


def _each(card: Mapping[str, Any], part: Any) -> str:
    """A part of every set that has it, under the set's name where there are several."""
    texts = []
    for name, numbers in card["sets"].items():
        text = part(numbers)
        if text:
            several = len(card["sets"]) > 1
            texts.append(f"### {esc(name)}\n\n{text}" if several else text)
    return "\n\n".join(texts)


def _why(card: Mapping[str, Any]) -> str:
    rows = []
    for finding in card["verdict"]["findings"]:
        where = " ".join(filter(None, [finding["set"], finding["aspect"]]))
        rows.append([where, finding["kind"], finding["words"], finding["when"]])
    applied = _table(["of", "it", "in words", "because"], rows)
    listed = []
    for rule in verdict.rules():
        listed.append([rule["of"], rule["kind"], rule["words"], rule["when"]])
    every = _table(["of", "it", "in words", "when"], listed)
    text = (
        "Each sentence above follows from a rule on the numbers of this card and their "
        "95 % intervals. What fails by a rule is not praised. `low` and `high` hold for "
        "other systems and inputs like these; `low_these` for these systems alone. "
        "Another judge is called better where the paired test says so after correction."
    )
    return "\n\n".join(
        [text, folded("The rules that hold", applied), folded("All rules", every)]
    )


def _identity(card: Mapping[str, Any]) -> str:
    lines = [[name, value] for name, value in card["judge"].items() if value]
    lines.append(["date", card["made"]["date"]])
    for name, numbers in card["sets"].items():
        coverage = numbers["coverage"]
        statuses = ", ".join(f"{n:,} {s}" for s, n in coverage["statuses"].items())
        lines.append([f"coverage on {name}", f"{coverage['value']:.1%} ({statuses})"])
        lines.append([f"rows of {name}", numbers["sample"]])
        cost = numbers.get("cost", {})
        if cost:
            lines.append([f"cost on {name}, per 1,000", _cost(cost)])
    return _table(["", ""], lines)


def _cost(cost: Mapping[str, Any]) -> str:
    texts = [
        f"{cost['prompt_tokens']:,.0f} prompt and {cost['new_tokens']:,.0f} new tokens"
    ]
    if cost.get("seconds") is not None:
        texts.append(f"{cost['seconds']:,.1f} s")
    if cost.get("money") is not None:
        texts.append(f"{cost['money']:,.2f} at the price given")
    return ", ".join(texts)


def _beside(numbers: Mapping[str, Any]) -> str:
    if numbers["kind"] == "pairs":
        rows = [
            [name, _cell(numbers[name])]
            for name in ("accuracy", "longer", "first")
            if name in numbers
        ]
        return _table(["share of pairs", "with 95 % interval"], rows)
    rows = []
    for aspect, part in numbers["aspects"].items():
        for level, words in _LEVELS.items():
            if level in part:
                cells = [_cell(part[level][coef]) for coef in part[level]]
                these = _these(part[level]["kendall"])
                rows.append([aspect, words, *cells, these])
    heads = [
        "aspect",
        "level",
        "Pearson r",
        "Spearman rho",
        "Kendall tau-b",
        "tau-b, these systems only",
    ]
    texts = [_table(heads, rows)]
    rows = []
    for aspect, part in numbers["aspects"].items():
        if not isinstance(part["beside"], list):
            continue
        for row in part["beside"]:
            rows.append(
                [
                    aspect,
                    row["rank"],
                    row["name"],
                    _cell(row["kendall"]),
                    _number(row.get("judge_minus_it")),
                    _p(row.get("p")),
                ]
            )
    if rows:
        heads = [
            "aspect",
            "rank set",
            "judge",
            "tau-b over all outputs",
            "this judge minus it",
            "p, corrected",
        ]
        texts.append(folded("Among recorded judges and baselines", _table(heads, rows)))
    return "\n\n".join(texts)


def _failing(numbers: Mapping[str, Any]) -> str:
    if numbers["kind"] == "pairs":
        return ""
    rows = []
    for aspect, part in numbers["aspects"].items():
        use = part["use"]
        near = part["closeness"]
        length = part["length"]
        rows.append(
            [
                aspect,
                _number(use.get("mean")),
                f"{_share(use.get('mode_share'))} / {_share(use.get('human_mode_share'))}",
                _share(use.get("ties")),
                _cell(near.get("leniency", near)),
                _cell(near.get("nearer_than_constant", near)),
                _cell(length.get("kendall", length)),
                _cell(length.get("versus", length)),
            ]
        )
    heads = [
        "aspect",
        "mean score",
        "most frequent score, judge / people",
        "tied pairs",
        "leniency",
        "nearer than a constant by",
        "tau-b with length",
        "tau-b above that of length",
    ]
    texts = [_table(heads, rows)]
    rows = []
    for aspect, part in numbers["aspects"].items():
        for side in ("rating", "length"):
            thirds = part["strata"][side]
            for third in thirds if isinstance(thirds, list) else ():
                span = f"{third['from']:.4g} to {third['to']:.4g}"
                rows.append([aspect, side, span, _cell(third["kendall"])])
    if rows:
        texts.append(
            folded(
                "Within thirds by rating and by length",
                _table(["aspect", "third by", "from", "tau-b"], rows),
            )
        )
    rows = []
    for aspect, part in numbers["aspects"].items():
        for system in part["strata"]["system"]:
            rows.append([aspect, system["system"], _cell(system)])
    if rows:
        texts.append(
            folded(
                "Leniency by system",
                _table(["aspect", "system", "judge minus people"], rows),
            )
        )
    texts += _confusions(numbers)
    rows = []
    for row in numbers["worst"]:
        rows.append(
            [
                row["input_id"],
                row["system_id"],
                row["aspect"],
                _number(row["human"]),
                _number(row["value"]),
                _number(row["gap"]),
            ]
        )
    worst = _table(
        ["input", "system", "aspect", "people", "judge", "ranks apart"], rows
    )
    if numbers.get("explorer"):
        worst = f"[Open them with prompt and answer]({numbers['explorer']})\n\n{worst}"
    texts.append(folded(f"The {len(rows)} worst disagreements", worst))
    return "\n\n".join(texts)


def _confusions(numbers: Mapping[str, Any]) -> list[str]:
    texts = []
    for aspect, part in numbers["aspects"].items():
        confusion = part["closeness"].get("confusion")
        if not confusion:
            continue
        rows = []
        for score, counts in zip(confusion["judge"], confusion["counts"], strict=True):
            rows.append([f"judge {score:g}", *counts])
        heads = ["", *(f"people {score:g}" for score in confusion["human"])]
        texts.append(folded(f"Judge by people, {esc(aspect)}", _table(heads, rows)))
    return texts


def _repeats(numbers: Mapping[str, Any]) -> str:
    rows = []
    for aspect, part in numbers.get("aspects", {}).items():
        repeats = part.get("repeats", {})
        if "draws" in repeats:
            rows.append(
                [
                    aspect,
                    repeats["draws"],
                    _share(repeats["same"]),
                    _cell(repeats["icc"]),
                ]
            )
    texts = []
    if rows:
        texts.append(
            _table(
                [
                    "aspect",
                    "times asked",
                    "all draws equal",
                    "share of variance between outputs, ICC(1,1)",
                ],
                rows,
            )
        )
    if "swap" in numbers:
        texts.append(f"Same choice in both orders: {_cell(numbers['swap'])}")
    return "\n\n".join(texts)


def _probes(numbers: Mapping[str, Any]) -> str:
    rows = []
    for probe in numbers.get("probes", {}).values():
        rows.append(
            [
                probe["words"],
                probe["expected"],
                _cell(probe["effect"]),
                probe["effect"].get("n", _DASH),
            ]
        )
    if not rows:
        return ""
    text = "Mean change of the score, as a share of the scale.\n\n"
    return text + _table(
        ["what was done", "what it should do", "change", "inputs"], rows
    )


def _raters(numbers: Mapping[str, Any]) -> str:
    rows = []
    for aspect, part in numbers.get("aspects", {}).items():
        raters = part["raters"]
        if "number" not in raters:
            continue
        overall = raters["dataset"]
        test = raters["alt_test"]
        rows.append(
            [
                aspect,
                f"{raters['number']} of kind {raters['kind']}",
                _cell(overall["rater"]),
                _cell(overall["judge"]),
                _alt(test.get("judge", test)),
                _alt(test.get("constant", test)),
            ]
        )
    if not rows:
        return ""
    heads = [
        "aspect",
        "raters",
        "one rater with the others, tau-b",
        "the judge with the same",
        "alt-test: raters it beats",
        "the same of a constant score",
    ]
    return _table(heads, rows)


def _alt(test: Mapping[str, Any]) -> str:
    if test.get("winning_rate") is None:
        return _DASH
    outcome = "passes" if test["passed"] else "fails"
    return f"{test['winning_rate']:.0%}, {outcome}"


# -- cells


def _table(heads: list[Any], rows: list[list[Any]]) -> str:
    lines = [[esc(str(cell)) for cell in row] for row in rows]
    return files.markdown_table(map(esc, heads), lines)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {esc(line)}" for line in lines)


def _number(value: Any) -> str:
    return _DASH if value is None else f"{value:.3f}"


def _share(value: Any) -> str:
    return _DASH if value is None else f"{value:.0%}"


def _p(value: Any) -> str:
    if value is None:
        return _DASH
    return "< .001" if value < 0.001 else f"{value:.3f}"


def _cell(cell: Mapping[str, Any]) -> str:
    """A number with its interval."""
    if cell.get("value") is None:
        return _DASH
    if cell.get("low") is None:
        return _number(cell["value"])
    return f"{cell['value']:.3f} [{cell['low']:.3f}, {cell['high']:.3f}]"


def _these(cell: Mapping[str, Any]) -> str:
    if cell.get("low_these") is None:
        return _DASH
    return f"[{cell['low_these']:.3f}, {cell['high_these']:.3f}]"


# -- figures


def drawn(card: Mapping[str, Any]) -> dict[str, Any]:
    """Name -> figure: the judge among others, and what people say where it gives each
    score.
    """
    drawings = {}
    for name, numbers in card["sets"].items():
        rows = []
        for aspect, part in numbers.get("aspects", {}).items():
            for row in part["beside"] if isinstance(part["beside"], list) else ():
                kendall = row["kendall"]
                rows.append(
                    {"judge": row["name"], "aspect": aspect}
                    | {end: kendall.get(end) for end in ("value", "low", "high")}
                )
        if rows:
            frame = pd.DataFrame(rows).astype(
                dict.fromkeys(("value", "low", "high"), float)
            )
            drawings[f"beside_{name}"] = figures.bars_with_intervals(
                frame,
                label="judge",
                group="aspect",
                title=f"{numbers['title']}",
                xlabel="Kendall's tau-b with the ratings, all outputs",
            )
        curves = {
            aspect: part["closeness"].get("calibration")
            for aspect, part in numbers.get("aspects", {}).items()
        }
        curves = {aspect: curve for aspect, curve in curves.items() if curve}
        if curves:
            drawings[f"calibration_{name}"] = _calibration(curves, numbers["title"])
    return drawings


def _calibration(curves: Mapping[str, Any], title: str) -> Any:
    fig, ax = figures.new(figures.COLUMN * 1.4, 2.8)
    ends = set()
    for number, (aspect, curve) in enumerate(curves.items()):
        scores = [point["score"] for point in curve]
        ratings = [point["human"]["value"] for point in curve]
        ax.plot(scores, ratings, marker="o", color=figures.color(number), label=aspect)
        ends.update(scores)
    ax.plot([min(ends), max(ends)], [min(ends), max(ends)], ls=":", color="#555555")
    ax.set(xlabel="score of the judge", ylabel="mean rating", title=title)
    ax.legend()
    return fig
