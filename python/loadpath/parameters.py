"""The words for a load's parameters: one list for the Python API and the command line.

Each word stands for one scenario key (`loadpath scenario --keys` documents them all); the profile
gives what is not said.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from loadpath._core import Scenario, ScenarioError
from loadpath.errors import hinted
from loadpath.networks import Network, find_network

__all__ = [
    "HTTP_NAMES",
    "Parameters",
    "describe",
    "describe_network",
    "network_keys",
    "override",
    "rate_text",
    "resolve_scenario",
    "scenario_values",
]


class Parameters(TypedDict, total=False):
    """Keyword arguments of everything that loads a page."""

    profile: str | None
    """Named set of defaults: "pcp" or "linux"."""
    scenario: str | Path | None
    """TOML file; it goes over the profile."""
    connectivity: str | Network | None
    """Named network; it goes over the file."""
    rate: str | int | None
    """Bottleneck rate towards the client: bit/s, or text like "10mbit"."""
    up_rate: str | int | None
    """Bottleneck rate towards the servers."""
    trace_down: str | Path | None
    """Mahimahi trace of the bottleneck towards the client, instead of a constant rate: a file with
    the time in ms of an opportunity to deliver 1500 bytes on each line."""
    trace_up: str | Path | None
    """The same towards the servers."""
    rtt_ms: str | float | None
    """Round-trip time: milliseconds, or text like "40ms"."""
    loss: float | None
    """Part of the packets that the bottleneck loses at random, each direction."""
    queue: str | None
    """Queue discipline of the bottleneck towards the client."""
    http: str | None
    """HTTP version, "h1", "h2" or a name of the scenario key `http.version`."""
    connections: int | None
    """Most connections to a host."""
    priorities: str | None
    """Priorities of responses at the server."""
    server: str | None
    """How a server treats several requests on one connection."""
    tls: str | None
    """TLS handshake of a new connection."""
    icwnd: int | None
    """Initial congestion window, segments."""
    congestion: str | None
    """Congestion controller."""
    recovery: str | None
    """How lost packets are found and repaired."""
    seed: int | None
    """Master seed."""
    set: Mapping[str, object] | None
    """Any scenario key, by its dotted name."""


_KEYS: dict[str, tuple[str, ...]] = {
    "rate": ("network.rate_bps",),
    "up_rate": ("network.up_rate_bps",),
    "trace_down": ("network.rate_schedule",),
    "trace_up": ("network.up_rate_schedule",),
    "rtt_ms": ("network.rtt_ms",),
    "loss": ("network.loss_down_fraction", "network.loss_up_fraction"),
    "queue": ("network.queue",),
    "http": ("http.version",),
    "connections": ("http.connections_per_host",),
    "priorities": ("http.priorities",),
    "server": ("server.model",),
    "tls": ("http.tls",),
    "icwnd": ("transport.initial_window_segments",),
    "congestion": ("transport.congestion",),
    "recovery": ("transport.recovery",),
    "seed": ("random.seed",),
}

_TRACE = "mahimahi:"
"""What the value of a rate schedule starts with that is a trace."""

HTTP_NAMES = {
    "h1": "http/1.1",
    "h1.0": "http/1.0",
    "h1.1": "http/1.1",
    "h1-pipelined": "http/1.1-pipelined",
    "h2": "http/2",
    "quic": "quic-lite",
    "spdy": "spdy/2",
}
"""Short names of HTTP versions."""


def resolve_scenario(parameters: Parameters) -> Scenario:
    """Profile, then scenario file, then named network, then single parameters, then `set`.

    Raises
    ------
    ScenarioError
        A key is unknown, or a value is not allowed.
    NotFoundError
        There is no network of that name.
    """
    overrides: list[tuple[str, str]] = []
    connectivity = parameters.get("connectivity")
    if connectivity is not None:
        network = find_network(connectivity) if isinstance(connectivity, str) else connectivity
        overrides += network_keys(network)
    for word, keys in _KEYS.items():
        value = parameters.get(word)
        if value is None:
            continue
        if word == "http":
            value = HTTP_NAMES.get(str(value), value)
        if word.startswith("trace_"):
            value = _read_trace(Path(str(value)))
        overrides += [(key, override(value)) for key in keys]
    overrides += [(key, override(value)) for key, value in (parameters.get("set") or {}).items()]
    return Scenario.resolve(
        parameters.get("profile"), _scenario_file(parameters.get("scenario")), overrides
    )


def scenario_values(scenario: Scenario) -> dict[str, Any]:
    """All values of a scenario as nested dictionaries."""
    return tomllib.loads(scenario.to_toml())


def describe(scenario: Scenario) -> str:
    """The parameters that a reader of a result asks for first, in one line."""
    values = scenario_values(scenario)
    http, multipath = values["http"], values["multipath"]
    parts = [
        f"simulated, profile {values['profile']}",
        describe_network(scenario),
        f"{http['version']}, at most {http['connections_per_host']} connections a host",
        f"TLS {http['tls']}",
        f"seed {values['random']['seed']}",
    ]
    if multipath["paths"] != "single":
        scheduler, coupling = multipath["scheduler"], multipath["congestion"]
        parts.insert(2, f"MPTCP with scheduler {scheduler} and coupling {coupling}")
    return ", ".join(parts)


def describe_network(scenario: Scenario) -> str:
    """The network of a scenario in one line, with its second path where connections use it."""
    values = scenario_values(scenario)
    first, multipath = _describe_path(values["network"]), values["multipath"]
    opened = "" if multipath["first_path"] == 1 else ", path 2 first"
    match multipath["paths"]:
        case "independent":
            return f"path 1: {first}; path 2: {_describe_path(values['path2'])}{opened}"
        case "shared-bottleneck":
            rtt_ms = values["path2"]["rtt_ms"]
            return f"{first}; path 2 behind the same bottleneck: RTT {rtt_ms:g} ms{opened}"
        case "same":
            return f"{first}, {multipath['subflows']} subflows on it"
        case _:
            return first


def _describe_path(path: Mapping[str, Any]) -> str:
    loss = path["loss_down_fraction"]
    down = _rate_over_time(path["rate_schedule"]) or rate_text(path["rate_bps"])
    up = _rate_over_time(path["up_rate_schedule"]) or rate_text(path["up_rate_bps"])
    exact = {path["drop_down"], path["drop_up"]} != {"none"}
    parts = [
        f"{down} down, {up} up",
        f"RTT {path['rtt_ms']:g} ms",
        *([f"{100 * loss:g} % loss"] if loss else []),
        *(["exact losses"] if exact else []),
        f"{path['queue']} queue",
        *_describe_outage(path["down_at_ms"], path["up_at_ms"]),
    ]
    return ", ".join(parts)


def _rate_over_time(schedule: str) -> str:
    """A schedule in a few words; nothing for a constant rate."""
    if schedule.startswith(_TRACE):
        times = schedule.removeprefix(_TRACE).split(",")
        mean = len(times) * 1500 * 8000 / int(times[-1])
        return f"a trace of {rate_text(float(f'{mean:.3g}'))} on average"
    if schedule == "constant":
        return ""
    return f"{schedule.count(':') - schedule.count('repeat')} rates over time"


def _describe_outage(down_at_ms: float, up_at_ms: float) -> list[str]:
    if down_at_ms == up_at_ms:
        return []
    if up_at_ms == 0:
        return [f"dies at {down_at_ms:g} ms"]
    if down_at_ms == 0:
        return [f"comes at {up_at_ms:g} ms"]
    if down_at_ms < up_at_ms:
        return [f"down from {down_at_ms:g} to {up_at_ms:g} ms"]
    return [f"comes at {up_at_ms:g} ms, dies at {down_at_ms:g} ms"]


def rate_text(bps: float) -> str:
    """A rate with its unit, e.g. "2.5 Mbit/s"."""
    for factor, unit in ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s")):
        if bps >= factor:
            return f"{bps / factor:g} {unit}"
    return f"{bps:g} bit/s"


def network_keys(network: Network) -> list[tuple[str, str]]:
    """The scenario keys that a named network sets, with their values."""
    loss = str(network.loss_percent / 100)
    return [
        ("network.rate_bps", str(round(network.down_kbps * 1000))),
        ("network.up_rate_bps", str(round(network.up_kbps * 1000))),
        ("network.rtt_ms", str(network.rtt_ms)),
        ("network.loss_down_fraction", loss),
        ("network.loss_up_fraction", loss),
    ]


def override(value: object) -> str:
    """The value of a scenario key as `Scenario.resolve` reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read_trace(path: Path) -> str:
    """A Mahimahi trace as the value of a rate schedule."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError as error:
        raise ScenarioError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        lines = ["not ASCII"]
    for number, line in enumerate(lines, start=1):
        if not line.strip().isdigit():
            raise hinted(
                ScenarioError(f"{path}: line {number}: {line[:40]!r} is no whole number of ms"),
                "each line of a Mahimahi trace is the time of an opportunity to deliver 1500 bytes",
            )
    if not lines:
        raise ScenarioError(f"{path}: an empty trace")
    return _TRACE + ",".join(str(int(line)) for line in lines)


def _scenario_file(path: str | Path | None) -> tuple[str, str] | None:
    if path is None:
        return None
    try:
        return Path(path).read_bytes().decode(), str(path)
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: not UTF-8 at byte {error.start}") from error
    except OSError as error:
        raise ScenarioError(f"cannot read {path}: {error.strerror}") from error
