"""What tables used of a judge, as one file: completions, results and a manifest, so
that a stranger replays the tables without a GPU or a key.

It is a zip file of COMPLETIONS (a line a completion, no prompt), the files of the
outputs' results under their own names, and MANIFEST, which comes first: the judges that
answered, why others did not, and the sha256 of every other member. Files in
`data/completions` are taken into the store by `nlgeval run`.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import nlgeval_lib
from nlgeval_lib import files
from nlgeval_lib.engines import Failure
from nlgeval_lib.engines.store import Store
from nlgeval_lib.errors import Told
from nlgeval_lib.scoring import named, provenance
from reproduction.report import answers, saving
from reproduction.study import catalogue, judges
from reproduction.study.catalogue import Question
from reproduction.study.judges import EngineOptions

FORMAT = 2
MANIFEST = "manifest.json"
COMPLETIONS = "completions.jsonl"
PLACE = "data/completions"
# What a file may unpack to, of which nothing is read where it would be more: parts,
# bytes, and bytes for one of the file's own (what people shared so far has up to 14).
MOST_MEMBERS = 1000
MOST_BYTES = 4 << 30
MOST_RATIO = 100
_TAKEN = "taken.json"  # beside a store: the sha256 of the shared files that are in it
# What a file raises that is no zip file, or one that cannot be read here.
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    NotImplementedError,  # of a compression
    RuntimeError,  # of an encrypted member
    TypeError,
    ValueError,
)
# An address in a reason, which is not shared.
_ADDRESS = re.compile(r"\w+://\S+")


class SharedRunError(Told, ValueError):
    """A shared file cannot be made, or is not what somebody shared."""


class _Watching(Store):
    """A store that notes the keys of the completions that were read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.read: set[str] = set()

    def get_many(self, keys: Iterable[str]) -> dict[str, Any]:
        """The stored completions of these keys."""
        completions = super().get_many(keys)
        self.read.update(completions)
        return completions


# -- writing one


def export(
    outputs: Sequence[str], path: Path, folder: Path, model: str = ""
) -> dict[str, Any]:
    """Write what outputs of the catalogue used to a shared file; its manifest.

    folder: of the store. model: "" for the catalogue's, or another that answered.
    Raises: SharedRunError where the store lacks what an output asks of all its judges,
    or holds completions of stand-ins; OSError.
    """
    if named.stand_ins(folder):
        raise SharedRunError(f"{folder} holds completions of stand-ins, of no judge")
    listed = catalogue.load()
    judged = []
    reasons = []
    results: dict[str, Path] = {}
    store = _Watching(folder)
    with store:
        for output in outputs:
            answered = []
            lacking: list[str] = []
            for question in listed.questions_of(output):
                by_revision, reason = _replayed(question, store, model)
                answered += by_revision
                lacking += filter(None, [reason])
            if not answered:
                raise SharedRunError(next(iter(lacking), f"{output} asks no judge"))
            judged += answered
            reasons += lacking
            # What another model answered has no result under the output's name.
            if model in ("", judges.MINI):
                base = answers.base(listed[output])
                record = saving.read_json(f"{base}.json") or {"files": ()}
                for name in [f"{base}.json", f"{base}.md", *record["files"]]:
                    if files.located(name).exists():
                        results[name] = files.located(name)
        manifest = {
            "format": FORMAT,
            "outputs": list(outputs),
            "library": nlgeval_lib.__version__,
            "git": provenance.git(),
            "judges": judged,
            "lacking": reasons,
            "completions": len(store.read),
        }
        # The completions become a member of the zip file by way of a file of their own.
        with tempfile.TemporaryDirectory() as folder_name:
            lines = Path(folder_name, COMPLETIONS)
            store.export(lines, store.read)
            _write(path, manifest, {COMPLETIONS: lines, **results})
    return manifest


def _replayed(
    question: Question, store: _Watching, model: str
) -> tuple[list[dict[str, Any]], str]:
    """Who answered a question, read from the store once more; or why it has none."""
    options = EngineOptions("replay", store=str(store.folder), model=model)
    try:
        revisions = judges.stored_revisions(question, options)
    except judges.Unavailable as error:
        return [], str(error)
    answered = []
    reason = ""
    for revision in revisions:
        job = judges.job(question, replace(options, revision=revision))
        refused = judges.refusals(store.folder, job.engine.model, job.engine.revision)
        job.engine.refused = refused
        job.store = job.engine.store = store
        keys_read = set(store.read)
        scores = judges.read(job, "run")
        if job.engine.missing:
            # A revision that lacks answers is not shared: its reads do not count.
            store.read = keys_read
            reason = judges.incomplete(question, job)
            continue
        reasons = {}
        for key in job.engine.excused:
            reasons[key] = _ADDRESS.sub("(address)", refused[key])
        answered.append(
            {
                "question": question.name,
                "judge": question.judge.id,
                "model": scores.model,
                "revision": scores.revision,
                "served": sorted(job.run.served),
                "coverage": scores.coverage,
                "refused": reasons,
            }
        )
    if answered:
        reason = ""
    return answered, reason


def _write(path: Path, manifest: dict[str, Any], members: Mapping[str, Path]) -> None:
    """Write the file: the manifest, which gains the hash of each member, first."""
    hashes = {name: files.sha256(members[name]) for name in sorted(members)}
    manifest["files"] = hashes
    text = json.dumps(files.plain(manifest), indent=1, ensure_ascii=False) + "\n"
    with files.replacing(path) as draft, zipfile.ZipFile(draft, "w") as bundle:
        bundle.writestr(files.zip_member(MANIFEST), text)
        for name in hashes:
            with (
                open(members[name], "rb") as source,
                bundle.open(files.zip_member(name), "w") as target,
            ):
                shutil.copyfileobj(source, target)


