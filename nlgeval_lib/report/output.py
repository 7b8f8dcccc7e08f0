"""One output of the catalogue, from inside its notebook: compare, show, save."""

from __future__ import annotations

import functools
import json
import math
import os
import re
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pandas as pd

from nlgeval_lib import figures, files, papers
from nlgeval_lib.datasets import numbers as bundle
from nlgeval_lib.report import answers, saving, seal, tables
from nlgeval_lib.scoring import provenance
from nlgeval_lib.study import catalogue

MODES = ("full", "quick")
_CORRELATIONS = ("pearson", "spearman", "kendall")
_COMPUTED = ("public", "recorded", "run")


class Output:
    """Collects the cells, frames and figures of one output and saves them together.

    id: an entry of `notebooks/catalogue.toml`. mode: "full" or "quick" (results kept
    apart). parameters: the values that the notebook ran with, all but `mode`; with
    others than the catalogue's, results go to `results/partial/`.
    route: where the numbers come from, if not as the catalogue says. scratch: for an id
    that is in no catalogue; results go to `results/partial/`, and `route` must be
    given.
    Raises: CatalogueError for an unknown id; ValueError for an unknown mode or route.
    """

    def __init__(
        self,
        id: str,
        *,
        mode: str = "full",
        parameters: Mapping[str, Any] | None = None,
        route: catalogue.Route | None = None,
        scratch: bool = False,
    ) -> None:
        for name, value, allowed in (
            ("mode", mode, MODES),
            ("route", route, (None, *catalogue.ROUTES)),
        ):
            if value not in allowed:
                raise ValueError(
                    f"{name} is {value!r}; allowed: {', '.join(filter(None, allowed))}"
                )
        if scratch:
            if route is None or not re.fullmatch(r"[a-z0-9_]+", id):
                raise ValueError(
                    "a scratch output needs a route and an id of lower-case letters, digits, underscores"
                )
            self.entry = catalogue.Entry(
                id=id, paper=catalogue.META, notebook="scratch.ipynb", route=route
            )
        else:
            self.entry = catalogue.load()[id]
        self.id, self.paper, self.mode = id, self.entry.paper, mode
        self.route = route or self.entry.route
        self.parameters = dict(parameters or {})
        self._apart = "it is a scratch output" if scratch else ""
        self._began = time.monotonic()
        self._cells: dict[str, pd.DataFrame] = {}
        self._frames: dict[str, pd.DataFrame] = {}
        self._figures: dict[str, dict[str, bytes]] = {}
        self._facts: dict[str, Any] = {}
        self._notes: list[str] = []
        self._missing: list[dict[str, str]] = []

    def answer(self) -> tables.Table:
        """What was saved last, verdict and first table: what a notebook begins with;
        its own run's follow below.
        """
        record = saving.read_json(f"{answers.base(self.entry, self.mode)}.json")
        if record is None:
            return tables.joined(
                [],
                [
                    f"Nothing is saved yet, mode {self.mode}: what this run gives stands below."
                ],
            )
        saved = answers.Answer(self.entry, record)
        said = f"As saved on {record['date'][:10]}: {saved.verdict}"
        parts = [tables.joined([], [said]), *saved.shown[:1]]
        return tables.Table(
            "".join(part.html for part in parts), "\n".join(part.text for part in parts)
        )

    def compare(
        self,
        ours: pd.DataFrame,
        table: str | None = None,
        *,
        reason: str = "not computed",
        lacking: Mapping[Any, str] | None = None,
    ) -> pd.DataFrame:
        """Our numbers beside the printed ones, as `papers.compare`; remembered for the
        result file.

        table: by default the one that the catalogue says is covered. `reason` and
        `lacking` say why printed cells are not in `ours`. A computed correlation needs
        `signature`, `n` and an interval (`ci_low`, `ci_high`), or a `reason` why it has
        none. What another judge than the paper's gave (`study.judges`) gets a row of
        its own.

        Raises: ValueError for unknown cells, for mini numbers, for a correlation
        without its signature.
        """
        if table is None:
            if len(self.entry.covers) != 1:
                raise ValueError(
                    f"{self.id} covers {list(self.entry.covers)}; say which: out.compare(ours, table=...)"
                )
            table = self.entry.covers[0]
        cells = papers.compare(
            self.paper,
            table,
            _own_rows(ours),
            reason=reason,
            lacking=lacking,
            route=self.route,
        )
        cells["reason"] = cells["reason"].map(provenance.without_places)
        here = cells[cells["ours"].notna()]
        if wrong := sorted({*here["route"]} - {*catalogue.ROUTES}):
            raise ValueError(
                f"{self.id}: unknown route {wrong}; allowed: {', '.join(catalogue.ROUTES)}"
            )
        if (here["route"] == "mini").any():
            raise ValueError(
                f"{self.id}: mini numbers are never compared with a paper; show them with out.frame()"
            )
        _signed(here, f"{self.id}, {table}")
        self._cells.pop(
            table, None
        )  # a cell of the notebook that is run again replaces what it gave before
        self._cells[table] = cells
        return cells

    def table(
        self, cells: pd.DataFrame, caption: str = "", *, layout: str = "auto"
    ) -> tables.Table:
        """Printed beside ours, styled; the last line of a cell, or in `display()`.

        layout: auto, wide, long.
        """
        notes = (
            ["Quick mode: computed on a share of the data."]
            if self.mode == "quick"
            else []
        )
        return tables.comparison(cells, caption or self.entry.title, notes, layout)

    def frame(
        self, frame: pd.DataFrame, name: str, caption: str = "", digits: int = 3
    ) -> tables.Table:
        """Save an extra table as `<id>__<name>.csv`, and show it.

        Raises: ValueError for a bad name, or no row.
        """
        _named(name)
        if frame.empty:
            raise ValueError(
                f"{self.id}: the frame {name!r} is empty; say out.missing({name!r}, 'why') instead"
            )
        self._frames[name] = frame.copy()
        return tables.show(frame, caption, digits, rows=60)

    def audit(self) -> tables.Table:
        """What of the covered tables contradicts, and how many relations were checked
        (`papers.audit`); both are saved.

        Raises: ValueError where the output covers no table.
        """
        if not self.entry.covers:
            raise ValueError(
                f"{self.id} covers no printed table: there is nothing to audit"
            )
        found = papers.audit(self.paper, tables=self.entry.covers, data=public_data)
        shown, self._facts["audit"] = tables.audit(found, self.entry.covers)
        return shown

    def figure(self, fig: Any, name: str = "") -> None:
        """Save a matplotlib figure as `<id>[__<name>].svg` and `.png`, and show it;
        it is finished and closed.
        """
        if name:
            _named(name)
        self._figures[name] = figures.render(fig)
        figures.show(
            fig,
            self._figures[name]["png"],
            f"{self.entry.title or self.id}{name and ': '}{name}",
        )

    def note(self, text: str) -> None:
        """A sentence that belongs to the result; saved with it."""
        self._notes.append(text)

    def missing(self, what: str, reason: str) -> None:
        """Something that this run could not give, and why.

        Raises: ValueError for an empty reason.
        """
        if not reason.strip():
            raise ValueError(f"{self.id}: say why {what!r} is missing")
        self._missing.append({"what": what, "reason": reason})

    def aside(self, why: str) -> None:
        """Save this run to `results/partial/`: `why` it shows something else than
        the catalogue's entry promises.
        """
        self._apart = why

    def record(self, **facts: Any) -> None:
        """Facts for the provenance: `model`, `revision`, `prompts={name: hash}`,
        `signatures=[...]`, and others.
        """
        self._facts.update(facts)

    def closing(self) -> tables.Table:
        """The end of a notebook: coverage, signatures, notes, what is missing and
        what was kept, in one table.
        """
        cells = self._all_cells()
        place = self._place(cells)
        rows = [("cells", tables.summary(cells))] if cells is not None else []
        rows += [("signature", text) for text in self._signatures(cells)] + [
            ("note", text) for text in self._notes
        ]
        if cells is not None:
            gaps = cells[cells["verdict"] == "missing"].groupby("reason", sort=False)
            rows += [(f"missing ({len(part)} cells)", reason) for reason, part in gaps]
        rows += [
            ("missing", f"{gap['what']}: {gap['reason']}") for gap in self._missing
        ]
        rows += [
            (f"kept from {place.since}", f"{loss}; not made by this run")
            for loss in place.losses
        ]
        if place.why:
            rows.append(
                (
                    "set apart",
                    f"this run is in {self._name('results', place.folder)}: {place.why}",
                )
            )
        frame = pd.DataFrame(rows or [("missing", "nothing")], columns=["", "what"])
        return tables.show(frame, f"{self.id}, mode {self.mode}, route {self.route}")

    def save(self) -> None:
        """Save everything, or nothing, and print one line.

        Full runs go to `results/<paper>/`, quick ones to `results/quick/`, those of
        route mini to `results/mini/`, with other parameters than the catalogue's, or
        less than is already there, to `results/partial/`; figures likewise. Files whose
        values did not change (1e-6) are left alone. Raises: ValueError for nothing to
        save; OSError.
        """
        cells = self._all_cells()
        if cells is None and not self._frames and not self._figures:
            raise ValueError(
                f"{self.id}: nothing to save; call out.compare(), out.frame() or out.figure() first"
            )
        place = self._place(cells)
        contents = dict(sorted(self._contents(cells, place.folder).items()))
        record = self._provenance(cells) | {"files": [*contents]}
        proof = self._name("results", place.folder, ".json")
        old = saving.read_json(proof)
        changed = {
            name: content
            for name, content in contents.items()
            if not saving.same_file(name, content, contents)
        }
        without = bundle.used()
        new = bool(changed) or old is None or not saving.same_record(old, record)
        if without and not changed and old is not None:
            new = False  # equal to the last digit: the record made from texts stands
        if new:
            text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
            saving.write(
                {proof: text.encode(), **changed},
                {*(old or {}).get("files", ())} - {*contents},
            )
        said = [tables.summary(cells).rstrip(".")] if cells is not None else []
        if signatures := self._signatures(cells):
            said.append(
                signatures[0]
                + (f" (+{len(signatures) - 1})" if len(signatures) > 1 else "")
            )
        said.append(
            f"{'saved' if new else 'unchanged'}: {self._name('results', place.folder)}"
        )
        said[-1] += f" because {place.why}" if place.why else ""
        if without:
            commit = bundle.about()["commit"][:9]
            said.append(f"from saved scores of {commit}; texts not here")
        line = "; ".join(
            [*said, *([f"the result of {place.since} is kept"] if place.since else [])]
        )
        kept = Counter[str]()
        for loss in place.losses:
            kept[loss.kind] += loss.count
        told: dict[str, Any] = {
            "id": self.id,
            "folder": place.folder,
            "why": place.why,
            "since": place.since,
        }
        told |= {
            "kept": kept,
            "without_texts": without,
            "changed": new,
            "line": line,
            "files": [proof, *contents],
            "written": [proof, *changed] if new else [],
            "modules": provenance.modules(),
        }
        # for the runner, or a trace for whoever runs the notebook alone
        given = os.environ.get("NLGEVAL_RECORD")
        if not given and place.folder in ("", "mini"):
            seal.renew(told["files"], told["written"])
        files.write_text(
            given or files.state("saved", self.mode, f"{self.id}.json"),
            json.dumps(told),
        )
        print(f"{self.id}: {line}")

    def _place(self, cells: pd.DataFrame | None) -> saving.Place:
        """Where this run is saved: its own folder, or apart, and why."""
        folder = (
            "quick" if self.mode == "quick" else "mini" if self.route == "mini" else ""
        )
        trial = "it is a trial" if os.environ.get("NLGEVAL_TRIAL") else ""
        why = self._apart or saving.others(self.entry, self.parameters) or trial
        if why:
            return saving.Place("partial", why)
        old = (
            None
            if folder == "quick"
            else saving.read_json(self._name("results", folder, ".json"))
        )
        if old is None or os.environ.get("NLGEVAL_REPLACE"):
            return saving.Place(folder)
        if bundle.used() and self._differs(cells, folder):
            why = "it is from saved scores, and the result there, from texts, differs"
            return saving.Place("partial", why, (), str(old.get("date", ""))[:10])
        losses = saving.lost(old, self._contents(cells, folder))
        new = {"output": self.id, "route": self.route, "parameters": self.parameters}
        why = saving.lesser(
            old, new, losses, alone=not os.environ.get("NLGEVAL_RECORD")
        )
        since = str(old.get("date", ""))[:10]
        return (
            saving.Place("partial", why, tuple(losses), since)
            if why
            else saving.Place(folder)
        )

    def _differs(self, cells: pd.DataFrame | None, folder: str) -> bool:
        contents = self._contents(cells, folder)
        return not all(
            saving.same_file(name, content, contents)
            for name, content in contents.items()
        )

    def _name(self, top: str, folder: str, end: str = "") -> str:
        return "/".join(filter(None, [top, folder, self.paper, f"{self.id}{end}"]))

    def _all_cells(self) -> pd.DataFrame | None:
        return (
            pd.concat(list(self._cells.values()), ignore_index=True)
            if self._cells
            else None
        )

    def _signatures(self, cells: pd.DataFrame | None) -> list[str]:
        found = list(self._facts.get("signatures", ()))
        for frame in [cells, *self._frames.values()]:
            if frame is not None and "signature" in frame:
                found += [
                    text
                    for text in frame["signature"]
                    if isinstance(text, str) and text
                ]
        return list(dict.fromkeys(found))

    def _contents(self, cells: pd.DataFrame | None, folder: str) -> dict[str, bytes]:
        frames = ({} if cells is None else {"": cells}) | {
            f"__{name}": frame for name, frame in self._frames.items()
        }
        made = {
            self._name("results", folder, f"{end}.csv"): saving.csv_text(one)
            for end, one in frames.items()
        }
        drawn = {
            self._name(
                "figures", folder, (f"__{name}" if name else "") + f".{form}"
            ): content
            for name, forms in self._figures.items()
            for form, content in forms.items()
        }
        return {name: text.encode() for name, text in made.items()} | drawn

    def _provenance(self, cells: pd.DataFrame | None) -> dict[str, Any]:
        coverage: dict[str, Any]
        if cells is None:
            coverage = {
                "printed": 0,
                "numbers": sum(
                    int(frame.count().sum()) for frame in self._frames.values()
                ),
            }
        else:
            numbers = (cells["ours"].notna() & (cells["verdict"] != "extra")).sum()
            coverage = papers.counts(cells) | {"numbers": int(numbers)}
            coverage["kinds"] = _tallied(cells)
        more = {"notes": list(dict.fromkeys(self._notes)), "missing": self._missing}
        facts = self._facts | {name: said for name, said in more.items() if said}
        if without := bundle.used():
            commit = bundle.about()["commit"]
            said = f"from saved scores of {commit}; texts not here"
            facts |= {"numbers": {"origin": said, "sets": without}}
        return provenance.collect(
            output=self.id,
            paper=self.paper,
            notebook=self.entry.notebook,
            route=self.route,
            mode=self.mode,
            parameters=self.parameters,
            inputs=self.entry.inputs,
            coverage=coverage,
            signatures=self._signatures(cells),
            seconds=time.monotonic() - self._began,
            facts={name: said for name, said in facts.items() if name != "signatures"},
        )


