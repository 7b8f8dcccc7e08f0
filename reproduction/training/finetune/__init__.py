"""Fine-tuning by named settings (the papers' runs, and variants marked as ours): trl's
SFTTrainer, loss on the completion, and a killed run goes on where it was; what a run
would take.

    config = named("tigerscore-7b")
    print("\\n".join(plan(config).lines))   tokens, memory, hours; nothing is loaded
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
from reproduction.training import pipeline

IGNORED = -100  # the label of a token that the loss leaves out
# What a checkpoint gets last: without it, it was being written when the run ended.
STATE = "trainer_state.json"
# The files and folders of a run's output.
SETTINGS = "settings.json"
LOG = "log.json"
DONE = "done.json"
MODEL = "model"
ADAPTER = "adapter"
TRAINED = "nlgeval.json"  # in the model's folder: what `scoring.prepared` asks it by
FSDP = Path(__file__).with_name("fsdp.yaml")
SCHEDULERS = ("cosine", "linear", "constant", "step")
# Settings that do not make another run.
TOLD = ("name", "title", "source", "assumed", "gpus", "gpu")
# The settings of LoRA that a configuration may change, with their defaults.
_LORA = {"r": 16, "alpha": 32, "dropout": 0.0, "targets": "all-linear"}
# What peft calls the settings of LoRA.
_PEFT_NAMES = {
    "r": "r",
    "alpha": "lora_alpha",
    "dropout": "lora_dropout",
    "targets": "target_modules",
}
# What transformers calls a schedule, where its name is another one.
_SCHEDULES = {"constant": "constant_with_warmup", "step": "constant"}


@dataclass(frozen=True, slots=True)
class Config:
    """One way to fine-tune.

    base: a model id or a folder.
    source: where a paper prints the settings.
    origin: "paper", or "ours" for a variant that no paper has.
    size: which of the known sizes the base has, for plans; empty where the base's own
    configuration is to be read.
    pipeline: the training set that it is for.
    chat: how prompts are wrapped (`ChatFormat`).
    epochs: may be a part of one.
    batch: examples an update, over all GPUs and accumulation steps.
    learning_rate: the highest one.
    scheduler: `cosine`, `linear`, `constant`, or `step`, which multiplies the rate by
    `step_gamma` after each epoch.
    warmup: share of all updates.
    max_length: tokens of prompt and completion together; longer examples are left out,
    never cut.
    gpus, gpu: how many, and which of `GPUS`, for plans and `launch_command`.
    examples: how many the paper trained on, 0 where it has none.
    keep: column -> values of the examples to train on; empty for all.
    lora: r, alpha, dropout, targets; empty for all weights.
    assumed: what the paper does not print.

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
        above_0 = "epochs learning_rate step_gamma batch max_length gpus"
        for name in above_0.split():
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ValueError(f"{name}={value!r}: a number above 0 is needed")
        if not 0 <= self.warmup < 1:
            raise ValueError(
                f"warmup={self.warmup!r}: a share of all updates, "
                "from 0 to below 1, is needed"
            )
        if self.scheduler not in SCHEDULERS:
            raise ValueError(
                f"scheduler {self.scheduler!r}; allowed: {', '.join(SCHEDULERS)}"
            )
        ChatFormat.named(self.chat)
        if unknown := [name for name in self.lora if name not in _LORA]:
            raise ValueError(
                f"lora has no setting {', '.join(unknown)}; "
                f"settings: {', '.join(_LORA)}"
            )
        keep = {}
        for column, values in self.keep.items():
            keep[column] = (values,) if isinstance(values, str) else tuple(values)
        object.__setattr__(self, "keep", keep)
        object.__setattr__(self, "assumed", tuple(self.assumed))
        if self.lora:
            object.__setattr__(self, "lora", {**_LORA, **self.lora})

    def changed(self, **settings: Any) -> Config:
        """The configuration with other settings.

        Raises: ValueError for an unknown name or a bad value.
        """
        names = [setting_field.name for setting_field in dataclasses.fields(self)]
        if unknown := [name for name in settings if name not in names]:
            hint = meant(unknown[0], names, ".")
            raise ValueError(
                f"no setting {unknown[0]!r}{hint} Settings: {', '.join(names)}"
            )
        return dataclasses.replace(self, **settings)


