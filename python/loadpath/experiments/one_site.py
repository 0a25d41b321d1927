"""One site of the corpus in detail, as the thesis's timelines show it."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from loadpath._core import Scenario, simulate
from loadpath.experiments.grid import run_cells
from loadpath.experiments.page_set import PageSet
from loadpath.experiments.preset import PresetOptions
from loadpath.outcome import Outcome
from loadpath.parameters import override

__all__ = ["SiteLoads", "spread_line"]


class SiteLoads:
    """Many runs of one page under each of some scenarios; one of them in full.

    Parameters
    ----------
    site
        The page.
    cells
        Scenario values that differ from the `pcp` profile, by name.
    options, runs
        As for `grid.run_cells`.
    """

    def __init__(
        self,
        site: PageSet,
        cells: Mapping[str, Mapping[str, object]],
        options: PresetOptions,
        *,
        runs: int,
    ) -> None:
        loads = run_cells(site, list(cells.values()), options, runs=runs)
        self._page = site.pages[0]
        self._settings = {
            name: [*((k, override(v)) for k, v in cell.items()), *options.overrides]
            for name, cell in cells.items()
        }
        self.times_s: dict[str, npt.NDArray[np.float64]] = {
            name: of_cell.plt_ms[0] / 1000 for name, of_cell in zip(cells, loads, strict=True)
        }

    def median_load(self, name: str) -> Outcome:
        """The run with the (lower) median load time under a scenario."""
        times = self.times_s[name]
        run = int(np.argsort(times, kind="stable")[(len(times) - 1) // 2])
        scenario = Scenario.resolve("pcp", None, self._settings[name])
        return Outcome.from_json(simulate(self._page, scenario, run))


def spread_line(values: Sequence[float] | npt.NDArray[np.float64]) -> list[float]:
    """Mean, sample standard deviation, least and most."""
    times = np.asarray(values)
    sd = float(times.std(ddof=1)) if len(times) > 1 else 0.0
    return [float(times.mean()), sd, float(times.min()), float(times.max())]
