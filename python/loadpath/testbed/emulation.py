"""Loads of a page for real: what `loadpath emulate` does."""

import errno
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import msgspec

from loadpath._core import Scenario
from loadpath.errors import LinkError, LoadpathError, hinted
from loadpath.outcome import Outcome
from loadpath.parameters import Parameters, describe_network, resolve_scenario, scenario_values
from loadpath.testbed.link import DEFAULT_PROFILE, LinkSettings, link_settings
from loadpath.testbed.load import Load
from loadpath.testbed.loader import BusyMachineError, LoadSettings, load_over_link
from loadpath.testbed.outcomes import outcome_of
from loadpath.testbed.pages import ArchivedPage, Serve, archived, http_of, served_by_origin

__all__ = ["Emulated", "Emulation", "emulate"]


class Emulated(msgspec.Struct, frozen=True):
    """One load, as it was, and in the simulator's schema."""

    run: int
    load: Load
    outcome: Outcome


@dataclass(frozen=True)
class Emulation:
    """A page, its server, and the network to it."""

    page: ArchivedPage
    parameters: Parameters
    settings: LoadSettings
    netlogs: Path | None = None
    """Folder for network logs, one a load."""
    captures: Path | None = None
    """Folder for packet captures, one a load."""
    served_by: Callable[[ArchivedPage, Scenario], Serve] = served_by_origin
    """Which server replays the page."""

    def scenario(self) -> Scenario:
        """What is emulated."""
        return resolve_scenario(self._parameters())

    def describe(self) -> str:
        """What is emulated, in one line."""
        scenario = self.scenario()
        http = scenario_values(scenario)["http"]["version"]
        return f"emulated, {describe_network(scenario)}, {http} ({http_of(scenario)})"

    def loads(self, runs: int) -> Iterator[Emulated]:
        """Cold loads, each over a new link from a new server.

        A load that fails is among them, marked as failed, unless it is the first.

        Raises
        ------
        LoadpathError
            There can be no loads at all.
        BusyMachineError
            The machine is busy, and loads on a busy one are refused.
        """
        scenario = self.scenario()
        http = http_of(scenario)
        serve = self.served_by(self.page, scenario)
        for run in range(runs):
            settings = msgspec.structs.replace(
                self.settings,
                http=http,
                netlog=self.netlogs and self.netlogs / f"{self.page.name}-{run}.netlog.json",
            )
            try:
                load = load_over_link(self._link(run), serve, settings)
            except BusyMachineError:
                raise
            except LoadpathError as error:
                if run == 0 or isinstance(error, LinkError):
                    raise
                load = Load(status="failed", reason=str(error), http=http)
            except OSError as error:
                raise _no_space(error) from error
            yield Emulated(run, load, outcome_of(load, self.page.name, scenario, run))

    def _link(self, run: int) -> LinkSettings:
        link = link_settings(self._parameters(), run)
        if self.captures is not None:
            link["tap"] = self.captures / f"{self.page.name}-{run}.pcapng"
        return link

    def _parameters(self) -> Parameters:
        parameters = self.parameters.copy()
        if parameters.get("profile") is None and parameters.get("scenario") is None:
            parameters["profile"] = DEFAULT_PROFILE
        if parameters.get("http") == "h3":
            # What stands for HTTP/3 in scenarios.
            parameters["http"] = "quic"
        return parameters


def emulate(
    page: str | Path,
    *,
    runs: int = 1,
    settings: LoadSettings | None = None,
    **parameters: Unpack[Parameters],
) -> list[Emulated]:
    """Load a page for real, over an emulated link, from a server that replays it.

    Parameters
    ----------
    page
        The folder of a profile, a HAR file with bodies, or a page graph, whose bodies are made up.
    runs
        Cold loads; each has the random losses of that repetition in simulation.
    settings
        The browser; its HTTP version is the scenario's.
    **parameters
        See `loadpath.parameters.Parameters`; the profile is "linux" unless another is named.

    Returns
    -------
    list of Emulated
        Failed loads are among them, but for the first.

    Raises
    ------
    LoadpathError
        There can be no loads: no link, no browser, no page.
    """
    with archived(page) as found:
        return list(Emulation(found, parameters, settings or LoadSettings()).loads(runs))


def _no_space(error: OSError) -> LoadpathError:
    if error.errno == errno.ENOSPC:
        where = f" for {error.filename}" if error.filename else ""
        return hinted(
            LoadpathError(f"the disk is full: no space left{where}"),
            "browsers keep their caches in $TMPDIR",
        )
    return LoadpathError(f"{error.filename or 'a file'}: {error.strerror}")
