"""Seal where each printed cell stands in its paper's text.

    python tools/witnesses.py FOLDER       FOLDER has the papers' texts, <paper>.txt

A cell's row in `data/paper_tables/<paper>/witnesses.csv` is written by hand: `line`
(from 1), `position` (characters from 0) and `basis`, or a basis alone that says why it
has no place. Where every cell stands at its place the rows are sealed, and
`data/paper_tables/papers.csv` gets the texts' hashes; else nothing is written.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

import pandas as pd

from nlgeval_lib import files
from reproduction.papers import witnesses
from reproduction.papers.printed_tables import KEY, PAPERS, folder


def sealed(paper: str, text: bytes) -> pd.DataFrame:
    """The witnesses of a paper, sealed.

    Raises: ValueError naming the cells that do not stand at their place.
    """
    faults = witnesses.misplaced(paper, text.decode())
    if faults:
        raise ValueError("\n".join(faults))
    printed = witnesses.cells(paper)
    sha256 = hashlib.sha256(text).hexdigest()
    rows = witnesses.read(paper)
    seals = []
    for row in rows.to_dict("records"):
        key = tuple(row[name] for name in ("table", *KEY))
        seals.append(witnesses.seal(row, printed[key], sha256))
    return rows.assign(seal=seals)


def main() -> None:
    """Seal the witnesses of all papers; exit with the faults where there are any."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the papers' texts lie")
    options = parser.parse_args()
    tables = {}
    papers = []
    for paper in PAPERS:
        text = (options.folder / f"{paper}.txt").read_bytes()
        try:
            tables[folder() / paper / "witnesses.csv"] = sealed(paper, text)
        except ValueError as error:
            sys.exit(f"{paper}:\n{error}")
        papers.append((paper, f"{paper}.txt", hashlib.sha256(text).hexdigest()))
    names = list(witnesses.PAPER_COLUMNS)
    tables[folder() / "papers.csv"] = pd.DataFrame(papers, columns=names)
    for path, table in tables.items():
        files.write_text(path, table.to_csv(index=False))


if __name__ == "__main__":
    main()
