"""What takes a number back: the words of its sentence before it, or what follows it.

Each of these costs a score where a text gives one all the same, and keeps a wrong one
out: a missing score is reported, a wrong one looks like data.
"""

from __future__ import annotations

import re

from nlgeval_lib.parsers.text import DIGITS, WORD, after_last, words

SENTENCE = re.compile(
    r"[\n.!?;](?:(?<=\n)|(?<!\.[eg].)[\"')\]]{0,3}(?=\s|(?<=[.!?])\Z))"
)
# a new thought begins: what was negated before it is over. A bare verb after a comma
# goes on: "I don't, ..., give it 5"
CLAUSE = re.compile(
    r"\W(?:(?<=[,(])(?! ?(?:[a-z]+ly )?(?:give|rate|deserve|merit|warrant|score|award"
    r"|assign|get|earn|receive)\b)|(?<=:)|(?:(?<!anything )but|so(?! far| much| as)"
    r"|therefore|thus|hence|however|yet|because|since|which|result(?:ing|s in| in)"
    r"|earning|receiving|getting|leading|making it|i'd|i'll"
    r"|(?<!would )(?<!could )(?<!should )(?<!do )(?<!did )(?<!can )i(?= (?:would |will "
    r"|'d )?(?:give|rate|score|assign|award|say|go))|and(?= (?:i|it|so|thus|therefore"
    r"|hence|gets|earns|receives|deserves|scores|gives|would|is|has)\b))\b)"
)
_TURN = re.compile(
    r"\W(?:therefore|thus|hence|resulting|earning|scoring|receiving|making (?:it|this)"
    r"|giving (?:it|this)|leading to|so (?:i|it|the|this|my)"
    r"|but (?:i|it|the|this|i'd|i'll))\b"
)
_PEOPLE = (
    r"(?:humans?|annotators?|raters?|experts?|people|readers?|reviewers?|critics?"
    r"|users?|teachers?|authors?|reviews?|customers?|viewers?|colleagues?|students?"
    r"|graders?|others?|someone|some|fans|guests?|critics?|magazines?"
    r"|(?:first|second|third|other) one)"
)
# name -> what takes a number back in its clause
_IN_CLAUSE = {
    "negated": (
        r"(?:not|never|neither|nor|nothing|none|nobody|few|cannot|[a-z]+n't|hardly"
        r"|barely|nowhere)\b(?! (?:only|just|without|bad)\b)|(?:rather|less|more|lower"
        r"|higher) than\b|instead of\b|opposed to\b|short of\b|far from\b"
        r"|anything but\b|no (?:more|less|higher|lower|better|way|reason|case)\b"
    ),
    "refused": (
        r"(?:refus|declin|doubt|reluctan|resist|avoid|preclud|prevent|hesita)\w*"
        r"|(?:unwilling|rule[sd]? out|stop(?:s|ped)?|keeps?|kept|unable|impossible"
        r"|fail(?:s|ed)? to|mistake|stretch|wrong|unfair|harsh|generous|without"
        r"|unlike)\b"
    ),
    "a bound": (
        r"(?:than|above|below|over|under|beyond|at least|at most|at best|up to|nearly"
        r"|almost|closer?|towards?|approaching|maximum|no)\b(?: (?:a|an|the|full"
        r"|scores?|ratings?|of|to|about))* ?\Z|between\b(?: \S{1,8}){0,5} ?\Z"
    ),
    "hypothetical": (
        r"(?:would|should|must)(?:n't| not)? (?:[a-z]+ )?have\b|[a-z]+'d have\b"
        r"|(?:could|might|may|usually|typically|generally|otherwise|wish|hypothetically"
        r"|ideally|normally|suppose|supposing)\b"
    ),
    "for a purpose": (
        r"(?<!enough )to (?:[a-z]+ly )?(?:get|earn|achieve|reach|receive|deserve|merit"
        r"|score|warrant|justify|obtain|become|raise|push|qualify|improve|increase)\b"
    ),
    "a standard": (
        r"(?:nearly|almost|partially|partly|fails?|closer?)\b.*\b(?:criteria"
        r"|standards?)\b"
    ),
    "a requirement": (
        r"(?:needed|necessary|required|requires?|expected|requirements?|threshold"
        r"|criteria|standards?|definition|description|worthy of)\b"
    ),
    "somebody else's": (
        rf"(?:(?:gpt|chatgpt|claude|gemini|llama|mistral|qwen)\S*|{_PEOPLE} ?#?\d?)"
        r"(?:'s)? (?:[a-z]+ )?(?:scores?|ratings?|recommend|suggest|propos|ask|want"
        r"|g[ai]v|award|assign|rat|scor|grad|else|might|may|would|could)|(?:response"
        r"|answer|summary|student|author|user|model|text)'?s? claims?\b|(?:response"
        r"|answer|output|summary|model|system) [ab] (?:gets|deserves|scores|is)\b"
        r"|(?:wrongly|incorrectly|mistakenly|falsely|itself|he|she|they)\b|(?:previous"
        r"|earlier|another|other|different|ideal|reference|baseline|original)"
        r" (?:[a-z]+ )?(?:response|answer|summary|output|version|translation|text"
        r"|one)s?\b|(?:improved|better|perfect|ideal|corrected|revised) (?:response"
        r"|answer|summary|output|version|translation|text)s? (?:that|which|would|could"
        r"|might|will|gets?|scores?|deserves?|earns?|receives?)\b"
    ),
}
# what takes it back in its sentence, after the last "therefore" or "so I"
_IN_SENTENCE = {
    "hypothetical": (
        r"if\b(?<!even if)(?<!as if)|had (?:it|the|this|there)\b|were (?:it|the|this)\b"
        r"|(?:assuming|once|in case|provided that|whenever|imagine|unless"
        r"|which would)\b|(?:with|by|given|after) (?:[a-z]+ )?(?:more|better|some|a few"
        r"|[a-z]+ing)\b.*\b(?:would|could|'d)\b|(?:would|could|to|will) (?:make|bring"
        r"|raise|push|turn|move|lift)\b"
    ),
    "an example or instruction": (
        r"(?:please|your task|give me|reserved|you (?:should|must|can|may|need)"
        r"|your (?:output|answer|response) (?:is|should))\b"
    ),
}
# the same, unless the judge speaks, or settles it, after it
_REPORTED = {
    "an example or instruction": r"e\.g|(?:for (?:example|instance)|such as)\b",
    "only considered": (
        r"(?:consider(?:ed|ing)(?= (?:a|an|giving|rating|whether|between)\b)"
        r"|contemplat\w+|tempt(?:ed|ing)|wanted to|torn|debat(?:ed|ing)|initially"
        r"|originally|at first|first (?:thought|instinct)|was going to|lean(?:ed|ing)"
        r"|previously|formerly|earlier)\b"
    ),
    "somebody else's": (
        rf"(?:article|source|original|passage|document|report|story|writer|{_PEOPLE}"
        r"|headline|caption|note)(?: in (?:the|this) [a-z]+"
        r"| in question)? (?:[a-z]+ly )?(?:report\w*|sa(?:ys|id)|state[sd]?|mention\w*"
        r"|claim\w*|note[sd]?|writes?|shows?|lists?|has|reads?|g[ai]ves?|award\w*)\b"
        r"|(?:response|answer|output|assistant|text) (?:claims?|says?|ends|closes)\b"
        r"|(?:comment|note|sign|caption|title|headline|line)\b[^.:]{0,30}? (?:reads?"
        rf"|says?)\b|according to (?:the|its|an?|my|one) (?:[a-z]+ )?(?:{_PEOPLE}"
        r"|article|source)\b"
        r"|than\b[^.;:!?\n]{0,60}?(?:which|that|who|\bi(?: would"
        r"|'d)?) [a-z]+(?: an?)? ?\Z"
    ),
}
_SETTLES = re.compile(
    r"\W(?:i|we|i'd|i'll|therefore|thus|hence|so|(?:my|the|this|its|overall|final) "
    r"(?:score|rating)|summary|response|answer|output|translation|earning|merits?"
    r"|deserves?|resulting|giving it|making (?:it|this|the)|scoring|brings"
    r"|which (?:scores?|indicates|brings?|makes?|gives?|results)|scores|but|however"
    r"|though|although|finally|decided|instead|nevertheless)\b"
)
_OPENING = re.compile(
    r"\W*(?:assign|give|rate|award|use|select|choose|output|write|return|respond|ignore"
    r"|disregard|reply|suppose|imagine|should (?:the|it|this)|far from|for (?:example"
    r"|instance)|in (?:the|this|your) (?:example|sample)|according to (?:the|my|one"
    rf"|some|most|many) (?:[a-z]+ )?{_PEOPLE}|in (?:the|an?|this) (?:article|source"
    r"|passage|document|story|review|report|last turn)"
    r"(?: [a-z]+){0,2},? (?:[a-z']+ ){1,5}(?:gets?|got|g[ai]ves?|has|recei\w+|earn\w+"
    r"|scored|says)|the (?:best|worst|strongest|weakest) [a-z]+|(?:an?"
    r"|any) (?:[a-z]+ ){1,8}(?:would|must)|[a-z]+ed, (?:it|this|the [a-z]+)(?:'d"
    r"| would)|(?:an? )?(?:[a-z]+ )?more [a-z ]+ and it)\b"
)
_BEFORE_LABEL = re.compile(
    r"\W(?:e\.g|for (?:example|instance)\b|(?:example|sample|format"
    r"|template)s?(?: [a-z]+)?:.*:|(?:such as|instead of"
    r"|rather than)\W{0,3}[a-z]{0,9}\W{0,3}\Z|(?:at (?:most|least|best)|(?:less"
    r"|more) than|ideally|asked to [a-z]+|says|said|wants)\W*\Z|(?:gpt|claude"
    r"|llama)\S*\W*\Z|(?:reviewer|rater|annotator|judge|expert) #?(?:\d|[a-c])\W*\Z"
    r"|(?:unless|if|otherwise|provided|assuming|would be|disagree\w*|your (?:output"
    r"|answer|response|task) (?:should|must|is))\b)|\A\W*(?:should|once|after|when"
    r"|with (?:more|better|some|a few))\b"
)
_AFTER = {
    "unfit": (
        r"\)?\s(?:(?:is|are|was|would be|seems?|feels?)(?: to be)?(?: [a-z]+)? (?:not"
        r"|never|too|unjustified|unwarranted|undeserved|excessive|unfair|inappropriate"
        r"|generous|harsh|reserved|impossible|wrong|considered|rejected|ruled out"
        r"|an? (?:[a-z]+ )?(?:exaggeration|overstatement|stretch|mistake))\b|(?:would"
        r"|might) be (?!(?:an? )?(?:appropriate|fair|justified|more|most|my|the|right"
        r"|given|good|better|enough|accurate)\b)|as (?:the|its"
        r"|an?) (?:[a-z]+ )?(?:solution|answer|result|value)\b|would (?:ignore|overlook"
        r"|overstate|understate)\b|(?:is|was|would|could|can|should|does)(?:n't| not)\b"
        r"|cannot\b)"
    ),
    "hypothetical": (
        r"(?!\)?:)[^.!?;\n\d]{0,80}?\b(?<!even )(?<!as )(?:if|had (?:it|the|there|this)"
        r"|were (?:it|the|there)|unless|once (?:it|the)|provided that|but for)\b"
    ),
    "somebody else's": (
        rf" ?(?:stars?|points?)?,? ?(?:by|from|according to) (?:(?:the|its|his|her|some"
        rf"|many|most|all|other) ){{0,2}}(?:{_PEOPLE}|article|source)\b"
    ),
    "a scale point that is explained": (
        r" ?(?:=(?![=>])|(?:means?|represents?|denotes?|stands for|would mean|requires?"
        r"|needs?)\b|indicates? (?:an?|that|very)\b|being (?:the )?[a-z]+"
        r"|is (?:the )?(?:best|worst|lowest|highest|for|when|if|reserved|defined)\b"
        r"|(?:is )?(?:given|assigned|awarded|reserved) (?:when|if|for|to)"
        r"|should be |(?:would|should|must) (?:require|need|mean|be given|have|show))"
    ),
    "a bound": (
        r" \(?(?:or (?:higher|lower|above|below|more|less|better|worse|so)"
        r"|and (?:above|up|higher|over)|plus|minus)\b|, (?:minus|less) |-ish\b"
    ),
    "a deduction": (
        r"[ -]?(?:points?|marks?)? ?(?:(?:is|are|was|were) )?"
        r"(?:deducted|off|lost|missing|taken|subtracted|removed|docked|short)\b"
    ),
}
_ASKED = re.compile(r"[^.!?\n,;:()\"\d]{0,25}\(?\?")
_QUESTION = re.compile(
    r"\W*(?:do|does|did|is|are|was|should|could|would|can|might|may|will|why|what|how"
    r"|who|which|has|have|isn't|doesn't)\b"
)
_TO_QUESTION_MARK = re.compile(r"[^.!?\n]{0,120}\?")


