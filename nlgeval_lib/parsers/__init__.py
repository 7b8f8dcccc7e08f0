"""Text to value or reason: pure functions; none raises on any text.

Every parser returns a frozen `Parsed`: `value`, `status`, `reason`, `rule`, and what
its family also reads. A text without a value that can be read with certainty is
missing, with the reason; nothing is guessed, clipped or filled in.
"""

from __future__ import annotations

import importlib
from typing import Any

# a parser's module is loaded when it is asked for, so that a change of one is a change
# of its users only
_NAMES = {
    "choices": ("multiple_choice", "preference", "yes_no"),
    "errors": ("error_analysis", "instructscore", "tigerscore_authors"),
    "fields": ("json_field",),
    "lists": ("aspect_scores", "aspects", "criteria"),
    "feedbacks": ("feedback",),
    "ratings": ("rating", "trace"),
    "text": ("Parsed",),
}
_MODULES: dict[str, str] = {}
for _module, _names in _NAMES.items():
    _MODULES.update(dict.fromkeys(_names, _module))
__all__ = ["naive", *sorted(_MODULES)]


def __getattr__(name: str) -> Any:
    if name == "naive":
        return importlib.import_module(f"{__name__}.naive")
    if name not in _MODULES:
        raise AttributeError(f"no parser {name!r}; there are {', '.join(__all__)}")
    module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    globals()[name] = getattr(module, name)  # the next use does not come here
    return globals()[name]


def __dir__() -> list[str]:
    return __all__
