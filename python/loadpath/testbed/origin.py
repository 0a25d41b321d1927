"""An origin server that replays a page archive to a browser, on loopback or behind a link.

It is a process of its own, so that it can be at the server's end of a link and that nothing of the
browser's driver slows it down. It serves what the archive's URLs name, nothing else; every other
host does not exist for a browser that is started with `Origin.browser_flags`.
"""

import ipaddress
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from loadpath.errors import NotFoundError, OriginError, hinted
from loadpath.profiler.chromium import DEFAULT_BROWSER
from loadpath.testbed.link import Link

__all__ = [
    "Addresses",
    "ArchiveSummary",
    "HttpVersion",
    "Miss",
    "Origin",
    "OriginReport",
    "OriginSettings",
    "PriorityKind",
    "ServerModel",
    "read_order",
    "start_origin",
]

Addresses = Literal["one", "one-per-host"]
HttpVersion = Literal["h1", "h2", "h3"]
PriorityKind = Literal["none", "client", "order"]
ServerModel = Literal["parallel", "serial", "out-of-order"]

_END_S = 10.0
"""A server ends at once; on a machine this slow it is killed."""

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class OriginSettings:
    """What is served, and how."""

    archive: Path
    """A HAR file with bodies, or a folder that `loadpath profile` made."""
    http: HttpVersion = "h2"
    """What is spoken over TLS; in the clear it is HTTP/1.1."""
    tls: bool = True
    """Whether the page is asked for by https://. HTTP/2 and HTTP/3 have no other form."""
    addresses: Addresses = "one"
    """Whether all hosts are at one address."""
    server_model: ServerModel = "out-of-order"
    """How several requests on one connection are treated (thesis section 3.7.6)."""
    delays: Literal["recorded", "none"] | Mapping[str, float] = "recorded"
    """Processing delays: as they were recorded, none, or ms by URL."""
    priorities: PriorityKind = "client"
    """Which response's bytes go first on a connection: those of the first that is ready, as the
    client signals (RFC 9218), or as `order` says.
    """
    order: Sequence[str] = ()
    """URLs, the most urgent first; others come after them, oldest first."""
    freeze: bool = False
    """Whether HTML gets a script that makes the clock and Math.random repeat themselves."""
    certificate_bytes: int = 2500
    """Size of the certificate chain; an ECDSA leaf and one intermediate are about 1.2 kB each."""
    log: Path | None = None
    """A file that takes a line of JSON for each request."""


class Miss(msgspec.Struct, frozen=True):
    """A request that the archive does not have as it was made."""

    method: str
    url: str
    found: Literal["missing", "closest", "failed-then"]
    """Answered with 404; answered with the recording of another query; answered with 404 because it
    failed when it was recorded, too.
    """
    count: int


class ArchiveSummary(msgspec.Struct, frozen=True):
    """What became of the archive's bodies."""

    responses: int
    recorded_bytes: int
    """On the wire, of the responses of which that is known."""
    sent_bytes: int
    """The same responses as they are sent now."""
    bodies_missing: list[str]
    """URLs whose bodies were not recorded: zeros of their size are sent."""


class OriginReport(msgspec.Struct, frozen=True):
    """What an origin did since it was started."""

    requests: int
    body_bytes: int
    misses: list[Miss]
    connections: dict[str, int]
    """By protocol: h1 (in the clear), h1-tls, h2, h3."""
    errors: dict[str, int]
    """Connections and requests that failed, by what failed."""
    archive: ArchiveSummary

    def describe(self) -> str:
        """The report in a few lines."""
        connections = ", ".join(f"{count} {name}" for name, count in self.connections.items())
        lines = [f"{self.requests} requests over {connections or 'no connections'}"]
        lines += [
            f"{miss.found}: {miss.method} {miss.url}" + f" ({miss.count} times)" * (miss.count > 1)
            for miss in self.misses
        ]
        lines += [f"{count} times: {what}" for what, count in self.errors.items()]
        return "\n".join(lines)


class _Place(msgspec.Struct):
    host: str
    port: int
    tls: bool
    address: str
    listens_on: int


class _Ready(msgspec.Struct):
    url: str
    spki: str
    hosts: list[_Place]
    archive: ArchiveSummary


class _Failure(msgspec.Struct):
    error: str
    hints: list[str]


