"""An HD-Eval evaluator as one JSON file: criteria, aggregator, settings, the history of its training. No pickle."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlgeval_lib import files
from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator
from nlgeval_lib.evaluators.hdeval.criteria import CriteriaTree
from nlgeval_lib.evaluators.hdeval.scoring import Task
from nlgeval_lib.evaluators.hdeval.train import Layer
from nlgeval_lib.prompts.template import Slot, Template

if TYPE_CHECKING:
    from nlgeval_lib.evaluators.hdeval.evaluator import HDEval

FORMAT = "nlgeval hdeval 1"


def save(judge: HDEval, path: Path | str) -> None:
    """Write the evaluator; a failure leaves an older file as it was."""
    data = {
        "format": FORMAT,
        "version": judge.version,
        "signature": judge.signature(),
        "task": _task_to_json(judge.task),
        "tree": judge.tree.to_json(),
        "layers": judge.layers,
        "use": judge.use,
        "seed": judge.seed,
        "sampling": dataclasses.asdict(judge.sampling),
        "decompose_sampling": dataclasses.asdict(judge.decompose_sampling),
        "chat": dataclasses.asdict(judge.chat),
        "missing": judge.missing.policy,
        "structured": judge.structured,
        "aggregator": judge.aggregator.to_json(),
        "history": [layer.to_json() for layer in judge.history],
    }
    files.write_text(path, json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":")) + "\n")


def load(cls: type[HDEval], path: Path | str, **judge: Any) -> HDEval:
    """Read an evaluator; settings in `judge` replace those of the file."""
    from nlgeval_lib.evaluators.chat import ChatFormat

    path = Path(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise ValueError(f"{path} is no saved HD-Eval evaluator: its format is {found!r}, needed is {FORMAT!r}")
    try:
        settings = {key: data[key] for key in ("layers", "use", "seed", "sampling", "decompose_sampling")}
        settings |= {"missing": data["missing"], "structured": data["structured"]}
        settings["chat"] = ChatFormat(**data["chat"])
        self = cls(
            _task_from_json(data["task"]),
            CriteriaTree.from_json(data["tree"]),
            Aggregator.from_json(data["aggregator"]),
            **{**settings, **judge},
        )
        self.history = tuple(Layer.from_json(layer) for layer in data["history"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path}: {error!r}" if isinstance(error, KeyError) else f"{path}: {error}") from None
    known = {node.id for node in self.tree.walk()}
    if lost := [name for name in self.aggregator.criteria if name not in known]:
        raise ValueError(f"{path}: the aggregator needs {', '.join(lost)}, which the saved criteria do not have")
    return self


def digest(ids: Sequence[str], tree: CriteriaTree) -> str:
    """Six hexadecimal digits that change with the criteria's ids, names and definitions."""
    wanted = set(ids)
    told = [
        (n.id, n.criterion.name, n.criterion.definition, n.parent and n.parent.name)
        for n in tree.walk()
        if n.id in wanted
    ]
    return hashlib.sha256(json.dumps(told, ensure_ascii=True).encode()).hexdigest()[:6]


def _task_to_json(task: Task) -> dict[str, Any]:
    return {
        "name": task.name,
        "task": task.task,
        "background": task.background,
        "evaluate": _template_to_json(task.evaluate),
        "sample": task.sample and _template_to_json(task.sample),
        "fields": dict(task.fields),
        "needs": list(task.needs),
        "criteria": task.criteria,
    }


def _task_from_json(data: dict[str, Any]) -> Task:
    texts = {key: data[key] for key in ("name", "task", "background", "criteria")}
    sample = data["sample"] and _template_from_json(data["sample"])
    return Task(
        **texts,
        evaluate=_template_from_json(data["evaluate"]),
        sample=sample,
        fields=data["fields"],
        needs=tuple(data["needs"]),
    )


def _template_to_json(template: Template) -> dict[str, Any]:
    parts = [part if isinstance(part, str) else {"slot": part.name} for part in template.parts]
    told = {key: getattr(template, key) for key in ("name", "title", "source", "status", "note")}
    return {**told, "covers": list(template.covers), "described": dict(template.described), "parts": parts}


def _template_from_json(data: dict[str, Any]) -> Template:
    parts = tuple(part if isinstance(part, str) else Slot(part["slot"]) for part in data["parts"])
    told = {key: data[key] for key in ("name", "title", "source", "status", "note", "described")}
    return Template(parts=parts, covers=tuple(data["covers"]), **told)
