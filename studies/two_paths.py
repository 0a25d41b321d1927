"""Two paths: transfers by the kernel's MPTCP over two links against the simulation of the same
transfers: `make study-mptcp`.

Finished transfers stay in the work folder, so that an interrupted study goes on where it was. Times
are those of the links' taps, as in `tcp_alone.py`. Writes two-paths.csv and two-paths.md.

usage: studies/two_paths.py WORK OUTPUT; --help lists the options
"""

import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Annotated

import msgspec
import typer

from loadpath.cli.console import print_error
from loadpath.errors import LoadpathError
from loadpath.output import write_atomic
from loadpath.testbed import LinkSettings
from tables import csv_text, markdown_table
from transfers import CONTROLLERS, Case, Compared, compared, kernel, middle, size_text

SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)


def _paths(rate: str, rtt_ms: int, rate2: str, rtt2_ms: int) -> LinkSettings:
    keys: dict[str, object] = {
        "multipath.paths": "independent",
        "path2.rate_bps": rate2,
        "path2.rtt_ms": rtt2_ms,
    }
    return LinkSettings(rate=rate, rtt_ms=rtt_ms, set=keys)


CASES = (
    Case(name="one path: 10 Mbit/s, 40 ms", settings=LinkSettings(rate="10mbit", rtt_ms=40)),
    Case(name="equal: 10 Mbit/s, 40 ms", settings=_paths("10mbit", 40, "10mbit", 40)),
    Case(name="equal: 2 Mbit/s, 100 ms", settings=_paths("2mbit", 100, "2mbit", 100)),
    Case(name="RTT: 10 Mbit/s, 20 and 80 ms", settings=_paths("10mbit", 20, "10mbit", 80)),
    Case(name="RTT: 10 Mbit/s, 40 and 200 ms", settings=_paths("10mbit", 40, "10mbit", 200)),
    Case(
        name="RTT, slow first: 10 Mbit/s, 80 and 20 ms", settings=_paths("10mbit", 80, "10mbit", 20)
    ),
    Case(name="rate: 20 and 5 Mbit/s, 40 ms", settings=_paths("20mbit", 40, "5mbit", 40)),
    Case(name="rate: 10 and 1 Mbit/s, 40 ms", settings=_paths("10mbit", 40, "1mbit", 40)),
    Case(
        name="rate, slow first: 2 and 10 Mbit/s, 40 ms", settings=_paths("2mbit", 40, "10mbit", 40)
    ),
)


class Cell(msgspec.Struct, kw_only=True):
    """Two paths, a controller, a size."""

    paths: str
    congestion: str
    size: int
    measured_ms: float | None
    least_ms: float | None
    most_ms: float | None
    runs: int
    rejected: int
    simulated_ms: float | None
    kernel_second: float | None
    """Part of the bytes that came over the second path."""
    simulated_second: float
    problem: str

    @property
    def error(self) -> float | None:
        """Of the simulated against the measured time, as a fraction."""
        if self.measured_ms is None or self.simulated_ms is None:
            return None
        return self.simulated_ms / self.measured_ms - 1

    @property
    def inside(self) -> bool:
        """The simulated time is none that the kernel did not have."""
        return (
            self.simulated_ms is not None
            and self.least_ms is not None
            and self.most_ms is not None
            and self.least_ms <= self.simulated_ms <= self.most_ms
        )


def examine(found: Compared) -> Cell:
    """Compare."""
    good = [run for run in found.runs if run.on_time]
    times = [run.wire_ms for run in good]
    typical, sim = middle(good), found.simulated
    used = {run.congestion for run in good} - {found.congestion}
    return Cell(
        paths=found.case.name,
        congestion=found.congestion,
        size=found.size,
        measured_ms=median(times) if times else None,
        least_ms=min(times, default=None),
        most_ms=max(times, default=None),
        runs=len(good),
        rejected=len(found.runs) - len(good),
        simulated_ms=sim.wire_ms,
        kernel_second=_second(typical.path_bytes) if typical else None,
        simulated_second=_second(sim.path_bytes),
        problem=f"the kernel used {', '.join(sorted(used))}" if used else sim.problem,
    )


def _second(path_bytes: Sequence[int]) -> float:
    return path_bytes[1] / max(1, sum(path_bytes))


COLUMNS = (
    "paths",
    "congestion",
    "bytes",
    "runs",
    "rejected",
    "measured_ms",
    "least_ms",
    "most_ms",
    "simulated_ms",
    "error",
    "kernel_second_path",
    "simulated_second_path",
    "problem",
)


