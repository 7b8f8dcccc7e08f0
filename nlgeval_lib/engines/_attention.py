"""Attention of one new token on a processor, without a copy of the keys for every head,
which transformers makes of grouped queries in a padded batch.
"""

from __future__ import annotations

from typing import Any

NAME = "nlgeval_grouped"


def use(model: Any) -> None:
    """Let a loaded model attend so, where it attends by torch's own function."""
    if model.config._attn_implementation != "sdpa":
        return
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    AttentionInterface.register(NAME, grouped)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    model.set_attn_implementation(NAME)


def grouped(
    module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any
) -> tuple[Any, None]:
    """What transformers' "sdpa" gives, (rows x new tokens x heads x width), and None.

    query: (rows x heads x new tokens x width).
    key, value: (rows x groups of heads x all tokens x width).
    """
    rows, heads, new_tokens, width = query.shape
    groups = key.shape[1]
    plain = new_tokens == 1 and groups < heads and options.get("position_bias") is None
    if not plain:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        return sdpa_attention_forward(module, query, key, value, mask, **options)
    from torch.nn.functional import scaled_dot_product_attention

    # Heads of one group ask the same keys, as further new tokens would.
    together = query.reshape(rows, groups, heads // groups, width)
    found = scaled_dot_product_attention(
        together, key, value, attn_mask=mask, scale=options.get("scaling")
    )
    return found.reshape(rows, 1, heads, value.shape[-1]), None
