"""Run a command as on a machine without the public data and without a network.

    python tools/offline.py make test
    python tools/offline.py make reproduce-all

The command sees no data mirror and a fresh state folder, so nothing that an earlier run
computed helps it. Where the system allows it, it runs in a network namespace of its
own that has the loopback interface alone; elsewhere every address but this machine's is
sent to a proxy that does not exist. The first line says which. The exit code is the
command's.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
import tempfile

CLONE_NEWUSER = 0x10000000  # linux/sched.h
CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914  # linux/sockios.h: set the flags of an interface
IFF_UP = 0x1
DEAD_PROXY = "http://127.0.0.1:9"  # the port "discard": nothing listens there


def unshare_network() -> bool:
    """Move this process to a network namespace of its own; False where it may not, or
    the system is not Linux.
    """
    if sys.platform != "linux":
        return False
    user = os.getuid()
    group = os.getgid()
    libc = ctypes.CDLL(None)
    if libc.unshare(CLONE_NEWNET) != 0:
        # Without the right to do so, a user namespace gives it; there user and group
        # keep their numbers.
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
            return False
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", f"{user} {user} 1")
        write("/proc/self/gid_map", f"{group} {group} 1")
    return True


def write(path: str, text: str) -> None:
    """Write a short text to a file of /proc."""
    with open(path, "w", encoding="ascii") as handle:
        handle.write(text)


def start_loopback() -> None:
    """Bring up `lo`, which is down in a new namespace."""
    request = struct.pack("16sh", b"lo", IFF_UP)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, SIOCSIFFLAGS, request)


def dead_proxies() -> dict[str, str]:
    """Environment variables that send requests to all but this machine's addresses to
    nobody.
    """
    variables = {}
    for scheme in ("http", "https", "all"):
        variables[f"{scheme}_proxy"] = DEAD_PROXY
        variables[f"{scheme.upper()}_PROXY"] = DEAD_PROXY
    for name in ("no_proxy", "NO_PROXY"):
        variables[name] = "127.0.0.1,localhost,::1"
    return variables


def main() -> None:
    """Become the command of the arguments, cut off from data and network; print this
    page where there is none, or with --help.
    """
    command = sys.argv[1:]
    if not command or command[0] in ("-h", "--help"):
        print(__doc__)
        sys.exit(0 if command else 2)
    environment = dict(os.environ)
    environment["NLGEVAL_DATA_MIRROR"] = ""
    environment["NLGEVAL_HOME"] = tempfile.mkdtemp(prefix="nlgeval-offline-")
    if unshare_network():
        start_loopback()
        print("offline: a network namespace with loopback alone", flush=True)
    else:
        environment.update(dead_proxies())
        print("offline: no namespace is available; proxies lead nowhere", flush=True)
    os.execvpe(command[0], command, environment)


if __name__ == "__main__":
    main()
