"""What is known about a data set before any of its files is here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Spec:
    """One data set: its files, its counts as they must come out, its scales and licence."""

    name: str
    title: str
    files: tuple[str, ...]  # registry paths or shell-style patterns of them; () for what the repository holds itself
    n_items: int  # outputs; a frame has n_items x len(scale) rows
    n_inputs: int  # distinct sources
    n_systems: int
    scale: Mapping[str, tuple[float, float]]  # aspect -> (lowest, highest) possible human rating, in frame order
    licence: str
    source: str  # publication
    notes: tuple[str, ...] = field(default=())

    @property
    def aspects(self) -> tuple[str, ...]:
        """The aspects in the order of the frame's inner loop."""
        return tuple(self.scale)

    @property
    def n_rows(self) -> int:
        """Rows of the long frame: one an output and aspect."""
        return self.n_items * len(self.scale)


def expect(name: str, what: str, got: object, expected: object) -> None:
    """Hold one count or fact of a data set. Raises: ValueError naming the data set, what was got and expected."""
    if got != expected:
        raise ValueError(
            f"{name}: {what}: got {got}, expected {expected}; the file is not what the loader was written for"
        )
