"""A file is written whole or not at all, and an error names it and the way out."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from nlgeval_lib import files


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_text_is_written_whole(tmp_path: Path) -> None:
    files.write_text(tmp_path / "deep" / "a.txt", "grün\n")
    assert (tmp_path / "deep" / "a.txt").read_text(encoding="utf-8") == "grün\n"
    assert left(tmp_path / "deep") == ["a.txt"]


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError), files.replacing(target) as tmp:
        tmp.write_text("half")
        raise RuntimeError("the writer failed")
    assert target.read_text() == "old" and left(tmp_path) == ["a.txt"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some space"),
        (errno.EROFS, "writable"),
    ],
)
def test_a_full_disk_and_a_read_only_folder_are_named(
    tmp_path: Path, monkeypatch, code: int, said: str
) -> None:
    def full(fd: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        OSError, match=rf"cannot write .*a\.txt: {os.strerror(code)}; .*{said}"
    ) as raised:
        files.write_text(tmp_path / "a.txt", "x")
    assert raised.value.errno == code
    assert left(tmp_path) == []


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("not a folder")
    with pytest.raises(OSError, match=r"cannot write .*results/a\.txt"):
        files.write_text(tmp_path / "results" / "a.txt", "x")
