"""The words around a number that make it a verdict, or show that it is none. Patterns only; `mentions` applies them."""

from __future__ import annotations

import re

from nlgeval_lib.parsers.text import DIGITS, WORD

# --- what a label before a number is called ---------------------------------------------------------------------
NOUNS = frozenset(
    [
        "score",
        "scores",
        "rating",
        "ratings",
        "rate",
        "grade",
        "grades",
        "mark",
        "marks",
        "star",
        "stars",
        "points",
        "verdict",
        "evaluation",
        "assessment",
        "judgment",
        "judgement",
        "result",
    ]
)
RANKS = frozenset(
    ["final", "overall", "total", "ultimate", "concluding", "revised", "updated", "corrected", "adjusted", "definitive"]
)
# "rating scale: 1 ...", "score reduction: 2", "error rate: 3": names of something else
NOT_A_SCORE = frozenset(
    [
        "scale",
        "scales",
        "range",
        "rubric",
        "rubrics",
        "guide",
        "guideline",
        "guidelines",
        "criteria",
        "criterion",
        "key",
        "legend",
        "system",
        "systems",
        "method",
        "distribution",
        "difference",
        "deduction",
        "deductions",
        "reduction",
        "penalty",
        "error",
        "errors",
        "mistake",
        "mistakes",
        "confidence",
        "certainty",
        "weight",
        "breakdown",
        "reasoning",
        "exact",
        "max",
        "maximum",
        "min",
        "minimum",
        "highest",
        "lowest",
        "best",
        "worst",
        "mean",
        "median",
        "average",
        "previous",
        "initial",
        "original",
        "human",
        "expert",
        "gold",
        "reference",
        "expected",
        "target",
        "possible",
        "word",
        "count",
        "length",
        "number",
        "step",
        "steps",
        "page",
        "date",
        "year",
        "time",
        "age",
        "id",
        "index",
        "question",
        "task",
        "example",
        "sample",
        "option",
        "choice",
        "article",
        "paragraph",
        "sentence",
        "line",
        "item",
        "version",
        "level",
        "threshold",
        "baseline",
        "percentage",
        "total_errors",
        "words",
        "tokens",
        "chapter",
        "section",
        "figure",
        "table",
        "note",
        "notes",
    ]
)
NEUTRAL = frozenset(
    [
        "a",
        "an",
        "the",
        "my",
        "your",
        "our",
        "this",
        "that",
        "its",
        "of",
        "for",
        "to",
        "and",
        "i",
        "would",
        "give",
        "given",
        "assign",
        "assigned",
        "is",
        "it",
        "as",
        "on",
        "in",
        "by",
        "with",
        "be",
        "single",
        "numeric",
        "numerical",
        "integer",
        "perfect",
        "high",
        "low",
        "summary",
        "summarys",
        "response",
        "text",
        "output",
        "answer",
        "translation",
        "generation",
        "story",
        "dialogue",
        "article's",
        "summary's",
        "response's",
        "here's",
        "here",
        "so",
        "thus",
        "therefore",
        "hence",
        "quality",
        "out",
        "evaluation",
        "evaluate",
        "rated",
        "rate",
        "suggested",
        "appropriate",
        "suitable",
        "fair",
        "only",
        "one",
        "each",
        "system",
        "model",
        "rater",
        "judge",
        "respond",
        "deserved",
        "earned",
        "based",
        "above",
        "below",
        "following",
        "please",
        "provide",
        "potential",
        "candidate",
        "generated",
        "main",
        "general",
        "moderate",
        "good",
        "decent",
        "fairly",
        "resulting",
        "results",
        "receives",
        "receive",
        "gets",
        "earns",
        "deserves",
    ]
)
# headings of the parts of one judgment, not of something that is scored
SECTION_PARTS = frozenset(
    [
        "reason",
        "reasons",
        "reasoning",
        "explanation",
        "rationale",
        "justification",
        "analysis",
        "comment",
        "comments",
        "feedback",
        "evidence",
        "final",
        "answer",
        "response",
        "evaluation",
        "example",
        "output",
        "conversation",
        "history",
        "fact",
        "document",
        "source",
        "instruction",
        "instructions",
        "steps",
        "form",
    ]
)
# labels in other languages; a label line in any language is read as such, these make it a plain score
FOREIGN = re.compile(
    r"bewertung|punktzahl|gesamtnote|puntuaci[oó]n|calificaci[oó]n|puntaje|pontuação|avaliação|punteggio|valutazione|"
    r"оценка|оценки|балл|评分|評分|得分|打分|分数|分數|总分|スコア|評価|点数|점수|평점|التقييم|الدرجة|स्कोर"
)

