"""Exercises in notebooks: an answer is checked without being given away.

`notebooks/exercises.toml` has the hash of each right answer, and of wrong ones that are
often given, with a hint.
"""

from __future__ import annotations

import hashlib
import tomllib
from typing import Any

from nlgeval_lib import files
from nlgeval_lib.names import meant

NAME = "exercises.toml"


def check(exercise: str, answer: Any) -> str:
    """Whether an answer is right, in a sentence.

    exercise: its name in `exercises.toml`.
    answer: a number or a text; None is no answer yet. Numbers count to the decimals
    that the exercise asks for, words without regard to large and small letters.
    Returns: "right", or "not yet" with a hint; the right answer is never shown.
    Raises: ValueError for an exercise that there is not.
    """
    path = files.committed(files.notebooks() / NAME)
    exercises = tomllib.loads(path.read_text(encoding="utf-8"))
    if exercise not in exercises:
        nearest = meant(exercise, exercises, ".")
        raise ValueError(f"no exercise {exercise!r}{nearest}")
    facts = exercises[exercise]
    if answer is None:
        return f"Exercise {exercise}: write your answer in the place of None."
    if not isinstance(answer, str):
        try:
            decimals = facts.get("decimals", 0)
            answer = f"{float(answer):.{decimals}f}"
        except (TypeError, ValueError):
            return f"Exercise {exercise}: {facts['takes']} is needed."
    digest = digest_of(exercise, answer)
    if digest == facts["right"]:
        return f"Exercise {exercise}: right."
    hints = facts.get("hints", {})
    hint = hints.get(digest, facts["hint"])
    return f"Exercise {exercise}: not yet. {hint}"


def digest_of(exercise: str, answer: str) -> str:
    """The hash of an answer, as `exercises.toml` has it: 16 hexadecimal digits. Letter
    case and white space change nothing.
    """
    words = " ".join(answer.casefold().split())
    digest = hashlib.sha256(f"{exercise}|{words}".encode())
    return digest.hexdigest()[:16]
