"""The words around a number that make it a verdict. Patterns only; those for what stands before it end at it."""

from __future__ import annotations

import re

from nlgeval_lib.parsers.quick import Gated, starting
from nlgeval_lib.parsers.text import DIGITS, WORD
from nlgeval_lib.parsers.vocabulary import QUALITY as _QUALITY

_ADVERB = (
    r"(?:only|just|exactly|about|around|approximately|roughly|therefore|thus|clearly|then|now|simply|still|merely|"
    r"probably|likely|overall|rather|fairly|quite|hence|definitely|certainly|currently|indeed|actually)"
)
_ADJECTIVE = (
    r"(?:solid|strong|clear|perfect|full|low|high|mere|generous|decent|good|weak|fair|firm|flat|modest|respectable|"
    r"moderate|maximum|minimum|poor|top|near-perfect|middling|average|final|overall|numeric|numerical|bare|resounding|"
    r"straight|lower|higher|relatively low|relatively high|very low|very high)"
)
_JUDGED = (
    r"(?:response|summary|answer|output|text|translation|story|generation|essay|article|reply|dialogue|sentence|candidate|"
    r"one|headline|caption|paraphrase|statement|explanation|completion|message|turn|submission)"
)
_FILL = rf"(?:\s+(?:a|an|the|{_ADVERB}|{_ADJECTIVE}))*"

DRESSED = re.compile(rf"[:=]\s+(?:an?\b|{_ADJECTIVE}\b)(?:\s+{_ADJECTIVE})*\s*\Z")
ADJECTIVES = frozenset(("a", "an", *re.findall(r"[a-z-]+", _ADJECTIVE)))
_FILLERS = frozenset(("a", "an", "the", *re.findall(r"[a-z-]+", f"{_ADVERB} {_ADJECTIVE}")))


def scored_by_another(core: str) -> bool:
    """Whether `core` ends with "scored" said of a player or a team, not of what is judged."""
    return _SCORED.search(core) is not None and _SCORED_BY.search(core) is None


def before_fill(text: str) -> tuple[str, bool]:
    """The last word of `text` that is none of `_FILL`, and whether an article stands after it.

    The patterns that end with `_FILL` are only tried where this word is one that they can have there.
    """
    words = text.rsplit(None, 3)  # more than three fillers are rare
    if len(words) == 4 and words[1] in _FILLERS and words[2] in _FILLERS and words[3] in _FILLERS:
        words = text.split()
    article = False
    while words and words[-1] in _FILLERS:
        article = article or words[-1] in ("a", "an")
        words.pop()
    return (words[-1] if words else ""), article


