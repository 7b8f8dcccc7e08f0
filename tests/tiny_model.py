"""A random Llama small enough for any engine, built at test time: nothing is
downloaded, nothing is committed.
"""

from __future__ import annotations

from pathlib import Path

CORPUS = [
    "The summary is coherent and faithful to the article, so the score is 4 out of 5.",
    "Feedback: the response ignores the question and repeats itself. [RESULT] 2",
    "Error location: the red bus; aspect: accuracy; severity: major; penalty: -4.",
    "One two three four five six seven eight nine ten. 0 1 2 3 4 5 6 7 8 9 10",
    "user assistant system instruction reference output criteria aspect rating yes no",
]
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def tokenizer(corpus=CORPUS, size: int = 400):
    """A byte-level BPE of ASCII text, with a chat template; any other character is
    unknown to it.

    Bytes that only together make a character would let engines differ in how they show
    a half one.
    """
    from tokenizers import (
        Tokenizer,
        decoders,
        models,
        pre_tokenizers,
        processors,
        trainers,
    )
    from transformers import PreTrainedTokenizerFast

    special = [
        "<unk>",
        "<s>",
        "</s>",
        "<pad>",
        "<|system|>",
        "<|user|>",
        "<|assistant|>",
    ]
    tok = Tokenizer(models.BPE(unk_token="<unk>"))
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    alphabet = [chr(code) for code in range(33, 127)] + ["Ġ", "Ċ"]
    tok.train_from_iterator(
        corpus,
        trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=special,
            initial_alphabet=alphabet,
            show_progress=False,
        ),
    )
    tok.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tok,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
    )
    fast.chat_template = TEMPLATE
    return fast


def build(folder: Path, seed: int = 0, positions: int = 1024) -> Path:
    """Save a Llama (hidden 64, 2 layers, 2 heads, fp32) and its tokenizer in
    `folder`; it takes `positions` tokens.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    words = tokenizer()
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=positions,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=3,
        # the default makes a random model's next token nearly a tie
        initializer_range=0.2,
        dtype="float32",
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        model.lm_head.weight[2] *= 1.6  # or it would hardly ever end a text
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def build_seq2seq(
    folder: Path, seed: int = 0, layers: int = 1, positions: int = 256, words=None
) -> Path:
    """Save a random BART (hidden 32, `layers` + 1) and its tokenizer in `folder`; it
    takes `positions` tokens.
    """
    import torch
    from transformers import BartConfig, BartForConditionalGeneration

    words = words or tokenizer()
    torch.manual_seed(seed)
    config = BartConfig(
        vocab_size=len(words),
        d_model=32,
        encoder_layers=layers,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=positions,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=3,
        decoder_start_token_id=2,
        forced_eos_token_id=2,
        init_std=0.2,
    )
    BartForConditionalGeneration(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def word_tokenizer(words: str, single: str = "$A </s>", **marks):
    """A tokenizer of single words and marks: `<s> <pad> </s> <unk>`, then `words`;
    it names no limit of its own.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    known = {word: i for i, word in enumerate(f"<s> <pad> </s> <unk> {words}".split())}
    tok = Tokenizer(models.WordLevel(known, unk_token="<unk>"))
    splits = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("isolated")]
    tok.pre_tokenizer = pre_tokenizers.Sequence(splits)
    special = [("<s>", 0), ("</s>", 2)]
    tok.post_processor = processors.TemplateProcessing(
        single=single, special_tokens=special
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tok, pad_token="<pad>", unk_token="<unk>", **marks
    )
