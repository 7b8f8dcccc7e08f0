"""Text to value or reason: pure functions, one module an output family; none raises on any text.

Every parser returns a frozen `Parsed`: `value`, `status`, `reason`, `rule`, and what its family also reads. A text
without a value that can be read with certainty is missing, with the reason; nothing is guessed, clipped or filled in.
"""

from nlgeval_lib.parsers import naive
from nlgeval_lib.parsers.aspects import Aspect, AspectList, AspectScores, aspect_scores, aspects
from nlgeval_lib.parsers.base import Parsed
from nlgeval_lib.parsers.choice import Choice, preference, yes_no
from nlgeval_lib.parsers.criteria import CriteriaList, Criterion, criteria
from nlgeval_lib.parsers.error_analysis import MQM, ErrorAnalysis, error_analysis
from nlgeval_lib.parsers.error_fields import ErrorItem
from nlgeval_lib.parsers.feedback import Feedback, feedback
from nlgeval_lib.parsers.instructscore import instructscore
from nlgeval_lib.parsers.multiple_choice import Pick, multiple_choice
from nlgeval_lib.parsers.rating import Rating, rating
from nlgeval_lib.parsers.tigerscore_authors import tigerscore_authors

verdict_yes_no = yes_no

__all__ = [
    "MQM",
    "Aspect",
    "AspectList",
    "AspectScores",
    "Choice",
    "CriteriaList",
    "Criterion",
    "ErrorAnalysis",
    "ErrorItem",
    "Feedback",
    "Parsed",
    "Pick",
    "Rating",
    "aspect_scores",
    "aspects",
    "criteria",
    "error_analysis",
    "feedback",
    "instructscore",
    "multiple_choice",
    "naive",
    "preference",
    "rating",
    "tigerscore_authors",
    "verdict_yes_no",
    "yes_no",
]
