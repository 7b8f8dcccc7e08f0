"""Errors whose message says what is wrong and what to do: in a notebook it stands last,
in few lines.

A class of ours that users meet is `class InputError(Told, ValueError)`; where there is
none of its own, `Refused`.
"""

from __future__ import annotations

import linecache
import sys
import traceback


class Told:
    """What an exception is besides: IPython shows its message below the line of the
    cell that led to it, without the frames in between. `%debug` still has them.
    """

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython shows in the place of a traceback."""
        lines = []
        cells = vars(sys.modules["__main__"])
        place: tuple[str, int] | None = None
        frames = traceback.walk_tb(getattr(self, "__traceback__", None))
        for frame, number in frames:
            if frame.f_globals is cells:
                place = (frame.f_code.co_filename, number)
        if place is not None:
            code = linecache.getline(*place).strip()
            lines.append(f"line {place[1]} of the cell: {code}")
        lines.append(f"{type(self).__name__}: {self}")
        return lines


class Refused(Told, ValueError):
    """A value that cannot be taken; the message names those that can."""
