"""What `make gpu-check` says of a machine, and the rate that a plan goes by."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nlgeval_lib import engines, files
from nlgeval_lib.engines import ScriptedEngine
from reproduction.study import gpu_rate
from tools import gpu_check

ROOT = Path(__file__).resolve().parents[2]


def command(folder, name: str, output: str) -> None:
    """A command of that name which prints this."""
    path = folder / name
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\n")
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine whose only commands are in `tmp_path`."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    return tmp_path


@pytest.mark.parametrize(
    ("printed", "way_out"),
    [
        ("NVIDIA A100, 81920 MiB, 580.65.06", ""),
        ("NVIDIA A100, 81920 MiB, 600.1", ""),
        ("NVIDIA T4, 15360 MiB, 535.183.01", "580 or newer"),
        ("NVIDIA T4, 15360 MiB, 570.1", "--engine openai"),
        ("", "nvidia-smi says why"),
        ("NVIDIA T4, 15360 MiB, [N/A]", "580 or newer"),
    ],
)
def test_an_old_driver_is_named_before_anything_is_installed(machine, printed, way_out):
    command(machine, "nvidia-smi", printed)
    finding = gpu_check.look_at_driver()
    assert bool(finding.way_out) == bool(way_out)
    assert way_out in finding.way_out


def test_without_a_gpu_nothing_is_run(monkeypatch, capsys):
    monkeypatch.setattr(gpu_check.shutil, "which", lambda name: None)
    monkeypatch.setattr(gpu_check.sys, "argv", ["gpu_check.py", "--before"])
    assert gpu_check.main() == 1
    printed = capsys.readouterr().out
    assert "not ready: GPU, compiler" in printed


def test_room_is_for_the_weights_in_32_bits(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "not" / "there"))
    usage = gpu_check.shutil.disk_usage(tmp_path)
    small = usage._replace(free=10**9)
    monkeypatch.setattr(gpu_check.shutil, "disk_usage", lambda place: small)
    assert "free 26 GB" in gpu_check.look_at_disk().way_out
    large = usage._replace(free=10**12)
    monkeypatch.setattr(gpu_check.shutil, "disk_usage", lambda place: large)
    assert gpu_check.look_at_disk().way_out == ""


def test_a_rate_says_on_which_machine_it_was_measured(machine, monkeypatch):
    """With a script in the judge's place."""
    command(machine, "nvidia-smi", "NVIDIA A100, 81920 MiB, 580.65.06")
    made = []

    def engine(name, model):
        made.append((name, model))
        return ScriptedEngine(lambda request, draw: "[RESULT] 3")

    monkeypatch.setattr(engines, "make", engine)
    rate = gpu_check.measure("some/judge", 5)
    assert made == [("vllm", "some/judge")] and rate["prompts"] == 5
    seconds = rate["tokens"] / rate["tokens_a_second"]
    assert rate["prompt_tokens"] / rate["prompt_tokens_a_second"] == pytest.approx(
        seconds
    )
    told = rate["machine"]
    assert told["gpu"].endswith("580.65.06") and told["vllm"] and told["torch"]
    json.dumps(rate)


def test_the_tests_of_a_gpu_run_from_a_checkout_alone(tmp_path):
    """Without what only the suite and the notebooks need; here for want of a GPU they
    are skipped.
    """
    for name in ("hypothesis", "typer", "papermill", "nbformat", "pooch"):
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError({name!r})\n")
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
    commands = {
        "no CUDA device": [str(ROOT / "tests/library/test_gpu.py")],
        "--before": [str(ROOT / "tools" / "gpu_check.py"), "--help"],
    }
    for said, words in commands.items():
        done = subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0 and said in done.stdout, done.stdout + done.stderr


GOOD = {"model": "m", "billions": 7.0, "tokens_a_second": 3000.0, "load_seconds": 60.0}


def test_the_last_rate_is_read_again(monkeypatch, tmp_path):
    monkeypatch.setenv("NLGEVAL_HOME", str(tmp_path))
    assert gpu_rate.read() is None
    gpu_rate.write(GOOD)
    assert gpu_rate.read() == gpu_rate.GpuRate(**GOOD)
    assert gpu_rate.read().of_a_billion == 21_000


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", json.dumps(GOOD | {"load_seconds": "x"})]
    + [json.dumps(GOOD | {"tokens_a_second": value}) for value in (0, -1, 1e999)],
)
def test_a_rate_that_is_none_is_not_planned_with(monkeypatch, tmp_path, text):
    monkeypatch.setenv("NLGEVAL_HOME", str(tmp_path))
    files.write_text(files.state("gpu_rate.json"), text)
    assert gpu_rate.read() is None
