"""JSON schemas that hold a judge's answer to a form which every backend can take.

Each is an object whose keys are all required and come in the order of the alphabet,
`feedback` and `reasoning` before `score`. Texts are bounded in length, so that the
verdict is within the token limit even where each letter is a token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nlgeval_lib import files

# `{"reasoning": "...", "score": 4}` without its text, and names about as long
_FRAME = 48
_MOST = 4000  # letters of one text


def an_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object with exactly these keys."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def a_list(of: Mapping[str, Any], least: int, most: int) -> dict[str, Any]:
    """A list of `least` to `most` such things."""
    return {"type": "array", "items": dict(of), "minItems": least, "maxItems": most}


def a_text(room: int) -> dict[str, Any]:
    """A text of one to `room` letters."""
    return {"type": "string", "minLength": 1, "maxLength": max(1, min(room, _MOST))}


def a_number(names: Sequence[str]) -> dict[str, Any]:
    """One of the whole numbers that a scale has, as they are written."""
    return {"type": "integer", "enum": [int(name) for name in names]}


def a_score(names: Sequence[str]) -> dict[str, Any]:
    """`{"score": 4}`."""
    return an_object({"score": a_number(names)})


def a_reasoned_score(names: Sequence[str], lead: str, room: int) -> dict[str, Any]:
    """`{"reasoning": "...", "score": 4}` within `room` tokens.

    lead: the key of the text.
    """
    text = a_text(room - _FRAME)
    return an_object({lead: text, "score": a_number(names)})


def named_texts(key: str, least: int, most: int, room: int) -> dict[str, Any]:
    """`{key: [{"name": "...", "definition": "..."}, ...]}` within `room` tokens."""
    share = room // most - _FRAME
    entry = an_object({"name": a_text(24), "definition": a_text(share - 24)})
    return an_object({key: a_list(entry, least, most)})


def error_list(aspects: Sequence[str], room: int) -> dict[str, Any]:
    """`{"errors": [...]}` with up to five errors within `room` tokens.

    aspects: those that an error can have; any where there are none.
    """
    # keys and marks of an error take about 130 letters
    most = max(1, min(5, room // 200))
    share = (room - 16) // most - 130
    aspect: dict[str, Any] = a_text(share // 3)
    if aspects:
        aspect = {"type": "string", "enum": list(aspects)}
    reductions = [0.5, 1, 2, 3, 4, 5]
    error = an_object(
        {
            "error_location": a_text(share // 3),
            "error_aspect": aspect,
            "explanation": a_text(share // 3),
            "severity": {"type": "string", "enum": ["Major", "Minor"]},
            "score_reduction": {"type": "number", "enum": reductions},
        }
    )
    return an_object({"errors": a_list(error, 0, most)})


def is_whole(answer: str) -> bool:
    """Whether an answer is JSON to its end."""
    try:
        files.from_json(answer)
    except ValueError:
        return False
    return True


def text_of(answer: str, key: str) -> str:
    """The text under a key of an answer in JSON; empty where there is none."""
    try:
        value = files.from_json(answer)
    except ValueError:
        return ""
    return str(value.get(key, "")) if isinstance(value, dict) else ""
