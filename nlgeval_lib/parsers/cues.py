"""The rating parser's tables: what presents a number as a verdict, what takes one back, the words of labels."""

from __future__ import annotations

import re
from typing import NamedTuple

from nlgeval_lib.parsers.text import DIGITS, WORD

ALONE, FORM, ASPECT, PHRASE, LABEL, FINAL = range(1, 7)  # how plainly a text presents a number as its verdict


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- words of labels ------------------------------------------------------------------------------------------------
NOUNS = _set(
    "score scores rating ratings rate grade grades graded mark marks star stars points verdict evaluation assessment"
    " judgment judgement result note nota"
)
RANKS = _set("final overall total ultimate concluding revised updated corrected adjusted definitive conclusion")
# "rating scale: 1", "score reduction: 2", "human score: 4": names of something else
NOT_A_SCORE = _set(
    "scale scales range rubric rubrics guide guideline guidelines criteria criterion key legend system systems method"
    " distribution difference deduction deductions reduction penalty error errors mistake mistakes confidence certainty"
    " weight breakdown reasoning exact max maximum min minimum highest lowest best worst mean median average previous"
    " initial original human expert gold reference expected target possible word count length number step steps page"
    " date year time age id index question task example sample option choice article paragraph sentence line item"
    " version level threshold baseline percentage words tokens chapter section figure table notes base starting full"
    " available class rank position humans experts annotator annotators preliminary tentative provisional credit imdb"
    " not never tied passing pass cutoff required needed desired if example format output issues "
    "problems typos omissions"
    " would could might"
)
# of those, what is no score even where its number is written like one: "Confidence: 4/5"
NEVER_A_SCORE = _set(
    "confidence certainty weight deduction deductions reduction penalty errors mistakes human humans expert experts"
    " annotator annotators gold reference expected previous max maximum min minimum count length threshold baseline if"
)
TOPS = _set("full max maximum highest best lowest minimum possible full")
# right before a score they make it the one of a contest: "test score: 4", "the score of the game is 4"
CONTESTS = _set(
    "game games match matches exam test tests quiz halftime half-time user users customer customers viewer viewers"
    " audience critic critics"
)
NEUTRAL = _set(
    "a an the my your our this that its of for to and i would give given assign assigned is it as on in by with be"
    " single numeric numerical integer perfect high low summary summarys response text output answer translation"
    " generation story dialogue article's summary's response's here's here so thus therefore hence quality out"
    " evaluation evaluate rated rate suggested appropriate suitable fair only one each system model rater judge respond"
    " deserved earned based above below following please provide potential candidate generated main general moderate"
    " good decent fairly resulting results receives receive gets earns deserves likert"
)
# headings of the parts of one judgment, not of something that is scored
PARTS = _set(
    "reason reasons reasoning explanation rationale justification analysis comment comments feedback evidence final"
    " answer response evaluation example output conversation history fact document source instruction instructions"
    " steps form note notes"
)
SAYS = _set("says states is are was were reads includes mentions gives claims asks contains has have")
NO_ASPECT = _set(
    "the this that it its being not lacking having failing providing terms total all both each my such summary response"
    " text answer output article translation story reason reasons several following these those general opinion me"
    " accordance contrast addition fact comparison line order example instance being what how its effort"
)
FOREIGN = re.compile(
    r"bewertung|punktzahl|gesamtnote|puntuaci[oó]n|calificaci[oó]n|puntaje|pontuação|avaliação|punteggio|valutazione|"
    r"оценка|оценки|балл|评分|評分|得分|打分|分数|分數|总分|スコア|評価|点数|점수|평점|التقييم|الدرجة|النتيجة|स्कोर|betyg"
)
_QUALITY = (
    r"(?:[a-z]+ness|coherence|consistency|fluency|relevance|relevancy|adequacy|accuracy|clarity|"
    r"faithfulness|factuality|"
    r"readability|informativity|understandability|quality|creativity|grammaticality|grammar|validity|likability|"
    r"diversity|depth|style|tone|similarity|honesty|cohesion|structure|originality|specificity|simplicity|novelty|"
    r"complexity|toxicity|safety|humanity|empathy)"
)
QUALITY_NAME = re.compile(rf"(?:[a-z]+[ _-])?{_QUALITY}|overall|flow")

