"""`nlgeval card` as a new user types it, against a server on this machine."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_tools import run
from loopback import LoopbackServer, QuietHandler

from judgecard import Card, config_files

PROMPT = 'Rate from 1 to 10.\nQuestion: {instruction}\nAnswer: <<{output}>>\n"Score: N"'


class Answering(QuietHandler):
    """Gives the number of the answer's words; every third request fails where `fails`
    is set.
    """

    protocol_version = "HTTP/1.1"
    fails = False
    asked = 0

    def do_GET(self) -> None:
        self.send({"object": "list", "data": [{"id": "mine", "object": "model"}]})

    def do_POST(self) -> None:
        kind = type(self)
        kind.asked += 1
        size = int(self.headers["Content-Length"])
        text = json.loads(self.rfile.read(size))["messages"][-1]["content"]
        if kind.fails and kind.asked % 3 == 0:
            self.send({"error": {"message": "<b>no</b>"}}, 500)
            return
        match = re.search("<<(.*)>>", text, re.DOTALL)
        words = len(match[1].split()) if match else 0
        score = f"Score: {max(1, min(10, words))} <script>alert(1)</script>"
        message = {"role": "assistant", "content": score}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
        self.send({"model": "mine", "choices": [choice], "usage": usage})

    def send(self, content: object, code: int = 200) -> None:
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def handler() -> type[Answering]:
    return type("Own", (Answering,), {})


@pytest.fixture
def server(handler: type[Answering]) -> Iterator[LoopbackServer]:
    running = LoopbackServer(handler)
    yield running
    running.stop()


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of one's own: own columns, three raters, holes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    lines = ["doc,bot,answer,question,anna,ben,cara"]
    for doc in range(12):
        for place, bot in enumerate("ABCD"):
            true = 2 * place + doc % 3 + 1
            ratings = [true, "" if doc % 4 == 0 else true + 1, true]
            text = "word " * (1 + (5 * doc + 3 * place) % 11)
            row = [doc, bot, text.strip(), f"q{doc}?", *ratings]
            lines.append(",".join(map(str, row)))
    Path("mine.csv").write_text("\n".join(lines) + "\n")
    Path("mine.txt").write_text(PROMPT)
    return tmp_path


def command_without_engine() -> list[str]:
    columns = {
        "output": "answer",
        "instruction": "question",
        "input_id": "doc",
        "system_id": "bot",
        "rater_1": "anna",
        "rater_2": "ben",
        "rater_3": "cara",
    }
    words = ["card", "--prompt", "mine.txt", "--scale", "1-10", "-i", "mine.csv"]
    for ours, theirs in columns.items():
        words += ["--map", f"{ours}={theirs}"]
    return [*words, "--store", "store", "-q"]


def command(server: LoopbackServer, *more: str) -> list[str]:
    address = f"http://127.0.0.1:{server.port}/v1"
    asked = ["--engine", "openai", "--base-url", address, "-m", "mine"]
    return [*command_without_engine(), *asked, *more]


@pytest.mark.usefixtures("undrawn")
def test_a_file_of_ones_own(
    own: Path, server: LoopbackServer, handler: type[Answering]
) -> None:
    assert run(*command(server, "--dry-run")) == 0
    assert handler.asked == 0
    assert run(*command(server)) == 0
    asked = handler.asked
    assert asked == 48
    assert run(*command(server, "-o", "again")) == 0
    assert handler.asked == asked, "what is stored is asked again"
    part = json.loads(Path("card/card.json").read_text())["sets"]["mine"]
    assert part["aspects"]["overall"]["raters"]["number"] == 3
    for name in ("card.html", "judgments_mine.html", "card.md"):
        assert "<script>alert" not in Path("card", name).read_text()
    gate = ["card", "gate", "card/card.json"]
    assert run(*gate, "mine.overall.n >= 48", "mine.coverage.value == 1") == 0
    assert run(*gate, "mine.overall.kendall.low >= .99") == 1
    assert run(*gate, "mine.overal.kendall.low >= .99") == 2
    assert run("card", "compare", "card/card.json", "again/card.json") == 0


def test_a_text_for_all_rows_and_the_columns_stand_on_the_card(
    own: Path, server: LoopbackServer
) -> None:
    assert run(*command(server, "--fill", "aspect=wit")) == 0
    card = json.loads(Path("card/card.json").read_text())
    assert list(card["sets"]["mine"]["aspects"]) == ["wit"]
    columns = card["columns"]["mine.csv"]["columns"]
    assert columns["aspect"] == "--fill aspect"
    assert columns["output"] == "answer" and columns["rater_3"] == "cara"
    for form in ("png", "svg"):
        assert Path(f"card/beside_mine.{form}").stat().st_size > 1000


@pytest.mark.usefixtures("undrawn")
def test_what_failed_is_asked_again_and_told_by_the_exit_code(
    own: Path, server: LoopbackServer, handler: type[Answering]
) -> None:
    handler.fails = True
    once = command(server, "--engine-set", "max_retries=0")
    assert run(*once) == 1
    statuses = json.loads(Path("card/card.json").read_text())["sets"]["mine"]
    assert statuses["coverage"]["statuses"]["failed"] > 0
    handler.fails = False
    assert run(*once) == 0


def test_a_place_that_is_none_is_told_before_anything_is_asked(
    own: Path,
    server: LoopbackServer,
    handler: type[Answering],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(*command(server, "-o", "mine.csv/card")) == 1
    assert "cannot write mine.csv/card" in capsys.readouterr().err
    assert handler.asked == 0


def test_a_package_that_is_missing_is_told_before_anything_is_asked(
    own: Path,
    server: LoopbackServer,
    handler: type[Answering],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels", None)
    assert run(*command(server)) == 1
    assert "nlgeval-lib[stats]" in capsys.readouterr().err
    assert handler.asked == 0


def test_without_matplotlib_the_card_has_all_but_figures(
    own: Path,
    server: LoopbackServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run(*command(server)) == 0
    written = {path.name for path in Path("card").iterdir()}
    assert {"card.html", "at_a_glance.svg", "scores.csv", "card.toml"} <= written
    assert not any(name.endswith(".png") for name in written)
    assert "pip install matplotlib" in capsys.readouterr().err
    assert run("card", "share", "card", "-o", "sent.html") == 0


@pytest.mark.usefixtures("undrawn")
def test_scores_off_the_scale_are_read_again_and_not_asked(
    own: Path,
    server: LoopbackServer,
    handler: type[Answering],
    capsys: pytest.CaptureFixture[str],
) -> None:
    wrong = [word.replace("1-10", "50-90") for word in command(server)]
    assert run(*wrong) == 1
    assert "another --scale" in capsys.readouterr().err
    assert "No answer could be read" in Path("card/card.md").read_text()
    assert run(*command(server)) == 0
    assert handler.asked == 48


@pytest.mark.usefixtures("undrawn")
def test_pairs_of_ones_own(own: Path, server: LoopbackServer) -> None:
    lines = ["question,text_a,text_b,winner"]
    for number in range(30):
        first = "word " * (1 + number % 7)
        second = "word " * (1 + number % 5)
        winner = "A" if len(first) > len(second) else "B"
        if len(first) == len(second):
            winner = "tie"
        lines.append(f"q{number}?,{first.strip()},{second.strip()},{winner}")
    Path("pairs.csv").write_text("\n".join(lines) + "\n")
    address = f"http://127.0.0.1:{server.port}/v1"
    asked = ["-i", "pairs.csv", "--engine", "openai", "--base-url", address]
    asked += ["-m", "mine", "-q"]
    Path("two.txt").write_text("{instruction} 1: {output_1} 2: {output_2}. Which?")
    # the server gives no verdict, and says so many words of each output
    assert run("card", "--prompt", "two.txt", *asked, "-o", "two") == 1
    assert "No answer could be read" in Path("two/card.md").read_text()
    single = ["--prompt", "mine.txt", "--scale", "1-10", "--map", "output_1=text_a"]
    assert run("card", *single, "--map", "output_2=text_b", *asked) == 0
    card = json.loads(Path("card/card.json").read_text())
    assert card["sets"]["pairs"]["pairs"] == 30
    assert card["sets"]["pairs"]["accuracy"]["value"] == 1
    [plan] = card["columns"].values()
    assert plan["proposed"] == ["preference=winner"]
    assert run("card", "gate", "card", "accuracy.value >= .9") == 0


RATED = ["--prompt", "mine.txt", "--scale", "1-10", "-i", "mine.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["card"], "which judge"),
        (["card", "--demo", "--prompt", "x"], "which judge"),
        (["card", "--prompt", "mine.txt", "--scale", "5-1"], "--scale 5-1"),
        (["card", "--prompt", "mine.txt", "--scale", "1-1e999"], "--scale 1-1e999"),
        (["card", "--prompt", "mine.txt", "--scale", "1-5"], "which rows"),
        (["card", *RATED, "--judge", "qwen2.5"], "qwen2.5-coder-1.5b-instruct"),
        (
            ["card", *RATED, "--judge", "qwen2.5-coder-1.5b"],
            "--fetch qwen2.5-coder-1.5",
        ),
        (["card", *RATED, "--judge", "all-MiniLM-L6-v2"], "unknown judge"),
        (["card", *RATED, "--judge", "mini", "-m", "x"], "--model; leave one out"),
        (["card", *RATED], "--judge"),
        (
            ["card", "--prompt", "no.txt", "-i", "mine.csv", "--judge", "mini"],
            "prompt no.txt: no such file",
        ),
        (["card", "beside", "empty"], "no card in empty"),
        (["card", "gate", "mine.csv", "a > 1"], "is no card"),
        (
            ["card", "gate", "none.json", "a > 1"],
            "none.json: No such file or directory",
        ),
    ],
)
def test_a_wrong_call_says_the_way_out(
    own: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    # no weights are here, whatever this machine has
    monkeypatch.setattr("nlgeval_lib.weights.folder", lambda name: None)
    Path("empty").mkdir()
    assert run(*words) == 2
    assert message in capsys.readouterr().err


def test_a_pair_of_cards_without_scores_is_refused() -> None:
    from judgecard import compared
    from nlgeval_lib.scoring.cells import InputError

    with pytest.raises(InputError, match="share no set"):
        compared(Card({}), Card({}))


class Terminal(io.StringIO):
    """What a person types."""

    def isatty(self) -> bool:
        return True


def plain_command(server: LoopbackServer, *more: str) -> list[str]:
    """`command` without a word on the columns."""
    words = command(server, *more)
    start = words.index("--map")
    return words[:start] + words[words.index("--engine") :]


@pytest.mark.usefixtures("undrawn")
def test_own_columns_need_one_command(own: Path, server: LoopbackServer) -> None:
    assert run(*command(server, "-o", "said")) == 0
    assert run(*plain_command(server, "-o", "proposed")) == 0
    said = json.loads(Path("said/card.json").read_text())
    proposed = json.loads(Path("proposed/card.json").read_text())
    numbers = [made["sets"]["mine"]["aspects"] for made in (said, proposed)]
    assert numbers[0] == numbers[1]
    [plan] = proposed["columns"].values()
    assert {"rater_2=ben", "system_id=bot"} <= {*plan["proposed"]}
    [plan] = said["columns"].values()
    assert "proposed" not in plan


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("answers", "code", "raters"),
    [("\n", 0, 3), ("rater_3=\n\n", 0, 2), ("no\n", 2, 0)],
)
def test_the_plan_of_columns_can_be_answered(
    answers: str,
    code: int,
    raters: int,
    own: Path,
    server: LoopbackServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answers))
    assert run(*plain_command(server)) == code
    if raters:
        part = json.loads(Path("card/card.json").read_text())["sets"]["mine"]
        assert part["aspects"]["overall"]["raters"]["number"] == raters


@pytest.mark.usefixtures("undrawn")
def test_a_card_is_made_again_by_one_word(own: Path, server: LoopbackServer) -> None:
    assert run(*plain_command(server, "--aspect", "overall")) == 0
    shutil.move("card", "before")
    assert run("card", "before/card.toml") == 0
    first, second = (
        json.loads(Path(folder, "card.json").read_text())
        for folder in ("before", "card")
    )
    aspects = [made["sets"]["mine"]["aspects"] for made in (first, second)]
    assert aspects[0] == aspects[1]
    assert first["judge"]["signature"] == second["judge"]["signature"]
    assert run("card", "--config", "before/card.toml", "-o", "other", "-q") == 0
    assert Path("other", "card.html").exists()


def test_a_config_has_no_secret() -> None:
    said = {"set": ["low=1", "api_key=hush"], "engine_set": ["api_key_env=MINE"]}
    text = config_files.as_text(said)
    assert "hush" not in text
    assert tomllib.loads(text) == {"set": ["low=1"], "engine-set": ["api_key_env=MINE"]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("promt = 'mine.txt'", "'prompt'"),
        ("prompt = ", "no TOML"),
        ("dry-run = true", "no option of card is called"),
        ("map = {output = 'answer'}", "needs a text"),
        ("items = 'many'", "items"),
    ],
)
def test_a_wrong_config_names_what_is_wrong(
    text: str, words: str, own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("c.toml").write_text(text)
    assert run("card", "c.toml") == 2
    assert words in capsys.readouterr().err


def test_the_folder_to_begin_with_has_a_config(
    own: Path, server: LoopbackServer
) -> None:
    assert run("init", "trial") == 0
    os.chdir("trial")
    address = f"http://127.0.0.1:{server.port}/v1"
    words = ["card", "card.toml", "--base-url", address, "--model", "mine"]
    assert run(*words, "--dry-run") == 0


@pytest.mark.slow
def test_a_judge_that_runs_here(own: Path) -> None:
    words = command_without_engine()
    assert run(*words, "--judge", "mini", "--dry-run") == 0
    assert run(*words, "--judge", "mini", "-s", "max_tokens=4") in (0, 1)
    made = json.loads(Path("card/card.json").read_text())
    assert made["judge"]["engine"] in ("transformers", "vllm")
    assert made["fingerprint"]["model"]


def test_the_beginning_of_a_name_means_one_judge(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from nlgeval_lib import weights
    from nlgeval_lib.scoring.named import local_judge

    monkeypatch.setattr(weights, "folder", lambda name: tmp_path)
    engine, model = local_judge("Qwen2.5-coder-1.5b")
    assert engine in ("vllm", "transformers")
    assert model == "qwen2.5-coder-1.5b-instruct"
