"""Cells of an experiment: one scenario over a list of pages, a number of runs each.

Loads stay in the store that computed them. What is asked for is read by columns, so that an
experiment of millions of loads takes memory for the figures that it looks at: eight bytes each.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, overload

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from loadpath.experiments.page_set import PageSet
from loadpath.experiments.sweep.plan import Plan
from loadpath.experiments.sweep.store import PlanFolder

__all__ = ["CellLoad", "CellLoads", "PageSet", "StoredLoads"]

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]


class CellLoad(msgspec.Struct, frozen=True):
    """One load of a cell."""

    page: str
    run: int
    plt_ms: float | None
    dcl_ms: float | None
    failure: str | None
    """Why the load failed, if it did."""
    connections: int
    requests: int
    bytes: int
    """Bodies of responses."""
    packets: int
    """Sent, both directions."""
    data_packets: int
    """With payload, delivered to the client."""
    drops: int
    retransmissions: int
    timeouts: int
    tail_losses: int
    tail_probes: int


class StoredLoads:
    """The loads of a finished plan, by columns."""

    def __init__(self, folder: PlanFolder, plan: Plan) -> None:
        self._files = [file for _, file in sorted(folder.named().items())]
        self._shape = (len(plan.pages), plan.scenario_count, plan.specification.runs)
        self._columns: dict[str, npt.NDArray[Any]] = {}
        self.pages = tuple(page.name for page in plan.pages)
        self.runs = plan.specification.runs

    def column(self, name: str) -> npt.NDArray[Any]:
        """A figure of all loads, shape (pages, scenarios, runs)."""
        if name not in self._columns:
            parts = (
                pq.read_table(file, columns=[name]).column(0).to_numpy() for file in self._files
            )
            self._columns[name] = np.concatenate(list(parts)).reshape(self._shape)
        return self._columns[name]


class CellLoads(Sequence[CellLoad]):
    """The loads of a cell, in order of pages, then runs; by columns, or one at a time."""

    def __init__(self, loads: StoredLoads, scenario: int) -> None:
        self._loads = loads
        self._scenario = scenario

    def column(self, name: str) -> npt.NDArray[Any]:
        """A figure by its column in the store ("plt_ms", "drops", ...), shape (pages, runs)."""
        return self._loads.column(name)[:, self._scenario, :]

    @property
    def page_names(self) -> tuple[str, ...]:
        """In order of the first axis."""
        return self._loads.pages

    @property
    def plt_ms(self) -> Floats:
        """Load times, shape (pages, runs)."""
        return np.asarray(self.column("plt_ms"), np.float64)

    @property
    def mean_by_page_s(self) -> Floats:
        """Mean load time of each page in seconds."""
        return np.asarray(self.plt_ms.mean(axis=1) / 1000, np.float64)

    @property
    def drop_rates_percent(self) -> Floats:
        """Of data packets: those that a queue dropped, in per cent, shape (pages, runs)."""
        drops, delivered = self.column("drops"), self.column("data_packets")
        return np.asarray(100 * drops / np.maximum(drops + delivered, 1), np.float64)

    def __len__(self) -> int:
        return len(self._loads.pages) * self._loads.runs

    @overload
    def __getitem__(self, index: int) -> CellLoad: ...
    @overload
    def __getitem__(self, index: slice) -> list[CellLoad]: ...
    def __getitem__(self, index: int | slice) -> CellLoad | list[CellLoad]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        page, run = divmod(index % len(self), self._loads.runs)
        figures: dict[str, Any] = {}
        for name in CellLoad.__struct_fields__[2:]:
            value = self.column(name)[page, run]
            value = value.item() if isinstance(value, np.generic) else value
            figures[name] = None if value != value else value
        return CellLoad(page=self._loads.pages[page], run=run, **figures)

    def __iter__(self) -> Iterator[CellLoad]:
        return (self[index] for index in range(len(self)))
