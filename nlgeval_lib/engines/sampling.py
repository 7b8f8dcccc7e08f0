"""How a judge is asked to write: the settings that an engine must honour or refuse."""

from __future__ import annotations

import contextlib
import json
import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nlgeval_lib.engines.store import canonical


class UnsupportedSetting(ValueError):
    """An engine was given a setting that its backend cannot honour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling settings. The defaults are greedy decoding of up to 512 tokens.

    temperature          0 is greedy; above it, the softmax's temperature
    top_p, top_k         nucleus in (0, 1]; the k likeliest tokens, 0 for all
    max_tokens           new tokens at most
    repetition_penalty   1 is none; divides the logits of tokens that were seen, in the prompt too
    n                    draws a prompt; they are drawn, stored and counted one by one
    seed                 None is unseeded; else each draw gets a seed of its own, made from this and all else that it is
    stop                 texts that end the completion and are not part of it
    logprobs             None: none; k: the written token and the k likeliest, natural logarithms before any reshaping
    choice, regex, json_schema   at most one: the completion is one of these texts, matches, or is JSON of this schema

    Raises: ValueError for a value out of its range. Changing `n` changes no draw that is stored already.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    max_tokens: int = 512
    repetition_penalty: float = 1.0
    n: int = 1
    seed: int | None = 0
    stop: tuple[str, ...] = ()
    logprobs: int | None = None
    choice: tuple[str, ...] | None = None
    regex: str | None = None
    json_schema: Mapping[str, Any] | str | None = None  # kept as canonical JSON text

    def __post_init__(self) -> None:
        for name in ("temperature", "top_p", "repetition_penalty"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                raise ValueError(f"{name}={value!r}: a finite number is needed")
            self._put(name, float(value))
        for name, least in (("top_k", 0), ("max_tokens", 1), ("n", 1), ("seed", 0), ("logprobs", 0)):
            value = getattr(self, name)
            if value is None and name in ("seed", "logprobs"):
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name}={value!r}: an integer of at least {least} is needed")
        if self.temperature < 0:
            raise ValueError(f"temperature={self.temperature}: 0 (greedy) or more is needed")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p={self.top_p}: a share above 0 and up to 1 is needed")
        if self.repetition_penalty <= 0:
            raise ValueError(f"repetition_penalty={self.repetition_penalty}: a number above 0 is needed (1 is none)")
        if self.n > 1 and self.temperature == 0:
            raise ValueError(f"n={self.n} with temperature 0: greedy draws are all the same; ask for one or sample")
        self._put("stop", _texts("stop", self.stop))
        if self.choice is not None:
            self._put("choice", _texts("choice", self.choice))
            if not self.choice or len(set(self.choice)) != len(self.choice):
                raise ValueError(f"choice={self.choice!r}: one or more different texts are needed")
        if self.regex is not None:
            _check_regex(self.regex)
        if self.json_schema is not None:
            self._put("json_schema", _schema(self.json_schema))
        given = [name for name in ("choice", "regex", "json_schema") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)}: give at most one form for the completion")

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON schema as an object."""
        return None if self.json_schema is None else json.loads(str(self.json_schema))

    def _put(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def key(self) -> dict[str, Any]:
        """What of the settings determines one draw, as JSON values: all but `n`.

        What greedy decoding ignores is left out, and so is what is not set: a setting that is added one day leaves the
        keys of older completions as they are.
        """
        greedy = self.temperature == 0
        key: dict[str, Any] = {
            "temperature": self.temperature,
            "top_p": 1.0 if greedy else self.top_p,
            "top_k": 0 if greedy else self.top_k,
            "max_tokens": self.max_tokens,
            "repetition_penalty": self.repetition_penalty,
            "seed": None if greedy else self.seed,
        }
        for name in ("stop", "logprobs", "choice", "regex", "json_schema"):
            value = getattr(self, name)
            if value is not None and value != ():
                key[name] = list(value) if isinstance(value, tuple) else value
        return key

    def signature(self) -> str:
        """Short text for an evaluator's signature, such as `T:1.0|top_p:0.9|max:256|n:3|seed:0`."""
        parts = [f"T:{self.temperature:g}"]
        names = {"top_p": "top_p", "top_k": "top_k", "max_tokens": "max", "repetition_penalty": "rep", "n": "n"}
        plain = {"top_p": 1.0, "top_k": 0, "repetition_penalty": 1.0}
        for name, short in names.items():
            if getattr(self, name) != plain.get(name):
                parts.append(f"{short}:{getattr(self, name):g}")
        if self.temperature > 0:
            parts.append(f"seed:{'none' if self.seed is None else self.seed}")
        parts += [name for name in ("choice", "regex", "json_schema") if getattr(self, name) is not None]
        return "|".join(parts)


def _texts(name: str, value: Any) -> tuple[str, ...]:
    """`value` as a tuple of non-empty texts."""
    texts = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(text, str) and text for text in texts):
        raise ValueError(f"{name}={value!r}: texts that are not empty are needed")
    return texts


def _schema(value: Mapping[str, Any] | str) -> str:
    """A JSON schema as canonical text."""
    try:
        schema = json.loads(value) if isinstance(value, str) else dict(value)
    except ValueError as error:
        raise ValueError(f"json_schema is not JSON: {error}") from error
    if not isinstance(schema, dict):
        raise ValueError(f"json_schema={value!r}: a JSON object is needed")
    with contextlib.suppress(ImportError):  # the backend looks at it too, but only once a model is loaded
        import jsonschema

        try:
            jsonschema.validators.validator_for(schema).check_schema(schema)
        except jsonschema.SchemaError as error:
            place = "/".join(map(str, error.absolute_path))
            raise ValueError(f"json_schema{f' at {place}' if place else ''}: {error.message}") from None
    return canonical(schema)


# faults that a pattern has in every dialect; what else Python does not know, such as \p{L}, a backend may
_IN_ALL_DIALECTS = ("unterminated", "missing ), unterminated", "unbalanced parenthesis", "nothing to repeat")


def _check_regex(value: Any) -> None:
    """Passes for what may be a regular expression. Raises: ValueError."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"regex={value!r}: a pattern is needed")
    try:
        with warnings.catch_warnings(action="ignore"):  # such as that of [[:alpha:]]
            re.compile(value)
    except re.error as error:
        if error.msg.startswith(_IN_ALL_DIALECTS):
            raise ValueError(f"regex={value!r}: {error}") from None
    except (RecursionError, OverflowError):
        raise ValueError(f"regex={value[:60]!r}...: nested too deeply, or a repetition too large") from None
