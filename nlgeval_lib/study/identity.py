"""Who answered, held against whom the paper asked: a graded answer.

An API serves changing models under one name, and one model stands behind many servers.
What an answer says of itself decides: the name in it, and what the server says of the
weights. `data/models.csv` lists the snapshots of an API's name that the papers can have
asked.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Collection
from enum import StrEnum

from nlgeval_lib import files
from nlgeval_lib.study.catalogue import Judge

# Parts of a revision that say where a model runs; others say how its weights or its
# answers were changed.
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
        """Whether its scores may stand in the paper's row."""
        return self not in (Identity.OTHER_DATE, Identity.OTHER)


@functools.cache
def snapshots(model: str) -> tuple[str, ...]:
    """The snapshots of an API's model that the papers can have asked; none for
    weights.
    """
    path = files.data() / "models.csv"
    if not path.is_file():
        return ()
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["model"] == model:
                return tuple((row.get("snapshots") or "").split())
    return ()


def of(
    judge: Judge,
    model: str,
    revision: str,
    served: Collection[str] = (),
) -> Identity:
    """How near a model that answered is to a judge of the catalogue.

    model, revision: as the store has them. served: the names in the answers; none of
    an engine that names no model.
    """
    base, root, moved = _read(model, revision)
    for label in revision.split("+"):
        if label.startswith(_CHANGED):
            return Identity.OTHER
    declared = judge.revision
    if declared and base != declared and not base.startswith("sha256:"):
        return Identity.OTHER
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
    if other_names <= set(listed):
        names_snapshots = other_names and model not in served
        if names_snapshots or not listed:
            return Identity.SNAPSHOT
        return Identity.NAME
    if all(name.startswith(model) for name in other_names):
        return Identity.OTHER_DATE
    return Identity.OTHER


def _read(model: str, revision: str) -> tuple[str, str, bool]:
    """The base of a revision, the weights that its server names, and whether it is of
    another server than the model's own.

    vLLM names the weights of every model that it serves, and a revision leaves them out
    where they are called as the model is.
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
    if not root and owner == "vllm":
        root = model
    return base, root, moved


def who(model: str, revision: str, served: Collection[str]) -> str:
    """The name of whoever answered, as a table shows it."""
    other_names = sorted(set(served) - {model})
    if not other_names:
        return f"{model}@{revision}".rstrip("@")
    names = " and ".join(other_names)
    if model in served:
        names = f"{model} and {names}"
    place = f"@{revision}" if revision else ""
    return f"{names}{place} (asked as {model})"