class Origin:
    """A running origin; made by `start_origin`."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", ready: _Ready, settings: OriginSettings
    ) -> None:
        self._process = process
        self._ready = ready
        self._report: OriginReport | None = None
        self.settings = settings

    @property
    def url(self) -> str:
        """The archive's page."""
        return self._ready.url

    @property
    def spki(self) -> str:
        """SHA-256 of a public key in every certificate chain, base64."""
        return self._ready.spki

    @property
    def archive(self) -> ArchiveSummary:
        """What became of the archive's bodies."""
        return self._ready.archive

    @property
    def resolver_rules(self) -> str:
        """For Chromium's `--host-resolver-rules`: the archive's hosts, and no others."""
        rules = [
            f"MAP {place.host}:{place.port} {place.address}:{place.listens_on}"
            for place in self._ready.hosts
        ]
        return ",".join([*rules, "MAP * ~NOTFOUND"])

    @property
    def browser_flags(self) -> list[str]:
        """What Chromium needs to know to load the page from here, over this protocol."""
        flags = [
            f"--host-resolver-rules={self.resolver_rules}",
            f"--ignore-certificate-errors-spki-list={self.spki}",
        ]
        if self.settings.http == "h3":
            hosts = [f"{place.host}:{place.port}" for place in self._ready.hosts if place.tls]
            return [*flags, "--enable-quic", f"--origin-to-force-quic-on={','.join(hosts)}"]
        return [*flags, "--disable-quic"]

    def command_line(self) -> str:
        """What a shell needs to load the page in Chromium, with a profile that is thrown away."""
        flags = [
            "--headless",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            *self.browser_flags,
            "--dump-dom",
        ]
        return shlex.join([DEFAULT_BROWSER, *flags, self.url])

    def wait(self) -> None:
        """Wait until the server ends.

        Raises
        ------
        OriginError
            It did, though nobody asked it to.
        """
        self._process.wait()
        raise OriginError("the origin's process was killed")

    def report(self) -> OriginReport:
        """What it did so far, or until it ended.

        Raises
        ------
        OriginError
            It was killed.
        """
        if self._report is not None:
            return self._report
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(b"report\n")
            self._process.stdin.flush()
        return _decode(self._process.stdout.readline(), OriginReport)

    def _close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        line = b""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
            line = self._process.stdout.readline()
        if line:
            self._report = _decode(line, OriginReport)


@contextmanager
def start_origin(settings: OriginSettings, link: Link | None = None) -> Iterator[Origin]:
    """Serve an archive on loopback, or at the server's end of a link.

    Raises
    ------
    NotFoundError
        There is no such archive.
    OriginError
        It cannot be served.
    """
    configuration = msgspec.json.encode(_configuration(settings, link))
    command = [sys.executable, "-P", "-m", "loadpath.testbed.origin_process"]
    options: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    if link is None:
        # Ctrl-C is for this process; the server ends when its input does.
        process = subprocess.Popen(command, start_new_session=True, **options)
    else:
        process = link.popen("server", command, start_new_session=True, **options)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with suppress(BrokenPipeError):
            process.stdin.write(configuration + b"\n")
            process.stdin.flush()
        origin = Origin(process, _decode(process.stdout.readline(), _Ready), settings)
        try:
            yield origin
        finally:
            origin._close()
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        process.kill()
        process.wait()


def read_order(path: Path) -> list[str]:
    """The URLs of a file, a line each.

    Raises
    ------
    OriginError
        It cannot be read.
    """
    try:
        return path.read_text().split()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text"
        raise hinted(OriginError(f"{path}: {reason}"), "a file with a URL a line") from error


def _configuration(settings: OriginSettings, link: Link | None) -> dict[str, Any]:
    if settings.http != "h1" and not settings.tls:
        raise hinted(
            OriginError(f"http = {settings.http}, tls = False: browsers speak it over TLS only"),
            "http = h1 for a page in the clear",
        )
    if settings.order and settings.priorities != "order":
        raise hinted(
            OriginError(f"an order is given, but priorities = {settings.priorities}"),
            'priorities="order"',
        )
    per_host = settings.addresses == "one-per-host"
    address, outside = "127.0.0.1", None
    if link is not None:
        outside = os.stat("/proc/self/ns/net").st_ino  # noqa: PTH116
        address = link.server_address
        if per_host:
            network = ipaddress.ip_network(link.server_addresses)
            address = str(network.network_address + 1)
    archive = _archive(settings.archive)
    delays: Any = settings.delays
    if not isinstance(delays, str):
        delays = {"given": dict(delays)}
    elif delays == "recorded" and archive != settings.archive:
        delays = {"given": _measured_delays(settings.archive)}
    return {
        "archive": str(archive.resolve()),
        "http": settings.http,
        "tls": settings.tls,
        "address": address,
        "address_per_host": per_host,
        "outside_network": outside,
        "server_model": settings.server_model,
        "delays": delays,
        "priorities": settings.priorities,
        "order": list(settings.order),
        "freeze": settings.freeze,
        "certificate_bytes": settings.certificate_bytes,
        "log": None if settings.log is None else str(settings.log.resolve()),
        "control": True,
    }


def _archive(path: Path) -> Path:
    file = path / "archive.har" if path.is_dir() else path
    if not file.is_file():
        raise hinted(
            NotFoundError(f"{file}: no such file"),
            "a HAR file with bodies, or a folder that `loadpath profile` made",
        )
    return file


def _measured_delays(profile: Path) -> dict[str, float]:
    """What `loadpath delays` finds out: the first request of a URL stands for all."""
    # It needs the whole profiler.
    from loadpath.profiler.delays import server_delays

    delays: dict[str, float] = {}
    for request in server_delays(profile).requests:
        if request.delay_ms is not None:
            delays.setdefault(request.url, max(0.0, request.delay_ms))
    return delays


def _decode(line: bytes, type: type[_T]) -> _T:
    """A line of the server's process, or the error that it tells of."""
    if not line:
        raise OriginError("the origin's process was killed")
    try:
        return msgspec.json.decode(line, type=type)
    except msgspec.ValidationError:
        failure = msgspec.json.decode(line, type=_Failure)
        error = OriginError(failure.error)
        for hint in failure.hints:
            error.add_note(hint)
        raise error from None
