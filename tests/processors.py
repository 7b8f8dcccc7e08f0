"""Imported before numpy and torch: workers that run side by side share the processors.
Each that takes all of them for its threads would wait for the others.
"""

from __future__ import annotations

import os

_WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
_THREADS = max(1, (os.cpu_count() or 1) // _WORKERS)
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, str(_THREADS))