# --- before a number ----------------------------------------------------------------------------------------------
NOUN_LINK = re.compile(
    r"\b(?P<noun>score|scores|rating|ratings|grade|mark|evaluation|assessment|verdict|judge?ment)\b(?P<mid>[^.!?\n;:\d]{0,70}?)"
    rf"\b(?P<link>of|is|as|at|was|be|being|equals|equal to|set to|comes to){_FILL}\s*\Z"
)
LINKS = ("of", "is", "as", "at", "was", "be", "being", "equals", "to")
NOUN_DIRECT = re.compile(r"\b(?P<noun>score|rating|grade|mark|verdict|stars?)\s*\Z")
NOUNS = ("score", "rating", "grade", "mark", "verdict", "star", "stars")
WORD_BEFORE = re.compile(r"\b(?P<word>[a-z][a-z'-]*)\s+\Z")
VERB = re.compile(
    r"\b(?P<verb>rat(?:e[sd]?|ing)|scor(?:e[sd]?|ing)|grad(?:e[sd]?|ing)|assign(?:s|ed|ing)?|award(?:s|ed|ing)?|"
    r"giv(?:es?|en|ing)|gave|receiv(?:e[sd]?|ing)|earn(?:s|ed|ing)?|deserv(?:e[sd]?|ing)|merit(?:s|ed|ing)?|"
    r"warrant(?:s|ed|ing)?|gets?|got|getting|mak(?:es?|ing)(?= it| this)|obtain(?:s|ed|ing)?|achiev(?:e[sd]?|ing)|"
    r"evaluate[sd]?|judged?|(?:call|place|put|peg|consider|deem|find)(?= it| this| that| the)|worth)\b"
    rf"(?:(?P<mid>(?:\s+[a-z'\"-]+){{0,10}}?)\s+(?:as|at|with|of|a|an)|\s+(?:it|this|that|them)){_FILL}\s*\Z"
)
VERB_ENDS = ("as", "at", "with", "of", "it", "this", "that", "them")
VERB_DIRECT = re.compile(
    r"(?:\b(?:rate[sd]?|scor(?:e[sd]|ing)|graded|rating it|settl(?:e[sd]?|ing) (?:on|for)|go(?:ing)? with|went with|"
    r"land(?:s|ed)? on|decid(?:e|ed) on|conclude with|choose|chose|select(?:ed)?|pick|picked|"
    r"opt(?:ed)? for|stick(?:ing)? with|"
    rf"i'?d (?:say|go)|i (?:would )?say|my answer is|it'?s|make it)|[打给]){_FILL}\s*\Z"
)
VERB_DIRECT_ENDS = (
    "rate", "rates", "rated", "scores", "scored", "scoring", "graded", "it", "on", "for", "with", "choose", "chose",
    "select", "selected",
    "pick", "picked", "say", "is", "it's", "its", "go", "打", "给",
)  # fmt: skip
# "I rate the response 3"
VERB_OBJECT = Gated(
    ("rate ", "give ", "score ", "grade ", "award ", "assign "),
    r"\b(?:i|we|i'd|i'll|would|will) (?:[a-z]+ ){0,2}?(?:rate|give|score|grade|award|assign) (?:the|this|that|its) "
    rf"(?:[a-z-]+ ){{0,2}}{_JUDGED}(?:'s [a-z]+)?\s*\Z",
)
# "I am giving 3 marks"
OWN_GIFT = re.compile(
    r"\b(?:i|we)(?:'d|'ll|'m| am| would| will)? (?:giv(?:e|ing)|award(?:ing)?|assign(?:ing)?)(?: it| this| this one)?"
    rf"{_FILL}\s*\Z"
)
OWN_GIFT_ENDS = ("give", "giving", "award", "awarding", "assign", "assigning")
# "Messi scored 3" is no verdict: what is judged scores, or is scored
_SCORED = re.compile(r"\bscored(?: an?)?\s*\Z")
_SCORED_BY = re.compile(
    rf"(?:\b(?:it|this|that|i|we|is|was|are|were|be|been|being|i've|i'd|i'll|thus|therefore|hence|{_JUDGED})|[.!?:;,\n]|\A)"
    rf"(?:\s+{_ADVERB})*\s*\bscored(?: an?)?\s*\Z"
)
# "a 3 is fair"
NAMED_AFTER = re.compile(
    r"[ \t]+is (?:the|my|our) (?:(?:most )?(?:appropriate|right|correct|fair|fitting|suitable|final|overall) )?"
    r"(?:score|rating|grade)\b"
)
FITTING = re.compile(
    r"[ \t]+(?:is|seems|would be|feels|appears)(?: to be)?(?: (?:more|most|quite|well|entirely|fully|therefore|thus))*"
    r" (?:appropriate|fair|right|about right|justified|warranted|fitting|suitable|deserved|merited|reasonable|apt)\b"
    r"(?![^.!?\n]{0,40}\b(?:if|had|were|with more|unless)\b)"
)
# these only where the clause ends with the number
VERB_BARE = re.compile(
    r"\b(?:gets?|got|receives?|received|earns?|earned|deserves?|deserved|merits?|awards?|awarded|assigns?|assigned|"
    rf"gives?|gave){_FILL}\s*\Z"
)
VERB_BARE_ENDS = (
    "get", "gets", "got", "receive", "receives", "received", "earn", "earns", "earned", "deserve", "deserves",
    "deserved", "merit", "merits", "award", "awards", "awarded", "assign", "assigns", "assigned", "give", "gives",
    "gave",
)  # fmt: skip
CLAUSE_ENDS = re.compile(r"[ \t]*(?:\Z|[.!?;,)]|\n|(?:and|but|while|whereas|because|since|due to)\b)")
# "I would rate the fluency a 4"
QUALITY_OBJECT = re.compile(
    rf"{starting('rate', 'score', 'grade', 'give', 'evaluate', 'judge', 'assess')}[sd]? "
    rf"(?:(?:the|its|this|overall|{_JUDGED}'s) ){{0,3}}{_QUALITY}"
    rf"(?: of (?:the|this|its) (?:[a-z]+ )?{_JUDGED})?(?: (?:as|at|with))?{_FILL}\s*\Z"
)
SUBJECT_ENDS = (
    "get", "gets", "got", "receive", "receives", "score", "scores", "scored", "deserve", "deserves", "earn", "earns",
    "merit", "merits", "rated", "as", "at",
)  # fmt: skip
QUALITY_SUBJECT = re.compile(
    rf"{_QUALITY}\s+(?:(?:is|was|be)\s+)?(?:gets?|got|receives?|scores?|scored|deserves?|earns?|merits?|rated)"
    rf"(?:\s+(?:as|at))?{_FILL}\s*\Z"
)
JUDGED_SUBJECT = re.compile(
    r"\b(?:it|this|that|which|i|we|they|both|therefore|thus|hence|so|overall)\b|"
    rf"{_QUALITY}|\b{_JUDGED}s?\b"
)
OVERALL = Gated(
    ("overall", "in total", "all in all", "in sum", "altogether"),
    rf"\b(?:overall|in total|all in all|in sum|altogether)\s*,?{_FILL}\s*\Z",
)
OVERALL_AFTER = re.compile(r" (?:stars |points )?(?:overall|in total|all in all)(?=[ \t]*(?:[.!,;)\n]|\Z))")
TOP_AWARDED = re.compile(
    r"\b(?:deserv|earn|receiv|get|got|giv|gave|award|achiev|assign|merit|warrant)\w*\s+(?:it\s+|this\s+)?(?:the|a)\s+\Z"
)
COPULA = re.compile(
    r"\b(?:it|this|that|response|summary|output|answer|text|translation|story)"
    rf"(?:'s| is| was| would be| should be| 'd be)(?:\s+{_ADVERB})?\s+(?:a|an)(?:\s+{_ADJECTIVE})?\s*\Z"
)
QUALITY = re.compile(rf"{_QUALITY}[^.!?\n;:\d]{{0,50}}?\b(?:is|as|at){_FILL}\s*\Z")
QUALITY_ENDS = ("is", "as", "at")
QUALITY_BRACKET = re.compile(rf"{_QUALITY}\s*\(\s*\Z")
# "covers 4 out of 5", "on 4/5": something is counted or dated
JUDGING = frozenset(
    ("rated", "scored", "graded", "awarded", "assigned", "received", "deserved", "earned", "merited", "warranted",
     "evaluated", "judged", "achieved", "marked")
)  # fmt: skip
COUNT_VERB_BEFORE = re.compile(
    r"\b(?:covers?|covered|mentions?|includes?|captur\w+|contains?|answers?|answered|correct(?:ly)?|address\w*|solve[sd]?|"
    r"miss\w*|omit\w*|on|since|until|dated|by|only|of the|about|at|roughly|around|nearly|and|from|won|lost|beat|in|"
    r"identif\w+|match\w*|has|have|had|are|were|for|least)\s*\Z"
)

