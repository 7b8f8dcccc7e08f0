"""A server on this machine for a test: quiet, and gone when the test ends."""

from __future__ import annotations

import contextlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class LoopbackServer(ThreadingHTTPServer):
    """Serves on a free port of 127.0.0.1 until `stop`.

    A handler that waits must wait on `over`, which `stop` sets: `stop` cuts what is
    still connected and returns when the last handler has ended, so that none writes
    into the next test's output.
    """

    daemon_threads = False  # those of handlers: joined by `server_close`
    request_queue_size = 128

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.over = threading.Event()
        self._connected: set[socket.socket] = set()
        self._serving = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._serving.start()

    @property
    def port(self) -> int:
        return self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the play: nothing is printed."""

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connected.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connected.discard(request)
        super().shutdown_request(request)

    def stop(self) -> None:
        self.over.set()
        self.shutdown()
        self._serving.join()
        for connection in list(self._connected):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()


class QuietHandler(BaseHTTPRequestHandler):
    """Keeps no log."""

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""
