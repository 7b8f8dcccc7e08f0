"""Which modules of the houses a text of Python imports, itself or through others, as
their source says it; nothing is run.

An import inside a function counts as one at the top does, one for type checkers alone
does not. Of a package that loads its names on use, such as `nlgeval_lib.statistics`,
those modules count whose names are used. What a package loads by a name in data, as
`datasets.load("summeval")` does, counts where that name stands in the text.
"""

from __future__ import annotations

import ast
import contextlib
import csv
import importlib.util
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

HOUSES = ("nlgeval_lib", "judgecard", "reproduction")
ROOT = Path(__file__).parents[1]
# Imports that give no value to a result: module -> what it imports to show what is
# saved, to seal it, or to check the names in the catalogue.
NO_VALUE = {
    "reproduction.report.output": (
        "reproduction.report.answers",
        "reproduction.report.seal",
    ),
    "reproduction.study.catalogue": ("nlgeval_lib.datasets", "nlgeval_lib.evaluators"),
}
# What a module loads by a name that stands in it alone.
_ALWAYS = {"nlgeval_lib.houses": {"judgecard.recordings"}}
# Packages that load modules by names in data, and the tables of these names.
_DATA = {
    "nlgeval_lib.datasets": "datasets.csv",
    "judgecard.recordings": "recordings.csv",
}
# By names in a dict of their own, {"bleu": "reference_metrics:Bleu"}.
_ENGINES = "nlgeval_lib.engines"
_DICTS = {"nlgeval_lib.evaluators": "_BUILT_IN", _ENGINES: "CLASSES"}
Origin = tuple[str, str]  # a module, and a name in it ("" for the module itself)


class Source:
    """What texts of Python import, define and mention, taken together; one that is no
    Python gives nothing.

    imports: name in the text -> where it is from. for_types: for type checkers alone.
    mentions: names joined by dots, `papers.load` as ("papers", "load").
    texts: its string constants.
    """

    def __init__(self, *texts: str, package: str = "") -> None:
        """package: where relative imports start from."""
        self._package = package
        self.imports: dict[str, Origin] = {}
        self.for_types: dict[str, Origin] = {}
        self.mentions: set[tuple[str, ...]] = set()
        self.texts: set[str] = set()
        self.defined: set[str] = set()
        for text in texts:
            with contextlib.suppress(SyntaxError):
                tree = ast.parse(text)
                self.defined.update(_defined(tree))
                self._read(tree, self.imports)

    def _read(self, node: ast.AST, imports: dict[str, Origin]) -> None:
        """Collect what stands in a node. imports: where its imports belong."""
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body):
                for guarded in body:
                    self._read(guarded, self.for_types)
                for other in node.orelse:
                    self._read(other, imports)
                return
            case ast.Import(names=aliases):
                for alias in aliases:
                    imports[alias.asname or alias.name] = (alias.name, "")
                    if not alias.asname:
                        top = alias.name.partition(".")[0]
                        imports[top] = (top, "")
            case ast.ImportFrom(module=module, names=aliases, level=level):
                place = module or ""
                if level:
                    relative = "." * level + place
                    place = importlib.util.resolve_name(relative, self._package)
                for alias in aliases:
                    imports[alias.asname or alias.name] = (place, alias.name)
            case ast.Attribute() | ast.Name() if names := _joined(node):
                self.mentions.add(names)
                return
            case ast.Constant(value=str(text)):
                self.texts.add(text)
        for inner in ast.iter_child_nodes(node):
            self._read(inner, imports)


def _joined(node: ast.expr) -> tuple[str, ...]:
    """`a.b.c` as ("a", "b", "c"); () for anything but names joined by dots."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else ()


def _defined(tree: ast.Module) -> Iterator[str]:
    """The names that a module defines at its top."""
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name


def _names_in_data(package: str, path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The names by which a package loads modules, each with what it loads."""
    if package in _DATA:
        table = path.with_name(_DATA[package]).read_text(encoding="utf-8")
        for row in csv.DictReader(table.splitlines()):
            yield row["name"], (row["module"],)
        return
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                name == _DICTS[package]
            ):
                for key, target in ast.literal_eval(value).items():
                    yield key, tuple(target.split(":"))


