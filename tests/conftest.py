"""What the tests share: where the public data are, and how a test says that it needs
them.
"""

from __future__ import annotations

import random
import signal
from pathlib import Path
from typing import Any

import processors  # noqa: F401, it comes first
import public_data
import pytest
from cli_tools import command, judge, nl, undrawn  # noqa: F401
from engine_fixtures import (  # noqa: F401
    tiny_folder,
    tiny_served,
    tiny_serving,
    tiny_transformers,
    tiny_url,
    tiny_vllm,
)
from hypothesis import settings
from runner_tools import here, student  # noqa: F401

from judgecard import recordings
from nlgeval_lib import datasets
from nlgeval_lib.datasets import numbers
from nlgeval_lib.evaluators import base
from nlgeval_lib.evaluators.hdeval import regressors
from reproduction.training import analyses  # noqa: F401, registers two judges

# Property tests draw the same examples in every run, so that a failure can be had
# again; `make fuzz` draws others.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("fuzz", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("same")

public_data.hide()
public_data.cut_off_the_network()

# A shell that starts the suite in the background has interrupts ignored, and children
# inherit that; the tests of Ctrl-C need them.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--shuffle 7`: the tests in another order, the same one for the same number."""
    parser.addoption(
        "--shuffle", type=int, metavar="SEED", help="tests in random order"
    )


# one worker has these files, so that vLLM and its server start once in a run
VLLM = ("test_end_to_end", "test_engines_models")
# one worker has these, as torch and transformers take 8 seconds to load
TORCH = (
    "test_attention",
    "test_cli_completions",
    "test_embedding_metrics",
    "test_evaluator_examples",
    "test_evaluator_signatures",
    "test_finetune",
    "test_learned_metrics",
    "test_own_outputs",
    "test_sampler",
    "test_scoring_input",
    "test_study_metrics",
    "test_training_golden",
    "test_weights",
)
# the files that take longest come first, so that all workers end at about the same time
LONGEST = (
    *VLLM,
    *TORCH,
    "test_unreadable_judges",
    "test_mini_judge_checkpoint",
    "test_seal",
    "test_numbers",
    "test_extending",
    "test_notebooks",
    "test_true_name",
    "test_import_graph",
    "test_runner",
    "test_meta_levels",
    "test_study_questions",
    "test_commands",
    "test_readings",
    "test_cli_evaluators",
    "test_engines_server",
    "test_interrupt",
)
# files whose tests share nothing that takes time: any worker takes any of them
APART = ("test_unreadable_judges",)


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Put the tests into the order that `--shuffle` asks for, or the longest first."""
    seed = config.getoption("--shuffle")
    if seed is not None:
        random.Random(seed).shuffle(items)
        return
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(LONGEST)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each worker takes whole files, in the order of the tests."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        """A file is one piece of work, as are those of VLLM, and of TORCH; or a test."""

        def _split_scope(self, nodeid: str) -> str:
            name = Path(nodeid.partition("::")[0]).stem
            if name in APART:
                return nodeid
            if name in TORCH:
                return "torch"
            return "vllm" if name in VLLM else name

    config.option.loadscopereorder = False
    return ByFile(config, log)


def pytest_report_header() -> str:
    """Which data the suite sees."""
    return public_data.HEADER


def pytest_make_parametrize_id(val, argname):
    """Bytes give a test no name: packed ones may hold the time, and two workers must
    collect the same names.
    """
    return argname if isinstance(val, bytes) else None


@pytest.fixture(name="needs", scope="session")
def _needs():
    """`needs("summeval")` inside a test: skip where the data are not here."""
    return public_data.needs


@pytest.fixture
def mirror():
    """The folder with the public data; skips where there is none."""
    return public_data.folder()


@pytest.fixture(autouse=True)
def _data_are_hidden_again():
    """What one test asked for, the next one does not see."""
    yield
    public_data.hide()


@pytest.fixture(scope="session")
def data():
    """`data("summeval")` loads a data set once a session; do not change the frame.

    Where its files are not here the numbers that travel with the checkout stand in:
    the same frame, each text replaced by its hash. A test that reads texts asks for
    them first, by `needs`.
    """
    frames: dict = {}

    def load(name: str, **options):
        if not numbers.has(name):
            public_data.needs(name)
        public_data.show()
        key = (name, tuple(sorted(options.items())))
        if key not in frames:
            frames[key] = datasets.load(name, **options)
        return frames[key]

    return load


@pytest.fixture(scope="session")
def recorded():
    """`recorded(name)` loads a recording once: its texts, or their places where they
    are not here.
    """
    loaded: dict = {}

    def load(name: str):
        if not numbers.has(name):
            public_data.needs(name)
        public_data.show()
        if name not in loaded:
            loaded[name] = recordings.load(name)
        return loaded[name]

    return load


@pytest.fixture(autouse=True)
def _saved_numbers_are_not_yet_used(monkeypatch):
    """A notebook has a process of its own; tests that run several share one."""
    monkeypatch.setattr("nlgeval_lib.datasets.numbers._used", {})
    from reproduction.study import judges

    judges._kept_rows.cache_clear()


@pytest.fixture(autouse=True)
def _own_evaluators_are_forgotten(monkeypatch):
    """What a test registers is known to that test alone."""
    monkeypatch.setattr("nlgeval_lib.evaluators.base._registry", dict(base._registry))
    monkeypatch.setattr(regressors, "MAKERS", dict(regressors.MAKERS))


@pytest.fixture
def own_state(tmp_path, monkeypatch):
    """A metric cache of the test's own, and no model hub."""
    monkeypatch.setenv("NLGEVAL_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def one_thread():
    """Threads that wait for each other take a busy machine's time, where models are
    tiny.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
