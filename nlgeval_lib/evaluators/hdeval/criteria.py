"""The hierarchy of criteria, and the prompts that score a criterion or decompose it
into finer ones.

Source: HD-Eval, section 2.1; published decompositions: Tables 10 to 12, Figure 3.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.evaluators.base import choose, field_of
from nlgeval_lib.evaluators.judge import failed
from nlgeval_lib.names import near, plain
from nlgeval_lib.parsers.lists import criteria
from nlgeval_lib.records import Completion, Judgment, Sample

PUBLISHED = ("data_to_text", "summeval", "topical_chat")


@dataclass(frozen=True, slots=True)
class Criterion:
    """One node: what is judged, and the finer criteria that it is decomposed into."""

    id: str
    name: str
    definition: str = ""
    children: tuple[Criterion, ...] = ()
    origin: str = ""  # printed, ours, generated


@dataclass(frozen=True, slots=True)
class Node:
    """A criterion where it stands: its layer (0 is the task as a whole) and its
    parent.
    """

    criterion: Criterion
    layer: int
    parent: Criterion | None

    @property
    def id(self) -> str:
        """The criterion's id."""
        return self.criterion.id


@dataclass(frozen=True)
class CriteriaTree:
    """A task and its criteria. `root` is the task's overall quality, layer 0; its
    children are layer 1, and so on.

    Raises: ValueError where an id is empty or is there twice, or a criterion has no
    name.
    """

    root: Criterion
    source: str = ""

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for node in self.walk():
            if not node.id or not node.criterion.name:
                raise ValueError(
                    f"criterion {node.id!r} ({node.criterion.name!r}): an id and a name are needed"
                )
            if node.id in seen:
                raise ValueError(
                    f"two criteria have the id {node.id!r}; ids must differ"
                )
            seen.add(node.id)

    def walk(self) -> Iterator[Node]:
        """Every node, layer by layer, in order; the root first."""
        row = [Node(self.root, 0, None)]
        while row:
            yield from row
            row = [
                Node(child, node.layer + 1, node.criterion)
                for node in row
                for child in node.criterion.children
            ]

    def nodes(self, layers: Iterable[int] | None = None) -> list[Node]:
        """The nodes of some layers, by default of all but the root."""
        wanted = None if layers is None else set(layers)
        return [
            node
            for node in self.walk()
            if (node.layer > 0 if wanted is None else node.layer in wanted)
        ]

    @property
    def depth(self) -> int:
        """The number of the lowest layer: 0 for a task without criteria."""
        return max(node.layer for node in self.walk())

    def node(self, id: str) -> Node:
        """The node of an id. Raises: ValueError naming the nearest."""
        known = {node.id: node for node in self.walk()}
        if id not in known:
            raise ValueError(
                f"no criterion {id!r}; nearest: {', '.join(near(id, known) or known)}"
            )
        return known[id]

    def of_target(self, target: str) -> str | None:
        """The id of the layer-1 criterion that is the rated aspect `target`, by id
        or name; None if there is none.
        """
        wanted = plain(target)
        names = (
            (node.id, {plain(node.id), plain(node.criterion.name)})
            for node in self.nodes([1])
        )
        return next((id for id, known in names if wanted in known), None)

    def show(self) -> str:
        """The tree as indented text."""

        def lines(criterion: Criterion) -> list[str]:
            below = [
                f"  {line}" for child in criterion.children for line in lines(child)
            ]
            return [f"{criterion.name} ({criterion.id})", *below]

        return "\n".join(lines(self.root))

    def with_children(
        self, id: str, children: Sequence[tuple[str, str]], origin: str = "generated"
    ) -> CriteriaTree:
        """The tree with finer criteria (name, definition) added below one; their ids
        are made from their names.
        """
        self.node(id)
        taken = {node.id for node in self.walk()}
        added: tuple[Criterion, ...] = ()
        for name, definition in children:
            new = stem = (
                re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:40] or "criterion"
            )
            numbers = itertools.count(2)
            while new in taken:
                new = f"{stem}_{next(numbers)}"
            added += (Criterion(new, name, definition, origin=origin),)
            taken.add(new)

        def grown(criterion: Criterion) -> Criterion:
            below = tuple(grown(child) for child in criterion.children)
            return replace(
                criterion, children=below + (added if criterion.id == id else ())
            )

        return replace(self, root=grown(self.root))

    def up_to(self, layer: int) -> CriteriaTree:
        """The tree without what is below a layer; 0 is the task alone."""

        def cut(criterion: Criterion, left: int) -> Criterion:
            return replace(
                criterion,
                children=tuple(cut(c, left - 1) for c in criterion.children)
                if left
                else (),
            )

        return replace(self, root=cut(self.root, layer))

    @classmethod
    def of(
        cls, criteria: Mapping[str, str] | Iterable[str], source: str = "given"
    ) -> CriteriaTree:
        """A tree of one layer from names, or names with definitions.

        Raises: ValueError for none.
        """
        given = (
            dict(criteria)
            if isinstance(criteria, Mapping)
            else {name: "" for name in criteria}
        )
        if not given:
            raise ValueError("no criteria: give at least one name")
        pairs = [
            (name, definition or f"The {name} of the text.")
            for name, definition in given.items()
        ]
        return cls(OVERALL, source).with_children(OVERALL.id, pairs, origin="given")

    @classmethod
    def published(cls, name: str) -> CriteriaTree:
        """The decomposition that the paper prints: summeval (Table 11), topical_chat
        (10) or data_to_text (12).

        Raises: ValueError for another name.
        """
        data = prompts.load_definitions(
            f"hdeval_{choose('published criteria', name, PUBLISHED)}"
        )
        layer1 = tuple(_criterion(entry) for entry in data["criteria"])
        return cls(replace(OVERALL, children=layer1), data["source"])

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CriteriaTree:
        """The tree of `dataclasses.asdict`.

        Raises: ValueError, KeyError, TypeError or AttributeError.
        """
        return cls(_criterion(data["root"]), str(data["source"]))


