"""The road from a judge's completions to the printed cells, rehearsed: a script answers
every judge of the catalogue at reduced size, tiny random models stand for the weights
of its metrics (numbers made from the texts, where a package would score), the notebooks
that read one run on what came of it, and their cells are counted.

    python tools/rehearsal.py                 run it in a temporary folder, compare with tests/cases/rehearsal.csv
    python tools/rehearsal.py --write         and write that list anew
    python tools/rehearsal.py --folder DIR    keep store, results and executed notebooks there

What comes out is noise, for judges under the papers' model names, so it lives in that folder alone. What a stand-in for
a metric's model gives has a row of its own, named by the stand-in; it counts for the printed row. The list has a line
for each row of a printed table with cells that stay empty, and the reason; a row that loses a cell, a notebook that
fails or a reason that changes is a fault, and the exit code 1. How many cells each model fills
goes to data/judged_cells.csv, from which `nlgeval completions --dry-run` tells what an hour or a dollar brings.
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
    from nlgeval_lib.study.catalogue import Metric

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "cases" / "rehearsal.csv"
MALFORMED = 0.02  # of all answers: coverage and missing values are rehearsed too
GAINED = ROOT / "data" / "judged_cells.csv"
KEY = ["paper", "table", "row"]
PLACE = [*KEY, "column", "statistic"]
ERROR = """Error location {0}: a word
Error aspect {0}: Fluency
Explanation {0}: it is odd.
Severity {0}: Minor
Score reduction {0}: 1"""


def answer(evaluator: str, text: str, id: str, draw: int, length: int) -> str:
    """A plausible text of a judge that is asked `text`; the same for the same prompt
    and draw.

    id: the request's, which tells CoAScore's stages apart. length: how many aspects a
    list is to have.
    """
    chance = random.Random(hashlib.sha256(f"{text}#{draw}".encode()).digest())
    lists = id.startswith("aspects of")
    if chance.random() < MALFORMED and not lists:
        return "I have no opinion on this."
    if evaluator == "tigerscore":
        count = chance.randint(0, 3)
        lines = [
            f"The model-generated output contains {count} errors, "
            f"with a total score reduction of {count}."
        ]
        for number in range(1, count + 1):
            lines.append(ERROR.format(number))
        return "\n".join(lines)
    score = chance.randint(1, 5)
    if evaluator == "prometheus":
        return f"The response does some of what was asked. [RESULT] {score}"
    if lists:
        lines = []
        for number in range(1, length + 1):
            lines.append(f"{number}. Aspect {chr(64 + number)}: a side of it")
        return "\n".join(lines)
    if id.endswith("#aspects"):
        names = re.findall(r"^(Aspect \w|[A-Z][\w ]+): ", text, re.M)
        return json.dumps({name: chance.randint(1, 5) for name in names})
    return f"{score}\nThe text is passable."


def fill(store: Path) -> None:
    """Every question of the catalogue, answered by the script."""
    from nlgeval_lib.datasets import DataError
    from nlgeval_lib.engines import ScriptedEngine
    from nlgeval_lib.scoring import ProgressBar
    from nlgeval_lib.study import catalogue, judges

    for question in catalogue.load().questions:
        judge = question.judge
        options = judges.EngineOptions("vllm", store=store, mode="quick")
        length = 0
        for setting in judge.settings:
            if setting.startswith("n="):
                length = int(setting[2:])
                break
        engine = ScriptedEngine(
            lambda request, draw, name=judge.evaluator, n=length: answer(
                name, request.text(), request.id, draw, n
            ),
            model=judge.model,
            revision=judge.revision or "scripted",
        )
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


def measure(folder: Path) -> None:
    """What the metrics of the catalogue give, each by a tiny random model that lies
    where a user's folder would.
    """
    sys.path.append(str(ROOT / "tests"))
    import nltk
    import tiny_model
    from bert_score.utils import model2layers
    from tokenizers.processors import TemplateProcessing

    from nlgeval_lib import datasets
    from nlgeval_lib.study import catalogue, metrics

    # one that knows no abbreviation
    splitter = folder / "nltk" / "tokenizers" / "punkt_tab" / "english"
    splitter.mkdir(parents=True, exist_ok=True)
    for name in (
        "collocations.tab",
        "sent_starters.txt",
        "abbrev_types.txt",
        "ortho_context.tab",
    ):
        (splitter / name).touch()
    os.environ["NLTK_DATA"] = str(folder / "nltk")
    nltk.data.path.append(os.environ["NLTK_DATA"])
    known = catalogue.load()
    words = tiny_model.tokenizer(datasets.load("summeval")["source"].unique(), 4000)
    # without a first mark, so that UniEval's Yes and No differ where they begin
    words.backend_tokenizer.post_processor = TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 2)]
    )
    for seed, metric in enumerate(
        {metric.model: metric for metric in known.metrics.values()}.values()
    ):
        layers = model2layers[metric.model] if metric.evaluator == "bertscore" else 1
        metrics.place(
            metric.model,
            tiny_model.build_seq2seq(
                folder / f"tiny-{seed}", seed, layers, 4096, words
            ),
        )
    _stand_in_packages(folder, known.metrics.values())
    metrics.make(metrics.asked(known, known.outputs), print, mode="quick")


def _stand_in_packages(folder: Path, listed: Iterable[Metric]) -> None:
    """Stand-ins for the packages of COMET and BLEURT and for their checkpoints: a score
    is a number made from the texts.
    """
    from nlgeval_lib.study import metrics

    def noise(*texts: str) -> float:
        digest = hashlib.sha256("\x1f".join(texts).encode()).digest()
        return random.Random(digest).random()

    def predict(data: Sequence[Mapping[str, str]], **_: Any) -> SimpleNamespace:
        return SimpleNamespace(scores=[noise(*texts.values()) for texts in data])

    def score(references: list[str], candidates: list[str], **_: Any) -> list[float]:
        return list(map(noise, references, candidates))

    model = SimpleNamespace(predict=predict)
    comet: Any = ModuleType("comet")
    comet.load_from_checkpoint = lambda path: model
    bleurt: Any = ModuleType("bleurt")
    bleurt.score = SimpleNamespace(
        BleurtScorer=lambda path: SimpleNamespace(score=score)
    )
    sys.modules |= {"comet": comet, "bleurt": bleurt}
    packages = folder / "packages"
    for name in ("unbabel_comet", "BLEURT"):
        about = packages / f"{name}-0.dist-info"
        about.mkdir(parents=True, exist_ok=True)
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n"
        (about / "METADATA").write_text(text)
    sys.path.append(str(packages))
    for metric in listed:
        if metric.evaluator in ("comet", "bleurt"):
            checkpoint = folder / f"tiny-{metric.id.replace('/', '-')}"
            (checkpoint / "checkpoints").mkdir(parents=True, exist_ok=True)
            (checkpoint / "checkpoints" / "model.ckpt").write_text(metric.id)
            (checkpoint / "bleurt_config.json").write_text("{}")
            # by its size a folder is known for a stand-in
            (checkpoint / "model.safetensors").write_text("no weights")
            metrics.place(metric.model, checkpoint)


def cells(results: Path) -> pd.DataFrame:
    """The printed cells of all saved results; `ours` is empty where nothing came
    out, not even of a stand-in.
    """
    tables = []
    for path in results.glob("*/*/*.csv"):
        if "__" not in path.name:
            tables.append(pd.read_csv(path, dtype={"printed": str}))
    table = pd.concat(tables, ignore_index=True)
    by_stand_in = table["row"].str.contains(", judged by ", na=False)
    stand_ins = table.loc[by_stand_in & table["ours"].notna(), PLACE]
    rows = stand_ins["row"].str.replace(", judged by .*", "", regex=True)
    stand_ins = pd.MultiIndex.from_frame(stand_ins.assign(row=rows))
    has_stand_in = pd.MultiIndex.from_frame(table[PLACE]).isin(stand_ins)
    table.loc[has_stand_in & table["ours"].isna(), ["ours", "route"]] = 0.0, "run"
    return table[table["printed"].notna()]


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        for name in ("home", "results", "figures"):
            os.environ[f"NLGEVAL_{name.upper()}"] = str(folder / name)
        fill(folder / "home" / "completions")
        measure(folder / "models")
        code = _run_notebooks(options.jobs)
        table = cells(folder / "results")
    routes = Counter(table["route"].where(table["ours"].notna(), "empty"))
    print("; ".join(f"{route}: {count:,}" for route, count in routes.most_common()))
    print(f"{routes['run']:,} printed cells come out once the judges are asked")
    gained = table[table["route"] == "run"]
    model = gained["signature"].str.extract(r"model:([^|@]+)@", expand=False)
    gained = _counted(gained.assign(model=model), ["paper", "table", "model"])
    empty = table[table["ours"].isna()].dropna(subset=[*KEY, "reason"])
    empty = _counted(empty, [*KEY, "reason"])
    if options.write:
        empty.to_csv(LIST, index=False)
        gained.to_csv(GAINED, index=False)
        print(
            f"wrote {LIST.relative_to(ROOT)}: {len(empty)} rows of tables stay empty, "
            f"{empty['cells'].sum():,} cells"
        )
        return code
    n_moved = _compare(empty, gained)
    return int(bool(code) or n_moved > 0)


def _run_notebooks(jobs: str) -> int:
    """Run the notebooks that read a judge or a metric; the exit code."""
    from nlgeval_lib.study import catalogue

    command = [sys.executable, "-m", "nlgeval_lib.cli", "run"]
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
    """Say what differs from the two lists; how many rows of tables that are empty."""
    both = empty.merge(pd.read_csv(LIST), how="outer", indicator="side")
    moved = both[both["side"] != "both"]
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="keep everything here")
    parser.add_argument("--write", action="store_true", help="write both lists anew")
    parser.add_argument("--jobs", default="2", help="notebooks side by side")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
