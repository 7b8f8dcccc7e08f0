"""`python -m nlgeval_lib.datasets [name ...]`: fetch the files of the named data sets and recordings, or of all."""

from __future__ import annotations

import argparse
import sys

from nlgeval_lib import datasets


def main(arguments: list[str] | None = None) -> int:
    """Fetch, with a line a data set. Gives 0 also where some are unavailable, unless --strict; 1 on any error."""
    parser = argparse.ArgumentParser(prog="python -m nlgeval_lib.datasets", description=__doc__)
    parser.add_argument("names", nargs="*", help="data sets and recordings; default: all")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where anything is unavailable")
    parser.add_argument("--list", action="store_true", help="only say what there is and whether it is here")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.list:
            print(datasets.describe().drop(columns=["reason"]).to_string())
            print(datasets.recordings.describe().to_string())
            return 0
        results = datasets.fetch.all(chosen.names or None)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return int(chosen.strict and not all(result.ok for result in results))


if __name__ == "__main__":
    sys.exit(main())
