"""The Feedback Collection, Prometheus' training set: rubrics, instructions, and a response for each score.

    built = FeedbackCollection(rounds=10, per_round=50, instructions=20).build(teacher, store)
    built.save("data/raw/feedback_collection")

The paper's 50 seed rubrics are not public: twelve of our own are built in, or `seeds("my_rubrics.jsonl")`.
Source: Prometheus, section 3 and appendices C and I.
"""

from __future__ import annotations

from nlgeval_lib.training.feedback_collection.build import VIEWS, Collection, FeedbackCollection
from nlgeval_lib.training.feedback_collection.pieces import seeds

__all__ = ["VIEWS", "Collection", "FeedbackCollection", "seeds"]
