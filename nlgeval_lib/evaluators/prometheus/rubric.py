"""A score rubric: what is asked, and what each score means; as data and as the text that stands in the prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_HEAD = re.compile(r"\[(?P<criteria>.*?)\]\nScore (?P<low>-?\d{1,6}): ", re.S)


@dataclass(frozen=True, slots=True)
class Rubric:
    """A criterion and one description for each score from `low` upwards.

    `descriptions[i]` is that of score `low + i`; there are two or more.
    Raises: ValueError for fewer than two descriptions, or for what is not text.

    Source: Prometheus, section 3 (customized score rubric), appendix J (its place in the prompt).
    """

    criteria: str
    descriptions: tuple[str, ...]
    low: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.descriptions, str) or not all(isinstance(text, str) for text in self.descriptions):
            raise ValueError(f"descriptions are {self.descriptions!r}; give one text a score, from the lowest up")
        object.__setattr__(self, "descriptions", tuple(self.descriptions))
        if not isinstance(self.criteria, str):
            raise ValueError(f"criteria is {self.criteria!r}; a text is needed")
        if isinstance(self.low, bool) or not isinstance(self.low, int):
            raise ValueError(f"low is {self.low!r}; the lowest score is a whole number")
        if len(self.descriptions) < 2:
            raise ValueError(f"{len(self.descriptions)} score descriptions; a scale has two scores or more")

    @property
    def high(self) -> int:
        """The highest score."""
        return self.low + len(self.descriptions) - 1

    @property
    def levels(self) -> dict[int, str]:
        """Score -> description, from the lowest up."""
        return dict(enumerate(self.descriptions, self.low))

    @property
    def score_lines(self) -> str:
        """One line a score, `Score 1: ...`, as the prompt has them under the criterion."""
        return "\n".join(f"Score {score}: {text}" for score, text in self.levels.items())

    def text(self) -> str:
        """The rubric as it stands in the prompt: `[criteria]`, then the score lines."""
        return f"[{self.criteria}]\n{self.score_lines}"

    @classmethod
    def parse(cls, text: str) -> Rubric:
        """The rubric of a text such as `[criteria]\\nScore 1: ...\\nScore 2: ...`; `parse(text).text() == text`.

        Scores begin anywhere and go up by one; a description may have several lines.
        Raises: ValueError for a text of another form, or a rubric of one score.
        """
        head = _HEAD.match(text)
        if head is None:
            raise ValueError(
                f"rubric {text[:60]!r}: the form is '[criteria]', then a line 'Score 1: ...' for each score; "
                "or give a Rubric or a mapping"
            )
        low, rest, parts = int(head["low"]), text[head.end() :], []
        for score in range(low + 1, low + 1 + text.count("\nScore ")):
            part, found, after = rest.partition(f"\nScore {score}: ")
            if not found:
                break
            parts.append(part)
            rest = after
        return cls(head["criteria"], (*parts, rest), low)

    @classmethod
    def of(cls, given: Rubric | str | Mapping[str, Any]) -> Rubric:
        """A rubric from one, from its text, or from a mapping.

        The mapping has `criteria` and `score1_description`, `score2_description`, ... (the Feedback Collection writes
        them with `orig_` before), or `criteria` and `levels`: {score: description}.
        Raises: ValueError where something is missing or scores leave a gap.
        """
        if isinstance(given, Rubric):
            return given
        if isinstance(given, str):
            return cls.parse(given)
        if not isinstance(given, Mapping):
            raise ValueError(f"rubric is {type(given).__name__}; give a Rubric, its text or a mapping")
        criteria = next((given[key] for key in ("criteria", "orig_criteria") if key in given), None)
        if criteria is None:
            raise ValueError(f"rubric has no 'criteria'; its keys: {', '.join(map(str, given))}")
        levels = given["levels"] if "levels" in given else _described(given)
        scores = sorted(int(score) for score in levels)
        if not scores or scores != list(range(scores[0], scores[0] + len(scores))):
            raise ValueError(f"rubric describes the scores {scores}; each from the lowest to the highest is needed")
        by_score = {int(score): text for score, text in levels.items()}
        return cls(criteria, tuple(by_score[score] for score in scores), scores[0])


def _described(given: Mapping[str, Any]) -> dict[int, str]:
    """Score -> description from keys such as `score1_description`."""
    found = {}
    for key, text in given.items():
        match = re.fullmatch(r"(?:orig_)?score(-?\d+)_description", str(key))
        if match:
            found[int(match[1])] = text
    return found
