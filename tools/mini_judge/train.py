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
# from recipe, tokenizer and the chunk's number
Batches = Callable[[Recipe, Any, int], list[Batch]]


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
        start = {name: own.detach().clone() for name, own in net.named_parameters()}
        self.net = net.to(device, torch.bfloat16)
        self.run = torch.compile(self.net, dynamic=True) if compiled else self.net
        self.begin(recipe, start)

    def begin(self, recipe: Recipe, weights: Mapping[str, torch.Tensor]) -> None:
        """Start anew from these weights with fresh optimizers; a compiled model
        stays compiled.
        """
        self.recipe = recipe
        self.master = {}
        matrices = []
        vectors = []
        with torch.no_grad():
            for name, own in self.net.named_parameters():
                full = weights[name].detach().clone().to(self.device)
                own.copy_(full)
                self.master[name] = full
                if name.startswith("layers") and full.ndim == 2:
                    matrices.append(full)
                else:
                    vectors.append(full)
        muon = torch.optim.Muon(
            matrices,
            lr=recipe.rate,
            weight_decay=0.01,
            adjust_lr_fn="match_rms_adamw",
        )
        adam = torch.optim.AdamW(
            vectors, lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.0
        )
        self.optimizers: list[Any] = [muon, adam]
        self.chunk = 0
        self.step = 0
        self.tokens = 0
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
        final, middle, late = self.run(self._tensor(batch.ids))
        target = self._tensor(batch.target)
        logits = F.linear(self._at(final, batch.answer), self.net.embed).float()
        answer = F.cross_entropy(logits, target)
        wrong = (logits.argmax(-1) != target).float().mean()
        loss = answer
        if self.recipe.side and len(batch.tag):
            states = norm(self._at(middle, batch.tag_at))
            tags = F.linear(states, self.net.tags).float()
            states = norm(self._at(late, batch.count_at))
            counts = F.linear(states, self.net.counts).float()
            n_numbers = len(KINDS) * (MOST + 1)
            numbers = counts[:, :n_numbers].reshape(-1, MOST + 1)
            omitted = counts[:, n_numbers:]
            loss = loss + self.recipe.side * (
                F.cross_entropy(tags, self._tensor(batch.tag))
                + F.cross_entropy(numbers, self._tensor(batch.count).reshape(-1))
                + F.binary_cross_entropy_with_logits(
                    omitted, self._tensor(batch.omitted)
                )
            )
        return loss, answer, wrong

    def _tensor(self, array: Any) -> torch.Tensor:
        return torch.from_numpy(array).to(self.device)

    def _at(self, states: torch.Tensor, places: Any) -> torch.Tensor:
        """The states at (row, place) pairs."""
        at = self._tensor(places)
        return states[at[:, 0], at[:, 1]]

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
        begun = state["recipe"]
        differing = []
        for name, value in asdict(self.recipe).items():
            if name != "examples" and begun.get(name, value) != value:
                differing.append(f"{name}={begun[name]!r}, not {value!r}")
        if differing:
            raise ValueError(
                f"{folder}: begun with {'; '.join(differing)}; "
                "give the same, or another --work folder"
            )
        with torch.no_grad():
            for name, own in self.net.named_parameters():
                self.master[name].copy_(state["master"][name])
                own.copy_(self.master[name])
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
    n_chunks = -(-recipe.examples // recipe.chunk)
    progress = _Progress(learner, n_chunks)
    saved = time.monotonic()
    try:
        while learner.chunk < n_chunks:
            begun = time.monotonic()
            progress.learn(batches(recipe, tokenizer, learner.chunk), recipe)
            learner.chunk += 1
            learner.seconds += time.monotonic() - begun
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


class _Progress:
    """A line every five seconds that says how far the training is.

    mean: running means of the loss and of the share of wrong tokens.
    """

    def __init__(self, learner: Learner, n_chunks: int) -> None:
        self.learner = learner
        self.n_chunks = n_chunks
        self.first_chunk = learner.chunk
        self.first_tokens = learner.tokens
        self.begun = time.monotonic()
        self.shown_at = self.begun
        self.mean: list[float] = []

    def learn(self, batches: Sequence[Batch], recipe: Recipe) -> None:
        """Learn the batches of one chunk."""
        for number, batch in enumerate(batches):
            share = (self.learner.chunk + number / len(batches)) / self.n_chunks
            losses = self.learner.learn(batch, recipe.rate_at(share))
            self.mean = self.mean or list(losses)
            for place, loss in enumerate(losses):
                self.mean[place] = 0.98 * self.mean[place] + 0.02 * loss
            if time.monotonic() - self.shown_at > 5:
                self.shown_at = time.monotonic()
                self._show(share)

    def _show(self, share: float) -> None:
        seconds = self.shown_at - self.begun
        speed = (self.learner.tokens - self.first_tokens) / seconds
        of_this_run = share - self.first_chunk / self.n_chunks
        minutes = seconds * (1 - share) / max(1e-9, of_this_run) / 60
        print(
            f"step {self.learner.step} | {share:.1%} | loss {self.mean[0]:.4f} "
            f"| wrong tokens {self.mean[1]:.2%} | {speed:,.0f} tokens/s "
            f"| {minutes:.0f} min left",
            flush=True,
        )


def _batches(recipe: Recipe, tokenizer: Any, number: int) -> list[Batch]:
    return chunk(
        tokenizer,
        recipe.seed,
        number,
        recipe.chunk,
        recipe.tokens,
        recipe.mix(number * recipe.chunk),
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
    llama = LlamaConfig(
        **config, **ends, dtype="bfloat16", architectures=["LlamaForCausalLM"]
    )
    llama.save_pretrained(fresh)
    GenerationConfig(**ends).save_pretrained(fresh)
    save_file(
        {name: value.cpu() for name, value in weights.items()},
        fresh / "model.safetensors",
        {"format": "pt"},
    )
    tokenizer.model_max_length = learner.shape.positions
    tokenizer.save_pretrained(fresh)
    training = {
        "recipe": asdict(learner.recipe),
        "parameters": sum(value.numel() for value in weights.values()),
        "steps": learner.step,
        "tokens": learner.tokens,
        "seconds": round(learner.seconds),
        "machine": dict(machine),
    }
    files.write_text(fresh / "training.json", json.dumps(training, indent=1) + "\n")
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(fresh.iterdir()):
        path.chmod(0o644)  # safetensors writes for the owner alone
        os.replace(path, out / path.name)
    fresh.rmdir()