@functools.cache
def _file() -> dict[str, Any]:
    """What `configs.toml` has: `config` by name, and the sizes of bases as `base`."""
    path = Path(__file__).with_name("configs.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def names() -> list[str]:
    """The names of all configurations."""
    return list(_file()["config"])


def named(name: str) -> Config:
    """A configuration by its name. Raises: ValueError with the nearest names."""
    configs = _file()["config"]
    if name not in configs:
        hint = meant(name, configs, ".", n=2)
        raise ValueError(
            f"no configuration {name!r}{hint} There are {', '.join(configs)}"
        )
    settings = dict(configs[name])
    # A variant names the configuration that it changes, which may name another.
    while "extends" in settings:
        settings = configs[settings.pop("extends")] | settings
    return Config(name=name, **settings)


# -- what a run would take: estimates, each says what it rests on

MFU = 0.4  # the share of the peak speed that a run reaches: .3 to .5 is common
# Dense bf16 FLOP/s and bytes of memory, from the makers' data sheets.
GPUS = {
    "a100-40gb": (312e12, 40e9),
    "a100-80gb": (312e12, 80e9),
    "h100-80gb": (989e12, 80e9),
    "h200-141gb": (989e12, 141e9),
}


@dataclass(frozen=True, slots=True)
class Size:
    """What of a base determines memory and time; hidden: units of a layer's output."""

    parameters: int
    layers: int
    hidden: int
    vocabulary: int

    @classmethod
    def named(cls, name: str) -> Size:
        """The size of a known base. Raises: ValueError for an unknown name."""
        bases = _file()["base"]
        if name not in bases:
            raise ValueError(
                f"size {name!r} of the base is unknown; known: {', '.join(bases)}"
            )
        return cls(**bases[name])

    def lora_parameters(self, r: int) -> int:
        """Weights of rank-r adapters on the seven linear maps of each Llama layer
        (intermediate size 2.6875 x).
        """
        wide = round(2.6875 * self.hidden)
        return r * self.layers * (4 * 2 * self.hidden + 3 * (self.hidden + wide))


@dataclass(frozen=True, slots=True)
class Plan:
    """A run in numbers and in `lines`; memory: bytes a GPU by what needs them."""

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
) -> Plan:
    """What the run would take, no weights loaded.

    Memory is for bf16 with fp32 weights and AdamW states sharded over all GPUs,
    activations recomputed layer by layer.

    data: as for `examples`, counted by the tokenizer where the base is a folder;
    without data the paper's number of examples, each at the length limit, which is an
    upper bound.
    Raises: ValueError for an unknown GPU or base, or without any number of examples.
    Source: 6 FLOPs a parameter and token, 8 with recomputation (Kaplan et al. 2020;
    Korthikanti et al. 2022).
    """
    local = Path(config.base).is_dir()
    size = size_of(config.base) if local else Size.named(config.size)
    if config.gpu not in GPUS:
        raise ValueError(f"gpu {config.gpu!r}; allowed: {', '.join(GPUS)}")
    n, tokens, notes = _amount(config, data)
    accumulation = max(1, round(config.batch / (config.gpus * micro_batch)))
    batches = f"{config.gpus} GPUs x {micro_batch} x {accumulation}"
    together = accumulation * config.gpus * micro_batch
    if together != config.batch:
        notes.append(f"{batches} = {together} examples an update, not {config.batch}")
    peak, capacity = GPUS[config.gpu]
    notes.append(
        f"time at {MFU:.0%} of {peak / 1e12:.0f} TFLOP/s; "
        "no evaluation, loading or saving"
    )
    memory = _memory(config, size, micro_batch)
    fits = sum(memory.values()) < 0.92 * capacity  # the runtime takes the remainder
    # All weights: forward 2, backward 4, recomputed forward 2; adapters need no
    # gradient of the base's weights.
    flops_a_token = 6 if config.lora else 8
    flops = flops_a_token * size.parameters * tokens * config.epochs
    hours = flops / (peak * MFU * config.gpus) / 3600
    updates = math.ceil(math.ceil(n / config.batch) * config.epochs)
    amounts = {
        "examples": f"{n:,}; {tokens:,} tokens an epoch, {config.epochs:g} epochs",
        "updates": f"{updates:,} of {config.batch} examples: {batches} accumulated",
    }
    lines = _lines(config, amounts, memory, fits, hours, notes)
    return Plan(updates, hours, memory, fits, lines)


