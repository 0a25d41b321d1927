"""What is predicted for a cell: by simulation, and by two plain methods to compare it with."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from statistics import median

import msgspec

from loadpath._core import Page, Scenario
from loadpath.api import Job, simulate_many
from loadpath.outcome import Outcome
from loadpath.parameters import Parameters, resolve_scenario
from loadpath.testbed.load import Http
from loadpath.validation.cells import CONNECTIONS, SIMULATED_HTTP, ValidationNetwork

__all__ = [
    "JITTER_FRACTION",
    "LOSSY_RUNS",
    "Prediction",
    "pcp_scenario",
    "predict",
    "round_trips",
    "scenario_of",
]

JITTER_FRACTION = 0.2
"""Range between the quartiles of durations of main-thread work (`make study-jitter`)."""

LOSSY_RUNS = 101
"""Simulated loads of a cell with loss: enough for the median not to be chance."""


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """What is predicted for a cell; times are None where the simulated load does not end."""

    loads_ms: list[float | None]
    """Load times of the runs. Number k draws what the link of the k-th emulated load draws, which
    so loses the same packets, counted in each direction."""
    pcp_ms: float | None
    """The same page with all defaults of the profile `pcp`, over the same network."""
    bytes_ms: float
    """All bytes of the page at the full rate, without a single round trip."""
    resources_ms: dict[str, float]
    """Ends of responses by URL, the first of each; medians."""

    @property
    def load_ms(self) -> float | None:
        """Median over the runs; None if it does not end."""
        return _median(self.loads_ms)

    def same_runs_ms(self, runs: Iterable[int]) -> float | None:
        """Median over these runs alone; None if one of them was not simulated."""
        chosen = list(runs)
        if not chosen or max(chosen) >= len(self.loads_ms):
            return None
        return _median([self.loads_ms[run] for run in chosen])


def scenario_of(network: ValidationNetwork, http: Http, keys: Mapping[str, object]) -> Scenario:
    """The simulation of a cell; `keys` tell of its server."""
    parameters = network.parameters()
    if network.lossy:
        # Which packets meet in a queue is a matter of milliseconds: runs are to differ as loads do.
        keys = {"browser.jitter_fraction": JITTER_FRACTION, **keys}
    return resolve_scenario(
        parameters
        | Parameters(
            http=SIMULATED_HTTP[http],
            connections=CONNECTIONS[http],
            set={**(parameters.get("set") or {}), **keys},
        )
    )


def pcp_scenario(network: ValidationNetwork, http: Http) -> Scenario:
    """The network, the HTTP version, and what the thesis has for everything else."""
    return resolve_scenario(network.parameters("pcp") | Parameters(http=SIMULATED_HTTP[http]))


def predict(
    cells: Sequence[tuple[Page, ValidationNetwork, Http, Mapping[str, object]]],
    progress: Callable[[int, int], object] = lambda done, total: None,
    *,
    pcp: bool = True,
) -> list[Prediction]:
    """Predictions for pages over networks by protocols, with keys of their servers.

    Without `pcp` the thesis's are left out.
    """
    jobs: list[Job] = []
    slices = []
    for page, network, http, keys in cells:
        runs = LOSSY_RUNS if network.lossy else 1
        first = len(jobs)
        scenarios = [scenario_of(network, http, keys)]
        if pcp:
            scenarios.append(pcp_scenario(network, http))
        for scenario in scenarios:
            jobs += [(page, scenario, run) for run in range(runs)]
        slices.append((first, runs))
    outcomes = simulate_many(jobs, progress=lambda done: progress(done, len(jobs)))
    predictions = []
    for (_, network, _, _), (first, runs) in zip(cells, slices, strict=True):
        linux, other = outcomes[first : first + runs], outcomes[first + runs : first + 2 * runs]
        size = sum(resource.size_bytes for resource in linux[0].resources)
        predictions.append(
            Prediction(
                loads_ms=[outcome.plt_ms for outcome in linux],
                pcp_ms=_median([outcome.plt_ms for outcome in other]) if pcp else None,
                bytes_ms=8e3 * size / network.rate_bps,
                resources_ms=_median_ends(linux),
            )
        )
    return predictions


def round_trips(
    measured_ms: Sequence[float], bytes_ms: Sequence[float], rtt_ms: Sequence[float]
) -> float:
    """The number of round trips that, beside the bytes at full rate, fits measured loads best."""
    return median(
        (measured - size) / rtt
        for measured, size, rtt in zip(measured_ms, bytes_ms, rtt_ms, strict=True)
    )


def _median(loads_ms: Sequence[float | None]) -> float | None:
    """A load that does not end takes longer than any other."""
    middle = median(inf if load_ms is None else load_ms for load_ms in loads_ms)
    return None if middle == inf else middle


def _median_ends(outcomes: Sequence[Outcome]) -> dict[str, float]:
    ends: dict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        seen: set[str] = set()
        for resource in outcome.resources:
            if resource.url not in seen and resource.end_ms is not None:
                seen.add(resource.url)
                ends[resource.url].append(resource.end_ms)
    return {url: median(times) for url, times in ends.items()}
