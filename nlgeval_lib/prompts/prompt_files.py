"""A prompt of one's own in a text file, with placeholders by the field's names.

`{output}` stands for the text to judge; `PLACEHOLDERS` names all. Other text in braces
stays as it is. A file may begin with a line `[system]`: what follows up to a line
`[user]` is the system text.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nlgeval_lib import files
from nlgeval_lib.names import near
from nlgeval_lib.prompts import Template

PLACEHOLDERS = (
    "output",
    "source",
    "reference",
    "instruction",
    "context",
    "aspect",
    "definition",
)
PAIR = ("output_1", "output_2")  # the two outputs of a prompt that compares
_ALL = (*PLACEHOLDERS, *PAIR)
_PLACEHOLDER = re.compile(rf"\{{({'|'.join(_ALL)})\}}")
_DOUBLED = re.compile(rf"\{{{_PLACEHOLDER.pattern}\}}")  # "{{output}}"
_WORD = re.compile(r"\{\s*([A-Za-z_][A-Za-z_0-9]*)\s*\}")  # any word in braces
_SYSTEM = "[system]\n"
_USER = "\n[user]\n"


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A prompt of one's own: the file's name (or "own"), what the user turn says, and
    the system text (without parts for none).
    """

    name: str
    user: Template
    system: Template

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The placeholders of both parts, each once, in order of first use."""
        return tuple(dict.fromkeys((*self.user.variables, *self.system.variables)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that fill the placeholders, in their order."""
        names = self.placeholders
        return tuple(name.replace("reference", "references") for name in names)

    def filled(self, texts: Mapping[str, str]) -> tuple[str, str | None]:
        """The user's turn and the system text (None for none), filled."""
        parts = []
        for part in self.templates:
            own = {name: texts[name] for name in part.variables}
            parts.append(part.render(**own))
        return parts[0], parts[1] if len(parts) > 1 else None

    @property
    def of_pairs(self) -> bool:
        """Whether the prompt compares two outputs."""
        return any(name in PAIR for name in self.placeholders)

    @property
    def templates(self) -> tuple[Template, ...]:
        """Its parts, the user's turn first; a system text only where there is one."""
        if self.system.body:
            return self.user, self.system
        return (self.user,)


def read(prompt: str | Path) -> PromptFile:
    """The prompt of a file, or of a text that has a placeholder of an output.

    A path that is not there counts from the repository's folder. A word in braces that
    is no placeholder is sent as it stands, with a warning.
    Raises: ValueError for no such file, no output, one of a pair alone, double braces.
    """
    text = str(prompt)
    name = "own"
    # A text that shows an output is the prompt itself; any other is a file's path.
    if not any(f"{{{slot}}}" in text for slot in ("output", *PAIR)):
        path = located(text)
        name = path.name
        try:
            text = path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            raise ValueError(
                f"prompt {text}: no such file; a prompt is a text with {{output}}, or "
                "the path of a file that holds one"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"prompt {path}: cannot read it: {error}") from None
    text = text.replace("\r\n", "\n").removesuffix("\n")
    system = ""
    if text.startswith(_SYSTEM):
        system, mark, text = text.removeprefix(_SYSTEM).partition(_USER)
        if not mark:
            raise ValueError(f"prompt {name}: after [system] a line [user] is needed")
    parts = PromptFile(name, _template(text, name), _template(system, name))
    shown = set(parts.placeholders)
    pair = shown.intersection(PAIR)
    if "output" not in shown and not pair:
        raise ValueError(
            f"prompt {name} shows no output: write {{output}} where the text to "
            "judge is to stand"
        )
    half_a_pair = 0 < len(pair) < len(PAIR)
    if half_a_pair or (pair and "output" in shown):
        raise ValueError(
            f"prompt {name}: a prompt that compares has {{output_1}} and "
            "{output_2}, and no {output}"
        )
    return parts


def located(path: str | Path) -> Path:
    """A file by its path from the working folder, else from the repository's."""
    place = Path(path).expanduser()
    if not place.is_absolute() and not place.exists():
        return files.root() / place
    return place


def _template(text: str, name: str) -> Template:
    """The text with its placeholders as slots; a warning for other words in braces."""
    doubled = _DOUBLED.search(text)
    if doubled:
        raise ValueError(
            f"prompt {name}: {doubled[0]} could be read in two ways; "
            f"write {doubled[0][1:-1]}, which is filled in"
        )
    for word in dict.fromkeys(_WORD.findall(text)):
        if word in _ALL:
            continue
        nearest = near(word, _ALL, n=1)
        hint = f" Did you mean {{{nearest[0]}}}?" if nearest else ""
        warnings.warn(
            f"prompt {name}: {{{word}}} is no placeholder and is sent as it "
            f"stands.{hint} Placeholders: {', '.join(PLACEHOLDERS)}",
            stacklevel=4,
        )
    return Template(name, tuple(_PLACEHOLDER.split(text)))
