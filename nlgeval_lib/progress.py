"""Progress of what may take longer than two seconds: a bar on a terminal and in a
notebook, nothing where nobody looks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

SECONDS = 2  # after which a bar appears


def in_notebook() -> bool:
    """Whether a notebook runs this."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def wanted() -> bool:
    """Whether somebody looks: at a terminal, or a notebook that no runner executes."""
    if in_notebook():
        return not os.environ.get("NLGEVAL_RECORD")
    return sys.stderr.isatty()


def bar(*arguments: Any, **options: Any) -> Any:
    """A bar of tqdm, with its arguments, which is gone when its loop ends."""
    if in_notebook():
        from tqdm.auto import tqdm
    else:
        from tqdm import tqdm
    settings: dict[str, Any] = {
        "delay": SECONDS,
        "leave": False,
        "disable": not wanted(),
    }
    return tqdm(*arguments, **settings | options)


def in_cell(name: str) -> Callable[[Any, Any], None]:
    """What shows how many completions of a stage came, in a notebook alone: a function
    of a state with `total` and `left`, and of a batch.
    """
    if not in_notebook() or not wanted():
        return lambda state, batch: None
    bars: list[Any] = []

    def report(state: Any, batch: Any) -> None:
        if not bars:
            bars.append(bar(total=state.total, desc=name, unit="answer"))
        bars[0].update(state.total - state.left - bars[0].n)
        if not state.left:
            bars[0].close()

    return report
