"""The rating parser's other table: what takes a number back, by scope, and where a clause or sentence begins."""

from __future__ import annotations

import re

from nlgeval_lib.parsers.cues import FIT
from nlgeval_lib.parsers.text import DIGITS, WORD

_PEOPLE = (
    r"(?:humans?|annotators?|experts?|people|readers?|reviewers?|critics?|users?|teachers?|authors?|reviews?|guests?|"
    r"customers?|viewers?|analysts?|magazines?|newspapers?|fans|voters?|colleagues?|students?|professors?|graders?)"
)
_SOURCE = (
    r"(?:article|source|original|passage|document|story|review|report|author|writer|reviewer|speaker|user|post|news)"
)
_LACKING = r"with (?:more|better|some|a few|minor|slight|less|fewer|a bit|a little|improve\w+|additional|another)"
_GRADE = r"(?: (?:a|an|the|even|full|perfect|scores?|ratings?|levels?|grades?|marks?|of|about))*"


# what takes a number back: scope -> name -> pattern. Up to "considered" a row begins at a word, anywhere in its scope.
VETOES = {
    # before the number in its clause
    "clause": {
        # It is not a 4.
        "negated": r"(?:not|never|neither|nor|nothing|none|nobody|few|cannot|[a-z]+n't|hardly|barely|nowhere)\b"
        r"(?! (?:only|just|without|bad|merely|because)\b)|(?:(?:rather|less|more|lower|higher) than|instead of|as "
        r"opposed to|short of|anything but|far from|no (?:more|less|higher|lower|better|worse|way|reason|case|"
        r"grounds|basis|justification|"
        r"argument|score|rating))\b",
        # I refuse to give it a 4.
        "refused": r"(?:refus|declin|(?<!no )(?<!without )(?<!without a )doubt|"
        r"reluctan|resist|avoid|preclud|prevent|disqualif|hesita)\w*|(?:unwilling|"
        r"rule[sd]? out|stop(?:s|ped)? me|keeps? (?:me|it|this)|kept|unable|impossible|fail(?:s|ed)? to|mistake to|"
        r"stretch to|(?:wrong|unfair|harsh|hard|difficult|generous|lenient) to|without|unlike|except for|shy away|"
        r"against)\b",
        # It is almost a 4.
        "a bound": r"(?:than|above|below|over|under|beyond|exceed(?:s|ing)?|at least|at most|at best|up to|nearly|"
        r"almost|"
        rf"closer? to|towards?|approaching|no){_GRADE} ?\Z|between{_GRADE}(?: \S{{1,8}} (?:and|or){_GRADE})? ?\Z",
        # It could be a 4.
        "hypothetical": r"(?:would|should|must)(?:n't| not| never)? (?:[a-z]+ ){0,2}have\b|[a-z]+'d have\b|"
        r"(?:could|might|may|otherwise|wish|hypothetically|ideally|normally|suppose|supposing)\b",
        # It needs sources to get a 4.
        "for a purpose": r"to(?<!enough to)(?<!seem to)(?<!seems to)(?<!able to)(?<!appear to)(?<!appears "
        r"to)(?<!manages to)(?<!happens to) (?:[a-z]+ly )?(?:get|earn|achieve|reach|receive|deserve|merit|score|attain|"
        r"warrant|justify|obtain|secure|become|raise|push|bump|qualify|improve|increase|elevate)\b",
        # It nearly meets the criteria for a 4.
        "a standard": r"(?:fails?|partially|partly|nearly|almost|closer?)\b.*\b(?:criteria|standards?)\b",
        # Others gave it a 4.
        "somebody else's": r"(?:wrongly|incorrectly|mistakenly|falsely|erroneously|model answers?|others)\b|"
        r"(?:reference|gold|ideal|sample|example|previous|other|baseline|original)(?:'s)? (?:answer|response|"
        r"output)s?\b|(?:the reference,?|(?:improved|revised|corrected|perfect|ideal|stronger|better|rewritten) "
        r"(?:version|response|answer|summary|output|text|translation)s?) (?:that|which|would|could|might|will|gets?|"
        r"scores?|deserves?|earns?|receives?)\b|other (?:raters?|judges?|evaluators?|people)\b|"
        rf"(?:someone|some|one|{_PEOPLE}) (?:else|might|may|would|people|readers|could|gave|gives?|giving|"
        rf"rat(?:e[sd]?|ing)|scor(?:ed|ing))\b|"
        r"(?:article|source|report|review|author|reviewer|news|critic|he|she|they) (?:gives|gave|award\w*|assign\w*|"
        r"receive\w*)\b|(?:student|author|writer|model|system|response|answer|output|summary|text|user)'?s? "
        r"(?:claims?|(?:rates?|gives?) itself|says? (?:its|the) (?:score|rating))\b",
        # It went down from a 4.
        "a deduction": r"(?:down|up|dropped|lowered|raised|reduced|changed|revised|adjusted|decreased|increased) "
        r"(?:it |the (?:score|rating) )?from(?: an?)? ?\Z",
    },
    # in its sentence from the last "therefore" or "so I" on
    "turn": {
        # If it were fluent, I would give it a 4.
        "hypothetical": r"if\b(?<!even if)(?<!as if)(?<!what if)(?! (?:i|we) (?:had to|have to|were to|must|need)\b)"
        r"(?! (?:asked|forced|pressed|any|only)\b)|(?:had (?:it|the|this|there)|were (?:it|the|this)|assuming|once|"
        r"in case|provided that|whenever|imagine|unless|which would)\b|"
        rf"(?:by [a-z]+ing|{_LACKING})\b.*\b(?:would|could|'d)\b|"
        r"(?:although|though|while)\b(?! (?:some|others|one|many|people)\b)[^.,!?\n]*\b(?:would|could)\b|(?:would|"
        r"could|to|will) (?:make|bring|raise|push|turn|elevate|move|bump|take|lift)\b",
        # Please give it a 4.
        "an example or instruction": r"(?:please (?:rate|give|assign|score|evaluate|provide|output)|give (?:me|us)|"
        r"you (?:should|must|can|may|need)|your (?:task|output|answer|response) (?:is|should|must)|reserved|(?:give|"
        r"use|assign|award) (?:it )?(?:a|an) \d+ (?:if|when|for))\b",
    },
    # at the start of its sentence
    "opening": {
        # With more sources, it is a 4.
        "hypothetical": rf"\W*(?:should (?:the|it|this)|{_LACKING}|(?:an? )?(?:[a-z]+ )?more [a-z ]+ and (?:it|this))\b|\W*(?:given (?:more|some|better|a)\b[^,]*|"
        rf"(?:with|after)\b[^,]* [a-z]+(?:ed|ion|out)|[a-z]+ed),? "
        r"(?:it|this|the [a-z]+)(?:'d| would| could| might)\b",
        # In the article the hotel gets 4 stars.
        "somebody else's": rf"\W*in (?:the|an?) {_SOURCE},? (?:[a-z']+ ){{1,4}}(?:gets?|got|has|receive[sd]?|"
        rf"earn(?:s|ed)|"
        r"scored|(?:is|was) (?:given|rated|awarded))\b",
        # Assign a 4 to good texts.
        "an example or instruction": r"\W*(?:assign|give|rate|award|use|select|choose|output|write|return|respond|"
        r"reply|for (?:example|instance)|e\.g)\b",
    },
    # in its clause, unless the clause says that it is met
    "standard": {
        # It lacks the detail required for a 4.
        "a standard": r"(?:needed|necessary|requires?|required|expected|requirements?|threshold|bar|room|definition|"
        r"description|characteristic\w*|aim\w*|target\w*|missing for|lack\w* for|worthy of)\b",
    },
    # in its whole sentence, unless the judge speaks after it
    "reported": {
        # For example, a score of 4.
        "an example or instruction": r"e\.g|for (?:example|instance)\b|such as\b",
        # The article says that it got a 4.
        "somebody else's": rf"{_SOURCE}(?: text| article| document)? (?:[a-z]+ly )?(?:report(?:s|ed)?|says?|said|"
        rf"state[sd]?|mention(?:s|ed)?|"
        r"claim(?:s|ed)?|note[sd]?|writes?|wrote|shows?|lists?|has)\b(?! (?:the same|so)\b)|"
        rf"according to (?:the|its|an?) {_SOURCE}\b",
    },
    # in its whole sentence, unless it is settled after it
    "considered": {
        # At first I gave it a 4.
        "only considered": r"(?:(?:consider(?:ed|ing)|(?:thought|thinking) (?:of|about))(?=\s*\Z| (?:a|an|giving|"
        r"rating|scoring|assigning|awarding|whether|between)\b)|contemplat\w+|tempted|wanted to|torn between|"
        r"debat(?:e[ds]?|ing) "
        r"(?:between|whether|giving)|initially|originally|at first|first (?:thought|instinct|impression)|was (?:going|"
        r"about) to|lean(?:ing|ed)?|previously|formerly|earlier)\b",
    },
    # before "Score: 4" in its sentence
    "label": {
        # Your output should be: Score: 4
        "an example or instruction": r"\A\W*(?:e\.g|for (?:example|instance))\b|\A\W*(?:[a-z]+ )?(?:example|sample|"
        r"format|template)s?"
        r"(?: (?:output|answer|response|rating|score|evaluation))?:.*:|(?:such as|instead of|rather "
        r"than)\W{0,3}[a-z]{0,9}\W{0,3}\Z|\b(?:at (?:most|least|best)|(?:less|more) than|ideally|asked to [a-z]+|"
        r"says|said|wants)\W*\Z|"
        rf"\b(?:unless|if|provided|assuming|would be|disagree\w*|your (?:output|answer|response|task) (?:should|must|is))\b|"
        rf"\A\W*{_LACKING}\b",
    },
    # right after it
    "after": {
        # A 4 is too generous.
        "unfit": rf"[ \t]+(?:(?:is|was|would be|seems?|feels?|appears?)(?: to be)?(?: (?:a bit|a little|somewhat|"
        r"slightly|way|far|much|rather|clearly|certainly|simply|also))* (?:not|never|too (?:high|low|generous|harsh|"
        r"lenient|much|strict|severe|kind)|unjustified|unwarranted|undeserved|excessive|unfair|inappropriate|out of "
        r"(?:reach|the question)|off the table|generous|harsh|reserved|impossible|wrong|only for)\b|(?:would|might) "
        rf"be (?!(?:an? )?(?:{FIT}|(?:more|most|my|our|the|what|right|given|assigned|awarded|good|better|enough|"
        rf"accurate|"
        r"correct|quite|well)\b))|(?:is|was|would|"
        r"could|can|should|does|seem)(?:n't| not)\b|cannot\b|can't\b)",
        # I would give it a 4 if it were fluent.
        "hypothetical": r"[^.!?;\n\d]{0,80}?\b(?<!even )(?<!only )(?<!as )(?:if(?! (?:i|we) (?:had|have|must) to\b)|"
        r"had (?:it|the|there|this|they)|were (?:it|the|there)|unless|once (?:it|the)|provided that|but for|save for|"
        r"were it not)\b",
        # It was rated 4 by critics.
        "somebody else's": r"[ \t]*(?:stars?|points?)?,?[ \t]*(?:(?:by|from) (?:(?:the|its|his|her|their|some|many|"
        r"most|several|all|other) )"
        rf"{{0,2}}{_PEOPLE}|according to (?:the|its|an?) {_SOURCE})\b",
        # A score of 4 means that it is good.
        "a scale point that is explained": r"[ \t]*(?:\([^)\n]{0,60}\)\s*)?(?:=(?![=>])|(?:means?|represents?|denotes?|"
        r"stands for|would mean|corresponds|requires?|needs?|demands?)\b|indicates? (?:an?|that|the text|the summary|"
        r"very)\b|being (?:the )?(?:best|worst|lowest|highest|poor|excellent|perfect)|is (?:the )?(?:best|worst|lowest|"
        r"highest|maximum|minimum|for|when|if|reserved|defined)\b|(?:is |are )?(?:given|assigned|awarded|reserved) "
        r"(?:when|if|for|to)|should be (?:given|assigned|used)|(?:would|should|must) (?:require|need|mean|be given|"
        r"have|show|demand))",
        # Score: 4 or higher
        "a bound": r" (?:or (?:higher|lower|above|below|more|less|better|worse|up|over|under|beyond|so)|and (?:above|"
        r"up|higher|over)|plus(?! \d)|minus(?! \d))\b(?! all\b)|, (?:minus|less) (?:an? )?(?:\d|half|one|two|three)\b|"
        r"-ish\b",
        # Score: 4 points off
        "a deduction": r"[ \t-]*(?:points?|pts|marks?) (?:(?:is|are|was|were|has been|have been) )?(?:deducted|off|"
        r"lost|missing|taken|subtracted|removed|docked|short|below|higher|lower|less|more)\b",
    },
    # right after it where the clause says "would"
    "would": {
        # It would be a 4 without the typos.
        "hypothetical": rf"[^.!?;\n]{{0,80}}?\b(?:{_LACKING}|without (?:the|these|those|this|that)|except for|save "
        rf"for)\b|"
        r"[^.!?;\n]{0,20}?\bbut\b",
    },
}
AT_A_WORD = ("clause", "standard", "turn", "reported", "considered")
UNLESS = {
    "standard": re.compile(
        r"\b(?:meets?|met|satisf\w+|fulfil\w*|align\w*|adher\w*|match\w*|fits?|warrants?|deserv\w*|qualif\w+)\b"
    ),
    "reported": re.compile(
        r"\b(?:i|we|i'd|i'll|therefore|thus|hence|so|(?:my|the|this|its|overall|final) (?:score|rating)|summary|"
        r"response|answer|output|translation|earning|merits?|deserves?|resulting|giving it|giving this|making (?:it|"
        r"this|the)|thereby|scoring|which (?:scores?|indicates|brings?|makes?|gives?|lowers?|results)|brings|"
        r"indicating|warranting|scores)\b"
    ),
    "considered": re.compile(
        r"\b(?:but|however|though|although|settled?|finally|decided|ended|instead|nevertheless|so)\b|\d[\d/.]*, (?:i|"
        r"my)\b|, (?:now|i)\b"
    ),
}
# a new thought begins: what was negated before it is over. A bare verb after a comma goes on: "I don't, ..., give it 5"
CLAUSE = re.compile(
    r"\W(?:(?<=[,(])(?! ?(?:[a-z]+ly )?(?:give|rate|deserve|merit|warrant|score|award|assign|get|earn|receive|grant|"
    r"justify|call)\b)|(?<=[:(])|(?<= )- |(?:but|so(?! far| much| as)|therefore|thus|hence|however|yet|because|since|which|"
    r"result(?:ing|s in| in)|earning|receiving|getting|leading|making it|i'd|i'll|i(?= (?:would |will |'d )?(?:give|"
    r"rate|score|assign|award|am giving|say|go))|and(?= "
    r"(?:i|it|so|thus|therefore|hence|gets|earns|receives|deserves|scores|gives|give|would|is|has)\b))\b)"
)
SENTENCE = re.compile(r"[\n.!?;](?:(?<=\n)|(?<!\.[eg].)[\"')\]]{0,3}(?=\s))")
TURN = re.compile(
    r"\W(?:therefore|thus|hence|resulting|which results|earning|scoring|receiving|making (?:it|this)|which gives|"
    r"giving (?:it|this)|leading (?:me )?to|so (?:i|it|the|this|my)|but (?:i|it|the|this|i'd|i'll))\b"
)
QUESTION = re.compile(
    r"\W*(?:do|does|did|is|are|was|should|could|would|can|might|may|will|why|what|how|who|which|has|have|isn't|"
    r"doesn't)\b"
)
QUOTED_LEFT = re.compile(r"(?<!\w)'(?=[a-z])(?:[^'\n]|(?<=\w)'(?=\w)){0,100}\Z")
QUOTED_RIGHT = re.compile(r"(?:[^'\n]|(?<=\w)'(?=\w)){0,60}'(?!\w)")
ASIDE = re.compile(r"(?<=not|n't|uld|ill|ver| to),[^,.!?\n]{1,60},")  # "I cannot, in good conscience, give it a 5"

