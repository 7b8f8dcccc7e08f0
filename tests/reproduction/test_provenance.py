"""Provenance: what is recorded, and what never is."""

from __future__ import annotations

import getpass
import json
import socket
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nlgeval_lib
from nlgeval_lib.scoring import provenance
from reproduction.report import made_from


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("NLGEVAL_ROOT", str(tmp_path))
    return tmp_path


def collect(**more) -> dict:
    given = dict(
        output="o",
        paper="hdeval",
        notebook="n.ipynb",
        route="public",
        mode="full",
        parameters={},
    )
    return made_from.collect(**given | more)


def test_what_is_recorded(root):
    record = collect(
        parameters=dict(seed=3, boot_seed=4, n=5),
        coverage=dict(equal=1),
        signatures=["b", "a", "b"],
        seconds=1.234,
    )
    assert record["seeds"] == {"seed": 3, "boot_seed": 4}
    assert record["signatures"] == ["a", "b"] and record["wall_seconds"] == 1.23
    assert (
        record["library"] == nlgeval_lib.__version__
        and record["notebook"] == "notebooks/n.ipynb"
    )
    assert record["packages"]["numpy"] == np.__version__
    assert record["hardware"]["cores"] >= 1 and record["hardware"]["cpu"]
    assert record["date"].endswith("+00:00")
    json.dumps(record, allow_nan=False)


def git(root: Path, *arguments: str) -> str:
    options = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    return subprocess.run(
        ["git", *options, *arguments],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_commit_and_dirty_flag(root):
    assert (
        provenance.git()["commit"] is None
        and "not a git checkout" in provenance.git()["reason"]
    )
    git(root, "init", "-q")
    assert "not a git checkout" in provenance.git()["reason"], (
        "somebody else's repository"
    )
    (root / "nlgeval_lib").mkdir()
    assert provenance.git() == {
        "commit": None,
        "dirty": None,
        "reason": "no commit yet",
    }
    (root / "notebooks").mkdir()
    (root / "notebooks" / "a.ipynb").write_text("1")
    (root / "results").mkdir()
    (root / "results" / "a.csv").write_text("1")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "x")
    head = git(root, "rev-parse", "HEAD").strip()
    assert provenance.git() == {"commit": head, "dirty": False}
    (root / "results" / "a.csv").write_text("2")
    assert provenance.git()["dirty"] is False, "a result is no code"
    (root / "notebooks" / "b.ipynb").write_text("new")
    assert provenance.git()["dirty"] is True


def test_no_user_no_host_no_place_no_secret(root, monkeypatch):
    monkeypatch.setenv("NLGEVAL_DATA_MIRROR", "/mnt/somewhere/mirror")
    record = collect(
        parameters=dict(
            api_key="sk-123",
            hub_token="hf_1",
            password="p",
            max_tokens=7,
            tokenizer="llama",
            model="/srv/models/llama-7b",
        ),
        facts=dict(
            file=root / "data" / "x.csv",
            home=str(Path.home() / "cache" / "m"),
            mirror="/mnt/somewhere/mirror/summeval/a.pkl",
            windows=r"C:\Users\somebody\model.bin",
            url="https://example.org/a/b.json",
            relative="notebooks/hdeval/a.ipynb",
            signature="level:dataset|nan:drop(0/1600)|ci:boot-both/1000",
        ),
    )
    text = json.dumps(record)
    for secret in (
        "sk-123",
        "hf_1",
        '"p"',
        str(root),
        "/srv/",
        "/mnt/",
        "somebody",
        str(Path.home()) + "/",
    ):
        assert secret not in text, secret
    assert socket.gethostname() not in text
    if len(getpass.getuser()) > 4:
        assert getpass.getuser() not in text
    assert (
        record["parameters"]["max_tokens"] == 7
        and record["parameters"]["tokenizer"] == "llama"
    )
    assert record["parameters"]["model"] == "<elsewhere>/llama-7b"
    assert (
        record["file"] == "<checkout>/data/x.csv"
        and record["mirror"] == "<mirror>/summeval/a.pkl"
    )
    assert (
        record["url"] == "https://example.org/a/b.json"
        and record["relative"] == "notebooks/hdeval/a.ipynb"
    )
    assert record["signature"] == "level:dataset|nan:drop(0/1600)|ci:boot-both/1000"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.tuples(inner)
        | st.sets(st.integers())
    ),
    max_leaves=8,
)


@given(values)
def test_anything_becomes_plain_json_and_stays_so(value):
    once = provenance.clean(value)
    json.dumps(once, allow_nan=False)
    assert provenance.clean(once) == once


def test_data_hashes_come_from_the_registry(monkeypatch):
    monkeypatch.delenv("NLGEVAL_ROOT", raising=False)
    from nlgeval_lib.datasets import registry

    few = made_from.data_hashes("sfres")
    assert few and all(registry.entry(path).sha256 == sha for path, sha in few.items())
    many = made_from.data_hashes("acloserlook")
    assert len(many) == 1 and next(iter(many)).endswith(" files")
