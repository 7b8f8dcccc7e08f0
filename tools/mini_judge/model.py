"""The miniature Llama while it learns: few large operations in bfloat16; written out as
a transformers checkpoint.

The same function as transformers' LlamaForCausalLM with tied embeddings; two of its
layers also feed heads that are trained to name the errors where they stand, and are
left out of the checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

THETA = 10000.0
EPSILON = 1e-5


@dataclass(frozen=True, slots=True)
class Shape:
    """The model's sizes."""

    vocabulary: int
    width: int = 256
    layers: int = 4
    heads: int = 8
    inner: int = 640
    positions: int = 512

    @property
    def head(self) -> int:
        """The size of a head; vLLM needs 32 or more."""
        return self.width // self.heads


class Layer(nn.Module):
    """Attention and a gated feed-forward layer, each behind a norm."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        inner = shape.inner
        # Two matrices of each layer add to the stream that runs through all of them.
        additions = 2 * shape.layers
        self.heads = shape.heads
        self.head = shape.head
        self.norm1 = nn.Parameter(torch.ones(width))
        self.norm2 = nn.Parameter(torch.ones(width))
        self.qkv = _matrix(3 * width, width, width)
        self.out = _matrix(width, width, width * additions)
        self.up = _matrix(2 * inner, width, width)
        self.down = _matrix(width, inner, inner * additions)

    def forward(
        self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """x: [batch, time, width]."""
        batch, time, width = x.shape
        qkv = F.linear(norm(x, self.norm1), self.qkv)
        qkv = qkv.view(batch, time, 3, self.heads, self.head)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        q = turn(q, cos, sin)
        k = turn(k, cos, sin)
        # plain products: on the CPU the fused kernel's backward pass takes several
        # times as long
        scores = q @ k.transpose(-1, -2) * self.head**-0.5 + mask
        mixed = F.softmax(scores, -1) @ v
        mixed = mixed.transpose(1, 2).reshape(batch, time, width)
        x = x + F.linear(mixed, self.out)
        gates_and_values = F.linear(norm(x, self.norm2), self.up)
        gate, up = gates_and_values.chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, self.down)


def _matrix(rows: int, columns: int, variance_divisor: int) -> nn.Parameter:
    """Random weights of variance 1 / variance_divisor."""
    return nn.Parameter(torch.randn(rows, columns) * variance_divisor**-0.5)


class Net(nn.Module):
    """All layers; `forward` gives the final states and those of two layers on the
    way.
    """

    def __init__(self, shape: Shape, tags: int = 0, counts: int = 0) -> None:
        super().__init__()
        self.shape = shape
        self.embed = nn.Parameter(torch.randn(shape.vocabulary, shape.width) * 0.05)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.Parameter(torch.ones(shape.width))
        self.tags = nn.Parameter(torch.zeros(tags, shape.width))
        self.counts = nn.Parameter(torch.zeros(counts, shape.width))
        positions = torch.arange(shape.positions).float()
        speeds = THETA ** -(torch.arange(0, shape.head, 2) / shape.head)
        angles = torch.outer(positions, speeds)
        angles = torch.cat([angles, angles], -1)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(
        self, ids: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """ids: [batch, time]; padding on the right only."""
        time = ids.shape[1]
        x = F.embedding(ids, self.embed)
        cos = self.cos[:time].to(x.dtype)
        sin = self.sin[:time].to(x.dtype)
        mask = torch.full((time, time), -torch.inf, dtype=x.dtype, device=x.device)
        mask = mask.triu(1)
        states = []
        for layer in self.layers:
            x = layer(x, cos, sin, mask)
            states.append(x)
        return norm(x, self.norm), states[len(states) // 2 - 1], states[-2]


def norm(x: torch.Tensor, weight: torch.Tensor | None = None) -> torch.Tensor:
    """Root mean square normalisation over the last axis."""
    return F.rms_norm(x, x.shape[-1:], weight, EPSILON)


def turn(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary positions, Llama's halves."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


def checkpoint(
    weights: dict[str, torch.Tensor], shape: Shape
) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """The weights under transformers' names, and the arguments of its LlamaConfig."""
    named = {"embed_tokens": weights["embed"], "norm": weights["norm"]}
    for n in range(shape.layers):
        own = f"layers.{n}"
        q, k, v = weights[f"{own}.qkv"].split(shape.width)
        gate, up = weights[f"{own}.up"].split(shape.inner)
        named |= {
            f"{own}.input_layernorm": weights[f"{own}.norm1"],
            f"{own}.post_attention_layernorm": weights[f"{own}.norm2"],
            f"{own}.self_attn.q_proj": q,
            f"{own}.self_attn.k_proj": k,
            f"{own}.self_attn.v_proj": v,
            f"{own}.self_attn.o_proj": weights[f"{own}.out"],
            f"{own}.mlp.gate_proj": gate,
            f"{own}.mlp.up_proj": up,
            f"{own}.mlp.down_proj": weights[f"{own}.down"],
        }
    stored = {}
    for name, value in named.items():
        value = value.detach().to(torch.bfloat16).contiguous()
        stored[f"model.{name}.weight"] = value
    config = {
        "vocab_size": shape.vocabulary,
        "hidden_size": shape.width,
        "intermediate_size": shape.inner,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.heads,
        "head_dim": shape.head,
        "max_position_embeddings": shape.positions,
        "rms_norm_eps": EPSILON,
        "rope_theta": THETA,
        "tie_word_embeddings": True,
        "hidden_act": "silu",
    }
    return stored, config
