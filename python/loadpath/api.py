"""The Python API: the same words as the command line."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Unpack

import msgspec

from loadpath import _core
from loadpath._core import Page, Scenario
from loadpath.outcome import Outcome, Summary
from loadpath.pages import load_graph
from loadpath.parameters import Parameters
from loadpath.parameters import resolve_scenario as _resolve

__all__ = ["Job", "load_graph", "resolve_scenario", "simulate", "simulate_many", "summarise_many"]

Job = tuple[Page, Scenario, int]
"""A page, a scenario, and the number of the repetition."""


def resolve_scenario(**parameters: Unpack[Parameters]) -> Scenario:
    """Every parameter of a load, from a profile, a file and single values.

    >>> import tomllib
    >>> scenario = resolve_scenario(profile="linux", rate="2.5mbit", rtt_ms=200)
    >>> tomllib.loads(scenario.to_toml())["network"]["rate_bps"]
    2500000
    """
    return _resolve(parameters)


def simulate(
    page: Page | str | Path,
    *,
    runs: int = 1,
    trace: bool = False,
    **parameters: Unpack[Parameters],
) -> list[Outcome]:
    """Load a page in simulation.

    Parameters
    ----------
    page
        A page, or where `load_graph` finds one.
    runs
        Repetitions; each has its own random draws.
    trace
        Record every packet and all main-thread activity.
    **parameters
        See `loadpath.parameters.Parameters`.

    Returns
    -------
    list of Outcome
        One for each repetition.

    Raises
    ------
    LoadpathError
        The page or a parameter is wrong.
    """
    if not isinstance(page, Page):
        page = load_graph(page)
    scenario = _resolve(parameters)
    return simulate_many([(page, scenario, run) for run in range(runs)], trace=trace)


def simulate_many(
    jobs: Sequence[Job],
    *,
    trace: bool = False,
    threads: int = 0,
    progress: Callable[[int], object] | None = None,
) -> list[Outcome]:
    """Many loads over all cores, each with its whole outcome.

    Parameters
    ----------
    jobs
        Pages, scenarios and repetitions.
    trace
        Record every packet and all main-thread activity.
    threads
        Threads; 0 means one for each core. Outcomes do not depend on it.
    progress
        Called with the number of finished loads.

    Returns
    -------
    list of Outcome
        In the order of the jobs.
    """

    def load(job: Job) -> Outcome:
        page, scenario, run = job
        return Outcome.from_json(_core.simulate(page, scenario, run, trace=trace))

    # The engine works without the interpreter's lock.
    pool = ThreadPoolExecutor(threads or os.cpu_count())
    try:
        outcomes = []
        for outcome in pool.map(load, jobs):
            outcomes.append(outcome)
            if progress is not None:
                progress(len(outcomes))
        return outcomes
    finally:
        pool.shutdown(cancel_futures=True)


def summarise_many(
    jobs: Sequence[Job],
    *,
    threads: int = 0,
    progress: Callable[[int], object] | None = None,
) -> list[Summary]:
    """Many loads over all cores, of which only the figures are kept: fast, and small in memory.

    Parameters
    ----------
    jobs
        Pages, scenarios and repetitions.
    threads
        Threads; 0 means one for each core. Figures do not depend on it.
    progress
        Called a few times a second with the number of finished loads.

    Returns
    -------
    list of Summary
        In the order of the jobs.
    """
    pages = {id(page): page for page, _, _ in jobs}
    scenarios = {id(scenario): scenario for _, scenario, _ in jobs}
    page_index = {key: index for index, key in enumerate(pages)}
    scenario_index = {key: index for index, key in enumerate(scenarios)}
    data = _core.summarise_batch(
        list(pages.values()),
        list(scenarios.values()),
        [(page_index[id(page)], scenario_index[id(scenario)], run) for page, scenario, run in jobs],
        threads=threads,
        progress=progress,
    )
    return msgspec.json.decode(data, type=list[Summary])
