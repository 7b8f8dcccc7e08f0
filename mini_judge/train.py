"""Training of the miniature judge: seeded, resumable at any moment, with a line that
says how far it is.

A `Learner` has the model and learns batches one by one; `train` gives it all batches of
a recipe, saves now and then, and `write`s the checkpoint.
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

from mini_judge import tokens
from mini_judge.batches import MOST, N_COUNTS, TAGS, Batch, chunk
from mini_judge.criteria import KINDS
from mini_judge.model import Net, Shape, checkpoint, norm
from mini_judge.recipe import Recipe
from nlgeval_lib import files

# the file of a run that can go on
STATE = "state.pt"
# from recipe, tokenizer and the chunk's number
Batches = Callable[[Recipe, Any, int], list[Batch]]


class Learner:
    """The model, its optimizers and where in the data it is; kept in full precision,
    run in bfloat16.

    recipe: sizes, learning rate and seed are taken from it.
    vocabulary: how many tokens there are.
    device: cpu or cuda.
    compiled: whether the model is compiled first.
    master: the weights in full precision, by name.
    chunk, step, tokens, seconds: how much was learnt so far.
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
        weights = {}
        for name, parameter in net.named_parameters():
            weights[name] = parameter.detach().clone()
        self.net = net.to(device, torch.bfloat16)
        self.run: Callable[..., Any] = self.net
        if compiled:
            self.run = torch.compile(self.net, dynamic=True)
        self.begin(recipe, weights)

    def begin(self, recipe: Recipe, weights: Mapping[str, torch.Tensor]) -> None:
        """Start anew from these weights with fresh optimizers; a compiled model stays
        compiled.

        weights: by name, as `master` has them.
        """
        self.recipe = recipe
        self.master = {}
        matrices = []
        vectors = []
        with torch.no_grad():
            for name, parameter in self.net.named_parameters():
                weight = weights[name].detach().clone()
                weight = weight.to(self.device)
                parameter.copy_(weight)
                self.master[name] = weight
                if name.startswith("layers") and weight.ndim == 2:
                    matrices.append(weight)
                else:
                    vectors.append(weight)
        # Muon takes the layers' matrices; embeddings, heads and norms are AdamW's.
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
        # The optimizers change the weights in full precision, by the gradients of the
        # running model, which gets the weights back.
        parameters = dict(self.net.named_parameters())
        for name, weight in self.master.items():
            grad = parameters[name].grad
            weight.grad = None if grad is None else grad.float()
            parameters[name].grad = None
        torch.nn.utils.clip_grad_norm_(list(self.master.values()), 1.0)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
        with torch.no_grad():
            for name, weight in self.master.items():
                parameters[name].copy_(weight)
        self.step += 1
        self.tokens += batch.tokens
        return float(answer.detach()), float(wrong)

    def loss(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The loss to lower, that of the answers alone, and the share of wrong tokens.

        The first has the side heads' loss beside that of the answers, by the recipe's
        weight.
        """
        final, middle, late = self.run(self._tensor(batch.ids))
        target = self._tensor(batch.target)
        states = self._at(final, batch.answer)
        logits = F.linear(states, self.net.embed).float()
        answer = F.cross_entropy(logits, target)
        wrong = (logits.argmax(-1) != target).float().mean()
        loss = answer
        if self.recipe.side and len(batch.tag):
            loss = loss + self.recipe.side * self._side_loss(batch, middle, late)
        return loss, answer, wrong

    def _side_loss(
        self, batch: Batch, middle: torch.Tensor, late: torch.Tensor
    ) -> torch.Tensor:
        """The loss of the heads that name the errors, from the states of two layers:
        the kind at each place, then how many of each kind and what is left out.
        """
        states = norm(self._at(middle, batch.tag_at))
        tags = F.linear(states, self.net.tags).float()
        tag_loss = F.cross_entropy(tags, self._tensor(batch.tag))
        states = norm(self._at(late, batch.count_at))
        counts = F.linear(states, self.net.counts).float()
        # first a distribution over 0 to `MOST` for each kind, then a yes or no for each
        # attribute
        n_numbers = len(KINDS) * (MOST + 1)
        numbers = counts[:, :n_numbers].reshape(-1, MOST + 1)
        number_loss = F.cross_entropy(numbers, self._tensor(batch.count).reshape(-1))
        omitted = counts[:, n_numbers:]
        omitted_loss = F.binary_cross_entropy_with_logits(
            omitted, self._tensor(batch.omitted)
        )
        return tag_loss + number_loss + omitted_loss

    def _tensor(self, array: Any) -> torch.Tensor:
        """An array of a batch on the model's device."""
        return torch.from_numpy(array).to(self.device)

    def _at(self, states: torch.Tensor, places: Any) -> torch.Tensor:
        """The states at (row, place) pairs."""
        at = self._tensor(places)
        return states[at[:, 0], at[:, 1]]

    # -- coming and going

    def save(self, folder: Path) -> None:
        """Write everything that is needed to go on, under a temporary name first."""
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
        self._refuse_other_recipe(folder, state["recipe"])
        with torch.no_grad():
            for name, parameter in self.net.named_parameters():
                weight = self.master[name]
                weight.copy_(state["master"][name])
                parameter.copy_(weight)
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        for name, value in state["at"].items():
            setattr(self, name, value)
        return True

    def _refuse_other_recipe(self, folder: Path, begun: Mapping[str, Any]) -> None:
        """Raises: ValueError where a run was begun with another recipe; more examples
        may follow.
        """
        differing = []
        for name, value in asdict(self.recipe).items():
            if name != "examples" and begun.get(name, value) != value:
                differing.append(f"{name}={begun[name]!r}, not {value!r}")
        if differing:
            raise ValueError(
                f"{folder}: begun with {'; '.join(differing)}; "
                "give the same, or another --work folder"
            )


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
    """Train or go on training in `work`; the checkpoint goes to `out`. Saves now and
    then, and at the end.

    recipe: the settings; they must be those that the run in `work` was begun with, but
        for more examples.
    batches: another source of a chunk's batches than the recipe.
    Raises: ValueError where `work` has a run of another recipe; KeyboardInterrupt as it
        comes, after a line that says how to go on.
    """
    tokenizer = tokens.build()
    learner = learner or Learner(recipe, len(tokenizer), device, compiled)
    batches = batches or _batches
    if learner.restore(work):
        print(f"going on from step {learner.step}", flush=True)
    try:
        _learn_all(learner, recipe, tokenizer, batches, work, every)
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


def _learn_all(
    learner: Learner,
    recipe: Recipe,
    tokenizer: Any,
    batches: Batches,
    work: Path,
    every: float,
) -> None:
    """Learn the chunks that are left, and save in `work` when `every` seconds have
    passed since the last save.
    """
    # rounded up: the last chunk counts as a whole one
    n_chunks = -(-recipe.examples // recipe.chunk)
    progress = _Progress(learner, n_chunks)
    saved = time.monotonic()
    while learner.chunk < n_chunks:
        begun = time.monotonic()
        batches_of_chunk = batches(recipe, tokenizer, learner.chunk)
        progress.learn(batches_of_chunk, recipe)
        learner.chunk += 1
        learner.seconds += time.monotonic() - begun
        if time.monotonic() - saved > every:
            learner.save(work)
            saved = time.monotonic()


class _Progress:
    """A line every five seconds that says how far the training is.

    n_chunks: of the whole training.
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
            chunks = self.learner.chunk + number / len(batches)
            share = chunks / self.n_chunks
            rate = recipe.rate_at(share)
            losses = self.learner.learn(batch, rate)
            self.mean = self.mean or list(losses)
            for place, loss in enumerate(losses):
                self.mean[place] = 0.98 * self.mean[place] + 0.02 * loss
            if time.monotonic() - self.shown_at > 5:
                self.shown_at = time.monotonic()
                self._show(share)

    def _show(self, share: float) -> None:
        """Print the line; `share`: of the whole training that is done."""
        seconds = self.shown_at - self.begun
        tokens_of_this_run = self.learner.tokens - self.first_tokens
        speed = tokens_of_this_run / seconds
        share_of_this_run = share - self.first_chunk / self.n_chunks
        minutes = seconds * (1 - share) / max(1e-9, share_of_this_run) / 60
        print(
            f"step {self.learner.step} | {share:.1%} | loss {self.mean[0]:.4f} "
            f"| wrong tokens {self.mean[1]:.2%} | {speed:,.0f} tokens/s "
            f"| {minutes:.0f} min left",
            flush=True,
        )


def _batches(recipe: Recipe, tokenizer: Any, number: int) -> list[Batch]:
    """The batches of a chunk, as the recipe has them."""
    mix = recipe.mix(number * recipe.chunk)
    return chunk(tokenizer, recipe.seed, number, recipe.chunk, recipe.tokens, mix)


def write(
    learner: Learner, tokenizer: Any, out: Path, machine: Mapping[str, Any]
) -> None:
    """The checkpoint for any engine: config, weights in bfloat16, tokenizer; each file
    whole or not at all.

    machine: where it was trained, for `training.json`.
    """
    weights, config = checkpoint(learner.master, learner.shape)
    weights = {name: weight.cpu() for name, weight in weights.items()}
    fresh = out.parent / f".{out.name}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    _write_model(weights, config, fresh)
    tokenizer.model_max_length = learner.shape.positions
    tokenizer.save_pretrained(fresh)
    n_parameters = sum(weight.numel() for weight in weights.values())
    training = {
        "recipe": asdict(learner.recipe),
        "parameters": n_parameters,
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


def _write_model(
    weights: dict[str, torch.Tensor], config: Mapping[str, Any], folder: Path
) -> None:
    """Weights and settings of a checkpoint, as transformers read them."""
    from safetensors.torch import save_file
    from transformers import GenerationConfig, LlamaConfig

    ends: dict[str, Any] = {
        "bos_token_id": tokens.BOS,
        "eos_token_id": tokens.EOS,
        "pad_token_id": tokens.PAD,
    }
    llama = LlamaConfig(
        **config, **ends, dtype="bfloat16", architectures=["LlamaForCausalLM"]
    )
    llama.save_pretrained(folder)
    GenerationConfig(**ends).save_pretrained(folder)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