_ADVERB = (
    r"(?:only|just|exactly|about|around|approximately|roughly|therefore|thus|clearly|then|now|simply|still|merely|"
    r"probably|likely|overall|rather|fairly|quite|hence|definitely|certainly|currently|indeed|actually)"
)
_ADJECTIVE = (
    r"(?:solid|strong|clear|perfect|full|low|high|mere|generous|decent|good|weak|fair|firm|flat|modest|respectable|"
    r"moderate|maximum|minimum|poor|top|near-perfect|middling|average|final|overall|numeric|numerical|bare|resounding|"
    r"straight|lower|higher|relatively low|relatively high|very low|very high)"
)
_FILL = rf"(?:\s+(?:a|an|the|{_ADVERB}|{_ADJECTIVE}))*"

# --- phrases that lead up to a number; each is searched in the text before it, so each ends with \Z --------------
NOUN_LINK = re.compile(
    r"(?:\b(?P<before>[a-z][a-z'-]*)\s+)?\b(?P<noun>score|scores|rating|ratings|grade|mark|evaluation|assessment|verdict)\b"
    r"(?P<mid>[^.!?\n;:\d]{0,70}?)\b(?P<link>of|is|as|at|was|be|being|equals|equal to|set to|comes to)"
    rf"{_FILL}\s*\Z"
)
NOUN_DIRECT = re.compile(r"(?:\b(?P<before>[a-z][a-z'-]*)\s+)?\b(?P<noun>score|rating|grade|mark|verdict|stars?)\s*\Z")
VERB = re.compile(
    r"\b(?P<verb>rat(?:e[sd]?|ing)|scor(?:e[sd]?|ing)|grad(?:e[sd]?|ing)|assign(?:s|ed|ing)?|award(?:s|ed|ing)?|"
    r"giv(?:es?|en|ing)|gave|receiv(?:e[sd]?|ing)|earn(?:s|ed|ing)?|deserv(?:e[sd]?|ing)|merit(?:s|ed|ing)?|"
    r"warrant(?:s|ed|ing)?|gets?|got|getting|mak(?:es?|ing)(?= it| this)|obtain(?:s|ed|ing)?|achiev(?:e[sd]?|ing)|evaluate[sd]?|judged?)\b"
    rf"(?:(?P<mid>(?:\s+[a-z'\"-]+){{0,10}}?)\s+(?:as|at|with|of|a|an)|\s+(?:it|this|that|them)){_FILL}\s*\Z"
)
VERB_DIRECT = re.compile(
    rf"\b(?:rate[sd]?|scor(?:e[sd]|ing)|graded|rating it|settl(?:e[sd]?|ing) (?:on|for)|go(?:ing)? with|went with|land(?:s|ed)? on|"
    rf"decid(?:e|ed) on|conclude with|choose|chose|pick|picked|opt(?:ed)? for|stick(?:ing)? with|i'?d say|i (?:would )?say|"
    rf"my answer is|it'?s|make it){_FILL}\s*\Z"
)
# followed by nothing but the end of the clause
VERB_BARE = re.compile(
    rf"\b(?:gets?|got|receives?|received|earns?|earned|deserves?|deserved|merits?|awards?|awarded|assigns?|assigned|gives?|gave){_FILL}\s*\Z"
)
CLAUSE_ENDS = re.compile(r"[ \t]*(?:\Z|[.!?;,)]|\n)")
OVERALL = re.compile(r"\b(?:overall|in total|all in all|in sum|altogether)\s*,?\s*\Z")
TOP_AWARDED = re.compile(
    r"\b(?:deserv|earn|receiv|get|got|giv|gave|award|achiev|assign|merit|warrant)\w*\s+(?:it\s+|this\s+)?(?:the|a)\s+\Z"
)
COPULA = re.compile(
    r"\b(?:it|this|that|response|summary|output|answer|text|translation|story)(?:'s| is| was| would be| should be| 'd be)"
    rf"(?:\s+{_ADVERB})?\s+(?:a|an)(?:\s+{_ADJECTIVE})?\s*\Z"
)

