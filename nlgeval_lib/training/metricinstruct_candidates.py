"""One MetricInstruct example in the making: an output with the errors that the teacher found or put in."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.engines import Engine, Request, Sampling, complete
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.judge import ChatFormat, make_sampling
from nlgeval_lib.evaluators.tigerscore import find_task
from nlgeval_lib.parsers.errors import LABEL, ErrorItem, error_analysis
from nlgeval_lib.records import Completion, Sample
from nlgeval_lib.training.filters import Filters, Rule
from nlgeval_lib.training.pipeline import Piece, Unreadable, no_text

TWO_STEP, WITH_ASPECTS, FREE = "two-step", "table_18", "table_19"
_NEEDED = ("instruction", "reference")
_KEPT = ("input", "output", "dataset", "system_id", "input_id")
_ALSO = {"input": "source", "reference": "references"}
_OUTPUT = re.compile(r"^[>*#\- \t]*generated incorrect (?:output|response)[*_]*\s*:[*_]*[ \t]*", re.I | re.M)
# five draws by top-p sampling; the paper gives neither p nor the temperature
SAMPLING = MappingProxyType({"temperature": 1.0, "top_p": 0.9, "max_tokens": 512, "n": 5})


@dataclass(frozen=True, slots=True)
class Candidate(Piece):
    """An instruction, its input and reference, an output, and its errors.

    channel: `real` (a system's output) or `synthetic` (written by the teacher). template: the prompt it comes from.
    asked: the aspects that a synthetic output was to err in, empty where the teacher chose them (`free`).
    """

    id: str
    channel: str
    template: str
    task: str
    dataset: str
    system_id: str
    instruction: str
    input: str
    reference: str
    output: str = ""
    errors: tuple[ErrorItem, ...] = ()
    asked: tuple[str, ...] = ()
    free: bool = False

    @property
    def group(self) -> str:
        """The part of the data, for counts: channel and task."""
        return f"{self.channel} {self.task}"

    def sample(self) -> Sample:
        """The candidate as evaluators take it, with its analysis."""
        extra = {"analysis": analysis(self.errors)}
        return Sample(self.id, self.output, self.instruction, self.input, references=(self.reference,), extra=extra)

    def example(self) -> dict[str, Any]:
        """The example as a set keeps it: `prompt`, `completion`, and where they come from.

        Source: TIGERScore, Table 9 (what the fine-tuned model is asked).
        """
        prompt = prompts.render(
            "tigerscore/evaluate",
            generation_instruction=self.instruction,
            input_context=self.input,
            hypothesis_output=self.output,
        )
        known = self.content()
        return {
            "id": known.pop("id"),
            "prompt": prompt,
            "completion": analysis(self.errors),
            **{name: value for name, value in known.items() if name not in ("asked", "free")},
            "n_errors": len(self.errors),
            "score": 0.0 - sum(error.reduction for error in self.errors),
        }

    def content(self) -> dict[str, Any]:
        """All that is known of a candidate, which may have no output."""
        inherited = [f.name for f in dataclasses.fields(Piece)]
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in inherited}
        fields = ("location", "aspect", "explanation", "severity", "reduction")
        errors = [{name: getattr(error, name) for name in fields} for error in self.errors]
        return {**own, "errors": errors, "asked": list(self.asked)}


def candidates(frame: pd.DataFrame, channel: str, template: str, teacher: str = "") -> list[Candidate]:
    """A candidate for each row: `task`, `instruction`, `source` or `input`, `reference` or `references`; for the real
    channel also `output`. `dataset`, `system_id` and `input_id` are kept; a missing text is empty.

    Raises: ValueError for a missing column or an unknown task.
    """
    where = {
        name: next((column for column in (_ALSO.get(name, name), name) if column in frame.columns), "")
        for name in (*_NEEDED, *_KEPT)
    }
    needed = (*_NEEDED, *(["output"] if channel == "real" else []))
    missing = [name for name in needed if not where[name]] + ([] if "task" in frame.columns else ["task"])
    if missing:
        raise ValueError(f"no column {', '.join(missing)}; the frame has {', '.join(map(str, frame.columns))}")
    labels = {name: find_task(name).label for name in dict.fromkeys(frame["task"])}
    made = []
    for place, row in enumerate(frame.to_dict("records")):
        values: dict[str, Any] = {name: _text(row[column]) if column else "" for name, column in where.items()}
        name = values.pop("input_id") or str(place)
        if channel == "synthetic":
            values |= {"output": "", "system_id": teacher}
        whole = "/".join(part for part in (channel, template, name, values["system_id"]) if part)
        values |= {"id": f"{whole}#{place}", "channel": channel, "template": template, "task": labels[row["task"]]}
        made.append(Candidate(free=template == FREE, **values))
    return made


def _text(value: Any) -> str:
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        value = value[0] if len(value) else ""
    return value if isinstance(value, str) else ""


def analysis(errors: Sequence[ErrorItem]) -> str:
    """The errors as TIGERScore writes them: a line that counts them, then five labelled lines an error.

    `parsers.error_analysis` reads it back. Line breaks inside a field become blanks, as a label begins a line.
    Source: TIGERScore, Table 23 and the authors' published outputs.
    """
    total = sum(error.reduction for error in errors)
    lines = [f"The model-generated output contains {len(errors)} errors, with a total score reduction of {total:g}."]
    for number, error in enumerate(errors, start=1):
        lines += [
            f"Error location {number}: {_line(error.location)}",
            f"Error aspect {number}: {_line(error.aspect)}",
            f"Explanation {number}: {_line(error.explanation)}",
            f"Severity {number}: {error.severity}",
            f"Score reduction {number}: {error.reduction:g}",
        ]
    return "\n".join(lines)


def _line(text: str) -> str:
    return " ".join(text.split())


# -- what the teacher is asked and what it wrote ---------------------------------------------------------------------


def read_analysis(candidate: Candidate, completion: Completion) -> dict[str, Any]:
    """The errors of the JSON that the teacher wrote. Raises: Unreadable."""
    found = error_analysis(completion.text)
    if not found.ok or found.rule != "json":
        raise Unreadable(found.reason or f"read as {found.rule!r}, not as JSON")
    return {"errors": _named(found.errors, candidate)}


def spoiling(candidate: Candidate, most_errors: int = 3) -> Request:
    """What is asked for a spoiled output: with errors of `asked`, or of aspects that the teacher names itself.

    The form of the list of errors is ours; the paper does not print it.
    Source: TIGERScore, Table 18; Table 19 (free aspects).
    """
    if candidate.free:
        text = prompts.render(
            "tigerscore/synthetic_free_aspects",
            instruction=candidate.instruction,
            input=candidate.input,
            output=candidate.reference,
            num_errors=most_errors,
        )
    else:
        aspects = find_task(candidate.task).aspects
        wanted = [f"{n}. An error of {name}: {aspects[name]}" for n, name in enumerate(candidate.asked, start=1)]
        text = prompts.render(
            "tigerscore/synthetic_errors",
            generation_instruction=candidate.instruction,
            input_context=candidate.input,
            reference_output=candidate.reference,
            error_requirements="\n".join(wanted),
        )
    return Request.chat(text, id=candidate.id)


def read_spoiled(candidate: Candidate, completion: Completion) -> dict[str, Any]:
    """The output and the errors that the teacher wrote. Raises: Unreadable."""
    text = completion.text.replace("\r\n", "\n")
    head = _OUTPUT.search(text)
    if head is None:
        raise Unreadable("no line 'Generated incorrect output:'")
    rest = text[head.end() :]
    first = LABEL.search(rest)
    if first is None:
        raise Unreadable("no error is listed after the output")
    output, found = _bare(rest[: first.start()]), error_analysis(rest[first.start() :])
    if not found.ok or not found.errors:
        raise Unreadable(found.reason or "no error is listed after the output", output=output)
    return {"output": output, "errors": _named(found.errors, candidate)}


def _bare(text: str) -> str:
    """The output without the fence or the quotation marks that stand around all of it."""
    text = text.strip()
    if fence := re.fullmatch(r"```[a-z]*\n(.*?)\n?```", text, re.S):
        return fence.group(1).strip()
    quoted = re.fullmatch(r'"([^"]*)"', text)
    return quoted.group(1).strip() if quoted else text


def _named(errors: Sequence[ErrorItem], candidate: Candidate) -> tuple[ErrorItem, ...]:
    """The errors with aspects as the paper spells them, where they are of the task."""
    if candidate.free:
        return tuple(errors)
    task = find_task(candidate.task)
    return tuple(replace(error, aspect=task.aspect(error.aspect) or error.aspect) for error in errors)


# -- outputs of systems ----------------------------------------------------------------------------------------------


def sample_outputs(
    frame: pd.DataFrame,
    systems: Mapping[str, Engine],
    *,
    store: Store | None = None,
    sampling: Sampling | Mapping[str, Any] | None = None,
    progress: Any = None,
) -> pd.DataFrame:
    """What each system writes for each input: the rows of `frame` once a system and draw, with `system_id`, `draw`,
    `output` and `failure` (why an output is empty).

    A system gets the instruction and, on the next lines, the input. `frame` has `instruction` and `source` or `input`.
    Raises: ValueError for a missing column; EngineError.
    Source: TIGERScore, section 3.2 (five samples by top-p sampling).
    """
    column = next((name for name in ("source", "input") if name in frame.columns), None)
    if "instruction" not in frame.columns or column is None:
        raise ValueError(f"instruction, and source or input, are needed; columns: {', '.join(map(str, frame.columns))}")
    rows, form = frame.to_dict("records"), ChatFormat.named("messages")
    texts = ["\n".join(filter(None, (row["instruction"], row[column]))) for row in rows]
    requests = [form.request(text, str(place)) for place, text in enumerate(texts)]
    made = []
    for name, engine in systems.items():
        answers = complete(engine, requests, make_sampling(SAMPLING, sampling), store, progress)
        for row, draws in zip(rows, answers, strict=True):
            for draw, completion in enumerate(draws):
                failure = no_text(completion)
                text = "" if failure else completion.text.strip()
                made.append({**row, "system_id": name, "draw": draw, "output": text, "failure": failure})
    added = ["system_id", "draw", "output", "failure"]
    return pd.DataFrame(made, columns=[*(name for name in frame.columns if name not in added), *added])


def least_likely(frame: pd.DataFrame, metric: Any, keep: int = 1) -> tuple[pd.DataFrame, Filters]:
    """The outputs that a likelihood metric ranks lowest, `keep` for each input and system, and what was passed over.

    metric: anything with `score(frame)` that gives a `value`, such as `BartScore`. Outputs that are empty or without a
    value are removed and counted as such; of equal values the earlier draw stays. The column `likelihood` is added.
    Raises: ValueError for a missing column.
    Source: TIGERScore, section 3.2 (BARTScore; lower is taken to hold more errors).
    """
    by = ["input_id", "system_id"]
    if missing := [name for name in (*by, "output") if name not in frame.columns]:
        raise ValueError(f"no column {', '.join(missing)}; the frame has {', '.join(map(str, frame.columns))}")
    frame = frame.reset_index(drop=True)
    names = frame[by].astype(str).agg("/".join, axis=1)
    filters: Filters[int] = Filters(lambda row: f"{names[row]}#{row}", lambda row: "all")

    def passing(name: str, says: str, reasons: pd.Series, origin: str = "paper") -> list[int]:
        return filters.apply([Rule(name, says, reasons.get, origin)], reasons.index)

    empty = frame["output"].str.strip().eq("").map({True: "empty", False: ""})
    scored = metric.score(frame.loc[passing("no_output", "the system wrote nothing", empty)])
    reasons = scored["reason"].replace("", "no value").where(scored["value"].isna(), "")
    rows = passing("no_likelihood", "the metric gives no value", reasons, "ours")
    part = frame.loc[rows].assign(likelihood=scored["value"].loc[rows].astype(float))
    ranks = part.groupby(by, sort=False)["likelihood"].rank(method="first")
    above = ranks.map(lambda rank: f"{rank:g}. from the bottom" if rank > keep else "")
    rows = passing("likelier", f"not among the {keep} least likely of an input and system", above)
    return part.loc[rows].reset_index(drop=True), filters
