"""Who answered, held against whom the paper asked: a graded answer.

An API serves changing models under one name, and one model stands behind many servers.
What an answer says of itself decides: the name in it, and what the server says of the
weights. `data/models.toml` lists the snapshots of an API's name that the papers can have
asked.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from enum import StrEnum

from nlgeval_lib import weights
from reproduction.study.catalogue import Judge

# How the parts of a revision begin that say where a model runs; and those that say how
# its weights or its answers were changed.
_WHERE = ("at:", "owner:", "root:")
_CHANGED = ("extra:", "quantization", "load_in_4bit=", "load_in_8bit=")


class Identity(StrEnum):
    """How near the model that answered is to the one that the paper asked."""

    SNAPSHOT = "the same snapshot"
    NAME = "the same name, its snapshot not told"
    ELSEWHERE = "the same weights on another server"
    OTHER_DATE = "the same name at another date"
    OTHER = "another model"

    @property
    def papers_own(self) -> bool:
        """Whether its scores may stand in the paper's row: the model is the paper's, or
        nothing says that it is another one.
        """
        return self not in (Identity.OTHER_DATE, Identity.OTHER)


@functools.cache
def snapshots(model: str) -> tuple[str, ...]:
    """The snapshots of an API's model that the papers can have asked.

    model: its name, such as "gpt-4".
    Returns: none for a model with public weights, and for an unknown one.
    """
    try:
        return weights.snapshots(model)
    except FileNotFoundError:
        return ()


def identify_model(
    judge: Judge, model: str, revision: str, served: Collection[str] = ()
) -> Identity:
    """How near a model that answered is to a judge of the catalogue.

    judge: of the catalogue, with the model that the paper asked.
    served: the names in the answers; none of an engine that names no model.
    """
    base, root, moved = _read(model, revision)
    # Quantized weights, or answers that were asked with extra settings, are another
    # model's.
    for label in revision.split("+"):
        if label.startswith(_CHANGED):
            return Identity.OTHER
    declared = judge.revision
    if declared and base != declared and not base.startswith("sha256:"):
        return Identity.OTHER
    # On another server the name alone says little: it has to name the paper's weights.
    if moved:
        public = "/" in judge.model  # a hub's id: its weights are public
        as_named = set(served) <= {model, judge.model}
        if public and root == judge.model and as_named:
            return Identity.ELSEWHERE
        return Identity.OTHER
    if model != judge.model:
        return Identity.OTHER
    listed = snapshots(model)
    other_names = set(served) - {model}
    # An answer that names one of the papers' snapshots is the paper's.
    if other_names <= set(listed):
        names_snapshots = other_names and model not in served
        if names_snapshots or not listed:
            return Identity.SNAPSHOT
        return Identity.NAME
    if all(name.startswith(model) for name in other_names):
        return Identity.OTHER_DATE
    return Identity.OTHER


def _read(model: str, revision: str) -> tuple[str, str, bool]:
    """What a revision says of the model that answered: its base, the weights that its
    server names, and whether it is of another server than the model's own.
    """
    base = ""
    root = ""
    owner = ""
    moved = False
    for label in revision.split("+"):
        kind, _, value = label.partition(":")
        if kind == "at":
            moved = True
        elif kind == "root":
            root = value
        elif kind == "owner":
            owner = value
        elif not base and not label.startswith(_WHERE):
            base = label
    # vLLM names the weights of every model; a revision leaves out those of its name.
    if not root and owner == "vllm":
        root = model
    return base, root, moved


def who(model: str, revision: str, served: Collection[str]) -> str:
    """The name of whoever answered, as a table shows it.

    Example:
    >>> who("gpt-4", "", ["gpt-4-0613"])
    'gpt-4-0613 (asked as gpt-4)'
    """
    other_names = sorted(set(served) - {model})
    if not other_names:
        return f"{model}@{revision}".rstrip("@")
    names = " and ".join(other_names)
    if model in served:
        names = f"{model} and {names}"
    place = f"@{revision}" if revision else ""
    return f"{names}{place} (asked as {model})"
