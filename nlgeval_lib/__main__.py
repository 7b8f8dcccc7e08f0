"""The command `nlgeval`, also as `python -m nlgeval_lib`: Ctrl-C while its modules
still load ends it in the usual words.
"""

from __future__ import annotations

import sys

from nlgeval_lib.names import STOPPED


def main() -> None:
    """Load the command line and run it."""
    try:
        from nlgeval_lib.cli import main as run

        run()
    except KeyboardInterrupt:
        print(STOPPED, file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
