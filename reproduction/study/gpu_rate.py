"""The rate of a judge that was measured on this machine's GPU (`make gpu-check`)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlgeval_lib import files

_FILE = "gpu_rate.json"


@dataclass(frozen=True)
class GpuRate:
    """How fast a model of so many billions of parameters was on this machine's GPU."""

    model: str
    billions: float
    tokens_a_second: float
    load_seconds: float

    @property
    def of_a_billion(self) -> float:
        """New tokens a second by billion of parameters."""
        return self.tokens_a_second * self.billions


def write(measured: Mapping[str, Any]) -> Path:
    """Keep a measurement; its file.

    measured: the fields of `GpuRate`, and what else is to be kept.
    Raises: OSError.
    """
    path = files.state(_FILE)
    files.write_text(path, json.dumps(dict(measured), indent=1) + "\n")
    return path


def read() -> GpuRate | None:
    """The last measurement; None where there is none that can be used."""
    try:
        measured = json.loads(files.state(_FILE).read_text(encoding="utf-8"))
        rate = GpuRate(
            str(measured["model"]),
            float(measured["billions"]),
            float(measured["tokens_a_second"]),
            float(measured["load_seconds"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    for number in (rate.billions, rate.tokens_a_second, rate.load_seconds):
        if not math.isfinite(number) or number <= 0:
            return None
    return rate
