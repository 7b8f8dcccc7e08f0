"""Answers that were given before: from the store, or from recordings put into one. Never from a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nlgeval_lib.engines.base import Ask, Engine, EngineError, Request
from nlgeval_lib.engines.sampling import Sampling
from nlgeval_lib.schema import Completion
from nlgeval_lib.store import Store, draw_keys


class MissingCompletions(EngineError):
    """A replay was asked for completions that the store does not have. `missing` holds (request id, draw, key)."""

    def __init__(self, missing: Sequence[tuple[str, int, str]], where: str) -> None:
        self.missing = tuple(missing)
        shown = ", ".join(f"{name} (draw {draw})" for name, draw, _ in self.missing[:10])
        more = f" and {len(self.missing) - 10} more" if len(self.missing) > 10 else ""
        super().__init__(
            f"{len(self.missing)} completions are not in {where}: {shown}{more}. Make them with an engine that runs "
            "the model, or check that model, revision, prompts and sampling settings are those of the recording"
        )


class ReplayEngine(Engine):
    """Completions of one model from a store.

    `revision` may be left out where the store holds only one of this model.
    Raises: EngineError where the store has nothing of this model, or several revisions to choose from.
    """

    name = "replay"

    def __init__(self, store: Store, model: str, revision: str | None = None) -> None:
        self.store, self.model = store, model
        if revision is None:
            held = store.census()
            mine = [rev for name, rev in held if name == model]
            if len(mine) != 1:
                found = ", ".join(f"{name}@{rev}" for name, rev in held) or "nothing"
                problem = "no revision" if not mine else f"{len(mine)} revisions"
                raise EngineError(f"{store!r} holds {problem} of {model!r}; it holds {found}. Name model and revision")
            revision = mine[0]
        self.revision = revision

    def check(self, sampling: Sampling) -> None:
        """Nothing: what is stored under these settings was made with them."""

    def generate(self, asks: Sequence[Ask], sampling: Sampling) -> Iterator[list[Completion]]:
        """All stored completions. Raises: MissingCompletions if there is not one for each ask."""
        found = self.store.get_many(ask.key for ask in asks)
        missing = [(ask.request.id, ask.draw, ask.key) for ask in asks if ask.key not in found]
        if missing:
            raise MissingCompletions(missing, repr(self.store))
        yield list(found.values())


def record(
    store: Store,
    rows: Iterable[tuple[Request | str, Sequence[str]]],
    sampling: Sampling,
    *,
    model: str,
    revision: str = "recorded",
) -> int:
    """Put somebody's recorded texts into a store, so that `ReplayEngine` can answer from them; the number that are new.

    A row is a request and the texts of its draws, in their order. `sampling` says how they were made, as far as known;
    the same settings then find them again.
    """
    new = 0
    batch: list[Completion] = []
    bodies = []
    source = _Recorded(model, revision)
    for asked, texts in rows:
        request = Request(prompt=asked) if isinstance(asked, str) else asked
        body = request.body(source, sampling)
        bodies.append(body)
        batch += [
            Completion(key=key, text=text, model=model, revision=revision)
            for key, text in zip(draw_keys(body, range(len(texts))), texts, strict=True)
        ]
        if len(batch) > 1000:
            new += store.put_many(batch, bodies)
            batch, bodies = [], []
    return new + store.put_many(batch, bodies)


class _Recorded(Engine):
    """Stands for the engine that somebody else ran."""

    def __init__(self, model: str, revision: str) -> None:
        self.model, self.revision = model, revision

    def check(self, sampling: Sampling) -> None:
        raise NotImplementedError

    def generate(self, asks: Sequence[Ask], sampling: Sampling) -> Iterator[list[Completion]]:
        raise NotImplementedError
