"""MetricInstruct, TIGERScore's training set: outputs of systems and spoiled references, analysed, filtered, counted.

    frame = least_likely(sample_outputs(inputs, {"system": engine}), BartScore(model=..., direction="precision"))[0]
    built = MetricInstruct().build(teacher, store, real=frame, synthetic=inputs, free=instructions)
    built.save("data/raw/metricinstruct")

Source: TIGERScore, section 3 and appendices A.1 to A.7.
"""

from __future__ import annotations

from nlgeval_lib.training.metricinstruct.build import MetricInstruct
from nlgeval_lib.training.metricinstruct.candidate import Candidate, analysis
from nlgeval_lib.training.metricinstruct.outputs import least_likely, sample_outputs

__all__ = ["Candidate", "MetricInstruct", "analysis", "least_likely", "sample_outputs"]
