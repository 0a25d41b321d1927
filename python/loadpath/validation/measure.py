"""Measuring the cells of a validation: interleaved, in blocks between control loads."""

import math
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import msgspec

from loadpath.errors import LinkError, LoadpathError, StoreError
from loadpath.profiler.chromium import find_browser
from loadpath.testbed.link import LinkSettings
from loadpath.testbed.load import Http, Load
from loadpath.testbed.loader import (
    LOADER_VERSION,
    BusyMachineError,
    LoadSettings,
    load_over_link,
    wait_until_idle,
)
from loadpath.testbed.pages import Serve
from loadpath.validation.cells import ValidationNetwork
from loadpath.validation.pages import ValidationPage
from loadpath.validation.store import Block, LoadKey, LoadStore, StoredLoad

__all__ = [
    "BLOCK_S",
    "CONTROL_LOADS",
    "Job",
    "Measurement",
    "browser_version",
    "interleaved",
]

BLOCK_S = 300.0
"""Loads between two controls."""

CONTROL_LOADS = 7
"""Of which the median counts: single loads of a small page spread by 5 to 10 %."""

ATTEMPTS = 4
"""Of a load that does not count, before it is given up."""

IDLE_S = 1800.0
"""How long a busy machine is waited for."""

NULL_LINK = LinkSettings(
    profile="linux",
    rate="1gbit",
    rtt_ms=0.0,
    queue="unlimited",
    set={"network.up_queue": "unlimited"},
)
"""The control's: so fast that the machine alone decides."""

Loader = Callable[[LinkSettings, Serve, LoadSettings], Load]
"""`load_over_link`, or what stands for it in tests."""


@dataclass(frozen=True)
class Job:
    """One load that is wanted."""

    page: ValidationPage
    network: ValidationNetwork
    http: Http
    run: int


def browser_version(browser: Path | None = None) -> str:
    """What the browser says of itself."""
    program = find_browser(browser)
    result = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=False, timeout=60
    )
    return result.stdout.strip() or program.name


