"""Why a printed cell has no number of ours: four kinds that are never mixed up.

A reason begins with its kind and a colon, as `gap(NEEDS_RUN, "gpt-4-32k on SummEval")`
writes it. Reasons that name no kind are recognised by words that the library itself writes.
"""

from __future__ import annotations

NOT_PUBLISHED = "not published"
ELSEWHERE = "published elsewhere"
NEEDS_RUN = "needs a run"
NEEDS_WEIGHTS = "needs weights"
GAPS = (NOT_PUBLISHED, ELSEWHERE, NEEDS_RUN, NEEDS_WEIGHTS)
OTHER_GAP = "other"
_WORDS = {
    "no completions of": NEEDS_RUN,
    "nothing was computed with": NEEDS_WEIGHTS,
    "not published": NOT_PUBLISHED,
    "never published": NOT_PUBLISHED,
}


def gap(kind: str, text: str) -> str:
    """A reason that begins with its kind.

    Raises: ValueError for a kind that is none of GAPS.
    """
    if kind not in GAPS:
        raise ValueError(f"{kind!r} is no kind of gap; one of {', '.join(GAPS)}")
    return f"{kind}: {text}"


def gap_of(reason: str) -> str:
    """The kind of a reason for a missing number: one of GAPS, or "other"."""
    for kind in GAPS:
        if reason.startswith(f"{kind}:"):
            return kind
    for words, kind in _WORDS.items():
        if words in reason:
            return kind
    return OTHER_GAP
