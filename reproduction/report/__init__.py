"""What a notebook shows and saves.

out = report.Output("hdeval_table_01", mode=mode, parameters=dict(seed=seed)); cells = out.compare(ours);
out.table(cells) is the last line of a cell, out.save() of the last one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nlgeval_lib.on_use import loaded_on_use

if TYPE_CHECKING:
    from reproduction.report.comparisons import comparison
    from reproduction.report.output import Output

__all__ = ["SITE", "Output", "comparison"]

SITE = Path(__file__).parent / "site"  # templates and scripts of the report's pages


def filled(template: str, **values: object) -> str:
    """A template of `site/` for Markdown, with these values."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(SITE),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(values)


# The runner reads notebooks, and needs no pandas for it.
__getattr__ = loaded_on_use(
    __name__, {"output": ("Output",), "comparisons": ("comparison",)}
)
