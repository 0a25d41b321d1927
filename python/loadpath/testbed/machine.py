"""What else a machine does while something is measured on it."""

import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec

__all__ = ["BUSY_PROCESSORS", "Machine", "MachineWatch", "busy_processors"]

BUSY_PROCESSORS = 0.25
"""Use of processors by others above which a machine counts as busy. An idle one shows 0.00 to 0.05
in so short a sample; one compiler or browser takes 1."""

SAMPLE_S = 0.25
"""Twenty-five clock ticks."""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The machine around a load."""

    load_average: float
    """Of the last minute, before the load; its own predecessors are in it."""
    busy_before: float
    """Processors in use just before the browser was started."""
    busy_after: float
    """The same when it had ended."""
    cpu_pressure_ms: float | None
    """Time in which something that could run waited for a processor during the load, the browser's
    own threads included (Documentation/accounting/psi.rst: "some"); None without /proc/pressure."""
    memory_pressure_ms: float | None
    io_pressure_ms: float | None
    stolen_ms: float
    """Processor time that the machine below a virtual one took."""
    seconds: float
    """From the start of the browser to its end."""

    @property
    def doubts(self) -> list[str]:
        """Why what was measured is in doubt."""
        return [
            f"busy machine: {busy:.2f} processors in use {when} the load"
            for when, busy in (("before", self.busy_before), ("after", self.busy_after))
            if busy > BUSY_PROCESSORS
        ]


def busy_processors(sample_s: float = SAMPLE_S) -> float:
    """How many processors are in use right now, this process excepted."""
    before, own = _busy_s(), time.process_time()
    start = time.monotonic()
    time.sleep(sample_s)
    used = _busy_s() - before - (time.process_time() - own)
    return max(0.0, used / (time.monotonic() - start))


class MachineWatch:
    """Looks at the machine before a load and after it."""

    def __init__(self) -> None:
        self._load_average = os.getloadavg()[0]
        self.busy_before = busy_processors()
        """Processors in use by others just now."""
        self._stolen_s = _stolen_s()
        self._pressure = {name: _pressure_ms(name) for name in ("cpu", "memory", "io")}
        self._start = time.monotonic()

    def end(self) -> Machine:
        """What there was, once the browser has gone."""
        seconds = time.monotonic() - self._start
        waited: dict[str, float | None] = {}
        for name, before in self._pressure.items():
            now = _pressure_ms(name)
            waited[name] = None if now is None or before is None else now - before
        stolen_s = _stolen_s() - self._stolen_s
        return Machine(
            load_average=self._load_average,
            busy_before=self.busy_before,
            busy_after=busy_processors(),
            cpu_pressure_ms=waited["cpu"],
            memory_pressure_ms=waited["memory"],
            io_pressure_ms=waited["io"],
            stolen_ms=1e3 * stolen_s,
            seconds=seconds,
        )


def _ticks() -> list[int]:
    """proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal of all processors."""
    with suppress(OSError), Path("/proc/stat").open() as file:
        return [int(word) for word in file.readline().split()[1:9]]
    return [0] * 8


def _busy_s() -> float:
    user, nice, system, _, _, irq, softirq, steal = _ticks()
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _stolen_s() -> float:
    return _ticks()[7] / os.sysconf("SC_CLK_TCK")


def _pressure_ms(resource: str) -> float | None:
    with suppress(OSError):
        for line in Path(f"/proc/pressure/{resource}").read_text().splitlines():
            kind, *pairs = line.split()
            if kind == "some":
                return int(dict(pair.split("=") for pair in pairs)["total"]) / 1e3
    return None
