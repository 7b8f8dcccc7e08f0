"""A score rubric: a criterion and what each score means, in a prompt or a file."""

from __future__ import annotations

import functools
import importlib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlgeval_lib import files

# The key of a score's description in a rubric file: 1, score1, score1_description.
_SCORE = re.compile(r"(?:score[ _]?)?(-?\d{1,6})(?:_description)?", re.I)
# How the text of a rubric begins: its criterion, and the lowest score.
_HEAD = re.compile(r"\[(?P<criteria>.*?)\]\nScore (?P<low>-?\d{1,6}): ", re.S)


@dataclass(frozen=True, slots=True)
class Rubric:
    """A criterion and one description for each score from `low` upwards, two or more.

    Raises: ValueError for fewer than two descriptions.
    Source: Prometheus, section 3 (customized score rubric), appendix J.
    """

    criteria: str
    descriptions: tuple[str, ...]
    low: int = 1

    def __post_init__(self) -> None:
        if len(self.descriptions) < 2:
            raise ValueError(
                f"{len(self.descriptions)} score descriptions; "
                "a scale has two scores or more"
            )

    @property
    def scale(self) -> tuple[int, int]:
        """The lowest and the highest score."""
        return self.low, self.low + len(self.descriptions) - 1

    @property
    def levels(self) -> dict[int, str]:
        """Each score with its description, in order."""
        return dict(enumerate(self.descriptions, self.low))

    @property
    def score_lines(self) -> str:
        """One line a score, `Score 1: ...`, as the prompt has them."""
        lines = [f"Score {score}: {text}" for score, text in self.levels.items()]
        return "\n".join(lines)

    def text(self) -> str:
        """The rubric as it stands in the prompt: `[criteria]`, then the score lines."""
        return f"[{self.criteria}]\n{self.score_lines}"

    @classmethod
    def parse(cls, text: str) -> Rubric:
        """The rubric of a text: `[criteria]`, then a line `Score 1: ...` a score; its
        `text()` is that again. Raises: ValueError for another form, or one score.
        """
        head = _HEAD.match(text)
        if head is None:
            raise ValueError(
                f"rubric {text[:60]!r}: the form is '[criteria]', "
                "then a line 'Score 1: ...' a score"
            )
        low = int(head["low"])
        descriptions: list[str] = []
        rest: str | None = text[head.end() :]
        # A description ends where the line of the next score begins. It may have
        # several lines, and name other scores.
        while rest is not None:
            description, mark, further = rest.partition(
                f"\nScore {low + len(descriptions) + 1}: "
            )
            descriptions.append(description)
            rest = further if mark else None
        return cls(head["criteria"], tuple(descriptions), low)

    @classmethod
    def read(cls, path: str | Path) -> Rubric:
        """The rubric of a file: TOML, JSON or YAML with `criteria` and a text a score
        (`1`, `score1`, `score1_description`, also below `scores`); by any other ending,
        the text of a prompt. Raises: ValueError naming the file and what it lacks.
        """
        kind = Path(path).suffix.lower()
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except OSError as error:
            raise ValueError(f"rubric {path}: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise ValueError(f"rubric {path} is not UTF-8; save it as UTF-8") from None
        if kind not in _LOADERS:
            try:
                return cls.parse(text.strip())
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from None
        try:
            entries = _LOADERS[kind](text)
        except Exception as error:  # The three readers share no class of errors.
            reason = " ".join(str(error).split())
            raise ValueError(
                f"rubric {path}: no {kind[1:].upper()}: {reason}"
            ) from None
        return cls._of_entries(entries if isinstance(entries, dict) else {}, path)

    @classmethod
    def _of_entries(cls, entries: Mapping[Any, Any], path: str | Path) -> Rubric:
        """The rubric of a file's names and values. Raises: ValueError."""
        named = list(entries.items())
        if isinstance(entries.get("scores"), dict):
            named += entries["scores"].items()
        texts: dict[int, Any] = {}
        for key, text in named:
            match = _SCORE.fullmatch(str(key))
            if match and int(match[1]) in texts:
                raise ValueError(
                    f"rubric {path} has score {match[1]} more than once; leave one"
                )
            if match:
                texts[int(match[1])] = text
        criteria = entries.get("criteria")
        low = min(texts, default=1)
        scale = range(low, low + max(len(texts), 2))
        written = [criteria, *texts.values()]
        filled = all(isinstance(text, str) and text.strip() for text in written)
        if not filled or sorted(texts) != list(scale):
            present = ", ".join(map(str, entries)) or "nothing by name"
            raise ValueError(
                f"rubric {path} needs a text 'criteria' and one for each score, such "
                "as 1 to 5 without a gap, none of them empty; it has "
                f"{present} (`nlgeval init` writes one)"
            )
        descriptions = tuple(texts[score].strip() for score in scale)
        return cls(str(criteria).strip(), descriptions, low)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as a mapping. Raises: ValueError for a name that is there twice."""
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name!r} is there more than once")
    return dict(pairs)


def _from_yaml(text: str) -> Any:
    yaml: Any = importlib.import_module("yaml")

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            _once([(name.value, None) for name, _ in node.value])
            return dict(super().construct_mapping(node, deep))

    return yaml.load(text, Loader)


# Ending of a rubric's file -> what reads its text; a name that is there twice raises.
_LOADERS: dict[str, Callable[[str], Any]] = {
    ".toml": tomllib.loads,
    ".json": functools.partial(files.from_json, object_pairs_hook=_once),
    ".yaml": _from_yaml,
    ".yml": _from_yaml,
}
