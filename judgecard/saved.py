"""The card of `nlgeval card --demo` by the numbers that are saved of it: nothing is
computed, nothing is fetched, and no package of numbers is loaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from judgecard import page
from nlgeval_lib import files

DEMO = "cards/summeval-gpt-4o.json"


def demo() -> Any:
    """What is saved of GPT-4o's card on SummEval, as `card.json` has it; numbers with
    six digits, without single outputs.

    Raises: FileNotFoundError where neither a checkout nor a wheel has it.
    """
    path = files.committed(files.place(DEMO))
    return files.from_json(path.read_text(encoding="utf-8"))


def write(numbers: Any, folder: str | Path) -> list[Path]:
    """Write card.json, card.md, card.html and the picture of the first screen.

    Returns: the paths.
    Raises: OSError naming the path.
    """
    contents = {}
    for name, text in page.texts(numbers, {}).items():
        contents[Path(folder, name)] = text.encode("utf-8", "backslashreplace")
    return files.write_all(contents)
