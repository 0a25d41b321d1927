"""Sweeps on Dask clusters: the same files, whatever dies meanwhile, and nothing left behind."""

import os
import pickle
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from dask import config
from distributed import Client, KilledWorker

from conftest import Loadpath
from loadpath._core import ENGINE
from loadpath.errors import ClusterError, StoreError
from loadpath.experiments.sweep import cluster as cluster_module
from loadpath.experiments.sweep.cluster import Shipment, connected
from loadpath.experiments.sweep.execution import Pages, simulate, sweep
from loadpath.experiments.sweep.pages import open_pages
from loadpath.experiments.sweep.plan import Plan
from loadpath.experiments.sweep.store import PlanFolder
from loadpath.graphs.importer import import_corpus
from sweep_kills import (
    DaskCluster,
    Target,
    files,
    kill_and_compare,
    start_cluster,
    start_sweep,
    uninterrupted,
)
from sweeps import SMALL, run, specification
from test_import import in_corpus_layout


@pytest.fixture(scope="module")
def dask() -> Iterator[DaskCluster]:
    with start_cluster(2) as started:
        yield started


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """A specification and the files that its results must be."""
    return uninterrupted(tmp_path_factory.mktemp("whole"), runs=20)


def _tasks(address: str) -> int:
    """Tasks that the scheduler knows."""

    def count(dask_scheduler: Any) -> int:
        return len(dask_scheduler.tasks)

    with Client(address, set_as_default=False) as client:
        # Those of a client that has just gone may be there for a moment.
        deadline = time.monotonic() + 60
        while (found := client.run_on_scheduler(count)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert isinstance(found, int)
        return found


def impatient() -> AbstractContextManager[object]:
    """Dask waits half a minute for a scheduler."""
    setting = {"distributed.comm.timeouts.connect": "200ms"}
    manager: AbstractContextManager[object] = config.set(setting)
    return manager


class TestRows:
    def test_files_are_those_of_a_local_run_byte_for_byte(
        self, tmp_path: Path, dask: DaskCluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cluster_module, "LOADS_PER_TASK", 3)
        here, there, alone = (tmp_path / name for name in ("here", "there", "alone"))
        run(SMALL, here)
        more = SMALL.replace("runs = 3", "runs = 4")
        run(more, alone)
        shown: list[list[int]] = []

        def bar(total: int, before: int) -> Any:
            assert before == 0
            shown.append([])
            return nullcontext(shown[-1].append)

        with connected(dask.address) as executor:
            for text in (SMALL, more):
                result = sweep(specification(text), store=there, executor=executor, progress=bar)
                assert result.computed == result.plan.rows
        assert files(there) == files(here) | files(alone)
        # The second took 24 of its 32 loads from the first.
        assert [len(counts) for counts in shown] == [10, 4]
        assert [counts[-1] for counts in shown] == [24, 32]
        assert all(counts == sorted(counts) for counts in shown)
        assert _tasks(dask.address) == 0

    def test_workers_need_no_file_of_ours(self, tmp_path: Path) -> None:
        pages = tmp_path / "pages"
        import_corpus(in_corpus_layout(tmp_path / "corpus"), pages)
        text = SMALL.replace("example:figure-3-1", str(pages))
        spec = specification(text)
        with open_pages(spec.pages, spec.folder, None) as planned:
            plan = Plan(spec, planned)
            rows = np.arange(plan.rows)
            expected = simulate(plan, Pages(plan.pages), rows)
            shipped = pickle.dumps(Shipment(plan))
        shutil.rmtree(pages)
        received: Shipment = pickle.loads(shipped)
        assert received.figures(rows).equals(expected)
        assert len(shipped) > received.__sizeof__() > 1000


class TestErrors:
    def test_another_engine_is_refused(
        self, dask: DaskCluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cluster_module, "ENGINE", "another")
        with (
            pytest.raises(ClusterError, match="this is engine another, but worker tcp:") as caught,
            connected(dask.address),
        ):
            pass
        assert ENGINE in str(caught.value)
        assert " more)" in str(caught.value)

    def test_another_engine_is_refused_of_workers_that_come_later(self) -> None:
        shipment: Any = None
        with pytest.raises(
            ClusterError, match=r"this is engine another, but a worker on .* has \d"
        ):
            cluster_module._figures(shipment, np.arange(1), "another")

    def test_a_scheduler_that_is_not_there(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
            with (
                impatient(),
                pytest.raises(ClusterError, match=f"there is no Dask scheduler at {address}"),
                connected(address),
            ):
                pass

    @pytest.mark.parametrize("address", ["local:0", "local:x", "localhost", "tcp://", "no:thing:1"])
    def test_an_address_that_is_none(self, address: str) -> None:
        with impatient(), pytest.raises(ClusterError), connected(address):
            pass

    @pytest.mark.parametrize(
        ("address", "required", "message"),
        [
            ("tls://127.0.0.1:1", False, "names no certificates"),
            ("tcp://127.0.0.1:1", True, "requires encryption"),
        ],
    )
    def test_encryption_that_is_not_set_up(
        self, address: str, required: bool, message: str
    ) -> None:
        with (
            config.set({"distributed.comm.require-encryption": required}),
            pytest.raises(ClusterError, match=message),
            connected(address),
        ):
            pass

    def test_loads_that_kill_worker_after_worker(self) -> None:
        worker: Any = None
        with (
            pytest.raises(ClusterError, match="4 workers died, each over the same loads") as caught,
            cluster_module._explained(),
        ):
            raise KilledWorker("task", worker, 3)
        assert "--resume" in caught.value.__notes__[0]

    def test_a_cluster_and_threads_do_not_go_together(
        self, loadpath: Loadpath, tmp_path: Path
    ) -> None:
        (tmp_path / "small.toml").write_text(SMALL)
        result = loadpath("sweep", "small.toml", "--jobs", "2", "--cluster", "local")
        assert result.returncode == 1
        assert "--jobs is for this machine" in result.stderr

    def test_a_disk_that_is_full_leaves_the_cluster_clean(
        self, tmp_path: Path, dask: DaskCluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object) -> None:
            raise StoreError("cannot write")

        monkeypatch.setattr(PlanFolder, "write", full)
        with pytest.raises(StoreError), connected(dask.address) as executor:
            sweep(specification(), store=tmp_path, executor=executor)
        assert _tasks(dask.address) == 0
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class TestKills:
    """`make study-kills` does the same, more often."""

    @pytest.mark.parametrize(
        ("target", "kills"), [(Target.SWEEP, 1), (Target.WORKER, 2), (Target.SCHEDULER, 1)]
    )
    def test_nothing_is_lost_or_changed(
        self,
        tmp_path: Path,
        dask: DaskCluster,
        whole: tuple[Path, dict[str, bytes]],
        target: Target,
        kills: int,
    ) -> None:
        outcome = kill_and_compare(target, dask, tmp_path, *whole, kills=kills, seed=3)
        assert outcome.parts == 60
        assert len(outcome.kills) == kills
        assert _tasks(dask.address) == 0


def test_ctrl_c_leaves_what_is_finished_and_no_process(
    tmp_path: Path, whole: tuple[Path, dict[str, bytes]]
) -> None:
    text, expected = whole
    process = start_sweep(text, tmp_path, "--cluster", "local:2")
    deadline = time.monotonic() + 60
    while not files(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.02)
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) >= 2
    _only_loopback([process.pid, *(child.pid for child in children)])
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stdout == ""
    assert stderr.splitlines() == [
        "what is finished is kept: the same command with --resume computes the rest",
        "interrupted",
    ]
    assert psutil.wait_procs(children, timeout=60)[1] == []
    kept = files(tmp_path)
    assert 0 < len(kept) < len(expected)
    # On this machine now.
    start_sweep(text, tmp_path).communicate(timeout=60)
    assert files(tmp_path) == expected


def _only_loopback(processes: list[int]) -> None:
    for process in processes:
        for connection in psutil.Process(process).net_connections("inet"):
            assert connection.laddr.ip == "127.0.0.1"
