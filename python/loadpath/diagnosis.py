"""What this installation can do."""

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from loadpath import _core
from loadpath.api import simulate
from loadpath.errors import LoadpathError
from loadpath.pages import EXAMPLE_PREFIX, example_names
from loadpath.profiler.chromium import DEFAULT_BROWSER
from loadpath.testbed import open_link

__all__ = ["Finding", "examine"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for."""

    what: str
    ok: bool
    found: str
    required: bool = False


def examine() -> list[Finding]:
    """Look at everything that Loadpath uses; only simulation itself is required."""
    return [
        Finding(
            "Loadpath",
            True,
            f"{_core.__version__}, Python {platform.python_version()}, "
            f"{platform.system()} {platform.machine()}",
        ),
        _simulation(),
        Finding("processors", True, f"{len(os.sched_getaffinity(0))}: batches use all of them"),
        _corpus(),
        _program("dot", "draws page graphs as SVG and PDF; as HTML without it"),
        _links(),
        *_two_paths(),
        _congestion(),
        _program(
            DEFAULT_BROWSER,
            "`loadpath profile` and `emulate` need it, or another Chromium by --browser",
        ),
        _program("dumpcap", "`loadpath profile --capture` records packets with it"),
        _program("tshark", "reads pcapng exports in tests; exporting works without it"),
    ]


def _simulation() -> Finding:
    names = example_names()
    if not names:
        return Finding("simulation", False, "no example pages in this installation", required=True)
    try:
        [outcome] = simulate(f"{EXAMPLE_PREFIX}{names[0]}")
    except LoadpathError as error:
        return Finding("simulation", False, str(error), required=True)
    return Finding(
        "simulation",
        outcome.plt_ms is not None,
        f"{EXAMPLE_PREFIX}{names[0]} loads in {outcome.plt_ms or 0:.1f} ms (simulated)",
        required=True,
    )


def _corpus() -> Finding:
    folder = os.environ.get("LOADPATH_CORPUS")
    if not folder:
        return Finding("corpus", False, "LOADPATH_CORPUS is not set; only `reproduce` needs it")
    if not (Path(folder) / "index.json").is_file():
        return Finding("corpus", False, f"LOADPATH_CORPUS={folder} has no index.json")
    return Finding("corpus", True, folder)


def _links() -> Finding:
    try:
        with open_link(rate="1gbit", rtt_ms=0) as link:
            pass
    except LoadpathError as error:
        hints = "; ".join(note.removeprefix("hint: ") for note in getattr(error, "__notes__", ()))
        return Finding("links", False, f"{error}; {hints}" if hints else str(error))
    report = link.close()
    user = "in a user namespace" if report.rootless else "as root"
    priority = "with" if report.real_time else "without"
    without = (
        ""
        if report.real_time
        else ": a busy machine makes them late (root or `ulimit -r` of 50 helps)"
    )
    return Finding("links", True, f"{user}, {priority} real-time priority{without}")


def _two_paths() -> list[Finding]:
    """What links with two paths need."""
    kernel = Path("/proc/sys/net/mptcp").is_dir()
    need = "links with two paths need a kernel with CONFIG_MPTCP (Linux 5.13)"
    return [
        Finding("MPTCP", kernel, "in the kernel" if kernel else need),
        _program("mptcpize", "makes programs behind a link use MPTCP (`mptcpize run PROGRAM`)"),
    ]


def _congestion() -> Finding:
    """Congestion controllers of the kernel, for `loadpath link --congestion`."""
    try:
        text = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().strip()
    except OSError as error:
        return Finding("congestion control", False, f"cannot be asked for: {error.strerror}")
    missing = [name for name in ("reno", "cubic") if name not in text.split()]
    more = f"; without {', '.join(missing)} (modprobe tcp_{missing[0]})" if missing else ""
    return Finding("congestion control", not missing, f"the kernel has {text}{more}")


def _program(name: str, use: str) -> Finding:
    path = shutil.which(name)
    return Finding(name, path is not None, path or use)