def _tallied(cells: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """The counts by kind that are not nought."""
    found = {}
    for row in papers.by_kind(cells).to_dict("records"):
        counted = {name: row[name] for name in papers.COUNTS if row[name]}
        found[str(row["kind"])] = counted
    return found


def _named(name: str) -> None:
    if not re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", name):
        raise ValueError(
            f"{name!r} names a file: lower-case letters and digits joined by single underscores"
        )


def _own_rows(ours: pd.DataFrame) -> pd.DataFrame:
    """Cells that another than the paper's judge gave, in rows of their own; the
    printed ones say who that is.
    """
    ours = ours.reset_index(drop=True)  # tables joined by concat
    signatures = (
        ours.get("signature", pd.Series("", ours.index)).astype("string").fillna("")
    )
    who = signatures.str.extract(
        re.escape(catalogue.JUDGED_BY) + r"([^|]+)", expand=False
    )
    moved = ours[who.notna()]
    if moved.empty:
        return ours
    apart = moved.assign(row=moved["row"] + ", judged by " + who, extra=True)
    said = "judged by " + who + ", in a row of its own"
    printed = (
        ~moved["extra"].eq(True) if "extra" in moved else slice(None)
    )  # what no table prints leaves no gap
    gaps = moved.loc[printed, ["row", "column", "statistic"]].assign(
        value=math.nan, reason=said
    )
    return pd.concat([ours[who.isna()], apart, gaps], ignore_index=True)


def _signed(cells: pd.DataFrame, where: str) -> None:
    """Refuse a computed correlation without signature, n and interval, and what a
    judge gave without the judge's.
    """
    judged = cells[
        (cells["route"] == "run") & ~cells["signature"].str.contains("model:|judge:")
    ]
    part = cells[
        cells["statistic"].str.contains("|".join(_CORRELATIONS))
        & cells["route"].isin(_COMPUTED)
    ]
    bare = part[(part["signature"] == "") | part["n"].isna()]
    open_ended = part[
        (part["ci_low"].isna() | part["ci_high"].isna()) & (part["reason"] == "")
    ]
    way = "; pass signature=result.signature() and n=result.n with each value"
    for wrong, first, then in (
        (judged, "", " has the route run, and its signature names no judge"),
        (bare, f"{len(bare)} correlations without signature or n, first ", way),
        (
            open_ended,
            f"{len(open_ended)} correlations without an interval, first ",
            "; pass ci_low and ci_high, or a reason why there is none",
        ),
    ):
        for one in wrong.head(1).itertuples():
            raise ValueError(f"{where}: {first}{one.row!r}, {one.column!r}{then}")


@functools.lru_cache(maxsize=4)
def public_data(name: str, **options: Any) -> pd.DataFrame | None:
    """A public data set for the audit's counts; None where its files are not at
    hand.
    """
    from nlgeval_lib import datasets

    try:
        return datasets.load(name, **options)
    except datasets.DataError:
        return None
