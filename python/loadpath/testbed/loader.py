"""One cold load of a page in Chromium, over a link.

>>> from loadpath.testbed.loader import LoadSettings
>>> LoadSettings(http="h2").browser_flags()
['--disable-quic']
"""

import fcntl
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import msgspec

from loadpath.errors import LinkError, LoadpathError, NotFoundError, hinted
from loadpath.profiler.chromium import find_browser
from loadpath.profiler.manifest import TlsHandshake
from loadpath.testbed.link import Link, LinkSettings, kernel_congestion, open_link
from loadpath.testbed.load import Http, Load, PageLoad
from loadpath.testbed.load_process import Failure, Order
from loadpath.testbed.machine import BUSY_PROCESSORS, MachineWatch, busy_processors
from loadpath.testbed.sockets import TcpSocket, read_sockets

__all__ = [
    "LOADER_VERSION",
    "PROTOCOLS",
    "BusyMachineError",
    "LoadSettings",
    "Served",
    "WebServer",
    "load_over_link",
    "load_page",
    "wait_until_idle",
]

LOADER_VERSION = 2
"""Loads of another number are not comparable: it grows when flags or what times mean change."""

PROTOCOLS: dict[Http, str] = {"h1": "http/1.1", "h2": "h2", "h3": "h3"}
"""ALPN names, as Chromium reports them."""

_START_S = 60.0
"""What a load may take besides its time limit: browser start, replies, the end of the browser."""

_SCRATCH = "loadpath-load-"


class BusyMachineError(LoadpathError):
    """Something else runs on this machine, so that nothing can be measured on it."""


@runtime_checkable
class WebServer(Protocol):
    """A running server that has the page."""

    @property
    def url(self) -> str:
        """The page."""

    @property
    def resolver_rules(self) -> str | None:
        """Chromium's --host-resolver-rules."""

    @property
    def spki(self) -> str | None:
        """SHA-256 of its certificate's public key, base64."""

    @property
    def browser_flags(self) -> Sequence[str]:
        """Further flags of the browser."""


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """A server that somebody else runs."""

    url: str
    resolver_rules: str | None = None
    spki: str | None = None
    browser_flags: tuple[str, ...] = ()


class LoadSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a page is loaded."""

    http: Http | None = None
    """The version to be used for every request; None leaves it to browser and server."""
    browser: Path | None = None
    """None: the headless shell of the system."""
    no_sandbox: bool = False
    timeout_s: float = 60.0
    """For the load event, counted from the navigation."""
    network: bool = True
    """Listen to the Network domain: without it no requests are told of, and nothing is sent to
    DevTools during the load but its milestones."""
    netlog: Path | None = None
    """File for Chromium's network log."""
    handshakes: bool = False
    """Record everything in the network log, which slows loads down, for sizes of TLS messages."""
    sockets: bool = True
    """Look at the connections at the server's end."""
    refuse_busy: bool = False
    """Raise `BusyMachineError` instead of marking the load."""
    flags: tuple[str, ...] = ()
    """Further flags of Chromium."""

    def browser_flags(self) -> list[str]:
        """The flags that force the HTTP version."""
        match self.http:
            case "h1":
                forced = ["--disable-http2", "--disable-quic"]
            case "h2":
                forced = ["--disable-quic"]
            case "h3":
                forced = ["--enable-quic"]
            case None:
                forced = []
        return [*forced, *self.flags]


def load_page(link: Link | None, server: WebServer, settings: LoadSettings | None = None) -> Load:
    """Load a page once, with a new browser and an empty cache.

    Parameters
    ----------
    link
        The link; the browser runs at its client's end. None: on this machine, without a link.
    server
        Where the page is.
    settings
        How.

    Returns
    -------
    Load
        With `doubts` if it is not to be believed, but without the link's own: those come with its
        report, see `load_over_link`.

    Raises
    ------
    LoadpathError
        There is no browser or no page.
    BusyMachineError
        The machine was busy before the load, and `refuse_busy`.
    """
    settings = settings or LoadSettings()
    machine = MachineWatch()
    if settings.refuse_busy and machine.busy_before > BUSY_PROCESSORS:
        raise BusyMachineError(
            f"this machine is busy: {machine.busy_before:.2f} processors in use by others"
        )
    with _scratch() as scratch:
        order = _order(server, settings, scratch)
        page, sockets = _run(link, order, settings)
    load = Load(
        **msgspec.structs.asdict(page),
        http=settings.http,
        sockets=sockets,
        machine=machine.end(),
    )
    assert load.machine is not None
    load.doubts = [*load.machine.doubts, *_wrong_protocols(load), *_lost_requests(load)]
    return load


def load_over_link(
    link_settings: LinkSettings,
    serve: Callable[[Link], AbstractContextManager[WebServer]],
    settings: LoadSettings | None = None,
) -> Load:
    """One load over a link of its own, from a server of its own: nothing is left of loads before.

    Parameters
    ----------
    link_settings
        The link.
    serve
        Starts the server at the link's other end; a server that has `report()` tells of requests
        for what it has not.
    settings
        How to load.

    Raises
    ------
    LoadpathError
        There can be no link, no server, or no page.
    """
    with open_link(**link_settings) as link:
        if len(link.client_addresses) > 1:
            _need_mptcp(link)
        with serve(link) as server:
            load = load_page(link, server, settings)
            load.misses = _misses(server)
        report = link.close()
    load.link = report
    wanted = kernel_congestion(link_settings, link.scenario)
    others = Counter(each.congestion for each in load.sockets if each.congestion != wanted)
    load.warnings += [
        f"{count} connections or subflows used {name}, not {wanted}"
        for name, count in others.items()
    ]
    if not report.verdict.ok:
        load.doubts = [*load.doubts, *(f"late link: {each}" for each in report.verdict.reasons)]
    return load