# --- words that may stand between a cue and its number --------------------------------------------------------------
ADJECTIVES = _set(
    "a an solid strong clear perfect full low high mere generous decent good weak fair firm flat modest respectable"
    " moderate maximum minimum poor top near-perfect middling average final overall numeric "
    "numerical bare resounding well-deserved well-earned"
    " straight lower higher lowest highest relatively very max score rating possible"
)
FILL = ADJECTIVES - {"score", "rating", "possible", "overall"} | _set(
    "the only just exactly about around approximately roughly therefore thus clearly then now simply still merely"
    " probably likely rather fairly quite hence definitely certainly currently indeed actually"
)
OWN = _set(
    "i we it this that which they both one these and so but thus therefore hence to not then overall also who analysis"
    " assessment evaluation rubric judgment verdict me us i'd i'll we'd i've it's or finally conclusion because yet"
    " performance system model"
)
JUDGED = _set(
    "response summary answer output text translation story generation essay article reply dialogue sentence candidate"
    " one headline caption paraphrase statement explanation completion message turn submission responses summaries it"
    " this hypothesis conversation paragraph passage poem code"
)
AUXILIARIES = _set(
    "would will have has had am is are was were be been being should must can do does did 'd could shall may might"
    " can't don't not really being"
)


class Cue(NamedTuple):
    """What stands before a number that it presents: `before` up to one of the words `last`; "a": an article does."""

    name: str
    strength: int
    last: str
    before: str
    after: str = ""


