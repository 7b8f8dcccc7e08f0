"""The frame of every page: one stylesheet inside it, no script, and a policy that lets nothing be fetched."""

from __future__ import annotations

import functools
import html

from nlgeval_lib.report.tables import STYLE

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_CSS = """
*{box-sizing:border-box}
body{margin:0;color:#1a1a1a;background:#fff;font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
header{border-bottom:1px solid #d0d0d0;background:#f7f7f7;padding:.6em 1.2em;font-size:.9em}
header a{color:#0b5394;text-decoration:none;margin-right:1.2em}
main{max-width:62em;margin:0 auto;padding:1em 1.2em 4em}
h1{font-size:1.7em;line-height:1.25}h2{font-size:1.25em;margin-top:2em}h3{font-size:1.05em}
a{color:#0b5394}
img{max-width:100%;height:auto}
img.formula{max-width:none}.formula-block{display:block;text-align:center;margin:.6em 0}
code,pre,kbd,samp{font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
p code,li code,td code{background:#f3f3f3;padding:.05em .3em;border-radius:3px}
.input_area,.highlight{background:#f7f7f7;border-radius:4px}
.input_area pre,.highlight pre{margin:0;padding:.6em .8em;overflow-x:auto}
.prompt{display:none}
.cell{margin:.6em 0}
.output pre,.output_area pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.4em 0;color:#333}
.output_area{overflow-x:auto}
table{border-collapse:collapse;font-size:.85em;margin:.6em 0}
th,td{border:1px solid #d0d0d0;padding:.25em .55em;text-align:left;vertical-align:top}
thead th{background:#f3f3f3}
.note{background:#f3f7fb;border-left:4px solid #56a0d3;padding:.5em .9em;margin:1em 0}
.about{font-size:.85em;color:#333;border-top:1px solid #d0d0d0;margin-top:3em;padding-top:.6em;overflow-wrap:anywhere}
.status{white-space:nowrap}.status::before{content:"";display:inline-block;width:.7em;height:.7em;margin-right:.4em;
border:1px solid #555}
.status.reproduced::before{background:#0072b2}.status.partly::before{background:#56b4e9}
.status.differs::before{background:#e69f00}.status.none::before{background:#fff}
.wide{overflow-x:auto}
td.name{white-space:nowrap}
.about th{white-space:nowrap}
"""


@functools.cache
def stylesheet() -> str:
    """Everything that a page looks like."""
    from pygments.formatters import HtmlFormatter

    tables = STYLE.removeprefix("<style>").removesuffix("</style>")
    return _CSS + tables + HtmlFormatter(style="tango").get_style_defs(".highlight")


def page(title: str, content: str, home: str = "", trail: str = "") -> str:
    """A whole page. home: the index as seen from it, "" on the index itself; trail: where the page stands."""
    back = f'<a href="{html.escape(home)}">All results</a>' if home else ""
    head = f"<header>{back}<span>{html.escape(trail)}</span></header>" if home or trail else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{html.escape(title)}</title><style>{stylesheet()}</style></head>"
        f"<body>{head}<main>{content}</main></body></html>\n"
    )
