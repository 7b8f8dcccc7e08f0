"""What a card says to a person who decides: its first screen, its badge, the page to
send. Nothing of data is a mark in any of them.
"""

from __future__ import annotations

import copy
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from cli_tools import run

from judgecard import Card, glance, glance_picture, page, sharing
from nlgeval_lib import files
from nlgeval_lib.scoring.cells import InputError

BAD = "\"'><script>x()</script><img src=http://a/ onerror=x()>`*|]](javascript:x())\x07"
COMMITTED = (
    "summeval-gpt-4o",
    "summeval-llama-2-7b-chat-hf-rts",
    "llmbar-gpt-4-vanilla",
    "llmbar-falcon-vanilla",
    "wmt22-zhen-gpt4-da-src",
)


def committed(name: str) -> Any:
    return json.loads((files.data() / "cards" / f"{name}.json").read_text())


class Elements(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))


# -- what it says


@pytest.mark.parametrize("name", COMMITTED)
def test_the_facts_a_picture_and_a_price(name: str) -> None:
    numbers = committed(name)
    # where single raters are known, one fact is of others like them
    has_raters = name.startswith("summeval")
    assert len(glance.facts(numbers)) == 3 + has_raters
    ElementTree.fromstring(glance_picture.draw(numbers))
    text = page.markdown(numbers)
    headings = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert headings[0] == page.GLANCE
    assert glance.price(numbers) in text
    assert (page.NEXT in headings) == bool(glance.steps(numbers))


def test_facts_are_the_numbers_of_the_card() -> None:
    numbers = committed("summeval-gpt-4o")
    closely, others, beside, covered = glance.facts(numbers)
    aspects = numbers["sets"]["summeval"]["aspects"]
    values = {name: aspects[name]["dataset"]["kendall"]["value"] for name in aspects}
    for end in (min(values, key=values.get), max(values, key=values.get)):
        assert f"{values[end]:.3f}" in closely and end in closely
    own = aspects["coherence"]["beside"][0]
    assert own["name"] == "this judge"
    assert f"{own['rank']} to {own['rank_worst']} of 8 in coherence" in beside
    kendall = aspects["fluency"]["dataset"]["kendall"]
    ends = f"[{kendall['low_raters']:.3f}, {kendall['high_raters']:.3f}]"
    assert f"{ends} in fluency" in others
    assert "100.0%" in covered and "16 systems" in covered


def finding(kind: str, aspect: str, when: str, more: str = "") -> dict[str, str]:
    return {
        "set": "summeval",
        "aspect": aspect,
        "rule": "r",
        "of": "aspect" if aspect else "set",
        "kind": kind,
        "words": "it is so",
        "when": when,
        "more": more,
    }


UNPROVEN = ("unproven", "fluency", "kendall.low <= .4", "systems")


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        ([("fails", "", "n > 0", "")], ["Do not use it"]),
        ([("fails", "fluency", "n > 0", "")], ["Not for fluency", "Hold it"]),
        ([UNPROVEN], ["Label more for fluency (about ", "Hold it"]),
        (
            [("unproven", "fluency", "kendall.low <= .9", "systems")],
            ["Try another prompt or model for fluency", "Hold it"],
        ),
        ([], ["Hold it"]),
    ],
)
def test_what_to_do_follows_from_the_findings(
    listed: list[tuple[str, str, str, str]], words: list[str]
) -> None:
    numbers = committed("summeval-gpt-4o")
    numbers["verdict"]["findings"] = [finding(*one) for one in listed]
    steps = glance.steps(numbers)
    assert len(steps) == len(words)
    assert all(step.startswith(word) for step, word in zip(steps, words, strict=True))


def test_the_bar_that_is_proposed_holds(tmp_path: Path) -> None:
    numbers = committed("summeval-gpt-4o")
    condition = re.findall(r"'(.*)'", glance.steps(numbers)[-1])[0]
    path = tmp_path / "card.json"
    path.write_text(json.dumps(numbers))
    assert run("card", "gate", str(path), condition) == 0


def test_the_price_of_a_thousand() -> None:
    numbers = committed("summeval-gpt-4o")
    cost = {"prompt_tokens": 812345.0, "new_tokens": 9000.0, "seconds": None}
    numbers["sets"]["summeval"]["cost"] = cost
    assert "812,345 prompt tokens, 9,000 new tokens" in glance.price(numbers)
    assert "--price" in glance.price(numbers)
    numbers["sets"]["summeval"]["cost"] = {**cost, "money": 2.345}
    said = glance.price(numbers)
    assert "2.35 at the price given" in said or "2.34 at the price given" in said
    assert "--price" not in said


