"""An engine that says what a script says: for tests, teaching and dry runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from nlgeval_lib.engines.base import Ask, Engine, Request, failed
from nlgeval_lib.engines.sampling import Sampling
from nlgeval_lib.records import Completion

Script = Callable[[Request, int], str | Completion]


class ScriptedEngine(Engine):
    """Answers from a list, in the order in which they are asked, or from a function of request and draw.

    A function that raises makes that completion fail with the exception's text. `asked` keeps what was asked.
    Raises: ValueError, while it runs, where a list is too short.
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
            raise ValueError("answers is one text: give a list of texts, or a function of request and draw")
        if batch_size < 1:
            raise ValueError(f"batch_size={batch_size}: at least 1 is needed")
        self.model, self.revision, self.batch_size = model, revision, batch_size
        self._script = answers if callable(answers) else None
        self._answers = iter(()) if callable(answers) else iter(answers)
        self.asked: list[Ask] = []

    def check(self, sampling: Sampling) -> None:
        """Nothing: a script honours whatever its author wrote it for."""

    def generate(self, asks: Sequence[Ask], sampling: Sampling) -> Iterator[list[Completion]]:
        """The script's answers, `batch_size` at a time."""
        for start in range(0, len(asks), self.batch_size):
            yield [self._answer(ask) for ask in asks[start : start + self.batch_size]]

    def count_tokens(self, requests: Sequence[Request]) -> list[int]:
        """Words of each prompt."""
        return [len(request.text().split()) for request in requests]

    def _answer(self, ask: Ask) -> Completion:
        self.asked.append(ask)
        if self._script is None:
            answer = next(self._answers, None)
            if answer is None:
                given = len(self.asked) - 1
                raise ValueError(f"the script has {given} answers, and request {ask.request.id} needs one more")
        else:
            try:
                answer = self._script(ask.request, ask.draw)
            except Exception as error:
                return failed(ask, f"{type(error).__name__}: {error}")
        if isinstance(answer, Completion):
            return replace(answer, key=ask.key, model=self.model, revision=self.revision)
        return Completion(
            key=ask.key,
            text=answer,
            prompt_tokens=len(ask.request.text().split()),
            completion_tokens=len(answer.split()),
            model=self.model,
            revision=self.revision,
        )
