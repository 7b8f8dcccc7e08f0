"""The static site and its explorer of judgments: nothing of the data runs, and a
browser fetches nothing.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
from cli_tools import call
from runner_tools import Checkout, document

from judgecard import explorer, web
from nlgeval_lib import datasets
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.evaluators.geval import GEval
from reproduction.report import SITE, pages

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)><iframe src='http://evil.example'></iframe>"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
BROWSER = (
    shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)


OURS = [
    path.read_text(encoding="utf-8")
    for path in (web.SORTING, web.SITE / "explorer.js", SITE / "search.js")
]


class Seen(HTMLParser):
    """Tags, attributes and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def executed(*outputs: dict, prose: str = "# A title") -> dict:
    """A notebook of one cell of prose and one with these outputs."""
    made = document("1 + 1")
    made["cells"].insert(
        0,
        {
            "cell_type": "markdown",
            "id": "m",
            "metadata": {},
            "source": prose.splitlines(True),
        },
    )
    made["cells"][-1] |= {"execution_count": 1, "outputs": list(outputs)}
    return made


def display(**data) -> dict:
    return {
        "output_type": "display_data",
        "metadata": {},
        "data": {k.replace("_", "/"): v for k, v in data.items()},
    }


def nothing_runs(page: str) -> None:
    """Nothing but the scripts that the page's own policy names by their hashes."""
    policy = page.partition("Content-Security-Policy")[2].partition(">")[0]
    hashes = []
    for code in re.findall(r"<script>(.*?)</script>", page, re.DOTALL):
        hashes.append(base64.b64encode(hashlib.sha256(code.encode()).digest()).decode())
        assert f"'sha256-{hashes[-1]}'" in policy and code in OURS
        page = page.replace(f"<script>{code}</script>", "")
    assert policy.count("sha256-") == len(hashes)
    seen = Seen(page)
    assert not {"script", "iframe", "object", "embed", "base"} & set(seen.tags)
    for name, value in seen.attributes:
        assert not name.startswith("on") and not (
            value or ""
        ).strip().lower().startswith("javascript:")
        if name == "src":
            assert value.startswith("data:image/")


@pytest.mark.parametrize(
    "output",
    [
        {"output_type": "stream", "name": "stdout", "text": f"model wrote {EVIL}"},
        display(text_plain=f"model wrote {EVIL}"),
        display(
            text_html=f"<table><tr><td>model wrote {EVIL}</td></tr></table>",
            text_plain="t",
        ),
        display(
            text_html=f"<style>body{{background:url(http://evil.example)}}</style><b>model wrote</b>{EVIL}"
        ),
        display(
            text_html=f'<a href="javascript:alert(1)" onclick="x()">model wrote</a>{EVIL}'
        ),
        display(text_markdown=f"model wrote {EVIL}", text_plain="model wrote"),
        {
            "output_type": "error",
            "ename": "E",
            "evalue": EVIL,
            "traceback": [f"model wrote {EVIL}"],
        },
    ],
)
def test_nothing_of_an_output_runs(output):
    page = web.notebook_body(executed(output))
    nothing_runs(page)
    assert "model wrote" in Seen(page).text and "evil.example" not in re.sub(
        "&lt;.*?&gt;", "", page
    )


def test_scripts_and_widgets_are_left_out_and_pictures_stay():
    script = display(application_javascript="alert(1)")
    widget = display(
        **{"application_vnd.jupyter.widget-view+json": {"model_id": "x"}},
        text_plain="a widget",
    )
    drawing = display(
        **{"image_svg+xml": f"<svg xmlns='http://www.w3.org/2000/svg'>{EVIL}</svg>"},
        text_plain="drawn",
    )
    page = web.notebook_body(
        executed(script, widget, drawing, display(image_png=PNG, text_plain="<Figure>"))
    )
    nothing_runs(page)
    seen = Seen(page)
    assert (
        "a widget" in seen.text
        and "alert" not in page
        and seen.tags.count("img") == 1
        and "drawn" in seen.text
    )
    assert (
        "alt",
        "<Figure>",
    ) in seen.attributes and f"data:image/png;base64,{PNG}" in page
    told = display(image_png=PNG, text_plain="<Image>") | {
        "metadata": {"image/png": {"width": 330, "alt": "<b>bars"}}
    }
    wrong = display(image_png=PNG) | {
        "metadata": {"image/png": {"width": '1" onload="alert(3)'}}
    }
    page = web.notebook_body(executed(told, wrong, prose="xpicture7x"))
    nothing_runs(page)
    assert "xpicture7x" in Seen(page).text, "a picture's mark in a text is a text"
    assert {("alt", "<b>bars"), ("width", "330")} <= set(
        Seen(page).attributes
    ) and "alert" not in page


@pytest.fixture
def here(here) -> Checkout:
    for name in ("tigerscore", "semscore", "prometheus", "coascore"):
        (here.root / "data" / "paper_tables" / name).mkdir()
        index = "paper,id,number,kind,title,cells,place,note\n"
        (here.root / "data" / "paper_tables" / name / "index.csv").write_text(index)
    here.output("one", more='title = "First <b>one</b>"')
    here.output("two", more='covers = ["table_02"]')
    path = here.result("executed/hdeval/one.ipynb")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(executed(display(text_plain="ran here"))))
    return here


