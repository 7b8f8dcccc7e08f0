"""Prompt templates: fixed text and named slots, joined once.

A template file has a header of `# key: value` lines, a line `---`, and the body. A slot is `{{name}}`; the file's last
line break is not part of the body. The body is split into parts when it is read. Rendering joins the parts, so text
that comes from data is never looked at, whatever it contains.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

STATUSES = ("published", "released", "reconstructed", "ours")
FOLDER = Path(__file__).parent / "templates"
_SLOT = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}")
_HEADER = re.compile(r"# (?:variable (?P<variable>[a-z][a-z0-9_]*)|(?P<key>[a-z]+)): (?P<value>\S.*)")
_ONCE = ("title", "source", "covers", "status", "note")


@dataclasses.dataclass(frozen=True, slots=True)
class Slot:
    """A place in a template that a variable fills."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Template:
    """A prompt with its origin.

    `parts`: fixed texts and slots in order, no two fixed texts beside each other. `status`: published (as a paper
    prints it), released (as the authors' public data have it), reconstructed (from a paper's description), ours
    (written for this project where the papers have none).
    `covers`: the printed tables or figures that it stands for, as "paper table_09". `described`: what each variable is.
    """

    name: str
    parts: tuple[str | Slot, ...]
    title: str = ""
    source: str = ""
    status: str = "published"
    covers: tuple[str, ...] = ()
    described: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    note: str = ""

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the open slots, each once, in order of first use."""
        return tuple(dict.fromkeys(part.name for part in self.parts if isinstance(part, Slot)))

    @property
    def leading(self) -> str:
        """The fixed text before the first open slot: what all prompts of this template begin with."""
        first = self.parts[0] if self.parts else ""
        return first if isinstance(first, str) else ""

    @property
    def body(self) -> str:
        """The template's text, open slots in braces."""
        return "".join(part if isinstance(part, str) else f"{{{{{part.name}}}}}" for part in self.parts)

    @property
    def sha(self) -> str:
        """The first 12 hexadecimal digits of the SHA-256 over the parts: changes with every change of a prompt."""
        digest = hashlib.sha256()
        for part in self.parts:
            kind, text = ("t", part) if isinstance(part, str) else ("s", part.name)
            data = text.encode("utf-8", "surrogatepass")
            digest.update(f"{kind}{len(data)}:".encode() + data)
        return digest.hexdigest()[:12]

    def render(self, /, **variables: str | int) -> str:
        """The prompt: fixed parts and values in order, nothing added, stripped or interpreted.

        Raises: ValueError for a missing or unknown variable and for a value that is neither str nor int.
        """
        values = self._checked(variables)
        if missing := [name for name in self.variables if name not in values]:
            raise ValueError(f"prompt {self.name}: missing {_list(missing)}; it takes {_list(self.variables)}")
        return "".join(part if isinstance(part, str) else values[part.name] for part in self.parts)

    def bind(self, /, **variables: str | int) -> Template:
        """The template with some slots filled for good. What is filled in is fixed text from then on.

        Raises: ValueError for an unknown variable and for a value that is neither str nor int.
        """
        values = self._checked(variables)
        parts = [values.get(part.name, part) if isinstance(part, Slot) else part for part in self.parts]
        left = {name: text for name, text in self.described.items() if name not in values}
        return dataclasses.replace(self, parts=_joined(parts), described=left)

    def _checked(self, variables: Mapping[str, object]) -> dict[str, str]:
        allowed = self.variables
        if unknown := [name for name in variables if name not in allowed]:
            raise ValueError(f"prompt {self.name}: unknown {_list(unknown)}; it takes {_list(allowed)}")
        for name, value in variables.items():
            if isinstance(value, bool) or not isinstance(value, str | int):
                raise ValueError(
                    f"prompt {self.name}: variable {name!r} is {value!r} ({type(value).__name__}); give text or a "
                    f"whole number, other values formatted as text. It takes {_list(allowed)}"
                )
        # str(...) of a str subclass may be overridden; str.__str__ gives the characters themselves
        return {name: str.__str__(v) if isinstance(v, str) else str(v) for name, v in variables.items()}


def parse_body(body: str) -> tuple[str | Slot, ...]:
    """Fixed texts and slots of a template body.

    Raises: ValueError for `{{` that does not begin a slot, and for `{{{`, which could be read in two ways.
    """
    for match in re.finditer(r"\{\{+", body):
        if match.group() != "{{" or not _SLOT.match(body, match.start()):
            found = body[match.start() : match.start() + 30]
            raise ValueError(f"not a slot: {found!r}; a slot is {{{{lower_case_name}}}}")
    pieces = _SLOT.split(body)
    return _joined([Slot(piece) if i % 2 else piece for i, piece in enumerate(pieces)])


def parse_file(name: str, text: str) -> Template:
    """A template from its file's text.

    Raises: ValueError for a malformed header, a missing `---`, or variables that the header and the body do not share.
    """
    head, divider, body = text.partition("\n---\n")
    if not divider:
        raise ValueError(f"prompt {name}: no line '---' between header and body")
    fields: dict[str, str] = {}
    described: dict[str, str] = {}
    for line in head.split("\n"):
        match = _HEADER.fullmatch(line)
        if match is None or (match["key"] and match["key"] not in _ONCE):
            raise ValueError(
                f"prompt {name}: header line {line!r}; allowed are {_list(_ONCE)} and 'variable NAME: ...'"
            )
        into, key = (described, match["variable"]) if match["variable"] else (fields, match["key"])
        if key in into:
            raise ValueError(f"prompt {name}: {key!r} twice in the header")
        into[key] = match["value"]
    if absent := [key for key in ("title", "source", "status") if key not in fields]:
        raise ValueError(f"prompt {name}: the header lacks {_list(absent)}")
    if fields["status"] not in STATUSES:
        raise ValueError(f"prompt {name}: status {fields['status']!r}, allowed are {_list(STATUSES)}")
    try:
        parts = parse_body(body.removesuffix("\n"))
    except ValueError as error:
        raise ValueError(f"prompt {name}: {error}") from None
    covers = tuple(item.strip() for item in fields.pop("covers", "").split(",") if item.strip())
    template = Template(name, parts, covers=covers, described=described, **fields)
    if set(template.variables) != set(described):
        raise ValueError(
            f"prompt {name}: the header describes {_list(described)}, the body has {_list(template.variables)}"
        )
    return template


@functools.cache
def load(name: str) -> Template:
    """The template of that name, read once. Raises: ValueError for an unknown name."""
    path = FOLDER / f"{name}.txt"
    if name not in all_names():
        raise ValueError(f"unknown prompt {name!r}; there are {_list(all_names())}")
    with open(path, encoding="utf-8", newline="") as file:  # newline="": line ends are part of a prompt
        return parse_file(name, file.read().replace("\r\n", "\n"))


@functools.cache
def all_names() -> tuple[str, ...]:
    """The names of all templates, sorted: `paper/prompt`."""
    return tuple(sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.glob("*/*.txt")))


def _joined(parts: list[str | Slot]) -> tuple[str | Slot, ...]:
    """The parts with empty texts dropped and neighbouring texts made one."""
    out: list[str | Slot] = []
    for part in parts:
        if isinstance(part, str) and out and isinstance(out[-1], str):
            out[-1] += part
        elif part != "":
            out.append(part)
    return tuple(out)


def _list(names: object) -> str:
    return ", ".join(map(str, names)) or "none"  # type: ignore[call-overload]
