"""The rating parser's table of cues: what presents a number as a verdict, and the words of labels."""

from __future__ import annotations

import re
from typing import NamedTuple

from nlgeval_lib.parsers.text import DIGITS, WORD, words

ALONE, FORM, ASPECT, PHRASE, LABEL, FINAL = range(1, 7)  # how plainly a text presents a number as its verdict


def _words(text: str) -> frozenset[str]:
    return frozenset(words(text))


# --- words of labels ------------------------------------------------------------------------------------------------
NOUNS = _words(
    "score scores rating ratings rate grade grades graded mark marks star stars points verdict evaluation assessment"
    " judgment judgement result note nota"
)
RANKS = _words("final overall total ultimate concluding revised updated corrected adjusted definitive conclusion")
AWARDED = _words("earned awarded obtained achieved received granted given")
# names of something else even where the number is written as a score: "Confidence: 4/5"
NEVER_A_SCORE = _words(
    "confidence certainty weight deduction deductions reduction penalty errors mistakes human humans expert experts"
    " annotator annotators gold reference expected previous max maximum min minimum count length threshold baseline if"
)
TOPS = _words("full max maximum highest best lowest minimum possible")
# "rating scale: 1", "score range: 2"
NOT_A_SCORE = (
    NEVER_A_SCORE
    | TOPS
    | _words(
        "scale scales range rubric rubrics guide guideline guidelines criteria criterion key legend system systems"
        " method distribution difference error mistake breakdown reasoning exact worst mean median average initial"
        " original target word number step steps page date year time age id index question task example sample option"
        " choice article paragraph sentence line item version level percentage words tokens chapter section figure"
        " table notes base starting available class rank position preliminary tentative provisional credit imdb not"
        " never tied passing pass cutoff required needed desired ideally format output issues problems typos omissions would"
        " could might"
    )
)
# right before a score they make it the one of a contest: "test score: 4", "the score of the game is 4"
CONTESTS = _words(
    "game games match matches exam test tests quiz halftime half-time user users customer customers viewer viewers"
    " audience critic critics"
)
# words of a label that name no aspect
NEUTRAL = _words(
    "a an the my your our this that its of for to and i would give given assign assigned is it as on in by with be"
    " single numeric numerical integer perfect high low summary summarys response text output answer translation"
    " generation story dialogue article's summary's response's here's here so thus therefore hence quality out"
    " evaluation evaluate rated rate suggested appropriate suitable fair only one each system model rater judge respond"
    " deserved earned based above below following please provide potential candidate generated main general moderate"
    " namely good decent fairly resulting results receives receive gets earns deserves likert"
)
# headings of the parts of one judgment, not of something that is scored
PARTS = _words(
    "reason reasons reasoning explanation rationale justification analysis comment comments feedback evidence final"
    " answer response evaluation example output conversation history fact document source instruction instructions"
    " steps form note notes"
)
NOT_ASKED = NOUNS | NEUTRAL | RANKS
NO_ASPECT = (
    NEUTRAL
    | PARTS
    | _words(
        "article source not lacking having failing providing terms total all both such several these those opinion "
        "me accordance contrast"
        " addition comparison line order instance being what how effort"
    )
)
# "the score of the article": what is scored, in the middle of a phrase
WHAT_IS_SCORED = _words("level number article sentence best paragraph would output")
FOREIGN = re.compile(
    r"bewertung|punktzahl|gesamtnote|puntuaci[oó]n|calificaci[oó]n|puntaje|pontuação|avaliação|punteggio|valutazione|"
    r"оценка|оценки|балл|评分|評分|得分|打分|分数|分數|总分|スコア|評価|点数|점수|평점|التقييم|الدرجة|النتيجة|स्कोर|betyg"
)
_QUALITY = (
    r"(?:[a-z]+ness|coherence|consistency|fluency|relevanc[ey]|adequacy|accuracy|clarity|factuality|readability|"
    r"informativity|understandability|quality|creativity|grammaticality|grammar|validity|likability|diversity|depth|"
    r"style|tone|similarity|honesty|cohesion|structure|originality|specificity|simplicity|novelty|complexity|toxicity|"
    r"safety|humanity|empathy)"
)
QUALITY = re.compile(rf"\W({_QUALITY})\b")
# what ends a phrase: "its coherence", "the fluency of the text"; and before a verb: "its fluency is"
QUALITY_LAST = re.compile(
    rf"\W({_QUALITY})(?=(?: of (?:the|this|its) (?:[a-z]+ )?[a-z]+| is| was| be)?(?: as| at| with)?\s*\Z)"
)
QUALITY_NAME = re.compile(rf"(?:[a-z]+[ _-])?{_QUALITY}|overall|flow")