_N = rf"(?:{DIGITS}|{WORD})(?![a-z0-9])"
# after a verdict: the judge thinks again; and all there may be between that and the verdict that then stands
CORRECTION = re.compile(
    r"\W(?:on (?:second thoughts?|reflection|re-?reading)|scratch that|correction\b|let me (?:revise|correct|change)|"
    r"i (?:revise|correct|change|"
    r"take) (?:my|it|that)|actually,|no, (?:a|an|it|make|rather)|(?:no,? )?wait[,.!]|make that|i meant\b|"
    rf"or rather\b|[.!?;,-]{{0,4}} (?:no|(?:hmm+,? )?(?P<unsure>maybe|perhaps)),? (?=(?:an? "
    rf")?{_N}(?:/\d+)?\s*(?:[.!,;]|"
    rf"\Z)))(?P<rest>[^\n]{{0,60}})"
)
CORRECTED = re.compile(
    r"[\s:,.-]*(?:(?:no|make|it|it's|that|this|is|an?|my|the|new|final|overall|score|rating|mind|back|down|up|to|i|"
    r"i'd|i'll|"
    rf"would|should|be|say|give|rate|rather|more|like|go|with)[\s:,]+)*{_N}(?:/\d+| out of \d+)?\s*(?:[.!]+(?=\s|\Z)|"
    rf"\Z)"
)