# -- the badge


@pytest.mark.parametrize(
    ("listed", "message", "color"),
    [
        (["praises"] * 4, "follows people: 4 of 4", "green"),
        (["praises"] * 3, "follows people: 3 of 4", "yellow"),
        (["praises"] * 3 + ["fails"], "follows people: 3 of 4, not for 1", "red"),
        ([], "follows people: 0 of 4", "lightgrey"),
    ],
)
def test_a_badge(listed: list[str], message: str, color: str) -> None:
    numbers = committed("summeval-gpt-4o")
    aspects = [*numbers["sets"]["summeval"]["aspects"]]
    findings = [
        finding(kind, aspect, "n > 0")
        for kind, aspect in zip(listed, aspects, strict=False)
    ]
    numbers["verdict"]["findings"] = findings
    made = sharing.badge(numbers)
    assert (made["schemaVersion"], made["message"], made["color"]) == (
        1,
        message,
        color,
    )
    picture = ElementTree.fromstring(sharing.badge_svg(numbers))
    assert message in "".join(picture.itertext())


def test_badge_and_page_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("card.json").write_text(json.dumps(committed("llmbar-gpt-4-vanilla")))
    assert run("card", "badge", "card.json") == 0
    assert "(badge.svg)" in capsys.readouterr().out
    assert json.loads(Path("badge.json").read_text())["label"] == "judge card"
    assert run("card", "share", "card.json", "-o", "one.html") == 0
    assert Path("one.html").stat().st_size < 1_000_000
    assert run("card", "share", "badge.json") == 2


# -- nothing of data is a mark


def hostile(name: str) -> Any:
    """A committed card whose names and words are all bad ones."""
    numbers = copy.deepcopy(committed(name))
    numbers["title"] = BAD
    numbers["judge"] = {"model": BAD, BAD: BAD}
    numbers["verdict"]["sentence"] = BAD
    numbers["cannot_tell"] = [BAD]
    for one in numbers["verdict"]["findings"]:
        one.update(set=BAD, words=BAD)
        if one["aspect"]:
            one["aspect"] = BAD + one["aspect"]
    [of_set] = numbers["sets"].values()
    of_set.update(title=BAD, sample=BAD, explorer="judgments.html")
    if "aspects" in of_set:
        of_set["aspects"] = {
            BAD + name: of_set["aspects"][name] for name in of_set["aspects"]
        }
        first = next(iter(of_set["aspects"]))
        row = {"input_id": BAD, "system_id": BAD, "aspect": BAD}
        of_set["worst"] = [{**row, "human": 1.0, "value": 5.0, "gap": 0.5}]
        for one in of_set["aspects"][first]["beside"][1:]:
            one["name"] = BAD
    for one in of_set.get("beside", [])[1:]:
        one["name"] = BAD
    numbers["sets"] = {BAD: of_set}
    return numbers


@pytest.mark.parametrize("name", ["summeval-gpt-4o", "llmbar-gpt-4-vanilla"])
def test_nothing_of_data_is_a_mark(name: str) -> None:
    numbers = hostile(name)
    shared = sharing.one_file(Card(numbers)).decode()
    for text in (shared, page.html(numbers, {}), page.markdown(numbers)):
        for tag, attributes in Elements(text).found:
            assert tag not in ("script", "iframe", "object", "embed", "base", "form")
            assert not [one for one in attributes if one.startswith("on")]
            addresses = [attributes.get(one) or "" for one in ("src", "href")]
            if tag != "link":
                allowed = ("data:image/png;base64,", "judgments.html#", "")
                assert all(one.startswith(allowed[:2]) or not one for one in addresses)
    assert "judgments.html" not in shared
    assert shared.count("&lt;script&gt;") > 10
    for picture in (glance_picture.draw(numbers), sharing.badge_svg(numbers)):
        names = {
            part.tag.rpartition("}")[2]
            for part in ElementTree.fromstring(picture).iter()
        }
        assert names <= {"svg", "title", "rect", "path", "text", "circle"}


def test_a_page_that_is_too_large_is_refused() -> None:
    numbers = committed("llmbar-gpt-4-vanilla")
    numbers["cannot_tell"] = ["word " * 300_000]
    with pytest.raises(InputError, match="the most for one file"):
        sharing.one_file(Card(numbers))