def _ready(rows: dict[str, str], before: str) -> list[tuple[str, re.Pattern]]:
    # a search for what begins with \W is fast
    return [(name, re.compile(f"{before}(?:{rows[name]})")) for name in rows]


CLAUSE_ROWS = _ready(_IN_CLAUSE, r"\W")
SENTENCE_ROWS = _ready(_IN_SENTENCE, r"\W")
REPORTED_ROWS = _ready(_REPORTED, r"\W")
AFTER_ROWS = _ready(_AFTER, "")


def sentence_before(window: str) -> str:
    """What the sentence of a number says before it."""
    return after_last(SENTENCE, window)


def flaw(window: str, following: str, at_label: bool) -> str:
    """Why the words around a number do not give it as a score; "" where they do.

    window: the text before it. at_label: whether a label presents it ("Score: 4").
    """
    if _ASKED.match(following):
        return "in question"
    for name, pattern in AFTER_ROWS:
        if pattern.match(following):
            return name
    sentence = f" {sentence_before(window)}"
    if _QUOTED_LEFT.search(sentence) and _QUOTED_RIGHT.match(following):
        return "in a quotation"
    if at_label:
        found = _BEFORE_LABEL.search(sentence)
        return "an example or instruction" if found else ""
    if _QUESTION.match(sentence) and _TO_QUESTION_MARK.match(following):
        return "in a question"
    if "would" in clause_before(sentence) and _WOULD_WITH.match(following):
        return "hypothetical"
    return _flaw_before(sentence)


