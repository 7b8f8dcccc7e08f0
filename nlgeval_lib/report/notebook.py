"""A notebook's source, read strictly: its cells and its typed parameters.

The cell tagged `parameters` holds plain assignments of literals. A default fixes the type of its parameter: a bool is
no int, an int may be given where a float stands, an annotation (`limit: int | None = None`) widens.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlgeval_lib import files
from nlgeval_lib.names import meant

_NAMED = {"int": int, "float": float, "str": str, "bool": bool, "list": list, "dict": dict}


class NotebookRefused(ValueError):
    """The notebook or the parameters given to it break the rules; nothing was run."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One assignment of the parameters cell."""

    name: str
    default: Any
    kinds: tuple[type, ...]  # what may be given; empty: anything (a default of None without an annotation)

    def accept(self, value: Any) -> Any:
        """`value` as this parameter's type. Raises: NotebookRefused with the type wanted and the type given."""
        if not self.kinds:
            return value
        for kind in self.kinds:
            if type(value) is kind and self._parts_fit(value):
                return value
        if float in self.kinds and type(value) is int:
            return float(value)
        wanted = " or ".join("None" if kind is type(None) else kind.__name__ for kind in self.kinds)
        if self.kinds == (list,) and self.default:
            wanted = f"list of {_kind_names(self.default)}"
        raise NotebookRefused(
            f"parameter {self.name!r} is {value!r} ({type(value).__name__}); "
            f"its default {self.default!r} asks for {wanted}"
        )

    def _parts_fit(self, value: Any) -> bool:
        if type(value) is not list or not isinstance(self.default, list) or not self.default:
            return True
        allowed = {type(part) for part in self.default}
        if float in allowed:
            allowed.add(int)
        return all(type(part) in allowed for part in value)

    def read(self, text: str) -> Any:
        """The value that `text` from a command line stands for. Raises: NotebookRefused where it is of another type."""
        if self.kinds and set(self.kinds) <= {str, type(None)}:
            return None if text == "None" and type(None) in self.kinds else text
        if bool in self.kinds and text in ("true", "false"):
            return text == "true"
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = text
        return self.accept(value)


@dataclass(frozen=True, slots=True)
class Source:
    """A notebook as its author wrote it: no outputs, no execution counts."""

    path: Path
    cells: tuple[tuple[str, str, tuple[str, ...]], ...]  # kind, source, tags
    parameters: Mapping[str, Parameter]

    def resolve(self, given: Mapping[str, Any], automatic: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The values to inject: `given`, checked, and those of `automatic` that the notebook has a parameter for.

        Raises: NotebookRefused for an unknown name or a wrong type, naming all of them.
        """
        faults = []
        values: dict[str, Any] = {}
        for name, value in {**(automatic or {}), **given}.items():
            if name not in self.parameters:
                if name in given:
                    hint = meant(name, self.parameters, ".")
                    faults.append(f"unknown parameter {name!r}{hint} Known: {_listed(self)}")
                continue
            try:
                values[name] = self.parameters[name].accept(value)
            except NotebookRefused as error:
                faults.append(str(error))
        if faults:
            raise NotebookRefused(f"{shown(self.path)}: " + "; ".join(faults))
        return values


def shown(path: Path) -> str:
    """`path` relative to the checkout where it lies in it."""
    try:
        return path.resolve().relative_to(files.root()).as_posix()
    except ValueError:
        return str(path)


def read(path: Path) -> Source:
    """The notebook at `path`. Raises: NotebookRefused where it is no notebook or has no readable parameters cell."""
    name = shown(path)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotebookRefused(f"{name}: there is no such notebook") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise NotebookRefused(f"{name}: not a notebook: {error}") from None
    if not isinstance(document, dict) or document.get("nbformat") != 4 or not isinstance(document.get("cells"), list):
        raise NotebookRefused(f"{name}: not a notebook of format 4; open and save it in JupyterLab")
    language = document.get("metadata", {}).get("kernelspec", {}).get("language", "python")
    if language != "python":
        raise NotebookRefused(f"{name}: its language is {language!r}; only python notebooks are run")
    cells = tuple(_cell(cell) for cell in document["cells"])
    tagged = [source for kind, source, tags in cells if "parameters" in tags and kind == "code"]
    if not tagged:
        raise NotebookRefused(
            f"{name}: no code cell is tagged 'parameters'; tag the cell that assigns mode and seed "
            "(JupyterLab: property inspector, cell tags)"
        )
    if len(tagged) > 1:
        raise NotebookRefused(f"{name}: {len(tagged)} cells are tagged 'parameters'; exactly one may be")
    return Source(path, cells, _parameters(tagged[0], name))


def _cell(cell: Mapping[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    source = cell.get("source", "")
    text = "".join(source) if isinstance(source, list) else source
    return cell.get("cell_type", ""), text, tuple(cell.get("metadata", {}).get("tags", ()))


def _parameters(source: str, name: str) -> dict[str, Parameter]:
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise NotebookRefused(f"{name}: parameters cell, line {error.lineno}: {error.msg}") from None
    found: dict[str, Parameter] = {}
    for node in tree.body:
        where = f"{name}: parameters cell, line {node.lineno}"
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            continue  # a docstring
        target, value, annotation = _assignment(node)
        if target is None or value is None:
            raise NotebookRefused(f"{where}: only plain assignments `name = value` stand in this cell")
        if target in found:
            raise NotebookRefused(f"{where}: {target!r} is assigned twice")
        try:
            default = ast.literal_eval(value)
        except ValueError:
            raise NotebookRefused(f"{where}: the default of {target!r} must be a literal value") from None
        found[target] = Parameter(target, default, _kinds(annotation, default, where))
    return found


def _assignment(node: ast.stmt) -> tuple[str | None, ast.expr | None, ast.expr | None]:
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id, node.value, None
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id, node.value, node.annotation
    return None, None, None


def _kinds(annotation: ast.expr | None, default: Any, where: str) -> tuple[type, ...]:
    if annotation is None:
        if default is not None and type(default) not in _NAMED.values():
            raise NotebookRefused(f"{where}: a parameter is one of {', '.join(_NAMED)} or None, not {default!r}")
        return () if default is None else (type(default),)
    kinds: list[type] = []
    for part in ast.unparse(annotation).replace(" ", "").split("|"):
        base = part.split("[")[0]
        if base in _NAMED:
            kinds.append(_NAMED[base])
        elif base == "None":
            kinds.append(type(None))
        else:
            raise NotebookRefused(
                f"{where}: annotation {part!r} is not understood; use {', '.join(_NAMED)} or None, joined by |"
            )
    Parameter("default", default, tuple(kinds)).accept(default)
    return tuple(kinds)


def _kind_names(values: list[Any]) -> str:
    return " or ".join(sorted({type(value).__name__ for value in values}))


def _listed(source: Source) -> str:
    return ", ".join(source.parameters) or "none"
