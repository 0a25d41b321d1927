"""TCP alone: transfers by the kernel's Reno and CUBIC over links with exact losses, against the
simulation of the same transfers: `make study-tcp`.

Finished transfers stay in the work folder, so that an interrupted study goes on where it was;
simulations are made anew each time. Times are those of the links' taps, from the SYN's entering the
link to the leaving of the packet that completes the response; what the two programs take to send
the request and to answer it is taken off. Writes tcp-alone.csv, tcp-alone.md and a time/sequence
overlay for each controller.

usage: studies/tcp_alone.py WORK OUTPUT; --help lists the options
"""

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from statistics import fmean, median
from typing import Annotated

import msgspec
import typer

from loadpath.analysis.svg import Canvas, Scale
from loadpath.cli.console import print_error
from loadpath.errors import LoadpathError
from loadpath.output import write_atomic
from loadpath.testbed import LinkSettings
from tables import csv_text, markdown_table
from transfers import (
    CONTROLLERS,
    SIZES,
    Case,
    Compared,
    Run,
    Simulated,
    compared,
    kernel,
    middle,
    size_text,
)

AIM = 0.05
"""The median difference is to be at most that."""
OVERLAY_BYTES = 1_000_000

UNLIMITED = {"network.queue": "unlimited", "network.up_queue": "unlimited"}


def _link(rate: str, rtt_ms: int, queue: Mapping[str, object] = UNLIMITED) -> LinkSettings:
    """A link whose queues drop nothing, unless it is said otherwise."""
    return LinkSettings(rate=rate, rtt_ms=rtt_ms, set=queue)


CASES = (
    Case(name="10 Mbit/s, 40 ms", settings=_link("10mbit", 40)),
    Case(name="1.6 Mbit/s, 150 ms", settings=_link("1.6mbit", 150)),
    Case(
        name="7 Mbit/s, 50 ms, queue of 45 kB",
        settings=_link(
            "7mbit",
            50,
            {"network.queue_unit": "bytes", "network.queue_limit": 45_000},
        ),
    ),
    Case(
        name="10 Mbit/s, 40 ms, queue of 50 packets",
        settings=_link("10mbit", 40, {"network.queue_limit": 50}),
    ),
    Case(
        name="10 Mbit/s, 40 ms, one early",
        settings=_link("10mbit", 40),
        drop_down=lambda _: (4,),
    ),
    Case(
        name="10 Mbit/s, 40 ms, burst of 4",
        settings=_link("10mbit", 40),
        drop_down=lambda _: (20, 21, 22, 23),
    ),
    Case(
        name="10 Mbit/s, 40 ms, the last",
        settings=_link("10mbit", 40),
        drop_down=lambda segments: (segments - 1,),
    ),
    Case(
        name="10 Mbit/s, 40 ms, every 50th",
        settings=_link("10mbit", 40),
        drop_down=lambda segments: range(30, segments, 50),
    ),
    Case(
        name="10 Mbit/s, 40 ms, the request",
        settings=_link("10mbit", 40),
        drop_up=(0,),
    ),
    Case(
        name="1 Mbit/s, 8 ms, one early, one late",
        settings=_link("1mbit", 8),
        drop_down=lambda _: (6, 60),
    ),
    Case(
        name="10 Mbit/s, 200 ms, 12th and 60th",
        settings=_link("10mbit", 200),
        drop_down=lambda _: (11, 59),
    ),
    Case(
        name="100 Mbit/s, 40 ms, the 100th to 102nd",
        settings=_link("100mbit", 40),
        drop_down=lambda _: (99, 100, 101),
    ),
)


RANDOM = ((30_000, 0.05), (300_000, 0.02))
"""Sizes of transfers whose packets are lost at random, and the part of them that is."""
PATTERNS = 40
"""Of random losses, each transferred once."""


def random_case(number: int, size: int, loss: float) -> Case:
    """A pattern of random losses: the same packets are lost in both worlds, by their ordinals."""

    def drawn(segments: int) -> list[int]:
        draw = Random(f"{number}, {size} bytes, {loss}")
        # Retransmissions are counted, too.
        return [n for n in range(3 * segments) if draw.random() < loss]

    return Case(
        name=f"10 Mbit/s, 40 ms, {loss:.0%} at random, {number}",
        settings=_link("10mbit", 40),
        drop_down=drawn,
    )


class Cell(msgspec.Struct, kw_only=True):
    """A link, a controller, a size."""

    link: str
    congestion: str
    size: int
    measured_ms: float | None
    runs: int
    rejected: int
    spread_ms: float
    simulated_ms: float | None
    waited_ms: float
    """Of the typical run; see `Run`."""
    kernel_retransmissions: int | None
    simulated_retransmissions: int
    problem: str

    @property
    def error(self) -> float | None:
        """Of the simulated against the measured time, as a fraction."""
        if self.measured_ms is None or self.simulated_ms is None:
            return None
        return self.simulated_ms / self.measured_ms - 1