def _amount(
    config: Config, data: Path | str | pd.DataFrame | None
) -> tuple[int, int, list[str]]:
    """Examples, their tokens an epoch, and notes that say how they are counted."""
    if data is None:
        if not config.examples:
            raise ValueError(
                f"{config.name}: how many examples? Give the data, or a number"
            )
        notes = [
            "examples: the paper's number",
            "tokens: upper bound, every example at the length limit",
        ]
        return config.examples, config.examples * config.max_length, notes
    frame = examples(data)
    if Path(config.base).is_dir():
        from transformers import AutoTokenizer

        counted = tokenized(frame, AutoTokenizer.from_pretrained(config.base), config)
        n = len(counted.rows)
        tokens = counted.total
        note = (
            f"{counted.answers:,} tokens of answers; "
            f"longest example {counted.longest:,}"
        )
    else:
        rows = chosen(frame, config)
        n = len(rows)
        tokens = int((rows["prompt"] + rows["completion"]).str.len().sum()) // 4
        note = "tokens: characters divided by four, as the base's tokenizer is not here"
    return n, tokens, [f"{note}; {len(frame) - n:,} examples left out"]


def _memory(config: Config, size: Size, micro_batch: int) -> dict[str, float]:
    """Bytes a GPU by what needs them."""
    trained = size.parameters
    # Trained weights take four bytes each; with LoRA these are the adapters alone, and
    # the base's weights take two.
    frozen: float = 0
    if config.lora:
        trained = size.lora_parameters(config.lora["r"])
        frozen = 2 * size.parameters / config.gpus
    at_once = config.max_length * micro_batch
    layer = 2 * (size.parameters / size.layers)
    if config.gpus > 1:
        layer = 2 * layer
    # The inputs of each layer are kept, one layer's inside is recomputed (34 bytes a
    # token and hidden unit, fused attention).
    inputs = 2.0 * at_once * size.hidden * size.layers
    inside = 34.0 * at_once * size.hidden
    return {
        "weights": frozen + 4 * trained / config.gpus + layer,
        "gradients": 4 * trained / config.gpus,
        "optimizer": 8 * trained / config.gpus,
        "activations": inputs + inside,
        "logits": 2 * 4.0 * at_once * size.vocabulary,
    }


def _lines(
    config: Config,
    amounts: Mapping[str, str],
    memory: Mapping[str, float],
    fits: bool,
    hours: float,
    notes: Sequence[str],
) -> list[str]:
    """A plan as text, with what it rests on."""
    weights = f"LoRA r={config.lora['r']}" if config.lora else "all weights"
    needs = ", ".join(f"{name} {share / 1e9:.1f}" for name, share in memory.items())
    total = sum(memory.values()) / 1e9
    verdict = "fits" if fits else "DOES NOT FIT"
    days = f" ({hours / 24:.1f} days)" if hours > 48 else ""
    origin = "" if config.origin == "paper" else " (not a paper's run)"
    settings = (
        f"rate {config.learning_rate:g}, {config.scheduler}, "
        f"warm-up {config.warmup:g}, length {config.max_length:,}"
    )
    entries = {
        "base": f"{config.base}, {weights}",
        **amounts,
        "memory a GPU": f"{total:.1f} GB ({needs}); {verdict} into {config.gpu}",
        "time": f"{hours:.1f} hours{days} on {config.gpus} x {config.gpu}",
        "settings": settings,
        "source": f"{config.source or 'given'}{origin}",
    }
    lines = [f"{config.name}: {config.title or config.base}"]
    lines += [f"  {name:13} {text}" for name, text in entries.items()]
    lines += [f"  {'assumed':13} {text}" for text in config.assumed]
    lines += [f"  {'note':13} {text}" for text in notes]
    return lines