_QUALITIES = (
    r"(?:[a-z]+ness|coherence|consistency|fluency|relevance|relevancy|adequacy|accuracy|clarity|faithfulness|factuality|readability|"
    r"informativity|understandability|quality|creativity|grammaticality|grammar|validity|likability|diversity|depth|style|tone|"
    r"similarity|honesty|cohesion|structure|originality|specificity|simplicity|novelty|complexity|toxicity|safety|humanity|empathy)"
)
QUALITY_NAME = re.compile(rf"(?:[a-z]+[ _-])?{_QUALITIES}|overall|flow")
_QUALITY = rf"\b(?P<quality>{_QUALITIES})\b"
QUALITY = re.compile(rf"{_QUALITY}[^.!?\n;:\d]{{0,50}}?\b(?:is|as|at){_FILL}\s*\Z")
QUALITY_BRACKET = re.compile(rf"{_QUALITY}\s*\(\s*\Z")

# --- what takes a verdict back; searched in the clause before the number -----------------------------------------
_BREAK = (
    r"(?!(?:and|so|but|thus|therefore|hence|because|which|resulting|results|result|earning|receiving|getting|scoring|"
    r"gets|earns|receives|deserves|i|i'd|i'll|giving|leading|making|hence|yet|however)\b)"
)
NEGATED = re.compile(
    r"\b(?:not|never|neither|nor|rather than|instead of|short of|cannot|[a-z]+n't|hardly|barely|unlike|anything but|anywhere near|"
    rf"no (?:more|less|higher|lower|better|worse))(?:\s+{_BREAK}[a-z'-]+){{0,6}}\s*\Z"
    r"|\b(?:than|above|below|over|under|beyond|exceeds?|exceeding|at least|at most|at best|up to|nearly|almost|close to|closer to|towards?|"
    r"approaching|without|no)(?:\s+(?:a|an|the|even|full|perfect|score|rating|grade|mark|of))*\s*\Z"
)
PERFECT = re.compile(
    r"\b(?:would|could|might|may|should|must)(?:n't| not| never)?\s+(?:[a-z]+\s+){0,2}have\b|'d have\b"
)
UNSURE = re.compile(r"\b(?:could|might|may|otherwise|wish|hypothetically|ideally|normally)\b")
CONDITION = re.compile(
    r"\b(?:if|unless|had (?:it|the|this|there)|were (?:it|the|this)|suppos(?:e|ing)|assuming)\b"
    r"(?! (?:i|we) (?:had|have|were|must|need)\b)(?! (?:asked|forced|pressed|any)\b)"
)
# "..., therefore I score it a 4": what was said before does not bear on the number
TURN = re.compile(
    r"\b(?:therefore|thus|hence|resulting|which results|earning|scoring|receiving|making it|making this|which gives|giving (?:it|this)|"
    r"leading (?:me )?to|so (?:i|it|the|this|my)|but (?:i|it|the|this))\b"
)
GAIN = re.compile(
    r"\bby [a-z]+ing\b[^.!?\n]*\b(?:would|could)\b|\bwith (?:more|better|some|a few|minor|slight|less|fewer|a bit|a little|improve\w+|"
    r"additional|another)\b[^.!?\n]*\b(?:would|could|'d)\b|\b(?:although|though|while)\b[^.,!?\n]*\b(?:would|could)\b|\b(?:would|could|to) (?:make|bring|raise|push|turn|elevate|move|bump|take|lift)\b|\bwhich would\b"
)
CONDITION_AFTER = re.compile(
    r"[^.!?;\n]{0,80}?\b(?:if|had (?:it|the|there|this|they)|were (?:it|the|there)|unless|once|"
    r"with (?:more|better|some|a few|minor|slight|less|fewer|a bit|a little|improve\w+|additional)|"
    r"without (?:the|these|those|this|that))\b"
)
BUT_AFTER = re.compile(r"[^.!?\n]{0,20}?,?\s*\b(?:but|except|save for)\b")
BUT_FOR_AFTER = re.compile(r"[^.!?\n]{0,20}?,?\s*\b(?:but for|except for|save for|were it not|if not for)\b")
PURPOSE = re.compile(
    r"(?P<lead>\b[a-z']+)?\s*\bto\s+(?:[a-z]+ly\s+)?(?:get|earn|achieve|reach|receive|deserve|merit|score|attain|warrant|justify|obtain|"
    r"secure|become|raise|push|bump|qualify|improve|increase|elevate|bring|make)\b[^.!?\n;,]{0,50}\Z"
)
PURPOSE_FINE = frozenset(
    [
        "seems",
        "seem",
        "appears",
        "appear",
        "enough",
        "able",
        "manages",
        "manage",
        "managed",
        "continues",
        "happens",
        "failed",
        "fails",
    ]
)
NEEDED = re.compile(
    r"\b(?:needed|required|requires?|expected|necessary|requirements?|criteria|standards?|bar|threshold|reserved|aim\w*|"
    r"target\w*|room|description|definition|characteristic\w*|prevent\w*|keeps? it|stops? it|hold\w* it|disqualif\w+|"
    r"missing for|lack\w* for)\b[^.!?\n;,]{0,50}\Z"
)
MET = re.compile(
    r"\b(?:meets?|met|satisf\w+|fulfil\w*|align\w*|adher\w*|match\w*|fits?|warrants?|deserv\w*|qualif(?:y|ies))\b"
)
NOT_MET = re.compile(r"\b(?:not|never|fails?|n't|cannot|partially|partly|without|nearly|almost|closer?)\b|n't\b")
# somebody else's score: the reference answer's, another rater's
ANOTHERS = re.compile(
    r"\b(?:wrongly|incorrectly|mistakenly|falsely|erroneously)\b[^.!?\n,;]{0,40}\Z|"
    r"\b(?:reference|gold|ideal|model|sample|example|previous|other|baseline|original)(?:'s)?(?: (?:answer|response|summary|output|translation|text)s?)?"
    r"(?:'s)?,?(?: (?:that|which|who))?(?: (?:gets?|got|would|receives?|received|has|had|with|earns?|is|was|scores?|scored|of))?[^.!?\n,;]{0,40}\Z"
)
CONSIDERED = re.compile(
    r"\b(?:considered|considering|contemplat\w+|thought (?:of|about)|tempted|hesitat\w+|debat\w+ (?:between|whether|giving)|torn|"
    r"initially|originally|at first|first (?:thought|instinct|impression)|was going to|leaning|lean(?:ed)? towards?|previously "
    r"(?:rated|gave|scored)|other (?:raters?|judges?|evaluators?|people|readers?)|someone (?:else|might|may)|others (?:might|may|would|could)|"
    r"(?:humans?|annotators?|experts?|people|readers?|reviewers?|critics?|users?|teachers?|authors?) (?:would|might|may|could|gave|give|gives|rated|rate|scored)|"
    r"some (?:might|may|would|people|readers)|one (?:might|could|may))\b(?P<between>[^.!?\n;]{0,60})\Z"
)
FROM = re.compile(
    r"\b(?:down|up|dropped|lowered|raised|reduced|changed|revised|adjusted|decreased|increased)\s+(?:it\s+|the (?:score|rating)\s+)?from(?: an?)?\s*\Z"
)
CONTRAST = re.compile(
    r"\b(?:but|however|though|although|settled|settle|finally|decided|ended|instead|nevertheless|so)\b"
)
BY_AMOUNT = re.compile(
    r"\b(?:by|deduct\w*|subtract\w*|los(?:e|es|t|ing)|minus|dock\w*|knock\w*(?: off)?|penali\w+|tak(?:e|ing) off|off|add\w*|plus|another|other|"
    r"every|per|all|top|first|last|next|these|those|both)\s+(?:a |an |it |about )?\Z"
)

