"""What a sweep costs beside its loads.

usage: benches/sweep.py share|large|report [FOLDER]

share    100,000 loads of the example pages: part of the processor time that the engine has
large    a plan of 21 million rows made, stored and queried, with figures drawn instead of
         simulated: time and peak memory of each step
report   tables over one million rows, drawn likewise: time and peak memory
"""

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from loadpath import _core
from loadpath.analysis.cells import cell_table, comparison_table, stored_specification
from loadpath.analysis.query import open_tables, run_query
from loadpath.experiments.sweep.execution import SweepResult, sweep
from loadpath.experiments.sweep.specification import parse_specification
from loadpath.experiments.sweep.store import FIGURES, find_plan

MATRIX = """
pages = ["example:*"]
[matrix]
network.rate_bps = ["0.5mbit", "1mbit", "2.5mbit", "5mbit", "10mbit", "25mbit", "50mbit",
  "100mbit", "500mbit", "1gbit"]
network.rtt_ms = [8, 40, 100, 200, 400]
http.version = ["h1", "h2"]
[compare.versions]
baseline = { http.version = "h1" }
"""
"""24 pages over 100 scenarios."""

def run(store: Path, runs: int) -> SweepResult:
    """The matrix with so many runs."""
    text = f"runs = {runs}\n{MATRIX}"
    spec = parse_specification(text, origin="benchmark", folder=Path(), name="benchmark")
    return sweep(spec, store=store)


def drawn(pages: Sequence[Any], scenarios: Sequence[Any], jobs: Any, **_: Any) -> Any:
    """In place of the engine: figures without loads."""
    rows = len(jobs[2]) // 8
    chance = np.random.default_rng(rows)

    def column(name: str) -> tuple[str, str, bytes]:
        if name.endswith("_ms"):
            return name, "g", chance.gamma(2.0, 500.0, rows).tobytes()
        return name, "l", chance.integers(0, 5000, rows).tobytes()

    return [column(name) for name, _ in FIGURES if name != "failure"], []


def step(name: str, do: Callable[[], object]) -> None:
    """Run in a process of its own, so that peak memory is the step's."""

    def measured() -> None:
        start = time.perf_counter()
        result = do()
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{name}: {seconds:.1f} s, peak {peak:.0f} MiB; {result}", flush=True)

    process = multiprocessing.get_context("fork").Process(target=measured)
    process.start()
    process.join()
    if process.exitcode != 0:
        sys.exit(1)


def share(store: Path) -> None:
    """Part of the processor time of a sweep that the engine has."""
    inside = 0.0
    engine = _core.summarise_columns

    def timed(*arguments: Any, **options: Any) -> Any:
        nonlocal inside
        start = time.process_time()
        result = engine(*arguments, **options)
        inside += time.process_time() - start
        return result

    with mock.patch.object(_core, "summarise_columns", timed):
        start = time.process_time()
        result = run(store, 42)
        total = time.process_time() - start
    print(
        f"{result.computed} loads: {100 * inside / total:.1f} % of the processor time in the engine"
    )


def large(store: Path) -> None:
    """24 pages, 100 scenarios, 8750 runs."""
    with mock.patch.object(_core, "summarise_columns", drawn):
        step("plan and store", lambda: run(store, 8750).computed)
    tables(store)


def report(store: Path) -> None:
    """24 pages, 100 scenarios, 417 runs."""
    with mock.patch.object(_core, "summarise_columns", drawn):
        step("plan and store", lambda: run(store, 417).computed)
    tables(store)


def tables(store: Path) -> None:
    """What is asked of a store."""
    folder = find_plan(store)
    comparison = stored_specification(folder).comparisons[0]

    def query() -> object:
        with open_tables([folder]) as connection:
            sql = "SELECT network.rtt_ms, median(plt_ms) FROM loads GROUP BY ALL"
            return len(run_query(connection, sql).fetchall())

    def planned() -> object:
        with open_tables([folder]) as connection:
            return run_query(connection, "SELECT count(*) FROM planned").fetchone()

    step("rows of the plan counted", planned)
    step("query", query)
    step("table of cells", lambda: len(cell_table(folder, folder.manifest.axes, "plt_ms")))
    step("table of comparisons", lambda: len(comparison_table(folder, comparison)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        {"share": share, "large": large, "report": report}[sys.argv[1]](Path(folder))
