"""Kills sweeps, and the processes of the Dask cluster that they run on, at random points.

Whatever is killed by signal 9, the sweep that is then resumed must have the files, byte for byte,
of one that nothing interrupted: `make study-kills`. Writes a table to standard output.

usage: studies/sweep_kills.py; --help lists the options
"""

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tables import markdown_table

__all__ = [
    "DaskCluster",
    "Target",
    "files",
    "kill_and_compare",
    "start_cluster",
    "start_sweep",
    "uninterrupted",
]

SPECIFICATION = """
name = "kills"
runs = {runs}
pages = ["example:figure-3-1", "example:spdy-page-c", "example:shape-baidu"]
rows_per_part = 4
[matrix]
network.rtt_ms = [10, 40]
http.version = ["h1", "h2"]
"""
"""Small parts, so that a kill may come between any two of them."""

WAIT_S = 120.0
"""On a busy machine a process takes some seconds to start; none takes that."""


class Target(StrEnum):
    """What is killed."""

    SWEEP = "sweep"
    WORKER = "worker"
    SCHEDULER = "scheduler"


class DaskCluster:
    """A scheduler and its workers, each a process of its own that only this machine can reach."""

    def __init__(self, workers: int, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._count = workers
        self._folder = folder
        self._scheduler: subprocess.Popen[bytes] | None = None
        self._workers: list[subprocess.Popen[bytes]] = []
        self.start()

    @property
    def address(self) -> str:
        """Of the scheduler; it stays the same."""
        return f"tcp://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start what is not running."""
        if self._scheduler is None:
            self._scheduler = self._process("dask_scheduler", "--port", str(self._port))
            self._await_scheduler()
        while len(self._workers) < self._count:
            self._workers.append(
                self._process(
                    *("dask_worker", self.address, "--nthreads", "1", "--no-nanny"),
                    *("--death-timeout", str(WAIT_S), "--memory-limit", "0"),
                )
            )

    def _await_scheduler(self) -> None:
        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), timeout=WAIT_S).close()
                return
            except ConnectionRefusedError:
                assert time.monotonic() < deadline, "the scheduler does not start"
                time.sleep(0.05)

    def _process(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", f"distributed.cli.{module}", *arguments),
                *("--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"),
            ],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill_worker(self, chance: random.Random) -> None:
        """Kill one of them, and start another."""
        _kill(self._workers.pop(chance.randrange(len(self._workers))))
        self.start()

    def kill_scheduler(self) -> None:
        """Kill it."""
        if self._scheduler is not None:
            _kill(self._scheduler)
            self._scheduler = None

    def stop(self) -> None:
        """End all processes."""
        self.kill_scheduler()
        for worker in self._workers:
            _kill(worker)
        self._workers.clear()


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


@contextmanager
def start_cluster(workers: int) -> Iterator[DaskCluster]:
    """A cluster until the block ends."""
    with tempfile.TemporaryDirectory(prefix="loadpath-cluster-") as folder:
        cluster = DaskCluster(workers, Path(folder))
        try:
            yield cluster
        finally:
            cluster.stop()


def start_sweep(specification: Path, store: Path, *options: str) -> subprocess.Popen[str]:
    """`loadpath sweep`, in a process group of its own."""
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "loadpath", "sweep", str(specification)),
            *("--store", str(store), "--resume", *options),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"NO_COLOR": "1"},
        start_new_session=True,
    )


def files(store: Path) -> dict[str, bytes]:
    """All finished parts."""
    found = store.glob("*/*/runs/rows-*-*-*.parquet")
    return {file.name: file.read_bytes() for file in found}


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    sweeps: int
    """Processes that it took."""
    kills: list[int]
    """Parts that were finished at each."""
    parts: int
    seconds: float


def uninterrupted(folder: Path, *, runs: int) -> tuple[Path, dict[str, bytes]]:
    """A specification of 12 cells with so many runs, and the files of its results."""
    specification = folder / "kills.toml"
    specification.write_text(SPECIFICATION.format(runs=runs))
    _finish(start_sweep(specification, folder / "uninterrupted"))
    return specification, files(folder / "uninterrupted")