_VERB = (
    r"rat(?:e[sd]?|ing)|scor(?:e[sd]?|ing)|grad(?:e[sd]?|ing)|assign(?:s|ed|ing)?|award(?:s|ed|ing)?|"
    r"giv(?:es?|en|ing)|gave|receiv(?:e[sd]?|ing)|earn(?:s|ed|ing)?|deserv(?:e[sd]?|ing)|merit(?:s|ed|ing)?|"
    r"warrant(?:s|ed|ing)?|gets?|got|getting|obtain(?:s|ed|ing)?|achiev(?:e[sd]?|ing)|mark(?:s|ed|ing)?|"
    r"evaluate[sd]?|judged?|worth"
)
_PLACES = r"(?:mak(?:es?|ing)|call|place|put|peg|consider|deem|find|see|brings?)(?= it| this| that| the)"
# the number ends here: no noun that it counts comes after
END_SIGNS = "\n.!?:;,()]\"'}|/&"
ENDS = (
    rf"(?=[ \t]*(?:\Z|[{re.escape(END_SIGNS)}\x02]|-(?![\da-z])|->|=|\x01|\\"
    r"|(?:for|in|on|because|as|since|due|based|with|and|but|overall|out|given|although|though|while|which|when|if|"
    r"rather|instead|is|here|from|to|or|stars?|points?|pts|marks?|indicat\w+|suggest\w+|would|score|rating|reflect\w+|"
    r"regarding|according|considering|under|at|by|that|so|thus|therefore|means?|represent\w*|was|this|the|i|it|not|"
    r"only|seems|appears|feels|punkten?|puntos|estrellas|étoiles|sternen?|despite|mainly|primarily|mostly|largely|"
    r"rationale|reason|explanation|analysis|after|per|being|showing|shows|simply|purely|unless|until|"
    r"then|now|again)\b))"
)
CLAUSE_ENDS = r"[ \t]*(?:\Z|[.!?;,)\x02]|\n|(?:and|but|while|whereas|because|since|due to|for|as)\b)"
_FIT = (
    r"[ \t]+(?:is|seems|would be|feels|appears)(?: to be)?(?: (?:more|most|quite|well|entirely|fully|"
    r"therefore|thus|only))*"
    r" (?:appropriate|fair|right|about right|justified|warranted|fitting|suitable|deserved|merited|reasonable|apt|"
    r"earned|given|awarded|assigned)\b(?![^.!?\n]{0,40}\b(?:if|had|were|with more|unless)\b)(?! (?:when|if|for|to)\b)"
)
_NAMED = (
    r"[ \t]+(?:is|would be|seems) (?:the|my|our) (?:(?:most )?(?:appropriate|right|correct|fair|fitting|suitable|final|"
    r"overall) )?(?:score|rating|grade|verdict|answer)\b"
)
CUES = (
    Cue("overall", FINAL, "overall total all sum altogether", r"\b(?:overall|in total|all in all|in sum|altogether),?"),
    Cue(
        "score is",
        LABEL,
        "of is as at was be being equals to comes",
        r"\b(?P<noun>score|scores|rating|ratings|grade|mark|evaluation|assessment|verdict|judge?ment)\b"
        r"(?P<mid>[^.!?\n;:\d]{0,70}?)\b(?P<link>of|is|as|at|was|be|being|equals|equal to|set to|comes to|stands at)",
    ),
    Cue(
        "score",
        LABEL,
        "score rating grade mark verdict star stars",
        r"(?P<word>\b[a-z'-]+ )?\b(?:score|rating|grade|mark|verdict|stars?)",
    ),
    Cue(
        "rate it",
        PHRASE,
        "as at with of it this that them one",
        rf"\A(?s:.*)\b(?P<verb>{_VERB}|{_PLACES})\b(?:\s*[a-z'\"-]+[,\s]){{0,10}}?\s*(?:as|at|with|of|it|"
        rf"this|that|them|one)",
    ),
    Cue("give a", PHRASE, "a", rf"\A(?s:.*)\b(?P<verb>{_VERB})\b(?:\s+[a-z'\"-]+){{0,10}}"),
    Cue(
        "say",
        PHRASE,
        "rate rates rated scores scored scoring graded on for with choose chose select selected pick"
        " picked say go it it's vote voted is",
        r"(?:\b(?P<verb>rate[sd]?|scor(?:e[sd]|ing)|graded)|\b(?:settl(?:e[sd]?|ing) (?:on|for)|"
        r"go(?:ing)? (?:with|for)|"
        r"went with|land(?:s|ed)? on|decid(?:e|ed) on|conclude with|choose|chose|select(?:ed)?|pick|"
        r"picked|opt(?:ed)? for|"
        r"stick(?:ing)? with|i'?d (?:say|go)|i (?:would )?say|i vote(?:d)?(?: for)?|my answer is|it'?s|make it))",
    ),
    Cue(
        "rate the response",
        PHRASE,
        " ".join(JUDGED),
        r"\b(?:i|we|i'd|i'll|would|will) (?:[a-z]+ ){0,2}?(?:rate|give|score|grade|award|assign) (?:the|this|that|its) "
        r"(?:[a-z-]+ ){0,2}[a-z]+",
    ),
    Cue(
        "rate its quality",
        PHRASE,
        "",
        rf"\b(?:rate|score|grade|give|evaluate|judge|assess)[sd]? (?:[a-z']+ "
        rf"){{0,3}}(?P<quality>{_QUALITY})(?: of (?:the|this|its) (?:[a-z]+ )?[a-z]+)?",
    ),
    Cue(
        "I give",
        PHRASE,
        "give giving award awarding assign assigning one",
        r"\b(?:i|we)(?:'d|'ll|'m| am| would| will)? (?:giv(?:e|ing)|award(?:ing)?|assign(?:ing)?)(?: it| "
        r"this| this one)?",
    ),
    Cue(
        "this is a",
        PHRASE,
        "a",
        r"\b(?:it|this|that|response|summary|output|answer|text|translation|story)(?:'s| is| was| would "
        r"be| should be| 'd be)(?:\s(?:rather|only|just|clearly|definitely|about))?",
    ),
    Cue(
        "it gets",
        PHRASE,
        "get gets got receive receives received earn earns earned deserve deserves deserved merit merits "
        "award"
        " awards awarded assign assigns assigned give gives gave given",
        r"\b(?P<verb>[a-z]+)",
        CLAUSE_ENDS,
    ),
    Cue("a 4 is fair", PHRASE, "a", r"", _FIT),
    Cue("4 is my score", PHRASE, "", r"", _NAMED),
    Cue(
        "moved to",
        PHRASE,
        "to",
        r"(?:\b(?P<verb>br(?:ing|ought)|lower|reduc|drop|rais|mov|chang|revis|adjust|downgrad|upgrad|bump|knock|pull|"
        r"push|decreas|increas|mark)\w* (?:it|this|that|(?:the|my|its) (?:overall |final )?(?:score|rating|grade))|"
        r"\b(?:score|rating|grade) (?:(?:is |was )(?:lowered|reduced|raised|changed|revised|adjusted)|"
        r"drops|falls|rises|"
        r"comes|goes))(?: back)?(?: down| up)?(?: from(?: an?)? \S{1,6})? to",
    ),
    Cue(
        "its quality is",
        ASPECT,
        "is as at gets scores get scored",
        rf"\b(?P<quality>{_QUALITY})[^.!?\n;:\d]{{0,50}}?\b(?:is|as|at|gets?|scores|scored)",
    ),
)

