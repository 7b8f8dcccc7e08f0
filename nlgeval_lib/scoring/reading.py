"""A parser over many texts: what it reads, by which rule, and what it leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pandas as pd

from nlgeval_lib import parsers
from nlgeval_lib.names import meant
from nlgeval_lib.parsers import Parsed
from nlgeval_lib.scoring import columns, options, table
from nlgeval_lib.scoring.table import InputError, Table
from nlgeval_lib.store import Store

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

    def read(text: str | None) -> Parsed:
        return function(text, **given)

    try:
        read("4")
    except (ValueError, TypeError) as error:
        raise InputError(f"parser {name}: {error}") from error
    return read


def texts(path: str, format: str = "", column: str = "", delimiter: str = "") -> tuple[Table, str]:
    """The texts of a file, and the column that they are in.

    A file ending in .txt, and standard input without a format, is one text; format "lines": a text a line.
    Raises: InputError.
    """
    if format not in PLAIN and (format or (path != table.STDIN and Path(path).suffix.lower() != ".txt")):
        found = table.read(path, format, delimiter)
        names = [str(name) for name in found.frame.columns]
        if column and column not in names:
            raise InputError(f"--column {columns.lacks(found, column)}")
        chosen = column or next((name for name in COLUMNS if name in names), "")
        if not chosen:
            raise InputError(f"{found.name}: which column has the texts? Give --column; columns: {', '.join(names)}")
        for place, value in enumerate(found.frame[chosen]):
            if value is not None and not isinstance(value, str):
                raise InputError(f"{found.place(place, chosen)}: {type(value).__name__} where a text is needed")
        return found, chosen
    if column:
        raise InputError("--column is for tables; this is plain text")
    try:
        raw = table.stdin() if path == table.STDIN else Path(path).read_bytes()
        content = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    lines = content.splitlines() if format == "lines" else [content]
    if not any(line.strip() for line in lines):
        raise InputError(f"{'standard input' if path == table.STDIN else path} is empty: there is no text in it")
    return table.of_frame(pd.DataFrame({"text": lines}), "standard input" if path == table.STDIN else path), "text"


def stored(folder: str, model: str = "") -> tuple[Table, str]:
    """The texts of a store, of one model or of all, in the order they were stored. Raises: InputError without any."""
    kept = Store(Path(folder))
    found = list(kept.get_many(kept).values())
    mine = [one for one in found if not model or one.model == model]
    if not mine:
        models = ", ".join(sorted({one.model for one in found})) or "no completions"
        raise InputError(f"the store {folder} has nothing{f' of {model!r}' if model else ''}; it has {models}")
    names = ("key", "model", "revision", "text")
    return table.of_frame(pd.DataFrame({name: [getattr(one, name) for one in mine] for name in names}), folder), "text"


def read(table: Table, column: str, parse: Callable[[str | None], Parsed]) -> pd.DataFrame:
    """The table without its texts, and what was read from each: value, status, reason, rule, and the parser's own."""
    found = [parse(text) for text in table.frame[column]]
    kept = table.frame.drop(columns=column).reset_index(drop=True)
    fields = list(dict.fromkeys(field.name for one in found for field in dataclasses.fields(one)))
    own = [name for name in fields if name not in _SHARED]
    taken = [name for name in (*_SHARED, *own) if name in kept.columns]
    if taken:
        kept = kept.rename(columns={name: f"{name} (before)" for name in taken})
    for name in (*_SHARED, *own):
        values = [getattr(one, name, None) for one in found]
        kept[name] = (
            pd.Series(values, dtype=object) if name in own or name == "value" else [str(value) for value in values]
        )
    return kept


def counts(found: pd.DataFrame) -> list[str]:
    """How many texts have which status, and how many each rule read or left, as text."""
    from nlgeval_lib.report import show

    total = len(found)
    statuses = found["status"].value_counts()
    lines = [
        f"{total:,} texts: "
        + ", ".join(f"{count:,} {status} ({count / total:.1%})" for status, count in statuses.items())
    ]
    rules = found.groupby(["rule", "status"], sort=False).size().sort_values(ascending=False)
    frame = pd.DataFrame(
        [(rule or "-", status, f"{count:,}", f"{count / total:.1%}") for (rule, status), count in rules.items()],
        columns=["rule", "status", "texts", "share"],
    )
    lines += ["", show(frame, rows=60).text]
    values = [value for value in found["value"] if isinstance(value, (int, float)) and value == value]
    if values:
        series = pd.Series(values)
        top = series.value_counts()
        if len(top) <= 12:
            lines += ["", "values: " + ", ".join(f"{value:g}: {count:,}" for value, count in top.sort_index().items())]
        else:
            lines += ["", f"values: mean {series.mean():.4g}, from {series.min():.4g} to {series.max():.4g}"]
    reasons = found.loc[found["status"] != "ok", "reason"].value_counts()
    if len(reasons):
        lines += ["", "most frequent reasons:"]
        lines += [f"  {count:,}  {reason}" for reason, count in reasons.head(5).items()]
    return lines


def examples(table: Table, column: str, found: pd.DataFrame, number: int) -> Sequence[str]:
    """The first texts of each rule and status, in short."""
    lines = []
    for (rule, status), part in found.groupby(["rule", "status"], sort=False):
        lines.append(f"--- {rule or '-'}, {status}: {len(part):,}")
        for position in part.index[:number]:
            text = " ".join((table.frame[column].iloc[position] or "").split())
            short = text if len(text) <= 200 else f"{text[:100]} ... {text[-95:]}"
            value = found["value"].iloc[position] if status == "ok" else found["reason"].iloc[position]
            lines.append(f"{table.place(position)}: {value} <- {short!r}")
    return lines
