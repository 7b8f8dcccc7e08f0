"""The houses beside the library, where they are here: their commands, and the files that
they need. The one place that names them; nothing is loaded before it is used.
"""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

# Modules that add commands to `nlgeval`, in the order in which `--help` lists them.
COMMANDS = (
    "reproduction.cli.run",
    "reproduction.cli.new_ablation",
    "nlgeval_lib.cli.data",
    "nlgeval_lib.cli.score",
    "judgecard.cli.doctor",
    "judgecard.cli.label",
    "judgecard.cli.meta",
    "judgecard.cli.card",
    "judgecard.cli.watch",
    "judgecard.cli.estimate",
    "judgecard.cli.panel",
    "nlgeval_lib.cli.parse",
    "reproduction.cli.completions",
    "reproduction.cli.training",
    "nlgeval_lib.cli.store",
    "reproduction.cli.store",
    "reproduction.cli.numbers",
)
# Modules with NAMES, OPTIONAL, `has` and `spec`, whose files are fetched and verified
# as those of data sets are.
_SOURCES = ("judgecard.recordings",)


def is_here(module: str) -> bool:
    """Whether the house that a module is of is installed, or the checkout is."""
    house = module.partition(".")[0]
    return importlib.util.find_spec(house) is not None


def sources() -> list[ModuleType]:
    """What has files beside the data sets, loaded."""
    return [importlib.import_module(name) for name in _SOURCES if is_here(name)]
