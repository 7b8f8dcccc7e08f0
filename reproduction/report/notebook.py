"""A notebook's source, read strictly: its cells and its typed parameters.

The cell tagged `parameters` holds plain assignments of literals. A default fixes the
type of its parameter: a bool is no int, an int may be given where a float stands, an
annotation (`limit: int | None = None`) widens. Whatever breaks a rule is a
`NotebookRefused`.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from nlgeval_lib import files
from nlgeval_lib.errors import Told
from nlgeval_lib.names import meant

# The types of parameters, by the name that an annotation has for them.
_TYPES: dict[str, Any] = {
    kind.__name__: kind for kind in (int, float, str, bool, list, dict)
}

# What `ast.literal_eval` raises of a text that is no Python value.
NO_LITERAL = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)


class NotebookRefused(Told, ValueError):
    """The notebook or the parameters given to it break the rules; nothing was run."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One assignment of the parameters cell, with the type that it asks for; Any for a
    default of None without an annotation.
    """

    name: str
    default: Any
    kind: Any

    def accept(self, value: Any) -> Any:
        """`value` as this parameter's type. Raises: NotebookRefused."""
        adapter = TypeAdapter(self.kind, config=ConfigDict(strict=True))
        try:
            return adapter.validate_python(value)
        except ValidationError:
            kind = str(self.kind)
            if isinstance(self.kind, type):
                kind = self.kind.__name__
            raise NotebookRefused(
                f"parameter {self.name!r} is {value!r} ({type(value).__name__}); "
                f"its default {self.default!r} asks for {kind}"
            ) from None

    def read(self, text: str) -> Any:
        """The value that `text` from a command line stands for: a Python literal, `true`
        or `false`, or any text where the type is str. Raises: NotebookRefused.

        Example:
        >>> Parameter("limit", 3, int).read("5")
        5
        """
        if self.kind is bool and text in ("true", "false"):
            return text == "true"
        try:
            value = text if self.kind is str else ast.literal_eval(text)
            return self.accept(value)
        except NO_LITERAL:
            # No literal, or one of another type: the text itself may be meant, else
            # the error names it.
            return self.accept(text)


