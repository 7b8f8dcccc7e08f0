"""Engines that run no model: answers from a store, or as a script says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from nlgeval_lib.engines.base import Ask, Engine, EngineError, Request, Sampling, failed
from nlgeval_lib.engines.store import Store
from nlgeval_lib.records import Completion

Script = Callable[[Request, int], str | Completion]


class ReplayEngine(Engine):
    """Completions of one model from a store; what is stored under some settings was made with them.

    `revision` may be left out where the store holds only one of this model. refused: why completions, by their keys,
    could not be had when they were asked for; with it, what is not in the store is a failed completion instead of an
    error, and `missing` has the keys that nobody asked for yet, `excused` those that were refused.
    Raises: EngineError where the store has nothing of this model, or several revisions to choose from.
    """

    name = "replay"

    def __init__(
        self, store: Store, model: str, revision: str | None = None, refused: Mapping[str, str] | None = None
    ) -> None:
        self.store, self.model, self.refused = store, model, refused
        self.missing: list[str] = []
        self.excused: list[str] = []
        held = store.census() if revision is None else {(model, revision): 0}
        mine = [rev for name, rev in held if name == model]
        if len(mine) != 1:
            found = ", ".join(f"{name}@{rev}" for name, rev in held) or "nothing"
            problem = "no revision" if not mine else f"{len(mine)} revisions"
            raise EngineError(f"{store!r} holds {problem} of {model!r}; it holds {found}. Name model and revision")
        [self.revision] = mine

    def generate(self, asks: Sequence[Ask], sampling: Sampling) -> Iterator[list[Completion]]:
        """All stored completions. Raises: EngineError where one is lacking and `refused` is not given."""
        found = self.store.get_many(ask.key for ask in asks)
        gone = [ask for ask in asks if ask.key not in found]
        if gone and self.refused is None:
            shown = ", ".join(f"{ask.request.id} (draw {ask.draw})" for ask in gone[:10])
            more = f" and {len(gone) - 10} more" if len(gone) > 10 else ""
            raise EngineError(
                f"{len(gone)} completions are not in {self.store!r}: {shown}{more}. Make them with an engine that runs "
                "the model, or check that model, revision, prompts and sampling settings are those of the recording"
            )
        known = self.refused or {}
        self.missing += [ask.key for ask in gone if ask.key not in known]
        self.excused += [ask.key for ask in gone if ask.key in known]
        yield [*found.values(), *(failed(ask, known.get(ask.key, "not in the store")) for ask in gone)]


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
        self.model, self.revision, self.batch_size = model, revision, batch_size
        self._answers = answers if callable(answers) else iter(answers)
        self.asked: list[Ask] = []

    def generate(self, asks: Sequence[Ask], sampling: Sampling) -> Iterator[list[Completion]]:
        """The script's answers, `batch_size` at a time."""
        for start in range(0, len(asks), self.batch_size):
            yield [self._answer(ask) for ask in asks[start : start + self.batch_size]]

    def count_tokens(self, requests: Sequence[Request]) -> list[int]:
        """Words of each prompt."""
        return [len(request.text().split()) for request in requests]

    def _answer(self, ask: Ask) -> Completion:
        self.asked.append(ask)
        if callable(self._answers):
            try:
                answer = self._answers(ask.request, ask.draw)
            except Exception as error:
                return failed(ask, f"{type(error).__name__}: {error}")
        elif (listed := next(self._answers, None)) is not None:
            answer = listed
        else:
            given = len(self.asked) - 1
            raise ValueError(f"the script has {given} answers, and request {ask.request.id} needs one more")
        if isinstance(answer, Completion):
            return replace(answer, key=ask.key, model=self.model, revision=self.revision)
        [words] = self.count_tokens([ask.request])
        return self._made(ask, answer, prompt_tokens=words, completion_tokens=len(answer.split()))
