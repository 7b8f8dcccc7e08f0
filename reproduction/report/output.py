"""One output of the catalogue, from inside its notebook: compare, show, save.

An `Output` collects what the notebook gives it; `save` decides where all of it goes
(`_place`), writes it together or not at all, and leaves a trace for the runner. What must
not be saved is refused where it is given (`_check`).
"""

from __future__ import annotations

import functools
import json
import math
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from judgecard import figures
from nlgeval_lib import files, tables
from nlgeval_lib.scoring import provenance
from reproduction import papers
from reproduction.report import comparisons, durations, made_from, notebook, saving
from reproduction.study import catalogue

MODES = ("full", "quick")
# A statistic with one of these words is a correlation, and needs its signature.
_CORRELATIONS = ("pearson", "spearman", "kendall")
# Routes whose numbers are computed here, from rows that have an n.
_COMPUTED = ("public", "recorded", "run")


class Output:
    """Collects the cells, frames and figures of one output and saves them together.

    id: an entry of `notebooks/catalogue.toml`.
    mode: "full" or "quick" (results kept apart).
    parameters: the values that the notebook ran with, all but `mode`.
    route: where the numbers come from, if not as the catalogue says.
    scratch: for an id that is in no catalogue; results go to `results/partial/`, and
    `route` must be given.
    Raises: CatalogueError; ValueError.
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
        if mode not in MODES:
            raise ValueError(f"mode is {mode!r}; allowed: {', '.join(MODES)}")
        if route is not None and route not in catalogue.ROUTES:
            allowed = ", ".join(catalogue.ROUTES)
            raise ValueError(f"route is {route!r}; allowed: {allowed}")
        if scratch:
            self.entry = _scratch_entry(id, route)
        else:
            self.entry = catalogue.load()[id]
        self.id = id
        self.paper = self.entry.paper
        self.mode = mode
        self.route = route or self.entry.route
        self.parameters = dict(parameters or {})
        # Why the run is set apart whatever it gives; "" where it is not.
        self._why_apart = "it is a scratch output" if scratch else ""
        self._began = time.monotonic()
        if mode == "full" and (duration := durations.sentence(id)):
            # It belongs to this run, and not to what the notebook shows afterwards.
            print(duration, file=sys.stderr)
        # By the printed table, the frame's name and the figure's name.
        self._cells: dict[str, pd.DataFrame] = {}
        self._frames: dict[str, pd.DataFrame] = {}
        self._figures: dict[str, dict[str, bytes]] = {}
        # What the record says beside the numbers.
        self._facts: dict[str, Any] = {}
        self._notes: list[str] = []
        self._missing: list[dict[str, str]] = []
        self._answered = False  # whether a notebook shows the answer

    def __repr__(self) -> str:
        collected: dict[str, Mapping[str, Any]] = {
            "compared": self._cells,
            "tables": self._frames,
            "figures": self._figures,
        }
        texts = [f"{self.id!r}", f"mode {self.mode}", f"route {self.route}"]
        for label, members in collected.items():
            if members:
                names = [name or "its own" for name in members]
                texts.append(f"{label}: {', '.join(names)}")
        return f"Output({'; '.join(texts)})"

    def answer(self) -> tables.Table | None:
        """What was saved last: the first screen, the first table and the first figure.
        A notebook begins with it, and `save` puts what the run gave in its place.

        Returns: None in a notebook, which shows it; elsewhere the table. It says where
        nothing is saved yet, or cannot be shown.
        """
        table, drawn = self._answer()
        if not figures.in_notebook():
            return table
        from IPython.display import display

        self._answered = True
        display(table, display_id=f"{self.id}-answer")
        display(drawn, display_id=f"{self.id}-figure")
        return None

    def _show_what_is_saved(self, place: saving.Place) -> None:
        """Put what is saved now in the place of the answer that stands at the top, and
        of the pictures: pixels depend on the machine, and those that are saved stay.
        """
        if place.why or not figures.in_notebook():
            return
        from IPython.display import update_display

        for name in self._figures:
            end = f"__{name}.png" if name else ".png"
            name_of_file = self._name("figures", place.folder, end)
            png = files.located(name_of_file).read_bytes()
            text = ": ".join(filter(None, [self.entry.title or self.id, name]))
            drawn = figures.picture(png, text)
            update_display(drawn, display_id=f"{self.id}-figure-{name}")
        if self._answered:
            table, drawn = self._answer()
            update_display(table, display_id=f"{self.id}-answer")
            update_display(drawn, display_id=f"{self.id}-figure")

    def _answer(self) -> tuple[tables.Table, Any]:
        """The first screen with its table, and the first figure or nothing, of what is
        saved in its own place.
        """
        from reproduction.report import answers

        try:
            record = saving.read_json(f"{answers.base(self.entry, self.mode)}.json")
            if record is None:
                note = f"Nothing is saved yet, mode {self.mode}: "
                note += "what this run gives stands below."
                return tables.joined([], [note]), _Nothing()
            answer = answers.Answer(self.entry, record)
            table = answers.first_screen_of(answer)
            if not answer.figures or not figures.in_notebook():
                return table, _Nothing()
            png = files.located(answer.figures[0]).read_bytes()
            return table, figures.picture(png, answer.title)
        except (KeyError, ValueError) as error:
            note = f"What was saved last cannot be shown ({error}): "
            note += "what this run gives stands below."
            return tables.joined([], [note]), _Nothing()

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

        A computed correlation needs `signature`, `n` and an interval, or a `reason` why
        it has none. What another judge than the paper's gave gets a row of its own.

        ours: `row, column, statistic, value`, and what `papers.compare` takes beside.
        table: by default the one that the catalogue says is covered.
        reason: why printed cells are not in `ours`.
        lacking: the same for some of them, by (row, column), column or row.
        Returns: a row a printed number and route, with its verdict.
        Raises: ValueError.
        """
        if table is None:
            if len(self.entry.covers) != 1:
                raise ValueError(
                    f"{self.id} covers {list(self.entry.covers)}; say which: "
                    "out.compare(ours, table=...)"
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
        _check(cells[cells["ours"].notna()], f"{self.id}, {table}")
        # A cell of the notebook that runs again replaces what it gave, and comes last.
        self._cells.pop(table, None)
        self._cells[table] = cells
        return cells

    def table(
        self, cells: pd.DataFrame, caption: str = "", *, layout: str = "auto"
    ) -> tables.Table:
        """Printed beside ours, styled; the last line of a cell, or in `display()`."""
        notes = []
        if self.mode == "quick":
            notes.append("Quick mode: computed on a share of the data.")
        return comparisons.comparison(cells, caption or self.entry.title, notes, layout)

    def frame(
        self, frame: pd.DataFrame, name: str, caption: str = "", digits: int = 3
    ) -> tables.Table:
        """Save an extra table as `<id>__<name>.csv`, and show its first 60 rows.

        digits: decimals of a float as it is shown; the file has ten significant digits.
        """
        _check_file_name(name)
        if frame.empty:
            raise ValueError(
                f"{self.id}: the frame {name!r} is empty; "
                f"say out.missing({name!r}, 'why') instead"
            )
        self._frames[name] = frame.copy()
        return tables.show(frame, caption, digits, rows=60)

    def audit(self) -> tables.Table:
        """The contradictions within the covered tables, and how many relations were
        checked (`papers.audit`); both are saved.
        """
        if not self.entry.covers:
            raise ValueError(
                f"{self.id} covers no printed table: there is nothing to audit"
            )
        relations = papers.audit(self.paper, tables=self.entry.covers, data=public_data)
        contradictions, facts = comparisons.audit(relations, self.entry.covers)
        self._facts["audit"] = facts
        return contradictions

    def figure(self, fig: Any, name: str = "") -> None:
        """Save a matplotlib figure as `<id>[__<name>].svg` and `.png`, show and close
        it.
        """
        text = self.entry.title or self.id
        if name:
            _check_file_name(name)
            text += f": {name}"
        self._figures[name] = figures.render(fig)
        place = f"{self.id}-figure-{name}"
        figures.show(fig, self._figures[name]["png"], text, place)

    def note(self, text: str) -> None:
        """A sentence that belongs to the result; it is saved with it and stands in
        `closing`.
        """
        self._notes.append(text)

    def missing(self, what: str, reason: str) -> None:
        """Something that this run could not give, and why (`papers.gap` writes one of the
        usual kinds). Raises: ValueError for an empty reason.
        """
        if not reason.strip():
            raise ValueError(f"{self.id}: say why {what!r} is missing")
        self._missing.append({"what": what, "reason": reason})

    def aside(self, why: str) -> None:
        """Save this run to `results/partial/`; the line that `save` prints says why."""
        self._why_apart = why

    def record(self, **facts: Any) -> None:
        """Facts for the provenance: `model`, `revision`, `prompts={name: hash}`,
        `signatures=[...]`, and others; the last of a name counts.
        """
        self._facts.update(facts)

    def closing(self) -> tables.Table:
        """The end of a notebook: coverage, signatures, notes, what is missing and
        what was kept, in one table.
        """
        cells = self._all_cells()
        place = self._place(cells)
        # What the run gave, in rows of two columns: of what sort, and what it is.
        rows = []
        if cells is not None:
            rows.append(("cells", comparisons.summary(cells)))
        for text in self._signatures(cells):
            rows.append(("signature", text))
        for text in self._notes:
            rows.append(("note", text))
        if cells is not None:
            gaps = cells[cells["verdict"] == "missing"]
            for reason, part in gaps.groupby("reason", sort=False):
                rows.append((f"missing ({len(part)} cells)", str(reason)))
        for gap in self._missing:
            rows.append(("missing", f"{gap['what']}: {gap['reason']}"))
        # Where it is saved, if not in its own place, and what that keeps.
        for loss in place.losses:
            rows.append((f"kept from {place.since}", f"{loss}; not made by this run"))
        if place.why:
            name = self._name("results", place.folder)
            rows.append(("set apart", f"this run is in {name}: {place.why}"))
        if not rows:
            rows.append(("missing", "nothing"))
        frame = pd.DataFrame(rows, columns=["", "what"])
        return tables.show(frame, f"{self.id}, mode {self.mode}, route {self.route}")

    def save(self) -> None:
        """Save everything, or nothing, and print one line that says where.

        With other parameters or code than the catalogue's, or with less than is there,
        that is `results/partial/`. Files whose values did not change are left alone.

        Raises: ValueError for nothing to save; OSError.
        """
        cells = self._all_cells()
        if cells is None and not self._frames and not self._figures:
            raise ValueError(
                f"{self.id}: nothing to save; call out.compare(), out.frame() or "
                "out.figure() first"
            )
        place = self._place(cells)
        unsorted = self._contents(cells, place.folder)
        contents = dict(sorted(unsorted.items()))
        record_name = self._name("results", place.folder, ".json")
        saved = saving.read_json(record_name)
        changed = saving.changed(contents, self.entry.tolerance)
        # Which code made it, and what it made.
        made = {
            "code": self._code(place.folder),
            "files": saving.hashes(contents, changed, saved),
        }
        record = self._provenance(cells) | made
        is_new = saved is None or bool(changed)
        if saved is not None and not changed:
            # Values that are equal to the last digit leave the record, its code aside.
            same = self._same(saved | made, record)
            record = saved | made if same or _sets_without_texts() else record
            is_new = not self._same(saved, record)
        fresh = {}
        if is_new:
            # The record comes first, which is renamed last: it is never newer than
            # the files that it lists.
            text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
            fresh = {record_name: text.encode(), **changed}
            saved_files = (saved or {}).get("files", ())
            saving.write(fresh, {*saved_files} - {*contents})
        if self.entry.path.is_file():  # no scratch output
            from reproduction.report import answers

            page = answers.page_of_run(self.entry, place.folder)
            saving.write(saving.changed(page))
        line = self._closing_line(cells, place, "saved" if is_new else "unchanged")
        self._leave_trace(place, line, [record_name, *contents], [*fresh])
        # What changed is in the runner's line: a notebook shows the same at every run.
        print(f"{self.id}: {self._closing_line(cells, place, 'saved')}")
        self._show_what_is_saved(place)

    def _same(self, saved: dict[str, Any], record: dict[str, Any]) -> bool:
        """Whether two records say the same about the result."""
        return saving.same_record(saved, record, self.entry.tolerance)

    def _leave_trace(
        self, place: saving.Place, line: str, names: list[str], fresh: list[str]
    ) -> None:
        """Write down what was saved: for the runner where it asks for it, else for
        whoever runs the notebook alone.
        """
        losses = Counter[str]()
        for loss in place.losses:
            losses[loss.kind] += loss.count
        trace = {
            "id": self.id,
            "folder": place.folder,
            "why": place.why,
            "since": place.since,
            "kept": losses,
            "without_texts": _sets_without_texts(),
            "changed": bool(fresh),
            "line": line,
            "files": names,
            "written": fresh,
        }
        # The runner renews the seal itself, for all that it ran.
        path: Path | str | None = os.environ.get("NLGEVAL_RECORD")
        if not path:
            path = files.state("saved", self.mode, f"{self.id}.json")
            if place.folder in ("", "mini"):
                from reproduction.report import seal

                seal.renew(names, fresh)
        files.write_text(path, json.dumps(trace))

    def _closing_line(
        self, cells: pd.DataFrame | None, place: saving.Place, outcome: str
    ) -> str:
        """What was saved and where, in the one line that `save` prints."""
        clauses = []
        if cells is not None:
            clauses.append(comparisons.summary(cells).rstrip("."))
        signatures = self._signatures(cells)
        if signatures:
            clause = signatures[0]
            if len(signatures) > 1:
                clause += f" (+{len(signatures) - 1})"
            clauses.append(clause)
        where = f"{outcome}: {self._name('results', place.folder)}"
        if place.why:
            where += f" because {place.why}"
        clauses.append(where)
        if _sets_without_texts():
            commit = _commit_of_numbers()[:9]
            clauses.append(f"from saved scores of {commit}; texts not here")
        if place.since:
            clauses.append(f"the result of {place.since} is kept")
        return "; ".join(clauses)

    def _place(self, cells: pd.DataFrame | None) -> saving.Place:
        """Where this run is saved: its own folder, or apart, and why."""
        folder = saving.folder(self.mode, self.route, self.entry)
        reason = self._why_apart or saving.others(self.entry, self.parameters)
        if not reason and os.environ.get("NLGEVAL_TRIAL"):
            reason = "it is a trial"
        if not reason and self.entry.is_private:
            # Nobody else reads it: its last run is its result.
            return saving.Place(folder)
        if not reason and folder != "quick":
            reason = notebook.other_code(self.entry.path)
            if reason:
                reason += f" (nlgeval run {self.id} makes it)"
        if reason:
            return saving.Place("partial", reason)
        # From here on: would the run replace a result that has more?
        saved = None
        if folder != "quick":
            saved = saving.read_json(self._name("results", folder, ".json"))
        if saved is None or os.environ.get("NLGEVAL_REPLACE"):
            return saving.Place(folder)
        since = str(saved.get("date", ""))[:10]
        contents = self._contents(cells, folder)
        # Numbers in the checkout stand for texts; they must give the same result.
        if _sets_without_texts() and saving.changed(contents, self.entry.tolerance):
            reason = (
                "it is from saved scores, and the result there, from texts, differs"
            )
            return saving.Place("partial", reason, (), since)
        losses = saving.lost(saved, contents)
        fresh = {"output": self.id, "route": self.route, "parameters": self.parameters}
        alone = not os.environ.get("NLGEVAL_RECORD")
        reason = saving.lesser(saved, fresh, losses, alone)
        if reason:
            return saving.Place("partial", reason, tuple(losses), since)
        return saving.Place(folder)

    def _name(self, top: str, folder: str, end: str = "") -> str:
        """The name of a file of this output below `top`, "results" or "figures"."""
        return "/".join(filter(None, [top, folder, self.paper, self.id + end]))

    def _all_cells(self) -> pd.DataFrame | None:
        """The cells of every compared table; None where nothing was compared."""
        if not self._cells:
            return None
        return pd.concat(list(self._cells.values()), ignore_index=True)

    def _signatures(self, cells: pd.DataFrame | None) -> list[str]:
        """The distinct signatures of the facts, the cells and the frames."""
        signatures = list(self._facts.get("signatures", ()))
        for frame in [cells, *self._frames.values()]:
            if frame is not None and "signature" in frame:
                texts = [text for text in frame["signature"] if isinstance(text, str)]
                signatures += filter(None, texts)
        return list(dict.fromkeys(signatures))

    def _contents(self, cells: pd.DataFrame | None, folder: str) -> dict[str, bytes]:
        """The tables and figures of this run by the names of their files."""
        contents = {}
        if cells is not None:
            name = self._name("results", folder, ".csv")
            contents[name] = saving.csv_text(cells).encode()
        for label, frame in self._frames.items():
            name = self._name("results", folder, f"__{label}.csv")
            contents[name] = saving.csv_text(frame).encode()
        for label, drawings in self._figures.items():
            end = f"__{label}" if label else ""
            for form, drawing in drawings.items():
                contents[self._name("figures", folder, f"{end}.{form}")] = drawing
        return contents

    def _provenance(self, cells: pd.DataFrame | None) -> dict[str, Any]:
        """The record that is saved beside the results: what made them, from what, how
        many numbers there are, and the facts, notes and gaps that the notebook gave.
        """
        facts = {**self._facts}
        facts.pop("signatures", None)  # they have a place of their own below
        if self._notes:
            facts["notes"] = list(dict.fromkeys(self._notes))
        if self._missing:
            facts["missing"] = self._missing
        sets = _sets_without_texts()
        if sets:
            commit = _commit_of_numbers()
            origin = f"from saved scores of {commit}; texts not here"
            facts["numbers"] = {"origin": origin, "sets": sets}
        return made_from.collect(
            output=self.id,
            paper=self.paper,
            notebook=self.entry.notebook,
            route=self.route,
            mode=self.mode,
            parameters=self.parameters,
            inputs=self.entry.inputs,
            coverage=self._coverage(cells),
            signatures=self._signatures(cells),
            seconds=time.monotonic() - self._began,
            facts=facts,
        )

    def _code(self, folder: str) -> dict[str, str]:
        """The hashes of the notebook that makes this result, and of modules beside it."""
        if folder in ("", "mini") and self.entry.path.is_file():
            return notebook.code(notebook.read(self.entry.path))
        return {}

    def _coverage(self, cells: pd.DataFrame | None) -> dict[str, Any]:
        """How many numbers this run gives; of compared cells, the counts by kind that
        are not nought, too.
        """
        if cells is None:
            numbers = 0
            for frame in self._frames.values():
                numbers += int(frame.count().sum())
            return {"printed": 0, "numbers": numbers}
        is_number = cells["ours"].notna() & (cells["verdict"] != "extra")
        kinds = {}
        for row in papers.by_kind(cells).to_dict("records"):
            counts = {name: row[name] for name in papers.COUNTS if row[name]}
            kinds[str(row["kind"])] = counts
        numbers = int(is_number.sum())
        return papers.counts(cells) | {"numbers": numbers, "kinds": kinds}


class _Nothing:
    """What is shown where there is no picture."""

    def __repr__(self) -> str:
        return ""


def _scratch_entry(id: str, route: catalogue.Route | None) -> catalogue.Entry:
    """An entry for an output that is in no catalogue."""
    if route is None or not re.fullmatch(r"[a-z0-9_]+", id):
        raise ValueError(
            "a scratch output needs a route and an id of lower-case letters, "
            "digits, underscores"
        )
    return catalogue.Entry(
        id=id, paper=catalogue.META, notebook="scratch.ipynb", route=route
    )


def _check_file_name(name: str) -> None:
    """Raises: ValueError for a name that is not fit for a file."""
    if not re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", name):
        raise ValueError(
            f"{name!r} names a file: lower-case letters and digits joined by single "
            "underscores"
        )


def _own_rows(ours: pd.DataFrame) -> pd.DataFrame:
    """The cells with those that another judge than the paper's gave in rows of their
    own; the printed cells say whose they are.
    """
    ours = ours.reset_index(drop=True)  # tables joined by concat repeat their index
    if "signature" not in ours:
        return ours
    signatures = ours["signature"].astype("string").fillna("")
    pattern = re.escape(catalogue.JUDGED_BY) + r"([^|]+)"
    judge = signatures.str.extract(pattern, expand=False)
    judged = ours[judge.notna()]
    if judged.empty:
        return ours
    # A row may have the judge in its own name already, after the same mark.
    name_and_judge = judged["row"].str.partition(catalogue.JUDGED_BY)
    row_names = name_and_judge[0] + ", judged by " + judge
    apart = judged.assign(row=row_names, extra=True)
    printed = judged[name_and_judge[1] == ""]
    if "extra" in judged:  # what no table prints leaves no gap
        printed = printed[~printed["extra"].eq(True)]
    parts = [ours[judge.isna()], apart]
    if len(printed):  # a column that is assigned to no rows would make some
        reason = "judged by " + judge + ", in a row of its own"
        places = printed[["row", "column", "statistic"]]
        gaps = places.assign(value=math.nan, reason=reason[printed.index])
        parts.append(gaps)
    return pd.concat(parts, ignore_index=True)


def _check(cells: pd.DataFrame, where: str) -> None:
    """Refuse unknown routes, mini numbers, a judge's number whose signature names no
    judge, and a computed correlation without signature, n and interval.
    """
    route = cells["route"]
    signature = cells["signature"]
    is_correlation = cells["statistic"].str.contains("|".join(_CORRELATIONS))
    computed = is_correlation & route.isin(_COMPUTED)
    unknown = ~route.isin(catalogue.ROUTES)
    nameless = (route == "run") & ~signature.str.contains("model:|judge:")
    bare = computed & ((signature == "") | cells["n"].isna())
    lacks_interval = cells["ci_low"].isna() | cells["ci_high"].isna()
    unexplained = computed & lacks_interval & (cells["reason"] == "")
    faults = {
        f"unknown route; allowed: {', '.join(catalogue.ROUTES)}": unknown,
        "mini numbers are never compared with a paper; out.frame() shows them": (
            route == "mini"
        ),
        "the route is run, and the signature names no judge": nameless,
        "correlations without signature or n; pass signature=result.signature() and "
        "n=result.n with each value": bare,
        "correlations without an interval; pass ci_low and ci_high, or a reason why "
        "there is none": unexplained,
    }
    for fault, is_faulty in faults.items():
        if is_faulty.any():
            first = cells[is_faulty].iloc[0]
            place = f"{first['row']!r}, {first['column']!r}"
            raise ValueError(
                f"{where}: {is_faulty.sum()} cells, first {place}: {fault}"
            )


def _sets_without_texts() -> list[str]:
    """The data sets that came from the numbers in the checkout, their texts not here."""
    # A module that was never loaded gave nothing: so it is not loaded for the answer.
    numbers = sys.modules.get("nlgeval_lib.datasets.numbers")
    return numbers.used() if numbers else []


def _commit_of_numbers() -> str:
    """The commit whose code made the numbers in the checkout."""
    from nlgeval_lib.datasets import numbers

    return str(numbers.about()["commit"])


@functools.lru_cache(maxsize=4)
def public_data(name: str, **options: Any) -> pd.DataFrame | None:
    """A public data set for the audit's counts; None where its files are not here."""
    from nlgeval_lib import datasets

    try:
        return datasets.load(name, **options)
    except datasets.DataError:
        return None