# -- reading one


def manifest_of(path: Path) -> dict[str, Any]:
    """The manifest of a shared file, every member held against its hash.

    Raises: SharedRunError for a file that is no shared run, is not what was shared, or
    would unpack to more than MOST_MEMBERS, MOST_BYTES and MOST_RATIO allow; OSError.
    """
    try:
        with zipfile.ZipFile(path) as bundle:
            _check_size(path, bundle)
            manifest = files.from_json(bundle.read(MANIFEST))
            if manifest["format"] != FORMAT:
                version = manifest["format"]
                raise SharedRunError(f"{path} is of format {version}, this is {FORMAT}")
            hashes = dict(manifest["files"])
            _check_parts(manifest)
            if sorted(bundle.namelist()) != sorted([MANIFEST, *hashes]):
                raise SharedRunError(f"{path} has other files than its manifest names")
            for name, sha256 in hashes.items():
                with bundle.open(name) as member:
                    digest = hashlib.file_digest(member, "sha256")  # type: ignore[arg-type]
                if digest.hexdigest() != sha256:
                    raise SharedRunError(f"{path}: {name} is not what was shared")
    except _UNREADABLE as error:
        # A SharedRunError is a ValueError, too; it says already what is wrong.
        if isinstance(error, SharedRunError):
            raise
        raise SharedRunError(f"{path} is no shared run: {error}") from None
    return manifest


def _check_size(path: Path, bundle: zipfile.ZipFile) -> None:
    """Raises: SharedRunError for a file that would unpack to too much."""
    members = bundle.infolist()
    if len(members) > MOST_MEMBERS:
        raise SharedRunError(
            f"{path} has {len(members):,} members, at most {MOST_MEMBERS:,} are read"
        )
    unpacked = sum(member.file_size for member in members)
    most = min(MOST_BYTES, MOST_RATIO * path.stat().st_size)
    if unpacked > most:
        raise SharedRunError(
            f"{path} would unpack to {unpacked:,} bytes; of a file of its size at most "
            f"{most:,} are read"
        )


def _check_parts(manifest: Mapping[str, Any]) -> None:
    """Raises: KeyError, TypeError or ValueError where a manifest lacks a part."""
    if COMPLETIONS not in manifest["files"]:
        raise ValueError(f"it has no {COMPLETIONS}")
    # These are used as names and keys when the file is taken in.
    texts = list(manifest["outputs"])
    if type(manifest["completions"]) is not int:
        raise ValueError("its number of completions is none")
    for judged in manifest["judges"]:
        texts += [judged["model"], judged["revision"], *dict(judged["refused"])]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a name in its manifest is no text")


def take_in(path: Path, store: Store) -> int:
    """Take the completions of a shared file into a store, and what was refused; how many
    are new.

    Raises: SharedRunError; OSError; StoreError.
    """
    manifest = manifest_of(path)
    with zipfile.ZipFile(path) as bundle, tempfile.TemporaryDirectory() as folder:
        lines = Path(folder, COMPLETIONS)
        number = 0
        with bundle.open(COMPLETIONS) as source, open(lines, "wb") as target:
            while part := source.read(1 << 20):
                number += part.count(b"\n")
                target.write(part)
        if number > manifest["completions"]:
            raise SharedRunError(
                f"{path} has {number:,} lines of completions, and says that it has "
                f"{manifest['completions']:,}"
            )
        added = store.merge(lines)
    # What a judge's server refused stays refused: a replay does not lack it.
    for judged in manifest["judges"]:
        failures = []
        for key, reason in judged["refused"].items():
            failures.append(Failure("", 0, key, str(reason)))
        judges.note_refused(store.folder, judged["model"], judged["revision"], failures)
    return added


def ends(path: Path) -> Counter[str]:
    """How many completions of a shared file ended for each finish reason."""
    reasons = Counter[str]()
    with zipfile.ZipFile(path) as bundle, bundle.open(COMPLETIONS) as lines:
        for line in lines:
            reasons[json.loads(line)["finish_reason"]] += 1
    return reasons


def shared_files() -> list[str]:
    """The names of the shared files that lie in this checkout."""
    folder = files.located(PLACE)
    return [f"{PLACE}/{path.name}" for path in sorted(folder.glob("*.zip"))]


def take_in_all(store: Store) -> Iterator[str]:
    """Take in the checkout's shared files that this store has not got yet, or that
    changed; a line each, as the lines are read. Raises: as `take_in`.
    """
    note = store.folder / _TAKEN
    digests: Sequence[str] = ()
    if note.is_file():
        digests = json.loads(note.read_text(encoding="utf-8"))
    for name in shared_files():
        path = files.located(name)
        digest = files.sha256(path)
        if digest in digests:
            continue
        yield f"{name}: {take_in(path, store):,} new records"
        digests = [*digests, digest]
        files.write_text(note, json.dumps(digests))


def differences(name: str) -> list[str]:
    """Where the results of a shared file are not those of this checkout, a line a file;
    of a shared file that cannot be read, why.
    """
    try:
        manifest = manifest_of(files.located(name))
    except (SharedRunError, OSError) as error:
        return [str(error)]
    faults = []
    for file, sha256 in manifest["files"].items():
        if file == COMPLETIONS:
            continue
        path = files.located(file)
        if not path.is_file() or files.sha256(path) != sha256:
            faults.append(f"holds another {file} than this checkout")
    return faults
