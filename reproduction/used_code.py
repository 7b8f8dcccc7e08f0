"""Which modules of the houses a result hangs on: those whose code ran, and those
whose constants and classes that code names.

In the runner's kernels each function of the library notes its first line when it runs
(`watch`). A module that was loaded and did nothing can be edited without any result
becoming stale: no value can have passed through it. Where kernels are not watched, all
that was loaded counts.

Watching: `watch` puts a `_Finder` before Python's own, whose `_Loader` compiles modules
with marks. Looking back: `modules` begins with the modules that left marks and follows
the names that their code mentions (`_Source.mentions`) to the modules that these are
from (`_homes`), until no module is added.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, cast

HOUSES = ("nlgeval_lib", "judgecard", "reproduction")
ROOT = Path(__file__).parents[1]
MARKS = "__ran__"  # in a watched module: {first line of a function that ran: True}
_Function = ast.FunctionDef | ast.AsyncFunctionDef
Origin = tuple[str, str]  # a module, and a name in it ("" for the module itself)


# ---- watching


def watch() -> None:
    """Let the library's modules note which of their functions run, from the next import
    on; and note what is imported by a name in data.
    """
    sys.meta_path.insert(0, _Finder())
    importlib.import_module = _asked_for


# Modules that were imported by a name in data, and Python's own function for that.
_asked: set[str] = set()
_import_module = importlib.import_module


def _asked_for(name: str, package: str | None = None) -> ModuleType:
    """`importlib.import_module`, which notes what it gives."""
    module = _import_module(name, package)
    # Which names of a package are used that loads them on use is seen in the code.
    if sys._getframe(1).f_globals.get("__name__") != "nlgeval_lib.on_use":
        _asked.add(module.__name__)
    return module


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the library's modules as Python does, for another loader."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """What Python finds for a module of the library, with a loader that marks; None
        for others.
        """
        if "." not in fullname or fullname.partition(".")[0] not in HOUSES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and spec.origin and spec.origin.endswith(".py"):
            spec.loader = _Loader(fullname, spec.origin)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles a module with a mark at the head of each function."""

    def get_code(self, fullname: str) -> Any:
        """The compiled code of a module, marked; without marks where numba is used."""
        # Nothing is read from or put in __pycache__, which is for unmarked code.
        path = self.get_filename(fullname)
        source = self.get_data(path)
        if b"numba" in source:  # which compiles functions by itself, without marks
            return compile(source, path, "exec", dont_inherit=True)
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, _Function):
                _mark(node)
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's body, with a place for its marks."""
        marks: dict[int, bool] = {}
        vars(module)[MARKS] = marks
        super().exec_module(module)
        # What ran by now made the module's constants: it was not asked for anything.
        marks.clear()


def _mark(function: _Function) -> None:
    """Let a function note, behind its docstring, that it runs.

    It gets a first statement such as `__ran__[12] = True`, 12 being its own first line.
    """
    [note] = ast.parse(f"{MARKS}[{function.lineno}] = True").body
    for node in ast.walk(note):
        ast.copy_location(node, function.body[0])
    place = 0
    if ast.get_docstring(function, clean=False) is not None:
        place = 1
    function.body.insert(place, note)


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """What runs in this block leaves no mark: it shows something, and gives no value.

    What a mark was there for before stays.
    """
    earlier = {name: dict(marks) for name, marks in _all_marks().items()}
    asked = set(_asked)
    try:
        yield
    finally:
        for name, marks in _all_marks().items():
            marks.clear()
            marks.update(earlier.get(name, {}))
        _asked.intersection_update(asked)


def _all_marks() -> dict[str, dict[int, bool]]:
    """The marks of each watched module: module -> first line of a function that ran ->
    True.
    """
    marked = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in HOUSES and MARKS in vars(module):
            marked[name] = vars(module)[MARKS]
    return marked


# ---- what was used


def modules() -> list[str]:
    """The modules that a result of this process hangs on, as paths below the
    repository's root; all that are loaded where they were not watched.
    """
    loaded = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in HOUSES and getattr(module, "__file__", None):
            loaded[name] = module
    del loaded[__name__]  # it looks on
    is_watched = any(MARKS in vars(module) for module in loaded.values())
    if not is_watched:
        return _paths(loaded.values())
    # Used for certain: what ran here, and what was imported by a name in data.
    sources = {name: _Source(module) for name, module in loaded.items()}
    used = {name for name, source in sources.items() if source.ran}
    used.update(_asked.intersection(sources))
    # Used through them: what their code and the notebook's mention.
    due = [sources[name] for name in used]
    due += _notebook()
    while due:
        source = due.pop()
        for origin, further, is_called in source.mentions():
            homes = _homes(sources, origin, further, is_called, frozenset())
            for name in homes.intersection(sources) - used:
                used.add(name)
                due.append(sources[name])
    return _paths(loaded[name] for name in used)


def _paths(loaded: Iterable[ModuleType]) -> list[str]:
    """The modules' files as paths below the repository's root, sorted."""
    paths = []
    for module in loaded:
        path = Path(cast(str, module.__file__))
        paths.append(path.relative_to(ROOT).as_posix())
    return sorted(paths)


def _notebook() -> Iterator[_Source]:
    """The cells of the notebook that runs here, as one source, and the modules beside
    it.
    """
    main = sys.modules["__main__"]
    cells = []
    for cell in vars(main).get("In", ()):
        with contextlib.suppress(SyntaxError):  # a command of IPython's
            ast.parse(cell)
            cells.append(cell)
    yield _Source(main, "\n".join(cells))
    folder = ROOT / "notebooks"
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if path and Path(path).is_relative_to(folder):
            yield _Source(module)