def test_every_output_has_its_page_and_the_index_leads_there(here, monkeypatch, capsys):
    here.data("registry.csv")
    old = here.result("report/hdeval/old.html")
    thesis = here.root / "mine/thesis.txt"
    for path in (old, here.result("report/index.html"), thesis):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    with pytest.raises(ValueError, match="holds something else"):
        pages.build(thesis.parent)
    got = call(monkeypatch, capsys, "report")
    assert not old.exists() and [*thesis.parent.iterdir()] == [thesis], (
        "earlier builds go, other folders stay"
    )
    assert (
        got.code == 0
        and "2 pages, 1 of them with outputs: results/report/index.html" in got.out
    )
    index = here.result("report/index.html").read_text()
    links = [
        value
        for name, value in Seen(index).attributes
        if name == "href" and value.endswith(".html")
    ]
    pages_of_outputs = {"hdeval/one.html", "hdeval/two.html"}
    assert set(links) == {*pages_of_outputs, "search.html"}
    assert all((here.result("report") / link).is_file() for link in links)
    assert "First <b>one</b>" in Seen(index).text and index.index(
        "Scoreboard"
    ) < index.index("All pages")
    one, two = (
        here.result(f"report/hdeval/{name}.html").read_text() for name in ("one", "two")
    )
    assert "ran here" in one and "has no outputs" not in one
    assert "has no outputs" in two and "nlgeval run two" in two
    to_search = here.result("report/search.html").read_text()
    found = {place: words for place, _, words in unpacked(to_search)}
    assert set(found) == pages_of_outputs
    assert "ran here" in found["hdeval/one.html"]
    assert "ran here" not in found["hdeval/two.html"]
    data = '<script type="application/json" id="data">'
    assert to_search.count(data) == 1
    without_data = re.sub(f"{re.escape(data)}.*?</script>", "", to_search)
    for page in (index, one, two, without_data):
        nothing_runs(page)
        assert "default-src 'none'" in page


# ---- judgment by judgment


def unpacked(page: str) -> dict:
    data = re.search(
        r'<script type="application/json" id="data">"([A-Za-z0-9+/=]*)"</script>', page
    )[1]
    return json.loads(gzip.decompress(base64.b64decode(data)))


@pytest.fixture
def judged():
    """G-Eval's judgments of the embedded set, by a script whose answers are hostile."""
    frame = datasets.quick(datasets.load("mini_judge"), 2)
    frame = frame[frame["aspect"] == "overall"].reset_index(drop=True)
    frame["output"] = [f"output {number} {EVIL}" for number in frame.index]
    answers = [
        f"{EVIL} Rating: 4",
        "no verdict at all",
        "Score: 9",
        *(["Score: 2"] * (len(frame) - 3)),
    ]
    return explorer.explore_judge(
        GEval(template="semscore/g_eval_input", low=1, high=5),
        frame,
        engine=ScriptedEngine(answers),
    )


def test_a_judgment_is_shown_whole_and_its_texts_are_data(judged):
    page = judged.page()
    nothing_runs(
        page.replace('<script type="application/json" id="data">', "<b>").replace(
            '"</script>', '"</b>'
        )
    )
    assert "evil.example" not in page and "alert" not in page
    data = unpacked(page)
    first, second, third = data["rows"][:3]
    assert (
        (first[4], first[5]) == (4.0, "ok")
        and third[5] == "out_of_range"
        and second[5] == "unparsed"
        and second[6]
    )
    [(about, prompt, answer, trace, reasoning)] = first[11]
    text = data["texts"][answer]
    assert text == f"{EVIL} Rating: 4" and about == "score"
    assert (
        EVIL in data["texts"][prompt] and data["texts"][first[10]] == f"output 0 {EVIL}"
    )
    assert "verdict  4: label" in data["texts"][trace]
    assert data["texts"][reasoning] == ""
    widget = judged._repr_html_()
    assert (
        widget.startswith("<iframe")
        and 'sandbox="allow-scripts"' in widget
        and widget.count("<") == 2
    )


def test_a_notebook_shows_the_first_of_many_judgments(judged, monkeypatch):
    monkeypatch.setattr(explorer, "PART", 5)
    page = judged.page()
    assert len(unpacked(page)["rows"]) == 5
    assert "5 judgments, the first of 12" in Seen(page).text


def test_disagreement_is_a_difference_of_ranks_within_an_aspect(judged):
    frame = judged.frame.assign(
        value=[float(n) for n in range(12)], human=[float(11 - n) for n in range(12)]
    )
    gap = explorer.framed(frame, frame["turns"])["gap"]
    assert gap.iloc[[0, 5, -1]].tolist() == pytest.approx(
        [11 / 12, 1 / 12, 11 / 12], abs=0.001
    )
    frame["aspect"], frame.loc[0, "human"] = ["a", "b"] * 6, float("nan")
    assert explorer.framed(frame, frame["turns"])["gap"].isna().sum() == 1


# ---- in a browser


FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=2000",
]


def seen_in_browser(address, folder) -> Seen:
    """What a browser shows of a page once its scripts have run."""
    if BROWSER is None:
        pytest.skip("no chromium here")
    command = [BROWSER, *FLAGS, f"--user-data-dir={folder}", "--dump-dom", address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert "CONSOLE" not in done.stderr
    return Seen(done.stdout)


def test_filters_and_links_of_the_explorer_work(judged, tmp_path):
    page = tmp_path / "judge.html"
    page.write_text(judged.page())
    seen = seen_in_browser(f"{page.as_uri()}#status=unparsed", tmp_path / "p")
    assert "1 of 12" in seen.text and "no verdict at all" in seen.text
