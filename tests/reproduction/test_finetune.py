"""Fine-tuning: named settings, ids and labels, plans, and a run on a tiny base that
is killed and goes on.
"""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pandas as pd
import pytest
import tiny_model
from cli_tools import jsonl

from nlgeval_lib.engines import (
    Request,
    Sampling,
    TransformersEngine,
    complete,
    models,
)
from nlgeval_lib.evaluators import Prometheus, TigerScore
from nlgeval_lib.scoring import EngineChoice, prepared
from nlgeval_lib.scoring.rows import of_frame
from notebooks.meta import scripted_teachers as scripted
from reproduction.training import finetune as ft
from reproduction.training import pipeline
from reproduction.training.finetune import IGNORED, chosen, encode
from reproduction.training.metricinstruct import MetricInstruct


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    return tiny_model.build(tmp_path_factory.mktemp("base"))


# -- settings


def test_the_papers_settings_are_as_printed() -> None:
    seven = ft.named("tigerscore-7b")
    thirteen = ft.named("tigerscore-13b")
    for config, rate, epochs, gpus in (
        (seven, 2e-5, 3, 4),
        (thirteen, 1e-5, 2, 8),
    ):  # section 2.4
        assert (config.learning_rate, config.epochs, config.gpus) == (
            rate,
            epochs,
            gpus,
        )
        assert (config.batch, config.max_length, config.scheduler, config.warmup) == (
            128,
            1024,
            "cosine",
            0.1,
        )
    printed = pd.read_csv(
        Path(__file__).parents[2] / "data/paper_tables/prometheus/table_08.csv"
    )
    value = printed.set_index(["row", "column"])["value"]
    for name, row in (
        ("prometheus-7b", "PROMETHEUS 7B"),
        ("prometheus-13b", "PROMETHEUS 13B"),
    ):
        config = ft.named(name)
        assert config.learning_rate == float(value[row, "LR"])
        assert config.max_length == int(value[row, "Max Length (Input & Output)"])
        # read as that of each GPU
        assert config.batch == config.gpus * int(value[row, "Batch size"])


def test_examples_of_the_ablations_are_table_2s() -> None:
    table = pd.read_csv(
        Path(__file__).parents[2] / "data/paper_tables/tigerscore/table_02.csv"
    )
    counts = table[table["column"].str.endswith("# Sample")].assign(
        value=lambda t: t["value"].astype(int)
    )
    real = counts[counts["column"].str.startswith("Real")]["value"].sum()
    assert ft.named("tigerscore-7b-rew").examples == real
    assert (
        ft.named("tigerscore-7b-syn").examples
        == ft.named("tigerscore-7b-mix").examples - real
    )
    for task, total in counts.groupby("row")["value"].sum().items():
        config = ft.named(f"tigerscore-13b-{task.lower()}")
        assert config.examples == total and config.keep == {"task": (task,)}


def test_the_sharding_file_is_one_that_accelerate_reads() -> None:
    from accelerate.commands.config.config_args import load_config_from_file

    read = load_config_from_file(str(ft.FSDP))
    assert read.distributed_type == "FSDP" and read.mixed_precision == "bf16"
    assert read.fsdp_config["fsdp_transformer_layer_cls_to_wrap"] == "LlamaDecoderLayer"
    command = ft.launch_command(ft.named("tigerscore-7b"))
    assert (
        "--num_processes 4" in command
        and (Path(__file__).parents[2] / command.split()[3]).is_file()
    )
    assert ft.launch_command(ft.named("tigerscore-7b-lora")).startswith(
        "nlgeval finetune"
    )


# -- ids and labels


ASKED = [{"role": "user", "content": "What is red?"}]


@pytest.mark.parametrize("chat", ["raw", "prometheus-v1", "mistral", "messages"])
def test_the_loss_is_on_the_answer_and_the_prompt_is_what_an_engine_sends(chat) -> None:
    """By messages too, as a server or a judge that does not know the wrapping asks a
    checkpoint.
    """
    words = tiny_model.tokenizer()
    row = encode("What is red?", "The bus. [RESULT] 3", words, chat)
    at = row["labels"].count(IGNORED)
    assert (
        row["labels"] == [IGNORED] * at + row["input_ids"][at:]
        and row["input_ids"][-1] == words.eos_token_id
    )
    assert words.decode(row["input_ids"][at:-1]).strip() == "The bus. [RESULT] 3"
    if chat != "messages":
        judge = (
            Prometheus(chat=chat) if chat == "prometheus-v1" else TigerScore(chat=chat)
        )
        assert (
            row["input_ids"][:at]
            == words(judge.chat.request("What is red?").prompt)["input_ids"]
        )
    words.chat_template = ft.chat_template(chat, words)
    assert (
        row["input_ids"][:at]
        == words.apply_chat_template(ASKED, add_generation_prompt=True)["input_ids"]
    )