def size_of(folder: Path | str) -> Size:
    """The size of a base that lies in a folder, its weights left alone."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    try:
        base = AutoConfig.from_pretrained(folder)
        # On the device "meta" a model has shapes and no memory.
        with torch.device("meta"):
            parameters = AutoModelForCausalLM.from_config(base).num_parameters()
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{folder}: no configuration of a causal model ({error})"
        ) from None
    return Size(parameters, base.num_hidden_layers, base.hidden_size, base.vocab_size)


# -- examples as token ids


@dataclass(frozen=True)
class Tokens:
    """The examples to train on, as ids and labels.

    rows: an example each, with `input_ids` and `labels`.
    left_out: examples that were too long, or that the configuration does not choose.
    total: tokens in all.
    answers: tokens that the loss is taken over.
    longest: tokens of the longest example.
    """

    rows: list[dict[str, list[int]]]
    left_out: int
    total: int
    answers: int
    longest: int


def examples(data: Path | str | pd.DataFrame) -> pd.DataFrame:
    """The examples of a set's folder, a JSONL file, or a frame. Raises: ValueError
    naming what lacks, or for a set that was not saved whole.
    """
    if not isinstance(data, pd.DataFrame):
        path = Path(data)
        return pipeline.load(path)[0] if path.is_dir() else pipeline.read(path)
    missing = [name for name in ("prompt", "completion") if name not in data.columns]
    if missing:
        raise ValueError(f"the examples have no column {', '.join(missing)}")
    return data


def chosen(frame: pd.DataFrame, config: Config) -> pd.DataFrame:
    """The examples that a configuration trains on, by its `keep`. Raises: ValueError
    for a column that the examples do not have, or where none is left.
    """
    rows = frame
    for column, values in config.keep.items():
        if column not in frame.columns:
            columns = ", ".join(map(str, frame.columns))
            raise ValueError(
                f"{config.name} chooses examples by {column!r}, which they do not "
                f"have; they have {columns}"
            )
        rows = rows[rows[column].astype(str).isin(values)]
    if rows.empty:
        conditions = [
            f"{name} of {', '.join(config.keep[name])}" for name in config.keep
        ]
        wishes = f", which wants {'; '.join(conditions)}" if conditions else ""
        raise ValueError(f"no example is left for {config.name}{wishes}")
    return rows


def tokenized(frame: pd.DataFrame, tokenizer: Any, config: Config) -> Tokens:
    """Ids and labels of the examples; one longer than `max_length` is left out whole
    and counted.

    The prompt is wrapped as the evaluator wraps it and tokenised by itself, as an
    engine would; then the completion, after one blank, and the end of text.

    frame: a row an example, with `prompt` and `completion`.
    Raises: ValueError for a tokenizer without an end-of-text token, or where nothing is
    left.
    Source: loss on the completion: Prometheus, appendix E; one prompt for training and
    inference: TIGERScore, Table 9.
    """
    if tokenizer.eos_token_id is None:
        raise ValueError(
            f"the tokenizer of {config.base} has no end-of-text token, "
            "so a model would not learn to stop"
        )
    texts = chosen(frame, config)
    rows = []
    too_long = []
    for prompt, completion in zip(texts["prompt"], texts["completion"], strict=True):
        row = encode(prompt, completion, tokenizer, config.chat)
        length = len(row["input_ids"])
        if length <= config.max_length:
            rows.append(row)
        else:
            too_long.append(length)
    if not rows:
        raise ValueError(
            f"no example fits into {config.max_length:,} tokens; "
            f"the shortest has {min(too_long):,}"
        )
    lengths = [len(row["input_ids"]) for row in rows]
    answers = sum(label != IGNORED for row in rows for label in row["labels"])
    return Tokens(rows, len(frame) - len(rows), sum(lengths), answers, max(lengths))


def encode(
    prompt: str, completion: str, tokenizer: Any, chat: str = "raw"
) -> dict[str, list[int]]:
    """`input_ids` and `labels` of one example, whose labels are `IGNORED` over the
    prompt. chat: how the prompt is wrapped (`ChatFormat`).
    """
    request = ChatFormat.named(chat).request(prompt)
    asked_ids = models.token_ids(tokenizer, request, "the base")
    # After a chat's messages, or white space, the completion begins without a blank.
    blank = " "
    if request.messages or request.text()[-1:].isspace():
        blank = ""
    answer = tokenizer(blank + completion, add_special_tokens=False)
    answer_ids = [*answer["input_ids"], tokenizer.eos_token_id]
    return {
        "input_ids": [*asked_ids, *answer_ids],
        "labels": [*[IGNORED] * len(asked_ids), *answer_ids],
    }


def chat_template(chat: str, tokenizer: Any) -> str:
    """The wrapping of the examples as a chat template: whoever asks the checkpoint by
    messages then wraps as they do.

    The last message is the prompt; the system text is the wrapping's own.

    chat: the wrapping's name; for `messages` it is the tokenizer's own template.
    """
    form = ChatFormat.named(chat)
    if form.style == "messages":
        return tokenizer.chat_template
    begin, end = form.text("\0").split("\0")
    # The template repeats the token at the beginning only where the tokenizer adds one.
    start = ""
    bos = tokenizer.bos_token_id
    if bos is not None and tokenizer("x")["input_ids"][0] == bos:
        start = "{{ bos_token }}"
    begin = "{{ " + json.dumps(begin) + " }}"
    end = "{{ " + json.dumps(end) + " }}"
    return start + begin + "{{ messages[-1]['content'] }}" + end


# -- the run


@dataclass(frozen=True)
class Result:
    """A finished run: the folder with the model, a log with a row a logged update, and
    settings with what the run came to.
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
    most_updates: int = -1,
    seed: int = 0,
    quiet: bool = True,
    callbacks: Sequence[Any] = (),
) -> Result:
    """Train `config.base` on the examples and save it as a Hugging Face checkpoint in
    `output/model`.

    On a GPU activations are recomputed (gradient checkpointing), in bf16 where it can. The model keeps the
    wrapping of its examples as its chat template, and what they show of a row in
    `nlgeval.json`. With LoRA the adapter is in `output/adapter`, and `output/model` is
    the base with it merged.

    data: as for `examples`.
    output: holds settings, checkpoints, log and model; run again with the same
    settings, a killed run goes on from its last whole checkpoint and a finished one is
    only read.
    save_every, log_every: updates between two checkpoints, and between two lines of the
    log.
    most_updates: for trials; -1 for all.

    Raises: ValueError for a setting, a batch that is no multiple of the examples at
    once, or an output folder of another run, naming what differs; OSError.
    Source: settings as `config.source` says; loss on the completion: Prometheus,
    appendix E.
    """
    arguments = {
        "max_steps": most_updates,
        "seed": seed,
        "save_steps": save_every,
        "logging_steps": log_every,
        "disable_tqdm": quiet,
    }
    return _run(config, data, Path(output), micro_batch, callbacks, arguments)


