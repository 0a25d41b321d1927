"""Computing a plan on a Dask cluster: figures come from workers, parts are put together here.

Each worker gets plan and pages once, as bytes: it needs no file of ours, but the same engine,
which is checked. A task is a few hundred loads, so that workers of different speed, and loads of
different cost, end together. Only a few tasks a thread are on the cluster at a time, whatever the
plan's size.

Tasks and what they need belong to this client: the cluster forgets them when it closes the
connection, or dies. Whoever holds the connection can run code on the workers, and so can everybody
else who reaches the scheduler (docs/guides/sweeps.md).
"""

import asyncio
import concurrent.futures
import gc
import logging
import os
import pickle
import re
import signal
import threading
import time
import traceback
import uuid
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

import dask
import pyarrow as pa
from distributed import Client, Future, KilledWorker, LocalCluster, Status
from distributed.security import Security
from distributed.utils import silence_logging_cmgr

from loadpath._core import ENGINE, Page
from loadpath.errors import ClusterError, LoadpathError, hinted
from loadpath.experiments.sweep.execution import OpenPart, Pages, Report, simulate
from loadpath.experiments.sweep.pages import PlannedPage
from loadpath.experiments.sweep.plan import Part, Plan
from loadpath.experiments.sweep.reuse import Finder, Indices
from loadpath.pages import PageContent

__all__ = ["LOCAL", "ClusterExecutor", "connected"]

LOCAL = "local"
"""Address of a cluster that is started on this machine, with ":N" for its number of workers."""

LOADS_PER_TASK = 512
"""Some tenths of a second: hundreds of times what a task costs, little to lose with a worker."""

TASKS_PER_THREAD = 4
"""Tasks on the cluster at a time: one at work, the others so that no thread waits for the next."""

RETRIES = 2
"""Times that a task which raised an error (as for lack of memory) is tried again; Dask's scheduler
has a setting of its own for workers that die (`distributed.scheduler.allowed-failures`, 3)."""

WORKERS_S = 120.0
"""How long no worker may be there; they may be starting, or starting again."""

CHECK_S = 5.0
"""How often a sweep that waits for tasks looks whether there are workers."""

_START = "`dask scheduler --host 127.0.0.1 --no-dashboard` starts one; it prints its address"
_KEPT = "what is finished is kept: --resume computes the rest, here or on any cluster"


@dataclass(frozen=True, slots=True)
class _Packed:
    """A page as it travels."""

    page: PlannedPage
    origin: str
    graph: bytes
    server_delays: int | None
    """Index in the list of such files, which pages share."""


class Shipment:
    """What a worker needs of a sweep: the plan, and the content of its pages.

    It compiles pages when they are first used, and has as many in memory as one process has.
    """

    def __init__(self, plan: Plan) -> None:
        files: dict[tuple[str, bytes], int] = {}
        packed = []
        for page in plan.pages:
            content = page.content()
            delays = content.server_delays
            index = None if delays is None else files.setdefault(delays, len(files))
            packed.append(_Packed(page, content.origin, zlib.compress(content.graph), index))
        self._plan = plan
        self._packed = packed
        self._delays = [(name, zlib.compress(data)) for name, data in files]
        self._open()

    def __getstate__(self) -> tuple[object, ...]:
        return self._plan, self._packed, self._delays

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._plan, self._packed, self._delays = state
        self._open()

    def __sizeof__(self) -> int:
        """What Dask takes for the cost of moving it."""
        parts = [*(page.graph for page in self._packed), *(data for _, data in self._delays)]
        return sum(map(len, parts))

    def _open(self) -> None:
        self._unpacked: dict[int, tuple[str, bytes]] = {}
        self._pages = Pages([_Shipped(self, packed) for packed in self._packed])

    def compile(self, packed: _Packed) -> Page:
        """Compile one of its pages."""
        graph = zlib.decompress(packed.graph)
        return packed.page.compile(
            PageContent(packed.origin, graph, self._server_delays(packed.server_delays))
        )

    def _server_delays(self, index: int | None) -> tuple[str, bytes] | None:
        if index is None:
            return None
        if index not in self._unpacked:
            name, data = self._delays[index]
            self._unpacked[index] = name, zlib.decompress(data)
        return self._unpacked[index]

    def figures(self, rows: Indices) -> pa.Table:
        """Figures of loads, computed by the calling thread alone."""
        return simulate(self._plan, self._pages, rows, threads=1)


