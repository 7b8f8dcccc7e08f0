"""Engines that run no model: answers from a store, or as a script says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from nlgeval_lib.engines.base import Ask, Engine, EngineError, Request, Sampling, failed
from nlgeval_lib.engines.store import Store
from nlgeval_lib.records import Completion

Script = Callable[[Request, int], str | Completion]


class ReplayEngine(Engine):
    """Completions of one model from a store.

    revision: None where the store holds only one of this model.
    refused: key of a completion -> why the model did not give it when it was asked;
    with this, what is not in the store is a failed completion instead of an error.

    `missing` has the keys that nobody asked for yet, `excused` those that were refused.
    """

    name = "replay"

    def __init__(
        self,
        store: Store,
        model: str,
        revision: str | None = None,
        refused: Mapping[str, str] | None = None,
    ) -> None:
        self.store = store
        self.model = model
        self.refused = refused
        self.missing: list[str] = []
        self.excused: list[str] = []
        if revision is not None:
            self.revision = revision
            return
        census = store.census()
        revisions = [label for name, label in census if name == model]
        if len(revisions) != 1:
            contents = ", ".join(f"{name}@{label}" for name, label in census)
            problem = f"{len(revisions)} revisions" if revisions else "no revision"
            raise EngineError(
                f"{store!r} holds {problem} of {model!r}; it holds "
                f"{contents or 'nothing'}. Name model and revision"
            )
        self.revision = revisions[0]

    def generate(
        self, asks: Sequence[Ask], sampling: Sampling
    ) -> Iterator[list[Completion]]:
        """All stored completions, in one batch, with the failed ones after them."""
        stored = self.store.get_many(ask.key for ask in asks)
        absent = [ask for ask in asks if ask.key not in stored]
        if absent and self.refused is None:
            raise EngineError(self._absence(absent))
        refused = self.refused or {}
        failures = []
        for ask in absent:
            if ask.key in refused:
                self.excused.append(ask.key)
            else:
                self.missing.append(ask.key)
            failures.append(failed(ask, refused.get(ask.key, "not in the store")))
        yield [*stored.values(), *failures]

    def _absence(self, absent: Sequence[Ask]) -> str:
        """The message that names the first completions that are not stored."""
        listed = ", ".join(f"{ask.request.id} (draw {ask.draw})" for ask in absent[:10])
        if len(absent) > 10:
            listed += f" and {len(absent) - 10} more"
        return (
            f"{len(absent)} completions are not in {self.store!r}: {listed}. Make them "
            "with an engine that runs the model, or check that model, revision, "
            "prompts and sampling settings are those of the recording"
        )


class ScriptedEngine(Engine):
    """Answers from a list, in the order in which they are asked, or from a function of
    request and draw.

    answers: texts, or whole completions, whose key, model and revision are replaced. A
    function that raises makes that completion fail with the exception's text.
    batch_size: answers that are handed over together.

    `asked` keeps what was asked.
    """

    name = "scripted"

    def __init__(
        self,
        answers: Iterable[str | Completion] | Script,
        *,
        model: str = "scripted",
        revision: str = "0",
        batch_size: int = 32,
    ) -> None:
        if isinstance(answers, str):
            raise ValueError("answers is one text: give a list of texts, or a function")
        self.model = model
        self.revision = revision
        self.batch_size = batch_size
        self._answers = answers if callable(answers) else iter(answers)
        self.asked: list[Ask] = []

    def generate(
        self, asks: Sequence[Ask], sampling: Sampling
    ) -> Iterator[list[Completion]]:
        """The script's answers, `batch_size` at a time."""
        for start in range(0, len(asks), self.batch_size):
            batch = asks[start : start + self.batch_size]
            yield [self._answer(ask) for ask in batch]

    def _answer(self, ask: Ask) -> Completion:
        """The script's answer as a completion; its tokens are counted as words."""
        self.asked.append(ask)
        if callable(self._answers):
            try:
                answer = self._answers(ask.request, ask.draw)
            except Exception as error:
                return failed(ask, f"{type(error).__name__}: {error}")
        else:
            listed = next(self._answers, None)
            if listed is None:
                raise ValueError(
                    f"the script has {len(self.asked) - 1} answers, and request "
                    f"{ask.request.id} needs one more"
                )
            answer = listed
        if isinstance(answer, Completion):
            return replace(
                answer, key=ask.key, model=self.model, revision=self.revision
            )
        return self._made(
            ask,
            text=answer,
            prompt_tokens=len(ask.request.text().split()),
            completion_tokens=len(answer.split()),
        )
