"""Text to value or reason: pure functions; none raises on any text.

Every parser returns a frozen `Parsed`: `value`, `status`, `reason`, `rule`, and what its family also reads. A text
without a value that can be read with certainty is missing, with the reason; nothing is guessed, clipped or filled in.
"""

from __future__ import annotations

import importlib
from typing import Any

# name -> its module; a parser is loaded when it is asked for, so that a change of one is a change of its users only
_WHERE = {
    "aspect_scores": "lists",
    "aspects": "lists",
    "criteria": "lists",
    "error_analysis": "errors",
    "feedback": "ratings",
    "instructscore": "errors",
    "multiple_choice": "choices",
    "Parsed": "text",
    "preference": "choices",
    "rating": "ratings",
    "tigerscore_authors": "errors",
    "trace": "ratings",
    "yes_no": "choices",
}
__all__ = ["naive", *_WHERE]


def __getattr__(name: str) -> Any:
    if name == "naive":
        return importlib.import_module(f"{__name__}.naive")
    if name not in _WHERE:
        raise AttributeError(f"no parser {name!r}; there are {', '.join(__all__)}")
    globals()[name] = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)  # asked for once
    return globals()[name]