# --- words between a cue and its number, and before a verb ----------------------------------------------------------
FILL = _words(
    "a an solid strong clear perfect full low high mere generous decent good weak fair firm flat modest respectable"
    " moderate maximum minimum poor top near-perfect middling average final numeric numerical bare resounding"
    " well-deserved well-earned straight lower higher lowest highest relatively very max just exactly about around"
    " approximately roughly therefore thus clearly now simply still merely probably likely rather fairly quite hence"
    " definitely certainly currently indeed actually only easily"
)
# of those, what leaves it in doubt where no verb presents the number: "Score: about 4", "Around 3."
HEDGES = _words("about around approximately roughly probably likely rather now only just")
# who gives or gets the judge's score: the judge, what it judges, and "so", "and", "thus" without a subject
OWN = _words(
    "i we it this that which they both one these and so but thus therefore hence to not then overall also who analysis"
    " assessment evaluation rubric judgment verdict me us i'd i'll we'd i've it's or finally conclusion because yet"
    " performance system model"
)
JUDGED = _words(
    "response summary answer output text translation story generation essay article reply dialogue sentence candidate"
    " one headline caption paraphrase statement explanation completion message turn submission responses summaries it"
    " this hypothesis conversation paragraph passage poem code"
)
AUXILIARIES = _words(
    "would will have has had am is are was were be been being should must can do does did 'd could shall may might"
    " can't don't not really"
)

# --- cues -----------------------------------------------------------------------------------------------------------
# the number ends here: no noun that it counts comes after
END_SIGNS = "\n.!?:;,()]\"'}|/&"
END_OF_NUMBER = (
    rf"(?=[ \t]*(?:\Z|[{re.escape(END_SIGNS)}\x01\x02\\]|-(?![\da-z])|->|="
    r"|(?:for|in|on|because|as|since|due|based|with|and|but|overall|out|given|although|though|while|which|when|if|"
    r"rather|instead|is|here|from|to|or|stars?|points?|pts|marks?|indicat\w+|suggest\w+|would|score|rating|reflect\w+|"
    r"regarding|according|considering|under|at|by|that|so|thus|therefore|means?|represent\w*|was|this|the|i|it|not|"
    r"only|seems|appears|feels|punkten?|puntos|estrellas|étoiles|sternen?|despite|mainly|primarily|mostly|largely|"
    r"rationale|reason|explanation|analysis|after|per|being|showing|shows|simply|purely|unless|until|then|now|"
    r"again|than)\b))"
)
ENDS = re.compile(END_OF_NUMBER)
_VERB = (
    r"(?:rat|scor|grad)(?:e[sd]?|ing)|(?:assign|award|earn|merit|warrant|obtain|mark)(?:s|ed|ing)?|(?:receiv|deserv|"
    r"achiev)(?:e[sd]?|ing)|giv(?:es?|en|ing)|gave|gets?|got|getting|evaluate[sd]?|judged?|worth|(?:mak(?:es?|ing)|"
    r"call|place|put|peg|consider|deem|find|see|brings?)(?= it| this| that| the)"
)


class Cue(NamedTuple):
    """A row of the cues: how strong it is, and the words one of which ends it ("a": an article is left out)."""

    name: str
    strength: int
    last: str


