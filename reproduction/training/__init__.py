"""The papers' training side: data pipelines for any engine as the teacher, fine-tuning,
and the sets' statistics.

`metricinstruct` TIGERScore's data, `analyses` the judges that made and checked them;
`feedback_collection` Prometheus' data; `finetune` one entry for all trained evaluators;
`statistics` what a set looks like; `mini` the miniature judge at run time.
"""

from __future__ import annotations