def _run(
    config: Config,
    data: Path | str | pd.DataFrame,
    output: Path,
    micro_batch: int,
    callbacks: Sequence[Any],
    arguments: dict[str, Any],
) -> Result:
    """A run that begins, goes on, or is read; `arguments` are of the trainer."""
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    main = int(os.environ.get("RANK", "0")) == 0
    accumulation, remainder = divmod(config.batch, micro_batch * processes)
    if remainder or not accumulation:
        raise ValueError(
            f"batch={config.batch} is no multiple of {processes} processes "
            f"x micro_batch={micro_batch}"
        )
    frame = examples(data)
    # Loaded after what can be refused at once.
    from transformers import AutoTokenizer, set_seed

    tokenizer = AutoTokenizer.from_pretrained(config.base)
    tokens = tokenized(frame, tokenizer, config)
    settings = _settings_of_run(config, tokens, micro_batch, processes)
    settings |= {"most_updates": arguments["max_steps"], "seed": arguments["seed"]}
    _same_run(output / SETTINGS, settings, main)
    if (output / DONE).exists():
        facts = json.loads((output / DONE).read_text(encoding="utf-8"))
        log = json.loads((output / LOG).read_text(encoding="utf-8"))
        return Result(output / MODEL, pd.DataFrame(log), facts)
    set_seed(arguments["seed"])
    trainer = _trainer(
        config,
        tokenizer,
        tokens,
        callbacks,
        output_dir=str(output),
        per_device_train_batch_size=micro_batch,
        gradient_accumulation_steps=accumulation,
        **arguments,
    )
    start = last_whole(output, clean=main)
    trainer.train(resume_from_checkpoint=str(start) if start else None)
    return _save(trainer, tokenizer, tokens, output, settings, main)


