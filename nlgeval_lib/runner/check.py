"""Do the saved results come out again? Everything is run into a temporary folder and compared value by value."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from nlgeval_lib import files
from nlgeval_lib.report import saving
from nlgeval_lib.runner.session import Session
from nlgeval_lib.runner.stale import Options
from nlgeval_lib.study.catalogue import Catalogue, Entry


def again(catalogue: Catalogue, entries: Sequence[Entry], jobs: int, say: Callable[[str], None]) -> int:
    """Run `entries` elsewhere and compare; 0 where nothing differs and nothing failed, else 1."""
    saved = files.results().resolve()
    with tempfile.TemporaryDirectory(prefix="nlgeval-check-") as name, _elsewhere(Path(name)):
        outcome = Session(catalogue, Options(jobs=jobs, force=True, records=False)).run(entries)
        fresh = files.results()
        verdicts = [_verdict(entry, saved, fresh, outcome.ran) for entry in entries if entry.saves]
    for entry, (word, lines) in zip([entry for entry in entries if entry.saves], verdicts, strict=True):
        say(f"{word:11} {entry.id}")
        for line in lines:
            say(f"    {line}")
    words = [word for word, _ in verdicts]
    say(", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words)) or "nothing to compare")
    return 1 if outcome.failed or "differs" in words else 0


def _verdict(entry: Entry, saved: Path, fresh: Path, ran: Sequence[str]) -> tuple[str, list[str]]:
    if entry.id not in ran:
        return "not run", []
    folder = Path("mini" if entry.route == "mini" else "", entry.paper)
    made = sorted((fresh / folder).glob(f"{entry.id}.csv")) + sorted((fresh / folder).glob(f"{entry.id}__*.csv"))
    lines: list[str] = []
    lacking: list[str] = []
    for path in made:
        before = saved / folder / path.name
        if not before.exists():
            lacking.append(f"{path.name}: nothing saved to compare with")
            continue
        found, gaps = _compared(before.read_text(encoding="utf-8"), path.read_text(encoding="utf-8"))
        lines += [f"{path.name}: {text}" for text in found]
        lacking += [f"{path.name}: {text}" for text in gaps]
    if lines:
        return "differs", lines[:20]
    return ("equal, less" if lacking else "equal"), lacking


def _compared(old: str, new: str) -> tuple[list[str], list[str]]:
    """Differences between two result files; and, of a comparison, how many of its cells cannot be had here."""
    before, after = (list(csv.DictReader(io.StringIO(text))) for text in (old, new))
    comparison = all(rows and {"verdict", "ours", "reason"} <= rows[0].keys() for rows in (before, after))
    if not comparison or len(before) != len(after):
        return saving.csv_differences(old, new), []
    gone = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a["ours"] and not b["ours"]]
    keep = [i for i in range(len(before)) if i not in set(gone)]
    found = saving.csv_differences(_text([before[i] for i in keep]), _text([after[i] for i in keep])) if keep else []
    reasons = dict.fromkeys(after[i]["reason"] for i in gone)
    return found, [f"{len(gone)} cells cannot be had here: {'; '.join(reasons)}"] if gone else []


def _text(rows: list[dict[str, str]]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


@contextlib.contextmanager
def _elsewhere(folder: Path) -> Iterator[None]:
    """Results and figures go below `folder` while this lasts."""
    names = {"NLGEVAL_RESULTS": folder / "results", "NLGEVAL_FIGURES": folder / "figures"}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update({name: str(path) for name, path in names.items()})
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