# --- after a number -----------------------------------------------------------------------------------------------
# the number ends here: no noun that it counts comes after
END_SIGNS = "\n.!?:;,()]\"'}|/&"
ENDS = (
    rf"(?=[ \t]*(?:\Z|[{re.escape(END_SIGNS)}]|-(?![\da-z])|->|=|\x01|\\"
    r"|(?:for|in|on|because|as|since|due|based|with|and|but|overall|out|given|although|though|while|which|when|if|"
    r"rather|instead|is|here|from|to|or|stars?|points?|pts|marks?|indicat\w+|suggest\w+|would|score|rating|reflect\w+|regarding|"
    r"according|considering|under|at|by|that|so|thus|therefore|means?|represent\w*|was|this|the|i|it|not|only|"
    r"seems|appears|feels|punkten?|puntos|estrellas|étoiles|sternen?|despite|mainly|primarily|mostly|largely|rationale|reason|explanation|analysis|after|per|being|showing)\b))"
)
_NUMBER = rf"(?:{DIGITS}|{WORD})(?![a-z0-9])"
RIGHT = re.compile(
    rf"""(?P<date>[ \t]*/[ \t]*\d+[ \t]*/[ \t]*\d|-\d+-\d|:\d)
       | (?P<of>[ \t]*(?:stars?\b|points?\b|pts\b|marks?\b|★)?[ \t]*[(\[]?[ \t]*
           (?:/|\\/|out[ ]of|of[ ]a[ ]possible|von[ ]|sur[ ]|de[ ]|av[ ]|van[ ]|из|من|of(?=[ \t]+\d))
           [ \t]*(?:a[ \t]+)?
           (?:(?:possible|maximum|total|max|perfect)[ \t]+(?:possible[ \t]+)?(?:score[ \t]+)?(?:of[ \t]+)?)?
           (?P<base>{_NUMBER}))
       | (?P<range>[ \t]*(?:-|~|->|=>|\bto\b|\bthrough\b|\.\.+)[ \t]*(?P<upto>{_NUMBER}){ENDS})
       | (?P<series>[ \t]*(?:,[ \t]*(?:and|or)\b|,|;|/|\||&|\bor\b|\band\b|\bvs\b\.?|\bversus\b|[ ](?=\d))
           [ \t]*(?:(?:maybe|perhaps|possibly|even)[ ]+)?(?:an?[ ])?(?P<then>{_NUMBER})
           (?:{ENDS}|(?=[ \t]+[(\[]?\d)))
       | (?P<percent>[ ]?(?:%|percent\b|per[ ]cent\b))
       | (?P<stars>[ \t-]*(?:stars?\b|つ星|星|★))
       | (?P<points>[ \t-]*(?:points?\b|pts\b|marks?\b|分|点|點|점|баллов|балла|punkte?\b|puntos\b))
       | (?P<sum>\+|[ \t]*(?:[x×*+=]|\bplus\b|\bminus\b|\btimes\b)[ \t]*\d)""",
    re.X,
)
# "4 of the facts", "3 minor errors": parts and things that are counted
_COUNTED = (
    r"(?:errors?|mistakes?|issues?|problems?|typos?|sentences?|words?|facts?|paragraphs?|examples?|omissions?|"
    r"inconsistenc(?:y|ies)|contradictions?|repetitions?|statements?|claims?|events?|people|persons|times|"
    r"(?:key |main )?(?:points|aspects|ideas|details|criteria) (?:are|were|is|was|have|has|not)|"
    r"(?:key|main) (?:points|aspects|ideas|details))"
)
PART_OR_COUNT = re.compile(
    r" (?:(?P<part>(?:out )?of (?:the|its|these|those|them|all|my|our|his|her|their)\b"
    r"(?! (?:possible|total|maximum|available|max|best)\b)"
    r"(?! \d+(?: (?:possible|points|stars|marks)\b|[ \t]*(?:[.!,;)\n]|\Z))))"
    r"|(?:(?:[a-z-]+(?:al|ed|ing|ous|ive|ic|or|able|ible)|key|main|small|big|wrong|false|more|other) ){0,2}"
    rf"{_COUNTED}\b(?![ \t]*[:(]))"
)
POINTS_OFF = re.compile(
    r"[ \t-]*(?:points?|pts|marks?)[ ]+(?:(?:is|are|was|were|has been|have been) )?"
    r"(?:deducted|off|lost|missing|taken|subtracted|removed|docked|short|below|higher|lower|less|more)\b"
)
BOUND_AFTER = re.compile(
    r" (?:or (?:higher|lower|above|below|more|less|better|worse|up|over|under|beyond|so)|and (?:above|up|higher|over)|"
    r"plus(?! \d)|minus(?! \d))\b(?! all\b)|, (?:minus|less) (?:a |an )?(?:\d|half|one|two|three)\b"
)
# how a text with such a bound goes on
BOUND_SIGNS = (" or ", " and ", " plus", " minus", ", minus ", ", less ")
ROUNDED_AFTER = re.compile(
    rf"[ \t,;(-]{{0,4}}(?:(?:which|and|or|i|we|i'd|would|can|be|is|it|this|so|then) ){{0,4}}round(?:s|ed|ing)?\b"
    rf"(?: (?:it|this|up|down|off|here|to|a)\b){{0,4}}\s?:?\s?(?P<to>{_NUMBER})"
)
# a score that is changed: where it was, and where it is now
_MOVE = (
    r"\b(?:br(?:ing|ought)|lower|reduc|drop|rais|mov|chang|revis|adjust|downgrad|upgrad|bump|knock|pull|push|decreas|"
    r"increas|mark)\w*"
)
_THE_SCORE = r"(?:it|this|that|(?:the|my|its) (?:overall |final )?(?:score|rating|grade))"
MOVED_FROM = re.compile(rf"{_MOVE}(?: {_THE_SCORE})?(?: up| down)? from(?: an?)?\s*\Z")
MOVED_TO = re.compile(
    rf"(?:{_MOVE} {_THE_SCORE}|\b(?:score|rating|grade) "
    rf"(?:(?:is |was )(?:lowered|reduced|raised|changed|revised|adjusted)|"
    rf"drops|falls|rises|comes|goes))(?: back)?(?: down| up)?(?: from(?: an?)? \S{{1,6}})? to{_FILL}\s*\Z"
)
RUBRIC_AFTER = re.compile(
    r"\s*(?:\([^)\n]{0,60}\)\s*)?(?:=(?![=>])|means?\b|indicates?\b|represents?\b|denotes?\b|stands for|would mean|"
    r"being (?:the )?(?:best|worst|lowest|highest|poor|excellent|perfect)|"
    r"is (?:the )?(?:best|worst|lowest|highest|for|when|if|reserved|defined)\b|"
    r"(?:is |are )?(?:given|assigned|awarded|reserved) (?:when|if|for|to)|corresponds|"
    r"should be (?:given|assigned|used)|"
    r"(?:would|should|must) (?:require|need|mean|be given|have|show|demand)|requires?\b|needs?\b|demands?\b)"
)
ENUMERATED_AFTER = re.compile(r"\s*(?:\([^)\n]{0,60}\)\s*)?(?::|-|=|->)\s*[a-z\"'(]")
ASPECT_AFTER = re.compile(
    r"[ \t]*(?:for|in terms of|in|on|regarding|with respect to|with regards? to)\s+"
    r"(?:the\s+|its\s+|overall\s+|both\s+)*(?P<word>[a-z][a-z-]+)"
)
SPLIT_AFTER = re.compile(
    r"[ \t]*(?:stars?|points?)?[ \t]*(?:for|in|on)\s+[a-z ]{1,30}[,;]?\s*(?:and|but)?\s*(?:an?\s+)?\d+(?:\.\d+)?"
    r"(?:\s*/\s*\d+|\s+out of \d+)?\s*(?:stars?|points?)?\s*(?:for|in|on)\s+[a-z]"
)
# after a verdict: the judge thinks again
CORRECTION = Gated(
    ("on second thought", "scratch that", "correction", "let me ", "i revise", "i correct", "i change", "i take",
     "actually,", "no, ", " no ", " no,", "wait,", "make that", "i meant", "or rather", "maybe", "perhaps"),
    r"\b(?:on second thought|scratch that|correction\b|let me (?:revise|correct|change)|"
    r"i (?:revise|correct|change|take) (?:my|it|that)|actually,|no, (?:a|an|it|make|rather)|wait,|make that|i meant\b|"
    rf"or rather\b| ?[.!?;,-]{{1,4}} (?:no|(?:hmm+,? )?(?:maybe|perhaps)),? "
    rf"(?=(?:an? )?{_NUMBER}(?:/\d+)?\s*(?:[.!,;]|\Z))"
    r")(?P<rest>[^\n]{0,60})",
    words="second scratch correction let revise correct change take actually no wait make meant rather maybe perhaps",
)  # fmt: skip
