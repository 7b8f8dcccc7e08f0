"""Fine-tuning by named settings (the papers' runs, and variants marked as ours): trl's
SFTTrainer, loss on the completion, and a killed run goes on where it was; what a run
would take.

    config = named("tigerscore-7b")
    print("\\n".join(plan(config).lines))            tokens, memory, hours; nothing is loaded
    finetune(config, "sets/metricinstruct", "runs/tigerscore-7b")

On several GPUs: `launch_command(config)`.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import os
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib.engines import models
from nlgeval_lib.evaluators.judge import ChatFormat
from nlgeval_lib.files import write_text
from nlgeval_lib.names import meant
from nlgeval_lib.training import pipeline

IGNORED = -100  # the label of a token that the loss leaves out
# what a checkpoint gets last: without it, it was being written when the run ended
STATE = "trainer_state.json"
SETTINGS = "settings.json"
LOG = "log.json"
DONE = "done.json"
MODEL = "model"
ADAPTER = "adapter"
TRAINED = "nlgeval.json"  # in the model's folder: what `scoring.prepared` asks it by
FSDP = Path(__file__).with_name("fsdp.yaml")
PRECISIONS = ("auto", "bf16", "fp32")
SCHEDULERS = ("cosine", "linear", "constant", "step")
TOLD = (
    "name",
    "title",
    "source",
    "assumed",
    "gpus",
    "gpu",
)  # settings that do not make another run
_LORA = {"r": 16, "alpha": 32, "dropout": 0.0, "targets": "all-linear"}


@dataclass(frozen=True, slots=True)
class Config:
    """One way to fine-tune.

    base: a model id or a folder. size: which of the known sizes it has, for plans;
    empty where the base's own configuration is to be read. chat: how prompts are
    wrapped (`ChatFormat`). batch: examples an update, over all GPUs and accumulation
    steps. scheduler: `step` multiplies the rate by `step_gamma` after each epoch.
    warmup: share of all updates. max_length: tokens of prompt and completion together;
    longer examples are left out, never cut.
    keep: column -> values of the examples to train on. lora: r, alpha, dropout,
    targets; empty for all weights.
    assumed: what the paper does not print. examples: how many the paper trained on, 0
    where it has none.

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
        for name in (
            "epochs",
            "learning_rate",
            "step_gamma",
            "batch",
            "max_length",
            "gpus",
        ):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(
                    f"{name}={getattr(self, name)!r}: a number above 0 is needed"
                )
        if not 0 <= self.warmup < 1:
            raise ValueError(
                f"warmup={self.warmup!r}: a share of all updates, from 0 to below 1, is needed"
            )
        if self.scheduler not in SCHEDULERS:
            raise ValueError(
                f"scheduler {self.scheduler!r}; allowed: {', '.join(SCHEDULERS)}"
            )
        ChatFormat.named(self.chat)
        if unknown := [name for name in self.lora if name not in _LORA]:
            raise ValueError(
                f"lora has no setting {', '.join(unknown)}; settings: {', '.join(_LORA)}"
            )
        keep = {
            column: (v,) if isinstance(v, str) else tuple(v)
            for column, v in self.keep.items()
        }
        lora = {**_LORA, **self.lora} if self.lora else {}
        for name, value in {
            "keep": keep,
            "lora": lora,
            "assumed": tuple(self.assumed),
        }.items():
            object.__setattr__(self, name, value)

    def changed(self, **settings: Any) -> Config:
        """The configuration with other settings.

        Raises: ValueError for an unknown name or a bad value.
        """
        known = [f.name for f in dataclasses.fields(self)]
        if unknown := [name for name in settings if name not in known]:
            raise ValueError(
                f"no setting {unknown[0]!r}{meant(unknown[0], known, '.')} Settings: {', '.join(known)}"
            )
        return dataclasses.replace(self, **settings)


@functools.cache
def _file() -> dict[str, Any]:
    return tomllib.loads(
        Path(__file__).with_name("configs.toml").read_text(encoding="utf-8")
    )


def names() -> list[str]:
    """The names of all configurations."""
    return list(_file()["config"])


