"""One site of the corpus in detail, as the thesis's timelines show it."""

import statistics
from collections.abc import Mapping, Sequence

from loadpath._core import Scenario, simulate
from loadpath.experiments.cells import PageSet
from loadpath.experiments.preset import PresetOptions
from loadpath.outcome import Outcome

__all__ = ["load_run", "load_site", "median_run", "spread_line"]


def load_site(pages: PageSet, name: str) -> PageSet | None:
    """The page of that name alone; `None` if there is none."""
    found = [page for page in pages.pages if page.name == name]
    return PageSet(found, f"{pages.digest} {name}") if found else None


def spread_line(values: Sequence[float]) -> list[float]:
    """Mean, sample standard deviation, least and most."""
    sd = statistics.stdev(values) if len(values) > 1 else 0.0
    return [statistics.fmean(values), sd, min(values), max(values)]


def median_run(times: Sequence[float]) -> int:
    """The run whose time is the (lower) median."""
    return sorted(range(len(times)), key=lambda run: times[run])[(len(times) - 1) // 2]


def load_run(
    site: PageSet, values: Mapping[str, object], options: PresetOptions, run: int
) -> Outcome:
    """One run of a cell as `grid.run_cells` runs it, with all that an outcome holds."""
    scenario = Scenario.resolve(
        "pcp", None, [*((key, str(v)) for key, v in values.items()), *options.overrides]
    )
    return Outcome.from_json(simulate(site.pages[0], scenario, run))
