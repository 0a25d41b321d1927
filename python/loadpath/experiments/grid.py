"""The grid of networks of the thesis (Table 4.1), and loads over it."""

import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from loadpath._core import Scenario
from loadpath.errors import LoadpathError
from loadpath.experiments.cells import CellLoad, CellLoads, PageSet, StoredLoads
from loadpath.experiments.preset import PresetOptions
from loadpath.experiments.sweep.execution import LocalExecutor, run_plan
from loadpath.experiments.sweep.pages import PlannedPage, plan_page
from loadpath.experiments.sweep.plan import Plan
from loadpath.experiments.sweep.specification import TRANSFORM, parse_specification
from loadpath.parameters import override
from loadpath.transforms import AS_IT_IS

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

VARIANT = "variant"
"""Axis of the keys of which not every combination is a cell."""

Cell = Mapping[str, object]


def run_cells(
    pages: PageSet,
    cells: Sequence[Cell],
    options: PresetOptions,
    *,
    runs: int,
    profile: str = "pcp",
) -> list[CellLoads]:
    """The loads of each cell: scenario values that differ from the profile.

    `options.overrides` come last, so that a user can vary what a preset fixes. Loads are kept in
    the store `options.cache`, as a sweep whose axes are what varies; without one they are deleted
    with the last of the returned cells.

    Raises
    ------
    LoadpathError
        A load did not reach its load event.
    """
    places, text = _sweep(pages, cells, options, runs, profile)
    specification = parse_specification(text, origin=options.name, folder=Path(), name=options.name)
    plan = Plan(specification, _planned(pages))
    store = options.cache or Path(tempfile.mkdtemp(prefix="loadpath-loads-"))
    try:
        result = run_plan(
            plan,
            store=store,
            resume=True,
            executor=LocalExecutor(options.threads),
            progress=options.progress,
        )
        loads = StoredLoads(result.folder, plan)
    except BaseException:
        if options.cache is None:
            shutil.rmtree(store, ignore_errors=True)
        raise
    if options.cache is None:
        weakref.finalize(loads, shutil.rmtree, store, ignore_errors=True)
    if np.isnan(loads.column("plt_ms")).any():
        page, scenario, run = np.argwhere(np.isnan(loads.column("plt_ms")))[0]
        reason = loads.column("failure")[page, scenario, run]
        labels = ", ".join(f"{k} = {v}" for k, v in plan.labels(int(scenario)).items())
        raise LoadpathError(f"{loads.pages[page]}, run {run}, {labels}: {reason}")
    strides = dict(zip((axis.name for axis in specification.axes), plan.strides, strict=True))
    return [
        CellLoads(loads, sum(strides[axis] * choice for axis, choice in place.items()))
        for place in places
    ]


@lru_cache(maxsize=8)
def _planned(pages: PageSet) -> tuple[PlannedPage, ...]:
    return tuple(plan_page(source, file, pages.transform) for source, file in pages.files)


def _sweep(
    pages: PageSet, cells: Sequence[Cell], options: PresetOptions, runs: int, profile: str
) -> tuple[list[dict[str, int]], str]:
    """For each cell the number of its choice on each axis; the specification that has the axes."""
    fixed: dict[str, object] = dict(options.overrides)
    varying = [{k: v for k, v in cell.items() if k not in fixed} for cell in cells]
    # Cells that are the same scenario are computed once.
    first: dict[str, int] = {}
    same = []
    for number, cell in enumerate(varying):
        settings = [*((k, override(v)) for k, v in cell.items()), *options.overrides]
        scenario = Scenario.resolve(profile, None, settings).to_toml()
        same.append(first.setdefault(scenario, number))
    distinct = {number: varying[number] for number in first.values()}
    axes = _axes(list(distinct.values()))
    matrix: dict[str, Any] = {}
    for axis, choices in axes.items():
        if len(choices) == 1:
            fixed = {**choices[0], **fixed}
        elif axis == VARIANT:
            matrix[axis] = {_label(choice): choice for choice in choices}
        else:
            matrix[axis] = [choice[axis] for choice in choices]
    numbered = {
        number: {
            axis: choices.index({k: v for k, v in cell.items() if k in choices[0]})
            for axis, choices in axes.items()
            if len(choices) > 1
        }
        for number, cell in distinct.items()
    }
    document = {
        "name": options.name,
        "profile": profile,
        "runs": runs,
        "pages": {
            "include": [source for source, _ in pages.files],
            **({} if pages.transform == AS_IT_IS else {TRANSFORM: [pages.transform]}),
        },
        "scenario": fixed,
        "matrix": matrix,
    }
    return [numbered[number] for number in same], tomli_w.dumps(document)


def _axes(cells: list[dict[str, object]]) -> dict[str, list[dict[str, object]]]:
    """Axes whose product is the given cells, which differ: a key of its own where possible."""
    axes = {}
    rest = cells
    common = set.intersection(*(set(cell) for cell in cells)) if cells else set()
    for key in dict.fromkeys(key for cell in cells for key in cell):
        others = _distinct({k: v for k, v in cell.items() if k != key} for cell in rest)
        if key not in common or any(cell[key] == "auto" for cell in rest):
            continue
        values = _distinct({key: cell[key]} for cell in rest)
        if len(values) * len(others) == len(rest):
            axes[key] = values
            rest = others
    if rest and rest != [{}]:
        axes[VARIANT] = rest
    return axes


def _distinct(cells: Any) -> list[dict[str, object]]:
    return [dict(pairs) for pairs in dict.fromkeys(tuple(cell.items()) for cell in cells)]


def _label(cell: Cell) -> str:
    return ", ".join(f"{key}={value}" for key, value in cell.items()) or "default"


def mean_by_page_s(loads: Sequence[CellLoad], runs: int) -> list[float]:
    """Mean load time of each page in seconds; loads are in order of pages, then runs."""
    if isinstance(loads, CellLoads):
        return [float(mean) for mean in loads.mean_by_page_s]
    times = [load.plt_ms / 1000 for load in loads if load.plt_ms is not None]
    return [sum(times[i : i + runs]) / runs for i in range(0, len(times), runs)]
