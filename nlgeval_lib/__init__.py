"""A small library for scoring generated text: evaluators, parsers, engines, data sets and
the statistics of meta-evaluation.

>>> from nlgeval_lib import datasets, evaluators, statistics  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nlgeval_lib.on_use import loaded_on_use

if TYPE_CHECKING:
    from nlgeval_lib import datasets, engines, evaluators, parsers, statistics

__version__ = "0.1.0"
__all__ = ["datasets", "engines", "evaluators", "parsers", "statistics"]

__getattr__ = loaded_on_use(__name__, dict.fromkeys(__all__, ()))


def __dir__() -> list[str]:
    return __all__