def _need_mptcp(link: Link) -> None:
    if shutil.which("mptcpize") is None:
        raise hinted(
            NotFoundError("loads over two paths need mptcpize, which is not on this machine"),
            "apt-get install mptcpize",
        )
    link.mptcp = True


def wait_until_idle(timeout_s: float, note: Callable[[str], object] = lambda text: None) -> None:
    """Return when nothing else uses the machine.

    Raises
    ------
    BusyMachineError
        Something did so all the time.
    """
    deadline = time.monotonic() + timeout_s
    told = False
    while (busy := busy_processors()) > BUSY_PROCESSORS:
        if time.monotonic() > deadline:
            raise BusyMachineError(
                f"this machine is busy: {busy:.2f} processors in use by others, for "
                f"{timeout_s:.0f} s"
            )
        if not told:
            note(f"waiting for the machine to be idle: {busy:.2f} processors in use")
            told = True
        time.sleep(1.0)


def _order(server: WebServer, settings: LoadSettings, scratch: Path) -> Order:
    flags = [*settings.browser_flags(), *server.browser_flags]
    if server.resolver_rules:
        flags.append(f"--host-resolver-rules={server.resolver_rules}")
    if server.spki:
        flags.append(f"--ignore-certificate-errors-spki-list={server.spki}")
    flags = list(dict.fromkeys(flags))
    netlog = settings.netlog
    if settings.handshakes and netlog is None:
        netlog = scratch / "netlog.json"
    return Order(
        url=server.url,
        browser=str(find_browser(settings.browser)),
        scratch=str(scratch),
        flags=flags,
        no_sandbox=settings.no_sandbox,
        timeout_s=settings.timeout_s,
        network=settings.network,
        netlog=None if netlog is None else str(netlog.absolute()),
        netlog_mode="Everything" if settings.handshakes else "Default",
    )


def _run(
    link: Link | None, order: Order, settings: LoadSettings
) -> tuple[PageLoad, list[TcpSocket]]:
    """Start the process of the load and hear what it says."""
    command = [sys.executable, "-P", "-m", "loadpath.testbed.load_process"]
    pipes: dict[str, Any] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        # Ctrl-C is for this process; the load ends when its input does.
        "start_new_session": True,
    }
    process: subprocess.Popen[bytes] = (
        subprocess.Popen(command, **pipes)
        if link is None
        else link.popen("client", command, **pipes)
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(msgspec.json.encode(order) + b"\n")
                process.stdin.flush()
            page = _hear(process, PageLoad, settings.timeout_s + _START_S)
            # While the browser lives, so do its connections.
            sockets = _sockets(link) if link is not None and settings.sockets else []
            process.stdin.close()
            if settings.handshakes:
                page.tls = _hear(process, list[TlsHandshake], _START_S)
            process.wait(_START_S)
        except BaseException:
            # The load ends with its input, and its browser before it.
            with suppress(OSError):
                process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            raise
    return page, sockets


_T = TypeVar("_T")


def _hear(process: "subprocess.Popen[bytes]", kind: type[_T], timeout_s: float) -> _T:
    assert process.stdout is not None
    if not select.select([process.stdout], [], [], timeout_s)[0]:
        raise LoadpathError(f"the load did not end within {timeout_s:g} s")
    line = process.stdout.readline()
    if not line:
        raise LinkError("the process of the load was killed")
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.ValidationError:
        failure = msgspec.json.decode(line, type=Failure)
        error = LoadpathError(failure.error)
        for hint in failure.hints:
            error.add_note(hint)
        raise error from None


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder that goes with the load; those of loaders that were killed go, too."""
    parent = Path(tempfile.gettempdir())
    for folder in parent.glob(f"{_SCRATCH}*"):
        with suppress(OSError), (folder / ".lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    try:
        folder = Path(tempfile.mkdtemp(prefix=_SCRATCH))
    except OSError as error:
        raise LoadpathError(f"cannot make a folder for the browser: {error.strerror}") from error
    try:
        with (folder / ".lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wrong_protocols(load: Load) -> list[str]:
    """Requests that did not use the version that was forced."""
    if load.http is None:
        return []
    wanted = PROTOCOLS[load.http]
    others = sorted(
        {each.protocol for each in load.requests if each.connection and each.protocol != wanted}
    )
    return [f"{load.http} was forced, but {', '.join(others)} used"] if others else []


_CONNECTION_ERRORS = re.compile(
    r"ERR_(CONNECTION|EMPTY_RESPONSE|TIMED_OUT|SOCKET|SSL|CERT|QUIC|HTTP2|ADDRESS_UNREACHABLE)"
)
"""net/base/net_error_list.h: what a server that has died, or cannot be spoken to, causes."""


def _lost_requests(load: Load) -> list[str]:
    """Requests that failed for other reasons than that the archive has no such host or response."""
    errors = Counter(
        each.error for each in load.requests if each.error and _CONNECTION_ERRORS.search(each.error)
    )
    return [f"{count} requests failed: {error}" for error, count in sorted(errors.items())]


def _misses(server: WebServer) -> list[str]:
    report = getattr(server, "report", None)
    if report is None:
        return []
    with suppress(LoadpathError):
        # What failed when it was recorded fails as it should.
        return [miss.url for miss in report().misses if miss.found != "failed-then"]
    return []


def _sockets(link: Link) -> list[TcpSocket]:
    """What the server's kernel says of its connections; nothing without ss(8)."""
    with suppress(OSError, LinkError):
        return read_sockets(link, "server")
    return []
