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
        self.heads, self.head = shape.heads, shape.head
        self.norm1, self.norm2 = (
            nn.Parameter(torch.ones(shape.width)) for _ in range(2)
        )
        self.qkv = nn.Parameter(
            torch.randn(3 * shape.width, shape.width) * shape.width**-0.5
        )
        self.out = nn.Parameter(
            torch.randn(shape.width, shape.width)
            * (shape.width * 2 * shape.layers) ** -0.5
        )
        self.up = nn.Parameter(
            torch.randn(2 * shape.inner, shape.width) * shape.width**-0.5
        )
        self.down = nn.Parameter(
            torch.randn(shape.width, shape.inner)
            * (shape.inner * 2 * shape.layers) ** -0.5
        )

    def forward(
        self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """x: [batch, time, width]."""
        batch, time, width = x.shape
        qkv = F.linear(norm(x, self.norm1), self.qkv).view(
            batch, time, 3, self.heads, self.head
        )
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        q = turn(q, cos, sin)
        k = turn(k, cos, sin)
        # plain products: on the CPU the fused kernel's backward pass takes several
        # times as long
        scores = q @ k.transpose(-1, -2) * self.head**-0.5 + mask
        mixed = F.softmax(scores, -1) @ v
        x = x + F.linear(mixed.transpose(1, 2).reshape(batch, time, width), self.out)
        gate, up = F.linear(norm(x, self.norm2), self.up).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, self.down)


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
        angles = torch.outer(
            torch.arange(shape.positions).float(),
            THETA ** -(torch.arange(0, shape.head, 2) / shape.head),
        )
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
        mask = torch.full(
            (time, time), -torch.inf, dtype=x.dtype, device=x.device
        ).triu(1)
        seen = []
        for layer in self.layers:
            x = layer(x, cos, sin, mask)
            seen.append(x)
        return norm(x, self.norm), seen[len(seen) // 2 - 1], seen[-2]


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
    w = shape.width
    named = {
        "model.embed_tokens.weight": weights["embed"],
        "model.norm.weight": weights["norm"],
    }
    for n in range(shape.layers):
        here = {
            name: weights[f"layers.{n}.{name}"]
            for name in ("norm1", "norm2", "qkv", "out", "up", "down")
        }
        parts = {
            "input_layernorm": here["norm1"],
            "post_attention_layernorm": here["norm2"],
            "self_attn.q_proj": here["qkv"][:w],
            "self_attn.k_proj": here["qkv"][w : 2 * w],
            "self_attn.v_proj": here["qkv"][2 * w :],
            "self_attn.o_proj": here["out"],
            "mlp.gate_proj": here["up"][: shape.inner],
            "mlp.up_proj": here["up"][shape.inner :],
            "mlp.down_proj": here["down"],
        }
        named |= {
            f"model.layers.{n}.{name}.weight": value for name, value in parts.items()
        }
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
    return {
        name: value.detach().to(torch.bfloat16).contiguous()
        for name, value in named.items()
    }, config
