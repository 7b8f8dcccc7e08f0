"""A number in its place in a text, and how plainly the text presents it as its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Strength(IntEnum):
    """How plainly the text presents a number as its verdict."""

    ALONE = 1  # a line of its own, the first or the last thing said
    FORM = 2  # "4/5", "4 out of 5", "4 stars" without a cue
    ASPECT = 3  # a score under some other label: "Fluency: 4"
    PHRASE = 4  # "a score of 4", "I rate it 4"
    LABEL = 5  # "Score: 4", "the rating is 4"
    FINAL = 6  # "Overall score: 4", "[[4]]"


SPLIT = "several aspects are scored at once"
CUT = "the text ends in the middle of the score"


@dataclass(slots=True)
class Mention:
    """A number in its place: `start` to `end` of the text.

    `kind` says what follows it: of (a base), range, series, percent, stars, points, half, sum or nothing; `used` is
    where that ends. `flaw` says why the number is no verdict; where the flaw `blocks`, the text gives a verdict that
    cannot be read, and weaker numbers do not count either. `token` is the number as written.
    """

    token: str
    value: float
    start: int
    end: int
    used: int
    kind: str = ""
    strength: Strength | None = None
    rule: str = ""
    label: str = ""
    flaw: str = ""
    blocks: bool = False
    based: bool = False  # "out of high" stands beside it
    rescaled: bool = False  # given on another scale, or in per cent
    enumerated: bool = False  # "Score 2: ...", as in a rubric

    def present(self, strength: Strength, rule: str, label: str = "") -> None:
        """The text presents this number as a verdict of that strength."""
        self.strength, self.rule, self.label = strength, rule, label

    def spoil(self, flaw: str, blocks: bool = False) -> None:
        """The number is no verdict, and why."""
        self.flaw, self.blocks = flaw, blocks
