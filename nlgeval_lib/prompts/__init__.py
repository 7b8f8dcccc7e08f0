"""The published prompts, and the aspects and criteria that fill them.

`render("prometheus/absolute", instruction=..., response=..., ...)` gives the text for the judge. Every template file
says where its prompt comes from, and whether it is published, released with data, reconstructed, or ours.
"""

from __future__ import annotations

from nlgeval_lib.names import near as _near
from nlgeval_lib.prompts import template as _template
from nlgeval_lib.prompts.definitions import definition_names, load_definitions
from nlgeval_lib.prompts.template import Slot, Template

__all__ = [
    "Slot", "Template", "definition_names", "load_definitions", "names", "of_text", "render", "sha", "source",
    "template",
]  # fmt: skip


def names(paper: str | None = None) -> list[str]:
    """The names of the templates, `paper/prompt`, of one paper or of all.

    Raises: ValueError for a paper without templates.
    """
    known = list(_template.all_names())
    papers = sorted({name.partition("/")[0] for name in known})
    if paper is not None and paper not in papers:
        raise ValueError(f"no prompts of {paper!r}; there are prompts of {', '.join(papers)}")
    return [name for name in known if paper is None or name.startswith(f"{paper}/")]


def template(name: str) -> Template:
    """The template of that name.

    Raises: ValueError for an unknown name, naming the nearest.
    """
    known = _template.all_names()
    if name not in known:
        nearest = _near(name, known) or names()
        raise ValueError(f"unknown prompt {name!r}; nearest: {', '.join(nearest)}")
    return _template.load(name)


def of_text(text: str, name: str = "own") -> Template:
    """A template of your own: `{{slot}}` marks what `render` fills in. Raises: ValueError for a malformed slot."""
    return Template(name, _template.parse_body(text))


def render(name: str, /, **variables: str | int) -> str:
    """The prompt with its slots filled.

    Raises: ValueError for an unknown prompt, a missing or unknown variable, a value that is neither str nor int.
    """
    return template(name).render(**variables)


def source(name: str) -> str:
    """Where a prompt comes from: paper, table or figure, section. Raises: ValueError for an unknown name."""
    return template(name).source


def sha(name: str) -> str:
    """The short hash of a prompt's text, for signatures. Raises: ValueError for an unknown name."""
    return template(name).sha
