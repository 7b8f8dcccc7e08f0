"""The numbers of a normalised text, and what presents each of them as a score."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from nlgeval_lib.parsers import vetoes
from nlgeval_lib.parsers.normalise import OTHER, TAG
from nlgeval_lib.parsers.text import DIGITS, WORD, number_of, places, words

# how plainly a text presents a number as its verdict
ALONE, FORM, ASPECT, PHRASE, LABEL, FINAL = range(1, 7)
CUT = "the text ends in the middle of the score"
RESCALED = "the score is given on another scale"
SOMETHING_ELSE = "the label names something else"
# of a text with more numbers the first and the last are read: time stays bounded
READ_AT_EACH_END = 400


@dataclass(slots=True)
class Candidate:
    """A number that may be the score; its cue presents it, its veto takes it back."""

    value: float
    start: int
    end: int
    full_end: int  # where what belongs to it ("/5", "stars") ends
    token: str
    kind: str = ""  # what follows it: the name of a group of `_FOLLOWS`
    strength: int = 0
    cue: str = ""
    label: str = ""  # the aspect that it scores, where one is named
    veto: str = ""
    blocks: bool = False  # the veto also rules out candidates with a weaker cue

    @property
    def rescaled(self) -> bool:
        """Whether it is given on another scale."""
        return self.veto.startswith(("the score is given", "the score is a percentage"))

    def present(self, strength: int, cue: str, label: str = "") -> None:
        """The text presents this number as a verdict of that strength."""
        self.strength = strength
        self.cue = cue
        self.label = label

    def spoil(self, veto: str, blocks: bool = False) -> None:
        """The number is no verdict, and why."""
        self.veto = veto
        self.blocks = blocks


# --- numbers, and what follows them
_N = rf"(?:{DIGITS}|{WORD})(?![a-z0-9])"
# the number ends here: no noun that it counts comes after
_ENDS = (
    rf"(?=[ \t]*(?:\Z|[\n.!?:;,()\]\"'}}|/&{OTHER}{TAG}\\]|-(?![\da-z])|="
    r"|(?:for|in|on|because|as|since|due|based|with|and|but|overall|out|given|although"
    r"|though|while|which|when|if|rather|instead|is|here|from|to|or|stars?|points?"
    r"|indicat\w+|suggest\w+|would|score|rating|reflect\w+|regarding|according"
    r"|considering|under|at|by|that|so|thus|therefore|means?|represent\w*|was|this|the"
    r"|i|it|not|only|seems|despite|mainly|primarily|rationale|reason|explanation"
    r"|after|per|being|than|of (?:the|this) (?:rubric|scale))\b))"
)
_END_OF_NUMBER = re.compile(_ENDS)
_FOLLOWS = re.compile(
    rf"""(?P<date>[ ]?/[ ]?\d+[ ]?/[ ]?\d|-\d+-\d|:\d)
       | (?P<of>[ ]?(?:stars?\b|points?\b|marks?\b)?[ ]?[(\[]?[ ]?
           (?:/|out[ ]of|of[ ]a[ ]possible|of(?=[ ]\d))[ ]?(?:a[ ]|the[ ])?
           (?:(?:possible|maximum|total)[ ])?(?P<base>{_N}))
       | (?P<range>[ ]?(?:-|~|->|=>|\bto\b|\bthrough\b|\.\.+)[ ]?(?P<upto>{_N}){_ENDS})
       | (?P<series>[ ]?(?:,[ ]?(?:and|or)\b|,|;|/|\||&|\(?\bor\b|\band\b|\bvs\b\.?
           |[ ](?=\d))[ ]?(?:(?:maybe|perhaps|possibly|even)[ ])?(?:an?[ ])?
           (?P<then>{_N})(?:{_ENDS}|%|(?=[ ][(\[]?\d)))
       | (?P<percent>[ ]?(?:%|percent\b|per[ ]cent\b))
       | (?P<stars>[ -]?(?:stars?\b|★))
       | (?P<points>[ -]?(?:points?|marks?)\b)
       | (?P<sum>\+|[ ]?(?:[x×*+=]|\bplus\b|\bminus\b|\btimes\b)[ ]?\d)""",
    re.X,
)
_MORE = re.compile(rf"\+|[ ]?(?:-|~|->|\bto\b|\bor\b|\()[ ]?{_N}\s?(?:/|out of)\s?{_N}")
_SPLIT = re.compile(
    rf" ?(?:stars?|points?)? ?(?:for|in|on) [a-z ]{{1,30}}[,;]? ?(?:and"
    rf"|but)? ?(?:an? )?{_N}"
    r"(?: ?(?:/|out of) ?\d+)? (?:stars? |points? )?(?:for|in|on) [a-z]"
)
_CUT_OFF = re.compile(r"(?:-|[ ]?(?:/|out(?: of(?: a)?)?))\s*\Z")
_HALF = re.compile(r"[ -]and[ -]a[ -]half\b| ?½| 1/2(?![\d/])")
_COUNTED = re.compile(
    r" (?:(?:out )?of (?:the|its|these|those|them|all|my|our|their)\b"
    r"(?! (?:possible|maximum|rubric|scale)\b)"
    r"|(?:[a-z]+ ){0,2}(?:errors?|mistakes?|issues?|problems?|typos?|sentences?|words?"
    r"|facts?|paragraphs?|examples?|times|reasons?|people)\b)"
)


def candidates(text: str, low: float, high: float) -> list[Candidate]:
    """Every number of a normalised text that may be a score, with its cue and veto."""
    spans = places(text)
    if len(spans) > 2 * READ_AT_EACH_END:
        spans = spans[:READ_AT_EACH_END] + spans[-READ_AT_EACH_END:]
    pool: list[Candidate] = []
    read_to = -1
    for start, end in spans:
        if start < read_to:
            continue
        candidate, read_to = _number(text, start, end, low, high)
        if candidate:
            _present(candidate, text)
            pool.append(candidate)
    for candidate in pool:
        if candidate.cue == "bracketed" and len(pool) > 1:
            candidate.strength = 0  # one of several numbers in prose
        if candidate.strength and not candidate.veto:
            doubt(candidate, text)
    return pool


def doubt(candidate: Candidate, text: str) -> None:
    """Spoil a number that its sentence or what follows takes back."""
    window = text[max(0, candidate.start - 300) : candidate.start]
    full_end = (
        candidate.end if candidate.kind in ("range", "series") else candidate.full_end
    )
    following = text[full_end : full_end + 160].replace(f" {TAG}", "")
    sentence = vetoes.sentence_before(window)
    earlier = window.removesuffix(sentence).rstrip(" .\n")
    rescaled = OTHER in sentence or earlier.endswith(OTHER)
    if rescaled and candidate.kind != "of" and candidate.strength != ALONE:
        candidate.spoil(RESCALED, blocks=True)
        return
    if _SPLIT.match(following):
        candidate.spoil("several aspects are scored at once", blocks=True)
        return
    if candidate.value % 1.0 and "round" in following[:30]:
        candidate.spoil("the number is rounded", blocks=True)
        return
    at_label = candidate.cue in ("label", "final label", "label of an aspect")
    alone = candidate.strength == ALONE
    flaw = vetoes.flaw("" if alone else window, following, at_label)
    if flaw:
        candidate.spoil(f"the number is {flaw}")


def _number(
    text: str, start: int, end: int, low: float, high: float
) -> tuple[Candidate | None, int]:
    """One number, None where it cannot be a score, and where reading goes on."""
    token = text[start:end]
    value = number_of(token)
    if value is None or math.isinf(value):
        return None, end
    half = _HALF.match(text, end)
    if half:
        value += 0.5
        end = half.end()
    follows = _FOLLOWS.match(text, end)
    kind = ""
    full_end = end
    if follows:
        kind = follows.lastgroup or ""
        full_end = follows.end()
    prefix = f"  {text[max(0, start - 2) : start]}"[-2:]
    if kind == "date" or (prefix.endswith("/") and not follows):
        return None, full_end
    if _part_of_words(text, start, end, kind):
        return None, end
    if prefix.endswith("-") and not prefix[0].isalnum() and prefix[0] not in "->":
        value = -value
        start -= 1
    candidate = Candidate(value, start, end, full_end, token, kind)
    bound = prefix.endswith(("~", "<", ">", "≥", "≤"))
    if bound and not prefix.endswith(("->", "=>")):
        candidate.spoil("an approximate or bounded number")
    else:
        _follow(candidate, text, follows, (low, high))
    return candidate, full_end


_PRONOUN = re.compile(r"\b(?:this|that|the|each|every|any|which|another|no) \Z")
_NAMED = re.compile(r"[a-z](?<!score)(?<!rating)-\Z")


def _part_of_words(text: str, start: int, end: int, kind: str) -> bool:
    """Whether a number is part of a word or counts something."""
    following = text[end : end + 2]
    if following[:1].isalnum() or (following[:1] == "-" and following[1:].isalpha()):
        return not kind
    prefix = text[max(0, start - 9) : start]
    if text[start:end] == "one" and _PRONOUN.search(prefix):
        return True
    if _NAMED.search(prefix):
        return True
    return not kind and _COUNTED.match(text, end) is not None


def _follow(
    candidate: Candidate,
    text: str,
    follows: re.Match | None,
    scale: tuple[float, float],
) -> None:
    """Make of the number what follows it: a share of the scale, or a veto."""
    _, high = scale
    kind = candidate.kind
    if _CUT_OFF.match(text, candidate.end):
        candidate.spoil(CUT, blocks=True)
    elif text[candidate.end :].lstrip(" ,([")[:1] == OTHER:
        candidate.spoil(RESCALED, blocks=True)
    elif follows is None:
        return
    elif kind == "of":
        if number_of(follows["base"]) != high:
            veto = f"the score is given on a scale up to {follows['base'][:20]}"
            candidate.spoil(veto, blocks=True)
        elif _MORE.match(text, candidate.full_end):
            candidate.spoil("more than one number at once", blocks=True)
    elif kind in ("range", "series"):
        second = number_of(follows["upto"] or follows["then"])
        if (candidate.value, second) == scale:
            candidate.spoil("the scale itself")
        elif kind == "range" and second is not None and second <= candidate.value:
            candidate.spoil("a result or a difference, not a score")
        else:
            span = text[candidate.start : candidate.full_end].strip()
            veto = f"more than one number at once: {span[:40]!r}"
            candidate.spoil(veto, blocks=True)
    elif kind == "percent" and scale == (0.0, 1.0):
        candidate.value /= 100.0
    elif kind == "percent" and scale != (0.0, 100.0):
        candidate.spoil("the score is a percentage", blocks=True)
    elif kind == "sum":
        candidate.spoil("a sum, not a number", blocks=True)


# --- what presents a number
# adjectives and adverbs between a cue and its number: "a solid 4"
_FILL = words(
    "a an solid strong clear perfect full low high mere generous decent good weak fair "
    "moderate maximum minimum final exactly therefore thus clearly simply still merely "
    "rather fairly quite hence definitely actually easily only just very about around "
    "approximately roughly"
)
# after a label these leave it in doubt: "Score: about 4"
_ARTICLES = words("a an")
_HEDGES = words("about around approximately roughly only just rather")
_NOUNS = words(
    "score scores rating ratings grade grades mark marks star stars verdict "
    "evaluation assessment judgment judgement result"
)
_RANKS = words("final overall total ultimate revised updated corrected")
# names of something else, even where the number is written as a score
_NEVER = words(
    "confidence certainty weight deduction deductions penalty errors mistakes human "
    "humans expert experts annotator annotators gold reference expected previous max "
    "maximum min minimum highest lowest possible count length threshold baseline if "
    "scale scales range rubric rubrics criteria criterion mean median average initial "
    "original target step steps page part date year time age id index question task "
    "example sample option choice article paragraph sentence line item version level "
    "percentage words tokens chapter section figure temperature not never would could "
    "might passing required needed ideally game games match test tests exam quiz user "
    "users customer customers viewer viewers audience critic critics bleu rouge best "
    "preliminary tentative provisional number attempts seed latency exact base class "
    "imdb credit flesch f1 rouge-l bertscore meteor chrf comet colleague received "
    "namely problems points tied turn starting"
)
# words of a label that name no aspect
_NEUTRAL = words(
    "a an the my our your this that its of for to and i would give given assign it is "
    "as on in by with be single numeric integer perfect summary summary's response "
    "response's text output answer translation story dialogue here here's so thus "
    "therefore hence quality only one system model judge based provide high low good "
    "decent fair moderate generous"
)
# headings of the parts of one judgment, not of something that is scored
_PARTS = words(
    "reason reasons explanation rationale justification analysis comment comments "
    "feedback evidence final answer response evaluation example output"
)
_QUALITY = (
    r"(?:[a-z]+ness|coherence|consistency|fluency|relevanc[ey]|accuracy|clarity"
    r"|quality|grammar|style|depth|creativity|vocabulary)"
)
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_SEPARATOR = re.compile(r"[\n.!?;,|{}()\[\]:=\"]")
_ITEM_LEFT = re.compile(r"[\s>#|\"'(\[{-]*(?:\d{1,2}[.)][ >#-]*)?\Z")
_LINE_LEFT = re.compile(r"[\s<>=#\"'(\[|-]*\Z")
_LINE_RIGHT = re.compile(r"[^\w\n/+%&=<>?-]*(?:\n|\Z)")
_OWN_LINE = re.compile(rf"[ \t]*(?:[.,;)\]\"'{TAG}]*[ \t]*(?:\n|\Z)|-|:|\()")
_OPENERS = " \t\n\"'([{<"


def _present(candidate: Candidate, text: str) -> None:
    """Set what presents the number: a label, a phrase, its form or its place."""
    window = text[max(0, candidate.start - 200) : candidate.start]
    core = window.rstrip(_OPENERS)
    lead = _unfilled(core)
    ends = _END_OF_NUMBER.match(text, candidate.full_end) is not None
    if lead.endswith((":", "=", "-", "->")):
        below = "\n" in window[len(core) :] and lead[-1] in ":="
        if below and not _OWN_LINE.match(text, candidate.full_end):
            return  # a list below its heading
        hedged = not _HEDGES.isdisjoint(core[len(lead) :].split())
        if not hedged and (ends or lead == core):
            _label(candidate, text, lead, ends)
    elif ends or candidate.kind in ("of", "range", "series"):
        _phrase(
            candidate, text, lead, not _ARTICLES.isdisjoint(core[len(lead) :].split())
        )
    if not candidate.strength:
        _form(candidate, text, window, core)


def _unfilled(core: str) -> str:
    """The text without what joins a cue and a number, at its end."""
    for _ in range(4):
        head, _, word = core.rpartition(" ")
        if word not in _FILL:
            break
        core = head.rstrip()
    return core


def _label(candidate: Candidate, text: str, core: str, ends: bool) -> None:
    """`Label: 4`: a score by its own name, a final one, or one under another label."""
    head = core.rstrip(":=|-> ").rstrip(" \t\n\"')]")
    name = _SEPARATOR.split(head)[-1].strip(" \t\"'>#-")
    line = head[head.rfind("\n") + 1 :].removesuffix(name)
    line_start = _ITEM_LEFT.match(line) is not None
    label_words = _WORD.findall(name)
    label_words = [word.removesuffix("'s") for word in label_words]
    noun = not _NOUNS.isdisjoint(label_words)
    ranked = not _RANKS.isdisjoint(label_words)
    aspect_words = [w for w in label_words if w not in _NOUNS | _NEUTRAL | _RANKS]
    if len(label_words) > 1 and label_words[-1] == "a":
        aspect_words.append("a")  # "Score A", "Response A"
    if not _NEVER.isdisjoint(label_words):
        candidate.spoil(SOMETHING_ELSE)
        candidate.label = " ".join(label_words)
    elif not label_words or len(label_words) > 12:
        if ends and line_start and not name and _LINE_RIGHT.match(text, candidate.end):
            candidate.present(ALONE, "alone")
    elif ranked and (noun or (line_start and label_words[0] in _RANKS)):
        candidate.present(FINAL, "final label", " ".join(aspect_words))
    elif noun and aspect_words:
        candidate.present(ASPECT, "label of an aspect", " ".join(aspect_words))
    elif noun:
        candidate.present(LABEL, "label")
        at = max(0, candidate.start - 200) + len(head) - len(name)
        _under_heading(candidate, text[max(0, at - 1500) : at], line_start)
    elif (
        ends
        and len("".join(label_words)) >= 3
        and len(label_words) <= (6 if line_start else 3)
    ):
        next_item = f"\n{candidate.value + 1:g}"
        listed = text.startswith((". ", ") "), candidate.end)
        if listed and next_item in text[candidate.end :]:
            return  # "Reasons: 1. It is fluent"
        inline = core[-1] in ":|" and _NEUTRAL.isdisjoint(label_words)
        if core[-1] == "=" or not (line_start or inline):
            return
        aspect = " ".join(label_words)
        if (_NEUTRAL | _PARTS).issuperset(label_words):
            aspect = ""
        candidate.present(ASPECT, "label of an aspect", aspect)


_HEADING = re.compile(r"[\s>#-]*(?:\d{1,2}[.)] )?(?P<name>[^\W\d_][\w /&'-]{0,48}?) ?:")


def _under_heading(candidate: Candidate, above: str, line_start: bool) -> None:
    """A score under a heading (the line above, or its line's start) is of its name."""
    if line_start:
        heading = _HEADING.fullmatch(above.rstrip("\n\t >#-").rpartition("\n")[2])
    else:
        heading = _HEADING.match(above.rpartition("\n")[2])
    words = _WORD.findall(heading["name"]) if heading else []
    if _NOUNS.isdisjoint(words) and not (_NEUTRAL | _PARTS).issuperset(words):
        candidate.present(ASPECT, "label of an aspect", " ".join(words))


_JUDGED = (
    r"(?:response|summary|answer|output|text|translation|story|generation|essay"
    r"|dialogue|sentence|it|this|that|one)"
)
_VERB = (
    r"(?:rat(?:e[sd]?|ing)|scor(?:e[sd]?|ing)|grad(?:e[sd]?|ing)|giv(?:es?|en|ing)|gave"
    r"|assign(?:s|ed|ing)?|award(?:s|ed|ing)?|gets?|got|receiv(?:e[sd]?|ing)"
    r"|evaluate[sd]?|deserv(?:e[sd]?|ing)|earn(?:s|ed|ing)?|achiev(?:e[sd]?|ing)"
    r"|merits?|warrants?"
    r"|mak(?:es?|ing)(?= it| this| the))"
)
_SCORE_IS = re.compile(
    r"\A(?s:.*)(?<!\Wi)(?<!would)(?<!'d)\W(?P<noun>score|rating|grade(?! level)|mark)"
    r"(?:s\b|\b(?! (?:it|this"
    r"|the)\b))(?P<mid>[^.!?\n;:\d]{0,70}?)\b(?P<link>(?<!out )of|is|as|at|was|be|being"
    r"|equals|(?:set|down|up) to)\Z"
)
# not "(Score 5)": a prompt's reference answer, repeated
_SCORE = re.compile(r"(?<!\Wi)(?<!would)(?<!'d)[^\w(-](?P<noun>score|rating)\Z")
_RATE_IT = re.compile(
    rf"\A(?s:.*)[^\w(](?P<verb>{_VERB})(?:\b(?:[\s,]+[a-z'\"-]+){{0,10}}\s"
    rf"(?:as|at|with|of|them|{_QUALITY}|{_JUDGED}))?\Z"
)
_GETS = re.compile(
    r"\W(?P<verb>ha[sd]|have|gets?|got|receive[sd]?|earn(?:s|ed)?|achieve[sd]?|holds?)"
    r"(?: (?:an?|the))?(?: [a-z]+)? \Z"
)
_THIS_IS = re.compile(rf"\W{_JUDGED}(?:'s| is| was| would be)\Z")
_OVERALL = re.compile(r"\W(?:overall|in total|all in all),?(?: i'd (?:go|say))?\Z")
_QUALITY_IS = re.compile(
    rf"\W(?P<quality>{_QUALITY})[^.!?\n;:\d]{{0,50}}?\b(?:is|as|at|gets|scores)\Z"
)
_FOR_ASPECT = re.compile(
    r"[ ]?(?:stars?|points?)?[ ]?(?:for|in terms of|in|on|regarding)\s"
    r"(?:the\s|its\s|overall\s)*(?P<word>[a-z][a-z-]+)"
)
_NOT_ASPECT = _NOUNS | _NEUTRAL | _RANKS


def _aspect(word: str) -> str:
    """The word where it can name an aspect, else nothing."""
    words = word and word not in _NOT_ASPECT and not word.endswith(("ly", "ing", "ed"))
    return word if words else ""


def _aspect_after(text: str, at: int) -> str:
    """The aspect in `for coherence`, `in terms of style`; empty where none is named."""
    match = _FOR_ASPECT.match(text, at)
    return _aspect(match["word"]) if match else ""


_QUALITY_WORD = re.compile(rf"\W({_QUALITY})\b")
_LED = re.compile(
    r"\W*(?:and )?(?:in terms of|regarding|as for|for|on) (?:the |its )?([a-z-]+)\b"
)


def _aspect_before(sentence: str) -> str:
    """The aspect in `For style I give`, `the fluency gets`."""
    led = _LED.match(sentence)
    words = _QUALITY_WORD.findall(vetoes.clause_before(sentence))
    if led and _aspect(led[1]):
        return led[1]
    return _aspect(words[-1]) if words else ""


def _phrase(candidate: Candidate, text: str, lead: str, article: bool) -> None:
    """`a score of 4`, `Score 4`, `I rate it a 4`: the first phrase that fits."""
    sentence = f" {vetoes.sentence_before(lead)}"
    score = _SCORE_IS.search(sentence) or _SCORE.search(sentence)
    verb = None if score else _RATE_IT.search(sentence)
    quality = _QUALITY_IS.search(sentence)
    if score:
        _score_phrase(candidate, sentence, score)
    elif verb and not text.startswith((" point for", " points for"), candidate.end):
        candidate.present(PHRASE, "rate it")
    elif quality:
        candidate.present(ASPECT, "its quality is", _aspect(quality["quality"]))
    elif _OVERALL.search(sentence):
        candidate.present(FINAL, "overall")
    elif article and _THIS_IS.search(sentence):
        candidate.present(PHRASE, "this is")
    if score:
        verb = _GETS.search(sentence[: score.start("noun")])
    if candidate.strength and verb and not vetoes.of_the_judge(sentence, verb):
        candidate.spoil("the number is the score of something else")
    if candidate.strength == PHRASE:
        candidate.label = (
            _aspect_after(text, candidate.full_end)
            or candidate.label
            or _aspect_before(sentence)
        )


_WORD_BEFORE = re.compile(r"([\w'-]+) \Z")


_RUBRIC = re.compile(r"(?:score rubric|evaluation criteria) ")
# "the score of the article": what is scored, in the middle of a phrase
_SCORED = words("level number article sentence best paragraph would output")


def _score_phrase(candidate: Candidate, sentence: str, match: re.Match) -> None:
    """`the score of the summary is 4`, `a coherence score of 4`, `Score 4`."""
    groups = match.groupdict()
    middle = _WORD.findall(groups.get("mid") or "")
    neighbour = _WORD_BEFORE.search(sentence[: match.start("noun")])
    prefix = neighbour[1] if neighbour else ""
    link = groups.get("link") or ""
    if _RUBRIC.search(sentence[-90:]):
        return  # what the rubric asks for a score of 4
    if not (_NEVER - _SCORED).isdisjoint({prefix, *middle}):
        return
    aspect = _aspect(prefix)
    if not _RANKS.isdisjoint({prefix, *middle}):
        candidate.present(FINAL, "score is")
    elif link in ("of", "as", "at"):
        candidate.present(PHRASE, "score is", aspect)
    elif link:
        candidate.present(LABEL, "score is", aspect)
    else:
        candidate.present(ASPECT if aspect else LABEL, "score", aspect)


# "4: good" and "4. The summary" at the start of a text
_AFTER_LEAD = re.compile(r"[ \t]*(?:(?P<list>[.)])|[:,;\]|-]|->|\(|\n|\Z|\t)")
_COUNT_BEFORE = re.compile(
    r"\b(?:covers?|mention\w*|includ\w+|contain\w*|correct\w*|on|since|until|by"
    r"|only|about"
    r"|at|around|nearly|and|from|won|lost|beat|in|has|have|had|are|were|for|least|than"
    r"|[a-z]+ed)\s*\Z"
)
_CLOSED = re.compile(r"\s?\)\s?(?:[.!,;\n]|\Z)")
_TEXT_END = re.compile(rf"[\s.!)\]\"'}}|{TAG}]*\Z")
_SENTENCE_END = re.compile(r"(?<!\d)(?<!\b(?:no|pp))(?<!approx)[.!?][\"')]*\s*-?\Z")
_BARE_START = re.compile(r"\A\W*(?:yes|no(?!\.)|ok|good|bad|fair|poor)\W+\Z")


_SAYS_STARS = words("i we it this which both")  # not "the customer left 2 stars"


def _form(candidate: Candidate, text: str, window: str, core: str) -> None:
    """A number that only its form or its place makes a verdict."""
    full_end = candidate.full_end
    line = window[window.rfind("\n") + 1 :]
    first = len(window) == candidate.start and not window.strip(_OPENERS + ">#-|.")
    scored = candidate.kind in ("of", "stars")
    lead = _AFTER_LEAD.match(text, full_end) if first else None
    digits = candidate.token[0].isdigit()
    if (first or _LINE_LEFT.match(line)) and _LINE_RIGHT.match(text, full_end):
        candidate.present(ALONE, "alone")
    elif lead:
        candidate.present(FORM if scored else ALONE, "leading")
        if lead["list"] and not candidate.kind and candidate.value == 1.0:
            candidate.spoil("a leading '1.' may be the number of a list")
    elif scored and _END_OF_NUMBER.match(text, full_end):
        clause = re.split(r"[,;:(.!?]", line)[-1]
        subject = _WORD.findall(clause)
        stars = candidate.kind == "stars" or text.startswith(" star", full_end)
        ours = not stars or len(subject) <= 2 or not _SAYS_STARS.isdisjoint(subject)
        counts = not _NEVER.isdisjoint(subject[-1:]) or _COUNT_BEFORE.search(window)
        if ours and not counts:
            aspect = _aspect_after(text, full_end)
            candidate.present(ASPECT if aspect else FORM, "form", aspect)
    elif digits and window.endswith((" (", "\n(")) and _CLOSED.match(text, full_end):
        candidate.present(ALONE, "bracketed")
    elif digits and not candidate.kind and _TEXT_END.match(text, full_end):
        closes = _SENTENCE_END.search(core) or _BARE_START.match(window)
        if closes:
            candidate.present(ALONE, "closing")
