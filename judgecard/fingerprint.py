"""Who was judged, and on what: the fields that must agree before two cards are
compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from judgecard.judged import KEYS
from nlgeval_lib import datasets
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.names import meant
from nlgeval_lib.scoring.cells import InputError

FIELDS = ("model", "revision", "engine", "prompt", "rubric", "settings", "data")
# Without these nothing says that it is the judge that set the bar.
_NEEDED = ("model", "prompt", "rubric", "data")
_DIGITS = 16  # of a hash
_TEXTS = ("output", "output_1", "output_2", "source", "reference", "instruction")
Fingerprint = dict[str, Any]


def of_judge(evaluator: Any, engine: Any, facts: Mapping[str, Any]) -> Fingerprint:
    """The fields of a judge that was asked; None where one is not known."""
    fields: Fingerprint = {
        "model": getattr(engine, "model", None) or facts.get("model"),
        "revision": facts.get("revision"),
        "engine": facts.get("engine"),
        "prompt": None,
        "rubric": None,
        "settings": facts.get("signature"),
    }
    if isinstance(evaluator, Judge):
        fields["prompt"] = _hash(template.sha for template in evaluator.templates())
        rubric = getattr(evaluator, "rubric", None)
        fields["rubric"] = "none" if rubric is None else _hash([repr(rubric)])
        fields["settings"] = _settings(evaluator)
    return fields


def _settings(judge: Judge) -> str:
    """How a judge is set, in words: its name, own settings, sampling."""
    parts = [judge.name]
    for name, value in (*judge.settings().items(), *judge.sampling.key().items()):
        if value is not None:
            parts.append(f"{name} {value}")
    parts.append(f"draws {judge.sampling.n}")
    parts.append(f"chat {judge.chat.label}")
    parts.append(f"missing {judge.missing}")
    parts.append(f"structured {judge.structured}")
    return ", ".join(parts)


def of_data(judged_sets: Iterable[Any]) -> dict[str, str]:
    """Set -> a hash of its rows: which outputs, how they are rated, and of rows that
    are no registered data set the texts.
    """
    hashes = {}
    for judged_set in judged_sets:
        frame = judged_set.frame
        columns = [*KEYS, "pair_id", "human", "preference"]
        if not datasets.has(judged_set.name):
            columns += _TEXTS
        present = [name for name in columns if name in frame]
        lines = frame[present].map(str).agg("\x1f".join, axis=1)  # NaN, too
        hashes[judged_set.name] = _hash(sorted(lines))
    return hashes


def _hash(texts: Iterable[str]) -> str:
    """The first digits of a hash of texts, in their order."""
    joined = "\x1e".join(texts)
    digest = hashlib.sha256(joined.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:_DIGITS]


def known(numbers: Mapping[str, Any]) -> Fingerprint:
    """The fingerprint of a card, without what is not known."""
    judge = numbers.get("judge", {})
    fields = {name: judge.get(name) for name in ("model", "revision", "engine")}
    fields |= numbers.get("fingerprint", {})
    return {name: fields[name] for name in FIELDS if fields.get(name)}


def differences(
    bar: Mapping[str, Any], card: Mapping[str, Any]
) -> tuple[dict[str, str], list[str]]:
    """The fields in which two cards, by their numbers, differ, with what each was and
    is in words; and those that either card does not know.
    """
    first = known(bar)
    second = known(card)
    differing = {}
    unknown = []
    for name in FIELDS:
        if name not in first or name not in second:
            unknown.append(name)
        elif first[name] != second[name]:
            before = str(first[name])
            after = str(second[name])
            if name == "data":
                before = _of_sets(first[name], second[name])
                after = _of_sets(second[name], first[name])
            differing[name] = f"{name} was {before}, is {after}"
    return differing, unknown


def _of_sets(hashes: Mapping[str, str], others: Mapping[str, str]) -> str:
    """The sets that differ from those of another card, with their hashes."""
    words = []
    for name in sorted({*hashes, *others}):
        if hashes.get(name) != others.get(name):
            words.append(f"{name} {hashes.get(name, 'not there')}")
    return ", ".join(words)


def check_same(
    bar: Mapping[str, Any], card: Mapping[str, Any], allowed: Collection[str]
) -> list[str]:
    """Pass where a card may be held against the one that set the bar.

    Returns: what is to be known all the same, in sentences.
    Raises: InputError naming the fields that differ and the way out; for a field that
        is none.
    """
    for name in allowed:
        if name not in FIELDS:
            raise InputError(
                f"--allow {name}{meant(name, FIELDS)} the fields are {', '.join(FIELDS)}"
            )
    differing, unknown = differences(bar, card)
    refused = [name for name in differing if name not in allowed]
    untold = [name for name in _NEEDED if name in unknown and name not in allowed]
    if refused or untold:
        reasons = [differing[name] for name in refused]
        reasons += [f"{name} is not known of both cards" for name in untold]
        sides = [numbers.get("judge", {}).get("engine") for numbers in (bar, card)]
        if untold and "recorded" in sides:
            reasons.append(
                "a recorded judge was asked by somebody else, and its card keeps no "
                "fingerprint but the model's name"
            )
        flags = " ".join(f"--allow {name}" for name in (*refused, *untold))
        raise InputError(
            "this is not the judge or the data that set the bar: "
            f"{'; '.join(reasons)}. Where that is meant: {flags}"
        )
    notes = [f"allowed to differ: {words}" for words in differing.values()]
    if unknown:
        notes.append(f"not known of both cards, and not compared: {', '.join(unknown)}")
    return notes
