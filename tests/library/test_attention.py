"""Grouped attention gives what transformers' own plain attention gives."""

from __future__ import annotations

import pytest

PADDING = 3  # of the first row, on the left


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("padded", [False, True])
def test_the_same_tokens_and_scores(groups: int, padded: bool) -> None:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from nlgeval_lib.engines import _attention

    config = LlamaConfig(
        vocab_size=50,
        hidden_size=48,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=groups,
    )
    torch.manual_seed(groups)
    model = LlamaForCausalLM(config).eval()
    tokens = torch.randint(1, 50, (3, 9))
    mask = torch.ones_like(tokens)
    if padded:
        mask[0, :PADDING] = 0

    def written() -> tuple[torch.Tensor, torch.Tensor]:
        output = model.generate(
            input_ids=tokens,
            attention_mask=mask,
            max_new_tokens=5,
            do_sample=False,
            pad_token_id=0,
            output_logits=True,
            return_dict_in_generate=True,
        )
        return output.sequences, torch.stack(output.logits)

    model.set_attn_implementation("eager")
    expected_tokens, expected = written()
    model.set_attn_implementation("sdpa")
    _attention.use(model)
    assert model.config._attn_implementation == _attention.NAME
    found_tokens, found = written()
    assert torch.equal(found_tokens, expected_tokens)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def test_another_attention_is_left_alone() -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    from nlgeval_lib.engines import _attention

    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=50,
            hidden_size=48,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=6,
            attn_implementation="eager",
        )
    )
    _attention.use(model)
    assert model.config._attn_implementation == "eager"
