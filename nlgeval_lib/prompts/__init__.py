"""The published prompts, and the aspects and criteria that fill them.

A template file has a header of `# key: value` lines, a line `---`, and the body with
slots `{{name}}`, which is split when it is read: rendering joins parts, and never looks
at text that data have. `prompt_files` reads a prompt of one's own.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlgeval_lib.names import near

TEMPLATES = Path(__file__).parent / "templates"  # paper/prompt.txt
DEFINITIONS = Path(__file__).parent / "definitions"  # aspects and criteria, JSON
_SLOT = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}")


@dataclasses.dataclass(frozen=True, slots=True)
class Template:
    """A prompt: fixed texts, and slots that are filled for each sample.

    name: `paper/prompt`, or "own".
    parts: fixed texts and the names of slots by turns, a text first and last.
    header: what its file says: `source`; `status`: published (as a paper prints it),
    released (in the authors' public data), reconstructed (from a description), ours;
    `covers`: the printed tables or figures that it stands for, as "paper table_09";
    `title`, `note`, and `variable NAME`, what each variable is.
    """

    name: str
    parts: tuple[str, ...]
    header: Mapping[str, str] = dataclasses.field(default_factory=dict, compare=False)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the open slots, each once, in order of first use."""
        return tuple(dict.fromkeys(self.parts[1::2]))

    @property
    def body(self) -> str:
        """The template's text, open slots in braces."""
        return self._filled({name: f"{{{{{name}}}}}" for name in self.variables})

    @property
    def sha(self) -> str:
        """The first 12 hexadecimal digits of the SHA-256 over the parts."""
        digest = hashlib.sha256()
        for turn, part in enumerate(self.parts):
            data = part.encode("utf-8", "surrogatepass")
            if data:
                # With kind and length no two lists of parts are the same bytes.
                kind = "ts"[turn % 2]  # a fixed text or a slot
                head = f"{kind}{len(data)}:".encode()
                digest.update(head + data)
        return digest.hexdigest()[:12]

    def render(self, /, **variables: str | int) -> str:
        """The prompt: fixed parts and the values of the slots; nothing is added,
        stripped or interpreted.

        Raises: ValueError for a missing or unknown variable, or value.
        """
        slots = self.variables
        takes = f"it takes {', '.join(slots) or 'none'}"
        unknown = [name for name in variables if name not in slots]
        missing = [name for name in slots if name not in variables]
        for fault, names in (("unknown", unknown), ("missing", missing)):
            if names:
                raise ValueError(
                    f"prompt {self.name}: {fault} {', '.join(names)}; {takes}"
                )
        values = {}
        for name, value in variables.items():
            if isinstance(value, bool) or not isinstance(value, str | int):
                raise ValueError(
                    f"prompt {self.name}: variable {name!r} "
                    f"is {value!r} ({type(value).__name__}); "
                    f"give text or a whole number, others formatted as text; {takes}"
                )
            # str(...) of a str subclass may be overridden; str.__str__ gives the
            # characters themselves.
            values[name] = str.__str__(value) if isinstance(value, str) else str(value)
        return self._filled(values)

    def _filled(self, values: Mapping[str, str]) -> str:
        """The parts joined, each slot's value in its place."""
        parts = list(self.parts)
        parts[1::2] = [values[slot] for slot in parts[1::2]]
        return "".join(parts)


def of_text(
    text: str, name: str = "own", header: Mapping[str, str] | None = None
) -> Template:
    """A template of your own: `{{slot}}` (small letters, digits, underscores) marks
    what `render` fills in.

    name: how messages call it. header: as in `Template`.
    Raises: ValueError for `{{` that does not begin a slot, and for `{{{`.

    Example:
    >>> greeting = of_text("Judge this text: {{output}}")
    >>> greeting.variables
    ('output',)
    >>> greeting.render(output="{{output}} stays as it is")
    'Judge this text: {{output}} stays as it is'
    """
    for match in re.finditer(r"\{\{+", text):
        start = match.start()
        is_slot = match.group() == "{{" and _SLOT.match(text, start)
        if not is_slot:
            raise ValueError(
                f"prompt {name}: not a slot: {text[start : start + 30]!r}; "
                "a slot is {{lower_case_name}}"
            )
    # The pattern has one group, so that a split gives texts and names by turns.
    parts = tuple(_SLOT.split(text))
    return Template(name, parts, header or {})


@functools.cache
def names() -> tuple[str, ...]:
    """The names of all templates, sorted: `paper/prompt`."""
    template_names = []
    for path in TEMPLATES.glob("*/*.txt"):
        without_ending = path.relative_to(TEMPLATES).with_suffix("")
        template_names.append(without_ending.as_posix())
    return tuple(sorted(template_names))


@functools.cache
def template(name: str) -> Template:
    """The template of a name ("hdeval/decompose"), read once. Raises: ValueError."""
    if name not in names():
        nearest = near(name, names()) or names()
        raise ValueError(f"unknown prompt {name!r}; nearest: {', '.join(nearest)}")
    # newline="" keeps line ends as they are: they are part of a prompt
    with open(TEMPLATES / f"{name}.txt", encoding="utf-8", newline="") as file:
        text = file.read().replace("\r\n", "\n")
    head, _, body = text.partition("\n---\n")
    header = {}
    for line in head.split("\n"):
        key, value = line.removeprefix("# ").split(": ", 1)
        header[key] = value
    return of_text(body.removesuffix("\n"), name, header)


def render(name: str, /, **variables: str | int) -> str:
    """The prompt of that name with its slots filled. Raises: ValueError."""
    return template(name).render(**variables)


def load_definitions(name: str) -> dict[str, Any]:
    """Aspects or criteria by name, as a fresh dictionary with a `source`.

    name: of a file of definitions, without its ending.
    Returns: what the file holds. `origin` of an entry: printed (the paper's own words),
    inferred (a link that follows from the paper), ours (the paper gives none).
    Raises: ValueError for an unknown name, naming the nearest.
    """
    stems = sorted(path.stem for path in DEFINITIONS.glob("*.json"))
    if name not in stems:
        nearest = near(name, stems) or stems
        raise ValueError(f"unknown definitions {name!r}; nearest: {', '.join(nearest)}")
    text = (DEFINITIONS / f"{name}.json").read_text(encoding="utf-8")
    return json.loads(text)