def test_long_examples_are_left_out_whole_and_counted() -> None:
    frame = pd.DataFrame(
        {"id": ["a", "b"], "prompt": ["p", "p " * 300], "completion": ["c", "c"]}
    )
    config = ft.Config("t", "base", max_length=100)
    tokens = ft.tokenized(frame, tiny_model.tokenizer(), config)
    assert len(tokens.rows) == tokens.left_out == 1 and tokens.longest < 100
    assert (
        tokens.total == len(tokens.rows[0]["input_ids"])
        and tokens.answers < tokens.total
    )
    with pytest.raises(ValueError, match="no example fits into 2 tokens"):
        ft.tokenized(frame, tiny_model.tokenizer(), config.changed(max_length=2))


def test_examples_are_chosen_by_their_columns() -> None:
    channels = ["real", "synthetic", "real"]
    frame = pd.DataFrame(
        {"id": list("abc"), "channel": channels, "prompt": "p", "completion": "c"}
    )
    kept = chosen(frame, ft.Config("t", "b", keep={"channel": "real"}))
    assert kept["id"].tolist() == ["a", "c"]
    with pytest.raises(ValueError, match="channel of other"):
        chosen(frame, ft.Config("t", "b", keep={"channel": ["other"]}))
    with pytest.raises(ValueError, match="by 'task', which they do not have"):
        chosen(frame, ft.named("tigerscore-13b-summ"))


# -- plans


def test_a_plan_states_tokens_memory_and_hours() -> None:
    frame = pd.DataFrame({"prompt": ["x" * 2000], "completion": ["y" * 2000]}).sample(
        1300, replace=True
    )
    full = ft.plan(ft.named("tigerscore-7b"), frame)
    assert full.updates == 3 * math.ceil(1300 / 128) == 33
    # 8 FLOPs a parameter and token, 3 epochs, 4 GPUs at 40 % of 312 TFLOP/s
    assert full.hours == pytest.approx(
        8 * 6.738e9 * 1.3e6 * 3 / (312e12 * 0.4 * 4) / 3600, rel=1e-3
    )
    assert 16 * 6.738e9 / 4 < sum(full.memory.values()) < 80e9 and full.fits
    assert not ft.plan(ft.named("tigerscore-7b").changed(gpus=1)).fits
    lora = ft.plan(ft.named("tigerscore-7b-lora"))
    assert lora.fits and lora.memory["optimizer"] < 0.01 * full.memory["optimizer"] * 4
    text = "\n".join(full.lines)
    assert (
        "1,300,000 tokens" in text
        and "hours" in text
        and "GB" in text
        and "section 2.4" in text
    )
    assert any(
        "upper bound" in line for line in ft.plan(ft.named("prometheus-7b")).lines
    )
    with pytest.raises(ValueError, match="a100-80gb"):
        ft.plan(ft.named("tigerscore-7b").changed(gpu="abacus"))


def test_sizes_are_those_of_the_models(tmp_path) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    base = tiny_model.build(tmp_path / "base")
    model = LlamaForCausalLM.from_pretrained(base)
    assert ft.size_of(base).parameters == sum(p.numel() for p in model.parameters())
    seven = LlamaConfig(
        hidden_size=4096,
        intermediate_size=11008,
        num_attention_heads=32,
        vocab_size=32000,
    )
    seven.save_pretrained(tmp_path / "seven")
    assert (
        ft.size_of(tmp_path / "seven").parameters
        == ft.Size.named("llama-2-7b").parameters
    )
    from peft import LoraConfig, get_peft_model

    how = {
        "hidden_size": 128,
        "intermediate_size": 344,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }
    wide = LlamaConfig(vocab_size=64, **how)
    rank_4 = LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM")
    adapted = get_peft_model(LlamaForCausalLM(wide), rank_4)
    wide.save_pretrained(tmp_path / "wide")
    assert (
        ft.size_of(tmp_path / "wide").lora_parameters(4)
        == adapted.get_nb_trainable_parameters()[0]
    )
    with pytest.raises(ValueError, match="no configuration"):
        ft.size_of(tmp_path)


def test_a_dry_run_counts_the_tokens_of_the_data_by_the_base_that_is_here(
    command, base, tmp_path
) -> None:
    rows = [
        {"prompt": "a b", "completion": "c"},
        {"prompt": "d " * 900, "completion": "e"},
    ]
    data = jsonl(tmp_path / "own.jsonl", rows)
    given = command(
        "finetune",
        "tigerscore-7b-lora",
        "--base",
        base,
        "--data",
        data,
        "--dry-run",
        "-s",
        "max_length=512",
    )
    assert given.code == 0, given.err
    assert (
        "examples      1;" in given.out
        and "1 examples left out" in given.out
        and "not a paper's run" in given.out
    )


# -- runs


@pytest.fixture(scope="module")
def examples(tmp_path_factory) -> Path:
    rows = scripted.mini_inputs(20)
    built = MetricInstruct(check=False).build(
        scripted.MiniTeacher(rows, every=0).engine(), real=rows
    )
    return built.save(tmp_path_factory.mktemp("set"))


def tiny(base: Path, **settings: object) -> ft.Config:
    return ft.Config(
        "tiny",
        str(base),
        **{"epochs": 2, "batch": 4, "learning_rate": 3e-3, "warmup": 0.1, **settings},
    )


def weights(folder: Path) -> dict:
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")