OVERALL = Criterion(
    "overall", "Overall quality", "How good the text is on the whole.", origin="ours"
)


def _criterion(entry: Mapping[str, Any]) -> Criterion:
    texts = {
        key: str(entry.get(key, "")) for key in ("id", "name", "definition", "origin")
    }
    return Criterion(
        **texts,
        children=tuple(_criterion(child) for child in entry.get("children", ())),
    )


DECOMPOSE = "hdeval/decompose"


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is evaluated: its name and background for the decomposition prompt, its
    scoring prompt and sample layout.

    evaluate, sample: names of templates. fields: slot of the layout, or without one
    label -> field of a sample.
    """

    name: str
    task: str
    background: str
    evaluate: str
    sample: str
    fields: Mapping[str, str]
    needs: Sequence[str]
    criteria: str
    origin: str

    @classmethod
    def named(cls, name: str) -> Task:
        """summary, dialogue, data_to_text, or general for anything else.

        Raises: ValueError for another name.
        """
        known = prompts.load_definitions("hdeval_tasks")["tasks"]
        return cls(name=name, **known[choose("task", name, known)])

    def show(self, sample: Sample) -> str:
        """The sample as the prompts show it."""
        held = {slot: field_of(sample, field) for slot, field in self.fields.items()}
        if self.sample:
            return prompts.render(self.sample, **held)
        return "\n\n".join(
            f"{label}:\n{text}"
            for label, text in held.items()
            if text or label == "Output"
        )

    def scoring_prompt(self, node: Node, shown: str) -> str:
        """The prompt for the score of one criterion, with its parent, of a sample as
        `show` gives it.

        Source: HD-Eval, Figures 11 to 13.
        """
        return prompts.render(
            self.evaluate,
            parent_criteria=_in_sentence((node.parent or node.criterion).name),
            child_criteria=node.criterion.name,
            definition=node.criterion.definition,
            sample=shown,
        )

    def decomposition_prompt(self, criterion: Criterion, count: int) -> str:
        """The prompt that asks for finer criteria below one.

        Source: HD-Eval, equation 1, Figure 10.
        """
        definition = re.sub(r"[\s.]+$", "", criterion.definition)
        asked = f"its {_in_sentence(criterion.name)}" + (
            f" ({definition})" if definition else ""
        )
        return prompts.render(
            DECOMPOSE,
            task=self.task,
            background=self.background,
            criteria=asked,
            count=count,
        )


def finer(
    completion: Completion, parent: Criterion, most: int
) -> tuple[list[tuple[str, str]], str]:
    """(name, definition) of each finer criterion that a model listed, or the reason why
    there is none.

    At most `most`, each name once and none the parent's. Never raises on any text.
    """
    if lost := failed(completion):
        return [], lost.reason
    found = criteria(completion.text)
    if not found.ok:
        return [], found.reason
    listed = found.value
    own = parent.name.casefold()
    if len(listed) == 1 and listed[0].name.casefold() == own:
        listed = listed[0].children  # the list stands under the criterion's name
    children: dict[str, tuple[str, str]] = {}
    for item in listed:
        below = "; ".join(
            f"{child.name}: {child.definition}".rstrip(": ") for child in item.children
        )
        definition = (
            item.definition or below or f"The {_in_sentence(item.name)} of the text."
        )
        if item.name.casefold() != own:
            children.setdefault(item.name.casefold(), (item.name, definition))
    return list(children.values())[
        :most
    ], "" if children else "the list names nothing but the criterion itself"


def _in_sentence(name: str) -> str:
    """A name as it stands inside a sentence: "Topic relevance" becomes "topic
    relevance", "NLI" stays.
    """
    return name if name[1:2].isupper() else name[:1].lower() + name[1:]


def values(scores: Mapping[str, Sequence[Judgment]], index: Any = None) -> pd.DataFrame:
    """The numbers of criteria's judgments, criterion -> a judgment an output:
    [outputs, criteria], NaN for none.
    """
    found = {
        name: [judgment.value for judgment in column] for name, column in scores.items()
    }
    return pd.DataFrame(found, index, dtype=np.float64)
