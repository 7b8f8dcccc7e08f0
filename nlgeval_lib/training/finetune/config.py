"""Fine-tuning settings by name: those of the papers, and variants that are marked as ours."""

from __future__ import annotations

import dataclasses
import functools
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nlgeval_lib.evaluators.judge import ChatFormat
from nlgeval_lib.names import meant

FILE = Path(__file__).with_name("configs.toml")
SCHEDULERS = ("cosine", "linear", "constant", "step")
_LORA = {"r": 16, "alpha": 32, "dropout": 0.0, "targets": "all-linear"}
# setting -> its least value, whether that value itself is too small, and whether it is a whole number
_NUMBERS = {
    **dict.fromkeys(("epochs", "learning_rate", "step_gamma"), (0, True, False)),
    **dict.fromkeys(("warmup", "weight_decay"), (0, False, False)),
    **dict.fromkeys(("batch", "max_length", "gpus"), (1, False, True)),
}


@dataclass(frozen=True, slots=True)
class Config:
    """One way to fine-tune.

    base: a model id or a folder. size: which of the known sizes it has, for plans; empty where the base's own
    configuration is to be read. chat: how prompts are wrapped (`ChatFormat`). batch: examples an update, over all GPUs
    and accumulation steps. scheduler: `step` multiplies the rate by `step_gamma` after each epoch. warmup: share of all
    updates. max_length: tokens of prompt and completion together; longer examples are left out, never cut.
    keep: column -> values of the examples to train on. lora: r, alpha, dropout, targets; empty for all weights.
    assumed: what the paper does not print. examples: how many the paper trained on, 0 where it has none.

    Raises: ValueError for a value out of its range.
    """

    name: str
    base: str
    title: str = ""
    source: str = ""
    origin: str = "paper"
    size: str = ""
    pipeline: str = ""
    chat: str = "raw"
    epochs: float = 1.0
    batch: int = 8
    learning_rate: float = 2e-5
    scheduler: str = "cosine"
    warmup: float = 0.0
    step_gamma: float = 1.0
    weight_decay: float = 0.0
    max_length: int = 1024
    gpus: int = 1
    gpu: str = "a100-80gb"
    examples: int = 0
    keep: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lora: Mapping[str, Any] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        put = functools.partial(object.__setattr__, self)
        for name, (least, above, whole) in _NUMBERS.items():
            value = getattr(self, name)
            good = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
            if not good or not math.isfinite(value) or value < least or (above and value == least):
                kind = f"a {'whole ' if whole else ''}number {'above' if above else 'of at least'} {least}"
                raise ValueError(f"{name}={value!r}: {kind} is needed")
            put(name, value if whole else float(value))
        if self.warmup >= 1:
            raise ValueError(f"warmup={self.warmup}: a share of all updates, below 1")
        if self.scheduler not in SCHEDULERS:
            raise ValueError(f"scheduler {self.scheduler!r}; allowed: {', '.join(SCHEDULERS)}")
        ChatFormat.named(self.chat)
        if unknown := [name for name in self.lora if name not in _LORA]:
            raise ValueError(f"lora has no setting {', '.join(unknown)}; settings: {', '.join(_LORA)}")
        put("lora", {**_LORA, **self.lora} if self.lora else {})
        put("keep", {column: (v,) if isinstance(v, str) else tuple(v) for column, v in self.keep.items()})
        put("assumed", tuple(self.assumed))

    def changed(self, **settings: Any) -> Config:
        """The configuration with other settings. Raises: ValueError for an unknown name or a bad value."""
        known = [f.name for f in dataclasses.fields(self)]
        if unknown := [name for name in settings if name not in known]:
            raise ValueError(f"no setting {unknown[0]!r}{meant(unknown[0], known, '.')} Settings: {', '.join(known)}")
        return dataclasses.replace(self, **settings)


@functools.cache
def _file() -> dict[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def names() -> list[str]:
    """The names of all configurations."""
    return list(_file()["config"])


def named(name: str) -> Config:
    """A configuration by its name. Raises: ValueError with the nearest names."""
    found = _file()["config"]
    if name not in found:
        raise ValueError(f"no configuration {name!r}{meant(name, found, '.', n=2)} There are {', '.join(found)}")

    def settings(name: str) -> dict[str, Any]:
        own = dict(found[name])
        return (settings(own.pop("extends")) if "extends" in own else {}) | own

    return Config(name=name, **settings(name))


def sizes() -> dict[str, dict[str, int]]:
    """Known bases: name -> parameters, layers, hidden, heads, vocabulary."""
    return _file()["base"]
