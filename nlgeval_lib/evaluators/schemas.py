"""JSON schemas that hold a judge's answer to a form which every backend can take:
objects whose keys are all required and come in the order of the alphabet. Texts are
bounded by the room that the token limit leaves, so that the verdict is within it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nlgeval_lib import files

# The letters of `{"reasoning": "...", "score": 4}` without its text, and of other names
# about as long.
_FRAME = 48
# Letters a token: of 3,800 feedbacks and lists of a small open model fewer than 1 in 100
# had less.
LETTERS = 3
_MOST = 4000  # letters of one text, whatever the room


def an_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object with exactly these keys and their values' schemas, all required."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _a_list(of: Mapping[str, Any], least: int, most: int) -> dict[str, Any]:
    return {"type": "array", "items": dict(of), "minItems": least, "maxItems": most}


def _a_text(room: int) -> dict[str, Any]:
    """A text of one to `room` letters; one letter where there is no room."""
    longest = max(1, min(room, _MOST))
    return {"type": "string", "minLength": 1, "maxLength": longest}


def a_number(names: Sequence[str]) -> dict[str, Any]:
    """One of the whole numbers that a scale has, given as they are written."""
    return {"type": "integer", "enum": [int(name) for name in names]}


def a_score(names: Sequence[str]) -> dict[str, Any]:
    """`{"score": 4}`, of the names of a scale."""
    return an_object({"score": a_number(names)})


def a_reasoned_score(names: Sequence[str], lead: str, room: int) -> dict[str, Any]:
    """`{lead: "...", "score": 4}` within `room` tokens; `lead` comes before "score"."""
    text = _a_text(room * LETTERS - _FRAME)
    return an_object({lead: text, "score": a_number(names)})


def named_texts(key: str, least: int, most: int, room: int) -> dict[str, Any]:
    """`{key: [{"name": "...", "definition": "..."}, ...]}` within `room` tokens."""
    share = room * LETTERS // most - _FRAME  # letters of one entry's two texts
    entry = an_object({"name": _a_text(24), "definition": _a_text(share - 24)})
    return an_object({key: _a_list(entry, least, most)})


def error_list(aspects: Sequence[str], room: int) -> dict[str, Any]:
    """`{"errors": [...]}`, up to five errors within `room` tokens, of these aspects
    (any where there are none), as `TigerScore` reads them.

    Source: TIGERScore, Table 17 (the keys); section 2.2 and appendix A.1 (penalties).
    """
    room *= LETTERS
    # An error with short texts takes 200 letters, 130 of them keys and marks; location,
    # aspect and explanation share the others.
    most = max(1, min(5, room // 200))
    text = _a_text(((room - 16) // most - 130) // 3)
    aspect = {"type": "string", "enum": list(aspects)} if aspects else text
    reductions = [0.5, 1, 2, 3, 4, 5]
    error = an_object(
        {
            "error_location": text,
            "error_aspect": aspect,
            "explanation": text,
            "severity": {"type": "string", "enum": ["Major", "Minor"]},
            "score_reduction": {"type": "number", "enum": reductions},
        }
    )
    return an_object({"errors": _a_list(error, 0, most)})


def is_whole(answer: str) -> bool:
    """Whether an answer is JSON to its end."""
    try:
        files.from_json(answer)
    except ValueError:
        return False
    return True


def text_of(answer: str, key: str) -> str:
    """The text under a key of a JSON answer; "" where there is none."""
    if not is_whole(answer):
        return ""
    value = files.from_json(answer)
    return str(value.get(key, "")) if isinstance(value, dict) else ""