def _settings_of_run(
    config: Config, tokens: Tokens, micro_batch: int, processes: int
) -> dict[str, Any]:
    """The configuration, and what else makes two runs different."""
    # With other examples it is another run, hence their hash.
    digest = hashlib.sha256(json.dumps(tokens.rows).encode()).hexdigest()
    return {
        **dataclasses.asdict(config),
        "data_sha256": digest,
        "examples": len(tokens.rows),
        "left_out": tokens.left_out,
        "micro_batch": micro_batch,
        "processes": processes,
    }


def last_whole(output: Path, clean: bool = False) -> Path | None:
    """The last checkpoint that was written whole; None where there is none."""

    def updates(checkpoint: Path) -> int:
        return int(checkpoint.name.rsplit("-", 1)[1])

    last = None
    for path in sorted(output.glob("checkpoint-*"), key=updates):
        try:
            json.loads((path / STATE).read_text(encoding="utf-8"))
            last = path
        except (OSError, ValueError):
            if clean:
                shutil.rmtree(path)
    return last


def launch_command(config: Config, data: str = "DATA", output: str = "OUTPUT") -> str:
    """The command that runs a configuration on its GPUs."""
    command = f"nlgeval finetune {config.name} --data {data} --output {output}"
    if config.gpus == 1:
        return command
    sharding = FSDP.relative_to(Path(__file__).parents[3]).as_posix()
    return (
        f"accelerate launch --config_file {sharding} "
        f"--num_processes {config.gpus} --no_python {command}"
    )


