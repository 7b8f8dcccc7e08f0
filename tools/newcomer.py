"""The path of a newcomer by the clock: install, a card on 60 rows of one's own with a
server of this machine, a gate in pytest, two prompts by two models.

    make newcomer                      # 10 to 20 minutes on two cores
    make newcomer ARGS="--python other/bin/python --output seen --screenshots"

The rows are ten texts of SummEval with six systems and three raters, under names of
columns that no tool knows. Every step is a command that is printed and run in a folder
of its own, by an installed wheel and not by the checkout; its seconds stand behind it.
A step that fails ends the path with its output. With --screenshots Chromium takes
pictures of the card, the matrix and the page to send.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nlgeval_lib import datasets
from nlgeval_lib.engines.vllm import CPU_ENVIRONMENT
from nlgeval_lib.weights.fetch import fetch

ROOT = Path(__file__).parents[1]
MODELS = {"small": "smollm2-135m-instruct", "larger": "qwen2.5-coder-0.5b-instruct"}
PORTS = {"small": 8341, "larger": 8342}
START_SECONDS = 600  # at most, of a server
CACHE = 1 << 29  # bytes of each server's cache: two of them share a small machine
OWN_NAMES = {
    "input_id": "story",
    "system_id": "model",
    "source": "article",
    "output": "summary",
}
RATERS = ("anna", "ben", "carl")

SHORT = """\
How coherent is this summary, from 1 (worst) to 5 (best)?

Summary: {output}

Answer with one number.
"""
LONG = """\
Article: {source}

Summary: {output}

A coherent summary is well organised: each sentence builds on those before it. How
coherent is the summary, from 1 (worst) to 5 (best)? Answer with one number.
"""
GATE = """\
from judgecard.in_tests import assert_card


def test_the_judge_gives_scores():
    assert_card("card/card.json", "coherence.kendall.value >= -1")


def test_the_judge_follows_people():
    assert_card("card/card.json", "coherence.kendall.low >= .3")