def examine(found: Compared) -> Cell:
    """Compare."""
    times = [run.wire_ms for run in found.runs if run.on_time]
    typical = middle(found.runs)
    used = {run.congestion for run in found.runs} - {found.congestion}
    return Cell(
        link=found.case.name,
        congestion=found.congestion,
        size=found.size,
        measured_ms=median(times) if times else None,
        runs=len(times),
        rejected=len(found.runs) - len(times),
        spread_ms=max(times) - min(times) if times else 0.0,
        simulated_ms=found.simulated.wire_ms,
        waited_ms=typical.waited_ms if typical else 0.0,
        kernel_retransmissions=typical.retransmissions if typical else None,
        simulated_retransmissions=found.simulated.retransmissions,
        problem=f"the kernel used {', '.join(sorted(used))}" if used else found.simulated.problem,
    )


COLUMNS = (
    "link",
    "congestion",
    "bytes",
    "runs",
    "rejected",
    "measured_ms",
    "spread_ms",
    "waited_ms",
    "simulated_ms",
    "error",
    "kernel_retransmissions",
    "simulated_retransmissions",
    "problem",
)


def row(cell: Cell) -> list[str]:
    """A row of tcp-alone.csv."""
    return [
        cell.link,
        cell.congestion,
        str(cell.size),
        str(cell.runs),
        str(cell.rejected),
        "" if cell.measured_ms is None else f"{cell.measured_ms:.3f}",
        f"{cell.spread_ms:.3f}",
        f"{cell.waited_ms:.3f}",
        "" if cell.simulated_ms is None else f"{cell.simulated_ms:.3f}",
        "" if cell.error is None else f"{cell.error:+.4f}",
        "" if cell.kernel_retransmissions is None else str(cell.kernel_retransmissions),
        str(cell.simulated_retransmissions),
        cell.problem,
    ]


INTRODUCTION = """# TCP alone

Written by `make study-tcp`; all numbers are in [tcp-alone.csv](tcp-alone.csv).

One request of 400 bytes and one response over a new connection, by the kernel's Reno and CUBIC
(Linux {kernel}), through a link in real time: **emulated**. The same transfer, link and losses in
simulation, profile `linux`: **simulated**. Both times are from the SYN's entering the link to the
leaving of the packet that completes the response; what the two programs took to send the request
and to answer it is taken off. Losses are exact: packets of a flow are counted where they enter the
link, those with data, from the first on, so that a lost packet is the same one in both worlds until
their senders do different things. Queues have no limit unless one is named.

The difference is that of the simulated against the median measured time; the aim is a median of its
size within {aim:.0%}. Both programs are ordinary ones; `waited_ms` is how long they were ready to
run and got no processor while the transfer went on, which should be little.

Time/sequence overlays of 1 MB: [Reno](tcp-alone-reno.svg), [CUBIC](tcp-alone-cubic.svg).

Measured on {machine}, {date}; load average {load:.2f} at the end.

"""


def summary(cells: Sequence[Cell]) -> list[list[str]]:
    """Medians by controller and size."""
    rows = []
    for congestion in CONTROLLERS:
        for size in (None, *SIZES):
            errors = _errors(cells, congestion, size)
            if errors:
                name = "all" if size is None else size_text(size)
                number, middle_size, _, *rest = _errors_row(errors)
                rows.append([congestion, name, number, middle_size, *rest])
    return rows


def _errors(cells: Sequence[Cell], congestion: str, size: int | None) -> list[float]:
    return [
        cell.error
        for cell in cells
        if cell.congestion == congestion and size in (None, cell.size) and cell.error is not None
    ]


def _errors_row(errors: Sequence[float]) -> list[str]:
    """Number, median and mean of their sizes, signed median, largest, number within the aim."""
    sizes = [abs(error) for error in errors]
    return [
        str(len(errors)),
        f"{median(sizes):.1%}",
        f"{fmean(sizes):.1%}",
        f"{median(errors):+.1%}",
        f"{max(sizes):.1%}",
        str(sum(error <= AIM for error in sizes)),
    ]


SUMMARY_HEADINGS = (
    "controller",
    "size",
    "cells",
    "median difference",
    "median, signed",
    "largest",
    f"within {AIM:.0%}",
)


def random_losses(cells: Sequence[Cell]) -> list[list[str]]:
    """A row a controller and size."""
    return [
        [congestion, size_text(size), f"{loss:.0%}", *_errors_row(errors)]
        for congestion in CONTROLLERS
        for size, loss in RANDOM
        if (errors := _errors(cells, congestion, size))
    ]


RANDOM_HEADINGS = (
    "controller",
    "size",
    "lost",
    "transfers",
    "median difference",
    "mean",
    "median, signed",
    "largest",
    f"within {AIM:.0%}",
)

RANDOM_TEXT = f"""
## Random losses

Over 10 Mbit/s with 40 ms, {PATTERNS} patterns of each kind, in which every packet with data towards
the client is lost with the same probability; the pattern of a transfer is the same in both worlds.

"""