# --- what follows a number -----------------------------------------------------------------------------------------
# the number ends here: no noun that it counts comes after
ENDS = (
    r"(?=[ \t]*(?:\Z|[\n.!?:;,()\]\"'}|/&]|-(?![\da-z])|->|=|\x01|\\"
    r"|(?:for|in|on|because|as|since|due|based|with|and|but|overall|out|given|although|though|while|which|when|if|rather|"
    r"instead|is|here|from|to|or|stars?|points?|pts|marks?|indicat\w+|suggest\w+|would|score|rating|reflect\w+|regarding|"
    r"according|considering|under|at|by|that|so|thus|therefore|means?|represent\w*|was|this|the|i|it|not|only|due|"
    r"despite|mainly|primarily|mostly|largely|rationale|reason|explanation|analysis|after|per|being|showing)\b))"
)
_NUMBER = rf"(?:{DIGITS}|{WORD})(?![a-z0-9])"
RIGHT = re.compile(
    rf"""(?P<date>[ \t]*/[ \t]*\d+[ \t]*/[ \t]*\d|-\d+-\d|:\d)
       | (?P<of>[ \t]*(?:stars?\b|points?\b|pts\b|marks?\b)?[ \t]*[(\[]?[ \t]*(?:/|\\/|out[ ]of|of[ ]a[ ]possible|von[ ]|sur[ ]|de[ ]|из|of(?=[ \t]+\d))
           [ \t]*(?:a[ \t]+)?(?:(?:possible|maximum|total|max|perfect)[ \t]+(?:possible[ \t]+)?(?:score[ \t]+)?(?:of[ \t]+)?)?(?P<base>{_NUMBER}))
       | (?P<half>[ ]and[ ]a[ ]half\b|[ ]point[ ]five\b)
       | (?P<range>[ \t]*(?:-|~|\bto\b|\bthrough\b|\.\.+)[ \t]*(?P<upto>{_NUMBER}){ENDS})
       | (?P<series>[ \t]*(?:,[ \t]*(?:and|or)\b|,|;|/|\||&|\bor\b|\band\b|[ ](?=\d))[ \t]*(?P<then>{_NUMBER}){ENDS})
       | (?P<percent>[ ]?(?:%|percent\b|per[ ]cent\b))
       | (?P<stars>[ \t-]*(?:stars?\b|つ星|星|★))
       | (?P<points>[ \t-]*(?:points?\b|pts\b|marks?\b|分|点|點|점|баллов|балла|punkte?\b|puntos\b))
       | (?P<sum>\+|[ \t]*(?:[x×*+=]|\bplus\b|\bminus\b|\btimes\b)[ \t]*\d)""",
    re.X,
)
RUBRIC_AFTER = re.compile(
    r"\s*(?:\([^)\n]{0,60}\)\s*)?(?:=(?![=>])|means?\b|indicates?\b|represents?\b|denotes?\b|stands for|would mean|"
    r"being (?:the )?(?:best|worst|lowest|highest|poor|excellent|perfect)|is (?:the )?(?:best|worst|lowest|highest|for|when|if|reserved|defined)\b|"
    r"(?:is |are )?(?:given|assigned|awarded|reserved) (?:when|if|for|to)|should be (?:given|assigned|used)|corresponds|"
    r"(?:would|should|must) (?:require|need|mean|be given|have|show|demand)|requires?\b|needs?\b|demands?\b)"
)
ENUMERATED_AFTER = re.compile(r"\s*(?:\([^)\n]{0,60}\)\s*)?(?::|-|=|->)\s*[a-z\"'(]")
ASPECT_AFTER = re.compile(
    r"[ \t]*(?:for|in terms of|in|on|regarding|with respect to|with regards? to)\s+(?:the\s+|its\s+|overall\s+|both\s+)*(?P<word>[a-z][a-z-]+)"
)
SPLIT_AFTER = re.compile(
    r"[ \t]*(?:stars?|points?)?[ \t]*(?:for|in|on)\s+[a-z ]{1,30}[,;]?\s*(?:and|but)?\s*\d+(?:\.\d+)?(?:\s*/\s*\d+|\s+out of \d+)?\s*(?:stars?|points?)?\s*(?:for|in|on)\s+[a-z]"
)
NO_ASPECT = frozenset(
    [
        "the",
        "this",
        "that",
        "its",
        "it",
        "being",
        "not",
        "lacking",
        "having",
        "failing",
        "providing",
        "terms",
        "total",
        "all",
        "both",
        "each",
        "my",
        "such",
        "being",
        "summary",
        "response",
        "text",
        "answer",
        "output",
        "article",
        "translation",
        "story",
        "reason",
        "reasons",
        "several",
        "following",
        "these",
        "those",
        "general",
        "my",
        "opinion",
        "me",
        "accordance",
        "contrast",
        "addition",
        "fact",
        "comparison",
        "line",
        "order",
        "example",
        "instance",
    ]
)
COUNT_VERB_BEFORE = re.compile(
    r"\b(?:covers?|covered|mentions?|includes?|captur\w+|contains?|answers?|answered|correct(?:ly)?|address\w*|solve[sd]?|miss\w*|omit\w*|on|"
    r"since|until|dated|by|only|of the|about|at|roughly|around|nearly|and|from|won|lost|beat|in|identif\w+|match\w*|has|have|had|are|were|"
    r"for|least)\s*\Z"
)
LEADING = re.compile(r"[\s\"'(\[>#-]*\Z")
GAME = re.compile(
    r"\b(?:won|win|wins|winning|beat|beats|lost|lose|defeat\w*|victory|match|game|games|goals?|draw|drew|tied|half-?time|league|cup|"
    r"semi-?final|quarter-?final|penalt\w+|set|sets|aggregate|scoreline)\b"
)
CORRECTION = re.compile(
    r"\b(?:on second thought|scratch that|correction\b|let me (?:revise|correct|change)|i (?:revise|correct|change|take) (?:my|it|that)|"
    r"actually,|no, (?:a|an|it|make|rather)|wait,|make that|i meant|or rather)(?P<rest>[^\n]{0,60})"
)
