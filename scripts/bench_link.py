"""How exact a link in real time is on this machine: RTT, rate and lateness over nine links.

Writes FOLDER/link.md and FOLDER/link.csv. SECONDS is the length of each flood.

usage: scripts/bench_link.py FOLDER [SECONDS]
"""

import csv
import io
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from loadpath.cli.console import print_note, print_table
from loadpath.output import write_atomic
from loadpath.testbed import Percentiles, open_link
from loadpath.testbed.probe import flood, ping

RATES_MBPS = (1, 10, 100)
RTTS_MS = (8, 40, 200)
PINGS = 50
PING_INTERVAL_S = 0.05
SECONDS = 10.0
OFFERED = 1.5
"""A flood is this much faster than the link: its backlog bridges what keeps the sender waiting."""
ECHO_PACKET_BYTES = 84
RTT_AIM_MS, RATE_AIM_PERCENT = 0.3, 1.0
UNLIMITED = {"network.queue": "unlimited", "network.up_queue": "unlimited"}
"""No drops: the last packet of a flood then leaves when all bytes have passed."""

COLUMNS = (
    "rate_mbps",
    "rtt_ms",
    "median_rtt_ms",
    "rtt_error_ms",
    "flood_mbps",
    "rate_error_percent",
    "p50_late_ms",
    "p99_late_ms",
    "p99_9_late_ms",
    "max_late_ms",
    "cpu_percent",
    "verdict",
)
HEADINGS = (
    "Mbit/s",
    "RTT, ms",
    "median RTT, ms",
    "error, ms",
    "flood, Mbit/s",
    "error, %",
    "late p50, ms",
    "p99",
    "p99.9",
    "max",
    "processor, %",
    "verdict",
)
INTRODUCTION = """# Links in real time

Written by `make bench-link`; the same numbers are in [link.csv](link.csv). All are observed.

* RTT: the median of {pings} echo requests on an idle link. Its error is what is left when the
  serialisation of {echo} bytes each way is taken off.
* Flood: 1500-byte packets towards the client for {seconds:g} s, by the kernel's stamps of their
  arrival.
* Lateness: how much later than its ideal stamp a packet towards the client was handed over, echo
  requests and flood together.
* Processor: what the emulator used of one.

Aims: the median RTT within {rtt_aim} ms and the rate within {rate_aim} % of what was asked; met by
{met} of {links} links. Queue and losses are exact: `pytest tests/test_link_tap.py`. There is no
comparison with Mahimahi's mm-link, which is not in Debian 12.

Measured on {machine}, {date}, {priority} real-time priority; load average {load:.2f} before and
{after:.2f} after; the machine below this virtual one took {stolen:.0f} ms of processor time
meanwhile.

"""


def main() -> None:
    """Measure, print, write."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else SECONDS
    load, stolen, real_time = os.getloadavg()[0], 0.0, True
    rows: list[list[str]] = []
    for rate_mbps in RATES_MBPS:
        for rtt_ms in RTTS_MS:
            print_note(f"{rate_mbps} Mbit/s, {rtt_ms} ms")
            row, stolen_ms, prioritised = _cell(rate_mbps, rtt_ms, seconds)
            rows.append(row)
            stolen += stolen_ms
            real_time &= prioritised
    introduction = INTRODUCTION.format(
        pings=PINGS,
        echo=ECHO_PACKET_BYTES,
        seconds=seconds,
        machine=f"{os.cpu_count()} processors ({_processor()}), Linux {platform.release()}",
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        rtt_aim=RTT_AIM_MS,
        rate_aim=RATE_AIM_PERCENT,
        met=sum(_meets(row) for row in rows),
        links=len(rows),
        load=load,
        after=os.getloadavg()[0],
        priority="with" if real_time else "without",
        stolen=stolen,
    )
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerows([COLUMNS, *rows])
    write_atomic(folder / "link.csv", table.getvalue(), force=True)
    write_atomic(folder / "link.md", introduction + _markdown(rows), force=True)
    print_table("", list(COLUMNS), rows, text=0)


def _cell(rate_mbps: int, rtt_ms: int, seconds: float) -> tuple[list[str], float, bool]:
    rate_bps = 1e6 * rate_mbps
    with open_link(rate=f"{rate_mbps}mbit", rtt_ms=rtt_ms, set=UNLIMITED) as link:
        rtt = median(ping(link, count=PINGS, interval_s=PING_INTERVAL_S))
        packets = int(seconds * rate_bps / 12_000)
        rate = flood(link, "client", rate_bps=OFFERED * rate_bps, packets=packets).rate_bps
    report = link.close()
    late: Percentiles = report.down.lateness
    serialisation_ms = 2 * ECHO_PACKET_BYTES * 8 / rate_bps * 1e3
    row = [
        str(rate_mbps),
        str(rtt_ms),
        f"{rtt:.3f}",
        f"{rtt - serialisation_ms - rtt_ms:.3f}",
        f"{rate / 1e6:.4f}",
        f"{100 * (rate / rate_bps - 1):.3f}",
        f"{late.p50_ms:.3f}",
        f"{late.p99_ms:.3f}",
        f"{late.p99_9_ms:.3f}",
        f"{late.max_ms:.3f}",
        f"{100 * report.cpu_ms / report.duration_ms:.0f}",
        "on time" if report.verdict.ok else "late",
    ]
    return row, report.stolen_ms, report.real_time


def _meets(row: list[str]) -> bool:
    """Whether a link is what was asked for."""
    values = dict(zip(COLUMNS, row, strict=True))
    rtt_ms, rate_percent = float(values["rtt_error_ms"]), float(values["rate_error_percent"])
    return abs(rtt_ms) <= RTT_AIM_MS and abs(rate_percent) <= RATE_AIM_PERCENT


def _markdown(rows: list[list[str]]) -> str:
    lines = [HEADINGS, ["---:"] * (len(COLUMNS) - 1) + ["---"], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    main()
