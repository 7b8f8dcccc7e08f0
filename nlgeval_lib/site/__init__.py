"""The results as a static site that needs no server, no script and no network: `nlgeval report`."""

from __future__ import annotations

from nlgeval_lib.site.build import Built, build

__all__ = ["Built", "build"]