# "I would rate the fluency a 4", "the fluency gets"
QUALITY_RATED = re.compile(
    rf"\b(?:rate|score|grade|give|evaluate|judge|assess)[sd]? (?:[a-z']+ ){{0,3}}?(?P<of>{_QUALITY})\b"
    rf"(?: of (?:the|this|its) (?:[a-z]+ )?[a-z]+)?(?: (?:as|at|with))?\s*\Z|"
    rf"\b(?P<subject>{_QUALITY}) (?:(?:is|was|be) )?(?:gets?|got|receives?|scores?|scored|deserves?|"
    rf"earns?|merits?|rated)(?: (?:as|at))?\s*\Z"
)


class Veto(NamedTuple):
    """What takes a number back, and where it stands: its clause or sentence before the number, the label, or after."""

    name: str
    where: str
    pattern: str


_PEOPLE = (
    r"(?:humans?|annotators?|experts?|people|readers?|reviewers?|critics?|users?|teachers?|authors?|reviews?|guests?|"
    r"customers?|viewers?|analysts?|magazines?|newspapers?|fans|voters?|colleagues?|students?|professors?|graders?)"
)
_SOURCE = (
    r"(?:article|source|original|passage|document|story|review|report|author|writer|reviewer|speaker|user|post|news)"
)
_LACKING = r"with (?:more|better|some|a few|minor|slight|less|fewer|a bit|a little|improve\w+|additional|another)"
_GRADE = r"(?: (?:a|an|the|scores?|ratings?|levels?|grades?|marks?|of|about))*"
VETOES = (
    Veto(
        "negated",
        "clause",
        r"\b(?:not|never|neither|nor|nothing|none|nobody|few|cannot|[a-z]+n't|hardly|barely|nowhere)\b(?! "
        r"(?:only|just|without|bad|merely|because)\b)",
    ),
    Veto(
        "negated",
        "clause",
        r"\b(?:rather than|instead of|as opposed to|short of|anything but|far from|less than|more than|"
        r"lower than|higher than|"
        r"no (?:more|less|higher|lower|better|worse|way|reason|case|grounds|argument|score|rating))\b",
    ),
    Veto(
        "refused",
        "clause",
        r"\b(?:refus\w+|declin\w+|reluctan\w+|unwilling|resist\w*|avoid\w*|rules? out|ruled out|"
        r"preclud\w+|prevent\w*|"
        r"disqualif\w+|stop(?:s|ped)? me|keeps? (?:me|it|this)|kept|unable|impossible|fail(?:s|ed)? to|"
        r"wrong to|unfair to|harsh to|hard to|"
        r"difficult to|generous to|lenient to|(?:a )?mistake to|stretch to|hesita\w+|without|unlike|"
        r"except for|shy away|against)\b",
    ),
    Veto(
        "negated",
        "label",
        rf"\A\W*(?:e\.g|for (?:example|instance))\b|(?:such as|instead of|rather "
        rf"than)\W{{0,3}}[a-z]{{0,9}}\W{{0,3}}\Z|\b(?:unless|if|would be|disagree\w*|your (?:output|answer|"
        rf"response|task) (?:should|must|is))\b|\A\W*{_LACKING}\b",
    ),
    Veto("between", "clause", rf"\bbetween{_GRADE}(?: \S{{1,8}} (?:and|or){_GRADE})? ?\Z"),
    Veto(
        "a bound",
        "clause",
        r"\b(?:than|above|below|over|under|beyond|exceed(?:s|ing)?|at least|at most|at best|up to|nearly|"
        r"almost|close to|closer to|"
        r"towards?|approaching|no)(?: (?:a|an|the|even|full|perfect|score|rating|grade|mark|of))* ?\Z",
    ),
    Veto(
        "hypothetical",
        "clause",
        r"\b(?:would|could|might|may|should|must)(?:n't| not| never)? (?:[a-z]+ ){0,2}have\b|'d have\b",
    ),
    Veto(
        "hypothetical",
        "clause",
        r"\b(?:could|might|may|otherwise|wish|hypothetically|ideally|normally|suppose|supposing)\b",
    ),
    Veto(
        "hypothetical",
        "sentence",
        r"(?<!even )(?<!as )(?<!what )\bif\b(?! (?:i|we) (?:had to|have to|were to|must|need)\b)(?! "
        r"(?:asked|forced|pressed|any|only)\b)|"
        r"\b(?:had (?:it|the|this|there)|were (?:it|the|this)|assuming|once it|in case|whenever|imagine|"
        r"unless)\b|\A\W*should (?:the|it|this)\b",
    ),
    Veto(
        "hypothetical",
        "sentence",
        rf"\bby [a-z]+ing\b.*\b(?:would|could)\b|\b{_LACKING}\b.*\b(?:would|could|'d)\b|\A\W*{_LACKING}\b|"
        rf"\bwhich would\b|"
        r"\b(?:although|though|while)\b(?! (?:some|others|one|many|people)\b)[^.,!?\n]*\b(?:would|could)\b|"
        r"\b(?:would|could|to|will) (?:make|bring|raise|push|turn|elevate|move|bump|take|lift)\b",
    ),
    Veto(
        "an example or instruction",
        "sentence",
        r"\b(?:please (?:rate|give|assign|score|evaluate|provide|output)|give (?:me|us)|"
        r"you (?:should|must|can|may|need)|your (?:task|output|answer|response) (?:is|should|must)|"
        r"reserved|(?:give|use|assign|award) (?:it )?(?:a|an) \d+ (?:if|when|for))\b",
    ),
    Veto(
        "an example or instruction",
        "sentence",
        r"\A\W*(?:assign|give|rate|award|use|select|choose|output|write|return|respond|reply)\b",
    ),
    Veto("an example or instruction", "sentence", r"\A\W*(?:for (?:example|instance)|e\.g)\b"),
    Veto(
        "for a purpose",
        "clause",
        r"(?<!enough )(?<!seems )(?<!seem )(?<!able )(?<!appears )(?<!appear )(?<!manages )(?<!happens "
        r")\bto (?:[a-z]+ly )?"
        r"(?:get|earn|achieve|reach|receive|deserve|merit|score|attain|warrant|justify|obtain|secure|"
        r"become|raise|push|bump|qualify|improve|increase|elevate)\b",
    ),
    Veto(
        "a standard",
        "clause",
        r"\A(?!.*\b(?:meets?|met|satisf\w+|fulfil\w*|align\w*|adher\w*|match\w*|fits?|warrants?|deserv\w*|"
        r"qualif\w+)\b).*\b(?:needed|necessary|requires?|required|expected|requirements?|threshold|bar|"
        r"room|definition|description|characteristic\w*|aim\w*|target\w*|missing for|lack\w* for|worthy "
        r"of)\b",
    ),
    Veto(
        "a standard",
        "clause",
        r"\b(?:not|never|fails?|cannot|partially|partly|nearly|almost|closer?)\b.*\b(?:criteria|"
        r"standards?)\b",
    ),
    Veto(
        "somebody else's",
        "clause",
        r"\b(?:wrongly|incorrectly|mistakenly|falsely|erroneously)\b|"
        r"\b(?:reference|gold|ideal|sample|example|previous|other|baseline|original)(?:'s)? (?:answer|"
        r"response|output)s?\b|\bmodel answers?\b|"
        r"\bthe reference,? (?:which|that|would|gets?|scores?|deserves?|earns?|receives?)\b|"
        r"\b(?:improved|revised|corrected|perfect|ideal|stronger|better|rewritten) (?:version|response|"
        r"answer|summary|output|text|translation)s? (?:would|could|might|will|gets?|scores?|deserves?|"
        r"earns?|receives?)\b|"
        rf"\b(?:other (?:raters?|judges?|evaluators?|people)|someone (?:else|might|may)|others|some "
        rf"(?:might|may|would|people|readers)|one (?:might|could|may)|{_PEOPLE} (?:would|might|may|could|"
        rf"gave|give|gives|rated|rate|scored))\b|"
        r"\b(?:article|source|report|review|author|reviewer|news|critic) (?:gives|gave|awards|awarded|"
        r"assigns|assigned|received?)\b|\b(?:student|author|writer|model|system|response|answer|output|"
        r"summary|text|user)'?s? (?:claims?|rates? itself|gives? itself|says? (?:its|the) (?:score|"
        r"rating))\b",
    ),
    Veto(
        "somebody else's",
        "reported",
        rf"\b{_SOURCE}(?: text| article| document)? (?:[a-z]+ly )?(?:reports?|reported|says?|said|states?|"
        rf"stated|mentions?|mentioned|"
        rf"claims?|claimed|notes?|noted|writes?|wrote|shows?|lists?|has)\b(?! (?:the same|so)\b)|"
        rf"\baccording to (?:the|its|an?) {_SOURCE}\b",
    ),
    Veto("an example or instruction", "reported", r"\be\.g|\bfor example\b|\bfor instance\b|\bsuch as\b"),
    Veto(
        "only considered",
        "considered",
        r"\b(?:consider(?:ed|ing)(?=\s*\Z| (?:a|an|giving|rating|scoring|assigning|awarding|whether|"
        r"between)\b)|contemplat\w+|(?:thought|thinking) (?:of|about)(?=\s*\Z| (?:a|an|giving|rating|"
        r"scoring|assigning|awarding|whether|between)\b)|"
        r"tempted|torn between|debat(?:e[ds]?|ing) (?:between|whether|giving)|initially|originally|at "
        r"first|first (?:thought|instinct|impression)|was going to|was about to|"
        r"lean(?:ing|ed)?|previously|formerly|earlier)\b",
    ),
    Veto(
        "a deduction",
        "clause",
        r"\b(?:down|up|dropped|lowered|raised|reduced|changed|revised|adjusted|decreased|increased) (?:it "
        r"|the (?:score|rating) )?from(?: an?)? ?\Z",
    ),
    Veto(
        "unfit",
        "after",
        r"[ \t]+(?:(?:is|was|would be|seems?|feels?|appears?)(?: to be)?(?: (?:a bit|a little|somewhat|"
        r"slightly|way|far|much|rather|clearly|certainly|simply|also))* (?:not|never|"
        r"too (?:high|low|generous|harsh|lenient|much|strict|severe|kind)|unjustified|unwarranted|"
        r"undeserved|excessive|unfair|inappropriate|out of (?:reach|the question)|off the table|"
        r"generous|harsh|reserved|impossible|wrong|only for)\b|(?:is|was|would|could|can|should|does|"
        r"seem)(?:n't| not)\b|cannot\b|can't\b)",
    ),
    Veto(
        "hypothetical",
        "after",
        r"[^.!?;\n\d]{0,80}?\b(?<!even )(?<!only )(?<!as )(?:if(?! (?:i|we) (?:had|have|must) to\b)|had "
        r"(?:it|the|there|this|they)|were (?:it|the|there)|unless|once (?:it|the)|provided that|but for|"
        r"save for|were it not)\b",
    ),
    Veto(
        "hypothetical",
        "would",
        rf"[^.!?;\n]{{0,80}}?\b(?:{_LACKING}|without (?:the|these|those|this|that)|except for|save for)\b|"
        rf"[^.!?;\n]{{0,20}}?\bbut\b",
    ),
    Veto(
        "somebody else's",
        "after",
        rf"[ \t]*(?:stars?|points?)?,?[ \t]*(?:(?:by|from) (?:(?:the|its|his|her|their|some|many|most|"
        rf"several|all|other) ){{0,2}}{_PEOPLE}|according to (?:the|its|an?) {_SOURCE})\b",
    ),
    Veto(
        "a scale point that is explained",
        "after",
        r"\s*(?:\([^)\n]{0,60}\)\s*)?(?:=(?![=>])|means?\b|indicates? (?:a|an|that|the text|the summary|"
        r"very)\b|represents?\b|denotes?\b|stands for|would mean|"
        r"being (?:the )?(?:best|worst|lowest|highest|poor|excellent|perfect)|is (?:the )?(?:best|worst|"
        r"lowest|highest|maximum|minimum|for|when|if|reserved|defined)\b|"
        r"(?:is |are )?(?:given|assigned|awarded|reserved) (?:when|if|for|to)|corresponds|should be "
        r"(?:given|assigned|used)|"
        r"(?:would|should|must) (?:require|need|mean|be given|have|show|demand)|requires?\b|needs?\b|demands?\b)",
    ),
    Veto(
        "a bound",
        "after",
        r" (?:or (?:higher|lower|above|below|more|less|better|worse|up|over|under|beyond|so)|and (?:above|"
        r"up|higher|over)|plus(?! \d)|minus(?! \d))\b(?! all\b)|"
        r", (?:minus|less) (?:a |an )?(?:\d|half|one|two|three)\b|-ish\b",
    ),
    Veto(
        "a deduction",
        "after",
        r"[ \t-]*(?:points?|pts|marks?) (?:(?:is|are|was|were|has been|have been) )?(?:deducted|off|lost|"
        r"missing|taken|subtracted|removed|docked|short|below|higher|lower|less|more)\b",
    ),
)

