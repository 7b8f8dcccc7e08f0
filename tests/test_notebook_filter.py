"""Git's filter for notebooks: a run that is saved changes nothing for git, an edit does."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from nlgeval_lib import files
from tools.jupyter_config import told
from tools.notebook_filter import cleaned

ROOT = files.root()


@pytest.fixture
def checkout(tmp_path):
    """A git repository with one of our notebooks, and the filter as the set-up sets it; and git in it."""
    (tmp_path / "tools").mkdir()
    for name in (".gitattributes", "tools/notebook_filter.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "notebooks/00_start_here.ipynb", tmp_path / "one.ipynb")
    [key, command] = re.findall(r'git config (\S+) "(.+?)"', (ROOT / "tools/setup.sh").read_text())[0]

    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        done = subprocess.run(["git", *who, *words], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    git("init", "-q")
    git("config", key, command)
    git("add", ".")
    git("commit", "-qm", "first")
    return tmp_path / "one.ipynb", git


def test_a_run_that_is_saved_is_no_change_and_an_edit_is_one(checkout):
    path, git = checkout
    assert git("show", "HEAD:one.ipynb") == path.read_text(encoding="utf-8")
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for count, cell in enumerate(code, 1):  # as JupyterLab saves it
        cell |= {"execution_count": count, "outputs": [{"output_type": "stream", "name": "stdout", "text": ["é\n"]}]}
        cell["metadata"] |= {"execution": {"iopub.status.idle": "2024"}, "scrolled": True}
    notebook["metadata"]["kernelspec"]["display_name"] = "Python 3 (ipykernel)"
    notebook["metadata"]["language_info"] |= {"version": "3.12.1", "codemirror_mode": {"name": "ipython"}}
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert git("diff") == ""
    told({"type": "notebook"}, str(path))
    assert git("status", "--porcelain") == "" and "outputs" in code[0] and '"é\\n"' in path.read_text(encoding="utf-8")
    code[0]["source"] = ["mode = 'quick'"]
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    told({"type": "notebook"}, str(path))
    assert git("status", "--porcelain") == " M one.ipynb\n" and "mode = 'quick'" in git("diff")


def test_committed_notebooks_pass_through_unchanged_and_other_texts_too():
    for path in (ROOT / "notebooks").rglob("*.ipynb"):
        if ".ipynb_checkpoints" not in path.parts:
            text = path.read_text(encoding="utf-8")
            assert cleaned(text) == text, path
    for text in ("", "no notebook", "[1]", '{"cells": 3'):
        assert cleaned(text) == text
