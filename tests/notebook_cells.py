"""A notebook's code cells run in this process: a cheap way to see that they work."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest


def run(path: Path, **given: Any) -> dict[str, Any]:
    """The names that a notebook leaves behind, with these values for its parameters.

    The modules beside the notebook can be imported, as in Jupyter.
    Raises: what a cell raises.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(path.parent)
        return _run(path, given)


def _run(path: Path, given: dict[str, Any]) -> dict[str, Any]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown: list[Any] = []
    names: dict[str, Any] = {
        "__name__": "__main__",
        "display": lambda *many: shown.extend(many),
        "shown": shown,
    }
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = (
            tree.body.pop().value
            if tree.body and isinstance(tree.body[-1], ast.Expr)
            else None
        )
        exec(compile(tree, f"{path.name}[{number}]", "exec"), names)
        if last is not None:
            shown.append(
                eval(
                    compile(ast.Expression(last), f"{path.name}[{number}]", "eval"),
                    names,
                )
            )
        if "parameters" in cell["metadata"].get("tags", ()):
            unknown = set(given) - set(names)
            assert not unknown, f"{path.name} has no parameter {unknown}"
            names.update(given)
    plt.close("all")
    return names
