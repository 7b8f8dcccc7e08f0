"""The score in a named field of the JSON that a text holds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from nlgeval_lib.parsers.normalise import Record, objects
from nlgeval_lib.parsers.ratings import rating, within
from nlgeval_lib.parsers.text import (
    Parsed,
    check_scale,
    check_text,
    readable,
    shown,
    why,
)
from nlgeval_lib.records import Status


def json_field(text: str | None, low: float, high: float, field: str) -> Parsed:
    """The number in `field` of the text's JSON objects, without case; they must agree.

    Raises: ValueError for a bad scale or a blank field.
    """
    low, high = check_scale(low, high)
    if not field.strip():
        raise ValueError("field must name the JSON field that holds the score")
    body = check_text(text, "json_field")
    if body is None:
        return Parsed(math.nan, Status.EMPTY, "the text is empty")
    readings = []
    missing = Status.UNPARSED, f"no JSON field {field!r}"
    for record in _records([item for item, _, _ in objects(body)]):
        if record.cut:
            missing = Status.TRUNCATED, f"cut before the field {field!r}"
        for key, value in record.pairs:
            if key.strip().casefold() == field.strip().casefold():
                readings.append(_read(value, low, high))
    if not readings:
        status, reason = why(readable(body).lower()) or missing
        return Parsed(math.nan, status, reason)
    for reading in readings:
        if not reading.ok:
            reason = f"field {field!r}: {reading.reason}"
            return Parsed(math.nan, reading.status, reason)
    values = sorted({reading.value for reading in readings})
    if len(values) > 1:
        told = " and ".join(map(shown, values))
        reason = f"field {field!r} is given several times: {told}"
        return Parsed(math.nan, Status.UNPARSED, reason)
    return Parsed(values[0], Status.OK, rule="json field")


def _records(item: Any) -> Iterator[Record]:
    """The objects in a JSON value, those inside others too."""
    if isinstance(item, Record):
        yield item
        item = [value for _, value in item.pairs]
    if isinstance(item, list):
        for part in item:
            yield from _records(part)


def _read(value: Any, low: float, high: float) -> Parsed:
    """A value of the field as a number on the scale."""
    if isinstance(value, str):
        return rating(value, low, high)
    if isinstance(value, float):
        return within(value, "json field", low, high)
    return Parsed(math.nan, Status.UNPARSED, f"{str(value)[:40]} is no number")
