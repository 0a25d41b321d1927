"""A link in real time, and commands at both ends of it.

A link is a process of its own: a fresh interpreter that makes the namespaces and runs the packets
through the engine's links on a thread without the interpreter. It has to be a process: only one
with a single thread can make a user namespace, the namespaces must end when it ends, and a study
may keep several links. It is not a program of its own because a wheel is built from an extension
module or from programs, not from both at once; the interpreter only starts and stops the link, so
that nothing is lost.

Commands are ordinary child processes that start in the link's namespaces
(`loadpath.testbed.enter`), with all that `subprocess` offers.
"""

import ipaddress
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeVar, Unpack, cast

import msgspec

from loadpath._core import Scenario
from loadpath.errors import LinkError, hinted
from loadpath.parameters import (
    Parameters,
    describe_network,
    resolve_scenario,
    scenario_values,
)
from loadpath.testbed.report import LinkReport

__all__ = ["End", "Link", "LinkSettings", "kernel_congestion", "link_settings", "open_link"]

End = Literal["client", "server"]
"""An end of a link."""

DEFAULT_PROFILE = "linux"
"""What a link is like if nothing is said: the kernels at its ends are real ones."""

_T = TypeVar("_T")

_KERNEL_NAMES = {"newreno": "reno", "cubic": "cubic"}
"""The kernel's names of the scenario's congestion controllers."""

_START_TIMEOUT_S = 20.0
"""A start takes a fraction of a second; on a machine this slow no run is to be believed."""
_TERMINATION_S = 2.0
"""What a command gets between being asked to end and being killed."""
_POLL_S = 0.02
"""How often a server is looked for: small against what starting one takes."""


class LinkSettings(Parameters, total=False):
    """The parameters of a load, of which a link has network, window and congestion, and more."""

    run: int
    """Number of the repetition: random losses and drops are those of its simulation."""
    delay_down_ms: float | None
    """The part of the RTT that the way to the client takes; default half of it."""
    drop_down: Sequence[int | str] | None
    """Packets to the client to be dropped, instead of random ones: their numbers, from 0, or
    "FLOW:NUMBER" for those of a flow that carry data; flows are numbered as they appear."""
    drop_up: Sequence[int | str] | None
    """The same towards the server."""
    tap: str | Path | None
    """A pcapng file for what both ends see."""
    kernel_congestion: str | None
    """Congestion controller by the kernel's name; default the scenario's."""


def link_settings(parameters: Parameters, run: int = 0) -> LinkSettings:
    """The link of a load with these parameters, and of one of its repetitions."""
    return cast(LinkSettings, parameters | {"run": run})


def kernel_congestion(settings: LinkSettings, scenario: Scenario) -> str:
    """The congestion controller that the kernels at a link's ends are to use."""
    asked = settings.get("kernel_congestion")
    return asked or _KERNEL_NAMES[scenario_values(scenario)["transport"]["congestion"]]