class Graph:
    """The modules of the houses, and which of them each imports."""

    def __init__(self, root: Path = ROOT) -> None:
        """root: the folder of the houses."""
        self.paths: dict[str, Path] = {}  # of every module
        # All are read now: they may be edited while this is in use.
        self._texts: dict[str, str] = {}
        for house in HOUSES:
            for path in (root / house).rglob("*.py"):
                parts = path.relative_to(root).with_suffix("").parts
                module = ".".join(parts).removesuffix(".__init__")
                self.paths[module] = path
                self._texts[module] = path.read_text(encoding="utf-8", errors="replace")
        self._sources: dict[str, Source] = {}
        self._imported: dict[str, set[str]] = {}
        # Package -> name in data -> what it loads for it, as names below the package.
        self._by_name: dict[str, dict[str, tuple[str, ...]]] = {}
        for package in self.paths.keys() & {*_DATA, *_DICTS}:
            self._by_name[package] = dict(_names_in_data(package, self.paths[package]))

    def reached(
        self, sources: Iterable[Source], names: Collection[str] = ()
    ) -> set[str]:
        """The modules that these texts import, themselves or through others, or load by
        these names of data sets, recordings, evaluators and engines.
        """
        due: set[str] = set()
        for source in sources:
            due |= self.imported(source)
        for package in self._by_name:
            due |= self._loaded_by_name(package, names)
        found: set[str] = set()
        while due:
            module = due.pop()
            found.add(module)
            if module not in self._imported:
                imported = self.imported(self.source(module), module)
                self._imported[module] = imported
            due |= self._imported[module] - found
        return found

    def imported(self, source: Source, module: str = "") -> set[str]:
        """The modules that a text itself imports, with those of the names that it uses.

        module: whose text it is; "" for another text.
        """
        used: list[tuple[Origin, tuple[str, ...]]] = []
        for origin in source.imports.values():
            used.append((origin, ()))
        for names in source.mentions:
            if names[0] in source.imports:
                used.append((source.imports[names[0]], names[1:]))
        modules: set[str] = set()
        for further_module in _ALWAYS.get(module, ()):
            modules |= self._with_parents(further_module)
        for (place, name), further in used:
            names = (name, *further) if name else further
            if not {place, f"{place}.{name}"} & {*NO_VALUE.get(module, ())}:
                modules |= self._homes(place, names, frozenset())
        for package in modules & self._by_name.keys():
            # A house knows the names of all engines; a notebook says which one it has.
            if not module.startswith(package) and not (module and package == _ENGINES):
                modules |= self._loaded_by_name(package, source.texts)
        return modules

    def _loaded_by_name(self, package: str, names: Collection[str]) -> set[str]:
        """The modules that a package loads for those of these names that it has."""
        modules: set[str] = set()
        for name in self._by_name[package].keys() & {*names}:
            loaded = self._by_name[package][name]
            modules |= self._homes(package, loaded, frozenset())
        return modules

    def source(self, module: str) -> Source:
        """The source of a module."""
        if module not in self._sources:
            is_package = self.paths[module].name == "__init__.py"
            package = module if is_package else module.rpartition(".")[0]
            self._sources[module] = Source(self._texts[module], package=package)
        return self._sources[module]

    def _with_parents(self, module: str) -> set[str]:
        """A module and the packages that it is in; nothing for one of no house."""
        if module not in self.paths:
            return set()
        parent = module.rpartition(".")[0]
        return {module, *self._with_parents(parent)}

    def _homes(
        self, module: str, names: tuple[str, ...], seen: frozenset[Origin]
    ) -> set[str]:
        """The modules that are loaded where names of a module are used, each of what
        the one before stands for.
        """
        homes = self._with_parents(module)
        if not homes or not names or (module, names[0]) in seen:
            return homes
        name, further = names[0], names[1:]
        inner = f"{module}.{name}"
        if inner in self.paths:
            return homes | self._homes(inner, further, seen)
        for place, name_there in self._origins(module, name):
            outer = (name_there, *further) if name_there else ()
            homes |= self._homes(place, outer, seen | {(module, name)})
        return homes

    def _origins(self, module: str, name: str) -> list[Origin]:
        """Where a module has a name from that it does not define itself."""
        source = self.source(module)
        if name in source.imports:
            return [source.imports[name]]
        if name in source.defined or "__getattr__" not in source.defined:
            return []
        # Loaded on use: an import for type checkers says from where, or a module below
        # has it.
        if name in source.for_types:
            return [source.for_types[name]]
        inner = [place for place in self.paths if place.startswith(f"{module}.")]
        return [(place, "") for place in inner if name in self.source(place).defined]
