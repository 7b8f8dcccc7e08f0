"""Which printed cells come out once the judges have been asked? The road from a judge's
completions to the printed cells, rehearsed (`make rehearsal`): a script answers every
judge of the catalogue at reduced size, tiny random models stand for the weights
of its metrics (numbers made from the texts, where a package would score), the notebooks
that read one run on what came of it, and their cells are counted.

    python tools/rehearsal.py                 run it in a temporary folder, compare with
                                              tests/cases/rehearsal.csv
    python tools/rehearsal.py --write         and write that list anew
    python tools/rehearsal.py --folder DIR    keep store, results and executed notebooks
                                              there

What comes out is noise, for judges under the papers' model names, so it lives in that
folder alone. What a stand-in for a metric's model gives has a row of its own, named by
the stand-in; it counts for the printed row. The list has a line for each row of a
printed table with cells that stay empty, and the reason; a row that loses a cell, a
notebook that fails or a reason that changes is a fault, and the exit code 1. How many
cells each model fills goes to data/judged_cells.csv, from which
`nlgeval completions --dry-run` tells what an hour or a dollar brings.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from nlgeval_lib.engines import Request, ScriptedEngine
    from reproduction.study.catalogue import Judge, Metric

ROOT = Path(__file__).resolve().parent.parent
# the rows of printed tables with cells that stay empty, and why
LIST = ROOT / "tests" / "cases" / "rehearsal.csv"
# the share of answers that cannot be read, so that missing values are rehearsed too
MALFORMED = 0.02
# how many cells each model fills
GAINED = ROOT / "data" / "judged_cells.csv"
# the columns that name a row of a printed table, and a cell of it
KEY = ["paper", "table", "row"]
PLACE = [*KEY, "column", "statistic"]
# an error of TIGERScore's analysis, by its number
ERROR = """Error location {0}: a word
Error aspect {0}: Fluency
Explanation {0}: it is odd.
Severity {0}: Minor
Score reduction {0}: 1"""
# how CoAScore's prompt lists an aspect to score: its name, a colon
ASPECT_NAME = re.compile(r"^(Aspect \w|[A-Z][\w ]+): ", re.M)
# what nltk's sentence splitter reads; empty files are of one that knows no abbreviation
SPLITTER_FILES = (
    "collocations.tab",
    "sent_starters.txt",
    "abbrev_types.txt",
    "ortho_context.tab",
)


def answer(evaluator: str, text: str, id: str, draw: int, length: int) -> str:
    """A plausible text of a judge that is asked `text`; the same for the same prompt
    and draw.

    evaluator: the judge's, by its name in the library; it decides the form.
    id: the request's, which tells CoAScore's stages from each other.
    """
    # Prompt and draw decide every number below.
    digest = hashlib.sha256(f"{text}#{draw}".encode()).digest()
    chance = random.Random(digest)
    lists = id.startswith("aspects of")
    if chance.random() < MALFORMED and not lists:
        return "I have no opinion on this."
    if evaluator == "tigerscore":
        return _errors(chance.randint(0, 3))
    score = chance.randint(1, 5)
    if evaluator == "prometheus":
        return f"The response does some of what was asked. [RESULT] {score}"
    if lists:
        return _aspects(length)
    if id.endswith("#aspects"):
        scores = {}
        for name in ASPECT_NAME.findall(text):
            scores[name] = chance.randint(1, 5)
        return json.dumps(scores)
    return f"{score}\nThe text is passable."


def _errors(count: int) -> str:
    """An error analysis with so many errors, each of one point."""
    lines = [
        f"The model-generated output contains {count} errors, "
        f"with a total score reduction of {count}."
    ]
    for number in range(1, count + 1):
        lines.append(ERROR.format(number))
    return "\n".join(lines)


def _aspects(count: int) -> str:
    """A list of aspects: A, B, C and so on."""
    lines = []
    for number in range(1, count + 1):
        letter = chr(ord("A") + number - 1)
        lines.append(f"{number}. Aspect {letter}: a side of it")
    return "\n".join(lines)


def fill(store: Path) -> None:
    """Answer every question of the catalogue by the script, and say how many there
    were.

    Raises: SystemExit where a question fails for any reason but data that are not here.
    """
    from nlgeval_lib.datasets import DataError
    from nlgeval_lib.scoring import ProgressBar
    from reproduction.study import catalogue, judges

    options = judges.EngineOptions("vllm", store=store, mode="quick")
    for question in catalogue.load().questions:
        judge = question.judge
        engine = scripted(judge)
        bar = ProgressBar(judge.evaluator, quiet=True)
        title = f"{question.output}, {question.name}"
        try:
            counts = judges.job(question, options, engine).fill(bar)
        except DataError as error:
            print(f"{title}: not here: {error}", flush=True)
            continue
        except Exception as error:
            raise SystemExit(f"{title}: {type(error).__name__}: {error}") from error
        print(f"{title}: {len(engine.asked):,} asked; {counts}", flush=True)


def scripted(judge: Judge) -> ScriptedEngine:
    """An engine that answers as this judge, under its model's name."""
    from nlgeval_lib.engines import ScriptedEngine

    # the setting `n` of CoAScore: how many aspects its first stage lists
    length = 0
    for setting in judge.settings:
        if setting.startswith("n="):
            length = int(setting.removeprefix("n="))
            break

    def script(request: Request, draw: int) -> str:
        return answer(judge.evaluator, request.text(), request.id, draw, length)

    revision = judge.revision or "scripted"
    return ScriptedEngine(script, model=judge.model, revision=revision)


