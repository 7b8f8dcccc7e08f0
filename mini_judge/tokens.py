"""The tokenizer: a fixed line of a template, a word or a piece of a value is one token;
any other text is bytes.

A Unigram model over bytes whose pieces all weigh the same: the shortest way to write a
text wins, and every text comes back byte for byte.

`pieces` collects the texts that are one token each, `build` makes the tokenizer of
them.
"""

from __future__ import annotations

import functools
import random
import re
from types import SimpleNamespace
from typing import Any

from mini_judge import answers
from mini_judge.criteria import CRITERIA, KINDS, Criterion
from mini_judge.domains import ATTRIBUTES, POOLS
from mini_judge.phrases import all_phrases
from mini_judge.prompts import FORMS, MOST_ASPECTS, make_example
from mini_judge.records import Error
from reproduction.training.mini import INSTRUCTION

# the marks, and their ids
SPECIAL = ("<unk>", "<s>", "</s>", "<pad>")
UNK, BOS, EOS, PAD = range(4)
# the messages as they are, an empty line between them
CHAT = (
    "{{ bos_token }}{% for message in messages %}{{ message['content'] }}"
    "{% if not loop.last %}\n\n{% endif %}{% endfor %}"
)
# stands where a text differs from item to item; no text has it
_GAP = "\x00"


@functools.cache
def pieces() -> tuple[str, ...]:
    """The texts that are one token each, sorted: what prompts and answers of all
    forms are made of.
    """
    texts = {*_words(), *_values(), *_answers(), *_atoms(), *_fixed()}
    return tuple(sorted(texts - {""}))


def _atoms() -> set[str]:
    """What stands in a template's slots: instructions, criteria, rubrics."""
    atoms = {
        INSTRUCTION,
        "Overall quality",
        "How good the text is on the whole.",
        "How good the text is on the whole",
        " Score:",
    }
    for criterion in CRITERIA.values():
        atoms |= _slots(criterion)
        atoms.add(f"\n{criterion.line}")
        for number, text in enumerate(criterion.rubric, 1):
            line = f"Score {number}: {text}"
            atoms.add(f"\n{line}")
            if number == 1:  # no line break before it
                atoms.add(line)
    for number in range(1, 6):
        atoms.add(f" {number}.0")
    atoms.update(answers.NUMBERS[1 : MOST_ASPECTS + 1])
    return atoms


def _slots(criterion: Criterion) -> set[str]:
    """How a criterion is written in a prompt."""
    name = criterion.name
    return {name, name.lower(), criterion.line, criterion.definition}


def _values() -> set[str]:
    """Attributes and pieces of values, with the blanks and marks beside them."""
    texts = {" all of it"}
    for key in ATTRIBUTES:
        texts |= {f"{key}:", f"\n{key}:", f" {key}"}
    for pool in POOLS.values():
        for piece in pool.first:
            texts.add(f" {piece}")
        if not pool.is_single:
            for piece in pool.second:
                texts.add(f"{pool.joint}{piece}")
    for number in range(40):
        texts.add(f" {number}")
    return texts


def _words() -> set[str]:
    """The words of all phrases with a blank before them, the first of each without it
    as well.
    """
    texts = {".", ",", ". ", "\n", " "}
    for phrase in all_phrases():
        words = re.findall(r"[A-Za-z]+", phrase)
        texts.add(words[0])
        texts.update(f" {word}" for word in words)
    return texts


def _answers() -> set[str]:
    """What answers are made of, without what differs from text to text."""
    texts = {"[RESULT]", " [RESULT]", " and", " make", "}"}
    texts |= {
        "The model-generated output contains",
        " errors, with a total score reduction of",
    }
    for text in _explanations():
        texts.add(text)
        if text[:1].isupper():
            texts.add(f" {text}")
    for number in range(1, 5):
        for label in ("Error location", "Explanation", "Score reduction"):
            texts.add(f"\n{label} {number}:")
        for kind in KINDS.values():
            texts.add(f"\nError aspect {number}: {kind.aspect}")
            texts.add(f"\nSeverity {number}: {kind.severity}")
    for criterion in CRITERIA.values():
        texts.add(f'\n{{"{criterion.name}":')
        texts.add(f', "{criterion.name}":')
    for number in range(1, MOST_ASPECTS + 1):
        texts.add(f"\n{number}. ")
    return texts


def _explanations() -> set[str]:
    """The fixed texts of all explanations, between what is put in."""
    # an explanation of an error that is all gaps, cut at the gaps, leaves what is fixed
    error = Error("", _GAP, _GAP, _GAP)
    sentences = [answers.NOTHING]
    for writers in (answers.EXPLAIN, answers.TELL):
        for write in writers.values():
            sentences.append(write(error))
    texts = set()
    for sentence in sentences:
        for text in sentence.split(_GAP):
            texts.add(text.rstrip())
    return texts


def _fixed() -> set[str]:
    """The fixed texts of all prompts, between what is put in: each form's prompt of an
    item that is all gaps, cut at the gaps and at what `_atoms` has.
    """
    blank: Any = SimpleNamespace(
        output=_GAP,
        source=_GAP,
        reference=_GAP,
        kinds=(),
        errors=(),
        penalty=0,
        score=lambda key: 5,
    )
    gap_or_slot = _gap_or_slot()
    texts: set[str] = set()
    for form in FORMS:
        for seed in range(300):  # enough to meet every wording of a form
            rng = random.Random(seed)
            example = make_example(rng, blank, form)
            texts.update(gap_or_slot.split(example.prompt))
    return texts - {""}


def _gap_or_slot() -> re.Pattern[str]:
    """What stands between the fixed texts of a prompt, the longest first."""
    slots = {atom for atom in _atoms() if len(atom) > 3}
    for criterion in CRITERIA.values():
        slots |= _slots(criterion)
    longest_first = sorted(slots, key=len, reverse=True)
    patterns = [re.escape(text) for text in (_GAP, *longest_first)]
    return re.compile("|".join(patterns))


def build() -> Any:
    """The tokenizer as transformers have it: begins a text with <s>, and has a chat
    template of the bare messages.

    The ids are always the same: marks, bytes, then the longer pieces in order.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    # A byte-level model spells each byte as one printable character.
    longer = set()
    for piece in pieces():
        [(spelled, _)] = to_bytes.pre_tokenize_str(piece)
        longer.add(spelled)
    longer.difference_update(alphabet)
    # All pieces weigh the same, so the fewest pieces win.
    vocabulary = [(text, 0.0) for text in SPECIAL]
    for text in (*alphabet, *sorted(longer)):
        vocabulary.append((text, -1.0))
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=UNK, byte_fallback=False))
    tokenizer.pre_tokenizer = to_bytes
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", BOS)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = CHAT
    return fast