def _trainer(
    config: Config,
    tokenizer: Any,
    tokens: Tokens,
    callbacks: Sequence[Any],
    **arguments: Any,
) -> Any:
    """trl's trainer with the configuration's settings."""
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, PrinterCallback
    from transformers.utils import logging

    if arguments["disable_tqdm"]:
        logging.disable_progress_bar()
    settings = _trainer_settings(config, arguments)
    adapters = None
    if config.lora:
        from peft import LoraConfig

        lora = {_PEFT_NAMES[name]: value for name, value in config.lora.items()}
        adapters = LoraConfig(task_type="CAUSAL_LM", **lora)
    trainer = _trainer_class(config, len(tokens.rows))(
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


def _trainer_class(config: Config, n_examples: int) -> Any:
    """trl's trainer with the configuration's schedule."""
    from torch.optim.lr_scheduler import LambdaLR
    from trl import SFTTrainer

    class Stepped(SFTTrainer):
        """With a rate that is multiplied once an epoch, which transformers has no
        name for.
        """

        def create_scheduler(
            self, num_training_steps: int, optimizer: Any = None
        ) -> Any:
            if config.scheduler != "step" or self.lr_scheduler is not None:
                return super().create_scheduler(num_training_steps, optimizer)
            epoch = math.ceil(n_examples / config.batch)
            gamma = config.step_gamma
            if optimizer is None:
                optimizer = self.optimizer
            self.lr_scheduler = LambdaLR(
                optimizer, lambda step: gamma ** (step // epoch)
            )
            self._created_lr_scheduler = True
            return self.lr_scheduler

    return Stepped


def _trainer_settings(config: Config, arguments: Mapping[str, Any]) -> Any:
    """trl's settings for a configuration on this machine."""
    import torch
    from trl import SFTConfig

    on_gpu = torch.cuda.is_available()
    # A sharded run recomputes activations by a setting of its own.
    sharded = os.environ.get("ACCELERATE_USE_FSDP", "false").lower() == "true"
    return SFTConfig(
        num_train_epochs=config.epochs,
        learning_rate=config.learning_rate,
        lr_scheduler_type=_SCHEDULES.get(config.scheduler, config.scheduler),
        warmup_steps=config.warmup,  # below 1: a share of all updates
        weight_decay=config.weight_decay,
        optim="adamw_torch",
        max_length=None,
        bf16=on_gpu and torch.cuda.is_bf16_supported(),
        use_cpu=not on_gpu,
        gradient_checkpointing=on_gpu and not sharded,
        save_total_limit=2,
        logging_first_step=True,
        report_to="none",
        dataloader_pin_memory=on_gpu,
        **arguments,
    )


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
    log = []
    for entry in trainer.state.log_history:
        if "loss" in entry:
            log.append({name: entry[name] for name in names})
    # The model is written beside its place and moved there when it is whole.
    folder = output / f".{MODEL}.new"
    if main:
        shutil.rmtree(folder, ignore_errors=True)
    if settings["lora"]:
        trainer.save_model(str(output / ADAPTER))
        if main:
            model = trainer.accelerator.unwrap_model(trainer.model)
            model.merge_and_unload().save_pretrained(folder)
    else:
        trainer.save_model(str(folder))
    facts = {
        **settings,
        "updates": trainer.state.global_step,
        "tokens": tokens.total,
        "answer_tokens": tokens.answers,
    }
    if main:
        tokenizer.chat_template = chat_template(settings["chat"], tokenizer)
        tokenizer.save_pretrained(folder)
        trained = {name: settings[name] for name in ("name", "chat", "keep")}
        write_text(folder / TRAINED, json.dumps(trained) + "\n")
        shutil.rmtree(output / MODEL, ignore_errors=True)
        os.replace(folder, output / MODEL)
        write_text(output / LOG, json.dumps(log, indent=1) + "\n")
        write_text(output / DONE, json.dumps(facts, indent=1) + "\n")
    return Result(output / MODEL, pd.DataFrame(log), json.loads(json.dumps(facts)))


def _same_run(path: Path, settings: dict[str, Any], main: bool) -> None:
    """Write the run's settings, or hold them against those of the run that the folder
    has.
    """
    text = json.dumps(settings, indent=1) + "\n"
    if not path.exists():
        if main:
            write_text(path, text)
        return
    # Tuples are lists once they were JSON, on both sides.
    settings = json.loads(text)
    earlier = json.loads(path.read_text(encoding="utf-8"))
    for name in {**settings, **earlier}:
        was = earlier.get(name)
        current = settings.get(name)
        if current != was and name not in TOLD:
            raise ValueError(
                f"{path.parent} holds a run with other settings: {name} was {was!r}, "
                f"is {current!r}; choose another folder or its settings.json"
            )