def kill_and_compare(
    target: Target,
    cluster: DaskCluster,
    folder: Path,
    specification: Path,
    expected: Mapping[str, bytes],
    *,
    kills: int,
    seed: int = 1,
    say: Callable[[str], object] = lambda _: None,
) -> Outcome:
    """Compute a sweep in the folder, killing something so many times; compare.

    Specification and expected files are those of `uninterrupted`.

    Raises
    ------
    AssertionError
        Something finished was lost, or the result is not that of a sweep without kills.
    """
    store, chance = folder / target, random.Random(seed)
    start = time.monotonic()
    options = ("--cluster", cluster.address)
    sweeps, at = 1, list[int]()
    sweep = start_sweep(specification, store, *options)
    for number in range(kills):
        before = files(store)
        # Every fourth kill comes while processes start, the others after some new parts.
        new = chance.randrange(1, max(2, 2 * len(expected) // (3 * kills))) if number % 4 else 0
        wanted = len(before) + new
        _wait(sweep, store, wanted)
        time.sleep(chance.uniform(0, 0.05) if number % 4 else chance.uniform(0, 3))
        assert sweep.poll() is None or len(files(store)) == len(expected), sweep.communicate()
        if sweep.poll() is not None:
            break
        at.append(len(files(store)))
        say(f"{target}: kill {len(at)}, {at[-1]} of {len(expected)} parts")
        if target is Target.WORKER:
            cluster.kill_worker(chance)
            continue
        if target is Target.SWEEP:
            sweep.send_signal(signal.SIGKILL)
            sweep.communicate()
        else:
            cluster.kill_scheduler()
            _, errors = sweep.communicate(timeout=WAIT_S)
            assert sweep.returncode in (0, 1), errors
            assert sweep.returncode == 0 or "error: " in errors, errors
            cluster.stop()
            cluster.start()
        now = files(store)
        assert before.items() <= now.items(), "finished parts were lost"
        sweep = start_sweep(specification, store, *options)
        sweeps += 1
    _finish(sweep)
    assert files(store) == expected
    return Outcome(sweeps, at, len(expected), time.monotonic() - start)


def _wait(sweep: subprocess.Popen[str], store: Path, parts: int) -> None:
    """Until so many parts are finished, or the sweep is."""
    deadline = time.monotonic() + WAIT_S
    while sweep.poll() is None and len(files(store)) < parts:
        assert time.monotonic() < deadline, "nothing happens"
        time.sleep(0.01)


def _finish(sweep: subprocess.Popen[str]) -> None:
    _, errors = sweep.communicate(timeout=10 * WAIT_S)
    assert sweep.returncode == 0, errors


def main(
    kills: Annotated[int, typer.Option(min=1, help="Of each kind.")] = 20,
    workers: Annotated[int, typer.Option(min=1, help="Single-thread workers.")] = 4,
    runs: Annotated[int, typer.Option(min=1, help="Runs of the 12 cells.")] = 400,
    seed: int = 1,
    only: Annotated[Target | None, typer.Option(help="Kill nothing else.")] = None,
) -> None:
    """Run the study."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="loadpath-kills-") as folder:
        specification, expected = uninterrupted(Path(folder), runs=runs)
        for target in Target if only is None else [only]:
            with start_cluster(workers) as cluster:
                outcome = kill_and_compare(
                    target,
                    cluster,
                    Path(folder),
                    specification,
                    expected,
                    kills=kills,
                    seed=seed,
                    say=lambda text: print(text, file=sys.stderr, flush=True),
                )
            kills_at = f"{min(outcome.kills)} to {max(outcome.kills)}"
            figures = [len(outcome.kills), outcome.sweeps, kills_at, outcome.parts]
            rows.append([str(target), *map(str, figures), f"{outcome.seconds:.0f}", "identical"])
            print(rows[-1], file=sys.stderr, flush=True)
    headings = ["killed", "kills", "sweeps", "when finished", "parts", "s", "files"]
    print(markdown_table(headings, rows, words=["killed", "files"]), end="")


if __name__ == "__main__":
    typer.run(main)
