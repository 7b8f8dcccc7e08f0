"""The rating parser's two tables: what presents a number as a verdict (cues), and
what takes it back (vetoes).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from nlgeval_lib.parsers.text import DIGITS, WORD, words

# how plainly a text presents a number as its verdict
ALONE, FORM, ASPECT, PHRASE, LABEL, FINAL = range(1, 7)

# --- words of labels
NOUNS = words(
    "score scores rating ratings rate grade grades graded mark marks star stars "
    "points verdict evaluation assessment judgment judgement result note nota"
)
RANKS = words(
    "final overall total told ultimate concluding revised updated corrected "
    "adjusted definitive conclusion"
)
AWARDED = words("earned awarded obtained achieved received granted given")
# names of something else even where the number is written as a score: "Confidence: 4/5"
NEVER_A_SCORE = words(
    "confidence certainty weight deduction deductions reduction penalty errors "
    "mistakes human humans expert experts colleague colleagues annotator "
    "annotators gold reference expected previous max maximum min minimum count "
    "length threshold baseline if"
)
TOPS = words("full max maximum highest best lowest minimum possible")
# "rating scale: 1", "score range: 2"
NOT_A_SCORE = (
    NEVER_A_SCORE
    | TOPS
    | words(
        "scale scales range rubric rubrics guide guideline guidelines criteria "
        "criterion key legend system systems method distribution difference error "
        "mistake breakdown reasoning exact worst mean median average initial original "
        "target word number step steps page part date year time age id index question "
        "task example sample option choice article paragraph sentence line item "
        "version level percentage words tokens chapter section figure temperature "
        "attempts seed retries latency duration table notes base starting available "
        "class rank position preliminary tentative provisional credit imdb not never "
        "tied passing pass cutoff required needed desired ideally format issues "
        "problems typos omissions would could might far"
    )
)
# right before a score they make it the one of a contest: "test score: 4", "the score of
# the game is 4"
CONTESTS = words(
    "game games match matches exam test tests quiz halftime half-time user users "
    "customer customers viewer viewers audience critic critics bleu rouge meteor "
    "comet chrf f1 flesch"
)
# words of a label that name no aspect
NEUTRAL = words(
    "a an the my your our this that its of for to and i would give given assign "
    "assigned is it as on in by with be single numeric numerical integer perfect "
    "high low summary summarys response text output answer translation generation "
    "story dialogue article's summary's response's here's here so thus therefore "
    "hence quality out evaluation evaluate rated rate suggested appropriate "
    "suitable fair only one each system model rater judge respond deserved earned "
    "based above below following please provide potential candidate generated main "
    "general moderate namely good decent fairly resulting results receives receive "
    "gets earns deserves likert"
)
# headings of the parts of one judgment, not of something that is scored
PARTS = words(
    "reason reasons reasoning explanation rationale justification analysis comment "
    "comments feedback evidence final answer response evaluation example output "
    "conversation history fact document source instruction instructions steps form "
    "note notes"
)
NOT_ASKED = NOUNS | NEUTRAL | RANKS | AWARDED
NO_ASPECT = (
    NEUTRAL
    | PARTS
    | words(
        "article source not lacking having failing providing terms total all both such "
        "several these those opinion me accordance contrast addition comparison line "
        "order instance being what how effort"
    )
)
# "the score of the article": what is scored, in the middle of a phrase
WHAT_IS_SCORED = words("level number article sentence best paragraph would output")
FOREIGN = re.compile(
    r"bewertung|punktzahl|gesamtnote|puntuaci[oó]n|calificaci[oó]n|puntaje"
    r"|pontuação|avaliação|punteggio|valutazione|оценка|оценки|балл|评分|評分|得分|打分|分数"
    r"|分數|总分|スコア|評価|点数|점수|평점|التقييم|الدرجة|النتيجة|स्कोर|betyg"
)
_QUALITY = (
    r"(?:[a-z]+ness|coherence|consistency|fluency|relevanc[ey]|adequacy|accuracy"
    r"|clarity|factuality|readability|informativity|understandability|quality"
    r"|creativity|grammaticality|grammar|validity|likability|diversity|depth|style"
    r"|tone|similarity|honesty|cohesion|structure|originality|specificity"
    r"|simplicity|novelty|complexity|toxicity|safety|humanity|empathy)"
)
QUALITY = re.compile(rf"\W({_QUALITY})\b")
# what ends a phrase: "its coherence", "the fluency of the text"; and before a verb:
# "its fluency is"
QUALITY_LAST = re.compile(
    rf"\W({_QUALITY})"
    r"(?=(?: of (?:the|this|its) (?:[a-z]+ )?[a-z]+| is| was| be)?"
    r"(?: as| at| with)?\s*\Z)"
)
QUALITY_FIRST = re.compile(
    r"\W*(?:in terms of|regarding|as (?:for|to)|with regards? to|for|on) "
    rf"(?:the |its )?({_QUALITY})\b"
)
QUALITY_NAME = re.compile(rf"(?:[a-z]+[ _-])?{_QUALITY}|overall|flow")

# --- words between a cue and its number, and before a verb
FILL = words(
    "a an solid strong clear perfect full low high mere generous decent good weak "
    "fair firm flat modest respectable moderate maximum minimum poor top "
    "near-perfect middling average final numeric numerical bare resounding "
    "well-deserved well-earned straight lower higher lowest highest relatively "
    "very max just exactly about around approximately roughly therefore thus "
    "clearly now simply still merely probably likely rather fairly quite hence "
    "definitely certainly currently indeed actually only easily level band label"
)
# of those, what leaves it in doubt where no verb presents the number: "Score: about 4",
# "Around 3."
HEDGES = words(
    "about around approximately roughly probably likely rather now only just"
)
# who gives or gets the judge's score: the judge, what it judges, and "so", "and",
# "thus" without a subject
OWN = words(
    "i we it this that which they both one these and so but thus therefore hence "
    "to not then overall also who analysis assessment evaluation rubric judgment "
    "verdict me us i'd i'll we'd i've it's or finally conclusion because yet "
    "performance system model"
)
JUDGED = words(
    "response summary answer output text translation story generation essay "
    "article reply dialogue sentence candidate one headline caption paraphrase "
    "statement explanation completion message turn submission responses summaries "
    "it this hypothesis conversation paragraph passage poem code proposal letter "
    "email speech draft abstract argument description script lyrics plan advice"
)
_JUDGED = "|".join(sorted(JUDGED))
AUXILIARIES = words(
    "would will have has had am is are was were be been being should must can do "
    "does did 'd could shall may might don not really hereby"
)

# --- cues
# the number ends here: no noun that it counts comes after
END_SIGNS = "\n.!?:;,()]\"'}|/&"
END_OF_NUMBER = (
    r"(?=[ \t]*"
    rf"(?:\Z|[{re.escape(END_SIGNS)}\x01\x02\\]|-(?![\da-z])|->|="
    r"|"
    r"(?:for|in|on|because|as|since|due|based|with|and|but|overall|out|given|although"
    r"|though|while|which|when|if|rather|instead|is|here|from|to|or|stars?|points?"
    r"|pts|marks?|indicat\w+|suggest\w+|would|score|rating|reflect\w+|regarding"
    r"|according|considering|under|at|by|that|so|thus|therefore|means?"
    r"|represent\w*|was|this|the|i|it|not|only|seems|appears|feels|punkten?|puntos"
    r"|estrellas|étoiles|sternen?|despite|mainly|primarily|mostly|largely"
    r"|rationale|reason|explanation|analysis|after|per|being|showing|shows|simply"
    r"|purely|unless|until|then|now|again|than|of (?:the|this) (?:rubric|scale))\b))"
)
ENDS = re.compile(END_OF_NUMBER)
_VERB = (
    r"(?:rat|scor|grad)(?:e[sd]?|ing)"
    r"|(?:assign|award|earn|merit|warrant|obtain|mark)(?:s|ed|ing)?"
    r"|(?:receiv|deserv|achiev)(?:e[sd]?|ing)|giv(?:es?|en|ing)|gave|gets?|got"
    r"|getting|evaluate[sd]?|judged?|worth"
    r"|(?:mak(?:es?|ing)|call|place|put|peg|consider|deem|find|see|brings?)"
    r"(?= it| this| that| the)"
)
_MOVE = (
    r"(?:br(?:ing|ought)|lower|reduc|drop|rais|mov|chang|forc|revis|adjust|downgrad"
    r"|upgrad|bump|knock|pull|push|tip|decreas|increas|mark|lift|nudg|elevat|drag"
    r"|tak|cut)\w*"
)


class Cue(NamedTuple):
    """A row of the cues: an example, how strong it is, and the words one of which
    ends it ("a": an article).
    """

    name: str
    example: str
    strength: int
    last: str


# what ends right before the number, adjectives and adverbs in between left out; the
# sentence has a blank before it
CUES = {
    Cue(
        "overall",
        "Overall, a 4",
        FINAL,
        (
            "overall total all sum altogether conclusion short up considered end balance "
            "told whole it"
        ),
    ): (
        r"\W"
        r"(?:overall|in total|all in all|in sum|altogether|in conclusion|in short"
        r"|to sum up|all things considered|in the end|on balance|all told"
        r"|(?:taken )?as a whole|if i (?:had|have) to put a number on it),?"
    ),
    Cue(
        "score is",
        "The score of the text is 4",
        LABEL,
        "of is as at was be being equals to comes",
    ): (
        r"\W"
        r"(?P<noun>(?:score|rating)s?|grade(?! level)|mark|evaluation|assessment|verdict"
        r"|judge?ment)\b"
        r"(?P<mid>(?:(?!,[^.!?\n;:\d]{0,60}\b(?:score|rating)\b)[^.!?\n;:\d]){0,70}?)\b"
        r"(?P<link>(?<!out )of|is|as|at|was|be|being|equals|equal to|set to|comes to|stands at)"
    ),
    Cue(
        "score", "Score 4", LABEL, "score rating grade mark verdict star stars"
    ): r"\W(?P<noun>score|rating|grade|mark|verdict|stars?)",
    Cue(
        "rate it",
        "I rate it a 4",
        PHRASE,
        f"a as at with of it this that them one quality {' '.join(JUDGED)}",
    ): (
        rf"\A(?s:.*)\W(?P<verb>{_VERB})\b"
        r"(?:[\s,]+(?!(?:this|it) is\b|since\b|because\b)[a-z'\"-]++){0,11}"
    ),
    Cue(
        "I give",
        "For style I give 4",
        PHRASE,
        "give giving award awarding assign assigning one out",
    ): (
        r"\W(?:i|we)(?:'d|'ll|'m| am| would| will)? "
        r"(?:giv(?:e|ing)|award(?:ing)?|assign(?:ing)?|hand(?:ing)? out)(?: this one)?"
    ),
    Cue(
        "it gets",
        "It gets 4, and",
        PHRASE,
        (
            "give gives gave given award awards awarded assign assigns assigned get gets "
            "got receive receives received earn earns earned deserve deserves deserved "
            "merit merits"
        ),
    ): rf"\W(?P<verb>{_VERB})",
    Cue(
        "say",
        "I'd say 4",
        PHRASE,
        (
            "rate rates rated scores scored scoring graded on for with choose chose select "
            "selected pick picked say go it it's vote voted is was at as be"
        ),
    ): (
        r"\W"
        r"(?:(?P<verb>rate[sd]?|scor(?:e[sd]|ing)|graded|choose|chose|select(?:ed)?|pick(?:ed)?"
        r"|opt(?:ed)? for)"
        r"|settl(?:e[sd]?|ing) (?:on|for)|go(?:ing)? (?:with|for)|went with"
        r"|decided? on|conclude with"
        rf"|(?:i|we|this(?: one)?|it|that|which|{_JUDGED})(?:'d| would| will|'ll)? "
        r"(?:finally |eventually )?"
        r"(?:stays?|remains?|land|end up|arrive|come (?:out|down)|settle|sit|ended up"
        r"|landed|arrived|ends up|lands|sits|finish(?:es)?"
        r"|(?:came|comes) (?:out|down|in))"
        r"(?: [a-z]+ly)? (?:on|at|with|as)"
        r"|stick(?:ing)? with|commit(?:ting)? to|i'?(?:d|ll) (?:say|go)"
        r"|i (?:would |will )?(?:have to )?say|let(?: me|'s| us)(?: just)? say"
        r"|i voted?(?: for)?"
        r"|(?:my|the final) (?:final |own |overall )?"
        r"(?:answer|choice|pick|vote|decision|conclusion|call|number|opinion) "
        r"(?:is|was|would be)"
        r"|(?:(?:for|to) me|in my (?:eyes|view|opinion)),? (?:it|this|that)"
        r"(?: is|'s| would be)"
        r"|(?<!when )it'?s|(?:make|call) it)"
    ),
    Cue(
        "the top mark, 5",
        "It gets the top mark, 5",
        PHRASE,
        "mark score rating grade scale",
    ): (
        rf"\W(?P<verb>{_VERB})\b[^.!?\n;:\d]{{0,40}}?\b"
        r"(?:top|best|full|perfect|worst|bottom|[a-z-]*(?:highest|lowest)|maximum|minimum) "
        r"(?:possible )?(?:score|mark|rating|grade)(?: (?:on|of) (?:this|the) scale)?,"
    ),
    Cue("this is a", "This is a 4", PHRASE, "a"): (
        rf"\W(?:that|mine|this one|{_JUDGED})"
        r"(?:'s| is| was| would be| should be| must be| 'd be)"
        r"(?:\s(?:rather|only|just|clearly|definitely|about))?"
    ),
    Cue("moved to", "That brings the score down to 4", PHRASE, "to"): (
        r"\W"
        r"(?:(?<=\A )"
        r"(?:(?:dropp|lower|reduc|go|mov)ing"
        r"|(?:(?:up|down)grad|rais|lower|revis|reduc|dropp)ed)"
        rf"|{_MOVE} (?:it|this|that|me)"
        rf"|(?P<verb>{_MOVE}) (?:the|my|its) (?:overall |final )?(?:score|rating|grade)"
        r"|(?:score|rating|grade) "
        r"(?:(?:is |was )(?:lowered|reduced|raised|changed|revised|adjusted)|drops|falls"
        r"|rises|comes|goes))"
        r"(?: back)?(?: (?:down|up|over)(?:wards?)?)?(?: from(?: an?)? \S{1,6})?"
        r"(?: (?:down|up))? to"
    ),
    Cue("4 is fair", "3 is fair", PHRASE, ""): (
        r"(?:\A\W*|[,:;.!?(-]"
        r"|\b"
        r"(?:so|but|and|yet|think|believe|feel|say|guess|(?:think|believe|feel) that))"
    ),
    Cue("a 4 than a 3", "Rather a 2 than a 1", PHRASE, "a to"): (
        r"\A\W*(?:(?:it|this)(?:'s| is)|i'd (?:say|call it)|more)?"
        r"(?: ?(?:more|closer to))?(?: (?:of|like))?"
    ),
    Cue("leaves", "which leaves 3", PHRASE, "leaves leaving it with at"): (
        r"\W(?:(?:which|this|that) leaves|(?<=, )leaving)"
        r"(?: (?:me|us|it|this)(?: (?:with|at))?)?"
    ),
    Cue("a 4 from me", "A 4 from me", PHRASE, "a"): r"\A\W*",
    Cue("4 is my score", "4 is my score", PHRASE, ""): "",
    Cue(
        "its quality is",
        "The coherence of the text is 4",
        ASPECT,
        "is as at gets scores get scored",
    ): (
        rf"\W(?P<quality>{_QUALITY})[^.!?\n;:\d]{{0,50}}?\b"
        r"(?:is|as|at|gets?|scores|scored)"
    ),
}
_IS = (
    r"(?:is|seems|would be|feels|appears|sounds|looks)(?: to be)?"
    r"(?: (?:more|most|quite|well|entirely|fully|therefore|thus|only))*"
)
FIT = (
    r"(?:appropriate|fair|about right|justified|warranted|fitting|suitable|deserved"
    r"|merited|reasonable|apt|fairer)\b"
)
_SETTLED = (
    r"(?![^.!?\n]{0,40}\b(?:if|had|were|with more|unless)\b)"
    r"(?! (?:when|if|for|to)\b(?! (?:me|this|it)\b))"
)
# what must follow the number
AFTER = {
    "it gets": (
        r"[ \t]*(?:stars?|points?)?[ \t]*"
        r"(?:\Z|[.!?;,)\x02]|\n|(?:and|but|while|whereas|because|since|due to|for|as)\b)"
    ),
    "4 is fair": (
        r"[ \t]+"
        rf"(?:{_IS} {FIT}{_SETTLED}|(?:seems|feels|sounds) right\b|it is(?=[.!,;]|\Z)"
        r"|is what (?:i|it|this)\b)"
    ),
    "a 4 than a 3": rf"[ \t]+than (?:to )?(?:an? )?(?:{DIGITS}|{WORD})\b",
    "a 4 from me": (
        r" (?:stars? |points? )?(?:from|for) me\b(?= ?(?:[.,!;]|\Z))"
        r"|(?=[.,;:!](?: |\Z))"
    ),
    "4 is my score": (
        r"[ \t]+(?:is|would be|seems) (?:the|my|our) "
        r"(?:(?:most )?(?:appropriate|right|correct|fair|fitting|suitable|final|overall) )?"
        r"(?:score|rating|grade|verdict|answer)\b"
    ),
}
ASPECT_AFTER = re.compile(
    r"[ \t]*(?:stars?|points?|marks?)?[ \t]*"
    r"(?:for|in terms of|in|on|regarding|with respect to|with regards? to)\s+"
    r"(?:the\s+|its\s+|overall\s+|both\s+)*(?P<word>[a-z][a-z-]+)"
)
# "4 for style and 3 for content"
SPLIT_AFTER = re.compile(
    r"[ \t]*(?:stars?|points?)?[ \t]*(?:for|in|on)\s+[a-z ]{1,30}[,;]?\s*"
    r"(?:and|but)?\s*(?:an?\s+)?\d+(?:\.\d+)?(?:\s*/\s*\d+|\s+out of \d+)?\s*"
    r"(?:stars?|points?)?\s*(?:for|in|on)\s+[a-z]"
)
# forms: "4: good" at the start, "covers 4 out of 5", "(4)", a last "4." after a
# sentence, "Yes, 1"
AFTER_LEAD = re.compile(
    r"\t|[ \t]*(?:(?P<list>[.)])|[:,;\]|-]|->|\(|\n|\Z|(?:because|since|due to)\b)"
)
COUNT_BEFORE = re.compile(
    r"\b"
    r"(?:cover(?:s|ed)?|mention\w*|includ\w+|captur\w+|contain\w*|answers"
    r"|correct(?:ly)?|address\w*|solve[sd]?|miss\w*|omit\w*|on|since|until|dated"
    r"|by|only|of the|about|at|roughly|around|nearly|and|from|won|lost|beat|in"
    r"|identif\w+|match\w*|has|have|had|are|were|for|least|than|reach\w*"
    r"|(?!(?:rat|scor|grad|award|receiv|earn|achiev|judg)ed\b)[a-z]+ed)\s*\Z"
)
CLOSED = re.compile(r"\s?\)\s?(?:[.!,;\n]|\Z)")
TEXT_END = re.compile(r"[\s.!)\]\"'}|\x02]*\Z")
CLOSING = re.compile(
    r"(?<!\d)(?<!\b(?:no|nr|pp|ch|eq|ca|vs))(?<!\b(?:fig|vol|sec|art|est|avg))"
    r"(?<!\bp)(?<!approx)[.!?][\"')]*\s*-?\Z"
)
SHORT_ANSWER = re.compile(
    r"\A\W*"
    r"(?:yes|no(?!\.)|good|bad|ok|okay|fair|poor|dull|excellent|somewhat(?: [a-z]+)?"
    r"|interesting)\W+\Z"
)

_PEOPLE = (
    r"(?:humans?|annotators?|raters?|(?:first|second|third|other) one|experts?|people"
    r"|readers?|reviewers?|critics?|users?|teachers?|authors?|reviews?|guests?"
    r"|customers?|viewers?|analysts?|magazines?|newspapers?|fans|voters?"
    r"|colleagues?|students?|professors?|graders?)"
)
_SOURCE = (
    r"(?:article|source|original|passage|document|story|review|report|author|writer"
    r"|reviewer|speaker|user|post|news)"
)
_JUDGE = (
    r"(?:gpt|chatgpt|claude|gemini|llama|mistral|qwen|palm|bard)(?:-?[\w.]+)*"
    r"|(?:reviewer|rater|annotator|judge|grader|evaluator|expert|assessor) #?"
    r"(?:\d|[a-c]|one|two|three)"
)
_LACKING = (
    r"with "
    r"(?:more|better|some|a few|minor|slight|less|fewer|a bit|a little|improve\w+"
    r"|additional|another)"
)
_GRADE = (
    r"(?: "
    r"(?:a|an|the|even|full|perfect|scores?|ratings?|levels?|grades?|marks?|of|about))*"
)


# what takes a number back: scope -> (name, example) -> pattern; a row of AT_A_WORD may
# begin at any word of its scope
Rows = dict[tuple[str, str], str]
VETOES: dict[str, Rows] = {
    # before the number in its clause
    "clause": {
        (
            "negated",
            "I would not give it a 4.",
        ): (
            r"(?:not|never|neither|nor|nothing|none|nobody|few|cannot|[a-z]+n't|hardly|barely"
            r"|nowhere)\b"
            r"(?! (?:only|just|without|bad|merely|because)\b)"
            r"|"
            r"(?:(?:rather|less|more|lower|higher) than|instead of|as opposed to|short of"
            r"|anything but|far from"
            r"|no "
            r"(?:more|less|higher|lower|better|worse|way|reason|case|grounds|basis"
            r"|justification|argument|score|rating))\b"
        ),
        (
            "refused",
            "I refuse to give it a 4.",
        ): (
            r"(?:refus|declin|(?<!no )(?<!without )(?<!without a )doubt|reluctan|resist|avoid"
            r"|preclud|prevent|disqualif|hesita)\w*"
            r"|"
            r"(?:unwilling|rule[sd]? out|stop(?:s|ped)? me|keeps? (?:me|it|this)|kept|unable"
            r"|impossible|fail(?:s|ed)? to|mistake to|stretch to"
            r"|(?:wrong|unfair|harsh|hard|difficult|generous|lenient) to|without|unlike"
            r"|except for|shy away|against (?:an?|giving|rating))\b"
        ),
        (
            "a bound",
            "I give it almost a 4.",
        ): (
            r"(?:than|above|below|over|under(?<!falls under)(?<!fall under)|beyond"
            r"|exceed(?:s|ing)?|at least|at most|at best|(?<!add )(?<!adds )up to|nearly"
            rf"|almost|closer? to|towards?|approaching|no){_GRADE} ?\Z"
            rf"|between{_GRADE}(?: \S{{1,8}} (?:and|or){_GRADE})? ?\Z"
        ),
        (
            "hypothetical",
            "I could give it a 4.",
        ): (
            r"(?:would|should|must)(?:n't| not| never)? (?:[a-z]+ ){0,2}have\b(?! to\b)"
            r"|[a-z]+'d have\b(?! to\b)"
            r"|"
            r"(?:could|might|may|usually|typically|generally|as a rule|otherwise|wish"
            r"|hypothetically|ideally|normally|suppose|supposing)\b"
        ),
        (
            "for a purpose",
            "It needs sources to get a 4.",
        ): (
            r"to(?<!enough to)(?<!seem to)(?<!seems to)(?<!able to)(?<!appear to)"
            r"(?<!appears to)(?<!manages to)(?<!happens to) (?:[a-z]+ly )?"
            r"(?:get|earn|achieve|reach|receive|deserve|merit|score|attain|warrant|justify"
            r"|obtain|secure|become|raise|push|bump|qualify|improve|increase|elevate)\b"
        ),
        (
            "a standard",
            "It nearly meets the criteria for a score of 4.",
        ): (
            r"(?:fails?|partially|partly|nearly|almost|closer?)\b.*\b"
            r"(?:criteria|standards?)\b"
        ),
        (
            "another judge's",
            "GPT-4's score was 4, reviewer 2 recommended a 4",
        ): (
            rf"(?:{_JUDGE})"
            r"(?:'s (?:[a-z]+ )?(?:scores?|ratings?|grades?|marks?|verdict)"
            r"|,?(?: [a-z]+ly)? "
            r"(?:recommend|suggest|propos|ask|want|g[ai]v|award|assign|rate|scor|grade)\w*)\b"
        ),
        (
            "somebody else's",
            "Another response scores 4.",
        ): (
            rf"its own (?:{_JUDGED})\b"
            r"|"
            r"(?:wrongly|incorrectly|mistakenly|falsely|erroneously|model answers?|others)\b"
            r"|"
            r"(?:reference|gold|ideal|sample|example|previous|other|another|different|earlier"
            r"|baseline|original)"
            rf"(?:'s)? (?:version|{_JUDGED})s?\b"
            r"|"
            r"(?:the reference,?"
            r"|(?:improved|revised|corrected|perfect|ideal|stronger|better|rewritten) "
            r"(?:version|response|answer|summary|output|text|translation)s?) "
            r"(?:that|which|would|could|might|will|gets?|scores?|deserves?|earns?|receives?)\b"
            r"|other (?:raters?|judges?|evaluators?|people)\b"
            rf"|(?:someone|some|one|{_PEOPLE}) "
            r"(?:else|might|may|would|people|readers|could|gave|gives?|giving"
            r"|rat(?:e[sd]?|ing)|scor(?:ed|ing))\b"
            r"|(?:article|source|report|review|author|reviewer|news|critic|he|she|they) "
            r"(?:gives|gave|award\w*|assign\w*|receive\w*)\b"
            r"|"
            r"(?:student|author|writer|model|system|response|answer|output|summary|text|user)'?s? "
            r"(?:claims?|(?:rates?|gives?) itself"
            r"|says? (?:(?:its|the) (?:score|rating)|its own)"
            r"|(?:thinks|believes|considers) itself)\b"
        ),
        (
            "a deduction",
            "I rate it down from a 4.",
        ): (
            r"(?:down|up|dropped|lowered|raised|reduced|changed|revised|adjusted|decreased"
            r"|increased) "
            r"(?:it |the (?:score|rating) )?from(?: an?)? ?\Z"
        ),
    },
    # in its sentence from the last "therefore" or "so I" on
    "turn": {
        (
            "hypothetical",
            "If it were fluent, I would give it a 4.",
        ): (
            r"if\b(?<!even if)(?<!as if)(?<!what if)"
            r"(?! (?:i|we) (?:had to|have to|were to|must|need)\b)"
            r"(?! (?:asked|forced|pressed|any|only)\b)"
            r"|"
            r"(?:had (?:it|the|this|there)|were (?:it|the|this)|assuming|once|in case"
            r"|provided that|whenever|imagine|unless|which would)\b"
            rf"|(?:by [a-z]+ing|{_LACKING})\b.*\b(?:would|could|'d)\b"
            r"|(?:although|though|while)\b"
            r"(?! (?:some|others|one|many|people)\b)[^.,!?\n]*\b(?:would|could)\b"
            r"|(?:would|could|(?<!have )to|will) "
            r"(?:make|bring|raise|push|turn|elevate|move|bump|take|lift)\b"
        ),
        (
            "an example or instruction",
            "Your task is to find: I rate it a 4.",
        ): (
            r"(?:please (?:rate|give|assign|score|evaluate|provide|output)|give (?:me|us)"
            r"|you (?:should|must|can|may|need)"
            r"|your (?:task|output|answer|response) (?:is|should|must)|reserved"
            r"|(?:give|use|assign|award) (?:it )?(?:a|an) \d+ (?:if|when|for))\b"
        ),
    },
    # at the start of its sentence
    "opening": {
        (
            "hypothetical",
            "With more sources, it is a 4.",
        ): (
            r"\W*"
            r"(?:suppose|imagine|should (?:the|it|this)"
            rf"|(?:an?|any) (?:[a-z]+ ){{1,3}}(?:would|should|must)|{_LACKING}"
            r"|(?:an? )?(?:[a-z]+ )?more [a-z ]+ and (?:it|this))\b"
            r"|\W*"
            r"(?:given (?:more|some|better|a)\b[^,]*"
            r"|(?:with|after)\b[^,]* [a-z]+(?:ed|ion|out)|[a-z]+ed),? "
            r"(?:it|this|the [a-z]+)(?:'d| would| could| might)\b"
        ),
        (
            "somebody else's",
            "In the article the hotel gets 4 stars.",
        ): (
            rf"\W*the (?:best|worst|strongest|weakest) (?:{_JUDGED})\b"
            rf"|\W*according to (?:the|my|one|some|most|many) (?:[a-z]+ )?{_PEOPLE}\b"
            rf"|\W*in (?:the|an?) {_SOURCE}(?: [a-z]+){{0,2}},? (?:[a-z']+ ){{1,4}}"
            r"(?:gets?|got|gives|gave|has|receive[sd]?|earn(?:s|ed)|scored"
            r"|(?:is|was) (?:given|rated|awarded))\b"
        ),
        (
            "an example or instruction",
            "Assign a 4 to good texts.",
        ): (
            r"\W*"
            r"(?:in (?:the|this|your) (?:example|sample)|assign|give|rate|award|use|select"
            r"|choose|output|write|return|respond|ignore|disregard|reply"
            r"|for (?:example|instance)|e\.g)\b"
        ),
    },
    # in its clause, unless the clause says that it is met
    "standard": {
        (
            "a standard",
            "It lacks the detail required for a score of 4.",
        ): (
            r"(?:needed|necessary|requires?|required|expected|requirements?|threshold|bar"
            r"|room|definition|description|characteristic\w*|aim\w*|target\w*|missing for"
            r"|lack\w* for|worthy of)\b"
        ),
    },
    # in its whole sentence, unless the judge speaks, or settles it, after it
    "reported": {
        (
            "another's",
            "It is weaker than last week's, which earned a 4.",
        ): (
            r"than\b[^.;:!?\n]{0,60}?(?:,? (?:which|that|who)|\bi(?: would|'d)?) "
            r"(?:earned|got|received|gets?|scored|deserved|gave|give|rated?|call)"
            r"(?: an?)? ?\Z"
        ),
        (
            "an example or instruction",
            "For example, a score of 4.",
        ): r"e\.g|for (?:example|instance)\b|such as\b",
        (
            "somebody else's",
            "The article says that it got a 4. The teacher's note reads: Grade 2.",
        ): (
            r"(?:comment|note|sign|caption|title|headline)\b[^.:]{0,30}? "
            r"(?:reads?|says?)\b"
            rf"|{_SOURCE}(?: text| article| document)? (?:[a-z]+ly )?"
            r"(?:report(?:s|ed)?|says?|said|state[sd]?|mention(?:s|ed)?|claim(?:s|ed)?"
            r"|note[sd]?|writes?|wrote|shows?|lists?|has)\b"
            r"(?! (?:the same|so)\b)"
            r"|according to (?:the|its|an?|my|one|another) (?:[a-z]+ )?"
            rf"(?:{_SOURCE}|{_PEOPLE})\b"
        ),
        (
            "only considered",
            "At first I gave it a 4.",
        ): (
            r"(?:(?:consider(?:ed|ing)|(?:thought|thinking) (?:of|about))"
            r"(?=\s*\Z| (?:a|an|giving|rating|scoring|assigning|awarding|whether|between)\b)"
            r"|contemplat\w+|tempt(?:ed|ing)|wanted to|torn between"
            r"|debat(?:e[ds]?|ing) (?:between|whether|giving)"
            r"|(?:initially|originally|at first)(?:,? i)?"
            r"|first (?:thought|instinct|impression)|was (?:going|about) to"
            r"|lean(?:ing|ed)?|previously|formerly|earlier)\b"
        ),
    },
    # before "Score: 4" in its sentence
    "label": {
        ("another judge's", "Reviewer 2: 4"): rf"\b(?:{_JUDGE})\W*\Z",
        (
            "an example or instruction",
            "Your output should be: Score: 4",
        ): (
            r"\b(?:e\.g|for (?:example|instance))\b"
            r"|\A\W*(?:[a-z]+ )?(?:example|sample|format|template)s?"
            r"(?: (?:output|answer|response|rating|score|evaluation))?:.*:"
            r"|(?:such as|instead of|rather than)\W{0,3}[a-z]{0,9}\W{0,3}\Z"
            r"|\b"
            r"(?:at (?:most|least|best)|(?:less|more) than|ideally|asked to [a-z]+|says|said"
            r"|wants)\W*\Z"
            r"|\A\W*(?:should|once|after|when)\b"
            r"|\b"
            r"(?:unless|if|otherwise|provided|assuming|would be|disagree\w*"
            r"|your (?:output|answer|response|task) (?:should|must|is))\b"
            rf"|\A\W*{_LACKING}\b"
        ),
    },
    # right after it
    "after": {
        (
            "unfit",
            "A score of 4 is too generous.",
        ): (
            r"[ \t]+"
            r"(?:(?:is|was|would be|seems?|feels?|appears?)(?: to be)?"
            r"(?: "
            r"(?:a bit|a little|somewhat|slightly|way|far|much|rather|clearly|certainly"
            r"|simply|also))* "
            r"(?:not|never|too (?:high|low|generous|harsh|lenient|much|strict|severe|kind)"
            r"|unjustified|unwarranted|undeserved|excessive|unfair|inappropriate"
            r"|out of (?:reach|the question)|off the table|generous|harsh|reserved"
            r"|impossible|wrong|only for|considered|rejected|ruled out"
            r"|an? (?:[a-z]+ )?(?:exaggeration|overstatement|stretch))\b"
            r"|would (?:ignore|overlook|hide|overstate|understate)\b"
            r"|as (?:the|its|their|an?) (?:[a-z]+ )?(?:solution|answer|result|value)\b"
            r"|(?:would|might) be "
            r"(?!(?:an? )?"
            rf"(?:{FIT}"
            r"|"
            r"(?:more|most|my|our|the|what|right|given|assigned|awarded|good|better|enough"
            r"|accurate|correct|quite|well)\b))"
            r"|(?:is|was|would|could|can|should|does|seem)(?:n't| not)\b|cannot\b|can't\b)"
        ),
        (
            "hypothetical",
            "I would give it a 4 if it were fluent.",
        ): (
            # not what explains a score that stands before a colon
            r"(?!\)?:)[^.!?;\n\d]{0,80}?\b(?<!even )(?<!only )(?<!as )"
            r"(?:if(?! (?:i|we) (?:had|have|must) to\b)|had (?:it|the|there|this|they)"
            r"|were (?:it|the|there)|unless|once (?:it|the)|provided that|but for|save for"
            r"|were it not)\b"
        ),
        (
            "somebody else's",
            "It was rated 4 by critics.",
        ): (
            r"[ \t]*(?:stars?|points?)?,?[ \t]*"
            r"(?:(?:by|from) "
            rf"(?:(?:the|its|his|her|their|some|many|most|several|all|other) ){{0,2}}{_PEOPLE}"
            rf"|according to (?:the|its|an?) {_SOURCE})\b"
        ),
        (
            "a scale point that is explained",
            "A score of 4 means that it is good.",
        ): (
            r"[ \t]*(?:\([^)\n]{0,60}\)\s*)?"
            r"(?:=(?![=>])"
            r"|"
            r"(?:means?|represents?|denotes?|stands for|would mean|corresponds|requires?"
            r"|needs?|demands?)\b"
            r"|indicates? (?:an?|that|the text|the summary|very)\b"
            r"|being (?:the )?(?:best|worst|lowest|highest|poor|excellent|perfect)"
            r"|is (?:the )?"
            r"(?:best|worst|lowest|highest|maximum|minimum|for|when|if|reserved|defined)\b"
            r"|(?:is |are )?(?:given|assigned|awarded|reserved) (?:when|if|for|to)"
            r"|should be (?:given|assigned|used)"
            r"|(?:would|should|must) (?:require|need|mean|be given|have|show|demand))"
        ),
        (
            "a bound",
            "Score: 4 or higher",
        ): (
            r" "
            r"(?:or "
            r"(?:higher|lower|above|below|more|less|better|worse|up|over|under|beyond|so)"
            r"|and (?:above|up|higher|over)|plus(?! \d)|minus(?! \d))\b"
            r"(?! all\b)"
            r"|, (?:minus|less) (?:an? )?(?:\d|half|one|two|three)\b|-ish\b"
        ),
        (
            "a deduction",
            "Score: 4 points off",
        ): (
            r"[ \t-]*(?:points?|pts|marks?) (?:(?:is|are|was|were|has been|have been) )?"
            r"(?:deducted|off|lost|missing|taken|subtracted|removed|docked|short|below|higher"
            r"|lower|less|more)\b"
        ),
    },
    # right after it where the clause says "would"
    "would": {
        (
            "hypothetical",
            "The response would be a 4 with better flow.",
        ): (
            r"[^.!?;\n]{0,80}?\b"
            rf"(?:{_LACKING}|without (?:the|these|those|this|that)|except for|save for)\b"
            r"|[^.!?;\n]{0,20}?\bbut\b"
        ),
    },
}
AT_A_WORD = ("clause", "standard", "turn", "reported")
UNLESS = {
    "standard": re.compile(
        r"\b"
        r"(?:meets?|met|satisf\w+|fulfil\w*|align\w*|adher\w*|match\w*|fits?|warrants?"
        r"|deserv\w*|qualif\w+)\b"
    ),
    "reported": re.compile(
        r"\b"
        r"(?:i|we|i'd|i'll|therefore|thus|hence|so"
        r"|(?:my|the|this|its|overall|final) (?:score|rating)|summary|response|answer"
        r"|output|translation|earning|merits?|deserves?|resulting|giving it"
        r"|giving this|making (?:it|this|the)|thereby|scoring"
        r"|which (?:scores?|indicates|brings?|makes?|gives?|lowers?|results)|brings"
        r"|indicating|warranting|scores|but|however|though|although|settled?|finally"
        r"|decided|ended|instead|nevertheless)\b"
    ),
}
# a new thought begins: what was negated before it is over. A bare verb after a comma
# goes on: "I don't, ..., give it 5"
CLAUSE = re.compile(
    r"\W"
    r"(?:(?<=[,(])"
    r"(?! ?(?:[a-z]+ly )?"
    r"(?:give|rate|deserve|merit|warrant|score|award|assign|get|earn|receive|grant"
    r"|justify|call)\b)"
    r"|(?<=[:(])|(?<= )- "
    r"|"
    r"(?:(?<!anything )but|so(?! far| much| as)|therefore|thus|hence|however|yet"
    r"|because|since|which|result(?:ing|s in| in)|earning|receiving|getting"
    r"|leading|making it|i'd|i'll"
    r"|(?<!would )(?<!could )(?<!should )(?<!do )(?<!did )(?<!can )i"
    r"(?= (?:would |will |'d )?(?:give|rate|score|assign|award|am giving|say|go))"
    r"|and"
    r"(?= "
    r"(?:i|it|so|thus|therefore|hence|gets|earns|receives|deserves|scores|gives|give"
    r"|would|is|has)\b))\b)"
)
SENTENCE = re.compile(
    r"[\n.!?;](?:(?<=\n)|(?<!\.[eg].)[\"')\]]{0,3}(?=\s|(?<=[.!?])\Z))"
)
TURN = re.compile(
    r"\W"
    r"(?:therefore|thus|hence|resulting|which results|earning|scoring|receiving"
    r"|making (?:it|this)|which gives|giving (?:it|this)|leading (?:me )?to"
    r"|so (?:i|it|the|this|my)|but (?:i|it|the|this|i'd|i'll))\b"
)
QUESTION = re.compile(
    r"\W*"
    r"(?:do|does|did|is|are|was|should|could|would|can|might|may|will|why|what|how"
    r"|who|which|has|have|isn't|doesn't)\b"
)
QUOTED_LEFT = re.compile(r"(?<!\w)'(?=[a-z])(?:[^'\n]|(?<=\w)'(?=\w)){0,100}\Z")
QUOTED_RIGHT = re.compile(r"(?:[^'\n]|(?<=\w)'(?=\w)){0,60}'(?!\w)")
ASIDE = re.compile(
    r"(?<=not|n't|uld|ill|ver| to),[^,.!?\n]{1,60},"
)  # "I cannot, in good conscience, give it a 5"

_N = rf"(?:{DIGITS}|{WORD})(?![a-z0-9])"
# after a verdict: the judge thinks again; and all there may be between that and the
# verdict that then stands
CORRECTION = re.compile(
    r"\W"
    r"(?:on (?:second thoughts?|reflection|re-?reading)|scratch that|correction\b"
    r"|looking again|let me (?:re|correct|change|adjust)\w*"
    r"|->(?= (?:after|on|upon|but)\b)"
    r"|(?:(?<=->)|(?<=->\W)|\() ?"
    r"(?:revis|correct|chang|lower|rais|adjust|updat)ed (?:down |up )?to\b"
    r"|i(?:'m| am)? (?:(?:must|have to|will|'ll) )?"
    r"(?:revis|correct|chang|tak|lower|rais|reconsider)(?:e|ing|ed)? "
    r"(?:my|it|that|the)"
    r"|(?:score|rating|grade) should have been\b|actually,"
    r"|no, (?:a|an|it|make|rather)|(?:no,? )?wait[,.!]|make that|i meant\b"
    r"|or rather\b"
    r"|[.!?;,-]{0,4} "
    r"(?:no|(?:hmm+,? )?(?:rather|(?P<unsure>maybe|perhaps)))[:,]? "
    rf"(?=(?:an? )?{_N}(?:/\d+)?\s*(?:[.!,;]|\Z)))"
    r"(?P<rest>[^\n]{0,60})"
)
WITHDRAWN = re.compile(
    r"\b"
    r"(?:(?:disregard|withdraw|retract) "
    r"(?:(?:that|this|my|the) (?:score|rating|grade|mark|number|verdict|choice)|it\b)"
    r"|(?:it|that|this) (?:isn't|is not|wasn't) mine\b"
    r"|\bnow,? (?:please )?(?:evaluate|rate|grade|assess|score) the\b"
    r"|\bnow,? it's your turn\b|i leave (?:it|this|that) (?:open|to you)"
    r"|i (?:must |have to )?(?:decline|refuse) to "
    r"(?:give|assign|provide|offer|rate|score)\b"
    r"(?! (?:it |this )?(?:an? )?\w* ?\d))"
)
CORRECTED = re.compile(
    r"[\s:,.-]*"
    r"(?:(?:no|make|it|it's|that|this|is|an?|my|the|new|final|overall|score|rating|mind"
    r"|back|down|up|to|i|i'd|i'll|would|should|be|say|give|rate|rather|more|like"
    rf"|go|with)[\s:,]+)*{_N}"
    r"(?:/\d+| out of \d+)?"
    r"(?:\s*(?:[.!]+(?=\s|\Z)|\Z)| (?:after|because|since|as|due)\b)"
)
