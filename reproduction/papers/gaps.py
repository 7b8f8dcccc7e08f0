"""Why a printed cell has no number of ours: four kinds that are never mixed up.

A reason begins with its kind and a colon, as `gap(NEEDS_RUN, "gpt-4-32k on SummEval")`
writes it. Reasons that name no kind are recognised by words that the library itself
writes.
"""

from __future__ import annotations

NOT_PUBLISHED = "not published"  # nobody but the authors has what the number is made of
ELSEWHERE = "published elsewhere"  # it is public at an address, and not read here
NEEDS_RUN = "needs a run"  # a model has to be asked
NEEDS_WEIGHTS = "needs weights"  # a model's weights have to be loaded
GAPS = (NOT_PUBLISHED, ELSEWHERE, NEEDS_RUN, NEEDS_WEIGHTS)
OTHER_GAP = "other"
# words of a reason that names no kind -> its kind; the first that is there decides
_WORDS = {
    "no completions of": NEEDS_RUN,
    "nothing was computed with": NEEDS_WEIGHTS,
    "not published": NOT_PUBLISHED,
    "never published": NOT_PUBLISHED,
}


def gap(kind: str, text: str) -> str:
    """A reason that begins with its kind, as a missing cell carries it.

    text: what was not published, is elsewhere, or is needed.
    Raises: ValueError for a kind that is none of GAPS.

    Example:
    >>> gap(NEEDS_RUN, "gpt-4-32k on SummEval")
    'needs a run: gpt-4-32k on SummEval'
    """
    if kind not in GAPS:
        raise ValueError(f"{kind!r} is no kind of gap; one of {', '.join(GAPS)}")
    return f"{kind}: {text}"


def gap_of(reason: str) -> str:
    """The kind of a reason for a missing number: one of GAPS, or "other".

    reason: as `gap` writes it, or any text; the library's own words in it tell the
    kind.

    Example:
    >>> gap_of("nothing was computed with BLEURT-20")
    'needs weights'
    """
    for kind in GAPS:
        if reason.startswith(f"{kind}:"):
            return kind
    for words, kind in _WORDS.items():
        if words in reason:
            return kind
    return OTHER_GAP