@dataclass
class Measurement:
    """Loads of a store, and the making of those that are missing."""

    store: LoadStore
    browser: str
    """Its version."""
    settings: LoadSettings
    control: ValidationPage
    """The page of the control loads."""
    note: Callable[[str], object] = lambda text: None
    loader: Loader = load_over_link
    idle: Callable[[float, Callable[[str], object]], None] = wait_until_idle
    clock: Callable[[], float] = time.monotonic
    _blocks: dict[str, Block] = field(default_factory=dict)
    """Those that were read."""

    def loads(self, job: Job) -> list[StoredLoad]:
        """All attempts at a load, in order."""
        found: list[StoredLoad] = []
        while (stored := self.store.load(self._key(job, len(found)))) is not None:
            found.append(stored)
        return found

    def counted(self, job: Job) -> Load | None:
        """The load that counts, if there is one."""
        for stored in self.loads(job):
            if self._counts(stored):
                return stored.load
        return None

    def missing(self, jobs: Sequence[Job]) -> list[Job]:
        """Loads that are still to be made, in order."""
        return [
            job for job in jobs if self.counted(job) is None and len(self.loads(job)) < ATTEMPTS
        ]

    def measure(
        self,
        jobs: Sequence[Job],
        progress: Callable[[int, int], object] = lambda done, all: None,
        *,
        minutes: float | None = None,
    ) -> None:
        """Make all loads that are missing; what is made is kept whatever happens later.

        With `minutes` no load is begun after so long, and the block under way still gets its
        control loads, which an interruption would cost.

        Raises
        ------
        BusyMachineError
            Others use the machine and do not stop.
        LoadpathError
            There can be no links, or nothing can be kept.
        """
        before: list[float] | None = None
        deadline = math.inf if minutes is None else self.clock() + 60 * minutes
        while (missing := self.missing(jobs)) and self.clock() < deadline:
            remaining = iter(missing)
            done = len(jobs) - len(missing)
            ended = False
            while not ended and self.clock() < deadline:
                if before is None:
                    before = self._control()
                block = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
                start = self.clock()
                made = 0
                while self.clock() < min(start + BLOCK_S, deadline):
                    job = next(remaining, None)
                    if job is None:
                        ended = True
                        break
                    self._load(job, block)
                    made += 1
                    progress(min(len(jobs), done + made), len(jobs))
                if not made:
                    break
                done += made
                after = self._control()
                self._end(block, before, after)
                before = after
        if missing:
            self.note(f"{minutes:g} minutes are over: the same command goes on")

    def probe(self, page: ValidationPage, http: Http, *, make: bool = True) -> Load | None:
        """A load that recorded its TLS handshakes; made once, never counted as a measurement."""
        key = self._key_of(page, "probe", http, 0, 0)
        stored = self.store.load(key)
        if stored is None and make:
            settings = msgspec.structs.replace(
                self.settings, http=http, handshakes=True, sockets=False
            )
            started = _now()
            load = self.loader(NULL_LINK, page.serve(http), settings)
            stored = StoredLoad(key, "", started, load)
            self.store.keep(stored)
        return None if stored is None else stored.load

    def _load(self, job: Job, block: str) -> None:
        key = self._key(job, len(self.loads(job)))
        # Connections of one load tell whether the kernels do as asked; looking takes 0.2 s.
        settings = msgspec.structs.replace(self.settings, http=job.http, sockets=job.run == 0)
        link, serve = job.network.link_settings(job.run), job.page.serve(job.http)
        started = _now()
        try:
            load = self._when_idle(link, serve, settings)
        except (LinkError, BusyMachineError, StoreError):
            raise
        except LoadpathError as error:
            load = Load(status="failed", reason=str(error), http=job.http)
        self.store.keep(StoredLoad(key, block, started, load))
        if not load.believed:
            why = "; ".join(load.doubts) or load.reason or "no load event"
            self.note(f"{job.page.name} {job.http} {job.network.name} run {job.run}: {why}")

    def _when_idle(self, link: LinkSettings, serve: Serve, settings: LoadSettings) -> Load:
        """A load that waits for an idle machine: the loader looks at it anyway."""
        refusing = msgspec.structs.replace(settings, refuse_busy=True)
        while True:
            try:
                return self.loader(link, serve, refusing)
            except BusyMachineError:
                self.idle(IDLE_S, self.note)

    def _control(self) -> list[float]:
        """Load times of the control page over the null link."""
        times: list[float] = []
        settings = msgspec.structs.replace(self.settings, http="h1", network=False, sockets=False)
        for _ in range(2 * CONTROL_LOADS):
            load = self._when_idle(NULL_LINK, self.control.serve("h1"), settings)
            # How late so fast a link is does not matter.
            busy = load.machine is not None and load.machine.doubts
            if load.load_ms is not None and not busy:
                times.append(load.load_ms)
            if len(times) == CONTROL_LOADS:
                return times
        raise BusyMachineError(
            f"{self.control.name}: of {2 * CONTROL_LOADS} control loads only {len(times)} came to "
            "an end on an idle machine"
        )

    def _end(self, block: str, before: list[float], after: list[float]) -> None:
        ended = Block(id=block, ended=_now(), before_ms=before, after_ms=after)
        self.store.keep_block(ended)
        if not ended.accepts(median(before)):
            self.note(
                f"the machine changed: its control load takes {ended.moved_ms:+.0f} ms of "
                f"{median(before):.0f}; short loads are made again"
            )

    def _counts(self, stored: StoredLoad) -> bool:
        load, block = stored.load, self._blocks.get(stored.block)
        if load.load_ms is None or not load.believed:
            return False
        if block is None:
            block = self.store.block(stored.block)
            if block is None:
                return False
            self._blocks[block.id] = block
        return block.accepts(load.load_ms)

    def _key(self, job: Job, attempt: int) -> LoadKey:
        return self._key_of(job.page, job.network.name, job.http, job.run, attempt)

    def _key_of(
        self, page: ValidationPage, network: str, http: Http, run: int, attempt: int
    ) -> LoadKey:
        return LoadKey(
            archive=page.digest,
            page=page.name,
            network=network,
            http=http,
            server=page.server,
            browser=self.browser,
            loader=LOADER_VERSION,
            run=run,
            attempt=attempt,
        )


def interleaved(
    pages: Sequence[ValidationPage],
    networks: Sequence[ValidationNetwork],
    protocols: Sequence[Http],
    runs: int,
    lossy_runs: int,
) -> Iterator[Job]:
    """Run 0 of all cells, run 1 of all cells, and so on."""
    for run in range(max(runs, lossy_runs)):
        for network in networks:
            if run < (lossy_runs if network.lossy else runs):
                for page in pages:
                    for http in protocols:
                        yield Job(page, network, http, run)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