# what ends right before the number, adjectives and adverbs in between left out; the sentence has a blank before it
CUES = {
    # "Overall, a 4"
    Cue(
        "overall", FINAL, "overall total all sum altogether conclusion short up considered end balance"
    ): r"\W(?:overall|in "
    r"total|all in all|in sum|altogether|in conclusion|in short|to sum up|all things considered|in the end|on "
    r"balance),?",
    # "The score of the text is 4"
    Cue("score is", LABEL, "of is as at was be being equals to comes"): r"\W(?P<noun>(?:score|rating)s?|grade|mark|"
    r"evaluation|assessment|verdict|judge?ment)\b(?P<mid>[^.!?\n;:\d]{0,70}?)\b(?P<link>of|is|as|at|was|be|being|"
    r"equals|equal to|set to|comes to|stands at)",
    # "Score 4"
    Cue(
        "score", LABEL, "score rating grade mark verdict star stars"
    ): r"\W(?P<noun>score|rating|grade|mark|verdict|stars?)",
    # "I rate it a 4"
    Cue("rate it", PHRASE, f"a as at with of it this that them one quality {' '.join(JUDGED)}"): rf"\A(?s:.*)"
    rf"\W(?P<verb>{_VERB})\b(?:[\s,]+[a-z'\"-]++){{0,11}}",
    # "For style I give 4"
    Cue(
        "I give", PHRASE, "give giving award awarding assign assigning one"
    ): r"\W(?:i|we)(?:'d|'ll|'m| am| would| will)? "
    r"(?:giv(?:e|ing)|award(?:ing)?|assign(?:ing)?)(?: this one)?",
    # "It gets 4, and"
    Cue(
        "it gets",
        PHRASE,
        "give gives gave given award awards awarded assign assigns assigned get gets got receive receives received earn"
        " earns earned deserve deserves deserved merit merits",
    ): rf"\W(?P<verb>{_VERB})",
    # "I'd say 4"
    Cue(
        "say",
        PHRASE,
        "rate rates rated scores scored scoring graded on for with choose chose select selected pick picked say go "
        "it it's"
        " vote voted is was at as be",
    ): r"\W(?:(?P<verb>rate[sd]?|scor(?:e[sd]|ing)|graded)|settl(?:e[sd]?|ing) (?:on|for)|go(?:ing)? (?:with|for)|"
    r"went with|decided? on|conclude with|(?:i|we|this|it|that|which)(?:'d| would| will|'ll)? (?:finally |eventually )?"
    r"(?:land|end up|arrive|come (?:out|down)|settle|sit|ended up|landed|arrived|ends up|lands|sits|finish(?:es)?|"
    r"(?:came|comes) (?:out|down)) (?:on|at|with|as)|choose|chose|select(?:ed)?|pick|picked|opt(?:ed)? for|"
    r"stick(?:ing)? with|i'?(?:d|ll) (?:say|go)|i (?:would |will )?say|let(?: me|'s| us)(?: just)? say|i voted?(?: "
    r"for)?|my "
    r"(?:final |own |overall )?(?:answer|choice|pick|vote|decision|conclusion|call|number|opinion) (?:is|was|would be)|"
    r"(?:(?:for|to) me|in my (?:eyes|view|opinion)),? (?:it|this|that)(?: is|'s| would be)|it'?s|(?:make|call) it)",
    # "This is a 4"
    Cue("this is a", PHRASE, "a"): r"\W(?:it|this|that|response|summary|output|answer|text|translation|story)"
    r"(?:'s| is| was| would be| should be| 'd be)(?:\s(?:rather|only|just|clearly|definitely|about))?",
    # "That brings the score down to 4"
    Cue(
        "moved to", PHRASE, "to"
    ): r"\W(?:(?P<verb>br(?:ing|ought)|lower|reduc|drop|rais|mov|chang|revis|adjust|downgrad|"
    r"upgrad|bump|knock|pull|push|decreas|increas|mark|lift|nudg|elevat|drag|tak|cut)\w* (?:it|this|that|(?:the|my|"
    r"its) (?:overall |final )?(?:score|"
    r"rating|grade))|(?:score|rating|grade) (?:(?:is |was )(?:lowered|reduced|raised|changed|revised|adjusted)|drops|"
    r"falls|rises|comes|goes))(?: back)?(?: down| up)?(?: from(?: an?)? \S{1,6})? to",
    # "A 4 is fair"
    Cue("a 4 is fair", PHRASE, "a"): "",
    # "3 is fair"
    Cue(
        "4 is fair", PHRASE, ""
    ): r"(?:\A\W*|[,:;.!?(-]|\b(?:so|but|yet|think|believe|feel|say|guess|(?:think|believe|feel) "
    r"that))",
    # "Rather a 2 than a 1"
    Cue(
        "a 4 than a 3", PHRASE, "a"
    ): r"\A\W*(?:(?:it|this)(?:'s| is)|i'd (?:say|call it)|more)?(?: more)?(?: (?:of|like))?",
    # "which leaves 3"
    Cue("leaves", PHRASE, "leaves leaving it with at"): r"\W(?:(?:which|this|that) leaves|(?<=, )leaving)"
    r"(?: (?:me|us|it|this)(?: (?:with|at))?)?",
    # "4 is my score"
    Cue("4 is my score", PHRASE, ""): "",
    # "The coherence of the text is 4"
    Cue("its quality is", ASPECT, "is as at gets scores get scored"): rf"\W(?P<quality>{_QUALITY})[^.!?\n;:\d]{{0,50}}?"
    r"\b(?:is|as|at|gets?|scores|scored)",
}
_IS = (
    r"(?:is|seems|would be|feels|appears|sounds|looks)(?: to be)?(?: (?:more|most|quite|well|entirely|fully|therefore|"
    r"thus|only))*"
)
FIT = r"(?:appropriate|fair|about right|justified|warranted|fitting|suitable|deserved|merited|reasonable|apt|fairer)\b"
_SETTLED = r"(?![^.!?\n]{0,40}\b(?:if|had|were|with more|unless)\b)(?! (?:when|if|for|to)\b(?! (?:me|this|it)\b))"
# what must follow the number
AFTER = {
    "it gets": r"[ \t]*(?:\Z|[.!?;,)\x02]|\n|(?:and|but|while|whereas|because|since|due to|for|as)\b)",
    "a 4 is fair": rf"[ \t]+{_IS} (?:{FIT}|(?:about )?right\b|earned\b|given\b|awarded\b|assigned\b){_SETTLED}",
    "4 is fair": rf"[ \t]+(?:{_IS} {FIT}{_SETTLED}|(?:seems|feels|sounds) right\b|it is(?=[.!,;]|\Z)|"
    r"is what (?:i|it|this)\b)",
    "a 4 than a 3": rf"[ \t]+than (?:an? )?(?:{DIGITS}|{WORD})\b",
    "4 is my score": r"[ \t]+(?:is|would be|seems) (?:the|my|our) (?:(?:most )?(?:appropriate|right|correct|fair|"
    r"fitting|suitable|final|overall) )?(?:score|rating|grade|verdict|answer)\b",
}
ASPECT_AFTER = re.compile(
    r"[ \t]*(?:stars?|points?|marks?)?[ \t]*(?:for|in terms of|in|on|regarding|with respect to|with regards? "
    r"to)\s+(?:the\s+|its\s+|overall\s+|both\s+)*(?P<word>[a-z][a-z-]+)"
)
# "4 for style and 3 for content"
SPLIT_AFTER = re.compile(
    r"[ \t]*(?:stars?|points?)?[ \t]*(?:for|in|on)\s+[a-z ]{1,30}[,;]?\s*(?:and|"
    r"but)?\s*(?:an?\s+)?\d+(?:\.\d+)?(?:\s*/\s*\d+|\s+out of \d+)?\s*(?:stars?|points?)?\s*(?:for|in|on)\s+[a-z]"
)
# forms: "4: good" at the start, "covers 4 out of 5", "(4)", a last "4." after a sentence, "Yes, 1"
AFTER_LEAD = re.compile(r"\t|[ \t]*(?:(?P<list>[.)])|[:,;\]|-]|->|\(|\n|\Z|(?:because|since|due to)\b)")
COUNT_BEFORE = re.compile(
    r"\b(?:cover(?:s|ed)?|mention\w*|includ\w+|captur\w+|contain\w*|answers|correct(?:ly)?|address\w*|solve[sd]?|"
    r"miss\w*|omit\w*|on|since|until|dated|by|only|of the|about|at|roughly|around|nearly|and|from|won|lost|beat|in|"
    r"identif\w+|match\w*|has|have|had|are|were|for|least|than|reach\w*|(?!(?:rat|scor|grad|award|receiv|earn|achiev|"
    r"judg)ed\b)[a-z]+ed)\s*\Z"
)
TEXT_END = re.compile(r"[\s.!)\]\"'}|\x02]*\Z")
CLOSING = re.compile(
    r"(?<!\d)(?<!\b(?:no|nr|pp|ch|eq|ca|vs))(?<!\b(?:fig|vol|sec|art|est|avg))(?<!\bp)(?<!approx)[.!?][\"')]*\s*-?\Z"
)
SHORT_ANSWER = re.compile(
    r"\A\W*(?:yes|no(?!\.)|good|bad|ok|okay|fair|poor|dull|excellent|somewhat(?: [a-z]+)?|interesting)\W+\Z"
)
