"""A parser over many texts: what it reads, by which rule, and what it leaves."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pandas as pd

from nlgeval_lib import parsers
from nlgeval_lib.names import meant
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.scoring import named, rows, table_files
from nlgeval_lib.scoring.cells import InputError
from nlgeval_lib.scoring.rows import Rows
from nlgeval_lib.scoring.settings import parsed
from nlgeval_lib.scoring.table_files import STDIN

COLUMNS = (
    "text",
    "completion",
    "output",
    "response",
    "answer",
)  # where a file's texts are looked for
_SHARED = ("value", "status", "reason", "rule")
_OURS = (
    *(
        "rating",
        "feedback",
        "error_analysis",
        "instructscore",
        "tigerscore_authors",
        "aspects",
        "aspect_scores",
    ),
    *("criteria", "preference", "yes_no", "multiple_choice"),
)
PARSERS: dict[str, Callable[..., Parsed]] = {
    name: getattr(parsers, name) for name in _OURS
}
PARSERS |= {
    name: getattr(parsers.naive, name) for name in ("first_number", "last_number")
}


def parser(name: str, settings: Iterable[str] = ()) -> functools.partial[Parsed]:
    """A parser by its name, with its settings as `name=value` texts.

    Raises: InputError naming the setting.
    """
    if name not in PARSERS:
        raise InputError(
            f"no parser {name!r}{meant(name, PARSERS, '.')} There are {', '.join(PARSERS)}"
        )
    function = PARSERS[name]
    given = parsed(function, settings, f"parser {name}", given={})
    try:
        function("4", **given)
    except (ValueError, TypeError) as error:
        raise InputError(f"parser {name}: {error}") from error
    return functools.partial(function, **given)


def texts(
    path: str, format: str = "", column: str = "", delimiter: str = ""
) -> tuple[Rows, str]:
    """The texts of a file, and the column that they are in.

    A file ending in .txt, and standard input without a format, is one text; format
    "lines": a text a line.
    Raises: InputError.
    """
    plain = format in ("text", "lines") or (
        not format and (path == STDIN or Path(path).suffix.lower() == ".txt")
    )
    if not plain:
        found = rows.read(path, format, delimiter)
        if column and column not in found.columns:
            raise InputError(f"--column {found.lacks(column)}")
        chosen = column or next((name for name in COLUMNS if name in found.columns), "")
        if not chosen:
            columns = ", ".join(found.columns)
            raise InputError(
                f"{found.name}: which column has the texts? Give --column; columns: {columns}"
            )
        for row, value in found.given[chosen].items():
            if value is not None and not isinstance(value, str):
                raise InputError(
                    f"{found.place(str(row), chosen)}: {type(value).__name__} where a text is needed"
                )
        return found, chosen
    if column:
        raise InputError("--column is for tables; this is plain text")
    content = table_files.plain_text(path)
    lines = content.splitlines() if format == "lines" else [content]
    return rows.of_frame(
        pd.DataFrame({"text": lines}), table_files.called(path)
    ).whole(), "text"


def stored(folder: str, model: str = "") -> tuple[Rows, str]:
    """The texts of a store, of one model or of all, in the order they were stored.

    Raises: InputError without any.
    """
    kept = named.store(folder)
    found = list(kept.get_many(kept).values())
    mine = [one for one in found if not model or one.model == model]
    if not mine:
        models = ", ".join(sorted({one.model for one in found})) or "no completions"
        raise InputError(
            f"the store {folder} has nothing{f' of {model!r}' if model else ''}; it has {models}"
        )
    frame = pd.DataFrame(
        {
            name: [getattr(one, name) for one in mine]
            for name in ("key", "model", "revision", "text")
        }
    )
    return rows.of_frame(frame, folder).whole(), "text"


def readings(
    texts: Rows, column: str, parse: Callable[[str | None], Parsed]
) -> pd.DataFrame:
    """The rows without their texts, and what was read from each: value, status,
    reason, rule, and the parser's own.
    """
    found = [parse(text) for text in texts.given[column]]
    kept = texts.given.drop(columns=column).reset_index(drop=True)
    names = dict.fromkeys(
        [*_SHARED, *(field.name for one in found for field in dataclasses.fields(one))]
    )
    kept = kept.rename(columns={name: f"{name} (before)" for name in names})
    for name in names:
        values = [getattr(one, name, None) for one in found]
        as_text = name in _SHARED and name != "value"
        kept[name] = (
            [str(value) for value in values]
            if as_text
            else pd.Series(values, dtype=object)
        )
    return kept


def in_words(found: pd.DataFrame) -> Iterator[str | pd.DataFrame]:
    """How many texts have which status, how many each rule read or left, which
    values, and the frequent reasons.
    """
    total = len(found)
    statuses = found["status"].value_counts()
    yield (
        f"{total:,} texts: "
        + ", ".join(
            f"{n:,} {status} ({n / total:.1%})" for status, n in statuses.items()
        )
        + "\n"
    )
    rules = (
        found.groupby(["rule", "status"], sort=False)
        .size()
        .sort_values(ascending=False)
    )
    rows = [
        (rule or "-", status, f"{count:,}", f"{count / total:.1%}")
        for (rule, status), count in rules.items()
    ]
    yield pd.DataFrame(rows, columns=["rule", "status", "texts", "share"])
    values = pd.Series(
        [
            value
            for value in found["value"]
            if isinstance(value, (int, float)) and value == value
        ]
    )
    if 0 < values.nunique() <= 12:
        yield "\nvalues: " + ", ".join(
            f"{value:g}: {n:,}"
            for value, n in values.value_counts().sort_index().items()
        )
    elif len(values):
        yield f"\nvalues: mean {values.mean():.4g}, from {values.min():.4g} to {values.max():.4g}"
    reasons = found.loc[found["status"] != "ok", "reason"].value_counts().head(5)
    if len(reasons):
        yield "\nmost frequent reasons:"
        yield from (f"  {count:,}  {reason}" for reason, count in reasons.items())


def examples(
    texts: Rows, column: str, found: pd.DataFrame, number: int
) -> Iterator[str]:
    """The first texts of each rule and status, in short."""
    for (rule, status), part in (
        found.groupby(["rule", "status"], sort=False) if number else ()
    ):
        yield f"--- {rule or '-'}, {status}: {len(part):,}"
        for position in part.index[:number]:
            text = " ".join((texts.given[column].iloc[position] or "").split())
            short = text if len(text) <= 200 else f"{text[:100]} ... {text[-95:]}"
            value = found["value" if status == "ok" else "reason"].iloc[position]
            yield f"{texts.place(texts.given.index[position])}: {value} <- {short!r}"