class _Source:
    """A module's source: what it imports, and which names of other modules the code
    mentions that ran in it.

    module: the module, with its marks where it was watched.
    text: in place of its file.

    `origins`: name in the module -> where it was imported from. `ran`: whether any of
    its code ran when it was asked for something.
    """

    def __init__(self, module: ModuleType, text: str | None = None) -> None:
        self.module = module
        marks = vars(module).get(MARKS)
        self.watched = marks is not None
        self._lines = set(marks or ())
        if text is None:
            text = Path(cast(str, module.__file__)).read_text(encoding="utf-8")
        # Of unmarked code everything counts as run.
        self._all_ran = not self.watched or "numba" in text
        self.ran = self._all_ran or bool(self._lines)
        self.origins: dict[str, Origin] = {}
        # Names joined by dots, such as ("files", "root") -> whether it is only called.
        self._chains: dict[tuple[str, ...], bool] = {}
        self._read(ast.parse(text))

    def mentions(self) -> Iterator[tuple[Origin, Sequence[str], bool]]:
        """The imported names that the code mentions.

        Yields: where a name was imported from, the names that follow after dots, and
        whether it is only called.
        """
        for (first, *further), is_called in self._chains.items():
            if first in self.origins:
                yield self.origins[first], further, is_called

    def _read(self, node: ast.AST, inside: bool = False) -> None:
        """Collect imports and mentions below a node.

        inside: in a function, where every further function counts as run.
        """
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            # What is imported for types alone gives no value.
            self._read_all(node.orelse, inside)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node)
        elif isinstance(node, _Function):
            # Decorators and defaults are read when the module is loaded, the body only
            # where it ran.
            further: list[ast.AST] = [*node.decorator_list, *node.args.defaults]
            further += [default for default in node.args.kw_defaults if default]
            if inside or self._all_ran or node.lineno in self._lines:
                further += node.body
                inside = True
            self._read_all(further, inside)
        elif isinstance(node, ast.AnnAssign):
            # Of `name: type = value` the value alone.
            if node.value is not None:
                self._read(node.value, inside)
        elif isinstance(node, ast.Call):
            if not self._mention(node.func, is_called=True):
                self._read(node.func, inside)
            self._read_all([*node.args, *node.keywords], inside)
        elif not self._mention(node, is_called=False):
            self._read_all(ast.iter_child_nodes(node), inside)

    def _read_all(self, nodes: Iterable[ast.AST], inside: bool) -> None:
        """Collect imports and mentions below each of some nodes; see `_read`."""
        for node in nodes:
            self._read(node, inside)

    def _mention(self, node: ast.AST, *, is_called: bool) -> bool:
        """Keep `a.b.c` as ("a", "b", "c"); False where the node is no such chain of
        names.

        is_called: it is what a call calls. A chain that is anything else once is never
        only called.
        """
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return False
        chain = (node.id, *reversed(names))
        self._chains[chain] = self._chains.get(chain, True) and is_called
        return True

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Note where each name of an import statement is from."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                self.origins[alias.asname or name] = (name, "")
            return
        package = node.module or ""
        # A relative import, `from . import x`.
        if node.level:
            spec = self.module.__spec__
            parent = spec.parent if spec is not None else ""
            package = importlib.util.resolve_name("." * node.level + package, parent)
        for alias in node.names:
            self.origins[alias.asname or alias.name] = (package, alias.name)


def _homes(
    sources: Mapping[str, _Source],
    origin: Origin,
    further: Sequence[str],
    is_called: bool,
    seen: frozenset[Origin],
) -> set[str]:
    """The modules that make up what an imported name stands for.

    sources: the library's modules that are loaded, by name.
    origin: where the name was imported from.
    further: the names that follow it after dots.
    is_called: whether it is only called. A function that is only called left its mark
    where it ran; one that did not run gave nothing.
    seen: the origins that led here.
    """
    homes: set[str] = set()
    if origin in seen:
        return homes
    seen = seen | {origin}
    for place, value in _places(origin):
        source = sources.get(place)
        # A module, a name imported from elsewhere, or something of the module's own.
        if isinstance(value, ModuleType):
            if further:
                inner = (value.__name__, further[0])
                homes |= _homes(sources, inner, further[1:], is_called, seen)
            else:
                homes.add(value.__name__)
        elif source is not None and origin[1] in source.origins:
            outer = source.origins[origin[1]]
            homes |= _homes(sources, outer, further, is_called, seen)
        elif not (is_called and _leaves_mark(value, place)):
            homes.add(place)
    return homes


def _leaves_mark(value: Any, place: str) -> bool:
    """Whether it is a function that a module defines by `def`: nothing of the module
    but the function itself is in it.

    value: what a name stands for.
    place: the module.
    """
    function = inspect.unwrap(value) if callable(value) else value
    return (
        isinstance(function, FunctionType)
        and function.__module__ == place
        and "<" not in function.__qualname__  # no lambda, none that a function made
    )


def _places(origin: Origin) -> Iterator[tuple[str, Any]]:
    """Where an imported name can come from, with its value.

    That is its module; or the modules of a package that loads its names on use, and
    that package itself (with None for the value). Nothing for a name from outside the
    library.
    """
    place, name = origin
    module = sys.modules.get(place)
    if module is None or place.partition(".")[0] not in HOUSES:
        return
    submodule = f"{place}.{name}" if name else place
    if submodule in sys.modules:
        yield submodule, sys.modules[submodule]
    elif name in vars(module):
        yield place, vars(module)[name]
    else:
        yield place, None
        for inner, candidate in list(sys.modules.items()):
            if inner.startswith(f"{place}.") and name in vars(candidate):
                yield inner, vars(candidate)[name]
