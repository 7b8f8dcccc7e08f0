"""What can go wrong between a name in the registry and a file that may be read."""

from __future__ import annotations


class DataError(Exception):
    """A data file cannot be used. The message is one line: which file, what was found, the way out.

    `short` says the same in a few words, for a table.
    """

    def __init__(self, message: str, short: str = "") -> None:
        super().__init__(message)
        self.short = short or message


class DataUnavailable(DataError):
    """A data file cannot be had on this machine now."""


class ChecksumError(DataError):
    """A data file is there, but is not the file that the registry names."""


class UnknownName(ValueError):
    """A data set, recording or file name that the registry does not know; the message has the nearest names."""
