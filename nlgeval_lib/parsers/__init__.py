"""Text to value or reason: pure functions; none raises on any text.

Every parser returns a frozen `Parsed`: `value`, `status`, `reason`, `rule`, and what its family also reads. A text
without a value that can be read with certainty is missing, with the reason; nothing is guessed, clipped or filled in.
"""

from __future__ import annotations

import importlib
from typing import Any

# a parser's module is loaded when it is asked for, so that a change of one is a change of its users only
_IN = {
    "choices": ("multiple_choice", "preference", "yes_no"),
    "errors": ("error_analysis", "instructscore", "tigerscore_authors"),
    "lists": ("aspect_scores", "aspects", "criteria"),
    "ratings": ("feedback", "rating", "trace"),
    "text": ("Parsed",),
}
_WHERE = {name: module for module, names in _IN.items() for name in names}
__all__ = ["naive", *sorted(_WHERE)]


def __getattr__(name: str) -> Any:
    if name == "naive":
        return importlib.import_module(f"{__name__}.naive")
    if name not in _WHERE:
        raise AttributeError(f"no parser {name!r}; there are {', '.join(__all__)}")
    globals()[name] = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)  # asked for once
    return globals()[name]
