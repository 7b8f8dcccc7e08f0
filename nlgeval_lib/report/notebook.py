"""A notebook's source, read strictly: its cells and its typed parameters.

The cell tagged `parameters` holds plain assignments of literals. A default fixes the
type of its parameter: a bool is no int, an int may be given where a float stands, an
annotation (`limit: int | None = None`) widens.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from nlgeval_lib import files
from nlgeval_lib.names import meant

_NAMED: dict[str, Any] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "list": list,
    "dict": dict,
}


class NotebookRefused(ValueError):
    """The notebook or the parameters given to it break the rules; nothing was run."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One assignment of the parameters cell."""

    name: str
    default: Any
    kind: Any  # its type; Any for a default of None without an annotation

    def accept(self, value: Any) -> Any:
        """`value` as this parameter's type.

        Raises: NotebookRefused with the type wanted and the type given.
        """
        try:
            return TypeAdapter(
                self.kind, config=ConfigDict(strict=True)
            ).validate_python(value)
        except ValidationError:
            wanted = (
                self.kind.__name__ if isinstance(self.kind, type) else str(self.kind)
            )
            raise NotebookRefused(
                f"parameter {self.name!r} is {value!r} ({type(value).__name__}); "
                f"its default {self.default!r} asks for {wanted}"
            ) from None

    def read(self, text: str) -> Any:
        """The value that `text` from a command line stands for.

        Raises: NotebookRefused where it is of another type.
        """
        if self.kind is bool and text in ("true", "false"):
            return text == "true"
        try:
            return self.accept(text if self.kind is str else ast.literal_eval(text))
        except (ValueError, SyntaxError):
            return self.accept(text)


@dataclass(frozen=True, slots=True)
class Source:
    """A notebook as its author wrote it: no outputs, no execution counts."""

    path: Path
    cells: tuple[tuple[str, str, tuple[str, ...]], ...]  # kind, source, tags
    parameters: Mapping[str, Parameter]

    def resolve(
        self, given: Mapping[str, Any], automatic: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """`given`, checked, and what of `automatic` the notebook has a parameter for.

        Raises: NotebookRefused.
        """
        faults = []
        values: dict[str, Any] = {}
        for name, value in {**(automatic or {}), **given}.items():
            if name in self.parameters:
                try:
                    values[name] = self.parameters[name].accept(value)
                except NotebookRefused as error:
                    faults.append(str(error))
            elif name in given:
                known = ", ".join(self.parameters) or "none"
                faults.append(
                    f"unknown parameter {name!r}{meant(name, self.parameters, '.')} Known: {known}"
                )
        if faults:
            raise NotebookRefused(f"{shown(self.path)}: " + "; ".join(faults))
        return values


def shown(path: Path) -> str:
    """`path` relative to the checkout where it lies in it."""
    whole = path.resolve()
    return (
        whole.relative_to(files.root()).as_posix()
        if whole.is_relative_to(files.root())
        else str(path)
    )


def read(path: Path) -> Source:
    """The notebook at `path`.

    Raises: NotebookRefused where it is no notebook or has no readable parameters cell.
    """
    name = shown(path)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotebookRefused(f"{name}: there is no such notebook") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise NotebookRefused(f"{name}: not a notebook: {error}") from None
    if (
        not isinstance(document, dict)
        or document.get("nbformat") != 4
        or not isinstance(document.get("cells"), list)
    ):
        raise NotebookRefused(
            f"{name}: not a notebook of format 4; open and save it in JupyterLab"
        )
    cells = tuple(
        (
            cell["cell_type"],
            "".join(cell["source"]),
            tuple(cell["metadata"].get("tags", ())),
        )
        for cell in document["cells"]
    )
    tagged = [
        source
        for kind, source, tags in cells
        if "parameters" in tags and kind == "code"
    ]
    if len(tagged) != 1:
        raise NotebookRefused(
            f"{name}: {len(tagged) or 'no'} code cell is tagged 'parameters'; tag the one that assigns mode and seed "
            "(JupyterLab: property inspector, cell tags)"
        )
    try:
        return Source(path, cells, _parameters(ast.parse(tagged[0])))
    except SyntaxError as error:
        raise NotebookRefused(
            f"{name}: parameters cell, line {error.lineno}: {error.msg}"
        ) from None


def _parameters(tree: ast.Module) -> dict[str, Parameter]:
    """Raises: SyntaxError with the line that breaks a rule."""
    found: dict[str, Parameter] = {}
    for node in tree.body:
        try:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    default = ast.literal_eval(value)
                    kind = _kind(default)
                case ast.AnnAssign(
                    target=ast.Name(id=name),
                    annotation=annotation,
                    value=ast.expr() as value,
                ):
                    default = ast.literal_eval(value)
                    kind = _annotated(annotation)
                case _:
                    raise ValueError(
                        "only plain assignments `name = value` stand in this cell"
                    )
            found[name] = Parameter(name, default, kind)
            found[name].accept(default)
        except ValueError as error:
            raise SyntaxError(str(error), ("", node.lineno, 0, "")) from None
    return found


def _kind(default: Any) -> Any:
    if default is None:
        return Any
    if isinstance(default, list) and default:
        kinds = {
            float if type(part) is int and float in map(type, default) else type(part)
            for part in default
        }
        return list if len(kinds) > 1 else list[kinds.pop()]  # type: ignore[misc]  # made at run time
    if type(default) not in _NAMED.values():
        raise ValueError(
            f"a parameter is one of {', '.join(_NAMED)} or None, not {default!r}"
        )
    return type(default)


def _annotated(node: ast.expr) -> Any:
    match node:
        case ast.Name(id=name) if name in _NAMED:
            return _NAMED[name]
        case ast.Constant(value=None):
            return None
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _annotated(left) | _annotated(right)
        case ast.Subscript(value=ast.Name(id="list"), slice=part):
            return list[_annotated(part)]  # type: ignore[misc]  # made at run time
    allowed = f"{', '.join(_NAMED)} or None, joined by |"
    raise ValueError(
        f"annotation {ast.unparse(node)!r} is not understood; use {allowed}"
    )
