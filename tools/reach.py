"""How many outputs an edit of each file of code makes stale.

    python -m tools.reach          the median, the most, and every file's count

An output that reads another's result is made again where that result changes, which an
edit alone does not say: it is not counted.
"""

from __future__ import annotations

import statistics
import sys

from reproduction.import_graph import HOUSES, ROOT
from reproduction.report import notebook
from reproduction.runner import stale
from reproduction.study import catalogue


def counts() -> dict[str, int]:
    """The outputs that hang on each Python file of the houses and of the notebooks'
    folders, the scoreboard among them: path below the repository's root -> how many.
    """
    reached = {}
    for folder in (*HOUSES, "notebooks"):
        for path in (ROOT / folder).rglob("*.py"):
            reached[path.relative_to(ROOT).as_posix()] = 0
    stale.forget()
    listed = catalogue.load()
    for entry in (*listed.outputs, catalogue.scoreboard_entry()):
        for name in stale.code(entry, listed, notebook.read(entry.path)):
            if name in reached:
                reached[name] += 1
    return reached


def main() -> int:
    """Print the counts, the most first; 0, the exit code."""
    reached = counts()
    median = statistics.median(reached.values())
    print(f"{len(reached)} files: median {median:g}, most {max(reached.values())}")
    for name in sorted(reached, key=lambda name: -reached[name]):
        print(f"{reached[name]:4} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