class Link:
    """A running link; made by `open_link`."""

    def __init__(self, process: subprocess.Popen[bytes], ready: "_Ready", scenario: Scenario):
        self._process = process
        self._ready = ready
        self._commands: list[subprocess.Popen[Any]] = []
        self.scenario = scenario
        """The scenario whose bottleneck the link is."""
        self.mptcp = False
        """Whether commands get MPTCP where they ask for TCP, by mptcpize(8)."""
        self.report: LinkReport | None = None
        """What the link did, once it is closed."""

    @property
    def client_address(self) -> str:
        """The client's address, on the first path if there are two."""
        return self._ready.client_addresses[0]

    @property
    def client_addresses(self) -> tuple[str, ...]:
        """The client's address on each path."""
        return tuple(self._ready.client_addresses)

    @property
    def server_address(self) -> str:
        """The server's first address."""
        return self._ready.server_address

    @property
    def server_addresses(self) -> str:
        """A range of addresses which are all the server's, too."""
        return self._ready.server_addresses

    def describe(self) -> str:
        """The link and its ends in one line."""
        return f"emulated, {describe_network(self.scenario)}, {self.client_address} behind it"

    def command(self, end: End, arguments: Sequence[str]) -> list[str]:
        """The command line that runs a command at an end of this link."""
        network = self._ready.client if end == "client" else self._ready.server
        # -P: what lies in the current folder must not replace modules.
        enter = [sys.executable, "-P", "-m", "loadpath.testbed.enter"]
        wrapper = ["mptcpize", "run"] if self.mptcp else []
        return [*enter, str(self._process.pid), str(network), *wrapper, *arguments]

    def environment(self) -> dict[str, str]:
        """What commands find in their environment."""
        return os.environ | {
            "LOADPATH_CLIENT_ADDRESS": self.client_address,
            "LOADPATH_SERVER_ADDRESS": self.server_address,
        }

    def popen(self, end: End, arguments: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Start a command at an end; options as for `subprocess.Popen`. It ends with the link."""
        options["env"] = self.environment() | dict(options.get("env") or {})
        process = subprocess.Popen(self.command(end, arguments), **options)
        self._commands.append(process)
        return process

    def run(
        self, end: End, arguments: Sequence[str], **options: Any
    ) -> subprocess.CompletedProcess[Any]:
        """Run a command at an end; options as for `subprocess.run`."""
        options["env"] = self.environment() | dict(options.get("env") or {})
        return subprocess.run(self.command(end, arguments), **options)

    def start_server(
        self,
        command: str | Sequence[str],
        *,
        wait_port: str | int | None = None,
        timeout_s: float = 10.0,
        **options: Any,
    ) -> subprocess.Popen[Any]:
        """Start a command at the server's end, a text with the shell; wait until it listens.

        Parameters
        ----------
        command
            Text for the shell, or a list of arguments.
        wait_port
            `PORT`, `ADDRESS:PORT`, or either with "/udp" behind it.
        timeout_s
            How long to wait, s.
        options
            As for `subprocess.Popen`.

        Raises
        ------
        LinkError
            It ended, or did not listen in time.
        """
        arguments = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        process = self.popen("server", arguments, **options)
        if wait_port is not None:
            self.wait_for_port(wait_port, [process], timeout_s=timeout_s)
        return process

    def wait_for_port(
        self,
        port: str | int,
        servers: Sequence[subprocess.Popen[Any]] = (),
        *,
        timeout_s: float = 10.0,
    ) -> None:
        """Wait until something listens at the server's end; see `start_server`.

        Raises
        ------
        LinkError
            One of the servers failed, or nothing listens in time.
        """
        wanted = _Listener.parse(port)
        deadline = time.monotonic() + timeout_s
        while not any(wanted.matches(*socket) for socket in self._listeners(wanted.protocol)):
            # One that puts itself into the background ends with status 0.
            for server in servers:
                if server.poll():
                    raise LinkError(
                        f"a server failed with status {server.returncode} "
                        f"before anything listened on {port}"
                    )
            if time.monotonic() > deadline:
                raise hinted(
                    LinkError(f"nothing listens on {port} after {timeout_s:g} s"),
                    f"the server's address is {self.server_address}; 0.0.0.0 will do, too",
                )
            time.sleep(_POLL_S)

    def _listeners(self, protocol: str) -> Iterator[tuple[str, int]]:
        """Addresses and ports that are listened on at the server's end, proc_pid_net(5)."""
        # include/net/tcp_states.h: TCP_LISTEN; a UDP socket without a peer is in TCP_CLOSE.
        listening = {"tcp": "0A", "udp": "07"}[protocol]
        # The process of the link itself stays in the server's network namespace.
        for table in (protocol, f"{protocol}6"):
            with suppress(FileNotFoundError):
                lines = Path(f"/proc/{self._process.pid}/net/{table}").read_text().splitlines()[1:]
                for _, local, _, state, *_ in map(str.split, lines):
                    if state == listening:
                        address, _, number = local.partition(":")
                        yield _address(address), int(number, 16)

    def close(self) -> LinkReport:
        """End all commands and the link.

        Raises
        ------
        LinkError
            The link had failed.
        """
        if self.report is not None:
            return self.report
        running = [process for process in self._commands if process.poll() is None]
        for process in running:
            process.terminate()
        deadline = time.monotonic() + _TERMINATION_S
        for process in running:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
        answer, _ = self._process.communicate()
        for process in running:
            process.wait()
        self.report = _decode(answer, LinkReport)
        return self.report

    def _kill(self) -> None:
        with self._process:
            self._process.kill()
        for process in self._commands:
            process.wait()


class _Ready(msgspec.Struct):
    """The first line of the link's process."""

    client: int
    server: int
    client_addresses: list[str]
    server_address: str
    server_addresses: str


class _Failure(msgspec.Struct):
    """What it says instead if there is no link."""

    error: str
    hints: list[str]


class _Listener(msgspec.Struct):
    protocol: str
    address: str | None
    port: int

    @staticmethod
    def parse(text: str | int) -> "_Listener":
        where, slash, protocol = str(text).partition("/")
        address, _, port = where.rpartition(":")
        known = protocol in ("tcp", "udp") or not slash
        if not known or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise LinkError(f"port {text}: expected PORT or ADDRESS:PORT, with /udp for UDP")
        try:
            wanted = str(ipaddress.ip_address(address.strip("[]"))) if address else None
        except ValueError:
            raise LinkError(f"port {text}: {address!r} is no IP address") from None
        return _Listener(protocol or "tcp", wanted, int(port))

    def matches(self, address: str, port: int) -> bool:
        same = self.address is None or address in (self.address, "0.0.0.0", "::")
        return same and port == self.port


def _address(text: str) -> str:
    """An address as the kernel prints it: 32-bit words in the machine's byte order."""
    words = [bytes.fromhex(text[i : i + 8]) for i in range(0, len(text), 8)]
    order = -1 if sys.byteorder == "little" else 1
    return str(ipaddress.ip_address(b"".join(word[::order] for word in words)))


@contextmanager
def open_link(**settings: Unpack[LinkSettings]) -> Iterator[Link]:
    """A link with the settings of a scenario; it ends with the block.

    Of the scenario, a link has the bottleneck: rates, RTT, queues, random losses, bytes that count
    on top of a packet; its kernels have the initial window and the congestion controller. The
    profile is "linux" unless another is named.

    Raises
    ------
    ScenarioError, NotFoundError
        A setting is wrong.
    LinkError
        This machine cannot have links (`loadpath doctor` says why), or the link failed.
    """
    link = _start(settings)
    with ExitStack() as stack:
        stack.callback(link._kill)
        yield link
        link.close()
        stack.pop_all()


def _start(settings: LinkSettings) -> Link:
    if sys.platform != "linux":
        raise LinkError("links need Linux")
    if settings.get("profile") is None and settings.get("scenario") is None:
        settings = settings | LinkSettings(profile=DEFAULT_PROFILE)
    scenario = resolve_scenario(_with_drops(settings))
    values = scenario_values(scenario)
    tap = settings.get("tap")
    request = {
        "parent": os.getpid(),
        "scenario": scenario.to_toml(),
        "congestion": kernel_congestion(settings, scenario),
        "delay_ms": _delays(values, settings.get("delay_down_ms")),
        "run": settings.get("run", 0),
        "tap": None if tap is None else str(Path(tap).absolute()),
    }
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "loadpath.testbed.host"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # Ctrl-C is for this process and the commands; the link ends when they have ended.
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with suppress(BrokenPipeError):
            process.stdin.write(msgspec.json.encode(request) + b"\n")
            process.stdin.flush()
        if not select.select([process.stdout], [], [], _START_TIMEOUT_S)[0]:
            raise LinkError(f"the link did not start within {_START_TIMEOUT_S:g} s")
        return Link(process, _decode(process.stdout.readline(), _Ready), scenario)
    except BaseException:
        with process:
            process.kill()
        raise


def _with_drops(settings: LinkSettings) -> Parameters:
    """The settings with exact drops as keys of a scenario; no random losses are beside them."""
    keys = dict(settings.get("set") or {})
    for way, drops in (("down", settings.get("drop_down")), ("up", settings.get("drop_up"))):
        if drops is not None:
            keys[f"network.drop_{way}"] = ",".join(map(str, drops)) or "none"
            keys[f"network.loss_{way}_fraction"] = 0
    return settings | LinkSettings(set=keys)


def _delays(values: dict[str, Any], down_ms: float | None) -> list[tuple[float, float]]:
    """Delays of each path in ms, towards the client and towards the server."""
    rtt_ms = values["network"]["rtt_ms"]
    down_ms = rtt_ms / 2 if down_ms is None else down_ms
    if not 0 <= down_ms <= rtt_ms:
        raise hinted(
            LinkError(f"delay_down_ms = {down_ms:g}: expected a number from 0 to {rtt_ms:g}"),
            "it is the part of the RTT that the way to the client takes",
        )
    delays = [(down_ms, rtt_ms - down_ms)]
    multipath = values["multipath"]
    match multipath["paths"]:
        case "single":
            return delays
        case "independent" if multipath["subflows"] == 2:
            half_ms = values["path2"]["rtt_ms"] / 2
            return [*delays, (half_ms, half_ms)]
        case "independent":
            raise LinkError(
                f"multipath.subflows = {multipath['subflows']}: expected 2, kernels open one a path"
            )
        case other:
            raise hinted(
                LinkError(f"multipath.paths = {other}: links have single or independent paths"),
                "the simulator has the others",
            )


def _decode(line: bytes, type: type[_T]) -> _T:
    """A line of the link's process, or the error that it tells of."""
    if not line:
        raise LinkError("the link's process was killed")
    try:
        return msgspec.json.decode(line, type=type)
    except msgspec.ValidationError:
        failure = msgspec.json.decode(line, type=_Failure)
        error = LinkError(failure.error)
        for hint in failure.hints:
            error.add_note(hint)
        raise error from None
