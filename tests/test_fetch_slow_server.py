"""A server that sends a byte now and then, in its headers or in the file: no read takes long, the whole does end."""

from __future__ import annotations

import socket
import threading

import pytest

from nlgeval_lib.datasets import DataUnavailable, download
from nlgeval_lib.datasets.registry import Entry

BEGINS = {
    "headers": (b"HTTP/1.1 200 OK\r\n", b"x: y\r\n"),
    "file": (b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n", b"."),
}


@pytest.fixture
def dripping():
    """`dripping(name)`: the address of a server that begins as `BEGINS` says and goes on for ever."""
    over, listeners = threading.Event(), []

    def start(name: str) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        first, then = BEGINS[name]

        def serve() -> None:
            connection, _ = listener.accept()
            try:
                connection.sendall(first)
                while not over.wait(0.02):
                    connection.sendall(then)
            except OSError:
                pass  # the other side has hung up
            finally:
                connection.close()

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}/file"

    yield start
    over.set()
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize("name", BEGINS)
def test_a_download_ends_in_the_time_allowed(dripping, name, tmp_path, monkeypatch):
    monkeypatch.delenv("http_proxy", raising=False)
    download.forget_hosts()
    entry = Entry("set/file", dripping(name), "0" * 64, 100_000, "MIT", "a/b", "c")
    limits = download.Limits(connect=5.0, read=5.0, attempts=3, grace=0.3, bytes_per_second=1e9)
    with pytest.raises(DataUnavailable, match=r"too slow: .* in the time allowed"):
        download.download(entry, tmp_path / "raw" / "file", limits=limits)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
