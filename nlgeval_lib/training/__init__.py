"""The papers' training side: data pipelines for any engine as the teacher, fine-tuning, and the sets' statistics.

`statistics` what a set looks like; `metricinstruct` TIGERScore's data; `feedback_collection` Prometheus' data;
`finetune` one entry for all trained evaluators. `mini`, the miniature judge, stands beside them.
"""

from __future__ import annotations
