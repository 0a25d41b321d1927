"""Loads of many cells as arrays, and load times over two paths against one, as section 6.5 does."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from loadpath.analysis.statistics import Comparison, anova, compare
from loadpath.experiments.cells import CellLoads, PageSet
from loadpath.experiments.grid import run_cells
from loadpath.experiments.multipath.variants import Values
from loadpath.experiments.preset import PresetOptions

__all__ = ["SAME_S", "Loads", "against", "difference_p", "measure", "repetitions", "time_p"]

Key = TypeVar("Key", bound=Hashable)

Floats = npt.NDArray[np.float64]

SAME_S = 0.020
"""Mean load times within 20 ms count as equal (section 6.3.2)."""


@dataclass(frozen=True)
class Loads:
    """All loads of one cell: a line for each page, a column for each run."""

    pages: tuple[str, ...]
    plt_s: Floats
    loss: Floats
    """Part of the data packets that a queue dropped."""
    tail_losses: Floats
    """Timeouts of segments with too few behind them for duplicate ACKs."""
    tail_probes: Floats
    """Tail loss probes, each after a silence that was taken for a tail loss."""

    @classmethod
    def of(cls, loads: CellLoads) -> "Loads":
        """From a cell in a store."""
        return cls(
            pages=loads.page_names,
            plt_s=loads.plt_ms / 1000,
            loss=loads.drop_rates_percent / 100,
            tail_losses=np.asarray(loads.column("tail_losses"), np.float64),
            tail_probes=np.asarray(loads.column("tail_probes"), np.float64),
        )

    @property
    def mean_s(self) -> float:
        """Mean load time of all loads."""
        return float(np.mean(self.plt_s))

    @property
    def site_means_s(self) -> Floats:
        """Mean load time of each page."""
        return np.asarray(np.mean(self.plt_s, axis=1))


def repetitions(options: PresetOptions, default: int) -> int:
    """What the user asks for, one for a quick answer, or the preset's own number."""
    return options.runs or (1 if options.quick else default)


def measure(
    pages: PageSet,
    cells: Mapping[Key, Values],
    options: PresetOptions,
    *,
    runs: int,
    profile: str = "pcp",
) -> dict[Key, Loads]:
    """The loads of each cell, under the cells' keys.

    Raises
    ------
    LoadpathError
        A load did not reach its load event.
    """
    loads = run_cells(pages, list(cells.values()), options, runs=runs, profile=profile)
    return {key: Loads.of(cell) for key, cell in zip(cells, loads, strict=True)}


def against(single: Loads, several: Loads) -> Comparison:
    """Load times over several paths against those over one, paired by page and run.

    Differences are single less several, so positive where several paths are faster, and the mean
    and deviation of `difference` are x-bar and sigma of Tables 6.1 and 6.2.
    """
    sites = np.repeat(np.arange(len(single.pages)), single.plt_s.shape[1])
    return compare(single.plt_s.ravel(), several.plt_s.ravel(), sites, margin=SAME_S)


def time_p(one: Loads, other: Loads) -> float | None:
    """One-way ANOVA of all load times in two groups: the p-value of Tables 6.1 and 6.2.

    Their captions speak of the mean load times of modified and baseline MPTCP.
    """
    return anova(one.plt_s.ravel(), other.plt_s.ravel()).p


def difference_p(single: Loads, one: Loads, other: Loads) -> float | None:
    """The same of the differences to a single path, which leaves out what pages differ by."""
    return anova((single.plt_s - one.plt_s).ravel(), (single.plt_s - other.plt_s).ravel()).p
