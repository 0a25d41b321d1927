"""The Python API: the same words as the command line."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, Unpack, overload

from loadpath import _core
from loadpath._core import Page, Scenario
from loadpath.outcome import Outcome, Summary
from loadpath.pages import load_graph
from loadpath.parameters import Parameters
from loadpath.parameters import resolve_scenario as _resolve

__all__ = ["Job", "load_graph", "resolve_scenario", "simulate", "simulate_many"]

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
    if trace:
        return [
            Outcome.from_json(_core.simulate(page, scenario, run, trace=True))
            for run in range(runs)
        ]
    return simulate_many([(page, scenario, run) for run in range(runs)])


@overload
def simulate_many(
    jobs: Iterable[Job],
    *,
    threads: int = ...,
    detail: Literal[True] = ...,
    progress: Callable[[int], object] | None = ...,
) -> list[Outcome]: ...
@overload
def simulate_many(
    jobs: Iterable[Job],
    *,
    threads: int = ...,
    detail: Literal[False],
    progress: Callable[[int], object] | None = ...,
) -> list[Summary]: ...
def simulate_many(
    jobs: Iterable[Job],
    *,
    threads: int = 0,
    detail: bool = True,
    progress: Callable[[int], object] | None = None,
) -> list[Outcome] | list[Summary]:
    """Many loads over all cores.

    Parameters
    ----------
    jobs
        Pages, scenarios and repetitions.
    threads
        Threads; 0 means one for each core. Outcomes do not depend on it.
    detail
        Without it, outcomes come without resources and connections: large batches need less memory.
    progress
        Called a few times a second with the number of finished loads.

    Returns
    -------
    list of Outcome or Summary
        In the order of the jobs.
    """
    raw = _core.simulate_batch(list(jobs), threads=threads, detail=detail, progress=progress)
    if detail:
        return [Outcome.from_json(data) for data in raw]
    return [Summary.from_json(data) for data in raw]
