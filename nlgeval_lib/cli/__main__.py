"""`python -m nlgeval_lib.cli` is the command `nlgeval`."""

from nlgeval_lib.cli import main

if __name__ == "__main__":
    main()
