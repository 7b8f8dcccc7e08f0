"""The first screen of a card: what it says to a person who decides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from judgecard import verdict
from judgecard.written import Numbers, agreements, at, cell, listed, ranks

_THIS = "this judge"
# who is beside it on a set without a recorded judge
_BASELINES = (_THIS, "output length", "random", "the longer output")
_STEP = 20  # a bar is proposed in twentieths
_UNPRICED = "A thousand judgments: what they take is not known of this card."


def facts(card: Numbers) -> list[str]:
    """What to know of each set: how closely the judge follows people, and how closely
    it may follow others, how it stands to other judges, what has a score.

    Returns: sentences, each with the set's name where there are several.
    """
    sentences = []
    for name, numbers in card["sets"].items():
        for of in (_closely, _of_other_raters, _beside, _covered):
            sentence = of(numbers)
            if sentence:
                sentences.append(_of_set(card, name, sentence))
    return sentences


def _of_set(card: Numbers, name: str, sentence: str) -> str:
    """A sentence with the name of its set, where the card has several."""
    if len(card["sets"]) < 2:
        return sentence
    return f"{name}: {sentence}"


def _closely(numbers: Numbers) -> str:
    """How closely the judge follows people, at its worst and best aspect."""
    if numbers["kind"] == "pairs":
        decided = numbers.get("decided", numbers["accuracy"])
        return (
            f"It chooses as people do on {cell(decided)} of the pairs where they "
            "prefer one; a coin reaches 0.500."
        )
    by_value = []
    for aspect, kendall in agreements(numbers).items():
        if kendall.get("value") is not None:
            by_value.append((kendall["value"], aspect, cell(kendall)))
    if not by_value:
        return "How closely it follows people has no number: see where it fails."
    worst = min(by_value)
    best = max(by_value)
    words = f"Its scores follow people's ratings with tau-b {best[2]} in {best[1]}"
    if worst[1] != best[1]:
        words += f", and at the least {worst[2]} in {worst[1]}"
    return f"{words}; 0 is chance, 1 the same order."


def _of_other_raters(numbers: Numbers) -> str:
    """Between which values agreement lies for other raters; "" where it is not told."""
    texts = []
    for aspect, kendall in agreements(numbers).items():
        if kendall.get("low_raters") is not None:
            ends = f"[{kendall['low_raters']:.3f}, {kendall['high_raters']:.3f}]"
            texts.append(f"{ends} in {aspect}")
            raters = kendall["raters"]
    if not texts:
        return ""
    return (
        f"That is for these {raters} raters; for others like them tau-b lies in "
        f"{', '.join(texts)}."
    )


def _beside(numbers: Numbers) -> str:
    """How the judge stands to other judges, else to a rater, else to output length."""
    if numbers["kind"] == "pairs":
        judges = numbers.get("beside", [])
        if not _has_recorded(judges):
            return f"Who takes the longer option reaches {cell(numbers.get('longer'))}."
        names = [row["name"] for row in judges]
        place = names.index(_THIS) + 1
        return f"Among {len(names)} judges of these pairs it has place {place}."
    by_kind: dict[str, list[str]] = {"judges": [], "rater": [], "length": []}
    raters = "rater"
    for aspect, measured in numbers["aspects"].items():
        judges = listed(measured["beside"])
        if _has_recorded(judges):
            [this] = [row for row in judges if row["name"] == _THIS]
            by_kind["judges"].append(f"{ranks(this)} of {len(judges)} in {aspect}")
        rater = at(measured, "raters.dataset.rater")
        if rater and rater.get("value") is not None:
            raters = measured["raters"].get("kind", raters)
            this = at(measured, "raters.dataset.judge")
            by_kind["rater"].append(
                f"{cell(rater)}, this judge {cell(this)} in {aspect}"
            )
        length = at(measured, "length.rating")
        if length and length.get("value") is not None:
            by_kind["length"].append(f"{cell(length)} in {aspect}")
    if by_kind["judges"]:
        places = ", ".join(by_kind["judges"])
        return f"Among recorded judges and baselines its place can be {places}."
    if by_kind["rater"]:
        places = "; ".join(by_kind["rater"])
        return f"One {raters} follows the others with tau-b {places}."
    if by_kind["length"]:
        return f"Output length alone reaches tau-b {', '.join(by_kind['length'])}."
    return "Nobody is beside it on these outputs."


def _has_recorded(judges: list[Numbers]) -> bool:
    """Whether a recorded judge is among those beside this one."""
    return any(row["name"] not in _BASELINES for row in judges)


def _covered(numbers: Numbers) -> str:
    """Of what there is a score, and on how much that stands."""
    sample = f"{numbers['systems']} systems and {numbers['inputs']:,} inputs"
    if numbers["kind"] == "pairs":
        sample = f"{numbers['pairs']:,} pairs"
    elif numbers["systems"] < 2:
        sample = f"{numbers['outputs']:,} outputs"
    coverage = numbers["coverage"]["value"]
    return (
        f"It gave a score for {coverage:.1%} of what it was shown; {sample} were seen."
    )


# -- what the verdict says of each aspect


def kinds(card: Numbers) -> list[str]:
    """What the verdict says of each aspect, and of each set of pairs: "praises",
    "unproven", "fails", or "" where no rule holds.
    """
    of_aspects = []
    for name, numbers in card["sets"].items():
        of_set = verdict.of_set(card, name)
        for aspect in numbers.get("aspects", [""]):
            of_aspects.append(kind(of_set, aspect))
    return of_aspects


def kind(of_set: list[verdict.Finding], aspect: str) -> str:
    """What the verdict says of one aspect, the worst first; what it says of the whole
    set holds for every aspect.

    of_set: the rules that hold for the set. aspect: "" for a set of pairs.
    """
    holding = {row["kind"] for row in of_set if row["aspect"] in ("", aspect)}
    for worst in (verdict.FAILS, verdict.UNPROVEN, verdict.PRAISES):
        if worst in holding:
            return worst
    return ""


# -- what to do next


def steps(card: Numbers) -> list[str]:
    """What to do next: not for this aspect, more labels and how many, another prompt or
    judge, and where to hold it.
    """
    sentences = []
    for name, numbers in card["sets"].items():
        of_set = verdict.of_set(card, name)
        for sentence in _steps(name, numbers, of_set):
            sentences.append(_of_set(card, name, sentence))
    return sentences


def _steps(name: str, numbers: Numbers, of_set: list[verdict.Finding]) -> Iterator[str]:
    """The steps of one set, what forbids its use first."""
    if not numbers["coverage"]["value"]:
        answer = "the number of the better output"
        if numbers["kind"] != "pairs":
            answer = "the score"
        yield (
            f"No answer could be read: ask in the prompt for {answer} alone, or take "
            "another model; where all scores are off the scale, say another --scale."
        )
        return
    change = (
        "change the prompt or the model, and compare the two cards (nlgeval card "
        "compare BEFORE AFTER)"
    )
    for fault in verdict.of_the_set(of_set, verdict.FAILS):
        yield f"Do not use it, {fault['words']}: {change}."
    failing = verdict.first_by_aspect(of_set, verdict.FAILS)
    for words, aspects in verdict.by_words(failing):
        yield f"Not for {verdict.joined(aspects)}, {words}: {change}."
    for finding in verdict.of_the_set(of_set, verdict.UNPROVEN):
        yield _untold("it", finding, numbers, numbers)
    untold = verdict.first_by_aspect(of_set, verdict.UNPROVEN)
    for aspect, finding in untold.items():
        if aspect not in failing:
            yield _untold(aspect, finding, numbers["aspects"][aspect], numbers)
    if verdict.of_the_set(of_set, verdict.FAILS):
        return
    unpraised = {*failing, *untold}
    if numbers["kind"] != "pairs":
        for judge, aspects in verdict.above(numbers, unpraised).items():
            yield f"Try {judge}, which is clearly better in {verdict.joined(aspects)}."
    yield from _held(name, numbers, unpraised)


def _untold(
    aspect: str, finding: verdict.Finding, measured: Numbers, numbers: Numbers
) -> str:
    """What to do where the data cannot tell: more labels, or another prompt."""
    needed = verdict.needed(finding, measured, numbers)
    question = f"whether {finding['words']}"
    if needed:
        return f"Label more for {aspect}{needed}: these data do not say {question}."
    return (
        f"Try another prompt or model for {aspect}: these data do not say {question}, "
        "and its value is on the wrong side."
    )


def _held(name: str, numbers: Numbers, unpraised: set[str]) -> Iterator[str]:
    """Where to hold a judge that may be used, as a command."""
    best = 0.0
    path = ""
    for aspect, cell_here in agreements(numbers).items():
        low = cell_here.get("low")
        if aspect not in unpraised and low is not None and low > best:
            best = low
            measure = "low" if numbers["kind"] == "pairs" else "kendall.low"
            path = f"{name}.{aspect}.{measure}"
    if not path:
        return
    bar = math.floor(best * _STEP) / _STEP
    yield f"Hold it there: nlgeval card gate card/card.json '{path} >= {bar:g}'"


# -- what a thousand judgments take


def price(card: Numbers) -> str:
    """What a thousand judgments take, in one sentence."""
    parts = []
    for name, numbers in card["sets"].items():
        if numbers.get("cost"):
            parts.append(_of_set(card, name, cost(numbers["cost"])))
    if not parts:
        return _UNPRICED
    sentence = f"A thousand judgments: {'; '.join(parts)}."
    if not any(
        numbers.get("cost", {}).get("money") for numbers in card["sets"].values()
    ):
        sentence += " With --price IN,OUT the card says the money."
    return sentence


def cost(numbers: Mapping[str, Any]) -> str:
    """Tokens, seconds and money of 1,000 judgments, of what is known."""
    texts = [
        f"{numbers['prompt_tokens']:,.0f} prompt tokens",
        f"{numbers['new_tokens']:,.0f} new tokens",
    ]
    if numbers.get("seconds") is not None:
        texts.append(f"{numbers['seconds']:,.1f} s as they were asked here")
    if numbers.get("money") is not None:
        texts.append(f"{numbers['money']:,.2f} at the price given")
    return ", ".join(texts)
