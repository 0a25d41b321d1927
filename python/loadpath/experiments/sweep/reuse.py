"""Loads that another plan of the store has computed already.

A load is the same if engine, page content, resolved scenario and run are. Plans are products, so
what two of them share is a product, too: the pages they share times the scenarios they share times
the runs they share, and a load's place in the other plan follows by arithmetic.
"""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from loadpath._core import ENGINE
from loadpath.errors import StoreError
from loadpath.experiments.sweep.plan import Part
from loadpath.experiments.sweep.store import FIGURES, PlanFolder, find_plans

__all__ = ["Finder", "Indices"]

Indices: TypeAlias = npt.NDArray[np.int64]

_FIGURES = [name for name, _ in FIGURES]


class Finder:
    """Finds figures of loads in the other plans of a store."""

    def __init__(self, folder: PlanFolder, store: Path) -> None:
        others = (other for other in _plans(store) if other.path != folder.path)
        sources = (_Source(folder, o) for o in others if o.manifest.engine == ENGINE)
        self._sources = [source for source in sources if source.shares_something]

    def find(
        self, pages: Indices, scenarios: Indices, runs: Indices
    ) -> Iterator[tuple[Indices, pa.Table]]:
        """Places in the given list of loads, and the figures of the loads there; no place twice."""
        missing = np.arange(len(runs))
        for source in self._sources:
            if not len(missing):
                return
            rows = source.rows(pages[missing], scenarios[missing], runs[missing])
            for part in source.parts(rows):
                here = np.flatnonzero((rows >= part.first) & (rows < part.end))
                try:
                    figures = source.figures(part)
                except StoreError:
                    continue  # Damaged: the plan that owns it will mend it.
                yield missing[here], figures.take(rows[here] - part.first)
                rows[here] = _TAKEN
            missing = missing[rows != _TAKEN]


_ABSENT = -1
_TAKEN = -2


class _Source:
    """Another plan, and where its pages and scenarios are in ours."""

    def __init__(self, ours: PlanFolder, other: PlanFolder) -> None:
        self._other = other
        self._named = other.named()
        with duckdb.connect() as connection:
            self._pages = _places(connection, ours.path, other.path, "pages", "digest")
            self._scenarios = _places(connection, ours.path, other.path, "scenarios", "scenario")
        self.figures = lru_cache(maxsize=4)(self._figures)

    @property
    def shares_something(self) -> bool:
        return bool(len(self._pages[0]) and len(self._scenarios[0]) and self._named)

    def rows(self, pages: Indices, scenarios: Indices, runs: Indices) -> Indices:
        """Numbers of the given loads in the other plan, `_ABSENT` if it has no such load."""
        m = self._other.manifest
        page, scenario = _look_up(self._pages, pages), _look_up(self._scenarios, scenarios)
        rows = (page * m.scenarios + scenario) * m.runs + runs
        there = (page != _ABSENT) & (scenario != _ABSENT) & (runs < m.runs)
        return np.where(there, rows, _ABSENT)

    def parts(self, rows: Indices) -> list[Part]:
        """The finished parts that have some of the rows."""
        m = self._other.manifest
        numbers = np.unique(rows[rows >= 0] // m.rows_per_part) * m.rows_per_part
        parts = (Part(int(n), min(int(n) + m.rows_per_part, m.rows)) for n in numbers)
        return [part for part in parts if part in self._named]

    def _figures(self, part: Part) -> pa.Table:
        return self._other.read(part, self._named[part]).select(_FIGURES)


def _plans(store: Path) -> list[PlanFolder]:
    try:
        return find_plans(store)
    except StoreError:
        return []


def _places(
    connection: duckdb.DuckDBPyConnection, ours: Path, other: Path, table: str, digest: str
) -> tuple[Indices, Indices]:
    """Row numbers of equal digests in two tables: ours, ascending, and theirs."""
    numbered = (
        f"(SELECT {digest}, file_row_number AS number FROM read_parquet(?, file_row_number=true))"
    )
    columns = connection.execute(
        f"SELECT a.number AS ours, b.number AS theirs FROM {numbered} a JOIN {numbered} b "
        f"USING ({digest}) ORDER BY a.number",
        [str(folder / f"{table}.parquet") for folder in (ours, other)],
    ).fetchnumpy()
    return np.asarray(columns["ours"], np.int64), np.asarray(columns["theirs"], np.int64)


def _look_up(places: tuple[Indices, Indices], wanted: Indices) -> Indices:
    ours, theirs = places
    at = np.searchsorted(ours, wanted)
    at[at == len(ours)] = 0
    return np.where(ours[at] == wanted, theirs[at], _ABSENT)
