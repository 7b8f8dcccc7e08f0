"""A package whose names are loaded when they are first used: what a notebook does not
use it does not load, and its result does not hang on it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def loaded_on_use(
    package: str, modules: Mapping[str, Sequence[str]]
) -> Callable[[str], Any]:
    """The `__getattr__` of a package.

    modules: a module of the package -> its names that the package has as its own. The
    modules themselves can be reached as well.
    """
    homes: dict[str, str] = {}
    for module, names in modules.items():
        homes.update(dict.fromkeys(names, module))

    def attribute(name: str) -> Any:
        if name in homes:
            return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(
            f"module {package!r} has no attribute {name!r}; "
            f"it has {', '.join(sorted(homes))}"
        )

    return attribute
