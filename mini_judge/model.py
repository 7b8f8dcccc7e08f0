"""The miniature Llama while it learns: few large operations in bfloat16; written out as
a transformers checkpoint.

The same function as transformers' LlamaForCausalLM with tied embeddings; two of its
layers also feed heads that are trained to name the errors where they stand, and are
left out of the checkpoint.

`Shape` has the sizes, `Net` is the network of `Layer`s, `checkpoint` gives its weights
the names of transformers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

# the base of the rotary positions' frequencies, and what keeps a norm from dividing by
# 0
THETA = 10000.0
EPSILON = 1e-5


@dataclass(frozen=True, slots=True)
class Shape:
    """The model's sizes."""

    vocabulary: int
    width: int = 256  # of the stream that runs through all layers
    layers: int = 4
    heads: int = 8
    inner: int = 640  # of the feed-forward layers
    positions: int = 512  # tokens of a context, the answer included

    @property
    def head(self) -> int:
        """The size of a head; vLLM needs 32 or more."""
        return self.width // self.heads


class Layer(nn.Module):
    """Attention and a gated feed-forward layer, each behind a norm and added to the
    stream.
    """

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

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        """The stream behind this layer.

        x: the stream before it, [batch, time, width].
        cos, sin: of the rotary positions, [time, head].
        mask: added to the attention's scores, [time, time]: minus infinity for what
            comes later, else 0.
        """
        x = x + self._attention(norm(x, self.norm1), cos, sin, mask)
        return x + self._feed_forward(norm(x, self.norm2))

    def _attention(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        """Every token looks at those before it and at itself."""
        batch, time, width = x.shape
        # [batch, time, width] -> three of [batch, heads, time, head]
        qkv = F.linear(x, self.qkv)
        qkv = qkv.view(batch, time, 3, self.heads, self.head)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        query = turn(query, cos, sin)
        key = turn(key, cos, sin)
        # plain products: on the CPU the fused kernel's backward pass takes several
        # times as long
        scale = self.head**-0.5
        scores = query @ key.transpose(-1, -2) * scale + mask
        mixed = F.softmax(scores, -1) @ value
        mixed = mixed.transpose(1, 2)
        mixed = mixed.reshape(batch, time, width)
        return F.linear(mixed, self.out)

    def _feed_forward(self, x: Tensor) -> Tensor:
        """SwiGLU: half of the inner values open or close the other half."""
        gates_and_values = F.linear(x, self.up)
        gate, value = gates_and_values.chunk(2, -1)
        return F.linear(F.silu(gate) * value, self.down)


def _angles(shape: Shape) -> Tensor:
    """By how much rotary positions turn each half of a head: [positions, head]."""
    positions = torch.arange(shape.positions).float()
    exponents = torch.arange(0, shape.head, 2) / shape.head
    angles = torch.outer(positions, THETA**-exponents)
    return torch.cat([angles, angles], -1)


def _matrix(rows: int, columns: int, variance_divisor: int) -> nn.Parameter:
    """Random weights of variance 1 / variance_divisor, [rows, columns]."""
    return nn.Parameter(torch.randn(rows, columns) * variance_divisor**-0.5)


class Net(nn.Module):
    """All layers; `forward` gives the final states and those of two layers on the way.

    tags: how many outputs the side head has that names what is wrong at a place.
    counts: how many the one has that counts the errors.
    The weights of both are used by `train.Learner` and are no part of the checkpoint.
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, shape: Shape, tags: int = 0, counts: int = 0) -> None:
        super().__init__()
        self.shape = shape
        vectors = torch.randn(shape.vocabulary, shape.width)
        self.embed = nn.Parameter(vectors * 0.05)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.Parameter(torch.ones(shape.width))
        self.tags = nn.Parameter(torch.zeros(tags, shape.width))
        self.counts = nn.Parameter(torch.zeros(counts, shape.width))
        angles = _angles(shape)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The final states, those of the middle layer and those of the last but one:
        [batch, time, width] each.

        ids: [batch, time]; padding on the right only, where the mask keeps it from what
            counts.
        """
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
        middle = states[len(states) // 2 - 1]
        late = states[-2]
        return norm(x, self.norm), middle, late


def norm(x: Tensor, weight: Tensor | None = None) -> Tensor:
    """Root mean square normalisation over the last axis, times the weights where they
    are given.
    """
    return F.rms_norm(x, x.shape[-1:], weight, EPSILON)


def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions: Llama pairs the first half of a head with the second.

    x: [..., time, head].
    cos, sin: [time, head].
    """
    first, second = x.chunk(2, -1)
    turned = torch.cat([-second, first], -1)
    return x * cos + turned * sin


def checkpoint(
    weights: dict[str, Tensor], shape: Shape
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The weights under transformers' names, in bfloat16, and the arguments of its
    LlamaConfig.

    weights: by this module's names; the side heads are left out.
    """
    tensors = {"embed_tokens": weights["embed"], "norm": weights["norm"]}
    for number in range(shape.layers):
        layer = f"layers.{number}"
        # what is one matrix here, for one large product, is several there
        query, key, value = weights[f"{layer}.qkv"].split(shape.width)
        gate, up = weights[f"{layer}.up"].split(shape.inner)
        tensors[f"{layer}.input_layernorm"] = weights[f"{layer}.norm1"]
        tensors[f"{layer}.post_attention_layernorm"] = weights[f"{layer}.norm2"]
        tensors[f"{layer}.self_attn.q_proj"] = query
        tensors[f"{layer}.self_attn.k_proj"] = key
        tensors[f"{layer}.self_attn.v_proj"] = value
        tensors[f"{layer}.self_attn.o_proj"] = weights[f"{layer}.out"]
        tensors[f"{layer}.mlp.gate_proj"] = gate
        tensors[f"{layer}.mlp.up_proj"] = up
        tensors[f"{layer}.mlp.down_proj"] = weights[f"{layer}.down"]
    stored = {}
    for name, weight in tensors.items():
        weight = weight.detach().to(torch.bfloat16)
        stored[f"model.{name}.weight"] = weight.contiguous()
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
