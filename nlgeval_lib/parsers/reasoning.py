"""What a judge thinks aloud, separated from its answer by model families' marks."""

from __future__ import annotations

import re
from dataclasses import replace

from nlgeval_lib.records import Completion

# A mark closes a reasoning where one of the groups `shut...` takes part in its match;
# every other mark opens one.
_MARK = re.compile(
    r"""
    # <think>, <thought>, <seed:think>, <mm:think>, <think:opensource>
      < (?P<shut_tag>/?) (?:[a-z]{2,8}:)?
        (?:think|thinking|thoughts?|scratchpad|reasoning) (?::\w{1,20})? \s{0,3} >
    # Command A
    | <\| (?: start | (?P<shut_command>end) ) _thinking \|>
    # Sky-T1, OpenThinker
    | <\| (?: begin | (?P<shut_thought>end) ) _of_thought \|>
    # PLaMo
    | <\| plamo: (?: begin | (?P<shut_plamo>end) ) _think:plamo \|>
    # Kimi K3
    | <\| (?: open | (?P<shut_kimi>close) ) \|> \s? think \s? <\|sep\|>
    # Inkling
    | <\|content_ (?: thinking | (?P<shut_inkling>text) ) \|>
    # Magistral
    | (?-i: \[ (?P<shut_magistral>/?) THINK \] )
    # Kimi-VL
    | ◁ (?P<shut_vl>/?) think ▷
    # Gemma 4
    | <\|channel> \s? thought \b
    | (?P<shut_gemma> <channel\|> )
    # harmony of gpt-oss, with its special tokens and without them
    | <\|channel\|> \s? (?:analysis|commentary) [^<]{0,60} (?:<\|message\|>)?
    | (?P<shut_harmony>
        <\|channel\|> \s? final [^<]{0,60}
        (?:<\|constrain\|>\s?\w{1,20}\s?)? <\|message\|>
      )
    | (?-i: \A \s{0,9} (?:analysis|commentary)
        (?= [^\W_] | ["'*(`] | [^\0]*? assistant \s? final [^a-z\s] ) )
    | (?-i: (?P<shut_stripped> assistant \s? final ) (?= [^a-z\s] ) )
    # Granite 3
    | \A \s{0,9} Here (?:'s|\sis) \s my \s thought \s process:
    | (?P<shut_granite> \b Here (?:'s|\sis) \s my \s response: )
    # Ollama's command line
    | \A \s{0,9} Thinking \.\.\. (?=\s)
    | (?P<shut_ollama> \.\.\. done \s thinking \. )
    """,
    re.X | re.I,
)
# marks that no tag shows and that count only beside an opening one
_NEEDS_OPENING = ("shut_stripped", "shut_granite", "shut_ollama")
# how a text with a mark of reasoning must look, told at a glance
_SIGNS = ("<", "[THINK]", "[/THINK]", "◁")
_STARTS = ("analysis", "commentary", "Here", "Thinking...")
# what frames an answer after its reasoning
_FRAME = re.compile(
    r"<\|start\|>(?:assistant)?|<\|[\w:/]{1,40}\|>|<｜[^｜<>]{1,40}｜>"
    r"|</?s>|<turn\|>|<\|turn>|<seed:eos>",
    re.I,
)


def may_be_marked(text: str) -> bool:
    """Whether a text may hold a mark of reasoning; a quick look."""
    if any(sign in text for sign in _SIGNS):
        return True
    return text[:40].lstrip().startswith(_STARTS)


def is_mark(token: str) -> bool:
    """Whether a special token of a tokenizer belongs to the marks of reasoning."""
    if _MARK.fullmatch(token):
        return True
    return token in ("<|channel|>", "<|channel>", "<channel|>")


def opens(prompt: str) -> str:
    """The mark at the end of a prompt that opens a reasoning; "" without one."""
    tail = prompt[-80:].rstrip()
    last = None
    for mark in _MARK.finditer(tail):
        last = mark
    if last is None or last.end() != len(tail) or _closes(last):
        return ""
    return last.group()


def split(text: str) -> tuple[str, str]:
    """Reasoning and answer of a text, either of which may be empty. What is not closed
    goes on to the end; what is never opened began with the text.
    """
    if not may_be_marked(text):
        return "", text
    inside: list[str] = []
    outside: list[str] = []
    start = 0
    reasoning = False
    marked = False
    for mark in _MARK.finditer(text):
        if not reasoning and mark.lastgroup in _NEEDS_OPENING:
            continue
        marked = True
        before = text[start : mark.start()]
        closes = _closes(mark)
        if reasoning:
            inside.append(before)
        elif closes:
            inside = [*outside, before]
            outside = []
        else:
            outside.append(before)
        reasoning = not closes
        start = mark.end()
    if not marked:
        return "", text
    kept = inside if reasoning else outside
    kept.append(text[start:])
    return _unframed(inside).strip(), _unframed(outside)


def _closes(mark: re.Match) -> bool:
    """Whether a mark closes a reasoning."""
    return any(mark.groupdict().values())


def _unframed(parts: list[str]) -> str:
    return _FRAME.sub("\n", "\n".join(parts))


def apart(completion: Completion) -> Completion:
    """The completion with its reasoning in `reasoning` and not in `text`."""
    if not may_be_marked(completion.text):
        return completion
    reasoning, answer = split(completion.text)
    if not reasoning and answer == completion.text:
        return completion
    joined = "\n".join(filter(None, [completion.reasoning, reasoning]))
    return replace(completion, text=answer, reasoning=joined)
