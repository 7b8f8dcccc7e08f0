"""Training of the miniature judge: seeded, resumable at any moment, with a line that
says how far it is.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

from nlgeval_lib import files
from tools.mini_judge import tokens
from tools.mini_judge.batches import MOST, N_COUNTS, TAGS, Batch, chunk
from tools.mini_judge.criteria import KINDS
from tools.mini_judge.model import Net, Shape, checkpoint, norm
from tools.mini_judge.recipe import Recipe

STATE = "state.pt"
Batches = Callable[
    [Recipe, Any, int], list[Batch]
]  # recipe, tokenizer and the chunk's number


class Learner:
    """The model, its optimizers and where in the data it is; kept in full precision,
    run in bfloat16.
    """

    def __init__(
        self,
        recipe: Recipe,
        vocabulary: int,
        device: str = "cpu",
        compiled: bool = False,
    ) -> None:
        torch.manual_seed(recipe.seed)
        self.device = device
        self.shape = Shape(
            vocabulary, recipe.width, recipe.layers, recipe.heads, recipe.inner
        )
        net = Net(self.shape, len(TAGS), N_COUNTS)
        start = {name: p.detach().clone() for name, p in net.named_parameters()}
        self.net = net.to(device, torch.bfloat16)
        self.run = torch.compile(self.net, dynamic=True) if compiled else self.net
        self.begin(recipe, start)

    def begin(self, recipe: Recipe, weights: Mapping[str, torch.Tensor]) -> None:
        """Start anew from these weights with fresh optimizers; a compiled model
        stays compiled.
        """
        self.recipe = recipe
        self.master = {
            name: weights[name].detach().clone().to(self.device)
            for name, _ in self.net.named_parameters()
        }
        with torch.no_grad():
            for name, p in self.net.named_parameters():
                p.copy_(self.master[name])
        matrices = [
            p
            for name, p in self.master.items()
            if name.startswith("layers") and p.ndim == 2
        ]
        rest = [
            p
            for p in self.master.values()
            if all(p is not matrix for matrix in matrices)
        ]
        self.optimizers: list[Any] = [
            torch.optim.Muon(
                matrices,
                lr=recipe.rate,
                weight_decay=0.01,
                adjust_lr_fn="match_rms_adamw",
            ),
            torch.optim.AdamW(
                rest, lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.0
            ),
        ]
        self.chunk = self.step = self.tokens = 0
        self.seconds = 0.0

    # -- one step

    def learn(self, batch: Batch, rate: float) -> tuple[float, float]:
        """One step; the loss of the answers and the share of their tokens that were
        wrong.
        """
        loss, answer, wrong = self.loss(batch)
        loss.backward()
        weights = dict(self.net.named_parameters())
        for name, full in self.master.items():
            grad = weights[name].grad
            full.grad = None if grad is None else grad.float()
            weights[name].grad = None
        torch.nn.utils.clip_grad_norm_(list(self.master.values()), 1.0)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
        with torch.no_grad():
            for name, full in self.master.items():
                weights[name].copy_(full)
        self.step += 1
        self.tokens += batch.tokens
        return float(answer.detach()), float(wrong)

    def loss(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The loss to lower, that of the answers alone, and the share of wrong
        tokens.
        """

        def here(array: Any) -> torch.Tensor:
            return torch.from_numpy(array).to(self.device)

        final, middle, late = self.run(here(batch.ids))
        at = here(batch.answer)
        target = here(batch.target)
        logits = F.linear(final[at[:, 0], at[:, 1]], self.net.embed).float()
        answer = F.cross_entropy(logits, target)
        loss = answer
        wrong = (logits.argmax(-1) != target).float().mean()
        if self.recipe.side and len(batch.tag):
            at = here(batch.tag_at)
            tags = F.linear(norm(middle[at[:, 0], at[:, 1]]), self.net.tags).float()
            at = here(batch.count_at)
            counts = F.linear(norm(late[at[:, 0], at[:, 1]]), self.net.counts).float()
            many = counts[:, : len(KINDS) * (MOST + 1)].reshape(-1, MOST + 1)
            left_out = counts[:, len(KINDS) * (MOST + 1) :]
            loss = loss + self.recipe.side * (
                F.cross_entropy(tags, here(batch.tag))
                + F.cross_entropy(many, here(batch.count).reshape(-1))
                + F.binary_cross_entropy_with_logits(left_out, here(batch.omitted))
            )
        return loss, answer, wrong

    # -- coming and going

    def save(self, folder: Path) -> None:
        """Everything that is needed to go on, under a temporary name first."""
        state = {
            "recipe": asdict(self.recipe),
            "master": self.master,
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "at": {
                "chunk": self.chunk,
                "step": self.step,
                "tokens": self.tokens,
                "seconds": self.seconds,
            },
        }
        folder.mkdir(parents=True, exist_ok=True)
        fresh = folder / f"{STATE}.new"
        torch.save(state, fresh)
        os.replace(fresh, folder / STATE)

    def restore(self, folder: Path) -> bool:
        """Go on from what `save` wrote; False where there is nothing.

        Raises: ValueError for another recipe.
        """
        if not (folder / STATE).is_file():
            return False
        state = torch.load(folder / STATE, map_location=self.device, weights_only=True)
        theirs = state["recipe"]
        mine = asdict(self.recipe)
        other = [
            f"{k}={theirs.get(k)!r}, not {mine[k]!r}"
            for k in mine
            if k != "examples" and theirs.get(k, mine[k]) != mine[k]
        ]
        if other:
            raise ValueError(
                f"{folder}: begun with {'; '.join(other)}; give the same, or another --work folder"
            )
        with torch.no_grad():
            for name, p in self.net.named_parameters():
                self.master[name].copy_(state["master"][name])
                p.copy_(self.master[name])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        for name, value in state["at"].items():
            setattr(self, name, value)
        return True


