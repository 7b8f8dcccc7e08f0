"""Fine-tuning settings by name, the papers' and variants marked as ours; what a run would take."""

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
        for name in ("epochs", "learning_rate", "step_gamma", "batch", "max_length", "gpus"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name}={getattr(self, name)!r}: a number above 0 is needed")
        if not 0 <= self.warmup < 1:
            raise ValueError(f"warmup={self.warmup!r}: a share of all updates, from 0 to below 1, is needed")
        if self.scheduler not in SCHEDULERS:
            raise ValueError(f"scheduler {self.scheduler!r}; allowed: {', '.join(SCHEDULERS)}")
        ChatFormat.named(self.chat)
        if unknown := [name for name in self.lora if name not in _LORA]:
            raise ValueError(f"lora has no setting {', '.join(unknown)}; settings: {', '.join(_LORA)}")
        keep = {column: (v,) if isinstance(v, str) else tuple(v) for column, v in self.keep.items()}
        lora = {**_LORA, **self.lora} if self.lora else {}
        for name, value in {"keep": keep, "lora": lora, "assumed": tuple(self.assumed)}.items():
            object.__setattr__(self, name, value)

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
    settings = dict(found[name])
    while "extends" in settings:
        settings = found[settings.pop("extends")] | settings
    return Config(name=name, **settings)


def sizes() -> dict[str, dict[str, int]]:
    """Known bases: name -> parameters, layers, hidden, vocabulary."""
    return _file()["base"]


# -- what a run would take: estimates, each says what it rests on -----------------------------------------------------

# dense bf16 FLOP/s and bytes of memory, from the makers' data sheets
GPUS = {
    "a100-40gb": (312e12, 40e9),
    "a100-80gb": (312e12, 80e9),
    "h100-80gb": (989e12, 80e9),
    "h200-141gb": (989e12, 141e9),
}


@dataclass(frozen=True, slots=True)
class Size:
    """What of a base determines memory and time."""

    parameters: int
    layers: int
    hidden: int
    vocabulary: int

    def lora_parameters(self, r: int) -> int:
        """Weights of rank-r adapters on the seven linear maps of each Llama layer (intermediate size 2.6875 x)."""
        wide = round(2.6875 * self.hidden)
        return r * self.layers * (4 * 2 * self.hidden + 3 * (self.hidden + wide))


@dataclass(frozen=True, slots=True)
class Plan:
    """A run in numbers. memory: bytes a GPU by what needs them; lines: the plan as text, with what it rests on."""

    updates: int
    hours: float
    memory: Mapping[str, float]
    fits: bool
    lines: list[str]


