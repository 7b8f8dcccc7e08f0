"""Text to value or reason: pure functions; none raises on any text.

Every parser returns a frozen `Parsed`: `value`, `status`, `reason`, `rule`, and what
its family also reads. A text without a value that can be read with certainty is
missing, with the reason; nothing is guessed, clipped or filled in. What is neither a
str nor None is a TypeError.
"""

from __future__ import annotations

from itertools import chain

from nlgeval_lib.on_use import loaded_on_use

_MODULES = {
    "choices": ("multiple_choice", "preference", "yes_no"),
    "errors": ("error_analysis", "instructscore", "tigerscore_authors"),
    "fields": ("json_field",),
    "lists": ("aspect_scores", "aspects", "criteria"),
    "feedbacks": ("feedback",),
    "naive": (),
    "ratings": ("rating", "trace"),
    "text": ("Parsed",),
}
__all__ = ["naive", *sorted(chain.from_iterable(_MODULES.values()))]
__getattr__ = loaded_on_use(__name__, _MODULES)


def __dir__() -> list[str]:
    return __all__