def train(
    recipe: Recipe,
    work: Path,
    out: Path,
    *,
    device: str = "cpu",
    compiled: bool = False,
    every: float = 120.0,
    notes: Sequence[str] = (),
    learner: Learner | None = None,
    batches: Batches | None = None,
) -> Learner:
    """Train or go on training in `work`; the checkpoint goes to `out`. Saves every so
    many seconds and at the end.

    learner: one that begins from weights of its own; batches: another source of a
    chunk's batches than the recipe.
    """
    tokenizer = tokens.build()
    learner = learner or Learner(recipe, len(tokenizer), device, compiled)
    batches = batches or _batches
    if learner.restore(work):
        print(f"going on from step {learner.step}", flush=True)
    total = -(-recipe.examples // recipe.chunk)
    saved = shown = time.monotonic()
    mean: list[float] | None = None
    first = learner.chunk
    counted = learner.tokens
    begun = time.monotonic()
    try:
        while learner.chunk < total:
            before = time.monotonic()
            todo = batches(recipe, tokenizer, learner.chunk)
            for number, batch in enumerate(todo):
                done = (learner.chunk + number / len(todo)) / total
                now = learner.learn(batch, recipe.rate_at(done))
                mean = (
                    list(now)
                    if mean is None
                    else [0.98 * m + 0.02 * n for m, n in zip(mean, now, strict=True)]
                )
                if time.monotonic() - shown > 5:
                    shown = time.monotonic()
                    speed = (learner.tokens - counted) / (shown - begun)
                    left = (
                        (shown - begun) * (1 - done) / max(1e-9, done - first / total)
                    )
                    _show(learner, done, mean, speed, left)
            learner.chunk += 1
            learner.seconds += time.monotonic() - before
            if time.monotonic() - saved > every:
                learner.save(work)
                saved = time.monotonic()
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on from the last save", file=sys.stderr)
        raise
    learner.save(work)
    machine = {
        "device": device,
        "threads": torch.get_num_threads(),
        "compiled": compiled,
        "notes": list(notes),
    }
    write(learner, tokenizer, out, machine)
    return learner


def _batches(recipe: Recipe, tokenizer: Any, number: int) -> list[Batch]:
    return chunk(
        tokenizer,
        recipe.seed,
        number,
        recipe.chunk,
        recipe.tokens,
        recipe.mix(number * recipe.chunk),
    )


def _show(
    learner: Learner, done: float, mean: list[float], speed: float, left: float
) -> None:
    print(
        f"step {learner.step} | {done:.1%} | loss {mean[0]:.4f} | wrong tokens {mean[1]:.2%} | {speed:,.0f} tokens/s | "
        f"{left / 60:.0f} min left",
        flush=True,
    )


def write(
    learner: Learner, tokenizer: Any, out: Path, machine: Mapping[str, Any]
) -> None:
    """The checkpoint for any engine: config, weights in bfloat16, tokenizer; each
    file whole or not at all.
    """
    from safetensors.torch import save_file
    from transformers import GenerationConfig, LlamaConfig

    weights, config = checkpoint(learner.master, learner.shape)
    fresh = out.parent / f".{out.name}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    ends = {
        "bos_token_id": tokens.BOS,
        "eos_token_id": tokens.EOS,
        "pad_token_id": tokens.PAD,
    }
    made = LlamaConfig(
        **config, **ends, dtype="bfloat16", architectures=["LlamaForCausalLM"]
    )
    made.save_pretrained(fresh)
    GenerationConfig(**ends).save_pretrained(fresh)
    save_file(
        {name: value.cpu() for name, value in weights.items()},
        fresh / "model.safetensors",
        {"format": "pt"},
    )
    tokenizer.model_max_length = learner.shape.positions
    tokenizer.save_pretrained(fresh)
    told = {
        "recipe": asdict(learner.recipe),
        "parameters": sum(value.numel() for value in weights.values()),
        "steps": learner.step,
        "tokens": learner.tokens,
        "seconds": round(learner.seconds),
        "machine": dict(machine),
    }
    files.write_text(fresh / "training.json", json.dumps(told, indent=1) + "\n")
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(fresh.iterdir()):
        path.chmod(0o644)  # safetensors writes for the owner alone
        os.replace(path, out / path.name)
    fresh.rmdir()
