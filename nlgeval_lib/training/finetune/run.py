"""Fine-tune a base on examples: trl's SFTTrainer, loss on the completion, and a killed run goes on where it was."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib.files import write_text
from nlgeval_lib.training.finetune.config import Config
from nlgeval_lib.training.finetune.data import Tokens, examples, tokenized

WHOLE = "COMPLETE"  # the file that a checkpoint gets last: without it, it was being written when the run ended
SETTINGS, LOG, DONE, MODEL, ADAPTER = "settings.json", "log.json", "done.json", "model", "adapter"
FSDP = Path(__file__).with_name("fsdp.yaml")
PRECISIONS = ("auto", "bf16", "fp32")
# settings that do not make another run
TOLD = ("config.name", "config.title", "config.source", "config.assumed", "config.gpus", "config.gpu")


@dataclass(frozen=True)
class Result:
    """A finished run: where the model is, its log (`step, loss, learning_rate, epoch`), and what it came to."""

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
    """Train `config.base` on the examples and save it as a Hugging Face checkpoint in `output/model`.

    data: a set's folder, a JSONL file, or a frame of examples. output: holds settings, checkpoints, log and model; run
    again with the same settings, a killed run goes on from its last whole checkpoint and a finished one is only read.
    micro_batch: examples a GPU at once; save_every, log_every: updates; precision: auto is bf16 on a GPU that has it.
    most_updates: for trials; -1 for all. On a GPU activations are recomputed (gradient checkpointing).
    With LoRA the adapter is in `output/adapter`, and `output/model` is the base with it merged.

    Raises: ValueError for a setting, or an output folder of another run, naming what differs; OSError.
    Source: settings as `config.source` says; loss on the completion: Prometheus, appendix E.
    """
    output = Path(output)
    if precision not in PRECISIONS:
        raise ValueError(f"precision {precision!r}; allowed: {', '.join(PRECISIONS)}")
    for name, value in (("micro_batch", micro_batch), ("save_every", save_every), ("log_every", log_every)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name}={value!r}: a whole number of at least 1 is needed")
    world = int(os.environ.get("WORLD_SIZE", "1"))
    accumulation, rest = divmod(config.batch, micro_batch * world)
    if rest or not accumulation:
        raise ValueError(
            f"batch={config.batch} is no multiple of {world} processes x micro_batch={micro_batch}; change one of them"
        )
    frame = examples(data)
    from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed  # after what can be refused at once
    from transformers.utils import logging

    tokenizer = AutoTokenizer.from_pretrained(config.base)
    tokens = tokenized(frame, tokenizer, config)
    settings = {
        "config": dataclasses.asdict(config),
        "data_sha256": tokens.sha256(),
        "examples": len(tokens.rows),
        "left_out": len(tokens.filters.removed),
        "micro_batch": micro_batch,
        "processes": world,
        "precision": precision,
        "most_updates": most_updates,
        "seed": seed,
    }
    main = int(os.environ.get("RANK", "0")) == 0
    _same_run(output / SETTINGS, settings, main)
    if (output / DONE).exists():
        facts, log = (json.loads((output / name).read_text(encoding="utf-8")) for name in (DONE, LOG))
        return Result(output / MODEL, pd.DataFrame(log), facts)

    set_seed(seed)
    if quiet:
        logging.disable_progress_bar()
    arguments = {
        "output_dir": str(output),
        "per_device_train_batch_size": micro_batch,
        "gradient_accumulation_steps": accumulation,
        "save_steps": save_every,
        "save_total_limit": 2,
        "logging_steps": log_every,
        "max_steps": most_updates,
        "seed": seed,
        "data_seed": seed,
        "disable_tqdm": quiet,
    }
    model = AutoModelForCausalLM.from_pretrained(config.base, dtype="float32")
    trainer = _trainer(config, model, tokenizer, tokens, arguments, precision, callbacks)
    start = last_whole(output, clean=main)
    trainer.train(resume_from_checkpoint=str(start) if start else None)
    return _save(trainer, tokenizer, tokens, output, settings, main)


def last_whole(output: Path, clean: bool = False) -> Path | None:
    """The last checkpoint that was written whole; `clean` removes those that were not."""
    whole = []
    for path in sorted(output.glob("checkpoint-*"), key=lambda path: int(path.name.rsplit("-", 1)[1])):
        if (path / WHOLE).exists():
            whole.append(path)
        elif clean:
            shutil.rmtree(path)
    return whole[-1] if whole else None


def launch_command(config: Config, data: str = "DATA", output: str = "OUTPUT") -> str:
    """The command that runs a configuration on its GPUs."""
    words = f"nlgeval finetune {config.name} --data {data} --output {output}"
    if config.gpus == 1:
        return words
    sharding = FSDP.relative_to(Path(__file__).parents[3]).as_posix()
    return f"accelerate launch --config_file {sharding} --num_processes {config.gpus} --no_python {words}"


# -- the run ---------------------------------------------------------------------------------------------------------


def _trainer(
    config: Config,
    model: Any,
    tokenizer: Any,
    tokens: Tokens,
    arguments: dict[str, Any],
    precision: str,
    callbacks: Sequence[Any],
) -> Any:
    """trl's trainer with the configuration's settings."""
    import torch
    from datasets import Dataset
    from transformers import PrinterCallback, TrainerCallback
    from trl import SFTConfig, SFTTrainer

    class Mark(TrainerCallback):
        """Marks a checkpoint once all of it is written."""

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                write_text(Path(args.output_dir) / f"checkpoint-{state.global_step}" / WHOLE, "")

    class Stepped(SFTTrainer):
        """With a rate that is multiplied once an epoch, which transformers has no name for."""

        def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
            if config.scheduler != "step" or self.lr_scheduler is not None:
                return super().create_scheduler(num_training_steps, optimizer)
            rate = lambda step: config.step_gamma ** (step // epoch)  # noqa: E731
            self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer or self.optimizer, rate)  # type: ignore[arg-type]
            self._created_lr_scheduler = True
            return self.lr_scheduler

    on_gpu = torch.cuda.is_available()
    sharded = os.environ.get("ACCELERATE_USE_FSDP", "false").lower() == "true"  # recomputes by its own setting
    epoch = -(-len(tokens.rows) // config.batch)
    updates = epoch * config.epochs
    if arguments["max_steps"] > 0:
        updates = min(updates, arguments["max_steps"])
    scheduler = config.scheduler
    if scheduler in ("step", "constant"):
        scheduler = "constant_with_warmup" if scheduler == "constant" and config.warmup else "constant"
    settings = SFTConfig(
        num_train_epochs=config.epochs,
        learning_rate=config.learning_rate,
        lr_scheduler_type=scheduler,
        warmup_steps=round(config.warmup * updates),
        weight_decay=config.weight_decay,
        max_grad_norm=1.0,
        optim="adamw_torch",
        max_length=None,
        packing=False,
        bf16=precision == "bf16" or (precision == "auto" and on_gpu and torch.cuda.is_bf16_supported()),
        use_cpu=not on_gpu,
        gradient_checkpointing=on_gpu and not sharded,
        save_strategy="steps",
        logging_first_step=True,
        report_to="none",
        dataloader_pin_memory=on_gpu,
        **arguments,
    )
    adapters = None
    if config.lora:
        from peft import LoraConfig

        own = {"r": "r", "lora_alpha": "alpha", "lora_dropout": "dropout", "target_modules": "targets"}
        adapters = LoraConfig(task_type="CAUSAL_LM", **{theirs: config.lora[name] for theirs, name in own.items()})
    trainer = Stepped(
        model=model,
        args=settings,
        train_dataset=Dataset.from_list(tokens.rows),
        processing_class=tokenizer,
        peft_config=adapters,
        callbacks=[Mark(), *callbacks],
    )
    if arguments["disable_tqdm"]:
        trainer.remove_callback(PrinterCallback)
    return trainer


def _save(trainer: Any, tokenizer: Any, tokens: Tokens, output: Path, settings: dict, main: bool) -> Result:
    """The model, the log and, last, the mark that the run is done; checkpoints stay."""
    names = ("step", "loss", "learning_rate", "epoch")
    log = [{name: entry[name] for name in names} for entry in trainer.state.log_history if "loss" in entry]
    new = output / f".{MODEL}.new"
    if main:
        shutil.rmtree(new, ignore_errors=True)
    if settings["config"]["lora"]:
        trainer.save_model(str(output / ADAPTER))
        if main:
            trainer.accelerator.unwrap_model(trainer.model).merge_and_unload().save_pretrained(new)
    else:
        trainer.save_model(str(new))
    facts = {**settings, "updates": trainer.state.global_step, "tokens": tokens.total, "answer_tokens": tokens.answers}
    if main:
        tokenizer.save_pretrained(new)
        shutil.rmtree(output / MODEL, ignore_errors=True)
        os.replace(new, output / MODEL)
        write_text(output / LOG, json.dumps(log, indent=1) + "\n")
        write_text(output / DONE, json.dumps(facts, indent=1) + "\n")
    return Result(output / MODEL, pd.DataFrame(log), json.loads(json.dumps(facts)))


def _same_run(path: Path, settings: dict[str, Any], main: bool) -> None:
    """Write the run's settings, or hold them against those of the run that the folder has."""
    text = json.dumps(settings, indent=1) + "\n"
    if not path.exists():
        if main:
            write_text(path, text)
        return
    now, was = (_flat(json.loads(one)) for one in (text, path.read_text(encoding="utf-8")))
    changed = [name for name in {**now, **was} if now.get(name) != was.get(name) and not name.startswith(TOLD)]
    if changed:
        name, more = changed[0], f" ({len(changed) - 1} more differ)" if len(changed) > 1 else ""
        raise ValueError(
            f"{path.parent} holds a run with other settings: {name} was {was.get(name)!r}, is {now.get(name)!r}{more}"
            "; choose another folder, or the settings in settings.json"
        )


def _flat(settings: dict[str, Any], head: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= _flat(value, f"{head}{name}.") if isinstance(value, dict) and value else {f"{head}{name}": value}
    return found
