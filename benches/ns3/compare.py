#!/usr/bin/env python3
"""Runs the same load in ns-3 and in our simulator, checks that it is the same, and prints how they compare.

    compare.py --ns3 NAME=STAR ...              nanoseconds of wall time per delivered data packet, and their ratio
    compare.py --ns3 NAME=STAR ... --grid       load times over rates and round-trip times, without and with losses

benches/ns3/run.sh builds what this needs and calls it. --ns3-only leaves our simulator out.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from page import MSS_BYTES, Load, write

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

# Our program, run as `loadpath-bench page PAGE.json --scenario FILE.toml --loads K --json`. Like star.cc it prints one JSON
# object with load_time_ms, data_packets (delivered to the client, repeated ones too), drops, retransmissions, timeouts
# (of one load); loads and wall_ns (of all K loads, without process start and reading files); peak_memory_bytes.
OURS = "loadpath-bench"

BUILDS = {
    "debian": "Debian's libns3-dev: release profile for any x86-64, logging compiled in",
    "optimised": "same version built here: ns-3's profile `optimized`, -O3 for this machine, no logging, no assertions",
    "ours": "loadpath-bench, cargo's release profile",
}

KNOWN_DIFFERENCES = """\
Known differences (docs/validation/ns3.md):
  SYN and SYN-ACK are 58 bytes in ns-3 (window scale, SACK permitted), 54 in ours;
  ns-3 transmits 1 ns after a write, writes resource i 2i ns after the document, and rounds each serialisation time;
  ns-3's timestamps count milliseconds, ours nanoseconds;
  with losses: ns-3 takes no RTT sample from ACKs of segments sent again (more needless timeouts at low rates), and
  halves the flight without its lost and acknowledged segments (smaller windows after losses)."""

# Without losses no timer may fire either: queues of up to 25 s make 200 ms, and even 1 s, spurious.
CLEAN = Load(min_rto_ms=60_000.0)
SPEED_CELLS = [(10_000_000, 40.0), (100_000_000, 40.0)]
GRID_RATES_BPS = [1_000_000, 2_500_000, 10_000_000, 100_000_000, 1_000_000_000]
GRID_RTTS_MS = [8.0, 40.0, 100.0, 200.0]
LOSSY_QUEUE_PACKETS = 100
# The document grows by one segment from variant to variant: with losses a single load says little.
LOSSY_VARIANTS = 10
# Load times closer than this are called equal.
TOLERANCE = 0.005


class Failure(Exception):
    """Something for people to read."""


def run(command: list[str]) -> dict:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr.strip()}")
    return json.loads(done.stdout)


@dataclasses.dataclass
class Ns3:
    """star.cc, built against one build of ns-3."""

    name: str
    binary: str
    timed_loads: int = 10

    def run(self, load: Load, loads: int) -> dict:
        arguments = [f"--{field}={value:d}" if isinstance(value, bool) else f"--{field}={value}"
                     for field, value in dataclasses.asdict(load).items()]
        return run([self.binary, *arguments, f"--loads={loads}"])


@dataclasses.dataclass
class Ours:
    """Our simulator."""

    binary: str
    folder: pathlib.Path
    name: str = "ours"
    timed_loads: int = 500

    def run(self, load: Load, loads: int) -> dict:
        page, scenario = write(self.folder, load)
        # The program needs a load to report on.
        return run([self.binary, "page", str(page), "--scenario", str(scenario), "--loads", str(max(loads, 1)), "--json"])


def build_ours() -> str:
    """Builds our program and returns its path."""
    command = ["cargo", "build", "--release", "--bin", OURS]
    try:
        done = subprocess.run(command, cwd=REPOSITORY)
    except FileNotFoundError:
        raise Failure("cargo: not found; hint: install Rust, or --ns3-only") from None
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)}: failed; hint: --ns3-only compares the builds of ns-3")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    return str(REPOSITORY / target / "release" / OURS)


def cell_name(rate_bps: int, rtt_ms: float) -> str:
    return f"{rate_bps / 1e6:g} Mbit/s, {rtt_ms:g} ms"


def percent(ours: float, theirs: float) -> float:
    return 100 * (ours / theirs - 1)


def check_same_load(cell: str, results: dict[str, dict]) -> bool:
    """Whether all programs simulated the same load; prints what differs."""
    reference_name, reference = next(iter(results.items()))
    if reference["drops"] or reference["retransmissions"]:
        raise Failure(f"{cell}: ns-3 lost packets in a load that is meant to have no losses: {reference}")
    same = True
    for name, result in results.items():
        difference = percent(result["load_time_ms"], reference["load_time_ms"])
        agrees = abs(difference) <= 100 * TOLERANCE and result["data_packets"] == reference["data_packets"]
        same &= agrees
        print(f"  {name:<10} {result['load_time_ms']:10.3f} ms  {result['data_packets']} data packets  "
              f"{difference:+.3f} % of {reference_name}{'' if agrees else '  NOT THE SAME LOAD'}")
    return same


def compare_speed(programs: list, pairs: int) -> list[dict]:
    """Times all programs in turn on each cell."""
    records = []
    for rate_bps, rtt_ms in SPEED_CELLS:
        load = dataclasses.replace(CLEAN, rate_bps=rate_bps, rtt_ms=rtt_ms)
        cell = cell_name(rate_bps, rtt_ms)
        print(f"{cell}: the same load?")
        same = check_same_load(cell, {program.name: program.run(load, 0) for program in programs})
        samples: dict[str, list[float]] = {program.name: [] for program in programs}
        packets: dict[str, int] = {}
        memory: dict[str, int] = {}
        for _ in range(pairs):
            for program in programs:
                result = program.run(load, program.timed_loads)
                wall_ns = result["wall_ns"] / result["loads"]
                samples[program.name].append(wall_ns / result["data_packets"])
                packets[program.name] = result["data_packets"]
                memory[program.name] = result["peak_memory_bytes"]
        medians = {name: statistics.median(values) for name, values in samples.items()}
        print(f"{cell}: {pairs} rounds in turn, medians")
        for name, median in medians.items():
            spread = f"{min(samples[name]):.0f} to {max(samples[name]):.0f}"
            ratio = f"   {median / medians['ours']:6.1f} times ours" if "ours" in medians and name != "ours" else ""
            print(f"  {name:<10} {median:9.0f} ns per data packet ({spread})  {1e9 / (median * packets[name]):8.1f} loads/s  "
                  f"{memory[name] / 2**20:5.1f} MiB{ratio}")
        records.append({
            "rate_bps": rate_bps,
            "rtt_ms": rtt_ms,
            "same_load": same,
            "data_packets": packets,
            "ns_per_data_packet": samples,
            "median_ns_per_data_packet": medians,
            "peak_memory_bytes": memory,
            "ratio": {n: m / medians["ours"] for n, m in medians.items() if n != "ours"} if "ours" in medians else {},
        })
    return records


def mean_of(results: list[dict], key: str) -> float:
    return statistics.fmean(result[key] for result in results)


def grid_row(programs: list, load: Load, variants: int) -> dict:
    """One cell: every program over the variants of the load."""
    row = {"rate_bps": load.rate_bps, "rtt_ms": load.rtt_ms}
    loads = [dataclasses.replace(load, root_bytes=load.root_bytes + v * MSS_BYTES) for v in range(variants)]
    for program in programs:
        results = [program.run(variant, 0) for variant in loads]
        times = [result["load_time_ms"] for result in results]
        row[program.name] = {
            "load_time_ms": statistics.fmean(times),
            "load_time_ms_min": min(times),
            "load_time_ms_max": max(times),
            **{key: mean_of(results, key) for key in ("data_packets", "drops", "retransmissions", "timeouts")},
        }
    if "ours" in row:
        row["difference_percent"] = percent(row["ours"]["load_time_ms"], row["ns-3"]["load_time_ms"])
    return row


def grid_table(title: str, rows: list[dict], lossy: bool) -> str:
    """A Markdown table of one condition; cells that are not measured yet say so."""
    columns = ["rate, RTT", "ns-3 ms", "ours ms", "difference", "data packets", "drops", "retransmissions", "timeouts"]
    columns = columns if lossy else columns[:5]
    lines = [f"**{title}**", "", "| " + " | ".join(columns) + " |", "| --- |" + " ---: |" * (len(columns) - 1)]

    def time(entry: dict | None) -> str:
        if entry is None:
            return "not run"
        mean = f"{entry['load_time_ms']:.0f}" if lossy else f"{entry['load_time_ms']:.2f}"
        return f"{mean} ({entry['load_time_ms_min']:.0f}–{entry['load_time_ms_max']:.0f})" if lossy else mean

    for row in rows:
        ns3, ours = row["ns-3"], row.get("ours")
        difference = f"{row['difference_percent']:+.2f} %" if ours else "not run"
        both = [f"{ns3[key]:.0f}" + (f" / {ours[key]:.0f}" if ours else "")
                for key in ("data_packets", "drops", "retransmissions", "timeouts")]
        cells = [cell_name(row["rate_bps"], row["rtt_ms"]), time(ns3), time(ours), difference, *both]
        lines.append("| " + " | ".join(cells[:len(columns)]) + " |")
    if any("ours" in row for row in rows):
        differences = [abs(row["difference_percent"]) for row in rows if "ours" in row]
        lines += ["", f"Median absolute difference {statistics.median(differences):.2f} %, "
                      f"largest {max(differences):.2f} %."]
    return "\n".join(lines)


def run_grid(programs: list) -> dict[str, dict]:
    """All conditions over all rates and round-trip times."""
    sack = {"sack": True, "pipelined": True}
    # Without SACK ns-3 takes a request that arrives during a response for a duplicate ACK, so requests wait.
    newreno = {"sack": False, "pipelined": False}
    lossy = Load(queue_packets=LOSSY_QUEUE_PACKETS)
    conditions = {
        "SACK, pipelined, no losses": (dataclasses.replace(CLEAN, **sack), 1),
        "NewReno, one request at a time, no losses": (dataclasses.replace(CLEAN, **newreno), 1),
        f"SACK, pipelined, queue of {LOSSY_QUEUE_PACKETS} packets":
            (dataclasses.replace(lossy, **sack), LOSSY_VARIANTS),
        f"NewReno, one request at a time, queue of {LOSSY_QUEUE_PACKETS} packets":
            (dataclasses.replace(lossy, **newreno), LOSSY_VARIANTS),
    }
    grid = {}
    for title, (base, variants) in conditions.items():
        print(title, file=sys.stderr)
        rows = [
            grid_row(programs, dataclasses.replace(base, rate_bps=rate_bps, rtt_ms=rtt_ms), variants)
            for rate_bps in GRID_RATES_BPS
            for rtt_ms in GRID_RTTS_MS
        ]
        grid[title] = {"rows": rows, "table": grid_table(title, rows, lossy=variants > 1)}
    return grid


def speed_table(records: list[dict]) -> str:
    """A Markdown table of what compare_speed measured."""
    lines = ["| load | program | ns per data packet | times ours |", "| --- | --- | ---: | ---: |"]
    for record in records:
        for name, median in record["median_ns_per_data_packet"].items():
            ratio = f"{record['ratio'][name]:.1f}" if name in record["ratio"] else "" if name == "ours" else "not run"
            lines.append(f"| {cell_name(record['rate_bps'], record['rtt_ms'])} | {name} | {median:.0f} | {ratio} |")
    return "\n".join(lines)


def replace_between_markers(document: pathlib.Path, name: str, text: str) -> None:
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    old = document.read_text()
    if begin not in old or end not in old:
        raise Failure(f"{document}: no {begin.strip()} ... {end}")
    head, rest = old.split(begin, 1)
    document.write_text(head + begin + text + "\n" + end + rest.split(end, 1)[1])


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ns3", action="append", required=True, metavar="NAME=STAR",
                        help=f"star.cc built against a build of ns-3; names: {', '.join(BUILDS)}")
    parser.add_argument("--ours", metavar="BINARY", help=f"our program; built with cargo ({OURS}) if not given")
    parser.add_argument("--ns3-only", action="store_true", help="leave our simulator out")
    parser.add_argument("--pairs", type=int, default=5, help="rounds in turn (default 5)")
    parser.add_argument("--grid", action="store_true", help="compare load times over the grid instead of speed")
    parser.add_argument("--document", type=pathlib.Path, metavar="FILE",
                        help="put the tables between the markers of this Markdown file (docs/validation/ns3.md)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the results to FILE, too")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if bad := [argument for argument in arguments.ns3 if "=" not in argument]:
        raise Failure(f"--ns3 {bad[0]}: expected NAME=STAR; hint: benches/ns3/run.sh builds and names them")
    programs: list = [Ns3(*argument.split("=", 1)) for argument in arguments.ns3]
    with tempfile.TemporaryDirectory() as folder:
        if not arguments.ns3_only:
            programs.append(Ours(arguments.ours or build_ours(), pathlib.Path(folder)))
        if arguments.grid:
            # All builds of ns-3 simulate alike; the first one given serves.
            programs = [dataclasses.replace(programs[0], name="ns-3"), *programs[len(arguments.ns3):]]
            results = run_grid(programs)
            tables = "\n\n".join(condition["table"] for condition in results.values())
            if arguments.document:
                replace_between_markers(arguments.document, "grid", tables)
            print(tables)
            agrees = True
        else:
            for program in programs:
                print(f"{program.name:<10} {BUILDS.get(program.name, program.binary)}")
            results = compare_speed(programs, arguments.pairs)
            agrees = all(record["same_load"] for record in results)
            if arguments.document:
                replace_between_markers(arguments.document, "speed", speed_table(results))
        print(KNOWN_DIFFERENCES)
    if arguments.json:
        arguments.json.write_text(json.dumps({"builds": BUILDS, "results": results}, indent=1) + "\n")
    if not agrees:
        print("error: the programs did not simulate the same load; their ratio means nothing", file=sys.stderr)
    return 0 if agrees else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        sys.exit(1)