def named(name: str) -> Config:
    """A configuration by its name. Raises: ValueError with the nearest names."""
    found = _file()["config"]
    if name not in found:
        raise ValueError(
            f"no configuration {name!r}{meant(name, found, '.', n=2)} There are {', '.join(found)}"
        )
    settings = dict(found[name])
    while "extends" in settings:
        settings = found[settings.pop("extends")] | settings
    return Config(name=name, **settings)


# -- what a run would take: estimates, each says what it rests on

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

    @classmethod
    def named(cls, name: str) -> Size:
        """The size of a known base. Raises: ValueError."""
        known = _file()["base"]
        if name not in known:
            raise ValueError(
                f"size {name!r} of the base is unknown; known: {', '.join(known)}"
            )
        return cls(**known[name])

    def lora_parameters(self, r: int) -> int:
        """Weights of rank-r adapters on the seven linear maps of each Llama layer
        (intermediate size 2.6875 x).
        """
        wide = round(2.6875 * self.hidden)
        return r * self.layers * (4 * 2 * self.hidden + 3 * (self.hidden + wide))


@dataclass(frozen=True, slots=True)
class Plan:
    """A run in numbers. memory: bytes a GPU by what needs them; lines: the plan as
    text, with what it rests on.
    """

    updates: int
    hours: float
    memory: Mapping[str, float]
    fits: bool
    lines: list[str]


def plan(
    config: Config,
    data: Path | str | pd.DataFrame | None = None,
    *,
    micro_batch: int = 1,
    mfu: float = 0.4,
) -> Plan:
    """What the run would take, no weights loaded.

    data: as for `examples`, counted by the tokenizer where the base is a folder;
    without data the paper's number of examples, each at the length limit, which is an
    upper bound. mfu: the share of the peak speed that a run reaches, an assumption; .3
    to .5 is common. Memory is for bf16 with fp32 weights and AdamW states sharded over
    all GPUs, activations recomputed layer by layer.
    Raises: ValueError for an unknown GPU or base, or without any number of examples.
    Source: 6 FLOPs a parameter and token, 8 with recomputation (Kaplan et al. 2020;
    Korthikanti et al. 2022).
    """
    c = config
    local = Path(config.base).is_dir()
    size = size_of(c.base) if local else Size.named(c.size)
    if c.gpu not in GPUS:
        raise ValueError(f"gpu {c.gpu!r}; allowed: {', '.join(GPUS)}")
    if not 0 < mfu <= 1:
        raise ValueError(f"mfu={mfu!r}; a share above 0 and up to 1 is needed")
    if data is not None:
        frame = examples(data)
        kept = chosen(frame, c)
        n = len(kept)
        tokens = int((kept["prompt"] + kept["completion"]).str.len().sum()) // 4
        note = "tokens: characters divided by four, as the base's tokenizer is not here"
        if local:
            from transformers import AutoTokenizer

            found = tokenized(frame, AutoTokenizer.from_pretrained(c.base), c)
            n = len(found.rows)
            tokens = found.total
            note = f"{found.answers:,} tokens of answers; longest example {found.longest:,}"
        said = [f"{note}; {len(frame) - n:,} examples left out"]
    else:
        if not c.examples:
            raise ValueError(f"{c.name}: how many examples? Give the data, or a number")
        n = c.examples
        tokens = c.examples * c.max_length
        said = [
            "examples: the paper's number",
            "tokens: upper bound, every example at the length limit",
        ]
    accumulation = max(1, round(c.batch / (c.gpus * micro_batch)))
    batches = f"{c.gpus} GPUs x {micro_batch} x {accumulation}"
    together = accumulation * c.gpus * micro_batch
    if together != c.batch:
        said.append(f"{batches} = {together} examples an update, not {c.batch}")
    peak, room = GPUS[c.gpu]
    said.append(
        f"time at {mfu:.0%} of {peak / 1e12:.0f} TFLOP/s; no evaluation, loading or saving"
    )

    trained = size.lora_parameters(c.lora["r"]) if c.lora else size.parameters
    frozen = 2 * size.parameters / c.gpus if c.lora else 0
    at_once = c.max_length * micro_batch
    layer = size.parameters / size.layers
    memory = {
        "weights": frozen
        + 4 * trained / c.gpus
        + (2 * 2 * layer if c.gpus > 1 else 2 * layer),
        "gradients": 4 * trained / c.gpus,
        "optimizer": 8 * trained / c.gpus,
        # inputs of each layer kept, one layer's inside recomputed (34 bytes a token and
        # hidden unit, fused attention)
        "activations": 2.0 * at_once * size.hidden * size.layers
        + 34.0 * at_once * size.hidden,
        "logits": 2 * 4.0 * at_once * size.vocabulary,
    }
    needed = sum(memory.values())
    fits = needed < 0.92 * room  # the rest is the runtime's and fragmentation
    # all weights: forward 2, backward 4, recomputed forward 2; adapters need no
    # gradient of the base's weights
    hours = (
        (6 if c.lora else 8)
        * size.parameters
        * tokens
        * c.epochs
        / (peak * mfu * c.gpus)
        / 3600
    )
    updates = math.ceil(math.ceil(n / c.batch) * c.epochs)

    parts = ", ".join(f"{name} {share / 1e9:.1f}" for name, share in memory.items())
    told = [
        ("base", c.base + (f", LoRA r={c.lora['r']}" if c.lora else ", all weights")),
        ("examples", f"{n:,}; {tokens:,} tokens an epoch, {c.epochs:g} epochs"),
        ("updates", f"{updates:,} of {c.batch} examples: {batches} accumulated"),
        (
            "memory a GPU",
            f"{needed / 1e9:.1f} GB ({parts}); {'fits' if fits else 'DOES NOT FIT'} into {c.gpu}",
        ),
        (
            "time",
            f"{hours:.1f} hours{f' ({hours / 24:.1f} days)' if hours > 48 else ''} on {c.gpus} x {c.gpu}",
        ),
        (
            "settings",
            f"rate {c.learning_rate:g}, {c.scheduler}, warm-up {c.warmup:g}, length {c.max_length:,}",
        ),
        (
            "source",
            (c.source or "given")
            + ("" if c.origin == "paper" else " (not a paper's run)"),
        ),
        *(("assumed", text) for text in c.assumed),
        *(("note", text) for text in said),
    ]
    lines = [
        f"{c.name}: {c.title or c.base}",
        *(f"  {name:13} {text}" for name, text in told),
    ]
    return Plan(updates, hours, memory, fits, lines)


