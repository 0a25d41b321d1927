"""The grid of networks of the thesis (Table 4.1), and loads over it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext

from loadpath._core import Scenario
from loadpath.errors import LoadpathError
from loadpath.experiments.cells import CellLoad, PageSet, run_cell
from loadpath.experiments.preset import PresetOptions
from loadpath.parameters import override

__all__ = ["NETWORKS", "RATES_BPS", "RTTS_MS", "mean_by_page_s", "run_cells"]

RATES_BPS = (
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    500_000_000,
    1_000_000_000,
)
RTTS_MS = (8, 40, 100, 200, 400)

NETWORKS = [(rate_bps, rtt_ms) for rate_bps in RATES_BPS for rtt_ms in RTTS_MS]
"""All 50 combinations, in the order of the thesis's tables."""


def run_cells(
    pages: PageSet,
    cells: Sequence[Mapping[str, object]],
    options: PresetOptions,
    *,
    runs: int,
    profile: str = "pcp",
) -> list[list[CellLoad]]:
    """The loads of each cell: scenario values that differ from the profile.

    `options.overrides` come last, so that a user can vary what a preset fixes.

    Raises
    ------
    LoadpathError
        A load did not reach its load event.
    """
    total = len(cells) * len(pages.pages) * runs
    bar = options.progress(total) if options.progress is not None else nullcontext(None)
    results = []
    with bar as report:
        for number, cell in enumerate(cells):
            values = [(key, override(value)) for key, value in cell.items()]
            loads = run_cell(
                pages,
                Scenario.resolve(profile, None, [*values, *options.overrides]),
                runs=runs,
                cache=options.cache,
                threads=options.threads,
                progress=_offset(report, number * len(pages.pages) * runs),
            )
            failed = next((load for load in loads if load.plt_ms is None), None)
            if failed is not None:
                raise LoadpathError(f"{failed.page}, run {failed.run}: {failed.reason}")
            results.append(loads)
    return results


def _offset(report: Callable[[int], object] | None, done: int) -> Callable[[int], object] | None:
    return None if report is None else lambda n: report(done + n)


def mean_by_page_s(loads: Sequence[CellLoad], runs: int) -> list[float]:
    """Mean load time of each page in seconds; loads are in order of pages, then runs."""
    times = [load.plt_ms / 1000 for load in loads if load.plt_ms is not None]
    return [sum(times[i : i + runs]) / runs for i in range(0, len(times), runs)]
