"""The tokenizer: a fixed line of a template, a word or a piece of a value is one token;
any other text is bytes.

A Unigram model over bytes whose pieces all weigh the same: the shortest way to write a
text wins, and every text comes back byte for byte.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from nlgeval_lib.training.mini import INSTRUCTION
from tools.mini_judge import answers
from tools.mini_judge.criteria import CRITERIA, KINDS
from tools.mini_judge.domains import ATTRIBUTES, POOLS, SUMS
from tools.mini_judge.prompts import FORMS, MOST_ASPECTS, make_example
from tools.mini_judge.records import Error

SPECIAL = ("<unk>", "<s>", "</s>", "<pad>")
UNK, BOS, EOS, PAD = range(4)
CHAT = (
    "{{ bos_token }}{% for message in messages %}{{ message['content'] }}"
    "{% if not loop.last %}\n\n{% endif %}{% endfor %}"
)
_GAP = "\x00"


@functools.cache
def pieces() -> tuple[str, ...]:
    """The texts that are one token each, sorted: what prompts and answers of all
    forms are made of.
    """
    found = {*_words(), *_values(), *_answers(), *_atoms()}
    found |= _fixed(found)
    return tuple(sorted(found - {""}))


def _atoms() -> set[str]:
    """What stands in a template's slots: instructions, criteria, rubrics."""
    found = {INSTRUCTION}
    for criterion in CRITERIA.values():
        found |= {
            criterion.name,
            criterion.name.lower(),
            criterion.definition,
            criterion.line,
            f"\n{criterion.line}",
        }
        found |= {f"\nScore {n}: {text}" for n, text in enumerate(criterion.rubric, 1)}
        found |= {
            f"Score {n}: {text}" for n, text in enumerate(criterion.rubric[:1], 1)
        }
    found |= {
        "Overall quality",
        "How good the text is on the whole.",
        "How good the text is on the whole",
    }
    return (
        found
        | {f" {n}.0" for n in range(1, 6)}
        | {" Score:", *answers.NUMBERS[1 : MOST_ASPECTS + 1]}
    )


def _values() -> set[str]:
    found = {
        f"{start}{key}{end}"
        for key in ATTRIBUTES
        for start, end in (("", ":"), ("\n", ":"), (" ", ""))
    }
    for pool in POOLS.values():
        found |= {f" {piece}" for piece in pool.first}
        found |= {f"{pool.joint}{piece}" for piece in pool.second if piece}
    return found | {f" {n}" for n in range(0, 40)} | {" all of it"}


def _words() -> set[str]:
    found = {".", ",", ". ", "\n", " "}
    phrases = [
        phrase for attribute in ATTRIBUTES.values() for phrase in attribute.phrases
    ] + list(SUMS)
    for phrase in phrases:
        words = re.findall(r"[A-Za-z]+", phrase)
        found |= {f" {word}" for word in words} | {words[0]}
    return found


def _answers() -> set[str]:
    error = Error("", *(f"{_GAP}",) * 3)
    told = [
        write(error)
        for table in (answers.EXPLAIN, answers.TELL)
        for write in table.values()
    ] + [answers.NOTHING]
    bare = {text.rstrip() for one in told for text in one.split(_GAP)}
    found = (
        bare
        | {f" {text}" for text in bare if text[:1].isupper()}
        | {"[RESULT]", " [RESULT]", " and", " make"}
    )
    found |= {
        "The model-generated output contains",
        " errors, with a total score reduction of",
    }
    for number in range(1, 5):
        found |= {
            f"\n{field} {number}:"
            for field in ("Error location", "Explanation", "Score reduction")
        }
        found |= {f"\nError aspect {number}: {kind.aspect}" for kind in KINDS.values()}
        found |= {f"\nSeverity {number}: {kind.severity}" for kind in KINDS.values()}
    names = [criterion.name for criterion in CRITERIA.values()]
    found |= {f'{start}"{name}":' for name in names for start in ("\n{", ", ")} | {"}"}
    return found | {f"\n{number}. " for number in range(1, MOST_ASPECTS + 1)}


def _fixed(atoms: Iterable[str]) -> set[str]:
    """The fixed texts of all prompts, between what is put in."""
    blank: Any = SimpleNamespace(
        output=_GAP, source=_GAP, reference=_GAP, kinds=(), errors=(), penalty=0
    )
    blank.score = lambda key: 5
    names = {
        text
        for c in CRITERIA.values()
        for text in (c.name, c.name.lower(), c.line, c.definition)
    }
    slots = sorted(
        {*names, *(atom for atom in _atoms() if len(atom) > 3)}, key=len, reverse=True
    )
    cut = re.compile("|".join(map(re.escape, [_GAP, *slots])))
    found: set[str] = set()
    for form in FORMS:
        for seed in range(300):
            found |= set(
                cut.split(make_example(random.Random(seed), blank, form).prompt)
            )
    return {text for text in found if text}


def build() -> Any:
    """The tokenizer as transformers have it: begins a text with <s>, and has a chat
    template of the bare messages.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    known = {to_bytes.pre_tokenize_str(piece)[0][0] for piece in pieces()} - set(
        alphabet
    )
    vocabulary = [(text, 0.0) for text in SPECIAL] + [
        (text, -1.0) for text in [*alphabet, *sorted(known)]
    ]
    made = Tokenizer(models.Unigram(vocabulary, unk_id=UNK, byte_fallback=False))
    made.pre_tokenizer = to_bytes
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", BOS)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=made,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = CHAT
    return fast