@dataclass(frozen=True, slots=True)
class Source:
    """A notebook as its author wrote it: of each cell its kind ("code", "markdown"), its
    source and its tags; and the parameters by name.
    """

    path: Path
    cells: tuple[tuple[str, str, tuple[str, ...]], ...]
    parameters: Mapping[str, Parameter]

    def resolve(
        self, chosen: Mapping[str, Any], automatic: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The values that a run is to have, checked; without defaults that nobody changed.

        chosen: by parameter; a name that the notebook has not is an error.
        automatic: values for notebooks that have a parameter for them.
        Raises: NotebookRefused that lists every fault.
        """
        faults = []
        values: dict[str, Any] = {}
        proposed = {**(automatic or {}), **chosen}
        for name, value in proposed.items():
            if name in self.parameters:
                try:
                    values[name] = self.parameters[name].accept(value)
                except NotebookRefused as error:
                    faults.append(str(error))
            elif name in chosen:
                hint = meant(name, self.parameters, ".")
                names = ", ".join(self.parameters) or "none"
                faults.append(f"unknown parameter {name!r}{hint} Known: {names}")
        if faults:
            raise NotebookRefused(f"{shown(self.path)}: " + "; ".join(faults))
        return values


def shown(path: Path) -> str:
    """`path` relative to the checkout where it lies in it."""
    resolved = path.resolve()
    if resolved.is_relative_to(files.root()):
        return resolved.relative_to(files.root()).as_posix()
    return str(path)


def read(path: Path) -> Source:
    """The notebook at `path`.

    Raises: NotebookRefused where it is no notebook of format 4, has no or several cells
    tagged `parameters`, or one that holds something else than assignments of literals.
    """
    name = shown(path)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotebookRefused(f"{name}: there is no such notebook") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise NotebookRefused(f"{name}: not a notebook: {error}") from None
    listed = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(listed, list) or document.get("nbformat") != 4:
        raise NotebookRefused(
            f"{name}: not a notebook of format 4; open and save it in JupyterLab"
        )
    cells = []
    tagged = []
    for cell in listed:
        kind = cell["cell_type"]
        source = "".join(cell["source"])
        tags = tuple(cell["metadata"].get("tags", ()))
        cells.append((kind, source, tags))
        if kind == "code" and "parameters" in tags:
            tagged.append(source)
    if len(tagged) != 1:
        raise NotebookRefused(
            f"{name}: {len(tagged) or 'no'} code cell is tagged 'parameters'; tag the "
            "one that assigns mode and seed (JupyterLab: property inspector, cell tags)"
        )
    try:
        parameters = _parameters(ast.parse(tagged[0]))
        return Source(path, tuple(cells), parameters)
    except SyntaxError as error:
        raise NotebookRefused(
            f"{name}: parameters cell, line {error.lineno}: {error.msg}"
        ) from None


# ---- is it this notebook's code that runs here?


def code(source: Source) -> dict[str, str]:
    """The sha256 of the notebook's code, and of each module beside it that its cells
    import, by name from the checkout's root.
    """
    text = "\n\n".join(_code_cells(source))
    hashes = {shown(source.path): hashlib.sha256(text.encode()).hexdigest()}
    for path in modules_beside(source):
        hashes[shown(path)] = files.sha256(path)
    return hashes


def _code_cells(source: Source) -> list[str]:
    """The sources of the code cells that are not blank."""
    cells = []
    for kind, text, _ in source.cells:
        if kind == "code" and text.strip():
            cells.append(text)
    return cells


def modules_beside(source: Source) -> list[Path]:
    """The modules in the notebook's own folder that its cells name."""
    text = " ".join(_code_cells(source))
    paths = sorted(source.path.parent.glob("*.py"))
    return [path for path in paths if path.stem in text]


def ran() -> list[str] | None:
    """The cells that ran in this kernel so far; None where no notebook runs."""
    shell = getattr(sys.modules["__main__"], "get_ipython", None)
    if shell is None:
        return None
    # The list begins with an empty text: cells are numbered from 1.
    return list(shell().history_manager.input_hist_raw[1:])


def other_code(path: Path) -> str:
    """How the code that runs here differs from a notebook's, in words; empty where it
    is that notebook's, run from the top in a fresh kernel. A cell of parameters that
    papermill puts below the notebook's own is no other code.
    """
    source = read(path)
    name = shown(path)
    cells = ran()
    if cells is None:
        return f"{name} makes this result, and no notebook runs here"
    written = _code_cells(source)
    [parameters] = [
        text
        for kind, text, tags in source.cells
        if kind == "code" and "parameters" in tags
    ]
    # Where papermill puts its cell: below that of the parameters.
    place = written.index(parameters) + 1
    below = cells[place : place + 1]
    if below != written[place : place + 1] and _is_injected("".join(below), source):
        written[place:place] = below
    for number, cell in enumerate(cells, 1):
        expected = written[number - 1] if number <= len(written) else ""
        # The kernel drops line ends below a cell.
        if cell.rstrip("\n") != expected.rstrip("\n"):
            return (
                f"the code that ran is not that of {name}, from the top in a fresh "
                f"kernel: In[{number}] differs"
            )
    for module_path in modules_beside(source):
        module = sys.modules.get(module_path.stem)
        loaded = getattr(module, "__file__", None)
        if loaded and Path(loaded).resolve() != module_path.resolve():
            return f"its module {module_path.stem} is another than {shown(module_path)}"
    return ""


def _is_injected(cell: str, source: Source) -> bool:
    """Whether a cell only gives values to the notebook's parameters, as papermill's
    does. `Output` gets these values, and compares them with the catalogue's.
    """
    try:
        return _parameters(ast.parse(cell)).keys() <= source.parameters.keys()
    except (SyntaxError, NotebookRefused):
        return False


def _parameters(tree: ast.Module) -> dict[str, Parameter]:
    """The assignments of the parameters cell, by name."""
    parameters: dict[str, Parameter] = {}
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
            parameters[name] = Parameter(name, default, kind)
            parameters[name].accept(default)
        except ValueError as error:
            raise SyntaxError(str(error), ("", node.lineno, 0, "")) from None
    return parameters


def _kind(default: Any) -> Any:
    """The type that a default asks for; ints among floats count as floats, so that `[1,
    2.5]` asks for `list[float]`.
    """
    if default is None:
        return Any
    if isinstance(default, list) and default:
        kinds = set(map(type, default))
        if float in kinds:
            kinds.discard(int)
        if len(kinds) > 1:
            return list
        return list[kinds.pop()]  # type: ignore[misc]  # made at run time
    if type(default) not in _TYPES.values():
        raise ValueError(
            f"a parameter is one of {', '.join(_TYPES)} or None, not {default!r}"
        )
    return type(default)


def _annotated(node: ast.expr) -> Any:
    """The type that an annotation names: `int`, `list[str]`, `int | None`."""
    match node:
        case ast.Name(id=name) if name in _TYPES:
            return _TYPES[name]
        case ast.Constant(value=None):
            return None
        case ast.BinOp(left=first, op=ast.BitOr(), right=second):
            return _annotated(first) | _annotated(second)
        case ast.Subscript(value=ast.Name(id="list"), slice=item):
            return list[_annotated(item)]  # type: ignore[misc]  # made at run time
    allowed = f"{', '.join(_TYPES)} or None, joined by |"
    raise ValueError(
        f"annotation {ast.unparse(node)!r} is not understood; use {allowed}"
    )
