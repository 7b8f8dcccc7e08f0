"""A parser over many texts: what it reads, by which rule, and what it leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pandas as pd

from nlgeval_lib import parsers
from nlgeval_lib.engines.store import Store
from nlgeval_lib.names import meant
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.scoring import options, readers, rows
from nlgeval_lib.scoring.readers import InputError
from nlgeval_lib.scoring.rows import Rows

COLUMNS = ("text", "completion", "output", "response", "answer")  # where a file's texts are looked for
PLAIN = ("text", "lines")  # formats of files that are no tables
_SHARED = ("value", "status", "reason", "rule")

PARSERS: dict[str, Callable[..., Parsed]] = {
    "rating": parsers.rating,
    "feedback": parsers.feedback,
    "error_analysis": parsers.error_analysis,
    "instructscore": parsers.instructscore,
    "tigerscore_authors": parsers.tigerscore_authors,
    "aspects": parsers.aspects,
    "aspect_scores": parsers.aspect_scores,
    "criteria": parsers.criteria,
    "preference": parsers.preference,
    "yes_no": parsers.yes_no,
    "multiple_choice": parsers.multiple_choice,
    "first_number": parsers.naive.first_number,
    "last_number": parsers.naive.last_number,
}


def parser(name: str, settings: Iterable[str] = ()) -> Callable[[str | None], Parsed]:
    """A parser by its name, with its settings as `name=value` texts. Raises: InputError naming the setting."""
    if name not in PARSERS:
        raise InputError(f"no parser {name!r}{meant(name, PARSERS, '.')} There are {', '.join(PARSERS)}")
    function = PARSERS[name]
    given = options.parse(function, settings, f"parser {name}")
    options.lacking(function, given, f"parser {name}")

    def parse(text: str | None) -> Parsed:
        return function(text, **given)

    try:
        parse("4")
    except (ValueError, TypeError) as error:
        raise InputError(f"parser {name}: {error}") from error
    return parse


def texts(path: str, format: str = "", column: str = "", delimiter: str = "") -> tuple[Rows, str]:
    """The texts of a file, and the column that they are in.

    A file ending in .txt, and standard input without a format, is one text; format "lines": a text a line.
    Raises: InputError.
    """
    if format not in PLAIN and (format or (path != readers.STDIN and Path(path).suffix.lower() != ".txt")):
        found = rows.read(path, format, delimiter)
        if column and column not in found.columns:
            raise InputError(f"--column {found.lacks(column)}")
        chosen = column or next((name for name in COLUMNS if name in found.columns), "")
        if not chosen:
            columns = ", ".join(found.columns)
            raise InputError(f"{found.name}: which column has the texts? Give --column; columns: {columns}")
        for place, value in enumerate(found.given[chosen]):
            if value is not None and not isinstance(value, str):
                raise InputError(f"{found.place(place, chosen)}: {type(value).__name__} where a text is needed")
        return found, chosen
    if column:
        raise InputError("--column is for tables; this is plain text")
    name = readers.called(path)
    content = readers.text(readers.content(path), name)
    lines = content.splitlines() if format == "lines" else [content]
    if not any(line.strip() for line in lines):
        raise InputError(f"{name} is empty: there is no text in it")
    return rows.of_frame(pd.DataFrame({"text": lines}), name), "text"


def stored(folder: str, model: str = "") -> tuple[Rows, str]:
    """The texts of a store, of one model or of all, in the order they were stored. Raises: InputError without any."""
    kept = Store(Path(folder))
    found = list(kept.get_many(kept).values())
    mine = [one for one in found if not model or one.model == model]
    if not mine:
        models = ", ".join(sorted({one.model for one in found})) or "no completions"
        raise InputError(f"the store {folder} has nothing{f' of {model!r}' if model else ''}; it has {models}")
    names = ("key", "model", "revision", "text")
    return rows.of_frame(pd.DataFrame({name: [getattr(one, name) for one in mine] for name in names}), folder), "text"


def readings(texts: Rows, column: str, parse: Callable[[str | None], Parsed]) -> pd.DataFrame:
    """The rows without their texts, and what was read from each: value, status, reason, rule, and the parser's own."""
    found = [parse(text) for text in texts.given[column]]
    kept = texts.given.drop(columns=column).reset_index(drop=True)
    fields = dict.fromkeys(field.name for one in found for field in dataclasses.fields(one))
    names = [*_SHARED, *(name for name in fields if name not in _SHARED)]
    kept = kept.rename(columns={name: f"{name} (before)" for name in names})
    for name in names:
        values = [getattr(one, name, None) for one in found]
        as_text = name in _SHARED and name != "value"
        kept[name] = [str(value) for value in values] if as_text else pd.Series(values, dtype=object)
    return kept


def counts(found: pd.DataFrame) -> list[str]:
    """How many texts have which status, and how many each rule read or left, as text."""
    from nlgeval_lib.report import show

    total = len(found)
    statuses = found["status"].value_counts()
    lines = [f"{total:,} texts: " + ", ".join(f"{n:,} {status} ({n / total:.1%})" for status, n in statuses.items())]
    rules = found.groupby(["rule", "status"], sort=False).size().sort_values(ascending=False)
    frame = pd.DataFrame(
        [(rule or "-", status, f"{count:,}", f"{count / total:.1%}") for (rule, status), count in rules.items()],
        columns=["rule", "status", "texts", "share"],
    )
    lines += ["", show(frame, rows=60).text]
    values = pd.Series([value for value in found["value"] if isinstance(value, (int, float)) and value == value])
    if 0 < values.nunique() <= 12:
        top = values.value_counts().sort_index()
        lines += ["", "values: " + ", ".join(f"{value:g}: {count:,}" for value, count in top.items())]
    elif len(values):
        lines += ["", f"values: mean {values.mean():.4g}, from {values.min():.4g} to {values.max():.4g}"]
    reasons = found.loc[found["status"] != "ok", "reason"].value_counts()
    if len(reasons):
        lines += [
            "",
            "most frequent reasons:",
            *(f"  {count:,}  {reason}" for reason, count in reasons.head(5).items()),
        ]
    return lines


def examples(texts: Rows, column: str, found: pd.DataFrame, number: int) -> Sequence[str]:
    """The first texts of each rule and status, in short."""
    lines = []
    for (rule, status), part in found.groupby(["rule", "status"], sort=False):
        lines.append(f"--- {rule or '-'}, {status}: {len(part):,}")
        for position in part.index[:number]:
            text = " ".join((texts.given[column].iloc[position] or "").split())
            short = text if len(text) <= 200 else f"{text[:100]} ... {text[-95:]}"
            value = found["value"].iloc[position] if status == "ok" else found["reason"].iloc[position]
            lines.append(f"{texts.place(position)}: {value} <- {short!r}")
    return lines
