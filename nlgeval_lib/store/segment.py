"""A file of lines that one process at a time appends to, and any process reads."""

from __future__ import annotations

import contextlib
import itertools
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # no advisory locks on this system: every writer gets a file of its own
    fcntl = None  # type: ignore[assignment]

_TAIL = 1 << 16


def sync_folder(folder: Path) -> None:
    """Make renames and new files in `folder` last, where the system can."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


class Reader:
    """An open segment and how far it has been read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        stat = os.fstat(self.fd)
        self.identity = (stat.st_dev, stat.st_ino)
        self.seen = 0  # bytes that are indexed: whole lines only

    def size(self) -> int:
        """Bytes in the file now."""
        return os.fstat(self.fd).st_size

    def read(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset`."""
        return os.pread(self.fd, length, offset)

    def close(self) -> None:
        """Close the file."""
        os.close(self.fd)


class Writer:
    """The segment that this process appends to: locked, and ending with a whole line."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path, self.fd, self.pid = path, fd, os.getpid()
        self.end = self._repair()

    def _repair(self) -> int:
        """Cut off what a killed writer left of its last line; the length after that."""
        size = end = os.fstat(self.fd).st_size
        while end > 0:
            start = max(0, end - _TAIL)
            newline = os.pread(self.fd, end - start, start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end != size:
            os.ftruncate(self.fd, end)
        return end

    def append(self, data: bytes) -> int:
        """Append whole lines; the number of bytes kept, which is `len(data)` or there was an error.

        On a full disk the whole lines that found room stay and the broken rest is cut off; so too when Ctrl-C falls
        into the writing. Raises: AppendError, which knows how many bytes were kept.
        """
        view, written = memoryview(data), 0
        try:
            while written < len(data):
                written += os.write(self.fd, view[written:])
        except BaseException as error:
            kept = data.rfind(b"\n", 0, os.fstat(self.fd).st_size - self.end) + 1
            with contextlib.suppress(OSError):
                os.ftruncate(self.fd, self.end + kept)
            self.end += kept
            if isinstance(error, OSError):
                raise AppendError(error, kept) from error
            raise
        self.end += written
        return written

    def there(self) -> bool:
        """Whether the file still has its name."""
        return _still_there(self.path, self.fd)

    def sync(self) -> None:
        """Return when what was appended would survive a power cut."""
        os.fsync(self.fd)

    def close(self) -> None:
        """Close the file, which gives the lock back."""
        os.close(self.fd)


class AppendError(Exception):
    """An append failed; `kept` bytes of whole lines are in the file."""

    def __init__(self, cause: OSError, kept: int) -> None:
        super().__init__(str(cause))
        self.cause, self.kept = cause, kept


def try_lock(fd: int) -> bool | None:
    """True: the lock is ours; False: another process has it; None: this file system has no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _still_there(path: Path, fd: int) -> bool:
    """Whether `path` is still the file that is open as `fd`."""
    try:
        now, held = os.stat(path), os.fstat(fd)
    except FileNotFoundError:
        return False
    return (now.st_dev, now.st_ino) == (held.st_dev, held.st_ino)


def take(folder: Path) -> Writer:
    """A segment for this process to append to: the first that nobody holds, or a new one.

    Raises: OSError where the folder cannot be written.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
    for number in itertools.count():
        path = folder / f"{number:04d}.jsonl"
        while True:
            fd = os.open(path, flags, 0o666)
            locked = try_lock(fd)
            if locked and _still_there(path, fd):
                return Writer(path, fd)
            os.close(fd)
            if locked is None:
                name = (
                    f"own-{os.uname().nodename if hasattr(os, 'uname') else 'host'}-{os.getpid()}-{os.urandom(4).hex()}"
                )
                own = folder / f"{name}.jsonl"
                return Writer(own, os.open(own, flags | os.O_EXCL, 0o666))
            if not locked:
                break
    raise AssertionError("unreachable")
