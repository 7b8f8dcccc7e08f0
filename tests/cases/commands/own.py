"""A metric of the user's own."""

from nlgeval_lib.evaluators import register, score_frame
from nlgeval_lib.records import Judgment


@register("length_of_output")
class LengthOfOutput:
    """How many words an output has."""

    def __init__(self, least: int = 0, scale: float | None = None, only: bool = False):
        self.least, self.scale, self.only = least, scale, only

    def signature(self):
        return (
            f"length_of_output|least:{self.least}|scale:{self.scale}|only:{self.only}"
        )

    def score(self, frame):
        found = [
            Judgment(max(self.least, len(text.split())) * (self.scale or 1.0))
            for text in frame["output"]
        ]
        return score_frame(frame.index, found, self.signature())
