"""One tiny random model behind three real engines, for all tests of a session;
`conftest` hands the fixtures out.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import random
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import tiny_model

from nlgeval_lib import engines
from nlgeval_lib.engines import models, vllm

CONTEXT = 4096  # tokens: a published prompt has 400 to 2500 of the tiny tokenizer's
# bytes of keys and values, 16 contexts: vLLM does not start where this much memory is
# not free
CACHE = 64 << 20
# vLLM's handler would keep the output that a first test captured
os.environ.setdefault("VLLM_CONFIGURE_LOGGING", "0")
ENVIRONMENT = {
    **vllm.CPU_ENVIRONMENT,
    "VLLM_ENABLE_V1_MULTIPROCESSING": "1",
    "HF_HUB_OFFLINE": "1",
}


def told(run):
    """What two runs of the same requests share: texts, why they ended, counts of
    tokens.
    """
    return [
        (one.text, one.finish_reason, one.prompt_tokens, one.completion_tokens)
        for one in run.flat
    ]


def no_vllm() -> str:
    """Why vLLM cannot be tested here; empty where it can."""
    if importlib.util.find_spec("vllm") is None:
        return "vLLM is not installed: make setup-vllm brings it"
    return ""


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory) -> Path:
    """The model's folder."""
    return tiny_model.build(
        tmp_path_factory.mktemp("models") / "tiny", positions=CONTEXT
    )


def free_port() -> int:
    """A port that nobody has, and that the system gives to no connection before the
    server takes it.
    """
    while True:
        # below the ports of outgoing connections
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


@pytest.fixture(scope="session")
def tiny_serving(tiny_folder):
    """The server's process, its port and log: asked for early, it gets ready while
    other tests run.
    """
    if no_vllm():
        pytest.skip(no_vllm())
    port = free_port()
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", str(tiny_folder), "--served-model-name", "tiny-served"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    command += ["--dtype", "float32", "--enforce-eager"]
    command += ["--max-model-len", str(CONTEXT), "--kv-cache-memory-bytes", str(CACHE)]
    with open(tiny_folder.parent / "server.log", "wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env={**os.environ, **ENVIRONMENT}
        )
        yield process, port, Path(log.name)
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


@pytest.fixture(scope="session")
def tiny_vllm(tiny_folder):
    """vLLM in this process."""
    if no_vllm():
        pytest.skip(no_vllm())
    # as after `import shap`: vLLM must start beside it
    importlib.import_module("llvmlite.binding")
    with engines.make(
        "vllm",
        model=str(tiny_folder),
        max_model_len=CONTEXT,
        kv_cache_memory_bytes=CACHE,
    ) as engine:
        yield engine


@pytest.fixture(scope="session")
def tiny_transformers(tiny_folder):
    """transformers in this process."""
    with engines.make(
        "transformers", model=str(tiny_folder), batch_size=8, device="cpu"
    ) as engine:
        yield engine


@pytest.fixture(scope="session")
def tiny_url(tiny_serving) -> str:
    """The address of vLLM's server on loopback, as soon as it answers."""
    process, port, log = tiny_serving
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 480
    while True:
        try:
            urllib.request.urlopen(f"{url}/health", timeout=5)
            return f"{url}/v1"
        except (urllib.error.URLError, OSError):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(
                    f"the server did not start:\n{log.read_text(errors='replace')[-3000:]}"
                )
            time.sleep(0.2)


@pytest.fixture(scope="module")
def tiny_served(tiny_url, tiny_folder):
    """A client of that server, under the name and revision that the folder itself
    has.
    """
    name, revision = models.identify(str(tiny_folder), None, None)
    how = {
        "base_url": tiny_url,
        "dialect": "vllm",
        "api_key_env": "TEST_KEY_THAT_NOBODY_SETS",
    }
    made = engines.make("openai", model="tiny-served", name=name, **how)
    assert "+owner:vllm" in made.revision
    made.revision = revision  # the same keys, and so the same seeds
    return made