# a new thought begins: what was negated before it is over. A bare verb after a comma goes on: "I don't, ..., give it 5"
CLAUSE = re.compile(
    r"[,(](?! ?(?:[a-z]+ly )?(?:give|rate|deserve|merit|warrant|score|award|assign|get|earn|receive|"
    r"grant|justify|call)\b)|"
    r"[:(]| - |\b(?:but|so(?! far| much| as)|therefore|thus|hence|however|yet|because|since|which|"
    r"resulting|results in|result in|earning|receiving|getting|"
    r"leading|making it|(?<!not )(?<!without )(?<!for )(?<!from )(?<!of )giving it|i'd|i'll|i(?= "
    r"(?:would |will |'d )?(?:give|rate|score|assign|award|am giving|say|go))|"
    r"and(?= (?:i|it|so|thus|therefore|hence|gets|earns|receives|deserves|scores|gives|give|would|is|has)\b))\b"
)
SENTENCE = re.compile(r"[.!?;][\"')\]]{0,3}(?=\s)|\n")
TURN = re.compile(
    r"\b(?:therefore|thus|hence|resulting|which results|earning|scoring|receiving|making it|making this|which gives|"
    r"giving (?:it|this)|leading (?:me )?to|so (?:i|it|the|this|my)|but (?:i|it|the|this|i'd|i'll))\b"
)
ONESELF = re.compile(
    r"\b(?:i|we|i'd|i'll|therefore|thus|hence|so|(?:my|the|this|its|overall|final) (?:score|rating)|summary|response|"
    r"answer|output|translation|earning|merits?|deserves?|resulting|giving it|giving this|making (?:it|this|the)|"
    r"thereby|scoring|which (?:scores?|indicates|brings?|makes?|gives?|lowers?|results)|brings|"
    r"indicating|warranting|scores)\b"
)
SETTLED = re.compile(
    r"\b(?:but|however|though|although|settled?|finally|decided|ended|instead|nevertheless|so)\b|"
    r"\d[\d/.]*, (?:i|my)\b|, (?:now|i)\b"
)
QUESTION = re.compile(
    r"\W*(?:do|does|did|is|are|was|should|could|would|can|might|may|will|why|what|how|who|which|has|"
    r"have|isn't|doesn't)\b"
)

