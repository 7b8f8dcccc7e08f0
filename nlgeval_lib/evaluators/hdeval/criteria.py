"""The hierarchy of criteria, and the prompts that score or decompose a criterion.

Source: HD-Eval, section 2.1; published decompositions: Tables 10 to 12, Figure 3.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.evaluators.base import choose, field_of, named_texts
from nlgeval_lib.names import near, plain
from nlgeval_lib.records import Completion, Judgment, Sample

if TYPE_CHECKING:
    from nlgeval_lib.parsers.lists import Criterion as Listed

PUBLISHED = ("data_to_text", "summeval", "topical_chat")


@dataclass(frozen=True, slots=True)
class Criterion:
    """One criterion: what is judged, and the finer criteria that it is decomposed into.

    id: its name in frames and settings, such as "logical_flow"; unique in a tree.
    name: in prompts, such as "Logical flow".
    definition: what it asks of a text; "" where none is known.
    origin: printed (in the paper), ours, given (by the user) or generated (by a model).
    """

    id: str
    name: str
    definition: str = ""
    children: tuple[Criterion, ...] = ()
    origin: str = ""


# The root of a tree, where no paper names one.
OVERALL = Criterion(
    "overall", "Overall quality", "How good the text is on the whole.", origin="ours"
)


@dataclass(frozen=True, slots=True)
class Node:
    """A criterion in a tree: layer 0 is the task as a whole, which has no parent."""

    criterion: Criterion
    layer: int
    parent: Criterion | None

    @property
    def id(self) -> str:
        """The criterion's id."""
        return self.criterion.id


@dataclass(frozen=True)
class CriteriaTree:
    """A task's overall quality (layer 0) and its criteria; `source`: where from.
    Raises: ValueError where an id is empty or is there twice, or there is no name.
    """

    root: Criterion
    source: str = ""

    def __post_init__(self) -> None:
        ids: set[str] = set()
        for node in self.walk():
            if not node.id or not node.criterion.name:
                raise ValueError(
                    f"criterion {node.id!r} ({node.criterion.name!r}): "
                    "an id and a name are needed"
                )
            if node.id in ids:
                raise ValueError(
                    f"two criteria have the id {node.id!r}; ids must differ"
                )
            ids.add(node.id)

    def walk(self) -> Iterator[Node]:
        """Every node, layer by layer, in order; the root first."""
        queue = [Node(self.root, 0, None)]
        for node in queue:
            yield node
            for child in node.criterion.children:
                queue.append(Node(child, node.layer + 1, node.criterion))

    def nodes(self, layers: Iterable[int] | None = None) -> list[Node]:
        """The nodes of some layers, by default of all but the root."""
        every = list(self.walk())
        if layers is None:
            return every[1:]
        chosen = set(layers)
        return [node for node in every if node.layer in chosen]

    @property
    def depth(self) -> int:
        """The number of the lowest layer: 0 for a task without criteria."""
        return max(node.layer for node in self.walk())

    def node(self, id: str) -> Node:
        """The node of an id. Raises: ValueError naming the nearest."""
        nodes = {node.id: node for node in self.walk()}
        if id not in nodes:
            nearest = ", ".join(near(id, nodes) or nodes)
            raise ValueError(f"no criterion {id!r}; nearest: {nearest}")
        return nodes[id]

    def of_target(self, target: str) -> str | None:
        """The id of the layer-1 criterion that is a rated aspect, or None."""
        for node in self.nodes([1]):
            if plain(target) in (plain(node.id), plain(node.criterion.name)):
                return node.id
        return None

    def show(self, below: Criterion | None = None, indent: str = "") -> str:
        """The tree as text, a line a criterion, each layer two blanks further in."""
        criterion = below or self.root
        lines = [f"{indent}{criterion.name} ({criterion.id})"]
        for child in criterion.children:
            lines.append(self.show(child, indent + "  "))
        return "\n".join(lines)

    def with_children(
        self, id: str, children: Sequence[tuple[str, str]], origin: str = "generated"
    ) -> CriteriaTree:
        """The tree with finer criteria (name, definition) below the one of an id; their
        ids are made from the names. Raises: ValueError for none.
        """
        self.node(id)
        ids = {node.id for node in self.walk()}
        added: tuple[Criterion, ...] = ()
        for name, definition in children:
            # The name in small letters; where that is an id already, with a number.
            stem = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:40]
            stem = stem or "criterion"
            child_id = stem
            numbers = itertools.count(2)
            while child_id in ids:
                child_id = f"{stem}_{next(numbers)}"
            ids.add(child_id)
            added += (Criterion(child_id, name, definition, origin=origin),)

        def grown(criterion: Criterion) -> Criterion:
            below = tuple(map(grown, criterion.children))
            if criterion.id == id:
                below += added
            return replace(criterion, children=below)

        return replace(self, root=grown(self.root))

    def first_layer(self) -> CriteriaTree:
        """The tree without what is below layer 1."""
        first = [replace(child, children=()) for child in self.root.children]
        return replace(self, root=replace(self.root, children=tuple(first)))

    @classmethod
    def from_criteria(cls, criteria: Mapping[str, str] | Iterable[str]) -> CriteriaTree:
        """A tree of one layer, of names or names with definitions."""
        if not isinstance(criteria, Mapping):
            criteria = dict.fromkeys(criteria, "")
        if not criteria:
            raise ValueError("no criteria: give at least one name")
        children = []
        for name, definition in named_texts("criteria", criteria).items():
            children.append((name, definition or f"The {name} of the text."))
        tree = cls(OVERALL, "given")
        return tree.with_children(OVERALL.id, children, origin="given")

    @classmethod
    def published(cls, name: str) -> CriteriaTree:
        """The decomposition that the paper prints: summeval (Table 11), topical_chat
        (Table 10) or data_to_text (Table 12). Raises: NotAllowed.
        """
        choose("published criteria", name, PUBLISHED)
        data = prompts.load_definitions(f"hdeval_{name}")
        children = tuple(map(_criterion, data["criteria"]))
        return cls(replace(OVERALL, children=children), data["source"])

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CriteriaTree:
        """The tree of `dataclasses.asdict`."""
        return cls(_criterion(data["root"]), str(data["source"]))


