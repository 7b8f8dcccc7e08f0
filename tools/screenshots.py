"""Take pictures of pages and notebooks, and check what must hold of each.

Seen are pages of the report, and notebooks in JupyterLab.

    make screenshots [ARGS="--folder shots --axe axe.min.js"]

Needs Chromium and a report (`make report`); the pictures go to
results/report/screenshots or to --folder. It exits with 1 where something is wrong.
Checked of every page: the answer begins within the first 300 pixels and the first table
within 900, nothing is wider than its window or a phone's, nothing is asked of the
network, and no fault that a screen reader's user would meet (with --axe, the file of
axe-core, its serious and critical ones too). Of a notebook: nothing leaves, opening
changes nothing.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import websocket

ROOT = Path(__file__).parent.parent
# the window, in pixels
WIDTH = 1280
HEIGHT = 900
PHONE = (390, 844)
ANSWER = 300  # the pixels within which a page's answer begins
# the report's pages that are looked at, by their places below the site
PAGES = (
    "index",
    "tigerscore/tigerscore_table_04",
    "semscore/semscore_table_03",
    "hdeval/hdeval_table_07",
    "prometheus/prometheus_tables_01_05",
    "coascore/coascore_figure_04",
    "meta/meta_ties",
    "meta/meta_claims",
)
NOTEBOOKS = (
    "00_start_here.ipynb",
    "hdeval/table_07_small_judges_summeval.ipynb",
    "coascore/figure_04_aspect_count.ipynb",
    "meta/ties.ipynb",
)
# where JupyterLab answers while its notebooks are looked at
LAB_PORT = 8897
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Scripts that run in a page. Where its answer and its first table begin, and how wide
# it is:
MEASURE = """(() => {
  const top = (node) => {
    return node ? Math.round(node.getBoundingClientRect().top + scrollY) : null;
  };
  const strong = [...document.querySelectorAll("strong")];
  const verdict = strong.find((node) => /^(Was |Answer)/.test(node.textContent));
  return {
    verdict: top(verdict),
    table: top(document.querySelector("main table")),
    wide: document.body.scrollWidth,
  };
})()"""
# what a reader with a screen reader or with weak eyes would meet, a line a fault:
FAULTS = """(() => {
  const faults = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const visible = (node) => node.getClientRects().length;
  if (!document.documentElement.lang) faults.push("no language");
  if (!document.title) faults.push("no title");
  if (all("main").length !== 1 || all("h1").length !== 1) {
    faults.push("not one main part and one first heading");
  }
  for (const image of all("img:not([alt]), img[alt='']")) {
    faults.push(`a picture without a text: ${image.src.slice(0, 40)}`);
  }
  let level = 0;
  for (const heading of all("h1,h2,h3,h4,h5,h6").filter(visible)) {
    const tag = heading.tagName;
    if (+tag[1] > level + 1) {
      faults.push(`${tag} after H${level}: ${heading.textContent.slice(0, 40)}`);
    }
    level = +tag[1];
  }
  for (const field of all("input, select")) {
    if (!field.labels.length) faults.push(`no label: ${field.name}`);
  }
  for (const control of all("a[href], button, summary").filter(visible)) {
    if (!control.textContent.trim()) {
      faults.push(`no name: ${control.outerHTML.slice(0, 60)}`);
    }
  }
  const ids = all("[id]").map((node) => node.id);
  const repeated = ids.filter((id, place) => ids.indexOf(id) !== place);
  for (const id of new Set(repeated)) faults.push(`two of the id ${id}`);
  const channels = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  // relative luminance, as WCAG defines it
  const linear = (channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  const light = ([red, green, blue]) => {
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  };
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = channels(getComputedStyle(node).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const hasText = (node) => {
    const texts = [...node.childNodes].filter((child) => child.nodeType === 3);
    return texts.some((child) => child.textContent.trim());
  };
  const faint = new Set();
  for (const node of all("main *, header *").filter(visible)) {
    if (node.disabled || !hasText(node)) continue;
    const style = getComputedStyle(node);
    const text = light(channels(style.color));
    const ground = light(behind(node));
    const ratio = (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
    const enough = parseFloat(style.fontSize) >= 24 ? 3 : 4.5;
    if (ratio < enough) {
      faint.add(`contrast ${ratio.toFixed(2)}: ${node.className || node.tagName}`);
    }
  }
  return [...faults, ...faint];
})()"""
# the serious and critical violations that axe-core names, which must have been loaded:
AXE = """(async () => {
  const report = await axe.run({resultTypes: ["violations"]});
  const faults = [];
  for (const {id, impact, nodes} of report.violations) {
    if (["serious", "critical"].includes(impact)) {
      const html = nodes[0].html.slice(0, 90);
      faults.push(`${id} (${impact}): ${nodes.length} times, ${html}`);
    }
  }
  return faults;
})()"""


class Tab:
    """One tab of a browser, spoken to by its debugging protocol (Chrome DevTools).

    port: of the browser's debugging protocol.
    asked: the addresses that the page has asked for since it was opened.
    """

    def __init__(self, port: int) -> None:
        ask = urllib.request.Request(
            f"http://127.0.0.1:{port}/json/new?about:blank", method="PUT"
        )
        with urllib.request.urlopen(ask) as answer:
            place = json.load(answer)["webSocketDebuggerUrl"]
        self._socket = websocket.create_connection(
            place, suppress_origin=True, timeout=60
        )
        self._number = 0
        self.asked: list[str] = []
        for name in ("Page", "Network", "Runtime"):
            self.do(f"{name}.enable")
        self.resize(WIDTH, HEIGHT)

    def resize(self, width: int, height: int, mobile: bool = False) -> None:
        """Give the page a window of so many pixels, or a phone's screen."""
        size = {"width": width, "height": height}
        self.do(
            "Emulation.setDeviceMetricsOverride",
            **size,
            deviceScaleFactor=1,
            mobile=mobile,
        )

    def do(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command's answer. What the page asks of the network meanwhile is kept in
        `asked`.

        method: the command by its name in the protocol, with its parameters.
        Raises: RuntimeError with the browser's words where it refuses.
        """
        self._number += 1
        self._socket.send(
            json.dumps({"id": self._number, "method": method, "params": parameters})
        )
        while True:
            # events of the page come between a command and its answer
            answer = json.loads(self._socket.recv())
            if answer.get("method") == "Network.requestWillBeSent":
                self.asked.append(answer["params"]["request"]["url"])
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def value(self, script: str) -> Any:
        """What a script in the page comes to; a promise is waited for."""
        answer = self.do(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        return answer["result"].get("value")

    def open(self, address: str, ready: str, seconds: float = 60) -> None:
        """Go to an address, and wait until `ready` is true in the page.

        Raises: TimeoutError where it is not true by then.
        """
        self.asked.clear()
        self.do("Page.navigate", url=address)
        end = time.monotonic() + seconds
        while not self.value(ready):
            if time.monotonic() > end:
                raise TimeoutError(f"{address} is not ready after {seconds:.0f} s")
            time.sleep(0.2)
        time.sleep(0.5)

    def picture(self, path: Path) -> None:
        """What stands in the window, as a PNG; folders that are missing are made."""
        path.parent.mkdir(parents=True, exist_ok=True)
        encoded = self.do("Page.captureScreenshot")["data"]
        path.write_bytes(base64.b64decode(encoded))


@contextlib.contextmanager
def browser() -> Iterator[int]:
    """A headless Chromium; the port of its debugging protocol.

    Raises: SystemExit where there is none.
    """
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise SystemExit(
            f"screenshots: no browser found ({', '.join(BROWSERS)}); "
            "install Chromium and run this again"
        )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-port=0",
            f"--user-data-dir={folder}",
        ]
        running = subprocess.Popen(
            [path, *flags, "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            # Port 0 lets the browser choose a free one; it writes its number here.
            port_file = Path(folder, "DevToolsActivePort")
            for _ in range(300):
                if port_file.exists() and port_file.read_text().strip():
                    break
                time.sleep(0.1)
            yield int(port_file.read_text().split()[0])
        finally:
            running.terminate()
            running.wait(20)


def report(tab: Tab, site: Path, folder: Path, axe: str) -> Iterator[str]:
    """Pictures of the report's pages; what is wrong, a line each.

    axe: the text of axe-core; empty for none.
    """
    for name in PAGES:
        page = site / f"{name}.html"
        if not page.exists():
            yield f"{name}: no such page; make report"
            continue
        tab.open(
            page.as_uri(),
            "document.readyState === 'complete' && !!document.querySelector('main h1')",
        )
        tab.picture(folder / f"report_{name.replace('/', '_')}.png")
        starts = tab.value(MEASURE)
        print(
            f"{name}: verdict at {starts['verdict']}, "
            f"first table at {starts['table']}, {starts['wide']} wide"
        )
        faults = []
        for url in tab.asked:
            if not url.startswith(("file:", "data:", "blob:")):
                faults.append(f"asks the network for {url}")
        faults += tab.value(FAULTS)
        # an element that is not there counts as one that begins too late
        rooms = {"verdict": ANSWER, "table": HEIGHT}
        for element, room in rooms.items():
            if (starts[element] or HEIGHT) >= room:
                faults.append(f"{element} begins at {starts[element]}")
        if starts["wide"] > WIDTH:
            faults.append("wider than the window")
        if axe:
            tab.value(axe)
            faults += tab.value(AXE)
        faults += _on_a_phone(tab, folder / f"phone_{name.replace('/', '_')}.png")
        yield from (f"{name}: {fault}" for fault in faults)


def _on_a_phone(tab: Tab, picture: Path) -> Iterator[str]:
    """A picture of the page as a phone shows it; what is wrong, a line each."""
    tab.resize(*PHONE, mobile=True)
    tab.picture(picture)
    if tab.value("document.documentElement.scrollWidth") > PHONE[0]:
        yield "wider than a phone"
    tab.resize(WIDTH, HEIGHT)


def lab(tab: Tab, folder: Path) -> Iterator[str]:
    """Pictures of notebooks in JupyterLab; what is wrong, a line each.

    folder: where the pictures go. JupyterLab keeps its settings in a temporary folder.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        command = [sys.executable, "-m", "jupyter", "lab", "--no-browser"]
        command += [
            f"--port={LAB_PORT}",
            "--allow-root",
            f"--notebook-dir={ROOT / 'notebooks'}",
            "--IdentityProvider.token=",
            "--ServerApp.port_retries=0",
            f"--LabApp.user_settings_dir={home}",
            f"--LabApp.workspaces_dir={home}",
        ]
        server = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            unchanged = changed()
            for name in NOTEBOOKS:
                yield from _notebook(tab, name, folder)
            yield from (f"opening changed {name}" for name in changed() - unchanged)
        finally:
            server.terminate()
            server.wait(20)


def _notebook(tab: Tab, name: str, folder: Path) -> Iterator[str]:
    """A picture of one notebook; what is wrong, a line each."""
    server = f"http://127.0.0.1:{LAB_PORT}"
    # JupyterLab takes a while to start: up to a minute.
    for _ in range(120):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{server}/api").close()
            break
        time.sleep(0.5)
    tab.open(
        f"{server}/lab/tree/{name}?reset",
        "document.querySelectorAll('.jp-Notebook .jp-Cell').length > 4",
        120,
    )
    time.sleep(2)
    title = name.replace("/", "_").removesuffix(".ipynb")
    tab.picture(folder / f"lab_{title}.png")
    # everything else is the network
    own = ("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:")
    for url in tab.asked:
        if not url.startswith(own):
            yield f"{name}: asks {url}"
    if tab.value("!!document.querySelector('.jp-mod-current.jp-mod-dirty')"):
        yield f"{name}: is marked as edited on opening"


def changed() -> set[str]:
    """The lines of git's status of what is changed below notebooks/."""
    status = subprocess.run(
        ["git", "status", "--porcelain", "notebooks"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    return set(status.stdout.splitlines())


def main() -> int:
    """Take the pictures; 1 where something is wrong, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "results" / "report" / "screenshots"
    )
    parser.add_argument("--site", type=Path, default=ROOT / "results" / "report")
    parser.add_argument("--axe", type=Path, help="axe.min.js of axe-core")
    options = parser.parse_args()
    axe = options.axe.read_text(encoding="utf-8") if options.axe else ""
    with browser() as port:
        faults = [
            *report(Tab(port), options.site, options.folder, axe),
            *lab(Tab(port), options.folder),
        ]
    if faults:
        print("\n".join(faults))
        return 1
    checked = f"{len(PAGES)} pages and {len(NOTEBOOKS)} notebooks"
    print(f"no fault; {checked} in {options.folder}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
