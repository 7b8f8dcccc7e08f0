"""A card as Markdown, and as one HTML file that fetches nothing and runs nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from judgecard import chapters, glance, glance_picture, verdict, web
from judgecard.web import folded
from judgecard.written import Numbers, bullets, esc, table
from nlgeval_lib import tables

GLANCE = "At a glance"
NEXT = "What to do next"
PICTURE = "at_a_glance.svg"
BESIDE = "Beside others"
IDENTITY = "Who was judged"
_NAME = re.compile(r"\{.*?\}")  # in a rule's words
_WHY = (
    "Each part of the sentence follows from a rule on the numbers of this card and "
    "their 95 % intervals. What fails by a rule, or cannot be told, is not praised. "
    "`low` and `high` are for other systems and inputs like these, `low_these` for "
    "these systems alone, as in `nlgeval meta` (a jackknife over inputs; of ranks of "
    "systems, which one input hardly moves, a widened bootstrap), `low_families` for "
    "other families of systems. Another judge is called better where the paired test "
    "says so after correction for all pairs."
)


def texts(card: Numbers, pictures: Mapping[str, bytes]) -> dict[str, str]:
    """The files of a card that are made of its numbers alone, name -> text.

    card: what `card.json` holds. pictures: figure -> its PNG.
    """
    return {
        "card.json": json.dumps(card, ensure_ascii=False, indent=1) + "\n",
        "card.md": markdown(card, pictures),
        "card.html": html(card, pictures),
        PICTURE: glance_picture.draw(card),
    }


def markdown(card: Numbers, pictures: Iterable[str] = ()) -> str:
    """The whole card as Markdown."""
    title = esc(card["title"])
    sentence = esc(card["verdict"]["sentence"])
    paragraphs = [f"# {title}", f"**{sentence}**"]
    for heading, text in sections(card):
        paragraphs.append(f"## {heading}")
        paragraphs.append(text)
        if heading == GLANCE and glance_picture.draw(card):
            paragraphs.append(f"![{GLANCE}]({PICTURE})")
        if heading == BESIDE:
            for name in pictures:
                paragraphs.append(f"![{name}]({name}.svg)")
    return "\n\n".join(paragraphs) + "\n"


def html(card: Numbers, pictures: Mapping[str, bytes]) -> str:
    """The whole card as one HTML page, its figures (name -> PNG) inside."""
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
        if heading == GLANCE:
            # the picture stands above its words, beside the verdict
            body.append(glance_picture.draw(card))
        body.append(section)
        if heading == BESIDE:
            for name, png in pictures.items():
                body.append(web.picture(png, name, 700))
    return web.page(title, web.scrolling("\n".join(body)), scripts=())


def sections(card: Numbers) -> list[tuple[str, str]]:
    """Heading and Markdown of each part that there is, in the order of the page."""
    texts = {
        GLANCE: bullets([*glance.facts(card), glance.price(card)]),
        NEXT: bullets(glance.steps(card)),
        "Why this verdict": "\n\n".join(_why(card)),
        IDENTITY: _identity(card),
        BESIDE: _of_sets(card, chapters.other_judges),
        "Where it fails": _of_sets(card, chapters.failing),
        "Does it say the same twice": _of_sets(card, chapters.repeats),
        "Probes": _of_sets(card, chapters.probes),
        "May it replace a rater": _of_sets(card, chapters.replacing),
        "What this card cannot tell": bullets(card["cannot_tell"]),
    }
    return [(heading, text) for heading, text in texts.items() if text]


def _of_sets(card: Numbers, chapter: Callable[[Numbers], Iterator[str]]) -> str:
    """A chapter of every set that has it, under the set's name where there are several."""
    texts = []
    for name, numbers in card["sets"].items():
        text = "\n\n".join(filter(None, chapter(numbers)))
        if not text:
            continue
        if len(card["sets"]) > 1:
            text = f"### {esc(name)}\n\n{text}"
        texts.append(text)
    return "\n\n".join(texts)


def _why(card: Numbers) -> Iterator[str]:
    """How a verdict comes about: the rules that hold, and all rules."""
    yield _WHY
    holding = []
    for finding in card["verdict"]["findings"]:
        of = f"{finding['set']} {finding['aspect']}".strip()
        words = {"in words": finding["words"], "because": finding["when"]}
        holding.append({"of": of, "kind": finding["kind"], **words})
    yield folded("The rules that hold", table(holding))
    rules = []
    for rule in verdict.rules():
        words = {"words": _NAME.sub("…", rule["words"]), "when": rule["when"]}
        rules.append({"of": rule["of"], "kind": rule["kind"], **words})
    yield folded("All rules", table(rules))


def _identity(card: Numbers) -> str:
    """A table of the judge, the date, and what was scored of each set."""
    facts: dict[str, str] = {}
    for name, value in card["judge"].items():
        if value:
            facts[name.replace("_", " ")] = _plain(value)
    facts["date"] = card["made"]["date"]
    for name, numbers in card["sets"].items():
        coverage = numbers["coverage"]
        counts = []
        for status, number in coverage["statuses"].items():
            counts.append(f"{number:,} {status}")
        facts[f"{name}: scored"] = f"{coverage['value']:.1%} ({', '.join(counts)})"
        if draws := coverage.get("draws"):
            facts[f"{name}: draws read"] = f"{draws['value']:.1%} of {draws['n']:,}"
        facts[f"{name}: sample"] = numbers["sample"]
        if numbers.get("cost"):
            facts[f"{name}: 1,000 judgments take"] = glance.cost(numbers["cost"])
    return table([{"what": fact, "which": words} for fact, words in facts.items()])


def _plain(value: Any) -> str:
    """A fact as words: a list or mapping becomes its parts, joined by commas."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {inner}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
