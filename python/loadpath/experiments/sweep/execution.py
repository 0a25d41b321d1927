"""Computing a plan: part by part, each load in the engine, each finished part on the disk.

`compute_part` is a pure function of plan and part, so that it does not matter which process or
machine computes a part, in which order, or how often.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from loadpath import _core
from loadpath._core import Page
from loadpath.errors import StoreError, hinted
from loadpath.experiments.sweep.pages import PlannedPage, open_pages
from loadpath.experiments.sweep.plan import Part, Plan
from loadpath.experiments.sweep.reuse import Finder, Indices
from loadpath.experiments.sweep.specification import TRANSFORM, Specification
from loadpath.experiments.sweep.store import FIGURES, PlanFolder, row_schema, writing

__all__ = ["Executor", "LocalExecutor", "Pages", "SweepResult", "compute_part", "run_plan", "sweep"]

PAGES_IN_MEMORY = 256
"""Compiled pages that are kept; one of the corpus takes some 150 kB."""

Report = Callable[[int], object]
ProgressBar = Callable[[int, int], AbstractContextManager[Report]]
"""Makes a progress bar of so many loads, so many done; it is called with the number done."""

_DTYPES = {"g": np.dtype("<f8"), "l": np.dtype("<i8")}
"""Format strings of the Arrow C data interface."""


class Pages:
    """Compiled pages of a plan, those used last kept in memory."""

    def __init__(self, pages: Sequence[PlannedPage]) -> None:
        self._pages = pages
        self._loaded: OrderedDict[int, Page] = OrderedDict()

    def __getitem__(self, index: int) -> Page:
        page = self._loaded.pop(index, None) or self._pages[index].load()
        self._loaded[index] = page
        if len(self._loaded) > PAGES_IN_MEMORY:
            self._loaded.popitem(last=False)
        return page


class Executor(Protocol):
    """Computes parts, in any order."""

    def tables(
        self, plan: Plan, parts: Iterable[Part], finder: Finder, report: Report
    ) -> Iterator[tuple[Part, pa.Table]]:
        """Parts with their rows as they get finished.

        `report` is called with the number of loads finished since the start.
        """
        ...


@dataclass(frozen=True)
class LocalExecutor:
    """On one machine: one part after the other, each over `threads` threads (0: one a core)."""

    threads: int = 0

    def tables(
        self, plan: Plan, parts: Iterable[Part], finder: Finder, report: Report
    ) -> Iterator[tuple[Part, pa.Table]]:
        """See `Executor`."""
        pages = Pages(plan.pages)
        done = 0
        for part in parts:
            yield (
                part,
                compute_part(
                    plan,
                    part,
                    pages,
                    finder=finder,
                    threads=self.threads,
                    report=_after(done, report),
                ),
            )
            done += part.rows


def compute_part(
    plan: Plan,
    part: Part,
    pages: Pages,
    *,
    finder: Finder | None = None,
    threads: int = 0,
    report: Report | None = None,
) -> pa.Table:
    """The rows of a part, in order of their numbers; see `row_schema` for the columns.

    Parameters
    ----------
    plan, part
        What to compute.
    pages
        The pages of the plan.
    finder
        Where figures are looked for before they are computed; they are the same.
    threads
        Threads; 0 means one for each core. Rows do not depend on it.
    report
        Called a few times a second with the number of finished loads of the part.
    """
    rows = np.arange(part.first, part.end, dtype=np.int64)
    cells, runs = np.divmod(rows, plan.specification.runs)
    page, scenario = np.divmod(cells, plan.scenario_count)
    found = [] if finder is None else list(finder.find(page, scenario, runs))
    places, tables = [at for at, _ in found], [table for _, table in found]
    missing = np.setdiff1d(np.arange(part.rows), np.concatenate([*places, rows[:0]]))
    finished = part.rows - len(missing)
    for at in _by_pages(missing, page):
        tables.append(
            _simulate(
                plan,
                pages,
                (page[at], scenario[at], runs[at]),
                threads,
                None if report is None else _after(finished, report),
            )
        )
        places.append(at)
        finished += len(at)
    figures = pa.concat_tables(tables).take(np.argsort(np.concatenate(places)))
    return _table(plan, (rows, page, scenario, runs), figures)


def _after(before: int, report: Report) -> Report:
    """For a batch that begins when so many loads are finished."""
    return lambda finished: report(before + finished)


def _by_pages(places: Indices, page: Indices) -> Iterator[Indices]:
    """Splits a list of loads, in order of pages, by as many pages as fit in memory."""
    if not len(places):
        return
    ordinal = np.unique(page[places], return_inverse=True)[1] // PAGES_IN_MEMORY
    yield from np.split(places, np.flatnonzero(np.diff(ordinal)) + 1)


def _simulate(
    plan: Plan,
    pages: Pages,
    loads: tuple[Indices, Indices, Indices],
    threads: int,
    report: Report | None,
) -> pa.Table:
    """Figures of the given loads (page and scenario indices, runs)."""
    page, scenario, run = loads
    page_indices, page = np.unique(page, return_inverse=True)
    scenario_indices, scenario = np.unique(scenario, return_inverse=True)
    columns, failures = _core.summarise_columns(
        [pages[int(index)] for index in page_indices],
        [plan.scenario(int(index)).scenario for index in scenario_indices],
        (_little_endian(page), _little_endian(scenario), _little_endian(run)),
        threads=threads,
        progress=report,
    )
    arrays: dict[str, Any] = {
        name: pa.array(np.frombuffer(data, _DTYPES[format]), from_pandas=True)
        for name, format, data in columns
    }
    reasons: list[str | None] = [None] * len(run)
    for place, reason in failures:
        reasons[place] = reason
    arrays["failure"] = pa.array(reasons, pa.string())
    return pa.table([arrays[name] for name, _ in FIGURES], schema=pa.schema(FIGURES))


def _little_endian(column: Indices) -> bytes:
    return column.astype("<i8").tobytes()


def _table(
    plan: Plan, loads: tuple[Indices, Indices, Indices, Indices], figures: pa.Table
) -> pa.Table:
    rows, page, scenario, runs = loads
    schema = row_schema(plan)
    page_indices, page = np.unique(page, return_inverse=True)
    scenario_indices, place = np.unique(scenario, return_inverse=True)
    columns: dict[str, Any] = {
        "row": rows,
        "page": _words(page, [plan.pages[index].name for index in page_indices]),
        "run": pa.array(runs, pa.int32()),
        "scenario": _words(place, [plan.scenario(int(i)).digest for i in scenario_indices]),
        TRANSFORM: _words(page, [plan.pages[index].transform for index in page_indices]),
    }
    for axis, stride in zip(plan.specification.axes, plan.strides, strict=True):
        labels = [choice.label for choice in axis.choices]
        choice = scenario // stride % len(labels)
        if pa.types.is_dictionary(schema.field(axis.name).type):
            columns[axis.name] = _words(choice, labels)
        else:
            columns[axis.name] = pa.array(labels, schema.field(axis.name).type).take(choice)
    columns |= {name: figures.column(name) for name, _ in FIGURES}
    return pa.table([columns[name] for name in schema.names], schema=schema).combine_chunks()


def _words(indices: Indices, words: Sequence[object]) -> Any:
    """Words by their places in a list, in which some may be there twice."""
    places = {word: place for place, word in enumerate(dict.fromkeys(words))}
    indices = np.array([places[word] for word in words], np.int64)[indices]
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, pa.int32()), pa.array(list(places), pa.string())
    )


@dataclass(frozen=True)
class SweepResult:
    """What a sweep did."""

    folder: PlanFolder
    plan: Plan
    computed: int
    """Loads of this call, those found in other plans included."""
    failed: int
    """Loads of this call that did not reach their load event."""
    damaged: tuple[Path, ...]
    """Files that were found damaged, and replaced."""


def sweep(
    specification: Specification,
    *,
    store: Path,
    corpus: Path | None = None,
    plan_only: bool = False,
    resume: bool = False,
    executor: Executor | None = None,
    progress: ProgressBar | None = None,
) -> SweepResult:
    """Compute all loads of a specification that its plan's folder does not have yet.

    Whatever ends it, Ctrl-C, a kill, a full disk: parts that were finished are kept, and the same
    call with `resume` does the rest, with the same rows as if nothing had happened.

    Parameters
    ----------
    specification
        What to do.
    store
        The folder of all sweeps.
    corpus
        The page corpus, if the specification does not name its own.
    plan_only
        Make the folder, compute nothing.
    resume
        Go on with a plan of which some loads are there, and check these.
    executor
        Where to compute; this machine unless given.
    progress
        Makes a progress bar.

    Raises
    ------
    SpecificationError
        The specification cannot be planned.
    StoreError
        The disk is full, another process computes the plan, or it has been begun and `resume` is
        not given.
    """
    with open_pages(specification.pages, specification.folder, corpus) as pages:
        return run_plan(
            Plan(specification, pages),
            store=store,
            plan_only=plan_only,
            resume=resume,
            executor=executor,
            progress=progress,
        )


def run_plan(
    plan: Plan,
    *,
    store: Path,
    plan_only: bool = False,
    resume: bool = False,
    executor: Executor | None = None,
    progress: ProgressBar | None = None,
) -> SweepResult:
    """As `sweep`, for a plan whose pages have been found."""
    folder = _folder(plan, store)
    plan = plan.with_rows_per_part(folder.manifest.rows_per_part)
    with folder.locked():
        with writing(folder.path):
            folder.update(plan)
            finished, damaged = folder.check(plan) if resume else (set(folder.named()), [])
        done = sum(part.rows for part in finished)
        if plan_only or done == plan.rows:
            return SweepResult(folder, plan, 0, 0, tuple(damaged))
        if finished and not resume:
            raise hinted(
                StoreError(f"{folder.path} has {done} of {plan.rows} loads already"),
                "--resume computes the others",
            )
        parts = (part for part in plan.parts() if part not in finished)
        failed = 0
        with nullcontext(_ignore) if progress is None else progress(plan.rows, done) as report:
            tables = (executor or LocalExecutor()).tables(
                plan, parts, Finder(folder, store), lambda new: report(done + new)
            )
            for part, table in tables:
                folder.write(part, table)
                failed += part.rows - table.column("failure").null_count
        return SweepResult(folder, plan, plan.rows - done, failed, tuple(damaged))


def _folder(plan: Plan, store: Path) -> PlanFolder:
    path = store / plan.specification.name / plan.digest
    return PlanFolder.open(path) if path.exists() else PlanFolder.create(plan, store)


def _ignore(done: int) -> None:
    pass