def by_link(cells: Sequence[Cell], congestion: str, sizes: Sequence[int]) -> list[list[str]]:
    """A row a link: measured → simulated (difference) by size."""
    rows = []
    for case in CASES:
        texts = [case.name]
        for size in sizes:
            found = [
                c
                for c in cells
                if (c.link, c.congestion, c.size) == (case.name, congestion, size)
                and c.error is not None
            ]
            texts.append(
                f"{found[0].measured_ms:.0f} → {found[0].simulated_ms:.0f} ({found[0].error:+.1%})"
                if found
                else ""
            )
        if any(texts[1:]):
            rows.append(texts)
    return rows


def overlay(congestion: str, pairs: Sequence[tuple[str, Run, Simulated]]) -> str:
    """What was sent when, measured and simulated, a panel a link."""
    columns, width, height, gap = 2, 560, 250, 80
    rows = -(-len(pairs) // columns)
    canvas = Canvas(
        columns * (width + gap) + gap,
        70 + rows * (height + gap),
        f"1 MB over TCP {congestion}, measured and simulated",
    )
    canvas.text(20, 24, f"1 MB by {congestion}: bytes sent (MB) over time", size=15)
    canvas.legend(
        20,
        46,
        [("kernel, emulated", "#0072B2"), ("simulated", "#D55E00"), ("lost", "#000000")],
    )
    for index, (name, run, sim) in enumerate(pairs):
        left = gap + (index % columns) * (width + gap)
        top = 80 + index // columns * (height + gap)
        latest = max(at for at, _ in [*run.sent, *sim.sent])
        across = Scale(0, latest, left, left + width)
        up = Scale(0, OVERLAY_BYTES / 1e6, top + height - 20, top)
        canvas.text(left, top - 6, name, size=12)
        canvas.value_axis(up, left, left + width)
        canvas.time_axis(across, top, top + height - 20)
        for points, colour, shift in ((run.sent, "#0072B2", 0.0), (sim.sent, "#D55E00", 1.2)):
            marks = (f"M{across(at):.1f} {up(byte / 1e6) + shift:.1f}h1.2" for at, byte in points)
            canvas.path("".join(marks), colour, width=1.2)
        for points in (run.lost, sim.lost):
            marks = (
                f"M{across(at) - 3:.1f} {up(byte / 1e6) - 3:.1f}l6 6m0 -6l-6 6"
                for at, byte in points
            )
            canvas.path("".join(marks), "#000000", width=1)
    return canvas.to_string()


def study(
    work: Annotated[Path, typer.Argument(help="Folder of the transfers.")],
    output: Annotated[Path, typer.Argument(help="Folder for tables and figures.")],
    runs: Annotated[int, typer.Option("-n", min=1, help="Transfers of each kind.")] = 3,
    only: Annotated[str, typer.Option(help="Links whose name has this text.")] = "",
    largest: Annotated[int, typer.Option(help="Largest transfer, bytes.")] = SIZES[-1],
    only_simulate: Annotated[bool, typer.Option(help="Use the transfers that are there.")] = False,
) -> None:
    """Transfer and simulate; write the tables."""
    work.mkdir(parents=True, exist_ok=True)
    output.mkdir(parents=True, exist_ok=True)
    sizes = [size for size in SIZES if size <= largest]
    cells: list[Cell] = []
    at_random: list[Cell] = []
    for congestion in CONTROLLERS:
        overlays = []
        count = 0 if only_simulate else runs
        for found in compared(CASES, congestion, sizes, count, work, only):
            cells.append(examine(found))
            typical = middle(found.runs)
            if found.size == OVERLAY_BYTES and typical is not None:
                overlays.append((found.case.name, typical, found.simulated))
        for size, loss in RANDOM:
            folder = work / f"random-{size}"
            folder.mkdir(exist_ok=True)
            cases = [random_case(number, size, loss) for number in range(PATTERNS)]
            found_at_random = compared(cases, congestion, [size], min(1, count), folder, only)
            at_random += map(examine, found_at_random)
        figure = overlay(congestion, overlays)
        write_atomic(output / f"tcp-alone-{congestion}.svg", figure, force=True)
    text = INTRODUCTION.format(
        kernel=kernel(),
        aim=AIM,
        machine=f"{os.cpu_count()} processors, Linux {kernel()}",
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        load=os.getloadavg()[0],
    )
    text += markdown_table(SUMMARY_HEADINGS, summary(cells), words=("controller",))
    rows_at_random = random_losses(at_random)
    if rows_at_random:
        text += RANDOM_TEXT + markdown_table(RANDOM_HEADINGS, rows_at_random, words=("controller",))
    headings = ("link", *map(size_text, sizes))
    for congestion in CONTROLLERS:
        text += f"\n## {congestion}: measured → simulated, ms\n\n"
        text += markdown_table(headings, by_link(cells, congestion, sizes), words=("link",))
    write_atomic(
        output / "tcp-alone.csv",
        csv_text(COLUMNS, [row(c) for c in [*cells, *at_random]]),
        force=True,
    )
    write_atomic(output / "tcp-alone.md", text, force=True)
    print(text)


if __name__ == "__main__":
    try:
        typer.run(study)
    except LoadpathError as error:
        print_error(error)
        sys.exit(1)
