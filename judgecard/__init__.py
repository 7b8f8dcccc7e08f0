"""The judge card: may a judge be trusted, for what, and how far?

import judgecard as card
card.demo()                                          # a recorded judge, no key
card.make_card(judge, data=["summeval"], engine=engine)     # shown below the cell

How a card comes about, and in which module:

1. `judged` and `paired` hold a set with the judge's scores or verdicts. `asked` asks a
   judge for them, `probes` changes outputs to ask about.
2. `measure` (with `aspect`, `closeness`, `reliability`) and `paired` measure them. What
   cannot be measured has a reason in the number's place (`cells`).
3. `verdict` applies the rules of `rules.csv`, which are `conditions` on the numbers;
   `unknown` lists what stays open.
4. `cards` puts all of it into a `Card`. `page`, `chapters` and `written` make its text,
   `drawn` its figures; `shape` checks a `card.json` that is read again.
5. `compare` sets two cards side by side, `standing` a card among the recorded judges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nlgeval_lib.on_use import loaded_on_use

if TYPE_CHECKING:
    from judgecard.asked import make_card
    from judgecard.cards import SCHEMA, Card, demo, of_recorded, of_scores, read
    from judgecard.compare import compared

__all__ = [
    "SCHEMA",
    "Card",
    "compared",
    "demo",
    "make_card",
    "of_recorded",
    "of_scores",
    "read",
]

# A command that only lists itself loads none of it.
__getattr__ = loaded_on_use(
    __name__,
    {
        "asked": ("make_card",),
        "cards": ("SCHEMA", "Card", "demo", "of_recorded", "of_scores", "read"),
        "compare": ("compared",),
    },
)


def __dir__() -> list[str]:
    return __all__