_QUOTED_LEFT = re.compile(r"(?<!\w)'(?=[a-z])(?:[^'\n]|(?<=\w)'(?=\w)){0,100}\Z")
_QUOTED_RIGHT = re.compile(r"(?:[^'\n]|(?<=\w)'(?=\w)){0,60}'(?!\w)")
_WOULD_WITH = re.compile(
    r"[^.!?;\n]{0,80}?\b(?:with (?:more|better|some|a few|minor|less|fewer)"
    r"|without (?:the|these|those|this|that)|except for)\b"
)
# "I cannot, in good conscience, give it a 5"
_ASIDE = re.compile(r"(?<=not|n't|uld|ill|ver| to),[^,.!?\n]{1,60},")


def clause_before(sentence: str) -> str:
    """What the clause of a number at the end of a sentence says before it."""
    return f" {after_last(CLAUSE, _ASIDE.sub('', sentence))}"


_IS_MET = re.compile(
    r"\W(?:meets?|met|satisf\w+|fulfil\w*|align\w*|adher\w*|match\w*|fits?|warrants?"
    r"|deserv\w*|qualif\w+)\b"
)


def _flaw_before(sentence: str) -> str:
    """What takes a number at the end of a sentence back; empty where nothing does."""
    if _OPENING.match(sentence):
        return "an example or instruction"
    clause = clause_before(sentence)
    for name, pattern in CLAUSE_ROWS:
        met = name == "a requirement" and _IS_MET.search(clause)
        if pattern.search(clause) and not met:
            return name
    turned = f" {after_last(_TURN, sentence)}"
    for name, pattern in SENTENCE_ROWS:
        if pattern.search(turned):
            return name
    for name, pattern in REPORTED_ROWS:
        reported = pattern.search(sentence)
        if reported and not _SETTLES.search(sentence, reported.end()):
            return name
    return ""