@dataclass(frozen=True, slots=True)
class _Shipped:
    shipment: Shipment
    packed: _Packed

    def load(self) -> Page:
        return self.shipment.compile(self.packed)


def _engine() -> str:
    """Runs where the cluster's processes are."""
    return ENGINE


def _figures(shipment: Shipment, rows: Indices, engine: str) -> pa.Table:
    """A task."""
    if engine != ENGINE:
        raise _other_engines(engine, {f"a worker on {os.uname().nodename}": ENGINE})
    return shipment.figures(rows)


@dataclass(frozen=True)
class ClusterExecutor:
    """On the workers of a Dask cluster; see `connected`."""

    client: Client

    def tables(
        self, plan: Plan, parts: Iterable[Part], finder: Finder, report: Report
    ) -> Generator[tuple[Part, pa.Table]]:
        """See `Executor`.

        Raises
        ------
        ClusterError
            The scheduler is lost, no worker is there, or one load ends worker after worker.
        """
        tasks = _Tasks(self.client, plan, report)
        with _interrupts(tasks.interrupt):
            for part in parts:
                yield from tasks.begin(OpenPart(plan, part, finder))
            yield from tasks.end()


@contextmanager
def _interrupts(tell: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C told, not raised: raised in a future's `__del__`, it would be ignored.

    The second one is raised.
    """
    default = signal.default_int_handler
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not default:
        yield
        return

    def handle(*_: object) -> None:
        signal.signal(signal.SIGINT, default)
        tell()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, default)


@dataclass(frozen=True)
class _Fetched:
    """Results that have come here, or why they have not."""

    futures: list[Future[pa.Table]]
    results: concurrent.futures.Future[list[pa.Table]]


class _Tasks:
    """The tasks that are on the cluster."""

    def __init__(self, client: Client, plan: Plan, report: Report) -> None:
        self._client = client
        self._report = report
        self._loads_done = 0
        self._waiting: dict[Future[pa.Table], tuple[OpenPart, Indices]] = {}
        # What has happened: a task has ended, results have come, or (None) Ctrl-C.
        self._events: SimpleQueue[Future[pa.Table] | _Fetched | None] = SimpleQueue()
        self._name = f"loadpath-{uuid.uuid4().hex[:12]}"
        self._submitted = 0
        self._looked = self._seen = time.monotonic()
        self._most = self._count()
        with _explained():
            # In a task, so that the scheduler can make it again if the workers that have it die.
            self._shipment = client.submit(
                _unpacked, pickle.dumps(Shipment(plan)), key=f"{self._name}-pages", pure=False
            )

    def begin(self, part: OpenPart) -> Iterator[tuple[Part, pa.Table]]:
        """Submit what is missing of a part, and give what gets complete meanwhile."""
        self._loads_done += part.finished
        if part.is_complete:
            yield part.part, part.table()
        for first in range(0, len(part.missing), LOADS_PER_TASK):
            while len(self._waiting) >= self._most:
                yield from self._collect()
            self._submit(part, part.missing[first : first + LOADS_PER_TASK])

    def end(self) -> Iterator[tuple[Part, pa.Table]]:
        """Give what is still on its way."""
        while self._waiting:
            yield from self._collect()

    def _submit(self, part: OpenPart, rows: Indices) -> None:
        with _explained():
            future = self._client.submit(
                _figures,
                self._shipment,
                rows,
                ENGINE,
                key=f"{self._name}-{self._submitted}",
                pure=False,
                retries=RETRIES,
            )
            future.add_done_callback(self._events.put)
        self._submitted += 1
        self._waiting[future] = part, rows

    def interrupt(self) -> None:
        """End the sweep; signal handlers may call it."""
        self._events.put(None)

    def _collect(self) -> Iterator[tuple[Part, pa.Table]]:
        """Wait for something to happen, and give the parts that it completes."""
        event = self._wait()
        if isinstance(event, Future):
            self._fetch([event])
            return
        with _explained():
            results = event.results.result()
        for future, figures in zip(event.futures, results, strict=True):
            part, rows = self._waiting.pop(future)
            part.add(rows, figures)
            self._loads_done += len(rows)
            if part.is_complete:
                yield part.part, part.table()
        self._report(self._loads_done)

    def _fetch(self, futures: list[Future[pa.Table]]) -> None:
        """Not waiting: if a worker dies now, its tasks are computed again before."""
        loop: Any = self._client.loop
        results = asyncio.run_coroutine_threadsafe(
            self._client.gather(futures, asynchronous=True), loop.asyncio_loop
        )
        results.add_done_callback(lambda done: self._events.put(_Fetched(futures, done)))

    def _wait(self) -> Future[pa.Table] | _Fetched:
        while True:
            if time.monotonic() - self._looked > CHECK_S:
                with _explained():
                    self._most = self._count()
            try:
                event = self._events.get(timeout=CHECK_S)
            except Empty:
                continue
            if event is None:
                raise KeyboardInterrupt
            return event

    def _count(self) -> int:
        """How many tasks may be on the cluster."""
        self._looked = time.monotonic()
        threads = _threads(self._client)
        if threads:
            self._seen = self._looked
        elif self._looked - self._seen > WORKERS_S:
            raise hinted(ClusterError(f"no worker has been running for {WORKERS_S:.0f} s"), _KEPT)
        return max(1, threads) * TASKS_PER_THREAD


def _unpacked(shipment: bytes) -> Shipment:
    """A task: opens the shipment on a worker, not on the scheduler."""
    opened = pickle.loads(shipment)
    assert isinstance(opened, Shipment)
    return opened


def _threads(client: Client) -> int:
    """Threads of the workers that take tasks; one that is short of memory does not."""
    workers = client.scheduler_info()["workers"].values()
    return sum(w["nthreads"] for w in workers if w["status"] == Status.running.name)


@contextmanager
def connected(address: str) -> Iterator[ClusterExecutor]:
    """Connect to a cluster, or start one on this machine, until the block ends.

    Parameters
    ----------
    address
        A scheduler's address, as "tcp://10.0.0.7:8786" (certificates for "tls://" come from Dask's
        configuration), or "local", "local:N": N processes of a thread each, by default one a core.

    Raises
    ------
    ClusterError
        There is no scheduler or no worker, or their Loadpath is another one.
    """
    # Plan and pages of a large sweep are more than Dask takes for wise; they are sent once.
    quiet = {"distributed.admin.large-graph-warning-threshold": "1 TB"}
    with _quiet(), dask.config.set(quiet), ExitStack() as stack:
        cluster = stack.enter_context(_local(address)) if address.startswith(LOCAL) else address
        with _explained(f"there is no Dask scheduler at {address}", _START):
            if cluster is address:
                _check_certificates(address)
            with _collected():
                client = Client(cluster, set_as_default=False)
        stack.callback(client.close)
        with _explained():
            _await_workers(client, address)
            _check_engines(client)
        yield ClusterExecutor(client)


@contextmanager
def _quiet() -> Iterator[None]:
    """What Dask logs of lost workers and lost results comes as an error, or is mended."""
    asyncio_log = logging.getLogger("asyncio")
    level = asyncio_log.level
    asyncio_log.setLevel(logging.CRITICAL)
    try:
        with silence_logging_cmgr(logging.CRITICAL):
            yield
    finally:
        asyncio_log.setLevel(level)


@contextmanager
def _local(address: str) -> Iterator[LocalCluster]:
    """Single-thread processes on this machine that only this process can talk to."""
    match = re.fullmatch(rf"{LOCAL}(?::([1-9]\d{{0,3}}))?", address)
    if match is None:
        raise hinted(
            ClusterError(f"{address!r} is no address of a cluster"),
            "`local:4` starts four processes on this machine; others are like tcp://HOST:8786",
        )
    settings = {
        # Their answers to whoever asks over HTTP.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        # By default every process looks at itself up to a hundred times a second.
        "distributed.worker.profile.enabled": False,
        "distributed.worker.memory.monitor-interval": "500ms",
        "distributed.admin.tick.interval": "500ms",
        "distributed.admin.system-monitor.interval": "5s",
        "distributed.admin.system-monitor.disk": False,
        "distributed.admin.system-monitor.gil.enabled": False,
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=int(match[1] or len(os.sched_getaffinity(0))),
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            # Without, everybody on this machine could run code as this user.
            security=Security.temporary(),
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            preload="loadpath.experiments.sweep.local_worker",
            silence_logs=logging.CRITICAL,
        ) as cluster,
    ):
        yield cluster


def _check_certificates(address: str) -> None:
    """What Dask would stumble over."""
    configured = Security()
    encrypted = address.startswith("tls://")
    if encrypted and configured.get_connection_args("client")["ssl_context"] is None:
        raise hinted(
            ClusterError(f"{address}: Dask's configuration names no certificates"),
            "they are distributed.comm.tls.ca-file, client.cert and client.key there",
        )
    if configured.require_encryption and not encrypted:
        raise hinted(
            ClusterError(f"{address}: Dask's configuration requires encryption"),
            "addresses of schedulers that encrypt start with tls://",
        )


def _await_workers(client: Client, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=WORKERS_S)
    except TimeoutError:
        raise hinted(
            ClusterError(f"the scheduler at {address} has no workers"),
            f"start some: dask worker {address} --nthreads 1",
        ) from None


def _check_engines(client: Client) -> None:
    """All processes of the cluster must have our engine."""
    found = {
        f"worker {worker}": engine
        for worker, engine in client.run(_engine, on_error="return").items()
        if not isinstance(engine, OSError)  # Gone meanwhile.
    }
    try:
        found["the scheduler"] = client.run_on_scheduler(_engine)
    except (ImportError, AttributeError) as error:
        found["the scheduler"] = error
    others = {name: engine for name, engine in found.items() if engine != ENGINE}
    if others:
        raise _other_engines(ENGINE, others)


def _other_engines(ours: str, found: Mapping[str, object]) -> ClusterError:
    name, engine = next(iter(found.items()))
    what = (
        f"cannot be asked for it ({engine})" if isinstance(engine, Exception) else f"has {engine}"
    )
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return hinted(
        ClusterError(f"this is engine {ours}, but {name} {what}{more}"),
        "the whole cluster needs the same version: pip install 'loadpath[cluster]' there",
    )


@contextmanager
def _collected() -> Iterator[None]:
    """What fails to be made is collected here and now.

    A `Client` that did not connect closes itself when it is collected, which takes a lock of all of
    Dask's: whoever holds that when the garbage collector comes by would wait for ever.
    """
    try:
        yield
    except BaseException as error:
        traceback.clear_frames(error.__traceback__)
        gc.collect()
        raise


@contextmanager
def _explained(what: str = "the cluster is lost", hint: str = _KEPT) -> Iterator[None]:
    """Dask's errors as ours."""
    try:
        yield
    except LoadpathError:
        raise
    except KilledWorker as error:
        raise hinted(
            ClusterError(f"{error.allowed_failures + 1} workers died, each over the same loads"),
            f"perhaps for lack of memory: give a worker more, or fewer threads; {_KEPT}",
        ) from None
    except (concurrent.futures.CancelledError, OSError, TimeoutError, ValueError) as error:
        raise hinted(ClusterError(f"{what}: {error}"), hint) from error