def _criterion(entry: Mapping[str, Any]) -> Criterion:
    """A criterion of a JSON file, with those below it."""
    fields = ("id", "name", "definition", "origin")
    return Criterion(
        **{field: str(entry.get(field, "")) for field in fields},
        children=tuple(map(_criterion, entry.get("children", ()))),
    )


DECOMPOSE = "hdeval/decompose"


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is evaluated, with the words of its prompts.

    name: summary, dialogue, data_to_text or general.
    task, background: its name and background in the decomposition prompt.
    evaluate, sample: the templates that score a criterion and lay out a sample ("":
    blocks with labels).
    fields: slot of that template, or label -> field of a sample.
    needs: the fields that samples must have beside the output.
    criteria: the published decomposition; "" where there is none.
    origin: whether the words are printed or ours.
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
        """The task of a name; general is for anything else. Raises: NotAllowed."""
        tasks = prompts.load_definitions("hdeval_tasks")["tasks"]
        return cls(name=name, **tasks[choose("task", name, tasks)])

    def show(self, sample: Sample) -> str:
        """The sample as the prompts show it; samples that look alike are one output."""
        texts = {slot: field_of(sample, field) for slot, field in self.fields.items()}
        if self.sample:
            return prompts.render(self.sample, **texts)
        blocks = []
        for label, text in texts.items():
            if text or label == "Output":
                blocks.append(f"{label}:\n{text}")
        return "\n\n".join(blocks)

    def scoring_prompt(self, node: Node, sample: str) -> str:
        """The prompt for the score of one criterion of a shown sample
        (hierarchy-aware).

        Source: HD-Eval, section 2.1, Figures 11 to 13.
        """
        parent = node.parent or node.criterion  # the task as a whole has none
        return prompts.render(
            self.evaluate,
            parent_criteria=_in_sentence(parent.name),
            child_criteria=node.criterion.name,
            definition=node.criterion.definition,
            sample=sample,
        )

    def decomposition_prompt(self, criterion: Criterion, count: int) -> str:
        """The prompt for at most `count` finer criteria (equation 1, Figure 10)."""
        criteria = f"its {_in_sentence(criterion.name)}"
        definition = re.sub(r"[\s.]+$", "", criterion.definition)
        if definition:
            criteria += f" ({definition})"
        return prompts.render(
            DECOMPOSE,
            task=self.task,
            background=self.background,
            criteria=criteria,
            count=count,
        )


def finer(
    completion: Completion, parent: Criterion, most: int
) -> tuple[list[tuple[str, str]], str]:
    """The finer criteria that a model listed, as (name, definition), each name once and
    none the parent's, and ""; or none and the reason. Never raises on any text.
    """
    from nlgeval_lib.evaluators.judge import answered, failed
    from nlgeval_lib.parsers.lists import criteria

    failure = failed(completion)
    if failure:
        return [], failure.reason
    listing = criteria(answered(completion, lists=True).text)
    if not listing.ok:
        return [], listing.reason
    listed = listing.value
    parent_name = parent.name.casefold()
    if len(listed) == 1 and listed[0].name.casefold() == parent_name:
        listed = listed[0].children  # the list stands under the criterion's name
    children: dict[str, tuple[str, str]] = {}
    for item in listed:
        name = item.name.casefold()
        if name != parent_name:
            children.setdefault(name, (item.name, _definition(item)))
    if not children:
        return [], "the list names nothing but the criterion itself"
    return list(children.values())[:most], ""


def _definition(item: Listed) -> str:
    """The definition of a listed criterion, else the list below it, else its name."""
    if item.definition:
        return item.definition
    below = []
    for child in item.children:
        below.append(f"{child.name}: {child.definition}".rstrip(": "))
    return "; ".join(below) or f"The {_in_sentence(item.name)} of the text."


def _in_sentence(name: str) -> str:
    """A name inside a sentence: "topic relevance", and "NLI" stays."""
    if name[1:2].isupper():
        return name
    return name[:1].lower() + name[1:]


def values(scores: Mapping[str, Sequence[Judgment]], index: Any = None) -> pd.DataFrame:
    """The numbers of criteria's judgments: [outputs, criteria], NaN for none."""
    columns = {}
    for criterion, judgments in scores.items():
        columns[criterion] = [judgment.value for judgment in judgments]
    return pd.DataFrame(columns, index, dtype=np.float64)
