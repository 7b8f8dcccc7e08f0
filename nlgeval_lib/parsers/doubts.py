"""Whether the words around a number take it back: negated, hypothetical, only considered, somebody else's, quoted."""

from __future__ import annotations

import re

from nlgeval_lib.parsers import doubt_cues as cues
from nlgeval_lib.parsers import vocabulary
from nlgeval_lib.parsers.mention import Mention, Strength
from nlgeval_lib.parsers.quick import has_any
from nlgeval_lib.parsers.scales import OTHER
from nlgeval_lib.parsers.text import words_of

_BACK = 160
_NEAR = 100  # what takes a number back stands no farther before it
_QUOTE_BACK = 600
_SENTENCE_CUT = re.compile(r".*(?:[.!?;](?=\s)|\n)", re.S)  # up to the last one
_OPENERS = " \t\n\"'([{<~"
# one of these is in every sentence that `_hypothetical` could find hypothetical
_HEDGES = (
    "ould", "might", "may", "must", "if", "unless", "had", "were", "suppos", "assum", "otherwise", "wish", "hypothet",
    "ideally", "normally", "'d",
)  # fmt: skip
# single quotes, which are apostrophes too
_OPEN_QUOTE = re.compile(r"(?<!\w)'(?=[a-z])(?:[^'\n]|(?<=\w)'(?=\w)){0,100}\Z")
_QUOTE_AHEAD = 60
_CLOSED_QUOTE = re.compile(rf"(?:[^'\n]|(?<=\w)'(?=\w)){{0,{_QUOTE_AHEAD}}}'(?!\w)")
_LETTER = re.compile(r"[a-z]")


def weigh(mention: Mention, text: str) -> None:
    """Spoil the mention where its sentence takes it back. A number that stands alone is in no sentence."""
    used = mention.used if mention.kind in ("of", "stars", "points") else mention.end
    if "?" in text[used : used + 3] and cues.ASKED_HERE.match(text, used):
        mention.spoil("the number is in question")
    if mention.strength is Strength.ALONE:
        return
    window = text[max(0, mention.start - _BACK) : mention.start]
    cut = _SENTENCE_CUT.match(window)
    sentence = window[cut.end() :] if cut else window
    core = sentence.rstrip(_OPENERS)[-_NEAR:]
    if not core:
        return
    labelled = mention.strength >= Strength.LABEL and core[-1] in ":="
    words = None if labelled else words_of(sentence)
    said_before = window[: cut.end()].rstrip(" .\n") if cut else ""
    if _asked(sentence, text, used):
        mention.spoil("the number stands in a question")
    elif (OTHER in sentence or said_before.endswith(OTHER)) and not mention.based:
        mention.spoil("the score is given on another scale", blocks=True)
        mention.rescaled = True
    elif (core[-1] not in ":=" and _negated(core, words)) or cues.UNFIT_AFTER.match(text, used):
        mention.spoil("the number is negated or a bound")
    elif not labelled:
        flaw = _taken_back(sentence, core, words, text, used)
        if flaw:
            mention.spoil(flaw)
    if not mention.flaw and (
        ('"' in window and _quoted(text, mention.start)) or ("'" in window and _in_single_quotes(window, text, used))
    ):
        mention.spoil("the number stands in a quotation")


def _negated(core: str, words: set[bytes] | None) -> bool:
    """Whether the words right before a number negate it or make it a bound."""
    return bool(cues.NEGATED.search(core, words) or cues.BETWEEN.search(core, words) or cues.BOUND.search(core, words))


def _asked(sentence: str, text: str, used: int) -> bool:
    """Whether the sentence is a question."""
    if text.find("?", used, used + 120) < 0:
        return False
    return cues.QUESTION.match(sentence) is not None and cues.ASKED_AFTER.match(text, used) is not None


def _reported(sentence: str, words: set[bytes] | None) -> bool:
    """Whether the judged text or its source is said to give the number."""
    found = cues.REPORTED.search(sentence, words)
    return found is not None and not cues.ONESELF.search(found["between"] or found["between2"] or "")


def _taken_back(sentence: str, core: str, words: set[bytes] | None, text: str, used: int) -> str:
    """Why the number, whose sentence begins with `sentence` of these `words`, is no verdict; empty where it is one."""
    if has_any(sentence, _HEDGES) and _hypothetical(sentence, text, used):
        return "the number is hypothetical"
    if cues.WITH_MORE.match(sentence):
        return "the number is hypothetical"
    if cues.ANOTHERS.search(core, words) or cues.OTHERS_AFTER.match(text, used) or _reported(sentence, words):
        return "the number is the score of something else"
    if cues.BY_AMOUNT.search(core[-30:] + " ") or cues.FROM.search(core[-60:]):
        return "the number is a deduction or a starting point"
    if cues.NEEDED.search(core) and not (cues.MET.search(core) and not cues.NOT_MET.search(core)):
        return "the number is a standard"
    purpose = cues.PURPOSE.search(core)
    if purpose and core[: purpose.start()].rpartition(" ")[0].rpartition(" ")[2] not in vocabulary.PURPOSE_FINE:
        return "the number is what would be needed"
    considered = cues.CONSIDERED.search(core, words)
    if considered and not (cues.CONTRAST.search(considered["between"]) or cues.TURN.search(considered["between"])):
        return "the number was only considered"
    return ""


def _hypothetical(sentence: str, text: str, used: int) -> bool:
    """Whether the number is what would, could or might have been; what comes before "therefore" does not bear on it."""
    turn = 0
    for place in cues.TURN.finditer(sentence):
        turn = place.start()
    sentence = sentence[turn:]
    clause = sentence[sentence.rfind(",") + 1 :]
    if cues.PERFECT.search(clause) or cues.UNSURE.search(clause) or cues.CONDITION.search(sentence):
        return True
    if "would" not in sentence and "'d " not in sentence and "could" not in sentence:
        return False
    if cues.GAIN.search(sentence) or cues.CONDITION_AFTER.match(text, used):
        return True
    if "i would" in clause or "i'd" in clause:
        return False
    after = cues.BUT_AFTER if "would be" in clause else cues.BUT_FOR_AFTER
    return after.match(text, used) is not None


def _in_single_quotes(window: str, text: str, used: int) -> bool:
    """Whether a single quote opens in the window before a number and closes behind it."""
    if text.find("'", used, used + _QUOTE_AHEAD + 1) < 0:
        return False
    return _OPEN_QUOTE.search(window) is not None and _CLOSED_QUOTE.match(text, used) is not None


def _quoted(text: str, start: int) -> bool:
    """Whether a quotation that began before the number's own words is still open."""
    line = text.rfind("\n", max(0, start - _QUOTE_BACK), start) + 1
    if not line and start > _QUOTE_BACK:
        line = start - _QUOTE_BACK
    quote = text.rfind('"', line, start)
    return quote >= 0 and text.count('"', line, start) % 2 == 1 and _LETTER.search(text, quote, start) is not None
