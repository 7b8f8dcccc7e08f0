"""Unpickling: plain values come back as they were, anything that would import or
reach outside is refused.
"""

from __future__ import annotations

import collections
import datetime
import io
import os
import pickle
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgeval_lib.datasets import safe_pickle

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(), inner, max_size=4)
        | st.tuples(inner, inner)
    ),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """`loaded(content)`: what a file of that content holds."""
    path = tmp_path_factory.mktemp("pickles") / "data.pkl"

    def load(content: bytes):
        path.write_bytes(content)
        return safe_pickle.load(path)

    return load


@settings(max_examples=100, deadline=None)
@given(value=PLAIN, protocol=st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_plain_values_come_back(loaded, value, protocol):
    try:
        result = loaded(pickle.dumps(value, protocol))
    except safe_pickle.UnsafePickle as error:
        # before protocol 3, Python itself writes bytes as a call of codecs.encode or
        # bytes
        assert protocol < 3 and (
            "_codecs.encode" in str(error) or "bytes" in str(error)
        )
    else:
        assert result == value


class _Runs:
    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    ("value", "named"),
    [
        (_Runs(os.system, "echo hello"), ".system"),
        (_Runs(eval, "1+1"), "builtins.eval"),
        (collections.OrderedDict(a=1), "collections.OrderedDict"),
        (datetime.date(2020, 1, 1), "datetime.date"),
        (len, "len"),
        ({"deep": [1, (2, {"er": complex(1, 2)})]}, "complex"),
    ],
)
def test_every_class_and_function_is_refused_by_name(loaded, value, named, protocol):
    with pytest.raises(safe_pickle.UnsafePickle, match=r"data\.pkl") as raised:
        loaded(pickle.dumps(value, protocol))
    assert named in str(raised.value).replace("__builtin__", "builtins")


def test_outside_objects_are_refused(loaded):
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, 4)
    pickler.persistent_id = lambda value: "outside" if isinstance(value, set) else None
    pickler.dump([1, {2}])
    with pytest.raises(safe_pickle.UnsafePickle, match="outside"):
        loaded(buffer.getvalue())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"plain text",
        b"<!DOCTYPE html>",
        pickle.dumps({"a": list(range(100))})[:-20],
        b"\x80\x04\x8d"
        + struct.pack("<Q", 1 << 60)
        + b"x",  # claims a text of an exabyte
        b".",
        b"\x80\xff.",
    ],
)
def test_broken_content_is_a_clear_error(loaded, content):
    with pytest.raises(ValueError, match="not a readable pickle"):
        loaded(content)


def test_the_public_pickles_are_plain(mirror):
    for name in ("summeval", "sfres", "sfhot", "bagel"):
        assert len(safe_pickle.load(mirror / name / "bartscore_data.pkl")) > 0
