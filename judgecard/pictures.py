"""The pictures of the report: each once, as a small file that pages link to."""

from __future__ import annotations

import base64
import hashlib
import io
from pathlib import Path

from nlgeval_lib import files

FOLDER = "pictures"
_COLOURS = 128  # enough for charts, and a third of the size


class Pictures:
    """Pictures written below the folder of a site.

    folder: of the site; the pictures are in `pictures/` there.
    up: the way from a page to that folder.
    """

    def __init__(self, folder: Path, up: str = "../") -> None:
        self._folder = folder / FOLDER
        self._up = up

    def link(self, png: str | bytes) -> str:
        """Where a page finds this picture; it is written where it is new.

        png: the bytes of a PNG, or base64 of them.
        Returns: a relative address. Its name is made of the picture's hash, so that
        equal pictures are one file.
        """
        content = png if isinstance(png, bytes) else base64.b64decode(png)
        name = f"{hashlib.sha256(content).hexdigest()[:16]}.png"
        path = self._folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with files.replacing(path) as partial:
                partial.write_bytes(smaller(content))
        return f"{self._up}{FOLDER}/{name}"


def smaller(png: bytes) -> bytes:
    """The picture in few colours where that is smaller; as it is where it cannot be
    read.

    What is transparent becomes white.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(png)) as picture:
            flat = Image.new("RGB", picture.size, "white")
            rgba = picture.convert("RGBA")
            flat.paste(rgba, mask=rgba)
    except (OSError, ValueError):
        return png
    reduced = io.BytesIO()
    quantized = flat.quantize(_COLOURS, method=Image.Quantize.FASTOCTREE)
    quantized.save(reduced, "PNG")
    return min(png, reduced.getvalue(), key=len)
