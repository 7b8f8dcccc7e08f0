"""Is this machine ready for a judge on its GPU, and how fast is it?

    python3 tools/gpu_check.py --before      driver, compiler, disk, token: nothing
                                             installed
    .venv/bin/python tools/gpu_check.py      and one judge on 200 prompts: its rate is
                                             kept

`make gpu-check` does both; it needs the checkout, vLLM, and what the library itself
needs. The rate (tokens a second, seconds to load) goes to the state folder with the
machine, the driver and the versions, and `nlgeval completions --dry-run` plans with it.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# the judge that is run unless --model names another, and its billions of parameters
JUDGE = "prometheus-eval/prometheus-7b-v1.0"
BILLIONS = 6.74
LEAST_DRIVER = 580  # of CUDA 13, which the locked vLLM is built for
PROMPTS = 200
PROMPT = """###Task Description: An instruction, a response and a score rubric are \
given.
1. Write a feedback on the quality of the response by the rubric.
2. After the feedback, write an integer between 1 and 5 as the score.
The output format is: "Feedback: (write a feedback) [RESULT] (an integer)"

###Instruction: Name {number} rivers and the seas that they reach.

###Response: The Danube reaches the Black Sea, and the Rhine the North Sea.

###Score Rubric: [Is the response complete and right?]

###Feedback: """


@dataclass(frozen=True)
class Finding:
    """What one look gave.

    subject: what was looked at.
    value: what is there.
    way_out: what to do, where it is not good; empty where it is.
    """

    subject: str
    value: str
    way_out: str = ""


def look_at_driver() -> Finding:
    """The GPU and whether its driver is new enough, as nvidia-smi says."""
    command = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version"]
    command.append("--format=csv,noheader")
    if not shutil.which("nvidia-smi"):
        return Finding(
            "GPU", "none: nvidia-smi is not there", "install NVIDIA's driver"
        )
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = answer.stdout.strip().splitlines()
    if not lines:
        return Finding("GPU", "none is seen", "nvidia-smi says why")
    version = lines[0].rpartition(",")[2].strip()
    number = version.partition(".")[0]
    way_out = ""
    if not number.isdigit() or int(number) < LEAST_DRIVER:
        way_out = (
            f"a driver of {LEAST_DRIVER} or newer is needed (CUDA 13). Update it; or "
            "serve the judge by a vLLM that is built for this driver, in an "
            "environment of its own, and ask it with --engine openai --base-url URL"
        )
    return Finding("GPU", "; ".join(lines), way_out)


def look_at_compiler() -> Finding:
    """A C compiler and Python's headers, which vLLM's kernels are built with."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    if not compiler:
        return Finding("compiler", "none", "install gcc (Debian: apt install gcc)")
    if not header.is_file():
        way_out = "install Python's headers (Debian: apt install python3-dev)"
        return Finding("compiler", f"{compiler}, no {header}", way_out)
    return Finding("compiler", compiler)


def look_at_disk() -> Finding:
    """Room for the judge's weights on the disk of the hub's cache (`HF_HOME`)."""
    cache = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    # the cache may not exist yet: its nearest folder that does is on the same disk
    place = cache
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free / 1e9
    # a checkpoint in 32 bits takes twice what the loaded weights take
    needed = 4 * BILLIONS
    way_out = ""
    if free < needed:
        way_out = f"free {needed - free:.0f} GB, or set HF_HOME to a larger disk"
    value = f"{free:.0f} GB free at {place}, {needed:.0f} needed for {JUDGE}"
    return Finding("disk", value, way_out)


def look_at_token() -> Finding:
    """A token of the hub, which gated models need; none is no fault."""
    has_token = bool(os.environ.get("HF_TOKEN"))
    cached = Path.home() / ".cache" / "huggingface" / "token"
    if has_token or cached.is_file():
        return Finding("hub token", "there")
    return Finding("hub token", "none; open models need none, Llama-2 does")


LOOKS: tuple[Callable[[], Finding], ...] = (
    look_at_driver,
    look_at_compiler,
    look_at_disk,
    look_at_token,
)


def looked_at() -> Iterator[Finding]:
    """Every finding, printed with its way out as soon as it is there."""
    for look in LOOKS:
        finding = look()
        print(f"{finding.subject}: {finding.value}", flush=True)
        if finding.way_out:
            print(f"    {finding.way_out}", flush=True)
        yield finding


def machine() -> dict[str, str]:
    """What a rate hangs on: processor, cores, GPU with memory and driver, versions."""
    facts = {
        "system": platform.platform(),
        "cores": str(os.cpu_count()),
        "gpu": look_at_driver().value,
        "python": platform.python_version(),
    }
    for package in ("vllm", "torch", "transformers"):
        try:
            facts[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            module = sys.modules.get(package)
            facts[package] = str(getattr(module, "__version__", "not installed"))
    return facts


def measure(model: str, prompts: int) -> dict[str, Any]:
    """How long a judge takes to load, and how many tokens it then writes a second.

    prompts: how many it answers; no two are the same.
    Returns: the rate as `reproduction.study.gpu_rate` keeps it; `billions` is that of
        the default judge. Prompts are read in the seconds in which others are written,
        so both rates are of the same time.
    """
    from nlgeval_lib import engines
    from nlgeval_lib.engines import Request, Sampling

    began = time.monotonic()
    with engines.make("vllm", model=model) as engine:
        load_seconds = time.monotonic() - began
        requests = []
        for number in range(prompts):
            requests.append(Request(prompt=PROMPT.format(number=number + 2)))
        began = time.monotonic()
        sampling = Sampling(temperature=1.0, top_p=0.9, max_tokens=256)
        answers = engines.complete(engine, requests, sampling)
        seconds = time.monotonic() - began
    tokens = answers.progress.completion_tokens
    prompt_tokens = answers.progress.prompt_tokens
    return {
        "model": model,
        "billions": BILLIONS,
        "tokens_a_second": tokens / seconds,
        "prompt_tokens_a_second": prompt_tokens / seconds,
        "load_seconds": load_seconds,
        "prompts": prompts,
        "tokens": tokens,
        "prompt_tokens": prompt_tokens,
        "machine": machine(),
    }


def main() -> int:
    """Look, then measure one judge and keep its rate; 1 where something is not
    ready.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", action="store_true", help="run no judge")
    parser.add_argument("--model", default=JUDGE, help=f"a judge (default {JUDGE})")
    parser.add_argument("--prompts", type=int, default=PROMPTS)
    arguments = parser.parse_args()
    faults = [finding for finding in looked_at() if finding.way_out]
    if faults:
        print(f"not ready: {', '.join(finding.subject for finding in faults)}")
        return 1
    if arguments.before:
        return 0
    sys.path.insert(0, str(ROOT))
    from reproduction.study import gpu_rate

    rate = measure(arguments.model, arguments.prompts)
    path = gpu_rate.write(rate)
    print(
        f"loaded in {rate['load_seconds']:.0f} s; "
        f"{rate['prompt_tokens_a_second']:,.0f} prompt and "
        f"{rate['tokens_a_second']:,.0f} new tokens a second; kept in {path}"
    )
    print("now: nlgeval completions --dry-run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