def measure(folder: Path) -> None:
    """What the metrics of the catalogue give, each by a tiny random model that lies
    where a user's folder would.
    """
    from reproduction.study import catalogue, metrics

    sys.path.append(str(ROOT / "tests"))
    _stand_in_splitter(folder / "nltk")
    study = catalogue.load()
    listed = study.metrics.values()
    _stand_in_models(folder, listed)
    _stand_in_packages(folder)
    for metric in listed:
        # These two read a checkpoint of their package, no folder of transformers.
        if metric.evaluator in ("comet", "bleurt"):
            checkpoint = folder / f"tiny-{metric.id.replace('/', '-')}"
            _stand_in_checkpoint(checkpoint, metric.id)
            metrics.place(metric.model, checkpoint)
    metrics.make(metrics.asked(study, study.outputs), print, mode="quick")


def _stand_in_splitter(folder: Path) -> None:
    """Put a splitter of sentences that knows no abbreviation where nltk looks for
    it.
    """
    import nltk

    splitter = folder / "tokenizers" / "punkt_tab" / "english"
    splitter.mkdir(parents=True, exist_ok=True)
    for name in SPLITTER_FILES:
        (splitter / name).touch()
    os.environ["NLTK_DATA"] = str(folder)
    nltk.data.path.append(str(folder))


def _stand_in_models(folder: Path, listed: Iterable[Metric]) -> None:
    """A tiny random model for each model of the metrics, made in `folder` and placed
    where the library looks.
    """
    import tiny_model
    from bert_score.utils import model2layers
    from tokenizers.processors import TemplateProcessing

    from nlgeval_lib import datasets
    from reproduction.study import metrics

    sources = datasets.load("summeval")["source"].unique()
    words = tiny_model.tokenizer(sources, 4000)
    # without a first mark, so that UniEval's Yes and No differ where they begin
    words.backend_tokenizer.post_processor = TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 2)]
    )
    by_model = {metric.model: metric for metric in listed}
    for seed, (model, metric) in enumerate(by_model.items()):
        # BERTScore reads a layer whose number hangs on the model's name: there must be
        # as many
        layers = 1
        if metric.evaluator == "bertscore":
            layers = model2layers[model]
        target = folder / f"tiny-{seed}"
        tiny = tiny_model.build_seq2seq(target, seed, layers, 4096, words)
        metrics.place(model, tiny)


def _stand_in_packages(folder: Path) -> None:
    """Stand-ins for the packages of COMET and BLEURT: a score is a number made from the
    texts.
    """

    def noise(*texts: str) -> float:
        digest = hashlib.sha256("\x1f".join(texts).encode()).digest()
        return random.Random(digest).random()

    def predict(data: Sequence[Mapping[str, str]], **_: Any) -> SimpleNamespace:
        scores = [noise(*texts.values()) for texts in data]
        return SimpleNamespace(scores=scores)

    def score(references: list[str], candidates: list[str], **_: Any) -> list[float]:
        return list(map(noise, references, candidates))

    model = SimpleNamespace(predict=predict)
    comet: Any = ModuleType("comet")
    comet.load_from_checkpoint = lambda path: model
    bleurt: Any = ModuleType("bleurt")
    scorer = SimpleNamespace(score=score)
    bleurt.score = SimpleNamespace(BleurtScorer=lambda path: scorer)
    sys.modules |= {"comet": comet, "bleurt": bleurt}
    packages = folder / "packages"
    for name in ("unbabel_comet", "BLEURT"):
        about = packages / f"{name}-0.dist-info"
        about.mkdir(parents=True, exist_ok=True)
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n"
        (about / "METADATA").write_text(text)
    sys.path.append(str(packages))


def _stand_in_checkpoint(folder: Path, text: str) -> None:
    """A folder that looks like a checkpoint of COMET and like one of BLEURT."""
    weights = folder / "checkpoints" / "model.ckpt"
    weights.parent.mkdir(parents=True, exist_ok=True)
    weights.write_text(text)
    (folder / "bleurt_config.json").write_text("{}")
    # by its size a folder is known for a stand-in
    (folder / "model.safetensors").write_text("no weights")


