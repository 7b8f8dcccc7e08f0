"""JupyterLab's settings of `make lab`: git learns at once where a save changed
nothing for it.
"""

import subprocess
from pathlib import Path


def told(model, os_path, contents_manager=None, **_):
    """Called after a save: refresh what git knows of a notebook that did not change for
    it.

    Git lists a file as changed by its size, until it has looked at what its filter
    (reproduction/report/committed.py) leaves of it.

    model: what Jupyter says of the file; anything but a notebook is left alone.
    """
    if model["type"] != "notebook":
        return
    path = Path(os_path)
    same = subprocess.run(
        ["git", "diff", "--quiet", "--", path.name],
        cwd=path.parent,
        capture_output=True,
    )
    if same.returncode == 0:
        subprocess.run(
            ["git", "update-index", path.name], cwd=path.parent, capture_output=True
        )


# JupyterLab runs this file with `get_config`; the tests import it without
if "get_config" in globals():
    config = get_config()  # type: ignore[name-defined]  # noqa: F821
    config.FileContentsManager.post_save_hook = told
