"""A validation from end to end: pages, networks and protocols in, accuracy out."""

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from loadpath._core import Page
from loadpath.errors import LoadpathError
from loadpath.testbed.load import Http, Load
from loadpath.validation.accuracy import CellResult, resource_times
from loadpath.validation.baseline import Kept, keep, keep_graph
from loadpath.validation.cells import (
    NETWORKS,
    PROTOCOLS,
    QUICK_NETWORKS,
    ValidationNetwork,
    held_out,
)
from loadpath.validation.lantern import Lantern
from loadpath.validation.measure import Job, Measurement, interleaved
from loadpath.validation.pages import ValidationPage, tls_keys
from loadpath.validation.predict import Prediction, predict

__all__ = ["QUICK", "Environment", "Plan", "Result", "Validation"]

Progress = Callable[[str, int, int], object]


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """Where and when loads were measured."""

    date: str
    system: str
    processors: int
    browser: str

    @staticmethod
    def of(browser: str) -> "Environment":
        """The machine that we are on."""
        return Environment(
            date=datetime.now(UTC).strftime("%Y-%m-%d"),
            system=f"{platform.system()} {platform.release()}",
            processors=len(os.sched_getaffinity(0)),
            browser=browser,
        )


@dataclass(frozen=True)
class Plan:
    """What is measured."""

    networks: Sequence[ValidationNetwork] = NETWORKS
    protocols: Sequence[Http] = PROTOCOLS
    runs: int = 10
    lossy_runs: int = 30
    """Where packets may be lost loads differ more."""

    def jobs(self, pages: Sequence[ValidationPage]) -> list[Job]:
        """All loads, in the order in which they are made."""
        return list(interleaved(pages, self.networks, self.protocols, self.runs, self.lossy_runs))


QUICK = Plan(networks=QUICK_NETWORKS, runs=4, lossy_runs=7)
"""With six pages 6 x 3 x (2 x 4 + 2 x 7) = 396 loads of 2 to 7 s: within 40 minutes."""

QUICK_PAGES = 6


@dataclass(frozen=True)
class Result:
    """What a validation found."""

    cells: list[CellResult]
    environment: Environment
    plan: Plan


@dataclass(frozen=True)
class Validation:
    """Pages, a plan, and loads of them."""

    pages: Sequence[ValidationPage]
    plan: Plan
    measurement: Measurement
    lantern: Lantern | None = None
    """Whose predictions are to stand beside ours."""
    keys: Mapping[str, object] = field(default_factory=dict)
    """Scenario values of every prediction, beside the cell's own."""

    def measure(self, progress: Progress, *, minutes: float | None = None) -> None:
        """Make the loads that are missing; see `Measurement.measure`."""
        for page in self.pages:
            for http in self.plan.protocols:
                self.measurement.probe(page, http)
        self.measurement.measure(
            self.plan.jobs(self.pages),
            lambda done, total: progress("measuring", done, total),
            minutes=minutes,
        )

    def examine(self, progress: Progress) -> Result:
        """Predict all cells and compare them with the loads that are there."""
        cells, inputs = self._cells()
        found = predict(inputs, lambda done, total: progress("simulating", done, total))
        results = [
            self._examine(*cell, prediction) for cell, prediction in zip(cells, found, strict=True)
        ]
        if self.lantern is not None:
            self._ask_lantern(self.lantern, results, progress)
        return Result(results, Environment.of(self.measurement.browser), self.plan)

    def keep_predictions(self, result: Result, folder: Path) -> Path:
        """Keep graphs and predictions, of which a test sees that they do not move."""
        found = {(cell.page, cell.http, cell.network): cell for cell in result.cells}
        kept = []
        for page in self.pages:
            for http in self.plan.protocols:
                graph = keep_graph(folder, page.name, http, page.graph(http))
                for network in self.plan.networks:
                    kept.append(
                        Kept(
                            page=page.name,
                            graph=graph,
                            http=http,
                            network=network.name,
                            keys=self._keys(page, http),
                            load_ms=found[page.name, http, network].predicted_ms,
                        )
                    )
        return keep(folder, kept)

    def _keys(self, page: ValidationPage, http: Http) -> dict[str, object]:
        probe = self.measurement.probe(page, http, make=False)
        return {**tls_keys(probe), **page.server_keys(http), **self.keys}

    def _cells(
        self,
    ) -> tuple[
        list[tuple[ValidationPage, ValidationNetwork, Http]],
        list[tuple[Page, ValidationNetwork, Http, dict[str, object]]],
    ]:
        cells, inputs = [], []
        for page in self.pages:
            for http in self.plan.protocols:
                graph = page.graph(http)
                keys = self._keys(page, http)
                for network in self.plan.networks:
                    cells.append((page, network, http))
                    inputs.append((graph, network, http, keys))
        return cells, inputs

    def _ask_lantern(
        self, lantern: Lantern, results: Sequence[CellResult], progress: Progress
    ) -> None:
        """Fill in Lantern's predictions where it can read the profile."""
        asked = [(page, http) for page in self.pages for http in self.plan.protocols]
        for index, (page, http) in enumerate(asked):
            progress("Lantern", index, len(asked))
            folder = page.profile(http)
            cells = [cell for cell in results if (cell.page, cell.http) == (page.name, http)]
            if folder is None or not cells:
                continue
            try:
                times = lantern.predict(folder, http, [cell.network for cell in cells])
            except LoadpathError as error:
                self.measurement.note(str(error))
                continue
            for cell, time_ms in zip(cells, times, strict=True):
                cell.lantern_ms = time_ms

    def _examine(
        self, page: ValidationPage, network: ValidationNetwork, http: Http, prediction: Prediction
    ) -> CellResult:
        runs = self.plan.lossy_runs if network.lossy else self.plan.runs
        counted: dict[int, Load] = {}
        attempts = 0
        problems: list[str] = []
        for run in range(runs):
            job = Job(page, network, http, run)
            attempts += len(self.measurement.loads(job))
            load = self.measurement.counted(job)
            if load is not None:
                counted[run] = load
            else:
                problems += [
                    stored.load.reason
                    for stored in self.measurement.loads(job)
                    if stored.load.reason is not None
                ]
        misses = {url for load in counted.values() for url in load.misses}
        if misses:
            problems.append(f"{len(misses)} URLs are not in the archive")
        if prediction.load_ms is None:
            problems.append("the simulated load does not end")
        return CellResult(
            page=page.name,
            held_out=held_out(page.name),
            network=network,
            http=http,
            measured={
                run: load.load_ms for run, load in counted.items() if load.load_ms is not None
            },
            rejected=attempts - len(counted),
            prediction=prediction,
            resources=resource_times(list(counted.values()), prediction),
            problem="; ".join(dict.fromkeys(problems)),
        )