# after a verdict: the judge takes it back, or thinks again and says another number
WITHDRAWN = re.compile(
    r"\W(?:(?:disregard|withdraw|retract) (?:(?:that|this|my|the) (?:score|rating|grade"
    r"|mark|number|verdict)|it\b)|(?:it|that|this) (?:isn't|is not|wasn't) mine"
    r"|now,? (?:please )?(?:evaluate|rate) the|i leave (?:it|this|that) (?:open|to)"
    r"|scratch that|i (?:must |have to )?(?:decline|refuse) to (?:give|assign|provide"
    r"|rate|score))\b"
)
CORRECTION = (
    r"\W(?:on (?:second thoughts?|reflection|re-?reading)|correction:|looking again"
    r"|-> ?(?:after|on|upon|but)\b|let me (?:re|correct|change|adjust)\w*"
    r"|(?:revis|correct|chang|lower|rais|adjust|updat)ed (?:down |up )?to\b"
    r"|i(?:'m| am)? (?:(?:must|have to|will|'ll) )?"
    r"(?:revis|correct|chang|tak|lower|rais|reconsider)(?:e|ing|ed)? (?:my|it|that|the)"
    r"|(?:score|rating|grade) should have been|actually,|no, (?:a|an|it|make|rather)\b"
    r"|wait[,.!]|make that|i meant|or rather)"
)
RETHINKS = re.compile(
    rf"{CORRECTION}(?:[^\n]{{0,60}}?\W(?:{DIGITS}|{WORD})\b|\W*\Z)"
    r"|\W(?:no|maybe|perhaps|rather|actually)[:,]? (?:actually )?(?:an? )?"
    rf"(?:{DIGITS}|{WORD})(?=\s*(?:[.!,;/]|\Z))"
)


# who gives or gets the judge's score
_OURS = words(
    "implementation code program function script email i we it this that which "
    "both these one me us i'd i'll response summary answer output text "
    "translation story generation essay dialogue sentence reply analysis quality "
    "depth style grammar coherence fluency relevance consistency clarity accuracy"
)
# what may stand between them and the verb, or in their place
_LINKS = words(
    "a an the so and but or thus therefore hence then overall also because would "
    "will have has had is are was were be been being should must can do does did "
    "not"
)
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


# "the gymnast in the source text"
_NOT_THE_HEAD = re.compile(
    r"(?<=[a-z]) (?:in|from) (?:the|this|that) [a-z]+\b(?: text\b)?"
)


def of_the_judge(sentence: str, verb: re.Match) -> bool:
    """Whether the judge or what it judges stands before a verb: not "The team gets"."""
    if verb["verb"].endswith("ing"):
        return True
    clause = re.split(r"[,:(]|\band\b", sentence[: verb.start("verb")])[-1]
    subject = _WORD.findall(_NOT_THE_HEAD.sub("", clause))[-7:]
    subject = [w for w in subject if w not in _LINKS and not w.endswith("ly")]
    return not subject or not _OURS.isdisjoint(subject)