def stop(at: int):
    """A trainer callback that ends the run at a step, as Ctrl-C would."""
    from transformers import TrainerCallback

    class Stop(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs) -> None:
            if state.global_step == at:
                raise KeyboardInterrupt

    return Stop()


def test_loss_falls_and_a_killed_run_ends_in_the_same_weights(
    one_thread, base, examples, tmp_path
) -> None:
    import torch

    config = tiny(base)
    how = {"micro_batch": 2, "save_every": 2, "log_every": 1}
    whole = ft.finetune(config, examples, tmp_path / "whole", **how)
    assert whole.log["loss"].iloc[-1] < 0.75 * whole.log["loss"].iloc[0]
    assert (
        whole.facts["updates"]
        == len(whole.log)
        == 2 * math.ceil(whole.facts["examples"] / 4)
    )

    stopped = tmp_path / "stopped"
    with pytest.raises(KeyboardInterrupt):
        ft.finetune(config, examples, stopped, callbacks=[stop(5)], **how)
    assert (
        ft.last_whole(stopped).name == "checkpoint-4"
        and not (stopped / "model").exists()
    )
    # a checkpoint that was being written when the process died
    shutil.copytree(stopped / "checkpoint-4", stopped / "checkpoint-6")
    (stopped / "checkpoint-6" / ft.STATE).unlink()
    (stopped / "checkpoint-6" / "optimizer.pt").write_bytes(b"half")
    resumed = ft.finetune(config, examples, stopped, **how)
    one = weights(whole.model)
    other = weights(resumed.model)
    assert one.keys() == other.keys() and all(
        torch.equal(one[name], other[name]) for name in one
    )
    assert resumed.log["step"].tolist() == whole.log["step"].tolist()
    assert resumed.log["loss"].tolist() == pytest.approx(whole.log["loss"].tolist())

    again = ft.finetune(config, examples, stopped, **how)  # finished: only read
    assert again.log.equals(resumed.log) and again.facts == json.loads(
        (stopped / "done.json").read_text()
    )
    with pytest.raises(ValueError, match=r"learning_rate was 0.003, is 0.001"):
        ft.finetune(config.changed(learning_rate=1e-3), examples, stopped, **how)
    frame, _ = pipeline.load(examples)
    with pytest.raises(ValueError, match="examples was"):
        ft.finetune(config, frame.tail(8), stopped, **how)

    engine = TransformersEngine(str(whole.model), dtype="float32")
    [[said]] = complete(
        engine, [Request(prompt=frame["prompt"][0])], Sampling(max_tokens=4)
    )
    assert said.finish_reason in ("length", "stop")


def test_adapters_are_trained_and_merged(one_thread, base, examples, tmp_path) -> None:
    import torch

    frame = pipeline.load(examples)[0].assign(view="no_rubric")
    more = {"chat": "prometheus-v1", "keep": {"view": ("no_rubric",)}}
    config = tiny(base, lora={"r": 4, "alpha": 8}, epochs=2, learning_rate=3e-2, **more)
    made = ft.finetune(config, frame, tmp_path, micro_batch=4, log_every=1)
    # a self-trained Prometheus is asked as it was trained: with its system text, and
    # without the rubric
    choice = EngineChoice(
        "transformers", str(made.model), store=str(tmp_path / "store")
    )
    row = {
        "input_id": "1",
        "system_id": "s",
        "instruction": "Say it.",
        "output": "It.",
        "references": ["It!"],
    }
    rows = of_frame(pd.DataFrame([row]), "one")
    job = prepared(rows, "prometheus", ["max_tokens=4"], choice)
    [stage] = job.planned()
    [request] = stage.requests
    assert not job.evaluator.with_rubric and "rubric" not in job.evaluator.needs
    tokenizer = job.engine._tokenizer
    sent = tokenizer.decode(models.token_ids(tokenizer, request, "tiny"))
    assert (
        "<<SYS>>\nYou are a fair evaluator language model.\n<</SYS>>" in sent
        and "[/INST]" in sent
    )
    rows = of_frame(
        pd.DataFrame([row | {"rubric": "[A]\nScore 1: b\nScore 2: c"}]), "one"
    )
    assert prepared(
        rows, "prometheus", ["rubric=yes"], choice, ready=job.engine
    ).evaluator.with_rubric
    assert made.log["loss"].iloc[-1] < made.log["loss"].iloc[0]
    assert (tmp_path / "adapter" / "adapter_config.json").exists()
    before = weights(base)
    after = weights(made.model)
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    # neither embeddings nor norms
    assert changed and all("proj" in name for name in changed)


def test_the_step_schedule_falls_once_an_epoch(
    one_thread, base, examples, tmp_path
) -> None:
    config = tiny(base, scheduler="step", step_gamma=0.5, warmup=0.0, epochs=3, batch=8)
    made = ft.finetune(config, examples, tmp_path, micro_batch=8, log_every=1)
    a_epoch = math.ceil(made.facts["examples"] / 8)
    expected = [3e-3 * 0.5**epoch for epoch in range(3) for _ in range(a_epoch)]
    assert made.log["learning_rate"].tolist() == pytest.approx(expected)