def cells(results: Path) -> pd.DataFrame:
    """The printed cells of all saved results; `ours` is empty where nothing came out,
    not even of a stand-in.

    Returns: a row a printed cell, with the columns of the results' tables.
    """
    tables = []
    for path in results.glob("*/*/*.csv"):
        if "__" not in path.name:
            tables.append(pd.read_csv(path, dtype={"printed": str}))
    table = pd.concat(tables, ignore_index=True)
    # What a stand-in gives has a row of its own, "ROW, judged by MODEL"; the printed
    # row counts as filled then.
    by_stand_in = table["row"].str.contains(", judged by ", na=False)
    stand_ins = table.loc[by_stand_in & table["ours"].notna(), PLACE]
    printed_rows = stand_ins["row"].str.replace(", judged by .*", "", regex=True)
    stand_ins = pd.MultiIndex.from_frame(stand_ins.assign(row=printed_rows))
    has_stand_in = pd.MultiIndex.from_frame(table[PLACE]).isin(stand_ins)
    filled = has_stand_in & table["ours"].isna()
    table.loc[filled, "ours"] = 0.0
    table.loc[filled, "route"] = "run"
    return table[table["printed"].notna()]


def main() -> int:
    """Rehearse, count, and compare with the two lists or write them; the exit code."""
    options = _options()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        for name in ("home", "results", "figures"):
            os.environ[f"NLGEVAL_{name.upper()}"] = str(folder / name)
        fill(folder / "home" / "completions")
        measure(folder / "models")
        code = _run_notebooks(options.jobs)
        table = cells(folder / "results")
    _show_routes(table)
    gained = _gained(table)
    empty = _empty(table)
    if options.write:
        empty.to_csv(LIST, index=False)
        gained.to_csv(GAINED, index=False)
        n_cells = empty["cells"].sum()
        print(
            f"wrote {LIST.relative_to(ROOT)}: {len(empty)} rows of tables stay empty, "
            f"{n_cells:,} cells"
        )
        return code
    n_moved = _compare(empty, gained)
    return int(bool(code) or n_moved > 0)


def _show_routes(table: pd.DataFrame) -> None:
    """Print how the cells came out, the most frequent way first; "empty" for those that
    did not.
    """
    route_or_empty = table["route"].where(table["ours"].notna(), "empty")
    routes = Counter(route_or_empty)
    counts = [f"{route}: {count:,}" for route, count in routes.most_common()]
    print("; ".join(counts))
    print(f"{routes['run']:,} printed cells come out once the judges are asked")


def _gained(table: pd.DataFrame) -> pd.DataFrame:
    """How many cells of each table come out by each model: `paper, table, model,
    cells`.
    """
    gained = table[table["route"] == "run"]
    model = gained["signature"].str.extract(r"model:([^|@]+)@", expand=False)
    return _counted(gained.assign(model=model), ["paper", "table", "model"])


def _empty(table: pd.DataFrame) -> pd.DataFrame:
    """How many cells of each row of a table stay empty, and why: `paper, table, row,
    reason, cells`.
    """
    columns = [*KEY, "reason"]
    empty = table[table["ours"].isna()].dropna(subset=columns)
    return _counted(empty, columns)


def _run_notebooks(jobs: str) -> int:
    """Run the notebooks that read a judge or a metric; the exit code."""
    from reproduction.study import catalogue

    command = [sys.executable, "-m", "nlgeval_lib", "run"]
    for output in catalogue.load().outputs:
        if output.covers and (output.judges or output.metrics):
            command.append(output.id)
    command += ["--mode", "quick", "--jobs", jobs]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _counted(table: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """How many cells there are of each value of these columns."""
    sizes = table.groupby(columns, dropna=False).size()
    return sizes.rename("cells").reset_index()


def _compare(empty: pd.DataFrame, gained: pd.DataFrame) -> int:
    """Say what differs from the two lists."""
    listed = pd.read_csv(LIST)
    rows = empty.merge(listed, how="outer", indicator="side")
    moved = rows[rows["side"] != "both"]
    if not gained.equals(pd.read_csv(GAINED)):
        print(f"{GAINED.relative_to(ROOT)} is no longer so; --write renews it")
    for row in moved.itertuples():
        state = "empty now" if row.side == "left_only" else "no longer empty"
        print(
            f"{state}: {row.paper} {row.table}, {row.row}: "
            f"{row.cells} cells: {row.reason}"
        )
    return len(moved)


def _options() -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="keep everything here")
    parser.add_argument("--write", action="store_true", help="write both lists anew")
    parser.add_argument("--jobs", default="2", help="notebooks side by side")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
