"""Answers that were given before, from a store. Never from a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nlgeval_lib.engines.base import Ask, Engine, EngineError, failed
from nlgeval_lib.engines.sampling import Sampling
from nlgeval_lib.engines.store import Store
from nlgeval_lib.records import Completion


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
        """All stored completions. Raises: MissingCompletions where one is lacking and `refused` is not given."""
        found = self.store.get_many(ask.key for ask in asks)
        gone = [ask for ask in asks if ask.key not in found]
        if gone and self.refused is None:
            raise MissingCompletions([(ask.request.id, ask.draw, ask.key) for ask in gone], repr(self.store))
        known = self.refused or {}
        self.missing += [ask.key for ask in gone if ask.key not in known]
        self.excused += [ask.key for ask in gone if ask.key in known]
        yield [*found.values(), *(failed(ask, known.get(ask.key, "not in the store")) for ask in gone)]