"""
PLAN = """\
prompts = ["short.txt", "long.txt"]
models = [
    {{model = "small", base-url = "http://127.0.0.1:{small}/v1"}},
    {{model = "larger", base-url = "http://127.0.0.1:{larger}/v1"}},
]
input = "rows.csv"
map = {columns}
fill = ["aspect=coherence"]
set = ["max_tokens=8"]
scale = "1-5"
engine = "openai"
"""
PAGES = {"card": "card/card.html", "matrix": "matrix/matrix.html", "sent": "card.html"}


class Clock:
    """Runs commands in the newcomer's folder, and keeps what each took."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps: list[tuple[str, float, int]] = []

    def run(self, name: str, command: str, allowed: tuple[int, ...] = (0,)) -> None:
        """Print a command, run it, print its last lines and its seconds."""
        print(f"\n## {name}\n$ {command}", flush=True)
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.folder / "home")}
        begun = time.monotonic()
        ended = subprocess.run(
            shlex.split(command),
            cwd=self.folder,
            env=variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        print("\n".join(ended.stdout.splitlines()[-25:]))
        self.took(name, time.monotonic() - begun, ended.returncode)
        if ended.returncode not in allowed:
            sys.exit(f"{name} failed")

    def took(self, name: str, seconds: float, code: int = 0) -> None:
        """Keep and print what a step took."""
        print(f"-- {name}: exit code {code}, {seconds:.1f} s", flush=True)
        self.steps.append((name, seconds, code))

    def table(self) -> str:
        """What each step took, as a table in Markdown."""
        rows = ["| step | seconds | exit code |", "|---|---|---|"]
        rows += [
            f"| {name} | {taken:.1f} | {code} |" for name, taken, code in self.steps
        ]
        return "\n".join(rows)


def write_rows(folder: Path) -> list[str]:
    """Sixty rated rows under names of one's own; returns the options that name them."""
    frame = datasets.load("summeval")
    frame = frame[frame["aspect"] == "coherence"]
    inputs = frame["input_id"].drop_duplicates().head(10)
    systems = frame["system_id"].drop_duplicates().head(6)
    kept = frame[frame["input_id"].isin(inputs) & frame["system_id"].isin(systems)]
    own = kept[list(OWN_NAMES)].rename(columns=OWN_NAMES)
    for number, name in enumerate(RATERS):
        own[name] = kept[f"rater_expert_{number}"]
    own.to_csv(folder / "rows.csv", index=False)
    columns = [f"{ours}={theirs}" for ours, theirs in OWN_NAMES.items()]
    return columns + [f"rater_{name}={name}" for name in RATERS]


def answers(port: int) -> bool:
    """Whether a server of this machine says that it is ready."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def served(python: str, folder: Path, clock: Clock) -> Iterator[None]:
    """The two models behind servers of this machine, as long as the block runs."""
    begun = time.monotonic()
    weights = {name: str(fetch(model)) for name, model in MODELS.items()}
    clock.took("two models fetched", time.monotonic() - begun)
    begun = time.monotonic()
    servers = []
    environment = {**os.environ, **CPU_ENVIRONMENT}
    try:
        for name, place in weights.items():
            command = [python, "-m", "vllm.entrypoints.openai.api_server"]
            command += ["--model", place, "--served-model-name", name]
            command += ["--port", str(PORTS[name]), "--max-model-len", "4096"]
            command += ["--kv-cache-memory-bytes", str(CACHE), "--enforce-eager"]
            log = (folder / f"{name}.log").open("w")
            servers.append(
                subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            )
        while not all(answers(port) for port in PORTS.values()):
            stopped = any(server.poll() is not None for server in servers)
            if stopped or time.monotonic() - begun > START_SECONDS:
                sys.exit(f"the servers did not start: see {folder}/*.log")
            time.sleep(1)
        clock.took("both servers answer", time.monotonic() - begun)
        yield
    finally:
        for server in servers:
            server.terminate()
            server.wait()


def take_pictures(folder: Path) -> None:
    """Write a picture of the first screen of each page."""
    from tools import screenshots

    with screenshots.browser() as port:
        tab = screenshots.Tab(port)
        for name, page in PAGES.items():
            place = (folder / page).as_uri()
            tab.open(place, "document.readyState === 'complete'")
            tab.picture(folder / f"{name}.png")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default=sys.executable, help="one that has vLLM")
    parser.add_argument("--output", default=".nlgeval/newcomer")
    parser.add_argument("--screenshots", action="store_true")
    arguments = parser.parse_args()
    folder = Path(arguments.output).resolve()
    folder.mkdir(parents=True, exist_ok=False)
    columns = write_rows(folder)
    (folder / "short.txt").write_text(SHORT)
    (folder / "long.txt").write_text(LONG)
    (folder / "test_judge.py").write_text(GATE)
    (folder / "plan.toml").write_text(PLAN.format(columns=columns, **PORTS))
    maps = " ".join(f"--map {column}" for column in columns)
    asked = f"--prompt short.txt --scale 1-5 -i rows.csv {maps}"
    asked += " --fill aspect=coherence -s max_tokens=8 --engine openai"
    served_at = f"--base-url http://127.0.0.1:{PORTS['larger']}/v1 -m larger"
    gate = "env/bin/pytest -q -p judgecard.in_tests --junitxml junit.xml test_judge.py"
    clock = Clock(folder)
    clock.run("an environment", f"{sys.executable} -m venv env")
    clock.run("a clone", f"git clone -q --depth 1 file://{ROOT} source")
    clock.run("install", "env/bin/pip install -q ./source[stats] matplotlib pytest")
    clock.run("what the rows support", "env/bin/nlgeval doctor rows.csv")
    with served(arguments.python, folder, clock):
        clock.run("a card", f"env/bin/nlgeval card {asked} {served_at}")
        clock.run("a gate in pytest", gate, (0, 1))
        clock.run("what the matrix takes", "env/bin/nlgeval card --matrix plan.toml -n")
        clock.run("two prompts, two models", "env/bin/nlgeval card --matrix plan.toml")
    clock.run(
        "the page to send", "env/bin/nlgeval card share card/card.json -o card.html"
    )
    if arguments.screenshots:
        take_pictures(folder)
    print("\n" + clock.table())
    print(f"\nopen {folder}/card/card.html and {folder}/matrix/matrix.html")


if __name__ == "__main__":
    main()
