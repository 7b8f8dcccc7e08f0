"""What the tests share: where the public data are, and how a test says that it needs them."""

from __future__ import annotations

import signal

import pytest
from cli_tools import command, judge, nl  # noqa: F401
from engine_fixtures import (  # noqa: F401
    tiny_folder,
    tiny_served,
    tiny_serving,
    tiny_transformers,
    tiny_url,
    tiny_vllm,
)
from hypothesis import settings
from runner_tools import here  # noqa: F401

from nlgeval_lib import datasets
from nlgeval_lib.evaluators import base

# Property tests draw the same examples in every run, so that a failure can be had again; `make fuzz` draws others.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("fuzz", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("same")

# A shell that starts the suite in the background has interrupts ignored, and children inherit that; the tests of Ctrl-C
# need them.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    """Which data the suite sees."""
    return datasets.fetch.mirror_line()


def pytest_make_parametrize_id(val, argname):
    """Bytes give a test no name: packed ones may hold the time, and two workers must collect the same names."""
    return argname if isinstance(val, bytes) else None


def needs(*names: str) -> None:
    """Skip the running test, with the reason, where a data set or recording is not on this machine.

    A file that is here but wrong is no reason to skip: that raises.
    """
    for name in names:
        for relpath in datasets.files(name):
            if datasets.fetch.local(relpath) is None:
                pytest.skip(f"{name} is not here: {relpath} is neither in data/raw nor in a data mirror")


@pytest.fixture(name="needs", scope="session")
def _needs():
    """`needs("summeval")` inside a test: skip where the data are not here."""
    return needs


@pytest.fixture(scope="session")
def mirror():
    """The folder with the public data: the mirror, or data/raw where it has the SummEval file. Skips where neither."""
    for folder in (datasets.fetch.mirror(), datasets.fetch.files.raw()):
        if folder is not None and (folder / "summeval" / "bartscore_data.pkl").is_file():
            return folder
    pytest.skip("no public data here: neither a data mirror nor data/raw")


@pytest.fixture(scope="session")
def data():
    """`data("summeval")` loads a data set once a session, or skips the test; do not change the frame."""
    frames: dict = {}

    def load(name: str, **options):
        needs(name)
        key = (name, tuple(sorted(options.items())))
        if key not in frames:
            frames[key] = datasets.load(name, **options)
        return frames[key]

    return load


@pytest.fixture(autouse=True)
def _own_evaluators_are_forgotten(monkeypatch):
    """What a test registers is known to that test alone."""
    monkeypatch.setattr("nlgeval_lib.evaluators.base._registry", dict(base._registry))


@pytest.fixture
def own_state(tmp_path, monkeypatch):
    """A metric cache of the test's own, and no model hub."""
    monkeypatch.setenv("NLGEVAL_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def one_thread():
    """Threads that wait for each other take a busy machine's time, where models are tiny."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