def plan(
    config: Config,
    *,
    examples: int | None = None,
    tokens: int | None = None,
    size: Size | None = None,
    micro_batch: int = 1,
    mfu: float = 0.4,
    notes: tuple[str, ...] = (),
) -> Plan:
    """What the run would take, nothing loaded.

    examples, tokens: of the data at hand, one epoch; without them the paper's number of examples, each at the length
    limit, which is an upper bound. size: of the base; by the configuration's `size` without one. mfu: the share of the
    peak speed that a run reaches, an assumption; .3 to .5 is common. Memory is for bf16 with fp32 weights and AdamW
    states sharded over all GPUs, activations recomputed layer by layer.
    Raises: ValueError for an unknown GPU or base, or without any number of examples.
    Source: 6 FLOPs a parameter and token, 8 with recomputation (Kaplan et al. 2020; Korthikanti et al. 2022).
    """
    c = config
    if c.gpu not in GPUS:
        raise ValueError(f"gpu {c.gpu!r}; allowed: {', '.join(GPUS)}")
    if not 0 < mfu <= 1:
        raise ValueError(f"mfu={mfu!r}; a share above 0 and up to 1 is needed")
    if size is None and c.size not in sizes():
        raise ValueError(f"{c.name}: size {c.size!r} of the base is unknown; known: {', '.join(sizes())}")
    if examples is None and not c.examples:
        raise ValueError(f"{c.name}: how many examples? Give the data, or a number")
    size = size or Size(**sizes()[c.size])
    said = [*notes, *(["examples: the paper's number"] if examples is None else [])]
    examples = c.examples if examples is None else examples
    if tokens is None:
        tokens = examples * c.max_length
        said.append("tokens: upper bound, every example at the length limit")
    accumulation = max(1, round(c.batch / (c.gpus * micro_batch)))
    batches, together = f"{c.gpus} GPUs x {micro_batch} x {accumulation}", accumulation * c.gpus * micro_batch
    if together != c.batch:
        said.append(f"{batches} = {together} examples an update, not {c.batch}")
    peak, room = GPUS[c.gpu]
    said.append(f"time at {mfu:.0%} of {peak / 1e12:.0f} TFLOP/s; no evaluation, loading or saving")

    trained = size.lora_parameters(c.lora["r"]) if c.lora else size.parameters
    frozen = 2 * size.parameters / c.gpus if c.lora else 0
    at_once, layer = c.max_length * micro_batch, size.parameters / size.layers
    memory = {
        "weights": frozen + 4 * trained / c.gpus + (2 * 2 * layer if c.gpus > 1 else 2 * layer),
        "gradients": 4 * trained / c.gpus,
        "optimizer": 8 * trained / c.gpus,
        # inputs of each layer kept, one layer's inside recomputed (34 bytes a token and hidden unit, fused attention)
        "activations": 2.0 * at_once * size.hidden * size.layers + 34.0 * at_once * size.hidden,
        "logits": 2 * 4.0 * at_once * size.vocabulary,
    }
    needed = sum(memory.values())
    fits = needed < 0.92 * room  # the rest is the runtime's and fragmentation
    # all weights: forward 2, backward 4, recomputed forward 2; adapters need no gradient of the base's weights
    hours = (6 if c.lora else 8) * size.parameters * tokens * c.epochs / (peak * mfu * c.gpus) / 3600
    updates = math.ceil(math.ceil(examples / c.batch) * c.epochs)

    parts = ", ".join(f"{name} {share / 1e9:.1f}" for name, share in memory.items())
    told = [
        ("base", c.base + (f", LoRA r={c.lora['r']}" if c.lora else ", all weights")),
        ("examples", f"{examples:,}; {tokens:,} tokens an epoch, {c.epochs:g} epochs"),
        ("updates", f"{updates:,} of {c.batch} examples: {batches} accumulated"),
        ("memory a GPU", f"{needed / 1e9:.1f} GB ({parts}); {'fits' if fits else 'DOES NOT FIT'} into {c.gpu}"),
        ("time", f"{hours:.1f} hours{f' ({hours / 24:.1f} days)' if hours > 48 else ''} on {c.gpus} x {c.gpu}"),
        ("settings", f"rate {c.learning_rate:g}, {c.scheduler}, warm-up {c.warmup:g}, length {c.max_length:,}"),
        ("source", (c.source or "given") + ("" if c.origin == "paper" else " (not a paper's run)")),
        *(("assumed", text) for text in c.assumed),
        *(("note", text) for text in said),
    ]
    lines = [f"{c.name}: {c.title or c.base}", *(f"  {name:13} {text}" for name, text in told)]
    return Plan(updates, hours, memory, fits, lines)


def size_of(folder: Path | str) -> Size:
    """The size of a base that lies in a folder, its weights left alone. Raises: ValueError for no causal model."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    try:
        found = AutoConfig.from_pretrained(folder)
        with torch.device("meta"):
            parameters = AutoModelForCausalLM.from_config(found).num_parameters()
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder}: no configuration of a causal model ({error})") from None
    return Size(parameters, found.num_hidden_layers, found.hidden_size, found.vocab_size)
