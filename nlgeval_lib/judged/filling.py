"""Every completion that the catalogue's outputs need, model by model: what is lacking, and the making of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import paths
from nlgeval_lib.catalogue import Catalogue, Judged
from nlgeval_lib.datasets import DataError
from nlgeval_lib.engines import Engine, EngineError, UnsupportedSetting
from nlgeval_lib.evaluators import Unavailable
from nlgeval_lib.judged import jobs, refusals
from nlgeval_lib.scoring import InputError, Job, ProgressBar, estimate

RATE = 1000.0  # new tokens a second that hours are told for, unless another rate is given
COLUMNS = (
    "model", "output", "judge", "evaluator", "data", "requests", "completions", "stored", "to_ask", "prompt_tokens",
    "new_tokens", "limit", "counted", "exact", "why",
)  # fmt: skip


@dataclass(frozen=True)
class Ways:
    """How models are asked: the engine, its address and settings, another model in place of the catalogue's, folders.

    folders: where the weights of a model id are, by id. store: the completions' folder, "" for the checkout's own.
    """

    engine: str
    model: str = ""
    revision: str = ""
    base_url: str = ""
    engine_settings: Sequence[str] = ()
    folders: dict[str, str] = field(default_factory=dict)
    store: str | Path = ""
    mode: str = "full"
    tokenizer: str = ""

    def job(self, judge: Judged, **more: Any) -> Job:
        """The judge, asked in these ways."""
        model = self.model or judge.model
        folder = self.folders.get(model, "")
        revision = self.revision
        if more.get("planning") and not folder:
            revision = revision or self._stored_elsewhere(model, jobs.own_revision(judge, self.model))
        return jobs.job(
            judge,
            engine=self.engine,
            model=self.model,
            revision=revision,
            folder=folder,
            mode=self.mode,
            store=self.store,
            base_url=self.base_url,
            engine_settings=self.engine_settings,
            tokenizer=self.tokenizer,
            **more,
        )

    def _stored_elsewhere(self, model: str, revision: str) -> str:
        """The revision of a store that was filled on another machine, where the weights are not on this one."""
        from nlgeval_lib.engines import models
        from nlgeval_lib.store import Store

        if self.engine not in ("vllm", "transformers") or revision or Path(model).is_dir():
            return ""
        with Store(self.store or paths.state("completions")) as kept:
            held = [rev for name, rev in kept.census() if name == model]
        return held[0] if len(held) == 1 and models.hub_revision(model, None) == "main" else ""


def select(
    catalogue: Catalogue,
    ways: Ways,
    outputs: Sequence[str] = (),
    papers: Sequence[str] = (),
    models: Sequence[str] = (),
) -> tuple[list[Judged], list[Judged]]:
    """The judges of these outputs, papers and models (all without), by model; and those that this engine is not for.

    Weights that are not public are asked of a server, others of vllm or transformers, unless --model or an address says
    otherwise. Raises: CatalogueError for unknown names; InputError where no judge is left.
    """
    entries = {entry.id for entry in catalogue.select(outputs, papers)}
    chosen = [judge for judge in catalogue.judges if judge.output in entries and (not models or judge.model in models)]
    if not chosen:
        known = ", ".join(dict.fromkeys(judge.model for judge in catalogue.judges)) or "none"
        those = ", ".join(dict.fromkeys(judge.output for judge in catalogue.judges)) or "none"
        raise InputError(
            f"no [[judge]] of the catalogue is among these; models it has: {known}; outputs that ask one: {those}"
        )
    if ways.model or ways.base_url:
        fit = list(chosen)
    else:
        fit = [judge for judge in chosen if judge.api == (ways.engine == "openai")]
    order = list(dict.fromkeys((judge.model, judge.revision) for judge in fit))
    fit.sort(key=lambda judge: order.index((judge.model, judge.revision)))
    return fit, [judge for judge in chosen if judge not in fit]


def groups(judges: Sequence[Judged], ways: Ways) -> Iterator[tuple[str, list[Judged]]]:
    """The judges model by model, in order; what is asked twice in the same way stands once."""
    found: dict[tuple[str, str], list[Judged]] = {}
    for judge in judges:
        key = (ways.model, ways.revision) if ways.model else (judge.model, judge.revision)
        same = found.setdefault(key, [])
        if not any(_asked(one) == _asked(judge) for one in same):
            same.append(judge)
    for (model, _), part in found.items():
        yield model, part


def plan(judges: Sequence[Judged], ways: Ways) -> pd.DataFrame:
    """A row a judge: what it would ask, what of that is stored; nothing is asked and no weights are loaded.

    Columns: COLUMNS; `why` says why a judge cannot be planned here. A completion that two judges of a model ask counts
    for the first one.
    """
    rows: list[dict[str, Any]] = []
    for model, part in groups(judges, ways):
        known: set[str] = set()
        ready: Engine | None = None
        for judge in part:
            row = dict.fromkeys(COLUMNS, 0) | {
                "model": model, "output": judge.output, "judge": judge.name, "evaluator": judge.evaluator,
                "data": judge.data, "counted": True, "exact": True, "why": "",
            }  # fmt: skip
            try:
                job = ways.job(judge, planning=True, ready=ready)
                ready = job.engine
                for stage in estimate.plan(job.planned(), job.engine, job.store, known):
                    for name in ("requests", "completions", "stored", "to_ask", "prompt_tokens", "new_tokens", "limit"):
                        row[name] += getattr(stage, name)
                    row["counted"] &= stage.counted or not stage.to_ask
                    row["exact"] &= stage.exact
            except (jobs.Unready, DataError, Unavailable, InputError, EngineError) as error:
                row["why"] = str(error)
            rows.append(row)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def lines(planned: pd.DataFrame, rate: float | None = None) -> Iterator[str]:
    """A plan as text: a table of judges, then what each model has to do, with hours at `rate` new tokens a second."""
    from nlgeval_lib.report import show

    table = pd.DataFrame(
        {
            "model": planned["model"].where(~planned["model"].duplicated(), ""),
            "output": planned["output"],
            "judge": planned["judge"],
            "evaluator": planned["evaluator"],
            "data": planned["data"],
            **{name.replace("_", " "): planned[name].map("{:,.0f}".format) for name in COLUMNS[5:11]},
            "": ["" if exact else "estimate" for exact in planned["exact"]],
        }
    )
    yield show(table, rows=len(table)).text
    yield ""
    speed = rate or RATE
    for model, part in planned.groupby("model", sort=False):
        gone = part[part["why"] != ""]
        ask, stored = int(part["to_ask"].sum()), int(part["stored"].sum())
        if not ask:
            yield f"{model}: nothing to ask, {stored:,} stored" + (
                " (of what can be planned here)" if len(gone) else ""
            )
        else:
            expected, most = part["new_tokens"].sum() / speed / 3600, part["limit"].sum() / speed / 3600
            hours = f"{most:,.1f}" if f"{expected:.1f}" == f"{most:.1f}" else f"{expected:,.1f} to {most:,.1f}"
            prompts = f"{part['prompt_tokens'].sum():,.0f} prompt tokens"
            prompts += "" if part["counted"].all() else " (four characters a token)"
            said = f"{model}: {ask:,} completions to ask, {stored:,} stored; {prompts}"
            yield f"{said}; {hours} h at {speed:,.0f} new tokens a second"
        for why, rows in gone.groupby("why", sort=False):
            yield f"  not here: {', '.join(rows['output'] + '/' + rows['judge'])}: {why}"
    if not planned["exact"].all():
        yield "estimates depend on answers that are not stored yet"
    if rate is None and planned["to_ask"].any():
        yield f"hours are at {RATE:,.0f} new tokens a second; --rate gives your machine's"


def fill(judges: Sequence[Judged], ways: Ways, say: Callable[[str], None], quiet: bool = False) -> int:
    """Ask everything that is lacking, each model loaded once; the number of judges that could not be finished.

    Every completion is stored as it comes. say: takes a line a judge.
    Raises: KeyboardInterrupt with everything finished stored.
    """
    chosen = list(groups(judges, ways))
    total = sum(len(part) for _, part in chosen)
    unfinished, made, number = 0, 0, 0
    for model, part in chosen:
        ready: Engine | None = None
        try:
            for judge in part:
                number += 1
                head = f"[{number}/{total}] {judge.output} {judge.name}: {judge.evaluator} on {judge.data}, {model}"
                job: Job | None = None
                try:
                    if ready is None and _complete(judge, ways):
                        say(f"{head}: all stored")
                        continue
                    job = ways.job(judge, ready=ready)
                    ready = job.engine
                    read = job.fill(ProgressBar(judge.evaluator, quiet=quiet))
                except (jobs.Unready, DataError, Unavailable) as error:
                    say(f"{head}: not here: {error}")
                    continue
                except (InputError, UnsupportedSetting) as error:
                    unfinished += 1
                    say(f"{head}: error: {error}")
                    continue
                finally:
                    made += job.run.total("done") if job else 0
                say(f"{head}: {job.run.summary()}; {read}")
                if job.run.failures:
                    unfinished += 1
                    refusals.note(job.store.folder, job.engine, job.run.failures)
                    first = job.run.failures[0]
                    say(f"    {len(job.run.failures):,} failed, such as {first.id}: {first.reason}")
        except EngineError as error:
            unfinished += 1
            say(f"{model}: error: {error}")
        except KeyboardInterrupt:
            say(f"stopped: {made:,} completions made now are stored; the same command goes on from there")
            raise
        finally:
            if ready is not None:
                ready.close()
    return unfinished


def _complete(judge: Judged, ways: Ways) -> bool:
    """Whether the store has everything that a judge asks: then no weights need to be loaded."""
    job = ways.job(judge, planning=True)
    planned = estimate.plan(job.planned(), job.engine, job.store)
    return all(stage.exact and not stage.to_ask for stage in planned)


def _asked(judge: Judged) -> tuple[Any, ...]:
    return (judge.evaluator, judge.data, judge.settings, judge.map, judge.fill)
