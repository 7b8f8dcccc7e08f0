"""The words that take a number back as a verdict. Patterns only; those for what stands before it end at it."""

from __future__ import annotations

import re

from nlgeval_lib.parsers.quick import Gated, starting

# a new thought begins: what was negated before it is over
_BREAK = (
    r"(?!(?:and|so|but|thus|therefore|hence|because|which|resulting|results|result|earning|receiving|getting|scoring|"
    r"gets|earns|receives|deserves|i|i'd|i'll|giving|leading|making|yet|however)\b)"
)
NEGATED = Gated(
    ("not", "n't", "never", "neither", "nor", "no ", "rather than", "instead of", "short of", "hardly", "barely",
     "unlike", "anything but", "anywhere near", "unfair to", "wrong to", "harsh to", "generous to", "lenient to",
     "hard to", "difficult to", "stretch to", "mistake to"),
    r"\b(?:not|never|neither|nor|rather than|instead of|short of|cannot|[a-z]+n't|hardly|barely|unlike|anything but|"
    r"anywhere near|no (?:more|less|higher|lower|better|worse)|"
    r"(?:unfair|wrong|harsh|generous|lenient|hard|difficult|stretch|mistake) to)"
    rf"(?:\s+{_BREAK}[a-z'-]+){{0,6}}\s*\Z",
    words="not never neither nor rather instead short cannot t hardly barely unlike anything anywhere no unfair wrong "
    "harsh generous lenient hard difficult stretch mistake",
)  # fmt: skip
_GRADE = r"(?:\s+(?:a|an|the|scores?|ratings?|levels?|grades?|marks?|of|about))*"
BETWEEN = Gated("between", rf"\bbetween{_GRADE}(?:\s+\S{{1,8}}\s+(?:and|or){_GRADE})?\s*\Z", words="between")
# what is said of the number: "a 5 would be too generous"
UNFIT_AFTER = re.compile(
    r"[ \t]+(?:(?:is|was|would be|seems?|feels?|appears?)(?: to be)?(?: (?:a bit|a little|somewhat|slightly|way|"
    r"far|much|rather|clearly|certainly|simply|also))* (?:not|never|"
    r"too (?:high|low|generous|harsh|lenient|much|strict|severe|kind)|"
    r"unjustified|unwarranted|undeserved|excessive|unfair|inappropriate|out of (?:reach|the question)|off the table|"
    r"generous|harsh)\b|(?:is|was|would|could|can|should|does|seem)(?:n't| not)\b|cannot\b|can't\b)"
)
QUESTION = re.compile(
    r"\W*(?:do|does|did|is|are|was|should|could|would|can|might|may|will|why|what|how|who|which|has|have)\b"
)
ASKED_HERE = re.compile(r"[ \t]?\(?\?")
ASKED_AFTER = re.compile(r"[^.!?\n]{0,120}\?")
BOUND = Gated(
    ("than", "above", "below", "over", "under", "beyond", "exceed", "least", "most", "best", "up to", "nearly",
     "almost", "close", "toward", "approaching", "without", "no"),
    r"\b(?:than|above|below|over|under|beyond|exceeds?|exceeding|at least|at most|at best|up to|nearly|almost|"
    r"close to|closer to|towards?|approaching|without|no)"
    r"(?:\s+(?:a|an|the|even|full|perfect|score|rating|grade|mark|of))*\s*\Z",
    words="than above below over under beyond exceed exceeds exceeding least most best up nearly almost close closer "
    "toward towards approaching without no",
)  # fmt: skip
PERFECT = re.compile(
    r"\b(?:would|could|might|may|should|must)(?:n't| not| never)?\s+(?:[a-z]+\s+){0,2}have\b|'d have\b"
)
UNSURE = re.compile(r"\b(?:could|might|may|otherwise|wish|hypothetically|ideally|normally)\b")
CONDITION = re.compile(
    r"\b(?:if|unless|had (?:it|the|this|there)|were (?:it|the|this)|suppos(?:e|ing)|assuming)\b"
    r"(?! (?:i|we) (?:had|have|were|must|need)\b)(?! (?:asked|forced|pressed|any)\b)"
)
_LACKING = r"with (?:more|better|some|a few|minor|slight|less|fewer|a bit|a little|improve\w+|additional|another)"
CONDITION_AFTER = re.compile(
    r"[^.!?;\n]{0,80}?\b(?:if|had (?:it|the|there|this|they)|were (?:it|the|there)|unless|once|"
    rf"{_LACKING}|without (?:the|these|those|this|that))\b"
)
# "..., therefore I score it a 4": what was said before does not bear on the number
TURN = re.compile(
    r"\b(?:therefore|thus|hence|resulting|which results|earning|scoring|receiving|making it|making this|which gives|"
    r"giving (?:it|this)|leading (?:me )?to|so (?:i|it|the|this|my)|but (?:i|it|the|this))\b"
)
# what would raise the score
GAIN = re.compile(
    rf"\bby [a-z]+ing\b[^.!?\n]*\b(?:would|could)\b|\b{_LACKING}\b[^.!?\n]*\b(?:would|could|'d)\b|"
    r"\b(?:although|though|while)\b(?! (?:some|others|one|many|people)\b)[^.,!?\n]*\b(?:would|could)\b|\bwhich would\b|"
    r"\b(?:would|could|to) (?:make|bring|raise|push|turn|elevate|move|bump|take|lift)\b"
)
# "With better transitions: 4/5"
WITH_MORE = re.compile(rf"\W*{_LACKING}\b[^.!?\n]{{0,60}}\Z")
BUT_AFTER = re.compile(r"[^.!?\n]{0,20}?,?\s*\b(?:but|except|save for)\b")
BUT_FOR_AFTER = re.compile(r"[^.!?\n]{0,20}?,?\s*\b(?:but for|except for|save for|were it not|if not for)\b")
PURPOSE = re.compile(
    rf"{starting('to')}\s+(?:[a-z]+ly\s+)?(?:get|earn|achieve|reach|receive|deserve|merit|score|attain|warrant|"
    r"justify|obtain|secure|become|raise|push|bump|qualify|improve|increase|elevate|bring|make)\b[^.!?\n;,]{0,50}\Z"
)
NEEDED = Gated(
    ("needed", "requir", "expected", "necessary", "criteria", "standard", "bar", "threshold", "reserved", "aim",
     "target", "room", "description", "definition", "characteristic", "prevent", "keep", "stop", "hold", "disqualif",
     "missing for", "lack"),
    r"\b(?:needed|required|requires?|expected|necessary|requirements?|criteria|standards?|bar|threshold|reserved|aim\w*|"
    r"target\w*|room|description|definition|characteristic\w*|prevent\w*|keeps? it|stops? it|hold\w* it|disqualif\w+|"
    r"missing for|lack\w* for)\b[^.!?\n;,]{0,50}\Z",
)  # fmt: skip
MET = re.compile(
    r"\b(?:meets?|met|satisf\w+|fulfil\w*|align\w*|adher\w*|match\w*|fits?|warrants?|deserv\w*|qualif(?:y|ies))\b"
)
NOT_MET = re.compile(r"\b(?:not|never|fails?|cannot|partially|partly|without|nearly|almost|closer?)\b|n't\b")
_OTHER_JUDGES = (
    r"\b(?:gpt\S*|chatgpt|claude\S*|llama\S*|gemini\S*|mistral\S*|tomatoes|metacritic|imdb|website|site|magazine|jury|panel|"
    r"committee)"
)
# somebody else's score: the reference answer's, one that was given wrongly
ANOTHERS = Gated(
    ("wrongly", "incorrectly", "mistakenly", "falsely", "erroneously", "answer", "response", "output", "reference",
     "version", "summar", "text", "translation",
     "gave ", "gives ", "rated ", "rates ", "scored ", "scores ", "please ", "give me", "give us"),
    r"\b(?:wrongly|incorrectly|mistakenly|falsely|erroneously)\b[^.!?\n,;]{0,40}\Z|"
    r"\b(?:(?:reference|gold|ideal|sample|example|previous|other|baseline|original)(?:'s)? "
    r"(?:answer|response|output)s?|model answers?)(?:'s)?,?(?: (?:that|which|who))?"
    r"(?: (?:gets?|got|would|receives?|received|has|had|with|earns?|is|was|scores?|scored|of))?[^.!?\n,;]{0,40}\Z|"
    r"\bthe reference,? (?:which|that|would|gets?|scores?|deserves?|earns?|receives?)\b[^.!?\n;,]{0,40}\Z|"
    r"\b(?:improved|revised|corrected|perfect|ideal|stronger|better|rewritten) "
    r"(?:version|response|answer|summary|output|text|translation)s? (?:"
    r"would|could|might|will|gets?|scores?|deserves?|earns?|receives?)\b[^.!?\n;,]{0,40}\Z|"
    rf"{_OTHER_JUDGES} (?:gave|gives|rated|rates|scored|scores) (?:it|this|that)\b[^.!?\n,;]{{0,30}}\Z|"
    r"\bplease (?:rate|give|assign|score|evaluate|provide|output)\b[^.!?\n]{0,60}\Z|"
    r"\bgive (?:me|us)\b[^.!?\n,;]{0,30}\Z",
    words="wrongly incorrectly mistakenly falsely erroneously reference gold ideal model sample example previous other "
    "baseline original gave gives rated rates scored scores please give improved revised corrected perfect "
    "stronger better rewritten",
)  # fmt: skip
_PEOPLE = (
    r"(?:humans?|annotators?|experts?|people|readers?|reviewers?|critics?|users?|teachers?|authors?|reviews?|guests?|"
    r"customers?|viewers?|analysts?|magazines?|newspapers?|fans|voters?|colleagues?|students?|professors?|graders?)"
)
_SOURCE = (
    r"(?:article|source|original|passage|document|story|review|report|author|writer|reviewer|speaker|user|post|news)"
)
OTHERS_AFTER = re.compile(
    r"[ \t]*(?:stars?|points?)?,?[ \t]*(?:(?:by|from) (?:(?:the|its|his|her|their|some|many|most|several|all|other) )"
    rf"{{0,2}}{_PEOPLE}|according to (?:the|its|an?) {_SOURCE})\b"
)
# the judged text or its source is reported to say so
REPORTED = Gated(
    ("report", "say", "said", "state", "mention", "claim", "note", "writ", "wrote", "according to"),
    rf"\b{_SOURCE}(?: text| article| document)? (?:[a-z]+ly )?"
    r"(?:reports?|reported|says?|said|states?|stated|mentions?|mentioned|claims?|claimed|notes?|noted|writes?|"
    rf"wrote)\b(?P<between>.*)|\baccording to (?:the|its|an?) {_SOURCE}\b(?P<between2>.*)",
    words="report reports reported say says said state states stated mention mentions mentioned claim claims claimed "
    "note notes noted write writes wrote according",
)
ONESELF = re.compile(
    r"\b(?:i|we|i'd|i'll|therefore|thus|hence|so|(?:my|the|this|its|overall|final) (?:score|rating)|summary|response|"
    r"answer|output|translation|earning|merits?|deserves?|resulting)\b"
)
# a score was considered, not the text: "I considered a 2", "Having considered the facts, I give it a 3"
_IT = r"(?=\s*\Z| (?:a|an|giving|rating|scoring|assigning|awarding|whether|between)\b)"
CONSIDERED = Gated(
    ("consider", "contemplat", "thought", "tempted", "hesitat", "torn", "debat", "initially", "originally", "at first",
     "first ", "was going to", "lean", "previously", "other ", "someone ", "others ", "some ", "one ", "human",
     "annotator", "expert", "people", "reader", "review", "critic", "user", "teacher", "author", "guest", "customer",
     "viewer", "analyst", "magazine", "newspaper", "fans", "voter", "colleague", "student", "professor", "grader"),
    rf"\b(?:considered{_IT}|(?:was|am|'m|were|been) considering|"
    rf"contemplat(?:e[ds]?|ing)|thought (?:of|about){_IT}|tempted|hesitat(?:e[ds]?|ing)|torn|"
    r"debat(?:e[ds]?|ing) (?:between|whether|giving)|initially|originally|at first|"
    r"first (?:thought|instinct|impression)|was going to|leaning|lean(?:ed)? towards?|previously (?:rated|gave|scored)|"
    r"other (?:raters?|judges?|evaluators?|people|readers?)|someone (?:else|might|may)|"
    rf"others (?:might|may|would|could)|{_PEOPLE} (?:would|might|may|could|gave|give|gives|rated|rate|scored)|"
    r"some (?:might|may|would|people|readers)|one (?:might|could|may))\b(?P<between>[^.!?\n;]{0,60})\Z",
    words="considered considering contemplate contemplated contemplates contemplating thought tempted hesitate "
    "hesitated hesitates hesitating torn debate debated debates debating initially originally first going leaning lean "
    "leaned previously other others someone some one " + " ".join(re.findall("[a-z]+", _PEOPLE.replace("s?", "")))
    + " " + " ".join(re.findall("[a-z]+", _PEOPLE.replace("s?", "s"))),
)  # fmt: skip
CONTRAST = re.compile(
    r"\b(?:but|however|though|although|settled|settle|finally|decided|ended|instead|nevertheless|so)\b|"
    r"\d[\d/.]*, (?:i|my)\b"
)
FROM = Gated(
    "from",
    r"\b(?:down|up|dropped|lowered|raised|reduced|changed|revised|adjusted|decreased|increased)\s+"
    r"(?:it\s+|the (?:score|rating)\s+)?from(?: an?)?\s*\Z",
)
BY_AMOUNT = re.compile(
    r"\b(?:by|deduct\w*|subtract\w*|los(?:e|es|t|ing)|minus|dock\w*|knock\w*(?: off)?|penali\w+|tak(?:e|ing) off|off|"
    r"add\w*|plus|another|other|every|per|all|top|first|last|next|these|those|both)\s+(?:a |an |it |about )?\Z"
)
