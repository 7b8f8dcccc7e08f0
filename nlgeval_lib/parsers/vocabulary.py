"""The words of labels: what a score is called, what is called otherwise, and what says nothing."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NOUNS = _words(
    "score scores rating ratings rate grade grades mark marks star stars points verdict evaluation assessment judgment"
    " judgement result"
)
RANKS = _words("final overall total ultimate concluding revised updated corrected adjusted definitive")
# "rating scale: 1", "score reduction: 2", "error rate: 3", "human score: 4": names of something else
NOT_A_SCORE = _words(
    "scale scales range rubric rubrics guide guideline guidelines criteria criterion key legend system systems method"
    " distribution difference deduction deductions reduction penalty error errors mistake mistakes confidence certainty"
    " weight breakdown reasoning exact max maximum min minimum highest lowest best worst mean median average previous"
    " initial original human expert gold reference expected target possible word count length number step steps page"
    " date year time age id index question task example sample option choice article paragraph sentence line item"
    " version level threshold baseline percentage words tokens chapter section figure table note notes base starting"
    " class rank position humans experts annotator annotators preliminary tentative provisional credit imdb"
    " tied passing pass cutoff required needed desired"
)
# right before a score they make it the one of a contest: "test score: 4", "the score of the game is 4"
CONTESTS = _words(
    "game games match matches exam test tests quiz halftime half-time user users"
    " customer customers viewer viewers audience"
    " critic critics"
)
# of those, what is no score even where its number is written like one: "Confidence: 4/5"
NEVER_A_SCORE = _words(
    "confidence certainty weight deduction deductions reduction penalty errors mistakes human humans expert experts"
    " annotator annotators gold reference expected previous max maximum min minimum count length threshold baseline"
)
NEUTRAL = _words(
    "a an the my your our this that its of for to and i would give given assign assigned is it as on in by with be"
    " single numeric numerical integer perfect high low summary summarys response text output answer translation"
    " generation story dialogue article's summary's response's here's here so thus therefore hence quality out"
    " evaluation evaluate rated rate suggested appropriate suitable fair only one each system model rater judge respond"
    " deserved earned based above below following please provide potential candidate generated main general moderate"
    " good decent fairly resulting results receives receive gets earns deserves"
)
# headings of the parts of one judgment, not of something that is scored
SECTION_PARTS = _words(
    "reason reasons reasoning explanation rationale justification analysis comment comments feedback evidence final"
    " answer response evaluation example output conversation history fact document source instruction instructions"
    " steps form"
)
# these make a sentence of a heading: "The summary says: ..."
SAYS = _words("says states is are was were reads includes mentions gives claims asks contains has have")
# HTML elements that only dress a number
PLAIN_TAGS = _words("strong span div code pre mark big small del ins sub sup font center body html label")
# after "for" or "in": no aspect
NO_ASPECT = _words(
    "the this that it its being not lacking having failing providing terms total all both each my such summary response"
    " text answer output article translation story reason reasons several following these those general opinion me"
    " accordance contrast addition fact comparison line order example instance"
)
# "seems to deserve a 4" says that it does
PURPOSE_FINE = _words("seems seem appears appear enough able manages manage managed continues happens failed fails")
# a label line in any language is read as such; these make it a plain score
FOREIGN = re.compile(
    r"bewertung|punktzahl|gesamtnote|puntuaci[oó]n|calificaci[oó]n|puntaje|pontuação|avaliação|punteggio|valutazione|"
    r"оценка|оценки|балл|评分|評分|得分|打分|分数|分數|总分|スコア|評価|点数|점수|평점|التقييم|الدرجة|स्कोर"
)
_QUALITIES = (
    r"(?:[a-z]+ness|coherence|consistency|fluency|relevance|relevancy|adequacy|accuracy|clarity|faithfulness|factuality|"
    r"readability|informativity|understandability|quality|creativity|grammaticality|grammar|validity|likability|"
    r"diversity|depth|style|tone|similarity|honesty|cohesion|structure|originality|specificity|simplicity|novelty|"
    r"complexity|toxicity|safety|humanity|empathy)"
)
QUALITY_NAME = re.compile(rf"(?:[a-z]+[ _-])?{_QUALITIES}|overall|flow")
QUALITY = rf"\b(?P<quality>{_QUALITIES})\b"