# --- after a number -------------------------------------------------------------------------------------------------
_N = rf"(?:{DIGITS}|{WORD})(?![a-z0-9])"
RIGHT = re.compile(
    rf"""(?P<date>[ \t]*/[ \t]*\d+[ \t]*/[ \t]*\d|-\d+-\d|:\d)
       | (?P<of>[ \t]*(?:stars?\b|points?\b|pts\b|marks?\b|★)?[ \t]*[(\[]?[ \t]*
           (?:/|\\/|out[ ]of|of[ ]a[ ]possible|von[ ]|sur[ ]|de[ ]|av[ ]|van[ ]|из|من|of(?=[ \t]+\d))
           [ \t]*(?:a[ \t]+|the[ \t]+)?
           (?:(?:possible|maximum|total|max|perfect)[ \t]+(?:possible[ \t]+)?(?:score[ \t]+)?(?:of[ \t]+)?)?
           (?P<base>{_N}))
       | (?P<range>[ \t]*(?:-|~|->|=>|\bto\b|\bthrough\b|\.\.+)[ \t]*(?P<upto>{_N}){ENDS})
       | (?P<series>[ \t]*(?:,[ \t]*(?:and|or)\b|,|;|/|\||&|\(?\bor\b|\band\b|\bvs\b\.?|\bversus\b|[ ](?=\d))
           [ \t]*(?:(?:maybe|perhaps|possibly|even)[ ]+)?(?:an?[ ])?(?P<then>{_N})
           (?:{ENDS}|(?=[ \t]+[(\[]?\d)))
       | (?P<percent>[ ]?(?:%|percent\b|per[ ]cent\b))
       | (?P<stars>[ \t-]*(?:stars?\b|つ星|星|★))
       | (?P<points>[ \t-]*(?:points?\b|pts\b|marks?\b|分|点|點|점|баллов|балла|punkte?\b|puntos\b))
       | (?P<sum>\+|[ \t]*(?:[x×*+=]|\bplus\b|\bminus\b|\btimes\b)[ \t]*\d)""",
    re.X,
)
_COUNTED = (
    r"(?:errors?|mistakes?|issues?|problems?|typos?|sentences?|words?|facts?|paragraphs?|examples?|omissions?|"
    r"inconsistenc(?:y|ies)|contradictions?|repetitions?|statements?|claims?|events?|people|persons|times|reasons?|"
    r"(?:key |main )?(?:points|aspects|ideas|details|criteria) (?:are|were|is|was|have|has|not)|"
    r"(?:key|main) (?:points|aspects|ideas|details))"
)
# "4 of the facts", "3 minor errors": parts and things that are counted
PART_OR_COUNT = re.compile(
    r" (?:(?P<part>(?:out )?of (?:the|its|these|those|them|all|my|our|his|her|their)\b"
    r"(?! (?:possible|total|maximum|available|max|best)\b)"
    r"(?! \d+(?: (?:possible|points|stars|marks)\b|[ \t]*(?:[.!,;)\n]|\Z))))"
    r"|(?:(?:[a-z-]+(?:al|ed|ing|ous|ive|ic|or|able|ible)|key|main|small|big|wrong|false|more|other) ){0,2}"
    rf"{_COUNTED}\b(?![ \t]*[:(]))"
)
ROUNDED = re.compile(
    r"[ \t,;(-]{0,4}(?:(?:which|and|or|i|we|i'd|would|can|be|is|it|this|so|then) ){0,4}round(?:s|ed|ing)?\b"
    rf"(?: (?:it|this|up|down|off|here|to|a)\b){{0,4}}\s?:?\s?(?P<to>{_N})"
)
OVERALL_AFTER = re.compile(r" (?:stars |points )?(?:overall|in total|all in all)(?=[ \t]*(?:[.!,;)\n]|\Z))")
ASPECT_AFTER = re.compile(
    r"[ \t]*(?:stars?|points?|marks?)?[ \t]*(?:for|in terms of|in|on|regarding|with respect to|with regards? to)\s+"
    r"(?:the\s+|its\s+|overall\s+|both\s+)*(?P<word>[a-z][a-z-]+)"
)
SPLIT_AFTER = re.compile(
    r"[ \t]*(?:stars?|points?)?[ \t]*(?:for|in|on)\s+[a-z ]{1,30}[,;]?\s*(?:and|but)?\s*(?:an?\s+)?\d+(?:\.\d+)?"
    r"(?:\s*/\s*\d+|\s+out of \d+)?\s*(?:stars?|points?)?\s*(?:for|in|on)\s+[a-z]"
)
# after a verdict: the judge thinks again
CORRECTION = re.compile(
    r"\b(?:on second thought|scratch that|correction\b|let me (?:revise|correct|change)|"
    r"i (?:revise|correct|change|take) (?:my|it|that)|actually,|no, (?:a|an|it|make|rather)|wait,|make that|i meant\b|"
    rf"or rather\b| ?[.!?;,-]{{1,4}} (?:no|(?:hmm+,? )?(?:maybe|perhaps)),? "
    rf"(?=(?:an? )?{_N}(?:/\d+)?\s*(?:[.!,;]|\Z)))(?P<rest>[^\n]{{0,60}})"
)