def row(cell: Cell) -> list[str]:
    """A row of two-paths.csv."""

    def ms(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    return [
        cell.paths,
        cell.congestion,
        str(cell.size),
        str(cell.runs),
        str(cell.rejected),
        ms(cell.measured_ms),
        ms(cell.least_ms),
        ms(cell.most_ms),
        ms(cell.simulated_ms),
        "" if cell.error is None else f"{cell.error:+.4f}",
        ms(cell.kernel_second),
        ms(cell.simulated_second),
        cell.problem,
    ]


INTRODUCTION = """# Two paths

Written by `make study-mptcp`; all numbers are in [two-paths.csv](two-paths.csv).

One request of 400 bytes and one response over a new MPTCP connection of the kernel (Linux
{kernel}, net/mptcp, its default scheduler, one subflow a path, in-kernel path manager) over two
links in real time: **emulated**. The same in simulation, profile `linux` (lowest RTT first, no
coupling): **simulated**. Times are from the SYN's entering the link to the leaving of the packet
that completes the response; what the two programs took is taken off. Queues are those of profile
`linux`.

In each cell: median measured → simulated time in ms, the difference, and the part of the bytes that
came over the second path, measured and simulated.

Measured on {machine}, {date}; load average {load:.2f} at the end.

"""


def by_paths(cells: Sequence[Cell], congestion: str, sizes: Sequence[int]) -> list[list[str]]:
    """A row a pair of paths."""
    rows = []
    for case in CASES:
        of_case = [c for c in cells if (c.paths, c.congestion) == (case.name, congestion)]
        by_size = {c.size: c for c in of_case if c.error is not None}
        if by_size:
            rows.append([case.name, *(_text(by_size.get(size)) for size in sizes)])
    return rows


def _text(cell: Cell | None) -> str:
    if cell is None or cell.error is None or cell.kernel_second is None:
        return ""
    return (
        f"{cell.measured_ms:.0f} → {cell.simulated_ms:.0f} ({cell.error:+.1%}); "
        f"{cell.kernel_second:.0%}, {cell.simulated_second:.0%}"
    )


def summary(cells: Sequence[Cell]) -> list[list[str]]:
    """Medians by controller and kind of paths."""
    rows = []
    kinds = list(dict.fromkeys(case.name.split(":")[0] for case in CASES))
    for congestion in CONTROLLERS:
        for kind in ("all", *kinds):
            chosen = [
                c
                for c in cells
                if c.congestion == congestion
                and c.error is not None
                and kind in ("all", c.paths.split(":")[0])
            ]
            errors = [c.error for c in chosen if c.error is not None]
            if errors:
                rows.append(
                    [
                        congestion,
                        kind,
                        str(len(errors)),
                        f"{median(map(abs, errors)):.1%}",
                        f"{median(errors):+.1%}",
                        f"{max(map(abs, errors)):.1%}",
                        str(sum(c.inside for c in chosen)),
                    ]
                )
    return rows


SUMMARY_HEADINGS = (
    "controller",
    "paths",
    "cells",
    "median difference",
    "median, signed",
    "largest",
    "within the measured range",
)


def study(
    work: Annotated[Path, typer.Argument(help="Folder of the transfers.")],
    output: Annotated[Path, typer.Argument(help="Folder for the tables.")],
    runs: Annotated[int, typer.Option("-n", min=1, help="Transfers of each kind.")] = 5,
    only: Annotated[str, typer.Option(help="Paths whose name has this text.")] = "",
    largest: Annotated[int, typer.Option(help="Largest transfer, bytes.")] = SIZES[-1],
    only_simulate: Annotated[bool, typer.Option(help="Use the transfers that are there.")] = False,
) -> None:
    """Transfer and simulate; write the tables."""
    work.mkdir(parents=True, exist_ok=True)
    output.mkdir(parents=True, exist_ok=True)
    sizes = [size for size in SIZES if size <= largest]
    cells: list[Cell] = []
    for congestion in CONTROLLERS:
        count = 0 if only_simulate else runs
        cells += map(examine, compared(CASES, congestion, sizes, count, work, only))
    text = INTRODUCTION.format(
        kernel=kernel(),
        machine=f"{os.cpu_count()} processors, Linux {kernel()}",
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        load=os.getloadavg()[0],
    )
    text += markdown_table(SUMMARY_HEADINGS, summary(cells), words=("controller", "paths"))
    for congestion in CONTROLLERS:
        text += f"\n## {congestion}\n\n"
        headings = ("paths", *map(size_text, sizes))
        text += markdown_table(headings, by_paths(cells, congestion, sizes), words=("paths",))
    write_atomic(output / "two-paths.csv", csv_text(COLUMNS, [row(c) for c in cells]), force=True)
    write_atomic(output / "two-paths.md", text, force=True)
    print(text)


if __name__ == "__main__":
    try:
        typer.run(study)
    except LoadpathError as error:
        print_error(error)
        sys.exit(1)