def size_of(folder: Path | str) -> Size:
    """The size of a base that lies in a folder, its weights left alone.

    Raises: ValueError for no causal model.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    try:
        found = AutoConfig.from_pretrained(folder)
        with torch.device("meta"):
            parameters = AutoModelForCausalLM.from_config(found).num_parameters()
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{folder}: no configuration of a causal model ({error})"
        ) from None
    return Size(
        parameters, found.num_hidden_layers, found.hidden_size, found.vocab_size
    )


# -- examples as token ids


@dataclass(frozen=True)
class Tokens:
    """The examples to train on, as ids and labels; how many were left out; tokens in
    all, of answers, at most.
    """

    rows: list[dict[str, list[int]]]
    left_out: int
    total: int
    answers: int
    longest: int


def examples(data: Path | str | pd.DataFrame) -> pd.DataFrame:
    """The examples of a set's folder, a JSONL file, or a frame.

    Raises: ValueError naming what lacks.
    """
    if isinstance(data, pd.DataFrame):
        if missing := [
            name for name in ("prompt", "completion") if name not in data.columns
        ]:
            raise ValueError(f"the examples have no column {', '.join(missing)}")
        return data
    path = Path(data)
    return pipeline.load(path)[0] if path.is_dir() else pipeline.read(path)


def chosen(frame: pd.DataFrame, config: Config) -> pd.DataFrame:
    """The examples that a configuration trains on, by its `keep`.

    Raises: ValueError for a column that the examples do not have, or where none is
    left.
    """
    kept = frame
    for column, values in config.keep.items():
        if column not in frame.columns:
            has = ", ".join(map(str, frame.columns))
            raise ValueError(
                f"{config.name} chooses examples by {column!r}, which they do not have; they have {has}"
            )
        kept = kept[kept[column].astype(str).isin(values)]
    if kept.empty:
        wanted = "; ".join(
            f"{column} of {', '.join(values)}" for column, values in config.keep.items()
        )
        raise ValueError(
            f"no example is left for {config.name}"
            + (f", which wants {wanted}" if wanted else "")
        )
    return kept


def tokenized(frame: pd.DataFrame, tokenizer: Any, config: Config) -> Tokens:
    """Ids and labels of the examples; one longer than `max_length` is left out whole
    and counted.

    The prompt is wrapped as the evaluator wraps it and tokenised by itself, as an
    engine would; then the completion, after one blank, and the end of text.
    Raises: ValueError for a tokenizer without an end-of-text token, or where nothing is
    left.
    Source: loss on the completion: Prometheus, appendix E; one prompt for training and
    inference: TIGERScore, Table 9.
    """
    if tokenizer.eos_token_id is None:
        raise ValueError(
            f"the tokenizer of {config.base} has no end-of-text token, so a model would not learn to stop"
        )
    texts = chosen(frame, config)[["prompt", "completion"]].itertuples(index=False)
    encoded = [
        encode(prompt, completion, tokenizer, config.chat)
        for prompt, completion in texts
    ]
    rows = [row for row in encoded if len(row["input_ids"]) <= config.max_length]
    if not rows:
        shortest = min(len(row["input_ids"]) for row in encoded)
        raise ValueError(
            f"no example fits into {config.max_length:,} tokens; the shortest has {shortest:,}"
        )
    lengths = [len(row["input_ids"]) for row in rows]
    answers = sum(label != IGNORED for row in rows for label in row["labels"])
    return Tokens(rows, len(frame) - len(rows), sum(lengths), answers, max(lengths))


def encode(
    prompt: str, completion: str, tokenizer: Any, chat: str = "raw"
) -> dict[str, list[int]]:
    """`input_ids` and `labels` of one example."""
    request = ChatFormat.named(chat).request(prompt)
    before = models.token_ids(tokenizer, request, None, "the base")
    blank = "" if request.messages or request.text()[-1:].isspace() else " "
    after = [
        *tokenizer(blank + completion, add_special_tokens=False)["input_ids"],
        tokenizer.eos_token_id,
    ]
    return {
        "input_ids": [*before, *after],
        "labels": [*[IGNORED] * len(before), *after],
    }


def chat_template(chat: str, tokenizer: Any) -> str:
    """The wrapping of the examples as a chat template: whoever asks the checkpoint by
    messages then wraps as they do.

    The last message is the prompt; the system text is the wrapping's own. The
    tokenizer's own template for `messages`.
    """
    form = ChatFormat.named(chat)
    if form.style == "messages":
        return tokenizer.chat_template
    before, after = (json.dumps(part) for part in form.text("\0").split("\0"))
    begins = (
        tokenizer.bos_token_id is not None
        and tokenizer("x")["input_ids"][0] == tokenizer.bos_token_id
    )
    start = "{{ bos_token }}" if begins else ""
    message = "{{ messages[-1]['content'] }}"
    return start + "{{ " + before + " }}" + message + "{{ " + after + " }}"


# -- the run


@dataclass(frozen=True)
class Result:
    """A finished run: where the model is, its log (`step, loss, learning_rate,
    epoch`), and what it came to.
    """

    model: Path
    log: pd.DataFrame
    facts: dict[str, Any]


def finetune(
    config: Config,
    data: Path | str | pd.DataFrame,
    output: Path | str,
    *,
    micro_batch: int = 1,
    save_every: int = 100,
    log_every: int = 10,
    precision: str = "auto",
    most_updates: int = -1,
    seed: int = 0,
    quiet: bool = True,
    callbacks: Sequence[Any] = (),
) -> Result:
    """Train `config.base` on the examples and save it as a Hugging Face checkpoint in
    `output/model`.

    data: as for `examples`. output: holds settings, checkpoints, log and model; run
    again with the same settings, a killed run goes on from its last whole checkpoint
    and a finished one is only read.
    micro_batch: examples a GPU at once; save_every, log_every: updates; precision: auto
    is bf16 on a GPU that has it.
    most_updates: for trials; -1 for all. On a GPU activations are recomputed (gradient
    checkpointing). The model keeps the wrapping of its examples as its chat template,
    and what they show of a row in `nlgeval.json`. With LoRA the adapter is in
    `output/adapter`, and `output/model` is the base with it merged.

    Raises: ValueError for a setting, or an output folder of another run, naming what
    differs; OSError.
    Source: settings as `config.source` says; loss on the completion: Prometheus,
    appendix E.
    """
    output = Path(output)
    if precision not in PRECISIONS:
        raise ValueError(f"precision {precision!r}; allowed: {', '.join(PRECISIONS)}")
    world = int(os.environ.get("WORLD_SIZE", "1"))
    accumulation, rest = divmod(config.batch, micro_batch * world)
    if rest or not accumulation:
        raise ValueError(
            f"batch={config.batch} is no multiple of {world} processes x micro_batch={micro_batch}"
        )
    frame = examples(data)
    from transformers import (
        AutoTokenizer,
        set_seed,
    )  # after what can be refused at once

    tokenizer = AutoTokenizer.from_pretrained(config.base)
    tokens = tokenized(frame, tokenizer, config)
    digest = hashlib.sha256(json.dumps(tokens.rows).encode()).hexdigest()
    settings = dataclasses.asdict(config) | {
        "data_sha256": digest,
        "examples": len(tokens.rows),
    }
    settings |= {
        "left_out": tokens.left_out,
        "micro_batch": micro_batch,
        "processes": world,
    }
    settings |= {"precision": precision, "most_updates": most_updates, "seed": seed}
    main = int(os.environ.get("RANK", "0")) == 0
    _same_run(output / SETTINGS, settings, main)
    if (output / DONE).exists():
        facts, log = (
            json.loads((output / name).read_text(encoding="utf-8"))
            for name in (DONE, LOG)
        )
        return Result(output / MODEL, pd.DataFrame(log), facts)
    set_seed(seed)
    how: dict[str, Any] = {
        "per_device_train_batch_size": micro_batch,
        "gradient_accumulation_steps": accumulation,
    }
    how |= {
        "save_steps": save_every,
        "logging_steps": log_every,
        "max_steps": most_updates,
        "disable_tqdm": quiet,
    }
    trainer = _trainer(
        config,
        tokenizer,
        tokens,
        precision,
        callbacks,
        output_dir=str(output),
        seed=seed,
        **how,
    )
    start = last_whole(output, clean=main)
    trainer.train(resume_from_checkpoint=str(start) if start else None)
    return _save(trainer, tokenizer, tokens, output, settings, main)


def last_whole(output: Path, clean: bool = False) -> Path | None:
    """The last checkpoint that was written whole; `clean` removes those that were
    not.
    """
    whole = []
    for path in sorted(
        output.glob("checkpoint-*"), key=lambda path: int(path.name.rsplit("-", 1)[1])
    ):
        try:
            json.loads((path / STATE).read_text(encoding="utf-8"))
            whole.append(path)
        except (OSError, ValueError):
            if clean:
                shutil.rmtree(path)
    return whole[-1] if whole else None


def launch_command(config: Config, data: str = "DATA", output: str = "OUTPUT") -> str:
    """The command that runs a configuration on its GPUs."""
    words = f"nlgeval finetune {config.name} --data {data} --output {output}"
    if config.gpus == 1:
        return words
    sharding = FSDP.relative_to(Path(__file__).parents[3]).as_posix()
    return f"accelerate launch --config_file {sharding} --num_processes {config.gpus} --no_python {words}"


def _trainer(
    config: Config,
    tokenizer: Any,
    tokens: Tokens,
    precision: str,
    callbacks: Sequence[Any],
    **arguments: Any,
) -> Any:
    """trl's trainer with the configuration's settings; arguments: of the run."""
    import torch
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, PrinterCallback
    from transformers.utils import logging
    from trl import SFTConfig, SFTTrainer

    class Stepped(SFTTrainer):
        """With a rate that is multiplied once an epoch, which transformers has no
        name for.
        """

        def create_scheduler(
            self, num_training_steps: int, optimizer: Any = None
        ) -> Any:
            if config.scheduler != "step" or self.lr_scheduler is not None:
                return super().create_scheduler(num_training_steps, optimizer)
            epoch = math.ceil(len(tokens.rows) / config.batch)
            optimizer = optimizer or self.optimizer
            gamma = config.step_gamma
            self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
                optimizer, lambda step: gamma ** (step // epoch)
            )
            self._created_lr_scheduler = True
            return self.lr_scheduler

    if arguments["disable_tqdm"]:
        logging.disable_progress_bar()
    on_gpu = torch.cuda.is_available()
    sharded = (
        os.environ.get("ACCELERATE_USE_FSDP", "false").lower() == "true"
    )  # recomputes by its own setting
    settings = SFTConfig(
        num_train_epochs=config.epochs,
        learning_rate=config.learning_rate,
        lr_scheduler_type={"constant": "constant_with_warmup", "step": "constant"}.get(
            config.scheduler, config.scheduler
        ),
        warmup_steps=config.warmup,  # below 1: a share of all updates
        weight_decay=config.weight_decay,
        optim="adamw_torch",
        max_length=None,
        bf16=precision == "bf16"
        or (precision == "auto" and on_gpu and torch.cuda.is_bf16_supported()),
        use_cpu=not on_gpu,
        gradient_checkpointing=on_gpu and not sharded,
        save_total_limit=2,
        logging_first_step=True,
        report_to="none",
        dataloader_pin_memory=on_gpu,
        **arguments,
    )
    adapters = None
    if config.lora:
        from peft import LoraConfig

        theirs = {
            "r": "r",
            "alpha": "lora_alpha",
            "dropout": "lora_dropout",
            "targets": "target_modules",
        }
        adapters = LoraConfig(
            task_type="CAUSAL_LM",
            **{theirs[name]: value for name, value in config.lora.items()},
        )
    trainer = Stepped(
        model=AutoModelForCausalLM.from_pretrained(config.base, dtype="float32"),
        args=settings,
        train_dataset=Dataset.from_list(tokens.rows),
        processing_class=tokenizer,
        peft_config=adapters,
        callbacks=[*callbacks],
    )
    if arguments["disable_tqdm"]:
        trainer.remove_callback(PrinterCallback)
    return trainer


def _save(
    trainer: Any,
    tokenizer: Any,
    tokens: Tokens,
    output: Path,
    settings: dict,
    main: bool,
) -> Result:
    """The model, the log and, last, the mark that the run is done; checkpoints stay."""
    names = ("step", "loss", "learning_rate", "epoch")
    log = [
        {name: entry[name] for name in names}
        for entry in trainer.state.log_history
        if "loss" in entry
    ]
    new = output / f".{MODEL}.new"
    if main:
        shutil.rmtree(new, ignore_errors=True)
    if settings["lora"]:
        trainer.save_model(str(output / ADAPTER))
        if main:
            trainer.accelerator.unwrap_model(
                trainer.model
            ).merge_and_unload().save_pretrained(new)
    else:
        trainer.save_model(str(new))
    facts = {
        **settings,
        "updates": trainer.state.global_step,
        "tokens": tokens.total,
        "answer_tokens": tokens.answers,
    }
    if main:
        tokenizer.chat_template = chat_template(settings["chat"], tokenizer)
        tokenizer.save_pretrained(new)
        write_text(
            new / TRAINED,
            json.dumps({name: settings[name] for name in ("name", "chat", "keep")})
            + "\n",
        )
        shutil.rmtree(output / MODEL, ignore_errors=True)
        os.replace(new, output / MODEL)
        write_text(output / LOG, json.dumps(log, indent=1) + "\n")
        write_text(output / DONE, json.dumps(facts, indent=1) + "\n")
    return Result(output / MODEL, pd.DataFrame(log), json.loads(json.dumps(facts)))


def _same_run(path: Path, settings: dict[str, Any], main: bool) -> None:
    """Write the run's settings, or hold them against those of the run that the
    folder has.
    """
    text = json.dumps(settings, indent=1) + "\n"
    if main and not path.exists():
        write_text(path, text)
    now = json.loads(text)
    was = json.loads(path.read_text(encoding="utf-8") if path.exists() else text)
    for name in {**now, **was}:
        if now.get(name) != was.get(name) and name not in TOLD:
            differs = f"{name} was {was.get(name)!r}, is {now.get(name)!r}; choose another folder or its settings.json"
            raise ValueError(
                f"{path.parent} holds a run with other settings: {differs}"
            )
